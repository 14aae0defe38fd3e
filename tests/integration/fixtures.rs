//! Every fixture, cut at every place: what is outside the splice stays to the byte, and no pair is parted. Goldens show
//! one cut of each in full.

use std::fs;
use std::path::{Path, PathBuf};

use crate::transcripts::read;
use tcompact::transcript::formats::{self, FORMATS};

use crate::lawful::{Rules, assert_laws, policy};
use crate::program::{FIXTURES, path, run, tcompact};

/// The fixtures of a format, in order. A folder among them, which a run of tcompact may have left, is none.
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
    let mut found: Vec<(&str, PathBuf)> = FORMATS.iter().flat_map(|format| of_each(format.name())).collect();
    found.push(("openai-chat", Path::new(FIXTURES).join("agent-session.json")));
    found
}

#[test]
fn the_format_is_told_by_looking() {
    for (name, file) in all() {
        let text = fs::read_to_string(&file).expect("a fixture");
        let document = read(&text, None, None).unwrap_or_else(|error| panic!("{} {error}", file.display()));
        for transcript in &document.transcripts {
            assert_eq!(transcript.format.name(), name, "{}", file.display());
        }
    }
}

#[test]
fn every_cut_of_every_fixture_keeps_the_laws() {
    for (name, file) in all() {
        let text = fs::read_to_string(&file).expect("a fixture");
        let format = formats::by_name(name);
        let longest =
            read(&text, format, None).expect("a transcript").transcripts.iter().map(|one| one.messages.len()).max();
        for keep in 1..=longest.unwrap_or(0) as u64 {
            for size in [format!("messages:{keep}"), format!("turns:{keep}"), format!("tokens:{}", keep * 40)] {
                for pin in ["system", "first:2", "match:2", "none"] {
                    let rules = Rules { keep: size.parse().expect("a size"), pin: pin.parse().expect("a rule") };
                    assert_laws(&text, format, &policy(&rules));
                }
            }
        }
    }
}

#[test]
fn goldens() {
    for (_, file) in all() {
        let name = file.strip_prefix(FIXTURES).expect("in the folder").to_str().expect("UTF-8");
        let run = run(tcompact().args(["-q", "--keep", "messages:3", name]), b"");
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
fn no_fixture_breaks_a_rule_but_those_that_show_how() {
    const BROKEN: [&str; 3] =
        ["openai-chat/breaches.json", "openai-chat/orphaned-results.json", "openai-chat/result-far-away.json"];
    for (_, file) in all() {
        let name = file.strip_prefix(FIXTURES).expect("in the folder").to_str().expect("UTF-8");
        let run = run(tcompact().args(["--check", name]), b"");
        let expected = if BROKEN.contains(&name) { 6 } else { 0 };
        assert_eq!((run.code, run.stdout.as_str()), (expected, ""), "{name}: {run:?}");
        assert_eq!(run.stderr.is_empty(), expected == 0, "{name}: {run:?}");
    }
}
