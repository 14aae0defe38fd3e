//! Mending breaches of the provider's rules, by edits that leave all else as it is.
//!
//! Mending goes in rounds, of which [`mended`] is one: what is too much goes first, then what is missing comes and what
//! stands in the wrong place moves, and then turns are put right. After each the result is read and looked at again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::Value;

use crate::plan::breaches::{Breach, Rule, breaches};
use crate::transcript::formats::{InsertionPoint, PARTS, SummaryMessage, SummaryRole};
use crate::transcript::json::{Json, Kind};
use crate::transcript::order::{Order, Results, Turn};
use crate::transcript::pairing::CallOrResult;
use crate::transcript::{self, Content, Message, PartKind, Role, Transcript};

use crate::rewrite::{Edit, Style, elements};

/// How calls are mended that have no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repair {
    /// They are taken away.
    Drop,
    /// They are given a result that says there is none.
    Synthesize,
}

/// The result of a call that has none.
const NO_RESULT: &str = "No result was recorded for this call.";
/// What stands where somebody's turn is missing.
pub(super) const NO_ANSWER: &str = "(No answer was recorded.)";
const NO_REQUEST: &str = "(The conversation goes on.)";

/// The edits of one round for a conversation: none where it has no breach, or none that can be mended.
pub(crate) fn mended(transcript: &Transcript<'_>, how: Repair) -> Vec<Edit> {
    let found = breaches(transcript);
    if found.is_empty() {
        return Vec::new();
    }
    let work = Work::new(transcript, how);
    let mut edits = work.without(&found);
    for round in [Work::with, Work::results_first, Work::in_turn] {
        if edits.is_empty() {
            edits = round(&work, &found);
        }
    }
    crate::rewrite::sort(&mut edits);
    // Two that meet are made one after the other.
    let mut end = 0;
    edits.retain(|edit| {
        edit.range.start >= end && {
            end = edit.range.end;
            true
        }
    });
    edits
}

/// How many calls without a result the format of a conversation has no way to give one.
pub(crate) fn without_way(transcript: &Transcript<'_>) -> usize {
    let work = Work::new(transcript, Repair::Synthesize);
    let has_none = |breach: &Breach| matches!(breach.rule, Rule::Unanswered(call) if work.made_up(call).is_none());
    breaches(transcript).iter().filter(|breach| has_none(breach)).count()
}

struct Work<'w, 'a> {
    transcript: &'w Transcript<'a>,
    how: Repair,
    /// Whether characters beyond ASCII are escaped.
    ascii: bool,
    /// What stands between messages where it cannot be told nearby.
    separator: String,
}

impl<'w, 'a> Work<'w, 'a> {
    fn new(transcript: &'w Transcript<'a>, how: Repair) -> Self {
        let messages = &transcript.messages;
        let first = messages.first().map(Message::span);
        let separator = (1..messages.len()).find_map(|at| gap(transcript, at));
        let separator = separator
            .unwrap_or_else(|| crate::rewrite::default_separator(transcript.source, first.as_ref()).to_owned());
        Work { transcript, how, ascii: Style::is_ascii(transcript), separator }
    }

    /// How a message beside the one of that index is laid out.
    fn style(&self, index: usize) -> Style {
        Style::beside(self.transcript, index, self.ascii)
    }
}

/// What stands before a message and behind the one before it, where that is no more than a separator.
fn gap(transcript: &Transcript<'_>, index: usize) -> Option<String> {
    let (one, other) = (transcript.messages.get(index.checked_sub(1)?)?, transcript.messages.get(index)?);
    let gap = &transcript.source[one.span().end..other.span().start];
    Some(gap).filter(|gap| !gap.is_empty() && !gap.contains(['{', '['])).map(str::to_owned)
}

/// What is put behind a message that calls.
#[derive(Default)]
struct Coming {
    results: Vec<String>,
    /// Where some of them stood: the message, and the bytes.
    moved: BTreeSet<(usize, usize, usize)>,
}

/// Elements that go, by the index of their message.
type Gone = BTreeMap<usize, BTreeSet<(usize, usize)>>;

impl Work<'_, '_> {
    fn messages(&self) -> &[Message<'_>] {
        &self.transcript.messages
    }

    /// Takes away results that answer nothing, and calls that nothing answers if that is how they are mended.
    fn without(&self, found: &[Breach]) -> Vec<Edit> {
        let mut gone = Gone::new();
        let mut unanswered: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for breach in found {
            let message = &self.messages()[breach.message];
            let mut go =
                |json: Json<'_>| gone.entry(breach.message).or_default().insert((json.span().start, json.span().end));
            match breach.rule {
                Rule::Orphan(result) | Rule::Again(result) => {
                    go(message.answers[result.index].json);
                }
                Rule::Unanswered(call) if self.made_up(call).is_none() => {
                    go(message.calls[call.index].json);
                    unanswered.entry(breach.message).or_default().push(call.index);
                }
                Rule::Alone(_) => {
                    go(message.json);
                }
                _ => {}
            }
        }
        for (index, calls) in unanswered {
            let copies = self.transcript.format.duplicates(&self.messages()[index], &calls);
            let spans = copies.iter().map(|copy| (copy.span().start, copy.span().end));
            gone.entry(index).or_default().extend(spans);
        }
        self.taken_out(&gone)
    }

