//! Splits text into paragraphs, sentences and words.
//!
//! A paragraph is one as its writer meant it: lines that an editor wrapped are joined, and a list item is one of its
//! own. Pasted code, logs, traces and diffs are left out and marked by "…".

use std::borrow::Cow;

/// The mark of an omission.
pub(in crate::summary) const GAP: char = '…';

/// A paragraph on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::summary) struct Paragraph {
    /// The text, without the marks of lists and headings.
    pub(in crate::summary) text: String,
    /// Whether it is an item of a list.
    pub(in crate::summary) is_item: bool,
    /// Whether it is a short heading, which states nothing by itself.
    pub(in crate::summary) is_heading: bool,
    /// Whether it is marked as a heading by `#`, whatever its length.
    pub(in crate::summary) is_title: bool,
    /// The columns before it, by which an item is told from those of the list around it.
    pub(in crate::summary) indent: usize,
}

/// Splits a text into paragraphs. What announces a list stands with its first item.
pub(in crate::summary) fn paragraphs(text: &str) -> Vec<Paragraph> {
    let mut joined: Vec<Paragraph> = Vec::new();
    for paragraph in split_paragraphs(text) {
        let announces = |before: &&mut Paragraph| !before.is_title && before.text.ends_with([':', '：']);
        match joined.last_mut().filter(announces).filter(|_| paragraph.is_item) {
            Some(before) => {
                let between = if before.text.ends_with('：') { "" } else { " " };
                before.text.push_str(between);
                before.text.push_str(&paragraph.text);
            }
            None => joined.push(paragraph),
        }
    }
    joined
}

/// Splits a text into paragraphs, with each item of a list on its own.
pub(in crate::summary) fn split_paragraphs(text: &str) -> Vec<Paragraph> {
    let mut paragraphs_so_far: Vec<Paragraph> = Vec::new();
    let mut block: Vec<&str> = Vec::new();
    let mut code: Option<Vec<&str>> = None;
    /// Most bytes of a comment. More are no comment that somebody forgot to end.
    const LONGEST_COMMENT: usize = 1_500;
    let mut comment_end = 0;
    for line in text.lines() {
        let place = line.as_ptr() as usize - text.as_ptr() as usize;
        let end = place + line.len();
        if end <= comment_end {
            continue;
        }
        let line = text[place.max(comment_end)..end].trim_end();
        // A comment of several lines is hidden in what it was copied from.
        if code.is_none()
            && line.trim_start().starts_with("<!--")
            && !line.contains("-->")
            && let Some(length) = text[end..text.floor_char_boundary(end + LONGEST_COMMENT)].find("-->")
            && !text[end..end + length].contains("<!--")
            // An arrow in a sentence ends no comment.
            && text[end + length..].lines().next().is_some_and(|end| end.trim() == "-->")
        {
            comment_end = end + length + "-->".len();
            continue;
        }
        if line.trim_start().starts_with("```") {
            block_paragraphs(&std::mem::take(&mut block), &mut paragraphs_so_far);
            code = match code.take() {
                None => Some(Vec::new()),
                Some(lines) => {
                    append_code(&lines, &mut paragraphs_so_far);
                    None
                }
            };
            continue;
        }
        match &mut code {
            Some(lines) => lines.push(line.trim_start()),
            None if line.is_empty() => block_paragraphs(&std::mem::take(&mut block), &mut paragraphs_so_far),
            None => block.push(line),
        }
    }
    block_paragraphs(&block, &mut paragraphs_so_far);
    paragraphs_so_far
}

