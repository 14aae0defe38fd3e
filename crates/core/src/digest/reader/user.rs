//! What stands in the user's place: their words, the words of programs, and outputs of commands.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::digest::cues::commands;
use crate::digest::grammar::{Place, Section};
use crate::digest::item::{Item, Question};
use crate::digest::kinds::Kind;
use crate::digest::reader::calls::{CallResult, hash_without_digits};
use crate::digest::reader::questions::question_of;
use crate::digest::reader::{Awaited, HistoryReader, with_other_content};
use crate::transcript::Message;
use crate::transcript::lazy_text::{LazyText, texts_of};
use crate::transcript::speaker::{INTERRUPTION, is_handed_over, is_interruption, typed_command, words_of_texts};
use crate::transcript::text_calls::{OPENING, answered_call, feedback, is_reply, is_shell_output};

/// The hashes by which a message of the user is known to be equal to others.
pub(super) struct UserKey {
    /// The place of its item in the list.
    pub(super) item: usize,
    /// The hash of its words as they are.
    pub(super) exact: u64,
    /// The hash of its words without digits.
    pub(super) without_digits: u64,
}

impl<'a> HistoryReader<'a, '_> {
    /// Adds a message of the user. `words` are those that a person wrote.
    pub(super) fn add_user(&mut self, place: Place, text: LazyText<'a>, words: &str, asked: Option<Question>) {
        self.note_standing_wish();
        let words = words.trim();
        let kind = if is_interruption(words) {
            Kind::Interruption
        } else if is_from_program(words) {
            Kind::FromProgram
        } else if commands(words) {
            Kind::Rule
        } else if asked.is_none() && is_remark(words) {
            Kind::Remark
        } else {
            Kind::Typed
        };
        self.replace_repeated_message(words, kind);
        self.last_user = Some(self.digest.items.len());
        self.calls_before_user = self.calls;
        self.answer_bytes = 0;
        let (mut exact, mut without_digits) = (DefaultHasher::new(), DefaultHasher::new());
        (words, asked.as_ref().map(|question| &question.text)).hash(&mut exact);
        hash_without_digits(words, &mut without_digits);
        self.user_keys.push(UserKey {
            item: self.digest.items.len(),
            exact: exact.finish(),
            without_digits: without_digits.finish(),
        });
        self.digest.items.push(Item::of_user(kind, place, text, words, asked));
    }

    /// A message that the user sent once more, and longer, stands for the one before.
    fn replace_repeated_message(&mut self, words: &str, kind: Kind) {
        const LEAST: usize = 12;
        if kind == Kind::Interruption {
            return;
        }
        if let Some((at, before)) = self.last_words.take()
            && before.len() >= LEAST
            && words.starts_with(before.as_str())
            && words.len() > before.len()
            && self.calls == self.calls_before_user
        {
            self.digest.items[at].is_replaced = true;
        }
        self.last_words = Some((self.digest.items.len(), words.to_owned()));
    }

    /// A message to which the assistant agreed in a few words, without a call, says what is to hold from then on.
    pub(super) fn note_standing_wish(&mut self) {
        /// Bytes of an answer that only agrees.
        const SHORT_ANSWER: usize = 400;
        let is_question = self.last_words.as_ref().is_some_and(|(_, words)| words.ends_with(['?', '？']));
        if let Some(at) = self.last_user
            && !is_question
            && (1..=SHORT_ANSWER).contains(&self.answer_bytes)
            && self.calls == self.calls_before_user
            && self.digest.items[at].kind == Kind::Typed
        {
            self.digest.items[at].kind = Kind::Rule;
        }
    }

    /// Reads a message in the user's place; `next` is the one behind it.
    pub(super) fn read_user(
        &mut self,
        message: &Message<'a>,
        place: Place,
        text: &LazyText<'a>,
        follows_summary: bool,
        next: Option<&Message<'a>>,
    ) {
        let awaited = std::mem::take(&mut self.awaited);
        let all = text.read();
        let is_inserted = message.is_marked_as_inserted() && message.results.is_empty();
        let typed_before = self.typed_command.take();
        if !is_inserted {
            if let Some(command) = typed_command(&all)
                && command.arguments.is_empty()
            {
                self.typed_command = Some((place, command.called()));
            }
        } else if let Some((place, typed)) = typed_before {
            self.add_user(place, LazyText::owned(typed.as_str()), &typed, None);
        }
        let words = words_of_texts(text.strings());
        if words.lines().any(is_interruption) {
            self.interrupted = self.calls;
        }
        if is_inserted || words.trim().is_empty() {
            return;
        }
        if is_handed_over(&all, || Some(LazyText::new(texts_of(next?).0).opening(OPENING))) {
            return;
        }
        let before = match self.spoken {
            Some(spoken) if follows_summary => self.said_text(spoken),
            _ => None,
        };
        let answers = awaited == Awaited::Reply && is_reply(&all)
            || before.is_some_and(|(_, before)| answered_call(&before.read(), &all).is_some());
        if answers || self.is_output(message, &words, awaited, follows_summary) {
            // Several replies can follow each other. Where no call is known, a person may have written it.
            self.awaited = awaited;
            if !answers && awaited == Awaited::Words {
                self.digest.left_out[Section::User as usize].add(1, place.source);
            }
            let text = with_other_content(text.clone(), &message.content, 0);
            self.add_result(None, CallResult { place, text, recorded: None, denial: None, message: None });
            for said in feedback(&message.content.texts()) {
                self.add_words_of_denial(place, &said);
            }
            return;
        }
        let mut asked = None;
        // Only the first message behind a text answers it.
        if let Some(spoken) = self.spoken
            && self.last_user < Some(spoken)
            && let Some((place, said)) = self.said_text(spoken)
        {
            asked = question_of(&words, place, said);
        }
        self.add_user(place, text.clone(), &words, asked);
    }

    /// Whether a message in the user's place is the output of a command. The command of one behind a summary is gone.
    fn is_output(&self, message: &Message<'a>, words: &str, awaited: Awaited, follows_summary: bool) -> bool {
        let follows_command = awaited != Awaited::Words;
        if !follows_command && !follows_summary {
            return false;
        }
        let kind = message.json.get_text("message_type");
        // A person does not answer a command with what looks like a summary.
        kind.is_some_and(|kind| kind.is("observation"))
            || message.opens_with(self.prefix)
            || is_shell_output(words, follows_command)
    }

    /// Notes that the user interrupted the agent, where its record has no line that says so.
    pub(super) fn interrupt(&mut self, place: Place) {
        self.interrupted = self.calls;
        self.add_user(place, LazyText::owned(INTERRUPTION), INTERRUPTION, None);
    }
}

/// Whether a message of the user only says that it is well, or to go on.
fn is_remark(words: &str) -> bool {
    #[rustfmt::skip]
    const REMARKS: [&str; 22] = [
        "ok", "okay", "done", "yes", "hi", "hey", "hello", "thanks", "thank you", "go on", "continue", "next", "sí", "oui",
        "ja", "да", "好", "好的", "是", "继续", "做完了", "はい",
    ];
    let words = words.trim_end_matches(['.', '!', '。', '！']).to_lowercase();
    words.len() <= 2 && words.bytes().all(|byte| byte.is_ascii_digit()) || REMARKS.contains(&&*words)
}

/// Whether a text in the user's place opens as programs open theirs.
fn is_from_program(words: &str) -> bool {
    const OPENINGS: [&str; 6] = [
        "Base directory for this skill:",
        "[IMPORTANT: ",
        "[SYSTEM",
        "Read HEARTBEAT.md",
        "<task-notification",
        "System: [",
    ];
    OPENINGS.iter().any(|opening| words.starts_with(opening))
}
