//! What is known of models: context windows, prices, and which tokenizer counts for them.
//!
//! `models.tsv` has a line for each model: provider, name, window and longest output in tokens, then prices in US dollars
//! per million tokens: input, output, input from the provider's cache, writing to that cache (empty where unknown). It is
//! searched as text; nothing is built from it. [`PRICES_OF`] is the month the prices were read; they are the standard
//! tier, and the lowest where the price depends on the length of the request or the time of day.

use crate::tokens::bpe::Encoding;
use crate::tokens::counter::Counter;

const TABLE: &str = include_str!("models.tsv");

/// The month of the prices.
pub const PRICES_OF: &str = "2026-11";

/// Characters a token that `LangChain` counts with for Anthropic's models.
const ANTHROPIC_CHARS: f64 = 3.3;

/// One model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    /// Who serves it, as `--model` names providers.
    pub provider: &'static str,
    /// The provider's name for it.
    pub name: &'static str,
    /// Tokens it can read.
    pub context_window: u64,
    /// Tokens it can write, where known.
    pub max_output: Option<u64>,
    /// US dollars per million tokens it reads, where known.
    pub input_price: Option<f64>,
    /// US dollars per million tokens it writes, where known.
    pub output_price: Option<f64>,
    /// US dollars per million tokens it reads from the provider's prompt cache, where known.
    pub cached_price: Option<f64>,
    /// US dollars per million tokens written to that cache. Providers that charge nothing extra for it have none here:
    /// there a write costs what input costs.
    pub cache_write_price: Option<f64>,
}

impl Model {
    /// How a conversation is counted that the model is to read.
    pub fn counter(&self) -> Counter {
        let older_gpt =
            ["gpt-3.5", "gpt-4-"].iter().any(|prefix| self.name.starts_with(prefix)) || self.name == "gpt-4";
        match self.provider {
            "openai" if older_gpt => Counter::Exact(Encoding::Cl100kBase),
            "openai" => Counter::Exact(Encoding::O200kBase),
            "anthropic" => Counter::Approx(ANTHROPIC_CHARS),
            _ => Counter::DEFAULT,
        }
    }

    /// How `LangChain` estimates a conversation for the model.
    pub fn estimate(&self) -> Counter {
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

    fn prices(&self) -> [Option<f64>; 4] {
        [self.input_price, self.output_price, self.cached_price, self.cache_write_price]
    }
}

/// Every model, in the order of the table.
pub fn all() -> impl Iterator<Item = Model> {
    lines().filter_map(Model::parse)
}

/// How many there are.
pub fn count() -> usize {
    // Of its lines, the first says what the columns are.
    memchr::memchr_iter(b'\n', TABLE.as_bytes()).count() - 1
}

/// A line for each.
fn lines() -> impl Iterator<Item = &'static str> {
    TABLE.lines().skip(1)
}

/// The model called `name`, or `provider:name`, or `provider/name`.
///
/// # Errors
/// There is none; or several providers serve a model of that name and differ in its window.
pub fn find(name: &str) -> Result<Model, NotFound> {
    // Numbers are read of no other.
    let named: Vec<Model> = lines().filter(|line| is_called(line, name)).filter_map(Model::parse).collect();
    match named.as_slice() {
        [] => Err(NotFound::Unknown),
        [one] => Ok(*one),
        [first, rest @ ..] if rest.iter().all(|model| model.context_window == first.context_window) => {
            // Who of them will be asked is not known, so a price is known only where it is everybody's.
            let same = rest.iter().all(|model| model.prices() == first.prices());
            let [input_price, output_price, cached_price, cache_write_price] =
                if same { first.prices() } else { [None; 4] };
            Ok(Model { input_price, output_price, cached_price, cache_write_price, ..*first })
        }
        several => {
            let full = |model: &Model| format!("{}:{} ({})", model.provider, model.name, model.context_window);
            Err(NotFound::Several { full: several.iter().map(full).collect() })
        }
    }
}

/// Why a name is no model's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotFound {
    /// No model is called so; [`near`] names others.
    Unknown,
    /// Models of several providers are, and their windows differ.
    Several {
        /// The full names, with the windows.
        full: Vec<String>,
    },
}

/// Whether the model of a line has this name, or this full name.
fn is_called(line: &str, name: &str) -> bool {
    let mut fields = line.split('\t');
    let (Some(provider), Some(own)) = (fields.next(), fields.next()) else { return false };
    let full = || name.strip_prefix(provider).and_then(|rest| rest.strip_prefix([':', '/']));
    own == name || full() == Some(own)
}

/// Names of models that come near one that is none, the nearest first.
pub fn near(name: &str) -> Vec<String> {
    const SHOWN: usize = 5;
    const LEAST: f64 = 0.8;
    let wanted = name.rsplit(':').next().unwrap_or(name).to_ascii_lowercase();
    let mut scored: Vec<(f64, &'static str)> = all()
        .map(|model| (strsim::jaro_winkler(&wanted, model.name), model.name))
        .filter(|(score, _)| *score >= LEAST)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let mut names: Vec<String> = scored.into_iter().map(|(_, name)| name.to_owned()).collect();
    names.dedup();
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
        assert_eq!(find("openai:gpt-4o"), Ok(model));
        assert_eq!(find("openai/gpt-4o"), Ok(model));
        assert_eq!(find("gpt-4").expect("known").counter(), Counter::Exact(Encoding::Cl100kBase));
        assert_eq!(find("gpt-4.1").expect("known").counter(), Counter::Exact(Encoding::O200kBase));
        assert_eq!(find("claude-haiku-4-5").expect("known").counter(), Counter::Approx(3.3));
        assert_eq!(
            find("openai/gpt-oss-20b").map(|model| model.provider),
            Err(NotFound::Several {
                full: vec![
                    "groq:openai/gpt-oss-20b (131072)".to_owned(),
                    "openai:gpt-oss-20b (131072)".to_owned(),
                    "openrouter:openai/gpt-oss-20b (131072)".to_owned(),
                    "together:openai/gpt-oss-20b (128000)".to_owned(),
                ]
            })
        );
        assert_eq!(find("groq:openai/gpt-oss-20b").expect("known").context_window, 131_072);
    }

    #[test]
    fn a_price_is_known_where_it_is_the_same_whoever_is_asked() {
        let priced = all().filter(|model| model.input_price.is_some()).count();
        assert!(priced > 300, "{priced}");
        assert_eq!(find("openai/gpt-4o").expect("known").input_price, Some(2.5));
        // It hands on to others, at their prices.
        assert_eq!(find("openrouter:openrouter/auto").expect("known").input_price, None);
        assert!(all().all(|model| model.input_price.is_none_or(|price| price >= 0.0)));
    }

    #[test]
    fn unknown_names_get_near_ones() {
        assert_eq!(find("gpt-4o-mni"), Err(NotFound::Unknown));
        let near_it = near("gpt-4o-mni");
        assert!(near_it.contains(&"gpt-4o-mini".to_owned()), "{near_it:?}");
        assert!(near("zzz").is_empty());
    }
}
