//! What `DeepAgents` does with files: data of the history moves out before it is summarized, and results of tools move
//! out where what is kept is still too much for the model.

use std::path::Path;

use anyhow::Result;

use crate::exit::{Exit, Failure};
use crate::plan::total;
use crate::rewrite::{self, Edit, reasoning, results};
use crate::run::input::spoken;
use crate::settings::Settings;
use crate::tokens::Tally;
use crate::transcript::{Transcript, framing};

use super::archive::{self, RESULTS};
use super::conversation::Done;

/// What is kept, fitted to what may be sent to the model: without reasoning that is bound to what went, and with the
/// results at the end in files where it is too much otherwise.
///
/// # Errors
/// It is still too much.
pub(super) fn fitted(settings: &Settings, source: &str, transcript: &Transcript<'_>, mut done: Done) -> Result<Done> {
    if !settings.ways.files {
        return Ok(done);
    }
    if done.summary.is_some() {
        done.add(reasoning::unbound(transcript, done.plan.cutoff));
    }
    let Some(budget) = settings.policy.budget.filter(|budget| left(settings, transcript, &done) > *budget) else {
        return Ok(done);
    };
    let folder = archive::place(settings, transcript).map(|archive| archive.folder(RESULTS)).unwrap_or_default();
    let (moved, files) = results::moved_out(transcript, done.plan.cutoff, &shown(&folder));
    done.add(moved);
    done.archived.files.extend(files.into_iter().map(|file| (folder.join(file.name), file.text.into_bytes())));
    match left(settings, transcript, &done) {
        left if left > budget => {
            let message = format!(
                "{}: what would be left has {left} tokens, more than the {budget} that may be sent to a model with this context window; keep less",
                spoken(source)
            );
            Err(Failure::new(Exit::SummaryRefused, message).into())
        }
        _ => Ok(done),
    }
}

impl Done {
    fn add(&mut self, edits: Vec<Edit>) {
        self.edits.extend(edits);
        self.edits.sort_by_key(|edit| edit.range.start);
    }
}

/// The tokens of what is left of a conversation.
fn left(settings: &Settings, transcript: &Transcript<'_>, done: &Done) -> u64 {
    let messages = list(rewrite::remaining(transcript, &done.plan, done.summary.as_ref(), &done.edits));
    let document = framing::read(&messages, Some(transcript.format), None);
    let read = document.ok().and_then(|document| document.transcripts.into_iter().next());
    // What cannot be read cannot be said to fit.
    read.map_or(u64::MAX, |read| total(&read, &Tally::new(settings.counter, &read.messages), &settings.policy))
}

/// Messages as a list.
pub(super) fn list(messages: Vec<String>) -> String {
    format!("[{}]", messages.join(","))
}

/// A path as messages name it.
pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}
