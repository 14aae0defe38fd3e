//! Cutting text into paragraphs, sentences and words.
//!
//! A paragraph is what its writer put into one: lines that an editor wrapped are joined again, an item of a list stands by
//! itself. What a person pasted is left out and marked by "…": code in fences, logs, traces and diffs.

use std::borrow::Cow;

/// What stands where something was left out.
pub(in crate::summary) const GAP: char = '…';

/// A paragraph on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::summary) struct Paragraph {
    /// Its text, without the marks of lists and headings.
    pub(in crate::summary) text: String,
    /// Whether it is an item of a list.
    pub(in crate::summary) is_item: bool,
    /// Whether it is a short heading, which says nothing by itself.
    pub(in crate::summary) is_heading: bool,
}

/// The paragraphs of a text.
pub(in crate::summary) fn paragraphs(text: &str) -> Vec<Paragraph> {
    let mut found: Vec<Paragraph> = Vec::new();
    let mut block: Vec<&str> = Vec::new();
    let mut code: Option<Vec<&str>> = None;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            of_block(&std::mem::take(&mut block), &mut found);
            code = match code.take() {
                None => Some(Vec::new()),
                Some(lines) => {
                    quote(&lines, &mut found);
                    None
                }
            };
            continue;
        }
        match &mut code {
            Some(lines) => lines.push(line),
            None if line.is_empty() => of_block(&std::mem::take(&mut block), &mut found),
            None => block.push(line),
        }
    }
    of_block(&block, &mut found);
    found
}

/// Lines without an empty one among them.
fn of_block(lines: &[&str], found: &mut Vec<Paragraph>) {
    /// Lines that were pasted, if nearly all of them are nothing that a person types.
    const PASTED: usize = 3;
    /// Bytes of a line that an editor may have wrapped.
    const WRAPPED: usize = 34;
    let typed: Vec<bool> = lines.iter().map(|line| is_prose(&without_tags(line))).collect();
    let first = typed.iter().position(|typed| !typed).unwrap_or(lines.len());
    let rest = &typed[first..];
    let pasted = rest.iter().filter(|typed| !**typed).count();
    let end = if pasted >= PASTED && pasted * 5 >= rest.len() * 3 { first } else { lines.len() };
    let mut before = 0;
    let mut fresh = true;
    for line in &lines[..end] {
        let line = without_tags(line);
        let (text, is_item) = without_marks(&line);
        let is_heading =
            is_marked_as_heading(&line) && spoken(&text).nth(3).is_none() && !text.ends_with(['.', '!', '?']);
        let length = text.chars().map(|c| if c < '\u{2e80}' { 1 } else { 2 }).sum::<usize>();
        if text.is_empty() {
            fresh = true;
            continue;
        }
        if is_heading {
            found.push(Paragraph { text: text.into_owned(), is_item, is_heading });
            fresh = true;
            continue;
        }
        let goes_on = !fresh && !is_item && (before >= WRAPPED || text.starts_with(|c: char| c.is_ascii_lowercase()));
        match found.last_mut().filter(|last| goes_on || !fresh && last.text.ends_with([':', '：'])) {
            Some(last) if last.text.len() < LONGEST_PARAGRAPH => {
                if !last.text.ends_with(|c: char| c >= '\u{2e80}') || !text.starts_with(|c: char| c >= '\u{2e80}') {
                    last.text.push(' ');
                }
                last.text.push_str(&text);
            }
            _ => found.push(Paragraph { text: text.into_owned(), is_item, is_heading }),
        }
        before = length;
        fresh = false;
    }
    if end < lines.len() {
        mark_gap(found);
    }
}

/// Bytes from which on nothing is joined to a paragraph.
const LONGEST_PARAGRAPH: usize = 2_000;

/// Marks that something behind the last paragraph is left out.
fn mark_gap(found: &mut [Paragraph]) {
    if let Some(last) = found.last_mut().filter(|last| !last.text.ends_with(GAP)) {
        last.text.push_str(" …");
    }
}

