//! The parameters that models accept beside the prompt: the one that limits the answer, and those that reduce reasoning
//! as far as possible. Summaries need little reasoning, and its tokens count towards the limit and the bill.
//!
//! Where the tables lack a model or are wrong, [`crate::llm::adapt`] learns from the server's answer.

mod tables;

use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;

pub(crate) use tables::{
    ANTHROPIC, DASHSCOPE, DEEPSEEK, GOOGLE, GROQ, MISTRAL, OLLAMA, OPENAI, OPENAI_RESPONSES, OPENROUTER, TOGETHER, XAI,
};

/// The parameters of one provider's models.
#[derive(Debug)]
pub(crate) struct Parameters {
    /// The member that limits the answer, as a path with dots.
    pub(crate) limit: &'static str,
    /// The older name of that member, where there is one. Compatible servers can know only this one.
    pub(crate) older_limit: Option<&'static str>,
    /// The member for an effort, as a path with dots.
    pub(crate) effort: &'static str,
    /// Switches reasoning off, as a JSON merge patch.
    pub(crate) off: &'static str,
    /// What models accept. The first matching row counts.
    rows: &'static [ParameterRow],
    /// Vendors whose tables count first, by the part of a name before the slash.
    vendors: &'static [(&'static str, &'static Parameters)],
}

/// A row of a table: what some models accept.
#[derive(Debug, Clone, Copy)]
struct ParameterRow {
    /// Names of models, with `*` for any characters.
    patterns: &'static [&'static str],
    accepts: ModelParameters,
}

/// What a model is sent so that it reasons little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ModelParameters {
    /// The request for the least reasoning.
    pub(crate) least: Least,
    /// Whether it still reasons, so that its answer needs room for that.
    pub(crate) thinks: bool,
    /// Whether it needs the older limit on compatible servers.
    older: bool,
}

/// The request for the least reasoning of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Least {
    /// None: the model does not reason by default, or has no parameter for it.
    Unasked,
    /// To switch it off.
    Off,
    /// An effort, by the provider's name.
    Effort(&'static str),
    /// Other members, as a JSON merge patch.
    Members(&'static str),
}

impl Parameters {
    /// The member that limits a model's answer; `is_own` says whether the address is the provider's own.
    pub(crate) fn limit_of(&self, model: &str, is_own: bool) -> &'static str {
        let is_older = match self.of(model) {
            Some(accepts) => accepts.older && !is_own,
            // A custom name.
            None => !is_own,
        };
        self.older_limit.filter(|_| is_older).unwrap_or(self.limit)
    }

    /// What a model accepts, by its provider's name for it; nothing where the tables do not know it.
    pub(crate) fn of(&self, model: &str) -> Option<ModelParameters> {
        let name = base_name(model);
        let vendor = model.split_once('/').map_or("", |(vendor, _)| vendor);
        let vendor = self.vendors.iter().find(|(name, _)| *name == vendor);
        match vendor.and_then(|(_, parameters)| first_match(parameters.rows, &name)) {
            // All vendors have efforts. Other members are specific to one.
            Some(accepts) if matches!(accepts.least, Least::Members(_)) => {
                Some(ModelParameters { least: Least::Effort("low"), ..accepts })
            }
            None => first_match(self.rows, &name),
            accepts => accepts,
        }
    }
}

fn first_match(rows: &[ParameterRow], name: &str) -> Option<ModelParameters> {
    let row = rows.iter().find(|row| row.patterns.iter().any(|pattern| matches_pattern(pattern, name)));
    row.map(|row| row.accepts)
}

/// The base name of a model: without its server, its fine-tuning, its date and its variant.
fn base_name(model: &str) -> String {
    let name = model.to_ascii_lowercase();
    // ft:BASE:organization:name:id
    let name = name.strip_prefix("ft:").map_or(name.as_str(), |tuned| tuned.split(':').next().unwrap_or_default());
    let name = name.rsplit('/').next().unwrap_or_default();
    // BASE:free, BASE:8b, BASE@20260101
    let name = name.split([':', '@']).next().unwrap_or_default();
    match name.find("claude-") {
        // us.anthropic.BASE-20260101-v1, and versions with a point.
        Some(at) => without_date(name[at..].trim_end_matches("-latest")).replace('.', "-"),
        None => without_date(name).to_owned(),
    }
}

/// A name up to its date.
fn without_date(name: &str) -> &str {
    DATE.find(name).map_or(name, |date| &name[..date.start()])
}

static DATE: LazyLock<Regex> = LazyLock::new(|| pattern(r"-(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8})(?:[^0-9]|$)"));

/// Whether a name matches a pattern, in which `*` stands for any characters.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == name };
    let Some(rest) = name.strip_prefix(head) else { return false };
    (0..=rest.len()).filter_map(|at| rest.get(at..)).any(|rest| matches_pattern(tail, rest))
}