/// Adds the paragraphs of a block, which are lines without an empty one in between.
fn block_paragraphs(lines: &[&str], paragraphs_so_far: &mut Vec<Paragraph>) {
    /// The least lines of pasted output, if most of them are nothing that a person types.
    const PASTED: usize = 3;
    /// The least width of a line that an editor may have wrapped.
    const WRAPPED: usize = 34;
    let is_typed: Vec<bool> = lines.iter().map(|line| is_prose(&strip_tags(line.trim_start()))).collect();
    let first = is_typed.iter().position(|is_typed| !is_typed).unwrap_or(lines.len());
    let rest = &is_typed[first..];
    let pasted_lines = rest.iter().filter(|is_typed| !**is_typed).count();
    let end = if pasted_lines >= PASTED && pasted_lines * 5 >= rest.len() * 3 { first } else { lines.len() };
    let mut line_width = 0;
    let mut starts_new = true;
    for line in &lines[..end] {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        let line = strip_tags(bare);
        let (text, is_item) = strip_list_marks(&line);
        let is_title = line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
        let is_heading =
            has_heading_mark(&line) && words_of(&text).nth(3).is_none() && !text.ends_with(['.', '!', '?']);
        let length = text.chars().map(|c| if c < '\u{2e80}' { 1 } else { 2 }).sum::<usize>();
        if text.is_empty() {
            starts_new = true;
            continue;
        }
        if is_heading || is_title {
            paragraphs_so_far.push(Paragraph { text: text.into_owned(), is_item, is_heading, is_title, indent });
            starts_new = true;
            continue;
        }
        let is_lowercase = text.starts_with(|c: char| c.is_ascii_lowercase());
        // A sentence can go on after a line of code: change it from `x` to `y`.
        let follows_code = starts_new
            && is_lowercase
            && paragraphs_so_far.last().is_some_and(|last| last.text.ends_with('`') && last.text.contains(": `"));
        let continues = follows_code || !starts_new && !is_item && (line_width >= WRAPPED || is_lowercase);
        match paragraphs_so_far
            .last_mut()
            .filter(|last| continues || !starts_new && !is_item && last.text.ends_with([':', '：']))
        {
            Some(last) if last.text.len() < LONGEST_PARAGRAPH => {
                if !last.text.ends_with(|c: char| c >= '\u{2e80}') || !text.starts_with(|c: char| c >= '\u{2e80}') {
                    last.text.push(' ');
                }
                last.text.push_str(&text);
            }
            _ => paragraphs_so_far.push(Paragraph { text: text.into_owned(), is_item, is_heading, is_title, indent }),
        }
        line_width = length;
        starts_new = false;
    }
    if end < lines.len() {
        append_gap(paragraphs_so_far);
    }
}

/// Bytes of a paragraph that is not extended further.
const LONGEST_PARAGRAPH: usize = 2_000;

/// Marks an omission after the last paragraph.
fn append_gap(paragraphs_so_far: &mut [Paragraph]) {
    if let Some(last) = paragraphs_so_far.last_mut().filter(|last| !last.text.ends_with(GAP)) {
        last.text.push_str(" …");
    }
}

/// Whether a person may have typed a line. Lines that programs print have more digits and punctuation, and other
/// openings.
fn is_prose(line: &str) -> bool {
    let is_log_level = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphabetic());
        word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    let is_wide = line.chars().any(|c| c >= '\u{2e80}');
    let has_digit = line.bytes().any(|byte| byte.is_ascii_digit());
    let first = line.split_whitespace().next().unwrap_or("");
    let program_openings = [
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
    if program_openings.iter().any(|opening| line.starts_with(opening)) {
        return false;
    }
    if !is_wide
        && has_digit
        && (is_log_level(first) || first.len() > 7 && first.bytes().filter(u8::is_ascii_digit).count() > 3)
    {
        return false;
    }
    // The line is a list of files.
    let is_file = |word: &str| word.trim_end_matches(['.', ',', '?', '!']).contains(['.', '_', '/']);
    let words = || line.split_whitespace();
    if !is_wide && words().nth(1).is_some() && words().filter(|word| is_file(word)).count() * 3 >= words().count() * 2 {
        return false;
    }
    if line.ends_with(['{', '}', ';', '(', '\\']) || line.starts_with(['{', '}', '[', ']', '<', '"']) && !is_wide {
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

/// Splits a paragraph into sentences. A part without words belongs to the sentence before it.
pub(in crate::summary) fn sentences(paragraph: &str) -> Vec<&str> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut push = |start: usize, end: usize| {
        let has_words = paragraph[start..end].chars().any(char::is_alphanumeric);
        match found.last_mut().filter(|_| !has_words) {
            Some(last) => last.1 = end,
            None if has_words => found.push((start, end)),
            None => {}
        }
    };
    let mut start = 0;
    let mut chars = paragraph.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let before_space = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        let ends = matches!(c, '。' | '！' | '？' | '；') || matches!(c, '.' | '!' | '?') && before_space;
        // The number of an item inside a paragraph does not end a sentence, but the day of a date does.
        let is_list_number = || {
            let (line, word) =
                paragraph[start..at].rsplit_once(char::is_whitespace).unwrap_or(("", &paragraph[start..at]));
            let opens = line.trim_end().is_empty() || line.trim_end().ends_with([':', ',', ';', ')', '(']);
            let next = paragraph[at + 1..].trim_start().chars().next();
            (1..=2).contains(&word.len())
                && word.bytes().all(|byte| byte.is_ascii_digit())
                && (opens || next.is_some_and(char::is_lowercase))
        };
        // An ellipsis can stand inside a sentence.
        let goes_on = || {
            let next = paragraph[at + 1..].trim_start().chars().next();
            paragraph[..at].ends_with('.') && next.is_some_and(char::is_lowercase)
        };
        if ends
            && !(c == '.' && goes_on())
            && !(c == '.' && (is_list_number() || is_abbreviation(&paragraph[start..at], &paragraph[at + 1..])))
        {
            let end = at + c.len_utf8();
            push(start, end);
            start = end;
        }
    }
    push(start, paragraph.len());
    found.into_iter().map(|(start, end)| paragraph[start..end].trim()).collect()
}

