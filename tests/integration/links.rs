//! Links inside a folder that tcompact fills are not followed; a link that the user names is.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::batch::{logs, within};
use crate::program::Run;
use crate::support::tree;

const RULES: [&str; 5] = ["--model", "extractive", "--keep", "messages:4", "-q"];

/// Compacts the logs of a folder in which `link` leads to `to`, with the output in `out`.
fn compacted(folder: &Path, link: &str, to: &str, arguments: &[&str]) -> Run {
    let link = folder.join(link);
    fs::create_dir_all(link.parent().expect("a folder")).expect("made");
    symlink(to, &link).expect("a link");
    let run = within(folder, &[&RULES[..], arguments].concat());
    assert!(link.is_symlink(), "the link stays one: {run:?}");
    run
}

/// Creates a folder of logs, and beside it a folder of another user's files.
fn with_others() -> tempfile::TempDir {
    let logs = logs();
    let theirs = logs.path().join("theirs");
    fs::create_dir_all(theirs.join("er")).expect("made");
    for name in ["a.json", "b.json", "er/c.jsonl", "journal.jsonl"] {
        fs::write(theirs.join(name), "Somebody else's.").expect("written");
    }
    logs
}

#[test]
fn a_result_is_not_written_through_a_link_and_the_others_are() {
    for (link, to, left_out) in [
        ("out/a.json", "../theirs/a.json", &["logs/a.json"][..]),
        ("out/a.json", "../theirs/new.json", &["logs/a.json"]),
        ("out/a.json", "nowhere/at/all", &["logs/a.json"]),
        ("out/deep", "../theirs", &["logs/deep/b.json", "logs/deep/er/c.jsonl"]),
        ("out/deep/er", "../../theirs", &["logs/deep/er/c.jsonl"]),
        ("out/deep", "nowhere", &["logs/deep/b.json", "logs/deep/er/c.jsonl"]),
        // This one has no changes and would only be copied.
        ("out/plain.json", "../theirs/a.json", &["logs/plain.json"]),
    ] {
        let logs = with_others();
        let folder = logs.path();
        let before = tree(&folder.join("theirs"));
        let run = compacted(folder, link, to, &["-O", "out", "logs"]);
        assert_eq!(run.code, 7, "{link}: {run:?}");
        assert_eq!(
            run.stderr.matches(" is a link, and tcompact does not write through links").count(),
            left_out.len(),
            "{link}: {run:?}"
        );
        assert!(run.stderr.contains(link), "{link}: {run:?}");
        assert_eq!(tree(&folder.join("theirs")), before, "{link} -> {to}");
        for file in ["logs/a.json", "logs/deep/b.json", "logs/deep/er/c.jsonl", "logs/plain.json"] {
            let written = !left_out.contains(&file);
            let place = folder.join("out").join(file.trim_start_matches("logs/"));
            assert!(!written || place.is_file() && !place.is_symlink(), "{link}: {file}");
        }
    }
}

#[test]
fn journals_and_summaries_are_not_written_through_a_link() {
    let model = ["--summarizer-cmd", "cat > /dev/null; echo Notes."];
    for (link, to) in [
        ("out/.tcompact", "../theirs"),
        ("out/.tcompact", "../nowhere"),
        ("out/.tcompact/journal.jsonl", "../../theirs/journal.jsonl"),
        ("out/.tcompact/summaries", "../../theirs"),
        ("logs/.tcompact", "../theirs"),
    ] {
        let logs = with_others();
        let folder = logs.path();
        let before = (tree(&folder.join("theirs")), tree(&folder.join("logs")));
        let place: &[&str] = if link.starts_with("out") { &["-O", "out", "logs"] } else { &["-i", "logs"] };
        let link_of = folder.join(link);
        fs::create_dir_all(link_of.parent().expect("a folder")).expect("made");
        symlink(to, &link_of).expect("a link");
        let run = within(folder, &[&["-q", "--keep", "messages:4"], &model[..], place].concat());
        assert_eq!(run.code, 1, "{link}: {run:?}");
        assert!(
            run.stderr.contains(&format!("{link} is a link, and tcompact does not write through links")),
            "{run:?}"
        );
        assert_eq!((tree(&folder.join("theirs")), tree(&folder.join("logs"))), before, "{link} -> {to}");
        assert!(!folder.join("nowhere").exists());
    }
}

