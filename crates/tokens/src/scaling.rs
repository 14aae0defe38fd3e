//! Token counts that providers reported, and how `LangChain` corrects its estimate with them.
//!
//! A model's message can hold the number of tokens that its provider counted up to and including it. `LangChain` scales
//! its estimate of the whole by the ratio of that number to the estimate at the same place, by at least 1 and at most
//! 1.25. It does so only where all messages that name a provider name the same one.
//!
//! Also: how many tokens a family of models makes of a text, against `o200k_base`.
//!
//! Most makers publish no tokenizer that a program could carry. Texts of one kind are longer for one family than for
//! another by a factor that hardly depends on the text, but for Chinese, for which Chinese makers have more words. The
//! factors are the middles of what was measured or documented by November 2026.

use std::borrow::Cow;

use crate::bpe::Encoding;
use crate::transcript::{Message, RareFields, Role};

/// The smallest and the largest factor of an estimate.
const BOUNDS: (f64, f64) = (1.0, 1.25);

/// The total of messages that are added in order, each with its count.
#[derive(Debug, Clone, Default)]
pub struct ScaledTotal<'a> {
    /// The total without scaling.
    pub estimate: u64,
    messages: usize,
    provider: Option<Cow<'a, str>>,
    /// Whether messages name different providers.
    mixed: bool,
    /// The last count that a provider reported, and the estimate at the same place.
    reported: Option<(u64, u64)>,
}

impl<'a> ScaledTotal<'a> {
    /// Adds a message.
    pub fn add(&mut self, tokens: u64, message: &Message<'a>) {
        self.add_unreported(tokens);
        if message.role != Role::Assistant {
            return;
        }
        let RareFields { provider, total_tokens, .. } = message.rare_fields();
        let named = provider.map(|name| name.decode());
        match &self.provider {
            None => self.provider = named,
            Some(_) => self.mixed |= named != self.provider,
        }
        if let Some(tokens) = total_tokens {
            self.reported = Some((tokens, self.estimate));
        }
    }

    /// Adds a message without a reported count.
    pub fn add_unreported(&mut self, tokens: u64) {
        self.messages += 1;
        self.estimate += tokens;
    }

    pub fn total(&self) -> u64 {
        match self.reported {
            Some((reported, estimated))
                if self.messages > 1 && !self.mixed && self.provider.is_some() && estimated > 0 =>
            {
                let factor = (reported as f64 / estimated as f64).clamp(BOUNDS.0, BOUNDS.1);
                (self.estimate as f64 * factor).ceil() as u64
            }
            _ => self.estimate,
        }
    }
}

/// Whether the last message of the model has a reported count of at least `threshold` tokens, from a provider that
/// `is_ours`.
pub fn reported_reaches(messages: &[Message<'_>], threshold: u64, is_ours: impl Fn(&str) -> bool) -> bool {
    let Some(last) = messages.iter().rev().find(|message| message.role == Role::Assistant) else { return false };
    let RareFields { provider, total_tokens, .. } = last.rare_fields();
    let provider = provider.map(|name| name.decode()).filter(|name| !name.is_empty());
    let reported = total_tokens.filter(|tokens| *tokens > 0);
    reported.is_some_and(|tokens| tokens >= threshold) && provider.is_some_and(|name| is_ours(&name))
}

/// The factors of a family of models.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelFamily {
    text: f64,
    /// The factor of Chinese characters.
    chinese: f64,
}

/// Tokens of `o200k_base` for a Chinese character in running text.
const TOKENS_A_CHARACTER: f64 = 0.7;

impl ModelFamily {
    /// Models whose factor is not known.
    pub const OTHERS: ModelFamily = ModelFamily { text: 1.0, chinese: 1.0 };

    /// The family of the model with this name, however providers spell it.
    pub fn of_model(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        match () {
            // Measured at 1.15 to 1.2, and from Opus 4.7 on at 1.35 to 1.45.
            () if name.contains("claude") && claude_version(&name) < (4, 7) => ModelFamily { text: 1.2, chinese: 1.2 },
            () if name.contains("claude") => ModelFamily { text: 1.45, chinese: 1.45 },
            // 1.0 to 1.1; Chinese 0.75 to 0.9.
            () if ["qwen", "qwq", "deepseek"].iter().any(|family| name.contains(family)) => {
                ModelFamily { text: 1.05, chinese: 0.83 }
            }
            () => ModelFamily::OTHERS,
        }
    }