/// Whether a person may have typed a line; what programs print has more digits and marks, and begins otherwise.
fn is_prose(line: &str) -> bool {
    let levels = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphabetic());
        word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    let wide = line.chars().any(|c| c >= '\u{2e80}');
    let has_digit = line.bytes().any(|byte| byte.is_ascii_digit());
    let first = line.split_whitespace().next().unwrap_or("");
    let opens = [
        "at ",
        "File \"",
        "Traceback",
        "+",
        "@@",
        "diff --",
        "-rw",
        "drwx",
        "//",
        "/*",
        "$ ",
        ">>> ",
        "| ",
        "├",
        "└",
        "│",
    ];
    if opens.iter().any(|opening| line.starts_with(opening)) {
        return false;
    }
    if !wide && has_digit && (levels(first) || first.len() > 7 && first.bytes().filter(u8::is_ascii_digit).count() > 3)
    {
        return false;
    }
    // Nothing but the names of files.
    let is_file = |word: &str| word.trim_end_matches(['.', ',', '?', '!']).contains(['.', '_', '/']);
    let words = || line.split_whitespace();
    if !wide && words().nth(1).is_some() && words().filter(|word| is_file(word)).count() * 3 >= words().count() * 2 {
        return false;
    }
    if line.ends_with(['{', '}', ';', '(', '\\']) || line.starts_with(['{', '}', '[', ']', '<', '"']) && !wide {
        return false;
    }
    let (mut letters, mut marks) = (0, 0);
    for c in line.chars() {
        match c {
            ' ' | ',' | '.' | '\'' | '’' | '?' | '!' | '-' => {}
            c if c.is_alphabetic() => letters += 1,
            _ => marks += 1,
        }
    }
    marks * 4 <= letters || line.len() < 24
}

/// The sentences of a paragraph, one after another. What has no words belongs to the sentence before it.
pub(in crate::summary) fn sentences(paragraph: &str) -> Vec<&str> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut push = |start: usize, end: usize| {
        let says = paragraph[start..end].chars().any(char::is_alphanumeric);
        match found.last_mut().filter(|_| !says) {
            Some(last) => last.1 = end,
            None if says => found.push((start, end)),
            None => {}
        }
    };
    let mut start = 0;
    let mut chars = paragraph.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let before_space = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        let ends = matches!(c, '。' | '！' | '？' | '；') || matches!(c, '.' | '!' | '?') && before_space;
        // The number of an item that was joined to its list ends no sentence.
        let numbers = || {
            let word = paragraph[start..at].rsplit(char::is_whitespace).next().unwrap_or("");
            (1..=2).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
        };
        if ends && !(c == '.' && (numbers() || is_abbreviation(&paragraph[start..at], &paragraph[at + 1..]))) {
            let end = at + c.len_utf8();
            push(start, end);
            start = end;
        }
    }
    push(start, paragraph.len());
    found.into_iter().map(|(start, end)| paragraph[start..end].trim()).collect()
}

/// Characters of a sentence that are kept.
const LONGEST: usize = 280;

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

/// Puts a line of code behind the sentence that announced it; of more only a mark stands there.
fn quote(code: &[&str], found: &mut [Paragraph]) {
    if let ([line], Some(said)) = (code, found.last_mut().filter(|said| said.text.ends_with([':', '：'])))
        && !line.is_empty()
        && line.chars().count() < LONGEST / 2
        && !line.contains('`')
    {
        said.text.push_str(&format!(" `{line}`"));
    } else {
        mark_gap(found);
    }
}

/// Whether a line is marked as a heading, or set in bold as a whole.
fn is_marked_as_heading(line: &str) -> bool {
    let after_hashes = line.trim_start_matches('#');
    let bold = line.trim_end_matches([':', '：']).strip_prefix("**").and_then(|line| line.strip_suffix("**"));
    after_hashes.len() < line.len() && after_hashes.starts_with(' ') || bold.is_some_and(|bold| !bold.contains("**"))
}

/// A line without the marks of lists, quotes and emphasis, and whether it is an item of a list.
fn without_marks(line: &str) -> (Cow<'_, str>, bool) {
    // `#42` and `#include` are words.
    let after_hashes = line.trim_start_matches('#');
    let line = if after_hashes.is_empty() || after_hashes.starts_with(' ') { after_hashes.trim() } else { line };
    let bare = line.trim_start_matches(['-', '*', '>', '•', '|', ' ', '✅', '❌', '✓']);
    let marked = bare.len() < line.len() && !line.starts_with('>');
    let number = bare.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = (1..=2).contains(&number) && bare[number..].starts_with([')', '.', '、']);
    let text = if bare.contains("**") { Cow::Owned(bare.replace("**", "")) } else { Cow::Borrowed(bare) };
    (text, marked || numbered)
}

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

