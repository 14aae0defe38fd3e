//! How many tokens a family of models makes of a text, against `o200k_base`.
//!
//! Most makers publish no tokenizer that a program could carry. Texts of one kind are longer for one family than for
//! another by a factor that hardly depends on the text, but for Chinese, for which Chinese makers have more words. The
//! factors are the middles of what was measured or documented by November 2026.

use crate::bpe::Encoding;

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
        if name.contains("claude") {
            // Measured at 1.15 to 1.2, and from Opus 4.7 on at 1.35 to 1.45.
            let factor = if claude_version(&name) < (4, 7) { 1.2 } else { 1.45 };
            return ModelFamily { text: factor, chinese: factor };
        }
        if ["qwen", "qwq", "deepseek"].iter().any(|family| name.contains(family)) {
            // Measured at 1.0 to 1.1; Chinese at 0.75 to 0.9.
            return ModelFamily { text: 1.05, chinese: 0.83 };
        }
        ModelFamily::OTHERS
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
    match numbers.next() {
        // A date can follow.
        Some(minor) if minor < 100 => (major, minor),
        _ => (major, 0),
    }
}

fn is_chinese(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
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
