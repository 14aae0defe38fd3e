//! What a statement is about and what it says of it, so that a later one of the same speaker takes the place of an earlier
//! one about the same thing, in other words too.
//!
//! A statement is taken apart into its **subject** (its telling words), the **values** it gives (amounts by what they
//! measure, days, names), and its bearing: whether it **changes** something (`instead`, `after all`, 改为), **permits** or
//! **forbids**. Meaning is not understood. So both stay where both have words of their own and nothing says that something
//! has changed: the timeout of the API and that of the database.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::BuildHasher;
use std::sync::LazyLock;

use foldhash::fast::RandomState;

use crate::summary::record::cues::{self, PlacedCue};
use crate::summary::record::numbers::is_unit;

/// What a value measures; two of one measure cannot both hold of one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Measure {
    Money,
    Time,
    Day,
    Clock,
    Share,
    Bytes,
    Version,
    /// So many of something.
    Of(String),
    /// The number of what has one behind its name: `java 17`. It may be another thing of that name, too.
    Named(String),
    /// A number by itself: a port.
    Number,
}

/// How a later statement stands to an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stands {
    /// Beside it.
    Beside,
    /// It may have changed it.
    Doubts,
    /// In its place, and it does not say itself what it is about.
    Continues,
    /// In its place.
    Replaces,
}

/// A statement, taken apart.
#[derive(Debug, Clone, Default)]
pub(super) struct Claim {
    subject: BTreeSet<String>,
    /// The words of the subject as they came.
    order: Vec<String>,
    /// What stays of the subject when values, names and verbs that fit anything are left out: what a value is a value of.
    core: BTreeSet<String>,
    /// Names that could be another: `Postgres`, `m5.large`.
    names: BTreeSet<String>,
    /// The sentence without the words that are its own beside another's: by this lists are known, whose lines are alike.
    frame: Vec<String>,
    /// The words of each of its clauses that is no condition.
    clauses: Vec<BTreeSet<String>>,
    values: Vec<(Measure, String)>,
    /// What it says no longer holds.
    former: Vec<BTreeSet<String>>,
    choice: BTreeSet<String>,
    /// What articles point at: `the flight budget`.
    named: Vec<Vec<String>>,
    changes: bool,
    /// Whether a change is meant for sure: `sorry, I misread`, `change of plan`.
    corrects: bool,
    /// Whether it tells what somebody has decided, or what has happened.
    reports: bool,
    turns: bool,
    permits: bool,
    forbids: bool,
    /// Whether it keeps somebody from something, in any words: `hands off`.
    restricts: bool,
    points_back: bool,
    /// Whether it asks, and states nothing.
    asks: bool,
}

