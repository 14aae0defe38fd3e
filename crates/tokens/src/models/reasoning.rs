//! What models want of the reasoning that they wrote, by their names.

use std::sync::OnceLock;

use crate::models::{Model, Reasoning, all};

/// A name of the table without its provider and its maker.
struct ReasoningRow {
    name: String,
    wants: Reasoning,
}

/// What the model with this name, at any provider, wants of its reasoning on messages with calls.
pub fn reasoning_of(name: &str) -> Reasoning {
    let rows = rows();
    // A provider comes before the name (`together:moonshotai/`), a variant after it (`:free`).
    let parts = name.split(['/', ':', '@']).flat_map(|part| [Some(part), part.split_once('.').map(|(_, rest)| rest)]);
    parts.flatten().map(normalized).find_map(|part| wanted_in(rows, &part)).unwrap_or(Reasoning::Free)
}

/// Every name of the table that begins like one that wants its reasoning.
fn rows() -> &'static [ReasoningRow] {
    static ROWS: OnceLock<Vec<ReasoningRow>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let row = |model: Model| {
            let name = model.name.rsplit('/').next().unwrap_or_default();
            let name = normalized(name.split(':').next().unwrap_or_default());
            ReasoningRow { name, wants: model.reasoning }
        };
        let all: Vec<ReasoningRow> = all().map(row).collect();
        let stems: Vec<String> = all
            .iter()
            .filter(|row| row.wants != Reasoning::Free)
            .map(|row| split_version(&row.name).0.to_owned())
            .collect();
        all.into_iter().filter(|row| stems.iter().any(|stem| row.name.starts_with(stem))).collect()
    })
}

/// What a model wants; `None` if the table does not know its family.
fn wanted_in(rows: &[ReasoningRow], name: &str) -> Option<Reasoning> {
    let begins = |row: &&ReasoningRow| {
        name.strip_prefix(&row.name).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '.'))
    };
    if let Some(row) = rows.iter().filter(begins).max_by_key(|row| row.name.len()) {
        return Some(row.wants);
    }
    // A version that the table lacks is like the one before it.
    let (stem, version, rest) = split_version(name);
    let version = version?;
    let is_before = |row: &&ReasoningRow| {
        let (own_stem, own_version, _) = split_version(&row.name);
        own_stem == stem && own_version.is_some_and(|own| own <= version)
    };
    let last = rows
        .iter()
        .filter(is_before)
        .max_by_key(|row| (split_version(&row.name).1, split_version(&row.name).2 == rest));
    last.map(|row| row.wants)
}

/// Splits a name at its version: `kimi-k2.5-turbo` is `kimi-k`, 2.5 and `-turbo`.
fn split_version(name: &str) -> (&str, Option<(u32, u32)>, &str) {
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

/// The base names of these models. Providers put prefixes before them (`anthropic/`, `us.anthropic.`) and dates and
/// versions behind (`-20260901`, `@20260901`, `-v1:0`, `[1m]`), and some write dots for hyphens.
const BINDING: [&str; 7] = [
    "claude-fable-5-1",
    "claude-fable-5-2",
    "claude-mythos-5-1",
    "claude-mythos-5-2",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
];

/// Whether the model with this name, at any provider, binds its thinking to the messages before it.
pub fn binds_thinking(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['.', '_'], "-");
    BINDING.iter().any(|model| {
        name.match_indices(model).any(|(at, _)| {
            let (before, behind) = (&name[..at], &name[at + model.len()..]);
            !before.ends_with(char::is_alphanumeric) && !behind.starts_with(char::is_alphanumeric)
        })
    })
}

/// The names of makers, and what their models' names contain.
const MAKERS: [(&str, &[&str]); 10] = [
    ("anthropic", &["claude"]),
    ("deepseek", &["deepseek"]),
    ("google", &["gemini", "gemma"]),
    ("minimax", &["minimax"]),
    ("mistral", &["mistral", "magistral", "codestral", "devstral", "ministral"]),
    ("moonshot", &["kimi"]),
    ("openai", &["gpt", "codex", "openai"]),
    ("qwen", &["qwen", "qwq"]),
    ("xai", &["grok"]),
    ("zai", &["glm"]),
];

/// The maker of the model with this name, at any provider; `None` if the name does not tell.
pub fn maker_of(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let model = name.rsplit(['/', ':']).next().unwrap_or_default();
    let is_numbered = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    if model.strip_prefix('o').is_some_and(is_numbered) {
        return Some("openai");
    }
    MAKERS.iter().find(|(_, words)| words.iter().any(|word| name.contains(word))).map(|(maker, _)| *maker)
}

/// Whether the model with this name, at any provider, is a Gemini of the third generation or later. These refuse a call of
/// the current turn that lacks its signature.
pub fn wants_signatures(name: &str) -> bool {
    const STEM: &str = "gemini-";
    let name = name.to_ascii_lowercase().replace('_', "-");
    name.match_indices(STEM).any(|(at, _)| {
        let behind = &name[at + STEM.len()..];
        let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        let generation: u32 = behind[..digits].parse().unwrap_or(0);
        !name[..at].ends_with(char::is_alphanumeric) && (3..100).contains(&generation)
    })
}
