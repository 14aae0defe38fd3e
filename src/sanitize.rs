//! Text for a terminal: removes the characters that a terminal obeys instead of showing.
//!
//! This is the only place that knows these characters. All output of foreign text uses it, on a terminal, in a report
//! and on a page.

use std::fmt::Write;

/// Whether a character directs how others are shown: a terminal would obey it, or draw a line that reads differently
/// than it is written.
///
/// These are the controls, the separators of lines and paragraphs, the marks of interlinear annotations, and what Unicode
/// calls `Default_Ignorable_Code_Point`: marks of direction, joiners, fillers, variation selectors and tags.
pub(crate) fn is_control(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    let marks = matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}');
    let directs = matches!(c, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}');
    let joins = matches!(c, '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}');
    let notes = matches!(c, '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}');
    c.is_control() || marks || directs || joins || notes || matches!(c, '\u{e0000}'..='\u{e0fff}')
}

/// Removes the controls from a text, except for line ends and tabs.
pub(crate) fn sanitize(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !is_control(*c)).collect()
}

/// Spells out the controls of a text that is kept for people to read, except for line ends and tabs: a terminal that
/// shows the file obeys none, and nothing is lost. What only joins letters, or picks the form of an emoji, stays.
#[cfg(feature = "cli")]
pub(crate) fn reveal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let ends_line = c == '\r' && chars.peek() == Some(&'\n');
        let is_shaping = matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}');
        if is_control(c) && !(matches!(c, '\n' | '\t') || ends_line || is_shaping) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Removes the controls from a text, and puts it on one line. A file name can have line ends, but only tcompact begins
/// a line.
pub(crate) fn sanitize_line(text: &str) -> String {
    sanitize(&text.replace('\n', "\\n"))
}

/// Escapes the name of a conversation for a table whose columns are separated by tabs.
pub(crate) fn sanitize_name(name: &str) -> String {
    sanitize_line(&name.replace('\t', "\\t"))
}

/// Escapes the characters in JSON that a terminal obeys, except ends of lines and tabs. A program reads the same value.
pub(crate) fn sanitize_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_control(c) && !c.is_ascii_whitespace() {
            // JSON has such characters only in strings.
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_directs_is_removed_and_what_is_shown_stays() {
        assert_eq!(sanitize("a\tb\r\u{1b}]0;x\u{2066}\nc"), "a\tb]0;x\nc");
        assert_eq!(sanitize_name("a\tb\nc"), "a\\tb\\nc");
        assert_eq!(sanitize_line("a\nb\u{200f}\u{2028}c\u{61c}d\u{200b}e"), "a\\nbcde");
        assert_eq!(
            sanitize("e\u{301} 日本語 😀 ¿ß\u{a0}"),
            "e\u{301} 日本語 😀 ¿ß\u{a0}",
            "an accent belongs to its letter"
        );
    }

    #[cfg(feature = "cli")]
    #[test]
    fn what_is_kept_to_be_read_loses_nothing_and_directs_nothing() {
        assert_eq!(reveal("a\tb\r\nc\rd\u{1b}]0;x\u{9b}2J\u{202e}"), "a\tb\r\nc\\u{d}d\\u{1b}]0;x\\u{9b}2J\\u{202e}");
        for kept in ["می\u{200c}خواهم", "👩\u{200d}💻 ☎\u{fe0f}", "日本語 e\u{301}\n"] {
            assert_eq!(reveal(kept), kept);
        }
    }

    /// The Unicode tables agree on every character.
    #[test]
    fn nothing_that_unicode_ignores_is_shown() {
        let table = r"[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\x{fff9}-\x{fffb}]";
        let table = regex::Regex::new(table).expect("a pattern");
        for c in '\0'..=char::MAX {
            assert_eq!(is_control(c), table.is_match(c.encode_utf8(&mut [0; 4])), "{c:?}");
        }
    }

    #[test]
    fn a_line_of_json_says_the_same() {
        let all: String = ('\0'..=char::MAX).filter(|c| is_control(*c)).chain("日\"😀".chars()).collect();
        let json = serde_json::json!({ &*all: all }).to_string();
        let clean = sanitize_json(&json);
        assert_eq!(clean.chars().find(|c| is_control(*c)), None);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&clean).expect("JSON"), serde_json::json!({ &*all: all }));
    }
}
