mod hosted;
mod media;

use serde_json::Value;

use super::*;
use crate::prune::note::{OPENING, is_pruned};
use crate::tokens::{Counter, Tally};
use crate::transcript::edit::apply;
use crate::transcript::framing::read_for_test as read;

/// Prunes all messages but the last few, and returns the text with what each rule did.
fn pruned_but(source: &str, rules: &[&str], last: usize, except: &[String]) -> (String, Vec<RuleSavings>) {
    let document = read(source, None, None).unwrap_or_else(|error| panic!("it {error}: {source}"));
    let transcript = &document.transcripts[0];
    let tally = Tally::new(Counter::APPROX, &transcript.messages);
    let count = transcript.messages.len();
    let touchable = (0..count).map(|index| index + last < count).collect();
    let choices: Vec<Choice> = rules.iter().map(|rule| rule.parse().expect("a rule")).collect();
    let mut scene = Scene::new(transcript, &tally, touchable);
    scene.except = except;
    let pruned = prune(&scene, &chosen(&choices), None);
    let savings = pruned.savings(0);
    (apply(source, &pruned.all_edits(transcript)), savings)
}

fn pruned(source: &str, rules: &[&str]) -> String {
    let (out, _) = pruned_but(source, rules, 1, &[]);
    assert_eq!(pruned_but(&out, rules, 1, &[]).0, out, "pruned twice is pruned once");
    out
}

fn long() -> String {
    (1..=200).map(|line| format!("line {line}\\n")).collect()
}

const END: &str = r#"{"role":"user","content":"next"}"#;

/// A call of a tool and its result in Chat Completions.
fn called(id: &str, name: &str, arguments: &str, result: &str) -> String {
    let arguments = Value::from(arguments);
    format!(
        r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"{name}","arguments":{arguments}}}}}]}},{{"role":"tool","tool_call_id":"{id}","content":"{result}"}}"#
    )
}

