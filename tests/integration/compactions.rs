//! Providers' own compactions: summarized if readable, and otherwise kept where the provider reads them.

use serde_json::Value;

use crate::program::{FIXTURES, piped, with};

const CALL: &str = r#"{"role":"assistant","content":[{"type":"compaction","encrypted_content":"x"},{"type":"tool_use","id":"a","name":"f","input":{}}]}"#;

fn user(text: &str) -> String {
    format!(r#"{{"role":"user","content":"{text}"}}"#)
}

fn plan_of(source: &str, arguments: &[&str]) -> Value {
    let run = piped(&[arguments, &["--dry-run", "--json"]].concat(), source);
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).expect("a plan")
}

/// A model is sent readable compactions, in every format that has some.
#[test]
fn readable_compactions_are_sent_to_the_summarizer() {
    let sources = [
        r#"{"role":"assistant","content":[{"type":"compaction","content":"bed nine is dry"},{"type":"text","text":"and on"}]}"#,
        r#"{"type":"ai","data":{"content":[{"type":"compaction","content":"bed nine is dry"},{"type":"text","text":"and on"}],"tool_calls":[]}}"#,
        r#"{"parts":[{"content":"bed nine is dry","part_kind":"compaction"},{"content":"and on","part_kind":"text"}],"kind":"response"}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"bed nine is dry","providerOptions":{"anthropic":{"type":"compaction"}}},{"type":"text","text":"and on"}]}"#,
    ];
    let users: [fn(&str) -> String; 4] = [
        user,
        |text| format!(r#"{{"type":"human","data":{{"content":"{text}"}}}}"#),
        |text| format!(r#"{{"parts":[{{"content":"{text}","part_kind":"user-prompt"}}],"kind":"request"}}"#),
        |text| format!(r#"{{"role":"user","content":[{{"type":"text","text":"{text}"}}]}}"#),
    ];
    for ((source, user), format) in sources.iter().zip(users).zip(["anthropic", "langchain", "pydantic-ai", "ai-sdk"]) {
        let source = format!("[{},{source},{},{}]", user("quite gone"), user("behind it"), user("the last"));
        // Long enough for the embedded summary to have room for the notes.
        let source = source.replace("and on", &"and on ".repeat(60));
        let arguments = ["-q", "--from", format, "--keep", "messages:1", "--accept", "any"];
        let sent = piped(&[&arguments[..], &["--summarizer-cmd", "cat"]].concat(), &source);
        assert_eq!(sent.code, 0, "{sent:?}");
        let notes = "<earlier_notes>\\nbed nine is dry\\n</earlier_notes>";
        for text in [notes, "and on", "behind it"] {
            assert!(sent.stdout.contains(text), "{text}: {sent:?}");
        }
        assert!(!sent.stdout.contains("quite gone"), "the compaction stands for it: {sent:?}");
        let embedded = piped(&arguments, &source);
        assert!(embedded.stdout.contains("bed nine is dry"), "{embedded:?}");
    }
}

#[test]
fn a_dry_run_says_what_becomes_of_each() {
    let file = |name: &str| format!("{FIXTURES}/anthropic/{name}.json");
    let status = |name: &str| {
        let run = with(&["--dry-run", "--json", "--keep", "messages:3", &file(name)]);
        let plan: Value = serde_json::from_str(&run.stdout).expect("a plan");
        let compactions = plan["compactions"].as_array().expect("a list").clone();
        let told =
            compactions.iter().map(|one| (one["message"].as_u64(), one["readable"].as_bool(), one["status"].clone()));
        (told.collect::<Vec<_>>(), plan["summarize"]["from"].as_u64())
    };
    assert_eq!(status("compaction"), (vec![(Some(1), Some(true), "summarized".into())], Some(1)));
    // The other of its messages holds one that failed, and says nothing.
    assert_eq!(status("opaque-compaction"), (vec![(Some(0), Some(false), "pinned".into())], Some(1)));
}

/// Messages before a readable compaction neither count nor trigger; they are archived nonetheless.
#[test]
fn compacted_messages_do_not_count() {
    let old = user(&"old words ".repeat(200));
    let compaction = r#"{"role":"assistant","content":[{"type":"compaction","content":"c"}]}"#;
    let source = format!("[{old},{compaction},{},{}]", user(&"new words ".repeat(20)), user("two"));
    let plan = plan_of(&source, &["--keep", "messages:1", "--trigger", "tokens:300"]);
    assert_eq!((&plan["triggered"], &plan["messages"]), (&false.into(), &4.into()), "{plan}");
    assert!(plan["tokens"].as_u64() < Some(100), "{plan}");
    let plan = plan_of(&source, &["--keep", "messages:1", "--trigger", "messages:4"]);
    assert_eq!(plan["triggered"], false, "{plan}");
    let folder = tempfile::tempdir().expect("a folder");
    let archive = crate::program::path(folder.path(), "a.jsonl");
    let arguments = ["-q", "--accept", "any", "--keep", "messages:1", "--archive", &archive, "--archive-note", "off"];
    let run = piped(&arguments, &source);
    assert_eq!(run.code, 0, "{run:?}");
    let archived = std::fs::read_to_string(&archive).expect("an archive");
    assert!(!run.stdout.contains("old words") && archived.contains("old words"), "{run:?}\n{archived}");
    assert_eq!(piped(&["restore", "-q", &archive], &run.stdout).stdout, source);
}

/// An opaque compaction comes before the summary, or the conversation stays unchanged.
#[test]
fn sealed_compactions_never_follow_a_summary() {
    let opaque = r#"{"role":"assistant","content":[{"type":"compaction","encrypted_content":"x"}]}"#;
    let (long, last) = (user(&"words ".repeat(60)), user("last"));
    let before = plan_of(&format!("[{long},{long},{opaque},{last}]"), &["--keep", "messages:2"]);
    assert_eq!(before["cutoff"], 0, "{before}");
    assert!(before["reason"].as_str().is_some_and(|reason| reason.contains("compaction, message 2,")), "{before}");
    let run = piped(&["-q", "--keep", "messages:1"], &format!("[{long},{opaque},{long},{last}]"));
    assert!(run.stdout.starts_with(&format!("[{opaque}")), "{run:?}");
    // A call without a result may not precede a summary.
    let source = format!("[{long},{CALL},{long},{last}]");
    let run = piped(&["--keep", "messages:1"], &source);
    assert_eq!((run.code, run.stdout.as_str()), (0, source.as_str()), "{run:?}");
    assert!(run.stderr.contains("message 1 holds a compaction that only its provider can read"), "{run:?}");
}
