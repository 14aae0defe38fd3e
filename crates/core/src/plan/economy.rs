//! What a compaction is worth: the tokens and the money that each further turn saves, the cost of the summary, and the
//! number of turns after which it has paid.
//!
//! Each further turn sends the whole conversation once. The plain figures are for a reader without a prompt cache, who
//! pays the full price of input. [`Cached`] has the figures for a reader with one: each turn reads the conversation at
//! the cached price, and the provider writes the new context once, as its prefix has changed.

use serde::Serialize;

use crate::tokens::models::Model;
use crate::wording::counted;

const MILLION: f64 = 1e6;

/// Tokens that a provider counted, and their cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Billed {
    pub input_tokens: u64,
    /// Tokens of the answers, with their reasoning.
    pub output_tokens: u64,
    /// Output tokens that were reasoning.
    pub reasoning_tokens: u64,
    /// US dollars, from the provider or else from the table of models; none where neither has them.
    pub cost_usd: Option<f64>,
}

/// What is saved and spent. Money is in US dollars, and absent where a price is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Economy {
    /// Tokens that each further turn saves; negative where the summary is larger than the messages that it replaced.
    pub saved_tokens_per_turn: i64,
    /// The price of these tokens for the model of `--for`.
    pub saved_usd_per_turn: Option<f64>,
    /// The cost of the summary.
    pub cost_usd: Option<f64>,
    /// The turns after which the savings cover the summary; absent where that is unknown or never happens.
    pub pays_after_turns: Option<u64>,
    /// The figures with the provider's prompt cache; absent where its prices are unknown.
    pub cache: Option<Cached>,
    /// The date of the prices, where any is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<&'static str>,
}

/// The effect of a compaction on a reader's prompt cache, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cached {
    /// The cost of writing the new context to the cache once.
    pub write_usd: f64,
    /// What each further turn saves where it reads the conversation from the cache.
    pub saved_usd_per_turn: f64,
    /// The turns after which the savings cover the summary and the write; absent where the summary's cost is unknown,
    /// or where that never happens.
    pub pays_after_turns: Option<u64>,
}

/// Prices that are known, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Prices {
    /// Input of the model that reads the result.
    pub reader: Option<f64>,
    /// Those of that model's prompt cache.
    pub cache: Option<CachePrices>,
    /// Input and output of the summarizer.
    pub writer: Option<(f64, f64)>,
}

/// The prices of a prompt cache, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CachePrices {
    pub read: f64,
    pub write: f64,
}

impl Prices {
    /// The reader's prices, as far as the table of models has them.
    pub fn of_reader(model: &Model) -> Self {
        let write = model.cache_write_price.or(model.input_price);
        let cache = model.cached_price.zip(write).map(|(read, write)| CachePrices { read, write });
        Prices { reader: model.input_price, cache, writer: None }
    }

    /// The cost of a summary with so many tokens of input and of output.
    pub fn of_summary(self, input: u64, output: u64) -> Option<f64> {
        self.writer.map(|prices| (input as f64 * prices.0 + output as f64 * prices.1) / MILLION)
    }
}

impl Economy {
    /// The economy of a compaction from `before` to `after` tokens with a summary that costs `cost`.
    pub fn new(before: u64, after: u64, cost: Option<f64>, prices: Prices) -> Self {
        let saved = signed(before).saturating_sub(signed(after));
        let saved_usd = prices.reader.map(|price| saved as f64 * price / MILLION);
        Economy {
            saved_tokens_per_turn: saved,
            saved_usd_per_turn: saved_usd.map(rounded),
            cost_usd: cost.map(rounded),
            pays_after_turns: pays_after(saved, saved_usd, cost),
            cache: prices.cache.map(|prices| Cached::new(saved, after, cost, prices)),
            prices: None,
        }
    }

    /// Sets the date of the prices.
    #[must_use]
    pub fn with_prices_of(self, when: &'static str) -> Self {
        Economy { prices: Some(when), ..self }
    }

