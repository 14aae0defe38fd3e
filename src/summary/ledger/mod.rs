//! The facts that no summary may lose, found without a model in the messages that go: rules, goals, decisions, files,
//! commands and how they ended, errors, identifiers, addresses, versions, amounts, what is open, done and next.
//!
//! A fact is an [`Entry`]: its text in the words of the source, what it is about, and the index of its message. Of facts
//! about the same thing the last stands (`claim` has the rules for statements; calls, commands and files are the same by
//! their names). A ledger can be written as a section of a summary and is read again from there, so that code and not a
//! model carries it on. It understands nothing: what is said in no known words is left to the summary.

mod claim;
mod cues;
mod earlier;
mod files;
pub(super) mod homes;
mod literals;
mod numbers;
mod outcome;
mod reading;
mod said;
mod section;
mod sentences;
mod supersede;
mod uses;
mod values;
mod work;
mod wrappers;

use std::collections::HashSet;

use crate::tokens::Counter;
use crate::transcript::Message;

use claim::Claim;
use supersede::Standing;
use uses::Uses;

pub(super) use claim::is_common;
pub(super) use earlier::USER;
pub(super) use literals::{Class, literals};
pub(super) use reading::{Called, Speaker, Turn, Words};
pub use section::{HEADING, beside_another, without};
pub(super) use sentences::{clipped, spoken};
pub(super) use values::Cell;

/// What a fact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A standing rule or limit of the user's.
    Rule,
    /// What the user wants, and what changed it.
    Goal,
    /// What was decided, or found to be the reason.
    Decision,
    /// A file that was read or changed.
    File,
    /// A command and how it ended.
    Command,
    /// An error, in the words it was reported with.
    Error,
    /// A name that cannot be guessed.
    Identifier,
    /// An address.
    Url,
    /// A version of something.
    Version,
    /// An amount, a day or a time.
    Number,
    /// A question nobody has answered.
    Question,
    /// What is done.
    Done,
    /// What is to be done next.
    Next,
    /// Whatever else was said or brought. No ledger holds it; a summary may.
    Said,
}

/// A fact.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// What it is about: the call that a value comes from, or the command that ended so. Empty where the text says it.
    pub about: String,
    /// The fact, on one line.
    pub text: String,
    /// The index of its message in the source, or in the source of the summary that it was carried on from.
    pub index: usize,
    /// Whether an earlier summary carried it on.
    pub earlier: bool,
    /// How much it matters; larger is more.
    pub weight: f64,
}

/// The facts of a history, in its order.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// The facts.
    pub entries: Vec<Entry>,
}

/// A fact as it is found, with what decides whether a later one takes its place. What not all have is boxed: a long
/// history has many.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) entry: Entry,
    pub(super) speaker: Speaker,
    /// A name that only one fact has, the last.
    pub(super) key: Option<String>,
    claim: Option<Box<Claim>>,
    /// The value that it is, where it is one of a JSON document.
    pub(super) cell: Option<Box<Cell>>,
    /// Whether it is told only where there is room left.
    pub(super) spare: bool,
}

impl Found {
    fn new(kind: Kind, speaker: Speaker, index: usize, about: &str, text: impl Into<String>) -> Self {
        let text = one_line(&text.into());
        let entry = Entry { kind, about: one_line(about), text, index, earlier: false, weight: weight(kind) };
        Found { entry, speaker, key: None, claim: None, cell: None, spare: false }
    }

    fn keyed(mut self, key: String) -> Self {
        self.key = Some(key);
        self
    }

    fn weighing(mut self, factor: f64) -> Self {
        self.entry.weight *= factor;
        self
    }

    fn claiming(mut self) -> Self {
        self.claim = Some(Box::new(Claim::of(&self.entry.text)));
        self
    }
}

/// What an agent can least go on without weighs most.
fn weight(kind: Kind) -> f64 {
    match kind {
        Kind::Rule => 12.0,
        Kind::Goal => 8.0,
        Kind::File | Kind::Next => 5.0,
        Kind::Decision | Kind::Question | Kind::Error | Kind::Command => 4.0,
        Kind::Identifier | Kind::Done => 3.0,
        Kind::Url | Kind::Version | Kind::Number => 2.0,
        Kind::Said => 1.0,
    }
}

