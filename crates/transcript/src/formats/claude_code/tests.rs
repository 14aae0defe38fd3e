use super::*;
use crate::compaction::Reset;
use crate::format::SummaryRole;
use crate::framing::read_for_test as read;

fn line(id: u8, parent: u8, rest: &str) -> String {
    let parent = if parent == 0 { "null".to_owned() } else { format!("\"u{parent}\"") };
    format!("{{\"parentUuid\":{parent},\"cwd\":\"/w\",\"sessionId\":\"s\",{rest},\"uuid\":\"u{id}\"}}\n")
}

fn user(id: u8, parent: u8, text: &str) -> String {
    line(id, parent, &format!(r#""type":"user","message":{{"role":"user","content":"{text}"}}"#))
}

fn blocks(id: u8, parent: u8, kind: &str, block: &str) -> String {
    line(id, parent, &format!(r#""type":"{kind}","message":{{"id":"m","role":"{kind}","content":[{block}]}}"#))
}

#[test]
fn a_message_on_several_lines_and_results_between_stay_together() {
    let call = |id| format!(r#"{{"type":"tool_use","id":"{id}","name":"f","input":{{}}}}"#);
    let result = |id| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"r"}}"#);
    let source = [
        user(1, 0, "a"),
        blocks(2, 1, "assistant", &call("a")),
        blocks(3, 2, "user", &result("a")).replace(r#""id":"m","#, ""),
        blocks(4, 2, "assistant", &call("b")),
        blocks(5, 4, "user", &result("b")).replace(r#""id":"m","#, ""),
        user(6, 5, "b"),
    ]
    .concat();
    let document = read(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    assert_eq!(transcript.format.name, "claude-code");
    assert_eq!(transcript.groups, [(1, 3)]);
    let whole = transcript.pairing.allowed_cuts(&transcript.groups);
    assert_eq!(whole, [true, true, false, false, false, true, true]);
}

#[test]
fn unsent_lines_are_not_messages() {
    let boundary = line(3, 0, r#""type":"system","subtype":"compact_boundary""#);
    let source = [
        user(1, 0, "old"),
        user(2, 1, "old too"),
        boundary,
        user(4, 3, "summary").replace("\"uuid", "\"isCompactSummary\":true,\"uuid"),
        user(5, 4, "taken back"),
        blocks(6, 5, "assistant", r#"{"type":"text","text":"its answer"}"#),
        user(7, 4, "kept"),
        user(8, 7, "of a sub-agent").replace("\"uuid", "\"isSidechain\":true,\"uuid"),
        "{\"type\":\"custom-title\",\"customTitle\":\"t\"}\n".to_owned(),
    ]
    .concat();
    let document = read(&source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    let texts: Vec<_> = transcript.messages.iter().map(|message| message.content.texts()[0].decode()).collect();
    assert_eq!(texts, ["summary", "kept"]);
    assert_eq!([0, 1].map(|index| transcript.messages[index].earlier), [true, false]);
    let again = [user(5, 4, "kept"), user(6, 5, "behind it")].concat();
    let document = read(Box::leak((source.clone() + &again).into_boxed_str()), None, None).expect("a transcript");
    let texts = document.transcripts[0].messages.iter().map(|message| message.content.texts()[0].decode());
    assert_eq!(texts.collect::<Vec<_>>(), ["summary", "kept", "behind it"], "a line that was written twice");
    let bounds: Vec<Retention> = transcript.notes.iter().map(|note| note.retention).collect();
    let spent = Retention::Obsolete;
    let left = Retention::With(1);
    assert_eq!(bounds, [spent, spent, spent, left, left, Retention::WithPrevious, Retention::Always]);
}

/// An id, and the id of the parent.
type Link = (String, Option<String>);

/// The links of the lines that are written for a summary, and of the lines that get another parent.
fn links(source: &str, cutoff: usize, gone: &[usize]) -> (Vec<Link>, Vec<Link>) {
    let document = read(source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    let gone: Vec<usize> = gone.iter().map(|index| transcript.messages[*index].span().start).collect();
    let summary = SummaryMessage { text: "s", role: SummaryRole::User, name: None, marked: false };
    let at = InsertionPoint::in_place_of(transcript, cutoff, || gone.clone());
    let lines = FORMAT.write_summary(&summary, &at);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let written = lines.iter().map(|line| (text(&line["uuid"]).expect("an id"), text(&line["parentUuid"])));
    let name_of = |reset: &Reset| {
        let line = transcript.messages.iter().find(|message| message.span().start == reset.entry);
        line.and_then(|line| line.json.get_text("uuid")).map(|id| id.decode().into_owned()).expect("a line")
    };
    let resets = FORMAT.session.resets(&lines, &at, &|| 0);
    (written.collect(), resets.iter().map(|reset| (name_of(reset), Some(reset.edit.text.clone()))).collect())
}

#[test]
fn what_stays_leads_to_the_summary() {
    let source = [user(1, 0, "a"), user(2, 1, "b"), user(3, 2, "c"), user(4, 3, "d")].concat();
    let owned = |id: &str, parent: &str| (id.to_owned(), Some(parent.to_owned()));
    let (written, parents) = links(&source, 3, &[0, 1, 2]);
    let boundary = written[0].0.clone();
    assert_eq!(written[1..], [owned("u3", &boundary)], "the summary takes the id that the kept line names");
    assert!(parents.is_empty());
    // A pinned line, and an empty one with the id that the kept line names.
    let (written, parents) = links(&source, 3, &[0, 2]);
    let boundary = written[0].0.clone();
    assert_eq!(written[1..], [owned("u1", &boundary), owned("u3", "u2")]);
    assert!(parents.is_empty());
    // The first line has no parent whose id the summary could take.
    let (written, parents) = links(&source, 3, &[1]);
    let summary = written[1].0.clone();
    assert_eq!(written.len(), 2);
    let text = |id: &str| Some(Value::from(id).to_string());
    assert_eq!(parents, [("u1".to_owned(), text(&summary)), ("u3".to_owned(), text("u1"))]);
}

fn attachment(id: u8, parent: u8, attachment: &Value) -> String {
    line(id, parent, &format!(r#""type":"attachment","attachment":{attachment}"#))
}

/// The speaker and the texts of each message.
fn spoken(source: &str) -> Vec<(String, Vec<String>)> {
    let document = read(source, None, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    assert_eq!(transcript.format.name, "claude-code");
    let one = |message: &Message<'_>| {
        let name = message.rare_fields().role_name.map(|name| name.decode().into_owned());
        let texts = message.content.texts().iter().map(|text| text.decode().into_owned()).collect();
        (name.unwrap_or_else(|| message.role.openai_name().to_owned()), texts)
    };
    transcript.messages.iter().map(one).collect()
}

#[test]
fn text_typed_while_a_tool_runs_is_the_users() {
    let text = json!({"type": "queued_command", "prompt": "Not that.", "commandMode": "prompt"});
    let blocks = json!({"type": "queued_command", "prompt": [{"type": "text", "text": "Look"}, {"type": "image"}]});
    let notice = json!({"type": "queued_command", "prompt": "it ended", "commandMode": "task-notification"});
    let without_id = format!("{}\n", json!({"type": "attachment", "attachment": blocks}));
    let source = [user(1, 0, "a"), attachment(2, 1, &text), without_id, attachment(3, 2, &notice)].concat();
    let own = |name: &str, text: &str| (name.to_owned(), vec![text.to_owned()]);
    assert_eq!(
        spoken(&source),
        [own("user", "a"), own("user", "Not that."), own("user", "Look"), own("queued_command", "it ended")]
    );
    let document = read(&source, None, None).expect("a transcript");
    let turns: Vec<bool> = document.transcripts[0].messages.iter().map(Message::is_user_turn).collect();
    assert_eq!(turns, [true, true, true, false]);
}

#[test]
fn text_of_the_program_has_its_own_role() {
    let sent = [
        (
            json!({"type": "nested_memory", "path": "/p", "content": {"path": "/p", "type": "Project", "content": "words"}}),
            "words",
        ),
        (
            json!({"type": "file", "filename": "f", "content": {"type": "text", "file": {"filePath": "f", "content": "words"}}}),
            "words",
        ),
        (json!({"type": "edited_text_file", "filename": "f", "snippet": "words"}), "words"),
        (json!({"type": "hook_additional_context", "content": ["words"], "hookName": "h"}), "words"),
        (json!({"type": "hook_success", "hookEvent": "SessionStart", "content": "words"}), "words"),
        (json!({"type": "relevant_memories", "memories": [{"path": "/p", "content": "words"}]}), "words"),
        (json!({"type": "plan_file_reference", "planContent": "words"}), "words"),
        (json!({"type": "todo_reminder", "content": [{"content": "words", "status": "pending"}]}), "words"),
        (json!({"type": "diagnostics", "files": [{"uri": "u"}]}), r#"{"uri":"u"}"#),
        (json!({"type": "of_next_year", "text": "words"}), "words"),
        (json!({"type": "async_hook_response", "stdout": "{}", "response": {"systemMessage": "words"}}), "words"),
        (
            json!({"type": "async_hook_response", "response": {"cwd": "/w", "hookSpecificOutput": {"additionalContext": "words"}}}),
            "words",
        ),
        (json!({"type": "deferred_tools_delta", "addedNames": ["T"], "addedLines": ["words"]}), "words"),
    ];
    for (value, words) in sent {
        let kind = value["type"].as_str().expect("a type").to_owned();
        let source = [user(1, 0, "a"), attachment(2, 1, &value)].concat();
        assert_eq!(spoken(&source)[1..], [(kind, vec![words.to_owned()])]);
    }
    let command =
        line(2, 1, r#""type":"system","subtype":"local_command","content":"<command-name>/cost</command-name>""#);
    assert_eq!(spoken(&[user(1, 0, "a"), command].concat())[1].0, "local_command");
    for value in [
        json!({"type": "hook_success", "hookEvent": "PostToolUse", "content": "words"}),
        json!({"type": "hook_non_blocking_error", "content": "words"}),
        json!({"type": "async_hook_response", "stdout": "words", "response": {"tool_input": "words", "tool_name": "Read"}}),
        json!({"type": "nested_memory", "content": ""}),
        json!({"type": "deferred_tools_delta", "addedNames": ["T"]}),
    ] {
        assert_eq!(spoken(&[user(1, 0, "a"), attachment(2, 1, &value)].concat()).len(), 1, "{value}");
    }
}

/// An attachment with the text that Claude Code has noted for it.
fn rendered(id: u8, parent: u8, value: &Value, rendered: &Value) -> String {
    let members = format!(r#""attachment":{value},"type":"attachment","rendered":{rendered},"renderedRole":"system""#);
    line(id, parent, &members)
}

#[test]
fn the_rendered_text_of_an_attachment_is_what_is_sent() {
    let file = json!({"type": "text", "file": {"filePath": "f", "content": "old"}});
    let memory = json!({"path": "/p", "content": "old"});
    let said = json!({"hookSpecificOutput": {"additionalContext": "old"}});
    // Each attachment, and its text where nothing is rendered.
    let attachments = [
        (json!({"type": "environment", "snapshot": {"platform": "linux"}}), None),
        (json!({"type": "date", "date": "2026-11-30"}), None),
        (json!({"type": "remote_session_change", "url": null, "commit": "c"}), None),
        (json!({"type": "auto_mode", "bashFirst": true}), None),
        (json!({"type": "task_reminder", "content": [], "itemCount": 0}), None),
        (json!({"type": "session_context", "context": {}}), None),
        (json!({"type": "hook_success", "hookEvent": "PostToolUse", "content": "old"}), None),
        (json!({"type": "async_hook_response", "stdout": "old", "response": {"tool_input": "old"}}), None),
        (json!({"type": "model", "identity": "m", "text": "old"}), Some("old")),
        (json!({"type": "instructions", "files": [{"path": "/p", "content": "old"}]}), Some("old")),
        (json!({"type": "skill_listing", "content": "old", "names": ["n"]}), Some("old")),
        (json!({"type": "agent_listing_delta", "addedTypes": ["t"], "addedLines": ["old"]}), Some("old")),
        (json!({"type": "deferred_tools_delta", "addedNames": ["t"], "addedLines": ["old"]}), Some("old")),
        (json!({"type": "file", "filename": "f", "content": file}), Some("old")),
        (json!({"type": "nested_memory", "path": "/p", "content": memory}), Some("old")),
        (json!({"type": "hook_additional_context", "content": ["old"]}), Some("old")),
        (json!({"type": "hook_success", "hookEvent": "SessionStart", "content": "old"}), Some("old")),
        (json!({"type": "async_hook_response", "response": said}), Some("old")),
        (json!({"type": "queued_command", "commandMode": "task-notification", "prompt": "old"}), Some("old")),
    ];
    let texts = json!([{"content": "one"}, {"content": [{"type": "text", "text": "two"}]}]);
    let faulty = [
        json!(null),
        json!([]),
        json!("one"),
        json!([{"content": ""}]),
        json!([{"content": []}]),
        json!([{"content": "one"}, {"content": [{"type": "image"}]}]),
        json!([{"content": "one"}, {"role": "user"}]),
    ];
    for (value, unrendered) in attachments {
        let kind = value["type"].as_str().expect("a type").to_owned();
        let with = |list: &Value| spoken(&[user(1, 0, "a"), rendered(2, 1, &value, list)].concat())[1..].to_vec();
        assert_eq!(with(&texts), [(kind.clone(), vec!["one".to_owned(), "two".to_owned()])]);
        let expected: Vec<_> = unrendered.iter().map(|text| (kind.clone(), vec![(*text).to_owned()])).collect();
        assert_eq!(spoken(&[user(1, 0, "a"), attachment(2, 1, &value)].concat())[1..], expected, "{value}");
        for list in &faulty {
            assert_eq!(with(list), expected, "{value} {list}");
        }
    }
    for kind in ["poll_events", "project_doc_reads", "message_pdf_reads"] {
        let value = json!({"type": kind, "envelopes": []});
        assert_eq!(spoken(&[user(1, 0, "a"), rendered(2, 1, &value, &texts)].concat()).len(), 1, "{kind}");
    }
}

#[test]
fn a_queued_command_in_its_frame_is_still_the_users_word() {
    let frame = json!([{"content": "<system-reminder>\nThe user sent a new message:\nNot that.\n</system-reminder>"}]);
    let blocks = json!([{"type": "text", "text": "Not that."}]);
    for prompt in [json!("Not that."), blocks] {
        let typed = json!({"type": "queued_command", "prompt": prompt, "commandMode": "prompt"});
        let notice = json!({"type": "queued_command", "prompt": prompt, "commandMode": "task-notification"});
        let source = [user(1, 0, "a"), rendered(2, 1, &typed, &frame), rendered(3, 2, &notice, &frame)].concat();
        let document = read(Box::leak(source.into_boxed_str()), None, None).expect("a session");
        let messages = &document.transcripts[0].messages;
        let turns: Vec<bool> = messages.iter().map(Message::is_user_turn).collect();
        assert_eq!(turns, [true, true, false]);
        for message in &messages[1..] {
            assert_eq!(crate::speaker::said_texts(message).strings(), ["Not that."]);
            assert_eq!(message.whole_text(), frame[0]["content"]);
        }
        assert!(!crate::speaker::is_by_program(&messages[1]));
    }
}

#[test]
fn a_notice_of_a_task_is_read_from_its_frame() {
    let notice = "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n</task-notification>";
    let value = json!({"type": "queued_command", "prompt": notice, "commandMode": "task-notification"});
    let frame = json!([{"content": format!("<system-reminder>\nA task ended:\n{notice}\n</system-reminder>")}]);
    for line in [attachment(2, 1, &value), rendered(2, 1, &value, &frame)] {
        let source = [user(1, 0, "a"), line].concat();
        let document = read(&source, None, None).expect("a session");
        assert_eq!(crate::background::notices(&document.transcripts[0].messages[1]).len(), 1, "{source}");
    }
}

#[test]
fn what_a_line_says_of_its_origin_is_believed() {
    let queued = |rest: Value| {
        let mut value = json!({"type": "queued_command", "commandMode": "prompt", "prompt": "words"});
        value.as_object_mut().expect("an object").extend(rest.as_object().cloned().unwrap_or_default());
        spoken(&[user(1, 0, "a"), attachment(2, 1, &value)].concat())[1].0.clone()
    };
    assert_eq!(queued(json!({})), "user");
    assert_eq!(queued(json!({"origin": {"kind": "human"}})), "user");
    assert_eq!(queued(json!({"origin": {"kind": "peer"}, "isMeta": true})), "queued_command");
    assert_eq!(queued(json!({"origin": {"kind": "channel"}})), "queued_command");
    for (members, is_inserted) in [
        ("", false),
        (r#","origin":{"kind":"human"},"promptSource":"typed""#, false),
        (r#","origin":{"kind":"task-notification"}"#, true),
        (r#","origin":{"kind":"coordinator"}"#, true),
        (r#","promptSource":"system""#, true),
    ] {
        let source = line(1, 0, &format!(r#""type":"user","message":{{"role":"user","content":"words"}}{members}"#));
        let document = read(&source, None, None).expect("a session");
        assert_eq!(document.transcripts[0].messages[0].is_marked_as_inserted(), is_inserted, "{members}");
    }
}

#[test]
fn lines_with_one_uuid_are_one_message() {
    let call = blocks(2, 1, "assistant", r#"{"type":"tool_use","id":"c","name":"f","input":{}}"#);
    let result = blocks(3, 2, "user", r#"{"type":"tool_result","tool_use_id":"c","content":"r"}"#);
    let half = blocks(4, 3, "assistant", r#"{"type":"text","text":"ha"}"#);
    let whole = half.replace("ha", "half and the rest");
    let end = user(5, 4, "b");
    let texts = |lines: &[&String]| {
        let source: String = lines.iter().map(|line| line.as_str()).collect();
        let document = read(Box::leak(source.into_boxed_str()), None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        assert_eq!(transcript.pairing.pairs, [(1, 2)]);
        transcript.messages.iter().map(|message| message.json.raw().to_owned()).collect::<Vec<_>>()
    };
    let first = user(1, 0, "a");
    let once = texts(&[&first, &call, &result, &whole, &end]);
    // Written twice in a row, as a whole, late, and while it grew.
    assert_eq!(texts(&[&first, &call, &call, &result, &result, &whole, &whole, &end]), once);
    assert_eq!(texts(&[&first, &call, &result, &first, &call, &result, &whole, &end]), once);
    assert_eq!(texts(&[&first, &call, &result, &whole, &end, &call]), once);
    assert_eq!(texts(&[&first, &call, &result, &half, &whole, &end]), once);
    // A prompt that is written again is not one that the user went back to.
    let next = [blocks(6, 5, "assistant", r#"{"type":"text","text":"c"}"#), user(7, 6, "d")];
    let long = texts(&[&first, &call, &result, &whole, &end, &next[0], &next[1]]);
    assert_eq!(texts(&[&first, &call, &result, &whole, &end, &end, &next[0], &next[1]]), long);
    assert_eq!(texts(&[&first, &call, &result, &whole, &end, &next[0], &next[1], &end]), long);
    // On a side chain, a uuid is another message's.
    let aside = result.replace("\"uuid", "\"isSidechain\":true,\"uuid");
    assert_eq!(texts(&[&first, &call, &aside, &result, &whole, &end]), once);
}
