//! The laws about text, for any source and any rules.
//!
//! Tests check them on what they generate, and `fuzz/` uses them unchanged.

use std::collections::{BTreeSet, HashMap};

use crate::plan::breaches::{Breach, ProviderRule, breaches};
use crate::plan::cutoff::Pairs;
use crate::plan::pins::Pin;
use crate::plan::size::Size;
use crate::plan::summaries::mark_summaries;
use crate::plan::{CutPolicy, Plan, plan};
use crate::presets::pairs::moved_cut;
use crate::rewrite::repair::{self, Repair};
use crate::rewrite::thinking::{self, Thinking};
use crate::rewrite::{apply, splice, summary_place};
use crate::tokens::{Counter, Tally};
use crate::transcript::compaction::{Reset, ResetKind};
use crate::transcript::formats::{Format, SummaryMessage, SummaryRole};
use crate::transcript::framing::{self, Document};
use crate::transcript::pairing::Pairing;
use crate::transcript::source::Source;
use crate::transcript::{Message, Transcript};
use serde_json::Value;
use tcompact_core::digest;

/// The prefix of an earlier summary.
pub(crate) const PREFIX: &str = "Earlier:\n\n";

/// The size to which recorded sizes are reset.
pub(crate) const TOKENS: u64 = 7;

/// The rules that the laws vary.
#[derive(Debug, Clone)]
pub(crate) struct VaryingRules {
    pub(crate) keep: Size,
    pub(crate) pin: Pin,
}

pub(crate) fn policy(rules: &VaryingRules) -> CutPolicy {
    CutPolicy { pins: vec![rules.pin.clone()], summary_prefix: PREFIX.to_owned(), ..CutPolicy::keeping(rules.keep) }
}