#[test]
fn offloaded_results_are_not_written_through_a_link() {
    for link in ["conversation_history", "conversation_history/a.md", "conversation_history/logs"] {
        let logs = with_others();
        let folder = logs.path();
        let before = tree(&folder.join("theirs"));
        let to = if link.ends_with(".md") { "../theirs/a.json" } else { &format!("{}/theirs", folder.display()) };
        let inputs: &[&str] = if link.ends_with("logs") { &["-O", "out", "logs"] } else { &["logs/a.json"] };
        let preset = ["--preset", "deepagents", "--trigger", "messages:2"];
        let run = compacted(folder, link, to, &[&preset[..], inputs].concat());
        assert!(run.code == 1 || run.code == 7, "{link}: {run:?}");
        assert!(
            run.stderr.contains(&format!("{link} is a link, and tcompact does not write through links")),
            "{run:?}"
        );
        assert_eq!(tree(&folder.join("theirs")), before, "{link}");
        assert!(run.stdout.is_empty(), "{run:?}");
    }
}

/// Results and media move to files beside the history, in folders that the user did not name, even if the history is
/// named.
#[test]
fn media_are_not_written_through_a_link() {
    let lines = "one line of a long result\\n".repeat(400);
    let result = format!(
        r#"[{{"role":"user","content":"u"}},{{"role":"assistant","content":null,"tool_calls":[{{"id":"c1","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"c1","content":"{lines}"}}]"#
    );
    let picture = r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}"#;
    let media = format!(
        r#"[{{"role":"user","content":[{picture},{{"type":"text","text":"Look."}}]}},{{"role":"assistant","content":"a"}},{{"role":"user","content":"end"}}]"#
    );
    let moves_result = ["--context-window", "700", "--trigger", "tokens:9999999", "--keep", "messages:20"];
    let moves_media = ["--trigger", "messages:1", "--keep", "messages:1"];
    let results = (&result, &moves_result[..]);
    let media = (&media, &moves_media[..]);
    for (link, archive, (source, rules)) in [
        ("large_tool_results", None, results),
        ("large_tool_results/c1", None, results),
        ("named/large_tool_results", Some("named/a.md"), results),
        ("conversation_history/media", None, media),
        ("named/media", Some("named/a.md"), media),
        ("large_tool_results/line-1", None, results),
        ("named/large_tool_results/line-1", Some("named/a.md"), results),
    ] {
        let logs = with_others();
        let folder = logs.path();
        let name = if link.contains("line-") { "talks.jsonl" } else { "talk.json" };
        fs::write(folder.join(name), format!("{source}\n").repeat(1 + usize::from(link.contains("line-"))))
            .expect("written");
        let before = tree(&folder.join("theirs"));
        let to = format!("{}/theirs{}", folder.display(), if link.ends_with("c1") { "/a.json" } else { "" });
        let archive: Vec<&str> = archive.into_iter().flat_map(|name| ["--archive", name]).collect();
        let preset = ["--preset", "deepagents", "--model", "extractive", "-q"];
        let link_of = folder.join(link);
        fs::create_dir_all(link_of.parent().expect("a folder")).expect("made");
        symlink(&to, &link_of).expect("a link");
        let run = within(folder, &[&preset[..], rules, &archive, &["-o", "out.json", name]].concat());
        assert!(link_of.is_symlink(), "{link}");
        assert_eq!(tree(&folder.join("theirs")), before, "{link}: {run:?}");
        assert!(run.code == 1 && !folder.join("out.json").exists(), "{link}: {run:?}");
        assert!(
            run.stderr.contains("link, and tcompact does not write through links") || link.ends_with("c1"),
            "{link}: {run:?}"
        );
        // Without the link, the run would write this file.
        fs::remove_file(&link_of).expect("removed");
        let run = within(folder, &[&preset[..], rules, &archive, &["-o", "out.json", name]].concat());
        assert!(run.code == 0 && link_of.exists(), "{link}: {run:?}");
    }
}

#[test]
fn a_link_that_the_user_names_is_followed() {
    let logs = with_others();
    let folder = logs.path();
    let run = compacted(folder, "out", "theirs", &["-O", "out", "logs"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(folder.join("theirs/deep/b.json").is_file());
    let run = compacted(folder, "named.json", "theirs/a.json", &["-o", "named.json", "logs/a.json"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(fs::read_to_string(folder.join("theirs/a.json")).expect("a file").contains("<summary>"));
    let run =
        compacted(folder, "archive.jsonl", "theirs/cut.jsonl", &["--archive", "archive.jsonl", "-i", "logs/a.json"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(folder.join("theirs/cut.jsonl").is_file());
}
