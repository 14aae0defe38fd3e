//! Recognizes messages of the user that reply to the model: answers to its questions, and rejections of its calls.

use crate::summary::record::change::is_common;
use crate::summary::record::cues;
use crate::summary::record::segmentation::{GAP, clip_middle, paragraphs, sentences, words_of};
use crate::summary::record::small_talk::is_small_talk;

/// The most bytes of an answer that may need its question.
const LONGEST_ANSWER: usize = 600;
/// Most words of an answer that needs its question to be understood.
pub(super) const SHORT_ANSWER: usize = 6;
/// Most characters of a question before its answer.
pub(super) const LONGEST_QUESTION: usize = 220;

/// Returns the question that a message answers, in quotes; `None` if it does not seem to answer one.
pub(super) fn answered_question(asked: &str, answer: &str) -> Option<String> {
    /// Most words of an answer that shares words with its question.
    const MANY: usize = 14;
    /// Most words of the opening sentence that answers a question in the last sentence.
    const OPENING: usize = 20;
    /// Content words of a question that names its subject.
    const ENOUGH: usize = 3;
    // What is pasted behind an answer is no part of it.
    let typed: Vec<String> = paragraphs(answer).into_iter().map(|paragraph| paragraph.text).collect();
    let answer = typed.join(" ");
    let answer = answer.trim_end_matches(GAP).trim_end();
    if answer.len() > LONGEST_ANSWER || answer.is_empty() {
        return None;
    }
    let paragraphs_of_text = paragraphs(asked);
    let is_list = paragraphs_of_text.last().is_some_and(|paragraph| paragraph.is_item);
    let all: Vec<&str> = paragraphs_of_text.iter().flat_map(|paragraph| sentences(&paragraph.text)).collect();
    let is_question = |sentence: &str| sentence.ends_with(['?', '？']);
    let at = all.iter().rposition(|sentence| is_question(sentence))?;
    let few = words_of(answer).nth(SHORT_ANSWER).is_none();
    let asked: Vec<String> = all[at.saturating_sub(2)..]
        .iter()
        .flat_map(|sentence| words_of(sentence))
        .map(|word| word.to_lowercase())
        .collect();
    let shared = || words_of(answer).any(|word| word.len() > 3 && asked.contains(&word.to_lowercase()));
    let is_brief = few || words_of(answer).nth(MANY).is_none() && shared();
    // An offer needs no answer, and a message that begins with `now` is about something else.
    let opening = sentences(answer).into_iter().find(|sentence| !is_small_talk(sentence)).unwrap_or(answer);
    // A yes-or-no question is answered by a word that agrees or denies, or by words of its own.
    let is_yes_or_no = cues::YES_OR_NO.is_in(all[at]) && !all[at].contains(" or ");
    let is_answer = !is_yes_or_no || cues::AGREES.is_in(opening) || cues::DENIES.is_in(opening) || shared();
    let answers_last = at + 1 == all.len()
        && !is_list
        && !is_question(opening)
        && is_answer
        && words_of(opening).nth(OPENING).is_none()
        && !cues::OFFERS.is_in(all[at])
        && !cues::ANOTHER_MATTER.is_in(opening);
    if !is_brief && !answers_last {
        return None;
    }
    let mut text = all[at].to_owned();
    for before in all[..at].iter().rev() {
        let has_content = |word: &String| (word.len() > 3 || !word.is_ascii()) && !is_common(&word.to_lowercase());
        let says = words_of(&text).filter(has_content).count();
        if says >= ENOUGH && !is_question(before) || text.chars().count() + before.chars().count() > LONGEST_QUESTION {
            break;
        }
        text = format!("{before} {text}");
    }
    Some(format!("“{}”", clip_middle(&text, LONGEST_QUESTION)))
}

/// Returns the user's reason in the result of a rejected call; `None` if the call was not rejected. The reason may be
/// empty.
///
/// A result that is not marked as a failure is judged by its first words only. The output of a tool may mention users
/// and rejections and is never read as the user's words.
pub(super) fn rejection_text(result: &str, is_marked: bool) -> Option<&str> {
    /// Bytes of a result that are searched for a rejection: of one marked as a failure, and of any other.
    const OPENING_LINES: usize = 400;
    const UNMARKED: usize = 80;
    /// Most bytes of a result that can hold a person's words.
    const LONGEST: usize = 4_000;
    let end = result.floor_char_boundary(if is_marked { OPENING_LINES } else { UNMARKED });
    let (rejects, _) = cues::REJECTS.group(&result[..end])?;
    if !is_marked && result.len() > LONGEST {
        return None;
    }
    let result = &result[..result.floor_char_boundary(LONGEST)];
    let behind = &result[rejects.start..];
    let rest = match cues::SAYING.group(&behind[..behind.floor_char_boundary(OPENING_LINES)]) {
        Some((saying, _)) => &behind[saying.end..],
        None => {
            let rest = &result[rejects.end..];
            if cues::TOLD_TO_MODELS.is_in(rest) {
                return Some("");
            }
            rest.find(['.', ':', '\n', '。', '：'])
                .map_or("", |at| rest[at..].trim_start_matches(['.', ':', '。', '：']))
        }
    };
    Some(rest.trim().trim_start_matches(['"', '“']).trim_end_matches(['"', '”']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_in_a_rejection() {
        let claude = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\nUse a view.";
        let rejection_text = |result| super::rejection_text(result, false);
        assert_eq!(super::rejection_text(claude, true), Some("Use a view."));
        assert_eq!(rejection_text(claude), Some("Use a view."));
        assert_eq!(rejection_text("Rejected by user. Reason: wrong table"), Some("wrong table"));
        assert_eq!(
            rejection_text("The user denied this operation and provided the following feedback:\nNot here."),
            Some("Not here.")
        );
        assert_eq!(rejection_text("User rejected the edit: keep the name"), Some("keep the name"));
        assert_eq!(rejection_text("用户拒绝了这次修改，原因：表结构冻结"), Some("表结构冻结"));
        assert_eq!(rejection_text("The operation was rejected by the user."), Some(""));
        let interrupted = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.";
        assert_eq!(super::rejection_text(interrupted, true), Some(""));
        assert_eq!(rejection_text("permission denied (publickey)"), None);
        assert_eq!(rejection_text("! [rejected] main -> main (fetch first)"), None);
    }

    #[test]
    fn answers_stand_with_what_was_asked() {
        assert_eq!(
            answered_question("Which cache, Redis or Memcached?", "Memcached, we run it.").as_deref(),
            Some("“Which cache, Redis or Memcached?”")
        );
        assert_eq!(
            answered_question("I can add tests for 1. the basic case, 2. your bug. Shall I?", "yes, all 3").as_deref(),
            Some("“I can add tests for 1. the basic case, 2. your bug. Shall I?”")
        );
        assert_eq!(
            answered_question("Shall I commit?", "Now audit the whole code base for places that leak handles."),
            None
        );
        assert_eq!(answered_question("It is done.", "Fine."), None);
    }
}