impl Claim {
    /// Takes a sentence apart.
    pub(super) fn of(sentence: &str) -> Claim {
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

    /// A sentence of the same message before it may have told that something is not as it was.
    pub(super) fn goes_on_from(&mut self, before: &Claim) {
        self.corrects |= before.corrects;
        self.reports |= before.reports;
        self.clauses.push(before.subject.clone());
    }

    /// Whether it has a reason beside what it says about the matter of an earlier one: news that changes it.
    fn explains(&self, earlier: &Claim) -> bool {
        let is_beside = |clause: &BTreeSet<String>| clause.len() > 1 && clause.is_disjoint(&earlier.core);
        self.clauses.len() > 1 && self.clauses.iter().any(is_beside)
    }

    /// Whether it is short enough to be about one thing.
    fn is_brief(&self) -> bool {
        const MOST: usize = 14;
        self.subject.len() <= MOST
    }

    /// Whether it says that something is not as it was.
    pub(super) fn changes(&self) -> bool {
        self.changes || self.turns || self.corrects
    }

    /// How it stands to an earlier statement. What somebody said is lost only where it is sure that it no longer holds.
    pub(super) fn stands_to(&self, earlier: &Claim) -> Stands {
        match self.seems_to_stand_to(earlier) {
            Stands::Replaces if !self.is_surely_about(earlier) => Stands::Doubts,
            Stands::Continues if !self.values_differ(earlier) => Stands::Doubts,
            stands => stands,
        }
    }

    /// Whether all that an earlier statement is about comes up in it, or it names that as what holds no longer.
    fn is_surely_about(&self, earlier: &Claim) -> bool {
        let is_whole = self.covered(earlier) == earlier.core.len();
        let says_enough = earlier.core.len() > 1 || !earlier.core.is_empty() && self.values_differ(earlier);
        let chooses = self.changes && !self.choice.is_empty() && !earlier.choice.is_empty();
        chooses && self.is_for_the_same(earlier)
            || is_whole && says_enough
            || self.subject == earlier.subject
            || self.former.iter().any(|former| earlier.has(former))
    }

    fn seems_to_stand_to(&self, earlier: &Claim) -> Stands {
        let same = !self.subject.is_empty() && self.subject == earlier.subject;
        if same && (self.values_differ(earlier) || self.values == earlier.values) {
            return Stands::Replaces;
        }
        // A question states nothing that could be changed, and a long sentence is about more than one thing.
        if earlier.asks || !self.is_brief() || !earlier.is_brief() {
            return Stands::Beside;
        }
        let is_former = self.former.iter().any(|former| earlier.has(former));
        if is_former && (self.changes || self.shares(earlier)) {
            return Stands::Replaces;
        }
        let shared = self.subject.intersection(&earlier.subject).count();
        let own = earlier.subject.len() - shared;
        if self.values_differ(earlier) {
            return self.value_stands_to(earlier, shared, own);
        }
        if self.changes && self.values.is_empty() && !self.choice.is_empty() && !earlier.choice.is_empty() {
            return if self.is_for_the_same(earlier) { Stands::Replaces } else { Stands::Beside };
        }
        let near = shared > 0 && (own < shared || self.shares_a_name(earlier));
        if self.undoes(earlier) {
            return Stands::Replaces;
        }
        let covered = self.covered(earlier);
        let missing = earlier.core.len() - covered;
        let lacking = weight(&earlier.core, &self.subject);
        let reverses = self.permits && !self.restricts && earlier.restricts || self.restricts && earlier.permits;
        let renamed = !earlier.names.is_empty()
            && earlier.names.is_disjoint(&self.subject)
            && self.names.iter().any(|name| !earlier.subject.contains(name));
        match () {
            () if self.conflicts(earlier) => Stands::Beside,
            () if self.permits && self.changes && !earlier.permits && near => Stands::Replaces,
            () if self.forbids && self.changes && !earlier.forbids && own == 0 && shared > 0 => Stands::Replaces,
            () if self.turns && shared > 0 && (own <= shared || self.renames(earlier)) => Stands::Replaces,
            () if reverses && (self.shares_a_name(earlier) && shared > own || missing == 0 && covered > 1) => {
                Stands::Replaces
            }
            () if reverses && (self.shares_a_name(earlier) || shared > 1 && shared >= own) => Stands::Doubts,
            () if renamed && missing == 0 && covered > 1 && (self.changes() || self.reports) => Stands::Replaces,
            () if renamed && missing == 0 && covered > 0 && (self.corrects || self.reports) => Stands::Doubts,
            () if renamed && missing == 0 && covered > 1 && !self.is_alike(earlier) => Stands::Doubts,
            () if renamed && self.corrects && covered > missing / 2 && covered as f64 >= lacking => Stands::Doubts,
            () if self.corrects && missing == 0 && covered > 1 => Stands::Replaces,
            () if self.corrects && missing == 0 && covered + earlier.names.intersection(&self.subject).count() > 0 => {
                Stands::Doubts
            }
            () if (self.corrects || self.reports) && self.renames(earlier) && shared > 0 => Stands::Doubts,
            () if (self.reports || self.explains(earlier))
                && shared > 1
                && !self.is_alike(earlier)
                && shared as f64 >= weight(&earlier.subject, &self.subject) =>
            {
                Stands::Doubts
            }
            () if shared > 2 && own == 1 && self.subject.len() - shared <= 3 && self.forbids == earlier.forbids => {
                Stands::Doubts
            }
            () => Stands::Beside,
        }
    }

    /// How it stands where it gives another value of the same measure.
    fn value_stands_to(&self, earlier: &Claim, shared: usize, own: usize) -> Stands {
        if self.lacks_subject() {
            return if self.changes || self.points_back { Stands::Continues } else { Stands::Beside };
        }
        let within = own == 0 || shared == self.subject.len();
        let changes = self.changes() || self.permits || self.reports;
        let covered = self.covered(earlier);
        let missing = earlier.core.len() - covered;
        match () {
            () if shared == 0 || self.conflicts(earlier) => Stands::Beside,
            () if missing == 0 && changes && (covered > 1 || covered > 0 && self.corrects) => Stands::Replaces,
            () if self.corrects && covered >= missing && covered > 0 => Stands::Doubts,
            () if missing == 0 && changes && covered > 0 => Stands::Doubts,
            () if changes && (within || shared > 1) => Stands::Replaces,
            () if missing == 0 && covered > 1 => Stands::Doubts,
            () if covered > 1 && covered >= missing && !self.is_alike(earlier) => Stands::Doubts,
            () if self.permits && !earlier.permits && own <= shared => Stands::Replaces,
            () if within && shared > 1 && own == 0 => Stands::Doubts,
            () => Stands::Beside,
        }
    }

    /// Whether both give a value of one measure, and not the same.
    fn values_differ(&self, earlier: &Claim) -> bool {
        // What has no name of its own measures what was measured before: `make it 50`.
        let nameless = self.lacks_subject();
        let counts = |measure: &Measure| matches!(measure, Measure::Number | Measure::Of(_));
        let alike = |one: &Measure, other: &Measure| {
            let same = one == other && (!matches!(one, Measure::Named(_)) || self.changes() || self.reports);
            same || (nameless || self.corrects) && counts(one) && counts(other)
        };
        let mut of_one = self.values.iter().flat_map(|(measure, value)| {
            earlier.values.iter().filter(move |(other, _)| alike(measure, other)).map(move |(_, other)| other != value)
        });
        of_one.next().is_some_and(|first| first || of_one.any(|differs| differs))
    }

    /// Whether both name things of one sort with other words before it: the hotel budget, the flight budget.
    fn conflicts(&self, earlier: &Claim) -> bool {
        let heads = |claim: &Claim| claim.named.iter().filter_map(|noun| noun.last().cloned()).collect::<HashSet<_>>();
        let all = |claim: &Claim| claim.named.iter().flatten().cloned().collect::<HashSet<_>>();
        let apart = |one: &[String], other: &[String]| {
            let [one_words @ .., one_head] = one else { return false };
            let [other_words @ .., other_head] = other else { return false };
            one_head == other_head
                && !one_words.is_empty()
                && !other_words.is_empty()
                && one_words.iter().all(|word| !other_words.contains(word) && !earlier.subject.contains(word))
                && !other_words.iter().any(|word| self.subject.contains(word))
        };
        let (mine, theirs) = (all(self), all(earlier));
        let strangers = !mine.is_empty()
            && !theirs.is_empty()
            && mine.is_disjoint(&theirs)
            && heads(self).iter().all(|head| !earlier.subject.contains(head))
            && heads(earlier).iter().all(|head| !self.subject.contains(head));
        strangers || self.named.iter().any(|one| earlier.named.iter().any(|other| apart(one, other)))
    }

    /// Whether a name is not that of an earlier statement, but nearly: `shop-old`, `shop-new`.
    fn renames(&self, earlier: &Claim) -> bool {
        const ALIKE: usize = 4;
        let is_name =
            |word: &str| word.contains(['-', '_', '/', '.']) || word.bytes().any(|byte| byte.is_ascii_digit());
        let alike = |one: &str, other: &str| {
            let shared = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
            let alike = one != other && shared >= ALIKE && one.is_char_boundary(shared);
            alike && (self.turns || shared * 2 >= one.len() && is_name(one) && is_name(other))
        };
        self.subject.iter().any(|one| earlier.subject.iter().any(|other| alike(one, other)))
    }

    fn shares(&self, earlier: &Claim) -> bool {
        self.subject.intersection(&earlier.subject).next().is_some()
    }

    /// Whether both name the same thing by a word that is no word of the language.
    fn shares_a_name(&self, earlier: &Claim) -> bool {
        let mut shared = self.subject.intersection(&earlier.subject);
        shared.any(|word| word.contains(['/', '_', '.', '-']) || word.bytes().any(|byte| byte.is_ascii_digit()))
    }

    /// How many words of what an earlier statement is about come up in it.
    fn covered(&self, earlier: &Claim) -> usize {
        let named = |word: &&String| self.subject.contains(*word) || self.names.contains(*word);
        earlier.core.iter().filter(named).count()
    }

    /// Whether it says the opposite of a word of an earlier one: `mute`, `unmute`.
    fn undoes(&self, earlier: &Claim) -> bool {
        let undone = |word: &String| {
            let rest = word.strip_prefix("un");
            rest.is_some_and(|rest| rest.len() > 2 && earlier.subject.contains(&stem(rest)))
        };
        self.subject.iter().any(undone) && self.covered(earlier) > 0
    }

    /// Whether both are the same sentence but for the words that tell them apart, as the lines of a list are.
    fn is_alike(&self, earlier: &Claim) -> bool {
        let common = |one: &Claim, other: &Claim| -> Vec<String> {
            one.frame.iter().filter(|word| other.frame.contains(word)).cloned().collect()
        };
        self.frame.len() == earlier.frame.len() && common(self, earlier) == common(earlier, self) && !self.corrects
    }

    /// Whether a statement is about these words, or gives them as a value.
    fn has(&self, former: &BTreeSet<String>) -> bool {
        let is_value = |word: &String| self.values.iter().any(|(_, value)| value.split(' ').any(|part| part == word));
        let amounts = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'$');
        former.iter().all(|word| self.subject.contains(word) || self.choice.contains(word) || is_value(word))
            && (!former.iter().all(amounts) || former.iter().any(is_value))
    }

