//! The formats: one file and one row each.
//!
//! A format knows only itself and one message at a time: how well a value fits it, how to read it, and how to write a
//! summary among its messages. The place of the message list in a file is the same for all formats
//! ([`crate::framing`]), and [`crate::detect`] finds the format of a list by comparing them.
//! Code that several formats share is in `shared`.

mod ai_sdk;
mod anthropic;
mod bedrock;
mod claude_code;
mod codex;
mod copilot_cli;
mod gemini;
mod gemini_cli;
mod inspect;
mod kimi_code;
mod langchain;
mod ollama;
mod openai_chat;
mod openai_responses;
mod opencode;
mod openhands;
mod pi;
mod pydantic_ai;
mod qwen_code;
pub(super) mod shared;
mod sharegpt;
mod tau_bench;

pub use crate::format::*;

use crate::json::{Items, Object};
use crate::message::Message;
use crate::source::Source;

/// Every format, in the order of the tables generated from it.
pub static FORMATS: &[&Format] = &[
    &openai_chat::FORMAT,
    &openai_responses::FORMAT,
    &anthropic::FORMAT,
    &bedrock::FORMAT,
    &gemini::FORMAT,
    &langchain::FORMAT,
    &claude_code::FORMAT,
    &codex::FORMAT,
    &gemini_cli::FORMAT,
    &pi::FORMAT,
    &opencode::FORMAT,
    &copilot_cli::FORMAT,
    &kimi_code::FORMAT,
    &qwen_code::FORMAT,
    &openhands::FORMAT,
    &sharegpt::FORMAT,
    &ai_sdk::FORMAT,
    &pydantic_ai::FORMAT,
    &ollama::FORMAT,
    &inspect::FORMAT,
    &tau_bench::FORMAT,
];

pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name)
}

/// The names of the agents whose sessions can be found.
pub fn agents() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().filter(|format| format.session_files.is_some()).map(|format| format.name)
}

/// Messages that violate a rule of the provider besides those of its order, with the rule.
pub fn item_violations(transcript: &Transcript<'_>) -> Vec<(usize, &'static str)> {
    let items = transcript.messages.iter().map_while(|message| transcript.format.item_of(message.json));
    shared::items::violations(items)
}

/// Reads a single entry and passes the message to `then`; `None` if the entry is not a message.
pub fn read_entry<T>(format: &Format, written: &str, then: impl FnOnce(&Message<'_>) -> T) -> Option<T> {
    let source = Source::of(written).ok()?;
    let json = source.first()?;
    let is_message = !matches!(format.session.entries(Items::only(json)).first(), Some(EntryKind::Note(_)));
    if !is_message {
        return None;
    }
    let message = format.read(&Object::of(json)).ok()?;
    Some(then(&message))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use crate::framing::read_for_test;

    /// The format modules of this folder, each with the text of its file without tests.
    fn rows() -> Vec<(String, String)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/formats");
        let files = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
        let row = |path: std::path::PathBuf| {
            let name = path.file_stem()?.to_str()?.to_owned();
            let text = fs::read_to_string(&path).ok().filter(|_| name != "mod")?;
            let code = text.split("\n#[cfg(test)]").next().unwrap_or_default().to_owned();
            Some((name, code))
        };
        files.filter_map(row).collect()
    }

    /// Conversations with an item, block or part of a kind that no reader knows, and the format of each.
    const UNKNOWN_KINDS: [(&str, &str); 6] = [
        (
            r#"{"input":[{"role":"user","content":[{"type":"input_text","text":"u"}]},{"type":"beacon","id":"b"}]}"#,
            "openai-responses",
        ),
        (r#"[{"role":"user","content":[{"text":"u"},{"novelty":{"a":1}}]}]"#, "bedrock"),
        (r#"[{"role":"user","parts":[{"text":"u"},{"novelPart":{"a":1}}]}]"#, "gemini"),
        (r#"[{"role":"user","parts":[{"type":"text","text":"u"},{"type":"hologram","a":"b"}]}]"#, "ai-sdk"),
        (r#"[{"role":"user","parts":[{"type":"reasoning-file","url":"u","mediaType":"image/png"}]}]"#, "ai-sdk"),
        (r#"[{"role":"user","content":[{"type":"tool_removal","name":"f"},{"type":"text","text":"u"}]}]"#, "anthropic"),
    ];

    #[test]
    fn a_kind_that_nobody_knows_refuses_no_file() {
        for (source, format) in UNKNOWN_KINDS {
            let document = read_for_test(source, None, None).expect(source);
            assert_eq!(document.transcripts[0].format.name, format, "{source}");
        }
        // A call that could not be paired is refused, whatever its spelling.
        for source in [
            r#"[{"role":"assistant","content":[{"novelToolUse":{"a":1}}]}]"#,
            r#"[{"role":"user","parts":[{"text":"u"},{"novelFunctionCall":{"a":1}}]}]"#,
            r#"[{"role":"assistant","parts":[{"type":"text","text":"u"},{"type":"tool-novel","a":"b"}]}]"#,
        ] {
            assert!(read_for_test(source, None, None).is_err(), "{source}");
        }
    }

    #[test]
    fn items_of_an_unknown_type_stay_with_their_call() {
        let item = |more: &str| format!(r#"{{"input":[{{"role":"user","content":"u"}},{more}]}}"#);
        let pair =
            item(r#"{"type":"beacon","call_id":"c"},{"role":"user","content":"v"},{"type":"echo","call_id":"c"}"#);
        let document = read_for_test(&pair, None, None).expect("a transcript");
        assert_eq!(document.transcripts[0].groups, [(1, 3)]);
        let alone = item(r#"{"type":"beacon","call_id":"c"}"#);
        let document = read_for_test(&alone, None, None).expect("a transcript");
        let refusal = document.transcripts[0].format.refusal(&document.transcripts[0]).expect("a refusal");
        assert!(refusal.contains("the type beacon"), "{refusal}");
    }

    #[test]
    fn a_format_knows_itself_alone() {
        let rows = rows();
        assert_eq!(rows.len(), super::FORMATS.len(), "a file for each row");
        for (name, code) in &rows {
            let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            for line in code {
                let words: Vec<&str> = line.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
                for (other, _) in rows.iter().filter(|(other, _)| other != name) {
                    let is_module = words.contains(&other.as_str()) && line.contains(&format!("{other}::"));
                    assert!(!is_module, "{name}.rs names {other}: {line}");
                }
                let imports_registry = line.contains("crate::formats::") && !line.contains("formats::shared::");
                assert!(!imports_registry, "{name}.rs imports the registry: {line}");
            }
        }
    }
}
