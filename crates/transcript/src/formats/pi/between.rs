//! Compactions between a call and its result. pi writes them behind whole turns.
//!
//! Also: the sizes that pi records: the usage of each answer.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::edit::{Edit, edited_value};
use crate::format::{Age, MisplacedEntry, Transcript};
use crate::formats::pi::written::{time_of_line, time_of_message};
use crate::formats::pi::{KEYS, is_compaction, is_summary};
use crate::json::{Json, Object};
use crate::message::Message;
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
        while let Some((call, result)) = rest.get(count)
            && (count == 0 || *call < last)
        {
            last = last.max(*result);
            count += 1;
        }
        for &(call, result) in &rest[..count] {
            let (start, end) = (messages[call].span().start, messages[result].span().start);
            done = done.max(compactions.partition_point(|entry| entry.span().start < start));
            while let Some(compaction) = compactions.get(done)
                && compaction.span().start < end
            {
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
            let line_end = match rest.find('\n') {
                Some(end) if rest[..end].trim().is_empty() => end + 1,
                _ => 0,
            };
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
            while let Some(next) = named(end)
                && walked.insert(next.clone())
            {
                let Some(further) = past.get(&next).or_else(|| parents.get(&next)) else { break };
                end = *further;
                ids.push(next);
            }
            for id in ids {
                past.insert(id, end);
            }
        }
        NewChain { past, last }
    }

    /// The edit of a link that stays, if it leads elsewhere now: past the compactions that were there, and from a
    /// result to the last one that is behind it.
    fn edit(&self, link: Json<'a>) -> Option<Edit> {
        let past = self.past_of(link);
        let text = match self.last_behind(past.unwrap_or(link)) {
            Some(last) => written(last),
            None => past?.raw().to_owned(),
        };
        Some(Edit { range: link.span(), text })
    }

    fn past_of(&self, link: Json<'a>) -> Option<Json<'a>> {
        self.past.get(&named(link)?).copied()
    }

    fn last_behind(&self, link: Json<'a>) -> Option<&str> {
        let last = self.last.get(&named(link)?)?;
        Some(last)
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
    time_of_message(entry).or_else(|| time_of_line(entry))
}
