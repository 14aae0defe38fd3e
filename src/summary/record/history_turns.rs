//! Reads messages into turns: who speaks, the text, and the calls with their results.
//!
//! Texts stay in the source and are decoded on each use, since a history may be most of the memory in use. Nothing is
//! judged here.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use crate::summary::fence;
use crate::summary::record::wrappers::{unwrap_output, without_wrappers};
use crate::transcript::compaction::Compaction;
use crate::transcript::text::Text;
use crate::transcript::{Arguments, Content, Message, PartKind, ResultRef, Role};

/// The speaker of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::summary) enum Speaker {
    /// Standing instructions.
    Instructions,
    /// A person.
    User,
    /// The model.
    Assistant,
    /// A tool, or a program in the place of the user.
    Tool,
    /// An earlier summary.
    Earlier,
}

/// A text of the source, or a rewritten one. It is small, since a long history has many.
#[derive(Debug)]
pub(in crate::summary) struct TurnText<'a> {
    storage: TextStorage<'a>,
    /// The length of the text, in bytes.
    pub(in crate::summary) bytes: usize,
}

#[derive(Debug)]
enum TextStorage<'a> {
    /// A string of the source.
    Single(Text<'a>),
    /// Several strings or none, one per line.
    Several(Box<[Text<'a>]>),
    /// A text that differs from the source.
    Rewritten(Box<str>),
}

impl<'a> TurnText<'a> {
    /// Returns texts without what the agent's program inserted.
    fn new(texts: Vec<Text<'a>>) -> Self {
        let (bytes, changed) = {
            let text = join_lines(&texts);
            match without_wrappers(&text) {
                Cow::Borrowed(text) => (text.len(), None),
                Cow::Owned(text) => (text.len(), Some(text)),
            }
        };
        let storage = match (changed, &*texts) {
            (Some(changed), _) => TextStorage::Rewritten(changed.into()),
            (None, [text]) => TextStorage::Single(*text),
            (None, _) => TextStorage::Several(texts.into()),
        };
        TurnText { storage, bytes }
    }

    /// Returns the texts of a result.
    fn of_result(texts: Vec<Text<'a>>) -> Self {
        TurnText::new(texts).unwrapped()
    }

    /// Returns the output of a command without the JSON around it.
    fn unwrapped(self) -> Self {
        let is_object = match &self.storage {
            TextStorage::Single(text) => text.starts_with("{"),
            TextStorage::Several(texts) => texts.first().is_some_and(|text| text.starts_with("{")),
            TextStorage::Rewritten(text) => text.starts_with('{'),
        };
        // Decoding all results takes longer than this look at their first character.
        let output = if is_object { unwrap_output(&self.read()) } else { None };
        output.map_or(self, TurnText::from)
    }

    /// Returns the arguments of a call.
    fn from_arguments(arguments: Arguments<'a>) -> Self {
        let text = match arguments {
            Arguments::Text(text) => text,
            Arguments::Value(value) => Text::plain(value.raw()),
            Arguments::Absent => Text::plain(""),
        };
        TurnText { bytes: text.decode().len(), storage: TextStorage::Single(text) }
    }

    /// Returns the text.
    pub(in crate::summary) fn read(&self) -> Cow<'_, str> {
        match &self.storage {
            TextStorage::Single(text) => text.decode(),
            TextStorage::Several(texts) => join_lines(texts),
            TextStorage::Rewritten(text) => Cow::Borrowed(text),
        }
    }

    fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

impl From<String> for TurnText<'_> {
    fn from(text: String) -> Self {
        TurnText { bytes: text.len(), storage: TextStorage::Rewritten(text.into()) }
    }
}

impl Default for TurnText<'_> {
    fn default() -> Self {
        TurnText { bytes: 0, storage: TextStorage::Several(Box::default()) }
    }
}

fn join_lines<'a>(texts: &[Text<'a>]) -> Cow<'a, str> {
    match texts {
        [] => Cow::Borrowed(""),
        [text] => text.decode(),
        texts => Cow::Owned(texts.iter().map(Text::decode).collect::<Vec<_>>().join("\n")),
    }
}

/// A message as a turn.
#[derive(Debug)]
pub(in crate::summary) struct HistoryTurn<'a> {
    /// The index of the message in its source.
    pub(in crate::summary) index: usize,
    pub(in crate::summary) speaker: Speaker,
    /// The text, without results of calls.
    pub(in crate::summary) text: TurnText<'a>,
    /// What the model thought before it wrote the text. Most turns have none.
    pub(in crate::summary) thinking: Option<Box<TurnText<'a>>>,
    pub(in crate::summary) calls: Vec<ToolCall<'a>>,
    /// Results whose call is not in the history.
    pub(in crate::summary) results_without_call: Vec<TurnText<'a>>,
    /// Whether the user interrupted what went on before.
    pub(in crate::summary) interrupts: bool,
}

