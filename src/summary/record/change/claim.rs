//! A sentence taken apart: what it is about, the values and names it gives, and its bearing.

use std::collections::BTreeSet;

use crate::summary::record::change::measures::{Measure, canonical, number_of, value_at};
use crate::summary::record::change::words::{Token, is_common, is_light, overlapped, stem, tokens};
use crate::summary::record::cues::{self, PlacedCue};
use crate::summary::record::numbers::is_unit;

/// A statement, taken apart.
#[derive(Debug, Clone, Default)]
pub(in crate::summary::record) struct Claim {
    /// The words that say what it is about.
    pub(super) subject: BTreeSet<String>,
    /// The words of the subject as they came.
    pub(super) order: Vec<String>,
    /// What stays of the subject when values, names and verbs that fit anything are left out: what a value is a value of.
    pub(super) core: BTreeSet<String>,
    /// Names that could be another: `Postgres`, `m5.large`.
    pub(super) names: BTreeSet<String>,
    /// The sentence without the words that are its own beside another's: by this lists are known, whose lines are alike.
    pub(super) frame: Vec<String>,
    /// The words of each of its clauses that is no condition.
    pub(super) clauses: Vec<BTreeSet<String>>,
    pub(super) values: Vec<(Measure, String)>,
    /// What it says no longer holds.
    pub(super) former: Vec<BTreeSet<String>>,
    /// What it chooses: `use Postgres`.
    pub(super) choice: BTreeSet<String>,
    /// What articles point at: `the flight budget`.
    pub(super) named: Vec<Vec<String>>,
    /// Whether a word of it may mean a change: `now`, `instead`.
    pub(super) changes: bool,
    /// Whether a change is meant for sure: `sorry, I misread`, `change of plan`.
    pub(super) corrects: bool,
    /// Whether it tells what somebody has decided, or what has happened.
    pub(super) reports: bool,
    /// Whether something becomes another thing by a word of it: `took over`.
    pub(super) turns: bool,
    pub(super) permits: bool,
    pub(super) forbids: bool,
    /// Whether it keeps somebody from something, in any words: `hands off`.
    pub(super) restricts: bool,
    /// Whether it is about what was said last: `make it 50`.
    pub(super) points_back: bool,
    /// Whether it asks, and states nothing.
    pub(super) asks: bool,
}

impl Claim {
    /// Takes a sentence apart.
    pub(in crate::summary::record) fn of(sentence: &str) -> Claim {
        let rest = &sentence[cues::GOES_ON.end(sentence)..];
        let mut claim = Claim {
            changes: cues::CHANGES.is_in(rest),
            corrects: cues::CORRECTS.is_in(rest),
            reports: cues::REPORTS.is_in(rest),
            turns: cues::TURNS.is_in(rest),
            permits: cues::PERMITS.is_in(rest),
            forbids: cues::FORBIDS.is_in(rest),
            restricts: cues::RESTRICTS.is_in(rest),
            points_back: cues::THAT.is_in(sentence),
            asks: sentence.trim_end().ends_with(['?', '？']),
            ..Claim::default()
        };
        let named =
            |cue: &PlacedCue| Some(telling(&sentence[cue.group(sentence)?.1?])).filter(|words| !words.is_empty());
        claim.former.extend([&cues::FORMER, &cues::OVER].into_iter().filter_map(named));
        claim.choice = named(&cues::CHOICES).unwrap_or_default();
        let words = tokens(sentence);
        claim.take_words(&words);
        claim.frame = words.into_iter().map(|token| stem(&token.text)).collect();
        claim.names = names_of(sentence);
        let main = claim.take_clauses(sentence);
        let telling = |word: &&String| main.contains(*word) && !is_light(word);
        claim.core =
            claim.subject.iter().filter(telling).filter(|word| !claim.names.contains(*word)).cloned().collect();
        claim
    }

    /// Takes the sentence apart into clauses: those that are no condition, and the words of the one that gives a value.
    fn take_clauses(&mut self, sentence: &str) -> BTreeSet<String> {
        let parts: Vec<&str> = sentence.split([',', ';', '，', '；', '(', ')', '（', '）']).collect();
        let mut main = None;
        for part in &parts {
            let claim = if parts.len() == 1 {
                Claim { subject: self.subject.clone(), ..Claim::default() }
            } else {
                Claim::words_of(part)
            };
            if main.is_none() && !claim.values.is_empty() && !claim.subject.is_empty() {
                main = Some(claim.subject.clone());
            }
            if !is_condition(part) && !claim.subject.is_empty() {
                self.clauses.push(claim.subject);
            }
            // A reason stands behind a word of its own.
            let inner: Vec<&str> = part
                .split([':', '：', '—', '–'])
                .flat_map(|part| part.split(" so "))
                .flat_map(|part| part.split(" because "))
                .collect();
            if inner.len() > 1 {
                let inner = inner.iter().filter(|part| !is_condition(part)).map(|part| Claim::words_of(part).subject);
                self.clauses.extend(inner.filter(|words| !words.is_empty()));
            }
        }
        main.unwrap_or_else(|| self.subject.clone())
    }

