//! The shares of the categories that a conversation's tokens are spent on.

/// What a category is a share of: the context window, or all categories together where the window is unknown or too
/// small for them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shares {
    /// Tokens of the whole; at least one.
    pub(super) whole: u64,
    /// Whether the whole is the context window.
    pub(super) is_window: bool,
}

impl Shares {
    /// The shares for categories of `total` tokens.
    pub(super) fn new(total: u64, window: Option<u64>) -> Self {
        match window.filter(|window| *window >= total) {
            Some(window) => Shares { whole: window.max(1), is_window: true },
            None => Shares { whole: total.max(1), is_window: false },
        }
    }

    /// The share that so many tokens are, from 0 to 1.
    pub(super) fn of(self, tokens: u64) -> f64 {
        tokens as f64 / self.whole as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_is_exceeded_is_not_the_whole() {
        for (window, whole, is_window) in [(None, 80, false), (Some(160), 160, true), (Some(79), 80, false)] {
            let shares = Shares::new(80, window);
            assert_eq!((shares.whole, shares.is_window), (whole, is_window));
            assert!((shares.of(40) - 40.0 / whole as f64).abs() < f64::EPSILON);
        }
        assert!(Shares::new(0, None).of(0).abs() < f64::EPSILON);
    }
}
