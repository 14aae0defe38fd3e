//! Cutting text into sentences and words.
//!
//! Code blocks are no sentences and are left out, but for one line of code behind a colon: that is what is asked for.

use std::borrow::Cow;

/// Characters of a sentence that are kept.
const LONGEST: usize = 280;

/// The sentences of a text: code blocks and tags are left out, markers of lists and headings are taken off.
pub(in crate::summary) fn sentences(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut code: Option<Vec<&str>> = None;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            code = match code.take() {
                None => Some(Vec::new()),
                Some(lines) => {
                    quote(&lines, &mut found);
                    None
                }
            };
            continue;
        }
        if let Some(lines) = &mut code {
            lines.push(line);
            continue;
        }
        let line = without_tags(line);
        let line = without_marks(&line);
        let mut start = 0;
        let mut chars = line.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let before_space = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
            let ends = matches!(c, '。' | '！' | '？' | '；') || matches!(c, '.' | '!' | '?') && before_space;
            let ends = ends && !(c == '.' && is_abbreviation(&line[start..at], &line[at + 1..]));
            if ends {
                let end = at + c.len_utf8();
                push(&line[start..end], &mut found);
                start = end;
            }
        }
        push(&line[start..], &mut found);
    }
    found
}

/// Whether a full stop belongs to the word before it: the month of `Nov. 20th`, a title, the end of `e.g.`.
fn is_abbreviation(before: &str, after: &str) -> bool {
    const OF_NUMBERS: [&str; 18] = [
        "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "no", "nr", "fig", "vol",
        "pp", "approx",
    ];
    const OF_NAMES: [&str; 11] = ["mr", "mrs", "ms", "dr", "prof", "st", "vs", "e.g", "i.e", "cf", "resp"];
    const WITHIN: [&str; 7] = ["etc", "a.m", "p.m", "inc", "ltd", "approx", "incl"];
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or("");
    if word.len() > 6 {
        return false;
    }
    let word = word.to_ascii_lowercase();
    let next = after.trim_start().chars().next();
    match next {
        None => false,
        Some(c) if c.is_ascii_digit() && OF_NUMBERS.contains(&word.as_str()) => true,
        Some(c) if c.is_lowercase() && WITHIN.contains(&word.as_str()) => true,
        Some(_) => OF_NAMES.contains(&word.as_str()),
    }
}

/// Puts a line of code behind the sentence that announced it.
fn quote(code: &[&str], found: &mut [String]) {
    if let ([line], Some(said)) = (code, found.last_mut().filter(|said| said.ends_with([':', '：'])))
        && !line.is_empty()
        && line.chars().count() < LONGEST / 2
        && !line.contains('`')
    {
        said.push_str(&format!(" `{line}`"));
    }
}

/// A line without the marks of lists, quotes and emphasis; nothing of a heading, which says nothing by itself.
fn without_marks(line: &str) -> Cow<'_, str> {
    let hashed = line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
    let heading = hashed || line.len() > 4 && line.starts_with("**") && line.ends_with("**");
    let line = if heading && line.len() < LONGEST_HEADING { "" } else { line };
    // `#42` and `#include` are words.
    let after_hashes = line.trim_start_matches('#');
    let line = if after_hashes.is_empty() || after_hashes.starts_with(' ') { after_hashes } else { line };
    let line = line.trim_start_matches(['-', '*', '>', '•', '|', ' ', '✅', '❌', '✓']);
    let number = line.bytes().take_while(u8::is_ascii_digit).count();
    let numbered =
        (1..=2).contains(&number) && line[number..].starts_with([')', '.']) && line[number + 1..].starts_with(' ');
    let line = if numbered { line[number + 1..].trim_start() } else { line };
    if line.contains("**") { Cow::Owned(line.replace("**", "")) } else { Cow::Borrowed(line) }
}

/// Bytes of a line that may be a heading.
const LONGEST_HEADING: usize = 80;

/// A line without the tags and comments that frame what it says; one that only begins like a tag is left as it is.
fn without_tags(line: &str) -> Cow<'_, str> {
    if !line.starts_with('<') && !line.ends_with('>') {
        return Cow::Borrowed(line);
    }
    let mut kept = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        kept.push_str(before);
        rest = match tag.find('>') {
            Some(end) => &tag[end + 1..],
            // A comment that ends on another line.
            None if tag.starts_with("<!--") => "",
            None => {
                kept.push_str(tag);
                ""
            }
        };
    }
    kept.push_str(rest);
    Cow::Owned(kept.trim().to_owned())
}