/// Passes the conversations of a readable source to `inspect`, with summaries marked by the default policy.
pub(crate) fn with_document<T>(
    source: &str,
    from: Option<&'static Format>,
    inspect: impl FnOnce(&Document<'_>) -> T,
) -> T {
    let policy = CutPolicy { summary_prefix: PREFIX.to_owned(), ..CutPolicy::keeping(Size::Nothing) };
    with_document_of(source, from, &policy, inspect)
}

/// Passes them with summaries marked by `policy`. As in the program, each message is marked once: a mark decides about
/// the next ones.
pub(crate) fn with_document_of<T>(
    source: &str,
    from: Option<&'static Format>,
    policy: &CutPolicy,
    inspect: impl FnOnce(&Document<'_>) -> T,
) -> T {
    let json = Source::of_file(source).unwrap_or_else(|error| panic!("{error:?}: {source}"));
    let mut document = framing::read(&json, from, None).unwrap_or_else(|error| panic!("it {error}: {source}"));
    document.transcripts.iter_mut().for_each(|transcript| mark_summaries(transcript, policy, SummaryRole::User));
    inspect(&document)
}

/// Compacts each conversation of a source and keeps its thinking. Returns the plans and the text.
pub(crate) fn compacted(source: &str, from: Option<&'static Format>, policy: &CutPolicy) -> (Vec<Plan>, String) {
    thinking_compacted(source, from, policy, ThinkingPolicy { mode: Thinking::Keep, reader: None }, false)
}

/// Compacts like [`compacted`], and resets what agents reset.
#[cfg(test)]
pub(crate) fn compacted_and_reset(
    source: &str,
    from: Option<&'static Format>,
    policy: &CutPolicy,
) -> (Vec<Plan>, String) {
    thinking_compacted(source, from, policy, ThinkingPolicy { mode: Thinking::Keep, reader: None }, true)
}

/// A policy for thinking.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThinkingPolicy<'a> {
    /// The value of `--thinking`.
    pub(crate) mode: Thinking,
    /// The model of `--for`.
    pub(crate) reader: Option<&'a str>,
}

/// Compacts like [`compacted`] with a policy for thinking.
fn thinking_compacted(
    source: &str,
    from: Option<&'static Format>,
    policy: &CutPolicy,
    thinking: ThinkingPolicy<'_>,
    resets: bool,
) -> (Vec<Plan>, String) {
    with_document_of(source, from, policy, |document| {
        let mut plans = Vec::new();
        let mut edits = Vec::new();
        for transcript in &document.transcripts {
            let mut transcript = transcript.clone();
            thinking::release(&mut transcript, thinking.mode, thinking.reader);
            let transcript = &transcript;
            let mut decided = plan(transcript, &Tally::new(Counter::APPROX, &transcript.messages), policy, moved_cut);
            let text = format!("{}What was — said.", policy.summary_prefix);
            let summary = SummaryMessage { text: &text, role: SummaryRole::User, name: None, marked: true };
            let summary = transcript.format.write_summary(&summary, &summary_place(transcript, &decided));
            if decided.cutoff > 0 {
                let removal =
                    thinking::removal(transcript, staying(transcript, &decided), thinking.mode, thinking.reader);
                decided.emptied = removal.emptied;
                edits.extend(removal.edits);
            }
            if decided.cutoff > 0 {
                let all = transcript.format.session.resets(&summary, &summary_place(transcript, &decided), &|| TOKENS);
                // Without its parent, a pinned line would not be a part of the result.
                let is_made = |reset: &Reset| resets || reset.kind == ResetKind::Parent;
                edits.extend(all.into_iter().filter(is_made).map(|reset| reset.edit));
            }
            edits.extend(splice(transcript, &decided, &summary));
            plans.push(decided);
        }
        edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
        (plans, apply(source, &edits))
    })
}

/// The indices of the kept messages, in order.
fn staying<'p>(transcript: &Transcript<'_>, plan: &'p Plan) -> impl Iterator<Item = usize> + use<'p> {
    plan.pinned.iter().copied().chain(plan.cutoff..transcript.messages.len())
}

/// Checks what happens to thinking after a cut. `expected` has each message without the thinking that a model binds to
/// the messages before it, and `is_removed` is true if such thinking is removed here. Returns how many messages lost
/// thinking.
pub(crate) fn assert_thinking_law(
    source: &str,
    from: Option<&'static Format>,
    policy: &CutPolicy,
    thinking: ThinkingPolicy<'_>,
    expected: &[Option<String>],
    is_removed: bool,
) -> usize {
    let (plans, out) = thinking_compacted(source, from, policy, thinking, false);
    let [plan] = plans.as_slice() else { return 0 };
    if plan.cutoff == 0 {
        assert_eq!(out, source, "what is not cut keeps its thinking");
        return 0;
    }
    if !is_removed {
        assert_eq!(out, compacted(source, from, policy).1, "no thinking goes: {source}");
        return 0;
    }
    let (before, after) = (&spelled(source, from)[0], &spelled(&out, from)[0]);
    let stays = || with_document(source, from, |document| staying(&document.transcripts[0], plan).collect::<Vec<_>>());
    let is_summary = |text: &&String| text.contains(r"Earlier:\n\nWhat was ");
    let remaining: Vec<&String> = after.iter().filter(|text| !is_summary(text)).collect();
    let lost = assert_only_thinking_is_lost(before, expected, &stays(), &remaining, source);
    assert_links_hold(source, &out, &before[plan.cutoff..], after);
    // The words in place of an answer that was only thinking can count for more than the thinking, so a second run that
    // keeps by tokens may keep less.
    let says_more = out.contains(crate::rewrite::repair::NO_ANSWER);
    // A message of nothing but thinking can precede a result without a call. It is removed only after the cut was
    // decided; the next compaction finds the result in front and summarizes it.
    let exposes_orphan = || {
        let front = (plan.cutoff..expected.len()).find(|&index| expected[index].is_some());
        let is_orphan =
            |at: usize| with_document(source, from, |document| document.transcripts[0].pairing.orphaned[at]);
        front.is_some_and(|front| front > plan.cutoff && is_orphan(front))
    };
    let counts_differently = matches!(policy.keep, Size::Tokens(_) | Size::Bytes(_)) && says_more;
    if !counts_differently && !matches!(policy.keep, Size::From(_)) && !exposes_orphan() {
        let again = thinking_compacted(&out, from, policy, thinking, false).1;
        assert_eq!(again, out, "compacting twice changes nothing that once did not");
    }
    lost
}

/// Checks that the kept messages lost their bound thinking and nothing else. Returns how many lost some.
fn assert_only_thinking_is_lost(
    before: &[String],
    expected: &[Option<String>],
    kept: &[usize],
    remaining: &[&String],
    source: &str,
) -> usize {
    let value = |text: &str| serde_json::from_str::<Value>(text).expect("JSON").to_string();
    let texts = |&index: &usize| expected[index].as_ref().map(|expected| (&before[index], without_parent(expected)));
    let texts: Vec<(&String, String)> = kept.iter().filter_map(texts).collect();
    assert_eq!(remaining.len(), texts.len(), "messages go with all of their thinking only: {remaining:?}\n{source}");
    for (remaining, (before, expected)) in remaining.iter().zip(texts) {
        // A message without thinking is unchanged to the byte.
        if *before == expected {
            assert_eq!(*remaining, before, "{source}");
        } else {
            assert_eq!(value(remaining), value(&expected), "{source}");
        }
    }
    let lost = |index: usize| expected[index].as_deref().map(without_parent).as_ref() != Some(&before[index]);
    kept.iter().filter(|index| lost(**index)).count()
}

/// Checks that the walk up from the last line of a linked session still passes all kept messages that it passed before,
/// if they still are messages.
fn assert_links_hold(source: &str, out: &str, kept: &[String], after: &[String]) {
    let walk = |text: &str| -> BTreeSet<String> {
        let text = text.trim().trim_start_matches("{\"loglines\":[").trim_end_matches("]}");
        let text = text.replace("}, {", "}\n{");
        let lines = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        let lines: Vec<Value> = lines.map_while(Result::ok).filter(|line| line.get("parentUuid").is_some()).collect();
        let id = |line: &Value, key: &str| line[key].as_str().map(str::to_owned);
        let parents: HashMap<String, Option<String>> =
            lines.iter().filter_map(|line| Some((id(line, "uuid")?, id(line, "parentUuid")))).collect();
        let mut walked = BTreeSet::new();
        let mut at = lines.last().and_then(|line| id(line, "uuid"));
        while let Some(id) = at.filter(|id| walked.insert(id.clone())) {
            at = parents.get(&id).cloned().flatten();
        }
        walked
    };
    if !source.contains("\"parentUuid\"") {
        return;
    }
    let id = |text: &String| serde_json::from_str::<Value>(text).ok()?["uuid"].as_str().map(str::to_owned);
    let (before, now) = (walk(source), walk(out));
    let remaining: BTreeSet<String> = after.iter().filter_map(id).collect();
    for id in kept.iter().filter_map(id).filter(|id| before.contains(id) && remaining.contains(id)) {
        assert!(now.contains(&id), "{id} is not led to: {out}\n{source}");
    }
}

/// Lines of Claude Code without the ids of their parents; other texts as they are.
fn without_parent(lines: &str) -> String {
    let mut pieces = lines.split("\"parentUuid\":");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find([',', '}']).unwrap_or(piece.len());
        out.extend(["\"parentUuid\":null", &piece[end..]]);
    }
    out
}

