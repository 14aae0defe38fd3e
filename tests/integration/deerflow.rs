//! `DeerFlow`'s `config.yaml`, and its effect on the program.

use std::fs;

use serde_json::Value;

use crate::all_cases::Sample;
use crate::program::{FIXTURES, path, piped, run, tcompact, with};

#[test]
fn a_config_decides_the_plan() {
    for name in ["minimal", "production", "multi-model", "conservative"] {
        let config = format!("--config=deerflow/{name}.yaml");
        let run = with(&["-n", "--json", "-q", &config, "openai-chat/plain.json"]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
        let plan: Value = serde_json::from_str(&run.stdout).expect("a plan");
        assert_eq!((&plan["reason"], &plan["counter"]), (&"no trigger was reached".into(), &"approx".into()));
        let window = match name {
            "minimal" => Value::Null,
            "conservative" => 8_192.into(),
            _ => 128_000.into(),
        };
        assert_eq!(plan["context_window"], window, "that of the model it names");
    }
    let run = with(&[
        "-n",
        "--config=deerflow/minimal.yaml",
        "--trigger=messages:5",
        "--keep=messages:2",
        "openai-chat/plain.json",
    ]);
    assert_eq!(run.stdout, "5\n", "flags come before the file");
}

#[test]
fn a_disabled_section_changes_nothing() {
    let before = fs::read_to_string(format!("{FIXTURES}/openai-chat/plain.json")).expect("a fixture");
    let folder = tempfile::tempdir().expect("a folder");
    let config = path(folder.path(), "config.yaml");
    let not_enabled = format!("summarization is not enabled in {config}");
    let no_trigger = format!("{config} has no trigger, so nothing is summarized; give --trigger");
    for (text, reason) in [
        ("summarization:\n", &not_enabled),
        ("summarization: {enabled: false, trigger: {type: tokens, value: -1}}\n", &not_enabled),
        ("summarization: {trigger: {type: tokens, value: 1}, model_name: nobodys}\n", &not_enabled),
        ("summarization: {enabled: true, model_name: gpt-4o}\n", &no_trigger),
        ("summarization: {enabled: true, trigger: [], summary_prompt: '{'}\n", &no_trigger),
    ] {
        fs::write(&config, text).expect("written");
        let of = |words: &[&str]| {
            run(tcompact().args(["--config", &config, "--keep=messages:2", "openai-chat/plain.json"]).args(words), b"")
        };
        let real = of(&[]);
        assert_eq!((real.code, real.stdout.as_str()), (0, before.as_str()), "{text}");
        assert_eq!(real.stderr, format!("tcompact: {reason}; the transcript stays unchanged\n"));
        let quiet = of(&["-q", "-e"]);
        assert_eq!((quiet.code, quiet.stderr.as_str()), (3, ""), "{text}");
        assert_eq!(of(&["-q", "--emit=update"]).stdout, "null\n");
        assert_eq!(of(&["-n"]).stdout, "0\n");
        let plan: Value = serde_json::from_str(&of(&["-n", "--json"]).stdout).expect("a plan");
        assert_eq!(
            (&plan["triggered"], &plan["cutoff"], &plan["reason"]),
            (&false.into(), &0.into(), &Value::from(reason.as_str()))
        );
        assert_eq!(plan["messages"], 7);
    }
    fs::write(&config, "summarization: {enabled: true}\n").expect("written");
    let asked =
        with(&["-n", "--config", &config, "--trigger=messages:1", "--keep=messages:2", "openai-chat/plain.json"]);
    assert_eq!(asked.stdout, "5\n", "a trigger of the user's own is one");
}

/// Without a trigger nothing is summarized, but tokens are counted as with an unreachable trigger.
#[test]
fn a_config_without_a_trigger_counts_as_with_one_out_of_reach() {
    let usage = r#"{"type":"ai","content":"hi","response_metadata":{"model_provider":"openai"},"usage_metadata":{"input_tokens":9,"output_tokens":90,"total_tokens":99}}"#;
    let scaled =
        format!(r#"[{{"type":"human","content":"hello there, you"}},{usage},{{"type":"human","content":"more"}}]"#);
    let carried = r#"{"summary_text":"an earlier summary of things","messages":[{"role":"user","content":"hello"},{"role":"assistant","content":"hi"},{"role":"user","content":"more"},{"role":"assistant","content":"end"}]}"#;
    let folder = tempfile::tempdir().expect("a folder");
    let config = path(folder.path(), "config.yaml");
    let models = ["", "claude-haiku-4-5", "gpt-4o", "openai:nobody-knows-it"];
    let rest = ["", ", keep: {type: tokens, value: 3}", ", trim_tokens_to_summarize: 9"];
    let mut sample = Sample::default();
    for source in [carried, &scaled] {
        for (model, rest) in models.iter().flat_map(|model| rest.map(|rest| (model, rest))) {
            let model = if model.is_empty() { String::new() } else { format!(", model_name: '{model}'") };
            let report = |trigger: &str, words: &[&str]| -> Value {
                let section = format!("summarization: {{enabled: true{model}{rest}{trigger}}}\n");
                fs::write(&config, &section).expect("written");
                let run = piped(&[&["-n", "--json", "--config", &config], words].concat(), source);
                let report = serde_json::from_str(&run.stdout);
                let mut report: Value = report.unwrap_or_else(|_| panic!("{section}{run:?}"));
                ["reason", "usage"].iter().for_each(|key| drop(report.as_object_mut().expect("a map").remove(*key)));
                report
            };
            let out_of_reach = ", trigger: {type: tokens, value: 999999}";
            let words = [&[][..], &["--model=extractive"], &["--counter=bytes:4"], &["--for=claude-haiku-4-5"]];
            for words in words.into_iter().filter(|_| sample.takes_next()) {
                assert_eq!(report("", words), report(out_of_reach, words), "{model}{rest} {words:?} {source}");
            }
            if source == carried && model.is_empty() {
                assert_eq!(report("", &[])["tokens"], 36);
            }
        }
    }
    // No request is sent, so neither a key nor a known model is needed.
    for model in ["gpt-4o", "nobody-knows-it"] {
        fs::write(&config, format!("summarization: {{enabled: true, model_name: {model}}}\n")).expect("written");
        let run = piped(&["-q", "--config", &config], carried);
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, carried, ""), "{model}");
    }
}

#[test]
fn a_fraction_is_of_the_window_of_the_files_model() {
    let fraction = with(&["-n", "--config=deerflow/multi-model.yaml", "--model=extractive", "openai-chat/plain.json"]);
    assert_eq!(fraction.code, 0, "the window is that of the file's model: {fraction:?}");
}

#[test]
fn the_prompt_of_the_section_reaches_the_summarizer() {
    let section = "enabled: true\ntrigger: {type: tokens, value: 1}\nsummary_prompt: 'Sum up: {messages}'";
    let folder = tempfile::tempdir().expect("a folder");
    let config = path(folder.path(), "config.yml");
    fs::write(&config, format!("summarization:\n{}", section.replace("enabled", "  enabled").replace('\n', "\n  ")))
        .expect("written");
    let run =
        with(&["--config", &config, "--keep=messages:2", "--summarizer-cmd=head -c 15", "openai-chat/plain.json"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("Sum up: <"), "{}", run.stdout);
}
