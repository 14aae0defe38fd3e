//! Parses a sentence into its subject, the values and names it gives, and its effect.

use crate::summary::record::change::matters::{Matter, matters_of};
use crate::summary::record::change::measures::{ValueMeasure, canonical, number_of, value_at};
use crate::summary::record::change::words::{
    Word, WordSet, WordToken, is_action, is_common, is_identifier, is_light, is_polite, join_bigrams, stem, tokens,
};
use crate::summary::record::cues::{self, PlacedCue};
use crate::summary::record::numbers::is_unit;

/// A parsed statement.
#[derive(Debug, Clone, Default)]
pub(in crate::summary::record) struct Claim {
    /// The stems of the words that name its subject.
    pub(super) subject: WordSet,
    /// The everyday matters that its words belong to.
    pub(super) matters: Vec<(Word, Matter)>,
    /// Whether a word of the subject is an identifier.
    pub(super) has_identifier: bool,
    /// The words of the subject as spelled, in order.
    pub(super) spelled_subject: Vec<Word>,
    /// The subject without values, names and light verbs: the thing that a value belongs to.
    pub(super) core: WordSet,
    /// Names that another could replace: `Postgres`, `m5.large`.
    pub(super) names: WordSet,
    /// The stems of the sentence. Lines of a list are recognized by the stems they share.
    pub(super) stems: Vec<Word>,
    /// The subject of each of its clauses that is no condition.
    pub(super) clauses: Vec<WordSet>,
    pub(super) values: Vec<(ValueMeasure, String)>,
    /// Its numbers of at least three digits.
    pub(super) numbers: WordSet,
    /// Things that it says no longer hold.
    pub(super) former: Vec<WordSet>,
    /// The thing it chooses: `use Postgres`.
    pub(super) choice: WordSet,
    /// Nouns after an article, with the words before them: `the flight budget`.
    pub(super) noun_phrases: Vec<Vec<Word>>,
    /// Whether a word may signal a change: `now`, `instead`.
    pub(super) changes: bool,
    /// Whether it certainly signals a change: `sorry, I misread`, `change of plan`.
    pub(super) corrects: bool,
    /// Whether a word behind its opening verb may signal a change. In `update user 7`, the verb signals none.
    pub(super) changes_otherwise: bool,
    /// The verb of a request to change a thing: `update the README`.
    pub(super) requested_action: Option<String>,
    /// Whether it states what holds or sets a limit: `the budget is $500`, `at most 3`. Requests state nothing.
    pub(super) states: bool,
    /// Whether it adds something and changes nothing.
    pub(super) adds: bool,
    /// Whether it is about the other of two things.
    pub(super) is_about_another: bool,
    /// Whether it reports a decision or an event.
    pub(super) reports: bool,
    /// Whether its words say that something becomes another thing: `took over`.
    pub(super) transforms: bool,
    pub(super) permits: bool,
    pub(super) forbids: bool,
    /// Whether it restricts somebody, in any words: `hands off`.
    pub(super) restricts: bool,
    /// The subject of its clauses that restrict nobody, if another does: `I won't have time, so you run it`.
    pub(super) affirmed: Option<WordSet>,
    /// Whether it refers to the statement before: `make it 50`.
    pub(super) points_back: bool,
    /// Whether it has a pronoun that can stand for its subject: `give it a minute`.
    pub(super) has_pronoun: bool,
    /// Whether it asks for something to be done, if it is a question.
    pub(super) asks_favor: bool,
    /// Whether it is a question.
    pub(super) asks: bool,
}

/// What a sentence adds to the next one of its message: it may have announced the change.
#[derive(Debug)]
pub(in crate::summary::record) struct Context {
    pub(super) corrects: bool,
    pub(super) reports: bool,
    pub(super) subject: WordSet,
}