    /// Whether two choices are for the same purpose, or one does not say for what.
    fn is_for_the_same(&self, earlier: &Claim) -> bool {
        let purpose = |claim: &Claim| claim.subject.difference(&claim.choice).cloned().collect::<BTreeSet<_>>();
        let (this, that) = (purpose(self), purpose(earlier));
        this.is_subset(&that) || that.is_subset(&this)
    }

    /// Whether it does not say what it is about.
    fn lacks_subject(&self) -> bool {
        self.subject.difference(&self.choice).all(|word| is_unit(word))
    }

    /// What it is about, in its own words.
    fn about(&self) -> String {
        let about: Vec<&str> =
            self.order.iter().filter(|word| !self.choice.contains(&stem(word))).map(String::as_str).collect();
        if about.iter().all(|word| word.chars().all(|c| c >= '\u{2e80}')) {
            overlapped(&about)
        } else {
            about.join(" ")
        }
    }
}

/// Statements of one speaker, to find those that a later one takes the place of.
#[derive(Default)]
pub(super) struct Statements {
    all: Vec<Claim>,
    gone: Vec<bool>,
    by_word: HashMap<String, Vec<usize>>,
    /// Where a sentence stands that is said again and again, word for word.
    by_text: HashMap<u64, usize, RandomState>,
}

/// What becomes of an earlier statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Changed {
    /// Its number.
    pub(super) which: usize,
    /// Whether it is not sure.
    pub(super) doubted: bool,
    /// What it is about, where the new one does not say that.
    pub(super) about: Option<String>,
}

