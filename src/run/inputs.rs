//! Which files are read and where what becomes of each goes, found and checked before anything is done.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use walkdir::WalkDir;

use crate::exit::Failure;
use crate::settings::{Destination, Settings};

use super::journal::Journal;

/// The folder in an output directory that holds what a run remembers.
pub const OWN_FOLDER: &str = ".tcompact";
/// What the name of a file begins with that is not finished.
pub const UNFINISHED: &str = ".tcompact-";

/// A file to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its path; standard input if nothing.
    pub path: Option<PathBuf>,
    /// The file that its result goes to; standard output if nothing.
    pub output: Option<PathBuf>,
    /// Whether the user named it, and it was not found in a directory.
    pub named: bool,
}

/// What a run reads.
#[derive(Debug, Default)]
pub struct Inputs {
    /// The files, those of a directory by name.
    pub entries: Vec<Entry>,
    /// Whether there is or could be more than one.
    pub many: bool,
    /// What was found and is no file: links, which could lead out of the directory, and the like.
    pub passed_over: Vec<PathBuf>,
    /// What could not be searched, and why.
    pub unsearched: Vec<String>,
    /// The directory in which a run remembers what is finished.
    pub home: Option<PathBuf>,
}

/// Finds what the settings name.
///
/// # Errors
/// A path is not there; results have no place of their own or would fall on an input. Nothing has been touched then.
pub fn find(settings: &Settings) -> Result<Inputs> {
    let looks = settings.only_looks();
    let in_files = matches!(settings.destination, Destination::Folder(_) | Destination::InPlace(_)) && !looks;
    let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
    let directory = settings.paths.iter().find(|path| path.is_dir());
    let mut inputs = Inputs { many: settings.paths.len() > 1 || directory.is_some() || in_files, ..Inputs::default() };
    if inputs.many && (settings.paths.is_empty() || settings.paths.iter().any(is_stdin)) {
        return wrong("standard input stands alone, and its result goes to standard output or to --output FILE");
    }
    if inputs.many && !in_files && !looks {
        let what = directory.map_or("several inputs".to_owned(), |path| format!("the directory {}", path.display()));
        return wrong(&format!("{what}: --output-dir DIR or --in-place says where the result of each file goes"));
    }
    if let Some(missing) = settings.paths.iter().find(|path| inputs.many && !is_stdin(path) && !path.exists()) {
        return Err(Failure::unreadable(format!("{} is not there", missing.display())).into());
    }
    for path in &settings.paths {
        if path.is_dir() {
            search(path, settings, &mut inputs);
        } else {
            inputs.add(path, Path::new(path.file_name().unwrap_or_default()), true, settings);
        }
    }
    if settings.paths.is_empty() {
        let output = file(&settings.destination);
        inputs.entries.push(Entry { path: None, output, named: true });
    }
    if in_files {
        check_places(settings, &inputs)?;
        inputs.home = home(settings);
    }
    Ok(inputs)
}

/// Adds the files of a directory. Links in it are not followed.
fn search(root: &Path, settings: &Settings, inputs: &mut Inputs) {
    let is_own = |name: &str| name == OWN_FOLDER || name.starts_with(UNFINISHED);
    let suffix = match &settings.destination {
        Destination::InPlace(Some(suffix)) => suffix.as_str(),
        _ => "",
    };
    let found = WalkDir::new(root).sort_by_file_name().into_iter();
    for entry in found.filter_entry(|entry| entry.depth() == 0 || !is_own(&entry.file_name().to_string_lossy())) {
        match entry {
            Err(error) => inputs.unsearched.push(error.to_string()),
            Ok(entry) if entry.file_type().is_dir() => {}
            Ok(entry) if !entry.file_type().is_file() => inputs.passed_over.push(entry.into_path()),
            // The copies that an earlier run made of its inputs.
            Ok(entry) if !suffix.is_empty() && entry.file_name().to_string_lossy().ends_with(suffix) => {
                inputs.passed_over.push(entry.into_path());
            }
            Ok(entry) => {
                let path = entry.into_path();
                let below = path.strip_prefix(root).unwrap_or(&path).to_owned();
                inputs.add(&path, &below, false, settings);
            }
        }
    }
}

