//! What models want of the reasoning that they wrote, by their names.

use std::sync::OnceLock;

use crate::models::{Reasoning, all};

/// A name of the table without its provider and its maker.
struct ReasoningRow {
    name: String,
    wants: Reasoning,
}

/// What the model with this name, at any provider, wants of its reasoning on messages with calls.
pub fn reasoning_of(name: &str) -> Reasoning {
    let rows = rows();
    // A provider comes before the name (`together:moonshotai/`), a variant after it (`:free`).
    for part in name.split(['/', ':', '@']) {
        if let Some(wants) = wanted_in(rows, &normalized(part)) {
            return wants;
        }
        if let Some((_, rest)) = part.split_once('.')
            && let Some(wants) = wanted_in(rows, &normalized(rest))
        {
            return wants;
        }
    }
    Reasoning::Free
}

/// Every name of the table that begins like one that wants its reasoning.
fn rows() -> &'static [ReasoningRow] {
    static ROWS: OnceLock<Vec<ReasoningRow>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let mut rows = Vec::new();
        let mut stems = Vec::new();
        for model in all() {
            let name = model.name.rsplit('/').next().unwrap_or_default();
            let name = normalized(name.split(':').next().unwrap_or_default());
            if model.reasoning != Reasoning::Free {
                stems.push(VersionedName::new(&name).stem.to_owned());
            }
            rows.push(ReasoningRow { name, wants: model.reasoning });
        }
        rows.retain(|row| stems.iter().any(|stem| row.name.starts_with(stem)));
        rows
    })
}

/// What a model wants; `None` if the table does not know its family.
fn wanted_in(rows: &[ReasoningRow], name: &str) -> Option<Reasoning> {
    if let Some(row) = rows.iter().filter(|row| begins_with_model(name, &row.name)).max_by_key(|row| row.name.len()) {
        return Some(row.wants);
    }
    // A version that the table lacks is like the one before it, where there is one with the same ending.
    let asked = VersionedName::new(name);
    let asked_version = asked.version?;
    let mut best = None;
    for row in rows {
        let known = VersionedName::new(&row.name);
        let Some(version) = known.version else { continue };
        if known.stem != asked.stem || version > asked_version {
            continue;
        }
        let rank = (version, known.rest == asked.rest);
        if best.is_none_or(|(best_rank, _)| rank >= best_rank) {
            best = Some((rank, row.wants));
        }
    }
    let (_, wants) = best?;
    Some(wants)
}

/// Whether a name is that of a model, with a variant behind it or not.
fn begins_with_model(name: &str, model: &str) -> bool {
    name.strip_prefix(model).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '.'))
}

/// A name, split at its version: `kimi-k2.5-turbo` is `kimi-k`, 2.5 and `-turbo`.
struct VersionedName<'n> {
    stem: &'n str,
    version: Option<(u32, u32)>,
    rest: &'n str,
}

impl<'n> VersionedName<'n> {
    fn new(name: &'n str) -> Self {
        let Some(start) = name.find(|c: char| c.is_ascii_digit()) else {
            return VersionedName { stem: name, version: None, rest: "" };
        };
        let (stem, numbered) = name.split_at(start);
        let length = numbered.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(numbered.len());
        let (version, rest) = numbered.split_at(length);
        let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        VersionedName { stem, version: Some(version), rest }
    }
}

/// Spells a name as the table does: in lower case, with a dot in its version (`glm-4p7`, `glm-4-7`, `GLM_4.7`).
fn normalized(name: &str) -> String {
    let name = name.trim_start_matches('~').to_ascii_lowercase().replace('_', "-");
    let mut normalized = String::with_capacity(name.len());
    for (at, c) in name.char_indices() {
        let is_point = matches!(c, '-' | 'p') && stands_between_digits(name.as_bytes(), at);
        normalized.push(if is_point { '.' } else { c });
    }
    normalized
}

/// Whether a digit stands before a place, and a single one behind it.
fn stands_between_digits(name: &[u8], at: usize) -> bool {
    at > 0
        && name[at - 1].is_ascii_digit()
        && name.get(at + 1).is_some_and(u8::is_ascii_digit)
        && !name.get(at + 2).is_some_and(u8::is_ascii_alphanumeric)
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
    for model in BINDING {
        for (at, _) in name.match_indices(model) {
            let (before, behind) = (&name[..at], &name[at + model.len()..]);
            if !before.ends_with(char::is_alphanumeric) && !behind.starts_with(char::is_alphanumeric) {
                return true;
            }
        }
    }
    false
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
    if let Some(rest) = model.strip_prefix('o')
        && rest.starts_with(|c: char| c.is_ascii_digit())
    {
        return Some("openai");
    }
    for (maker, words) in MAKERS {
        if words.iter().any(|word| name.contains(word)) {
            return Some(maker);
        }
    }
    None
}

/// Whether the model with this name, at any provider, is a Gemini of the third generation or later. These refuse a call of
/// the current turn that lacks its signature.
pub fn wants_signatures(name: &str) -> bool {
    const STEM: &str = "gemini-";
    let name = name.to_ascii_lowercase().replace('_', "-");
    for (at, _) in name.match_indices(STEM) {
        let behind = &name[at + STEM.len()..];
        let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        let generation: u32 = behind[..digits].parse().unwrap_or(0);
        if !name[..at].ends_with(char::is_alphanumeric) && (3..100).contains(&generation) {
            return true;
        }
    }
    false
}
