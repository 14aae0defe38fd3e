//! Whether a server is asked at all, and by how many at once: a circuit breaker and a congestion window, which all workers
//! of a run share.
//!
//! Some failures no waiting mends, such as a wrong key or nobody at the address. After [`MOST_IN_A_ROW`] of one kind no
//! request is begun any more. A server in trouble, or one that is asked too often, gets half as many requests at once each
//! time, and one more with each full window that it answers, as TCP does.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::llm::retry::FailedAttempt;
use crate::summary::exchange::FailureKind;
use crate::sync::{lock, unpoisoned};

/// Failures of one kind in a row after which nobody is asked any more.
pub(crate) const MOST_IN_A_ROW: u32 = 8;

/// What all workers know of the server.
#[derive(Debug, Default)]
pub(crate) struct Limiter {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The kind of the last failure that no waiting mends, and how often it came in a row.
    lasting: Option<(FailureKind, u32)>,
    /// Why nobody is asked any more.
    stopped: Option<String>,
    under_way: usize,
    /// How many requests may be under way; no limit until there is trouble.
    window: Option<Window>,
    /// Nobody is asked before, as the server wants it.
    not_before: Option<Instant>,
    /// How often the window was halved. What was sent before tells nothing of the new one.
    halvings: u64,
    /// The smallest window that was told of: one that grows back and falls again is no news.
    told: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    size: f64,
    /// The size at which the trouble began. There the limit goes again.
    before: f64,
}

/// A request under way, until this is dropped.
#[derive(Debug)]
pub(crate) struct Permit<'l> {
    limiter: &'l Limiter,
    halvings: u64,
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.limiter.state().under_way -= 1;
        self.limiter.changed.notify_all();
    }
}

impl Permit<'_> {
    /// Has all workers learn what became of the request: nothing that matters, or a failure.
    pub(crate) fn end(self, failed: Option<&FailedAttempt>) -> Option<Changed> {
        let mut state = self.limiter.state();
        match failed {
            None => {
                state.lasting = None;
                state.widen();
                None
            }
            Some(failed) => state.count(failed).or_else(|| state.narrow(self.halvings, failed)),
        }
    }
}

/// What a request that ended changed for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Changed {
    /// Nobody is asked any more.
    Stopped,
    /// So many requests are under way at once from now on, fewer than ever.
    Slower(usize),
}

impl Limiter {
    /// Waits until a request may be sent.
    ///
    /// # Errors
    /// Why nobody is asked any more, not even again.
    pub(crate) fn begin(&self) -> Result<Permit<'_>, String> {
        let mut state = self.state();
        loop {
            if let Some(why) = &state.stopped {
                return Err(why.clone());
            }
            let now = Instant::now();
            let pause = state.not_before.map(|moment| moment.saturating_duration_since(now));
            let pause = pause.filter(|pause| !pause.is_zero());
            let is_full = state.window.is_some_and(|window| state.under_way as f64 >= window.size.floor());
            state = match (pause, is_full) {
                (Some(pause), _) => unpoisoned(self.changed.wait_timeout(state, pause)).0,
                (None, true) => unpoisoned(self.changed.wait(state)),
                (None, false) => break,
            };
        }
        state.under_way += 1;
        let halvings = state.halvings;
        drop(state);
        Ok(Permit { limiter: self, halvings })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    /// Counts failures of one kind that no waiting mends.
    fn count(&mut self, failed: &FailedAttempt) -> Option<Changed> {
        let before = self.lasting.take().filter(|(kind, _)| *kind == failed.kind).map_or(0, |(_, times)| times);
        if !failed.kind.is_lasting() {
            return None;
        }
        self.lasting = Some((failed.kind, before + 1));
        if before + 1 < MOST_IN_A_ROW || self.stopped.is_some() {
            return None;
        }
        self.stopped = Some(failed.message.clone());
        Some(Changed::Stopped)
    }

    /// Halves the window, once for all that were under way together, and has everybody wait as long as the server asks.
    fn narrow(&mut self, halvings: u64, failed: &FailedAttempt) -> Option<Changed> {
        /// What a server asks for beyond this, a single request waits for alone, or gives up.
        const LONGEST_FOR_ALL: Duration = Duration::from_secs(60);
        if !matches!(failed.kind, FailureKind::Trouble | FailureKind::RateLimited) {
            return None;
        }
        if let Some(pause) = failed.asked.filter(|pause| *pause <= LONGEST_FOR_ALL) {
            let moment = Instant::now() + pause;
            self.not_before = Some(self.not_before.map_or(moment, |before| before.max(moment)));
        }
        let size = self.window.map_or(self.under_way as f64, |window| window.size);
        if halvings < self.halvings || size <= 1.0 {
            return None;
        }
        self.halvings += 1;
        let halved = (size / 2.0).floor().max(1.0);
        self.window = Some(Window { size: halved, before: self.window.map_or(size, |window| window.before) });
        let at_once = halved as usize;
        let is_news = self.told.is_none_or(|told| at_once < told);
        is_news.then(|| Changed::Slower(*self.told.insert(at_once)))
    }