    /// The edits that take elements out of their messages, and messages out of which nothing is left.
    fn taken_out(&self, gone: &Gone) -> Vec<Edit> {
        let mut edits = Vec::new();
        let mut spans: Vec<Range<usize>> = Vec::new();
        for (&index, elements) in gone {
            let message = &self.messages()[index];
            if !is_all(message, elements) {
                spans.extend(elements.iter().map(|&(start, end)| start..end));
            } else if let Some(bridge) = self.transcript.format.placeholder(message.json) {
                let text = self.style(index).write(&bridge);
                edits.push(Edit { range: message.span(), text });
            } else {
                spans.push(message.span());
            }
        }
        edits.extend(elements::without(self.transcript.source, &spans));
        edits
    }

    /// A result for a call, where calls are given one and the format can write it.
    fn made_up(&self, call: CallOrResult) -> Option<Value> {
        let calling = &self.messages()[call.message];
        let format = self.transcript.format;
        (self.how == Repair::Synthesize)
            .then(|| format.result(&calling.calls[call.index], calling, NO_RESULT))
            .flatten()
    }

    /// Gives calls their results: those that stand elsewhere, and made up ones.
    fn with(&self, found: &[Breach]) -> Vec<Edit> {
        let mut coming: BTreeMap<usize, Coming> = BTreeMap::new();
        for breach in found {
            match breach.rule {
                Rule::Misplaced { result, call } => {
                    let message = &self.messages()[result.message];
                    let span = match self.transcript.format.results_message() {
                        Some(_) => message.answers[result.index].json.span(),
                        None if message.answers.len() == 1 => message.span(),
                        // One text for several calls cannot be in two places.
                        None => continue,
                    };
                    let coming = coming.entry(call.message).or_default();
                    // A message may answer several calls.
                    if coming.moved.insert((result.message, span.start, span.end)) {
                        coming.results.push(self.transcript.source[span].to_owned());
                    }
                }
                Rule::Unanswered(call) => {
                    if let Some(result) = self.made_up(call) {
                        let style = self.style(call.message);
                        coming.entry(call.message).or_default().results.push(style.write(&result));
                    }
                }
                _ => {}
            }
        }
        // Nothing is put into a message that gives something away; what would be waits for another round.
        let gives: BTreeSet<usize> =
            coming.values().flat_map(|coming| coming.moved.iter().map(|(message, ..)| *message)).collect();
        let first = coming.keys().next().copied();
        let waits = coming.keys().filter(|calling| Some(**calling) != first && gives.contains(&(*calling + 1)));
        let waits: Vec<usize> = waits.copied().collect();
        if first.is_some_and(|first| gives.contains(&(first + 1))) {
            coming.retain(|calling, _| Some(*calling) == first);
        }
        waits.iter().for_each(|calling| {
            coming.remove(calling);
        });
        let mut gone = Gone::new();
        for &(message, start, end) in coming.values().flat_map(|coming| &coming.moved) {
            gone.entry(message).or_default().insert((start, end));
        }
        let mut edits = self.taken_out(&gone);
        edits.extend(coming.iter().map(|(&calling, coming)| self.put_behind(calling, &coming.results)));
        edits
    }

    /// Puts results where the provider looks for those of the calls in a message.
    fn put_behind(&self, calling: usize, results: &[String]) -> Edit {
        let messages = self.messages();
        let Order { results: wanted, alternates, .. } = self.transcript.order;
        let Some(around) = self.transcript.format.results_message() else {
            let behind = messages[calling + 1..].iter().take_while(|message| !message.answers.is_empty()).count();
            let behind = if wanted == Results::Behind { 0 } else { behind };
            return self.entry(calling + 1 + behind, &results.join(&self.separator(calling)));
        };
        let next = messages.get(calling + 1);
        let takes =
            |message: &&Message<'_>| !message.answers.is_empty() || alternates && Turn::of(message) == Some(Turn::User);
        match next.filter(takes).and_then(list_of_parts) {
            Some(list) => elements::at_front(self.transcript.source, list.span(), results),
            None => {
                let message = self.style(calling).write(&around);
                let parts = Value::from(PARTS).to_string();
                // In a text beyond ASCII it may be spelled as an escape.
                let message = message.replace("\"\\u2026\"", &parts).replace(&parts, &results.join(", "));
                self.entry(calling + 1, &message)
            }
        }
    }

    /// Puts an entry before the message of that index, or behind the last.
    fn entry(&self, index: usize, text: &str) -> Edit {
        let separator = self.separator(index);
        match self.messages().get(index) {
            Some(next) => Edit { range: next.span().start..next.span().start, text: format!("{text}{separator}") },
            None => {
                let end = self.messages().last().map_or(self.transcript.source.len(), |last| last.span().end);
                Edit { range: end..end, text: format!("{separator}{text}") }
            }
        }
    }