    /// The family with other factors in the same proportion.
    pub fn times(self, factor: f64) -> Self {
        ModelFamily { text: self.text * factor, chinese: self.chinese * factor }
    }

    /// The tokens of a text, which need not be a whole number.
    pub(super) fn tokens(self, text: &str) -> f64 {
        let tokens = Encoding::O200kBase.count(text) as f64;
        if self.text == self.chinese || text.is_ascii() {
            return tokens * self.text;
        }
        let characters = text.chars().filter(|c| is_chinese(*c)).count() as f64;
        let chinese = (characters * TOKENS_A_CHARACTER).min(tokens);
        (tokens - chinese) * self.text + chinese * self.chinese
    }

    /// The smallest and the largest factor.
    pub(super) fn range(self) -> (f64, f64) {
        (self.text.min(self.chinese), self.text.max(self.chinese))
    }
}

/// The version in the name of a Claude, such as 4 and 7.
pub(super) fn claude_version(name: &str) -> (u32, u32) {
    let behind = &name[name.find("claude").unwrap_or_default()..];
    let mut numbers = behind.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse::<u32>().ok());
    let major = numbers.next().unwrap_or_default();
    // A date can follow.
    (major, numbers.next().filter(|minor| *minor < 100).unwrap_or_default())
}

fn is_chinese(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::framing::read_for_test as read;

    /// The total of messages of ten tokens. Each message of the model has a provider and a reported count.
    fn total(reports: &[(Option<&str>, Option<u64>)]) -> u64 {
        let message = |(provider, tokens): &(Option<&str>, Option<u64>)| {
            let provider = provider.map_or("{}".to_owned(), |name| format!(r#"{{"model_provider":"{name}"}}"#));
            let usage = tokens.map_or("null".to_owned(), |tokens| format!(r#"{{"total_tokens":{tokens}}}"#));
            format!(r#"{{"type":"ai","content":"","response_metadata":{provider},"usage_metadata":{usage}}}"#)
        };
        let source = format!("[{}]", reports.iter().map(message).collect::<Vec<_>>().join(","));
        let document = read(&source, None, None).expect("a transcript");
        let mut total = ScaledTotal::default();
        document.transcripts[0].messages.iter().for_each(|message| total.add(10, message));
        total.total()
    }

    #[test]
    fn an_estimate_is_scaled_within_bounds() {
        let a = Some("a");
        assert_eq!(total(&[(a, None), (a, Some(22))]), 22);
        assert_eq!(total(&[(a, Some(11)), (a, None)]), 22);
        assert_eq!(total(&[(a, None), (a, Some(5))]), 20, "never down");
        assert_eq!(total(&[(a, None), (a, Some(500))]), 25, "and no more than by a quarter");
        assert_eq!(total(&[(a, Some(500))]), 10, "one message alone is not scaled");
        assert_eq!(total(&[(None, None), (a, Some(22))]), 22, "who names nobody before the first who does is ignored");
        assert_eq!(total(&[(a, Some(22)), (None, None)]), 20, "and spoils it afterwards");
        assert_eq!(total(&[(a, None), (Some("b"), Some(22))]), 20);
        assert_eq!(total(&[(None, None), (None, Some(22))]), 20);
    }
}

#[cfg(test)]
mod family_tests {
    use super::*;

    #[test]
    fn families_differ_by_their_factors() {
        let english = "The tests pass, and the report is written. ".repeat(20);
        let chinese = "测试通过了，报告也写好了。".repeat(20);
        for (model, text, least, most) in [
            ("gpt-oss-120b", &english, 1.0, 1.0),
            ("gpt-oss-120b", &chinese, 1.0, 1.0),
            ("claude-sonnet-4-5", &english, 1.15, 1.2),
            ("us.anthropic.claude-opus-4-8-v1:0", &english, 1.35, 1.45),
            ("anthropic/claude-haiku-4.5", &chinese, 1.15, 1.2),
            ("claude-3-5-sonnet-20241022", &english, 1.15, 1.2),
            ("Qwen/Qwen3-235B", &english, 1.0, 1.1),
            ("qwen3-max", &chinese, 0.75, 0.95),
            ("deepseek-chat", &chinese, 0.75, 0.95),
        ] {
            let ratio = ModelFamily::of_model(model).tokens(text) / Encoding::O200kBase.count(text) as f64;
            assert!((least..=most).contains(&ratio), "{model}: {ratio}");
        }
    }
}
