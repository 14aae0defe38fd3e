//! What `DeepAgents` does with large results: they move to files where what is kept is still too much for the model.

use anyhow::Result;

use crate::exit::{Exit, Failure};
use crate::plan::{Plan, total};
use crate::rewrite::{self, Edit, results};
use crate::tokens::Tally;
use crate::transcript::source::Source;
use crate::transcript::view::list;
use crate::transcript::{Transcript, framing};
use crate::wording::readable_source;

use crate::compact::archive::{self, Files, RESULTS, shown};
use crate::compact::compaction::Compaction;
use crate::compact::fit::FittedPlan;
use crate::compact::policy::CompactionPolicy;

/// What is kept, fitted to what may be sent to the model: with the results at the end in files where it is too much
/// otherwise.
///
/// # Errors
/// It is still too much.
pub(super) fn fit_results(policy: &CompactionPolicy, source: &str, done: &mut Compaction<'_>) -> Result<()> {
    if !policy.ways.files {
        return Ok(());
    }
    let Some(budget) = policy.cut.budget.filter(|budget| left(policy, done) > *budget) else { return Ok(()) };
    let (moved, files) = large_results(policy, done.fitted.transcript, &done.plan);
    done.edits.extend(moved);
    rewrite::sort(&mut done.edits);
    done.archived.files.extend(files);
    match left(policy, done) {
        left if left > budget => {
            let message = format!(
                "{}: what would be left has {left} tokens, more than the {budget} that may be sent to a model with this context window; keep less",
                readable_source(source)
            );
            Err(Failure::new(Exit::SummaryRefused, message).into())
        }
        _ => Ok(()),
    }
}

/// The edits that move the results out with which a conversation ends, and the files they go to.
fn large_results(policy: &CompactionPolicy, transcript: &Transcript<'_>, plan: &Plan) -> (Vec<Edit>, Files) {
    let folder = archive::place(policy, transcript).map(|archive| archive.folder(RESULTS)).unwrap_or_default();
    let (moved, files) = results::offload(transcript, plan.cutoff, &shown(&folder));
    (moved, files.into_iter().map(|file| (folder.join(file.name), file.text.into_bytes())).collect())
}

/// The files that results are sure to move to, whatever the summary will be.
pub(crate) fn certain_files(policy: &CompactionPolicy, fitted: &FittedPlan<'_>) -> Files {
    let FittedPlan { seen, tally, plan, .. } = fitted;
    let Some(budget) = policy.cut.budget.filter(|_| policy.ways.files) else { return Files::new() };
    let kept: Vec<usize> = (plan.cutoff..seen.messages.len()).collect();
    if tally.reaches(&kept, budget + 1) { large_results(policy, seen, plan).1 } else { Files::new() }
}

/// The tokens of what is left of a conversation.
pub(super) fn left(policy: &CompactionPolicy, done: &Compaction<'_>) -> u64 {
    let transcript = done.fitted.transcript;
    let placed = done.summary.as_ref().map(|summary| &summary.placed);
    let messages = list(rewrite::remaining(transcript, &done.plan, placed, &done.edits));
    let source = Source::of(&messages).ok();
    let document = source.as_ref().and_then(|source| framing::read(source, Some(transcript.format), None).ok());
    let read = document.and_then(|document| document.transcripts.into_iter().next());
    // What cannot be read cannot be said to fit.
    read.map_or(u64::MAX, |read| total(&read, &Tally::new(policy.counter, &read.messages), &policy.cut))
}
