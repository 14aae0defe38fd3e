//! The user's words, each message as it was typed: what opens a conversation, answers with what was asked, what was said
//! when a tool was not let do its work. A later statement about the same thing takes the place of an earlier one.

use std::collections::HashSet;
use std::sync::LazyLock;

use foldhash::fast::RandomState;

use crate::summary::record::change::{Changed, Claim, How, Statements};
use crate::summary::record::cues;
use crate::summary::record::statements::{GAP, paragraphs, sentences, spoken, without_middle};
use crate::summary::record::{Entry, Kind, one_line};

/// Bytes of a line of a person's; what is longer is split between sentences.
const LONGEST_LINE: usize = 320;
/// The same of a message so long that there is room for parts of it only.
const LONGEST_PART: usize = 140;
const LONG_MESSAGE: usize = 1_500;
/// Bytes of a paragraph that stays on one line; of a longer one each line has some of its sentences.
const WHOLE: usize = 180;
/// Lines of a long message from which on it is more often material than a wish.
const MATERIAL: usize = 6;
/// Lines that say what a message is for.
const OPENING: usize = 2;
/// Characters of a question beside its answer.
const LONGEST_QUESTION: usize = 220;
/// Sentences of one message that may be changed later. Of a longer one most is material.
const MOST_STATEMENTS: usize = 60;

/// What stands before a statement that may no longer hold.
pub(super) const WAS: &str = "was: ";
/// What stands around what was said earlier of the matter of a statement, behind that.
const EARLIER: &str = " (earlier: ";
/// The same where it may no longer hold.
const FORMERLY: &str = " (was: ";
/// What the words are about that nobody has answered yet.
pub(super) const LAST_REQUEST: &str = "Open request";
/// Behind what was broken off.
const INTERRUPTED: &str = " (interrupted by the user)";

/// A line of the user's.
struct Line {
    entry: Entry,
    sentences: Vec<Sentence>,
}

#[derive(Default)]
struct Sentence {
    text: String,
    gone: bool,
    doubted: bool,
}

impl Sentence {
    /// The sentences of a text, each with what an earlier summary put behind it.
    fn all(text: &str) -> Vec<Sentence> {
        let mut all: Vec<Sentence> = Vec::new();
        for text in sentences(text) {
            match all.last_mut().filter(|_| [EARLIER, FORMERLY].iter().any(|opening| text.starts_with(opening.trim())))
            {
                Some(last) => last.text.push_str(&format!(" {text}")),
                None => all.push(Sentence { text: text.to_owned(), ..Sentence::default() }),
            }
        }
        if all.is_empty() {
            all.push(Sentence { text: text.to_owned(), ..Sentence::default() });
        }
        all
    }

    /// Puts behind it what was said of its matter before, and what stood behind that; not where that is too long.
    fn follow(&mut self, earlier: &str, opening: &str) -> bool {
        /// Bytes of all that stands behind it.
        const LONGEST: usize = 280;
        let (earlier, before) = parted(earlier);
        if parted(&self.text).1.len() + earlier.len() + before.len() > LONGEST {
            return false;
        }
        self.text.push_str(&format!("{opening}{earlier}){before}"));
        true
    }
}

/// A sentence, and what was said of its matter before it.
fn parted(sentence: &str) -> (&str, &str) {
    let at = [EARLIER, FORMERLY].iter().filter_map(|opening| sentence.find(opening)).min();
    sentence.split_at(at.unwrap_or(sentence.len()))
}

/// All that a person said.
#[derive(Default)]
pub(super) struct Words {
    lines: Vec<Line>,
    statements: Statements,
    /// Where the statements stand: a line and a sentence of it.
    places: Vec<(usize, usize)>,
    /// Where the lines of the last message begin.
    last: usize,
}

