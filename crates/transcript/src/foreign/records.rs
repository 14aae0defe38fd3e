//! Rows of data sets, and logs and traces of requests, that tcompact does not read.

use crate::foreign::recognizer::{Program, has_all, has_any, has_at, has_part_of, is_one_of};
use crate::json::Json;

/// Rows and traces that are told where no format reads them.
pub(super) const RECORDS: [Program; 5] = [
    Program {
        name: "a row of preferences",
        next: "jq -c '{messages: (.prompt + (.chosen // .completion))}' FILE | tcompact reads what was chosen",
        is_of: |row| has_all(row, &["prompt"]) && has_any(row, &["chosen", "completion"]),
    },
    Program::of("a run of LangSmith", |run| has_all(run, &["run_type", "inputs"])),
    Program::of("a trace as Langfuse exports it", |one| {
        has_all(one, &["input", "output"])
            && (has_any(one, &["observations"]) || is_one_of(one, "type", &["GENERATION", "SPAN", "EVENT"]))
    }),
    Program::of("a trace of MLflow", |one| {
        has_at(one, &["data", "spans"], |spans| spans.items().next().is_some())
            || one.at(&["attributes", "mlflow.spanInputs"]).is_some()
    }),
    Program::of("a trace of OpenTelemetry", |one| {
        has_any(one, &["gen_ai.input.messages", "gen_ai.output.messages"])
            || one.at(&["context", "trace_id"]).is_some() && has_all(one, &["attributes"])
            || has_at(one, &["parts"], |parts| {
                has_part_of(parts, &["tool_call", "tool_call_response"]) || parts.items().any(is_text_of_otel)
            })
    }),
];

/// Whether a part of a message is a text as OpenTelemetry spells it.
fn is_text_of_otel(part: Json<'_>) -> bool {
    part.member_is("type", "text") && part.get_text("content").is_some()
}

#[cfg(test)]
mod tests {
    use crate::foreign::recognizer::assert_refused_by_name;

    #[test]
    fn rows_and_traces_are_refused_by_name() {
        assert_refused_by_name(&[
            (r#"{"prompt":[{"role":"user","content":"u"}],"chosen":[],"rejected":[]}"#, "a row of preferences"),
            (r#"{"run_type":"llm","inputs":{},"outputs":{}}"#, "LangSmith"),
            (r#"{"input":"u","output":"a","observations":[]}"#, "Langfuse"),
            (
                r#"{"type":"GENERATION","input":{"messages":[{"role":"user","content":"u"}]},"output":{"role":"assistant","content":"a"}}"#,
                "Langfuse",
            ),
            (r#"{"info":{"trace_id":"t"},"data":{"spans":[{"name":"chat"}]}}"#, "MLflow"),
            (r#"{"name":"chat","attributes":{"mlflow.spanInputs":"{}"}}"#, "MLflow"),
            (r#"[{"role":"user","parts":[{"type":"text","content":"u"}]}]"#, "OpenTelemetry"),
        ]);
    }
}