    /// Describes the economy in a sentence. `about` marks it as an estimate; `reader` is the model that reads the
    /// result.
    pub fn sentence(&self, about: bool, reader: Option<&str>) -> String {
        let about = if about { "about " } else { "" };
        let tokens = self.saved_tokens_per_turn;
        let usd = match (self.saved_usd_per_turn, reader) {
            (Some(usd), Some(reader)) if usd != 0.0 => format!(" ({} with {reader})", dollars(usd.abs())),
            _ => String::new(),
        };
        // The history is smaller than the requested summary, so the saving cannot be estimated.
        let unsure = tokens == 0 && !about.is_empty();
        let saves = match tokens {
            0 if unsure => "saves little: the history is not larger than --summary-tokens".to_owned(),
            0 => "saves nothing a turn".to_owned(),
            ..0 => format!("adds {about}{} a turn{usd}", counted(tokens.unsigned_abs(), "token")),
            _ => format!("saves {about}{} a turn{usd}", counted(tokens.unsigned_abs(), "token")),
        };
        let never = tokens <= 0 || self.saved_usd_per_turn == Some(0.0);
        let pays = match self.pays_after_turns {
            Some(turns @ 1..) => format!(" and pays after {}", counted(turns, "turn")),
            None if never && !unsure => " and never pays".to_owned(),
            _ => String::new(),
        };
        let cache = match self.cache {
            Some(cache) if !unsure => cache.clause(about),
            _ => String::new(),
        };
        match self.cost_usd {
            None => format!("{saves}{cache}"),
            Some(0.0) => format!("{saves}; the summary costs nothing{cache}"),
            Some(cost) => format!("{saves}; the summary costs {about}{}{pays}{cache}", dollars(cost)),
        }
    }
}

impl Cached {
    fn new(saved: i64, after: u64, cost: Option<f64>, prices: CachePrices) -> Self {
        let CachePrices { read, write } = prices;
        let saved_usd = saved as f64 * read / MILLION;
        // The first turn writes the context instead of reading it.
        let once = cost.map(|cost| cost + after as f64 * (write - read) / MILLION);
        Cached {
            write_usd: rounded(after as f64 * write / MILLION),
            saved_usd_per_turn: rounded(saved_usd),
            pays_after_turns: pays_after(saved, Some(saved_usd), once),
        }
    }

    /// The end of [`Economy::sentence`].
    fn clause(&self, about: &str) -> String {
        let change = if self.saved_usd_per_turn < 0.0 { "adds" } else { "saves" };
        let (write, turn) = (dollars(self.write_usd), dollars(self.saved_usd_per_turn.abs()));
        let pays = match self.pays_after_turns {
            Some(turns @ 1..) => format!(" and pays after {}", counted(turns, "turn")),
            _ => String::new(),
        };
        format!("; with a prompt cache it writes {about}{write} once, {change} {about}{turn} a turn{pays}")
    }
}

/// The smallest number of turns whose savings cover the cost of the summary.
fn pays_after(saved: i64, saved_usd: Option<f64>, cost: Option<f64>) -> Option<u64> {
    /// The error of floating-point arithmetic on prices, in turns.
    const SLACK: f64 = 1e-9;
    let cost = cost?;
    if saved <= 0 {
        return None;
    }
    if cost <= 0.0 {
        return Some(0);
    }
    let saved_usd = saved_usd?;
    if saved_usd <= 0.0 {
        return None;
    }
    let turns = (cost / saved_usd - SLACK).ceil();
    if turns < u64::MAX as f64 { Some((turns as u64).max(1)) } else { None }
}

