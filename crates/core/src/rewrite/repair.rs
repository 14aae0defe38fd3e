//! Repairs violations of the provider's rules, by edits that leave everything else unchanged.
//!
//! Repair takes several rounds, and [`repair_round`] is one of them. First it removes entries that were written
//! again, and ties those that the agent does not find. Then it removes what is too much, tells calls with one id apart and fixes contents, then it adds what is missing and
//! moves what is misplaced, then it fixes the turns. After each round the result is read and checked again.

mod calls_and_contents;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::Value;

use crate::plan::breaches::{Breach, ProviderRule, breaches};
use crate::plan::undecipherable::encrypted_parts;
use crate::transcript::formats::{CallMembers, InsertionPoint, NewResult, PLACEHOLDER, SummaryMessage, SummaryRole};
use crate::transcript::json::{Json, JsonKind};
use crate::transcript::order::{MessageOrder, ResultPlacement, Turn};
use crate::transcript::pairing::CallOrResult;
use crate::transcript::{self, Content, Message, PartKind, Role, Transcript};

use crate::rewrite::{Edit, Style, elements};

/// How to repair calls without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repair {
    Drop,
    /// Add a result that says there is none.
    Synthesize,
}

/// The text of an added result.
const NO_RESULT: &str = "No result was recorded for this call.";
/// The texts of an added turn.
pub const NO_ANSWER: &str = "(No answer was recorded.)";
const NO_REQUEST: &str = "(The conversation goes on.)";

/// A step of a round: which violations it repairs, and how.
type Step<'w, 'a> = (fn(ProviderRule) -> bool, fn(&Repairer<'w, 'a>, &[&Breach]) -> Vec<Edit>);

/// The edits of one round; none if there is no violation, or none that can be repaired.
pub fn repair_round<'w, 'a>(transcript: &'w Transcript<'a>, policy: Repair) -> Vec<Edit> {
    use ProviderRule as Rule;
    let steps: [Step<'w, 'a>; 11] = [
        (|rule| matches!(rule, Rule::EmptyId { .. } | Rule::RefusedId(_) | Rule::RefusedName(_)), Repairer::respell),
        (|rule| matches!(rule, Rule::Repeated(_)), Repairer::tell_apart),
        (|rule| rule == Rule::SameMessageId, Repairer::tell_messages_apart),
        (|rule| matches!(rule, Rule::Input(_)), Repairer::make_objects),
        (|rule| rule == Rule::MediaInResult, Repairer::move_media),
        (|rule| matches!(rule, Rule::Mark { .. }), Repairer::remove_marks),
        (|rule| rule == Rule::Between, Repairer::move_entries),
        (|rule| matches!(rule, Rule::Surrogate | Rule::Blank), Repairer::fix_contents),
        (|rule| matches!(rule, Rule::Misplaced { .. } | Rule::Unanswered(_)), Repairer::add_missing),
        (|rule| rule == Rule::Late, Repairer::results_first),
        (|rule| matches!(rule, Rule::Turn(_)), Repairer::fix_turns),
    ];
    let found = breaches(transcript);
    if found.is_empty() {
        return Vec::new();
    }
    let repairer = Repairer::new(transcript, policy);
    let copies = crate::rewrite::without_copies(transcript);
    if !copies.is_empty() {
        return sorted(copies);
    }
    // Where the agent finds no more than a part of the session, calls and results seem to be missing.
    let is_loose = found.iter().any(|breach| matches!(breach.rule, Rule::Loose(_)));
    let mut edits = if is_loose { transcript.format.session.broken_links(transcript).repairs } else { Vec::new() };
    if edits.is_empty() {
        edits = repairer.remove_extra(&found);
    }
    for (repairs, step) in steps {
        if !edits.is_empty() {
            break;
        }
        let of_step: Vec<&Breach> = found.iter().filter(|breach| repairs(breach.rule)).collect();
        if !of_step.is_empty() {
            edits = step(&repairer, &of_step);
        }
    }
    // Of two overlapping edits, the second waits for the next round.
    let mut apart: Vec<Edit> = Vec::with_capacity(edits.len());
    for edit in sorted(edits) {
        if apart.last().is_none_or(|last| edit.range.start >= last.range.end) {
            apart.push(edit);
        }
    }
    apart
}

