//! The fixtures of each format.

use std::fs;
use std::path::{Path, PathBuf};

use crate::FIXTURES;
use crate::transcript::formats::FORMATS;

/// The fixtures of a format, in order. Skips folders, which a run of tcompact may have left.
pub(crate) fn of_format(name: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(Path::new(FIXTURES).join(name))
        .unwrap_or_else(|_| panic!("fixtures/{name} is missing"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "fixtures/{name} is empty");
    files
}

/// The fixtures of each format, in order.
pub(crate) fn all() -> Vec<(&'static str, PathBuf)> {
    let of_each = |name: &'static str| of_format(name).into_iter().map(move |file| (name, file));
    let mut found: Vec<(&str, PathBuf)> = FORMATS.iter().flat_map(|format| of_each(format.name)).collect();
    found.push(("openai-chat", Path::new(FIXTURES).join("agent-session.json")));
    found
}
