//! Cuts long arguments of old tool calls to their beginning.
//!
//! What an agent wrote into a file long ago is in the file, so its conversation need not hold a copy.

use serde_json::Value;

use crate::plan::size::Size;
use crate::plan::summaries::TRUNCATED;
use crate::plan::{CutPolicy, old_messages};
use crate::redact::beginning;
use crate::rewrite::Edit;
use crate::tokens::Tally;
use crate::transcript::json::Json;
use crate::transcript::source::Source;
use crate::transcript::{Arguments, Call, Message, Role, Transcript};

/// The characters that stay of a cut argument.
const KEPT: usize = 20;
/// The mark that replaces the rest.
pub const MARK: &str = TRUNCATED;

/// Which arguments are cut, and when.
#[derive(Debug, Clone)]
pub struct Truncation {
    /// The most characters of an argument.
    pub longest: usize,
    /// The mark that replaces the removed characters.
    pub mark: &'static str,
    /// The tools whose arguments are cut; all tools if empty.
    pub tools: &'static [&'static str],
    /// The size that triggers cutting before all other decisions, and the size of the end that is left alone. Without
    /// them arguments are cut later, in the messages before the cut.
    pub sizes: Option<(Size, Size)>,
}

impl Truncation {
    /// The truncation of `--truncate-args`: the arguments of all tools before the cut.
    pub fn before_the_cut(longest: usize) -> Self {
        Truncation { longest, mark: MARK, tools: &[], sizes: None }
    }

    /// How many messages are old enough for the edits made before all decisions.
    pub fn old_messages(&self, transcript: &Transcript<'_>, tally: &Tally<'_, '_>, policy: &CutPolicy) -> usize {
        let Some((trigger, keep)) = self.sizes else { return 0 };
        let mut policy = CutPolicy { budget: None, triggers: vec![vec![trigger]], keep, ..policy.clone() };
        policy.rules.reported_triggers = false;
        policy.rules.last_stays = false;
        let before = old_messages(transcript, tally, &policy);
        if before == transcript.messages.len() { 0 } else { before }
    }

    /// The edits that cut arguments in the messages before an index.
    pub fn edits(&self, transcript: &Transcript<'_>, before: usize) -> Vec<Edit> {
        let mut edits = Vec::new();
        for message in &transcript.messages[..before] {
            if !holds_own_calls(message) {
                continue;
            }
            for call in &message.calls {
                if self.cuts_calls_of(call) {
                    edits.extend(self.cut(transcript.source, call));
                }
            }
        }
        crate::rewrite::sort(&mut edits);
        edits
    }

    /// Whether the arguments of the tool of a call are cut.
    fn cuts_calls_of(&self, call: &Call<'_>) -> bool {
        if self.tools.is_empty() {
            return true;
        }
        let Some(tool) = call.name else { return false };
        self.tools.iter().any(|name| tool.is(name))
    }

    /// The edits of one call: one for each long value if the arguments are an object, one for the whole if they are
    /// JSON in a string.
    pub fn cut(&self, source: &str, call: &Call<'_>) -> Vec<Edit> {
        self.cut_keeping(source, call, KEPT)
    }

    /// The edits of one call with which long values are as long as they may be.
    pub fn cut_to_length(&self, source: &str, call: &Call<'_>) -> Vec<Edit> {
        self.cut_keeping(source, call, self.longest.saturating_sub(self.mark.len()))
    }

    fn cut_keeping(&self, source: &str, call: &Call<'_>, kept: usize) -> Vec<Edit> {
        match call.arguments {
            Arguments::Absent => Vec::new(),
            // No value in it is longer than the whole.
            Arguments::Text(text) if text.raw().len() <= self.longest => Vec::new(),
            Arguments::Value(object) => self.cut_values(object, kept),
            Arguments::Text(text) => {
                let json = text.decode_json();
                let arguments = Source::of_arguments(&json);
                let Some(object) = arguments.as_ref().and_then(Source::first) else { return Vec::new() };
                let inner = self.cut_values(object, kept);
                if inner.is_empty() {
                    return Vec::new();
                }
                let Some(range) = text.span_in(source) else { return Vec::new() };
                let respelled = Value::from(crate::rewrite::apply(&json, &inner)).to_string();
                vec![Edit { range, text: respelled[1..respelled.len() - 1].to_owned() }]
            }
        }
    }