    /// The subject and the values of a text, and nothing else.
    fn words_of(text: &str) -> Claim {
        let mut claim = Claim::default();
        claim.take_words(&tokens(text));
        claim
    }

    fn take_words(&mut self, tokens: &[Token]) {
        let mut noun: Option<Vec<String>> = None;
        let mut at = 0;
        while at < tokens.len() {
            let token = &tokens[at];
            if let Some((measure, value, taken)) = value_at(tokens, at) {
                if let Measure::Of(unit) = &measure {
                    self.take_word(unit.clone(), unit);
                }
                self.values.push((measure, value));
                at += taken;
                self.named.extend(noun.take().filter(|noun| !noun.is_empty()));
                continue;
            }
            at += 1;
            let word = token.text.as_str();
            if matches!(word, "the" | "our" | "my" | "this") {
                self.named.extend(noun.replace(Vec::new()).filter(|noun| !noun.is_empty()));
            } else if is_common(word) {
                self.named.extend(noun.take().filter(|noun| !noun.is_empty()));
            } else {
                let root = stem(word);
                if let Some(noun) = &mut noun {
                    noun.push(root.clone());
                }
                self.take_word(root, word);
            }
        }
        self.named.extend(noun.filter(|noun| !noun.is_empty()));
    }

    fn take_word(&mut self, root: String, word: &str) {
        if self.subject.insert(root) {
            self.order.push(word.to_owned());
        }
    }

    /// The same behind another sentence of its message, which may have told that something is not as it was.
    pub(in crate::summary::record) fn behind(&self, before: Option<&Claim>) -> Claim {
        let mut claim = self.clone();
        if let Some(before) = before {
            claim.corrects |= before.corrects;
            claim.reports |= before.reports;
            claim.clauses.push(before.subject.clone());
        }
        claim
    }

    /// Whether it does not say what it is about.
    pub(super) fn lacks_subject(&self) -> bool {
        self.subject.difference(&self.choice).all(|word| is_unit(word))
    }

    /// What it is about, in its own words.
    pub(super) fn about(&self) -> String {
        let about: Vec<&str> =
            self.order.iter().filter(|word| !self.choice.contains(&stem(word))).map(String::as_str).collect();
        if about.iter().all(|word| word.chars().all(|c| c >= '\u{2e80}')) {
            overlapped(&about)
        } else {
            about.join(" ")
        }
    }
}

/// The words of a text that say what it is about, and its amounts.
fn telling(text: &str) -> BTreeSet<String> {
    let all = tokens(text).into_iter().map(|token| token.text).filter(|word| !is_common(word));
    all.map(|word| number_of(&word).unwrap_or_else(|| canonical(&word))).collect()
}

/// Whether a clause only says when something holds.
fn is_condition(clause: &str) -> bool {
    const CONDITIONS: [&str; 9] =
        ["if ", "when ", "unless ", "while ", "before ", "as long ", "whenever ", "until ", "如果"];
    let clause = clause.trim_start();
    CONDITIONS
        .iter()
        .any(|opening| clause.get(..opening.len()).is_some_and(|start| start.eq_ignore_ascii_case(opening)))
}

/// The names of a sentence: words with a capital that do not open it, with marks or digits inside, or in quotes.
fn names_of(sentence: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut opens = true;
    for word in sentence.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let inside =
            bare.chars().skip(1).any(|c| c.is_uppercase() || c.is_ascii_digit() || matches!(c, '_' | '.' | '-' | '/'));
        let capital = !opens && bare.chars().next().is_some_and(char::is_uppercase) && bare != "I";
        let quoted = word.contains('`') || word.starts_with(['"', '“']);
        let latin = bare.len() > 1 && bare.chars().all(|c| c < '\u{2e80}');
        if latin && (capital || inside || quoted) && !bare.starts_with("I'") {
            found.extend(tokens(bare).into_iter().map(|token| stem(&token.text)));
        }
        opens = word.ends_with(['.', '!', '?', ':']);
    }
    // Between the letters of another script any word of these is a name.
    if sentence.chars().any(|c| c >= '\u{2e80}') {
        let words = sentence.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')));
        found.extend(
            words
                .filter(|word| word.chars().any(|c| c.is_ascii_uppercase()) && word.len() > 1)
                .map(|word| stem(&word.to_lowercase())),
        );
    }
    found
}
