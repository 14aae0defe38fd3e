//! What many tests make and look at: conversations in which two take turns, and the files of a folder.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The messages of these numbers with the texts that `text` gives them. The user has the even ones and the assistant the
/// odd ones.
pub(crate) fn turns(numbers: Range<usize>, text: impl Fn(usize) -> String) -> Vec<Value> {
    let mut messages = Vec::new();
    for number in numbers {
        let role = if number.is_multiple_of(2) { "user" } else { "assistant" };
        messages.push(json!({"role": role, "content": text(number)}));
    }
    messages
}

/// A conversation whose texts name it and their place in it.
pub(crate) fn story(number: usize) -> Vec<Value> {
    turns(0..8, |at| format!("Conversation {number} says its part {at} of a longer story about ticket T-{number}."))
}

/// All files below a folder; none if it is not there.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// All files of a folder with their contents, except the journal of a run.
pub(crate) fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() && !entry.ends_with(".tcompact") {
            let below = tree(&entry);
            let name = PathBuf::from(entry.file_name().expect("a name"));
            found.extend(below.into_iter().map(|(path, bytes)| (name.join(path), bytes)));
        } else if entry.is_file() {
            found.insert(entry.file_name().expect("a name").into(), fs::read(&entry).expect("a file"));
        }
    }
    found
}
