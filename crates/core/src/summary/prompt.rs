//! The prompts for a summarizer: templates with a place for the history.

use crate::summary::history::harmless;

/// English text has about three words for four tokens.
const WORDS_PER_TOKEN: f64 = 0.75;

/// Marks a line of a built-in prompt that only stands if the history has earlier notes.
const EARLIER: &str = "{{EARLIER}}";
/// Marks one that only stands if the user says what the next work is about.
const FOCUS: &str = "{{FOCUS}}";
/// The tags around earlier notes: tcompact's own, and `DeerFlow`'s. The texts of messages cannot hold them: they are
/// escaped.
const EARLIER_NOTES: [&str; 2] = ["<earlier_notes>", "<existing_summary>"];

/// The built-in prompt: notes under four headings.
pub const OWN: &str = include_str!("prompt.txt");
/// The four headings in few words, for a model with a small window: such a model is small itself, and repeats long
/// instructions instead of following them.
pub const SMALL: &str = include_str!("prompt_small.txt");

/// Estimates the words that have this many tokens.
pub(super) fn words(tokens: u64) -> u64 {
    ((tokens as f64 * WORDS_PER_TOKEN) as u64).max(1)
}

/// The syntax of a template.
#[derive(Debug, Clone, Copy)]
pub enum Fill {
    /// One `{messages}`, and any number of `{focus}`.
    Own,
    /// That of another system.
    Foreign(FillForeign),
}

/// Fills a template of another system with the history; the error is in the words of that system.
pub type FillForeign = fn(template: &str, history: &str) -> Result<String, String>;

/// A prompt with a place for the history.
#[derive(Debug, Clone)]
pub enum Template {
    /// The text around the single place.
    Parts {
        /// The text before a history without earlier notes.
        before: String,
        /// The text before a history with earlier notes.
        before_notes: String,
        /// The text after the history.
        after: String,
    },
    /// A template of another system, with any number of places.
    Foreign { text: String, fill: FillForeign },
}

impl Template {
    /// Creates the template of a built-in prompt that asks for notes of at most this many tokens, with what the next work is
    /// about.
    pub fn built_in(prompt: &str, summary_tokens: u64, focus: Option<&str>) -> Self {
        let text = prompt.trim_end().replace("{{WORDS}}", &words(summary_tokens).to_string());
        let (before, after) = text.split_once("{messages}").unwrap_or((&text, ""));
        let (mut always, mut with_notes) = (String::new(), String::new());
        for line in before.split_inclusive('\n') {
            if focus.is_none() && line.starts_with(FOCUS) {
                continue;
            }
            if !line.starts_with(EARLIER) {
                always.push_str(line);
            }
            with_notes.push_str(line);
        }
        let focus = harmless(focus.unwrap_or_default());
        // The text of the user comes last: nothing in it is a place.
        Template::Parts {
            before: always.replace(FOCUS, "").replace("{focus}", &focus),
            before_notes: with_notes.replace(EARLIER, "").replace(FOCUS, "").replace("{focus}", &focus),
            after: after.to_owned(),
        }
    }

    /// Parses a template. tcompact's own syntax has one `{messages}`, `{focus}` for what the next work is about, and `{{` and
    /// `}}` for braces. Any other is checked only when it is filled.
    ///
    /// # Errors
    /// The error, to follow the name of the file: no place or several, another field, a single brace.
    pub fn parse(text: &str, fill: Fill, focus: Option<&str>) -> Result<Self, String> {
        match fill {
            Fill::Own => Template::parse_own(text, focus.unwrap_or_default()),
            Fill::Foreign(fill) => Ok(Template::Foreign { text: text.to_owned(), fill }),
        }
    }

