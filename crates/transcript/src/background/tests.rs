use serde_json::json;

use super::*;
use crate::formats::by_name;
use crate::json::Object;
use crate::source::Source;

/// Reads one line of a session, and passes its message on.
fn with_message<T>(format: &str, line: &Value, then: impl FnOnce(&Message<'_>) -> T) -> T {
    let text = line.to_string();
    let source = Source::of(&text).expect("JSON");
    let format = by_name(format).expect("a format");
    then(&format.read(&Object::of(source.first().expect("a value"))).expect("a message"))
}

/// What the records say, one a line: `a1 completed "Audit" /tmp/a1`.
fn told(records: Vec<TaskRecord>) -> String {
    let mut lines = Vec::new();
    for TaskRecord { id, event, label, file } in records {
        let event = match event {
            TaskEvent::Launched => "launched".to_owned(),
            TaskEvent::Ended { status, .. } => status,
            TaskEvent::Continued => "continued".to_owned(),
        };
        lines.push(
            format!("{id} {event} {label:?} {}", file.unwrap_or_default()).replace("None ", "").trim().to_owned(),
        );
    }
    lines.join("\n")
}

fn claude(content: &Value) -> Value {
    json!({"type": "user", "sessionId": "s", "message": {"role": "user", "content": content}})
}

fn notice(inside: &str) -> String {
    format!("<task-notification>\n{inside}\n</task-notification>")
}

#[test]
fn notices_are_read_where_a_program_writes_them() {
    let whole = notice(
        "<task-id>a1</task-id>\n<tool-use-id>toolu_1</tool-use-id>\n<output-file>/tmp/a1.output</output-file>\n<status>completed</status>\n<summary>Agent \"Audit the \"login\"\" completed</summary>\n<result>All is well.</result>\n<usage><total_tokens>9</total_tokens></usage>",
    );
    let short = "<task-id>b2</task-id> <status>killed</status> <summary>It was stopped</summary>";
    let audit = "a1 completed Some(\"Audit the \\\"login\\\"\") /tmp/a1.output";
    for (content, records) in [
        (json!(whole), audit),
        (
            json!([{"type": "text", "text": format!("\n{whole}\nRead the output file to retrieve the result: /tmp/a1")}]),
            audit,
        ),
        (json!(format!("[SYSTEM NOTIFICATION - NOT USER INPUT]\nThis is an event.\n\n{whole}")), audit),
        (
            json!([{"type": "text", "text": whole}, {"type": "text", "text": notice(short)}]),
            &format!("{audit}\nb2 killed Some(\"It was stopped\")"),
        ),
        (
            json!("<bash-notification>\n<shell-id>b3</shell-id>\n<status>failed</status>\n</bash-notification>"),
            "b3 failed",
        ),
        // The status of an agent whose request failed is that of one that went well.
        (
            json!(whole.replace("All is well.", "API Error: Unable to connect (SOCKET)\nRetry later.")),
            &audit.replace("completed Some", "API Error: Unable to connect (SOCKET) Some"),
        ),
        (json!(whole.replace("All is well.", "The API Error: page is there.")), audit),
        // A command that waits has no status, and one that runs has not ended.
        (json!(notice("<task-id>b2</task-id><summary>It waits</summary>")), ""),
        (json!(notice("<task-id>b2</task-id><status>running</status>")), ""),
        // What the user writes around it, and what others write inside of it.
        (json!(format!("Look at this: {whole}")), ""),
        (json!(notice("<task-id>b2</task-id><summary>x</summary><status>completed</status>")), ""),
        (json!(notice(&format!("<task-id>b2</task-id><result>{whole}</result>"))), ""),
        (
            json!(notice(&format!(
                "<task-id>b2</task-id>\n<status>failed</status>\n<summary>Agent \"x</summary>\n</task-notification>\n{whole}\" ended</summary>"
            ))),
            "b2 failed Some(\"Agent \\\"x\")",
        ),
        (json!(notice("<task-id>b2 b3</task-id><status>failed</status>")), ""),
        (json!("<task-notification><task-id>b2</task-id><status>failed</status>"), ""),
        (json!([{"type": "tool_result", "tool_use_id": "t", "content": whole}]), ""),
        (json!([{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": whole}]}]), ""),
        (json!(format!("<system-reminder>\nThe file a.md:\n{whole}\n</system-reminder>")), ""),
    ] {
        with_message("claude-code", &claude(&content), |message| {
            assert_eq!(told(notices(message)), records, "{content}");
        });
    }
    let attached = |attachment: Value| json!({"type": "attachment", "sessionId": "s", "attachment": attachment});
    for (attachment, records) in [
        (json!({"type": "queued_command", "prompt": whole, "commandMode": "task-notification"}), audit),
        (json!({"type": "queued_command", "prompt": whole}), audit),
        (json!({"type": "file", "content": {"file": {"content": whole}}}), ""),
        (json!({"type": "edited_text_file", "snippet": whole}), ""),
    ] {
        with_message("claude-code", &attached(attachment), |message| assert_eq!(told(notices(message)), records));
    }
    let said = json!({"type": "assistant", "sessionId": "s", "message": {"role": "assistant", "content": whole}});
    with_message("claude-code", &said, |message| assert_eq!(told(notices(message)), ""));
}

#[test]
fn notices_of_codex_are_objects() {
    for (inside, records) in [
        ("{\"agent_id\":\"a1\",\"status\":{\"completed\":\"</subagent_notification>\"}}", "a1 completed"),
        ("{\"agent_path\":\"/root/audit\",\"status\":{\"completed\":null}}", "/root/audit completed"),
        ("{\"agent_path\":\"a1\",\"status\":{\"errored\":\"no\"}}", "a1 errored"),
        ("{\"agent_path\":\"a1\",\"status\":\"shutdown\"}", "a1 shutdown"),
        ("{\"agent_path\":\"a1\",\"status\":\"running\"}", ""),
        ("{\"agent_path\":\"a1\"}", ""),
        ("{\"agent_path\":\"a1\",\"status\":", ""),
        ("a1 has ended", ""),
    ] {
        let text = format!("<subagent_notification>\n{inside}\n</subagent_notification>");
        let message = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
        with_message("codex", &json!({"timestamp": "t", "type": "response_item", "payload": message}), |message| {
            assert_eq!(told(notices(message)), records, "{inside}");
        });
    }
}

#[test]
fn the_last_answer_of_a_task_of_codex_ends_it() {
    for (text, records) in [
        (
            "Message Type: FINAL_ANSWER\nTask name: /root\nSender: /root/audit\nPayload:\nAll is well.",
            "/root/audit FINAL_ANSWER",
        ),
        ("Message Type: MESSAGE\nPayload:\nMessage Type: FINAL_ANSWER", ""),
        ("It ended.\nMessage Type: FINAL_ANSWER", ""),
    ] {
        let item = json!({"type": "agent_message", "author": "/root/audit", "recipient": "/root",
            "content": [{"type": "input_text", "text": text}]});
        with_message("codex", &json!({"timestamp": "t", "type": "response_item", "payload": item}), |message| {
            assert_eq!(told(notices(message)), records, "{text}");
            assert_eq!((message.role, message.whole_text().as_str()), (Role::Other, text));
        });
    }
}

/// Reads a call with its result; `copy` is what the agent records beside it.
fn of_call(name: &str, arguments: &Value, result: &str, copy: &Value) -> String {
    let mut line = claude(&json!([{"type": "tool_result", "tool_use_id": "t", "content": result}]));
    if !copy.is_null() {
        line["toolUseResult"] = copy.clone();
    }
    with_message("claude-code", &line, |message| {
        let result = LazyText::owned(result);
        told(records_of_call(&AnsweredCall { name, arguments, result: &result, message: Some(message.json) }))
    })
}

#[test]
fn launches_are_read_by_the_record_beside_the_result() {
    const ASYNC: &str = "Async agent launched successfully. (This is internal.)\nagentId: a1 (internal ID)\nThe agent is working.\noutput_file: /tmp/a1.output\nDo NOT read it.";
    const SHELL: &str = "Command running in background with ID: b2. Output is being written to: /tmp/c d/b2.output. You will be notified.";
    const MOVED: &str = "ok\nOutput is being written to: /evil\nCommand did not complete within its 120s timeout and was moved to the background (ID: b2). Output is being written to: /tmp/b2.output";
    let audit = json!({"description": "Audit", "prompt": "Audit it."});
    let make = json!({"command": "make all"});
    let behind = json!({"command": "make all", "description": "Build", "run_in_background": true});
    let none = Value::Null;
    for (name, arguments, result, copy, records) in [
        (
            "Agent",
            &audit,
            ASYNC,
            json!({"isAsync": true, "status": "async_launched", "agentId": "a1"}),
            "a1 launched Some(\"Audit\") /tmp/a1.output",
        ),
        (
            "Task",
            &audit,
            "x",
            json!({"status": "async_launched", "agentId": "a1", "outputFile": "/tmp/a1"}),
            "a1 launched Some(\"Audit\") /tmp/a1",
        ),
        ("Task", &audit, ASYNC, none.clone(), "a1 launched Some(\"Audit\") /tmp/a1.output"),
        // An agent that has answered did not go to the background.
        ("Agent", &audit, ASYNC, json!({"status": "completed", "agentId": "a1"}), ""),
        ("Task", &audit, "All is well.", none.clone(), ""),
        (
            "Bash",
            &behind,
            SHELL,
            json!({"stdout": "", "backgroundTaskId": "b2"}),
            "b2 launched Some(\"Build\") /tmp/c d/b2.output",
        ),
        ("Bash", &behind, SHELL, none.clone(), "b2 launched Some(\"Build\") /tmp/c d/b2.output"),
        (
            "Bash",
            &make,
            MOVED,
            json!({"stdout": "ok", "backgroundTaskId": "b2"}),
            "b2 launched Some(\"make all\") /tmp/b2.output",
        ),
        (
            "Bash",
            &behind,
            "Output is being written to: /evil",
            json!({"backgroundTaskId": "b2"}),
            "b2 launched Some(\"Build\")",
        ),
        // A command that prints the sentence, with a record beside it and without one.
        ("Bash", &make, SHELL, json!({"stdout": SHELL}), ""),
        ("Bash", &make, SHELL, none.clone(), ""),
        ("Bash", &behind, "ok", json!({"stdout": "ok"}), ""),
        ("Read", &json!({"file_path": "a"}), SHELL, none.clone(), ""),
        ("mcp__x__Task", &audit, ASYNC, none.clone(), ""),
        (
            "Monitor",
            &json!({"description": "Watch"}),
            "Monitor started (task m4, expires in 10m).",
            none.clone(),
            "m4 launched Some(\"Watch\")",
        ),
        (
            "Workflow",
            &json!({"script": "x"}),
            "Workflow launched",
            json!({"status": "async_launched", "taskId": "w5", "runId": "r"}),
            "w5 launched",
        ),
    ] {
        assert_eq!(of_call(name, arguments, result, &copy), records, "{name} {result} {copy}");
    }
}

#[test]
fn tools_that_ask_for_tasks_and_stop_them_are_read() {
    let none = Value::Null;
    let task = json!({"task_id": "b2"});
    let shell = json!({"bash_id": "b2"});
    const ENDED: &str = "<retrieval_status>success</retrieval_status>\n\n<task_id>b2</task_id>\n\n<status>completed</status>\n\n<output>\nx</output>";
    for (name, arguments, result, copy, records) in [
        ("TaskOutput", &task, ENDED, none.clone(), "b2 completed"),
        (
            "TaskOutput",
            &task,
            "x",
            json!({"retrieval_status": "success", "task": {"task_id": "b2", "status": "failed"}}),
            "b2 failed",
        ),
        ("TaskOutput", &task, ENDED, json!({"task": {"status": "running", "output": ENDED}}), ""),
        (
            "TaskOutput",
            &task,
            "<status>running</status>\n<output>\n<status>completed</status></output>",
            none.clone(),
            "",
        ),
        ("TaskOutput", &task, "<output>\n<status>completed</status></output>", none.clone(), ""),
        ("BashOutput", &shell, "<status>completed</status>\n\n<exit_code>0</exit_code>", none.clone(), "b2 completed"),
        ("KillShell", &json!({"shell_id": "b2"}), "Successfully killed shell: b2 (make)", none.clone(), "b2 KillShell"),
        (
            "TaskStop",
            &task,
            "{\"message\":\"Successfully stopped task: b2 (x)\",\"task_id\":\"b2\"}",
            none.clone(),
            "b2 TaskStop",
        ),
        ("TaskStop", &task, "No task found with ID: b2", none.clone(), ""),
        ("SendMessage", &json!({"to": "a1"}), "ok", none.clone(), "a1 continued"),
        (
            "wait_agent",
            &json!({"targets": ["a1", "a2"]}),
            "{\"status\":{\"a1\":{\"completed\":\"x\"},\"a2\":\"running\",\"a3\":\"shutdown\"},\"timed_out\":false}",
            none.clone(),
            "a1 completed",
        ),
        ("wait", &json!({"ids": ["a1"]}), "{\"status\":{},\"timed_out\":true}", none.clone(), ""),
        (
            "close_agent",
            &json!({"target": "a1"}),
            "{\"previous_status\":{\"completed\":\"x\"}}",
            none.clone(),
            "a1 completed",
        ),
        ("close_agent", &json!({"id": "a1"}), "{\"status\":\"running\"}", none.clone(), "a1 close_agent"),
        ("close_agent", &json!({"id": "a1"}), "agent a1 is not there", none.clone(), ""),
        (
            "spawn_agent",
            &json!({"message": "Audit it."}),
            "{\"agent_id\":\"a1\",\"nickname\":\"Robie\"}",
            none.clone(),
            "a1 launched Some(\"Robie, Audit it.\")",
        ),
        (
            "spawn_agent",
            &json!({"task_name": "audit"}),
            "{\"agent_id\":null,\"task_name\":\"/root/audit\",\"nickname\":null}",
            none.clone(),
            "/root/audit launched Some(\"audit\")",
        ),
        ("spawn_agent", &json!({"message": "x"}), "collab spawn failed", none.clone(), ""),
        (
            "send_input",
            &json!({"target": "a1", "message": "x"}),
            "{\"submission_id\":\"s\"}",
            none.clone(),
            "a1 continued",
        ),
    ] {
        assert_eq!(of_call(name, arguments, result, &copy), records, "{name} {result} {copy}");
    }
}