fn signed(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

/// Rounds off the error of floating-point arithmetic.
fn rounded(usd: f64) -> f64 {
    const DIGITS: f64 = 1e9;
    (usd * DIGITS).round() / DIGITS
}

/// Formats money with three significant digits.
fn dollars(usd: f64) -> String {
    if usd >= 1.0 {
        return format!("${usd:.2}");
    }
    if usd <= 0.0 {
        return "$0".to_owned();
    }
    let decimals = (-usd.log10()).ceil().min(9.0) as usize + 2;
    let text = format!("{usd:.decimals$}");
    format!("${}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The prices of a reader without a cache.
    fn plain(reader: Option<f64>) -> Prices {
        Prices { reader, ..Prices::default() }
    }

    fn sentence(before: u64, after: u64, cost: Option<f64>, reader: Option<f64>) -> String {
        Economy::new(before, after, cost, plain(reader)).sentence(false, Some("gpt-4o"))
    }

    /// Adds up the turns of two conversations one by one: one with a compaction, and one without.
    #[test]
    fn a_cache_is_written_once_and_read_afterwards() {
        for (before, after, cost, read, write) in
            [(100_000, 20_000, 0.05, 0.2, 5.0), (30_000, 10_000, 0.0, 0.25, 2.5), (9_000, 8_000, 0.01, 0.5, 0.5)]
        {
            let prices = Prices { reader: Some(5.0), cache: Some(CachePrices { read, write }), writer: None };
            let cached = Economy::new(before, after, Some(cost), prices).cache.expect("prices are known");
            let turns = cached.pays_after_turns.expect("it pays");
            let usd = |tokens: u64, price: f64| tokens as f64 * price / MILLION;
            let without = |turns: u64| turns as f64 * usd(before, read);
            let with = |turns: u64| cost + usd(after, write) + (turns - 1) as f64 * usd(after, read);
            assert!(with(turns) <= without(turns) + 1e-9, "{turns} turns are enough");
            assert!(turns == 1 || with(turns - 1) > without(turns - 1), "fewer than {turns} are not");
        }
        let prices = Prices { reader: Some(4.0), cache: Some(CachePrices { read: 0.2, write: 5.0 }), writer: None };
        assert_eq!(
            Economy::new(100_000, 20_000, Some(0.0), prices).sentence(false, Some("claude-opus-5-5")),
            "saves 80000 tokens a turn ($0.32 with claude-opus-5-5); the summary costs nothing; with a prompt cache it \
             writes $0.1 once, saves $0.016 a turn and pays after 6 turns"
        );
        assert_eq!(Economy::new(500, 100, Some(0.0), plain(Some(1.0))).cache, None, "its prices are not known");
    }

    #[test]
    fn a_compaction_pays_after_its_cost_is_saved() {
        let prices = Prices { reader: Some(2.5), writer: Some((0.15, 0.6)), ..Prices::default() };
        let cost = prices.of_summary(9_227, 1_024);
        let economy = Economy::new(9_227, 1_024, cost, prices);
        assert_eq!(economy.saved_tokens_per_turn, 8_203);
        assert_eq!(economy.saved_usd_per_turn, Some(0.0205075));
        assert_eq!(economy.cost_usd, Some(0.00199845));
        assert_eq!(economy.pays_after_turns, Some(1));
        assert_eq!(
            economy.sentence(true, Some("gpt-4o")),
            "saves about 8203 tokens a turn ($0.0205 with gpt-4o); the summary costs about $0.002 and pays after 1 turn"
        );
        assert_eq!(Economy::new(1_100, 100, Some(0.0075), plain(Some(2.5))).pays_after_turns, Some(3));
        assert_eq!(Economy::new(1_100, 100, Some(0.0076), plain(Some(2.5))).pays_after_turns, Some(4));
        // In floating-point arithmetic, 0.9 / 0.3 is a little more than 3.
        assert_eq!(Economy::new(300_000, 0, Some(0.9), plain(Some(1.0))).pays_after_turns, Some(3));
    }

    #[test]
    fn a_free_summary_pays_at_once() {
        for reader in [None, Some(0.0), Some(2.5)] {
            assert_eq!(Economy::new(500, 100, Some(0.0), plain(reader)).pays_after_turns, Some(0));
        }
        assert_eq!(sentence(500, 100, Some(0.0), None), "saves 400 tokens a turn; the summary costs nothing");
    }

    #[test]
    fn a_larger_result_never_pays() {
        for (replaced, summary, reader) in [(100, 100, Some(2.5)), (100, 300, Some(2.5)), (500, 100, Some(0.0))] {
            assert_eq!(Economy::new(replaced, summary, Some(0.01), plain(reader)).pays_after_turns, None);
        }
        assert_eq!(Economy::new(100, 100, Some(0.0), plain(Some(2.5))).pays_after_turns, None, "nothing is gained");
        assert_eq!(
            sentence(100, 100, Some(0.01), Some(2.5)),
            "saves nothing a turn; the summary costs $0.01 and never pays"
        );
        let unsure = Economy::new(100, 100, Some(0.01), plain(Some(2.5))).sentence(true, Some("gpt-4o"));
        let little = "saves little: the history is not larger than --summary-tokens; the summary costs about $0.01";
        assert_eq!(unsure, little);
        assert_eq!(
            sentence(100, 300, Some(0.01), Some(2.5)),
            "adds 200 tokens a turn ($0.0005 with gpt-4o); the summary costs $0.01 and never pays"
        );
        assert_eq!(
            sentence(101, 100, Some(0.01), Some(0.0)),
            "saves 1 token a turn; the summary costs $0.01 and never pays"
        );
    }

    #[test]
    fn unknown_prices_stay_unknown() {
        let economy = Economy::new(500, 100, None, plain(None));
        assert_eq!((economy.saved_usd_per_turn, economy.cost_usd, economy.pays_after_turns), (None, None, None));
        assert_eq!(economy.sentence(true, None), "saves about 400 tokens a turn");
        assert_eq!(Economy::new(500, 100, Some(0.01), plain(None)).pays_after_turns, None);
        assert_eq!(sentence(500, 100, Some(0.01), None), "saves 400 tokens a turn; the summary costs $0.01");
        assert_eq!(Prices::default().of_summary(100, 100), None);
    }

    #[test]
    fn amounts_of_money_are_short() {
        for (usd, text) in
            [(12.345, "$12.35"), (0.25, "$0.25"), (0.0205, "$0.0205"), (0.000021, "$0.000021"), (0.0, "$0")]
        {
            assert_eq!(dollars(usd), text);
        }
    }
}
