//! A cut by hand: `--keep from:INDEX` and `--keep since:TIME`, the user's messages with `--pin user`, and `--emit handoff`.

use std::fs;

use serde_json::{Value, json};

use crate::all_cases::one_in;
use crate::program::{FIXTURES, Run, path, piped, run, tcompact, with};

/// The formats that say when a message was written, with a fixture of each.
const TIMED: [&str; 6] = [
    "claude-code/parallel.jsonl",
    "codex/rollout.jsonl",
    "gemini-cli/session.json",
    "openhands/trajectory.json",
    "pi/session.jsonl",
    "pydantic-ai/history.json",
];

/// All fixtures that are transcripts, with their formats.
fn fixtures() -> Vec<(String, String)> {
    let names = with(&["list", "formats"]).stdout;
    let names = names.lines().filter_map(|line| line.split_whitespace().next());
    let folders = names.map(|name| (name.to_owned(), format!("{FIXTURES}/{name}")));
    let mut found = Vec::new();
    for (name, folder) in folders.filter(|(_, folder)| fs::exists(folder).expect("known")) {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            found.push((name.clone(), entry.display().to_string()));
        }
    }
    assert!(found.len() > 40, "{found:?}");
    found
}

fn dry_run(file: &str, arguments: &[&str]) -> Run {
    run(tcompact().args(["-q", "--dry-run", "--accept", "any"]).args(arguments).arg(file), b"")
}

#[test]
fn a_printed_cutoff_works_as_an_index() {
    let mut cut = 0;
    for (format, file) in fixtures().into_iter().step_by(one_in()) {
        for rules in [&["--keep", "messages:3"][..], &["--keep", "tokens:60"], &["--keep", "turns:1", "--pin", "user"]]
        {
            let arguments = [rules, &["--from", &format]].concat();
            let first = dry_run(&file, &arguments);
            if first.code != 0 || first.stdout.lines().count() != 1 || first.stdout.contains('\t') {
                continue;
            }
            let keep = format!("from:{}", first.stdout.trim());
            let given = dry_run(&file, &[&["--keep", &keep], &arguments[2..]].concat());
            assert_eq!((given.code, &given.stdout), (0, &first.stdout), "{file} {arguments:?} {given:?}");
            cut += usize::from(first.stdout != "0\n");
        }
    }
    assert!(cut * one_in() > 50, "{cut}");
}

#[test]
fn an_index_moves_to_keep_pairs_and_must_exist() {
    let file = "openai-chat/parallel-calls.json";
    let plan = |keep: &str| dry_run(file, &["--keep", keep, "--json"]);
    let cutoff = |keep: &str| -> (Value, Value) {
        let plan: Value = serde_json::from_str(&plan(keep).stdout).expect("an object");
        (plan["wanted_cutoff"].clone(), plan["cutoff"].clone())
    };
    assert_eq!(cutoff("from:4"), (json!(4), json!(2)), "message 4 is a result");
    assert_eq!(cutoff("from:10"), (json!(10), json!(10)));
    assert_eq!(cutoff("from:0").1, json!(0));
    for keep in ["from:11", "from:4000"] {
        let refused = plan(keep);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{refused:?}");
        assert!(refused.stderr.contains(&format!("--keep {keep}: there is no message")), "{refused:?}");
    }
    assert_eq!(piped(&["--keep", "from:0"], "[]").code, 0, "nothing is cut of nothing");
}

#[test]
fn an_index_holds_for_each_conversation_of_a_batch() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = path(folder.path(), "out");
    let short = path(folder.path(), "short.json");
    fs::write(&short, r#"[{"role":"user","content":"x"}]"#).expect("written");
    let arguments = ["--keep", "from:2", "-O", &out, "openai-chat/parallel-calls.json", &short];
    let batch = with(&arguments);
    assert_eq!(batch.code, 7, "{batch:?}");
    assert!(batch.stderr.contains("short.json: --keep from:2: there is no message 2; the last one is 0"), "{batch:?}");
}

