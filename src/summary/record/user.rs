//! The user's words, message by message as typed: requests, answers with their questions, and reasons for rejected
//! calls. A later statement about the same thing replaces an earlier one.

use crate::summary::record::change::{AddedClaim, ChangeKind, Claim, ClaimChange, ClaimHistory, Context};
use crate::summary::record::cues;
use crate::summary::record::phrases::{EARLIER, FORMERLY, LAST_REQUEST, WAS};
use crate::summary::record::replies::{LONGEST_QUESTION, SHORT_ANSWER};
use crate::summary::record::segmentation::{GAP, clip_middle, paragraphs, sentences, words_of};
use crate::summary::record::sentence::{Note, Sentence, remaining_text};
use crate::summary::record::small_talk::{is_only_small_talk, is_praise, is_small_talk, without_leading_small_talk};
use crate::summary::record::{FactKind, RecordEntry, one_line};

/// Most bytes of a line. A longer text is split between sentences.
const LONGEST_LINE: usize = 320;
/// Most bytes of a line of a long message, of which only parts fit.
const LONGEST_PART: usize = 140;
const LONG_MESSAGE: usize = 1_500;
/// Most bytes of a paragraph that stays on one line. A longer one is split into lines of some sentences each.
const LONGEST_WHOLE_PARAGRAPH: usize = 180;
/// The line of a long message from which on it is more often material than a request.
const MATERIAL_START: usize = 6;
/// The number of lines at the start of a message that state its purpose.
const OPENING_LINES: usize = 2;
/// Most sentences of one message that a later statement can replace. Most of a longer message is material.
const MOST_STATEMENTS: usize = 60;

/// Suffix of a request that the user interrupted.
const INTERRUPTED: &str = " (interrupted by the user)";

/// A line of the user.
struct UserLine {
    entry: RecordEntry,
    sentences: Vec<Sentence>,
}

impl UserLine {
    /// Whether it is an answer of which one sentence is no small talk.
    fn is_whole_answer(&self, place: usize) -> bool {
        let mut others = self.sentences.iter().enumerate().filter(|(at, _)| *at != place);
        self.entry.about.starts_with('“') && others.all(|(_, other)| is_small_talk(&other.text))
    }

    /// Whether a sentence of it may follow a later line as a note. Words in a rejection stay in their place. An answer
    /// moves with its question, but not to the answer of another.
    fn may_follow(&self, later: &RecordEntry, is_whole_answer: bool) -> bool {
        self.entry.about.is_empty() || is_whole_answer && !later.about.starts_with('“')
    }
}

/// A sentence that is added.
struct NewSentence<'s> {
    sentence: &'s mut Sentence,
    /// The earlier statements on the same matter.
    matching: &'s [usize],
    /// Other earlier statements that share a word with it.
    touching: &'s [usize],
    /// Whether it says that something changed.
    revises: bool,
    /// Whether it certainly corrects something.
    corrects: bool,
}

/// The place of a statement.
struct Position {
    line: usize,
    sentence: usize,
    /// The later statement that replaced it or has it as a note.
    note_of: Option<usize>,
}

/// Everything the user wrote.
#[derive(Default)]
pub(super) struct UserStatements {
    lines: Vec<UserLine>,
    statements: ClaimHistory,
    /// The place of each statement.
    positions: Vec<Position>,
    /// The first line of the last message.
    last: usize,
}

