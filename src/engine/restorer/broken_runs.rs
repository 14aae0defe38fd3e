//! Runs whose records are not whole: what such a run wrote must not be taken for growth.

use anyhow::Result;

use crate::hash::sha256;
use crate::rewrite::growth::TextLists;
use crate::rewrite::restoring::Record;
use crate::transcript::source::Source;

use super::Restorer;
use super::rounds::Rounds;
use super::text::Restored;
use super::which_run::has_same_name;
use crate::engine::archive::Archive;
use crate::engine::broken_records::{BrokenRecord, BrokenRun};

impl Restorer<'_, '_> {
    /// Refuses to put back the run of a record where a text has grown since it, or a line of one, and a later run on the text has
    /// only a broken record.
    ///
    /// # Errors
    /// There is such a run, or nothing tells that there is none.
    pub(super) fn refuse_broken_run(
        &self,
        text: &[u8],
        line: Option<usize>,
        next: &Record,
        rounds: &Rounds,
    ) -> Result<()> {
        if self.archive.broken.is_empty() {
            return Ok(());
        }
        let beginnings = Restored::of(text).beginnings(|hash| self.archive.names_in_broken(hash));
        let text = str::from_utf8(text).unwrap_or_default();
        let source = Source::of_file(text).ok();
        let mut lists = source.as_ref().map(|source| TextLists::new(text, source));
        for broken in &self.archive.broken {
            // The run was killed, and repeated; or it was before the next one, which is put back without it.
            let is_before =
                broken.number < next.number && broken.id().is_some() && broken.id() == next.previous.as_deref();
            let is_repeated = broken.found(&next.original_sha256) || self.archive.has_repeated(broken);
            if is_repeated || is_before {
                continue;
            }
            let told = match broken.told_of(&beginnings, lists.as_mut()) {
                BrokenRun::Unknown if !self.can_be_of(broken, next, rounds) => BrokenRun::LeftNothing,
                told => told,
            };
            if let Some(why) = why_refused(self.archive, broken, told) {
                return Err(self.refused(line, &why));
            }
        }
        Ok(())
    }

    /// Refuses to leave a line as it is that a run left whose record is broken.
    ///
    /// # Errors
    /// There is such a run.
    pub(super) fn refuse_broken_run_of_line(&self, content: &[u8], line: usize) -> Result<()> {
        if self.archive.broken.is_empty() {
            return Ok(());
        }
        let hash = sha256(content);
        for broken in &self.archive.broken {
            if self.archive.has_repeated(broken) {
                continue;
            }
            let files = [broken.file(), broken.file_before_line()];
            let is_of_file = files.into_iter().flatten().any(|file| has_same_name(file, self.file));
            let told = if broken.line() == Some(line) && is_of_file {
                told_of(broken, content)
            } else if broken.left(&hash) && !broken.found(&hash) {
                // The line moved, or the file was renamed.
                BrokenRun::LeftText
            } else {
                BrokenRun::LeftNothing
            };
            if let Some(why) = why_refused(self.archive, broken, told) {
                return Err(self.refused(Some(line), &why));
            }
        }
        Ok(())
    }

    /// The id of a broken record whose run left a text that was put back, so that this run cannot be put back, too.
    pub(super) fn broken_run_before(&self, text: &[u8], rounds: &Rounds) -> Option<String> {
        for broken in &self.archive.broken {
            let is_of_file =
                broken.file().is_some_and(|file| rounds.files.contains(file) || has_same_name(file, self.file));
            if is_of_file
                && broken.line().is_none()
                && !self.archive.has_repeated(broken)
                && told_of(broken, text) == BrokenRun::LeftText
            {
                return broken.id().map(str::to_owned);
            }
        }
        None
    }

    /// Whether a broken record can be of this text, by the file that it names.
    fn can_be_of(&self, broken: &BrokenRecord, next: &Record, rounds: &Rounds) -> bool {
        let Some(file) = broken.file() else { return true };
        for file in [Some(file), broken.file_before_line()].into_iter().flatten() {
            let is_of_file = self.file != "-" && has_same_name(file, self.file);
            if is_of_file || file == next.file() || rounds.files.contains(file) {
                return true;
            }
        }
        false
    }
}

/// What a broken record tells of a text.
fn told_of(broken: &BrokenRecord, text: &[u8]) -> BrokenRun {
    let beginnings = Restored::of(text).beginnings(|hash| broken.names(hash));
    let text = str::from_utf8(text).unwrap_or_default();
    let source = Source::of_file(text).ok();
    let mut lists = source.as_ref().map(|source| TextLists::new(text, source));
    broken.told_of(&beginnings, lists.as_mut())
}

/// Why a text is not put back because of a broken record, whose run `told` tells; nothing where it is put back.
pub(in crate::engine) fn why_refused(archive: &Archive<'_>, broken: &BrokenRecord, told: BrokenRun) -> Option<String> {
    match told {
        BrokenRun::LeftNothing => None,
        BrokenRun::LeftText => Some(broken.reason(true)),
        // The run was killed, and repeated.
        BrokenRun::Unknown if broken.id().is_some_and(|id| !archive.with_id(id).is_empty()) => None,
        BrokenRun::Unknown => Some(broken.reason(false)),
    }
}
