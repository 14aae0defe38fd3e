//! Settings in layers, as the program reports them.

use std::fs;

use crate::program::{FIXTURES, path, run, tcompact, with};

#[test]
fn settings_are_reported_on_standard_error() {
    let arguments = ["-n", "-v", "--keep=messages:2", "openai-chat/plain.json"];
    let run = run(tcompact().args(arguments).env("TCOMPACT_PIN", "none"), b"");
    assert_eq!((run.code, run.stdout.as_str()), (0, "5\n"));
    assert!(
        run.stderr.starts_with("tcompact: openai-chat/plain.json: openai-chat, 7 messages"),
        "the decision is first"
    );
    let last = "\ntcompact: keep = messages:2 (from --keep)\ntcompact: pin = none (from TCOMPACT_PIN)\ntcompact: dry-run = true (from --dry-run)\n";
    assert!(run.stderr.ends_with(last), "{}", run.stderr);
}

#[test]
fn the_users_own_file_is_read_and_none_beside_the_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let keep = |home: &str, xdg: Option<&str>| {
        let mut command = tcompact();
        command.args(["-n", "openai-chat/plain.json"]).env("HOME", path(folder.path(), home));
        match xdg {
            Some(xdg) => command.env("XDG_CONFIG_HOME", xdg.replace("HERE", folder.path().to_str().expect("UTF-8"))),
            None => command.env_remove("XDG_CONFIG_HOME"),
        };
        let run = run(&mut command, b"");
        assert_eq!(run.code, 0, "{run:?}");
        run.stdout
    };
    for (home, messages) in [("home/.config/tcompact", 3), ("xdg/tcompact", 2)] {
        fs::create_dir_all(folder.path().join(home)).expect("a folder");
        fs::write(folder.path().join(home).join("config.toml"), format!("keep = 'messages:{messages}'"))
            .expect("written");
    }
    assert_eq!(keep("home", Some("HERE/xdg")), "5\n");
    assert_eq!(keep("home", None), "4\n");
    assert_eq!(keep("home", Some("")), "4\n");
    assert_eq!(keep("home", Some("xdg")), "4\n", "a relative folder does not count");
    assert_eq!(keep("home", Some("HERE/nothing")), "0\n");
    assert_eq!(keep("nothing", None), "0\n");
    let mut beside = tcompact();
    let text = fs::read_to_string(format!("{FIXTURES}/openai-chat/plain.json")).expect("a fixture");
    fs::write(folder.path().join("config.toml"), "keep = 'messages:2'").expect("written");
    beside.current_dir(folder.path()).arg("-n");
    assert_eq!(run(&mut beside, text.as_bytes()).stdout, "0\n");
    let missing = with(&["--config", "nowhere.toml", "openai-chat/plain.json"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (2, ""));
    assert_eq!(missing.stderr, "tcompact: --config nowhere.toml cannot be read: no such file or directory\n");
}

/// A pattern may contain white space. Rules stand apart by white space, or each on a line.
#[test]
fn rules_in_a_variable_may_have_white_space() {
    let text =
        r#"[{"role":"user","content":"a b"},{"role":"user","content":"a system"},{"role":"user","content":"c"}]"#;
    for (variable, pins) in [
        ("match:a b", "\"match:a b\""),
        ("match:a  b system", "\"match:a  b\" system"),
        ("system match:a b first:1", "system \"match:a b\" first:1"),
        ("match:a system\n", "match:a system"),
        ("\nmatch:a system\n first:1\n", "\"match:a system\" first:1"),
    ] {
        let run = run(tcompact().args(["-n", "-v"]).env("TCOMPACT_PIN", variable), text.as_bytes());
        assert_eq!(run.code, 0, "{variable:?}: {run:?}");
        assert!(run.stderr.contains(&format!("\ntcompact: pin = {pins} (from TCOMPACT_PIN)")), "{variable:?}: {run:?}");
    }
    for (variable, word) in [("match:a frist:1", "frist:1"), ("system b", "\"b\"")] {
        let run = run(tcompact().arg("-n").env("TCOMPACT_PIN", variable), text.as_bytes());
        assert!(run.code == 2 && run.stderr.contains(word), "{variable:?}: {run:?}");
    }
    for (name, value) in [("TCOMPACT_TRIGGER", "messages:1 tokens:x"), ("TCOMPACT_PRUNE", "reads result5")] {
        let run = run(tcompact().arg("-n").env(name, value), text.as_bytes());
        assert!(run.code == 2 && run.stderr.contains(value.split(' ').next_back().expect("a word")), "{run:?}");
    }
}

