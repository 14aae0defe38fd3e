//! The files that a run reads and the files that it writes, found and checked before anything is done.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use anyhow::Result;
use walkdir::{DirEntry, WalkDir};

use crate::advice::Advice;
use crate::exit::Failure;
use crate::settings::{Destination, Settings};
use crate::wording::reason;

use crate::files::atomic::{is_unfinished, tidy};
use crate::files::input::is_json_by_name;
use crate::files::links;
use crate::files::output::same_place;
use crate::files::paths::folder;
use crate::files::readers::Readers;

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
    readers: OnceLock<Readers>,
}

/// Finds the inputs that the settings name.
///
/// # Errors
/// A path does not exist; or the results have no place, or would replace an input. Nothing has been changed then.
pub(crate) fn find(settings: &Settings) -> Result<Inputs> {
    let looks = settings.action.is_read_only();
    let in_files = matches!(settings.output.destination, Destination::Folder(_) | Destination::InPlace(_)) && !looks;
    let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
    let directory = settings.input.paths.iter().find(|path| path.is_dir());
    let mut inputs =
        Inputs { many: settings.input.paths.len() > 1 || directory.is_some() || in_files, ..Inputs::default() };
    if inputs.many && (settings.input.paths.is_empty() || settings.input.paths.iter().any(is_stdin)) {
        return usage_error(
            "standard input cannot stand beside other inputs, and its result goes to standard output or to --output FILE",
        );
    }
    let is_missing = |path: &PathBuf| !is_stdin(path) && !path.exists();
    // A word that was meant otherwise changes what is done with the files; any other missing file fails by itself.
    let missing = settings.input.paths.iter().filter(|path| inputs.many && is_missing(path));
    if let Some(failure) = missing.into_iter().find_map(|path| not_a_file(path, settings)) {
        return Err(failure.into());
    }
    if inputs.many && !in_files && !looks {
        let what = directory.map_or("several inputs".to_owned(), |path| format!("the directory {}", path.display()));
        let message = format!("{what}: --output-dir DIR or --in-place says where the result of each file goes");
        return Err(Failure::usage(message).try_next(Advice::command(["--output-dir", "compacted"])).into());
    }
    let is_odd = |path: &&PathBuf| in_files && !path.is_dir() && !path.is_file() && !is_missing(path);
    if let Some(odd) = settings.input.paths.iter().find(is_odd) {
        return usage_error(&format!("{} is not a regular file; send it to standard input, alone", odd.display()));
    }
    for path in &settings.input.paths {
        if path.is_dir() {
            search(path, settings, &mut inputs);
        } else {
            inputs.add(path, Path::new(path.file_name().unwrap_or_default()), true, settings);
        }
    }
    if settings.input.paths.is_empty() {
        let output = file(&settings.output.destination);
        inputs.entries.push(Entry { path: None, output, named: true });
    }
    if in_files {
        check_places(settings, &inputs)?;
        inputs.home = home(settings);
        inputs.keeps_journal = directory.is_some() || settings.input.paths.len() > 1;
    }
    Ok(inputs)
}

/// Returns the error that one of several inputs does not exist, where it is clear what the user meant.
fn not_a_file(missing: &Path, settings: &Settings) -> Option<Failure> {
    let name = missing.display().to_string();
    let others: Vec<&PathBuf> = settings.input.paths.iter().filter(|path| *path != missing).collect();
    let is_suffix = settings.output.destination == Destination::InPlace(None) && name.starts_with('.');
    let is_word = name.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
    match others.as_slice() {
        _ if is_suffix => {
            Some(Failure::unreadable(format!("there is no file {name}; did you mean --in-place={name}?")))
        }
        [_] if is_word => {
            let message = format!("there is no file {name}; tcompact has no commands, only flags and files");
            Some(Failure::unreadable(message).try_next(Advice::without(name)))
        }
        _ => None,
    }
}

/// Searches a directory in the order of names, without following links. What cannot be searched is a path and the reason.
pub(super) fn below(root: &Path) -> impl Iterator<Item = Result<DirEntry, (String, String)>> {
    let is_own = |name: &str| name == OWN_FOLDER || is_unfinished(name);
    let found = WalkDir::new(root).sort_by_file_name().into_iter();
    let found = found.filter_entry(move |entry| entry.depth() == 0 || !is_own(&entry.file_name().to_string_lossy()));
    found.map(|entry| {
        entry.map_err(|error| {
            let path = error.path().unwrap_or(root).display().to_string();
            (path, error.io_error().map_or_else(|| error.to_string(), reason))
        })
    })
}

/// Adds the files of a directory.
fn search(root: &Path, settings: &Settings, inputs: &mut Inputs) {
    let in_place = matches!(settings.output.destination, Destination::InPlace(_));
    for entry in below(root) {
        match entry {
            Err(unsearched) => inputs.unsearched.push(unsearched),
            Ok(entry) if entry.file_type().is_dir() => {}
            Ok(entry) if !entry.file_type().is_file() => inputs.passed_over.push(entry.into_path()),
            Ok(entry) if in_place && is_copy(entry.path()) => inputs.passed_over.push(entry.into_path()),
            Ok(entry) => {
                let path = entry.into_path();
                let below = path.strip_prefix(root).unwrap_or(&path).to_owned();
                inputs.add(&path, &below, false, settings);
            }
        }
    }
}

/// Whether a file has the name of another one beside it and a suffix. Earlier runs made such copies of their inputs;
/// they are the only originals.
fn is_copy(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_there = |end: usize| is_json_by_name(&name[..end]) && path.with_file_name(&name[..end]).is_file();
    !is_json_by_name(&name) && name.char_indices().skip(1).any(|(end, _)| is_there(end))
}

