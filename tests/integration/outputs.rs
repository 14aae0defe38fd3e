//! What is written never destroys what is read, and a failure leaves what was there before.

use std::fs;

use crate::invalid_input::{GOOD, assert_fails};
use crate::program::{path, piped, run, tcompact, with};

#[test]
fn the_output_is_never_the_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "chat.json");
    fs::write(&file, GOOD).expect("written");
    assert_fails(&with(&[&file, "-o", &file]), 2, &["is the input itself"]);
    let link = path(folder.path(), "link.json");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    assert_fails(&with(&[&file, "-o", &link]), 2, &["is the input itself"]);
    // What cannot replace a file is not to be tried.
    for flags in [&["--emit", "summary"][..], &["--emit", "update"]] {
        let run = with(&[flags, &[&file, "-o", &file]].concat());
        assert_fails(&run, 2, &["is the input itself", "write to another file"]);
        assert!(!run.stderr.contains("--in-place"), "{run:?}");
    }
    assert_eq!(fs::read_to_string(&file).expect("read"), GOOD);
}

/// Every flag that writes a file besides standard output, with the file that the shell opens for standard input.
#[test]
fn no_output_is_the_file_on_standard_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let message = |text: &str| format!(r#"{{"role":"user","content":"{}"}}"#, text.repeat(400));
    let conversation =
        format!("[{},{},{},{}]\n", message("one "), message("two "), message("three "), message("four "));
    let (file, link, hard) =
        (path(folder.path(), "st.jsonl"), path(folder.path(), "link.jsonl"), path(folder.path(), "hard.jsonl"));
    fs::write(&file, &conversation).expect("written");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    fs::hard_link(&file, &hard).expect("a link");
    let archive = path(folder.path(), "a.jsonl");
    let from = |name: &str, arguments: &[&str]| {
        let opened = fs::File::open(name).expect("opened");
        let output = tcompact().args(arguments).stdin(opened).output().expect("it ends");
        (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
    };
    let made = from(&file, &["--keep", "messages:1", "--archive", &archive, "-o", &path(folder.path(), "short.jsonl")]);
    assert_eq!(made.0, Some(0), "{made:?}");
    for name in [&file, &link, &hard] {
        for (flag, more, can_replace) in [
            ("--output", &["--keep", "messages:1"][..], true),
            ("--output", &["--keep", "messages:1", "--emit", "summary"], false),
            ("--output", &["--keep", "messages:1", "--lines", "conversations"], true),
            ("--output", &["restore", &archive], true),
            ("--archive", &["--keep", "messages:1", "--lines", "conversations"], false),
            ("--archive", &["--keep", "messages:1", "-o", &path(folder.path(), "other.jsonl")], false),
            ("--report", &["--keep", "messages:1"], false),
            ("--html", &["--keep", "messages:1"], false),
        ] {
            let arguments = [more, &[flag, name]].concat();
            let (code, stderr) = from(&file, &arguments);
            assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
            assert!(stderr.contains(&format!("{flag} {name}")), "{arguments:?}: {stderr}");
            let is_tried = |line: &str| line.starts_with("try: tcompact ") && line.contains(" --in-place ");
            assert_eq!(stderr.lines().any(is_tried), can_replace, "{arguments:?}: {stderr}");
            assert_eq!(fs::read_to_string(&file).expect("read"), conversation, "{arguments:?}");
        }
    }
    // Nor one of the other files that are read.
    let (prompt, config) = (path(folder.path(), "prompt.md"), path(folder.path(), "config.toml"));
    fs::write(&prompt, "Summarize {messages}").expect("written");
    fs::write(&config, "keep = \"messages:1\"").expect("written");
    for (read, written, name) in [
        ("--prompt-file", "--output", &prompt),
        ("--prompt-file", "--archive", &prompt),
        ("--prompt-file", "--html", &prompt),
        ("--config", "--output", &config),
        ("--config", "--report", &config),
    ] {
        let before = fs::read_to_string(name).expect("read");
        let run = with(&["--summarizer-cmd", "echo Notes.", read, name, written, name, &file]);
        assert_fails(&run, 2, &[written, "is another file of this command"]);
        assert_eq!(fs::read_to_string(name).expect("read"), before);
    }
    // Nor the user's own config file, which no flag names.
    let home = folder.path().join("home");
    let own = path(&home, "tcompact/config.toml");
    fs::create_dir_all(home.join("tcompact")).expect("made");
    fs::write(&own, "keep = \"messages:1\"").expect("written");
    for written in ["--output", "--report", "--html", "--archive"] {
        // An archive has a name of its own kind.
        let name = if written == "--archive" { path(folder.path(), "own.jsonl") } else { own.clone() };
        if written == "--archive" {
            fs::hard_link(&own, &name).expect("a link");
        }
        let run = run(tcompact().args([written, &name, &file]).env("XDG_CONFIG_HOME", &home), b"");
        assert_fails(&run, 2, &[written, "is another file of this command"]);
        assert_eq!(fs::read_to_string(&own).expect("read"), "keep = \"messages:1\"");
    }
    // Another name of the input is the input, however it is read.
    for name in [&link, &hard] {
        for (flag, said) in [
            ("--output", "is the input itself; --in-place replaces a file"),
            ("--archive", "is the input or the output itself"),
            ("--report", "is another file of this command"),
            ("--html", "is another file of this command"),
        ] {
            assert_fails(&with(&["--keep", "messages:1", flag, name, &file]), 2, &[flag, said]);
            assert_eq!(fs::read_to_string(&file).expect("read"), conversation, "{flag} {name}");
        }
    }
    // Another file on standard input is none of it.
    let other = from(&archive, &["--keep", "messages:1", &file, "-o", &path(folder.path(), "other.jsonl")]);
    assert_eq!(other.0, Some(0), "{other:?}");
}

#[test]
fn an_output_that_cannot_be_written_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let nowhere = path(folder.path(), "no/such/folder/out.json");
    assert_fails(&piped(&["-o", &nowhere], GOOD), 1, &["out.json cannot be written"]);
    assert_fails(&piped(&["-o", folder.path().to_str().expect("a path")], GOOD), 1, &["it is a directory"]);
    assert_eq!(fs::read_dir(folder.path()).expect("read").count(), 0);
}

#[test]
fn a_failure_leaves_an_existing_output_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "out.json");
    fs::write(&file, "before").expect("written");
    assert_fails(&piped(&["-o", &file], "[{"), 1, &["is not JSON"]);
    let failing = ["--summarizer-cmd", "exit 1", "--keep", "messages:2", "-o", &file, "openai-chat/plain.json"];
    assert_fails(&with(&failing), 4, &["ended with exit status: 1"]);
    assert_eq!(fs::read_to_string(&file).expect("read"), "before");
    assert_eq!(fs::read_dir(folder.path()).expect("read").count(), 1);
}
