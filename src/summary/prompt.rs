//! The prompts for a summarizer: templates with a place for the history.

use crate::summary::python_format;
use crate::tokens::python;

/// English text has about three words for four tokens.
const WORDS_PER_TOKEN: f64 = 0.75;

/// The built-in prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuiltIn {
    /// tcompact's own: notes under four headings.
    Own,
    /// The own prompt in Chinese.
    Chinese,
    /// A few sentences, to follow a system message.
    Brief,
    /// The four headings in few words, for a model with a small window: such a model is small itself, and repeats long
    /// instructions instead of following them.
    Small,
}

impl BuiltIn {
    /// Returns the text, which asks for notes of at most this many tokens.
    fn text(self, summary_tokens: u64) -> String {
        let text = match self {
            BuiltIn::Own => include_str!("prompt.txt"),
            BuiltIn::Chinese => include_str!("prompt_zh.txt"),
            BuiltIn::Brief => include_str!("prompt_brief.txt"),
            BuiltIn::Small => include_str!("prompt_small.txt"),
        };
        text.trim_end().replace("{{WORDS}}", &words(summary_tokens).to_string())
    }
}

/// Estimates the words that have this many tokens.
pub(super) fn words(tokens: u64) -> u64 {
    ((tokens as f64 * WORDS_PER_TOKEN) as u64).max(1)
}

/// The syntax of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    /// One `{messages}` and no other field.
    Own,
    /// Python's `str.format`.
    Python,
    /// Python's `str.format`, with trailing white space removed.
    PythonStripped,
}

/// A prompt with a place for the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Template {
    /// The text before and after the single place.
    Parts(String, String),
    /// A Python format string with any number of places.
    Python {
        /// The format string.
        text: String,
        /// Whether trailing white space of the result is removed.
        stripped: bool,
    },
}

impl Template {
    /// Creates the template that asks for notes of at most this many tokens.
    pub(crate) fn built_in(which: BuiltIn, summary_tokens: u64) -> Self {
        let text = which.text(summary_tokens);
        let (before, after) = text.split_once("{messages}").unwrap_or((&text, ""));
        Template::Parts(before.to_owned(), after.to_owned())
    }

    /// Parses a template. tcompact's own syntax has one `{messages}`, and `{{` and `}}` for braces. Python's is checked
    /// only when it is filled.
    ///
    /// # Errors
    /// The error, to follow the name of the file: no place or several, another field, a single brace.
    pub(crate) fn parse(text: &str, fill: Fill) -> Result<Self, String> {
        match fill {
            Fill::Own => Template::parse_own(text),
            Fill::Python => Ok(Template::Python { text: text.to_owned(), stripped: false }),
            Fill::PythonStripped => Ok(Template::Python { text: text.to_owned(), stripped: true }),
        }
    }

    fn parse_own(text: &str) -> Result<Self, String> {
        let mut parts = vec![String::new()];
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (plain, brace) = rest.split_at(at);
            let last = parts.len() - 1;
            parts[last].push_str(plain);
            if let Some(after) = brace.strip_prefix("{{").or_else(|| brace.strip_prefix("}}")) {
                parts[last].push_str(&brace[..1]);
                rest = after;
            } else if let Some(after) = brace.strip_prefix("{messages}") {
                parts.push(String::new());
                rest = after;
            } else {
                let shown: String = brace.chars().take(20).take_while(|c| *c != '\n').collect();
                return Err(format!(
                    "has `{shown}`, which is no field: {{messages}} is the only one, and a brace of the text is written twice"
                ));
            }
        }
        let last = parts.len() - 1;
        parts[last].push_str(rest);
        match <[String; 2]>::try_from(parts) {
            Ok([before, after]) => Ok(Template::Parts(before, after)),
            Err(parts) if parts.len() < 2 => Err("has no {messages}, which is where the history goes".to_owned()),
            Err(_) => Err("has {messages} more than once".to_owned()),
        }
    }

    /// Whether it has no place for the history, which is no error in Python.
    pub(crate) fn has_no_place(&self) -> bool {
        matches!((self.fill("a"), self.fill("b")), (Ok(one), Ok(other)) if one == other)
    }

    /// Returns the lines around the history.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = &str> {
        let (before, after) = match self {
            Template::Parts(before, after) => (before, Some(after)),
            Template::Python { text, .. } => (text, None),
        };
        before.lines().chain(after.into_iter().flat_map(|after| after.lines()))
    }

    /// Fills in a history.
    ///
    /// # Errors
    /// Python's error message for an invalid format string.
    pub(crate) fn fill(&self, history: &str) -> Result<String, String> {
        match self {
            Template::Parts(before, after) => Ok([before, history, after].concat()),
            Template::Python { text, stripped } => {
                let filled = python_format::format(text, history)?;
                Ok(if *stripped { python::rstrip(&filled).to_owned() } else { filled })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates() {
        let template = Template::parse("a {{x}} {messages} }}", Fill::Own).expect("a template");
        assert_eq!(template.fill("{H}").as_deref(), Ok("a {x} {H} }"));
        let refused = |text: &str| Template::parse(text, Fill::Own).expect_err(text);
        assert!(refused("nothing").contains("has no {messages}"));
        assert!(refused("{messages}{messages}").contains("more than once"));
        assert!(refused("{messages} {other}").contains("`{other}`"));
        assert!(refused("{messages} }").contains("`}`"));
    }

    #[test]
    fn every_built_in_template_has_a_place_and_a_length() {
        for built_in in [BuiltIn::Own, BuiltIn::Chinese, BuiltIn::Brief, BuiltIn::Small] {
            let prompt = Template::built_in(built_in, 1024).fill("HISTORY").expect("filled");
            assert!(prompt.contains("\nHISTORY"), "{prompt}");
            assert!(prompt.contains(" 768 "), "{prompt}");
            assert!(!prompt.contains('{'), "{prompt}");
        }
    }
}
