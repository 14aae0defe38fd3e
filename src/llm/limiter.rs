//! When a server is asked, for all workers of a run: a semaphore, a pace, and a count of failures.
//!
//! The semaphore limits the requests in flight once the server has trouble or limits the rate. Each time, it gets half as
//! many at once. With each full window that it answers, it gets one more, as in TCP. The pace spaces requests over a
//! minute (`--rate`), and waits as long as the server asks. Some failures are permanent, such as a wrong key or an
//! unreachable address: after [`MOST_IN_A_ROW`] of one kind, no request is sent any more.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::llm::retry::FailedAttempt;
use crate::summary::exchange::FailureKind;
use crate::sync::{lock, unpoisoned};

/// Permanent failures of one kind in a row after which no request is sent any more.
pub(crate) const MOST_IN_A_ROW: u32 = 8;
/// The longest wait asked for that delays all requests. A longer one delays only the request that it answers.
const LONGEST_FOR_ALL: Duration = Duration::from_secs(60);

/// The state of a server, shared by all workers.
#[derive(Debug, Default)]
pub(crate) struct Limiter {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    semaphore: Semaphore,
    pace: Pace,
    failures: Failures,
}

/// A request in flight, until this is dropped.
#[derive(Debug)]
pub(crate) struct Permit<'l> {
    limiter: &'l Limiter,
    /// The halvings of the window before this request.
    halvings: u64,
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
    /// `rate` is the most requests per minute, where the user limits them.
    pub(crate) fn new(rate: Option<u32>) -> Self {
        let gap = rate.map_or(Duration::ZERO, |rate| Duration::from_secs(60) / rate.max(1));
        let state = State { pace: Pace { gap, next: None }, ..State::default() };
        Limiter { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Waits until a request can be sent.
    ///
    /// # Errors
    /// Why no request is sent any more.
    pub(crate) fn begin(&self) -> Result<Permit<'_>, String> {
        let mut state = self.state();
        loop {
            if let Some(why) = &state.failures.stopped {
                return Err(why.clone());
            }
            let pause = state.pace.pause(Instant::now());
            state = if !pause.is_zero() {
                unpoisoned(self.changed.wait_timeout(state, pause)).0
            } else if state.semaphore.is_full() {
                unpoisoned(self.changed.wait(state))
            } else {
                break;
            };
        }
        state.pace.begin(Instant::now());
        state.semaphore.in_flight += 1;
        Ok(Permit { limiter: self, halvings: state.semaphore.halvings })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Permit<'_> {
    /// Records the outcome of the request for all workers: success, or a failure.
    pub(crate) fn end(self, failed: Option<&FailedAttempt>) -> Option<Changed> {
        let mut state = self.limiter.state();
        if state.failures.stops(failed) {
            return Some(Changed::Stopped);
        }
        let Some(failed) = failed else {
            state.semaphore.widen();
            return None;
        };
        if !matches!(failed.kind, FailureKind::Trouble | FailureKind::RateLimited) {
            return None;
        }
        if let Some(pause) = failed.asked.filter(|pause| *pause <= LONGEST_FOR_ALL) {
            state.pace.delay(Instant::now() + pause);
        }
        state.semaphore.narrow(self.halvings).map(Changed::Slower)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.limiter.state().semaphore.in_flight -= 1;
        self.limiter.changed.notify_all();
    }
}

/// The requests in flight, and how many there may be.
#[derive(Debug, Default)]
struct Semaphore {
    in_flight: usize,
    /// No limit until there is trouble.
    window: Option<Window>,
    /// How often the window was halved. Requests from before a halving say nothing about the new window.
    halvings: u64,
    /// The smallest window that was reported. A window that grows and shrinks again is not reported.
    reported: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    size: usize,
    /// The requests that were answered since it has this size.
    answered: usize,
    /// The size when the trouble began. At this size the limit ends.
    before: usize,
}

impl Semaphore {
    fn is_full(&self) -> bool {
        self.window.is_some_and(|window| self.in_flight >= window.size)
    }

    /// Halves the window, once for all requests that were in flight together, and returns its size if that is news.
    fn narrow(&mut self, halvings: u64) -> Option<usize> {
        let all = Window { size: self.in_flight, answered: 0, before: self.in_flight };
        let window = self.window.unwrap_or(all);
        if halvings < self.halvings || window.size <= 1 {
            return None;
        }
        self.halvings += 1;
        let size = window.size / 2;
        self.window = Some(Window { size, answered: 0, ..window });
        let is_news = self.reported.is_none_or(|reported| size < reported);
        is_news.then(|| *self.reported.insert(size))
    }

    /// Counts an answer. After as many as the window has places, it gets one more.
    fn widen(&mut self) {
        let Some(window) = &mut self.window else { return };
        window.answered += 1;
        if window.answered >= window.size {
            *window = Window { size: window.size + 1, answered: 0, ..*window };
        }
        self.window = self.window.filter(|window| window.size < window.before);
    }
}

/// When the next request can be sent.
#[derive(Debug, Default)]
struct Pace {
    /// The time between two requests.
    gap: Duration,
    /// The earliest time of the next request; none before the first.
    next: Option<Instant>,
}

impl Pace {
    /// The wait for the next request.
    fn pause(&self, now: Instant) -> Duration {
        self.next.map_or(Duration::ZERO, |next| next.saturating_duration_since(now))
    }

    /// Sends no other request within the gap.
    fn begin(&mut self, now: Instant) {
        self.delay(now + self.gap);
    }

    /// Sends no request before this moment.
    fn delay(&mut self, moment: Instant) {
        self.next = self.next.max(Some(moment));
    }
}

/// Permanent failures of one kind in a row.
#[derive(Debug, Default)]
struct Failures {
    kind: Option<FailureKind>,
    count: u32,
    /// Why no request is sent any more.
    stopped: Option<String>,
}

impl Failures {
    /// Counts the outcome of a request, and returns whether no further one is sent from now on.
    fn stops(&mut self, failed: Option<&FailedAttempt>) -> bool {
        let lasting = failed.filter(|failed| failed.kind.is_lasting());
        let kind = lasting.map(|failed| failed.kind);
        self.count = if kind == self.kind { self.count + 1 } else { 1 };
        self.kind = kind;
        let stops = lasting.is_some() && self.count >= MOST_IN_A_ROW && self.stopped.is_none();
        if stops {
            self.stopped = lasting.map(|failed| failed.message.clone());
        }
        stops
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn failed(kind: FailureKind) -> FailedAttempt {
        FailedAttempt::new(kind, format!("{kind:?}"))
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
            limiter.state().semaphore.window.is_none()
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
        let moment = limiter.state().pace.next;
        drop(limiter.begin());
        assert!(moment.is_some_and(|moment| moment <= Instant::now()), "nobody is asked before");
    }

    #[test]
    fn requests_are_a_gap_apart_and_none_is_saved_up() {
        let start = Instant::now();
        let second = Duration::from_secs(1);
        let mut pace = Pace { gap: second, next: None };
        // The second that asks, and the wait for its turn.
        for (asked, wait) in [
            (start, Duration::ZERO),
            (start, second),
            (start + second / 2, second * 3 / 2),
            (start + 100 * second, Duration::ZERO),
            (start + 100 * second, second),
        ] {
            assert_eq!(pace.pause(asked), wait);
            pace.begin(asked + wait);
        }
        assert_eq!(Limiter::new(Some(60)).state().pace.gap, second);
    }
}
