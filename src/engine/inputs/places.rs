//! Where the results of files go: real places, without links, none of which is an input or that of another result.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use anyhow::Result;

use crate::files::output::same_place;
use crate::files::paths::folder;
use crate::settings::{Destination, Settings};

use super::{Inputs, usage_error};

/// Refuses results that would replace an input or each other.
pub(super) fn check_places(settings: &Settings, inputs: &Inputs) -> Result<()> {
    let mut roots = Vec::new();
    for path in &settings.input.paths {
        if path.is_dir() {
            roots.push(InputFolder { path, real_path: real(path) });
        }
    }
    match &settings.output.destination {
        Destination::Folder(folder) => {
            check_folder(folder, &roots)?;
            let taken = taken_places(inputs, &roots)?;
            refuse_files_as_folders(inputs, &taken)?;
            refuse_inputs_as_outputs(inputs, &taken)
        }
        _ => taken_places(inputs, &[]).map(drop),
    }
}

/// A directory of inputs.
struct InputFolder<'s> {
    path: &'s Path,
    real_path: PathBuf,
}

/// Refuses a directory for the results that is inside of one of inputs, or a file.
fn check_folder(folder: &Path, roots: &[InputFolder<'_>]) -> Result<()> {
    let name = folder.display();
    if let Some(root) = root_of(&real(folder), roots) {
        return inside_input(&format!("--output-dir {name}"), root);
    }
    if folder.exists() && !folder.is_dir() {
        return usage_error(&format!("--output-dir {name} is a file; name a directory"));
    }
    Ok(())
}

/// The directory of inputs that a real path is in.
fn root_of<'s>(real_path: &Path, roots: &[InputFolder<'s>]) -> Option<&'s Path> {
    roots.iter().find(|root| real_path.starts_with(&root.real_path)).map(|root| root.path)
}

/// The real paths of the results, each with its input.
///
/// # Errors
/// One is in a directory of inputs, or is that of two results.
fn taken_places<'i>(inputs: &'i Inputs, roots: &[InputFolder<'_>]) -> Result<HashMap<&'i Path, &'i Path>> {
    let mut taken = HashMap::new();
    for (path, output, place) in inputs.real_places() {
        if let Some(root) = root_of(place, roots) {
            return inside_input(&output.display().to_string(), root);
        }
        if let Some(other) = taken.insert(place, path) {
            return same_output(path, other, output);
        }
    }
    Ok(taken)
}

/// Refuses a result that would be the folder of another one.
fn refuse_files_as_folders(inputs: &Inputs, taken: &HashMap<&Path, &Path>) -> Result<()> {
    for (path, output, place) in inputs.real_places() {
        if let Some(other) = place.ancestors().skip(1).find_map(|above| taken.get(above)) {
            return same_output(path, other, output);
        }
    }
    Ok(())
}

fn refuse_inputs_as_outputs(inputs: &Inputs, taken: &HashMap<&Path, &Path>) -> Result<()> {
    for entry in &inputs.entries {
        if let Some(input) = entry.real_path.as_deref()
            && taken.contains_key(input)
        {
            let input = input.display();
            return usage_error(&format!(
                "{input} is an input, and would be written over; name another --output-dir, or use --in-place"
            ));
        }
    }
    Ok(())
}

fn inside_input<T>(output: &str, root: &Path) -> Result<T> {
    let root = root.display();
    usage_error(&format!(
        "{output} is inside the input {root}; name a directory elsewhere, or replace the files with --in-place"
    ))
}

fn same_output<T>(path: &Path, other: &Path, output: &Path) -> Result<T> {
    let is_one_file = same_place(path, other);
    let (path, other, output) = (path.display(), other.display(), output.display());
    if is_one_file {
        return usage_error(&format!("{path} and {other} are the same file; name it once"));
    }
    usage_error(&format!(
        "{other} and {path} would both be written to {output}; compact them into different directories"
    ))
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
pub(super) struct RealFolders(HashMap<PathBuf, PathBuf>);

impl RealFolders {
    /// The same as [`real`].
    pub(super) fn real(&mut self, path: &Path) -> PathBuf {
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
