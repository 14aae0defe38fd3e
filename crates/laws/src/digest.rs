//! The laws of digests. A digest is parsed by its grammar, and the messages are read from their JSON, without the code
//! that writes digests.

mod grammar;

use std::collections::HashMap;
use std::ops::Range;

use crate::tokens::Counter;
use crate::transcript::json::named_strings;
use crate::transcript::speaker::{is_interruption, words_of_texts};
use crate::transcript::{Content, Message, PartKind, Role, Transcript, fence};
use serde_json::Value;
use tcompact_core::digest;

use crate::lawful::PREFIX;

use grammar::{FOLDER, OWN_WORDS, TASK, TASK_WORDS, THOUGHT, range_of};
pub(crate) use grammar::{Item, Section, is_said_in, parse, squeezed};

/// What is in a message.
#[derive(Debug, Default)]
struct Heard {
    /// The text beside results, if a person may have written it.
    user: Option<String>,
    /// Whether a person certainly wrote it.
    is_person: bool,
    /// The text and the thoughts of the model.
    assistant: Option<String>,
    /// The text of an earlier summary.
    earlier: Option<String>,
    /// All strings and numbers, without white space.
    all: String,
    /// Whether it may hold a call or a result.
    acts: bool,
}

impl Heard {
    fn new(message: &Message<'_>, before: Option<&Message<'_>>) -> Self {
        let mut texts = Vec::new();
        match &message.content {
            Content::Text(text) if message.results.is_empty() => texts.push(*text),
            Content::Text(_) => {}
            Content::Parts(parts) => texts.extend(parts.iter().filter_map(|part| match part.kind {
                PartKind::Text(text)
                | PartKind::Refusal(text)
                | PartKind::Foreign(text)
                | PartKind::Reasoning(text) => Some(text),
                _ => None,
            })),
        }
        let text = texts.iter().map(|text| text.decode()).collect::<Vec<_>>().join("\n");
        let all: Vec<_> = message.content.texts().iter().map(|text| text.decode().into_owned()).collect();
        let mut heard = Heard { all: squeezed(&strings(message).join("\n")), ..Heard::default() };
        // Some formats have calls in texts.
        heard.acts = !message.calls.is_empty() || !message.results.is_empty() || text.contains(['`', '<']);
        let has_compaction = message.compaction().is_some();
        if has_compaction || message.earlier {
            // The fence escapes what could end it.
            heard.earlier = Some(all.join("\n").replace("&lt;", "<"));
        }
        match message.role {
            _ if heard.earlier.is_some() && !has_compaction => {}
            Role::Assistant => heard.assistant = Some(text),
            Role::User => {
                // Hermes sends something in the place of what the user said.
                let instead = message.json.get("api_content").and_then(|_| message.json.get_text("content"));
                let text = instead.map_or(text, |said| said.decode().into_owned());
                // Programs write reminders in tags, and answers to commands in fences.
                let is_after_command = before
                    .is_some_and(|before| before.content.texts().iter().any(|text| text.decode().contains("```")));
                heard.is_person = !squeezed(&text).is_empty()
                    && !text.starts_with("OBSERVATION")
                    && !message.is_marked_as_inserted()
                    && !has_compaction
                    && !message.json.raw().contains("hologram")
                    && (!text.contains('<') || text.contains(" zu"))
                    && !is_after_command;
                heard.user = Some(text);
            }
            _ => {}
        }
        heard
    }
}

/// Returns all strings of a message, those of JSON inside strings, and the JSON itself.
fn strings(message: &Message<'_>) -> Vec<String> {
    fn inside(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| inside(item, found)),
            Value::Object(members) => members.iter().for_each(|(key, value)| {
                found.push(key.clone());
                inside(value, found);
            }),
            other => found.push(other.to_string()),
        }
    }
    let mut found = vec![message.json.raw().to_owned()];
    for text in named_strings(message.json).into_iter().filter_map(|(_, string)| string.text()) {
        let text = text.decode().into_owned();
        if let Ok(value) = serde_json::from_str(&text) {
            inside(&value, &mut found);
        }
        found.push(text);
    }
    found
}

/// The messages of a transcript as these laws read them.
pub(crate) struct History(Vec<Heard>, HashMap<usize, Vec<usize>>);

