//! A file of `slim`, and its place: what goes is appended to its archive before the smaller file takes it.

use std::fs::{self, Metadata};
use std::path::PathBuf;

use anyhow::Result;

use crate::exit::Failure;
use crate::files::append::{self, Appended};
use crate::files::open_files::OpenFiles;
use crate::files::output::CompleteFile;
use crate::files::replacing::ReplacedFile;
use crate::interrupt;
use crate::settings::SlimSettings;

use crate::engine::records::refuse_other_file;

/// The end of an archive's name, behind that of its file.
pub(super) const ARCHIVE_END: &str = ".cut.jsonl.zst";

/// A file to look at.
pub(super) struct SessionFile {
    pub(super) path: PathBuf,
    /// Whether the user named it, rather than a folder that has it.
    pub(super) is_named: bool,
}

impl SessionFile {
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Where what goes of it is kept.
    pub(super) fn archive(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(ARCHIVE_END);
        name.into()
    }
}

/// What came of a file.
pub(super) enum Outcome {
    /// It became smaller, or would.
    Slimmed(Saving),
    /// It is a session with nothing more to remove. The bytes of the file.
    Nothing(u64),
    /// It is not a session of an agent, and why.
    Other(String),
    /// It is left alone, and why.
    Left(String),
    /// It is younger than the user wants.
    Young,
    Failed(anyhow::Error),
}

/// What a file saves.
pub(super) struct Saving {
    pub(super) before: u64,
    pub(super) after: u64,
    pub(super) by_label: Vec<(&'static str, u64)>,
    /// By how many other names the old file is still known.
    pub(super) other_names: u64,
    /// A warning for a file that a program may still write to.
    pub(super) warning: Option<String>,
}

/// The place of a file whose smaller form is written.
pub(super) struct Place<'s> {
    pub(super) settings: &'s SlimSettings,
    pub(super) file: &'s SessionFile,
    /// What the file was before it was read.
    pub(super) before: &'s Metadata,
    pub(super) open_files: &'s OpenFiles,
}

impl Place<'_> {
    /// Appends what goes by `archive`, then puts the result in place. Where that fails, the archive is as it was.
    pub(super) fn put(
        &self,
        result: CompleteFile,
        archive: impl FnOnce() -> Result<Option<Appended>>,
        saving: &mut Saving,
    ) -> Result<()> {
        let path = &self.file.path;
        let target = result.place().unwrap_or(path).to_owned();
        let replaced = ReplacedFile { path, target, before: Some(self.before) };
        // Nothing is archived for a file that changed already.
        replaced.refuse_change()?;
        saving.after = result.path().and_then(|path| fs::metadata(path).ok()).map_or(saving.after, |there| there.len());
        saving.warning = self.open_files.warning(path, self.before).filter(|_| !self.settings.force);
        // An interrupt waits for both: a file that stays has nothing in its archive.
        saving.other_names = interrupt::uninterrupted(|| {
            let archived = archive()?;
            replaced.replace(result, None).map_err(|error| {
                if archived.is_some_and(|archived| !archived.take_back()) {
                    let message = format!("{error}; the archive keeps what was cut, since another run wrote to it too");
                    return Failure::unreadable(message).into();
                }
                error
            })
        })?;
        Ok(())
    }
}

/// The archive of a file, once nothing speaks against appending to it.
///
/// # Errors
/// It is a link, holds something else, or cannot be written.
pub(super) fn checked_archive(file: &SessionFile) -> Result<PathBuf> {
    let archive = file.archive();
    if fs::symlink_metadata(&archive).is_ok_and(|there| there.is_symlink()) {
        let name = archive.display();
        let message = format!("{name} is a link, and tcompact does not write through links; move it away");
        return Err(Failure::unreadable(message).into());
    }
    append::check(&archive, &[])?;
    refuse_other_file(&archive)?;
    Ok(archive)
}
