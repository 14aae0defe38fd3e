//! A pruning in progress: the changes that rules propose are made, and unmade as far as the goal does not need them.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::rewrite::media::OffloadedFile;
use crate::transcript::edit::Edit;
use crate::transcript::formats::read_entry;
use crate::transcript::view::edited;

use crate::prune::rule::ProposedChange;
use crate::prune::scene::{Scene, ToolResult};
use crate::prune::{KINDS, MessageSaving, Pruned, arguments, cap, reads, results};

/// The fewest tokens of a pruned part that are worth keeping.
const LEAST_KEPT: u64 = 50;
/// Attempts to cut a message so that it fills a room. Each corrects the one before.
const ROUNDS: u64 = 8;

/// The change that cuts about so many tokens out of a message.
type CutMessage = fn(&Scene<'_, '_>, usize, u64) -> Option<ProposedChange>;

/// A pruning in progress.
pub(super) struct Pruner<'w, 's, 'a> {
    scene: &'w Scene<'s, 'a>,
    /// The changes of each touched message, in the order in which they were made. Each builds on the one before.
    messages: BTreeMap<usize, Vec<Applied>>,
    /// The number of tokens saved so far.
    pub(super) saved: u64,
}

/// A change that was made.
struct Applied {
    saving: MessageSaving,
    /// The message after the change.
    after: TouchedMessage,
}

/// A message with the changes of the rules so far.
#[derive(Debug, Default, Clone)]
struct TouchedMessage {
    edits: Vec<Edit>,
    is_removed: bool,
    tokens: u64,
    files: Vec<OffloadedFile>,
}

impl<'w, 's, 'a> Pruner<'w, 's, 'a> {
    pub(super) fn new(scene: &'w Scene<'s, 'a>) -> Self {
        Pruner { scene, messages: BTreeMap::new(), saved: 0 }
    }

    pub(super) fn has_replaced(&self, result: &ToolResult<'_, '_>) -> bool {
        let Some(touched) = self.touched(result.message) else { return false };
        if touched.is_removed {
            return true;
        }
        let whole = self.scene.span_in_source(result.output.value.span());
        // The edits are in order and do not overlap, so only the last one that begins there can replace it.
        let begun = touched.edits.partition_point(|edit| edit.range.start <= whole.start);
        touched.edits[..begun].last().is_some_and(|edit| whole.end <= edit.range.end)
    }

    /// Applies a change on top of those of earlier rules. With `only_gains`, a change that saves nothing is dropped.
    pub(super) fn apply(&mut self, rule: &'static str, change: ProposedChange, only_gains: bool) {
        let index = change.message;
        let Some(after) = self.with(index, change) else { return };
        let saved = self.size(index).saturating_sub(after.tokens);
        if only_gains && saved == 0 {
            return;
        }
        self.saved += saved;
        let saving = MessageSaving { rule, message: index, tokens: saved };
        self.messages.entry(index).or_default().push(Applied { saving, after });
    }

    /// A message with one more change; nothing where that makes no difference.
    fn with(&self, index: usize, change: ProposedChange) -> Option<TouchedMessage> {
        let untouched = TouchedMessage::default();
        let before = self.touched(index).unwrap_or(&untouched);
        if before.is_removed {
            return None;
        }
        let edits = merged(&before.edits, self.scene.in_source(change.edits));
        if !change.removes_message && edits == before.edits {
            return None;
        }
        let tokens =
            if change.removes_message { 0 } else { self.tokens(index, &edits).unwrap_or_else(|| self.size(index)) };
        let mut files = before.files.clone();
        files.extend(change.files);
        Some(TouchedMessage { edits, is_removed: change.removes_message, tokens, files })
    }

    /// Gives back what the goal need not lose: the last change can save so much that others are needless, or that only
    /// a part of a result or of arguments has to go. What a rule that loses most has taken comes back first, and the
    /// newest first.
    pub(super) fn give_back(&mut self, goal: u64, may_cap: bool) {
        for kind in KINDS.iter().rev() {
            if self.saved <= goal {
                return;
            }
            let mut newest_first: Vec<usize> = Vec::new();
            for (message, applied) in self.messages.iter().rev() {
                if applied.last().is_some_and(|last| last.saving.rule == kind.name) {
                    newest_first.push(*message);
                }
            }
            newest_first.retain(|message| !self.undo_if_needless(*message, goal));
            if kind.name == arguments::KIND.name || may_cap {
                for message in newest_first {
                    self.cut_instead(message, goal);
                }
            }
        }
    }

    /// Undoes the last change of a message where the goal is reached without it. Returns whether it did.
    fn undo_if_needless(&mut self, message: usize, goal: u64) -> bool {
        let Some(applied) = self.messages.get(&message).and_then(|applied| applied.last()) else { return false };
        let is_needless = self.saved - applied.saving.tokens >= goal;
        if is_needless {
            self.undo(message);
        }
        is_needless
    }