impl Claim {
    /// Parses a sentence.
    pub(in crate::summary::record) fn parse(sentence: &str) -> Claim {
        let rest = &sentence[cues::GOES_ON.end(sentence)..];
        let lowercase = rest.to_ascii_lowercase();
        let mut claim = Claim {
            changes: cues::CHANGES.is_in_lowercase(&lowercase),
            corrects: cues::CORRECTS.is_in_lowercase(&lowercase),
            reports: cues::REPORTS.is_in_lowercase(&lowercase),
            transforms: cues::TURNS.is_in_lowercase(&lowercase),
            permits: cues::PERMITS.is_in_lowercase(&lowercase),
            forbids: cues::FORBIDS.is_in_lowercase(&lowercase),
            restricts: cues::RESTRICTS.is_in_lowercase(&lowercase),
            points_back: cues::THAT.is_in(sentence),
            states: cues::STATES.is_in_lowercase(&lowercase),
            asks: sentence.trim_end().ends_with(['?', '？']),
            ..Claim::default()
        };
        claim.asks_favor = claim.asks && cues::ASKS_FAVOR.is_in_lowercase(&lowercase);
        let captured_words =
            |cue: &PlacedCue| Some(content_words(&sentence[cue.group(sentence)?.1?])).filter(|words| !words.is_empty());
        claim.former.extend([&cues::FORMER, &cues::OVER].into_iter().filter_map(captured_words));
        claim.choice = captured_words(&cues::CHOICES).unwrap_or_default();
        let words = tokens(sentence);
        claim.add_words(&words);
        claim.has_pronoun = words.iter().any(|word| matches!(word.text.as_str(), "it" | "that" | "them" | "this"));
        claim.is_about_another = words.iter().any(|word| matches!(word.text.as_str(), "other" | "another"));
        claim.read_request(rest, &words);
        claim.adds = !claim.revises() && cues::ADDS.is_in_lowercase(&lowercase);
        let is_long = |word: &&WordToken| word.text.len() > 2 && word.text.bytes().all(|byte| byte.is_ascii_digit());
        claim.numbers = words.iter().filter(is_long).map(|word| Word::from(word.text.as_str())).collect();
        claim.stems = words.into_iter().map(|token| stem(&token.text).into()).collect();
        claim.names = names_of(sentence);
        let main = claim.add_clauses(sentence);
        if claim.restricts && claim.clauses.len() > 1 {
            let affirmative = sentence.split([',', ';', '，', '；']).filter(|part| !cues::RESTRICTS.is_in(part));
            let words = affirmative.flat_map(|part| Claim::words_of(part).spelled_subject);
            claim.affirmed = Some(words.map(|word| Word::from(stem(&word))).collect());
        }
        let content_words = |word: &&Word| main.contains(word) && !is_light(word);
        claim.core =
            claim.subject.iter().filter(content_words).filter(|word| !claim.names.contains(word)).cloned().collect();
        claim
    }

    /// Reads the verb of a request to change a thing. Without a new value, the request changes the thing and no earlier
    /// statement about it.
    fn read_request(&mut self, sentence: &str, words: &[WordToken]) {
        self.changes_otherwise = self.revises();
        let is_opening = |word: &&WordToken| !is_polite(&word.text);
        let Some((verb, object)) =
            words.iter().position(|word| is_opening(&word)).map(|at| (&words[at].text, &words[at + 1..]))
        else {
            return;
        };
        let has_object =
            object.first().is_some_and(|word| !matches!(word.text.as_str(), "of" | "to" | "over" | "back" | "from"));
        let Some(rest) = sentence.to_lowercase().split_once(verb.as_str()).map(|(_, rest)| rest.to_owned()) else {
            return;
        };
        if !is_action(verb) || !has_object {
            return;
        }
        self.requested_action = Some(verb.clone());
        let (changes, transforms, corrects) =
            (cues::CHANGES.is_in(&rest), cues::TURNS.is_in(&rest), cues::CORRECTS.is_in(&rest));
        self.changes_otherwise = changes || transforms || corrects;
        // `by 2 points` and `3 boxes` are no values of something that has one.
        let is_relative = object.iter().any(|word| word.text == "by")
            || object.first().is_some_and(|word| number_of(&word.text).is_some());
        let names_a_value =
            !is_relative && self.values.iter().any(|(measure, _)| !matches!(measure, ValueMeasure::Named(_)));
        if !names_a_value && self.choice.is_empty() && self.former.is_empty() {
            (self.changes, self.transforms, self.corrects) = (changes, transforms, corrects);
        }
    }