/// A call and its result.
#[derive(Debug)]
pub(in crate::summary) struct ToolCall<'a> {
    pub(in crate::summary) name: Cow<'a, str>,
    /// The arguments, as JSON or as text.
    pub(in crate::summary) arguments: TurnText<'a>,
    pub(in crate::summary) result: Option<TurnText<'a>>,
    /// Whether the format marks the result as a failure.
    pub(in crate::summary) failed: bool,
}

/// Reads messages into turns. `indices` are their indices in the source, and `prefix` is the opening of an earlier
/// summary.
pub(in crate::summary) fn read<'a>(messages: &[&Message<'a>], indices: &[usize], prefix: &str) -> Vec<HistoryTurn<'a>> {
    let mut turns: Vec<HistoryTurn<'a>> = Vec::with_capacity(messages.len());
    let mut pending = PendingCalls::default();
    // No output of a command precedes the first command.
    let mut has_acted = false;
    // The text of a slash command that the user typed is what the user wants.
    let mut follows_command = false;
    for (place, message) in messages.iter().enumerate() {
        let index = indices.get(place).copied().unwrap_or(place);
        // A compaction is an earlier summary, even if text of the model follows.
        if let Some(Compaction::Readable(text)) = message.compaction() {
            let (text, speaker) = (without_summary_prefix(&text.decode(), prefix).into(), Speaker::Earlier);
            turns.push(HistoryTurn {
                index,
                speaker,
                text,
                thinking: None,
                calls: Vec::new(),
                results_without_call: Vec::new(),
                interrupts: false,
            });
            if message.is_readable_compaction() {
                continue;
            }
        }
        let (texts, results) = texts_and_results(message);
        let is_command =
            message.role == Role::User && texts.iter().any(|text| text.decode().contains("<command-name>"));
        let interrupts = message.role == Role::User && texts.iter().any(|text| is_interruption(*text));
        let mut text = TurnText::new(texts);
        let mut speaker = speaker(message, &text.read(), prefix, has_acted);
        if message.role == Role::User
            && message.results.is_empty()
            && message.is_marked_as_inserted()
            && !follows_command
        {
            speaker = Speaker::Instructions;
        }
        follows_command = is_command;
        has_acted |= speaker == Speaker::Assistant;
        if speaker == Speaker::Earlier {
            let summary = without_summary_prefix(&text.read(), prefix);
            text = summary.into();
        }
        // The list of calls has its exact size, since a long history has many turns.
        let mut turn = HistoryTurn {
            index,
            speaker,
            text,
            thinking: thinking(message),
            calls: Vec::with_capacity(message.calls.len()),
            results_without_call: Vec::new(),
            interrupts,
        };
        for call in &message.calls {
            pending.add(call.id.map(|id| id.decode().into_owned()), (turns.len(), turn.calls.len()));
            turn.calls.push(ToolCall {
                name: call.name.map(|name| name.decode()).unwrap_or_default(),
                arguments: TurnText::from_arguments(call.arguments),
                result: None,
                failed: false,
            });
        }
        turns.push(turn);
        // Some formats keep a call and its result in one message.
        attach_results(message, results, &mut turns, &mut pending);
        let at = turns.len() - 1;
        let turn = &mut turns[at];
        if turn.speaker == Speaker::Assistant
            && turn.calls.is_empty()
            && let Some(command) = shell_block(&turn.text.read(), || is_next_an_observation(messages.get(place + 1)))
        {
            pending.add(None, (at, 0));
            turn.calls = vec![ToolCall { name: "bash".into(), arguments: command.into(), result: None, failed: false }];
        }
    }
    turns
}

/// Attaches the results in a message to their calls, in its own turn, the last, or in an earlier one. Those without a
/// call stay in the last turn.
fn attach_results<'a>(
    message: &Message<'a>,
    results: Vec<Vec<Text<'a>>>,
    turns: &mut [HistoryTurn<'a>],
    pending: &mut PendingCalls,
) {
    let Some(own) = turns.len().checked_sub(1) else { return };
    let mut results = results.into_iter().map(TurnText::of_result);
    for answer in &message.results {
        // If a whole message is a result, its text is the result. A call with an empty result has ended.
        let result = results.next().unwrap_or_else(|| std::mem::take(&mut turns[own].text).unwrapped());
        let id = answer.id.map(|id| id.decode().into_owned());
        match pending.take_next(id.as_deref()) {
            Some((at, call)) => {
                let call = &mut turns[at].calls[call];
                call.result = Some(result);
                call.failed = is_failure(answer);
            }
            None => turns[own].results_without_call.push(result),
        }
    }
    let turn = &mut turns[own];
    turn.results_without_call.extend(results);
    let is_result = turn.speaker == Speaker::Tool && message.results.is_empty();
    if is_result && (!turn.text.is_empty() || matches!(message.role, Role::Tool | Role::Function)) {
        let text = std::mem::take(&mut turn.text);
        match pending.take_next(None) {
            Some((at, call)) => turns[at].calls[call].result = Some(text),
            None => turn.results_without_call.push(text),
        }
    }
}

