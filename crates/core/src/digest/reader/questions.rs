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
    let question = question_in(before.trim_end(), picks)?;
    Some(Question { place, text: both_ends(question, LONGEST) })
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
    let mut lines: Vec<(usize, &str)> = Vec::new();
    let (mut question, mut list, mut at, mut is_code) = (None, None, 0, false);
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        let is_end = at + line.len() == text.len();
        is_code ^= content.starts_with("```");
        if at + NEAR > text.len() && !is_code && (is_end || !is_heading(content)) {
            question = if content.contains(['?', '？']) { Some(lines.len()) } else { question };
            list = if picks && is_item(content) { Some(lines.len()) } else { list };
        }
        lines.push((at, line));
        at += line.len();
    }
    let above = |from: usize, is_of: &dyn Fn(&str) -> bool| {
        lines[..from].iter().rposition(|(_, line)| !is_of(line)).map_or(0, |at| at + 1)
    };
    let from = above(question.or(list)?, &is_paragraph);
    let list = above(from, &|line| line.trim().is_empty() || is_of_list(line));
    let has_list = lines[list..=from].iter().any(|(_, line)| is_of_list(line));
    let needs_list = picks && has_list || text.len() - lines[from].0 < ALONE;
    let from = if needs_list { above(list, &is_paragraph) } else { from };
    Some(text[lines[from].0..].trim())
}

fn is_paragraph(line: &str) -> bool {
    !line.trim().is_empty() && !is_heading(line.trim())
}

/// Whether a line is an item, or is indented as the rest of one.
fn is_of_list(line: &str) -> bool {
    is_item(line.trim()) || line.starts_with([' ', '\t'])
}