impl Words {
    /// Takes a message. `asked` is what the model said last, if the user has not spoken since; `denied` what the user says
    /// is wrong with it.
    pub(super) fn said(&mut self, index: usize, text: &str, asked: Option<&str>, denied: Option<&str>) {
        let opens = self.lines.is_empty();
        self.last = self.lines.len();
        let question = asked.and_then(|asked| question(asked, text));
        let question = question.or(denied.map(|denied| format!("“{}”", without_middle(denied, LONGEST_QUESTION))));
        let longest = if text.len() > LONG_MESSAGE { LONGEST_PART } else { WHOLE };
        let mut place = 0;
        for (at, paragraph) in paragraphs(text).into_iter().filter(|paragraph| !paragraph.is_heading).enumerate() {
            for line in chunks(&without_chatter(&paragraph.text), longest) {
                let about = question.as_ref().filter(|_| place == 0 && at == 0).cloned().unwrap_or_default();
                let is_material = text.len() > LONG_MESSAGE && place >= MATERIAL;
                let weight = weight(&line, opens && place < OPENING, is_material, place > 0 && !paragraph.is_item);
                // A word that says nothing else answers all the same.
                let weight = if about.is_empty() { weight } else { weight.max(9.0) };
                let entry = Entry { weight, ..Entry::new(Kind::User, index, about, String::new()) };
                self.push(entry, &line, place < MOST_STATEMENTS);
                place += 1;
            }
        }
    }

    /// Takes what the user said when a call was rejected; the words may be missing.
    pub(super) fn rejected(&mut self, index: usize, call: &str, said: &str) {
        self.last = self.lines.len();
        for (at, paragraph) in paragraphs(said).into_iter().enumerate() {
            for line in chunks(&paragraph.text, LONGEST_LINE) {
                let about = if at == 0 { format!("rejected `{call}`") } else { String::new() };
                self.push(Entry::new(Kind::User, index, about, String::new()), &line, true);
            }
        }
    }

    /// Takes a line that an earlier summary carried on.
    pub(super) fn carried(&mut self, mut entry: Entry) {
        let text = std::mem::take(&mut entry.text);
        let doubted = text.strip_prefix(WAS);
        entry.earlier = true;
        self.push(entry, doubted.unwrap_or(&text), doubted.is_none());
        if let Some(line) = self.lines.last_mut() {
            line.sentences.iter_mut().for_each(|sentence| sentence.doubted = doubted.is_some());
        }
        self.last = self.lines.len();
    }

    /// The user broke off what the last message had asked for.
    pub(super) fn interrupted(&mut self) {
        let last = self.lines.get_mut(self.last..).and_then(|lines| lines.first_mut());
        let sentence = last.and_then(|line| line.sentences.last_mut());
        if let Some(sentence) = sentence.filter(|sentence| !sentence.text.ends_with(INTERRUPTED)) {
            sentence.text.push_str(INTERRUPTED);
        }
    }

    /// Adds a line, and notes what its sentences change; `states` tells that they may change something, and be changed.
    fn push(&mut self, mut entry: Entry, text: &str, states: bool) {
        let at = self.lines.len();
        let mut said = Sentence::all(text);
        let mut before: Option<Claim> = None;
        for (place, sentence) in said.iter_mut().enumerate().filter(|_| states) {
            let (text, _) = parted(&sentence.text);
            let about = if place == 0 { format!("{} {text}", entry.about) } else { text.to_owned() };
            let (claim, repeated) = match self.statements.take_repeated(&about) {
                Some((claim, changed)) => (claim, Some(changed)),
                None => (Claim::of(&about), None),
            };
            let seen = claim.behind(before.as_ref());
            let revises = seen.revises();
            before = Some(seen.clone());
            let changed: Vec<Changed> = repeated.into_iter().chain(self.statements.add(claim, seen)).collect();
            self.places.push((at, place));
            let abouts = changed.into_iter().filter_map(|changed| self.change(changed, &mut entry, sentence, revises));
            if let Some(about) = abouts.reduce(|first, _| first).filter(|about| !about.is_empty()) {
                entry.about = about;
            }
        }
        self.lines.push(Line { entry, sentences: said });
    }