/// The messages of each conversation as they are spelled, without their parents, which a compaction changes.
fn spelled(source: &str, from: Option<&'static Format>) -> Vec<Vec<String>> {
    with_document(source, from, |document| {
        let spelled = |message: &crate::transcript::Message<'_>| without_parent(message.json.raw());
        document.transcripts.iter().map(|transcript| transcript.messages.iter().map(spelled).collect()).collect()
    })
}

/// Checks the laws about text on one source under some rules. Returns the plan and the messages of each conversation.
pub(crate) fn assert_laws(source: &str, from: Option<&'static Format>, policy: &CutPolicy) -> Vec<(Plan, Vec<String>)> {
    let (plans, out) = compacted(source, from, policy);
    assert_eq!(compacted(source, from, policy).1, out, "the same every time");
    let (before, after) = (spelled(source, from), spelled(&out, from));
    assert_eq!(before.len(), after.len());
    for ((plan, before), after) in plans.iter().zip(&before).zip(&after) {
        if plan.cutoff == 0 {
            assert_eq!(before, after);
            continue;
        }
        assert_order(plan, before, after);
        assert_compactions(plan, before, after, policy.rules == crate::plan::Rules::OWN);
    }
    with_document(source, from, |document| {
        if let ([plan], [transcript]) = (plans.as_slice(), document.transcripts.as_slice())
            && plan.cutoff > 0
        {
            let notes = transcript.notes.iter().map(|note| note.json.span().start);
            let first = notes.chain([transcript.messages[0].span().start]).min().expect("an entry");
            let before_list = &source[..first];
            assert!(out.starts_with(before_list), "all before the list is as it was");
            let kept = transcript.messages.get(plan.cutoff).map_or("", |kept| &source[kept.span().start..]);
            assert!(
                without_parent(&out).ends_with(&without_parent(kept)),
                "all from the first kept message on is as it was"
            );
        }
    });
    // Thinking of an open tool loop stays with a pinned call. The summary after them ends that loop, and the next
    // compaction may summarize the thinking.
    let thinks = |message: &String| message.contains("thinking") || message.contains("reasoning");
    let pins_thinking =
        plans.iter().zip(&before).any(|(plan, before)| plan.pinned.iter().any(|&index| thinks(&before[index])));
    // Other systems summarize an earlier summary again.
    let is_own = policy.rules == crate::plan::Rules::OWN && policy.pairs == Pairs::Strict;
    // An index is of the conversation as it stands.
    if is_own && !pins_thinking && !matches!(policy.keep, Size::From(_)) {
        let (again, twice) = compacted(&out, from, policy);
        assert_eq!(twice, out, "compacting twice changes nothing that once did not: {again:?}");
    }
    plans.into_iter().zip(before).collect()
}

