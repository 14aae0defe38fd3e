//! What a compaction is worth: tokens and money that each further turn saves, what the summary costs, and when that has
//! paid.
//!
//! A turn is taken to send the whole conversation once, at the plain price of input. A provider's prompt cache makes what
//! is sent again cheaper, and a compaction breaks its prefix once; the table of models has no prices for that, so the
//! figures are those of a reader without a cache, and with one the savings are smaller.

use serde::Serialize;

const MILLION: f64 = 1e6;

/// What is saved and spent. Money is in US dollars, and not there where a price is not known: none is ever made up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Economy {
    /// Tokens that each further turn sends less; below 0 where the summary is larger than what it replaced.
    pub saved_tokens_per_turn: i64,
    /// What these cost whom `--for` names.
    pub saved_usd_per_turn: Option<f64>,
    /// What the summary costs.
    pub cost_usd: Option<f64>,
    /// After how many turns what they save is as much as the summary costs; not there where that is not known, or never.
    pub pays_after_turns: Option<u64>,
    /// Of when the prices are, where any is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<&'static str>,
}

/// What is known of prices, in US dollars a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Prices {
    /// What the reader takes for input.
    pub reader: Option<f64>,
    /// What the summarizer takes for input and for output.
    pub writer: Option<(f64, f64)>,
}

impl Prices {
    /// What the summarizer takes for so many tokens of input and of output.
    pub fn of_summary(self, input: u64, output: u64) -> Option<f64> {
        self.writer.map(|prices| (input as f64 * prices.0 + output as f64 * prices.1) / MILLION)
    }
}

impl Economy {
    /// What is saved where messages of `replaced` tokens become a summary of `summary` tokens that costs `cost`.
    pub fn new(replaced: u64, summary: u64, cost: Option<f64>, reader: Option<f64>) -> Self {
        let tokens = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let saved = tokens(replaced).saturating_sub(tokens(summary));
        let saved_usd = reader.map(|price| saved as f64 * price / MILLION);
        Economy {
            saved_tokens_per_turn: saved,
            saved_usd_per_turn: saved_usd.map(rounded),
            cost_usd: cost.map(rounded),
            pays_after_turns: pays_after(saved, saved_usd, cost),
            prices: None,
        }
    }

    /// The same, computed with prices of this time.
    #[must_use]
    pub fn with_prices_of(self, when: &'static str) -> Self {
        Economy { prices: Some(when), ..self }
    }

    /// All of it in a sentence; `about` says that it is an estimate, and `reader` who reads on.
    pub fn sentence(&self, about: bool, reader: Option<&str>) -> String {
        let about = if about { "about " } else { "" };
        let tokens = self.saved_tokens_per_turn;
        let usd = self.saved_usd_per_turn.filter(|usd| *usd != 0.0).zip(reader);
        let usd = usd.map(|(usd, reader)| format!(" ({} with {reader})", dollars(usd.abs()))).unwrap_or_default();
        // Of a history that is smaller than the summary may be, no more can be said.
        let unsure = tokens == 0 && !about.is_empty();
        let saves = match tokens {
            0 if unsure => "saves little: no more goes than --summary-tokens".to_owned(),
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
        match self.cost_usd {
            None => saves,
            Some(0.0) => format!("{saves}; the summary costs nothing"),
            Some(cost) => format!("{saves}; the summary costs {about}{}{pays}", dollars(cost)),
        }
    }
}

/// The smallest number of turns whose savings are as much as the summary costs.
fn pays_after(saved: i64, saved_usd: Option<f64>, cost: Option<f64>) -> Option<u64> {
    /// What arithmetic on prices may be off by, in turns.
    const SLACK: f64 = 1e-9;
    let cost = cost.filter(|_| saved > 0)?;
    if cost <= 0.0 {
        return Some(0);
    }
    let turns = (cost / saved_usd.filter(|usd| *usd > 0.0)? - SLACK).ceil();
    (turns < u64::MAX as f64).then_some((turns as u64).max(1))
}

/// Without the digits that only arithmetic brings.
fn rounded(usd: f64) -> f64 {
    const DIGITS: f64 = 1e9;
    (usd * DIGITS).round() / DIGITS
}

/// Money with three digits that count.
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

fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(replaced: u64, summary: u64, cost: Option<f64>, reader: Option<f64>) -> String {
        Economy::new(replaced, summary, cost, reader).sentence(false, Some("gpt-4o"))
    }

