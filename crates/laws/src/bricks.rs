//! Generates conversations from the pieces of each format in `fixtures/bricks`.

#[cfg(test)]
mod altered;
#[cfg(test)]
pub(crate) mod talk;

use std::collections::HashMap;

use crate::plan::Plan;
use crate::plan::pins::Pin;
use crate::plan::size::Size;
use crate::rewrite::thinking::Thinking;
use crate::transcript::formats::Format;
use proptest::prelude::*;
use serde_json::Value;

use crate::FIXTURES;
use crate::lawful::{PREFIX, ThinkingPolicy, VaryingRules, assert_thinking_law, policy};

/// A generated message, before it is written in a format.
#[derive(Debug, Clone)]
pub(crate) enum Generated {
    System(String),
    User(String),
    Assistant(String),
    /// Calls with their ids, and when the result of each follows: 0 never, 1 at once, 2 later.
    Calls(Vec<(u8, u8)>),
    Orphan(u8),
    /// A provider's own compaction, if the format has one.
    Compaction(u8, String),
    /// An entry that is not a message, if the format has some.
    Note(u8),
    /// A model's thinking in one of the format's forms, with a text or an answered call.
    Thinking(u8, String),
    /// A user message with a part of an unknown kind, with or without a type.
    Foreign(bool, String),
    /// A message without content, if the format has one.
    Silent,
}

impl Generated {
    /// Whether the reader knows all of its parts.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self, Generated::Foreign(..))
    }
}

/// A text of any characters. Words of the user that begin as a command does are no message of Gemini CLI.
fn any_text(chars: Vec<char>) -> String {
    let text: String = chars.into_iter().collect();
    if text.trim_start().starts_with(['/', '?']) { format!("a{text}") } else { text }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,30}",
        Just("2 \"quotes\" \\ and\nlines\t</message>".to_owned()),
        Just("Größe: 10 °C, 価格 😀\u{2028}".to_owned()),
        Just(format!("{PREFIX}an older summary")),
        prop::collection::vec(any::<char>(), 0..12).prop_map(any_text),
    ]
}

pub(crate) fn generated() -> impl Strategy<Value = Vec<Generated>> {
    let one = prop_oneof![
        1 => text().prop_map(Generated::System),
        4 => text().prop_map(Generated::User),
        4 => text().prop_map(Generated::Assistant),
        4 => prop::collection::vec((0u8..4, 0u8..3), 1..4).prop_map(Generated::Calls),
        1 => (0u8..6).prop_map(Generated::Orphan),
        1 => (any::<u8>(), text()).prop_map(|(which, text)| Generated::Compaction(which, text)),
        1 => any::<u8>().prop_map(Generated::Note),
        3 => (any::<u8>(), text()).prop_map(|(which, text)| Generated::Thinking(which, text)),
        1 => (any::<bool>(), text()).prop_map(|(typed, text)| Generated::Foreign(typed, text)),
        1 => Just(Generated::Silent),
    ];
    prop::collection::vec(one, 0..18)
}

pub(crate) fn size() -> impl Strategy<Value = Size> {
    prop_oneof![
        (1u64..20).prop_map(Size::Messages),
        (1u64..200).prop_map(Size::Tokens),
        (1u64..6).prop_map(Size::Turns),
        (1u64..8).prop_map(Size::Steps),
        (1u64..2_000).prop_map(Size::Bytes),
    ]
}

/// What `--keep` takes.
pub(crate) fn keep() -> impl Strategy<Value = Size> {
    prop_oneof![
        5 => size(),
        2 => (0usize..20).prop_map(Size::From),
        1 => (0i64..500).prop_map(Size::Last),
    ]
}

/// What `--pin` takes.
pub(crate) const PINS: [&str; 9] =
    ["system", "none", "first:1", "first:3", "match:e", "match:^r$", "user", "user:tokens:30", "user:bytes:200"];

pub(crate) fn pin() -> impl Strategy<Value = Pin> {
    prop::sample::select(&PINS[..]).prop_map(|rule| rule.parse().expect("a rule"))
}

/// The ids of the calls and results in a message.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Ids {
    pub(crate) calls: Vec<String>,
    pub(crate) answers: Vec<String>,
}

