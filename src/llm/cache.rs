//! The cache of summaries: one file for each, named by the hash of everything that decides it.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use serde_json::json;

use crate::files::atomic::{AtomicFile, Readers, tidy};
use crate::hash::sha256;
use crate::summary::exchange::{Reply, Stop};
use crate::sync::{lock, unpoisoned};
use crate::transcript::source::Source;

/// The beginning of the hashed text, so that files of another layout are never read.
const LAYOUT: &str = "tcompact summary 1";

/// How an answer ended, as the file names it.
const STOPS: [(Stop, &str); 3] = [(Stop::Done, "done"), (Stop::Length, "length"), (Stop::Refused, "refused")];
const TOO_LONG: &str = "too long";

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kept {
    /// An accepted answer.
    Reply(Reply),
    /// The request was too long for the model. This is kept so that it is not sent again.
    TooLong {
        /// The context window in tokens, where the server named it.
        window: Option<u64>,
    },
}

/// A folder with summaries.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: PathBuf,
    in_flight: Arc<InFlight>,
    /// Whether a request is only sent if its answer can be kept.
    pub(crate) must_keep: bool,
    /// Whether the folder exists. Else the first entry creates it.
    exists: bool,
}

/// The requests in flight.
#[derive(Debug, Default)]
struct InFlight {
    identities: Mutex<HashSet<String>>,
    answered: Condvar,
}

/// The most bytes of a file for a token of a summary, with escapes.
const BYTES_PER_TOKEN: usize = 6;
const MOST_RESERVED: usize = 1 << 20;

/// Reserved space for the outcome of a request.
pub(crate) struct Reserved(AtomicFile);

impl Reserved {
    /// Writes the outcome: whole, or not at all.
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
        let file = &mut self.0.file;
        file.rewind()?;
        file.write_all(line.as_bytes())?;
        file.as_file().set_len(line.len() as u64)?;
        self.0.finish(None)?;
        self.0.persist()
    }
}

/// The exclusive right to send a request, until this is dropped.
#[derive(Debug)]
pub(crate) struct RequestGuard<'c> {
    cache: &'c Cache,
    identity: String,
}

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        self.cache.in_flight().remove(&self.identity);
        self.cache.in_flight.answered.notify_all();
    }
}

impl Cache {
    /// Opens the cache in a folder, and creates the folder where it does not exist. With `must_keep`, a
    /// request is only sent if its answer can be kept: what is paid for must be there when a run is repeated.
    ///
    /// # Errors
    /// No file can be created in it.
    pub(crate) fn open(folder: &Path, must_keep: bool) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        // The operating system removes this file at once. It only shows that the folder is writable.
        tempfile::tempfile_in(folder)?;
        Ok(Cache { must_keep, exists: true, ..Cache::created_on_demand(folder) })
    }

    /// A cache in a folder that the first summary creates, readable only by its owner.
    pub(crate) fn created_on_demand(folder: &Path) -> Self {
        tidy(folder);
        Cache { folder: folder.to_owned(), in_flight: Arc::default(), must_keep: true, exists: false }
    }

    /// Waits until no other thread sends the request with this identity. Its answer can be in the cache then.
    pub(crate) fn exclusive(&self, identity: &str) -> RequestGuard<'_> {
        let waited = self.in_flight.answered.wait_while(self.in_flight(), |in_flight| in_flight.contains(identity));
        unpoisoned(waited).insert(identity.to_owned());
        RequestGuard { cache: self, identity: identity.to_owned() }
    }

    fn in_flight(&self) -> MutexGuard<'_, HashSet<String>> {
        lock(&self.in_flight.identities)
    }

    /// The outcome of the request with this identity; nothing where there is no valid file.
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

    /// Reserves space for an answer of so many tokens, so that a full disk does not lose an answer that is paid for.
    ///
    /// # Errors
    /// There is no space.
    pub(crate) fn reserve(&self, identity: &str, tokens: u64) -> io::Result<Reserved> {
        if !self.exists {
            let mut builder = fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.recursive(true).create(&self.folder)?;
        }
        let mut file = AtomicFile::beside(&self.file(identity), &Readers::Owner)?;
        let bytes = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_TOKEN).min(MOST_RESERVED);
        file.file.write_all(&vec![0; bytes])?;
        Ok(Reserved(file))
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
        let cache = Cache::open(&folder.path().join("deep/er"), false).expect("a cache");
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
        assert!(Cache::open(&file.join("cache"), false).is_err());
    }
}
