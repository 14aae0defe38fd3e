//! The table of models: context windows, prices and tokenizers.
//!
//! `models.tsv` has a line for each model: provider, name, window and longest output in tokens, then prices in US
//! dollars per million tokens: input, output, input from the provider's cache, writing to that cache (empty where
//! unknown), then [`Reasoning`]. It is searched as text. The prices were read in the month [`PRICES_OF`]. They
//! are those of the standard tier, and the lowest where a price depends on the length of the request or the time of
//! day.

use crate::tokens::bpe::Encoding;
use crate::tokens::counter::Counter;
use crate::tokens::family::ModelFamily;

const TABLE: &str = include_str!("models.tsv");

/// The month of the prices.
pub(crate) const PRICES_OF: &str = "2026-11";

/// The characters per token of `LangChain`'s estimate for Anthropic's models.
const ANTHROPIC_CHARS: f64 = 3.3;

/// A model of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Model {
    /// The provider, as `--model` names it.
    pub(crate) provider: &'static str,
    /// The provider's name for it.
    pub(crate) name: &'static str,
    /// The context window, in tokens.
    pub(crate) context_window: u64,
    /// The longest output in tokens, where known.
    pub(crate) max_output: Option<u64>,
    /// US dollars per million tokens of input, where known.
    pub(crate) input_price: Option<f64>,
    /// US dollars per million tokens of output, where known.
    pub(crate) output_price: Option<f64>,
    /// US dollars per million tokens of input from the provider's prompt cache, where known.
    pub(crate) cached_price: Option<f64>,
    /// US dollars per million tokens written to that cache. None where the provider charges nothing extra, so that a
    /// write costs the same as input.
    pub(crate) cache_write_price: Option<f64>,
    /// Whether it refuses a request in which a message with calls lacks the reasoning that came with it.
    pub(crate) reasoning: Reasoning,
}

/// What a model wants of the reasoning that it wrote on messages with calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reasoning {
    /// Nothing, as far as is known.
    Free,
    /// All of it, where it thinks: it can be told not to.
    Kept,
    /// All of it, and it always thinks.
    Always,
}

impl Model {
    /// Returns the counter for conversations that the model reads.
    pub(crate) fn counter(&self) -> Counter {
        counter_of(self.provider, self.name)
    }

    /// Returns `LangChain`'s estimate for the model.
    pub(crate) fn approx(&self) -> Counter {
        if self.provider == "anthropic" { Counter::Approx(ANTHROPIC_CHARS) } else { Counter::APPROX }
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

/// Returns every model, in the order of the table.
pub(crate) fn all() -> impl Iterator<Item = Model> {
    lines().filter_map(Model::parse)
}

/// Returns the number of models.
pub(crate) fn count() -> usize {
    // The first line has the names of the columns.
    memchr::memchr_iter(b'\n', TABLE.as_bytes()).count() - 1
}

/// Returns the line of each model.
fn lines() -> impl Iterator<Item = &'static str> {
    TABLE.lines().skip(1)
}

/// Finds a model by `name`, `provider:name` or `provider/name`. A name alone finds the model at its maker: a reseller
/// has other prices, and can have another window.
pub(crate) fn find(name: &str) -> Option<Model> {
    // Only the numbers of the found line are parsed.
    lines().find(|line| has_name(line, name)).and_then(Model::parse)
}

/// Returns the counter for conversations that a model of a provider reads.
pub(crate) fn counter_of(provider: &str, name: &str) -> Counter {
    let older_gpt = ["gpt-3.5", "gpt-4-"].iter().any(|prefix| name.starts_with(prefix)) || name == "gpt-4";
    match provider {
        "openai" if older_gpt => Counter::Exact(Encoding::Cl100kBase),
        "openai" => Counter::Exact(Encoding::O200kBase),
        _ => Counter::Estimate(ModelFamily::of_model(name)),
    }
}

/// Whether the model of a line has this name or full name.
fn has_name(line: &str, name: &str) -> bool {
    let mut fields = line.split('\t');
    let (Some(provider), Some(own)) = (fields.next(), fields.next()) else { return false };
    let full = || name.strip_prefix(provider).and_then(|rest| rest.strip_prefix([':', '/']));
    own == name && is_maker(provider, own) || full() == Some(own)
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
}