/// Builds the patterns of this file.
#[cfg(test)]
pub(in crate::llm) fn patterns() -> Vec<&'static Regex> {
    vec![&*DATE]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a model is sent, as a text, and whether it still reasons.
    fn wants(parameters: &Parameters, model: &str) -> (String, bool) {
        let Some(ModelParameters { least, thinks, .. }) = parameters.of(model) else {
            return ("unknown".to_owned(), false);
        };
        let text = match least {
            Least::Unasked => "nothing",
            Least::Off => "off",
            Least::Effort(effort) => effort,
            Least::Members(members) => members,
        };
        (text.to_owned(), thinks)
    }

    #[test]
    fn the_first_pattern_counts_however_a_name_is_dressed() {
        let dress = |base: &str| {
            let forms =
                ["{}", "{}-2026-04-23", "{}-20260423", "openai/{}", "ft:{}:acme::9x", "OPENAI/{}:free", "{}@20260423"];
            forms.map(|form| form.replace("{}", base))
        };
        for (base, least, thinks) in [
            ("gpt-6-astra", "low", true),
            ("gpt-6.1-sol", "low", true),
            ("gpt-6.1-terra", "none", false),
            ("gpt-6-luna", "none", false),
            ("gpt-6.2-astra", "low", true),
            ("gpt-6-cyber", "low", true),
            ("gpt-5.6-sol", "none", false),
            ("gpt-5.5", "none", false),
            ("gpt-5.5-pro", "medium", true),
            ("gpt-5.2-pro", "medium", true),
            ("gpt-5.1-chat", "nothing", true),
            ("gpt-5.4-mini", "nothing", false),
            ("gpt-5.3-codex", "nothing", false),
            ("gpt-5.3-codex-spark", "low", true),
            ("gpt-5-chat", "nothing", false),
            ("gpt-5-pro", "nothing", true),
            ("gpt-5-mini", "minimal", true),
            ("gpt-5-codex", "low", true),
            ("o1", "low", true),
            ("o1-mini", "nothing", true),
            ("o3-pro", "low", true),
            ("gpt-4.1-mini", "nothing", false),
            ("my-deployment", "unknown", false),
            ("gpt-neox", "unknown", false),
        ] {
            for name in dress(base) {
                for table in [&OPENAI, &OPENAI_RESPONSES] {
                    assert_eq!(wants(table, &name), (least.to_owned(), thinks), "{name}");
                }
            }
        }
    }

    #[test]
    fn the_least_that_each_provider_takes() {
        let between = r#"{"thinking":{"type":"between_tools"},"output_config":{"effort":"low"}}"#;
        let budget = r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":128}}}"#;
        for (parameters, name, least, thinks) in [
            (&ANTHROPIC, "claude-fable-5-2", "low", true),
            (&ANTHROPIC, "claude-opus-5-5-20260922", "low", true),
            (&ANTHROPIC, "claude-sonnet-5-5", between, true),
            (&ANTHROPIC, "us.anthropic.claude-haiku-5-5-20260901-v1:0", "off", false),
            (&ANTHROPIC, "claude-opus-5-latest", "off", false),
            (&ANTHROPIC, "claude-opus-6", "low", true),
            (&ANTHROPIC, "claude-sonnet-4-5", "nothing", false),
            (&ANTHROPIC, "claude-3-5-haiku-20241022", "nothing", false),
            (&ANTHROPIC, "deployment", "nothing", true),
            (&GOOGLE, "gemini-4-argon", "low", true),
            (&GOOGLE, "models/gemini-3.8-flash", "low", true),
            (&GOOGLE, "gemini-3.1-flash-lite", "minimal", true),
            (&GOOGLE, "gemini-3-pro-preview", "low", true),
            (&GOOGLE, "gemini-flash-lite-latest", "low", true),
            (&GOOGLE, "gemini-2.5-pro", budget, true),
            (&GOOGLE, "gemini-2.5-flash-lite", "off", false),
            (&GOOGLE, "gemini-2.5-flash-image", "nothing", false),
            (&GOOGLE, "gemini-2.0-flash", "nothing", false),
            (&GOOGLE, "gemma-3-27b-it", "unknown", false),
            (&GOOGLE, "gemma-4-12b", "minimal", true),
            (&DEEPSEEK, "deepseek-v4-pro", "off", false),
            (&DEEPSEEK, "deepseek-flash", "off", false),
            (&DASHSCOPE, "qwen3.7-plus", "off", false),
            (&DASHSCOPE, "qwen3-235b-a22b-thinking-2507", "nothing", true),
            (&DASHSCOPE, "qwen-max", "unknown", false),
            (&GROQ, "openai/gpt-oss-20b", "low", true),
            (&GROQ, "qwen/qwen3-32b", "none", false),
            (&GROQ, "llama-3.3-70b-versatile", "unknown", false),
            (&MISTRAL, "mistral-large-4-2610", "low", true),
            (&MISTRAL, "mistral-medium-latest", "none", false),
            (&MISTRAL, "magistral-small-2509", "nothing", true),
            (&TOGETHER, "Qwen/Qwen3.5-397B-A17B", "off", false),
            (&TOGETHER, "meta-llama/Llama-3.3-70B-Instruct-Turbo", "nothing", false),
            (&XAI, "grok-4.7", "low", true),
            (&XAI, "grok-4-0709", "none", false),
            (&XAI, "grok-3-mini", "low", true),
            (&OLLAMA, "gpt-oss:20b", "low", true),
            (&OLLAMA, "qwen3:8b", "off", false),
            (&OPENROUTER, "anthropic/claude-opus-5.5", "low", true),
            (&OPENROUTER, "anthropic/claude-sonnet-5.5", "low", true),
            (&OPENROUTER, "openai/gpt-5.5:online", "none", false),
            (&OPENROUTER, "google/gemini-2.5-pro", "low", true),
            (&OPENROUTER, "x-ai/grok-4.6", "low", true),
            (&OPENROUTER, "deepseek/deepseek-v4-flash", "off", false),
            (&OPENROUTER, "meta-llama/llama-3.3-70b", "nothing", false),
        ] {
            assert_eq!(wants(parameters, name), (least.to_owned(), thinks), "{name}");
        }
    }

    #[test]
    fn patterns() {
        for (pattern, name) in [("a*", "a"), ("a*c", "abc"), ("*", ""), ("*b*", "aéb"), ("a.*-c", "a.b-c-c")] {
            assert!(matches_pattern(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("a", "ab"), ("a*c", "ab"), ("*b", "é"), ("a.*-c", "a.b-cd")] {
            assert!(!matches_pattern(pattern, name), "{pattern} {name}");
        }
    }
}
