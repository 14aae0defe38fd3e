//! From what is to be kept to where the cut falls.

use crate::transcript::Transcript;
use crate::transcript::order::Turn;
use crate::transcript::pairing::Pairing;

use crate::plan::pairs::Pairs;
use crate::plan::size::Size;
use crate::plan::{Weight, is_turn, langchain};

/// Where `--keep` alone would cut: the first index that stays; nothing where all stays.
pub(super) fn wanted(weight: &Weight<'_, '_>) -> Option<usize> {
    let Weight { messages, tally, policy, .. } = weight;
    let (first, last) = (weight.first(), messages.len() - 1);
    let most = if policy.rules.last_stays { last } else { messages.len() };
    let wanted = match policy.keep {
        Size::Nothing => messages.len(),
        Size::Messages(keep) => messages.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX)).min(most),
        Size::Turns(keep) => {
            let keep = usize::try_from(keep).unwrap_or(usize::MAX);
            let mut starts = (0..messages.len()).rev().filter(|&index| is_turn(&messages[index], policy));
            starts.nth(keep.saturating_sub(1)).unwrap_or(0)
        }
        Size::Tokens(_) | Size::Fraction(_) => {
            let limit = policy.keep.in_tokens(policy.context_window).unwrap_or(u64::MAX);
            let fitting = tally.suffix_within(limit).max(first);
            let wanted = fitting.min(most);
            // Where totals are scaled the whole may not fit though its parts do. LangChain then looks at the cut before
            // the first message all the same, and moves it past results that begin there.
            if policy.scales(tally) && last > first && weight.of_messages() > limit {
                return Some(wanted);
            }
            wanted
        }
    };
    Some(wanted).filter(|wanted| *wanted > first)
}

/// The cut that a rule for pairs makes of the one that is wanted, and why it is another; 0 where there is none.
pub(super) fn safe(transcript: &Transcript<'_>, wanted: usize, pairs: Pairs) -> (usize, Option<String>) {
    let messages = transcript.messages.as_slice();
    let cut = match pairs {
        Pairs::Strict => return strict(transcript, wanted),
        Pairs::LangChain => langchain::back_to_the_call(messages, wanted),
        Pairs::Window(window) => langchain::back_to_a_whole_window(messages, wanted, window),
    };
    (cut, (cut != wanted).then(|| why_not(&transcript.pairing, wanted)))
}

fn why_not(pairing: &Pairing, wanted: usize) -> String {
    match pairing.split_pair(wanted) {
        Some((call, result)) => {
            format!("a cut at {wanted} would split the call in message {call} from its result in message {result}")
        }
        None => format!("message {wanted} is a result without a call"),
    }
}

/// The cut nearest to `wanted` that parts no call from its result, leaves no orphaned result at the front of what is
/// kept, and has something there that the provider accepts behind a summary; and why it is not `wanted` itself; 0 where
/// there is none.
///
/// Messages at the cut that are nothing but orphaned results go with what is summarized. For every other reason the cut
/// moves towards the beginning, so that more is kept than was asked for, and never less.
fn strict(transcript: &Transcript<'_>, wanted: usize) -> (usize, Option<String>) {
    let (messages, pairing) = (transcript.messages.as_slice(), &transcript.pairing);
    if wanted >= messages.len() {
        return (wanted, None);
    }
    let whole = pairing.allowed_cuts(&transcript.groups);
    let only_orphans = |index: usize| pairing.orphaned[index] && !messages[index].is_user_turn();
    let refused = |cut: usize| refused_behind_a_summary(transcript, cut);
    let legal = |cut: usize| whole[cut] && !pairing.orphaned[cut] && refused(cut).is_none();
    let past_orphans = (wanted..messages.len()).find(|&cut| !only_orphans(cut));
    if let Some(cut) = past_orphans.filter(|&cut| legal(cut)) {
        let why = format!("message {wanted} is a result without a call");
        return (cut, (cut != wanted).then_some(why));
    }
    let why = match (whole[wanted], pairing.orphaned[wanted], refused(wanted)) {
        (true, false, Some(rule)) => {
            format!("{} would refuse message {wanted} behind a summary: {rule}", transcript.format.name())
        }
        (false, ..) if pairing.split_pair(wanted).is_none() => {
            format!("{} has messages on both sides of a cut at {wanted} that belong together", transcript.format.name())
        }
        _ => why_not(pairing, wanted),
    };
    let cut = (1..=wanted).rev().find(|&cut| legal(cut));
    (cut.unwrap_or(0), Some(why))
}

/// Why the provider would refuse what is kept from a cut on behind a summary.
fn refused_behind_a_summary(transcript: &Transcript<'_>, cut: usize) -> Option<&'static str> {
    let first = transcript.messages[cut..].iter().find_map(Turn::of)?;
    transcript.order.refuses(Some(Turn::User), first)
}

/// For each index whether a cut there parts no call from its result and leaves nothing at the front of what is kept that
/// the provider refuses.
pub(crate) fn legal_cuts(transcript: &Transcript<'_>) -> Vec<bool> {
    let Transcript { pairing, groups, .. } = transcript;
    let mut legal = pairing.allowed_cuts(groups);
    for (cut, legal) in legal.iter_mut().enumerate().take(transcript.messages.len()) {
        *legal &= !pairing.orphaned[cut] && refused_behind_a_summary(transcript, cut).is_none();
    }
    legal
}
