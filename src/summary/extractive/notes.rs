//! What a history offers for its summary: sentences and names, each with a section and a weight.

use std::collections::{BTreeSet, HashMap};

use crate::transcript::{Arguments, Content, Message, PartKind, Role};

use crate::summary::fence;

use super::sentences::{artifacts, clipped, sentences, words};

/// The sections of a summary, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Intent,
    Summary,
    Artifacts,
    NextSteps,
}

pub(super) const SECTIONS: [Section; 4] = [Section::Intent, Section::Summary, Section::Artifacts, Section::NextSteps];

impl Section {
    pub(super) fn heading(self) -> &'static str {
        match self {
            Section::Intent => "## Session intent",
            Section::Summary => "## Summary",
            Section::Artifacts => "## Artifacts",
            Section::NextSteps => "## Next steps",
        }
    }
}

/// A line of a summary.
#[derive(Debug)]
pub(super) struct Note {
    pub(super) section: Section,
    pub(super) text: String,
    /// How much it matters; what has none is only a last resort.
    pub(super) weight: f64,
    /// Its words, by which a note is known that says the same.
    pub(super) words: BTreeSet<u64>,
}

impl Note {
    fn new(section: Section, text: String, weight: f64) -> Self {
        // Names are told apart by themselves: two files in one folder share most of their words.
        let words = if section == Section::Artifacts { BTreeSet::new() } else { words(&text) };
        Note { section, text, weight, words }
    }

    pub(super) fn line(&self) -> String {
        format!("- {}", self.text)
    }
}

/// Weights, from what an agent cannot go on without to what it can.
const EARLIER_NOTE: f64 = 40.0;
const FIRST_REQUEST: f64 = 50.0;
const REQUEST: f64 = 20.0;
const NEXT_STEP: f64 = 30.0;
const ERROR: f64 = 6.0;
const ARTIFACT: f64 = 5.0;
const STATEMENT: f64 = 4.0;
const TOOLS: f64 = 3.0;

