//! Programs whose files a format would read, but not as their program does.

use crate::foreign::recognizer::{Program, has_all, has_any, has_at, has_texts, is_one_of};
use crate::json::{Json, JsonKind, Object};

/// Programs whose files a format would read, but not as their program does. They are refused before any format is asked,
/// unless the user names one. Each is told by the object around the messages or by the first line of a file.
pub(super) const MISREAD_PROGRAMS: [Program; 16] = [
    // The contents of each message are a list under a name that requests have, too.
    Program {
        name: "messages of Microsoft's Agent Framework",
        next: "",
        is_of: |message| has_all(message, &["role", "contents"]),
    },
    Program {
        name: "a session of OpenClaw with lines that pi does not have (leaf, reset, side)",
        next: "compact it in OpenClaw",
        is_of: |line| {
            is_one_of(line, "type", &["leaf"]) && line.get("targetId").is_some()
                || is_one_of(line, "type", &["reset"]) && line.get("parentId").is_some()
                || is_one_of(line, "appendMode", &["side"])
        },
    },
    Program {
        name: "a session of Factory Droid",
        next: "/compress in Droid compacts it",
        is_of: |line| is_one_of(line, "type", &["session_start"]),
    },
    Program {
        name: "a session of Craft Agents",
        next: "compact it in Craft Agents",
        is_of: |line| has_all(line, &["workspaceRootPath", "lastUsedAt"]),
    },
    Program {
        name: "a part of a session of opencode",
        next: "tcompact reads what `opencode export` writes",
        is_of: |one| has_all(one, &["id", "sessionID", "messageID"]),
    },
    Program {
        name: "Goose's messages",
        next: "compact it in Goose",
        is_of: |message| has_all(message, &["role", "content"]) && message.at(&["metadata", "agentVisible"]).is_some(),
    },
    Program {
        name: "a thread of Amp",
        next: "with --from anthropic tcompact counts it, but does not write what Amp reads",
        is_of: |thread| {
            has_all(thread, &["v", "messages"]) && thread.get_text("id").is_some_and(|id| id.starts_with("T-"))
        },
    },
    Program {
        name: "a chat of Open WebUI",
        next: "its messages are in it twice; with --from openai-chat tcompact counts them, but compacts one copy alone",
        is_of: |chat| {
            has_at(chat, &["history", "messages"], |nodes| nodes.kind() == JsonKind::Object)
                && chat.at(&["history", "currentId"]).is_some()
        },
    },
    Program {
        name: "rows of Alpaca",
        next: "jq -c '{messages: [{role: \"user\", content: (.instruction + \"\\n\" + .input)}, {role: \"assistant\", content: .output}]}' FILE | tcompact reads them without their history",
        is_of: is_of_alpaca,
    },
    Program {
        name: "a row of preferences",
        next: "jq -c '{messages: (.input.messages + .preferred_output)}' FILE | tcompact reads what was preferred",
        is_of: |row| has_all(row, &["preferred_output", "non_preferred_output"]),
    },
    Program {
        name: "a stream of Goose",
        next: "goose session export writes the session, which Goose compacts",
        is_of: |line| {
            is_one_of(line, "type", &["message"])
                && line.at(&["message", "created"]).is_some()
                && line.at(&["message", "metadata"]).is_some()
        },
    },
    Program {
        name: "a transcript of VS Code's Copilot Chat",
        next: "no chat is resumed from it",
        is_of: |line| is_one_of(line, "type", &["session.start"]) && line.at(&["data", "vscodeVersion"]).is_some(),
    },
    Program {
        name: "a trace of Hermes",
        next: "hermes sessions export --session-id ID FILE writes what tcompact reads",
        is_of: |line| is_one_of(line, "version", &["hermes-agent"]),
    },
    Program {
        name: "a session of iFlow CLI",
        next: "compact it in iFlow CLI",
        is_of: |line| {
            let is_of_iflow = line.get_text("sessionId").is_some_and(|id| id.starts_with("session-"));
            is_of_iflow && has_all(line, &["uuid", "parentUuid", "message"])
        },
    },
    Program {
        name: "what Kimi CLI shows of a session (wire.jsonl)",
        next: "context.jsonl beside it is the session, which Kimi CLI compacts",
        // Kimi Code writes the time beside the version.
        is_of: |line| {
            is_one_of(line, "type", &["metadata"])
                && has_all(line, &["protocol_version"])
                && !has_any(line, &["created_at"])
        },
    },
    HERMES,
];

