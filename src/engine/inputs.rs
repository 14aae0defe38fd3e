//! The files that a run reads and the files that it writes, found and checked before anything is done.

mod places;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::Result;
use walkdir::{DirEntry, WalkDir};

use crate::diagnostic::Advice;
use crate::exit::Failure;
use crate::files::atomic::{is_unfinished, tidy};
use crate::files::input::is_json_by_name;
use crate::files::paths;
use crate::files::paths::folder;
use crate::settings::{Destination, Settings};
use crate::wording::reason;

pub use places::real;

use places::{RealFolders, check_places};

/// The folder in an output directory that holds the journal and the summaries.
pub(crate) const OWN_FOLDER: &str = ".tcompact";

/// A file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its path; nothing for standard input.
    pub(crate) path: Option<PathBuf>,
    /// The file of its result; nothing for standard output.
    pub(crate) output: Option<PathBuf>,
    /// Whether the user named it, rather than a directory that has it.
    pub(crate) named: bool,
    /// The path without links, of a file that was found in a directory.
    pub(crate) real_path: Option<PathBuf>,
    /// The path of its result without links, by which the journal knows it. Only where results go to files of a batch.
    pub(crate) real_output: Option<PathBuf>,
}

impl Entry {
    /// The file at a path that the user named, of which nothing is written; standard input without one.
    pub(super) fn named(path: Option<&PathBuf>) -> Self {
        let path = path.filter(|path| !is_stdin(path)).cloned();
        Entry { path, output: None, named: true, real_path: None, real_output: None }
    }

    /// `-` for standard input.
    pub(super) fn name(&self) -> String {
        match &self.path {
            Some(path) => path.display().to_string(),
            None => "-".to_owned(),
        }
    }
}

/// The inputs of a run.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// The files; those of a directory are sorted by name.
    pub(crate) entries: Vec<Entry>,
    /// Whether there is or could be more than one.
    pub(crate) many: bool,
    /// Paths in a directory that are skipped: links, which could lead out of it, and what else is not a file.
    pub(crate) passed_over: Vec<PathBuf>,
    /// Paths that could not be searched, and why.
    pub(crate) unsearched: Vec<(String, String)>,
    /// The directory of the results, or of the first file that is replaced.
    pub(crate) home: Option<PathBuf>,
    /// Whether the run keeps a journal there. A single file needs none: it is finished when the run is.
    pub(crate) keeps_journal: bool,
}

