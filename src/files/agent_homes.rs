//! What depends on the bytes of the session files in an agent's home: the beginning of one session can be a range of bytes
//! of another file, and a database can name places in each. A file that is replaced no longer has these places.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::Result;
use walkdir::WalkDir;

use crate::exit::Failure;
use crate::sync::lock;
use crate::transcript::formats::FORMATS;
use crate::transcript::session_files::{Dependents, SessionHead, id_in_name};
use crate::transcript::source::Source;

/// A first line that is longer is not read. The instructions in it have some 20 KB.
const LONGEST_LINE: u64 = 4 << 20;

/// The sessions that begin in another file, by the id in the name of that file.
type Followers = HashMap<String, PathBuf>;

/// The homes of the agents whose sessions a run replaces.
#[derive(Debug, Default)]
pub(crate) struct AgentHomes {
    /// For each home, the sessions that begin in another file. A home is searched when its first session is asked for.
    followers: Mutex<HashMap<PathBuf, Arc<Followers>>>,
    /// The homes whose database was named.
    named: Mutex<HashSet<PathBuf>>,
}

/// The home of an agent.
struct Home<'p> {
    folder: &'p Path,
    dependents: &'static Dependents,
}

impl AgentHomes {
    /// Refuses to replace a session whose beginning is that of another one.
    ///
    /// # Errors
    /// It is, and of which.
    pub(crate) fn refuse_base(&self, path: &Path) -> Result<()> {
        let Some(follower) = self.follower(path) else { return Ok(()) };
        let message = format!(
            "{} is not replaced: the session {} begins with bytes of it, and would no longer begin there; add --force to \
             replace it all the same",
            path.display(),
            follower.display()
        );
        Err(Failure::unreadable(message).into())
    }

    /// A session that begins with bytes of a file.
    pub(crate) fn follower(&self, path: &Path) -> Option<PathBuf> {
        let path = fs::canonicalize(path).ok()?;
        let home = Home::of(&path)?;
        let id = id_in_name(path.file_name()?.to_str()?)?;
        let known = lock(&self.followers).get(home.folder).cloned();
        // Two workers may search a home at the same time, and find the same.
        let followers = known.unwrap_or_else(|| {
            let found = Arc::new(home.followers());
            lock(&self.followers).insert(home.folder.to_owned(), Arc::clone(&found));
            found
        });
        followers.get(id).filter(|follower| **follower != path).cloned()
    }

    /// What is to be said of the database of the agent once one of its sessions was replaced; once for each home.
    pub(crate) fn stale_database(&self, path: &Path) -> Option<String> {
        let path = fs::canonicalize(path).ok()?;
        let home = Home::of(&path)?;
        let database = home.database()?;
        if !lock(&self.named).insert(home.folder.to_owned()) {
            return None;
        }
        let (agent, shown) = (home.dependents.agent, database.display());
        Some(format!(
            "{agent} finds the turns of a session by {shown}, which still has the places before this change: close {agent} \
             and remove {shown} with the files -wal and -shm beside it, and {agent} makes it anew"
        ))
    }
}

impl<'p> Home<'p> {
    /// The home of the agent that wrote a session, which lies in one of the folders with its sessions.
    fn of(path: &'p Path) -> Option<Self> {
        let dependents = dependents_of(path)?;
        for folder in path.ancestors().skip(1) {
            let name = folder.file_name().and_then(|name| name.to_str());
            if name.is_some_and(|name| dependents.folders.contains(&name)) {
                return Some(Home { folder: folder.parent()?, dependents });
            }
        }
        None
    }

    /// The sessions that begin in another file.
    fn followers(&self) -> Followers {
        let mut followers = Followers::new();
        for folder in self.dependents.folders {
            for entry in WalkDir::new(self.folder.join(folder)).sort_by_file_name().into_iter().flatten() {
                if !entry.file_type().is_file() {
                    continue;
                }
                if let Some(base) = head_of(entry.path()).and_then(|head| head.base) {
                    followers.entry(base.thread).or_insert_with(|| entry.into_path());
                }
            }
        }
        followers
    }

    /// The database that names places in sessions, if there is one.
    fn database(&self) -> Option<PathBuf> {
        for entry in fs::read_dir(self.folder).ok()?.flatten() {
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            if name.starts_with(self.dependents.database) && name.ends_with(".sqlite") {
                return Some(entry.path());
            }
        }
        None
    }
}

/// The first line of a session, if the name is one of an agent whose sessions differ in it.
pub(crate) fn head_of(path: &Path) -> Option<SessionHead> {
    let dependents = dependents_of(path)?;
    let mut line = Vec::new();
    BufReader::new(File::open(path).ok()?.take(LONGEST_LINE)).read_until(b'\n', &mut line).ok()?;
    let text = String::from_utf8(line).ok()?;
    let source = Source::of(text.trim_end()).ok()?;
    Some((dependents.head)(source.first()?))
}

/// What depends on the sessions of an agent, if a file has the name of one.
fn dependents_of(path: &Path) -> Option<&'static Dependents> {
    let name = path.file_name()?.to_str()?;
    let mut agents = FORMATS.iter().filter_map(|format| format.session_files.as_ref());
    agents.find(|files| files.dependents.is_some() && (files.is_session)(name))?.dependents.as_ref()
}