    /// Changes an earlier sentence for a new one, which is of `entry`; what the new one is about, where it does not say that.
    fn change(&mut self, changed: Changed, entry: &mut Entry, new: &mut Sentence, revises: bool) -> Option<String> {
        let (line, place) = *self.places.get(changed.which)?;
        let opens = line == 0;
        let line = self.lines.get_mut(line)?;
        // What one message says holds together, unless it corrects itself; and so does an earlier summary.
        let together = line.entry.earlier == entry.earlier && (entry.earlier || line.entry.index == entry.index);
        if together && (changed.how != How::Replaced || !revises) {
            return None;
        }
        let former = line.sentences.get_mut(place).filter(|former| !former.gone)?;
        let opening = match changed.how {
            How::Replaced => "",
            How::Doubted => FORMERLY,
            How::Related => EARLIER,
        };
        // What opens the conversation, or answers a question, stays where it is.
        let may_move = !opens && line.entry.about.is_empty();
        if changed.how == How::Replaced {
            former.gone = true;
        } else if may_move && new.follow(&former.text, opening) {
            former.gone = true;
            entry.weight = entry.weight.max(line.entry.weight);
        } else {
            former.doubted |= changed.how == How::Doubted;
        }
        changed.about
    }

    /// The lines as they stand now. `open` tells that nobody has acted on the last message.
    pub(super) fn lines(self, open: bool) -> impl Iterator<Item = Entry> {
        let (last, first_of_last) = (if open { self.last } else { usize::MAX }, self.last);
        self.lines.into_iter().enumerate().filter_map(move |(at, line)| {
            let Line { mut entry, sentences } = line;
            entry.text = one_line(standing(&sentences)?);
            // What was asked for last matters most, whatever was done since.
            if (first_of_last..first_of_last + OPENING).contains(&at) && entry.weight > IDLE {
                entry.weight = entry.weight.max(13.0);
            }
            if at >= last && entry.weight > IDLE {
                entry.weight = 14.0;
                if entry.about.is_empty() && at == last {
                    entry.about = LAST_REQUEST.to_owned();
                }
            }
            Some(entry)
        })
    }
}

/// What still stands of some sentences; a mark where one between them is gone. Nothing where all of it is.
fn standing(sentences: &[Sentence]) -> Option<String> {
    let mut text = String::new();
    let mut gap = false;
    for sentence in sentences {
        if sentence.gone {
            gap = !text.is_empty();
            continue;
        }
        if gap {
            text.push_str(" …");
        }
        gap = false;
        if !text.is_empty() && !text.ends_with(|c: char| c >= '\u{2e80}') {
            text.push(' ');
        }
        match (sentence.doubted, sentences.len()) {
            (true, 1) => text.push_str(&format!("{WAS}{}", sentence.text)),
            (true, _) => text.push_str(&format!("({WAS}{})", sentence.text)),
            (false, _) => text.push_str(&sentence.text),
        }
    }
    text.chars().any(char::is_alphanumeric).then_some(text)
}

/// How much a line matters: what opens a conversation most, then what rules; what comes late in a long message is more
/// often material than a wish.
fn weight(line: &str, opens: bool, is_material: bool, may_be_heading: bool) -> f64 {
    let is_wide = line.contains(|c: char| c >= '\u{2e80}');
    match () {
        () if is_idle(line) || spoken(line).next().is_none() => IDLE,
        () if opens => 14.0,
        () if cues::RULES.is_in(line) => {
            if is_material {
                8.0
            } else {
                12.0
            }
        }
        () if cues::WISHES.is_in(line) => {
            if is_material {
                7.0
            } else {
                11.0
            }
        }
        // A heading says nothing by itself.
        () if may_be_heading && !is_wide && spoken(line).nth(3).is_none() && !line.ends_with(ENDS) => 1.5,
        () if is_material => 3.0,
        () => 9.0,
    }
}

/// The weight of what says nothing.
const IDLE: f64 = 1.0;

/// What a sentence ends with.
const ENDS: [char; 7] = ['.', '!', '?', '。', '！', '？', ')'];

