//! The table of models: context windows, prices and tokenizers; and what models want of their reasoning.
//!
//! `models.tsv` has a line for each model: provider, name, window and longest output in tokens, then prices in US
//! dollars per million tokens: input, output, input from the provider's cache, writing to that cache (empty where
//! unknown), then [`Reasoning`]. It is searched as text. The prices were read in the month [`PRICES_OF`]. They
//! are those of the standard tier, and the lowest where a price depends on the length of the request or the time of
//! day.
//!
//! Some models want their reasoning back on messages with calls: the last column names them. Transcripts spell names in
//! more ways than the table, and name versions that it lacks, so [`reasoning_of`] is more lenient than [`find`]. Others
//! sign their thinking for the exact messages before it, and refuse it once those have changed: [`binds_thinking`].

mod reasoning;

use crate::bpe::Encoding;
use crate::counter::Counter;
use crate::family::ModelFamily;

pub use reasoning::{binds_thinking, maker_of, reasoning_of, wants_signatures};

const TABLE: &str = include_str!("models.tsv");

/// The month of the prices.
pub const PRICES_OF: &str = "2026-11";

/// The characters per token of `LangChain`'s estimate for Anthropic's models.
const ANTHROPIC_CHARS: f64 = 3.3;

/// A model of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    /// The provider, as `--model` names it.
    pub provider: &'static str,
    /// The provider's name for it.
    pub name: &'static str,
    /// The context window, in tokens.
    pub context_window: u64,
    /// The longest output in tokens, where known.
    pub max_output: Option<u64>,
    /// US dollars per million tokens of input, where known.
    pub input_price: Option<f64>,
    /// US dollars per million tokens of output, where known.
    pub output_price: Option<f64>,
    /// US dollars per million tokens of input from the provider's prompt cache, where known.
    pub cached_price: Option<f64>,
    /// US dollars per million tokens written to that cache. None where the provider charges nothing extra, so that a
    /// write costs the same as input.
    pub cache_write_price: Option<f64>,
    /// Whether it refuses a request in which a message with calls lacks the reasoning that came with it.
    pub reasoning: Reasoning,
}

/// What a model wants of the reasoning that it wrote on messages with calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reasoning {
    /// Nothing, as far as is known.
    Free,
    /// All of it, where it thinks: it can be told not to.
    Kept,
    /// All of it, and it always thinks.
    Always,
}

impl Model {
    /// The counter for conversations that the model reads.
    pub fn counter(&self) -> Counter {
        counter_of(self.provider, self.name)
    }

    fn parse(line: &'static str) -> Option<Model> {
        let mut fields = line.split('\t');
        Some(Model {
            provider: fields.next()?,
            name: fields.next()?,
            context_window: fields.next()?.parse().ok()?,
            max_output: fields.next()?.parse().ok(),
            input_price: fields.next()?.parse().ok(),
            output_price: fields.next()?.parse().ok(),
            cached_price: fields.next()?.parse().ok(),
            cache_write_price: fields.next()?.parse().ok(),
            reasoning: match fields.next()? {
                "always" => Reasoning::Always,
                "kept" => Reasoning::Kept,
                _ => Reasoning::Free,
            },
        })
    }
}

/// In the order of the table.
pub fn all() -> impl Iterator<Item = Model> {
    lines().filter_map(Model::parse)
}

pub fn count() -> usize {
    // The first line has the names of the columns.
    memchr::memchr_iter(b'\n', TABLE.as_bytes()).count() - 1
}

/// The line of each model.
fn lines() -> impl Iterator<Item = &'static str> {
    TABLE.lines().skip(1)
}

/// Finds a model by `name`, `provider:name` or `provider/name`. A name alone finds the model at its maker: a reseller
/// has other prices, and can have another window.
pub fn find(name: &str) -> Option<Model> {
    // Only the numbers of the found line are parsed.
    lines().find(|line| has_name(line, name)).and_then(Model::parse)
}

/// The counter for conversations that a model of a provider reads.
pub fn counter_of(provider: &str, name: &str) -> Counter {
    let older_gpt = ["gpt-3.5", "gpt-4-"].iter().any(|prefix| name.starts_with(prefix)) || name == "gpt-4";
    match provider {
        "openai" if older_gpt => Counter::Exact(Encoding::Cl100kBase),
        "openai" => Counter::Exact(Encoding::O200kBase),
        _ => Counter::Estimate(ModelFamily::of_model(name)),
    }
}

/// The counter of the systems that estimate as `LangChain` does, where they have a model of this name, in the table or
/// not: it takes fewer characters per token for the class of Anthropic's models, at Anthropic and on Google's Vertex.
pub fn approx_of(name: &str) -> Counter {
    let (provider, name) = match find(name) {
        Some(model) => (model.provider, model.name),
        None => name.split_once(':').unwrap_or(("", name)),
    };
    let is_anthropic = provider == "anthropic" || provider == "google" && name.starts_with("claude");
    if is_anthropic { Counter::Approx(ANTHROPIC_CHARS) } else { Counter::APPROX }
}

/// Whether the model of a line has this name or full name.
fn has_name(line: &str, name: &str) -> bool {
    let mut fields = line.split('\t');
    let (Some(provider), Some(model)) = (fields.next(), fields.next()) else { return false };
    if model == name && is_maker(provider, model) {
        return true;
    }
    let Some(rest) = name.strip_prefix(provider) else { return false };
    rest.strip_prefix([':', '/']) == Some(model)
}