#[test]
fn only_the_command_line_can_name_an_index() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "c.toml");
    fs::write(&file, "keep = 'from:3'\n").expect("written");
    let by_file = with(&["-n", "--config", &file, "openai-chat/plain.json"]);
    let by_variable = run(tcompact().env("TCOMPACT_KEEP", "from:3").args(["-n", "openai-chat/plain.json"]), b"");
    for refused in [by_file, by_variable] {
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains("give it with --keep on the command line"), "{refused:?}");
    }
    fs::write(&file, "keep = 'since:1h'\n").expect("written");
    let since = with(&["-n", "--config", &file, "codex/rollout.jsonl"]);
    assert_eq!(since.code, 0, "{since:?}");
}

#[test]
fn keep_since_cuts_every_format_with_times() {
    for file in TIMED {
        let text = fs::read_to_string(format!("{FIXTURES}/{file}")).expect("a fixture");
        let day = text.match_indices("20").map(|(at, _)| &text[at..]).find_map(|rest| rest.get(..10));
        let day = day.filter(|day| day.as_bytes()[4] == b'-');
        for keep in ["since:1000d".to_owned(), format!("since:{}", day.unwrap_or("2020-01-01"))] {
            let all = dry_run(file, &["--keep", &keep]);
            assert_eq!((all.code, all.stdout.as_str()), (0, "0\n"), "{file} {keep} {all:?}");
        }
        let last = dry_run(file, &["--keep", "since:0s"]);
        assert_eq!(last.code, 0, "{file} {last:?}");
        let cut = dry_run(file, &["--keep", "since:2999-01-01T00:00:00+02:00"]);
        let one = dry_run(file, &["--keep", "messages:1"]);
        assert_eq!((cut.code, cut.stdout), (0, one.stdout), "{file}: the last message stays");
    }
}