impl Statements {
    /// Earlier statements that a new one is compared with: more would cost their number times that of all.
    const COMPARED: usize = 16;

    /// The statement that was made in the same words, which takes long to take apart; it is not there any more.
    pub(super) fn take_repeated(&mut self, sentence: &str) -> Option<(Claim, Changed)> {
        let next = self.all.len();
        let key = self.by_text.hasher().hash_one(sentence);
        let which = self.by_text.insert(key, next).filter(|which| !self.gone[*which])?;
        self.gone[which] = true;
        Some((std::mem::take(&mut self.all[which]), Changed { which, doubted: false, about: None }))
    }

    /// Adds a statement, and says which earlier ones it changes.
    pub(super) fn add(&mut self, mut claim: Claim) -> Vec<Changed> {
        let mut found = Vec::new();
        let last = |list: &Vec<usize>| list.iter().rev().take(Self::COMPARED).copied().collect::<Vec<_>>();
        let mut near: BTreeSet<usize> = BTreeSet::new();
        for word in claim.subject.iter().chain(claim.former.iter().flatten()).chain(&claim.choice) {
            near.extend(self.by_word.get(word).map(last).into_iter().flatten());
        }
        if claim.changes() || claim.points_back {
            near.extend(self.all.len().saturating_sub(Self::COMPARED)..self.all.len());
        }
        let mut continued = false;
        for which in near.into_iter().rev().filter(|which| !self.gone[*which]).collect::<Vec<_>>() {
            let stands = claim.stands_to(&self.all[which]);
            if stands == Stands::Beside || stands == Stands::Continues && continued {
                continue;
            }
            let before = &self.all[which];
            let about = (claim.lacks_subject() && !before.lacks_subject()).then(|| before.about());
            if about.is_some() {
                (claim.subject, claim.order) = (before.subject.clone(), before.order.clone());
                continued = true;
            }
            if stands != Stands::Doubts {
                // Nothing is compared with it any more.
                self.gone[which] = true;
                self.all[which] = Claim::default();
            }
            found.push(Changed { which, doubted: stands == Stands::Doubts, about });
        }
        for word in claim.subject.iter().chain(&claim.choice) {
            self.by_word.entry(word.clone()).or_default().push(self.all.len());
        }
        self.all.push(claim);
        self.gone.push(false);
        found
    }
}

/// A word as it is compared.
#[derive(Debug)]
struct Token {
    text: String,
}

/// The words of a text in small letters; in scripts without spaces, pairs of characters, and amounts with their units.
fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut push = |text: &str| {
        let text = text.trim_matches(['\'', '’', '-', '.', '/', ':', '#']);
        // `A` names something, `a` does not.
        let names = text == "A" && !found.is_empty();
        if !text.is_empty() {
            found.push(Token { text: if names { text.to_owned() } else { text.to_lowercase() } });
        }
    };
    let inside =
        |c: char| c.is_alphanumeric() || matches!(c, '\'' | '’' | '$' | '€' | '£' | '_' | '-' | '.' | '/' | '%' | ':');
    for word in text.split(|c: char| !inside(c)) {
        let mut narrow = String::new();
        let mut wide: Vec<char> = Vec::new();
        for c in word.chars() {
            if c >= '\u{2e80}' {
                push(&narrow);
                narrow.clear();
                wide.push(c);
            } else {
                wide_words(&std::mem::take(&mut wide)).iter().for_each(|word| push(word));
                narrow.push(c);
            }
        }
        push(&narrow);
        wide_words(&wide).iter().for_each(|word| push(word));
    }
    found
}

/// The words of a text that say what it is about, and its amounts.
fn telling(text: &str) -> BTreeSet<String> {
    let all = tokens(text).into_iter().map(|token| token.text).filter(|word| !is_common(word));
    all.map(|word| number_of(&word).unwrap_or_else(|| canonical(&word))).collect()
}

