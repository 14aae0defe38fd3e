//! Sizes of the parts of a conversation at each possible cut.

/// Tokens of the parts of a conversation.
pub(super) struct Sizes {
    /// Messages before the kept part, pruned.
    pub(super) before: u64,
    /// The kept part.
    pub(super) kept: u64,
    /// For each cut up to the kept part, the pinned messages before it.
    pinned: Vec<u64>,
    /// For each cut up to the kept part, the messages from it to that part, pruned.
    between: Vec<u64>,
}

impl Sizes {
    /// Returns the sizes for a conversation of `messages` messages, of which `pinned` stay at every cut.
    pub(super) fn new(size: impl Fn(usize) -> u64, kept_from: usize, messages: usize, pinned: &[usize]) -> Self {
        let (mut pinned_before, mut between) = (vec![0; kept_from + 1], vec![0; kept_from + 1]);
        for index in 0..kept_from {
            let own = if pinned.binary_search(&index).is_ok() { size(index) } else { 0 };
            pinned_before[index + 1] = pinned_before[index] + own;
        }
        for index in (0..kept_from).rev() {
            between[index] = between[index + 1] + size(index);
        }
        let kept = (kept_from..messages).map(size).sum();
        Sizes { before: between[0], kept, pinned: pinned_before, between }
    }

    /// Returns the tokens of the pinned messages before a cut.
    pub(super) fn pinned_before(&self, cut: usize) -> u64 {
        self.pinned[cut]
    }

    /// Returns the tokens of the messages from a cut to the kept part.
    pub(super) fn between(&self, cut: usize) -> u64 {
        self.between[cut]
    }
}

/// Returns the largest number up to `most` for which `of` returns something, and that.
pub(super) fn largest<T>(most: u64, of: impl Fn(u64) -> Option<T>) -> Option<(u64, T)> {
    const LEAST: u64 = 1;
    let mut found = (LEAST, of(LEAST)?);
    let (mut low, mut high) = (LEAST, most.max(LEAST));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match of(middle) {
            Some(this) => (found, low) = ((middle, this), middle),
            None => high = middle - 1,
        }
    }
    Some(found)
}