/// Checks that a compacted list has pinned messages, the summary and kept messages in order.
fn assert_order(plan: &Plan, before: &[String], after: &[String]) {
    let pinned: Vec<&String> = plan.pinned.iter().map(|&index| &before[index]).collect();
    let (front, behind) = pinned.split_at(plan.before_summary);
    let (summary, next) = (front.len(), front.len() + 1);
    assert_eq!(after[..summary].iter().collect::<Vec<_>>(), front, "pinned messages come first, unchanged");
    assert!(after[summary].contains(r"Earlier:\n\nWhat was "), "then the summary: {after:?}");
    let rest: Vec<&String> = behind.iter().copied().chain(&before[plan.cutoff..]).collect();
    assert_eq!(after[next..].iter().collect::<Vec<_>>(), rest, "then what is kept, unchanged and in order");
}

/// Checks that providers' own compactions stay where they are read, and that no summary comes before them.
fn assert_compactions(plan: &Plan, before: &[String], after: &[String], own_rules: bool) {
    let summary = plan.before_summary;
    let readable = before.iter().rposition(|message| message.contains("compaction") && message.contains("\"read "));
    for (index, message) in before.iter().enumerate().skip(readable.unwrap_or(0)) {
        let is_opaque = message.contains("compaction") && message.contains("\"opaque-");
        assert!(!is_opaque || after.contains(message), "what cannot be read stays: {message}");
        if is_opaque && own_rules {
            let place = after.iter().position(|kept| kept == message);
            assert!(index < plan.cutoff && place < Some(summary), "a summary stands behind it: {after:?}");
        }
    }
    if own_rules && let Some(readable) = readable {
        assert!(readable < plan.cutoff, "nobody would read a summary in front of it");
        assert!(plan.summarized().contains(&readable) || plan.pinned.contains(&readable), "{plan:?}");
    }
}

/// Checks that a source whose format was detected is detected as the same format again.
pub(crate) fn assert_read_again(source: &str, rules: &VaryingRules) {
    let json = Source::of_file(source).unwrap_or_else(|error| panic!("{error:?}: {source}"));
    if framing::read(&json, None, None).is_ok() {
        // By its fence, a result is read again in which most other messages are unknown.
        let policy = CutPolicy { summary_prefix: format!("{PREFIX}<summary>\n"), ..policy(rules) };
        assert_reads_alike(source, &compacted(source, None, &policy).1);
    }
}

/// Checks that the compacted source is read as the same format, or as one that yields the same content. A list of roles
/// and texts is legal in several formats and has no place for a mark of its format. The other format then reads the
/// same roles, texts, calls and results, finds the same pairs, groups and violations, and compacts them to the same
/// bytes.
pub(crate) fn assert_reads_alike(source: &str, out: &str) {
    let formats = |text: &str| -> Vec<&'static Format> {
        with_document(text, None, |document| document.transcripts.iter().map(|transcript| transcript.format).collect())
    };
    let (before, after) = (formats(source), formats(out));
    assert_eq!(before.len(), after.len(), "{out}");
    for (index, (before, after)) in before.into_iter().zip(after).enumerate() {
        if before.name == after.name {
            continue;
        }
        let [own, other] = [before, after].map(|format| {
            let seen = with_document(out, Some(format), |document| {
                let transcript = &document.transcripts[index];
                let Pairing { pairs, unanswered, orphaned, .. } = &transcript.pairing;
                // Which texts a provider refuses depends on the provider, and plain messages do not tell it.
                let refused = breaches(transcript).into_iter().filter(|breach| breach.rule != ProviderRule::Blank);
                let refused: Vec<Breach> = refused.collect();
                let order = (pairs, unanswered, orphaned, &transcript.groups, refused);
                // Some formats read thinking that others skip; it is text in none.
                let messages = transcript.messages.iter().map(|message| {
                    let texts: Vec<_> = message.content.texts().iter().map(|text| text.decode().into_owned()).collect();
                    let rest = message.rare_fields();
                    format!("{:?}", (message.role, rest.name, texts, &message.calls, &message.results, message.earlier))
                });
                format!("{:?}\n{order:?}\n{:?}", messages.collect::<Vec<_>>(), transcript.notes)
            });
            let again = [Size::Messages(1), Size::Messages(2), Size::Turns(1)]
                .map(|keep| compacted(out, Some(format), &policy(&VaryingRules { keep, pin: Pin::None })).1);
            (seen, again)
        });
        assert_eq!(own, other, "{} became {}:\n{out}\nbefore: {source}", before.name, after.name);
    }
}

