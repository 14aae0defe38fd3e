//! `--redact`: no secret in requests, in answers, or in anything stored.

use std::fs;

use serde_json::{Value, json};

use crate::all_cases::{Sample, one_in};
use crate::program::{Run, path, rows, run, tcompact, with};
use crate::server::{Server, completion};

/// Realistic secrets, assembled here so that no scanner mistakes them for real ones.
fn secrets() -> [String; 4] {
    [
        format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3)),
        format!("AK{}{}", "IA", "Q7ZK3MPL5XWVT2RD"),
        "hunter2-and-more".to_owned(),
        format!("sk-{}-{}", "ant", "x9Y8z7W6v5U4".repeat(5)),
    ]
}

fn conversation() -> String {
    let [github, aws, password, anthropic] = secrets();
    let arguments = json!({"command": format!("git clone https://me:{password}@git.example/x.git")}).to_string();
    let call = json!({"id": "c1", "type": "function", "function": {"name": "bash", "arguments": arguments}});
    json!([
        {"role": "user", "content": format!("Use {github} to push. Its twin {github} is the same.")},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": format!("export AWS_ACCESS_KEY_ID={aws}\nDB_PASSWORD={password}\ndone in 3 s")},
        {"role": "assistant", "content": "Cloned. It took three seconds and there were no conflicts in the tree, so I go on."},
        {"role": "user", "content": format!("Now ask with {anthropic}.")},
        {"role": "assistant", "content": "Asked."},
    ])
    .to_string()
}

fn ask(server: &Server, input: &str, more: &[&str]) -> Run {
    let arguments = ["--redact", "--model", "openai:m", "--base-url", &server.url, "--keep", "messages:2"];
    run(tcompact().args(arguments).args(more), input.as_bytes())
}

fn assert_without_secrets(text: &str, secrets: &[String]) {
    for secret in secrets {
        assert!(!text.contains(secret.as_str()), "{secret} in {text}");
    }
}

#[test]
fn secrets_are_masked_on_the_way_there_and_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let (report, cache) = (path(folder.path(), "report.jsonl"), path(folder.path(), "cache"));
    let [github, aws, password, anthropic] = secrets();
    let server = Server::start(vec![completion(&format!("Pushed with {github}, then found {anthropic}."), "stop")]);
    let run = ask(&server, &conversation(), &["--report", &report, "--cache", &cache, "-v"]);
    assert_eq!(run.code, 0, "{run:?}");
    let body = server.requests()[0].body.clone();
    let gone = [github.clone(), aws, password];
    assert_without_secrets(&body, &gone);
    assert_eq!(body.matches("[github-token-1]").count(), 2, "the same secret has the same placeholder: {body}");
    assert!(body.contains("https://me:[url-password-1]@git.example/x.git"), "{body}");
    let messages: Value = serde_json::from_str(&run.stdout).expect("messages");
    let summary = messages[0]["content"].as_str().expect("a summary");
    assert!(summary.contains("Pushed with [github-token-1], then found [anthropic-key-1]."), "{summary}");
    assert_eq!(messages[1]["content"], format!("Now ask with {anthropic}."), "what is kept is kept as it is");
    let report = fs::read_to_string(&report).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("an object");
    assert_eq!(report["redacted"]["github-token"], 3, "{report}");
    assert!(run.stderr.contains("secrets were masked: ") && run.stderr.contains("3 github-token"), "{}", run.stderr);
    for entry in fs::read_dir(&cache).expect("a folder") {
        let kept = fs::read_to_string(entry.expect("an entry").path()).expect("a file");
        assert_without_secrets(&kept, &secrets());
    }
}

#[test]
fn secrets_do_not_come_back_with_an_earlier_summary() {
    let [github, ..] = secrets();
    let earlier =
        format!("Here is a summary of the conversation to date:\n\nPush with {github}, not with [github-token-4].");
    let mut messages: Vec<Value> = serde_json::from_str(&conversation()).expect("messages");
    messages.insert(0, json!({"role": "user", "content": earlier}));
    let server = Server::start(vec![completion("Short.", "stop")]);
    assert_eq!(ask(&server, &Value::Array(messages).to_string(), &[]).code, 0);
    let body = server.requests()[0].body.clone();
    assert_without_secrets(&body, &secrets()[..3]);
    assert!(body.contains("Push with [github-token-5], not with [github-token-4]."), "{body}");
}

