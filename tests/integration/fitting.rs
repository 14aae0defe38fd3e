//! Results that fit a size: by pruning, by a summary, and with a model that exceeds its limit.

use serde_json::{Value, json};

use crate::program::{Run, path, piped, with};
use crate::server::{Server, at_length, completion};
use crate::summary_requests::assert_fails;

/// A long conversation, with a call that has a long result.
fn talk() -> String {
    let long = "The delivery of tulips is late again, so we have to call the grower. ".repeat(12);
    let mut messages = vec![
        json!({"role": "user", "content": "Look for the order."}),
        json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}]}),
        json!({"role": "tool", "tool_call_id": "a", "content": long}),
    ];
    for turn in 0..6 {
        messages.push(json!({"role": "assistant", "content": format!("{turn}: {long}")}));
        messages.push(json!({"role": "user", "content": format!("Go on with {turn}.")}));
    }
    json!(messages).to_string()
}

/// Compacts the conversation with a server's model, so that it fits 400 tokens.
fn fitted(server: &Server, more: &[&str]) -> Run {
    let arguments = ["--model", "openai:m", "--base-url", &server.url, "--keep", "messages:1", "--fit", "tokens:400"];
    piped(&[&arguments[..], &["--ledger", "off"], more].concat(), &talk())
}

fn text_of(run: &Run) -> String {
    assert_eq!(run.code, 0, "{run:?}");
    let messages: Vec<Value> = serde_json::from_str(&run.stdout).expect("messages");
    // What the user typed can stand before it.
    let mut texts = messages.iter().filter_map(|message| message["content"].as_str());
    texts
        .find(|text| ["Here is a summary", "[tcompact: "].iter().any(|opening| text.starts_with(opening)))
        .expect("a summary")
        .to_owned()
}

#[test]
fn a_summary_too_long_is_requested_once_more() {
    let server = Server::start(vec![
        completion(&"Much more. ".repeat(400), "stop"),
        completion(&at_length("All is late."), "stop"),
    ]);
    assert!(text_of(&fitted(&server, &[])).contains("All is late."));
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(!requests[0].body.contains("longer than there is room for"), "{}", requests[0].body);
    assert!(requests[1].body.contains("longer than there is room for"), "{}", requests[1].body);
}

#[test]
fn a_summary_that_never_fits_is_left_to_on_error() {
    let too_long =
        || vec![completion(&"Much more. ".repeat(400), "stop"), completion(&"And more. ".repeat(400), "stop")];
    assert_fails(&fitted(&Server::start(too_long()), &[]), 5, &["longer than --fit leaves room for", "--on-error"]);

    let run = fitted(&Server::start(too_long()), &["--on-error", "passthrough"]);
    assert_eq!((run.code, run.stdout), (0, talk()), "the transcript is unchanged");
    assert!(run.stderr.contains("tokens, more than --fit tokens:400\n"), "{}", run.stderr);

    let run = fitted(&Server::start(too_long()), &["--on-error", "extractive"]);
    assert!(text_of(&run).contains("The delivery of tulips"), "the embedded summarizer's takes its place: {run:?}");
    let again = piped(&["--keep", "messages:1", "--fit", "tokens:400"], &run.stdout);
    assert_eq!((again.code, &again.stdout), (0, &run.stdout), "it fits");
}

#[test]
fn the_diff_names_the_rules() {
    let run =
        piped(&["--diff", "--prune", "all", "--prune", "results:0", "-m", "none", "--keep", "messages:1"], &talk());
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains(", shortened by results\n"), "{run:?}");
}

/// Only `--keep` or a trigger asks for a cut where nobody summarizes.
#[test]
fn a_note_counts_what_the_report_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = path(folder.path(), "report.jsonl");
    for asks in [["--keep", "messages:1"], ["--trigger", "messages:2"]] {
        let talk =
            json!([talk(), talk()].map(|talk| serde_json::from_str::<Vec<Value>>(&talk).expect("messages")).concat());
        let run = piped(&[&["-m", "none", "--report", &report], &asks[..]].concat(), &talk.to_string());
        let lines = std::fs::read_to_string(&report).expect("a report");
        let told: Value = serde_json::from_str(lines.lines().last().expect("a line")).expect("JSON");
        let (tokens, to) = (told["summarize"]["tokens"].as_u64().expect("tokens"), told["summarize"]["to"].as_u64());
        assert!(tokens > 100 && to > Some(1), "{told}");
        assert!(text_of(&run).contains(&format!("earlier messages removed, {tokens} tokens]")), "{tokens}: {run:?}");
        assert_eq!(run.stderr, "", "success is silent");
    }
    let run = piped(&["-m", "none"], &talk());
    assert_eq!(run.stdout, talk(), "nobody asked for a cut: {run:?}");
}