pub(super) const HERMES: Program = Program {
    name: "a session of Hermes with rows that it does not send, or reasoning that only its provider reads",
    next: "with --from openai-chat tcompact reads its messages without that reasoning, and all rows as sent",
    is_of: is_of_hermes,
};

fn is_of_alpaca(row: &Object<'_>) -> bool {
    let has_list = has_at(row, &["input"], |input| input.kind() == JsonKind::Array);
    has_texts(row, &["instruction", "output"]) && !has_any(row, &["messages", "conversations"]) && !has_list
}

fn is_of_hermes(one: &Object<'_>) -> bool {
    let is_session = has_all(one, &["system_prompt", "message_count"]);
    is_session && has_at(one, &["messages"], has_unsent_row) || has_reasoning_items(one)
}

fn has_unsent_row(rows: Json<'_>) -> bool {
    rows.items().any(|row| row.get("active").is_some_and(|active| active.raw() == "0"))
}

/// Whether a message has reasoning beside its content as the Responses API spelled it: a list, or the text of one.
fn has_reasoning_items(message: &Object<'_>) -> bool {
    let Some(reasoning) = message.get("codex_reasoning_items") else { return false };
    match reasoning.text() {
        Some(text) => text.starts_with("[{"),
        None => reasoning.items().next().is_some(),
    }
}

#[cfg(test)]
mod tests {
    use crate::foreign::recognizer::assert_refused_by_name;
    use crate::formats::by_name;
    use crate::framing::read_for_test;

    #[test]
    fn files_like_those_of_a_format_are_refused_by_name() {
        let alpaca = |more: &str| format!(r#"{{"instruction":"i","input":"","output":"o"{more}}}"#);
        let goose = r#"{"type":"message","message":{"role":"user","created":1,"content":[{"type":"text","text":"u"}],"metadata":{"agentVisible":true}}}"#;
        let vs_code =
            r#"{"type":"session.start","data":{"sessionId":"s","vscodeVersion":"1.1"},"id":"i","parentId":null}"#;
        let line = r#""type":"user","uuid":"u","parentUuid":null,"message":{"role":"user","content":"u"}"#;
        assert_refused_by_name(&[
            (&alpaca(""), "rows of Alpaca"),
            (&alpaca(r#","history":[]"#), "rows of Alpaca"),
            (&alpaca(r#","history":[["q","a"]]"#), "rows of Alpaca"),
            (&format!("[{}]", alpaca(r#","history":[]"#)), "rows of Alpaca"),
            (&[alpaca(""), alpaca(r#","history":[["q","a"]]"#)].join("\n"), "rows of Alpaca"),
            (
                r#"{"input":{"messages":[{"role":"user","content":"u"}]},"preferred_output":[],"non_preferred_output":[]}"#,
                "a row of preferences",
            ),
            (goose, "a stream of Goose"),
            (&[vs_code, r#"{"type":"user.message","data":{"content":"u"}}"#].join("\n"), "VS Code's Copilot Chat"),
            (&format!(r#"{{"version":"hermes-agent","sessionId":"s",{line}}}"#), "a trace of Hermes"),
            (&format!(r#"{{"version":"0.5.0","sessionId":"session-1",{line}}}"#), "iFlow CLI"),
            (r#"{"type":"metadata","protocol_version":"1.10"}"#, "wire.jsonl"),
        ]);
    }

    #[test]
    fn a_named_format_reads_them() {
        let line = r#"{"version":"hermes-agent","type":"user","uuid":"u","message":{"role":"user","content":"u"}}"#;
        assert!(read_for_test(line, by_name("claude-code"), None).is_ok());
        let row = r#"{"instruction":"i","output":"o","messages":[{"role":"user","content":"u"}]}"#;
        assert!(read_for_test(row, None, None).is_ok(), "messages beside it are its conversation");
    }
}