/// The beginning and the end of a text, of at most so many characters and cut between words, with "…" for the middle.
pub(in crate::summary) fn without_middle(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let head = clipped_to(text, most * 2 / 3);
    let start = text.char_indices().rev().nth((most / 3).saturating_sub(1)).map_or(0, |(at, _)| at);
    let end = match text[start..].find(char::is_whitespace).filter(|at| *at < most / 6) {
        Some(at) => text[start + at..].trim_start(),
        None => &text[start..],
    };
    format!("{} … {end}", head.trim_end_matches(GAP).trim_end())
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

    fn told(text: &str) -> Vec<String> {
        paragraphs(text).into_iter().map(|paragraph| paragraph.text).collect()
    }

    #[test]
    fn sentences_end_where_they_end() {
        assert_eq!(
            sentences("Version 1.2 is out. Yes! Use it now! 他走了。他回来了"),
            ["Version 1.2 is out.", "Yes!", "Use it now!", "他走了。", "他回来了"]
        );
        assert!(sentences("... - !").is_empty());
        let whole = ["We meet Dr. Kim on Nov. 20th at 5 p.m. in room no. 7 (e.g. for lunch).", "It rained in Nov."];
        assert_eq!(sentences(&whole.join(" ")), whole);
        assert_eq!(sentences("The answer is no. Ask them again."), ["The answer is no.", "Ask them again."]);
    }

    #[test]
    fn wrapped_lines_are_one_paragraph_and_items_are_their_own() {
        assert_eq!(
            told(
                "The importer should take its rows from the stream\nand never hold them all.\n\n- keep the API\n- drop 3.8\n1. Add hints\nNo mocks."
            ),
            [
                "The importer should take its rows from the stream and never hold them all.",
                "keep the API",
                "drop 3.8",
                "1. Add hints",
                "No mocks."
            ]
        );
        assert_eq!(told("#foo stays.\n# Title\n> 他走了\n回来了"), ["#foo stays.", "Title", "他走了", "回来了"]);
        assert_eq!(told("What is left:\nthe docs"), ["What is left: the docs"]);
    }

    #[test]
    fn what_was_pasted_is_marked() {
        let log =
            "2026-03-01 INFO cart.load id=4711 in 12ms\nWARN cart queue length 4711\nGET /cart/1 200 3ms trace=ab12";
        assert_eq!(told(&format!("No new dependencies.\n\n{log}")), ["No new dependencies. …"]);
        assert_eq!(told(&format!("It fails:\n{log}\nDEBUG x: y 1")), ["It fails: …"]);
        assert_eq!(
            told("Use this:\n```\necho DONE\n```\nOr else:\n```\na\nb\n```"),
            ["Use this: `echo DONE`", "Or else: …"]
        );
        assert_eq!(
            told("Port 8080.\nTimeout: 30 s\nRetries: 3\nBackoff: 2"),
            ["Port 8080.", "Timeout: 30 s", "Retries: 3", "Backoff: 2"]
        );
    }

    #[test]
    fn tags_frame_sentences_and_are_none() {
        assert_eq!(
            told(
                "<task>Fix the parser.</task>\n<uploaded_files>\n<!-- a hint\n1 < 2 holds here\n<b>Bold</b> words here"
            ),
            ["Fix the parser.", "1 < 2 holds here", "Bold words here"]
        );
    }

    #[test]
    fn long_texts_are_clipped_between_words() {
        let long = clipped(&"word ".repeat(200));
        assert!(long.ends_with("word…") && long.chars().count() <= LONGEST + 1);
        let ends = without_middle(&format!("first {}last", "word ".repeat(200)), 60);
        assert!(ends.starts_with("first word") && ends.ends_with("word last") && ends.contains(" … "), "{ends}");
        assert!(ends.chars().count() <= 63, "{ends}");
        assert_eq!(without_middle("short", 60), "short");
    }
}
