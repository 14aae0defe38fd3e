//! Exports and stores of chat programs and editors that tcompact does not read, told by one of their messages or by the
//! object around them.

use crate::foreign::recognizer::{Program, has_all, has_any, has_at, has_texts, is_one_of};
use crate::json::{Json, JsonKind, Object};

/// Chat programs and editors whose files are told where no format reads them.
pub(super) const APPS: [Program; 14] = [
    Program::of("messages of LibreChat", |message| has_all(message, &["messageId", "isCreatedByUser"])),
    Program::of("an export of LobeChat", |one| has_all(one, &["exportType", "state"])),
    Program::of("messages of Dify", |one| {
        has_all(one, &["conversation_id", "query", "answer"]) || has_at(one, &["data"], has_row_of_dify)
    }),
    Program::of("messages of Flowise", |message| {
        has_any(message, &["chatflowid"]) || is_one_of(message, "role", &["userMessage", "apiMessage"])
    }),
    Program {
        name: "the memory of an agent of n8n",
        next: "jq '[.[].message]' FILE | tcompact reads its messages",
        is_of: |row| has_all(row, &["session_id"]) && has_at(row, &["message", "type"], is_speaker_of_n8n),
    },
    Program::of("a prompt of Google AI Studio", |one| one.at(&["chunkedPrompt", "chunks"]).is_some()),
    Program::of("a conversation of Amazon Q", |one| {
        has_at(one, &["user", "content"], |content| content.kind() == JsonKind::Object) && has_all(one, &["assistant"])
    }),
    Program::of("a chat of Kiro", |one| has_all(one, &["executionId", "chat"])),
    Program {
        name: "what Cline or Roo Code shows of a task (ui_messages.json)",
        next: "tcompact reads api_conversation_history.json beside it",
        is_of: |message| {
            has_all(message, &["ts"]) && (has_texts(message, &["type", "say"]) || has_texts(message, &["type", "ask"]))
        },
    },
    Program::of("a chat of Cursor", |one| has_any(one, &["composerId", "bubbleId"])),
    Program::of("a chat of Windsurf", |one| has_all(one, &["cascadeId", "trajectory"])),
    Program::of("a text thread of Zed", |one| is_one_of(one, "zed", &["context"])),
    Program::of("a chat of VS Code", |one| {
        has_all(one, &["responderUsername", "requests"])
            || one.at(&["v", "requests"]).is_some()
            || has_all(one, &["kind", "k", "v"])
    }),
    Program::of("a log of Copilot Chat in VS Code", |one| has_at(one, &["prompts"], has_prompt_with_logs)),
];

fn has_row_of_dify(rows: Json<'_>) -> bool {
    rows.items().map(Object::of).any(|row| has_all(&row, &["conversation_id", "query", "answer"]))
}

/// Whether a type of a message in the memory of n8n is that of a speaker.
fn is_speaker_of_n8n(kind: Json<'_>) -> bool {
    kind.text().is_some_and(|kind| kind.is_in(&["human", "ai"]))
}

fn has_prompt_with_logs(prompts: Json<'_>) -> bool {
    prompts.items().any(|prompt| prompt.get("logs").is_some())
}

#[cfg(test)]
mod tests {
    use crate::foreign::recognizer::assert_refused_by_name;

    #[test]
    fn chat_programs_and_editors_are_refused_by_name() {
        assert_refused_by_name(&[
            (r#"{"requesterUsername":"u","responderUsername":"r","requests":[]}"#, "VS Code"),
            (r#"[{"messageId":"a","isCreatedByUser":true,"text":"u"}]"#, "LibreChat"),
            (
                r#"{"conversationId":"c","messages":[{"messageId":"a","isCreatedByUser":true,"text":"u","children":[]}]}"#,
                "LibreChat",
            ),
            (r#"{"exportType":"sessions","state":{"messages":[{"role":"user","content":"u"}]}}"#, "LobeChat"),
            (r#"{"data":[{"conversation_id":"c","query":"u","answer":"a"}],"has_more":false}"#, "Dify"),
            (r#"[{"role":"userMessage","chatflowid":"c","content":"u"}]"#, "Flowise"),
            (r#"[{"id":1,"session_id":"s","message":{"type":"human","content":"u"}}]"#, "jq '[.[].message]' FILE"),
            (r#"{"runSettings":{},"chunkedPrompt":{"chunks":[{"text":"u","role":"user"}]}}"#, "AI Studio"),
            (
                r#"{"next_message":null,"history":[{"user":{"content":{"Prompt":{"prompt":"u"}}},"assistant":{}}]}"#,
                "Amazon Q",
            ),
            (r#"{"executionId":"e","chat":[{"role":"human","content":"u"}]}"#, "Kiro"),
            (r#"[{"ts":1,"type":"say","say":"task","text":"u"}]"#, "api_conversation_history.json"),
            (r#"[{"ts":1,"type":"ask","ask":"tool","text":"{}"}]"#, "Roo Code"),
            (r#"{"composerId":"c","conversation":[{"type":1,"bubbleId":"b","text":"u"}]}"#, "Cursor"),
            (r#"{"cascadeId":"c","trajectory":{"steps":[]}}"#, "Windsurf"),
            (r#"{"zed":"context","text":"u","messages":[{"id":1,"start":0}]}"#, "a text thread of Zed"),
            ("{\"kind\":0,\"v\":{\"requests\":[]}}\n{\"kind\":2,\"k\":[\"requests\"],\"v\":[]}", "a chat of VS Code"),
            (r#"{"prompts":[{"prompt":"u","logs":[]}]}"#, "Copilot Chat"),
        ]);
    }
}