impl History {
    pub(crate) fn new(transcript: &Transcript<'_>) -> Self {
        let messages = &transcript.messages;
        let mut partners: HashMap<usize, Vec<usize>> = HashMap::new();
        for (call, result) in transcript.pairing.pairs.iter().copied() {
            partners.entry(call).or_default().push(result);
            partners.entry(result).or_default().push(call);
        }
        let before = |at: usize| at.checked_sub(1).map(|at| &messages[at]);
        History(messages.iter().enumerate().map(|(at, message)| Heard::new(message, before(at))).collect(), partners)
    }

    fn at(&self, index: usize, digest: &str) -> &Heard {
        self.0.get(index).unwrap_or_else(|| panic!("there is no message {index}: {digest}"))
    }

    fn has_earlier(&self) -> bool {
        self.0.iter().any(|heard| heard.earlier.is_some())
    }

    /// Whether a text is in an earlier summary.
    fn carries(&self, said: &str) -> bool {
        self.0.iter().filter_map(|heard| heard.earlier.as_ref()).any(|earlier| {
            // A carried line may be clipped again, and its continuations begin at the margin.
            is_said_in(said, fence::opened(earlier), false)
        })
    }

    /// Law 12: each message of the user among the first `count` stands word for word or visibly clipped, or is counted;
    /// in order; and nothing else stands there.
    pub(crate) fn assert_user(&self, digest: &str, count: usize) {
        let items: Vec<Item> = parse(digest).into_iter().filter(|item| item.section == Section::User).collect();
        let mut order = Vec::new();
        let mut shown: Vec<&str> = Vec::new();
        for item in &items {
            let Some(index) = item.index else {
                assert!(item.left_out().is_some(), "{:?} is nobody's: {digest}", item.text);
                continue;
            };
            if item.is_carried {
                let said = item.question().unwrap_or(&item.text);
                assert!(self.carries(said), "{said:?} is not carried: {digest}");
                continue;
            }
            order.push(index);
            let heard = self.at(index, digest);
            if let (Some(question), Some(said)) = (item.question(), &heard.assistant) {
                assert!(is_said_in(question, said, false), "{question:?} was not asked: {said:?}\n{digest}");
            } else if is_interruption(&item.text) {
                assert!(
                    ["interrupt", "abort"].iter().any(|word| heard.all.to_lowercase().contains(word)),
                    "{item:?}: {digest}"
                );
            } else {
                let said = heard.user.as_ref().unwrap_or_else(|| panic!("{index} is not the user's: {digest}"));
                let whole = heard.is_person;
                // A frame can stand in the middle of what a person pasted.
                let words = words_of_texts(vec![said.as_str().into()]);
                assert!(
                    is_said_in(&item.text, said, whole) || is_said_in(&item.text, &words, whole),
                    "{:?} is not what was said: {said:?}\n{digest}",
                    item.text
                );
                shown.push(said.trim());
            }
        }
        assert!(order.is_sorted(), "the user's words are out of order: {digest}");
        let persons = self.0[..count].iter().filter(|heard| heard.is_person).filter_map(|heard| heard.user.as_ref());
        let lacking: Vec<&str> = persons.map(|said| said.trim()).filter(|said| !shown.contains(said)).collect();
        let left_out: usize = items.iter().filter_map(Item::left_out).sum();
        let alike: usize = items.iter().map(|item| item.stands_for - 1).sum();
        let different = lacking.iter().enumerate().filter(|(at, said)| !lacking[..*at].contains(said)).count();
        assert!(
            different <= left_out + alike,
            "{left_out} are left out, and these are not there: {lacking:?}\n{digest}"
        );
        let all = self.0.iter().filter(|heard| heard.user.is_some()).count();
        assert!(self.has_earlier() || left_out + shown.len() <= all, "{left_out} are left out of {all}: {digest}");
    }

    /// Law 13: each line is text of the message whose index it bears, of an earlier summary, or of a known shape.
    pub(crate) fn assert_lines(&self, digest: &str) {
        for item in parse(digest).iter().filter(|item| item.section != Section::User) {
            match item.index {
                Some(_) if item.is_carried => {
                    let words = item.text.split('…').all(|piece| self.carries_words(piece));
                    assert!(words, "{item:?} is not carried: {digest}");
                }
                Some(index) => self.assert_said(item, index, digest),
                None if item.section == Section::State => self.assert_files(item, digest),
                None => assert!(item.left_out().is_some(), "{item:?} is not a known line: {digest}"),
            }
        }
    }

