//! `--fit bytes:N`: the limit in tokens with which the messages as they are written have at most so many bytes. It is
//! found by trying, as the bytes of a token differ from message to message.

use anyhow::Result;

use crate::compact::compaction::Compaction;
use crate::compact::context::CompactionContext;
use crate::compact::decide::{Planned, decide};
use crate::compact::fit::{fit, with_fit};
use crate::compact::policy::{CompactionPolicy, Emit, SummarizerKind};
use crate::rewrite;
use crate::transcript::Transcript;
use crate::transcript::view::Arena;
use crate::wording::counted;

/// Limits in tokens that are tried, at most.
const MOST_TRIALS: usize = 10;
/// Room of less than this part of the limit stays unused.
const SPARE: u64 = 50;

impl CompactionContext<'_> {
    /// Plans a conversation whose messages may have at most so many bytes.
    ///
    /// # Errors
    /// The conversation cannot be read with the early edits; or it has no place for the cut that the policy names.
    pub(in crate::compact) fn plan_within_bytes<'t>(
        &self,
        transcript: &'t Transcript<'t>,
        arena: &'t Arena<'t>,
        limit: u64,
    ) -> Result<Planned<'t>> {
        let mut decided = decide(transcript, self.policy, arena)?;
        decided.check_rules(self.policy)?;
        let bytes = bytes_of(transcript);
        if !decided.may_act(self.policy) {
            return Ok(fit(decided, self.policy));
        }
        if bytes <= limit {
            decided.leave_unchanged(format!("it has {}, within --fit bytes:{limit}", counted(bytes, "byte")));
            decided.find_thinking(self.policy);
            return Ok(decided);
        }
        let trial = |tokens| self.written_bytes(transcript, tokens);
        let found = largest_within(limit, bytes, decided.tokens(self.policy), trial);
        let (tokens, least_bytes) = match found {
            Some(tokens) => (tokens, None),
            None => {
                let least = self.least_tokens(transcript)?;
                (least, trial(least).or(Some(bytes)).filter(|bytes| *bytes > limit))
            }
        };
        let policy = with_fit(self.policy, tokens);
        let planned = CompactionContext { policy: &policy, ..*self }.plan(transcript, arena)?;
        Ok(Planned { least_bytes, ..planned })
    }

    /// Returns the least limit in tokens that can be met.
    fn least_tokens(&self, transcript: &Transcript<'_>) -> Result<u64> {
        let (policy, arena) = (with_fit(self.policy, 1), Arena::default());
        let planned = fit(decide(transcript, &policy, &arena)?, &policy);
        let unmet = planned.fit.and_then(|fit| fit.unmet);
        Ok(unmet.map_or(1, |unmet| planned.least_limit(&policy, 1, unmet.least())))
    }

    /// Returns the bytes of the messages once they fit so many tokens; nothing where they cannot. Nobody is asked for a
    /// summary: one by a model is as long as its room.
    fn written_bytes(&self, transcript: &Transcript<'_>, tokens: u64) -> Option<u64> {
        let policy = CompactionPolicy { emit: Emit::Messages, ..with_fit(self.policy, tokens) };
        let trial = CompactionContext { policy: &policy, listen: &|_, _| (), counts: false, ..*self };
        let arena = Arena::default();
        let planned = trial.plan(transcript, &arena).ok().filter(Planned::is_met)?;
        let is_asked = matches!(policy.summary.summarizer, SummarizerKind::Model | SummarizerKind::Command);
        if !is_asked || planned.plan.cutoff == 0 {
            let done = trial.carry_out("", planned);
            return done.failure.is_none().then(|| done.written_bytes());
        }
        let stays = rewrite::remaining(transcript, &planned.plan, None, &trial.edit_kept("", &planned).edits);
        let room = planned.fit.map_or(0, |fit| fit.room);
        let bytes_of_token = bytes_of(transcript).div_ceil(planned.tokens(&policy).max(1));
        Some(stays.iter().map(|message| message.len() as u64).sum::<u64>() + room * bytes_of_token)
    }
}

impl Compaction<'_> {
    /// Returns the bytes of the messages as they are written, with what stands between a summary's entries.
    pub(in crate::compact) fn written_bytes(&self) -> u64 {
        let transcript = self.planned.transcript;
        let placed = self.summary.as_ref().map(|summary| rewrite::placed(transcript, &self.plan, &summary.placed));
        let edits = placed.iter().flatten().chain(&self.edits).chain(self.resets.iter().map(|reset| &reset.edit));
        let (mut added, mut removed) = (0, 0);
        for edit in edits {
            added += edit.text.len() as u64;
            let messages = &transcript.messages[rewrite::thinking::message_at(transcript, edit)..];
            let spans = messages.iter().map(|message| message.span());
            let inside = spans.take_while(|span| span.start < edit.range.end);
            let shared =
                inside.map(|span| span.end.min(edit.range.end).saturating_sub(span.start.max(edit.range.start)));
            removed += shared.sum::<usize>() as u64;
        }
        (bytes_of(transcript) + added).saturating_sub(removed)
    }
}

/// Returns the largest limit in tokens, of those tried, with which a result has at most so many bytes. `bytes` and
/// `tokens` are those of the whole conversation.
fn largest_within(limit: u64, bytes: u64, tokens: u64, trial: impl Fn(u64) -> Option<u64>) -> Option<u64> {
    let scaled = |tokens: u64, bytes: u64| (tokens as f64 * limit as f64 / bytes.max(1) as f64) as u64;
    let (mut below, mut above) = (0, tokens);
    let mut next = scaled(tokens, bytes);
    let (mut found, mut exceeded) = (None, 0);
    for _ in 0..MOST_TRIALS {
        if above - below <= 1 {
            break;
        }
        let tried = next.clamp(below + 1, above - 1);
        next = match trial(tried) {
            Some(bytes) if bytes <= limit => {
                (found, below) = (Some(tried), tried);
                if limit - bytes < limit / SPARE {
                    break;
                }
                scaled(tried, bytes)
            }
            // A little less than the nearest, since a message is kept or not; and far less where that is too much again.
            Some(bytes) => {
                (above, exceeded) = (tried, exceeded + 1);
                if exceeded > 1 { below.midpoint(tried) } else { scaled(tried, bytes) - scaled(tried, bytes) / SPARE }
            }
            None => {
                below = tried;
                tried.midpoint(above)
            }
        };
        if !(below..above).contains(&next) {
            next = below.midpoint(above);
        }
    }
    found
}

fn bytes_of(transcript: &Transcript<'_>) -> u64 {
    transcript.messages.iter().map(|message| message.span().len() as u64).sum()
}