/// Most characters of a sentence.
const LONGEST_SENTENCE: usize = 280;

/// Whether a full stop belongs to an abbreviation: the month of `Nov. 20th`, a title, the end of `e.g.`.
fn is_abbreviation(before: &str, after: &str) -> bool {
    const OF_NUMBERS: [&str; 18] = [
        "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "no", "nr", "fig", "vol",
        "pp", "approx",
    ];
    const TITLES: [&str; 6] = ["Mr", "Mrs", "Ms", "Dr", "Prof", "St"];
    const ANYWHERE: [&str; 5] = ["vs", "e.g", "i.e", "cf", "resp"];
    const WITHIN: [&str; 7] = ["etc", "a.m", "p.m", "inc", "ltd", "incl", "excl"];
    let is_acronym = || after.trim_start().chars().take(2).filter(|c| c.is_uppercase()).count() == 2;
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or("");
    if word.len() > 6 {
        return false;
    }
    let (spelled, word) = (word, word.to_ascii_lowercase());
    let next = after.trim_start().chars().next();
    match next {
        None => false,
        Some(c) if c.is_ascii_digit() && OF_NUMBERS.contains(&word.as_str()) => true,
        Some(c) if c.is_lowercase() && (WITHIN.contains(&word.as_str()) || is_initials(&word)) => true,
        Some(_) if matches!(word.as_str(), "incl" | "excl") => is_acronym(),
        Some(_) => TITLES.contains(&spelled) || ANYWHERE.contains(&word.as_str()),
    }
}

/// Whether a word is initials without their last full stop: `N.N`.
fn is_initials(word: &str) -> bool {
    word.contains('.') && word.split('.').all(|part| part.len() == 1)
}

/// Appends a single line of code to the sentence that announces it; more lines leave only a mark.
fn append_code(code: &[&str], paragraphs_so_far: &mut [Paragraph]) {
    if let ([line], Some(announcement)) =
        (code, paragraphs_so_far.last_mut().filter(|announcement| announcement.text.ends_with([':', '：'])))
        && !line.is_empty()
        && line.chars().count() < LONGEST_SENTENCE / 2
        && !line.contains('`')
    {
        announcement.text.push_str(&format!(" `{line}`"));
    } else {
        append_gap(paragraphs_so_far);
    }
}

/// Whether a line is marked as a heading, or is bold as a whole.
fn has_heading_mark(line: &str) -> bool {
    let after_hashes = line.trim_start_matches('#');
    let bold = line.trim_end_matches([':', '：']).strip_prefix("**").and_then(|line| line.strip_suffix("**"));
    after_hashes.len() < line.len() && after_hashes.starts_with(' ') || bold.is_some_and(|bold| !bold.contains("**"))
}

