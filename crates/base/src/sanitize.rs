//! Text for a terminal: removes the characters that a terminal obeys instead of showing.
//!
//! This is the only place that knows these characters. All output of foreign text uses it, on a terminal, in a report
//! and on a page.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;

/// Whether a character directs how others are shown: a terminal would obey it, or draw a line that reads differently
/// than it is written.
///
/// These are the controls, the separators of lines and paragraphs, the marks of interlinear annotations, and what Unicode
/// calls `Default_Ignorable_Code_Point`: marks of direction, joiners, fillers, variation selectors and tags.
pub fn is_control(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    let marks = matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}');
    let directs = matches!(c, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}');
    let joins = matches!(c, '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}');
    let notes = matches!(c, '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}');
    c.is_control() || marks || directs || joins || notes || matches!(c, '\u{e0000}'..='\u{e0fff}')
}

/// Sequences that a terminal obeys, also as programs and JSON spell them, and what a backspace takes back.
static SEQUENCES: LazyLock<Regex> = LazyLock::new(|| {
    let (spelled, introducer) = (r"\\+(?:u001[bB]|x1[bB]|033|e)", "\u{9b}");
    let command = r"[0-?]{0,64}[ -/]{0,4}[@-~]";
    let string = r"\x1b[\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)?";
    pattern(&format!(
        r"(?:\x1b\[|{introducer}){command}|{spelled}\[[0-9;]{{0,32}}[mK]|\[[0-9;]{{1,12}}m|{string}|\x1b[ -/]{{0,4}}[0-~]|.\x08"
    ))
});

/// A text as a terminal shows it.
pub struct Shown {
    /// The text.
    pub text: String,
    /// Where sequences are removed from it, and by how much what follows is further behind in the source.
    removed: Vec<(usize, usize)>,
}

impl Shown {
    /// A text without the sequences that a terminal obeys; nothing if it has none.
    pub fn new(source: &str) -> Option<Self> {
        // Most texts have none, which these tell faster than the pattern.
        const PARTS: [&str; 8] = ["\u{1b}", "\u{8}", "\u{9b}", "1b[", "1B[", "033[", "\\e[", "[0m"];
        if !PARTS.iter().any(|part| memchr::memmem::find(source.as_bytes(), part.as_bytes()).is_some()) {
            return None;
        }
        SEQUENCES.find(source)?;
        let mut text = String::with_capacity(source.len());
        let mut removed = Vec::new();
        let mut done = 0;
        for sequence in SEQUENCES.find_iter(source) {
            text.push_str(&source[done..sequence.start()]);
            done = sequence.end();
            removed.push((text.len(), done - text.len()));
        }
        text.push_str(&source[done..]);
        Some(Shown { text, removed })
    }

    /// A range in the source: with the sequences inside it, and without those around it.
    pub fn in_source(&self, range: &Range<usize>) -> Range<usize> {
        let before = self.removed.partition_point(|(at, _)| *at <= range.start);
        let inside = self.removed.partition_point(|(at, _)| *at < range.end);
        range.start + self.shift_after(before)..range.end + self.shift_after(inside)
    }

    /// By how much the text after the first `sequences` sequences is further behind in the source.
    fn shift_after(&self, sequences: usize) -> usize {
        if sequences == 0 { 0 } else { self.removed[sequences - 1].1 }
    }
}

/// The patterns of this module.
#[cfg(any(test, feature = "tests"))]
pub fn patterns() -> Vec<&'static Regex> {
    vec![&*SEQUENCES]
}

/// Removes the controls from a text, except for line ends and tabs.
pub fn sanitize(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !is_control(*c)).collect()
}

/// Whether a terminal obeys a character: the controls, and the marks that reorder a line.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Spells out what a terminal obeys in a text that is kept for people to read, except for line ends and tabs. What only
/// joins letters, picks the form of an emoji or marks the order of bytes stays: it is a part of the text.
pub fn reveal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let ends_line = c == '\n' || c == '\r' && chars.peek() == Some(&'\n');
        if is_obeyed(c) && c != '\t' && !ends_line {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Spells out the controls in a line that a program or a person reads among lines of tcompact's own, so that none can
/// begin another line or hide. Tabs stay, and what only joins letters or picks the form of an emoji.
pub fn reveal_line(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        let stays = matches!(c, '\t' | '\u{200c}'..='\u{200d}' | '\u{fe00}'..='\u{fe0f}');
        if is_control(c) && !stays {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Removes the controls from a text, and puts it on one line. A file name can have line ends, but only tcompact begins
/// a line.
pub fn sanitize_line(text: &str) -> String {
    sanitize(&text.replace('\n', "\\n"))
}

/// Escapes the name of a conversation for a table whose columns are separated by tabs.
pub fn sanitize_name(name: &str) -> String {
    sanitize_line(&name.replace('\t', "\\t"))
}

/// Escapes the characters in JSON that a terminal obeys, except ends of lines and tabs. A program reads the same value.
pub fn sanitize_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_control(c) && !c.is_ascii_whitespace() {
            // JSON has such characters only in strings.
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
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
    fn what_a_terminal_obeys_is_not_shown_and_places_lead_back() {
        let source = "a\u{1b}[1;31mbc\u{1b}[0m\u{1b}]8;;x\u{1b}\\d\\u001b[0me_\u{8}f";
        let shown = Shown::new(source).expect("it has sequences");
        assert_eq!(shown.text, "abcdef");
        let of = |range: Range<usize>| &source[shown.in_source(&range)];
        assert_eq!((of(1..3), of(0..1), of(3..4), of(4..6)), ("bc", "a", "d", "e_\u{8}f"));
        assert_eq!(of(2..4), "c\u{1b}[0m\u{1b}]8;;x\u{1b}\\d");
        assert_eq!(Shown::new("[0;1mplain[0m text").expect("what is left of some").text, "plain text");
        assert!(Shown::new("plain [0] text \\").is_none());
    }

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
