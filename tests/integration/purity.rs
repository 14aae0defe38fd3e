//! The rooms where decisions are made do not touch the outside.

use std::fs;
use std::path::{Path, PathBuf};

const PURE: [&str; 4] = ["transcript", "tokens", "plan", "rewrite"];
/// Files, network, processes, clocks, environment, threads and printing.
const OUTSIDE: [&str; 12] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "std::time",
    "std::thread",
    "std::io::std",
    "println!",
    "eprintln!",
    "reqwest",
    "RandomState",
    "crate::run",
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .collect()
}

#[test]
fn pure_rooms_stay_pure() {
    for room in PURE {
        let files = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(room));
        assert!(files.len() > 1, "{room} is there");
        for file in files {
            let text = fs::read_to_string(&file).expect("a source");
            // Tests may do what they like; they stand at the end of a file, or in one of their own.
            let end = text
                .rfind("\n#[cfg(test)]\nmod ")
                .or(text.rfind("\n#[cfg(test)]\npub(crate) mod "))
                .unwrap_or(text.len());
            let code = if file.ends_with("tests.rs") { "" } else { &text[..end] };
            for outside in OUTSIDE {
                assert!(!code.contains(outside), "{} uses {outside}", file.display());
            }
        }
    }
}
