//! The files that a run reads and the files that it writes, found and checked before anything is done; and the
//! conversations in a file.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use anyhow::Result;
use walkdir::{DirEntry, WalkDir};

use crate::compact::{self, CompactionPolicy};
use crate::diagnostic::Advice;
use crate::exit::{Failure, OtherFile};
use crate::rewrite::{Edit, pieces};
use crate::settings::{Destination, InputSettings, Settings};
use crate::transcript::Transcript;
use crate::transcript::framing::{Document, Found, Lines, ReadError};
use crate::transcript::source::{Source, SyntaxError};
use crate::transcript::view::Arena;
use crate::wording::{readable_source, reason};

use crate::files::atomic::{is_unfinished, tidy};
use crate::files::input::{Input, NOT_UTF8, is_json_by_name};
use crate::files::output::same_place;
use crate::files::paths;
use crate::files::paths::folder;

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
        let path = path.filter(|path| path.as_os_str() != "-").cloned();
        Entry { path, output: None, named: true, real_path: None, real_output: None }
    }

    /// `-` for standard input.
    pub(super) fn name(&self) -> String {
        self.path.as_ref().map_or("-".to_owned(), |path| path.display().to_string())
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
    let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
    let directory = settings.input.paths.iter().find(|path| path.is_dir());
    let mut inputs =
        Inputs { many: settings.input.paths.len() > 1 || directory.is_some() || in_files, ..Inputs::default() };
    if inputs.many && (settings.input.paths.is_empty() || settings.input.paths.iter().any(is_stdin)) {
        return usage_error(&stdin_among_files(settings));
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
            inputs.add(path, Path::new(path.file_name().unwrap_or_default()), None, settings);
        }
    }
    if settings.input.paths.is_empty() {
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
        inputs.keeps_journal = directory.is_some() || settings.input.paths.len() > 1;
    }
    Ok(inputs)
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
    let is_there = |end: usize| is_json_by_name(&name[..end]) && path.with_file_name(&name[..end]).is_file();
    !is_json_by_name(&name) && name.char_indices().skip(1).any(|(end, _)| is_there(end))
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
        let path = Some(path.to_owned()).filter(|path| path.as_os_str() != "-");
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
    for (path, output, place) in inputs.real_places() {
        if let Some(root) = within(place).filter(|_| folder.is_some()) {
            return inside_input(&output.display().to_string(), root);
        }
        if let Some(other) = taken.insert(place, path) {
            return same_output(path, other, output);
        }
    }
    for (path, output, place) in inputs.real_places().filter(|_| folder.is_some()) {
        if let Some(other) = place.ancestors().skip(1).find_map(|above| taken.get(above)) {
            return same_output(path, other, output);
        }
    }
    if folder.is_some() {
        let read: HashSet<&Path> = inputs.entries.iter().filter_map(|entry| entry.real_path.as_deref()).collect();
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

/// The path of the copy that is made of a file before it is replaced.
pub(crate) fn copy_of(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

impl Inputs {
    /// Removes the unfinished files of runs that were killed, where results are written into folders.
    pub(crate) fn tidy(&self) {
        let Some(home) = &self.home else { return };
        let folders: HashSet<&Path> = self.places().map(|(_, output)| folder(output)).collect();
        folders.into_iter().filter(|folder| paths::refuse_links(home, folder).is_ok()).for_each(tidy);
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
        self.entries.iter().filter_map(|entry| {
            let (path, output) = entry.path.as_deref().zip(entry.output.as_deref())?;
            Some((path, output, entry.real_output.as_deref()?))
        })
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

/// Resolves the links of a path, as far as it exists, and `..` behind that part.
pub fn real(path: &Path) -> PathBuf {
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

/// Resolves paths of many files, each folder once.
#[derive(Default)]
struct RealFolders(HashMap<PathBuf, PathBuf>);

impl RealFolders {
    /// The same as [`real`].
    fn real(&mut self, path: &Path) -> PathBuf {
        let Some(name) = path.file_name() else { return real(path) };
        let is_resolved = match fs::symlink_metadata(path) {
            // On other systems, a file can be there under a name with other capitals.
            Ok(there) => cfg!(target_os = "linux") && !there.is_symlink(),
            Err(error) => error.kind() == ErrorKind::NotFound,
        };
        if !is_resolved {
            return real(path);
        }
        let folder = folder(path);
        if let Some(real_folder) = self.0.get(folder) {
            return real_folder.join(name);
        }
        let real_folder = real(folder);
        let real = real_folder.join(name);
        self.0.insert(folder.to_owned(), real_folder);
        real
    }
}

fn usage_error<T>(message: &str) -> Result<T> {
    Err(Failure::usage(message).into())
}

/// Reads the conversations of an input, which live in `arena`.
///
/// # Errors
/// There are none, and why.
pub(super) fn read<'a>(
    settings: &InputSettings,
    policy: &CompactionPolicy,
    input: &'a Input,
    arena: &'a Arena<'a>,
) -> Result<Document<'a>, Failure> {
    let source = Source::of_file(&input.text).map_err(|error| unreadable(input, error.into()))?;
    // A list without messages is not a message: updates removed all lines.
    let is_empty = input.text == "[]";
    let of_user = settings.lines.filter(|lines| *lines != Lines::Messages || !is_empty);
    let lines = input.as_lines.then_some(Lines::Conversations).or(of_user);
    let document = compact::read(arena.keep(source), settings.from, lines, policy);
    let mut document = document.map_err(|error| unreadable(input, error))?;
    for transcript in &mut document.transcripts {
        transcript.line = transcript.line.map(|line| line + input.lines_before);
    }
    Ok(document)
}

/// The error of an input that is not a transcript.
pub(super) fn unreadable(input: &Input, mut error: ReadError) -> Failure {
    if let (ReadError::Syntax(error), Some((line, column))) = (&mut error, input.not_utf8_at()) {
        *error = SyntaxError { line, column, what: NOT_UTF8.to_owned(), is_unclosed: false, is_early_end: false };
    }
    let is_other_file = match &error {
        ReadError::Empty | ReadError::NoTranscript { .. } | ReadError::OtherFormat { .. } => true,
        ReadError::Syntax(_) => !is_json_by_name(&input.name),
        ReadError::Foreign { .. } | ReadError::Ambiguous { .. } => false,
    };
    let kind = match &error {
        ReadError::NoTranscript { found: Found { program: Some(program), .. }, .. } => {
            Some(format!("looks like {program}"))
        }
        _ => None,
    };
    let next = match &error {
        ReadError::Ambiguous { ambiguity, .. } => {
            ambiguity.candidates.first().map(|(format, ..)| Advice::command(["--from", format]))
        }
        ReadError::Foreign { known_by, .. } if let Some(format) = known_by.first() => {
            Some(Advice::command(["--from", format]))
        }
        ReadError::OtherFormat { own, .. } => Some(Advice::command(["--from", own])),
        ReadError::Syntax(error) if input.as_lines || (error.line, error.column) != (1, 1) => None,
        _ => Some(Advice::command(["list", "formats"]).note("for what is read: JSON or JSONL, gzip or zstd")),
    };
    // Of a document on several lines the first is no more than its beginning.
    let is_begun = matches!(&error, ReadError::Syntax(error) if error.is_early_end);
    let is_first = input.as_lines && input.lines_before == 0 && !input.text.trim_end().contains('\n');
    let hint = if is_begun && is_first { "; line 1 is not a whole conversation: leave out --lines" } else { "" };
    let why = error.after(input.lines_before).to_string() + hint;
    let failure = Failure::unreadable(format!("{} {why}", readable_source(&input.name)));
    let failure = failure.of_other_file(is_other_file.then_some(OtherFile { why, kind }));
    next.into_iter().fold(failure, Failure::try_next)
}

/// The name of a conversation: its input, with the line if the input has one conversation a line. Of several
/// conversations on one line, the later ones have their number too.
pub(super) fn source_name(input: &Input, transcript: &Transcript<'_>) -> String {
    match transcript.line {
        Some(line) if transcript.nth_of_line > 1 => format!("{}:{line}#{}", input.name, transcript.nth_of_line),
        Some(line) => format!("{}:{line}", input.name),
        None => input.name.clone(),
    }
}

/// `edits` are in order.
pub(super) fn edited(input: &Input, edits: &[Edit]) -> Input {
    let Input { as_lines, lines_before, compression, .. } = *input;
    let mut edited = Input { name: input.name.clone(), as_lines, lines_before, compression, ..Input::default() };
    edited.set_bytes(pieces(input.bytes(), edits).collect::<Vec<_>>().concat());
    edited
}