/// Whether a provider made the model that it serves.
pub(super) fn is_maker(provider: &str, name: &str) -> bool {
    const RESELLERS: [&str; 3] = ["groq", "openrouter", "together"];
    let is_resold = provider == "google" && name.starts_with("claude");
    !is_resold && !RESELLERS.contains(&provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_model() {
        assert_eq!(all().count(), count());
        assert!(all().all(|model| model.context_window > 0));
    }

    #[test]
    fn names_and_full_names() {
        let model = find("gpt-4o").expect("known");
        assert_eq!((model.provider, model.context_window), ("openai", 128_000));
        assert_eq!(model.counter(), Counter::Exact(Encoding::O200kBase));
        assert_eq!(find("openai:gpt-4o"), Some(model));
        assert_eq!(find("openai/gpt-4o"), Some(model));
        assert_eq!(find("gpt-4").expect("known").counter(), Counter::Exact(Encoding::Cl100kBase));
        assert_eq!(find("gpt-4.1").expect("known").counter(), Counter::Exact(Encoding::O200kBase));
        assert_eq!(
            find("claude-haiku-4-5").expect("known").counter(),
            Counter::Estimate(ModelFamily::of_model("claude-haiku-4-5"))
        );
        assert_eq!(find("openai/gpt-oss-20b").map(|model| model.provider), Some("openai"));
        assert_eq!(find("groq:openai/gpt-oss-20b").expect("known").context_window, 131_072);
    }

    #[test]
    fn a_name_alone_is_its_makers() {
        assert_eq!(find("claude-haiku-4-5").map(|model| model.provider), Some("anthropic"));
        assert_eq!(find("llama-3.3-70b-versatile"), None, "those who serve it have not made it");
        assert!(find("groq:llama-3.3-70b-versatile").is_some() && find("groq/llama-3.3-70b-versatile").is_some());
        let mut names: Vec<&str> =
            all().filter(|model| is_maker(model.provider, model.name)).map(|model| model.name).collect();
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "two makers of one model: {twice:?}");
    }

    #[test]
    fn most_prices_are_known() {
        let priced = all().filter(|model| model.input_price.is_some()).count();
        assert!(priced > 300, "{priced}");
        assert_eq!(find("openai/gpt-4o").expect("known").input_price, Some(2.5));
        // It forwards to other models, at their prices.
        assert_eq!(find("openrouter:openrouter/auto").expect("known").input_price, None);
        assert!(all().all(|model| model.input_price.is_none_or(|price| price >= 0.0)));
    }

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

    #[test]
    fn makers_by_the_names_of_their_models() {
        for (name, maker) in [
            ("gpt-5.2-codex", Some("openai")),
            ("openrouter:openai/gpt-5.6", Some("openai")),
            ("o3", Some("openai")),
            ("us.anthropic.claude-opus-4-5-v1:0", Some("anthropic")),
            ("moonshotai/Kimi-K3", Some("moonshot")),
            ("grok-4", Some("xai")),
            ("team-deployment-3", None),
            ("opus", None),
            ("", None),
        ] {
            assert_eq!(maker_of(name), maker, "{name}");
        }
    }

    #[test]
    fn geminis_that_want_signatures() {
        for name in [
            "gemini-3-pro-preview",
            "gemini-3.5-flash",
            "google/gemini-3.1-pro",
            "models/gemini-3-flash-preview",
            "openrouter:google/gemini-3-pro-preview:free",
            "vertex_ai/gemini-3-pro@default",
            "google.gemini-3-pro",
            "projects/p/locations/global/publishers/google/models/gemini-3-pro-preview",
            "Gemini-4",
            "gemini_3_pro",
        ] {
            assert!(wants_signatures(name), "{name}");
        }
        for name in [
            "",
            "gemini",
            "gemini-",
            "gemini-2.5-pro",
            "gemini-2.0-flash-thinking-exp",
            "models/gemini-1.5-pro",
            "gemini-pro",
            "gemini-embedding-001",
            "gemini-exp-1206",
            "notgemini-3-pro",
            "gemma-3-27b-it",
            "claude-sonnet-5-5",
        ] {
            assert!(!wants_signatures(name), "{name}");
        }
    }

    #[test]
    fn names_as_providers_write_them() {
        for name in [
            "claude-sonnet-5-5",
            "claude-sonnet-5-5-20260915",
            "claude-sonnet-5-5-latest",
            "claude-sonnet-5-5[1m]",
            "claude-sonnet-5-5@20260915",
            "vertex_ai/claude-sonnet-5-5@default",
            "anthropic:claude-sonnet-5-5",
            "openrouter:anthropic/claude-sonnet-5.5:beta",
            "bedrock/global.anthropic.claude-sonnet-5-5-20260915-v1:0",
            "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-sonnet-5-5-v1:0",
            "Claude-Sonnet-5-5",
            "claude-mythos-5-2",
        ] {
            assert!(binds_thinking(name), "{name}");
        }
        for name in [
            "claude-sonnet-5",
            "claude-sonnet-5-20260501",
            "claude-sonnet-5-50",
            "claude-opus-4-5-20251101",
            "claude-3-5-sonnet-20241022",
            "claude-fable-5",
            "notclaude-sonnet-5-5",
            "gpt-5.5",
            "<synthetic>",
            "",
        ] {
            assert!(!binds_thinking(name), "{name}");
        }
    }
}
