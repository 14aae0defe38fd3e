//! Messages as they are read for notes: who speaks, what is said, and what was called with what came of it.
//!
//! Each text is decoded once, here. Nothing is judged yet.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use super::wrappers::unwrapped;
use crate::summary::fence;
use crate::transcript::{Arguments, Content, Message, PartKind, Role};

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

/// A message, read.
#[derive(Debug)]
pub(in crate::summary) struct Turn {
    /// The index of the message in its source.
    pub(in crate::summary) index: usize,
    pub(in crate::summary) speaker: Speaker,
    /// What is said, results of calls left out.
    pub(in crate::summary) text: String,
    pub(in crate::summary) calls: Vec<Called>,
    /// Results of calls that are not here.
    pub(in crate::summary) strays: Vec<String>,
}

/// A call and its result.
#[derive(Debug)]
pub(in crate::summary) struct Called {
    pub(in crate::summary) name: String,
    /// What the tool is given, as JSON or as text.
    pub(in crate::summary) arguments: String,
    pub(in crate::summary) result: Option<String>,
}

/// Reads messages; `indices` are theirs in the source, and `prefix` is what an earlier summary begins with.
pub(in crate::summary) fn read(messages: &[&Message<'_>], indices: &[usize], prefix: &str) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::with_capacity(messages.len());
    let mut waiting = Waiting::default();
    for (place, message) in messages.iter().enumerate() {
        let index = indices.get(place).copied().unwrap_or(place);
        let (text, results) = said_and_results(message);
        let text = unwrapped(text);
        let mut turn =
            Turn { index, speaker: speaker(message, &text, prefix), text, calls: Vec::new(), strays: Vec::new() };
        if turn.speaker == Speaker::Earlier {
            turn.text = fence::opened(turn.text.strip_prefix(prefix.trim_end()).unwrap_or(&turn.text)).to_owned();
        }
        let mut results = results.into_iter().map(unwrapped);
        for answer in &message.answers {
            // A message that is a result as a whole has its text for it: what ended without a word has ended.
            let result = results.next().unwrap_or_else(|| std::mem::take(&mut turn.text));
            let id = answer.id.map(|id| id.decode().into_owned());
            match waiting.take(id.as_deref()) {
                Some((at, call)) => turns[at].calls[call].result = Some(result),
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
                name: call.name.map(|name| name.decode().into_owned()).unwrap_or_default(),
                arguments: written(call.arguments).into_owned(),
                result: None,
            });
        }
        if turn.speaker == Speaker::Assistant
            && turn.calls.is_empty()
            && let Some(command) = fenced_command(&turn.text)
        {
            waiting.add(None, (turns.len(), 0));
            turn.calls.push(Called { name: "bash".to_owned(), arguments: command, result: None });
        }
        turns.push(turn);
    }
    turns
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

fn speaker(message: &Message<'_>, text: &str, prefix: &str) -> Speaker {
    let prefix = prefix.trim_end();
    if message.earlier || !prefix.is_empty() && text.starts_with(prefix) {
        return Speaker::Earlier;
    }
    match message.role {
        Role::System | Role::Developer => Speaker::Instructions,
        Role::User if message.is_user_turn() && !text.trim().is_empty() && !is_observation(text) => Speaker::User,
        Role::Assistant => Speaker::Assistant,
        Role::User | Role::Tool | Role::Function | Role::Other => Speaker::Tool,
    }
}

/// Whether a program speaks in the user's place: what came of a command, in the words of agents without tools.
fn is_observation(text: &str) -> bool {
    const OPENINGS: [&str; 6] =
        ["<returncode>", "<output>", "Observation:", "OBSERVATION:", "<exit_code>", "[Command finished"];
    OPENINGS.iter().any(|opening| text.trim_start().starts_with(opening))
}

/// What an agent without tools has a shell do: the only fenced block of its message.
fn fenced_command(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("```")?;
    let (block, after) = rest.split_once("```")?;
    let (language, command) = block.split_once('\n')?;
    let shell = ["bash", "sh", "shell", "mswea_bash_command"].contains(&language.trim());
    (shell && !after.contains("```")).then(|| command.trim().to_owned())
}

/// The text of a message, and the texts of the results that stand in it.
fn said_and_results(message: &Message<'_>) -> (String, Vec<String>) {
    let join = |content: &Content<'_>| content.texts().iter().map(|text| text.decode()).collect::<Vec<_>>().join("\n");
    match &message.content {
        Content::Text(text) => (text.decode().into_owned(), Vec::new()),
        Content::Parts(parts) => {
            let mut said: Vec<Cow<'_, str>> = Vec::new();
            let mut results = Vec::new();
            for part in parts {
                match &part.kind {
                    PartKind::Text(text) | PartKind::Refusal(text) => said.push(text.decode()),
                    PartKind::Result(content) => results.push(join(content)),
                    _ => {}
                }
            }
            (said.join("\n"), results)
        }
    }
}

fn written<'a>(arguments: Arguments<'a>) -> Cow<'a, str> {
    match arguments {
        Arguments::Text(text) => text.decode(),
        Arguments::Value(value) => Cow::Borrowed(value.raw()),
        Arguments::Absent => Cow::Borrowed(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::framing;

    fn turns(source: &str) -> Vec<Turn> {
        let document = framing::tests::read(source, None, None).expect("a transcript");
        let messages: Vec<&Message<'_>> = document.transcripts[0].messages.iter().collect();
        let indices: Vec<usize> = (0..messages.len()).collect();
        read(&messages, &indices, "Summary:\n\n")
    }

    #[test]
    fn results_stand_with_their_calls() {
        let turns = turns(
            r#"[{"role":"user","content":"Look."},
            {"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"g","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"b","content":"two"},{"role":"tool","tool_call_id":"a","content":"one"},
            {"role":"tool","tool_call_id":"z","content":"lost"}]"#,
        );
        let results: Vec<_> = turns[1].calls.iter().map(|call| (call.name.as_str(), call.result.as_deref())).collect();
        assert_eq!(results, [("f", Some("one")), ("g", Some("two"))]);
        assert_eq!(turns[4].strays, ["lost"]);
    }

    #[test]
    fn an_empty_result_is_one() {
        let turns = turns(
            r#"[{"role":"user","content":"[Request interrupted by user]"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"g","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"a","content":""}]"#,
        );
        assert_eq!((turns[0].speaker, turns[0].text.as_str()), (Speaker::Tool, ""));
        assert_eq!(turns[1].calls.iter().map(|call| call.result.as_deref()).collect::<Vec<_>>(), [Some(""), None]);
    }

    #[test]
    fn agents_without_tools_call_in_fenced_blocks() {
        let turns = turns(
            "[{\"role\":\"user\",\"content\":\"Summary:\\nIt went well.\"},{\"role\":\"assistant\",\"content\":\"I look.\\n```bash\\nls -a\\n```\"},{\"role\":\"user\",\"content\":\"<returncode>0</returncode>\"}]",
        );
        assert_eq!((turns[0].speaker, turns[0].text.trim()), (Speaker::Earlier, "It went well."));
        assert_eq!(turns[1].calls[0].arguments, "ls -a");
        assert_eq!(turns[1].calls[0].result.as_deref(), Some("<returncode>0</returncode>"));
    }
}