    fn carries_words(&self, piece: &str) -> bool {
        let earlier = self.0.iter().filter_map(|heard| heard.earlier.as_ref()).map(|text| squeezed(text));
        let earlier = earlier.collect::<String>();
        words(piece).all(|word| earlier.contains(word) || OWN_WORDS.contains(&word))
    }

    fn assert_said(&self, item: &Item, index: usize, digest: &str) {
        let heard = self.at(index, digest);
        let said = match item.section {
            Section::Earlier => &heard.earlier,
            Section::Assistant => &heard.assistant,
            _ => return self.assert_words(&item.text, index, digest),
        };
        let said = said.as_ref().unwrap_or_else(|| panic!("{index} is not of this speaker: {item:?}\n{digest}"));
        let text = item.text.strip_prefix(THOUGHT).unwrap_or(&item.text);
        assert!(is_said_in(text, said, false), "{text:?} is not what was said: {said:?}\n{digest}");
    }

    /// Checks that all words of a line are in a message, the message of its call or of its result, or our own.
    fn assert_words(&self, line: &str, index: usize, digest: &str) {
        self.at(index, digest);
        let around = index.saturating_sub(1)..index + 2;
        let partners = self.1.get(&index).into_iter().flatten().copied().chain(around);
        let all: Vec<&str> = partners.filter_map(|at| self.0.get(at)).map(|heard| heard.all.as_str()).collect();
        // What is done with a file is told in lower case.
        let is_there = |word: &str| {
            let holds = |text: &&str| text.contains(word) || text.to_lowercase().contains(word);
            OWN_WORDS.contains(&word) || all.iter().any(holds)
        };
        let line: String = line.lines().filter(|line| !counts_the_rest(line)).collect::<Vec<_>>().join("\n");
        for word in words(&line) {
            assert!(is_there(word), "{word:?} of {line:?} is not in message {index}: {digest}");
        }
    }

    /// Checks a line of files, each with the index of its last change.
    fn assert_files(&self, item: &Item, digest: &str) {
        if item.text.starts_with(FOLDER) || item.left_out().is_some() {
            return;
        }
        if let Some(task) = item.text.strip_prefix(TASK) {
            return self.assert_task(task, &item.task_places(), digest);
        }
        let (label, entries) = item.files().unwrap_or_else(|| panic!("{:?} is not a known line: {digest}", item.text));
        for (name, places) in entries {
            for (is_carried, range) in places.split(',').map(|place| range_of(place).expect("a place")) {
                for words in [label, name] {
                    if is_carried {
                        assert!(self.carries_words(words), "{words} is not carried: {digest}");
                    } else {
                        self.assert_words(words, range.start, digest);
                        self.assert_words(words, range.end - 1, digest);
                    }
                }
            }
        }
    }

    /// Checks the line of a background task: its words are in the messages at its places, or in the earlier summary.
    fn assert_task(&self, task: &str, places: &[(bool, Range<usize>)], digest: &str) {
        assert!(!places.is_empty(), "{task:?} has no place: {digest}");
        let mut all: Vec<&str> = Vec::new();
        for (is_carried, range) in places {
            if *is_carried {
                let earlier = self.0.iter().filter(|heard| heard.earlier.is_some());
                all.extend(earlier.map(|heard| heard.all.as_str()));
            } else {
                let partners = self.1.get(&range.start).into_iter().flatten().copied();
                all.extend(partners.chain([range.start]).map(|at| self.at(at, digest).all.as_str()));
            }
        }
        let text: String = task.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect();
        for word in words(&text).filter(|word| !TASK_WORDS.contains(word)) {
            assert!(all.iter().any(|text| text.contains(word)), "{word:?} of {task:?} is not recorded: {digest}");
        }
    }

