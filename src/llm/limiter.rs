//! A circuit breaker and a congestion window for a server, which all workers of a run share.
//!
//! Some failures are permanent, such as a wrong key or an unreachable address. After [`MOST_IN_A_ROW`] of one kind, no
//! request is sent any more. Each time a server has trouble or limits the rate, it gets half as many requests at once.
//! With each full window that it answers, it gets one more, as in TCP.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::llm::retry::FailedAttempt;
use crate::summary::exchange::FailureKind;
use crate::sync::{lock, unpoisoned};

/// Permanent failures of one kind in a row after which no request is sent any more.
pub(crate) const MOST_IN_A_ROW: u32 = 8;

/// The state of a server, shared by all workers.
#[derive(Debug, Default)]
pub(crate) struct Limiter {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The kind of the last permanent failure, and its number in a row.
    lasting: Option<(FailureKind, u32)>,
    /// Why no request is sent any more.
    stopped: Option<String>,
    in_flight: usize,
    /// The most requests in flight; no limit until there is trouble.
    window: Option<Window>,
    /// The earliest time of the next request, as the server requested.
    not_before: Option<Instant>,
    /// How often the window was halved. Requests from before a halving say nothing about the new window.
    halvings: u64,
    /// The smallest window that was reported. A window that grows and shrinks again is not reported.
    reported: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    size: f64,
    /// The size when the trouble began. At this size the limit ends.
    before: f64,
}

/// A request in flight, until this is dropped.
#[derive(Debug)]
pub(crate) struct Permit<'l> {
    limiter: &'l Limiter,
    halvings: u64,
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.limiter.state().in_flight -= 1;
        self.limiter.changed.notify_all();
    }
}

impl Permit<'_> {
    /// Records the outcome of the request for all workers: success, or a failure.
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

/// A change for all workers after a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Changed {
    /// No request is sent any more.
    Stopped,
    /// The new number of requests at once, the smallest so far.
    Slower(usize),
}

impl Limiter {
    /// Waits until a request can be sent.
    ///
    /// # Errors
    /// Why no request is sent any more.
    pub(crate) fn begin(&self) -> Result<Permit<'_>, String> {
        let mut state = self.state();
        loop {
            if let Some(why) = &state.stopped {
                return Err(why.clone());
            }
            let now = Instant::now();
            let pause = state.not_before.map(|moment| moment.saturating_duration_since(now));
            let pause = pause.filter(|pause| !pause.is_zero());
            let is_full = state.window.is_some_and(|window| state.in_flight as f64 >= window.size.floor());
            state = match (pause, is_full) {
                (Some(pause), _) => unpoisoned(self.changed.wait_timeout(state, pause)).0,
                (None, true) => unpoisoned(self.changed.wait(state)),
                (None, false) => break,
            };
        }
        state.in_flight += 1;
        let halvings = state.halvings;
        drop(state);
        Ok(Permit { limiter: self, halvings })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    /// Counts permanent failures of one kind.
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

    /// Halves the window, once for all requests that were in flight together, and delays all requests as the server
    /// asks.
    fn narrow(&mut self, halvings: u64, failed: &FailedAttempt) -> Option<Changed> {
        /// A longer wait delays only the request that it answers.
        const LONGEST_FOR_ALL: Duration = Duration::from_secs(60);
        if !matches!(failed.kind, FailureKind::Trouble | FailureKind::RateLimited) {
            return None;
        }
        if let Some(pause) = failed.asked.filter(|pause| *pause <= LONGEST_FOR_ALL) {
            let moment = Instant::now() + pause;
            self.not_before = Some(self.not_before.map_or(moment, |before| before.max(moment)));
        }
        let size = self.window.map_or(self.in_flight as f64, |window| window.size);
        if halvings < self.halvings || size <= 1.0 {
            return None;
        }
        self.halvings += 1;
        let halved = (size / 2.0).floor().max(1.0);
        self.window = Some(Window { size: halved, before: self.window.map_or(size, |window| window.before) });
        let at_once = halved as usize;
        let is_news = self.reported.is_none_or(|reported| at_once < reported);
        is_news.then(|| Changed::Slower(*self.reported.insert(at_once)))
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
    fn the_window_is_halved_once_for_what_was_in_flight_and_grows_back() {
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
    fn no_more_are_in_flight_than_the_window_has() {
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
