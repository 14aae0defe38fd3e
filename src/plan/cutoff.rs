//! From what is to be kept to where the cut falls.

use crate::tokens::Tally;
use crate::transcript::Message;

use super::pairs::Pairing;
use super::size::Size;
use super::{Policy, is_turn};

/// Where `--keep` alone would cut: the first index that stays; 0 where all stays. The last message stays even where it
/// is larger than what is to be kept.
pub(super) fn wanted(messages: &[Message<'_>], tally: &Tally<'_, '_>, policy: &Policy) -> usize {
    let last = messages.len() - 1;
    match policy.keep {
        Size::Messages(keep) => messages.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX)).min(last),
        Size::Turns(keep) => {
            let keep = usize::try_from(keep).unwrap_or(usize::MAX);
            let mut starts = (0..messages.len()).rev().filter(|&index| is_turn(&messages[index], policy));
            starts.nth(keep.saturating_sub(1)).unwrap_or(0)
        }
        Size::Tokens(_) | Size::Fraction(_) => {
            let limit = policy.keep.in_tokens(policy.context_window).unwrap_or(u64::MAX);
            tally.suffix_within(limit).min(last)
        }
    }
}

/// The cut nearest to `wanted` that parts no call from its result and leaves no orphaned result at the front of what is
/// kept, and why it is not `wanted` itself; 0 where there is none.
///
/// Messages at the cut that are nothing but orphaned results go with what is summarized. For every other reason the cut
/// moves towards the beginning, so that more is kept than was asked for, and never less.
pub(super) fn strict(messages: &[Message<'_>], pairing: &Pairing, wanted: usize) -> (usize, Option<String>) {
    let whole = pairing.whole_cuts();
    let only_orphans = |index: usize| pairing.orphaned[index] && !messages[index].is_user_turn();
    let past_orphans = (wanted..messages.len()).find(|&cut| !only_orphans(cut));
    if let Some(cut) = past_orphans.filter(|&cut| whole[cut] && !pairing.orphaned[cut]) {
        let why = format!("message {wanted} is a result whose call is nowhere");
        return (cut, (cut != wanted).then_some(why));
    }
    let why = match pairing.bonds.iter().find(|(call, result)| *call < wanted && wanted <= *result) {
        Some((call, result)) => {
            format!("a cut at {wanted} would part the call in message {call} from its result in message {result}")
        }
        None => format!("message {wanted} is a result whose call is nowhere"),
    };
    let cut = (1..=wanted).rev().find(|&cut| whole[cut] && !pairing.orphaned[cut]);
    (cut.unwrap_or(0), Some(why))
}