    /// Each place that a digest prints lies in the history, that of a run is its call or its result, and what is said of
    /// calls that are left out begins and ends at one.
    pub(crate) fn assert_places(&self, digest: &str) {
        for item in parse(digest) {
            let ranges = item.ranges();
            for range in &ranges {
                assert!(range.end <= self.0.len(), "{range:?} of {item:?} is not in {}: {digest}", self.0.len());
            }
            if item.section == Section::Calls && item.index.is_none() {
                for at in ranges.iter().flat_map(|range| [range.start, range.end - 1]) {
                    // A call in a text has its reply in the next message.
                    let acts = self.0[at].acts || at > 0 && self.0[at - 1].acts;
                    assert!(acts, "message {at} of {item:?} is not a call or a result: {digest}");
                }
            }
            let label = item.text.split_once(" → ").filter(|_| item.section == Section::Calls).map(|(label, _)| label);
            let (Some(label), Some(last), false) = (label, item.index, item.is_carried) else { continue };
            let calls = self.1.get(&last).cloned().unwrap_or_else(|| vec![last.saturating_sub(1)]);
            let is_there = |word| [last].iter().chain(&calls).any(|&at| self.0[at].all.contains(word));
            for word in words(label).filter(|word| *word != "bash") {
                assert!(is_there(word), "{word:?} of {item:?} is not of its call: {digest}");
            }
        }
    }
}

/// Whether it is the end of a list of files, which says how many are not there.
fn counts_the_rest(file: &str) -> bool {
    let ends = |rest: &str| rest.ends_with(" more") || rest.ends_with(" left out earlier");
    file.trim_start_matches(", ").strip_prefix(['…', 'a']).is_some_and(ends)
}

/// Returns the words of a line.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Checks that all that a digest tells stays in a larger one.
pub(crate) fn assert_keeps(smaller: &str, larger: &str) {
    let larger_items = parse(larger);
    for item in parse(smaller).iter().filter(|item| item.left_out().is_none()) {
        let alike = |other: &&Item| {
            (other.section, other.index, other.is_carried) == (item.section, item.index, item.is_carried)
        };
        let there: String = larger_items.iter().filter(alike).map(|other| squeezed(&other.text)).collect();
        for piece in item.text.split('…').filter(|piece| !counts_the_rest(piece)) {
            assert!(there.contains(&squeezed(piece)), "{piece:?} is lost.\n{smaller}\n-- in --\n{larger}");
        }
    }
}

/// The counters of the laws.
pub(crate) const COUNTERS: [Counter; 3] =
    [Counter::APPROX, Counter::Bytes(1), Counter::Exact(crate::tokens::bpe::Encoding::O200kBase)];

/// Returns the digest of messages, and checks that it fits its limit and is the same every time.
pub(crate) fn digest_of(messages: &[&Message<'_>], counter: Counter, limit: u64) -> String {
    let indices: Vec<usize> = (0..messages.len()).collect();
    let digest = digest::read(messages, &indices, PREFIX);
    let text = digest.write(counter, limit, |_| true);
    assert!(counter.count_text(&text) <= limit, "{} > {limit}: {text}", counter.count_text(&text));
    assert_eq!(digest.write(counter, limit, |_| true), text, "the same every time");
    assert_eq!(digest::read(messages, &indices, PREFIX).write(counter, limit, |_| true), text, "the same every time");
    text
}

/// Checks the laws of a digest of a transcript, and returns it.
pub(crate) fn assert_digest(transcript: &Transcript<'_>, counter: Counter, limit: u64) -> String {
    let messages: Vec<&Message<'_>> = transcript.messages.iter().collect();
    let text = digest_of(&messages, counter, limit);
    let history = History::new(transcript);
    let least = if counter == COUNTERS[1] { 300 } else { 60 };
    // Where no section has room for a line, nothing can be counted.
    history.assert_user(&text, if limit < least { 0 } else { messages.len() });
    history.assert_lines(&text);
    history.assert_places(&text);
    let something = history
        .0
        .iter()
        .any(|heard| heard.is_person || heard.assistant.as_ref().is_some_and(|said| !squeezed(said).is_empty()));
    assert!(!something || limit < least || text.starts_with("## "), "{limit}: {text:?}");
    text
}

/// The message that puts a digest in the place of its messages.
pub(crate) fn as_message(digest: &str) -> String {
    format!("{PREFIX}{}", fence::wrap(digest))
}
