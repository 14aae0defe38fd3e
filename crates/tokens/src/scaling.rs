//! Token counts that providers reported, and how `LangChain` corrects its estimate with them.
//!
//! A model's message can hold the number of tokens that its provider counted up to and including it. `LangChain` scales
//! its estimate of the whole by the ratio of that number to the estimate at the same place, by at least 1 and at most
//! 1.25. It does so only where all messages that name a provider name the same one.

use std::borrow::Cow;

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
    let (Some(provider), Some(reported)) = (provider, total_tokens) else { return false };
    let provider = provider.decode();
    reported > 0 && reported >= threshold && !provider.is_empty() && is_ours(&provider)
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
