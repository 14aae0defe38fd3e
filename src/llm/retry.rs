//! Retries: how often, after which failures, and after which wait.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use crate::llm::adapt::ParameterRefusal;
use crate::presets::recipe::Persistence;
use crate::summary::exchange::{FailureKind, NoAnswer};
use crate::wording::counted;

const FIRST_WAIT: Duration = Duration::from_millis(500);
/// `LangChain` first waits one second, and up to one second more.
const FIRST_WAIT_OF_LANGCHAIN: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// A request is not retried where the server asks for a longer wait.
const LONGEST_ASKED: Duration = Duration::from_secs(600);

/// Why one attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedAttempt {
    /// What failed.
    pub(crate) message: String,
    /// The kind of failure, which decides whether to retry.
    pub(crate) kind: FailureKind,
    /// The wait that the server requests.
    pub(crate) asked: Option<Duration>,
    /// Whether the server asks for a retry, where it says so.
    pub(crate) advised: Option<bool>,
    /// The context window in tokens, where the server names it.
    pub(crate) window: Option<u64>,
    /// The parameter that the server refuses.
    pub(super) refusal: Option<ParameterRefusal>,
}

impl FailedAttempt {
    /// A failure of which the server says nothing more.
    pub fn new(kind: FailureKind, message: String) -> Self {
        FailedAttempt { message, kind, asked: None, advised: None, window: None, refusal: None }
    }
}

/// How often and after which failures a request is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The most retries.
    pub retries: u32,
    /// The failures after which to retry.
    pub persistence: Persistence,
}

impl RetryPolicy {
    /// Makes attempts until one succeeds or a retry is useless. `wait` waits between them.
    ///
    /// # Errors
    /// The error of the last attempt, with the number of attempts.
    pub fn run<T>(
        self,
        mut attempt: impl FnMut() -> Result<T, FailedAttempt>,
        wait: impl Fn(Duration, &FailedAttempt),
    ) -> Result<T, NoAnswer> {
        let mut tried = 0;
        loop {
            let failed = match attempt() {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            if tried >= self.retries || !self.is_worth_retrying(&failed) {
                let after = match failed.asked.filter(|asked| *asked > LONGEST_ASKED) {
                    Some(asked) => format!(" (it asks for a pause of {})", counted(asked.as_secs(), "second")),
                    None if tried > 0 => format!(" (tried {} times)", tried + 1),
                    None => String::new(),
                };
                let message = format!("{}{after}", failed.message);
                return Err(NoAnswer { message, kind: failed.kind, window: failed.window });
            }
            tried += 1;
            let pause = match failed.asked {
                // Clients that were rejected together should not return together.
                Some(asked) => asked.mul_f64(1.0 + jitter(tried) / 10.0),
                None => self.backoff(tried),
            };
            wait(pause, &failed);
        }
    }

    fn is_worth_retrying(self, failed: &FailedAttempt) -> bool {
        use FailureKind::{Interrupted, Odd, RateLimited, TooLong, Trouble, Unreachable};
        let by_kind = matches!(failed.kind, Unreachable | Interrupted | Trouble | RateLimited)
            || failed.kind == Odd && self.persistence == Persistence::LangChain;
        // A request that is too long stays too long.
        let may = failed.advised.unwrap_or(by_kind) && failed.kind != TooLong;
        may && failed.asked <= Some(LONGEST_ASKED)
    }

    /// The wait before a retry: twice as long each time, with a random part, so that clients that failed together do
    /// not return together.
    fn backoff(self, tried: u32) -> Duration {
        let factor = 2u32.saturating_pow(tried - 1);
        match self.persistence {
            Persistence::Own => {
                let wait = FIRST_WAIT.saturating_mul(factor).min(LONGEST_WAIT);
                wait.mul_f64(0.75 + jitter(tried) / 2.0)
            }
            Persistence::LangChain => {
                let wait = FIRST_WAIT_OF_LANGCHAIN.saturating_mul(factor).min(LONGEST_WAIT);
                (wait + Duration::from_secs_f64(jitter(tried))).min(LONGEST_WAIT)
            }
        }
    }
}

/// A random number from 0 to below 1.
fn jitter(tried: u32) -> f64 {
    (RandomState::new().hash_one(tried) % 1024) as f64 / 1024.0
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn waits_grow_and_are_bounded() {
        let own = RetryPolicy { retries: 40, persistence: Persistence::Own };
        for tried in 1..40 {
            let wait = own.backoff(tried);
            let doubled = FIRST_WAIT.saturating_mul(2u32.saturating_pow(tried - 1)).min(LONGEST_WAIT);
            assert!(wait >= doubled.mul_f64(0.75) && wait <= doubled.mul_f64(1.25), "{tried}: {wait:?}");
        }
        let langchain = RetryPolicy { persistence: Persistence::LangChain, ..own };
        for (tried, seconds) in [(1, 1), (2, 2), (3, 4), (9, 59)] {
            let wait = langchain.backoff(tried);
            assert!(
                wait >= Duration::from_secs(seconds) && wait <= Duration::from_secs(seconds + 1),
                "{tried}: {wait:?}"
            );
        }
    }

    #[test]
    fn what_makes_no_sense_is_not_tried_again() {
        let attempts = |kind: FailureKind, persistence: Persistence, asked: Option<Duration>| {
            let waits = RefCell::new(Vec::new());
            let failed = FailedAttempt { asked, ..FailedAttempt::new(kind, "no".to_owned()) };
            let policy = RetryPolicy { retries: 2, persistence };
            let end = policy.run(|| Err::<(), _>(failed.clone()), |wait, _| waits.borrow_mut().push(wait));
            (waits.into_inner().len(), end.expect_err("it failed").message)
        };
        assert_eq!(attempts(FailureKind::Trouble, Persistence::Own, None), (2, "no (tried 3 times)".to_owned()));
        assert_eq!(attempts(FailureKind::Odd, Persistence::Own, None), (0, "no".to_owned()));
        assert_eq!(attempts(FailureKind::Odd, Persistence::LangChain, None).0, 2);
        assert_eq!(attempts(FailureKind::BadRequest, Persistence::LangChain, None).0, 0);
        assert_eq!(attempts(FailureKind::TooLong, Persistence::LangChain, None).0, 0);
        assert_eq!(attempts(FailureKind::Trouble, Persistence::Own, Some(Duration::from_secs(3600))).0, 0);
    }

    #[test]
    fn a_server_has_the_last_word_on_trying_again() {
        let own = RetryPolicy { retries: 2, persistence: Persistence::Own };
        let again = |kind: FailureKind, advised: Option<bool>| {
            own.is_worth_retrying(&FailedAttempt { advised, ..FailedAttempt::new(kind, String::new()) })
        };
        assert!(again(FailureKind::BadRequest, Some(true)) && !again(FailureKind::Trouble, Some(false)));
        assert!(!again(FailureKind::TooLong, Some(true)) && !again(FailureKind::Quota, None));
    }
}