/// Characters that join, rule or change in Chinese; what is left between them are the words.
fn wide_words(characters: &[char]) -> Vec<String> {
    const JOIN: &str = "的是了把将为到不再要别只能最多少至个请在和与也就都我你们它这那改成换用元块秒毫超过现在必须应该可以给吧太里每才先";
    const NUMBERS: &str = "零一二两三四五六七八九十百千万半";
    const UNITS: [&str; 19] = [
        "美元", "欧元", "元", "块", "毫秒", "秒", "分钟", "小时", "天", "个月", "次", "条", "行", "页", "号", "日",
        "点", "个", "成",
    ];
    let text: String = characters.iter().collect();
    let mut found = Vec::new();
    let mut rest = text.as_str();
    let mut run: Vec<char> = Vec::new();
    let flush = |run: &mut Vec<char>, found: &mut Vec<String>| {
        for part in run.split(|c| JOIN.contains(*c)) {
            if part.len() == 1 {
                found.push(part.iter().collect());
            }
            found.extend(part.windows(2).map(|pair| pair.iter().collect::<String>()));
        }
        run.clear();
    };
    while let Some(c) = rest.chars().next() {
        let amount = rest.find(|c| !NUMBERS.contains(c)).unwrap_or(rest.len());
        let unit = UNITS.iter().find(|unit| rest[amount..].starts_with(**unit));
        let of_week = ["下周", "本周", "周", "星期"].iter().find(|week| rest.starts_with(**week));
        if let Some(week) = of_week.filter(|week| rest[week.len()..].starts_with(|c| "一二三四五六日天末".contains(c)))
        {
            flush(&mut run, &mut found);
            let day: String = rest[week.len()..].chars().take(1).collect();
            found.push(format!("周{day}"));
            rest = &rest[week.len() + day.len()..];
        } else if let Some(unit) = unit.filter(|_| amount > 0 || found.is_empty() && run.is_empty()) {
            flush(&mut run, &mut found);
            if amount > 0 {
                found.push(rest[..amount].to_owned());
            }
            found.push((*unit).to_owned());
            rest = &rest[amount + unit.len()..];
        } else {
            run.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    flush(&mut run, &mut found);
    found
}

/// The value that stands at a word, what it measures, and how many words it takes.
fn value_at(tokens: &[Token], at: usize) -> Option<(Measure, String, usize)> {
    let word = tokens[at].text.as_str();
    let next = |n: usize| tokens.get(at + n).map_or("", |token| token.text.as_str());
    if is_day(word) || is_ordinal(word) {
        return Some((Measure::Day, word.to_owned(), 1));
    }
    if is_clock(word) {
        return Some((Measure::Clock, word.to_owned(), 1));
    }
    if is_scientific(word) {
        return Some((Measure::Number, word.to_owned(), 1));
    }
    // A full minute, an hour.
    let ahead = usize::from(matches!(next(1), "full" | "whole" | "single"));
    if matches!(word, "a" | "an" | "one") && measure_of_unit(next(1 + ahead)) == Some(Measure::Time) {
        return Some((Measure::Time, format!("1 {}", canonical(next(1 + ahead))), 2 + ahead));
    }
    if let Some(money) = word.strip_prefix(['$', '€', '£']).and_then(number_of) {
        return Some((Measure::Money, money, 1));
    }
    let digits = word.bytes().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',')).count();
    if digits > 0 && digits < word.len() {
        let (number, unit) = word.split_at(digits);
        let dashed = number.len() == 4 && unit.starts_with('-');
        return match measure_of_unit(unit) {
            Some(measure) => Some((measure, format!("{number} {}", canonical(unit)), 1)),
            None if dashed => Some((Measure::Day, word.to_owned(), 1)),
            // `1440p`
            None if unit.len() < 3 && unit.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
                Some((Measure::Of(unit.to_owned()), number.to_owned(), 1))
            }
            None => None,
        };
    }
    let version = word.strip_prefix('v').unwrap_or(word);
    if version.matches('.').count() == 2 && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Some((Measure::Version, version.to_owned(), 1));
    }
    let single = usize::from(matches!(next(1), "single" | "only"));
    let unit = next(1 + single);
    if word == "one" && unit.len() > 2 && !is_common(unit) && unit.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Some((Measure::Of(stem(unit)), "1".to_owned(), 2 + single));
    }
    let number = number_of(word)?;
    let before = at.checked_sub(1).map_or("is", |before| tokens[before].text.as_str());
    match (next(1), measure_of_unit(next(1))) {
        (unit, Some(measure)) => Some((measure, format!("{number} {}", canonical(unit)), 2)),
        (unit, None) if !unit.is_empty() && !is_common(unit) && unit.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
            Some((Measure::Of(stem(unit)), number, 2))
        }
        // A name has its number behind it: `test 1`.
        _ if is_common(before) || before == "port" || number.len() > 2 => Some((Measure::Number, number, 1)),
        _ if before.bytes().all(|byte| byte.is_ascii_alphabetic()) => Some((Measure::Named(stem(before)), number, 1)),
        _ => None,
    }
}

