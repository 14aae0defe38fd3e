//! Compactions between a call and its result. pi writes them behind whole turns.
//!
//! Also: the sizes that pi records: the usage of each answer.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::edit::{Edit, edited_value};
use crate::format::{Age, MisplacedEntry, Transcript};
use crate::formats::pi::{KEYS, is_compaction, is_summary};
use crate::json::{Json, Object};
use crate::message::Message;
use crate::time;
use crate::usage::{Names, Usage, UsageAt};

/// The compactions that stand between a call and its result, in order.
pub(super) fn misplaced<'a>(transcript: &Transcript<'a>) -> Vec<MisplacedEntry<'a>> {
    let mut compactions: Vec<Json<'a>> =
        transcript.entries().filter(|entry| is_compaction(&Object::of(*entry))).collect();
    compactions.sort_by_key(|entry| entry.span().start);
    if compactions.is_empty() {
        return Vec::new();
    }
    let messages = &transcript.messages;
    let mut turns = transcript.pairing.pairs.clone();
    turns.sort_unstable();
    let mut found = Vec::new();
    let (mut rest, mut done) = (turns.as_slice(), 0);
    while let [(_, last), ..] = *rest {
        // Behind its last result a turn can be inside another one, which ends later.
        let (mut last, mut count) = (last, 0);
        while let Some((_, other)) = rest.get(count).filter(|(call, _)| count == 0 || *call < last) {
            (last, count) = (last.max(*other), count + 1);
        }
        for &(call, result) in &rest[..count] {
            let (start, end) = (messages[call].span().start, messages[result].span().start);
            done = done.max(compactions.partition_point(|entry| entry.span().start < start));
            while let Some(compaction) = compactions.get(done).filter(|entry| entry.span().start < end) {
                found.push(MisplacedEntry { message: call, entry: *compaction, result: messages[last].json });
                done += 1;
            }
        }
        rest = &rest[count..];
    }
    found
}

/// The edits that move such compactions behind their results, in the file and in the chain.
pub(super) fn moved<'a>(transcript: &Transcript<'a>, misplaced: &[MisplacedEntry<'a>]) -> Vec<Edit> {
    let source = transcript.source;
    let chain = NewChain::of(misplaced);
    let mut edits = Vec::new();
    for group in misplaced.chunk_by(|one, next| one.result.span() == next.result.span()) {
        let end = group[0].result.span().end;
        let mut before = id(group[0].result);
        let mut texts = String::new();
        for MisplacedEntry { entry, .. } in group {
            let span = entry.span();
            let rest = &source[span.end..];
            let line_end = rest.find('\n').filter(|end| rest[..*end].trim().is_empty()).map_or(0, |end| end + 1);
            edits.push(Edit { range: span.start..span.end + line_end, text: String::new() });
            let mut text = entry.raw().to_owned();
            if let (Some(own), Some(behind), Some(parent)) = (id(*entry), &before, entry.get(KEYS.parent)) {
                text = edited_value(*entry, vec![Edit { range: parent.span(), text: written(behind) }]);
                before = Some(own);
            }
            texts.push('\n');
            texts.push_str(&text);
        }
        edits.push(Edit { range: end..end, text: texts });
    }
    let moved: HashSet<usize> = misplaced.iter().map(|one| one.entry.span().start).collect();
    for entry in transcript.entries() {
        if !moved.contains(&entry.span().start)
            && let Some(link) = entry.get(KEYS.parent)
        {
            edits.extend(chain.edit(link));
        }
    }
    edits
}

/// The links of a session whose compactions have moved.
struct NewChain<'a> {
    /// Where the links that led to a compaction lead: to what it named, past other compactions that have moved.
    past: HashMap<Cow<'a, str>, Json<'a>>,
    /// The last compaction behind each result.
    last: HashMap<Cow<'a, str>, Cow<'a, str>>,
}

impl<'a> NewChain<'a> {
    fn of(misplaced: &[MisplacedEntry<'a>]) -> Self {
        let (mut parents, mut last) = (HashMap::new(), HashMap::new());
        for MisplacedEntry { entry, result, .. } in misplaced {
            if let (Some(own), Some(before), Some(parent)) = (id(*entry), id(*result), entry.get(KEYS.parent)) {
                parents.entry(own.clone()).or_insert(parent);
                last.insert(before, own);
            }
        }
        let mut past: HashMap<Cow<'a, str>, Json<'a>> = HashMap::new();
        for (own, parent) in &parents {
            // Each compaction is passed once; a circle ends where it began.
            if past.contains_key(own) {
                continue;
            }
            let (mut ids, mut end) = (vec![own.clone()], *parent);
            let mut walked = HashSet::from([own.clone()]);
            while let Some(next) = named(end).filter(|next| walked.insert(next.clone())) {
                let Some(further) = past.get(&next).or_else(|| parents.get(&next)) else { break };
                end = *further;
                ids.push(next);
            }
            past.extend(ids.into_iter().map(|id| (id, end)));
        }
        NewChain { past, last }
    }

    /// The edit of a link that stays, if it leads elsewhere now: past the compactions that were there, and from a
    /// result to the last one that is behind it.
    fn edit(&self, link: Json<'a>) -> Option<Edit> {
        let past = named(link).and_then(|id| self.past.get(&id)).copied();
        let last = named(past.unwrap_or(link)).and_then(|id| self.last.get(&id));
        let text = match last {
            Some(last) => written(last),
            None => past?.raw().to_owned(),
        };
        Some(Edit { range: link.span(), text })
    }
}

fn id<'a>(entry: Json<'a>) -> Option<Cow<'a, str>> {
    entry.get_text(KEYS.id).map(|id| id.decode())
}

fn named<'a>(link: Json<'a>) -> Option<Cow<'a, str>> {
    link.text().map(|named| named.decode())
}

fn written(id: &str) -> String {
    Value::from(id).to_string()
}

/// What was cached is counted beside the input.
const NAMES: Names = Names { read: "input", cached: &["cacheRead", "cacheWrite"], written: "output", total: "" };

/// pi does not take the sizes of answers that were broken off either.
pub(super) const USAGE: UsageAt = UsageAt {
    read: |usage| Usage::named(&Object::of(usage), &NAMES),
    except: &[(&["message", "stopReason"], "aborted"), (&["message", "stopReason"], "error")],
    ..UsageAt::path(&["message", "usage"])
};

/// The age of an entry behind a summary. Ours stands before what is kept, and has a later time, by which pi itself
/// tells what is older.
pub(super) fn age(entry: Json<'_>, summary: &Message<'_>) -> Option<Age> {
    let line = Object::of(summary.json);
    if !is_summary(&line) {
        return None;
    }
    if !is_compaction(&line) {
        return Some(Age::Newer);
    }
    Some(match (written_at(entry), written_at(summary.json)) {
        (Some(entry), Some(summary)) => Age::of_times(entry, summary),
        _ => Age::Older,
    })
}

/// When an entry was written, in milliseconds.
fn written_at(entry: Json<'_>) -> Option<i64> {
    if let Some(time) = entry.at(&["message", "timestamp"]).and_then(|time| time.raw().parse::<i64>().ok()) {
        return Some(time);
    }
    time::milliseconds(&entry.get_text("timestamp")?.decode())
}
