//! Summaries that were asked for before, a file each, named by the hash of all that decides them.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use serde_json::json;

use crate::files::atomic::{AtomicFile, tidy};
use crate::hash::sha256;
use crate::summary::exchange::{Reply, Stop};
use crate::sync::{lock, unpoisoned};
use crate::transcript::source::Source;

/// What the hash begins with, so that files of another layout are never read.
const LAYOUT: &str = "tcompact summary 1";

/// How an answer ended, as it is written down.
const STOPS: [(Stop, &str); 3] = [(Stop::Done, "done"), (Stop::Length, "length"), (Stop::Refused, "refused")];
const TOO_LONG: &str = "too long";

/// What came of a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kept {
    /// An answer that was taken.
    Reply(Reply),
    /// Nothing: it was too long for the model. That is kept so that the same is not tried in vain again.
    TooLong {
        /// How many tokens the model reads at once, where its server said so.
        window: Option<u64>,
    },
}

/// A folder of summaries.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: PathBuf,
    asked: Arc<Asked>,
    must_keep: bool,
    /// Whether the folder is there, and not to be made for what is kept first.
    is_made: bool,
}

/// What is being asked for at this moment.
#[derive(Debug, Default)]
struct Asked {
    identities: Mutex<HashSet<String>>,
    answered: Condvar,
}

/// Bytes of a file that a token of a summary may take, with escapes.
const BYTES_A_TOKEN: usize = 6;
const MOST_RESERVED: usize = 1 << 20;

/// Room for what comes of a request.
pub(crate) struct Reserved {
    file: AtomicFile,
}

impl Reserved {
    /// Keeps what came of it: whole, or not at all.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn keep(mut self, kept: &Kept) -> io::Result<()> {
        let value = match kept {
            Kept::Reply(reply) => {
                let stop = STOPS.into_iter().find(|(stop, _)| *stop == reply.stop).map(|(_, name)| name);
                json!({"summary": reply.text, "stop": stop})
            }
            Kept::TooLong { window } => json!({"summary": null, "stop": TOO_LONG, "window": window}),
        };
        let line = format!("{value}\n");
        let file = &mut self.file.file;
        file.rewind()?;
        file.write_all(line.as_bytes())?;
        file.as_file().set_len(line.len() as u64)?;
        self.file.replace(None, |_| Ok(()))
    }
}

/// That somebody asks for something, and nobody else does; no longer when this is dropped.
#[derive(Debug)]
pub(crate) struct Asking<'c> {
    cache: &'c Cache,
    identity: String,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.cache.asked().remove(&self.identity);
        self.cache.asked.answered.notify_all();
    }
}

impl Cache {
    /// The cache in a folder, which is made where it is not there.
    ///
    /// # Errors
    /// No file can be made in it.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        // The file for trying goes as it came.
        tempfile::tempfile_in(folder)?;
        tidy(folder);
        Ok(Cache { folder: folder.to_owned(), asked: Arc::default(), must_keep: false, is_made: true })
    }

    /// A cache in a folder that is made for the first summary, and that nobody but its owner looks into.
    pub(crate) fn to_be_made(folder: &Path) -> Self {
        tidy(folder);
        Cache { folder: folder.to_owned(), asked: Arc::default(), must_keep: true, is_made: false }
    }

    /// Waits until nobody else asks for what has this identity: then it may be there.
    pub(crate) fn alone(&self, identity: &str) -> Asking<'_> {
        let waited = self.asked.answered.wait_while(self.asked(), |asked| asked.contains(identity));
        unpoisoned(waited).insert(identity.to_owned());
        Asking { cache: self, identity: identity.to_owned() }
    }

    fn asked(&self) -> MutexGuard<'_, HashSet<String>> {
        lock(&self.asked.identities)
    }

    /// What came of what has this identity; nothing where nobody was asked, or what is there is no such file.
    pub(crate) fn get(&self, identity: &str) -> Option<Kept> {
        let text = fs::read_to_string(self.file(identity)).ok()?;
        let source = Source::of(&text).ok()?;
        let value = source.first()?;
        let stopped = value.get_text("stop")?;
        if stopped.is(TOO_LONG) {
            return Some(Kept::TooLong { window: value.get("window").and_then(|window| window.raw().parse().ok()) });
        }
        let (stop, _) = STOPS.into_iter().find(|(_, name)| stopped.is(name))?;
        let text = value.get_text("summary")?.decode().into_owned();
        Some(Kept::Reply(Reply { text, stop, usage: None }))
    }

    /// Makes room for what comes of a request that may be answered in so many tokens: what is paid for must not be lost
    /// since the disk is full.
    ///
    /// # Errors
    /// There is no room.
    pub(crate) fn reserve(&self, identity: &str, tokens: u64) -> io::Result<Reserved> {
        if !self.is_made {
            let mut builder = fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.recursive(true).create(&self.folder)?;
        }
        let mut file = AtomicFile::beside(&self.file(identity), None)?;
        let bytes = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(BYTES_A_TOKEN).min(MOST_RESERVED);
        file.file.write_all(&vec![0; bytes])?;
        Ok(Reserved { file })
    }

    /// The same cache, without which nothing is to be asked for: what is paid for must be there when a run is repeated.
    #[must_use]
    pub(crate) fn that_must_keep(self) -> Self {
        Cache { must_keep: true, ..self }
    }

    /// Whether nothing is to be asked for that cannot be kept.
    pub(crate) fn must_keep(&self) -> bool {
        self.must_keep
    }

    fn file(&self, identity: &str) -> PathBuf {
        self.folder.join(format!("{}.json", sha256(format!("{LAYOUT}\n{identity}").as_bytes())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_got_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(&folder.path().join("deep/er")).expect("a cache");
        assert_eq!(cache.get("a"), None);
        for stop in [Stop::Done, Stop::Length, Stop::Refused] {
            let kept = Kept::Reply(Reply { text: "s \u{1f600}\n".to_owned(), stop, usage: None });
            cache.reserve("a", 9).and_then(|room| room.keep(&kept)).expect("written");
            assert_eq!(cache.get("a"), Some(kept));
        }
        cache.reserve("a", 0).and_then(|room| room.keep(&Kept::TooLong { window: Some(2048) })).expect("written");
        assert_eq!(cache.get("a"), Some(Kept::TooLong { window: Some(2048) }));
        assert_eq!(cache.get("b"), None);
        assert_eq!(fs::read_dir(&cache.folder).expect("a folder").count(), 1, "nothing else is left there");
        fs::write(cache.file("a"), "{\"summary\":").expect("written");
        assert_eq!(cache.get("a"), None, "half a file is none");
    }

    #[test]
    fn a_folder_that_cannot_be_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, "").expect("written");
        assert!(Cache::open(&file.join("cache")).is_err());
    }
}