/// A number in digits, however it is spelled.
fn number_of(word: &str) -> Option<String> {
    const SPELLED: [&str; 13] =
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    if let Some(number) = SPELLED.iter().skip(2).position(|spelled| *spelled == word) {
        return Some((number + 2).to_string());
    }
    if word.bytes().any(|byte| byte.is_ascii_digit()) {
        let number = word.trim_start_matches(['$', '€', '£']).replace(',', "");
        return number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then_some(number);
    }
    const WIDE: &str = "零一二三四五六七八九";
    let digit = |c: char| WIDE.chars().position(|wide| wide == c).or((c == '两').then_some(2));
    let (mut total, mut last) = (0usize, None);
    for c in word.chars() {
        match (digit(c), c) {
            (Some(digit), _) => last = Some(digit),
            (None, '十') => total += last.take().unwrap_or(1) * 10,
            (None, '百') => total += last.take().unwrap_or(1) * 100,
            (None, '千') => total += last.take().unwrap_or(1) * 1_000,
            _ => return None,
        }
    }
    (!word.is_empty()).then(|| (total + last.unwrap_or(0)).to_string())
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

/// How many words of a statement are not of another; of pairs of characters two are a word.
fn weight(words: &BTreeSet<String>, others: &BTreeSet<String>) -> f64 {
    words.difference(others).map(|word| if word.is_ascii() { 1.0 } else { 0.5 }).sum()
}

/// `14th`.
fn is_ordinal(word: &str) -> bool {
    let number = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end));
    number.is_some_and(|number| (1..=2).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `02:00`, `5pm`.
fn is_clock(word: &str) -> bool {
    let digits = |text: &str| (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let of_half = ["am", "pm"].iter().find_map(|half| word.strip_suffix(half));
    of_half.is_some_and(digits)
        || word.split_once(':').is_some_and(|(hour, minute)| digits(hour) && digits(minute))
        || word.ends_with('点')
}

/// `3e-4`.
fn is_scientific(word: &str) -> bool {
    let parts = word.split_once('e');
    parts.is_some_and(|(base, power)| {
        let power = power.trim_start_matches(['-', '+']);
        let numeric = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        numeric(base) && numeric(power)
    })
}

/// Verbs that fit anything, and what only praises or limits.
fn is_light(word: &str) -> bool {
    static LIGHT: LazyLock<HashSet<String, RandomState>> =
        LazyLock::new(|| LIGHT_WORDS.split_whitespace().map(stem).collect());
    LIGHT.contains(word)
}

const LIGHT_WORDS: &str = "put take give run call name write show send ask tell target pin sample mute deploy ship store save \
    read open close keep leave stay work bother touch edit reach aim pick choose call called named listen listens live lives \
    plenty enough good great nice fine better best ready should must stop start begin add create default hold holds limit \
    limited cap budget spend cost absolutely please kindly simply currently later soon";

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

fn is_day(word: &str) -> bool {
    const DAYS: [&str; 22] = [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "january",
        "february",
        "march",
        "april",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "tomorrow",
        "today",
        "tonight",
        "明天",
    ];
    DAYS.contains(&word) || word.starts_with('周') && word.chars().count() == 2
}

fn measure_of_unit(unit: &str) -> Option<Measure> {
    match unit {
        "dollar" | "dollars" | "usd" | "euro" | "euros" | "eur" | "bucks" | "cents" | "yuan" | "rmb" | "k" | "美元"
        | "欧元" | "元" | "块" => Some(Measure::Money),
        "ns" | "us" | "ms" | "s" | "sec" | "secs" | "second" | "seconds" | "min" | "mins" | "minute" | "minutes"
        | "hour" | "hours" | "h" | "day" | "days" | "week" | "weeks" | "month" | "months" | "year" | "years"
        | "毫秒" | "秒" | "分钟" | "小时" | "天" | "个月" => Some(Measure::Time),
        "%" | "percent" | "成" => Some(Measure::Share),
        "kb" | "mb" | "gb" | "tb" | "kib" | "mib" | "gib" | "byte" | "bytes" => Some(Measure::Bytes),
        "次" | "条" | "行" | "页" => Some(Measure::Of(unit.to_owned())),
        "个" => Some(Measure::Of("个".to_owned())),
        "点" => Some(Measure::Clock),
        "号" | "日" => Some(Measure::Day),
        _ => None,
    }
}

/// A unit as it is compared, or any other word by its stem.
fn canonical(unit: &str) -> String {
    let short = match unit {
        "second" | "seconds" | "sec" | "secs" | "秒" => "s",
        "minute" | "minutes" | "mins" | "分钟" => "min",
        "hour" | "hours" | "小时" => "h",
        "dollar" | "dollars" | "bucks" => "usd",
        "euros" | "euro" => "eur",
        _ => return stem(unit),
    };
    short.to_owned()
}

/// The same word in its other numbers and times, roughly.
fn stem(word: &str) -> String {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return word.to_owned();
    }
    let cut = |end: &str, least: usize| word.strip_suffix(end).filter(|rest| rest.len() >= least);
    // `pinning` and `pinned` come from `pin`.
    let single = |rest: &'_ str| -> usize {
        let end = rest.len();
        let doubled =
            end > 3 && rest.as_bytes()[end - 1] == rest.as_bytes()[end - 2] && !rest.ends_with(['l', 's', 'e', 'o']);
        end - usize::from(doubled)
    };
    let root = match () {
        () if let Some(rest) = cut("ies", 3) => return format!("{rest}y"),
        () if let Some(rest) = cut("ing", 3) => &rest[..single(rest)],
        () if let Some(rest) = cut("ed", 3) => &rest[..single(rest)],
        () if let Some(rest) = cut("s", 3).filter(|rest| !rest.ends_with('s')) => rest,
        () => word,
    };
    root.strip_suffix('e').filter(|rest| rest.len() >= 3).unwrap_or(root).to_owned()
}

/// Words that do not tell what a statement is about: those that join, rule, change or are said to be polite.
pub(in crate::summary) fn is_common(word: &str) -> bool {
    static COMMON: LazyLock<HashSet<&str, RandomState>> = LazyLock::new(|| COMMON_WORDS.split_whitespace().collect());
    COMMON.contains(word)
}

const COMMON_WORDS: &str = "a an the and or but if then of to in on at for from by with without is are was were be been being am do does did have has \
    had i you he she it we they me my your his her its our their this that these those as so not no yes can could would should \
    will shall may might must just also any some all more most other there here what which who when where how than too very into \
    out up down over off about please ok okay sure thank thanks hi hello let lets let's don't dont doesn't isn't can't cannot won't \
    never always only least need want like make sure keep ensure prefer preferred rather instead actually change changed \
    changing longer anymore now new moved move raise raised lower lowered bump increase increased decrease reduce reduced \
    extend extended postpone postponed switch switched replace replaced update updated correction set say said sorry wait \
    i'd i'm i've we've we're that's it's there's use using go going get got try max maximum min minimum exactly still \
    one again really after before until back amount number value total everything anything something thing well maybe think \
    goes become becomes available fine allowed per each much haha lol yep yeah nope nah nice cool hmm hm hey btw pls plz ty thx fyi \
    inside within got gets end ends kind sort bit lot";