/// Finds the inputs that the settings name.
///
/// # Errors
/// A path does not exist; or the results have no place, or would replace an input. Nothing has been changed then.
pub(crate) fn find(settings: &Settings) -> Result<Inputs> {
    let looks = settings.action.is_read_only();
    let in_files = matches!(settings.output.destination, Destination::Folder(_) | Destination::InPlace(_)) && !looks;
    let paths = &settings.input.paths;
    let directory = paths.iter().find(|path| path.is_dir());
    let mut inputs = Inputs { many: paths.len() > 1 || directory.is_some() || in_files, ..Inputs::default() };
    if inputs.many && (paths.is_empty() || paths.iter().any(|path| is_stdin(path))) {
        return usage_error(&stdin_among_files(settings));
    }
    for path in paths {
        // A word that was meant otherwise changes what is done with the files; any other missing file fails by itself.
        if inputs.many
            && is_missing(path)
            && let Some(failure) = not_a_file(path, settings)
        {
            return Err(failure.into());
        }
    }
    if inputs.many && !in_files && !looks {
        let what = match directory {
            Some(path) => format!("the directory {}", path.display()),
            None => "several inputs".to_owned(),
        };
        let message = format!("{what}: --output-dir DIR or --in-place says where the result of each file goes");
        return Err(Failure::usage(message).try_next(Advice::command(["--output-dir", "compacted"])).into());
    }
    for path in paths {
        if in_files && !path.is_dir() && !path.is_file() && !is_missing(path) {
            return usage_error(&format!("{} is not a regular file; send it to standard input, alone", path.display()));
        }
    }
    for path in paths {
        if path.is_dir() {
            search(path, settings, &mut inputs);
        } else {
            inputs.add(path, Path::new(path.file_name().unwrap_or_default()), None, settings);
        }
    }
    if paths.is_empty() {
        let output = match &settings.output.destination {
            Destination::File(file) => Some(file.clone()),
            _ => None,
        };
        inputs.entries.push(Entry { output, ..Entry::named(None) });
    }
    if in_files {
        inputs.resolve();
        check_places(settings, &inputs)?;
        inputs.home = home(settings);
        inputs.keeps_journal = directory.is_some() || paths.len() > 1;
    }
    Ok(inputs)
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn is_missing(path: &Path) -> bool {
    !is_stdin(path) && !path.exists()
}

/// Why standard input, which the user named or left to be read, is not an input of this run.
fn stdin_among_files(settings: &Settings) -> String {
    let needs = match (&settings.output.destination, settings.input.paths.len()) {
        (Destination::InPlace(_), 0 | 1) => "--in-place replaces files: name a file or a directory",
        (Destination::Folder(_), 0 | 1) => "--output-dir keeps the names of files: name a file or a directory",
        _ => return "- is standard input, which is read alone: leave it out, and compact it in another run".to_owned(),
    };
    format!("{needs}; for standard input, use --output FILE or standard output")
}

/// The error that one of several inputs does not exist, where it is clear what the user meant.
fn not_a_file(missing: &Path, settings: &Settings) -> Option<Failure> {
    let name = missing.display().to_string();
    let others: Vec<&PathBuf> = settings.input.paths.iter().filter(|path| *path != missing).collect();
    if name == "all" && settings.policy.redact.is_on() {
        let failure = Failure::usage("there is no file all; with --redact=all, all that is written is masked");
        return Some(failure.try_next(Advice::instead(name, "--redact=all".to_owned())));
    }
    let is_suffix = settings.output.destination == Destination::InPlace(None) && name.starts_with('.');
    let is_word = name.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
    match others.as_slice() {
        _ if is_suffix => {
            Some(Failure::unreadable(format!("there is no file {name}; did you mean --in-place={name}?")))
        }
        [_] if ["rescue", "resume", "diff", "html", "explain"].contains(&name.as_str()) => {
            let message = format!("there is no file {name}; did you mean the flag --{name}?");
            Some(Failure::unreadable(message))
        }
        [_] if is_word => {
            let message = format!("there is no file {name}, and no such command; compaction needs none");
            Some(Failure::unreadable(message).try_next(Advice::without(name)))
        }
        _ => None,
    }
}

/// Searches a directory in the order of names, without following links. What cannot be searched is a path and the reason.
pub(super) fn below(root: &Path) -> impl Iterator<Item = Result<DirEntry, (String, String)>> {
    let found = WalkDir::new(root).sort_by_file_name().into_iter().filter_entry(|entry| !is_of_tcompact(entry));
    found.map(|entry| entry.map_err(|error| why_unsearched(root, &error)))
}

/// Whether an entry below a directory is a file or a folder that tcompact made for itself.
fn is_of_tcompact(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    entry.depth() > 0 && (name == OWN_FOLDER || is_unfinished(&name))
}

/// The path that could not be searched, and why.
fn why_unsearched(root: &Path, error: &walkdir::Error) -> (String, String) {
    let path = error.path().unwrap_or(root).display().to_string();
    let why = match error.io_error() {
        Some(error) => reason(error),
        None => error.to_string(),
    };
    (path, why)
}

/// Adds the files of a directory.
fn search(root: &Path, settings: &Settings, inputs: &mut Inputs) {
    let in_place = matches!(settings.output.destination, Destination::InPlace(_));
    let home = real(root);
    // The archive can be in the same directory, and is there when a run is repeated.
    let archive = settings.policy.archive.as_deref().map(real);
    for entry in below(root) {
        match entry {
            Err(unsearched) => inputs.unsearched.push(unsearched),
            Ok(entry) if entry.file_type().is_dir() => {}
            Ok(entry) if !entry.file_type().is_file() => inputs.passed_over.push(entry.into_path()),
            Ok(entry) if in_place && is_copy(entry.path()) => inputs.passed_over.push(entry.into_path()),
            Ok(entry) => {
                let path = entry.into_path();
                let below = path.strip_prefix(root).unwrap_or(&path).to_owned();
                // No link below the directory was followed.
                let real_path = home.join(&below);
                if archive.as_ref() != Some(&real_path) {
                    inputs.add(&path, &below, Some(real_path), settings);
                }
            }
        }
    }
}

/// Whether a file has the name of another one beside it and a suffix. Earlier runs made such copies of their inputs;
/// they are the only originals.
fn is_copy(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if is_json_by_name(&name) {
        return false;
    }
    for (end, _) in name.char_indices().skip(1) {
        if is_json_by_name(&name[..end]) && path.with_file_name(&name[..end]).is_file() {
            return true;
        }
    }
    false
}

impl Inputs {
    pub(super) fn of_stdin() -> Self {
        Inputs { entries: vec![Entry::named(None)], ..Inputs::default() }
    }

    /// Adds a file whose path `below` its directory, or whose name, is that of its result in another directory. One that
    /// was found in a directory has a real path already.
    fn add(&mut self, path: &Path, below: &Path, real_path: Option<PathBuf>, settings: &Settings) {
        let output = match &settings.output.destination {
            Destination::Folder(folder) => Some(folder.join(below)),
            Destination::InPlace(_) => Some(path.to_owned()),
            Destination::File(file) => Some(file.clone()),
            Destination::Stdout => None,
        };
        let path = if is_stdin(path) { None } else { Some(path.to_owned()) };
        self.entries.push(Entry { path, output, named: real_path.is_none(), real_path, real_output: None });
    }

    /// Resolves the links in the paths of the files and of their results.
    fn resolve(&mut self) {
        let mut folders = RealFolders::default();
        for entry in &mut self.entries {
            let (Some(path), Some(output)) = (&entry.path, &entry.output) else { continue };
            let real_path = entry.real_path.take().unwrap_or_else(|| real(path));
            entry.real_output = Some(if output == path { real_path.clone() } else { folders.real(output) });
            entry.real_path = Some(real_path);
        }
    }
}

impl Inputs {
    /// Removes the unfinished files of runs that were killed, where results are written into folders.
    pub(crate) fn tidy(&self) {
        let Some(home) = &self.home else { return };
        let folders: HashSet<&Path> = self.places().map(|(_, output)| folder(output)).collect();
        for folder in folders {
            if paths::refuse_links(home, folder).is_ok() {
                tidy(folder);
            }
        }
    }

    /// Whether the run is of one file that the user named, and not a batch.
    pub(crate) fn is_one_file(&self) -> bool {
        let is_alone = self.passed_over.is_empty() && self.unsearched.is_empty() && !self.keeps_journal;
        is_alone && matches!(self.entries.as_slice(), [entry] if entry.named)
    }

    /// The files that are read, without standard input.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.entries.iter().filter_map(|entry| entry.path.as_deref())
    }

    /// The files that are read, each with the file of its result; without those that have none.
    fn places(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.entries.iter().filter_map(|entry| Some((entry.path.as_deref()?, entry.output.as_deref()?)))
    }

    /// The same, each with the real path of its result.
    fn real_places(&self) -> impl Iterator<Item = (&Path, &Path, &Path)> {
        self.entries
            .iter()
            .filter_map(|entry| Some((entry.path.as_deref()?, entry.output.as_deref()?, entry.real_output.as_deref()?)))
    }
}

/// The directory of the journal: the output directory, or that of the first file that is replaced; none for other
/// outputs.
fn home(settings: &Settings) -> Option<PathBuf> {
    match &settings.output.destination {
        Destination::Folder(folder) => Some(folder.clone()),
        Destination::InPlace(_) => {
            let first = settings.input.paths.first()?;
            Some(if first.is_dir() { first.clone() } else { folder(first).to_owned() })
        }
        _ => None,
    }
}

fn usage_error<T>(message: &str) -> Result<T> {
    Err(Failure::usage(message).into())
}

/// The path of the copy that is made of a file before it is replaced.
pub(crate) fn copy_of(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
