//! Conversations made of the pieces that `fixtures/bricks` has of each format.

#[cfg(test)]
mod altered;

use std::collections::HashMap;

use crate::plan::Plan;
use crate::plan::pins::Pin;
use crate::plan::size::Size;
use crate::rewrite::thinking::Thinking;
use crate::transcript::formats::Format;
use proptest::prelude::*;
use serde_json::Value;

use crate::laws::FIXTURES;
use crate::laws::lawful::{PREFIX, Rules, assert_thinking_law, policy};

/// What one generated message is, before it is written in a format.
#[derive(Debug, Clone)]
pub(crate) enum Made {
    System(String),
    User(String),
    Assistant(String),
    /// Calls with the ids, and for each whether its result follows: 0 not at all, 1 at once, 2 later.
    Calls(Vec<(u8, u8)>),
    Orphan(u8),
    /// A provider's own compaction, where the format has such.
    Compaction(u8, String),
    /// Something that is no message, where the format has such.
    Note(u8),
    /// A model's thinking, in one of the ways that the format has for it, with a text or a call that is answered.
    Thinks(u8, String),
    /// A user message with a part of a kind that no reader knows, with a type or without.
    Foreign(bool, String),
    /// A message without content, where the format has such.
    Silent,
}

impl Made {
    /// Whether every reader knows all of it.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self, Made::Foreign(..))
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,30}",
        Just("2 \"quotes\" \\ and\nlines\t</message>".to_owned()),
        Just("Größe: 10 °C, 価格 😀\u{2028}".to_owned()),
        Just(format!("{PREFIX}an older summary")),
        prop::collection::vec(any::<char>(), 0..12).prop_map(|chars| chars.into_iter().collect()),
    ]
}

pub(crate) fn made() -> impl Strategy<Value = Vec<Made>> {
    let one = prop_oneof![
        1 => text().prop_map(Made::System),
        4 => text().prop_map(Made::User),
        4 => text().prop_map(Made::Assistant),
        4 => prop::collection::vec((0u8..4, 0u8..3), 1..4).prop_map(Made::Calls),
        1 => (0u8..6).prop_map(Made::Orphan),
        1 => (any::<u8>(), text()).prop_map(|(which, text)| Made::Compaction(which, text)),
        1 => any::<u8>().prop_map(Made::Note),
        3 => (any::<u8>(), text()).prop_map(|(which, text)| Made::Thinks(which, text)),
        1 => (any::<bool>(), text()).prop_map(|(typed, text)| Made::Foreign(typed, text)),
        1 => Just(Made::Silent),
    ];
    prop::collection::vec(one, 0..18)
}

pub(crate) fn size() -> impl Strategy<Value = Size> {
    prop_oneof![
        (1u64..20).prop_map(Size::Messages),
        (1u64..200).prop_map(Size::Tokens),
        (1u64..6).prop_map(Size::Turns),
    ]
}

pub(crate) fn pin() -> impl Strategy<Value = Pin> {
    prop::sample::select(vec!["system", "none", "first:1", "first:3", "match:e", "match:^r$"])
        .prop_map(|rule| rule.parse().expect("a rule"))
}

/// The ids of the calls and the results in a message.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Ids {
    pub(crate) calls: Vec<String>,
    pub(crate) answers: Vec<String>,
}

