//! Messages as they are read for notes: who speaks, what is said, and what was called with what came of it.
//!
//! Texts stay where they are in the source and are decoded each time they are read: a history may be most of the memory
//! there is. Nothing is judged yet.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use crate::summary::fence;
use crate::summary::record::wrappers::unwrapped;
use crate::transcript::compaction::Compaction;
use crate::transcript::text::Text;
use crate::transcript::{Answer, Arguments, Content, Message, PartKind, Role};

/// Who speaks, as far as notes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::summary) enum Speaker {
    /// Standing instructions.
    Instructions,
    /// A person.
    User,
    /// The model.
    Assistant,
    /// What a tool brought, or a program in a person's place.
    Tool,
    /// An earlier summary.
    Earlier,
}

/// A text of the source, or what was made of one. A long history has many, so that most have no list of their own.
#[derive(Debug)]
pub(in crate::summary) struct Words<'a> {
    spelling: Spelling<'a>,
    /// The length of the text, in bytes.
    pub(in crate::summary) bytes: usize,
}

#[derive(Debug)]
enum Spelling<'a> {
    /// A string of the source.
    One(Text<'a>),
    /// Several or none, a line each.
    Several(Box<[Text<'a>]>),
    /// What stands so nowhere in it.
    Made(Box<str>),
}

impl<'a> Words<'a> {
    /// Texts without what nobody said.
    fn of(texts: Vec<Text<'a>>) -> Self {
        let (bytes, changed) = {
            let text = joined(&texts);
            match unwrapped(&text) {
                Cow::Borrowed(text) => (text.len(), None),
                Cow::Owned(text) => (text.len(), Some(text)),
            }
        };
        let spelling = match (changed, &*texts) {
            (Some(changed), _) => Spelling::Made(changed.into()),
            (None, [text]) => Spelling::One(*text),
            (None, _) => Spelling::Several(texts.into()),
        };
        Words { spelling, bytes }
    }

    /// What a call is given.
    fn given(arguments: Arguments<'a>) -> Self {
        let text = match arguments {
            Arguments::Text(text) => text,
            Arguments::Value(value) => Text::plain(value.raw()),
            Arguments::Absent => Text::plain(""),
        };
        Words { bytes: text.decode().len(), spelling: Spelling::One(text) }
    }

    /// The text.
    pub(in crate::summary) fn read(&self) -> Cow<'_, str> {
        match &self.spelling {
            Spelling::One(text) => text.decode(),
            Spelling::Several(texts) => joined(texts),
            Spelling::Made(text) => Cow::Borrowed(text),
        }
    }

    fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

impl From<String> for Words<'_> {
    fn from(text: String) -> Self {
        Words { bytes: text.len(), spelling: Spelling::Made(text.into()) }
    }
}

impl Default for Words<'_> {
    fn default() -> Self {
        Words { bytes: 0, spelling: Spelling::Several(Box::default()) }
    }
}

fn joined<'a>(texts: &[Text<'a>]) -> Cow<'a, str> {
    match texts {
        [] => Cow::Borrowed(""),
        [text] => text.decode(),
        texts => Cow::Owned(texts.iter().map(Text::decode).collect::<Vec<_>>().join("\n")),
    }
}

/// A message, read.
#[derive(Debug)]
pub(in crate::summary) struct Turn<'a> {
    /// The index of the message in its source.
    pub(in crate::summary) index: usize,
    pub(in crate::summary) speaker: Speaker,
    /// What is said, results of calls left out.
    pub(in crate::summary) text: Words<'a>,
    pub(in crate::summary) calls: Vec<Called<'a>>,
    /// Results of calls that are not here.
    pub(in crate::summary) strays: Vec<Words<'a>>,
    /// Whether the user broke off what went on before.
    pub(in crate::summary) interrupts: bool,
}

/// A call and its result.
#[derive(Debug)]
pub(in crate::summary) struct Called<'a> {
    pub(in crate::summary) name: Cow<'a, str>,
    /// What the tool is given, as JSON or as text.
    pub(in crate::summary) arguments: Words<'a>,
    pub(in crate::summary) result: Option<Words<'a>>,
    /// Whether the format marks the result as a failure.
    pub(in crate::summary) failed: bool,
}

