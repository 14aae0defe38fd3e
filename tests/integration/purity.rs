//! The rooms where decisions are made do not touch the outside, and no room imports one that comes after it.

use std::fs;
use std::path::{Path, PathBuf};

const PURE: [&str; 6] = ["transcript", "tokens", "plan", "summary", "rewrite", "compact"];
/// Files, network, processes, clocks, environment, threads and printing.
const OUTSIDE: [&str; 13] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "std::time",
    "std::thread",
    "std::io::std",
    "println!",
    "eprintln!",
    "clap::",
    "reqwest",
    "indicatif",
    "RandomState",
];

/// All rooms, each before those that may import it.
const ROOMS: [&str; 13] = [
    "transcript",
    "tokens",
    "plan",
    "summary",
    "rewrite",
    "compact",
    "files",
    "llm",
    "cli",
    "settings",
    "events",
    "report",
    "engine",
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .collect()
}

/// A source without its tests, which may do what they like: they stand at the end of a file, or in one of their own.
fn code<'t>(file: &Path, text: &'t str) -> &'t str {
    let tests = ["mod ", "pub(crate) mod ", "pub(super) mod "].iter();
    let end = tests.filter_map(|tests| text.rfind(&format!("\n#[cfg(test)]\n{tests}"))).min().unwrap_or(text.len());
    if file.ends_with("tests.rs") { "" } else { &text[..end] }
}

#[test]
fn no_room_imports_one_that_comes_after_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (at, room) in ROOMS.iter().enumerate() {
        let files = sources(&src).into_iter().filter(|file| {
            let place = file.strip_prefix(&src).expect("a file of src");
            place.starts_with(room) || place == Path::new(&format!("{room}.rs"))
        });
        let files: Vec<PathBuf> = files.collect();
        assert!(!files.is_empty(), "{room} is there");
        for file in files {
            let text = fs::read_to_string(&file).expect("a source");
            let lines = code(&file, &text).lines().filter(|line| !line.trim_start().starts_with("//"));
            let lines = lines.collect::<Vec<_>>().join("\n");
            for later in &ROOMS[at + 1..] {
                assert!(!lines.contains(&format!("crate::{later}")), "{} imports {later}", file.display());
            }
        }
    }
    // A room that is not in the list is held to nothing.
    for entry in fs::read_dir(&src).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_name().and_then(|name| name.to_str()).expect("a name");
        assert!(!entry.is_dir() || ROOMS.contains(&name), "{name} is no room of the list");
    }
}

#[test]
fn pure_rooms_stay_pure() {
    for room in PURE {
        let files = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(room));
        assert!(files.len() > 1, "{room} is there");
        for file in files {
            let text = fs::read_to_string(&file).expect("a source");
            let code = code(&file, &text);
            for outside in OUTSIDE {
                assert!(!code.contains(outside), "{} uses {outside}", file.display());
            }
        }
    }
}