#[test]
fn the_embedded_summarizer_and_commands_are_sent_no_secrets_either() {
    let gone = &secrets()[..3];
    let arguments = ["--redact", "--keep", "messages:2"];
    let embedded = run(tcompact().args(arguments), conversation().as_bytes());
    assert_eq!(embedded.code, 0, "{embedded:?}");
    assert_without_secrets(&embedded.stdout, gone);
    assert!(embedded.stdout.contains("[github-token-1]"), "{embedded:?}");
    let command = run(tcompact().args(arguments).args(["--summarizer-cmd", "tail -c 400"]), conversation().as_bytes());
    assert_without_secrets(&command.stdout, gone);
    let without = run(tcompact().args(["--keep", "messages:2"]), conversation().as_bytes());
    assert!(without.stdout.contains(&gone[0]), "nothing is masked unasked: {without:?}");
}

#[test]
fn the_focus_is_masked_like_the_history() {
    let folder = tempfile::tempdir().expect("a folder");
    let [github, _, password, anthropic] = secrets();
    let prompt = path(folder.path(), "prompt.txt");
    fs::write(&prompt, "{messages} Keep <b>{focus}</b> in mind.").expect("written");
    // Only the conversation tells that the last one is a secret.
    let focus = format!("push with {github}, not {anthropic}, open <{password}>");
    for more in [&[][..], &["--context-window", "4096"], &["--prompt-file", &prompt]] {
        let server = Server::start(vec![completion("They cloned it.", "stop")]);
        let all = [&["--focus", &focus, "--accept", "any"][..], more].concat();
        let run = ask(&server, &conversation(), &all);
        assert_eq!(run.code, 0, "{run:?}");
        let body = server.requests()[0].body.clone();
        assert_without_secrets(&body, &secrets());
        let masked = "push with [github-token-1], not [anthropic-key-1], open &lt;[url-password-1]&gt;";
        assert!(body.contains(masked), "{body}");
    }
    let server = Server::start(vec![completion("They cloned it.", "stop")]);
    let plain = ask(&server, &conversation(), &["--focus", "the <clone>", "--accept", "any"]);
    assert!(plain.code == 0 && server.requests()[0].body.contains("the &lt;clone&gt;"), "{plain:?}");
}

/// All output for people, about removed and kept messages.
#[test]
fn no_output_for_people_shows_a_secret() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = path(folder.path(), "in.json");
    fs::write(&input, conversation()).expect("written");
    let says = format!("no luck with {}", secrets()[0]);
    // The user's command is displayed unchanged, so the secret is not in it.
    fs::write(path(folder.path(), "says"), says).expect("written");
    let fails = format!("cat '{}' >&2; exit 3", path(folder.path(), "says"));
    let (report, page) = (path(folder.path(), "report.jsonl"), path(folder.path(), "page.html"));
    let (cache, out) = (path(folder.path(), "cache"), path(folder.path(), "out.json"));
    for arguments in [
        &["--diff"][..],
        &["--diff", "--prune", "arguments:10"],
        &["--diff", "--color", "always"],
        &["--explain", "-o", &out],
        &["-n", "--explain"],
        &["-n", "--json", "-v"],
        &["-n", "--cache", &cache, "--summarizer-cmd", "cat"],
        &["-v", "-o", &out, "--report", &report, "--html", &page],
        &["-v", "-o", &out, "--summarizer-cmd", &fails, "--report", &report],
        &["-v", "-o", &out, "--summarizer-cmd", &fails, "--on-error", "embed"],
        &["-v", "-o", &out, "--summarizer-cmd", &fails, "--on-error", "extractive"],
        &["check"],
    ] {
        let rules: &[&str] = if arguments == ["check"] { &[] } else { &["--keep", "messages:2"] };
        let run = run(tcompact().args(arguments).args(rules).arg("--redact").arg(&input), b"");
        let shown = format!("{}{}", run.stdout, run.stderr);
        for secret in secrets() {
            assert!(!shown.contains(&secret), "{arguments:?}: {secret} in {shown}");
        }
    }
    for file in [&report, &page] {
        assert_without_secrets(&fs::read_to_string(file).expect("written"), &secrets());
    }
}