    /// What stands between the messages around an index.
    fn separator(&self, index: usize) -> String {
        let near = gap(self.transcript, index).or_else(|| gap(self.transcript, index + 1));
        near.unwrap_or_else(|| self.separator.clone())
    }

    /// Moves results before all else in their messages.
    fn results_first(&self, found: &[Breach]) -> Vec<Edit> {
        let late = found.iter().filter(|breach| breach.rule == Rule::Late);
        late.flat_map(|breach| self.results_before_all(&self.messages()[breach.message])).collect()
    }

    fn results_before_all(&self, message: &Message<'_>) -> Vec<Edit> {
        let (Some(list), Content::Parts(parts)) = (list_of_parts(message), &message.content) else { return Vec::new() };
        let first = parts.iter().position(|part| !is_result(&part.kind)).unwrap_or(0);
        let late: Vec<Json<'_>> =
            parts[first..].iter().filter(|part| is_result(&part.kind)).map(|part| part.json).collect();
        let texts: Vec<String> = late.iter().map(|json| json.raw().to_owned()).collect();
        let spans: Vec<Range<usize>> = late.iter().map(|json| json.span()).collect();
        let source = self.transcript.source;
        [vec![elements::at_front(source, list.span(), &texts)], elements::without(source, &spans)].concat()
    }

    /// Gives a turn to whoever has none between two of the other.
    fn in_turn(&self, found: &[Breach]) -> Vec<Edit> {
        let turns = found.iter().filter(|breach| matches!(breach.rule, Rule::Turn(_)));
        turns.map(|breach| self.joined(breach.message).unwrap_or_else(|| self.between(breach.message))).collect()
    }

    /// Joins a message to the one before it, where both are of one speaker and are lists of parts.
    fn joined(&self, index: usize) -> Option<Edit> {
        let (one, other) = (self.messages().get(index.checked_sub(1)?)?, &self.messages()[index]);
        let keys = |message: &Message<'_>| {
            message.json.entries().map(|(key, _)| key.decode().into_owned()).collect::<Vec<String>>()
        };
        if one.role != other.role || keys(one) != keys(other) || keys(one).len() != 2 {
            return None;
        }
        let (last, first) = (list_of_parts(one)?.items().last()?, list_of_parts(other)?.items().next()?);
        Some(Edit { range: last.span().end..first.span().start, text: ", ".to_owned() })
    }

    /// Puts a message of the other speaker before one.
    fn between(&self, index: usize) -> Edit {
        let (role, text) = match Turn::of(&self.messages()[index]) {
            Some(Turn::Model | Turn::Calls) => (SummaryRole::User, NO_REQUEST),
            _ => (SummaryRole::Assistant, NO_ANSWER),
        };
        let place = InsertionPoint { transcript: self.transcript, cutoff: index, removed: &Vec::new };
        let made = self.transcript.format.summary(&SummaryMessage { text, role, name: None, marked: false }, &place);
        let style = self.style(index);
        let made: Vec<String> = made.iter().map(|entry| style.write(entry)).collect();
        self.entry(index, &made.join(&self.separator(index)))
    }
}

fn is_result(kind: &PartKind<'_>) -> bool {
    matches!(kind, PartKind::Result(_))
}

/// The array that holds the parts of a message.
fn list_of_parts<'a>(message: &Message<'a>) -> Option<Json<'a>> {
    let list = message.field("content").or_else(|| message.json.get("parts"))?;
    (list.kind() == Kind::Array).then_some(list)
}

/// Whether nothing that is said is left of a message without some elements.
pub(super) fn is_all(message: &Message<'_>, gone: &BTreeSet<(usize, usize)>) -> bool {
    let goes = |json: &Json<'_>| gone.contains(&(json.span().start, json.span().end));
    let calls = message.calls.iter().all(|call| goes(&call.json));
    let answers = message.answers.iter().all(|answer| goes(&answer.json));
    if message.role == Role::Tool && !message.answers.is_empty() {
        return answers;
    }
    let says = match &message.content {
        Content::Text(text) => !text.decode().trim().is_empty(),
        Content::Parts(parts) => parts.iter().any(|part| !goes(&part.json) && says_something(part)),
    };
    goes(&message.json) || calls && answers && !says
}

/// Whether a part can be all there is in a message.
fn says_something(part: &transcript::Part<'_>) -> bool {
    match &part.kind {
        PartKind::Text(text) | PartKind::Refusal(text) => !text.decode().trim().is_empty(),
        PartKind::Reasoning(_) | PartKind::Call => false,
        PartKind::Image | PartKind::Media | PartKind::Result(_) => true,
        PartKind::Compaction(_) | PartKind::Foreign(_) => true,
        PartKind::Other => !is_mark(part.json),
    }
}

/// Whether a part only marks a place: the beginning of a step of the AI SDK's, or what Bedrock caches.
fn is_mark(part: Json<'_>) -> bool {
    part.get_text("type").is_some_and(|kind| kind.is("step-start")) || part.get("cachePoint").is_some()
}