/// The edits that drop the encrypted compactions of some messages: `needless` entries as a whole, and of the others only
/// what is encrypted. None if nothing would be left.
pub fn drop_compactions(transcript: &Transcript<'_>, found: &[Breach], needless: &[Json<'_>]) -> Vec<Edit> {
    let mut spans: Vec<Range<usize>> = needless.iter().map(|entry| entry.span()).collect();
    spans.sort_by_key(|span| span.start);
    let mut removals = Removals::new();
    let mut stays = transcript.messages.len();
    for breach in found {
        let message = &transcript.messages[breach.message];
        if spans.binary_search_by_key(&message.span().start, |span| span.start).is_ok() {
            continue;
        }
        let encrypted = encrypted_parts(message).map(|part| bounds(part.json)).collect();
        if is_all(message, &encrypted) {
            stays -= 1;
        }
        removals.insert(breach.message, encrypted);
    }
    if stays == 0 {
        return Vec::new();
    }
    sorted(Repairer::new(transcript, Repair::Drop).removal_edits_with(&removals, spans))
}

fn sorted(mut edits: Vec<Edit>) -> Vec<Edit> {
    crate::rewrite::sort(&mut edits);
    edits
}

/// Counts the calls without a result for which the format cannot write one.
pub fn unrepairable_calls(transcript: &Transcript<'_>) -> usize {
    let repairer = Repairer::new(transcript, Repair::Synthesize);
    let mut count = 0;
    for breach in breaches(transcript) {
        if let ProviderRule::Unanswered(call) = breach.rule
            && !repairer.can_answer(call)
        {
            count += 1;
        }
    }
    count
}

struct Repairer<'w, 'a> {
    transcript: &'w Transcript<'a>,
    policy: Repair,
    /// Whether non-ASCII characters are escaped.
    ascii: bool,
    /// The separator of messages where no neighbour shows one.
    separator: String,
}

impl<'w, 'a> Repairer<'w, 'a> {
    fn new(transcript: &'w Transcript<'a>, policy: Repair) -> Self {
        let messages = &transcript.messages;
        let separator = match (1..messages.len()).find_map(|at| gap(transcript, at)) {
            Some(separator) => separator,
            None => {
                let first = messages.first().map(Message::span);
                crate::rewrite::default_separator(transcript.source, first.as_ref()).to_owned()
            }
        };
        Repairer { transcript, policy, ascii: transcript.is_ascii(), separator }
    }

    /// The layout for a message beside the one at `index`.
    fn style(&self, index: usize) -> Style {
        Style::beside(self.transcript, index, self.ascii)
    }
}

/// The text between a message and the one before it, if it is only a separator.
fn gap(transcript: &Transcript<'_>, index: usize) -> Option<String> {
    let (one, other) = (transcript.messages.get(index.checked_sub(1)?)?, transcript.messages.get(index)?);
    let gap = &transcript.source[one.span().end..other.span().start];
    if gap.is_empty() || gap.contains(['{', '[']) {
        return None;
    }
    Some(gap.to_owned())
}

/// The results to insert after a message with calls.
#[derive(Default)]
struct Insertion {
    results: Vec<String>,
    /// Where those are that are moved.
    moved: BTreeSet<MovedResult>,
}

/// The place of a result that is moved: the index of its message, and its span.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MovedResult {
    message: usize,
    span: (usize, usize),
}

/// The spans of removed elements, by the index of their message.
type Removals = BTreeMap<usize, BTreeSet<(usize, usize)>>;

/// Marks an element of the message at an index as removed.
fn remove(removals: &mut Removals, index: usize, element: Json<'_>) {
    removals.entry(index).or_default().insert(bounds(element));
}

impl Repairer<'_, '_> {
    fn messages(&self) -> &[Message<'_>] {
        &self.transcript.messages
    }

