//! Large results in files, as in `DeepAgents`: they move there where the kept part is too large for the model.

use anyhow::Result;

use crate::compact::archive::{self, Files, RESULTS, shown};
use crate::compact::compaction::Edits;
use crate::compact::decide::Decided;
use crate::compact::fit::Fitted;
use crate::compact::policy::CompactionPolicy;
use crate::compact::result_size::result_tokens;
use crate::exit::{Exit, Failure};
use crate::plan::Plan;
use crate::presets::deepagents;
use crate::rewrite::{self, Edit, Masked, Placed};
use crate::transcript::Transcript;
use crate::wording::{counted, readable_source};

/// Adds to the edits those that move the results at the end to files, where the result is larger than the budget for the
/// model.
///
/// # Errors
/// The result is still too large.
pub(super) fn fit_results(
    policy: &CompactionPolicy,
    source: &str,
    fitted: &Fitted<'_>,
    placed: Option<&Placed>,
    edits: Edits,
) -> Result<Edits> {
    let Decided { transcript, unmasked, masked, .. } = &*fitted.decided;
    let Some(budget) = policy.cut.budget else { return Ok(edits) };
    if !policy.habits.files || result_tokens(policy, transcript, &edits, placed) <= budget {
        return Ok(edits);
    }
    let (moved, mut moved_files) = large_results(policy, transcript, masked.as_ref(), &edits.plan);
    if !std::ptr::eq(*transcript, *unmasked) {
        moved_files = large_results(policy, unmasked, None, &edits.plan).1;
    }
    let Edits { edits: mut all, mut files, .. } = edits;
    all.extend(moved);
    rewrite::sort(&mut all);
    files.extend(moved_files);
    let edits = Edits { edits: all, files, plan: edits.plan, sections: edits.sections };
    let tokens = result_tokens(policy, transcript, &edits, placed);
    if tokens <= budget {
        return Ok(edits);
    }
    let message = format!(
        "{}: what would be left has {}, more than the {budget} that may be sent to a model with this context window; keep less",
        readable_source(source),
        counted(tokens, "token")
    );
    Err(Failure::new(Exit::SummaryRefused, message).into())
}

/// The edits that move the results at the end of a conversation, and the files with them.
fn large_results(
    policy: &CompactionPolicy,
    transcript: &Transcript<'_>,
    masked: Option<&Masked<'_>>,
    plan: &Plan,
) -> (Vec<Edit>, Files) {
    let folder = archive::place(policy, transcript).map(|archive| archive.folder(RESULTS)).unwrap_or_default();
    let (mut moved, files) = deepagents::shorten_results(transcript, plan.cutoff, &shown(&folder));
    // The files have the results as they were. What is shown of them is cut from masked ones.
    if let Some(masked) = masked {
        moved = masked.edits_in_source(deepagents::shorten_results(masked.transcript, plan.cutoff, &shown(&folder)).0);
    }
    (moved, files.into_iter().map(|file| (folder.join(file.name), file.bytes)).collect())
}

/// The files to which results move whatever the summary is.
pub fn certain_files(policy: &CompactionPolicy, fitted: &Fitted<'_>) -> Files {
    let (Decided { view, tally, .. }, plan) = (&*fitted.decided, &fitted.plan);
    let Some(budget) = policy.cut.budget else { return Files::new() };
    if !policy.habits.files {
        return Files::new();
    }
    let kept: Vec<usize> = (plan.cutoff..view.messages.len()).collect();
    if tally.reaches(&kept, budget + 1) { large_results(policy, view, None, plan).1 } else { Files::new() }
}