/// Collects the facts of `messages`, whose indices in the source are `indices`. `prefix` is what an earlier summary
/// begins with: the ledger in it is carried on, and what else it says is taken for said.
pub fn collect(messages: &[&Message<'_>], indices: &[usize], prefix: &str) -> Ledger {
    let turns = reading::read(messages, indices, prefix);
    of_gathered(&turns, gather(&turns))
}

/// The ledger of what was gathered of turns.
pub(super) fn of_gathered(turns: &[Turn<'_>], found: impl Iterator<Item = Found>) -> Ledger {
    let uses = Uses::of(turns);
    let found = found.map(|found| uses.weighed(found)).map(by_literals);
    Ledger { entries: found.filter(|entry| entry.kind != Kind::Said).map(alone).collect() }
}

/// What the model said in passing is a fact by the names and numbers in it; a summary's notes weigh these by themselves.
fn by_literals(found: Found) -> Entry {
    let mut entry = found.entry;
    if entry.kind == Kind::Said && found.speaker == Speaker::Assistant && entry.about.is_empty() {
        entry.kind = said::kind_of_literals(&entry.text);
    }
    entry
}

/// A clause as it stands by itself, without what joins it to its neighbours.
fn alone(mut entry: Entry) -> Entry {
    if entry.about.is_empty() {
        let text = entry.text.trim_end_matches([',', ';', '；', '，']);
        let text = ["and ", "but "].iter().find_map(|joint| text.strip_prefix(joint)).unwrap_or(text);
        entry.text = text.to_owned();
    }
    entry
}

/// Reads messages for [`gather`].
pub(super) fn read<'a>(messages: &[&Message<'a>], indices: &[usize], prefix: &str) -> Vec<Turn<'a>> {
    reading::read(messages, indices, prefix)
}

/// All that a history offers for notes, the facts and what else was said, in its order; of facts about the same thing
/// the last.
pub(super) fn gather(turns: &[Turn<'_>]) -> impl Iterator<Item = Found> + use<> {
    // What opens a conversation says what it is for; what follows an earlier summary goes on with it.
    let opens = |turn: &Turn<'_>| matches!(turn.speaker, Speaker::User | Speaker::Earlier);
    let first_request = turns.iter().position(opens).filter(|at| turns[*at].speaker == Speaker::User);
    let replies = |turn: &Turn<'_>| turn.speaker == Speaker::Assistant && !turn.text.read().trim().is_empty();
    let last_reply = turns.iter().rposition(replies);
    let (mut standing, mut found) = (Standing::default(), Vec::new());
    for (place, turn) in turns.iter().enumerate() {
        match turn.speaker {
            Speaker::Earlier => {
                found.extend(section::parse(&turn.text.read()).into_iter().map(section::found));
                earlier::by_earlier(turn, &mut found);
            }
            Speaker::User => said::by_user(turn, Some(place) == first_request, &mut found),
            Speaker::Assistant => said::by_assistant(turn, Some(place) == last_reply, &mut found),
            Speaker::Instructions | Speaker::Tool => {}
        }
        work::of_turn(turn, &mut found);
        found.drain(..).for_each(|fact| standing.add(fact));
    }
    standing.facts()
}

impl Ledger {
    /// The facts that a summary does not hold, the most important first.
    pub fn lacking(&self, summary: &str) -> Vec<&Entry> {
        let held = Held::of(summary);
        let mut lacking: Vec<&Entry> = self.entries.iter().filter(|entry| !held.holds(entry)).collect();
        lacking.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(b.index.cmp(&a.index)));
        lacking
    }

    /// Writes facts as a section that can stand at the end of any summary, the most important that fit in `limit`
    /// tokens; empty where none does.
    pub fn section(entries: &[&Entry], counter: Counter, limit: u64) -> String {
        section::write(entries, counter, limit)
    }

    /// Reads the facts of a section that an earlier summary holds; none where it has no such section.
    pub fn parse(summary: &str) -> Vec<Entry> {
        section::parse(summary)
    }
}