/// Checks that no cut splits a call from its result, and that pinned messages keep both halves of a pair.
pub(crate) fn assert_no_pair_is_split(ids: &[Ids], plan: &Plan, rules: &VaryingRules) {
    let mut open: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut front_is_orphaned = false;
    for (index, message) in ids.iter().enumerate() {
        for id in &message.calls {
            open.entry(id).or_default().push(index);
        }
        for id in &message.answers {
            match open.get_mut(id.as_str()).and_then(Vec::pop) {
                Some(call) => {
                    assert_eq!(
                        call < plan.cutoff,
                        index < plan.cutoff,
                        "{call} and {index} are parted at {}: {rules:?}",
                        plan.cutoff
                    );
                    if index < plan.cutoff {
                        assert_eq!(
                            plan.pinned.contains(&call),
                            plan.pinned.contains(&index),
                            "{call} and {index}: {rules:?}"
                        );
                    }
                }
                None => front_is_orphaned |= index == plan.cutoff,
            }
        }
    }
    assert!(!front_is_orphaned, "an orphaned result is at the front of what is kept: {rules:?}");
}

/// Parts of a kind that no format has, without and with a type.
pub(crate) const FOREIGN: [&str; 2] =
    [r#"{"hologram":{"body":"$TEXT"}}"#, r#"{"type":"hologram","part_kind":"hologram","hologram":{"body":"$TEXT"}}"#];

/// The pieces of a format's conversations in `fixtures/bricks`. `$TEXT`, `$ID`, `$CALLS` and `$RESULTS` are replaced,
/// `$N` is a new number each time, and `$P` that of the entry before it that has a `$P` too. `⟦…⟧` encloses thinking that is removed if the history
/// before it changed; `$MODEL` in it is the model of messages that name theirs. Text after a `¦` in it is the
/// replacement.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bricks {
    /// The text before, between and after the messages of a file.
    around: Vec<[String; 3]>,
    /// Standing instructions; without this piece the user gives them.
    system: Option<String>,
    user: String,
    assistant: String,
    /// A message around calls; without this piece every call is a message.
    calling: Option<String>,
    /// A call; without this piece calls hold their results, and nothing can be split.
    pub(crate) call: Option<String>,
    /// A message around results; without this piece every result is a message.
    answering: Option<String>,
    result: Option<String>,
    /// Messages with a compaction; a readable one begins with `read`.
    #[serde(default)]
    compactions: Vec<String>,
    /// A message without content.
    silent: Option<String>,
    /// Lines that are not messages.
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    thinking: Vec<String>,
}

