//! The seeds of mutation: the fixtures, and the files in `seeds`.

use std::fs;
use std::path::{Path, PathBuf};

use tcompact_laws::FIXTURES;

/// The most bytes of a fixture, which is cut at the end of a line: mutation has no use for more.
const MOST: usize = 1 << 15;

/// Returns all files below a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn fixtures(endings: &[&str]) -> Vec<Vec<u8>> {
    let named = |path: &PathBuf| path.extension().is_some_and(|end| endings.iter().any(|ending| end == *ending));
    let found = files(Path::new(FIXTURES)).into_iter().filter(named);
    found
        .map(|path| {
            let mut bytes = fs::read(path).expect("a fixture");
            if bytes.len() > MOST {
                let end = bytes[..MOST].iter().rposition(|byte| *byte == b'\n').unwrap_or(MOST);
                bytes.truncate(end);
            }
            bytes
        })
        .filter(|bytes| !bytes.is_empty())
        .collect()
}

/// Returns the seeds of a target: its own files, and the fixtures that it can parse.
pub fn seeds_of(target: &str) -> Vec<Vec<u8>> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    let own = if own.is_dir() { files(&own) } else { Vec::new() };
    let mut all: Vec<Vec<u8>> = own.iter().map(|path| fs::read(path).expect("a seed")).collect();
    match target {
        "size" | "answers" | "journal" => {}
        "config" => all.extend(fixtures(&["yaml"])),
        "ledger" | "extractive" => all.extend(fixtures(&["json", "jsonl", "md", "yaml"])),
        _ => all.extend(fixtures(&["json", "jsonl"])),
    }
    all
}