#[test]
fn keep_since_needs_times() {
    let refused = with(&["-n", "--keep", "since:1d", "openai-chat/plain.json"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{refused:?}");
    assert!(refused.stderr.contains("--keep since:1d: no message says when"), "{refused:?}");
    let untouched = with(&["-n", "--keep", "since:1d", "--trigger", "messages:1000", "openai-chat/plain.json"]);
    assert_eq!(untouched.code, 0, "nothing asks for a cut: {untouched:?}");
}

/// A conversation of so many turns, each with a time of its own and a call.
fn session(turns: usize) -> String {
    let mut messages = vec![json!({"role": "system", "content": "You tend a garden."})];
    for turn in 0..turns {
        let at = |minute: usize| format!("2026-11-20T{:02}:{minute:02}:00+01:00", turn + 1);
        let long = format!("Bed {turn} is dry. {}", "It needs water, and more of it. ".repeat(8));
        let call =
            json!([{"id": format!("c{turn}"), "type": "function", "function": {"name": "water", "arguments": "{}"}}]);
        messages.extend([
            json!({"role": "user", "content": format!("Water bed {turn}."), "timestamp": at(0)}),
            json!({"role": "assistant", "content": null, "tool_calls": call}),
            json!({"role": "tool", "tool_call_id": format!("c{turn}"), "content": long, "timestamp": at(20)}),
            json!({"role": "assistant", "content": format!("Bed {turn} is done. {long}"), "timestamp": at(40)}),
        ]);
    }
    Value::from(messages).to_string()
}

#[test]
fn keep_since_takes_offsets_and_durations() {
    let source = session(6);
    for (keep, expected) in [
        ("since:2026-11-20T04:00:00Z", "17"),
        ("since:2026-11-20T04:00:01Z", "18"),
        ("since:2026-11-20T05:20:00+01:00", "18"),
        ("since:40m", "21"),
        ("since:1h", "20"),
        ("since:2h", "16"),
        ("since:2026-11-20", "0"),
    ] {
        let plan = piped(&["-q", "-n", "--keep", keep], &source);
        assert_eq!((plan.code, plan.stdout.trim()), (0, expected), "{keep} {plan:?}");
    }
}

#[test]
fn the_users_messages_stay_round_after_round() {
    let mut source = session(8);
    for round in 1..4 {
        let out = piped(&["-q", "--keep", "messages:4", "--pin", "user"], &source);
        assert_eq!(out.code, 0, "{out:?}");
        let messages: Vec<Value> = serde_json::from_str(&out.stdout).expect("messages");
        let texts: Vec<&str> = messages.iter().map(|message| message["content"].as_str().unwrap_or_default()).collect();
        let summary = texts.iter().position(|text| text.contains("<summary>")).expect("a summary");
        assert_eq!(texts[0], "You tend a garden.");
        assert!(texts[1..summary].iter().all(|text| text.starts_with("Water bed")), "{texts:?}");
        assert_eq!(texts.iter().filter(|text| text.contains("<summary>")).count(), 1);
        // The last turn of each round was kept, and is before the cut in the next.
        assert_eq!(summary - 1, 8 * round - 1, "all of the user's messages before the cut, in round {round}");
        let more: Vec<Value> = serde_json::from_str(&session(8)).expect("messages");
        source = Value::from([messages, more[1..].to_vec()].concat()).to_string();
    }
}

#[test]
fn pins_of_the_user_count_in_a_size() {
    let source = session(30);
    for limit in ["600", "1200", "2000"] {
        let fit = format!("tokens:{limit}");
        for pin in ["user", "user:tokens:100", "user:messages:3"] {
            let out = piped(&["-q", "--fit", &fit, "--pin", pin], &source);
            let count = |text: &str| -> u64 { piped(&["count"], text).stdout.trim().parse().expect("a number") };
            assert_eq!(out.code, 0, "{fit} {pin} {out:?}");
            assert!(count(&out.stdout) <= limit.parse().expect("a number"), "{fit} {pin}");
        }
    }
    let refused = piped(&["--fit", "tokens:150", "--pin", "user"], &source);
    assert_eq!(refused.code, 5, "{refused:?}");
}

#[test]
fn the_users_messages_are_not_pinned_where_turns_alternate() {
    for file in ["bedrock/request.json", "sharegpt/turns.json"] {
        let refused = with(&["-n", "--keep", "messages:1", "--pin", "user", file]);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{file} {refused:?}");
        assert!(refused.stderr.contains("--pin user") && refused.stderr.contains("take turns"), "{refused:?}");
    }
}

fn handoff(arguments: &[&str], source: &str) -> Run {
    piped(&[&["-q", "--emit", "handoff"], arguments].concat(), source)
}

#[test]
fn a_handoff_has_the_summary_and_then_what_is_kept() {
    let out = handoff(&["--keep", "messages:4"], &session(6));
    assert_eq!(out.code, 0, "{out:?}");
    let headings: Vec<&str> = out.stdout.lines().filter(|line| line.starts_with('[')).collect();
    let kept = ["[user]", "[assistant calls water]", "[result of water]", "[assistant]"];
    assert_eq!(headings, [&["[summary of the messages before]"][..], &kept].concat());
    assert!(out.stdout.starts_with("This is a conversation of a user with an AI agent"), "{out:?}");
    assert!(out.stdout.contains("\n\n[user]\n  Water bed 5.\n\n[assistant calls water]\n  water\n"), "{out:?}");
    assert!(!out.stdout.contains("You tend a garden."), "the next agent has its own instructions: {out:?}");
    let whole = handoff(&[], &session(2));
    assert_eq!(whole.stdout.matches("\n[user]\n").count(), 2, "nothing is compacted: {whole:?}");
    let pinned = handoff(&["--keep", "messages:1", "--pin", "user:messages:1"], &session(6));
    let place = |text: &str| pinned.stdout.find(text).expect("it is there");
    assert!(place("[user]\n  Water bed 5.") < place("[summary of"), "{pinned:?}");
}

#[test]
fn a_handoff_of_every_fixture_is_text_that_fits() {
    let mut cut = 0;
    for (format, file) in fixtures().into_iter().step_by(one_in()) {
        for rules in [&["--keep", "messages:3"][..], &["--fit", "tokens:700"]] {
            let arguments = [&["-q", "--emit", "handoff", "--from", &format], rules].concat();
            let out = run(tcompact().args(&arguments).arg(&file), b"");
            assert!(matches!(out.code, 0 | 1 | 5), "{file} {out:?}");
            cut += usize::from(out.stdout.contains("[summary of the messages before]"));
            assert!(!out.stdout.contains("```"), "{file} {out:?}");
            let data = out.stdout.split(|c: char| !c.is_ascii_alphanumeric() && !"+/=".contains(c));
            assert!(data.map(str::len).max().unwrap_or(0) < 200, "{file}: no data {out:?}");
            if rules[0] == "--fit" {
                let most =
                    out.stdout.split("\nThis is a conversation").map(|one| one.chars().count().div_ceil(4)).max();
                assert!(most.unwrap_or(0) <= 700, "{file}: {most:?}");
            }
        }
    }
    assert!(cut * one_in() > 30, "{cut}");
}

#[test]
fn a_handoff_that_cannot_fit_is_refused() {
    let source = session(20);
    for limit in 200..212 {
        let fit = format!("tokens:{limit}");
        let out = handoff(&["--fit", &fit], &source);
        let fits = out.stdout.chars().count().div_ceil(4) <= limit;
        assert!(out.code == 5 && out.stdout.is_empty() || out.code == 0 && fits, "{fit} {out:?}");
    }
    let small: Vec<Value> = (0..40).map(|_| json!({"role": "user", "content": "a"})).collect();
    let refused = handoff(&["--fit", "tokens:170", "--keep", "messages:30"], &Value::from(small).to_string());
    assert_eq!((refused.code, refused.stdout.as_str()), (5, ""), "{refused:?}");
}

#[test]
fn a_handoff_masks_and_archives() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "a.jsonl");
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let source = session(6).replace("Water bed 5.", &format!("Water bed 5 with {secret}."));
    for redact in ["--redact", "--redact=all"] {
        let out = handoff(&[redact, "--keep", "messages:4", "--archive", &archive], &source);
        assert_eq!(out.code, 0, "{out:?}");
        assert!(!out.stdout.contains(secret) && out.stdout.contains("Water bed 5 with [github-token-1]."), "{out:?}");
        assert!(out.stdout.contains("a.jsonl"), "it names the archive: {out:?}");
    }
    assert_eq!(fs::read_to_string(&archive).expect("an archive").lines().count(), 2);
    let record: Value =
        serde_json::from_str(fs::read_to_string(&archive).expect("an archive").lines().next().expect("one"))
            .expect("a record");
    assert_eq!(record["indices"].as_array().map(Vec::len), Some(20));
}

#[test]
fn a_handoff_replaces_no_transcript() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "chat.json");
    fs::write(&file, session(6)).expect("written");
    for arguments in [&["-i"][..], &["--json"], &["-o", &file]] {
        let refused = with(&[&["--emit", "handoff", "--keep", "messages:4"], arguments, &[&file]].concat());
        assert_eq!(refused.code, 2, "{arguments:?} {refused:?}");
        assert_eq!(fs::read_to_string(&file).expect("it stays"), session(6));
    }
    let lines = format!("{}\n{}\n", session(6), session(5));
    let several = handoff(&["--lines", "conversations", "--keep", "messages:4"], &lines);
    assert_eq!((several.code, several.stdout.matches("\n\nThis is a conversation").count()), (0, 1), "{several:?}");
}
