//! Long arguments of old tool calls, cut to their beginning.
//!
//! What an agent wrote into a file long ago is in the file; its conversation need not hold it a second time.

use serde_json::Value;

use crate::plan::size::Size;
use crate::plan::{Policy, old_messages};
use crate::tokens::Tally;
use crate::transcript::json::Json;
use crate::transcript::{Arguments, Call, Role, Transcript, syntax};

use super::Edit;

/// Characters of a cut argument that stay.
const STAYS: usize = 20;
/// What stands for the others.
pub const MARK: &str = "...(argument truncated)";

/// When and where arguments are cut.
#[derive(Debug, Clone)]
pub struct Truncation {
    /// Characters an argument may have.
    pub longest: usize,
    /// What stands for the characters that are cut off.
    pub mark: &'static str,
    /// The tools whose arguments are cut; all of them, where none is named.
    pub tools: &'static [&'static str],
    /// What must be reached; what triggers the compaction, where nothing is given.
    pub trigger: Option<Size>,
    /// How much of the end is left alone; what the compaction keeps, where nothing is given.
    pub keep: Option<Size>,
}

impl Truncation {
    /// What `--truncate-args` means: wherever the compaction cuts, all tools.
    pub fn everywhere(longest: usize) -> Self {
        Truncation { longest, mark: MARK, tools: &[], trigger: None, keep: None }
    }

    /// The edits that cut the arguments of a conversation, in order.
    pub fn edits(&self, transcript: &Transcript<'_>, tally: &Tally<'_, '_>, policy: &Policy) -> Vec<Edit> {
        let mut policy = Policy { budget: None, ..policy.clone() };
        if let Some(trigger) = self.trigger {
            policy.triggers = vec![vec![trigger]];
            policy.rules.reported_triggers = false;
        }
        if let Some(keep) = self.keep {
            policy.keep = keep;
            policy.rules.last_stays = false;
        }
        let messages = &transcript.messages;
        let before = old_messages(transcript, tally, &policy);
        if before == messages.len() {
            return Vec::new();
        }
        let is_named = |call: &Call<'_>, name: &&str| call.name.is_some_and(|called| called.is(name));
        let old = messages[..before].iter().filter(|message| message.role == Role::Assistant);
        let calls = old
            .flat_map(|message| &message.calls)
            .filter(|call| self.tools.is_empty() || self.tools.iter().any(|name| is_named(call, name)));
        let mut edits: Vec<Edit> = calls.flat_map(|call| self.cut(transcript.source, call)).collect();
        edits.sort_by_key(|edit| edit.range.start);
        edits
    }

    /// The edits of one call: of each long value where the arguments are an object, of the whole where they are JSON in
    /// a string.
    fn cut(&self, source: &str, call: &Call<'_>) -> Vec<Edit> {
        match call.arguments {
            Arguments::Absent => Vec::new(),
            Arguments::Value(object) => self.cut_values(object),
            Arguments::Text(text) => {
                let json = text.decode_json();
                let inner = syntax::parse_arguments(&json).map(|object| self.cut_values(object)).unwrap_or_default();
                let whole = text.span_in(source).filter(|_| !inner.is_empty());
                let respelled = Value::from(super::apply(&json, &inner)).to_string();
                whole
                    .map(|range| Edit { range, text: respelled[1..respelled.len() - 1].to_owned() })
                    .into_iter()
                    .collect()
            }
        }
    }

    fn cut_values(&self, object: Json<'_>) -> Vec<Edit> {
        let long = object.entries().filter_map(|(_, value)| {
            let text = value.text().filter(|text| text.code_point_count() > self.longest)?;
            let stays: String = text.decode().chars().take(STAYS).collect();
            Some(Edit { range: value.span(), text: Value::from(stays + self.mark).to_string() })
        });
        long.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::size::Size;
    use crate::plan::tests::policy;
    use crate::tokens::Counter;
    use crate::transcript::framing::read;

    fn truncated(source: &str, truncation: &Truncation) -> String {
        let document = read(source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        let tally = Tally::new(Counter::DEFAULT, &transcript.messages);
        super::super::apply(source, &truncation.edits(transcript, &tally, &policy()))
    }

    const ALL: Truncation =
        Truncation { longest: 24, mark: MARK, tools: &[], trigger: None, keep: Some(Size::Messages(1)) };
    const LAST: &str = r#"{"role":"user","content":"next"}"#;

    #[test]
    fn long_values_are_cut_wherever_arguments_stand() {
        let long = "0123456789012345678\\né and on";
        let short = "0123456789012345678\\n...(argument truncated)";
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
        assert_eq!(truncated(&openai(long), &Truncation { keep: Some(Size::Messages(2)), ..ALL }), openai(long));
        let far = Some(Size::Tokens(1_000_000));
        assert_eq!(truncated(&openai(long), &Truncation { trigger: far, ..ALL }), openai(long));
        assert_eq!(truncated(&openai(long), &Truncation { keep: Some(Size::Tokens(1)), ..ALL }), openai(long));
    }
}