    #[test]
    fn what_is_saved_and_when_it_pays() {
        let prices = Prices { reader: Some(2.5), writer: Some((0.15, 0.6)) };
        let cost = prices.of_summary(9_227, 1_024);
        let economy = Economy::new(9_227, 1_024, cost, prices.reader);
        assert_eq!(economy.saved_tokens_per_turn, 8_203);
        assert_eq!(economy.saved_usd_per_turn, Some(0.0205075));
        assert_eq!(economy.cost_usd, Some(0.00199845));
        assert_eq!(economy.pays_after_turns, Some(1));
        assert_eq!(
            economy.sentence(true, Some("gpt-4o")),
            "saves about 8203 tokens a turn ($0.0205 with gpt-4o); the summary costs about $0.002 and pays after 1 turn"
        );
        assert_eq!(Economy::new(1_100, 100, Some(0.0075), Some(2.5)).pays_after_turns, Some(3));
        assert_eq!(Economy::new(1_100, 100, Some(0.0076), Some(2.5)).pays_after_turns, Some(4));
        // 0.9 / 0.3 is a little more than 3 to a computer.
        assert_eq!(Economy::new(300_000, 0, Some(0.9), Some(1.0)).pays_after_turns, Some(3));
    }

    #[test]
    fn what_costs_nothing_pays_at_once_whoever_reads() {
        for reader in [None, Some(0.0), Some(2.5)] {
            assert_eq!(Economy::new(500, 100, Some(0.0), reader).pays_after_turns, Some(0));
        }
        assert_eq!(said(500, 100, Some(0.0), None), "saves 400 tokens a turn; the summary costs nothing");
    }

    #[test]
    fn what_never_pays() {
        for (replaced, summary, reader) in [(100, 100, Some(2.5)), (100, 300, Some(2.5)), (500, 100, Some(0.0))] {
            assert_eq!(Economy::new(replaced, summary, Some(0.01), reader).pays_after_turns, None);
        }
        assert_eq!(Economy::new(100, 100, Some(0.0), Some(2.5)).pays_after_turns, None, "nothing is gained");
        assert_eq!(
            said(100, 100, Some(0.01), Some(2.5)),
            "saves nothing a turn; the summary costs $0.01 and never pays"
        );
        let unsure = Economy::new(100, 100, Some(0.01), Some(2.5)).sentence(true, Some("gpt-4o"));
        let little = "saves little: no more goes than --summary-tokens; the summary costs about $0.01";
        assert_eq!(unsure, little);
        assert_eq!(
            said(100, 300, Some(0.01), Some(2.5)),
            "adds 200 tokens a turn ($0.0005 with gpt-4o); the summary costs $0.01 and never pays"
        );
        assert_eq!(
            said(101, 100, Some(0.01), Some(0.0)),
            "saves 1 token a turn; the summary costs $0.01 and never pays"
        );
    }

    #[test]
    fn what_is_not_known_is_not_made_up() {
        let economy = Economy::new(500, 100, None, None);
        assert_eq!((economy.saved_usd_per_turn, economy.cost_usd, economy.pays_after_turns), (None, None, None));
        assert_eq!(economy.sentence(true, None), "saves about 400 tokens a turn");
        assert_eq!(Economy::new(500, 100, Some(0.01), None).pays_after_turns, None);
        assert_eq!(said(500, 100, Some(0.01), None), "saves 400 tokens a turn; the summary costs $0.01");
        assert_eq!(Prices::default().of_summary(100, 100), None);
    }

    #[test]
    fn money_is_short() {
        for (usd, text) in
            [(12.345, "$12.35"), (0.25, "$0.25"), (0.0205, "$0.0205"), (0.000021, "$0.000021"), (0.0, "$0")]
        {
            assert_eq!(dollars(usd), text);
        }
    }
}