/// All notes of a history, in its order.
pub(super) fn collect(messages: &[&Message<'_>], prefix: &str) -> Vec<Note> {
    let last_statement =
        messages.iter().rposition(|message| message.role == Role::Assistant && any_text(message).is_some());
    let first_request =
        messages.iter().position(|message| message.is_user_turn() && earlier_summary(message, prefix).is_none());
    let frequency = frequencies(messages);
    let mut notes = Vec::new();
    let mut names: HashMap<String, Name> = HashMap::new();
    for (index, message) in messages.iter().enumerate() {
        // Later messages matter up to twice as much as the first.
        let recency = 1.0 + index as f64 / messages.len() as f64;
        if let Some(earlier) = earlier_summary(message, prefix) {
            carry_on(&earlier, &mut notes);
            continue;
        }
        names_in(message, index, &mut names);
        let text = texts(message);
        match message.role {
            Role::User if message.is_user_turn() => {
                let first = Some(index) == first_request;
                notes.extend(sentences(&text).into_iter().enumerate().map(|(place, sentence)| {
                    let base = if first { FIRST_REQUEST } else { REQUEST * recency };
                    Note::new(Section::Intent, sentence, base / (1.0 + 0.3 * place as f64))
                }));
            }
            Role::Assistant => {
                let said = sentences(&text);
                // Where nothing looks ahead, the last thing said is where the work stands.
                let ahead = said.iter().rposition(|sentence| looks_ahead(sentence)).or(said.len().checked_sub(1));
                notes.extend(said.into_iter().enumerate().map(|(place, sentence)| {
                    if Some(index) == last_statement && Some(place) == ahead {
                        return Note::new(Section::NextSteps, sentence, NEXT_STEP);
                    }
                    let weight = STATEMENT * recency * importance(&sentence, &frequency);
                    Note::new(Section::Summary, sentence, weight)
                }));
            }
            _ => notes.extend(
                text.lines()
                    .filter(|line| is_error(line))
                    .map(|line| Note::new(Section::Summary, clipped(line.trim()), ERROR * recency)),
            ),
        }
    }
    notes.extend(tools_called(messages));
    notes.extend(named(names, messages.len()));
    notes
}

/// Any text of a message, where it has some: what it says, or else what it reasons.
pub(super) fn any_text(message: &Message<'_>) -> Option<String> {
    let reasoning = || match &message.content {
        Content::Parts(parts) => parts.iter().find_map(|part| match &part.kind {
            PartKind::Reasoning(text) => Some(text.decode().into_owned()),
            _ => None,
        }),
        Content::Text(_) => None,
    };
    let text = texts(message);
    let text = if text.trim().is_empty() { reasoning()? } else { text };
    (!text.trim().is_empty()).then(|| text.trim().to_owned())
}

/// What there is to say of messages that have no text: how many, and what they hold instead.
pub(super) fn without_text(messages: &[&Message<'_>]) -> String {
    let parts = |wanted: fn(&PartKind<'_>) -> bool| -> usize {
        let of = |message: &&Message<'_>| match &message.content {
            Content::Parts(parts) => parts.iter().filter(|part| wanted(&part.kind)).count(),
            Content::Text(_) => 0,
        };
        messages.iter().map(of).sum()
    };
    let images = parts(|kind| matches!(kind, PartKind::Image));
    let others = parts(|kind| matches!(kind, PartKind::Media | PartKind::Other));
    let held: Vec<String> = [(images, "image"), (others, "other part")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| counted(number, what))
        .collect();
    let of = if held.is_empty() { String::new() } else { format!(" ({})", held.join(", ")) };
    format!("{} without text{of}.", counted(messages.len(), "message"))
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Which tools were called, and how often, the first called first.
fn tools_called(messages: &[&Message<'_>]) -> Option<Note> {
    let mut tools: Vec<(String, usize)> = Vec::new();
    let mut place: HashMap<String, usize> = HashMap::new();
    for name in messages.iter().flat_map(|message| &message.calls).filter_map(|call| call.name) {
        let name = name.decode().into_owned();
        let at = *place.entry(name.clone()).or_insert(tools.len());
        if at == tools.len() {
            tools.push((name, 0));
        }
        tools[at].1 += 1;
    }
    let listed: Vec<String> = tools
        .iter()
        .map(|(name, times)| if *times == 1 { name.clone() } else { format!("{name} ({times} times)") })
        .collect();
    let text = format!("Tools called: {}", listed.join(", "));
    (!tools.is_empty()).then(|| Note::new(Section::Summary, clipped(&text), TOOLS))
}

fn texts(message: &Message<'_>) -> String {
    message.content.texts().iter().map(|text| text.decode()).collect::<Vec<_>>().join("\n")
}

/// The text of an earlier summary without what it begins with.
fn earlier_summary(message: &Message<'_>, prefix: &str) -> Option<String> {
    let prefix = prefix.trim_end();
    let text = texts(message);
    match text.strip_prefix(prefix).filter(|_| !prefix.is_empty()) {
        Some(summary) => Some(fence::opened(summary).to_owned()),
        None => message.earlier.then(|| fence::opened(&text).to_owned()),
    }
}

/// Takes the lines of an earlier summary into the sections they stood in.
fn carry_on(earlier: &str, notes: &mut Vec<Note>) {
    let mut section = Section::Summary;
    for line in earlier.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(heading) = SECTIONS.into_iter().find(|section| section.heading().eq_ignore_ascii_case(line)) {
            section = heading;
        } else if section != Section::NextSteps {
            // What was next then is done, dropped or said again by now.
            notes.push(Note::new(section, clipped(line.trim_start_matches("- ")), EARLIER_NOTE));
        }
    }
}

fn looks_ahead(sentence: &str) -> bool {
    const SIGNS: [&str; 12] =
        ["next", "will", "'ll ", "then", "now ", "let me", "let's", "remain", "still", "todo", "接下来", "下一步"];
    let lower = sentence.to_lowercase();
    SIGNS.iter().any(|sign| lower.contains(sign))
}

/// Whether a line of a tool's output reports an error; the lines of a diff only show code that could.
fn is_error(line: &str) -> bool {
    const SIGNS: [&str; 8] = ["error", "Error", "ERROR", "failed", "FAILED", "Exception", "panicked", "fatal"];
    const LONGEST_LINE: usize = 2_000;
    line.len() < LONGEST_LINE && !line.starts_with(['+', '-']) && SIGNS.iter().any(|sign| line.contains(sign))
}

/// A name in the history.
#[derive(Default)]
struct Name {
    /// How much was made of it, mention by mention.
    mentions: f64,
    first: usize,
}

/// A mention counts most where a tool is given the name, and least where it only goes by in a tool's output.
const GIVEN: f64 = 2.0;
const SPOKEN: f64 = 1.0;
const IN_OUTPUT: f64 = 0.1;

/// Adds the names that stand in a message: in its text, and in what its calls are given.
fn names_in(message: &Message<'_>, index: usize, names: &mut HashMap<String, Name>) {
    let mut add = |text: &str, mention: f64| {
        for name in artifacts(text) {
            match names.get_mut(name) {
                Some(known) => known.mentions += mention,
                None => {
                    names.insert(name.to_owned(), Name { mentions: mention, first: index });
                }
            }
        }
    };
    let speaks = message.role == Role::Assistant || message.is_user_turn();
    add(&texts(message), if speaks { SPOKEN } else { IN_OUTPUT });
    for call in &message.calls {
        match call.arguments {
            Arguments::Text(text) => add(&text.decode(), GIVEN),
            Arguments::Value(value) => add(value.raw(), GIVEN),
            Arguments::Absent => {}
        }
    }
}

/// Notes for names, in the order of their first coming up.
fn named(names: HashMap<String, Name>, messages: usize) -> Vec<Note> {
    let mut names: Vec<(String, Name)> = names.into_iter().collect();
    names.sort_by(|a, b| (a.1.first, &a.0).cmp(&(b.1.first, &b.0)));
    names
        .into_iter()
        .map(|(text, name)| {
            let recency = 1.0 + name.first as f64 / messages as f64;
            Note::new(Section::Artifacts, text, ARTIFACT * (1.0 + name.mentions).ln() * recency)
        })
        .collect()
}

/// How many sentences of the conversation have each word.
fn frequencies(messages: &[&Message<'_>]) -> HashMap<u64, usize> {
    let mut frequency = HashMap::new();
    let spoken = messages.iter().filter(|message| matches!(message.role, Role::User | Role::Assistant));
    for sentence in spoken.flat_map(|message| sentences(&texts(message))) {
        for word in words(&sentence) {
            *frequency.entry(word).or_insert(0) += 1;
        }
    }
    frequency
}

/// How much a sentence is about what the conversation is about: the mean weight of its words, from 0 to about 3, and
/// less for sentences of a few words.
fn importance(sentence: &str, frequency: &HashMap<u64, usize>) -> f64 {
    let words = words(sentence);
    if words.is_empty() {
        return 0.0;
    }
    let total: f64 = words.iter().map(|word| (1.0 + frequency.get(word).copied().unwrap_or(0) as f64).ln()).sum();
    let length = words.len() as f64;
    (total / length).min(3.0) * (length / (length + 3.0))
}