/// Masking changes the history, so every format is read again. The result is that of a conversation with the
/// placeholder from the start.
#[test]
fn every_format_is_summarized_as_if_the_placeholder_had_stood_there() {
    let [github, ..] = secrets();
    let folder = tempfile::tempdir().expect("a folder");
    let (mut masked_somewhere, mut sample) = (0, Sample::default());
    let made = regex::Regex::new(r"[0-9a-f-]{16,}|, [0-9]+ bytes").expect("a pattern");
    for format in rows("formats") {
        for file in crate::fixtures::of_format(&format).into_iter().filter(|_| sample.takes_next()) {
            let text = fs::read_to_string(&file).expect("a fixture");
            let name = file.file_name().and_then(|name| name.to_str()).expect("UTF-8");
            let copy = path(folder.path(), name);
            let shortened = |secret: &str, more: &[&str]| {
                fs::write(&copy, text.replace(" the ", &format!(" the {secret} "))).expect("written");
                let arguments = ["-q", "--keep", "messages:2", "--accept", "any", "--summarizer-cmd", "cat"];
                let run = with(&[&arguments[..], &["--prune", "arguments:60"], more, &[&copy]].concat());
                assert_eq!(run.code, 0, "{name}: {run:?}");
                // Summary ids derive from the replaced messages, and sizes are those of the original.
                made.replace_all(&run.stdout, "…").into_owned()
            };
            let masked = shortened(&github, &["--redact"]);
            masked_somewhere += usize::from(masked.contains("[github-token-1]"));
            assert_eq!(masked.replace(&github, "[github-token-1]"), shortened("[github-token-1]", &[]), "{name}");
        }
    }
    assert!(masked_somewhere * one_in() > 20, "{masked_somewhere}");
}

/// Cuts fall into the result, into the arguments, and into what is shown of both.
#[test]
fn a_cut_leaves_no_part_of_a_secret_in_any_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, page) = (path(folder.path(), "in.json"), path(folder.path(), "page.html"));
    let line = "a1B2c3D4e5F6g7H8".repeat(4);
    let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{line}\n{line}\n{line}\n-----END RSA PRIVATE KEY-----");
    let token = format!("S{}{}", "K", "0123456789abcdef".repeat(2));
    let ways: [&[&str]; 9] = [
        &["--prune", "cap:40", "--summarizer-cmd", "cat"],
        &["--prune", "cap:60", "-m", "none"],
        &["--prune", "results:0", "--summarizer-cmd", "cat"],
        &["--prune", "arguments:60", "--summarizer-cmd", "cat"],
        &["--prune", "arguments:60", "-m", "none", "--diff"],
        &["--prune", "all", "--prune", "cap:40", "--emit", "summary"],
        &["--fit", "tokens:300"],
        &["--trim-tokens", "60", "--summarizer-cmd", "cat"],
        &["--prune", "cap:40", "--html", &page],
    ];
    let mut sample = Sample::default();
    for (secret, part) in [(&token, &token[2..]), (&key, line.as_str())] {
        for before in (0..90).step_by(15) {
            let text = format!("{} {secret} {}", ".".repeat(before), "z ".repeat(400));
            let arguments = json!({"text": text}).to_string();
            let call = json!({"id": "c", "type": "function", "function": {"name": "cat", "arguments": arguments}});
            let messages = json!([
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": null, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "content": text},
                {"role": "user", "content": "next"},
                {"role": "assistant", "content": "fine"},
            ]);
            fs::write(&input, messages.to_string()).expect("written");
            for way in ways.into_iter().filter(|_| sample.takes_next()) {
                let flags = ["--redact", "--keep", "messages:1", "--accept", "any", &input];
                let run = run(tcompact().args(flags).args(way), b"");
                // A part of the conversation that nothing cuts keeps its secrets where no summary takes its place.
                let mut shown = run.stdout.clone() + &run.stderr;
                if way.contains(&"none") {
                    shown = shown.replace(&json!(arguments).to_string(), "").replace(&json!(text).to_string(), "");
                }
                shown += &fs::read_to_string(&page).unwrap_or_default();
                let parts: Vec<&str> = (0..=part.len() - 8).map(|at| &part[at..at + 8]).collect();
                let seen = parts.iter().find(|part| shown.contains(**part));
                assert!(run.code == 0 && seen.is_none(), "{way:?} behind {before}: {seen:?} in {shown}");
            }
        }
    }
}

/// Runs the program in a folder of its own on the conversation, and returns the run with the result and the archive.
fn masked_all(name: &str, text: &str, more: &[&str]) -> (Run, String, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, out) = (path(folder.path(), name), path(folder.path(), "out"));
    fs::write(&input, text).expect("written");
    let archive = path(folder.path(), "archive.jsonl");
    let run = run(tcompact().args(["--redact=all", &input, "-o", &out, "--archive", &archive]).args(more), b"");
    assert_eq!(run.code, 0, "{run:?}");
    let result = fs::read_to_string(&out).expect("a result");
    let restored = crate::program::run(tcompact().args(["restore", &archive, &out]), b"");
    assert_eq!((restored.code, restored.stdout.as_str()), (0, text), "{restored:?}");
    (run, result, folder)
}