impl UserStatements {
    /// Returns a function that is true for a statement of the model's last text that a message corrects.
    pub(super) fn corrections<'s>(&'s self, message: &str) -> impl Fn(&str) -> bool + use<'s> {
        /// Sentences at the start of a message that can reply to the model.
        const MOST_REPLIES: usize = 3;
        let is_correction = |reply: &&str| !cues::ANOTHER.is_in(reply) && !cues::ASKS_FOR.is_in(reply);
        let agrees = cues::AGREES.is_in(message);
        let replies = sentences(message).into_iter().filter(|reply| !agrees && !is_small_talk(reply));
        let mut replies: Vec<Claim> = replies.take(MOST_REPLIES).filter(is_correction).map(Claim::parse).collect();
        // A rule denies nothing.
        let is_denial = |reply: &&str| cues::NEGATES.is_in(reply) && !cues::RULES.is_in(reply) && !reply.ends_with('?');
        let denials: Vec<Claim> =
            sentences(message).into_iter().take(MOST_REPLIES).filter(is_denial).map(Claim::parse).collect();
        replies.retain(Claim::may_correct);
        let gives_value = replies.iter().any(Claim::has_values);
        move |statement| {
            let is_assumption = !replies.is_empty() && cues::ASSUMES.is_in(statement);
            let can_be_denied = !denials.is_empty() && !cues::NEGATES.is_in(statement);
            if !is_assumption && !gives_value && !can_be_denied {
                return false;
            }
            let statement = Claim::parse(statement);
            if can_be_denied && denials.iter().any(|denial| denial.covers(&statement)) {
                return true;
            }
            replies.iter().any(|reply| self.statements.corrects(reply, &statement, is_assumption))
        }
    }

    /// Adds a message. `question` is the question of the model that it answers, in quotes; `denied` is a statement of
    /// the model that the user calls wrong or corrects.
    pub(super) fn add_message(&mut self, index: usize, text: &str, question: Option<String>, denied: Option<&str>) {
        let is_opening = self.lines.is_empty();
        self.last = self.lines.len();
        let question = question.or(denied.map(|denied| format!("“{}”", clip_middle(denied, LONGEST_QUESTION))));
        let longest = if text.len() > LONG_MESSAGE { LONGEST_PART } else { LONGEST_WHOLE_PARAGRAPH };
        let mut place = 0;
        for (at, paragraph) in paragraphs(text).into_iter().filter(|paragraph| !paragraph.is_heading).enumerate() {
            // `No` is an answer, and small talk elsewhere.
            let is_answer = place == 0 && question.is_some();
            let text_of_lines = match is_answer {
                true if !is_praise(&paragraph.text) => paragraph.text.clone(),
                _ => without_leading_small_talk(&paragraph.text),
            };
            for line in split_into_lines(&text_of_lines, longest) {
                let about = question.as_ref().filter(|_| place == 0 && at == 0).cloned().unwrap_or_default();
                let is_material = text.len() > LONG_MESSAGE && place >= MATERIAL_START;
                let weight = line_weight(
                    &line,
                    is_opening && place < OPENING_LINES,
                    is_material,
                    place > 0 && !paragraph.is_item,
                );
                // Even a single word can be an answer.
                let weight = if about.is_empty() { weight } else { weight.max(9.0) };
                let entry = RecordEntry { weight, ..RecordEntry::new(FactKind::User, index, about, String::new()) };
                self.push(entry, &line, place < MOST_STATEMENTS);
                place += 1;
            }
        }
    }

    /// Adds the user's reason for rejecting a call, which may be empty.
    pub(super) fn add_rejection(&mut self, index: usize, call: &str, reason: &str) {
        self.last = self.lines.len();
        for (at, paragraph) in paragraphs(reason).into_iter().enumerate() {
            for line in split_into_lines(&paragraph.text, LONGEST_LINE) {
                let about = if at == 0 { format!("rejected `{call}`") } else { String::new() };
                self.push(RecordEntry::new(FactKind::User, index, about, String::new()), &line, true);
            }
        }
    }

    /// Restores a line from an earlier summary.
    pub(super) fn restore_line(&mut self, mut entry: RecordEntry) {
        let text = std::mem::take(&mut entry.text);
        let is_doubted = text.strip_prefix(WAS);
        let text = text.strip_prefix(&EARLIER[2..]).unwrap_or(&text);
        entry.earlier = true;
        self.push(entry, is_doubted.unwrap_or(text), is_doubted.is_none());
        if let Some(line) = self.lines.last_mut() {
            line.sentences.iter_mut().for_each(|sentence| sentence.is_doubted = is_doubted.is_some());
        }
        self.last = self.lines.len();
    }

    /// Marks the request of the last message as interrupted.
    pub(super) fn mark_interrupted(&mut self) {
        let last = self.lines.get_mut(self.last..).and_then(|lines| lines.first_mut());
        let sentence = last.and_then(|line| line.sentences.last_mut());
        if let Some(sentence) = sentence.filter(|sentence| !sentence.text.ends_with(INTERRUPTED)) {
            sentence.text.push_str(INTERRUPTED);
        }
    }

    /// Adds a line and applies what its sentences change. `may_change` is whether they can replace other statements and
    /// be replaced.
    fn push(&mut self, mut entry: RecordEntry, text: &str, may_change: bool) {
        let at = self.lines.len();
        let mut sentences = Sentence::all(text, entry.earlier);
        let agrees = sentences.first().is_some_and(|first| cues::AGREES.is_in(&first.text));
        let mut before: Option<Context> = None;
        for (place, sentence) in sentences.iter_mut().enumerate().filter(|_| may_change) {
            let text = &sentence.text;
            if entry.about.is_empty() && is_small_talk(text) {
                continue;
            }
            let about = if place == 0 { format!("{} {text}", entry.about) } else { text.to_owned() };
            let (mut claim, repeated) = match self.statements.take_repeated(&about) {
                Some((claim, changed)) => (claim, Some(changed)),
                None => (Claim::parse(text), None),
            };
            // The words of a question are the model's: they give a short answer its matter, and change nothing.
            let is_short_answer =
                place == 0 && entry.about.starts_with('“') && words_of(text).nth(SHORT_ANSWER).is_none();
            let mut with_question = (repeated.is_none() && is_short_answer).then(|| Claim::parse(&about));
            let has_question = is_short_answer && (repeated.is_some() || claim.needs_question());
            if has_question {
                claim = with_question.take().unwrap_or(claim);
            }
            let AddedClaim { mut changes, matching, touching, context, revises, corrects } =
                self.statements.add(claim, with_question, before.as_ref());
            before = Some(context);
            self.positions.push(Position { line: at, sentence: place, note_of: None });
            // Who agrees changes nothing.
            let confirms = cues::CONFIRMS.is_in(text) || agrees && cues::GO_AHEAD.is_in(text);
            if confirms || has_question && agrees {
                changes.retain(|changed| changed.kind == ChangeKind::Replaced && !has_question);
            }
            if has_question {
                // The subject of a question is not what the answer changes.
                changes.retain(|changed| changed.about.is_none());
                changes.iter_mut().for_each(|changed| changed.kind = ChangeKind::Related);
            }
            let changes = repeated.into_iter().chain(changes);
            let mut new = NewSentence { sentence, matching: &matching, touching: &touching, revises, corrects };
            let abouts = changes.filter_map(|changed| self.apply_change(changed, &mut entry, &mut new));
            if let Some(about) = abouts.reduce(|first, _| first).filter(|about| !about.is_empty()) {
                entry.about = about;
            }
        }
        sentences.shrink_to_fit();
        self.lines.push(UserLine { entry, sentences });
    }

    /// Applies the effect of a new sentence, which belongs to `entry`, on an earlier one. Returns the subject of the
    /// new sentence if it does not name one itself.
    fn apply_change(
        &mut self,
        changed: ClaimChange,
        entry: &mut RecordEntry,
        new: &mut NewSentence<'_>,
    ) -> Option<String> {
        let chain = std::iter::successors(Some(changed.index), |index| self.positions.get(*index)?.note_of);
        let index = chain.last()?;
        let is_note = index != changed.index;
        if is_note && !self.is_one_matter(index, &changed, new) {
            self.take_note(&changed, index, new);
            return None;
        }
        // Of a sentence with notes, only a note would be replaced.
        let is_replaced = changed.kind == ChangeKind::Replaced && !is_note;
        let &Position { line: at, sentence: place, .. } = self.positions.get(index)?;
        let line = self.lines.get_mut(at)?;
        // Sentences of one message do not replace each other, unless the message corrects itself. The same holds for an
        // earlier summary.
        let together = line.entry.earlier == entry.earlier && (entry.earlier || line.entry.index == entry.index);
        if together && !(is_replaced && new.revises) {
            return None;
        }
        let is_whole_answer = line.is_whole_answer(place);
        // The opening of a conversation stays in its place, but for what is corrected beside the request.
        let may_move = (at > 0 || place > 0 && new.corrects) && line.may_follow(entry, is_whole_answer);
        let question = if is_whole_answer { format!("{} → ", line.entry.about) } else { String::new() };
        let sentence = line.sentences.get_mut(place).filter(|sentence| !sentence.is_replaced)?;
        /// The share of a statement from which on the new one is also about what it changed.
        const MOSTLY: f64 = 0.6;
        let is_mostly = changed.share() >= MOSTLY;
        // What follows a replaced statement was never replaced itself.
        let belongs = |note: &Note| {
            let matches = |note| is_replaced || new.matching.contains(&note);
            note.is_changed && is_mostly || note.statement.is_none_or(matches)
        };
        if sentence.notes.iter().any(|note| note.is_changed && !belongs(note)) {
            return None;
        }
        // A note on another matter that nothing changed stands for itself again.
        let (mut notes, apart): (Vec<Note>, Vec<Note>) =
            std::mem::take(&mut sentence.notes).into_iter().partition(belongs);
        let own = (!is_replaced).then(|| {
            let opening = if changed.kind == ChangeKind::Doubted && !is_note { FORMERLY } else { EARLIER };
            let is_changed = changed.kind != ChangeKind::Alike;
            let text = format!("{opening}{question}{})", sentence.text);
            Note { text, statement: Some(index), is_changed, rank: changed.rank() }
        });
        if !(is_replaced || may_move) || !new.sentence.has_room_for(own.iter().chain(&notes)) {
            sentence.is_doubted |= matches!(changed.kind, ChangeKind::Replaced | ChangeKind::Doubted);
            notes.extend(apart);
            sentence.notes = notes;
            return changed.about;
        }
        sentence.is_replaced = true;
        match is_replaced {
            true => sentence.text = String::new(),
            false => entry.weight = entry.weight.max(line.entry.weight),
        }
        if is_whole_answer {
            line.sentences.iter_mut().for_each(|other| other.is_replaced = true);
        }
        self.attach(index, own.into_iter().chain(notes), new);
        apart.iter().filter_map(|note| note.statement).for_each(|note| self.release(note));
        changed.about
    }

    /// Whether a new statement is on the same matter as an earlier one and all its notes. What changed a statement is on
    /// its matter, too.
    fn is_one_matter(&self, index: usize, changed: &ClaimChange, new: &NewSentence<'_>) -> bool {
        let Position { line, sentence, .. } = self.positions[index];
        let notes = self.lines.get(line).map_or(&[][..], |line| &line.sentences[sentence].notes);
        let matches = |index: usize| new.matching.contains(&index);
        let follows =
            |note: &Note| note.is_changed && note.rank < changed.rank() && note.statement == Some(changed.index);
        notes.iter().filter_map(|note| note.statement).all(matches)
            && (matches(index) || new.touching.contains(&index) && notes.iter().any(follows))
    }

    /// Moves a note of an earlier statement to a new one that is more about its matter.
    fn take_note(&mut self, changed: &ClaimChange, of: usize, new: &mut NewSentence<'_>) {
        let Position { line, sentence, .. } = self.positions[of];
        let Some(line) = self.lines.get_mut(line) else { return };
        let notes = &mut line.sentences[sentence].notes;
        let Some(place) = notes.iter().position(|note| note.statement == Some(changed.index)) else { return };
        if notes[place].rank < changed.rank() && new.sentence.has_room_for([&notes[place]]) {
            let is_changed = changed.kind != ChangeKind::Alike;
            let taken = Note { is_changed, rank: changed.rank(), ..notes.remove(place) };
            let is_replaced = changed.kind == ChangeKind::Replaced;
            self.attach(changed.index, (!is_replaced).then_some(taken), new);
        }
    }

    /// Adds notes to the last statement: an earlier one, unless it is replaced, and its notes.
    fn attach(&mut self, earlier: usize, notes: impl IntoIterator<Item = Note>, new: &mut NewSentence<'_>) {
        new.sentence.notes.extend(notes);
        self.positions[earlier].note_of = self.positions.len().checked_sub(1).filter(|last| *last > earlier);
    }

    /// Shows a note as a statement of its own again.
    fn release(&mut self, note: usize) {
        let Position { line, sentence, .. } = self.positions[note];
        self.positions[note].note_of = None;
        if let Some(line) = self.lines.get_mut(line) {
            line.sentences[sentence].is_replaced = false;
        }
    }

    /// Returns the lines that still hold. `open` is whether nobody has acted on the last message.
    pub(super) fn lines(self, open: bool) -> impl Iterator<Item = RecordEntry> {
        /// Most bytes of a last message that matters as a whole.
        const SHORT_MESSAGE: usize = 700;
        let (last, first_of_last) = (if open { self.last } else { usize::MAX }, self.last);
        let of_last = self.lines.get(first_of_last..).unwrap_or_default();
        let bytes = of_last.iter().flat_map(|line| &line.sentences).map(|sentence| sentence.text.len()).sum::<usize>();
        let lines_that_matter = if bytes <= SHORT_MESSAGE { of_last.len() } else { OPENING_LINES };
        self.lines.into_iter().enumerate().filter_map(move |(at, line)| {
            let UserLine { mut entry, sentences } = line;
            entry.text = one_line(remaining_text(&sentences)?);
            let has_gap = sentences.iter().any(|sentence| sentence.is_replaced);
            if has_gap && entry.about.is_empty() && is_only_small_talk(&entry.text) {
                return None;
            }
            // The last request matters most, even after later work on it.
            if (first_of_last..first_of_last + lines_that_matter).contains(&at) && entry.weight > SMALL_TALK_WEIGHT {
                entry.weight = entry.weight.max(13.0);
            }
            if at >= last && entry.weight > SMALL_TALK_WEIGHT {
                entry.weight = 14.0;
                if at == last && (entry.about.is_empty() || entry.about.starts_with('“')) {
                    let question = std::mem::replace(&mut entry.about, LAST_REQUEST.to_owned());
                    if !question.is_empty() {
                        entry.text = format!("{question} → {}", entry.text);
                    }
                }
            }
            Some(entry)
        })
    }
}

