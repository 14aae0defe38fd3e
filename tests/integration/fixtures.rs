//! Every fixture as the program reads it. Golden files show one cut of each in full.

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::{FIXTURES, path, rows, run, tcompact};

/// The fixtures of a format, in order. Skips folders, which a run of tcompact may have left.
pub(crate) fn of_format(name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(FIXTURES).join(name)).expect("fixtures");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}

/// The fixtures of all formats, in order.
pub(crate) fn all() -> Vec<PathBuf> {
    let session = Path::new(FIXTURES).join("agent-session.json");
    rows("formats").iter().flat_map(|format| of_format(format)).chain([session]).collect()
}

#[test]
fn goldens() {
    for file in all() {
        let name = file.strip_prefix(FIXTURES).expect("in the folder").to_str().expect("UTF-8");
        let run =
            run(tcompact().args(["-q", "--counter", "approx", "--keep", "messages:3", "--accept", "any", name]), b"");
        assert_eq!(run.code, 0, "{name}: {run:?}");
        let golden = path(Path::new(FIXTURES), &format!("expected/{name}"));
        if std::env::var_os("TCOMPACT_REGENERATE").is_some() {
            fs::create_dir_all(Path::new(&golden).parent().expect("a folder")).expect("made");
            fs::write(&golden, &run.stdout).expect("written");
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(
            run.stdout, expected,
            "{name}: run `TCOMPACT_REGENERATE=1 cargo test goldens` and read what changed"
        );
    }
}

#[test]
fn only_fixtures_of_violations_break_rules() {
    // Claude Code skips the line with two records, and with it the parent of the last line.
    const BROKEN: [&str; 5] = [
        "claude-code/compacted.jsonl",
        "openai-chat/breaches.json",
        "openai-chat/half-surrogates.json",
        "openai-chat/orphaned-results.json",
        "openai-chat/result-far-away.json",
    ];
    for file in all() {
        let name = file.strip_prefix(FIXTURES).expect("in the folder").to_str().expect("UTF-8");
        let run = run(tcompact().args(["check", "-q", name]), b"");
        let expected = if BROKEN.contains(&name) { 6 } else { 0 };
        assert_eq!((run.code, run.stdout.as_str()), (expected, ""), "{name}: {run:?}");
        assert_eq!(run.stderr.is_empty(), expected == 0, "{name}: {run:?}");
    }
}

/// `repair` and `redact` write what the flags of a compaction write where nothing is cut, and `check` finds no more.
#[test]
fn the_commands_that_cut_nothing_do_what_the_flags_do() {
    const NEVER: [&str; 3] = ["-q", "--trigger", "messages:1000000"];
    for file in all() {
        let name = file.strip_prefix(FIXTURES).expect("in the folder").to_str().expect("UTF-8");
        for (command, flag) in [
            (&["repair", "drop"][..], "--repair=drop"),
            (&["repair", "synthesize"], "--repair=synthesize"),
            (&["redact"], "--redact=all"),
        ] {
            let by_command = run(tcompact().args(command).args(["-q", name]), b"");
            let by_flag = run(tcompact().args(NEVER).args([flag, name]), b"");
            assert_eq!((by_command.code, by_command.stdout), (by_flag.code, by_flag.stdout), "{name} {command:?}");
        }
    }
}