impl Bricks {
    pub(crate) fn of(format: &str) -> Self {
        let file = format!("{FIXTURES}/bricks/{format}.json");
        let text = std::fs::read_to_string(&file).unwrap_or_else(|_| panic!("{file} is missing"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// Whether the format has messages of the system.
    #[cfg(test)]
    pub(crate) fn has_system(&self) -> bool {
        self.system.is_some()
    }

    /// The messages with a compaction that can be read.
    #[cfg(test)]
    pub(crate) fn readable_compactions(&self) -> impl Iterator<Item = &String> {
        self.compactions.iter().filter(|message| message.contains("read $TEXT"))
    }

    /// The messages with a compaction that failed.
    #[cfg(test)]
    pub(crate) fn failed_compactions(&self) -> impl Iterator<Item = &String> {
        self.compactions.iter().filter(|message| message.contains("failed-"))
    }

    /// Whether messages with thinking name their model.
    pub(crate) fn names_models(&self) -> bool {
        self.thinking.iter().any(|message| message.contains("$MODEL"))
    }

    /// Writes messages around elements with these ids: one around all, or one each.
    fn around(message: &Option<String>, place: &str, element: &str, ids: &[String]) -> Vec<(String, Vec<String>)> {
        let elements = ids.iter().map(|id| element.replace("$ID", id));
        match message {
            _ if ids.is_empty() => Vec::new(),
            Some(message) => {
                vec![(message.replace(place, &elements.collect::<Vec<_>>().join(",")), ids.to_vec())]
            }
            None => elements.zip(ids).map(|(element, id)| (element, vec![id.clone()])).collect(),
        }
    }

    fn with_text(message: &str, text: &str) -> (String, Ids) {
        let text = Value::from(text).to_string();
        (message.replace("$TEXT", &text[1..text.len() - 1]), Ids::default())
    }

    /// The user's message with this part in place of its text.
    pub(crate) fn with_part(&self, part: &str) -> String {
        let (before, behind) = self.user.split_once("$TEXT").expect("a place for the text");
        match (before.rfind("[{"), behind.find("}]")) {
            (Some(start), Some(end)) => [&before[..=start], part, &behind[end + 1..]].concat(),
            _ => [&before[..before.len() - 1], "[", part, "]", &behind[1..]].concat(),
        }
    }

    fn calls(&self, ids: &[String]) -> Vec<(String, Ids)> {
        let Some(call) = &self.call else { return Vec::new() };
        let generated = Bricks::around(&self.calling, "$CALLS", call, ids);
        generated.into_iter().map(|(text, calls)| (text, Ids { calls, ..Ids::default() })).collect()
    }

    fn thinking_messages(&self, which: u8, text: &str) -> Vec<(String, Ids)> {
        let Some(thinking) = self.thinking.get(which as usize % self.thinking.len().max(1)) else { return Vec::new() };
        let ids = [format!("c{}", which % 4)];
        let (mut message, _) = Bricks::with_text(thinking, text);
        if !message.contains("$CALLS") && !message.contains("$ID") {
            return vec![(message, Ids::default())];
        }
        let call = self.call.as_ref().expect("a call");
        message = message.replace("$CALLS", call).replace("$ID", &ids[0]);
        let calls = Ids { calls: ids.to_vec(), ..Ids::default() };
        [vec![(message, calls)], self.results(&ids)].concat()
    }

    fn results(&self, ids: &[String]) -> Vec<(String, Ids)> {
        let Some(result) = &self.result else { return Vec::new() };
        let generated = Bricks::around(&self.answering, "$RESULTS", result, ids);
        generated.into_iter().map(|(text, answers)| (text, Ids { answers, ..Ids::default() })).collect()
    }

    /// Writes messages in the format. Returns each entry with its ids; `None` for an entry that is not a message.
    fn write(&self, generated: &[Generated]) -> Vec<(String, Option<Ids>)> {
        let mut out: Vec<(String, Option<Ids>)> = Vec::new();
        let mut later: Vec<String> = Vec::new();
        for one in generated {
            let messages = match one {
                Generated::System(text) => vec![Bricks::with_text(self.system.as_ref().unwrap_or(&self.user), text)],
                Generated::User(text) => {
                    let mut messages = self.results(&std::mem::take(&mut later));
                    messages.push(Bricks::with_text(&self.user, text));
                    messages
                }
                Generated::Assistant(text) => vec![Bricks::with_text(&self.assistant, text)],
                Generated::Calls(calls) => {
                    let ids = |wanted: fn(u8) -> bool| -> Vec<String> {
                        calls.iter().filter(|call| wanted(call.1)).map(|(id, _)| format!("c{id}")).collect()
                    };
                    later.extend(ids(|when| when == 2));
                    [self.calls(&ids(|_| true)), self.results(&ids(|when| when == 1))].concat()
                }
                Generated::Thinking(which, text) => self.thinking_messages(*which, text),
                Generated::Foreign(typed, text) => {
                    vec![Bricks::with_text(&self.with_part(FOREIGN[usize::from(*typed)]), text)]
                }
                Generated::Silent => self.silent.iter().map(|message| (message.clone(), Ids::default())).collect(),
                Generated::Orphan(id) => self.results(&[format!("c{id}")]),
                Generated::Compaction(which, text) => {
                    let count = self.compactions.len();
                    let compaction = (count > 0).then(|| &self.compactions[*which as usize % count]);
                    compaction.map(|compaction| Bricks::with_text(compaction, text)).into_iter().collect()
                }
                Generated::Note(which) => {
                    let note = (!self.notes.is_empty()).then(|| self.notes[*which as usize % self.notes.len()].clone());
                    out.extend(note.map(|note| (note, None)));
                    Vec::new()
                }
            };
            out.extend(messages.into_iter().map(|(text, ids)| (text, Some(ids))));
        }
        number(out.iter_mut().map(|(text, _)| text));
        out
    }
}

/// Gives entries their numbers. Each entry of a chain names the one before it; other entries can stand between them.
fn number<'e>(entries: impl Iterator<Item = &'e mut String>) {
    let mut previous = "first".to_owned();
    for (index, entry) in entries.enumerate() {
        let is_linked = entry.contains("$P");
        *entry = entry.replace("$N", &index.to_string()).replace("$P", &previous);
        if is_linked {
            previous = index.to_string();
        }
    }
}

/// A file of a format, and the ids of its messages.
pub(crate) fn file(bricks: &Bricks, generated: &[Generated], layout: usize) -> (String, Vec<Ids>) {
    let (source, messages) = file_of(bricks, generated, layout, "claude-opus-4-5");
    (source, messages.into_iter().map(|(ids, _)| ids).collect())
}

/// A file with thinking of a model, and each message without bound thinking; `None` if nothing is left.
pub(crate) fn file_of(
    bricks: &Bricks,
    generated: &[Generated],
    layout: usize,
    model: &str,
) -> (String, Vec<(Ids, Option<String>)>) {
    let written = bricks.write(generated).into_iter();
    let entries: Vec<(String, Option<Ids>)> = written.map(|(text, ids)| (text.replace("$MODEL", model), ids)).collect();
    // Without a message that some reader knows, a file of lines cannot be recognized.
    let readable: Vec<Generated> =
        generated.iter().filter(|one| one.is_known() && !matches!(one, Generated::Silent)).cloned().collect();
    let has_message = bricks.write(&readable).iter().any(|(_, ids)| ids.is_some());
    let layouts = bricks.around.iter().filter(|[before, ..]| has_message || !before.is_empty());
    let layouts: Vec<&[String; 3]> = layouts.collect();
    let Some([before, between, behind]) = layouts.get(layout % layouts.len().max(1)) else {
        return ("[]".to_owned(), Vec::new());
    };
    let texts: Vec<String> = entries.iter().map(|(text, _)| thinking(text, true)).collect();
    let source = format!("{before}{}{behind}", texts.join(between));
    let without = |text: &str| Some(thinking(text, false)).filter(|text| !text.is_empty());
    (source, entries.iter().filter_map(|(text, ids)| Some((ids.clone()?, without(text)))).collect())
}

/// A message with or without the thinking marked in it.
fn thinking(marked: &str, with: bool) -> String {
    let mut out = String::new();
    for piece in marked.split_inclusive('⟧') {
        let Some((before, bound)) = piece.split_once('⟦') else {
            out.push_str(piece);
            continue;
        };
        let (bound, instead) = bound.trim_end_matches('⟧').split_once('¦').unwrap_or((bound.trim_end_matches('⟧'), ""));
        out.push_str(before);
        out.push_str(if with { bound } else { instead });
    }
    out
}

/// A way in which thinking is kept or removed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    /// The model that writes.
    writer: &'static str,
    /// What is done with thinking.
    pub(crate) policy: ThinkingPolicy<'static>,
    /// Whether thinking is then removed from messages that name their model.
    from_named: bool,
    /// Whether it is removed from others.
    from_others: bool,
}

impl Way {
    const fn new(writer: &'static str, reader: Option<&'static str>, mode: Thinking) -> Self {
        Way { writer, policy: ThinkingPolicy { mode, reader }, from_named: false, from_others: false }
    }