    fn parse_own(text: &str, focus: &str) -> Result<Self, String> {
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
            } else if let Some(after) = brace.strip_prefix("{focus}") {
                parts[last].push_str(&harmless(focus));
                rest = after;
            } else {
                let shown: String = brace.chars().take(20).take_while(|c| *c != '\n').collect();
                return Err(format!(
                    "has `{shown}`, which is not a field: there are {{messages}} and {{focus}}, and a brace of the text is written twice"
                ));
            }
        }
        let last = parts.len() - 1;
        parts[last].push_str(rest);
        match <[String; 2]>::try_from(parts) {
            Ok([before, after]) => Ok(Template::Parts { before_notes: before.clone(), before, after }),
            Err(parts) if parts.len() < 2 => Err("has no {messages}, which is where the history goes".to_owned()),
            Err(_) => Err("has {messages} more than once".to_owned()),
        }
    }

    /// The same template with another text for what the next work is about. Templates of other systems have no place for it.
    pub fn with_focus(&self, focus: &str, other: &str) -> Self {
        let (focus, other) = (harmless(focus), harmless(other));
        match self {
            Template::Parts { before, before_notes, after } => Template::Parts {
                before: before.replace(&*focus, &other),
                before_notes: before_notes.replace(&*focus, &other),
                after: after.replace(&*focus, &other),
            },
            Template::Foreign { .. } => self.clone(),
        }
    }

    /// Whether it has no place for the history, which is not an error in Python.
    pub fn has_no_place(&self) -> bool {
        matches!((self.fill("a"), self.fill("b")), (Ok(one), Ok(other)) if one == other)
    }

    /// The longest text around a history: that around one with earlier notes.
    pub fn around(&self) -> String {
        match self {
            Template::Parts { before_notes, after, .. } => [before_notes.as_str(), after].concat(),
            Template::Foreign { .. } => self.fill("").unwrap_or_default(),
        }
    }

    /// The lines around the history.
    pub fn instructions(&self) -> impl Iterator<Item = &str> {
        let (before, after) = match self {
            Template::Parts { before_notes, after, .. } => (before_notes, Some(after)),
            Template::Foreign { text, .. } => (text, None),
        };
        before.lines().chain(after.into_iter().flat_map(|after| after.lines()))
    }

    /// Fills in a history.
    ///
    /// # Errors
    /// The error of the other system for an invalid template.
    pub fn fill(&self, history: &str) -> Result<String, String> {
        match self {
            Template::Parts { before, before_notes, after } => {
                let has_notes = EARLIER_NOTES.iter().any(|tag| history.contains(tag));
                Ok([if has_notes { before_notes } else { before }, history, after].concat())
            }
            Template::Foreign { text, fill } => fill(text, history),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets;

    #[test]
    fn templates_are_filled_in() {
        let template = Template::parse("a {{x}} {messages} }}", Fill::Own, None).expect("a template");
        assert_eq!(template.fill("{H}").as_deref(), Ok("a {x} {H} }"));
        let refused = |text: &str| Template::parse(text, Fill::Own, None).expect_err(text);
        assert!(refused("nothing").contains("has no {messages}"));
        assert!(refused("{messages}{messages}").contains("more than once"));
        assert!(refused("{messages} {other}").contains("`{other}`"));
        assert!(refused("{messages} }").contains("`}`"));
    }

    #[test]
    fn every_built_in_template_has_a_place_and_a_length() {
        for built_in in [OWN, SMALL, presets::recipe::CHINESE, presets::recipe::BRIEF] {
            let prompt = Template::built_in(built_in, 1024, None).fill("HISTORY").expect("filled");
            assert!(prompt.contains("\nHISTORY"), "{prompt}");
            assert!(prompt.contains(" 768 "), "{prompt}");
            assert!(!prompt.contains('{'), "{prompt}");
        }
    }

    /// Instructions on notes that are not there make a model look for them.
    #[test]
    fn earlier_notes_are_only_spoken_of_where_the_history_has_some() {
        for built_in in [OWN, SMALL] {
            let template = Template::built_in(built_in, 1024, None);
            let filled = |history: &str| template.fill(history).expect("filled");
            for tag in ["<earlier_notes>", "<existing_summary>"] {
                let prompt = filled(tag);
                assert_eq!(prompt.matches("earlier notes in the record").count(), 1, "{prompt}");
                assert!(!prompt.contains("\n\n\n") && !prompt.contains('{'), "{prompt}");
            }
            let without = filled("&lt;earlier_notes&gt;");
            assert!(!without.contains("earlier notes") && !without.contains("\n\n\n"), "{without}");
            assert!(template.around().len() > filled("").len());
        }
    }

    /// What a user types is a subject, and no part of the prompt's own structure.
    #[test]
    fn a_focus_stands_where_it_belongs_and_nowhere_else() {
        let text = "a < b {messages} {focus} {{WORDS}}\n</focus>\n{{FOCUS}}<record>";
        for built_in in [OWN, SMALL, presets::recipe::CHINESE, presets::recipe::BRIEF] {
            let plain = Template::built_in(built_in, 1024, None).fill("HISTORY").expect("filled");
            assert!(!plain.contains("focus"), "{plain}");
            let prompt = Template::built_in(built_in, 1024, Some(text)).fill("HISTORY").expect("filled");
            assert_eq!(prompt.matches("HISTORY").count(), 1);
            let (_, inside) = prompt.split_once("<focus>\n").expect("a focus");
            let (inside, _) = inside.split_once("\n</focus>\n").expect("its end");
            assert_eq!(inside, harmless(text), "{prompt}");
            assert!(!inside.contains(['<', '>']), "{inside}");
            assert_eq!(prompt.matches("</focus>").count(), 1, "{prompt}");
        }
        for (template, filled) in [
            ("{focus}: {messages}", "beds &lt;7&gt; {x}: H"),
            ("{messages}{focus}{focus}", "Hbeds &lt;7&gt; {x}beds &lt;7&gt; {x}"),
            ("{{focus}} {messages}", "{focus} H"),
        ] {
            let with = Template::parse(template, Fill::Own, Some("beds <7> {x}")).expect("a template");
            assert_eq!(with.fill("H").as_deref(), Ok(filled));
            let without = Template::parse(template, Fill::Own, None).expect("a template");
            assert_eq!(without.fill("H"), Ok(filled.replace("beds &lt;7&gt; {x}", "")));
        }
    }

    #[test]
    fn the_prompt_of_a_user_is_never_altered() {
        for text in ["a\n{{EARLIER}}b\n{messages}", "{{EARLIER}}{messages}"] {
            let template = Template::parse(text, Fill::Own, None).expect("a template");
            for history in ["h", "<earlier_notes>"] {
                let expected = text.replace("{{EARLIER}}", "{EARLIER}").replace("{messages}", history);
                assert_eq!(template.fill(history), Ok(expected));
            }
        }
    }
}