/// Reads messages; `indices` are theirs in the source, and `prefix` is what an earlier summary begins with.
pub(in crate::summary) fn read<'a>(messages: &[&Message<'a>], indices: &[usize], prefix: &str) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::with_capacity(messages.len());
    let mut waiting = Waiting::default();
    // Nothing comes of a command before there was one.
    let mut acted = false;
    for (place, message) in messages.iter().enumerate() {
        let index = indices.get(place).copied().unwrap_or(place);
        // A compaction is an earlier summary, whatever the model says behind it.
        if let Some(Compaction::Readable(text)) = message.compaction() {
            let (text, speaker) = (without_opening(&text.decode(), prefix).into(), Speaker::Earlier);
            turns.push(Turn { index, speaker, text, calls: Vec::new(), strays: Vec::new(), interrupts: false });
            if message.is_readable_compaction() {
                continue;
            }
        }
        let (said, results) = said_and_results(message);
        let interrupts = message.role == Role::User && said.iter().any(|text| interrupts(*text));
        let mut text = Words::of(said);
        let speaker = speaker(message, &text.read(), prefix, acted);
        acted |= speaker == Speaker::Assistant;
        if speaker == Speaker::Earlier {
            let summary = without_opening(&text.read(), prefix);
            text = summary.into();
        }
        // A long history has many turns, so that no list of calls has room to spare.
        let mut turn = Turn {
            index,
            speaker,
            text,
            calls: Vec::with_capacity(message.calls.len()),
            strays: Vec::new(),
            interrupts,
        };
        let mut results = results.into_iter().map(Words::of);
        for answer in &message.answers {
            // A message that is a result as a whole has its text for it: what ended without a word has ended.
            let result = results.next().unwrap_or_else(|| std::mem::take(&mut turn.text));
            let id = answer.id.map(|id| id.decode().into_owned());
            match waiting.take(id.as_deref()) {
                Some((at, call)) => {
                    let call = &mut turns[at].calls[call];
                    call.result = Some(result);
                    call.failed = is_failure(answer);
                }
                None => turn.strays.push(result),
            }
        }
        turn.strays.extend(results);
        let is_result = turn.speaker == Speaker::Tool && message.answers.is_empty();
        if is_result && (!turn.text.is_empty() || matches!(message.role, Role::Tool | Role::Function)) {
            match waiting.take(None) {
                Some((at, call)) => turns[at].calls[call].result = Some(std::mem::take(&mut turn.text)),
                None => turn.strays.push(std::mem::take(&mut turn.text)),
            }
        }
        for call in &message.calls {
            waiting.add(call.id.map(|id| id.decode().into_owned()), (turns.len(), turn.calls.len()));
            turn.calls.push(Called {
                name: call.name.map(|name| name.decode()).unwrap_or_default(),
                arguments: Words::given(call.arguments),
                result: None,
                failed: false,
            });
        }
        if turn.speaker == Speaker::Assistant
            && turn.calls.is_empty()
            && let Some(command) = fenced_command(&turn.text.read(), || is_next_an_observation(messages.get(place + 1)))
        {
            waiting.add(None, (turns.len(), 0));
            turn.calls = vec![Called { name: "bash".into(), arguments: command.into(), result: None, failed: false }];
        }
        turns.push(turn);
    }
    turns
}

/// An earlier summary without what it begins with, and without its fence.
fn without_opening(earlier: &str, prefix: &str) -> String {
    fence::opened(earlier.strip_prefix(prefix.trim_end()).unwrap_or(earlier)).to_owned()
}

/// Calls without a result yet: by id, and in order for results that name none.
#[derive(Default)]
struct Waiting {
    by_id: HashMap<String, VecDeque<(usize, usize)>>,
    nameless: VecDeque<(usize, usize)>,
}

impl Waiting {
    fn add(&mut self, id: Option<String>, place: (usize, usize)) {
        match id {
            Some(id) => self.by_id.entry(id).or_default().push_back(place),
            None => self.nameless.push_back(place),
        }
    }

    fn take(&mut self, id: Option<&str>) -> Option<(usize, usize)> {
        match id {
            Some(id) => self.by_id.get_mut(id)?.pop_front(),
            None => self.nameless.pop_front(),
        }
    }
}

fn speaker(message: &Message<'_>, text: &str, prefix: &str, acted: bool) -> Speaker {
    if message.is_summary(prefix) {
        return Speaker::Earlier;
    }
    match message.role {
        Role::System | Role::Developer => Speaker::Instructions,
        Role::User if message.is_user_turn() && !text.trim().is_empty() && !(acted && is_observation(text)) => {
            Speaker::User
        }
        Role::Assistant => Speaker::Assistant,
        Role::User | Role::Tool | Role::Function | Role::Other => Speaker::Tool,
    }
}

/// Whether the program around a model notes that the user broke off what went on.
fn interrupts(text: Text<'_>) -> bool {
    ["[Request interrupted by user", "<turn_aborted>"].iter().any(|opening| text.starts_with(opening))
}

/// Whether a result is marked as a failure.
fn is_failure(answer: &Answer<'_>) -> bool {
    let says = |key: &str, wanted: &str| answer.json.get(key).is_some_and(|value| value.raw() == wanted);
    says("is_error", "true") || says("status", "\"error\"") || says("isError", "true")
}