/// What a summary says, to ask of facts whether it holds them.
struct Held {
    text: String,
    lines: Vec<HashSet<String>>,
    words: HashSet<String>,
}

impl Held {
    fn of(summary: &str) -> Self {
        let text = summary.to_lowercase();
        let lines: Vec<HashSet<String>> = text.lines().map(|line| sentences::spoken(line).collect()).collect();
        let words = lines.iter().flatten().cloned().collect();
        Held { text, lines, words }
    }

    /// A fact is held where it stands as it is; or where all its literals are there, and one line has most of its words.
    fn holds(&self, entry: &Entry) -> bool {
        const MOST: f64 = 0.6;
        // What is a literal may be told by what stands around it, and not be one by itself.
        if self.has(&entry.text.to_lowercase()) {
            return true;
        }
        let literals_held =
            literals(&entry.text).into_iter().all(|literal| self.has(&entry.text[literal.span].to_lowercase()));
        if !literals_held {
            return false;
        }
        if !matches!(
            entry.kind,
            Kind::Rule
                | Kind::Goal
                | Kind::Decision
                | Kind::Question
                | Kind::Done
                | Kind::Next
                | Kind::Error
                | Kind::Command
        ) {
            return true;
        }
        let words: HashSet<String> = sentences::spoken(&entry.text.to_lowercase()).collect();
        let enough = |line: &HashSet<String>| {
            words.iter().filter(|word| line.contains(*word)).count() as f64 >= MOST * words.len() as f64
        };
        enough(&self.words) && self.lines.iter().any(enough)
    }

    /// Whether the summary has a literal that is not part of a longer one.
    fn has(&self, literal: &str) -> bool {
        let part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        self.text.match_indices(literal).any(|(at, _)| {
            let starts = !part(self.text[..at].chars().next_back()) || !part(literal.chars().next());
            starts && (!part(self.text[at + literal.len()..].chars().next()) || !part(literal.chars().next_back()))
        })
    }
}

