//! Edits that an agent makes in its own session after a compaction of its own, and that are made for it: without them, it
//! would compact again at once, or not find the summary.

use crate::transcript::edit::Edit;
use crate::wording::counted;

/// An edit of an entry that stays beside a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reset {
    /// What is reset.
    pub(crate) kind: ResetKind,
    /// Where the entry begins, in bytes.
    pub(crate) entry: usize,
    pub(crate) edit: Edit,
}

/// What a reset is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResetKind {
    /// A size of the context, recorded before the compaction.
    Size,
    /// The parent of an entry, which does not lead to the summary.
    Parent,
}

/// The numbers of resets, by their kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ResetCounts {
    /// Entries whose recorded sizes are reset.
    pub(crate) sizes: usize,
    /// Entries that get another parent.
    pub(crate) parents: usize,
}

impl ResetCounts {
    /// Counts the entries of resets, which are in order.
    pub(crate) fn of(resets: &[Reset]) -> Self {
        let count = |kind| {
            let of_kind = resets.iter().filter(|reset| reset.kind == kind);
            let mut entries: Vec<usize> = of_kind.map(|reset| reset.entry).collect();
            entries.dedup();
            entries.len()
        };
        ResetCounts { sizes: count(ResetKind::Size), parents: count(ResetKind::Parent) }
    }

    /// What was done, as a sentence; `format` is the name of the agent's format.
    pub(crate) fn sentence(self, format: &str) -> String {
        // Codex records the size of the whole context.
        let (agent, size) = if format == "codex" { ("Codex", "that of the result") } else { ("Claude Code", "zero") };
        let set = (self.sizes > 0).then(|| format!("set {} to {size}", counted(self.sizes as u64, "recorded size")));
        let tied = match self.parents {
            0 => None,
            1 => Some("tied 1 line to the one before it".to_owned()),
            parents => Some(format!("tied {} to those before them", counted(parents as u64, "line"))),
        };
        let done: Vec<String> = set.into_iter().chain(tied).collect();
        format!("tcompact {}, as {agent} does after a compaction", done.join(" and "))
    }

    pub(crate) fn is_none(self) -> bool {
        self == ResetCounts::default()
    }
}
