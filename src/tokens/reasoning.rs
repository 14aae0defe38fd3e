//! The models that want their reasoning back on messages with calls. They refuse a request in which it lacks there.
//!
//! The column `reasoning_on_calls` of the table of models names them. Transcripts spell names in more ways than that
//! table, and name versions that it lacks, so this search is more lenient than [`models::find`].

use std::sync::OnceLock;

use crate::tokens::models::{self, Reasoning};

/// A name of the table without its provider and its maker.
struct ReasoningRow {
    name: String,
    wants: Reasoning,
}

/// Returns what the model with this name, at any provider, wants of its reasoning on messages with calls.
pub(crate) fn reasoning_of(name: &str) -> Reasoning {
    let rows = rows();
    // A provider comes before the name (`together:moonshotai/`), a variant after it (`:free`).
    let parts = name.split(['/', ':', '@']).flat_map(|part| [Some(part), part.split_once('.').map(|(_, rest)| rest)]);
    parts.flatten().map(normalized).find_map(|part| find(rows, &part)).unwrap_or(Reasoning::Free)
}

/// Returns every name of the table that begins like one that wants its reasoning.
fn rows() -> &'static [ReasoningRow] {
    static ROWS: OnceLock<Vec<ReasoningRow>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let row = |model: models::Model| {
            let name = model.name.rsplit('/').next().unwrap_or_default();
            let name = normalized(name.split(':').next().unwrap_or_default());
            ReasoningRow { name, wants: model.reasoning }
        };
        let all: Vec<ReasoningRow> = models::all().map(row).collect();
        let stems: Vec<String> =
            all.iter().filter(|row| row.wants != Reasoning::Free).map(|row| split(&row.name).0.to_owned()).collect();
        all.into_iter().filter(|row| stems.iter().any(|stem| row.name.starts_with(stem))).collect()
    })
}

/// Returns what a model wants; `None` if the table does not know its family.
fn find(rows: &[ReasoningRow], name: &str) -> Option<Reasoning> {
    let begins = |row: &&ReasoningRow| {
        name.strip_prefix(&row.name).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '.'))
    };
    if let Some(row) = rows.iter().filter(begins).max_by_key(|row| row.name.len()) {
        return Some(row.wants);
    }
    // A version that the table lacks is like the one before it.
    let (stem, version, rest) = split(name);
    let version = version?;
    let is_before = |row: &&ReasoningRow| {
        let (own_stem, own_version, _) = split(&row.name);
        own_stem == stem && own_version.is_some_and(|own| own <= version)
    };
    let last = rows.iter().filter(is_before).max_by_key(|row| (split(&row.name).1, split(&row.name).2 == rest));
    last.map(|row| row.wants)
}

/// Splits a name at its version: `kimi-k2.5-turbo` is `kimi-k`, 2.5 and `-turbo`.
fn split(name: &str) -> (&str, Option<(u32, u32)>, &str) {
    let Some(start) = name.find(|c: char| c.is_ascii_digit()) else { return (name, None, "") };
    let length = name[start..].find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(name.len() - start);
    let (version, rest) = name[start..].split_at(length);
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    (&name[..start], Some((numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))), rest)
}

/// Spells a name as the table does: in lower case, with a dot in its version (`glm-4p7`, `glm-4-7`, `GLM_4.7`).
fn normalized(name: &str) -> String {
    let name = name.trim_start_matches('~').to_ascii_lowercase().replace('_', "-");
    let bytes = name.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_point = |at: usize| {
        let is_alone = !bytes.get(at + 2).is_some_and(u8::is_ascii_alphanumeric);
        at > 0 && is_digit(at - 1) && is_digit(at + 1) && is_alone
    };
    let point = |(at, c): (usize, char)| if matches!(c, '-' | 'p') && is_point(at) { '.' } else { c };
    name.char_indices().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_by_the_names_that_transcripts_give_them() {
        for name in [
            "deepseek-v4-pro",
            "deepseek-reasoner",
            "openrouter:deepseek/deepseek-v4-pro",
            "deepseek-ai/DeepSeek-V4-Pro-0813",
            "deepseek-v4",
            "deepseek-v5-pro",
            "moonshotai/Kimi-K3",
            "kimi-k3",
            "kimi-k2.6",
            "kimi-k2-6",
            "accounts/fireworks/models/kimi-k2p5",
            "kimi-k2-thinking-turbo",
            "kimi-k2-thinking:cloud",
            "moonshot.kimi-k2-thinking",
            "MiniMax-M2",
            "MiniMax-M2.7-highspeed",
            "minimax/minimax-m3",
            "GLM-4.6",
            "glm-5.1",
            "zai-org/GLM-5.2-FP8",
            "z-ai/glm-4.7:free",
        ] {
            assert_ne!(reasoning_of(name), Reasoning::Free, "{name}");
        }
        for name in [
            "",
            "gpt-5.2",
            "claude-sonnet-5-5",
            "qwen3-max",
            "deepseek-chat",
            "deepseek/deepseek-v3.2",
            "kimi-k2",
            "kimi-k2-0905-preview",
            "moonshotai/kimi-k2-instruct",
            "glm-4.5-air",
            "chatglm-6b",
            "minimax-m1",
            "notkimi-k3",
            "mistral-large-4",
        ] {
            assert_eq!(reasoning_of(name), Reasoning::Free, "{name}");
        }
        for name in ["kimi-k3.2", "MiniMax-M2.7", "deepseek-reasoner", "kimi-k2-thinking-turbo"] {
            assert_eq!(reasoning_of(name), Reasoning::Always, "{name}");
        }
    }
}
