//! Every pattern of the program compiles, and none is built in another way.

use std::fs;
use std::path::{Path, PathBuf};

/// The sources without tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let named = |path: &PathBuf| path.file_name().is_some_and(|name| !name.to_string_lossy().contains("tests"));
    let found = entries.filter(named).flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    found.filter(|path| path.extension().is_some_and(|kind| kind == "rs")).collect()
}

#[test]
fn every_pattern_of_the_program_compiles() {
    let rooms = [
        crate::redact::patterns(),
        crate::sanitize::patterns(),
        crate::transcript::time::patterns(),
        crate::transcript::text_calls::patterns(),
        crate::transcript::users_words::patterns(),
        crate::summary::acceptance::patterns(),
        crate::summary::error_forms::patterns(),
        crate::summary::machine_answer::patterns(),
        crate::llm::patterns(),
    ];
    let built: usize = rooms.iter().map(Vec::len).sum();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = [sources(&root.join("src")), sources(&root.join("crates"))].concat();
    let texts: Vec<String> = sources.iter().map(|path| fs::read_to_string(path).expect("a source")).collect();
    let declared: usize = texts.iter().map(|text| text.matches(": LazyLock<Regex> =").count()).sum();
    assert_eq!(built, declared + crate::redact::patterns_of_rows(), "each is in a list of patterns");
    // The user's own patterns are checked, and one is in a test.
    let others = ["pattern.rs", "diagnostic.rs", "sanitize.rs"].map(|name| root.join("crates/base/src").join(name));
    for (path, text) in sources.iter().zip(&texts).filter(|(path, _)| !others.contains(path)) {
        assert!(!text.contains("Regex::new("), "{} does not use `pattern`", path.display());
    }
}
