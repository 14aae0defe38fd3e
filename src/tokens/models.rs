//! The table of models: context windows, prices and tokenizers.
//!
//! `models.tsv` has a line for each model: provider, name, window and longest output in tokens, then prices in US
//! dollars per million tokens: input, output, input from the provider's cache, writing to that cache (empty where
//! unknown), then [`Reasoning`]. It is searched as text. The prices were read in the month [`PRICES_OF`]. They
//! are those of the standard tier, and the lowest where a price depends on the length of the request or the time of
//! day.

use std::cmp::Reverse;
use std::collections::HashSet;

use crate::tokens::bpe::Encoding;
use crate::tokens::counter::Counter;

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
        "anthropic" => Counter::Approx(ANTHROPIC_CHARS),
        _ => Counter::DEFAULT,
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
fn is_maker(provider: &str, name: &str) -> bool {
    const RESELLERS: [&str; 3] = ["groq", "openrouter", "together"];
    let is_resold = provider == "google" && name.starts_with("claude");
    !is_resold && !RESELLERS.contains(&provider)
}

/// Returns names of models that an unknown name may mean, the most probable first: those of the same kind, the newest
/// first, or else those with similar letters. [`find`] accepts each of them.
pub(crate) fn near(name: &str) -> Vec<String> {
    const SHOWN: usize = 5;
    let last = |name: &str| name.rsplit([':', '/']).next().unwrap_or_default().to_ascii_lowercase();
    let wanted = last(name);
    let mut found: Vec<(Model, String)> = all().map(|model| (model, last(model.name))).collect();
    let kind = NameParts::of(&wanted);
    // A letter or two can be part of anything.
    let is_telling = kind.words.iter().any(|word| word.len() > 2);
    let is_of_kind = |name: &str| {
        let words = NameParts::of(name).words;
        is_telling && kind.words.iter().all(|word| words.contains(word))
    };
    let is_resold = |model: &Model| !is_maker(model.provider, model.name);
    if found.iter().any(|(_, name)| is_of_kind(name)) {
        found.retain(|(_, name)| is_of_kind(name));
        found.sort_by_cached_key(|(model, name)| {
            let parts = NameParts::of(name);
            let is_other = parts.version != kind.version || kind.version.is_empty();
            (is_resold(model), is_other, Reverse(parts.version), parts.words.len(), name.len(), model.name)
        });
    } else {
        const LEAST: f64 = 0.8;
        let similarity = |name: &str| strsim::jaro_winkler(&wanted, name);
        found.retain(|(_, name)| similarity(name) >= LEAST);
        found.sort_by(|(a, name_a), (b, name_b)| {
            let by_similarity = similarity(name_b).total_cmp(&similarity(name_a));
            by_similarity.then_with(|| (is_resold(a), a.name).cmp(&(is_resold(b), b.name)))
        });
    }
    // A model at its maker needs no reseller beside it.
    let mut known = HashSet::new();
    found.retain(|(_, name)| known.insert(name.clone()));
    let full = |model: Model| {
        if is_resold(&model) { format!("{}:{}", model.provider, model.name) } else { model.name.to_owned() }
    };
    found.into_iter().take(SHOWN).map(|(model, _)| full(model)).collect()
}

/// What the name of a model says: `claude-opus-4-5-20251101` is an Opus of Claude, of version 4.5.
struct NameParts<'n> {
    words: Vec<&'n str>,
    version: Vec<u8>,
}

impl<'n> NameParts<'n> {
    fn of(name: &'n str) -> Self {
        let (mut words, mut version, mut is_dated) = (Vec::new(), Vec::new(), false);
        for part in name.split(|c: char| !c.is_ascii_alphanumeric()) {
            let digits = part.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            let (word, digits) = part.split_at(part.len() - digits.len());
            if !word.is_empty() {
                words.push(word);
            }
            // A date ends the version. Letters behind a number make it a size, as in `70b`.
            is_dated |= digits.len() > 2 || digits.starts_with('0');
            let is_version = !is_dated && version.len() < 2;
            version.extend(digits.parse::<u8>().ok().filter(|_| is_version));
        }
        NameParts { words, version }
    }
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
        // It forwards to other models, at their prices.
        assert_eq!(find("openrouter:openrouter/auto").expect("known").input_price, None);
        assert!(all().all(|model| model.input_price.is_none_or(|price| price >= 0.0)));
    }

    #[test]
    fn the_newest_of_a_kind_comes_first() {
        for (name, first) in [
            ("claude", "claude-opus-5-5"),
            ("opus", "claude-opus-5-5"),
            ("claude-sonnet", "claude-sonnet-5-5"),
            ("claude-sonnet-4.5", "claude-sonnet-4-5"),
            ("claude-3.5-sonnet", "claude-3-5-sonnet"),
            ("gpt", "gpt-6.1-sol"),
            ("gpt-5.9", "gpt-6.1-sol"),
            ("openai:gpt-5.9-mini", "gpt-5.4-mini"),
            ("deepseek-v4", "deepseek-v4-pro"),
            ("GPT-5.2", "gpt-5.2"),
        ] {
            assert_eq!(near(name)[0], first, "{name}: {:?}", near(name));
        }
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
