//! What a short answer of the user answers.

use crate::digest::grammar::Place;
use crate::digest::item::Question;
use crate::digest::pieces::{both_ends, is_heading, is_item};
use crate::transcript::lazy_text::LazyText;

/// What a short answer answers, by the message before it: the question at its end with the list or paragraph that it is
/// about, or the list that the answer is about.
pub(super) fn question_of(answer: &str, place: Place, before: &LazyText<'_>) -> Option<Question> {
    const SHORT_ANSWER: usize = 48;
    const LONGEST: usize = 600;
    if answer.trim().len() > SHORT_ANSWER {
        return None;
    }
    let picks = !answer.contains(['?', '#']) && picks_item(answer);
    let before = before.read();
    let before = before.trim_end();
    let question = question_in(before, picks);
    let text = match option_of(before, answer) {
        // What was picked says more than the rest of the question.
        Some(option) if !question.is_some_and(|question| both_ends(question, LONGEST).contains(option)) => {
            let asked = question.filter(|question| question.contains(option)).unwrap_or(above_list(before, option));
            format!("{}\n{option}", both_ends(asked, LONGEST.saturating_sub(option.len())))
        }
        _ => both_ends(question?, LONGEST),
    };
    Some(Question { place, text: text.trim().to_owned() })
}

/// The paragraph above the list that a line stands in, which is a part of the text.
fn above_list<'t>(text: &'t str, line: &str) -> &'t str {
    let at = offset_in(text, line);
    let lines: Vec<&str> = text[..at].lines().collect();
    let list = start_of_block(&lines, lines.len(), is_of_list_or_blank);
    let from = start_of_block(&lines, list, is_paragraph);
    let start = match lines.get(from) {
        Some(first) => offset_in(text, first),
        None => at,
    };
    let end = match lines[..list].last() {
        Some(last) => offset_in(text, last) + last.len(),
        None => start,
    };
    text[start.min(end)..end].trim()
}

/// The place of a line in the text that it is a part of.
fn offset_in(text: &str, line: &str) -> usize {
    line.as_ptr() as usize - text.as_ptr() as usize
}

/// The first of the lines directly above a line that all belong to a block.
fn start_of_block(lines: &[&str], end: usize, belongs: fn(&str) -> bool) -> usize {
    let mut start = end;
    while start > 0 && belongs(lines[start - 1]) {
        start -= 1;
    }
    start
}

/// The last line of a text that begins with the letter or the number of the option that an answer names.
fn option_of<'t>(text: &'t str, answer: &str) -> Option<&'t str> {
    const LONGEST: usize = 300;
    let words: Vec<&str> = answer.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let named = match words.as_slice() {
        [option] => option,
        [label, option] if label.eq_ignore_ascii_case("option") => option,
        _ => return None,
    };
    let is_number = named.len() <= 2 && named.bytes().all(|byte| byte.is_ascii_digit());
    let is_letter = named.len() == 1 && named.bytes().all(|byte| byte.is_ascii_alphabetic());
    if !is_number && !is_letter {
        return None;
    }
    for line in text.lines().rev() {
        let line = line.trim();
        if line.len() <= LONGEST && is_item(line) && is_labelled(line, named) {
            return Some(line);
        }
    }
    None
}

/// Whether an item of a list, or a row of a table, begins with a letter or a number as its label.
fn is_labelled(line: &str, label: &str) -> bool {
    const MARKS: &[char] = &['-', '*', '|', '(', '[', '+', ' ', '\t'];
    let content = line.trim_start_matches(MARKS);
    let Some((start, behind)) = content.split_at_checked(label.len()) else { return false };
    let ends_cell = line.starts_with('|') && behind.trim_start().starts_with('|');
    start.eq_ignore_ascii_case(label) && (ends_cell || behind.starts_with(['.', ')', ']', ':', '*', '、']))
}

/// Whether an answer names items of a list.
fn picks_item(answer: &str) -> bool {
    const PICKS: [&str; 6] = ["all ", "both", "each of", "first", "second", "third"];
    let lower = format!("{answer} ").to_lowercase();
    if lower.contains("option") || lower.contains("全部") || PICKS.iter().any(|word| lower.contains(word)) {
        return true;
    }
    let is_letter = answer.trim().len() == 1 && answer.trim().as_bytes()[0].is_ascii_alphabetic();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    is_letter || words.any(|word| word.len() == 1 && word.as_bytes()[0].is_ascii_digit())
}

/// The question at the end of a text, or the list where an answer picks from one, with what it is about.
fn question_in(text: &str, picks: bool) -> Option<&str> {
    /// Bytes from a question to the end, and of a question that stands alone.
    const NEAR: usize = 600;
    const ALONE: usize = 60;
    let mut lines: Vec<&str> = Vec::new();
    let (mut question, mut list, mut at, mut is_code) = (None, None, 0, false);
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        let is_end = at + line.len() == text.len();
        is_code ^= content.starts_with("```");
        if at + NEAR > text.len() && !is_code && (is_end || !is_heading(content)) {
            question = if content.contains(['?', '？']) { Some(lines.len()) } else { question };
            list = if picks && is_item(content) { Some(lines.len()) } else { list };
        }
        lines.push(line);
        at += line.len();
    }
    let from = start_of_block(&lines, question.or(list)?, is_paragraph);
    let list = start_of_block(&lines, from, is_of_list_or_blank);
    let has_list = lines[list..=from].iter().any(|line| is_of_list(line));
    let needs_list = picks && has_list || text.len() - offset_in(text, lines[from]) < ALONE;
    let from = if needs_list { start_of_block(&lines, list, is_paragraph) } else { from };
    Some(text[offset_in(text, lines[from])..].trim())
}

fn is_paragraph(line: &str) -> bool {
    !line.trim().is_empty() && !is_heading(line.trim())
}

/// Whether a line is an item, or is indented as the rest of one.
fn is_of_list(line: &str) -> bool {
    is_item(line.trim()) || line.starts_with([' ', '\t'])
}

fn is_of_list_or_blank(line: &str) -> bool {
    line.trim().is_empty() || is_of_list(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(answer: &str, before: &str) -> Option<String> {
        question_of(answer, Place::new(3), &LazyText::owned(before)).map(|question| question.text)
    }

    #[test]
    fn the_option_that_was_picked_stands_with_the_question() {
        let others = "| X | something else that takes a while to tell, and that nobody picks in the end |\n".repeat(9);
        let table = format!(
            "Next question (2/5)\nHow long is the zoom kept?\n\n| Option | Description |\n|---|---|\n| A | for the session |\n| B | for ever |\n{others}\nYou can reply with the letter.\n\nProgress\n- asked: 1\n- changed: spec.md"
        );
        let text = asked("B", &table).expect("a question");
        assert!(text.contains("How long is the zoom kept?") && text.ends_with("| B | for ever |"), "{text}");
        let text = asked("Option a", &table).expect("a question");
        assert!(text.ends_with("| A | for the session |"), "{text}");
        let list = format!("Which one?\n{}2. the blue one", "1. the red one\n".repeat(40));
        let text = asked("2", &list).expect("a question");
        assert!(text.contains("2. the blue one"), "{text}");
    }

    #[test]
    fn what_names_no_option_picks_none() {
        assert_eq!(asked("A", "I am done."), None);
        assert_eq!(asked("yes", "Shall I?\n- yes: both").as_deref(), Some("Shall I?\n- yes: both"));
    }
}
