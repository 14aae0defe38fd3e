//! The summarizer of a run, and where the run keeps paid summaries, so that none is requested twice.

use std::fs::{self};
use std::io::{self};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::engine::inputs::{self, Inputs};
use crate::engine::journal::SUMMARIES;
use crate::events::{Event, Listener};
use crate::exit::Failure;
use crate::files::atomic::tidy;
use crate::files::paths;
use crate::files::paths::folder;
use crate::llm::Summarizer;
use crate::llm::cache::{Cache, Kept};
use crate::settings::Settings;
use crate::summary::exchange::{Bill, FailureKind, NoAnswer, Remembered, Reply, Request, SummaryBackend};
use crate::wording::reason;

/// A summarizer that the workers of a run share.
pub(super) struct RunBackend<'a> {
    /// Answers the requests.
    pub(super) summarizer: &'a Summarizer,
    /// The cache of the answers.
    pub(super) cache: Option<&'a Cache>,
    pub(super) listener: &'a dyn Listener,
    /// The name of the summarizer, if it is asked for one conversation only, and that can be shown.
    pub(super) alone: Option<&'a str>,
}

impl SummaryBackend for RunBackend<'_> {
    fn answer(&self, request: &Request, bill: &mut Bill) -> Result<Reply, NoAnswer> {
        let Some(name) = self.alone else { return self.summarizer.answer(request, bill) };
        self.listener.handle(&Event::Waiting(Some(name)));
        let answer = self.summarizer.answer(request, bill);
        self.listener.handle(&Event::Waiting(None));
        answer
    }

    fn remembered(
        &self,
        request: &Request,
        is_usable: &dyn Fn(&Reply) -> bool,
        ask: &mut dyn FnMut() -> Result<Reply, NoAnswer>,
    ) -> Result<Remembered, NoAnswer> {
        let Some(cache) = self.cache else {
            return Ok(Remembered { reply: ask()?, is_kept: false });
        };
        let identity = self.summarizer.identity(request);
        let _alone = cache.exclusive(&identity);
        match cache.get(&identity) {
            Some(Kept::Reply(reply)) if is_usable(&reply) => return Ok(Remembered { reply, is_kept: true }),
            Some(Kept::TooLong { window }) => {
                let message = "the history is too long for the model, as --cache has it".to_owned();
                return Err(NoAnswer { window, ..NoAnswer::new(FailureKind::TooLong, message) });
            }
            _ => {}
        }
        let room = match cache.reserve(&identity, request.limit) {
            Ok(room) => Some(room),
            Err(error) if cache.must_keep => {
                let why = reason(&error);
                let message = format!("a summary could not be kept: {why}; make room, and run again with --resume");
                return Err(NoAnswer::new(FailureKind::Setup, message));
            }
            Err(error) => {
                self.listener.handle(&Event::NotCached(&error));
                None
            }
        };
        let answer = ask();
        let kept = match &answer {
            Ok(reply) if is_usable(reply) => Some(Kept::Reply(reply.clone())),
            Err(none) if none.too_long() => Some(Kept::TooLong { window: none.window }),
            _ => None,
        };
        if let (Some(room), Some(kept)) = (room, kept)
            && let Err(error) = room.keep(&kept)
        {
            self.listener.handle(&Event::NotCached(&error));
        }
        Ok(Remembered { reply: answer?, is_kept: false })
    }
}

/// The cache of summaries.
#[derive(Debug, Default)]
pub(super) struct RunCache {
    pub(super) cache: Option<Cache>,
    /// Whether only lines of a stream use it. A document needs no cache: it has one summary, and the run ends with it.
    pub(super) is_for_lines: bool,
    /// The folder of pending summaries, which the run removes at its end.
    pub(super) pending: Option<PathBuf>,
}

impl RunCache {
    /// Opens the cache: the folder that the settings name; else the folder of the pending summaries of a single file; else
    /// a folder beside the results.
    ///
    /// # Errors
    /// The folder cannot be used.
    pub(super) fn open(settings: &Settings, inputs: &Inputs) -> Result<Self, Failure> {
        if let Some((home, summaries)) = pending_summaries(settings, inputs) {
            paths::refuse_links(&home, &summaries).map_err(|error| unusable(&summaries, &error))?;
            tidy(&home);
            let cache = Some(Cache::created_on_demand(&summaries));
            return Ok(RunCache { cache, is_for_lines: true, pending: Some(summaries) });
        }
        let cache = match (&settings.summarizer.cache, &inputs.home) {
            (Some(cache), _) => Some(cache.clone()),
            (None, Some(home)) if inputs.keeps_journal && !settings.is_embedded() => {
                let folder = home.join(inputs::OWN_FOLDER).join(SUMMARIES);
                let opened = paths::refuse_links(home, &folder).and_then(|()| Cache::open(&folder, true));
                Some(opened.map_err(|error| unusable(&folder, &error))?)
            }
            (None, _) => None,
        };
        Ok(RunCache { cache, ..RunCache::default() })
    }
}

fn unusable(folder: &Path, error: &io::Error) -> Failure {
    Failure::unreadable(format!("{} cannot be used: {}", folder.display(), reason(error)))
}

/// Where the summaries of a single output file are kept until that file is whole: its folder, and a folder below.
fn pending_summaries(settings: &Settings, inputs: &Inputs) -> Option<(PathBuf, PathBuf)> {
    if inputs.keeps_journal {
        return None;
    }
    let file = inputs.entries.first()?.output.as_ref()?;
    let is_device = fs::metadata(file).is_ok_and(|there| !there.is_file());
    if is_device || settings.is_embedded() || settings.action.is_read_only() || settings.summarizer.cache.is_some() {
        return None;
    }
    let home = folder(file);
    Some((home.to_owned(), home.join(inputs::OWN_FOLDER).join(file.file_name()?)))
}

/// Removes the folder of pending summaries: with its summaries once the result is whole, else only if it is empty.
pub(super) fn remove_pending(summaries: &Path, is_whole: bool) {
    let _ = if is_whole { fs::remove_dir_all(summaries) } else { fs::remove_dir(summaries) };
    // Another file may have pending summaries.
    let _ = summaries.parent().map(fs::remove_dir);
}