/// Letters that a sentence needs to say something ("Yes, do." does not); a character of a script without spaces is three.
const FEWEST: usize = 8;

/// Keeps what has enough in it to say something.
fn push(sentence: &str, found: &mut Vec<String>) {
    let sentence = sentence.trim();
    let letters = sentence.chars().filter(|c| c.is_alphanumeric()).map(|c| if c < '\u{2e80}' { 1 } else { 3 });
    if letters.sum::<usize>() >= FEWEST {
        found.push(clipped(sentence));
    }
}

/// At most [`LONGEST`] characters.
pub(in crate::summary) fn clipped(sentence: &str) -> String {
    clipped_to(sentence, LONGEST)
}

/// A text of at most so many characters, ended between words where there are any, and inside of none.
pub(in crate::summary) fn clipped_to(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let head = &text[..end];
    let between = head.rfind(char::is_whitespace).filter(|at| *at > end / 2);
    // Half a number is another number.
    let whole = || head.trim_end_matches(|c: char| c.is_ascii_alphanumeric()).len();
    let word_end = between
        .unwrap_or_else(|| if text[end..].starts_with(|c: char| c.is_ascii_alphanumeric()) { whole() } else { end });
    format!("{}…", head[..word_end].trim_end())
}

/// The words of a text as they are spelled, from two letters on; pairs of characters in scripts without spaces.
pub(in crate::summary) fn spoken(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric()).flat_map(|word| {
        let wide: Vec<char> = word.chars().filter(|c| *c >= '\u{2e80}').collect();
        match (wide.is_empty(), word.chars().nth(1).is_some()) {
            (true, true) => vec![word.to_owned()],
            (true, false) => Vec::new(),
            _ => wide.windows(2).map(|pair| pair.iter().collect()).collect(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_they_end() {
        assert_eq!(
            sentences(
                "# Title here\n1. Version 1.2 is out. Yes! Use it now!\n```\ncode.here();\n```\n他走了。他回来了"
            ),
            ["Version 1.2 is out.", "Use it now!", "他走了。", "他回来了"]
        );
        assert!(sentences("... - !\n\n").is_empty());
    }

    #[test]
    fn a_hash_before_a_word_is_part_of_it() {
        assert_eq!(
            sentences(
                "#foo must not be renamed.\n#1234 is still broken, please fix it\n#Person1#: Where were you?\n## "
            ),
            ["#foo must not be renamed.", "#1234 is still broken, please fix it", "#Person1#: Where were you?"]
        );
    }

    #[test]
    fn abbreviations_end_no_sentence() {
        let whole = ["We meet Dr. Kim on Nov. 20th at 5 p.m. in room no. 7 (e.g. for lunch).", "It rained in Nov."];
        assert_eq!(sentences(&whole.join(" ")), whole);
        assert_eq!(sentences("The answer is no. Ask them again."), ["The answer is no.", "Ask them again."]);
    }

    #[test]
    fn code_that_is_announced_stands_with_it() {
        let text =
            "You must use this command to submit:\n```bash\necho DONE\n```\nOr else this one here:\n```\na\nb\n```";
        assert_eq!(sentences(text), ["You must use this command to submit: `echo DONE`", "Or else this one here:"]);
    }

    #[test]
    fn tags_frame_sentences_and_are_none() {
        assert_eq!(
            sentences(
                "<task>Fix the parser.</task>\n<uploaded_files>\n<!-- a hint\n1 < 2 holds here\n<b>Bold</b> words here"
            ),
            ["Fix the parser.", "1 < 2 holds here", "Bold words here"]
        );
    }

    #[test]
    fn long_sentences_are_clipped_between_words() {
        let long = sentences(&"word ".repeat(200));
        assert!(long[0].ends_with("word…") && long[0].chars().count() <= LONGEST + 1);
        assert!(sentences(&"字".repeat(1_000))[0].chars().count() <= LONGEST + 1);
    }
}