/// Returns an earlier summary without its prefix and fence.
fn without_summary_prefix(earlier: &str, prefix: &str) -> String {
    fence::opened(earlier.strip_prefix(prefix.trim_end()).unwrap_or(earlier)).to_owned()
}

/// The calls without a result yet: by id, and in order for results without an id.
#[derive(Default)]
struct PendingCalls {
    by_id: HashMap<String, VecDeque<(usize, usize)>>,
    nameless: VecDeque<(usize, usize)>,
}

impl PendingCalls {
    fn add(&mut self, id: Option<String>, place: (usize, usize)) {
        match id {
            Some(id) => self.by_id.entry(id).or_default().push_back(place),
            None => self.nameless.push_back(place),
        }
    }

    fn take_next(&mut self, id: Option<&str>) -> Option<(usize, usize)> {
        match id {
            Some(id) => self.by_id.get_mut(id)?.pop_front(),
            None => self.nameless.pop_front(),
        }
    }
}

fn speaker(message: &Message<'_>, text: &str, prefix: &str, has_acted: bool) -> Speaker {
    if message.is_summary(prefix) {
        return Speaker::Earlier;
    }
    match message.role {
        Role::System | Role::Developer => Speaker::Instructions,
        Role::User if message.is_user_turn() && !text.trim().is_empty() && !(has_acted && is_observation(text)) => {
            Speaker::User
        }
        Role::Assistant => Speaker::Assistant,
        Role::User | Role::Tool | Role::Function | Role::Other => Speaker::Tool,
    }
}

/// Whether the agent's program notes that the user interrupted it.
fn is_interruption(text: Text<'_>) -> bool {
    ["[Request interrupted by user", "<turn_aborted>"].iter().any(|opening| text.starts_with(opening))
}

/// Whether a result is marked as a failure.
fn is_failure(answer: &ResultRef<'_>) -> bool {
    let has_value = |key: &str, wanted: &str| answer.json.get(key).is_some_and(|value| value.raw() == wanted);
    has_value("is_error", "true") || has_value("status", "\"error\"") || has_value("isError", "true")
}

/// Whether a program writes in the user's place: the output of a command, as agents without tools get it.
fn is_observation(text: &str) -> bool {
    const OPENINGS: [&str; 6] =
        ["<returncode>", "<output>", "Observation:", "OBSERVATION:", "<exit_code>", "[Command finished"];
    // The prompt of a shell.
    const PROMPTS: [&str; 3] = ["bash-$", ":~$", "\n$"];
    OPENINGS.iter().any(|opening| text.trim_start().starts_with(opening))
        || PROMPTS.iter().any(|prompt| text.trim_end().ends_with(prompt))
}

/// Whether a message is the output of a command.
fn is_next_an_observation(message: Option<&&Message<'_>>) -> bool {
    message.is_some_and(|message| {
        message.role == Role::User && texts_and_results(message).0.iter().any(|text| is_observation(&text.decode()))
    })
}

/// Returns the command of an agent without tools: the only fenced block of its message. A block without a language is a
/// command if an output follows.
fn shell_block(text: &str, is_next_output: impl Fn() -> bool) -> Option<String> {
    let (_, rest) = text.split_once("```")?;
    let (block, after) = rest.split_once("```")?;
    let (language, command) = block.split_once('\n')?;
    let shell = ["bash", "sh", "shell", "mswea_bash_command"].contains(&language.trim());
    let shell = shell || language.trim().is_empty() && is_next_output();
    (shell && !after.contains("```")).then(|| command.trim().to_owned())
}

/// Returns what the model thought, if the message has it in readable form.
fn thinking<'a>(message: &Message<'a>) -> Option<Box<TurnText<'a>>> {
    let Content::Parts(parts) = &message.content else { return None };
    let thoughts = parts.iter().filter_map(|part| match part.kind {
        PartKind::Reasoning(text) => Some(text),
        _ => None,
    });
    let thoughts: Vec<Text<'a>> = thoughts.collect();
    (!thoughts.is_empty()).then(|| Box::new(TurnText::new(thoughts)))
}

/// Returns the texts of a message, and those of each result in it.
fn texts_and_results<'a>(message: &Message<'a>) -> (Vec<Text<'a>>, Vec<Vec<Text<'a>>>) {
    match &message.content {
        Content::Text(text) => (vec![*text], Vec::new()),
        Content::Parts(parts) => {
            let (mut texts, mut results) = (Vec::new(), Vec::new());
            for part in parts {
                match &part.kind {
                    PartKind::Text(text) | PartKind::Refusal(text) | PartKind::Foreign(text) => texts.push(*text),
                    PartKind::Result(content) => results.push(content.texts()),
                    _ => {}
                }
            }
            (texts, results)
        }
    }
}

#[cfg(test)]
mod tests;