/// A size that keeps a little more.
pub(crate) fn larger(keep: Size) -> Size {
    match keep {
        Size::Messages(n) => Size::Messages(n + 1),
        Size::Tokens(n) => Size::Tokens(n + 1),
        Size::Turns(n) => Size::Turns(n + 1),
        Size::Steps(n) => Size::Steps(n + 1),
        Size::Bytes(n) => Size::Bytes(n + 1),
        Size::Since(time) => Size::Since(time - 1),
        Size::Last(seconds) => Size::Last(seconds + 1),
        // A place keeps what is behind it, whatever that is.
        Size::Fraction(_) | Size::Nothing | Size::From(_) => keep,
    }
}

/// Checks that a larger keep keeps no less in any conversation of a source.
pub(crate) fn assert_larger_keeps_more(source: &str, from: Option<&'static Format>, keep: Size) {
    let cutoffs = |keep| compacted(source, from, &policy(&VaryingRules { keep, pin: Pin::None })).0;
    for (small, large) in cutoffs(keep).iter().zip(cutoffs(larger(keep))) {
        // If nothing is replaced, everything is kept.
        let keeps_all = small.cutoff == 0 && small.wanted == 0;
        // The rest after the cut would be unreadable.
        let keeps_all = keeps_all || small.reason.as_ref().is_some_and(|reason| reason.contains("read most"));
        assert!(large.cutoff <= small.cutoff || keeps_all, "{small:?} {large:?}: {source}");
    }
}

/// Checks that nothing changes unless a trigger is reached.
pub(crate) fn assert_no_trigger_no_change(source: &str, from: Option<&'static Format>) {
    let rules = policy(&VaryingRules { keep: Size::Messages(1), pin: Pin::None });
    let never = CutPolicy { triggers: vec![vec![Size::Messages(u64::MAX)]], ..rules };
    assert_eq!(compacted(source, from, &never).1, source);
}

/// The most rounds of repair.
const ROUNDS: usize = 64;

/// Repairs all violations in a source; `None` if it has only results without calls, so that nothing would be left.
pub(crate) fn mended(source: &str, from: Option<&'static Format>, mode: Repair) -> Option<String> {
    let mut text = source.to_owned();
    for round in 0..ROUNDS {
        let is_read = Source::of_file(&text).is_ok_and(|json| framing::read(&json, from, None).is_ok());
        if round > 0 && !is_read {
            return None;
        }
        let edits: Vec<_> = with_document(&text, from, |document| {
            document.transcripts.iter().flat_map(|transcript| repair::repair_round(transcript, mode)).collect()
        });
        if edits.is_empty() {
            break;
        }
        text = apply(&text, &edits);
    }
    Some(text)
}

/// Every violation in a source.
pub(crate) fn found(source: &str, from: Option<&'static Format>) -> Vec<String> {
    with_document(source, from, |document| {
        let found = document.transcripts.iter().flat_map(breaches);
        found.map(|breach| format!("{}: {breach}", breach.message)).collect()
    })
}

/// Checks that what a model's summary lacks is found deterministically, within its limit, and that a summary that has it
/// all lacks nothing.
pub(crate) fn assert_missing(messages: &[&Message<'_>], counter: Counter, limit: u64) {
    let indices: Vec<usize> = (0..messages.len()).collect();
    let missing = |summary: &str, limit| digest::read(messages, &indices, PREFIX).missing_from(summary, counter, limit);
    let section = missing("All went well.", limit);
    assert_eq!(missing("All went well.", limit), section, "the same every time");
    assert!(counter.count_text(&section) <= limit, "{section:?}");
    let all = missing("", 1_000_000);
    assert_eq!(missing(&all, 1_000_000), "", "what has all lacks nothing: {all:?}");
}
