//! The messages of a run and the files it leaves: nothing if it works, one line if it did nothing, and only necessary
//! files.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{FIXTURES, path, run, shell, tcompact, with};
use crate::server::{Server, at_length, completion};
use crate::support::turns;

const SESSION: &str = "agent-session.json";

#[test]
fn every_command_of_the_help_works() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = "We looked at the pumps of the garden shop again, and all of them stood in water. ".repeat(8);
    let chat = serde_json::json!(turns(0..40, |at| format!("{at}: a timeout. {words}"))).to_string();
    let orphan = r#"[{"role":"user","content":"a"},{"role":"tool","tool_call_id":"1","content":"r"}]"#;
    fs::create_dir(folder.path().join("logs")).expect("made");
    for (name, text) in [("chat.json", chat.as_str()), ("logs/a.json", &chat), ("broken.json", orphan)] {
        fs::write(folder.path().join(name), text).expect("written");
    }
    let sessions = folder.path().join(".claude/projects/-work");
    fs::create_dir_all(&sessions).expect("made");
    let session = Path::new(FIXTURES).join("claude-code/parallel.jsonl");
    fs::copy(session, sessions.join("0b7d8c1e-52a4-4f0e-9b61-3c2a5d4e6f70.jsonl")).expect("copied");
    let help = with(&["--help"]).stdout;
    let commands: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("    $ ")).collect();
    assert!(commands.len() > 10, "{help}");
    for command in commands {
        // A dry run sends no request.
        let dry = if command.contains(" -m openai:") { " --dry-run" } else { "" };
        let (line, to) = command.split_once(" >").unwrap_or((command, ""));
        let line = if to.is_empty() { format!("{line}{dry}") } else { format!("{line}{dry} >{to}") };
        let mut shell = shell(&line, folder.path());
        let output = shell.env("HOME", folder.path()).env_remove("CLAUDE_CONFIG_DIR").output().expect("sh is there");
        assert_eq!(output.status.code(), Some(0), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let restored = fs::read_to_string(folder.path().join("original.json")).expect("restored");
    assert_eq!(restored, chat);
    assert!(help.lines().all(|line| line.chars().count() <= 100 && !line.contains('\u{1b}')), "{help}");
}

#[test]
fn a_successful_run_prints_nothing() {
    let run = with(&["--keep", "messages:10", SESSION]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

#[test]
fn an_unchanged_run_says_why_and_what_to_try() {
    for arguments in [
        &["--keep", "messages:100"][..],
        &["--keep", "tokens:90k"],
        &["--keep", "turns:50"],
        &["--trigger", "tokens:100k"],
        &["--trigger", "messages:100"],
        &["--for", "gpt-4o"],
        &["--fit", "tokens:90k"],
    ] {
        let nothing = with(&[&["-n"], arguments, &[SESSION]].concat());
        assert_eq!((nothing.code, nothing.stdout.as_str()), (0, "0\n"), "{arguments:?}");
        let line = nothing.stderr.trim_end();
        assert!(line.starts_with("tcompact: agent-session.json: unchanged: ") && !line.contains('\n'), "{line}");
        let (_, advice) = line.rsplit_once("; try ").unwrap_or_else(|| panic!("no advice: {line}"));
        let flag = advice.split(' ').next().expect("a flag");
        let kept = arguments.chunks(2).filter(|pair| pair[0] != flag).flatten().copied();
        let tried: Vec<&str> = ["-n"].into_iter().chain(kept).chain(advice.split(' ')).chain([SESSION]).collect();
        let tried_run = with(&tried);
        assert!(tried_run.code == 0 && !tried_run.stderr.contains("unchanged"), "{tried:?}: {tried_run:?}");
        assert_eq!(with(&[&["-q"], arguments, &[SESSION]].concat()).stderr, "");
        let text = fs::read_to_string(format!("{FIXTURES}/{SESSION}")).expect("a fixture");
        let piped = crate::program::piped(arguments, &text);
        assert_eq!((piped.stdout == text, piped.stderr.lines().count()), (true, 1), "{arguments:?}");
    }
}

/// 0 is not a cut, and yet a real run does something.
#[test]
fn a_dry_run_names_what_is_only_pruned() {
    for arguments in [
        &["--fit", "tokens:7000"][..],
        &["--fit", "tokens:9000"],
        &["--prune", "results", "-m", "none"],
        &["--prune", "all", "-m", "none", "--keep", "messages:2"],
    ] {
        let arguments = [arguments, &[SESSION]].concat();
        let dry = with(&[&["-n"], &arguments[..]].concat());
        assert_eq!(dry.stdout, "0\n", "{arguments:?}");
        let count =
            |text: &str| crate::program::piped(&["count"], text).stdout.trim().parse::<u64>().expect("a number");
        let before = fs::read_to_string(format!("{FIXTURES}/{SESSION}")).expect("a fixture");
        let saved = count(&before) - count(&with(&arguments).stdout);
        let grouped = format!("{},{:03}", saved / 1000, saved % 1000);
        let line = format!("tcompact: {SESSION}: nothing would be summarized; {grouped} tokens would be pruned\n");
        assert_eq!(dry.stderr, line, "{arguments:?}");
        assert_eq!(with(&[&["-n", "-q"], &arguments[..]].concat()).stderr, "");
        assert_eq!(with(&[&["-n", "--json"], &arguments[..]].concat()).stderr, "", "the object says it");
    }
}

#[test]
fn several_conversations_get_one_line() {
    let many = with(&["-n", "openai-chat"]);
    assert_eq!(many.stderr.lines().count(), 1, "{many:?}");
    assert!(many.stderr.contains("conversations unchanged, "), "{many:?}");
    assert_eq!(with(&["-n", "--keep", "messages:2", "openai-chat"]).stderr, "");
    let folder = tempfile::tempdir().expect("a folder");
    let written = with(&["-O", &path(folder.path(), "out"), "openai-chat"]);
    assert_eq!(written.stderr.lines().count(), 1, "{written:?}");
    assert!(written.stderr.contains("unchanged; 0 tokens saved; "), "{written:?}");
}

#[cfg(unix)]
#[test]
fn names_are_escaped_in_a_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let odd = path(folder.path(), "a\tb\nc.json");
    fs::copy(format!("{FIXTURES}/{SESSION}"), &odd).expect("copied");
    let run = with(&["-n", "--keep", "messages:10", &odd, SESSION]);
    let expected = format!("{}/a\\tb\\nc.json\t51\n{SESSION}\t51\n", folder.path().display());
    assert_eq!(run.stdout, expected);
}

fn has_own(folder: &Path) -> bool {
    folder.join(".tcompact").exists()
}

#[test]
fn no_needless_file_is_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let file = path(folder, "chat.json");
    let restore = || fs::copy(format!("{FIXTURES}/{SESSION}"), &file).map(drop).expect("copied");
    restore();
    let server = Server::start(vec![completion(&at_length("They looked for the cause and found it."), "stop")]);
    let asked = ["-m", "openai:m", "--base-url", &server.url, "--keep", "messages:10"];
    // A single file, in place, with and without a model.
    for arguments in [&["--keep", "messages:10"][..], &asked] {
        restore();
        let run = with(&[arguments, &["-i", &file]].concat());
        assert_eq!(run.code, 0, "{run:?}");
        assert!(!has_own(folder), "{arguments:?}");
        assert!(!run.stderr.contains("1 file"), "{run:?}");
    }
    restore();
    let out = folder.join("out");
    let to = ["-O", out.to_str().expect("UTF-8")];
    // Several files: the journal has only files that were paid for, or that are to be resumed.
    for (arguments, remembers) in
        [(&["--keep", "messages:10"][..], false), (&["--keep", "messages:10", "--resume"], true), (&asked, true)]
    {
        let run = with(&[arguments, &to, &[&file, "openai-chat/plain.json"]].concat());
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(has_own(&out), remembers, "{arguments:?}");
        fs::remove_dir_all(&out).expect("removed");
    }
    // The journal has the replaced files.
    let other = path(folder, "other.json");
    fs::copy(&file, &other).expect("copied");
    assert_eq!(with(&["-i", "--keep", "messages:100", &file, &other]).code, 0);
    assert!(!has_own(folder), "nothing was replaced");
    assert_eq!(with(&["-i", "--keep", "messages:10", &file, &other]).code, 0);
    assert!(has_own(folder));
}

#[test]
fn count_names_tokens_by_category() {
    let count = with(&["count", "--for", "gpt-4o", SESSION]);
    let plan = with(&["-n", "--json", "--for", "gpt-4o", "--keep", "messages:10", SESSION]);
    let plan: Value = serde_json::from_str(&plan.stdout).expect("JSON");
    let (tokens, beside) = (&plan["tokens"], &plan["overhead"]);
    let told = format!("tcompact: {tokens} tokens in 1 conversation, {beside} of the tokens beside the messages\n");
    assert_eq!((count.code, count.stdout, count.stderr), (0, format!("{tokens}\n"), told));
    let whole = with(&["count", "--json", "--overhead-tokens", "700", "--for", "gpt-4o", SESSION]);
    let whole: Value = serde_json::from_str(&whole.stdout).expect("JSON");
    let sum = |of: &Value| of.as_object().expect("an object").values().filter_map(Value::as_u64).sum::<u64>();
    let number = |key: &str| whole[key].as_u64().expect("a number");
    assert_eq!(number("overhead"), 700);
    let all = sum(&whole["roles"]) + sum(&whole["tools"]) + number("thinking") + number("media") + number("overhead");
    assert_eq!(all, number("tokens"));
    assert!(whole["tools"]["run"].as_u64() > whole["tools"]["search"].as_u64(), "{whole}");
    let lines = with(&["count", "openai-chat/conversations.jsonl"]).stdout;
    assert!(lines.starts_with("openai-chat/conversations.jsonl:1\t153\n"), "{lines}");
    assert_eq!(with(&["count", "-n", SESSION]).code, 2);
}

#[test]
fn emit_summary_prints_the_summary_alone() {
    let keep = ["--keep", "messages:10", "--emit", "summary"];
    let text = with(&[&keep[..], &[SESSION]].concat());
    let object = with(&[&keep[..], &["--json", SESSION]].concat());
    let object: Value = serde_json::from_str(&object.stdout).expect("JSON");
    assert_eq!(format!("{}\n", object["text"].as_str().expect("a text").trim_end()), text.stdout);
    assert_eq!((&object["cutoff"], &object["pinned"]), (&51.into(), &serde_json::json!([0])));
    assert!(object["tokens"].as_u64().is_some_and(|tokens| tokens <= 1024), "{}", object["tokens"]);
    assert!(text.stdout.starts_with("## The user, in order"), "nothing stands around it: {}", text.stdout);
    let result: Value = serde_json::from_str(&with(&["--keep", "messages:10", SESSION]).stdout).expect("JSON");
    assert_eq!(
        object["message"], result["messages"][1]["content"],
        "the text of the message, with the words around it"
    );
    assert_eq!(object.get("archive"), None);
    let nothing = ["--keep", "messages:100", "--emit", "summary", "-q"];
    assert_eq!(with(&[&nothing[..], &[SESSION]].concat()).stdout, "");
    assert_eq!(with(&[&nothing[..], &["--json", SESSION]].concat()).stdout, "null\n");
    let pruned = ["--prune", "all", "-m", "none", "--keep", "messages:5", "--emit", "summary", "--json", SESSION];
    assert_eq!(with(&pruned).stdout, "null\n");
    assert_eq!(with(&["--json", SESSION]).code, 2);
}

#[test]
fn an_emitted_summary_ends_with_the_line_of_its_archive() {
    let folder = tempfile::tempdir().expect("a folder");
    for (note, model, line) in [
        (&[][..], &[][..], Some("Archive: `tcompact search REGEX ")),
        (&["--archive-note", "ask {archive}"], &[], Some("Archive: ask ")),
        (&["--archive-note", "off"], &[], None),
        (
            &["--preset", "langchain", "--trigger", "messages:5"],
            &["-m", "extractive"],
            Some("The messages that this summarizes are kept in "),
        ),
        (&[], &["-m", "none"], Some("archive: `tcompact search REGEX ")),
    ] {
        let archive = path(folder.path(), "h.jsonl");
        let command = ["--keep", "messages:10", "--emit", "summary", "--archive", &archive, SESSION];
        let text = with(&[&command[..], note, model].concat()).stdout;
        let last = text.trim_end().lines().last().expect("a line").to_owned();
        let found = line.is_some_and(|line| last.contains(line) && last.contains(&archive));
        assert_eq!(found, line.is_some(), "{note:?} {model:?}: {text}");
        assert!(!last.contains("h.jsonl") || text.matches("h.jsonl").count() <= 2, "it is said once: {text}");
        let object = with(&[&command[..], note, model, &["--json"]].concat()).stdout;
        let object: Value = serde_json::from_str(&object).expect("JSON");
        assert_eq!(object.get("archive").is_some(), line.is_some(), "{object}");
        if let (Some(archive), false) = (object["archive"].as_str(), model.contains(&"none")) {
            assert_eq!(last, format!("({archive})"));
            assert!(!object["text"].as_str().expect("a text").contains(archive), "{object}");
        }
    }
}

#[test]
fn keep_nothing_summarizes_all() {
    let all = with(&["--keep", "none", "-n", SESSION]);
    assert_eq!(all.stdout, "62\n");
    let result = with(&["--keep", "none", SESSION]);
    let result: Value = serde_json::from_str(&result.stdout).expect("JSON");
    let roles: Vec<&Value> = result["messages"].as_array().expect("messages").iter().map(|one| &one["role"]).collect();
    assert_eq!(roles, ["system", "user"]);
    for name in ["anthropic/tools.json", "gemini/request.json", "openai-responses/request.json", "codex/rollout.jsonl"]
    {
        let short = with(&["-q", "--keep", "none", "--accept", "any", name]);
        assert_eq!(short.code, 0, "{name}: {short:?}");
        let checked = run(tcompact().args(["check"]), short.stdout.as_bytes());
        assert_eq!(checked.code, 0, "{name}: {checked:?}");
    }
    let config = tempfile::NamedTempFile::with_suffix(".toml").expect("a file");
    fs::write(config.path(), "keep = \"none\"\n").expect("written");
    let configured = with(&["-n", "--config", config.path().to_str().expect("UTF-8"), SESSION]);
    assert_eq!(configured.stdout, "62\n");
}