/// Pairs of characters put together again: 截止, 止日, 日期 is 截止日期.
fn overlapped(pairs: &[&str]) -> String {
    let mut text = String::new();
    for pair in pairs {
        let mut characters = pair.chars();
        match characters.next() {
            Some(first) if text.ends_with(first) => text.extend(characters),
            _ => text.push_str(pair),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands after these were said one after another.
    fn standing(said: &[&str]) -> Vec<String> {
        let mut statements = Statements::default();
        let mut standing: Vec<Option<String>> = Vec::new();
        for said in said {
            let mut text = (*said).to_owned();
            for changed in statements.add(Claim::of(said)) {
                match changed.doubted {
                    true => standing[changed.which] = standing[changed.which].take().map(|text| format!("was: {text}")),
                    false => standing[changed.which] = None,
                }
                if let Some(about) = changed.about {
                    text = format!("{about}: {said}");
                }
            }
            standing.push(Some(text));
        }
        standing.into_iter().flatten().collect()
    }

    #[test]
    fn later_statements_replace_earlier_ones() {
        let cases: [(&[&str], &[&str]); 22] = [
            (&["The budget is $500.", "Make that 700 dollars at most."], &["budget: Make that 700 dollars at most."]),
            (&["The budget is $500.", "The budget is now $700."], &["The budget is now $700."]),
            (
                &["The budget is $500.", "Actually the budget for the trip is 700 dollars."],
                &["was: The budget is $500.", "Actually the budget for the trip is 700 dollars."],
            ),
            (&["The deadline is Friday.", "We moved the deadline to Monday."], &["We moved the deadline to Monday."]),
            (&["The deadline is 2025-03-01.", "The deadline is 2025-03-15."], &["The deadline is 2025-03-15."]),
            (&["At most 3 retries.", "At most 5 retries."], &["At most 5 retries."]),
            (&["Use port 8080.", "Use port 8081 instead."], &["Use port 8081 instead."]),
            (
                &["Use Postgres for storage.", "Actually, use MySQL instead."],
                &["storage: Actually, use MySQL instead."],
            ),
            (
                &["Let's go with QuickSort.", "Actually, let's try MergeSort instead - I need stable sorting."],
                &["Actually, let's try MergeSort instead - I need stable sorting."],
            ),
            (&["Write it in Python.", "Use Rust instead of Python."], &["Use Rust instead of Python."]),
            (&["Deploy to staging.", "No longer deploy to staging."], &["No longer deploy to staging."]),
            (&["Use tabs.", "Don't use tabs any more."], &["Don't use tabs any more."]),
            (&["Raise the limit to 10.", "Raise the limit from 10 to 20."], &["Raise the limit from 10 to 20."]),
            (
                &["Keep the summary under 200 words.", "Keep the summary under 300 words."],
                &["Keep the summary under 300 words."],
            ),
            (&["Never touch the migrations.", "Never touch the migrations."], &["Never touch the migrations."]),
            (&["The timeout is 30 s.", "Change it to 60 s."], &["timeout: Change it to 60 s."]),
            (&["The cap is 20 requests.", "No, make it 50."], &["cap request: No, make it 50."]),
            (&["The budget is $500.", "Make it $600.", "Make it $800."], &["budget: Make it $800."]),
            (&["预算是500元。", "预算改为700元。"], &["预算改为700元。"]),
            (&["预算最多500元。", "改成700元。"], &["预算: 改成700元。"]),
            (&["截止日期是周五。", "截止日期改到周一。"], &["截止日期改到周一。"]),
            (&["请使用Python。", "不再使用Python，改用Rust。"], &["不再使用Python，改用Rust。"]),
        ];
        for (said, expected) in cases {
            assert_eq!(standing(said), expected, "{said:?}");
        }
    }

    #[test]
    fn statements_about_different_things_both_stay() {
        let cases: [&[&str]; 25] = [
            &["The timeout of the API is 30 s.", "The timeout of the DB is 30 s."],
            &["The timeout of the API is 30 s.", "The timeout of the DB is 60 s."],
            &["The server listens on port 8080.", "The proxy listens on port 8081."],
            &["Service A uses port 8080.", "Service B uses port 8081."],
            &["Never edit src/a.rs.", "Never edit src/b.rs."],
            &["Test 1 must pass.", "Test 2 must pass."],
            &["The hotel budget is $500.", "The flight budget is $700."],
            &["The hotel budget is $500.", "The flight budget is now $700."],
            &["Alice pays $50.", "Bob pays $50."],
            &["Use pytest for tests.", "Use ruff for linting."],
            &["Use pytest for tests.", "Use ruff instead of flake8 for linting."],
            &["Never commit to main.", "Commit to the feature branch."],
            &["The deadline for the draft is Friday.", "The deadline for the talk is Monday."],
            &["At most 3 retries.", "At most 3 workers."],
            &["Read timeout: 30 s.", "Write timeout: 30 s."],
            &["The budget is $500.", "The deadline is Friday."],
            &["The budget is $500.", "Make sure that tests pass."],
            &["The budget is $500.", "Wait 30 seconds between calls."],
            &["Always answer in English.", "Always run the tests."],
            &["Do not touch the migrations.", "Do not touch the fixtures."],
            &["Version 1.2.3 of serde is broken.", "Version 1.2.3 of tokio is fine."],
            &["User mia_kim_4397 flies on 2024-05-20.", "User li_wei_1234 flies on 2024-05-20."],
            &["Check the migrations.", "Now never check the migrations twice."],
            &["API的超时是30秒。", "数据库的超时是30秒。"],
            &["不要修改迁移。", "不要修改测试。"],
        ];
        for said in cases {
            assert_eq!(standing(said), said, "{said:?}");
        }
    }

    /// What the later of two says takes the place of the earlier.
    #[test]
    fn other_words_for_the_same_thing() {
        let cases = [
            ["At most 4 workers for the crawl.", "Let's do six workers for the crawl."],
            ["Use Redis for the session store.", "Forget Redis for the session store, plain files are fine."],
            ["The cap for the index run is $400.", "Ops came back to us: you can spend up to $900 on the index run."],
            ["We ship the search part on Monday.", "The board called, the search part can go out on Thursday."],
            ["The mail service listens on 7070.", "I had to move the mail service, it is on 9191 now."],
            ["Push only after I said yes.", "Pushing is fine from now on, no need to wait."],
            ["Never push to main.", "You can push to main now."],
            ["Hands off the tests in lib/a_test.rb.", "Editing lib/a_test.rb is okay after all."],
            ["Dana reviews the parser changes.", "Kim took over from Dana, she reviews the parser changes."],
            ["The upload timeout is 30 seconds.", "30 s was too short for uploads, give it a full minute."],
            ["Call the new module mailkit.", "Sales renamed it, the module is mailworks now."],
            ["Comments in French please.", "Back to English for the comments."],
            ["Work off branch topic/a-one.", "The work moved to topic/a-two this morning."],
            ["搜索的预算最多 300 元。", "财务回复了，搜索可以花到 900 元。"],
            ["搜索部分周三上线。", "客户来电，搜索部分下周五再上。"],
            ["上传接口超时三十秒。", "三十秒太短，上传给一分钟吧。"],
            ["搜索的测试别碰。", "搜索的测试可以改了。"],
        ];
        for [earlier, later] in cases {
            let stands = standing(&[earlier, later]);
            let doubted = [format!("was: {earlier}"), later.to_owned()];
            assert!(stands == [later] || stands == doubted, "{stands:?}");
        }
    }

    /// What is asked for one after another, and what is about one thing in two ways, both stand.
    #[test]
    fn requests_in_a_row_all_stand() {
        let cases = [
            ["Create a dark theme, I will edit it later.", "The theme selector has to update on the next tick."],
            ["Is only one file left to fix, app/render.ts?", "No, leave app/render.ts as it is."],
            ["Read docs/theme.md in full, then the selectors.", "That's not the system prompt."],
            ["Get rid of the retry loops around the queue.", "The queue command is called `queue-ls`."],
            ["I'd like a --json switch for the list, with the same fields.", "Secrets must not show up in a file."],
            ["Use four workers for the crawl.", "The crawl must end before 6 am."],
            ["Port the lexer first.", "Then port the parser, it is larger."],
        ];
        for said in cases {
            assert_eq!(standing(&said), said);
        }
    }

    #[test]
    fn news_changes_what_was_said_before() {
        let cases = [
            ["We publish the guide with Sphinx.", "The editors decided, the guide gets published by Hugo."],
            ["Window seat for the Lyon train.", "He broke his leg, so an aisle seat for the Lyon train."],
            ["Logs of the bot end up in Splunk.", "Splunk gets switched off, look for the bot logs in Loki."],
            ["Keep snapshots for 30 days.", "Disks are cheap now, keep snapshots for 90 days."],
            ["Ask Jiří for anything about invoices.", "Jiří left the company. Anything about invoices goes to Ada."],
            ["Reports go to s3://lake-1/x.", "Don't use that bucket, send the reports to s3://lake-2/x."],
            ["Mute the pager alerts.", "Please unmute, the pager alerts have to stay on."],
            ["Run the sync job at 02:00.", "Can you shift the sync job to 05:30? It collides with the backup."],
        ];
        for [earlier, later] in cases {
            let mut words = crate::summary::record::user::Words::default();
            words.said(0, earlier, None, None);
            words.said(1, later, None, None);
            let lines: Vec<String> = words.lines(false).map(|entry| entry.text).collect();
            let earlier = lines.iter().find(|line| line.contains(earlier));
            assert!(earlier.is_none_or(|line| line.starts_with("was: ")), "{lines:?}");
        }
    }

    #[test]
    fn where_it_is_not_sure_both_stand() {
        let said = ["Times in the audit report are UTC.", "Show local Rome time in the audit report please."];
        assert_eq!(standing(&said), ["was: Times in the audit report are UTC.", said[1]]);
    }
}