#[test]
fn results_become_notes_as_each_provider_takes_them() {
    let long = long();
    let note = "[tcompact: f result removed, 423 tokens; call it again if needed]";
    for (before, after, behind) in [
        (
            r#"[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}, {"role":"tool","tool_call_id":"a","content":"#,
            r#"}, "#,
            r#"{"role":"user","content":"u"}]"#,
        ),
        (
            r#"[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"#,
            "},",
            r#"{"role":"user","content":"u"}]"#,
        ),
        (
            r#"[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":false,"content":"#,
            "}]},",
            r#"{"role":"user","content":"u"}]"#,
        ),
        (
            r#"[{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a","status":"success","content":[{"text":"#,
            "}]}}]},",
            r#"{"role":"assistant","content":[{"text":"u"}]}]"#,
        ),
        (
            r#"[{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output": "#,
            "}}}]},",
            r#"{"role":"model","parts":[{"text":"u"}]}]"#,
        ),
        (
            r#"[{"type":"ai","data":{"content":"","tool_calls":[{"name":"f","args":{},"id":"a"}]}},{"type":"tool","data":{"tool_call_id":"a","status":"success","content":"#,
            "}},",
            r#"{"type":"human","data":{"content":"u"}}]"#,
        ),
        (
            r#"[{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"f","arguments":{}}]}},{"type":"message","message":{"role":"toolResult","toolCallId":"a","content":[{"type":"text","text":"#,
            "}]}},",
            r#"{"type":"message","message":{"role":"user","content":"u"}}]"#,
        ),
        (
            r#"[{"id":1,"source":"agent","action":"run","args":{"command":"c"},"tool_call_metadata":{"tool_call_id":"a","function_name":"f"}},{"id":2,"source":"agent","observation":"run","tool_call_metadata":{"tool_call_id":"a","function_name":"f"},"content":"#,
            "},",
            r#"{"id":3,"source":"user","action":"message","args":{"content":"u"}}]"#,
        ),
        (
            r#"[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"a","toolName":"f","input":{}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"a","toolName":"f","output":{"type":"text","value":"#,
            "}}]},",
            r#"{"role":"user","content":"u"}]"#,
        ),
        (
            r#"[{"id":"x","role":"assistant","parts":[{"type":"tool-f","toolCallId":"a","state":"output-available","input":{},"output":"#,
            "}]},",
            r#"{"id":"y","role":"user","parts":[{"type":"text","text":"u"}]}]"#,
        ),
        (
            r#"[{"parts":[{"tool_name":"f","args":"{}","tool_call_id":"a","part_kind":"tool-call"}],"kind":"response"},{"parts":[{"tool_name":"f","tool_call_id":"a","part_kind":"tool-return","content":"#,
            r#"}],"kind":"request"},"#,
            r#"{"parts":[{"content":"u","part_kind":"text"}],"kind":"response"}]"#,
        ),
        (
            r#"[{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"n":1}}}]},{"role":"tool","tool_name":"f","content":"#,
            "},",
            r#"{"role":"user","content":"u"}]"#,
        ),
        (
            r#"[{"content":"","source":"generate","role":"assistant","tool_calls":[{"id":"a","function":"f","arguments":{}}]},{"role":"tool","tool_call_id":"a","function":"f","content":"#,
            "},",
            r#"{"content":"u","source":"input","role":"user"}]"#,
        ),
        (
            r#"[{"role":"assistant","content":null,"tool_calls":[{"id":"a","name":"f","arguments":{},"requestor":"assistant"}]},{"id":"a","role":"tool","requestor":"assistant","error":false,"content":"#,
            "},",
            r#"{"role":"user","content":"u"}]"#,
        ),
        (
            r#"{"sessionId":"s","projectHash":"h","messages":[{"id":"1","timestamp":"t","type":"gemini","content":"","toolCalls":[{"id":"a","name":"f","args":{},"result":[{"functionResponse":{"id":"a","name":"f","response":{"output": "#,
            r#"}}}]}]},"#,
            r#"{"id":"2","timestamp":"t","type":"user","content":"u"}]}"#,
        ),
    ] {
        let source = |text: &str| format!("{before}\"{text}\"{after}{behind}");
        // The end of a command stays.
        let is_command = before.contains(r#""command""#);
        let note = if is_command { note.replace("; call", "; it ended: line 200; call") } else { note.to_owned() };
        assert_eq!(pruned(&source(&long), &["results:0"]), source(&note), "{before}");
    }
}

#[test]
fn copies_beside_a_result_go_with_it() {
    let source = |result: &str, copy: &str| {
        format!(
            r#"{{"type":"assistant","sessionId":"s","message":{{"role":"assistant","content":[{{"type":"tool_use","id":"a","name":"Bash","input":{{"command":"ls"}}}}]}}}}
{{"type":"user","sessionId":"s",{copy}"message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":"{result}"}}]}}}}
{{"type":"user","sessionId":"s","message":{{"role":"user","content":"u"}}}}
"#
        )
    };
    let copy = r#""toolUseResult":{"stdout":"x"}, "#;
    let note = "[tcompact: Bash result removed, 423 tokens; it ended: line 200; call it again if needed]";
    assert_eq!(pruned(&source(&long(), copy), &["results:0"]), source(note, ""));
    assert_eq!(pruned(&source("short", copy), &["results:0"]), source("short", copy), "nothing would be saved");
}

#[test]
fn results_of_some_tools_and_the_last_ones_stay() {
    let long = long();
    let calls: Vec<String> =
        (0..4).map(|at| called(&format!("c{at}"), if at == 1 { "keep_me" } else { "f" }, "{}", &long)).collect();
    let source = format!("[{},{END}]", calls.join(","));
    let except = ["keep_me".to_owned()];
    let (out, savings) = pruned_but(&source, &["results:1"], 0, &except);
    assert_eq!(out.matches("[tcompact: f result removed").count(), 2);
    assert_eq!(out.matches(&long).count(), 2);
    assert_eq!(savings.iter().map(|one| (one.rule, one.messages)).collect::<Vec<_>>(), [("results", 2)]);
    assert_eq!(pruned_but(&source, &["results:messages:3"], 0, &[]).0.matches("removed").count(), 3);
    assert_eq!(pruned_but(&source, &["results:tokens:1"], 2, &[]).0.matches("removed").count(), 3);
}