    /// Removes results without a call and, if that is the policy, calls without a result.
    fn remove_extra(&self, found: &[Breach]) -> Vec<Edit> {
        let mut removals = Removals::new();
        let mut unanswered: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for breach in found {
            let index = breach.message;
            let message = &self.messages()[index];
            match breach.rule {
                ProviderRule::Orphan(result) | ProviderRule::Again(result) => {
                    remove(&mut removals, index, message.results[result.index].json);
                }
                ProviderRule::Unanswered(call) if !self.can_answer(call) => {
                    remove(&mut removals, index, message.calls[call.index].json);
                    unanswered.entry(index).or_default().push(call.index);
                }
                ProviderRule::Alone(_) => remove(&mut removals, index, message.json),
                _ => {}
            }
        }
        for (index, calls) in unanswered {
            for (_, copy) in self.transcript.format.duplicates(&self.messages()[index], &calls) {
                remove(&mut removals, index, copy);
            }
        }
        self.removal_edits(&removals)
    }

    /// The edits that remove elements from their messages, and messages of which nothing is left.
    fn removal_edits(&self, removals: &Removals) -> Vec<Edit> {
        self.removal_edits_with(removals, Vec::new())
    }

    /// Those edits, and those that remove other entries.
    fn removal_edits_with(&self, removals: &Removals, mut spans: Vec<Range<usize>>) -> Vec<Edit> {
        let mut edits = Vec::new();
        for (&index, elements) in removals {
            let message = &self.messages()[index];
            if !is_all(message, elements) {
                spans.extend(elements.iter().map(|&(start, end)| start..end));
            } else if let Some(bridge) = self.transcript.format.session.placeholder(message.json) {
                let text = self.style(index).write(&bridge);
                edits.push(Edit { range: message.span(), text });
            } else {
                spans.push(message.span());
            }
        }
        edits.extend(elements::removal_edits(self.transcript.source, &spans));
        edits
    }

    /// Whether the policy adds results and the format can write one for a call.
    fn can_answer(&self, call: CallOrResult) -> bool {
        self.new_result(call).is_some()
    }

    /// The edits that put a result into some calls of a message and into their copies.
    fn answer_in_calls(&self, index: usize, calls: &[usize]) -> Vec<Edit> {
        let message = &self.messages()[index];
        let originals = calls.iter().map(|&call| (call, message.calls[call].json));
        let copies = self.transcript.format.duplicates(message, calls);
        let mut edits = Vec::new();
        for (call, json) in originals.chain(copies) {
            let call = CallOrResult { message: index, index: call };
            let Some(NewResult::InCall(CallMembers { inside, members })) = self.new_result(call) else { continue };
            // A copy has its members without a part around them.
            let holder = inside.and_then(|inside| json.get(inside)).unwrap_or(json);
            edits.extend(elements::with_members(holder, &members, self.transcript.source));
        }
        edits
    }

    /// Writes a result for a call, if the policy adds results and the format can write one.
    fn new_result(&self, call: CallOrResult) -> Option<NewResult> {
        if self.policy != Repair::Synthesize {
            return None;
        }
        let calling = &self.messages()[call.message];
        self.transcript.format.write_result(&calling.calls[call.index], calling, NO_RESULT)
    }