/// A paragraph split between its sentences, none longer than a line may be where that can be helped.
fn chunks(text: &str, longest: usize) -> Vec<String> {
    if text.len() <= longest {
        return if text.chars().any(char::is_alphanumeric) { vec![text.to_owned()] } else { Vec::new() };
    }
    let mut found: Vec<String> = Vec::new();
    for sentence in sentences(text) {
        let sentence = without_middle(sentence, LONGEST_LINE);
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

/// A text without the sentences before it that only keep the talk going.
fn without_chatter(text: &str) -> String {
    let all = sentences(text);
    let idle = all.iter().take_while(|said| is_idle(said)).count();
    match all.get(idle).filter(|_| idle > 0) {
        Some(first) => text.find(first).map_or(text, |at| &text[at..]).to_owned(),
        None => text.to_owned(),
    }
}

/// Whether a sentence only keeps the talk going: it thanks, praises, greets, agrees.
pub(super) fn is_idle(sentence: &str) -> bool {
    const LONG: usize = 60;
    const WORDS: &str = "thanks thank you very so much many a lot ok okay alright all right great good nice well cool fine perfect excellent \
        awesome wonderful super lovely amazing brilliant neat sweet yes yeah yep no sure hm hmm um uh oh ah hi hello hey there morning afternoon \
        evening work job going far looks look sounds sound like it this that is are i we see got understood noted appreciate it's that's i'm back \
        now again and then to me here please just really indeed exactly agreed right bye goodbye \
        谢谢 谢谢你 多谢 好 好的 很好 不错 嗯 是的 可以 对 收到 明白 辛苦了 你好 干得好 没问题";
    if sentence.len() > LONG {
        return false;
    }
    let words = sentence.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty());
    static IDLE_WORDS: LazyLock<HashSet<&str, RandomState>> = LazyLock::new(|| WORDS.split_whitespace().collect());
    let known = |word: &&str| IDLE_WORDS.contains(word.to_lowercase().as_str());
    let words: Vec<&str> = words.collect();
    let idle = words.iter().filter(|word| known(word)).count();
    let thanks = words.iter().any(|word| ["thank", "thanks", "谢谢"].contains(&word.to_lowercase().as_str()));
    // Whoever thanks may say for what.
    !words.is_empty() && (idle == words.len() || thanks && idle * 10 >= words.len() * 7)
}

/// The question that a message answers, in quotes; nothing where it does not seem to.
fn question(asked: &str, answer: &str) -> Option<String> {
    /// Words of an answer that needs its question to be understood.
    const FEW: usize = 6;
    /// Words of an answer that says itself what it is about.
    const MANY: usize = 14;
    /// Telling words of a question that says what it is about.
    const ENOUGH: usize = 3;
    if answer.len() > LONGEST_LINE {
        return None;
    }
    let all: Vec<String> = paragraphs(asked).into_iter().map(|paragraph| paragraph.text).collect();
    let all: Vec<&str> = all.iter().flat_map(|paragraph| sentences(paragraph)).collect();
    let at = all.iter().rposition(|sentence| sentence.ends_with(['?', '？']))?;
    let few = spoken(answer).take(FEW + 1).count() <= FEW;
    let asked: Vec<String> =
        all[at.saturating_sub(2)..].iter().flat_map(|said| spoken(said)).map(|word| word.to_lowercase()).collect();
    let shared = || spoken(answer).any(|word| word.len() > 3 && asked.contains(&word.to_lowercase()));
    if spoken(answer).nth(MANY).is_some() || !few && !shared() {
        return None;
    }
    let mut text = all[at].to_owned();
    for before in all[..at].iter().rev() {
        let says = spoken(&text).filter(|word| word.len() > 3 || !word.is_ascii()).count();
        if says >= ENOUGH || text.chars().count() + before.chars().count() > LONGEST_QUESTION {
            break;
        }
        text = format!("{before} {text}");
    }
    Some(format!("“{}”", without_middle(&text, LONGEST_QUESTION)))
}

/// What the user said in a result by which a call was rejected; nothing where it was not. The words may be missing.
///
/// A result that is not marked as a failure is told by its first words: what a tool brought may speak of users and of
/// rejections, too, and is never taken for what a person said.
pub(super) fn rejection(result: &str, is_marked: bool) -> Option<&str> {
    /// Bytes of a result in which it is told, and of one that is not marked.
    const OPENING: usize = 400;
    const UNMARKED: usize = 80;
    /// Bytes of a result that is a person's words and not a tool's.
    const LONGEST: usize = 4_000;
    let end = result.floor_char_boundary(if is_marked { OPENING } else { UNMARKED });
    let (rejects, _) = cues::REJECTS.group(&result[..end])?;
    if !is_marked && result.len() > LONGEST {
        return None;
    }
    let result = &result[..result.floor_char_boundary(LONGEST)];
    let behind = &result[rejects.start..];
    let rest = match cues::SAYING.group(&behind[..behind.floor_char_boundary(OPENING)]) {
        Some((saying, _)) => &behind[saying.end..],
        None => {
            let rest = &result[rejects.end..];
            rest.find(['.', ':', '\n', '。', '：'])
                .map_or("", |at| rest[at..].trim_start_matches(['.', ':', '。', '：']))
        }
    };
    Some(rest.trim().trim_start_matches(['"', '“']).trim_end_matches(['"', '”']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(messages: &[&str]) -> Vec<String> {
        let mut words = Words::default();
        for (index, text) in messages.iter().enumerate() {
            words.said(index, text, None, None);
        }
        let line =
            |entry: Entry| if entry.about.is_empty() { entry.text } else { format!("{}: {}", entry.about, entry.text) };
        words.lines(false).map(line).collect()
    }

    #[test]
    fn every_message_stands_whole() {
        assert_eq!(
            told(&["Make a repro.", "Thanks. No mocks, and keep it small."]),
            ["Make a repro.", "No mocks, and keep it small."]
        );
        assert_eq!(told(&["OK, only this once."]), ["OK, only this once."]);
    }

    #[test]
    fn a_line_is_one_whatever_stands_in_it() {
        assert_eq!(told(&["Keep the\rold names, please."]), ["Keep the old names, please."]);
    }

    #[test]
    fn what_was_said_in_a_rejection() {
        let claude = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\nUse a view.";
        let rejection = |result| super::rejection(result, false);
        assert_eq!(super::rejection(claude, true), Some("Use a view."));
        assert_eq!(rejection(claude), Some("Use a view."));
        assert_eq!(rejection("Rejected by user. Reason: wrong table"), Some("wrong table"));
        assert_eq!(
            rejection("The user denied this operation and provided the following feedback:\nNot here."),
            Some("Not here.")
        );
        assert_eq!(rejection("User rejected the edit: keep the name"), Some("keep the name"));
        assert_eq!(rejection("用户拒绝了这次修改，原因：表结构冻结"), Some("表结构冻结"));
        assert_eq!(rejection("The operation was rejected by the user."), Some(""));
        assert_eq!(rejection("permission denied (publickey)"), None);
        assert_eq!(rejection("! [rejected] main -> main (fetch first)"), None);
    }

    #[test]
    fn answers_stand_with_what_was_asked() {
        assert_eq!(
            question("Which cache, Redis or Memcached?", "Memcached, we run it.").as_deref(),
            Some("“Which cache, Redis or Memcached?”")
        );
        assert_eq!(
            question("I can add tests for 1. the basic case, 2. your bug. Shall I?", "yes, all 3").as_deref(),
            Some("“I can add tests for 1. the basic case, 2. your bug. Shall I?”")
        );
        assert_eq!(question("Shall I commit?", "Now audit the whole code base for places that leak handles."), None);
        assert_eq!(question("It is done.", "Fine."), None);
    }

    #[test]
    fn what_was_changed_is_gone() {
        assert_eq!(
            told(&["Keep it small. Max 3 retries for uploads.", "Make that five retries for uploads."]),
            ["Keep it small.", "Make that five retries for uploads."]
        );
    }
}
