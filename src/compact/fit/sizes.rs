//! How large the parts of a conversation are, wherever it is cut.

/// Tokens of the parts of a conversation.
pub(super) struct Sizes {
    /// Of all before the kept part, pruned.
    pub(super) before: u64,
    /// Of the kept part.
    pub(super) kept: u64,
    /// For each cut up to the kept part, of the pinned messages before it.
    pinned: Vec<u64>,
    /// For each cut up to the kept part, of all that stands between it and that part, pruned.
    between: Vec<u64>,
}

impl Sizes {
    /// The sizes of a conversation of so many messages, of which some stay wherever it is cut.
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

    /// Tokens of the pinned messages before a cut.
    pub(super) fn pinned_before(&self, cut: usize) -> u64 {
        self.pinned[cut]
    }

    /// Tokens of what stands between a cut and the kept part.
    pub(super) fn between(&self, cut: usize) -> u64 {
        self.between[cut]
    }
}
