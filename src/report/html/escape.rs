//! Escaping of text for a page. The result has no markup, does not change the direction of the text around it, and
//! shows invisible characters. Every text is treated as hostile.

use std::fmt::Write;

use crate::redact::{cut_before, cut_behind};
use crate::sanitize::is_control;
use crate::wording::grouped_and_counted;

/// Escapes a text for use between tags and in a quoted attribute. Line ends and tabs stay. Controls become their
/// pictures; invisible characters and those that change the direction of text become their numbers.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\0'..='\u{1f}' => out.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}')),
            '\u{7f}' => out.push('\u{2421}'),
            '\u{fdd0}'..='\u{fdef}' => out.push('\u{fffd}'),
            c if u32::from(c) & 0xfffe == 0xfffe => out.push('\u{fffd}'),
            c if is_control(c) && !joins(c) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "‹U+{:04X}›", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// Whether a character joins or separates only its neighbours, as some languages and emoji need.
fn joins(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// Draws a text as a block. Of a text with more than `most` characters, it shows the beginning and the end.
pub(super) fn block(text: &str, most: usize) -> String {
    let characters = text.chars().count();
    if characters <= most {
        return whole_block(text);
    }
    let at = |index: usize| text.char_indices().nth(index).map_or(text.len(), |(at, _)| at);
    let (head, tail) = (most - most / 4, most / 4);
    let left_out = (characters - head - tail) as u64;
    let are = if left_out == 1 { "is" } else { "are" };
    let left_out = grouped_and_counted(left_out, "character");
    format!(
        "{}<p class=\"left-out\">… {left_out} {are} left out here …</p>\n{}",
        whole_block(&text[..cut_before(text, at(head))]),
        whole_block(&text[cut_behind(text, at(characters - tail))..])
    )
}

/// A whole text as a block.
fn whole_block(text: &str) -> String {
    format!("<pre dir=\"auto\">{}</pre>\n", escaped(text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markup_and_unseen_characters_are_escaped() {
        assert_eq!(
            escaped("<script>alert('a' & \"b\")</script>"),
            "&lt;script&gt;alert(&#39;a&#39; &amp; &quot;b&quot;)&lt;/script&gt;"
        );
        assert_eq!(escaped("a\0\u{1b}[2J\u{7f}\r\nb\rc\td"), "a␀␛[2J␡\nb␍c\td");
        assert_eq!(escaped("x\u{202e}y\u{2066}z\u{200b}\u{feff}\u{9b}"), "x‹U+202E›y‹U+2066›z‹U+200B›‹U+FEFF›‹U+009B›");
        assert_eq!(escaped("👩\u{200d}💻 می\u{200c}خواهم ❤\u{fe0f}"), "👩\u{200d}💻 می\u{200c}خواهم ❤\u{fe0f}");
        assert_eq!(escaped("\u{ffff}\u{fdd0}\u{1fffe}"), "\u{fffd}\u{fffd}\u{fffd}");
    }

    #[test]
    fn a_long_text_loses_its_middle() {
        assert_eq!(block("日本語", 3), "<pre dir=\"auto\">日本語</pre>\n");
        assert_eq!(
            block("日本語を話す人々", 4),
            "<pre dir=\"auto\">日本語</pre>\n<p class=\"left-out\">… 4 characters are left out here …</p>\n<pre dir=\"auto\">々</pre>\n"
        );
        assert_eq!(
            ["7", "123", "1,234", "12,345,678"],
            [7, 123, 1234, 12_345_678].map(crate::wording::grouped).each_ref().map(|s| &**s)
        );
    }

    proptest! {
        #[test]
        fn no_text_closes_its_element(text in any::<String>()) {
            let escaped = escaped(&text);
            prop_assert!(!escaped.contains(['<', '>', '"', '\'', '\0', '\u{1b}', '\u{202e}', '\r']), "{escaped}");
        }
    }
}