/// A size that changes nothing is no advice.
#[test]
fn only_a_smaller_size_is_advised() {
    let words = "beans and water ".repeat(60);
    let talk = |messages: usize| {
        let roles = ["user", "assistant"].iter().cycle().take(messages);
        let messages: Vec<String> = roles.map(|role| format!(r#"{{"role":"{role}","content":"{words}"}}"#)).collect();
        format!("[{}]", messages.join(","))
    };
    for size in ["tokens:20", "bytes:100"] {
        let run = piped(&["--fit", size], &talk(1));
        assert!(run.code == 5 && !run.stderr.contains("try: "), "{size}: {run:?}");
        let run = piped(&["--fit", size], &talk(18));
        let advised = run.stderr.lines().find_map(|line| line.strip_prefix("try: tcompact --fit ")).expect("advice");
        assert_eq!(piped(&["--fit", advised], &talk(18)).code, 0, "{size}: {run:?}");
    }
    let run = piped(&["--fit", "tokens:20"], &talk(1));
    assert!(run.stderr.contains(", its size now: "), "{run:?}");
}

/// Where nobody summarizes, a limit takes no words: the error names the least size, and that size works.
#[test]
fn without_a_summarizer_a_limit_removes_no_words() {
    let message = |role: &str, text: &str| json!({"role": role, "content": text});
    let words = json!([
        message("user", "Never touch config/prod.yaml and keep the limit of 15 rows, whatever happens later on."),
        message("assistant", "I will keep it at 15 rows and leave config/prod.yaml alone."),
        message("user", "And now look at the export of tonight, it failed with a timeout after 30 minutes."),
        message("assistant", "It waits for a lock."),
        message("user", "Go on."),
    ])
    .to_string();
    for size in [
        &["--fit", "tokens:60"][..],
        &["--fit", "fraction:0.06", "--context-window", "1k"],
        &["--context-window", "80"],
    ] {
        for more in [&[][..], &["--keep", "messages:1"], &["--trigger", "messages:2"], &["--prune", "thinking"]] {
            for source in [&words, &talk()] {
                if size[0] == "--context-window" && !more.is_empty() {
                    continue;
                }
                let arguments = [&["-m", "none"], size, more].concat();
                let run = piped(&arguments, source);
                assert_fails(&run, 5, &["cannot be met; the least is "]);
                let least =
                    run.stderr.split_once("the least is ").expect("a size").1.split(' ').next().expect("a number");
                let fit = format!("tokens:{least}");
                let again = piped(&[&["-m", "none", "--fit", &fit], more].concat(), source);
                assert_eq!(again.code, 0, "{run:?} {again:?}");
                assert!(
                    again.stdout.contains("look") && !again.stdout.contains("earlier messages removed"),
                    "{again:?}"
                );
                let below = format!("tokens:{}", least.parse::<u64>().expect("a number") - 1);
                assert_eq!(piped(&[&["-m", "none", "--fit", &below], more].concat(), source).code, 5, "{run:?}");
            }
        }
    }
}

/// The message names the limit as it was given, and what helps against it.
#[test]
fn a_limit_that_cannot_be_met_is_named_as_it_was_given() {
    let long = "The delivery of tulips is late again, so we have to call the grower. ".repeat(12);
    let message = |role: &str, text: &str| json!({"role": role, "content": text});
    let pinned = json!([message("system", &long), message("user", "Go on."), message("user", "Last.")]).to_string();
    let kept = json!([message("system", &long), message("user", &long), message("user", &long)]).to_string();
    for (arguments, text, said, tried) in [
        (&["--fit", "tokens:150"][..], &pinned, "--fit tokens:150 cannot be met", "--pin none"),
        (&["--fit", "tokens:150"], &kept, "--fit tokens:150 cannot be met", "--fit tokens:"),
        (
            &["--fit", "fraction:0.1", "--context-window", "1500"],
            &kept,
            "--fit fraction:0.1 (150 tokens) cannot be met",
            "--fit tokens:",
        ),
        (
            &["--context-window", "300"],
            &kept,
            "the limit of 150 tokens (half of --context-window 300) cannot be met",
            "--fit tokens:",
        ),
    ] {
        let run = piped(arguments, text);
        assert_fails(&run, 5, &[said, &format!("\ntry: tcompact {tried}")]);
        let next = run.stderr.lines().find_map(|line| line.strip_prefix("try: tcompact ")).expect("something to try");
        let next: Vec<&str> = next.split(' ').collect();
        let again = piped(&next, text);
        assert_eq!(again.code, 0, "{next:?}: {again:?}");
    }
}

/// The messages behind the summary have what is left of the size.
#[test]
fn the_summary_keeps_to_its_limit() {
    let turns = (0..120).flat_map(|turn| {
        let asked =
            format!("Change src/file_{turn}.rs so that it returns {turn} where the cache of part {turn} is empty.");
        let said =
            format!("src/file_{turn}.rs returned None, because the cache of part {turn} was never filled. ").repeat(6);
        [json!({"role": "user", "content": asked}), json!({"role": "assistant", "content": said})]
    });
    let text = json!(turns.collect::<Vec<_>>()).to_string();
    for (more, most) in [(&[][..], 1_024), (&["--summary-tokens", "300"], 300)] {
        let folder = tempfile::tempdir().expect("a folder");
        let report = path(folder.path(), "report.jsonl");
        let run = piped(&[&["--fit", "tokens:8000", "--report", &report], more].concat(), &text);
        assert_eq!(run.code, 0, "{run:?}");
        let told: Value = serde_json::from_str(&std::fs::read_to_string(&report).expect("a report")).expect("JSON");
        let (summary, after) = (told["summary_tokens"].as_u64(), told["tokens_after"].as_u64());
        assert!(summary.is_some_and(|tokens| (1..=most).contains(&tokens)), "{told}");
        assert!(after.is_some_and(|tokens| (7_600..=8_000).contains(&tokens)), "{told}");
    }
}

#[test]
fn a_dry_run_tells_what_would_be_pruned_where_nothing_is_summarized() {
    for rules in [
        &["--fit", "tokens:8k"][..],
        &["--prune", "all", "-m", "none"],
        &["--prune", "results:2", "-m", "none", "--keep", "messages:9"],
    ] {
        let run = with(&[&["-n"], rules, &["agent-session.json"]].concat());
        let rest = run
            .stderr
            .strip_prefix("tcompact: agent-session.json: nothing would be summarized; ")
            .unwrap_or_else(|| panic!("{run:?}"));
        let tokens: u64 = rest
            .trim_end()
            .strip_suffix(" tokens would be pruned")
            .map(|n| n.replace(',', ""))
            .and_then(|n| n.parse().ok())
            .expect("a number");
        assert_eq!(run.stdout, "0\n");
        let report = tempfile::NamedTempFile::new().expect("a file");
        let report_path = report.path().display().to_string();
        with(&[rules, &["--report", &report_path, "agent-session.json"]].concat());
        let row: Value = serde_json::from_reader(report).expect("a row");
        assert_eq!(
            row["tokens"].as_u64().zip(row["tokens_after"].as_u64()).map(|(before, after)| before - after),
            Some(tokens),
            "{row}"
        );
        assert!(with(&[&["-n", "-q"], rules, &["agent-session.json"]].concat()).stderr.is_empty());
    }
    let two = with(&["-n", "--fit", "tokens:8k", "agent-session.json", "worked/../agent-session.json"]);
    assert!(two.stderr.contains("of 2 conversations nothing would be summarized; "), "{two:?}");
    assert!(!with(&["-n", "--keep", "messages:4", "agent-session.json"]).stderr.contains("would be pruned"));
}