/// Whether a program speaks in the user's place: what came of a command, in the words of agents without tools.
fn is_observation(text: &str) -> bool {
    const OPENINGS: [&str; 6] =
        ["<returncode>", "<output>", "Observation:", "OBSERVATION:", "<exit_code>", "[Command finished"];
    // The prompt of a shell that waits for more.
    const PROMPTS: [&str; 3] = ["bash-$", ":~$", "\n$"];
    OPENINGS.iter().any(|opening| text.trim_start().starts_with(opening))
        || PROMPTS.iter().any(|prompt| text.trim_end().ends_with(prompt))
}

/// Whether a message is what came of a command.
fn is_next_an_observation(message: Option<&&Message<'_>>) -> bool {
    message.is_some_and(|message| {
        message.role == Role::User && said_and_results(message).0.iter().any(|text| is_observation(&text.decode()))
    })
}

/// What an agent without tools has a shell do: the only fenced block of its message. One that names no language is a
/// command where an output follows.
fn fenced_command(text: &str, is_answered: impl Fn() -> bool) -> Option<String> {
    let (_, rest) = text.split_once("```")?;
    let (block, after) = rest.split_once("```")?;
    let (language, command) = block.split_once('\n')?;
    let shell = ["bash", "sh", "shell", "mswea_bash_command"].contains(&language.trim());
    let shell = shell || language.trim().is_empty() && is_answered();
    (shell && !after.contains("```")).then(|| command.trim().to_owned())
}

/// The texts of a message, and those of each of the results that stand in it.
fn said_and_results<'a>(message: &Message<'a>) -> (Vec<Text<'a>>, Vec<Vec<Text<'a>>>) {
    match &message.content {
        Content::Text(text) => (vec![*text], Vec::new()),
        Content::Parts(parts) => {
            let (mut said, mut results) = (Vec::new(), Vec::new());
            for part in parts {
                match &part.kind {
                    PartKind::Text(text) | PartKind::Refusal(text) | PartKind::Foreign(text) => said.push(*text),
                    PartKind::Result(content) => results.push(content.texts()),
                    _ => {}
                }
            }
            (said, results)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::framing;

    /// Who speaks, what is said, and the calls with their arguments and results; and what has no call.
    type Told = (Speaker, String, Vec<(String, String, Option<String>)>, Vec<String>);

    fn turns(source: &str) -> Vec<Told> {
        let document = framing::tests::read(source, None, None).expect("a transcript");
        let messages: Vec<&Message<'_>> = document.transcripts[0].messages.iter().collect();
        let indices: Vec<usize> = (0..messages.len()).collect();
        let owned = |words: &Words<'_>| {
            assert_eq!(words.bytes, words.read().len());
            words.read().into_owned()
        };
        let call = |call: &Called<'_>| {
            (call.name.clone().into_owned(), owned(&call.arguments), call.result.as_ref().map(owned))
        };
        read(&messages, &indices, "Summary:\n\n")
            .iter()
            .map(|turn| {
                let strays = turn.strays.iter().map(owned).collect();
                (turn.speaker, owned(&turn.text), turn.calls.iter().map(call).collect(), strays)
            })
            .collect()
    }

    #[test]
    fn results_stand_with_their_calls() {
        let turns = turns(
            r#"[{"role":"user","content":"Look."},
            {"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"g","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"b","content":"two"},{"role":"tool","tool_call_id":"a","content":"one"},
            {"role":"tool","tool_call_id":"z","content":"lost"}]"#,
        );
        let results: Vec<_> = turns[1].2.iter().map(|(name, _, result)| (name.as_str(), result.as_deref())).collect();
        assert_eq!(results, [("f", Some("one")), ("g", Some("two"))]);
        assert_eq!(turns[4].3, ["lost"]);
    }

    #[test]
    fn an_empty_result_is_one() {
        let turns = turns(
            r#"[{"role":"user","content":"[Request interrupted by user]"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"g","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"a","content":""}]"#,
        );
        assert_eq!((turns[0].0, turns[0].1.as_str()), (Speaker::Tool, ""));
        assert_eq!(turns[1].2.iter().map(|(_, _, result)| result.as_deref()).collect::<Vec<_>>(), [Some(""), None]);
    }

    #[test]
    fn agents_without_tools_call_in_fenced_blocks() {
        let turns = turns(
            "[{\"role\":\"user\",\"content\":\"Summary:\\nIt went well.\"},{\"role\":\"assistant\",\"content\":\"I look.\\n```bash\\nls -a\\n```\"},{\"role\":\"user\",\"content\":\"<returncode>0</returncode>\"}]",
        );
        assert_eq!((turns[0].0, turns[0].1.trim()), (Speaker::Earlier, "It went well."));
        let result = Some("<returncode>0</returncode>".to_owned());
        assert_eq!(turns[1].2, [("bash".to_owned(), "ls -a".to_owned(), result)]);
    }
}
