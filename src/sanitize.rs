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

/// Whether a terminal obeys a character: the controls, and the marks that reorder a line.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Spells out what a terminal obeys in a text that is kept for people to read, except for line ends and tabs. What only
/// joins letters, picks the form of an emoji or marks the order of bytes stays: it is a part of the text.
pub(crate) fn reveal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let ends_line = c == '\n' || c == '\r' && chars.peek() == Some(&'\n');
        if is_obeyed(c) && c != '\t' && !ends_line {
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

    #[test]
    fn what_is_kept_to_be_read_is_spelled_out_only_where_a_terminal_obeys_it() {
        assert_eq!(reveal("a\tb\r\nc\rd\u{1b}]0;x\u{9b}2J\u{202e}"), "a\tb\r\nc\\u{d}d\\u{1b}]0;x\\u{9b}2J\\u{202e}");
        let table = regex::Regex::new(r"[\p{Cc}\p{Bidi_Control}--\t\n]").expect("a pattern");
        for c in ('\0'..=char::MAX).map(String::from) {
            assert_eq!(reveal(&c) != c, table.is_match(&c), "{c:?}");
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
