//! Which files are too large to be held in memory.

use crate::files::blocks::BlockSizes;

/// Which files are too large to be held in memory, and how much of them is held.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LargeFiles {
    /// The length from which on a file is large, in bytes.
    pub(crate) from: u64,
    pub(crate) sizes: BlockSizes,
}

/// Some ten blocks are in memory at once, and each may be as long as the longest line.
const SIZES: BlockSizes = BlockSizes { block: 4 << 20, longest_line: 8 << 20 };

impl LargeFiles {
    /// For `slim`. Of a file that is read whole, more goes.
    pub(crate) const SLIMMED: LargeFiles = LargeFiles { from: 64 << 20, sizes: SIZES };
    /// For commands that only look at what is sent. To read a file whole takes two thirds of the time.
    pub(crate) const LOOKED_AT: LargeFiles = LargeFiles { from: 512 << 20, sizes: SIZES };
}
