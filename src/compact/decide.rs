//! The first step: whether a conversation is compacted, and where `--keep` cuts it.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use anyhow::Result;

use crate::advice::Advice;
use crate::exit::Failure;
use crate::plan::pins::Pin;
use crate::plan::size::Size;
use crate::plan::{Plan, Rules, no_such_place, plan};
use crate::presets::pairs::moved_cut;
use crate::prune::Pruned;
use crate::rewrite::thinking::Removal;
use crate::rewrite::{Edit, Masked};
use crate::summary::acceptance;
use crate::tokens::Tally;
use crate::transcript::Transcript;
use crate::transcript::view::Arena;

use crate::compact::limit::Fit;
use crate::compact::masking::{edited, masked_before_cuts};
use crate::compact::message::{note_tokens, summary_tokens};
use crate::compact::policy::{Accept, CompactionPolicy, SummarizerKind};

/// The shortest summary. A history is summarized only if the message with this text is smaller.
const SMALLEST_SUMMARY: &str = ".";

/// The plan for a conversation.
pub(crate) struct Planned<'t> {
    /// The original conversation, from which the result is made; with `--redact=all`, with its secrets masked.
    pub(crate) transcript: &'t Transcript<'t>,
    /// The same as the archive gets it: with its secrets.
    pub(crate) unmasked: &'t Transcript<'t>,
    /// The conversation with its secrets masked, from which texts are cut, with `--redact`.
    pub(crate) masked: Option<Masked<'t>>,
    /// The conversation that was counted and cut: with the early edits applied.
    pub(crate) view: &'t Transcript<'t>,
    /// The early edits, in order. The result has those that fall into messages that stay.
    pub(crate) edits: Vec<Edit>,
    /// The sizes of the view's messages.
    pub(crate) tally: Tally<'t, 't>,
    /// Where the conversation is cut.
    pub(crate) plan: Plan,
    /// The pruning. Messages that stay are pruned in the result; a model reads the history pruned.
    pub(crate) pruned: Pruned,
    /// The first message of the kept part.
    pub(crate) kept_from: usize,
    /// The thinking that is removed from messages that stay.
    pub(crate) thinking: Removal,
    /// How the conversation fits `--fit`, where that is given.
    pub(crate) fit: Option<Fit>,
    /// The fewest bytes that its messages can have, where `--fit bytes:N` cannot be met.
    pub(crate) least_bytes: Option<u64>,
    /// The embedded summarizer's text for this plan, where it was written to find the cut.
    pub(crate) draft: Option<String>,
    /// The plan without a cut and its pruning, where pruning alone meets the limit and a summary only saves more.
    pub(crate) pruned_alone: Option<(Plan, Pruned)>,
    /// The tokens that messages with removed thinking keep, counted when they are first needed.
    pub(super) thinking_sizes: OnceCell<BTreeMap<usize, u64>>,
}

/// Decides on a conversation. Nothing is pruned yet.
///
/// # Errors
/// The conversation cannot be read with the early edits.
pub(crate) fn decide<'t>(
    transcript: &'t Transcript<'t>,
    policy: &CompactionPolicy,
    arena: &'t Arena<'t>,
) -> Result<Planned<'t>> {
    let masked = masked_before_cuts(transcript, policy, arena)?;
    let edits = early_edits(transcript, masked.as_ref(), policy);
    let view = edited(transcript, &edits, arena)?;
    let tally = policy.tally(view);
    let plan = match policy.disabled.clone() {
        None => {
            uncut_without_gain(plan(view, &tally, &policy.cut, moved_cut), &tally, || smallest_summary(view, policy))
        }
        Some(reason) => Plan::of_nothing(reason),
    };
    Ok(Planned {
        transcript,
        unmasked: transcript,
        masked,
        view,
        edits,
        tally,
        kept_from: plan.cutoff,
        plan,
        pruned: Pruned::default(),
        thinking: Removal::default(),
        fit: None,
        least_bytes: None,
        draft: None,
        pruned_alone: None,
        thinking_sizes: OnceCell::new(),
    })
}

impl Planned<'_> {
    /// Checks that the conversation has the place that `--keep` names, and may have what `--pin` pins.
    ///
    /// # Errors
    /// It has not, or may not: which flag is wrong, and what to try.
    pub(super) fn check_rules(&self, policy: &CompactionPolicy) -> Result<()> {
        let keep = policy.cut.keep;
        // That an index is wrong is said of a conversation that need not be cut, too.
        let matters = self.plan.triggered || matches!(keep, Size::From(_)) && policy.disabled.is_none();
        if let Some(why) = no_such_place(self.transcript, keep).filter(|_| matters) {
            let last = Size::From(self.transcript.messages.len() - 1);
            let instead = if matches!(keep, Size::From(_)) { last } else { Size::Messages(20) };
            let instead = Advice::command(["--keep", &instead.to_string()]);
            return Err(Failure::usage(format!("--keep {keep}: {why}")).about("keep").try_next(instead).into());
        }
        let Transcript { order, format, .. } = self.transcript;
        let pins_user = || policy.cut.pins.iter().any(|pin| matches!(pin, Pin::User(_)));
        if self.plan.triggered && order.alternates && pins_user() {
            let why = "user and model must take turns, so a message of the user cannot stand before the summary";
            let why = format!("--pin user: in the format {}, {why}", format.name());
            let instead = Advice::Line("the same without --pin user".to_owned());
            return Err(Failure::usage(why).about("pin").try_next(instead).into());
        }
        Ok(())
    }
}

/// Returns the edits that a preset makes before anything is counted: it cuts arguments.
fn early_edits(transcript: &Transcript<'_>, masked: Option<&Masked<'_>>, policy: &CompactionPolicy) -> Vec<Edit> {
    let truncation = policy.truncation.as_ref().filter(|_| policy.disabled.is_none());
    let Some(truncation) = truncation else { return Vec::new() };
    let tally = policy.tally(transcript);
    let before = truncation.old_messages(transcript, &tally, &policy.cut);
    match masked {
        Some(masked) => masked.edits_in_source(truncation.edits(masked.transcript, before)),
        None => truncation.edits(transcript, before),
    }
}

/// Returns the plan, or one without a cut where no summary can be smaller than the history.
pub(super) fn uncut_without_gain(plan: Plan, tally: &Tally<'_, '_>, smallest_summary: impl FnOnce() -> u64) -> Plan {
    if plan.cutoff == 0 { plan } else { plan.uncut_if_no_larger_than(smallest_summary(), tally) }
}

/// Returns the tokens of the smallest summary message. A history that is no larger is not summarized. 0 where the size
/// does not matter.
pub(super) fn smallest_summary(transcript: &Transcript<'_>, policy: &CompactionPolicy) -> u64 {
    // The embedded summarizer never writes more than it replaces. With tcompact's own rules, a dry run must not promise
    // a summary that it cannot write.
    let embedded = policy.summary.is_embedded() && policy.cut.rules == Rules::OWN;
    if policy.summary.summarizer == SummarizerKind::Off {
        note_tokens(policy, transcript)
    } else if policy.summary.accept == Accept::Smaller || embedded {
        let smallest = summary_tokens(policy, transcript, SMALLEST_SUMMARY);
        let saves = policy.summary.accept == Accept::Smaller && policy.fit.is_none();
        if saves { acceptance::largest_not_worth(smallest) } else { smallest }
    } else {
        0
    }
}
