//! Writes the paths of files relative to the folder that most of them share, which is named once, where the whole paths
//! would take the room of facts.

use crate::summary::record::{FactKind, RecordEntry};

/// The action of the entry that names the folder, for which the mark stands in the paths.
pub(super) const FOLDER: &str = "folder (…)";

/// Opens a path below the folder.
const BELOW: &str = "…/";

/// Shortens the paths of files, and adds an entry with their folder. Does nothing if no folder saves much.
pub(super) fn shorten_paths(entries: &mut Vec<RecordEntry>) {
    let Some(folder) = shared_folder(entries) else { return };
    let prefix = format!("{folder}/");
    let is_file = |entry: &&mut RecordEntry| entry.kind == FactKind::File;
    for entry in entries.iter_mut().filter(is_file) {
        if let Some(rest) = entry.text.strip_prefix(&prefix) {
            entry.text = format!("{BELOW}{rest}");
        }
    }
    let mut entry = RecordEntry::new(FactKind::File, 0, FOLDER.to_owned(), folder);
    /// The paths mean nothing without it.
    const FIRST: f64 = 30.0;
    // It stands in front of the files, without an index.
    (entry.weight, entry.earlier) = (FIRST, true);
    entries.insert(0, entry);
}

/// Restores the paths of an earlier summary.
pub(super) fn restore_paths(entries: &mut Vec<RecordEntry>) {
    let is_folder = |entry: &mut RecordEntry| entry.kind == FactKind::File && entry.about == FOLDER;
    let Some(folder) = entries.extract_if(.., is_folder).next() else { return };
    for entry in entries.iter_mut().filter(|entry| entry.kind == FactKind::File) {
        if let Some(rest) = entry.text.strip_prefix(BELOW) {
            entry.text = format!("{}/{rest}", folder.text);
        }
    }
}

/// Returns the folder whose name, once left out of the paths below it, saves most.
fn shared_folder(entries: &[RecordEntry]) -> Option<String> {
    /// The least bytes that are saved.
    const LEAST: usize = 40;
    let paths: Vec<&str> = entries
        .iter()
        .filter(|entry| entry.kind == FactKind::File && entry.text.starts_with('/'))
        .map(|entry| entry.text.as_str())
        .collect();
    let folders = |path: &'_ str| -> Vec<usize> { path.match_indices('/').map(|(at, _)| at).skip(1).collect() };
    // The longest paths have the longest folders; a few are enough.
    const CANDIDATES: usize = 16;
    let candidates = paths.iter().rev().take(CANDIDATES);
    let candidates = candidates.flat_map(|path| folders(path).into_iter().map(move |end| &path[..end]));
    let saved = |folder: &str| {
        let is_below = |path: &&&str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        paths.iter().filter(is_below).count().saturating_sub(1) * folder.len()
    };
    let best = candidates.map(|folder| (saved(folder), folder)).max()?;
    (best.0 >= LEAST).then(|| best.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(paths: &[&str]) -> Vec<RecordEntry> {
        let file = |path: &&str| RecordEntry::new(FactKind::File, 3, "changed".to_owned(), (*path).to_owned());
        paths.iter().map(file).collect()
    }

    #[test]
    fn paths_are_relative_to_the_folder_that_saves_most_and_come_back() {
        let paths = [
            "/home/mia/work/bakery/src/api/orders.rs",
            "/home/mia/work/bakery/src/main.rs",
            "/home/mia/work/bakery/tests/orders.rs",
            "/tmp/notes.md",
            "src/main.rs",
        ];
        let mut entries = files(&paths);
        shorten_paths(&mut entries);
        let texts: Vec<&str> = entries.iter().map(|entry| entry.text.as_str()).collect();
        let relative = [
            "/home/mia/work/bakery",
            "…/src/api/orders.rs",
            "…/src/main.rs",
            "…/tests/orders.rs",
            "/tmp/notes.md",
            "src/main.rs",
        ];
        assert_eq!(texts, relative);
        restore_paths(&mut entries);
        assert_eq!(entries, files(&paths));
    }

    #[test]
    fn a_folder_that_saves_little_stays_in_the_paths() {
        for paths in [&["/app/src/a.rs", "/app/src/b.rs"][..], &["src/a.rs", "src/b.rs"], &[]] {
            let mut entries = files(paths);
            shorten_paths(&mut entries);
            assert_eq!(entries, files(paths));
        }
    }
}
