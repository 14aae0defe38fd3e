//! What is known of models: context windows, prices, and which tokenizer counts for them.
//!
//! `models.tsv` has a line for each model: provider, name, window and longest output in tokens, then prices in US dollars
//! per million tokens: input, output, input from the provider's cache, writing to that cache (empty where unknown). It is
//! searched as text; nothing is built from it. [`PRICES_OF`] is the month the prices were read; they are the standard
//! tier, and the lowest where the price depends on the length of the request or the time of day.

use std::collections::HashSet;

use crate::tokens::bpe::Encoding;
use crate::tokens::counter::Counter;

const TABLE: &str = include_str!("models.tsv");

/// The month of the prices.
pub(crate) const PRICES_OF: &str = "2026-11";

/// Characters a token that `LangChain` counts with for Anthropic's models.
const ANTHROPIC_CHARS: f64 = 3.3;

/// One model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Model {
    /// Who serves it, as `--model` names providers.
    pub(crate) provider: &'static str,
    /// The provider's name for it.
    pub(crate) name: &'static str,
    /// Tokens it can read.
    pub(crate) context_window: u64,
    /// Tokens it can write, where known.
    pub(crate) max_output: Option<u64>,
    /// US dollars per million tokens it reads, where known.
    pub(crate) input_price: Option<f64>,
    /// US dollars per million tokens it writes, where known.
    pub(crate) output_price: Option<f64>,
    /// US dollars per million tokens it reads from the provider's prompt cache, where known.
    pub(crate) cached_price: Option<f64>,
    /// US dollars per million tokens written to that cache. Providers that charge nothing extra for it have none here:
    /// there a write costs what input costs.
    pub(crate) cache_write_price: Option<f64>,
}

impl Model {
    /// How a conversation is counted that the model is to read.
    pub(crate) fn counter(&self) -> Counter {
        counter_of(self.provider, self.name)
    }

    /// How `LangChain` estimates a conversation for the model.
    pub(crate) fn estimate(&self) -> Counter {
        if self.provider == "anthropic" { Counter::Approx(ANTHROPIC_CHARS) } else { Counter::DEFAULT }
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
        })
    }
}

/// Every model, in the order of the table.
pub(crate) fn all() -> impl Iterator<Item = Model> {
    lines().filter_map(Model::parse)
}

/// How many there are.
pub(crate) fn count() -> usize {
    // Of its lines, the first says what the columns are.
    memchr::memchr_iter(b'\n', TABLE.as_bytes()).count() - 1
}

/// A line for each.
fn lines() -> impl Iterator<Item = &'static str> {
    TABLE.lines().skip(1)
}

/// The model called `name`, or `provider:name`, or `provider/name`. A name alone is that of the model as its maker serves
/// it: whoever resells it may have another window for it, and has other prices.
pub(crate) fn find(name: &str) -> Option<Model> {
    // Numbers are read of no other.
    lines().find(|line| is_called(line, name)).and_then(Model::parse)
}

/// How a conversation is counted that a model of a provider is to read.
pub(crate) fn counter_of(provider: &str, name: &str) -> Counter {
    let older_gpt = ["gpt-3.5", "gpt-4-"].iter().any(|prefix| name.starts_with(prefix)) || name == "gpt-4";
    match provider {
        "openai" if older_gpt => Counter::Exact(Encoding::Cl100kBase),
        "openai" => Counter::Exact(Encoding::O200kBase),
        "anthropic" => Counter::Approx(ANTHROPIC_CHARS),
        _ => Counter::DEFAULT,
    }
}

/// Whether the model of a line has this name, or this full name.
fn is_called(line: &str, name: &str) -> bool {
    let mut fields = line.split('\t');
    let (Some(provider), Some(own)) = (fields.next(), fields.next()) else { return false };
    let full = || name.strip_prefix(provider).and_then(|rest| rest.strip_prefix([':', '/']));
    own == name && is_maker(provider, own) || full() == Some(own)
}

/// Whether a provider serves a model that it has made.
fn is_maker(provider: &str, name: &str) -> bool {
    const RESELLERS: [&str; 3] = ["groq", "openrouter", "together"];
    let is_resold = provider == "google" && name.starts_with("claude");
    !is_resold && !RESELLERS.contains(&provider)
}

/// Names of models that come near one that is none, the nearest first, each as [`find`] takes it.
pub(crate) fn near(name: &str) -> Vec<String> {
    const SHOWN: usize = 5;
    const LEAST: f64 = 0.8;
    let last = |name: &str| name.rsplit([':', '/']).next().unwrap_or_default().to_ascii_lowercase();
    let wanted = last(name);
    let mut scored: Vec<(f64, bool, String)> = all()
        .map(|model| {
            let is_resold = !is_maker(model.provider, model.name);
            let full = if is_resold { format!("{}:{}", model.provider, model.name) } else { model.name.to_owned() };
            (strsim::jaro_winkler(&wanted, &last(model.name)), is_resold, full)
        })
        .filter(|(score, ..)| *score >= LEAST)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, &a.2).cmp(&(b.1, &b.2))));
    let mut names: Vec<String> = scored.into_iter().map(|(.., name)| name).collect();
    // What its maker serves needs no reseller beside it.
    let mut known = HashSet::new();
    names.retain(|name| known.insert(last(name)));
    names.truncate(SHOWN);
    names
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
        assert_eq!(find("claude-haiku-4-5").expect("known").counter(), Counter::Approx(3.3));
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
        // It hands on to others, at their prices.
        assert_eq!(find("openrouter:openrouter/auto").expect("known").input_price, None);
        assert!(all().all(|model| model.input_price.is_none_or(|price| price >= 0.0)));
    }

    #[test]
    fn unknown_names_get_near_ones() {
        assert_eq!(find("gpt-4o-mni"), None);
        let near_it = near("gpt-4o-mni");
        assert!(near_it.contains(&"gpt-4o-mini".to_owned()), "{near_it:?}");
        assert!(near("zzz").is_empty());
        assert_eq!(near("llama-3.3-70b-versatile")[0], "groq:llama-3.3-70b-versatile");
        assert!(all().step_by(20).all(|model| near(model.name).iter().all(|name| find(name).is_some())));
    }
}