    fn widen(&mut self) {
        self.window = self.window.and_then(|window| {
            let size = window.size + 1.0 / window.size;
            (size < window.before).then_some(Window { size, ..window })
        });
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn failed(kind: FailureKind) -> FailedAttempt {
        FailedAttempt { message: format!("{kind:?}"), kind, asked: None, advised: None, window: None }
    }

    fn begun(limiter: &Limiter) -> Permit<'_> {
        limiter.begin().expect("it is asked")
    }

    fn one(limiter: &Limiter, kind: Option<FailureKind>) -> Option<Changed> {
        begun(limiter).end(kind.map(failed).as_ref())
    }

    #[test]
    fn eight_of_one_kind_in_a_row_are_enough() {
        use FailureKind::{Forbidden, TooLong, Unauthorized, Unreachable};
        for between in [None, Some(Forbidden), Some(TooLong), Some(FailureKind::Trouble)] {
            let limiter = Limiter::default();
            for _ in 0..7 {
                assert_eq!(one(&limiter, Some(Unauthorized)), None);
            }
            one(&limiter, between);
            for _ in 0..7 {
                assert_eq!(one(&limiter, Some(Unauthorized)), None, "{between:?}");
            }
            assert!(limiter.begin().is_ok());
            assert_eq!(one(&limiter, Some(Unauthorized)), Some(Changed::Stopped), "{between:?}");
            assert_eq!(limiter.begin().err().as_deref(), Some("Unauthorized"));
        }
        let limiter = Limiter::default();
        let all: Vec<_> = (0..8).map(|_| one(&limiter, Some(Unreachable))).collect();
        assert_eq!(all.last(), Some(&Some(Changed::Stopped)));
    }

    #[test]
    fn the_window_is_halved_once_for_what_was_under_way_and_grows_back() {
        let limiter = Limiter::default();
        let permits: Vec<Permit<'_>> = (0..8).map(|_| begun(&limiter)).collect();
        let trouble = failed(FailureKind::Trouble);
        let changes: Vec<_> = permits.into_iter().filter_map(|permit| permit.end(Some(&trouble))).collect();
        assert_eq!(changes, [Changed::Slower(4)]);
        assert_eq!(one(&limiter, Some(FailureKind::RateLimited)), Some(Changed::Slower(2)));
        assert_eq!(one(&limiter, Some(FailureKind::Trouble)), Some(Changed::Slower(1)));
        assert_eq!(one(&limiter, Some(FailureKind::Trouble)), None, "one is always under way");
        let answers = (1..200).find(|_| {
            one(&limiter, None);
            limiter.state().window.is_none()
        });
        // 1 + 2 + … + 7, as a window of n takes n answers to grow by one.
        assert!((20..40).contains(&answers.expect("the limit goes")), "{answers:?}");
        assert_eq!(one(&limiter, Some(FailureKind::Trouble)), None, "it was told");
    }

    #[test]
    fn no_more_are_under_way_than_the_window_has() {
        let limiter = Limiter::default();
        let four: Vec<Permit<'_>> = (0..4).map(|_| begun(&limiter)).collect();
        let trouble = failed(FailureKind::Trouble);
        for permit in four {
            permit.end(Some(&trouble));
        }
        let (one, other) = (begun(&limiter), begun(&limiter));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| drop(limiter.begin()));
            thread::sleep(Duration::from_millis(50));
            assert!(!waiting.is_finished());
            one.end(None);
        });
        drop(other);
    }

    #[test]
    fn all_wait_as_long_as_the_server_asks() {
        let limiter = Limiter::default();
        let asked = Some(Duration::from_millis(80));
        begun(&limiter).end(Some(&FailedAttempt { asked, ..failed(FailureKind::RateLimited) }));
        let moment = limiter.state().not_before;
        drop(limiter.begin());
        assert!(moment.is_some_and(|moment| moment <= Instant::now()), "nobody is asked before");
    }
}
