//! Summaries that were asked for before, a file each, named by the hash of all that decides them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use super::{Reply, Stop, Usage};
use crate::transcript::json::Json;
use crate::transcript::syntax;

/// What the hash begins with, so that files of another layout are never read.
const LAYOUT: &str = "tcompact summary 1";

/// A folder of summaries.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in a folder, which is made where it is not there.
    ///
    /// # Errors
    /// No file can be made in it.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        // The file for trying goes as it came.
        tempfile::tempfile_in(folder)?;
        Ok(Cache { folder: folder.to_owned() })
    }

    /// What was answered to what has this identity; nothing where nobody was asked, or what is there is no summary.
    pub fn get(&self, identity: &str) -> Option<Reply> {
        let text = fs::read_to_string(self.file(identity)).ok()?;
        let value = syntax::values(&text, 0).ok()?.first().copied()?;
        let number = |usage: Json<'_>, key: &str| usage.get(key)?.raw().parse().ok();
        let usage = value.get("usage").and_then(|usage| {
            Some(Usage {
                input: number(usage, "input_tokens")?,
                output: number(usage, "output_tokens")?,
                ..Usage::default()
            })
        });
        Some(Reply { text: value.get_text("summary")?.decode().into_owned(), stop: Stop::Done, usage })
    }

    /// Keeps an answer that was taken: whole, or not at all.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn put(&self, identity: &str, reply: &Reply) -> io::Result<()> {
        let usage = reply.usage.map(|usage| json!({"input_tokens": usage.input, "output_tokens": usage.output}));
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        let value: Value = json!({"summary": reply.text, "usage": usage});
        io::Write::write_all(&mut file, format!("{value}\n").as_bytes())?;
        file.as_file().sync_data()?;
        file.persist(self.file(identity)).map(drop).map_err(|error| error.error)
    }

    fn file(&self, identity: &str) -> PathBuf {
        let hash = digest(&SHA256, format!("{LAYOUT}\n{identity}").as_bytes());
        let name: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{name}.json"))
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
        let usage = Some(Usage { input: 3, output: 4, ..Usage::default() });
        let reply = Reply { text: "s \u{1f600}\n".to_owned(), stop: Stop::Done, usage };
        cache.put("a", &reply).expect("written");
        assert_eq!(cache.get("a"), Some(reply));
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