    /// Adds results to calls: misplaced ones, and placeholders.
    fn add_missing(&self, found: &[&Breach]) -> Vec<Edit> {
        let mut insertions: BTreeMap<usize, Insertion> = BTreeMap::new();
        let mut placeholders: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
        let mut answered_inside: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for breach in found {
            match breach.rule {
                ProviderRule::Misplaced { result, call } => {
                    let message = &self.messages()[result.message];
                    let span = match self.transcript.format.write_results_message() {
                        Some(_) => message.results[result.index].json.span(),
                        None if message.results.len() == 1 => message.span(),
                        // One text for several calls cannot be in two places.
                        None => continue,
                    };
                    let insertion = insertions.entry(call.message).or_default();
                    let moved = MovedResult { message: result.message, span: (span.start, span.end) };
                    // A message may answer several calls.
                    if insertion.moved.insert(moved) {
                        insertion.results.push(self.transcript.source[span].to_owned());
                    }
                }
                ProviderRule::Unanswered(call) => match self.new_result(call) {
                    Some(NewResult::InCall(_)) => answered_inside.entry(call.message).or_default().push(call.index),
                    Some(NewResult::Entry(result)) => placeholders.entry(call.message).or_default().push(result),
                    None => {}
                },
                _ => {}
            }
        }
        let mut edits = Vec::new();
        for (&index, calls) in &answered_inside {
            edits.extend(self.answer_in_calls(index, calls));
        }
        edits.extend(self.transcript.format.session.link_results(self.transcript, &mut placeholders));
        for (calling, results) in placeholders {
            let style = self.style(calling);
            let insertion = insertions.entry(calling).or_default();
            for result in &results {
                insertion.results.push(style.write(result));
            }
        }
        // A message that loses a result takes none in the same round; the insertion waits for the next one.
        // Where this concerns the first insertion, all others wait instead.
        let mut sources: BTreeSet<usize> = BTreeSet::new();
        for insertion in insertions.values() {
            sources.extend(insertion.moved.iter().map(|moved| moved.message));
        }
        if let Some(first) = insertions.keys().next().copied() {
            let is_first_only = sources.contains(&(first + 1));
            insertions.retain(|calling, _| *calling == first || !is_first_only && !sources.contains(&(calling + 1)));
        }
        let mut removals = Removals::new();
        for insertion in insertions.values() {
            for moved in &insertion.moved {
                removals.entry(moved.message).or_default().insert(moved.span);
            }
        }
        edits.extend(self.removal_edits(&removals));
        for (&calling, insertion) in &insertions {
            edits.push(self.insert_results(calling, &insertion.results));
        }
        edits
    }

    /// Inserts results where the provider expects those of the calls in a message.
    fn insert_results(&self, calling: usize, results: &[String]) -> Edit {
        let messages = self.messages();
        let MessageOrder { results: wanted, alternates, .. } = self.transcript.order;
        let Some(around) = self.transcript.format.write_results_message() else {
            if self.transcript.format.writes_results_directly_behind {
                let separator = self.separator(calling);
                let end = messages[calling].span().end;
                return Edit { range: end..end, text: format!("{separator}{}", results.join(&separator)) };
            }
            let mut at = calling + 1;
            if wanted != ResultPlacement::Behind {
                at += messages[at..].iter().take_while(|message| !message.results.is_empty()).count();
            }
            return self.entry(at, &results.join(&self.separator(calling)));
        };
        if let Some(next) = messages.get(calling + 1)
            && (!next.results.is_empty() || alternates && Turn::of(next) == Some(Turn::User))
            && let Some(list) = list_of_parts(next)
        {
            return elements::at_front(self.transcript.source, list.span(), results);
        }
        let message = self.style(calling).write(&around);
        let parts = Value::from(PLACEHOLDER).to_string();
        // In an ASCII transcript it is spelled as an escape.
        let message = message.replace("\"\\u2026\"", &parts).replace(&parts, &results.join(", "));
        self.entry(calling + 1, &message)
    }

    /// Inserts an entry before the message at `index`, or after the last one.
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

    /// The separator of the messages around an index.
    fn separator(&self, index: usize) -> String {
        let near = gap(self.transcript, index).or_else(|| gap(self.transcript, index + 1));
        near.unwrap_or_else(|| self.separator.clone())
    }

    /// Moves results to the front of their messages.
    fn results_first(&self, late: &[&Breach]) -> Vec<Edit> {
        let mut edits = Vec::new();
        for breach in late {
            edits.extend(self.results_before_all(&self.messages()[breach.message]));
        }
        edits
    }

    fn results_before_all(&self, message: &Message<'_>) -> Vec<Edit> {
        let (Some(list), Content::Parts(parts)) = (list_of_parts(message), &message.content) else { return Vec::new() };
        let first = parts.iter().position(|part| !is_result(&part.kind)).unwrap_or(0);
        let (mut texts, mut spans) = (Vec::new(), Vec::new());
        for part in &parts[first..] {
            if is_result(&part.kind) {
                texts.push(part.json.raw().to_owned());
                spans.push(part.json.span());
            }
        }
        let mut edits = vec![elements::at_front(self.transcript.source, list.span(), &texts)];
        edits.extend(elements::removal_edits(self.transcript.source, &spans));
        edits
    }