/// Returns the weight of a line: the opening of a conversation weighs most, then rules. Late lines of a long message
/// are more often material than requests.
fn line_weight(line: &str, is_opening: bool, is_material: bool, may_be_heading: bool) -> f64 {
    let is_wide = line.contains(|c: char| c >= '\u{2e80}');
    match () {
        () if is_small_talk(line) || words_of(line).next().is_none() => SMALL_TALK_WEIGHT,
        () if is_opening => 14.0,
        // What announces a list in a long message states nothing by itself.
        () if is_material && line.ends_with([':', '：']) => 6.0,
        () if cues::RULES.is_in(line) => match is_material {
            true if is_emphatic(line) && line.contains('`') => 12.0,
            true if is_emphatic(line) => 9.0,
            true => 8.0,
            false => 12.0,
        },
        () if cues::WISHES.is_in(line) => {
            if is_material {
                7.0
            } else {
                11.0
            }
        }
        // A heading states nothing by itself.
        () if may_be_heading && !is_wide && words_of(line).nth(3).is_none() && !line.ends_with(SENTENCE_ENDS) => 1.5,
        () if is_material => 3.0,
        () => 9.0,
    }
}

/// Whether a line has a word of rules in capitals: `You MUST use this command`.
fn is_emphatic(line: &str) -> bool {
    const WORDS: [&str; 9] = ["MUST", "NEVER", "ALWAYS", "NOT", "ONLY", "EXACT", "EXACTLY", "CANNOT", "REQUIRED"];
    line.split(|c: char| !c.is_ascii_alphabetic()).any(|word| WORDS.contains(&word))
}

/// The weight of small talk.
const SMALL_TALK_WEIGHT: f64 = 1.0;

/// Characters that end a sentence.
const SENTENCE_ENDS: [char; 7] = ['.', '!', '?', '。', '！', '？', ')'];

/// Splits a paragraph between its sentences into lines of at most `longest` bytes, where possible.
fn split_into_lines(text: &str, longest: usize) -> Vec<String> {
    if text.len() <= longest {
        return if text.chars().any(char::is_alphanumeric) { vec![text.to_owned()] } else { Vec::new() };
    }
    let mut found: Vec<String> = Vec::new();
    for sentence in sentences(text) {
        let sentence = clip_middle(sentence, LONGEST_LINE);
        match found.last_mut().filter(|last| last.len() + sentence.len() < longest) {
            Some(last) => {
                if !last.ends_with(|c: char| c >= '\u{2e80}') || last.ends_with(GAP) {
                    last.push(' ');
                }
                last.push_str(&sentence);
            }
            None => found.push(sentence),
        }
    }
    found
}

#[cfg(test)]
mod tests;
