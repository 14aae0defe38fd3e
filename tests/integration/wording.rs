//! How sentences say numbers.

use std::fs;
use std::path::Path;

/// Words that follow a number in sentences.
const NOUNS: &str = "answers|archives|bytes|calls|characters|conversations|days|files|hits|images|items|lines|matches|\
    messages|minutes|models|records|requests|results|rounds|seconds|secrets|tokens|tools|turns|violations|words";

/// No sentence has a number before a noun for several, except constants, the texts of other systems, and numbers that
/// are never 1.
#[test]
fn every_number_before_a_noun_is_counted() {
    const NEVER_ONE: [&str; 5] = [
        "{carried} of {} lines",
        "{lines} of {all} lines",
        "{pos}/{len} files",
        "{role} calls {tools}",
        "{:.1} seconds",
    ];
    let pattern = format!(r"\{{[^{{}}A-Z]*\}} (?:more |other |earlier |old |new )?(?:{NOUNS})\b");
    let pattern = regex::Regex::new(&pattern).expect("a pattern");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("src"), root.join("crates")];
    let mut wrong = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = entry.file_name().into_string().expect("UTF-8");
            if path.is_dir() && !["examples", "presets", "laws", "tests"].contains(&name.as_str()) {
                folders.push(path);
            } else if name.ends_with(".rs") && !name.contains("tests") {
                let text = fs::read_to_string(&path).expect("a file");
                let program = text.split("#[cfg(test)]").next().unwrap_or_default();
                let lines = program.lines().filter(|line| pattern.is_match(line));
                let lines = lines.filter(|line| !NEVER_ONE.iter().any(|known| line.contains(known)));
                wrong.extend(lines.map(|line| format!("{name}: {}", line.trim())));
            }
        }
    }
    assert!(wrong.is_empty(), "use `counted`: {wrong:#?}");
}
