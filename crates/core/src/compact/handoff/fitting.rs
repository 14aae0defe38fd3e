//! `--fit` of a handoff: the plan whose text has the size, and the digest that leaves room for the headings.

use crate::compact::context::CompactionContext;
use crate::compact::fit::Fitted;
use crate::compact::handoff::{self, Excess};

impl CompactionContext<'_> {
    /// Makes the text of a handoff fit a limit. A message has another size there than in its transcript: what the plan for
    /// the limit is short of, or has too much, tells the limit of the next one. What is still too much is shortened later.
    pub(in crate::compact) fn fit_handoff<'t>(&self, limit: u64, fit_tokens: impl Fn(u64) -> Fitted<'t>) -> Fitted<'t> {
        /// Limits that are tried, at most.
        const TRIALS: usize = 4;
        /// Room of less than this part of the limit stays unused.
        const SPARE: u64 = 20;
        let (mut best, size) = self.handoff_size(fit_tokens(limit));
        let Some(mut size) = size else { return best };
        if !best.is_met() {
            return best;
        }
        let mut tried = limit;
        let mut best_size = size;
        // Each is a limit in tokens with the size of its text.
        let (mut below, mut above) = ((0, 0), None);
        for _ in 1..TRIALS {
            let is_whole = !best.is_change() && best_size <= limit;
            if is_whole || best_size.abs_diff(limit) <= limit / SPARE {
                break;
            }
            if size <= limit {
                below = (tried, size);
            } else {
                above = Some((tried, size));
            }
            // A little less, as messages stay or not.
            tried = between(below, above, limit - limit / SPARE / 2);
            let (next, next_size) = self.handoff_size(fit_tokens(tried));
            let Some(next_size) = next_size else { break };
            if !next.is_met() {
                break;
            }
            size = next_size;
            if size.abs_diff(limit) < best_size.abs_diff(limit) {
                (best, best_size) = (next, size);
            }
        }
        best
    }

    /// The size of a plan's handoff where nothing in it is shortened, and the plan again.
    pub(in crate::compact) fn handoff_size<'t>(&self, fitted: Fitted<'t>) -> (Fitted<'t>, Option<u64>) {
        let done = self.rewrite("", self.summarize("", fitted));
        let size = if done.failure.is_none() { handoff::whole_size(self.policy, &done).ok() } else { None };
        (done.fitted, size)
    }

    /// The plan with less room for the digest where the text of a handoff would be too large: headings need room too. The
    /// digest gives up to half of its own; the other texts give the rest.
    pub(in crate::compact) fn with_room_for_headings<'t>(&self, mut fitted: Fitted<'t>) -> Fitted<'t> {
        /// How often the digest is asked again, as the tokens of a message and of a text differ.
        const TRIALS: usize = 3;
        if !self.policy.summary.is_embedded() || fitted.fit.is_none() || fitted.plan.cutoff == 0 || !fitted.is_met() {
            return fitted;
        }
        let silent = CompactionContext { listen: &|_, _| (), counts: false, counts_savings: false, ..*self };
        let (mut half, mut larger_room) = (None, None);
        for _ in 0..TRIALS {
            let done = silent.rewrite("", silent.summarize("", fitted));
            let excess = handoff::excess(self.policy, &done);
            fitted = done.fitted;
            let Some(summary) = done.summary.filter(|_| done.failure.is_none()) else {
                // So little room is not enough for a word.
                if let Some(room) = larger_room {
                    fitted = fitted.with_room(room);
                }
                break;
            };
            let Ok(Some(Excess { over, of_summary, most_of_summary })) = excess else { break };
            let least = *half.get_or_insert(of_summary / 2);
            let wanted = of_summary.saturating_sub(over).max(least).min(most_of_summary);
            if wanted >= of_summary {
                break;
            }
            larger_room = Some(summary.tokens);
            let tokens = fitted.decided.tally.counter().count_text(&summary.text);
            let less = (tokens * (of_summary - wanted)).div_ceil(of_summary);
            fitted = fitted.with_room(summary.tokens.saturating_sub(less));
        }
        fitted
    }
}

/// The limit in tokens with which a text has the size that is aimed at, by a limit with a smaller text and one with a larger
/// text, if there is one: on the line through both.
fn between((low, small): (u64, u64), above: Option<(u64, u64)>, aimed_at: u64) -> u64 {
    let (high, large) = above.unwrap_or((low.saturating_mul(2), small.saturating_mul(2)));
    let share = aimed_at.saturating_sub(small) as f64 / large.saturating_sub(small).max(1) as f64;
    low.saturating_add((high.saturating_sub(low) as f64 * share) as u64)
}
