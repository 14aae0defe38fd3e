//! What `DeepAgents` does with files: data of the history moves out before it is summarized, and results of tools move
//! out where what is kept is still too much for the model.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::exit::{Exit, Failure};
use crate::files::append;
use crate::plan::{Plan, total};
use crate::rewrite::{self, Edit, results};
use crate::settings::Settings;
use crate::tokens::Tally;
use crate::transcript::source::Source;
use crate::transcript::view::list;
use crate::transcript::{Transcript, framing};
use crate::wording::readable_source;

use crate::engine::archive::{self, RESULTS};
use crate::engine::conversation::Compaction;

/// What is kept, fitted to what may be sent to the model: with the results at the
/// end in files where it is too much otherwise.
///
/// # Errors
/// It is still too much.
pub(super) fn fitted(
    settings: &Settings,
    source: &str,
    transcript: &Transcript<'_>,
    mut done: Compaction,
) -> Result<Compaction> {
    if !settings.ways.files {
        return Ok(done);
    }
    let Some(budget) = settings.policy.budget.filter(|budget| left(settings, transcript, &done) > *budget) else {
        return Ok(done);
    };
    let (moved, files) = large_results(settings, transcript, &done.plan);
    done.add(moved);
    done.archived.files.extend(files);
    match left(settings, transcript, &done) {
        left if left > budget => {
            let message = format!(
                "{}: what would be left has {left} tokens, more than the {budget} that may be sent to a model with this context window; keep less",
                readable_source(source)
            );
            Err(Failure::new(Exit::SummaryRefused, message).into())
        }
        _ => Ok(done),
    }
}

/// The edits that move the results out with which a conversation ends, and the files they go to.
fn large_results(
    settings: &Settings,
    transcript: &Transcript<'_>,
    plan: &Plan,
) -> (Vec<Edit>, Vec<(PathBuf, Vec<u8>)>) {
    let folder = archive::place(settings, transcript).map(|archive| archive.folder(RESULTS)).unwrap_or_default();
    let (moved, files) = results::moved_out(transcript, plan.cutoff, &shown(&folder));
    (moved, files.into_iter().map(|file| (folder.join(file.name), file.text.into_bytes())).collect())
}

/// Refuses results that are sure to move out and cannot, before a summary is paid for.
///
/// # Errors
/// A file is there already and holds something else.
pub(super) fn check(
    settings: &Settings,
    transcript: &Transcript<'_>,
    tally: &Tally<'_, '_>,
    plan: &Plan,
) -> Result<()> {
    let Some(budget) = settings.policy.budget.filter(|_| settings.ways.files) else { return Ok(()) };
    let kept: Vec<usize> = (plan.cutoff..transcript.messages.len()).collect();
    match tally.reaches(&kept, budget + 1) {
        true => append::check_files(&large_results(settings, transcript, plan).1),
        false => Ok(()),
    }
}

impl Compaction {
    fn add(&mut self, edits: Vec<Edit>) {
        self.edits.extend(edits);
        rewrite::sort(&mut self.edits);
    }
}

/// The tokens of what is left of a conversation.
pub(super) fn left(settings: &Settings, transcript: &Transcript<'_>, done: &Compaction) -> u64 {
    let messages = list(rewrite::remaining(transcript, &done.plan, done.summary.as_ref(), &done.edits));
    let source = Source::of(&messages).ok();
    let document = source.as_ref().and_then(|source| framing::read(source, Some(transcript.format), None).ok());
    let read = document.and_then(|document| document.transcripts.into_iter().next());
    // What cannot be read cannot be said to fit.
    read.map_or(u64::MAX, |read| total(&read, &Tally::new(settings.counter, &read.messages), &settings.policy))
}

/// A path as messages name it.
pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}