    /// Adds the missing turn between two turns of the same speaker.
    fn fix_turns(&self, turns: &[&Breach]) -> Vec<Edit> {
        let mut edits = Vec::with_capacity(turns.len());
        for turn in turns {
            edits.push(self.joined(turn.message).unwrap_or_else(|| self.between(turn.message)));
        }
        edits
    }

    /// Merges a message into the one before it, if both have the same speaker and a list of parts.
    fn joined(&self, index: usize) -> Option<Edit> {
        let (one, other) = (self.messages().get(index.checked_sub(1)?)?, &self.messages()[index]);
        if one.role != other.role {
            return None;
        }
        let keys = keys_of(one);
        if keys.len() != 2 || keys != keys_of(other) {
            return None;
        }
        let (last, first) = (list_of_parts(one)?.items().last()?, list_of_parts(other)?.items().next()?);
        Some(Edit { range: last.span().end..first.span().start, text: ", ".to_owned() })
    }

    /// Inserts a message of the other speaker before one.
    fn between(&self, index: usize) -> Edit {
        let (role, text) = match Turn::of(&self.messages()[index]) {
            Some(Turn::Model | Turn::Calls) => (SummaryRole::User, NO_REQUEST),
            _ => (SummaryRole::Assistant, NO_ANSWER),
        };
        let place = InsertionPoint::new(self.transcript, index);
        let inserted =
            self.transcript.format.write_summary(&SummaryMessage { text, role, name: None, marked: false }, &place);
        let style = self.style(index);
        let inserted: Vec<String> = inserted.iter().map(|entry| style.write(entry)).collect();
        self.entry(index, &inserted.join(&self.separator(index)))
    }
}

/// The keys of the members of a message.
fn keys_of(message: &Message<'_>) -> Vec<String> {
    message.json.entries().map(|(key, _)| key.decode().into_owned()).collect()
}

fn is_result(kind: &PartKind<'_>) -> bool {
    matches!(kind, PartKind::Result(_))
}

/// The array with the parts of a message.
fn list_of_parts<'a>(message: &Message<'a>) -> Option<Json<'a>> {
    let list = message.field("content").or_else(|| message.json.get("parts"))?;
    if list.kind() == JsonKind::Array { Some(list) } else { None }
}

/// The span of an element as a set of them has it.
pub(super) fn bounds(json: Json<'_>) -> (usize, usize) {
    (json.span().start, json.span().end)
}

/// Whether a message without these elements has no content left.
pub(super) fn is_all(message: &Message<'_>, removals: &BTreeSet<(usize, usize)>) -> bool {
    let has_results = message.results.iter().any(|result| !removals.contains(&bounds(result.json)));
    if message.role == Role::Tool && !message.results.is_empty() {
        return !has_results;
    }
    if removals.contains(&bounds(message.json)) {
        return true;
    }
    let has_calls = message.calls.iter().any(|call| !removals.contains(&bounds(call.json)));
    if has_calls || has_results {
        return false;
    }
    match &message.content {
        Content::Text(text) => text.decode().trim().is_empty(),
        Content::Parts(parts) => {
            for part in parts {
                if !removals.contains(&bounds(part.json)) && has_content_of_its_own(part) {
                    return false;
                }
            }
            true
        }
    }
}

/// Whether a part alone can be the content of a message.
fn has_content_of_its_own(part: &transcript::Part<'_>) -> bool {
    match &part.kind {
        PartKind::Text(text) | PartKind::Refusal(text) => !text.decode().trim().is_empty(),
        PartKind::Reasoning(_) | PartKind::Call => false,
        PartKind::Media(_) | PartKind::Mixed(_) | PartKind::SaidBy(..) | PartKind::Result(_) => true,
        PartKind::Compaction(_) | PartKind::Foreign(_) => true,
        PartKind::Other => !is_mark(part.json),
    }
}

/// Whether a part is only a mark: the start of a step in the AI SDK, or a cache point of Bedrock.
fn is_mark(part: Json<'_>) -> bool {
    part.get_text("type").is_some_and(|kind| kind.is("step-start")) || part.get("cachePoint").is_some()
}
