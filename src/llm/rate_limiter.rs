//! How fast requests follow each other, whoever sends them.

use crate::sync::lock;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A minute shared out evenly among requests.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    gap: Duration,
    /// When the next request may be sent; at once if none was.
    next: Mutex<Option<Instant>>,
}

impl RateLimiter {
    /// At most so many requests a minute.
    pub(crate) fn new(rate: u32) -> Self {
        RateLimiter { gap: Duration::from_secs(60) / rate.max(1), next: Mutex::new(None) }
    }

    /// Takes the next turn, and says how long it is until then.
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
        let pace = RateLimiter::new(60);
        let start = Instant::now();
        let second = Duration::from_secs(1);
        assert_eq!(pace.reserve(start), Duration::ZERO);
        assert_eq!(pace.reserve(start), second);
        assert_eq!(pace.reserve(start + second / 2), second * 3 / 2);
        assert_eq!(pace.reserve(start + 100 * second), Duration::ZERO);
        assert_eq!(pace.reserve(start + 100 * second), second);
    }
}
