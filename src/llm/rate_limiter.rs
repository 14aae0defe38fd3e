//! The rate of requests, over all threads.

use crate::sync::lock;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Spaces requests evenly over a minute.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    gap: Duration,
    /// The earliest time of the next request; none before the first.
    next: Mutex<Option<Instant>>,
}

impl RateLimiter {
    /// Returns a limiter for at most so many requests per minute.
    pub(crate) fn new(rate: u32) -> Self {
        RateLimiter { gap: Duration::from_secs(60) / rate.max(1), next: Mutex::new(None) }
    }

    /// Reserves the next time for a request, and returns the wait until then.
    pub(crate) fn reserve(&self, now: Instant) -> Duration {
        let mut next = lock(&self.next);
        let turn = next.map_or(now, |next| next.max(now));
        *next = Some(turn + self.gap);
        turn - now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_a_gap_apart_and_none_is_saved_up() {
        let limiter = RateLimiter::new(60);
        let start = Instant::now();
        let second = Duration::from_secs(1);
        assert_eq!(limiter.reserve(start), Duration::ZERO);
        assert_eq!(limiter.reserve(start), second);
        assert_eq!(limiter.reserve(start + second / 2), second * 3 / 2);
        assert_eq!(limiter.reserve(start + 100 * second), Duration::ZERO);
        assert_eq!(limiter.reserve(start + 100 * second), second);
    }
}