#[test]
fn results_are_masked_without_a_compaction_too() {
    let (run, result, _folder) = masked_all("chat.json", &conversation(), &["--trigger", "tokens:99999"]);
    assert_without_secrets(&result, &secrets());
    assert!(run.stderr.contains("secrets are masked in all that is written ("), "{run:?}");
    let before: Value = serde_json::from_str(&conversation()).expect("messages");
    let after: Value = serde_json::from_str(&result).expect("messages");
    assert_eq!(after.as_array().map(Vec::len), before.as_array().map(Vec::len));
    let again =
        crate::program::run(tcompact().args(["--redact=all", "-e", "--trigger", "tokens:99999"]), result.as_bytes());
    assert_eq!((again.code, again.stdout), (3, result), "what is masked stays as it is");
}

#[test]
fn names_ids_keys_and_what_is_around_the_messages_are_masked() {
    let [github, aws, ..] = secrets();
    let arguments = json!({&github: "value", "path": format!("/tmp/{aws}")}).to_string();
    let call = json!({"id": github, "type": "function", "function": {"name": aws, "arguments": arguments}});
    let text = json!({"model": "m", "user": github, "metadata": {"x": [aws]}, "messages": [
        {"role": "user", "name": github, "content": "Go."},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": github, "name": aws, "content": "done"},
    ]});
    let (_, result, _folder) = masked_all("chat.json", &text.to_string(), &["--trigger", "tokens:99999"]);
    assert_without_secrets(&result, &secrets()[..2]);
    let result: Value = serde_json::from_str(&result).expect("a request");
    let messages = &result["messages"];
    assert_eq!(messages[1]["tool_calls"][0]["id"], messages[2]["tool_call_id"]);
    assert_eq!(messages[2]["tool_call_id"], "github-token-1", "an id has no brackets");
    assert_eq!(messages[1]["tool_calls"][0]["function"]["name"], messages[2]["name"]);
    let check = run(tcompact().arg("check"), result.to_string().as_bytes());
    assert_eq!(check.code, 0, "{check:?}");
}

#[test]
fn signed_thinking_goes_where_a_mask_would_break_it() {
    let [github, ..] = secrets();
    let thinking = |text: &str| json!({"type": "thinking", "thinking": text, "signature": "c2lnbmVk"});
    let answer =
        |thought: &str| json!({"role": "assistant", "content": [thinking(thought), {"type": "text", "text": "Fine."}]});
    let ask = json!({"role": "user", "content": "Go on, please."});
    let text = json!([ask, answer("plain"), ask, answer(&format!("it is {github}")), ask]).to_string();
    for flags in [&["--thinking", "keep"][..], &["--thinking", "auto"], &["--keep", "messages:3", "--accept", "any"]] {
        let more = [&["--from", "anthropic", "--trigger", "messages:5"], flags].concat();
        let (_, result, _folder) = masked_all("chat.json", &text, &more);
        assert!(!result.contains(&github) && !result.contains("it is"), "{flags:?}: {result}");
        assert!(flags.len() > 2 || result.contains("plain"), "{flags:?}: {result}");
    }
}

#[test]
fn lines_that_are_not_json_are_masked_too() {
    let [github, ..] = secrets();
    let line = |kind: &str, at: usize, text: &str| {
        json!({"type": kind, "uuid": format!("u{at}"), "parentUuid": if at > 1 { json!(format!("u{}", at - 1)) } else { Value::Null },
            "sessionId": "s", "message": {"role": kind, "content": text}}).to_string()
    };
    let text = format!("{}\nnot JSON: {github}\n{}\n", line("user", 1, "Go."), line("assistant", 2, "Gone."));
    let (_, result, _folder) = masked_all("s.jsonl", &text, &["--from", "claude-code"]);
    assert!(result.contains("not JSON: [github-token-1]\n") && !result.contains(&github), "{result}");
}

#[test]
fn an_archive_for_reading_is_not_masked() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "archive.md");
    let run = run(
        tcompact().args(["--redact=all", "--keep", "messages:2", "--archive", &archive]),
        conversation().as_bytes(),
    );
    assert_eq!(run.code, 0, "{run:?}");
    assert_without_secrets(&run.stdout, &secrets());
    let archive = fs::read_to_string(&archive).expect("an archive");
    let [github, aws, _, anthropic] = secrets();
    for secret in [&github, &aws, &anthropic] {
        assert!(archive.contains(secret.as_str()), "{secret} in {archive}");
    }
}

