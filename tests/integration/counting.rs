//! A command that counts: what it counts, that there is one of it, and that no run goes on without its numbers.

use std::fs;
use std::path::Path;

use crate::program::{FIXTURES, Run, run, tcompact};
use crate::signals::{is_running, wait_until};
use crate::support::tree;

/// Counts the words of each text, and notes that it started.
const WORDS: &str = "echo $$ >> started; while IFS= read -r line; do set -- $line; echo $#; done";

/// A folder with a session, a conversation a line, and a folder of two.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("two")).expect("a folder");
    for (from, to) in [
        ("agent-session.json", "session.json"),
        ("openai-chat/conversations.jsonl", "lines.jsonl"),
        ("agent-session.json", "two/one.json"),
        ("openai-chat/plain.json", "two/other.json"),
    ] {
        fs::copy(Path::new(FIXTURES).join(from), folder.path().join(to)).expect("copied");
    }
    folder
}

fn counted_by(command: &str, arguments: &[&str], folder: &Path) -> Run {
    run(tcompact().current_dir(folder).args(arguments).args(["--counter-cmd", command]), b"")
}

#[test]
fn one_command_counts_for_all_files_and_workers_and_ends_with_them() {
    let folder = folder();
    let at = folder.path();
    let alone = counted_by(WORDS, &["count", "session.json"], at);
    assert_eq!(alone.code, 0, "{alone:?}");
    let jobs = counted_by(WORDS, &["count", "--jobs", "8", "session.json", "lines.jsonl", "two"], at);
    assert_eq!(jobs.code, 0, "{jobs:?}");
    let total = alone.stdout.trim();
    assert!(jobs.stdout.contains(&format!("session.json\t{total}\n")), "{total} {jobs:?}");
    let started = fs::read_to_string(at.join("started")).expect("it started");
    assert_eq!(started.lines().count(), 2, "once a run");
    wait_until("the commands end with their runs", || !started.lines().any(is_running));
    let row = counted_by(WORDS, &["-n", "--json", "--keep", "tokens:400", "session.json"], at);
    assert!(row.stdout.contains(r#""counter":"command""#) && row.stdout.contains(total), "{row:?}");
    let fitted = counted_by(WORDS, &["--fit", "600", "-o", "short.json", "session.json"], at);
    assert_eq!(fitted.code, 0, "{fitted:?}");
    let after = counted_by(WORDS, &["count", "short.json"], at);
    assert!(after.stdout.trim().parse::<u64>().is_ok_and(|tokens| tokens <= 600), "{after:?}");
}

/// Every way to show or write something, with a command that counts some texts before it fails.
#[test]
fn without_a_number_nothing_is_shown_or_written_in_any_mode() {
    let folder = folder();
    let at = folder.path();
    let before = tree(at);
    for command in ["exit 3", "for n in 1 2 3 4 5; do read -r line; echo 4; done; exit 3"] {
        for arguments in [
            &["count"][..],
            &["count", "--json"],
            &["count", "--explain", "two"],
            &["-n", "--keep", "tokens:90"],
            &["-n", "--json"],
            &["-n", "--explain"],
            &["-n", "--trigger", "tokens:90k"],
            &["--diff"],
            &["--diff", "two"],
            &[],
            &["--fit", "2000"],
            &["--fit", "bytes:9000"],
            &["--in-place", "two"],
            &["--in-place=.bak", "--archive", "cut.jsonl"],
            &["-o", "out.json"],
            &["-O", "out", "two"],
            &["-o", "out.jsonl", "--lines", "conversations", "lines.jsonl", "--keep", "messages:2"],
            &["--html", "page.html", "-o", "out.json"],
            &["--emit", "summary"],
            &["--emit", "update"],
            &["--emit", "handoff", "--fit", "600"],
            &["--prune", "cap:20", "-m", "none"],
            &["--preset", "langchain", "--trigger", "tokens:9"],
            &["--preset", "deepagents", "--trigger", "tokens:9", "--context-window", "9k"],
            &["--preset", "deerflow", "--trigger", "tokens:9"],
            &["--summarizer-cmd", "echo Notes. > asked", "--keep", "tokens:90"],
            &["--redact=all", "--fit", "500"],
            &["--repair", "drop", "-v"],
        ] {
            let has_input = arguments.iter().any(|argument| ["two", "lines.jsonl"].contains(argument));
            let input = if has_input { &[][..] } else { &["session.json"] };
            let run = counted_by(command, &[arguments, input].concat(), at);
            let says = format!("--counter-cmd: `{command}` ended with exit status: 3 before it counted all texts");
            assert_eq!((run.code, run.stdout.as_str()), (4, ""), "{arguments:?} {run:?}");
            assert!(
                run.stderr.trim_end().ends_with(&says) && run.stderr.matches(&says).count() == 1,
                "{arguments:?} {run:?}"
            );
            assert!(!run.stderr.contains("tokens"), "no number is shown: {arguments:?} {run:?}");
            assert!(tree(at) == before, "{command} {arguments:?} {:?}", tree(at).keys());
            let _ = fs::remove_dir_all(at.join("out"));
        }
    }
}

#[test]
fn an_answer_that_is_not_a_number_is_quoted() {
    let folder = folder();
    let at = folder.path();
    let before = tree(at);
    for (command, says) in [
        ("sleep 30", "took longer than --timeout 0.4 seconds for a text; it must flush each line"),
        ("while read -r line; do echo 3.5; done", "printed `3.5` and not a whole number, 0 or more"),
        ("while read -r line; do echo -3; done", "printed `-3` and not a whole number, 0 or more"),
        ("while read -r line; do echo many; done", "printed `many` and not a whole number, 0 or more"),
        ("while read -r line; do echo; done", "printed an empty line and not a whole number"),
        ("while read -r line; do echo 3; echo 3; done", "printed more than a line for a text: `3`"),
        ("while read -r line; do read -r other; echo 3; done", "took longer than --timeout 0.4 seconds"),
        ("yes | tr -d '\\n'", "printed `yyy"),
        ("echo no luck >&2; exit 7", "ended with exit status: 7 before it counted all texts: no luck"),
        ("no-such-program-of-mine", "ended with exit status: 127 before it counted all texts: "),
    ] {
        let run = counted_by(command, &["--timeout", "0.4", "--in-place", "two"], at);
        assert!(run.code == 4 && run.stdout.is_empty(), "{command}: {run:?}");
        assert!(
            run.stderr.starts_with("tcompact: --counter-cmd: `") && run.stderr.contains(says),
            "{command}: {run:?}"
        );
        assert!(run.stderr.lines().count() == 1 && tree(at) == before, "{command}: {run:?}");
    }
    let both = counted_by("wc", &["--counter", "approx", "session.json"], at);
    assert!(both.code == 2 && both.stderr.contains("--counter-cmd"), "{both:?}");
}