    /// Splits the sentence into clauses, adds the subjects of those that are no condition, and returns the subject of
    /// the clause with a value.
    fn add_clauses(&mut self, sentence: &str) -> WordSet {
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
            // A reason follows a word that introduces it.
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

    /// Returns a claim with only the subject and the values of a text.
    fn words_of(text: &str) -> Claim {
        let mut claim = Claim::default();
        claim.add_words(&tokens(text));
        claim
    }

    fn add_words(&mut self, tokens: &[WordToken]) {
        let mut noun: Option<Vec<Word>> = None;
        let mut at = 0;
        while at < tokens.len() {
            let token = &tokens[at];
            if let Some((measure, value, word_count)) = value_at(tokens, at) {
                if let ValueMeasure::Count(unit) = &measure {
                    self.add_word(unit.as_str().into(), unit);
                }
                self.values.push((measure, value));
                at += word_count;
                self.noun_phrases.extend(noun.take().filter(|noun| !noun.is_empty()));
                continue;
            }
            at += 1;
            let word = token.text.as_str();
            if matches!(word, "the" | "our" | "my" | "your" | "this") {
                self.noun_phrases.extend(noun.replace(Vec::new()).filter(|noun| !noun.is_empty()));
            } else if matches!(word, "new" | "old" | "same" | "other" | "first" | "last" | "next") && noun.is_some() {
                // An adjective of a noun.
            } else if is_common(word) {
                self.noun_phrases.extend(noun.take().filter(|noun| !noun.is_empty()));
            } else {
                let root = Word::from(stem(word));
                if let Some(noun) = &mut noun {
                    noun.push(root.clone());
                }
                self.add_word(root, word);
            }
        }
        self.noun_phrases.extend(noun.filter(|noun| !noun.is_empty()));
    }

    fn add_word(&mut self, root: Word, word: &str) {
        self.has_identifier |= is_identifier(&root);
        if self.subject.insert(root.clone()) {
            // The name in `apache-2.0`.
            let end = root.find(|c: char| c.is_ascii_digit() || c == '-').filter(|end| *end > 2);
            let matters = [matters_of(&root), end.map_or(&[], |end| matters_of(&root[..end]))];
            self.matters.extend(matters.into_iter().flatten().map(|matter| (root.clone(), *matter)));
            self.spelled_subject.push(word.into());
        }
    }

    /// Returns what the next sentence of its message is read with.
    pub(super) fn context(&self) -> Context {
        Context { corrects: self.corrects, reports: self.reports, subject: self.subject.clone() }
    }

    /// Whether it names no subject.
    pub(super) fn lacks_subject(&self) -> bool {
        self.subject.difference(&self.choice).all(|word| is_unit(word))
    }

    /// Returns its subject in its own words.
    pub(super) fn about(&self) -> String {
        let about: Vec<&str> =
            self.spelled_subject.iter().map(|word| &**word).filter(|word| !self.choice.contains(&stem(word))).collect();
        if about.iter().all(|word| word.chars().all(|c| c >= '\u{2e80}')) {
            join_bigrams(&about)
        } else {
            about.join(" ")
        }
    }
}

/// Returns the content words of a text and its amounts.
fn content_words(text: &str) -> WordSet {
    let all = tokens(text).into_iter().map(|token| token.text).filter(|word| !is_common(word));
    all.map(|word| number_of(&word).unwrap_or_else(|| canonical(&word)).into()).collect()
}

/// Whether a clause is only a condition.
fn is_condition(clause: &str) -> bool {
    const CONDITIONS: [&str; 9] =
        ["if ", "when ", "unless ", "while ", "before ", "as long ", "whenever ", "until ", "如果"];
    let clause = clause.trim_start();
    CONDITIONS
        .iter()
        .any(|opening| clause.get(..opening.len()).is_some_and(|start| start.eq_ignore_ascii_case(opening)))
}

/// Returns the names in a sentence: capitalized words that do not start it, words that contain digits or punctuation,
/// and quoted words.
fn names_of(sentence: &str) -> WordSet {
    let mut found: Vec<Word> = Vec::new();
    let mut starts_sentence = true;
    for word in sentence.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let inside =
            bare.chars().skip(1).any(|c| c.is_uppercase() || c.is_ascii_digit() || matches!(c, '_' | '.' | '-' | '/'));
        let capital = !starts_sentence && bare.chars().next().is_some_and(char::is_uppercase) && bare != "I";
        let quoted = word.contains('`') || word.starts_with(['"', '“']);
        let latin = bare.len() > 1 && bare.chars().all(|c| c < '\u{2e80}');
        if latin && (capital || inside || quoted) && !bare.starts_with("I'") {
            found.extend(tokens(bare).into_iter().map(|token| Word::from(stem(&token.text))));
        }
        starts_sentence = word.ends_with(['.', '!', '?', ':']);
    }
    // In a text of another script, any Latin word with a capital is a name.
    if sentence.chars().any(|c| c >= '\u{2e80}') {
        let words = sentence.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')));
        found.extend(
            words
                .filter(|word| word.chars().any(|c| c.is_ascii_uppercase()) && word.len() > 1)
                .map(|word| Word::from(stem(&word.to_lowercase()))),
        );
    }
    found.into_iter().collect()
}