impl Inputs {
    /// Adds a file that is called so `below` the directory it was found in.
    fn add(&mut self, path: &Path, below: &Path, named: bool, settings: &Settings) {
        let output = match &settings.destination {
            Destination::Folder(folder) => Some(folder.join(below)),
            Destination::InPlace(_) => Some(path.to_owned()),
            destination => file(destination),
        };
        let path = Some(path.to_owned()).filter(|path| path.as_os_str() != "-");
        self.entries.push(Entry { path, output, named });
    }
}

fn file(destination: &Destination) -> Option<PathBuf> {
    match destination {
        Destination::File(file) => Some(file.clone()),
        _ => None,
    }
}

/// Refuses outputs that would take the place of an input or of each other.
fn check_places(settings: &Settings, inputs: &Inputs) -> Result<()> {
    if let Destination::Folder(folder) = &settings.destination {
        let place = real(folder);
        if let Some(root) = settings.paths.iter().find(|path| path.is_dir() && place.starts_with(real(path))) {
            let (folder, root) = (folder.display(), root.display());
            return wrong(&format!(
                "--output-dir {folder} is inside the input {root}; name a directory elsewhere, or replace the files with --in-place"
            ));
        }
        if folder.exists() && !folder.is_dir() {
            return wrong(&format!("--output-dir {} is a file; name a directory", folder.display()));
        }
    }
    let mut taken: HashMap<PathBuf, &Path> = HashMap::new();
    for (path, output) in inputs.places() {
        let is_in_place = matches!(settings.destination, Destination::InPlace(_));
        let place = if is_in_place { real(output) } else { output.to_owned() };
        if let Some(other) = taken.insert(place, path) {
            let (path, other) = (path.display(), other.display());
            return wrong(&match is_in_place {
                true => format!("{path} and {other} are the same file; name it once"),
                false => format!(
                    "{other} and {path} would both be written to {}; compact them into different directories",
                    output.display()
                ),
            });
        }
    }
    if let Destination::Folder(_) = settings.destination {
        let there: Vec<&Path> = inputs.places().map(|(_, output)| output).filter(|output| output.exists()).collect();
        if !there.is_empty() {
            let read: HashSet<PathBuf> = inputs.places().map(|(path, _)| real(path)).collect();
            if let Some(output) = there.into_iter().find(|output| read.contains(&real(output))) {
                return wrong(&format!(
                    "{} is an input, and would be written over; name another --output-dir, or use --in-place",
                    output.display()
                ));
            }
        }
    }
    Ok(())
}

impl Inputs {
    /// Takes away what runs that were killed left behind.
    pub fn tidy(&self) {
        let folders: HashSet<&Path> = self.places().filter_map(|(_, output)| output.parent()).collect();
        folders.into_iter().for_each(Journal::tidy);
    }

    /// The files that are read, and those that are written for them.
    fn places(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.entries.iter().filter_map(|entry| Some((entry.path.as_deref()?, entry.output.as_deref()?)))
    }
}

/// Where a run remembers what is finished. Files that are replaced one by one get no folder beside them unless a run is to
/// go on with what another began.
fn home(settings: &Settings) -> Option<PathBuf> {
    match &settings.destination {
        Destination::Folder(folder) => Some(folder.clone()),
        Destination::InPlace(_) => {
            let first = settings.paths.first()?;
            let folder = || first.parent().filter(|_| settings.resume).map(Path::to_owned);
            if first.is_dir() { Some(first.clone()) } else { folder() }
        }
        _ => None,
    }
}

/// A path without links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = whole.ancestors().find_map(|above| Some((above, fs::canonicalize(above).ok()?)));
    match there {
        Some((above, real)) => whole.strip_prefix(above).map_or(real.clone(), |rest| {
            // An empty rest would put a separator at the end.
            if rest.as_os_str().is_empty() { real.clone() } else { real.join(rest) }
        }),
        None => whole,
    }
}

fn wrong<T>(message: &str) -> Result<T> {
    Err(Failure::usage(message).into())
}
