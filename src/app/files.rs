//! What `DeepAgents` does with files: data of the history moves out before it is summarized, and results of tools move
//! out where what is kept is still too much for the model.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::exit::{Exit, Failure};
use crate::plan::{Plan, total};
use crate::rewrite::{self, Placed, media, reasoning, results};
use crate::run::input::spoken;
use crate::settings::Settings;
use crate::tokens::Tally;
use crate::transcript::{Transcript, framing};

use super::Done;
use super::archive::{Archived, MEDIA, Place, RESULTS};

/// A conversation's history without data in it.
pub(super) struct MediaMoved {
    /// The messages of the conversation, where any were changed.
    pub(super) text: Option<String>,
    /// The files that hold what stood in them.
    pub(super) files: Vec<(PathBuf, Vec<u8>)>,
}

/// Moves the data in what is summarized to files.
pub(super) fn media_moved(
    settings: &Settings,
    transcript: &Transcript<'_>,
    plan: &Plan,
    archive: Option<&Place>,
) -> MediaMoved {
    let Some(archive) = archive.filter(|_| settings.ways.files) else {
        return MediaMoved { text: None, files: Vec::new() };
    };
    let folder = archive.folder(MEDIA);
    let (edits, moved) = media::moved_out(transcript, &plan.summarized(), &shown(&folder));
    let messages = (0..transcript.messages.len()).map(|index| rewrite::edited(transcript, index, &edits));
    let text = (!edits.is_empty()).then(|| list(messages.collect()));
    MediaMoved { text, files: moved.into_iter().map(|file| (folder.join(file.name), file.bytes)).collect() }
}

/// What is kept, fitted to what may be sent to the model: without reasoning that is bound to what went, and with the
/// results at the end in files where it is too much otherwise. Nothing where nothing is changed.
///
/// # Errors
/// It is still too much.
pub(super) fn fitted(
    settings: &Settings,
    source: &str,
    transcript: &Transcript<'_>,
    plan: Plan,
    summary: Option<Placed>,
    archive: Option<&Place>,
) -> Result<Option<Done>> {
    let mut edits = match &summary {
        Some(_) => reasoning::unbound(transcript, plan.cutoff),
        None => Vec::new(),
    };
    let mut archived = Archived::default();
    let left = |edits: &[rewrite::Edit]| {
        let messages = rewrite::remaining(transcript, &plan, summary.as_ref(), edits);
        tokens(settings, transcript, &list(messages))
    };
    if let Some(budget) = settings.policy.budget.filter(|budget| left(&edits) > *budget) {
        let folder = archive.map(|archive| archive.folder(RESULTS)).unwrap_or_default();
        let (moved, files) = results::moved_out(transcript, plan.cutoff, &shown(&folder));
        edits.extend(moved);
        edits.sort_by_key(|edit| edit.range.start);
        archived.files.extend(files.into_iter().map(|file| (folder.join(file.name), file.text.into_bytes())));
        let left = left(&edits);
        if left > budget {
            let message = format!(
                "{}: what would be left has {left} tokens, more than the {budget} that may be sent to a model with this context window; keep less",
                spoken(source)
            );
            return Err(Failure::new(Exit::SummaryRefused, message).into());
        }
    }
    let unchanged = summary.is_none() && edits.is_empty();
    Ok((!unchanged).then_some(Done { plan, summary, edits, archived }))
}

fn list(messages: Vec<String>) -> String {
    format!("[{}]", messages.join(","))
}

/// A path as messages name it.
fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The tokens of messages in the format of a transcript.
fn tokens(settings: &Settings, transcript: &Transcript<'_>, messages: &str) -> u64 {
    let document = framing::read(messages, Some(transcript.format), None);
    let read = document.ok().and_then(|document| document.transcripts.into_iter().next());
    read.map_or(0, |read| total(&read, &Tally::new(settings.counter, &read.messages), &settings.policy))
}