#[test]
fn lists_read_no_settings() {
    let run = run(tcompact().args(["list", "counters"]).env("TCOMPACT_KEEP", "nonsense"), b"");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

#[test]
fn later_errors_name_their_setting() {
    for (flag, value) in [("for", "gpt-5o"), ("model", "nobody:x"), ("from", "xml"), ("keep", "fraction:0.5")] {
        let name = format!("TCOMPACT_{}", flag.to_uppercase());
        let run = run(tcompact().arg("openai-chat/plain.json").env(&name, value), b"");
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.starts_with(&format!("tcompact: {name}: --{flag} {value}: ")), "{}", run.stderr);
    }
}

#[test]
fn a_typed_address_for_a_command_is_refused() {
    let typed = with(&["--summarizer-cmd", "cat", "--base-url", "http://x/v1", "openai-chat/plain.json"]);
    assert_eq!(typed.stderr, "tcompact: --base-url: --summarizer-cmd uses no address; leave one of them out\n");
}

#[test]
fn an_empty_value_is_not_taken_for_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "a.json");
    let text = fs::read_to_string(std::path::Path::new(FIXTURES).join("openai-chat/plain.json")).expect("a fixture");
    fs::write(&file, &text).expect("written");
    for arguments in [
        &["--in-place="][..],
        &["-i="],
        &["--prune", "all", "--prune-except", ""],
        &["--summarizer-cmd", ""],
        &["--summarizer-cmd", "  "],
        &["--api-key-env", "", "-m", "openai:m"],
    ] {
        let run = with(&[&["--keep", "messages:2"], arguments, &[&file]].concat());
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?}: {run:?}");
        assert_eq!(fs::read_to_string(&file).expect("read"), text, "{arguments:?}");
    }
    // A variable is a switch where the flag needs no value.
    for (value, is_changed) in [("false", false), ("true", true)] {
        let arguments = ["--keep", "messages:2", "--accept", "any", "-o", "-", &file];
        let arguments = if is_changed { &[&arguments[..4], &arguments[6..]].concat()[..] } else { &arguments[..] };
        let run = run(tcompact().args(arguments).env("TCOMPACT_IN_PLACE", value), b"");
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(fs::read_to_string(&file).expect("read") != text, is_changed, "{value}: {run:?}");
    }
    assert!(!std::path::Path::new(&format!("{file}true")).exists());
}

#[test]
fn a_key_in_the_place_of_a_variable_is_not_shown() {
    for key in ["sk-abc", "sk-proj-Zm9vYmFyYmF6cXV4", "gsk_abcdefghijklmnop1234", "a b", "9NAME"] {
        for arguments in [
            &["--api-key-env", key, "-m", "openai:m", "-n", "openai-chat/plain.json"][..],
            &["--api-key-env", key, "-m", "openai:m", "openai-chat/plain.json"],
            &["--kep", "messages:2", "--api-key-env", key, "-m", "openai:m", "openai-chat/plain.json"],
        ] {
            let run = with(arguments);
            assert_eq!(run.code, 2, "{run:?}");
            assert!(!run.stderr.contains(key), "{run:?}");
        }
    }
    let run = with(&["--api-key-env", "MY_OWN_KEY_2", "-m", "openai:m", "openai-chat/plain.json"]);
    assert!(run.stderr.contains("MY_OWN_KEY_2"), "{run:?}");
}

#[test]
fn redaction_without_anything_to_mask_is_told() {
    let note = "with --model none there is neither";
    let run = with(&["--redact", "-m", "none", "--keep", "messages:2", "openai-chat/plain.json"]);
    assert!(run.code == 0 && run.stderr.contains(note), "{run:?}");
    assert!(!with(&["--redact", "--keep", "messages:2", "openai-chat/plain.json"]).stderr.contains(note));
}

#[test]
fn a_reason_is_reported_once() {
    for flags in [&["-n", "-v"][..], &["-v"]] {
        let run = with(&[flags, &["--keep", "messages:9", "openai-chat/plain.json"]].concat());
        let reason = "the whole conversation is within --keep messages:9";
        assert_eq!(run.stderr.matches(reason).count(), 1, "{run:?}");
    }
}