/// Removes the marks of lists, quotes and emphasis from a line. Returns also whether it is a list item.
fn strip_list_marks(line: &str) -> (Cow<'_, str>, bool) {
    // `#42` and `#include` are words.
    let after_hashes = line.trim_start_matches('#');
    let line = if after_hashes.is_empty() || after_hashes.starts_with(' ') { after_hashes.trim() } else { line };
    let bare = line.trim_start_matches(['-', '*', '>', '•', '|', ' ']);
    // These marks tell how an item stands and are kept.
    let marked = bare.len() < line.len() && !line.starts_with('>') || bare.starts_with(['✅', '❌', '✓', '✗']);
    let number = bare.bytes().take_while(u8::is_ascii_digit).count();
    // `2.4.1` is a version.
    let goes_on = bare[number..].starts_with('.') && bare[number + 1..].starts_with(|c: char| c.is_ascii_digit());
    let numbered = (1..=2).contains(&number) && bare[number..].starts_with([')', '.', '、']) && !goes_on;
    let text = if bare.contains("**") { Cow::Owned(bare.replace("**", "")) } else { Cow::Borrowed(bare) };
    (text, marked || numbered)
}

/// Removes tags and comments from a line. An incomplete tag stays, and so do a placeholder beside other words, `<path>`,
/// and a mark of several brackets, `<<<name>>>`.
fn strip_tags(line: &str) -> Cow<'_, str> {
    if !line.starts_with('<') && !line.ends_with('>') {
        return Cow::Borrowed(line);
    }
    let bare = strip(line, |_| false);
    let is_placeholder = |tag: &str| {
        /// Tags that pages leave open.
        const OPEN: [&str; 6] = ["br", "hr", "p", "li", "img", "input"];
        let is_name = tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        is_name && !OPEN.contains(&tag) && !line.contains(&format!("</{tag}>"))
    };
    Cow::Owned(if bare.is_empty() { bare } else { strip(line, is_placeholder) })
}

/// Removes tags and comments from a line, except for those whose inside `stays`.
fn strip(line: &str, stays: impl Fn(&str) -> bool) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        kept.push_str(before);
        let is_tag = tag[1..].starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
            && !kept.ends_with('<');
        rest = match tag.find('>') {
            _ if !is_tag => {
                kept.push('<');
                &tag[1..]
            }
            Some(end) => {
                if stays(&tag[1..end]) {
                    kept.push_str(&tag[..=end]);
                }
                &tag[end + 1..]
            }
            // The comment ends on another line.
            None if tag.starts_with("<!--") => "",
            None => {
                kept.push_str(tag);
                ""
            }
        };
    }
    kept.push_str(rest);
    kept.trim().to_owned()
}

/// Clips a sentence to [`LONGEST_SENTENCE`] characters.
pub(in crate::summary) fn clip(sentence: &str) -> String {
    clip_to(sentence, LONGEST_SENTENCE)
}

/// Clips a text to `most` characters, between words if possible and never inside one.
pub(in crate::summary) fn clip_to(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let head = &text[..end];
    let between = head.rfind(char::is_whitespace).filter(|at| *at > end / 2);
    // A part of a number is another number.
    let whole = || head.trim_end_matches(|c: char| c.is_ascii_alphanumeric()).len();
    let word_end = between
        .unwrap_or_else(|| if text[end..].starts_with(|c: char| c.is_ascii_alphanumeric()) { whole() } else { end });
    format!("{}…", head[..word_end].trim_end())
}

/// Clips the middle of a text, so that at most `most` characters stay, with "…" in its place; cuts between words.
pub(in crate::summary) fn clip_middle(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let head = clip_to(text, most * 2 / 3);
    let start = text.char_indices().rev().nth((most / 3).saturating_sub(1)).map_or(0, |(at, _)| at);
    let end = match text[start..].find(char::is_whitespace).filter(|at| *at < most / 6) {
        Some(at) => text[start + at..].trim_start(),
        None => &text[start..],
    };
    format!("{} … {end}", head.trim_end_matches(GAP).trim_end())
}

/// Returns the words of a text as spelled, from two letters on; pairs of characters in scripts without spaces.
pub(in crate::summary) fn words_of(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric()).flat_map(|word| {
        let is_wide: Vec<char> = word.chars().filter(|c| *c >= '\u{2e80}').collect();
        match (is_wide.is_empty(), word.chars().nth(1).is_some()) {
            (true, true) => vec![word.to_owned()],
            (true, false) => Vec::new(),
            _ => is_wide.windows(2).map(|pair| pair.iter().collect()).collect(),
        }
    })
}

#[cfg(test)]
mod tests;