#[test]
fn secrets_that_stay_are_reported_by_kind() {
    let told =
        |arguments: &[&str]| run(tcompact().args(arguments).args(["--redact", "-"]), conversation().as_bytes()).stderr;
    let kept = told(&["--keep", "messages:2"]);
    assert!(
        kept.contains("--redact leaves 1 secret in kept messages (1 anthropic key); --redact=all masks it too"),
        "{kept}"
    );
    let all = told(&["--trigger", "tokens:99999"]);
    let kinds = "--redact leaves 4 secrets in kept messages (1 anthropic key, 1 aws access key, 1 github token, 1 url password)";
    assert!(all.contains(kinds), "{all}");
    assert!(!told(&["--keep", "none", "--accept", "any"]).contains("leaves"));
    assert!(!told(&["--keep", "messages:2", "-q"]).contains("leaves"));
}

#[test]
fn secrets_are_counted_alike_however_often_each_is_there() {
    let [github, ..] = secrets();
    let chat = |times: usize| {
        let said = vec![json!({"role": "user", "content": github}); times];
        Value::from(said).to_string()
    };
    let told = |flags: &[&str], times: usize| {
        let run = run(tcompact().args(["--trigger", "tokens:99999"]).args(flags), chat(times).as_bytes());
        assert_eq!(run.code, 0, "{run:?}");
        run.stderr + &run.stdout
    };
    let cases: [(&[&str], usize, &str); 5] = [
        (&["--redact"], 3, "--redact leaves 1 secret in kept messages (1 github token); --redact=all masks it too"),
        (&["--redact=all"], 3, "1 secret is masked in all that is written (1 github token; in 3 places)"),
        (&["--redact=all"], 1, "1 secret is masked in all that is written (1 github token; in 1 place)"),
        (&["--redact=all", "-n"], 3, "1 secret would be masked in all that is written (1 github token; in 3 places)"),
        (&["--redact=all", "--diff"], 3, "1 secret masked (1 github token)"),
    ];
    for (flags, times, sentence) in cases {
        let told = told(flags, times);
        assert!(told.contains(sentence), "{flags:?}: {sentence} in {told}");
    }
}

#[test]
fn the_flag_takes_its_value_in_every_layer() {
    let folder = tempfile::tempdir().expect("a folder");
    let (config, input) = (path(folder.path(), "config.toml"), path(folder.path(), "in.json"));
    fs::write(&input, conversation()).expect("written");
    let masks_all = |run: Run| {
        assert_eq!(run.code, 0, "{run:?}");
        secrets().iter().all(|secret| !run.stdout.contains(secret.as_str()))
    };
    let never = ["--trigger", "tokens:99999"];
    for (value, expected) in [("\"all\"", true), ("true", false), ("\"sent\"", false), ("false", false)] {
        fs::write(&config, format!("redact = {value}\n")).expect("written");
        assert_eq!(
            masks_all(run(tcompact().args(["--config", &config, &input]).args(never), b"")),
            expected,
            "{value}"
        );
    }
    for (value, expected) in [("all", true), ("1", false), ("0", false)] {
        let run = run(tcompact().env("TCOMPACT_REDACT", value).arg(&input).args(never), b"");
        assert_eq!(masks_all(run), expected, "{value}");
    }
    // Without an equals sign, what follows is an input.
    assert!(!masks_all(run(tcompact().args(["--redact", &input]).args(never), b"")));
    let wrong = run(tcompact().args(["--redact=most", &input]), b"");
    assert_eq!(wrong.code, 2, "{wrong:?}");
}

#[test]
fn read_only_runs_show_no_secret() {
    let [github, ..] = secrets();
    let call =
        json!({"id": github, "type": "function", "function": {"name": format!("f_{github}"), "arguments": "{}"}});
    let text = json!([
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "user", "content": "Stop."},
    ]);
    for look in [&["check"][..], &["count", "--json"], &["--dry-run", "--json"], &["--dry-run", "--explain"]] {
        for redact in ["--redact", "--redact=all"] {
            let run = run(tcompact().args(look).arg(redact), text.to_string().as_bytes());
            assert!(!run.stdout.contains(&github) && !run.stderr.contains(&github), "{look:?} {redact}: {run:?}");
        }
    }
}