impl Inputs {
    /// Adds a file whose path `below` its directory, or whose name, is that of its result in another directory.
    fn add(&mut self, path: &Path, below: &Path, named: bool, settings: &Settings) {
        let output = match &settings.output.destination {
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

/// Refuses results that would replace an input or each other.
fn check_places(settings: &Settings, inputs: &Inputs) -> Result<()> {
    let roots: Vec<(&PathBuf, PathBuf)> =
        settings.input.paths.iter().filter(|path| path.is_dir()).map(|path| (path, real(path))).collect();
    let folder = match &settings.output.destination {
        Destination::Folder(folder) => Some(folder),
        _ => None,
    };
    let within = |place: &Path| roots.iter().find(|(_, real)| place.starts_with(real)).map(|(root, _)| *root);
    if let Some((folder, root)) = folder.and_then(|folder| Some((folder, within(&real(folder))?))) {
        return inside_input(&format!("--output-dir {}", folder.display()), root);
    }
    if let Some(file) = folder.filter(|folder| folder.exists() && !folder.is_dir()) {
        return usage_error(&format!("--output-dir {} is a file; name a directory", file.display()));
    }
    let mut taken: HashMap<&Path, &Path> = HashMap::new();
    let mut paths = RealPaths::default();
    let places: Vec<(&Path, &Path, PathBuf)> =
        inputs.places().map(|(path, output)| (path, output, paths.of(output))).collect();
    for (path, output, place) in &places {
        if let Some(root) = within(place).filter(|_| folder.is_some()) {
            return inside_input(&output.display().to_string(), root);
        }
        if let Some(other) = taken.insert(place, path) {
            return same_output(path, other, output);
        }
    }
    for (path, output, place) in places.iter().filter(|_| folder.is_some()) {
        if let Some(other) = place.ancestors().skip(1).find_map(|above| taken.get(above)) {
            return same_output(path, other, output);
        }
    }
    if folder.is_some() {
        let read: HashSet<PathBuf> = inputs.places().map(|(path, _)| paths.of(path)).collect();
        if let Some(output) = taken.keys().find(|place| read.contains(**place)) {
            let output = output.display();
            return usage_error(&format!(
                "{output} is an input, and would be written over; name another --output-dir, or use --in-place"
            ));
        }
    }
    Ok(())
}

fn inside_input(output: &str, root: &Path) -> Result<()> {
    let root = root.display();
    usage_error(&format!(
        "{output} is inside the input {root}; name a directory elsewhere, or replace the files with --in-place"
    ))
}

fn same_output(path: &Path, other: &Path, output: &Path) -> Result<()> {
    let is_one_file = same_place(path, other);
    let (path, other, output) = (path.display(), other.display(), output.display());
    if is_one_file {
        return usage_error(&format!("{path} and {other} are the same file; name it once"));
    }
    usage_error(&format!(
        "{other} and {path} would both be written to {output}; compact them into different directories"
    ))
}

/// Returns the path of the copy that is made of a file before it is replaced.
pub(crate) fn copy_of(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

impl Inputs {
    /// Removes the unfinished files of runs that were killed.
    pub(crate) fn tidy(&self) {
        let folders: HashSet<&Path> = self.places().map(|(_, output)| folder(output)).collect();
        let home = self.home.as_deref().unwrap_or(Path::new(""));
        folders.into_iter().filter(|folder| links::refuse(home, folder).is_ok()).for_each(tidy);
    }

    /// Returns who may read what is made from all inputs.
    pub(crate) fn readers(&self) -> &Readers {
        self.readers.get_or_init(|| Readers::of(self.entries.iter().map(|entry| entry.path.as_deref())))
    }

    /// Returns the files that are read.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.entries.iter().filter_map(|entry| entry.path.as_deref())
    }

    /// Returns the files that are read, each with the file of its result.
    fn places(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.entries.iter().filter_map(|entry| Some((entry.path.as_deref()?, entry.output.as_deref()?)))
    }
}

/// Returns the directory of the journal: the output directory, or that of the first file that is replaced.
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

/// Resolves the paths of many files in few folders: each folder is looked up once.
#[derive(Debug, Default)]
pub(crate) struct RealPaths {
    folders: HashMap<PathBuf, PathBuf>,
}

impl RealPaths {
    /// Returns the same as [`real`].
    pub(crate) fn of(&mut self, path: &Path) -> PathBuf {
        // On systems that ignore case, only a lookup shows how a name is spelled.
        let spells_freely = cfg!(any(target_os = "macos", windows));
        let is_link = || fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink());
        let Some(name) = path.file_name().filter(|_| !spells_freely && !is_link()) else { return real(path) };
        let folder = folder(path);
        if let Some(real) = self.folders.get(folder) {
            return real.join(name);
        }
        let real = real(folder);
        self.folders.insert(folder.to_owned(), real.clone());
        real.join(name)
    }
}

/// Resolves the links of a path, as far as it exists, and `..` behind that part.
pub(crate) fn real(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = whole.ancestors().find_map(|above| Some((above, fs::canonicalize(above).ok()?)));
    let Some((above, mut real)) = there else { return whole };
    for part in whole.strip_prefix(above).unwrap_or(Path::new("")).components() {
        match part {
            Component::ParentDir => drop(real.pop()),
            part => real.push(part),
        }
    }
    real
}

fn usage_error<T>(message: &str) -> Result<T> {
    Err(Failure::usage(message).into())
}