    /// Replaces the last change of a message by a cut that keeps as much as the goal allows: the ends of a result and
    /// the beginning of arguments say more than a note.
    fn cut_instead(&mut self, message: usize, goal: u64) {
        let room = self.saved - goal;
        if room < LEAST_KEPT {
            return;
        }
        let most = self.size(message) + room;
        let Some(undone) = self.undo(message) else { return };
        let applied = self.cut_to(message, undone.saving, most).unwrap_or(undone);
        self.saved += applied.saving.tokens;
        self.messages.entry(message).or_default().push(applied);
    }

    /// The cut with which a message has at most so many tokens, but more than with the change that it replaces.
    fn cut_to(&self, message: usize, replaced: MessageSaving, most: u64) -> Option<Applied> {
        let (rule, cut_message): (_, CutMessage) = if replaced.rule == arguments::KIND.name {
            (arguments::KIND.name, arguments::cut_message)
        } else if [results::KIND.name, cap::KIND.name, reads::KIND.name].contains(&replaced.rule) {
            (cap::KIND.name, cap::cut_message)
        } else {
            return None;
        };
        let whole = self.size(message);
        // A limit for the results alone would leave out what stands beside them.
        let mut excess = whole.saturating_sub(most);
        let mut best: Option<TouchedMessage> = None;
        for round in 1..=ROUNDS {
            let Some(cut) = cut_message(self.scene, message, excess) else { break };
            let Some(after) = self.with(message, cut) else { break };
            let tokens = after.tokens;
            if tokens <= most && best.as_ref().is_none_or(|best| best.tokens < tokens) {
                best = Some(after);
            }
            if tokens <= most && most - tokens < LEAST_KEPT {
                break;
            }
            excess = (excess + tokens).saturating_sub(most);
            // Cuts are at ends of lines, so a little less room can change nothing.
            if tokens > most {
                excess += most * round / 200;
            }
        }
        let after = best?;
        let saving = MessageSaving { rule, message, tokens: whole.saturating_sub(after.tokens) };
        let is_between = saving.tokens > 0 && saving.tokens < replaced.tokens;
        if is_between { Some(Applied { saving, after }) } else { None }
    }

    fn undo(&mut self, message: usize) -> Option<Applied> {
        let applied = self.messages.get_mut(&message)?;
        let undone = applied.pop()?;
        if applied.is_empty() {
            self.messages.remove(&message);
        }
        self.saved -= undone.saving.tokens;
        Some(undone)
    }

    fn touched(&self, message: usize) -> Option<&TouchedMessage> {
        Some(&self.messages.get(&message)?.last()?.after)
    }

    /// The tokens of a message with the changes so far.
    fn size(&self, message: usize) -> u64 {
        match self.touched(message) {
            Some(touched) => touched.tokens,
            None => self.scene.tally.message(message),
        }
    }

    fn tokens(&self, index: usize, edits: &[Edit]) -> Option<u64> {
        let transcript = self.scene.original;
        let entry = edited(transcript, index, edits);
        read_entry(transcript.format, &entry, |message| self.scene.tally.edited(index, message))
    }

    pub(super) fn finish(self) -> Pruned {
        let mut pruned = Pruned::default();
        for (index, applied) in self.messages {
            let first = pruned.savings.len();
            pruned.savings.extend(applied.iter().map(|applied| applied.saving));
            pruned.savings[first..].sort_by_key(|saving| KINDS.iter().position(|kind| kind.name == saving.rule));
            let Some(Applied { after, .. }) = applied.into_iter().next_back() else { continue };
            pruned.sizes.insert(index, after.tokens);
            pruned.files.extend(after.files);
            if after.is_removed {
                pruned.emptied.push(index);
            } else {
                pruned.edits.extend(after.edits);
            }
        }
        pruned
    }
}

/// Merges the edits of a message with more of them, in order. Of two edits at one place the larger wins; an edit that
/// overlaps another only in part is dropped.
fn merged(before: &[Edit], more: Vec<Edit>) -> Vec<Edit> {
    // They do not overlap, so those that meet another follow each other.
    let mut edits: BTreeMap<(usize, usize), Edit> = BTreeMap::new();
    for edit in before {
        edits.insert((edit.range.start, edit.range.end), edit.clone());
    }
    for edit in more {
        let Range { start, end } = edit.range;
        let mut meeting: Vec<(usize, usize)> = Vec::new();
        let mut are_within = true;
        for &(other_start, other_end) in edits.range(..(end, 0)).rev().map(|(place, _)| place) {
            if other_end <= start {
                break;
            }
            are_within &= start <= other_start && other_end <= end;
            meeting.push((other_start, other_end));
        }
        if are_within && !edits.contains_key(&(start, end)) {
            for place in meeting {
                edits.remove(&place);
            }
            edits.insert((start, end), edit);
        }
    }
    edits.into_values().collect()
}
