//! Lists of libraries that tcompact does not read, told by one of their messages or by the object
//! around them.

use crate::foreign::recognizer::{Program, has_all, has_any, has_at, is_one_of};
use crate::json::{Json, Object};

/// Libraries and stores whose conversations are told where no format reads them.
pub(super) const LIBRARIES: [Program; 11] = [
    Program { name: "messages of AutoGen", next: "", is_of: is_of_autogen },
    Program { name: "messages of Haystack", next: "its OpenAI form can be read", is_of: is_of_haystack },
    Program {
        name: "messages of LlamaIndex",
        next: "",
        is_of: |message| has_all(message, &["role", "additional_kwargs", "blocks"]),
    },
    Program {
        name: "a chat store of LlamaIndex",
        next: "",
        is_of: |one| has_all(one, &["store"]) && is_one_of(one, "class_name", &["SimpleChatStore"]),
    },
    Program { name: "messages of smolagents", next: "", is_of: is_of_smolagents },
    Program {
        name: "a session of Agno",
        next: "jq '.runs[-1]' FILE | tcompact reads its last run",
        is_of: |one| has_at(one, &["runs"], |runs| runs.items().any(|run| run.get("run_id").is_some())),
    },
    Program {
        name: "a stored list of OpenAI",
        next: "jq .data FILE | tcompact reads its items",
        is_of: |one| is_one_of(one, "object", &["list"]) && has_all(one, &["data"]),
    },
    Program { name: "a stream of Factory Droid", next: "its session file is read by Droid alone", is_of: is_of_droid },
    Program {
        name: "a chat of Grok Build",
        next: "",
        is_of: |line| has_all(line, &["type"]) && has_any(line, &["synthetic_reason", "prompt_index"]),
    },
    Program {
        name: "an archive of Hermes",
        next: "hermes sessions export --session-id ID FILE writes what tcompact reads",
        is_of: |message| has_all(message, &["message_id", "state", "text"]),
    },
    Program {
        name: "a history of Roo Code with reasoning as messages of their own",
        next: "",
        is_of: |message| has_all(message, &["ts"]) && is_one_of(message, "type", &["reasoning"]),
    },
];

fn is_of_autogen(message: &Object<'_>) -> bool {
    const TYPES: [&str; 4] = ["SystemMessage", "UserMessage", "AssistantMessage", "FunctionExecutionResultMessage"];
    let is_of_model = is_one_of(message, "type", &TYPES) && !has_any(message, &["data", "role"]);
    is_of_model || has_all(message, &["source", "type", "models_usage"])
}

fn is_of_haystack(message: &Object<'_>) -> bool {
    has_all(message, &["role", "meta", "content"]) && has_at(message, &["content"], has_call_of_haystack)
}

fn has_call_of_haystack(content: Json<'_>) -> bool {
    content.items().any(|part| part.get("tool_call").is_some() || part.get("tool_call_result").is_some())
}

fn is_of_smolagents(message: &Object<'_>) -> bool {
    let is_message = has_all(message, &["role", "tool_calls", "token_usage"]);
    let is_task = has_all(message, &["task", "task_images"]);
    let is_step = has_all(message, &["step_number", "timing"]);
    is_message || is_task || is_step
}

fn is_of_droid(line: &Object<'_>) -> bool {
    const TYPES: [&str; 4] = ["system", "message", "tool_call", "tool_result"];
    has_all(line, &["session_id", "timestamp", "id"]) && is_one_of(line, "type", &TYPES) && !has_any(line, &["subtype"])
}

#[cfg(test)]
mod tests {
    use crate::foreign::recognizer::assert_refused_by_name;
    use crate::framing::read_for_test;

    #[test]
    fn each_library_is_told_by_its_name() {
        assert_refused_by_name(&[
            (
                r#"[{"role":"system","meta":{},"content":[{"text":"s"}]},{"role":"assistant","meta":{},"content":[{"tool_call":{}}]}]"#,
                "Haystack",
            ),
            (
                r#"[{"content":"s","type":"SystemMessage"},{"content":"u","source":"user","type":"UserMessage"}]"#,
                "AutoGen",
            ),
            (r#"[{"id":"1","source":"user","models_usage":null,"content":"u","type":"TextMessage"}]"#, "AutoGen"),
            (
                r#"{"store":{"u":[{"role":"user","blocks":[]}]},"class_name":"SimpleChatStore"}"#,
                "a chat store of LlamaIndex",
            ),
            (r#"[{"type":"message","role":"user","contents":[{"type":"text","text":"u"}]}]"#, "Agent Framework"),
            (r#"[{"task":"t","task_images":null},{"step_number":1,"timing":{}}]"#, "smolagents"),
            (r#"{"session_id":"s","runs":[{"run_id":"r","messages":[]}]}"#, "jq '.runs[-1]' FILE"),
            (r#"{"object":"list","data":[{"role":"user","content":"u"}]}"#, "jq .data FILE"),
            (r#"{"type":"system","session_id":"s","timestamp":"t","model":"m","cwd":"/","id":"1"}"#, "Droid"),
            (
                r#"[{"role":"user","content":"u"},{"role":"assistant","content":"a","codex_reasoning_items":[{"id":"rs_0"}]}]"#,
                "Hermes",
            ),
            (
                r#"[{"role":"user","content":[{"type":"text","text":"u"}],"ts":1},{"type":"reasoning","summary":[],"ts":2}]"#,
                "Roo Code",
            ),
        ]);
    }

    #[test]
    fn what_a_format_reads_is_not_taken_for_a_librarys() {
        for source in [
            r#"[{"role":"user","content":"u"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}]"#,
            r#"{"prompt":"p","messages":[{"role":"user","content":"u"}]}"#,
            r#"{"object":"list","data":1,"messages":[{"role":"user","content":"u"}]}"#,
        ] {
            assert!(read_for_test(source, None, None).is_ok(), "{source}");
        }
    }
}