/// No call that has a result is on the other side of the cut from it, and no pinned message is without its other half.
pub(crate) fn assert_no_pair_is_parted(ids: &[Ids], plan: &Plan, rules: &Rules) {
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

/// Parts of kinds that no format has, without a type and with one.
pub(crate) const FOREIGN: [&str; 2] =
    [r#"{"hologram":{"body":"$TEXT"}}"#, r#"{"type":"hologram","part_kind":"hologram","hologram":{"body":"$TEXT"}}"#];

/// The pieces that conversations of a format are made of, as `fixtures/bricks` has them: `$TEXT`, `$ID`, `$CALLS` and
/// `$RESULTS` are put in, `$N` is another number each time, and `$P` the one before. What stands in `⟦…⟧` is thinking that
/// goes where the history before it has changed, of `$MODEL` where messages name theirs; behind a `¦` in it stands what
/// comes instead.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bricks {
    /// What stands before, between and behind the messages of a file.
    around: Vec<[String; 3]>,
    /// Standing instructions; the user gives them where there is none.
    system: Option<String>,
    user: String,
    assistant: String,
    /// A message around calls; without, every call is one.
    calling: Option<String>,
    /// A call; where there is none, calls hold their results and nothing can be parted.
    pub(crate) call: Option<String>,
    /// A message around results; without, every result is one.
    answering: Option<String>,
    result: Option<String>,
    /// Messages that hold a compaction; what can be read of one begins with `read`.
    #[serde(default)]
    compactions: Vec<String>,
    /// A message without content.
    silent: Option<String>,
    /// Lines that are no messages.
    #[serde(default)]
    notes: Vec<String>,
    /// Messages with thinking.
    #[serde(default)]
    thinking: Vec<String>,
}

impl Bricks {
    pub(crate) fn of(format: &str) -> Self {
        let file = format!("{FIXTURES}/bricks/{format}.json");
        let text = std::fs::read_to_string(&file).unwrap_or_else(|_| panic!("{file} is missing"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// Whether messages with thinking say which model wrote them.
    pub(crate) fn names_models(&self) -> bool {
        self.thinking.iter().any(|message| message.contains("$MODEL"))
    }

    /// Messages around elements that hold these ids: one around all, or one each.
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

    fn said(message: &str, text: &str) -> (String, Ids) {
        let text = Value::from(text).to_string();
        (message.replace("$TEXT", &text[1..text.len() - 1]), Ids::default())
    }

    /// The user's message with this part in place of what the user says.
    pub(crate) fn with_part(&self, part: &str) -> String {
        let (before, behind) = self.user.split_once("$TEXT").expect("a place for the text");
        match (before.rfind("[{"), behind.find("}]")) {
            (Some(start), Some(end)) => [&before[..=start], part, &behind[end + 1..]].concat(),
            _ => [&before[..before.len() - 1], "[", part, "]", &behind[1..]].concat(),
        }
    }

    fn calls(&self, ids: &[String]) -> Vec<(String, Ids)> {
        let Some(call) = &self.call else { return Vec::new() };
        let made = Bricks::around(&self.calling, "$CALLS", call, ids);
        made.into_iter().map(|(text, calls)| (text, Ids { calls, ..Ids::default() })).collect()
    }

    fn thinks(&self, which: u8, text: &str) -> Vec<(String, Ids)> {
        let Some(thinking) = self.thinking.get(which as usize % self.thinking.len().max(1)) else { return Vec::new() };
        let ids = [format!("c{}", which % 4)];
        let (mut message, _) = Bricks::said(thinking, text);
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
        let made = Bricks::around(&self.answering, "$RESULTS", result, ids);
        made.into_iter().map(|(text, answers)| (text, Ids { answers, ..Ids::default() })).collect()
    }

    /// Writes what was made in the format; each entry with its ids, none for what is no message.
    fn written(&self, made: &[Made]) -> Vec<(String, Option<Ids>)> {
        let mut out: Vec<(String, Option<Ids>)> = Vec::new();
        let mut later: Vec<String> = Vec::new();
        for one in made {
            let messages = match one {
                Made::System(text) => vec![Bricks::said(self.system.as_ref().unwrap_or(&self.user), text)],
                Made::User(text) => {
                    let mut messages = self.results(&std::mem::take(&mut later));
                    messages.push(Bricks::said(&self.user, text));
                    messages
                }
                Made::Assistant(text) => vec![Bricks::said(&self.assistant, text)],
                Made::Calls(calls) => {
                    let ids = |wanted: fn(u8) -> bool| -> Vec<String> {
                        calls.iter().filter(|call| wanted(call.1)).map(|(id, _)| format!("c{id}")).collect()
                    };
                    later.extend(ids(|when| when == 2));
                    [self.calls(&ids(|_| true)), self.results(&ids(|when| when == 1))].concat()
                }
                Made::Thinks(which, text) => self.thinks(*which, text),
                Made::Foreign(typed, text) => vec![Bricks::said(&self.with_part(FOREIGN[usize::from(*typed)]), text)],
                Made::Silent => self.silent.iter().map(|message| (message.clone(), Ids::default())).collect(),
                Made::Orphan(id) => self.results(&[format!("c{id}")]),
                Made::Compaction(which, text) => {
                    let count = self.compactions.len();
                    let compaction = (count > 0).then(|| &self.compactions[*which as usize % count]);
                    compaction.map(|compaction| Bricks::said(compaction, text)).into_iter().collect()
                }
                Made::Note(which) => {
                    let note = (!self.notes.is_empty()).then(|| self.notes[*which as usize % self.notes.len()].clone());
                    out.extend(note.map(|note| (note, None)));
                    Vec::new()
                }
            };
            out.extend(messages.into_iter().map(|(text, ids)| (text, Some(ids))));
        }
        for (index, (text, _)) in out.iter_mut().enumerate() {
            *text = text.replace("$N", &index.to_string()).replace("$P", &index.wrapping_sub(1).to_string());
        }
        out
    }
}

/// A file of a format, and the ids of its messages.
pub(crate) fn file(bricks: &Bricks, made: &[Made], layout: usize) -> (String, Vec<Ids>) {
    let (source, messages) = file_of(bricks, made, layout, "claude-opus-4-5");
    (source, messages.into_iter().map(|(ids, _)| ids).collect())
}

/// The same with thinking of a model; and each message without the thinking that is bound, nothing where nothing is left.
pub(crate) fn file_of(
    bricks: &Bricks,
    made: &[Made],
    layout: usize,
    model: &str,
) -> (String, Vec<(Ids, Option<String>)>) {
    let written = bricks.written(made).into_iter();
    let entries: Vec<(String, Option<Ids>)> = written.map(|(text, ids)| (text.replace("$MODEL", model), ids)).collect();
    // A file has no lines to be told from without a message that some reader knows.
    let telling: Vec<Made> =
        made.iter().filter(|one| one.is_known() && !matches!(one, Made::Silent)).cloned().collect();
    let any = bricks.written(&telling).iter().any(|(_, ids)| ids.is_some());
    let layouts = bricks.around.iter().filter(|[before, ..]| any || !before.is_empty());
    let layouts: Vec<&[String; 3]> = layouts.collect();
    let Some([before, between, behind]) = layouts.get(layout % layouts.len().max(1)) else {
        return ("[]".to_owned(), Vec::new());
    };
    let texts: Vec<String> = entries.iter().map(|(text, _)| thinking(text, true)).collect();
    let source = format!("{before}{}{behind}", texts.join(between));
    let without = |text: &str| Some(thinking(text, false)).filter(|text| !text.is_empty());
    (source, entries.iter().filter_map(|(text, ids)| Some((ids.clone()?, without(text)))).collect())
}

/// A message with the thinking that is marked in it, or without.
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

/// A model that writes, one that `--for` names, what `--thinking` says, and whether thinking goes then: of messages that
/// name the model that wrote them, and of those that do not.
pub(crate) type Way = (&'static str, Option<&'static str>, Thinking, (bool, bool));

pub(crate) const WAYS: &[Way] = &[
    ("claude-sonnet-5-5-20260915", None, Thinking::Auto, (true, false)),
    ("claude-sonnet-5-5-20260915", Some("claude-opus-4-5"), Thinking::Auto, (false, false)),
    ("claude-opus-4-5", None, Thinking::Auto, (false, false)),
    ("claude-opus-4-5", Some("claude-fable-5-2"), Thinking::Auto, (true, true)),
    ("claude-sonnet-5-5", Some("claude-sonnet-5-5"), Thinking::Keep, (false, false)),
    ("claude-opus-4-5", None, Thinking::Drop, (true, true)),
];

/// Checks what becomes of the thinking in a generated conversation. Gives how many messages lost some.
pub(crate) fn assert_thinking(
    bricks: &Bricks,
    format: &'static dyn Format,
    made: &[Made],
    layout: usize,
    rules: &Rules,
    (model, reader, how, goes): Way,
) -> usize {
    let (source, messages) = file_of(bricks, made, layout, model);
    let expected: Vec<Option<String>> = messages.into_iter().map(|(_, expected)| expected).collect();
    let goes = if bricks.names_models() { goes.0 } else { goes.1 };
    assert_thinking_law(&source, Some(format), &policy(rules), (how, reader), &expected, goes)
}