    const fn removing_from_named(self) -> Self {
        Way { from_named: true, ..self }
    }

    const fn removing(self) -> Self {
        Way { from_named: true, from_others: true, ..self }
    }
}

pub(crate) const WAYS: &[Way] = &[
    Way::new("claude-sonnet-5-5-20260915", None, Thinking::Auto).removing_from_named(),
    Way::new("claude-sonnet-5-5-20260915", Some("claude-opus-4-5"), Thinking::Auto),
    Way::new("claude-opus-4-5", None, Thinking::Auto),
    Way::new("claude-opus-4-5", Some("claude-fable-5-2"), Thinking::Auto).removing(),
    Way::new("claude-sonnet-5-5", Some("claude-sonnet-5-5"), Thinking::Keep),
    Way::new("claude-opus-4-5", None, Thinking::Drop).removing(),
];

/// Checks what happens to the thinking in a generated conversation. Returns how many messages lost some.
pub(crate) fn assert_thinking(
    bricks: &Bricks,
    format: &'static Format,
    generated: &[Generated],
    layout: usize,
    rules: &VaryingRules,
    way: Way,
) -> usize {
    let (source, messages) = file_of(bricks, generated, layout, way.writer);
    let expected: Vec<Option<String>> = messages.into_iter().map(|(_, expected)| expected).collect();
    let is_removed = if bricks.names_models() { way.from_named } else { way.from_others };
    assert_thinking_law(&source, Some(format), &policy(rules), way.policy, &expected, is_removed)
}