    fn cut_values(&self, object: Json<'_>, kept: usize) -> Vec<Edit> {
        let mut edits = Vec::new();
        for (_, value) in object.entries() {
            let Some(text) = value.text() else { continue };
            let length = text.code_point_count();
            if length <= self.longest {
                continue;
            }
            let shorter = beginning(&text.decode(), kept).to_owned() + self.mark;
            // DeepAgents cuts what is too long by its own measure, even if the mark makes it longer.
            if self.sizes.is_some() || shorter.chars().count() < length {
                edits.push(Edit { range: value.span(), text: Value::from(shorter).to_string() });
            }
        }
        edits
    }
}

/// The length in characters of each text in the arguments of a call.
pub fn argument_lengths(call: &Call<'_>) -> Vec<usize> {
    match call.arguments {
        Arguments::Absent => Vec::new(),
        Arguments::Value(object) => text_lengths(object),
        Arguments::Text(text) => {
            let json = text.decode_json();
            let arguments = Source::of_arguments(&json);
            arguments.as_ref().and_then(Source::first).map(text_lengths).unwrap_or_default()
        }
    }
}

/// The length in characters of each member of an object that is a text.
fn text_lengths(object: Json<'_>) -> Vec<usize> {
    let mut lengths = Vec::new();
    for (_, value) in object.entries() {
        if let Some(text) = value.text() {
            lengths.push(text.code_point_count());
        }
    }
    lengths
}

/// Whether an answer holds its calls itself. Another entry that holds them need not go with those that are old.
fn holds_own_calls(message: &Message<'_>) -> bool {
    message.role == Role::Assistant && message.content_edit().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::size::Size;
    use crate::plan::tests::policy;
    use crate::tokens::Counter;
    use crate::transcript::framing::read_for_test as read;

    fn truncated(source: &str, truncation: &Truncation) -> String {
        let document = read(source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        let tally = Tally::new(Counter::APPROX, &transcript.messages);
        let early = truncation.edits(transcript, truncation.old_messages(transcript, &tally, &policy()));
        let late = truncation.edits(transcript, 1);
        crate::rewrite::apply(source, if truncation.sizes.is_some() { &early } else { &late })
    }

    const ALL: Truncation = Truncation { longest: 24, mark: " (cut)", tools: &[], sizes: None };
    const LAST: &str = r#"{"role":"user","content":"next"}"#;

    #[test]
    fn long_values_are_cut_wherever_arguments_stand() {
        let long = "0123456789012345678\\né and on";
        let short = "0123456789012345678\\n (cut)";
        let openai = |value: &str| {
            format!(
                r#"[{{"role":"assistant","content":null,"tool_calls":[{{"id":"a","function":{{"name":"f", "arguments":"{{\"n\": 1.0, \"text\":\"{}\",\"s\":\"kept\"}}"}}}}]}}, {LAST}]"#,
                value.replace('\\', "\\\\")
            )
        };
        assert_eq!(truncated(&openai(long), &ALL), openai(short));
        let anthropic = |value: &str| {
            format!(
                r#"[{{"role":"assistant","content":[{{"type":"tool_use","id":"a","name":"f","input":{{"n": 1.0, "text":"{value}"}}}}]}}, {LAST}]"#
            )
        };
        assert_eq!(truncated(&anthropic(long), &ALL), anthropic(short));
        assert_eq!(truncated(&openai(long), &Truncation { tools: &["g"], ..ALL }), openai(long), "another tool");
        let longer = Truncation { mark: MARK, ..ALL };
        assert_eq!(truncated(&openai(long), &longer), openai(long), "nothing would be gained");
        let sizes = |trigger, keep| Truncation { sizes: Some((trigger, keep)), ..ALL };
        let (one, far) = (Size::Messages(1), Size::Tokens(1_000_000));
        assert_eq!(truncated(&openai(long), &sizes(one, one)), openai(short));
        for left_alone in [sizes(one, Size::Messages(2)), sizes(far, one), sizes(one, Size::Tokens(1))] {
            assert_eq!(truncated(&openai(long), &left_alone), openai(long));
        }
    }
}
