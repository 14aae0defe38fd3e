//! Results of tools that the provider runs itself, in every format: they are shortened in the form that it takes back.

use super::*;

/// Conversations with `RESULT` where a hosted tool returned a text, by the messages before and behind it.
const TEXTS: [(&str, &str); 21] = [
    ("responses", r#"{"type":"mcp_call","id":"m","server_label":"s","name":"get","arguments":"{}","output":"RESULT"}"#),
    (
        "responses",
        r#"{"type":"code_interpreter_call","id":"c","container_id":"x","code":"run()","status":"completed","outputs":[{"type":"logs","logs":"RESULT"}]}"#,
    ),
    (
        "responses",
        r#"{"type":"file_search_call","id":"f","queries":["q"],"status":"completed","results":[{"file_id":"a","filename":"a.md","score":0.5,"text":"RESULT"},{"file_id":"b","filename":"b.md","score":0.25,"text":"more words"}]}"#,
    ),
    (
        "responses",
        r#"{"type":"web_search_call","id":"w","status":"completed","action":{"type":"search","query":"q","sources":[{"type":"url","url":"RESULT"}]}}"#,
    ),
    (
        "responses",
        r#"{"type":"garden_call","id":"g","status":"completed","results":[{"plot_id":"p","words":"RESULT"}]}"#,
    ),
    (
        "anthropic",
        r#"{"type":"bash_code_execution_tool_result","tool_use_id":"t","content":{"type":"bash_code_execution_result","stdout":"RESULT","stderr":"warning","return_code":0,"content":[{"type":"bash_code_execution_output","file_id":"f"}]}}"#,
    ),
    (
        "anthropic",
        r#"{"type":"text_editor_code_execution_tool_result","tool_use_id":"t","content":{"type":"text_editor_code_execution_view_result","file_type":"text","content":"RESULT","num_lines":9}}"#,
    ),
    (
        "anthropic",
        r#"{"type":"web_fetch_tool_result","tool_use_id":"t","content":{"type":"web_fetch_result","url":"https://e.com/a","content":{"type":"document","source":{"type":"text","media_type":"text/plain","data":"RESULT"}}}}"#,
    ),
    ("gemini", r#"{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"RESULT"}}"#),
    ("gemini", r#"{"code_execution_result":{"outcome":"OUTCOME_OK","output":"RESULT"}}"#),
    ("gemini", r#"{"toolResponse":{"id":"t","toolType":"GOOGLE_SEARCH_WEB","response":{"results":"RESULT"}}}"#),
    ("langchain", r#"{"type":"server_tool_result","tool_call_id":"t","status":"success","output":"RESULT"}"#),
    ("langchain", r#"{"type":"code_interpreter_call","id":"c","outputs":[{"type":"logs","logs":"RESULT"}]}"#),
    (
        "langchain",
        r#"{"type":"code_execution_tool_result","tool_use_id":"t","content":{"type":"code_execution_result","stdout":"RESULT","stderr":"","return_code":0,"content":[]}}"#,
    ),
    (
        "ai-sdk",
        r#"{"type":"tool-result","toolCallId":"t","toolName":"code_execution","output":{"type":"json","value":{"type":"code_execution_result","stdout":"RESULT","stderr":"","return_code":0}}}"#,
    ),
    (
        "ai-sdk-ui",
        r#"{"type":"tool-code_execution","toolCallId":"t","state":"output-available","input":{},"output":{"type":"code_execution_result","stdout":"RESULT"},"providerExecuted":true}"#,
    ),
    (
        "pydantic-ai",
        r#"{"tool_name":"code_execution","content":{"type":"code_execution_result","stdout":"RESULT","stderr":""},"tool_call_id":"t","part_kind":"builtin-tool-return"}"#,
    ),
    (
        "pydantic-ai",
        r#"{"tool_name":"search","content":"RESULT","tool_call_id":"t","part_kind":"builtin-tool-return"}"#,
    ),
    (
        "responses",
        r#"{"type":"mcp_call","id":"m","server_label":"s","name":"get","arguments":"{}","output":null,"error":{"type":"mcp_tool_execution_error","content":[{"type":"text","text":"RESULT"}]}}"#,
    ),
    (
        "langchain",
        r#"{"type":"non_standard","value":{"type":"mcp_call","id":"m","name":"get","arguments":"{}","output":"RESULT"}}"#,
    ),
    (
        "inspect",
        r#"{"type":"tool_use","tool_type":"mcp_call","id":"t","name":"get","arguments":"{}","result":"RESULT"}"#,
    ),
];

/// A conversation of a format with a part of a message of the model in it.
fn conversation(format: &str, part: &str) -> String {
    let (before, behind) = match format {
        "responses" => (
            r#"[{"type":"message","role":"user","content":"u"},"#,
            r#",{"type":"message","role":"user","content":"u"}]"#,
        ),
        "anthropic" => (
            r#"[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"server_tool_use","id":"t","name":"web_fetch","input":{}},"#,
            r#"]},{"role":"user","content":"u"}]"#,
        ),
        "gemini" => (
            r#"[{"role":"user","parts":[{"text":"u"}]},{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":"run()"}},"#,
            r#"]},{"role":"user","parts":[{"text":"u"}]}]"#,
        ),
        "langchain" => (
            r#"[{"type":"human","data":{"content":"u"}},{"type":"ai","data":{"content":[{"type":"server_tool_call","id":"t","name":"run","args":{}},"#,
            r#"]}},{"type":"human","data":{"content":"u"}}]"#,
        ),
        "ai-sdk" => (
            r#"[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"tool-call","toolCallId":"t","toolName":"code_execution","input":{},"providerExecuted":true},"#,
            r#"]},{"role":"user","content":"u"}]"#,
        ),
        "ai-sdk-ui" => (
            r#"[{"id":"a","role":"user","parts":[{"type":"text","text":"u"}]},{"id":"b","role":"assistant","parts":["#,
            r#"]},{"id":"c","role":"user","parts":[{"type":"text","text":"u"}]}]"#,
        ),
        "pydantic-ai" => (
            r#"[{"parts":[{"content":"u","part_kind":"user-prompt"}],"kind":"request"},{"parts":[{"tool_name":"code_execution","args":"{}","tool_call_id":"t","part_kind":"builtin-tool-call"},"#,
            r#"],"kind":"response"},{"parts":[{"content":"u","part_kind":"user-prompt"}],"kind":"request"}]"#,
        ),
        _ => (
            r#"{"id":1,"epoch":1,"input":"i","target":"t","scores":{},"messages":[{"content":"u","source":"input","role":"user"},{"content":["#,
            r#"],"source":"generate","role":"assistant"},{"content":"u","source":"input","role":"user"}]}"#,
        ),
    };
    format!("{before}{part}{behind}")
}

/// Asserts that a pruned conversation has the same members of the same kinds, so that its provider takes it back.
fn assert_same_form(before: &Value, after: &Value, source: &str) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>(), "{source}");
            before.iter().for_each(|(key, value)| assert_same_form(value, &after[key], source));
        }
        (Value::Array(before), Value::Array(after)) => {
            assert_eq!(before.len(), after.len(), "{source}");
            before.iter().zip(after).for_each(|(before, after)| assert_same_form(before, after, source));
        }
        (Value::String(_), Value::String(_)) => {}
        _ => assert_eq!(before, after, "{source}"),
    }
}

#[test]
fn hosted_results_are_shortened_in_their_form() {
    let text = long();
    for (format, part) in TEXTS {
        let source = conversation(format, &part.replace("RESULT", &text));
        let long = source.len();
        for rule in ["results:0", "cap:100"] {
            let out = pruned(&source, &[rule]);
            assert!(out.len() < long / 2 && out.contains("[tcompact: "), "{rule}: {out}");
            let value = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
            assert_same_form(&value(&source), &value(&out), &out);
            let document = read(&out, None, None).unwrap_or_else(|error| panic!("it {error}: {out}"));
            assert!(crate::plan::breaches::breaches(&document.transcripts[0]).is_empty(), "{out}");
            assert_eq!(document.transcripts[0].messages.len(), 3, "{out}");
        }
    }
}

#[test]
fn a_hosted_result_is_named_by_its_tool() {
    for (at, name) in
        [(0, "get"), (1, "code_interpreter"), (5, "web_fetch"), (8, "code_execution"), (11, "run"), (20, "get")]
    {
        let (format, part) = TEXTS[at];
        let source = conversation(format, &part.replace("RESULT", &long()));
        let out = pruned(&source, &["results:0"]);
        assert!(out.contains(&format!("[tcompact: {name} result removed, ")), "{out}");
        assert_eq!(pruned_but(&source, &["results:0", "media:0"], 1, &[name.to_owned()]).0, source, "it is excepted");
    }
}

#[test]
fn lists_of_nothing_but_texts_become_one_text() {
    let part = r#"{"type":"code_interpreter_call","id":"c","code":"run()","outputs":[{"type":"logs","logs":"RESULT"},{"type":"logs","logs":"RESULT"},{"type":"image","url":"PICTURE"}]}"#;
    let source = conversation("responses", &part.replace("RESULT", &long()).replace("PICTURE", &picture()));
    let out = pruned(&source, &["results:0"]);
    assert_eq!(out.matches(r#""logs":"#).count(), 1, "{out}");
    assert!(!out.contains("base64"), "{out}");
}

#[test]
fn encrypted_contents_stay() {
    let result = format!(
        r#"{{"type":"web_search_result","url":"https://e.com","title":"t","encrypted_content":"{}"}}"#,
        "Ab1+".repeat(200)
    );
    let part = format!(r#"{{"type":"web_search_tool_result","tool_use_id":"t","content":[{result}]}}"#);
    let source = conversation("anthropic", &part);
    assert_eq!(pruned(&source, &["results:0", "cap:10", "media:0"]), source);
}

fn picture() -> String {
    format!("data:image/png;base64,iVBORw0KGgo{}", "A".repeat(800))
}

#[test]
fn media_of_hosted_tools_are_media() {
    let data = picture().split(',').nth(1).expect("data").to_owned();
    let generated = r#"{"type":"image_generation_call","id":"i","status":"completed","result":"DATA"}"#;
    let prompted =
        r#"{"type":"image_generation_call","id":"i","status":"completed","revised_prompt":"A gate.","result":"DATA"}"#;
    let plotted =
        r#"{"type":"code_interpreter_call","id":"c","code":"plot()","outputs":[{"type":"image","url":"URL"}]}"#;
    for (format, part, after) in [
        ("responses", generated, r#""result":"", "revised_prompt": "NOTE""#),
        ("responses", prompted, r#""revised_prompt":"A gate.\nNOTE","result":"""#),
        ("responses", plotted, r#""outputs":[{"type": "logs", "logs": "NOTE"}]"#),
        ("langchain", generated, r#""result":"", "revised_prompt": "NOTE""#),
        ("langchain", plotted, r#""outputs":[{"type": "logs", "logs": "NOTE"}]"#),
        (
            "anthropic",
            r#"{"type":"web_fetch_tool_result","tool_use_id":"t","content":{"type":"web_fetch_result","url":"https://e.com/a","content":{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"DATA"}}}}"#,
            r#""source":{"type": "text", "media_type": "text/plain", "data": "NOTE"}"#,
        ),
        (
            "ai-sdk-ui",
            r#"{"type":"tool-image_generation","toolCallId":"t","state":"output-available","input":{},"output":{"result":"DATA"},"providerExecuted":true}"#,
            r#""output":{"result":"NOTE"}"#,
        ),
        (
            "pydantic-ai",
            r#"{"tool_name":"code_execution","content":{"data":"DATA","media_type":"image/png","kind":"binary"},"tool_call_id":"t","part_kind":"builtin-tool-return"}"#,
            r#""content":"NOTE""#,
        ),
        (
            "pydantic-ai",
            r#"{"content":{"data":"DATA","media_type":"image/png","kind":"binary"},"part_kind":"file"}"#,
            r#"{"content":"NOTE","part_kind":"text"}"#,
        ),
    ] {
        let source = conversation(format, &part.replace("DATA", &data).replace("URL", &picture()));
        let document = read(&source, None, None).unwrap_or_else(|error| panic!("it {error}: {source}"));
        assert_eq!(
            document.transcripts[0].messages.iter().filter(|message| message.has_media()).count(),
            1,
            "{source}"
        );
        let out = pruned(&source, &["media:0"]);
        let start = out.find("[tcompact: ").unwrap_or_else(|| panic!("no note: {out}"));
        let note = &out[start..=start + out[start..].find(']').expect("its end")];
        assert!(out.contains(&after.replace("NOTE", note)), "{out}");
        assert!(!out.contains(&data), "{out}");
    }
}

#[test]
fn a_picture_of_a_screen_becomes_one_pixel() {
    let call = r#"{"type":"computer_call","id":"x","call_id":"k","action":{"type":"screenshot"},"pending_safety_checks":[],"status":"completed"}"#;
    let output = format!(
        r#"{{"type":"computer_call_output","call_id":"k","output":{{"type":"computer_screenshot","image_url":"{}"}}}}"#,
        picture()
    );
    let source = conversation("responses", &format!("{call},{output}"));
    let out = pruned(&source, &["media:0"]);
    let pixel = out.split("base64,").nth(1).and_then(|rest| rest.split('"').next()).expect("a picture");
    let bytes = crate::transcript::media::base64_data::decode_like_python(pixel).expect("Base64");
    let size = imagesize::blob_size(&bytes).expect("a picture");
    assert_eq!((bytes.len(), size.width, size.height), (67, 1, 1), "{out}");
    let document = read(&out, None, None).unwrap_or_else(|error| panic!("it {error}: {out}"));
    assert!(document.transcripts[0].messages.iter().all(|message| !message.has_media()), "{out}");
    assert_eq!(pruned(&source, &["results:0"]), out);
}

#[test]
fn media_that_are_kept_beside_the_content_become_notes() {
    let data = picture().split(',').nth(1).expect("data").to_owned();
    let source = format!(
        r#"[{{"type":"human","data":{{"content":"u"}}}},{{"type":"ai","data":{{"content":"a","additional_kwargs":{{"tool_outputs":[{{"type":"image_generation_call","id":"i","result":"{data}"}}]}}}}}},{{"type":"human","data":{{"content":"u"}}}}]"#
    );
    let out = pruned(&source, &["media:0"]);
    assert!(out.contains("[tcompact: image/png, ") && !out.contains(&data), "{out}");
}