#[test]
fn an_error_keeps_its_last_line() {
    let trace = format!("Traceback (most recent call last):\\n{}ValueError: no such key 'b'\\n", long());
    let out = pruned(&format!("[{},{END}]", called("a", "run", "{}", &trace)), &["results:0"]);
    assert!(
        out.contains(
            "[tcompact: run error removed, 439 tokens; it ended: ValueError: no such key 'b'; call it again if needed]"
        ),
        "{out}"
    );
    let code = format!("{}3 failed\\n<returncode>1</returncode>", long());
    assert!(
        pruned(&format!("[{},{END}]", called("a", "bash", "{}", &code)), &["results:0"]).contains("bash error removed")
    );
    let fine = code.replace(">1<", ">0<");
    assert!(
        pruned(&format!("[{},{END}]", called("a", "bash", "{}", &fine)), &["results:0"])
            .contains("bash result removed")
    );
}

#[test]
fn only_the_last_read_of_a_file_stays() {
    let long = long();
    let read = |id: &str, arguments: &str| called(id, "Read", arguments, &long);
    let whole = r#"{"file_path":"/w/a.rs"}"#;
    let part = r#"{"file_path":"/w/a.rs","offset":5,"limit":9}"#;
    let removed = |messages: &[String]| {
        let out = pruned(&format!("[{},{END}]", messages.join(",")), &["reads"]);
        let results: Vec<Value> = serde_json::from_str(&out).expect("JSON");
        let results = results.iter().filter(|message| message["role"] == "tool");
        results.map(|result| is_pruned(result["content"].as_str().expect("a text"))).collect::<Vec<_>>()
    };
    assert_eq!(removed(&[read("a", whole), read("b", part), read("c", whole)]), [true, true, false]);
    assert_eq!(removed(&[read("a", whole), read("b", part)]), [false, false]);
    let edit = called("e", "Edit", r#"{"file_path":"/w/a.rs","old_string":"a","new_string":"b"}"#, "done");
    assert_eq!(removed(&[read("a", whole), edit.clone(), read("b", part)]), [true, false, false]);
    let failed =
        called("e", "Edit", r#"{"file_path":"/w/a.rs","old_string":"a","new_string":"b"}"#, "Error: no such text");
    assert_eq!(removed(&[read("a", whole), failed]), [false, false]);
    let stub = called("b", "Read", whole, "File unchanged since the last read.");
    assert_eq!(removed(&[read("a", whole), stub]), [false, false]);
    let shell =
        |id: &str, command: &str| called(id, "bash", &serde_json::json!({ "command": command }).to_string(), &long);
    assert_eq!(
        removed(&[shell("a", "cat a.rs"), shell("b", "cd sub"), shell("c", "cat a.rs"), shell("d", "cat ./a.rs")]),
        [false, false, true, false]
    );
    assert_eq!(removed(&[shell("a", "cd /w && cat a.rs && make"), shell("b", "cat /w/a.rs")]), [false, false]);
    assert_eq!(removed(&[shell("a", "cd /w && cat a.rs"), shell("b", "cat /w/a.rs")]), [true, false]);
}

#[test]
fn long_results_keep_their_ends() {
    let out = pruned(&format!("[{},{END}]", called("a", "f", "{}", &long())), &["cap:60"]);
    let text = serde_json::from_str::<Value>(&out).expect("JSON")[1]["content"].as_str().expect("a text").to_owned();
    assert!(text.starts_with("line 1\nline 2\n") && text.ends_with("line 199\nline 200\n"), "{text}");
    let left_out = 200 - text.matches("\nline").count() - 1;
    assert!(text.contains(&format!("\n[tcompact: {left_out} lines left out]\n")), "{text}");
    assert!(Counter::APPROX.count_text(&text) <= 60);
    // A second cut counts what is left out of the first text.
    let again = cap::cut(&text, 30, Counter::APPROX, &cap::CutNote::default());
    let left_out = 200 - again.matches("line ").count();
    assert!(again.contains(&format!("[tcompact: {left_out} lines left out]")), "{again}");
    let line = cap::cut(&"é".repeat(1_000), 60, Counter::APPROX, &cap::CutNote::default());
    assert!(line.starts_with("éé") && line.ends_with("éé") && line.contains(" characters left out]"), "{line}");
}

#[test]
fn json_that_is_cut_stays_json() {
    let output = serde_json::json!({"output": long().replace("\\n", "\n"), "metadata": {"exit_code": 0}}).to_string();
    let source = format!("[{},{END}]", called("a", "shell", "{}", Value::from(output).to_string().trim_matches('"')));
    let out: Value = serde_json::from_str(&pruned(&source, &["cap:80"])).expect("JSON");
    let inner: Value = serde_json::from_str(out[1]["content"].as_str().expect("a text")).expect("JSON in a text");
    assert_eq!(inner["metadata"]["exit_code"], 0);
    assert!(inner["output"].as_str().expect("a text").contains("lines left out"));
    let response = serde_json::json!({"rows": [long(), "short", long()], "count": 3});
    let gemini = format!(
        r#"[{{"role":"model","parts":[{{"functionCall":{{"name":"f","args":{{}}}}}}]}},{{"role":"user","parts":[{{"functionResponse":{{"name":"f","response":{response}}}}}]}},{{"role":"model","parts":[{{"text":"u"}}]}}]"#
    );
    let out: Value = serde_json::from_str(&pruned(&gemini, &["cap:120"])).expect("JSON");
    let response = &out[1]["parts"][0]["functionResponse"]["response"];
    assert_eq!((&response["rows"][1], &response["count"]), (&Value::from("short"), &Value::from(3)));
    assert!(response["rows"][2].as_str().expect("a text").contains("left out"), "{response}");
}

#[test]
fn thinking_goes_except_in_an_open_loop() {
    let thinking = r#"{"type":"thinking","thinking":"hm","signature":"s"},"#;
    let step = |id: &str, thinking: &str| {
        format!(
            r#"{{"role":"assistant","content":[{thinking}{{"type":"tool_use","id":"{id}","name":"f","input":{{}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"r"}}]}}"#
        )
    };
    let source = |first: &str, second: &str, end: &str| {
        format!(r#"[{END},{},{END},{}{end}]"#, step("a", first), step("b", second))
    };
    let open = source(thinking, thinking, "");
    assert_eq!(pruned(&open, &["thinking"]), source("", thinking, ""));
    let answer = r#",{"role":"assistant","content":"done"}"#;
    assert_eq!(pruned(&source(thinking, thinking, answer), &["thinking"]), source("", "", answer));
    let deepseek = format!(r#"[{END},{{"role":"assistant","content":"a","reasoning_content":"long"}},{END}]"#);
    assert_eq!(pruned(&deepseek, &["thinking"]), deepseek.replace(r#","reasoning_content":"long""#, ""));
}

#[test]
fn arguments_keep_their_beginning() {
    let source = format!(
        "[{},{END}]",
        called("a", "write", &serde_json::json!({"content": "x".repeat(3_000)}).to_string(), "ok")
    );
    let out = pruned(&source, &["arguments"]);
    assert!(out.contains("xxxx...(argument truncated)") && out.len() < 400, "{out}");
    assert_eq!(pruned(&source, &["arguments:4k"]), source);
}

#[test]
fn the_cheapest_goes_first_and_no_more_than_is_needed() {
    let long = long();
    let calls: Vec<String> = (0..4).map(|at| called(&format!("c{at}"), "f", "{}", &long)).collect();
    let source = format!("[{},{END}]", calls.join(","));
    let document = read(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    let tally = Tally::new(Counter::APPROX, &transcript.messages);
    let scene = Scene::new(transcript, &tally, vec![true; transcript.messages.len()]);
    let rules = chosen(&["results:0".parse().expect("a rule"), "cap:50".parse().expect("a rule")]);
    let by_goal = |goal| {
        prune(&scene, &rules, Some(goal)).savings(0).iter().map(|one| (one.rule, one.messages)).collect::<Vec<_>>()
    };
    assert_eq!(by_goal(100), [("cap", 1)], "a cut is enough");
    assert_eq!(by_goal(400), [("results", 1)]);
    assert_eq!(by_goal(500), [("results", 1), ("cap", 1)]);
    assert_eq!(by_goal(0), []);
    assert_eq!(by_goal(u64::MAX), [("results", 4)], "what is pruned is not cut as well");
}

/// A long result that is removed last can save so much that others may stay.
#[test]
fn the_goal_is_reached_with_the_fewest_cuts() {
    let (short, long) = (long(), long().repeat(4));
    let results = [("a", &short), ("b", &short), ("c", &long)];
    let calls: Vec<String> = results.iter().map(|(id, text)| called(id, "f", "{}", text)).collect();
    let source = format!("[{},{END}]", calls.join(","));
    let document = read(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    let tally = Tally::new(Counter::APPROX, &transcript.messages);
    let scene = Scene::new(transcript, &tally, vec![true; transcript.messages.len()]);
    let by_goal = |goal, rules: &[&str]| {
        let rules: Vec<Choice> = rules.iter().map(|rule| rule.parse().expect("a rule")).collect();
        let pruned = prune(&scene, &chosen(&rules), Some(goal));
        let saved: u64 = pruned.savings.iter().map(|saving| saving.tokens).sum();
        assert!(saved >= goal, "{saved}");
        let sizes: Vec<usize> = pruned.sizes.keys().copied().collect();
        (sizes, pruned.savings(0).iter().map(|one| one.rule).collect::<Vec<_>>())
    };
    assert_eq!(by_goal(1_500, &["results:0"]), (vec![5], vec!["results"]), "the shorter ones come back");
    assert_eq!(by_goal(1_900, &["results:0"]), (vec![1, 5], vec!["results"]), "the newest that fits comes back");
    assert_eq!(by_goal(1_200, &["results:0", "cap"]), (vec![5], vec!["cap"]), "its ends stay");
    assert_eq!(by_goal(2_100, &["results:0", "cap"]), (vec![1, 3, 5], vec!["results", "cap"]));
}

/// A long argument alone can save more than the goal needs.
#[test]
fn an_argument_is_cut_only_as_far_as_the_goal_needs() {
    let text = |words: usize| "a word or two\n".repeat(words);
    let one = called("a", "write", &serde_json::json!({"path": "a", "content": text(2_000)}).to_string(), "done");
    let two = called("b", "write", &serde_json::json!({"old": text(900), "new": text(1_100)}).to_string(), "done");
    for source in [format!("[{one},{END}]"), format!("[{two},{END}]")] {
        let document = read(&source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        let tally = Tally::new(Counter::APPROX, &transcript.messages);
        let scene = Scene::new(transcript, &tally, vec![true; transcript.messages.len()]);
        for goal in [1_000, 3_000, 5_000] {
            let pruned = prune(&scene, &chosen(&[Choice::All]), Some(goal));
            assert!((goal..goal + 100).contains(&pruned.saved()), "{goal}: {}", pruned.saved());
            let out = apply(&source, &pruned.all_edits(transcript));
            assert!(out.contains("...(argument truncated)") && out.contains("a word or two"), "{out}");
            assert!(read(&out, None, None).is_ok(), "{out}");
        }
    }
}

/// Codex sends reasoning without ids. Its provider accepts a call without the reasoning before it.
#[test]
fn reasoning_without_an_id_goes_from_an_open_loop_last() {
    let line = |payload: Value| {
        serde_json::json!({"timestamp": "t", "type": "response_item", "payload": payload}).to_string() + "\n"
    };
    let reasoning = |id: Option<&str>| {
        let mut item = serde_json::json!({"type": "reasoning", "summary": [], "encrypted_content": "x".repeat(4_000)});
        id.into_iter().for_each(|id| item["id"] = id.into());
        line(item)
    };
    let called = |id: &str| {
        let call = serde_json::json!({"type": "function_call", "name": "f", "call_id": id, "arguments": "{}"});
        let output = serde_json::json!({"type": "function_call_output", "call_id": id, "output": "done"});
        line(call) + &line(output)
    };
    let user =
        line(serde_json::json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "u"}]}));
    let rules = chosen(&[Choice::All]);
    // Where one item has an id, the provider can tell more of them.
    for (id, emptied) in [(None, &[1, 4][..]), (Some("rs_1"), &[])] {
        let source = [user.clone(), reasoning(None), called("a"), reasoning(id), called("b")].concat();
        let document = read(&source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        let tally = Tally::new(Counter::APPROX, &transcript.messages);
        let scene = Scene::new(transcript, &tally, vec![true; transcript.messages.len()]);
        assert!(prune(&scene, &rules, Some(u64::MAX)).is_empty());
        assert_eq!(prune(&scene, &for_fit(&rules), Some(u64::MAX)).emptied, emptied, "{id:?}");
    }
    assert_eq!(for_fit(&chosen(&["cap".parse().expect("a rule")])).len(), 1, "no rule removes thinking");
}

#[test]
fn rules_are_read_as_they_are_written() {
    let rules = |texts: &[&str]| {
        let choices: Vec<Choice> = texts.iter().map(|text| text.parse().expect("a rule")).collect();
        chosen(&choices).iter().map(Rule::to_string).collect::<Vec<_>>()
    };
    let all = ["unsent", "thinking", "media:2", "reads", "arguments:2000", "results:5", "cap:2000"];
    assert_eq!(rules(&["all"]), all);
    assert_eq!(rules(&["cap:4k", "results:tokens:10k", "reads"]), ["reads", "results:tokens:10000", "cap:4000"]);
    assert_eq!(rules(&["results:2", "all"])[5], "results:2");
    assert_eq!(rules(&["all", "none", "media:0"]), ["media:0"]);
    let wrong = |text: &str| {
        let diagnostic = text.parse::<Choice>().expect_err(text);
        (diagnostic.to_string(), diagnostic.corrected(text))
    };
    assert_eq!(wrong("result").1.as_deref(), Some("results"));
    assert!(wrong("bogus").0.contains("thinking, media, reads, arguments, results, cap, all, none"));
    assert_eq!(wrong("results:token:4k").1.as_deref(), Some("results:tokens:4k"));
    assert_eq!(wrong("cap:0").1.as_deref(), Some("cap:2000"));
    assert_eq!(wrong("cap:x").1.as_deref(), Some("cap:2000"));
    assert!(wrong("reads:3").0.contains("takes no size"));
    assert!(wrong("all:3").0.contains("takes no size"));
    assert_eq!(wrong("none:3").1.as_deref(), Some("none"));
    assert_eq!((wrong("args").1.as_deref(), wrong("results,reads").1), (Some("arguments"), None));
}

/// A refused change leaves a file as it was, and a refused read shows nothing of it.
#[test]
fn a_refused_call_makes_no_read_useless() {
    let long = long();
    let call = |id: &str, name: &str, arguments: &str| {
        format!(
            r#"{{"kind":"response","parts":[{{"part_kind":"tool-call","tool_call_id":"{id}","tool_name":"{name}","args":{arguments}}}]}}"#
        )
    };
    let answer = |id: &str, outcome: &str, content: &str| {
        format!(
            r#"{{"kind":"request","parts":[{{"part_kind":"tool-return","tool_call_id":"{id}","tool_name":"f","content":"{content}","outcome":"{outcome}"}}]}}"#
        )
    };
    let end = r#"{"kind":"request","parts":[{"part_kind":"user-prompt","content":"next"}]}"#;
    let path = r#"{"file_path":"/a.rs"}"#;
    let change = r#"{"file_path":"/a.rs","old_string":"a","new_string":"b"}"#;
    for (name, arguments) in [("read_file", path), ("edit_file", change)] {
        for (outcome, is_useless) in [("success", true), ("denied", false)] {
            let source = format!(
                "[{},{},{},{},{end}]",
                call("1", "read_file", path),
                answer("1", "success", &long),
                call("2", name, arguments),
                answer("2", outcome, &long),
            );
            let (out, _) = pruned_but(&source, &["reads"], 1, &[]);
            assert_eq!(out.contains(OPENING), is_useless, "{name} {outcome}: {out}");
        }
    }
}
