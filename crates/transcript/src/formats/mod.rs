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
mod gemini;
mod gemini_cli;
mod inspect;
mod kimi_code;
mod langchain;
mod ollama;
mod openai_chat;
mod openai_responses;
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
pub static FORMATS: &[&dyn Format] = &[
    &openai_chat::OpenAiChat,
    &openai_responses::OpenAiResponses,
    &anthropic::Anthropic,
    &bedrock::Bedrock,
    &gemini::Gemini,
    &langchain::LangChain,
    &claude_code::ClaudeCode,
    &codex::Codex,
    &gemini_cli::GeminiCli,
    &pi::Pi,
    &kimi_code::KimiCode,
    &qwen_code::QwenCode,
    &openhands::OpenHands,
    &sharegpt::ShareGpt,
    &ai_sdk::AiSdk,
    &pydantic_ai::PydanticAi,
    &ollama::Ollama,
    &inspect::Inspect,
    &tau_bench::TauBench,
];

pub fn by_name(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}

/// The names of the agents whose sessions can be found.
pub fn agents() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().filter(|format| format.session_files().is_some()).map(|format| format.name())
}

/// Reads a single entry and passes the message to `then`; `None` if the entry is not a message.
pub fn read_entry<T>(format: &dyn Format, written: &str, then: impl FnOnce(&Message<'_>) -> T) -> Option<T> {
    let source = Source::of(written).ok()?;
    let json = source.first()?;
    let is_message = !matches!(format.entries(Items::only(json)).first(), Some(EntryKind::Note(_)));
    is_message.then(|| format.message(&Object::of(json)).ok()).flatten().map(|message| then(&message))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

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