/// A text on one line.
fn one_line(text: &str) -> String {
    if text.bytes().any(|byte| matches!(byte, b'\n' | b'\r' | b'\t')) || text.contains("  ") {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        text.trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::framing;

    const PREFIX: &str = "Summary:";

    pub(super) fn ledger(source: &str) -> Ledger {
        let document = framing::tests::read(source, None, None).expect("a transcript");
        let messages: Vec<&Message<'_>> = document.transcripts[0].messages.iter().collect();
        let indices: Vec<usize> = (10..10 + messages.len()).collect();
        collect(&messages, &indices, PREFIX)
    }

    fn said(role: &str, text: &str) -> serde_json::Value {
        serde_json::json!({"role": role, "content": text})
    }

    #[test]
    fn a_fact_that_stands_as_it_is_is_held() {
        let text = "{\"cwd\":\"/home/dev/shoput\":\"1 failed1 failed1 failed\",\"stderr\":\"\"}".to_owned();
        let entry = Entry { kind: Kind::Identifier, about: String::new(), text, index: 0, earlier: false, weight: 1.0 };
        assert!(Held::of(&format!("## Ledger\nIdentifiers:\n- [0] {}\n", entry.text)).holds(&entry));
        assert!(!Held::of("1 failed, /home/dev/shop").holds(&entry));
    }

    #[test]
    fn facts_of_every_kind_with_the_index_of_their_message() {
        let source = r#"[{"role":"user","content":"Please fix the login in src/auth.rs. Never touch the migrations."},
            {"role":"assistant","content":"The root cause is an inverted comparison.","tool_calls":[
                {"id":"1","function":{"name":"Edit","arguments":"{\"file_path\":\"src/auth.rs\",\"old_string\":\"a\",\"new_string\":\"b\"}"}},
                {"id":"2","function":{"name":"bash","arguments":"{\"command\":\"cargo test\"}"}},
                {"id":"3","function":{"name":"get_user","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"1","content":"done"},
            {"role":"tool","tool_call_id":"2","content":"test result: ok. 42 passed\n<returncode>0</returncode>"},
            {"role":"tool","tool_call_id":"3","content":"{\"id\":\"mia_kim_4397\",\"url\":\"https://a.b/c\",\"version\":\"v1.2.3\",\"amount\":897}"},
            {"role":"assistant","content":"I fixed it. Next I will update the docs. Shall I also release it?"}]"#;
        let told: Vec<String> = ledger(source)
            .entries
            .iter()
            .map(|e| format!("{:?} [{}] {}|{}", e.kind, e.index, e.about, e.text))
            .collect();
        assert_eq!(
            told,
            [
                "Goal [10] |Please fix the login in src/auth.rs.",
                "Rule [10] |Never touch the migrations.",
                "Decision [11] |The root cause is an inverted comparison.",
                "File [11] changed|src/auth.rs",
                "Command [11] cargo test|ok: test result: ok. 42 passed",
                "Identifier [11] get_user()|id=mia_kim_4397",
                "Url [11] get_user()|url=https://a.b/c",
                "Version [11] get_user()|version=v1.2.3",
                "Number [11] get_user()|amount=897",
                "Done [15] |I fixed it.",
                "Next [15] |Next I will update the docs.",
                "Question [15] |Shall I also release it?",
            ]
        );
    }

    #[test]
    fn clauses_stand_alone_and_lists_of_what_is_next_are_next() {
        let source = r#"[{"role":"user","content":"Not more than 5000 rows; and the file is data/out.csv."},
            {"role":"assistant","content":"All is written. Next, before Friday:\n- Check the header row.\n- Decide whether to compress it."}]"#;
        let told: Vec<String> = ledger(source).entries.iter().map(|e| format!("{:?} {}", e.kind, e.text)).collect();
        assert_eq!(
            told,
            [
                "Rule Not more than 5000 rows",
                "Goal the file is data/out.csv.",
                "Next Check the header row.",
                "Next Decide whether to compress it.",
            ]
        );
    }

    #[test]
    fn only_what_a_summary_lacks_is_lacking() {
        let ledger =
            ledger(r#"[{"role":"user","content":"Never touch the migrations. Please book HAT192 for $500."}]"#);
        let lacking =
            |summary: &str| ledger.lacking(summary).into_iter().map(|entry| entry.text.clone()).collect::<Vec<_>>();
        assert_eq!(lacking("All went well."), ["Never touch the migrations.", "Please book HAT192 for $500."]);
        assert_eq!(lacking("The user said to never touch the migrations."), ["Please book HAT192 for $500."]);
        assert_eq!(
            lacking("Never touch migrations; HAT192 booked for please, $5000"),
            ["Please book HAT192 for $500."]
        );
        assert!(lacking("They never touch the migrations\nPlease book flight HAT192 ($500)").is_empty());
    }

    #[test]
    fn five_rounds_lose_nothing_and_grow_by_what_is_new() {
        let mut section = String::new();
        let mut sizes = Vec::new();
        for round in 0..5 {
            let mut messages = Vec::new();
            if round > 0 {
                messages.push(said("user", &format!("{PREFIX}\n\nA model's words.\n\n{section}")));
            }
            let new = if round == 1 {
                "Make that 700 dollars at most.".to_owned()
            } else {
                format!("Never rename table_{round}.")
            };
            let opening = if round == 0 {
                "The budget is $500. Never touch the migrations. Please book HAT192 by 2025-03-01."
            } else {
                &new
            };
            messages.push(said("user", opening));
            messages.push(said("assistant", "It is well."));
            let ledger = ledger(&serde_json::to_string(&messages).expect("JSON"));
            section = Ledger::section(&ledger.lacking("A model's words."), Counter::DEFAULT, 1_000);
            sizes.push(section.len());
        }
        for fact in [
            "budget: Make that 700 dollars at most.",
            "Never touch the migrations.",
            "Please book HAT192 by 2025-03-01.",
            "table_2",
            "table_3",
            "table_4",
        ] {
            assert!(section.contains(fact), "{fact} is missing in:\n{section}");
        }
        assert!(!section.contains("$500") && section.matches("migrations").count() == 1, "{section}");
        assert!(sizes.windows(2).skip(1).all(|pair| pair[1] <= pair[0] + 40), "{sizes:?}");
    }
}
