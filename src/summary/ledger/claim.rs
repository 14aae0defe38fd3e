//! What a statement is about and what it says of it, so that a later one replaces an earlier one about the same thing.
//!
//! A statement is taken apart into its **subject** (its words without those that rule, join or change), the **values** it
//! gives (amounts by what they measure, days, or what is chosen with `use X`), and whether it says that something has
//! **changed** (`instead`, `make that`, `no longer`, 改为). Then, in this order:
//!
//! 1. What a statement names as former (`instead of X`, `from X to Y`, `no longer X`) goes.
//! 2. Values of one measure replace each other where the subjects are the same. Where something changed, it is enough
//!    that one subject is part of the other; where a change has no subject (`make that 700`), it is about the last value
//!    of that measure.
//! 3. A choice that is marked as a change replaces the last choice, unless they are for different purposes.
//! 4. A rule replaces one about the very same words, be it the same again or the contrary.
//!
//! In all of these, subjects that both have words of their own are different things, and both stay: the timeout of the
//! API and that of the database, port 8080 of one and 8081 of the other. Meaning is not understood here.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use foldhash::fast::RandomState;

use crate::summary::ledger::cues::{self, PlacedCue};
use crate::summary::ledger::literals::{Class, literals};
use crate::summary::ledger::numbers::is_unit;

/// What an amount measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Measure {
    Money,
    Time,
    Day,
    Share,
    Bytes,
    Version,
    Count,
    Choice,
}

/// A statement, taken apart.
#[derive(Debug, Clone, Default)]
pub(super) struct Claim {
    pub(super) subject: BTreeSet<String>,
    pub(super) values: Vec<(Measure, String)>,
    /// Whether it says that something is not as it was.
    pub(super) changes: bool,
    /// Whether it speaks of something that it does not name.
    pub(super) points_back: bool,
    /// The words of the subject as they came.
    order: Vec<String>,
    former: Vec<BTreeSet<String>>,
    choice: BTreeSet<String>,
    forbids: bool,
}

/// How a later statement stands to an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stands {
    /// In its place.
    Replaces,
    /// In its place, and it does not say itself what it is about.
    Continues,
    /// Beside it.
    Beside,
}

impl Claim {
    /// Takes a sentence apart.
    pub(super) fn of(sentence: &str) -> Claim {
        let opening = cues::GOES_ON.end(sentence);
        let mut claim = Claim {
            changes: cues::CHANGES.is_in(&sentence[opening..]),
            points_back: cues::THAT.is_in(sentence),
            forbids: cues::FORBIDS.is_in(sentence),
            ..Claim::default()
        };
        let named = |cue: &PlacedCue| Some(words(&sentence[cue.group(sentence)?.1?]));
        if claim.changes || claim.forbids {
            claim.former.extend(named(&cues::FORMER).filter(|words| !words.is_empty()));
        }
        if let Some(chosen) = named(&cues::CHOICES) {
            claim.choice = chosen;
        }
        claim.take_words(sentence);
        claim
    }

    fn take_words(&mut self, sentence: &str) {
        let mut rest = with_units(sentence, &mut self.values);
        let sentence = rest.clone();
        let mut named = Vec::new();
        for literal in literals(&sentence).into_iter().rev() {
            let written = &sentence[literal.span.clone()];
            match literal.class {
                Class::Number | Class::Version => {
                    self.values.insert(0, (measure(written, literal.class), written.to_lowercase()));
                    rest.replace_range(literal.span, " ");
                }
                // Names of things are whole words of the subject.
                _ => {
                    named.push(written.to_lowercase());
                    rest.replace_range(literal.span, " ");
                }
            }
        }
        named.into_iter().rev().for_each(|name| self.take_word(name));
        let spoken: Vec<String> = split(&rest);
        for (at, word) in spoken.iter().enumerate() {
            let follows_number = at > 0 && small_number(&spoken[at - 1]).is_some();
            if let Some(value) = small_number(word) {
                self.take_number(&value, at, &spoken);
            } else if is_day(word) {
                self.values.push((Measure::Day, word.clone()));
            } else if !(is_common(word) || is_measure(word) && follows_number) {
                self.take_word(stem(word));
            }
        }
        if !self.choice.is_empty() {
            let chosen = self.choice.iter().cloned().collect::<Vec<_>>().join(" ");
            self.values.push((Measure::Choice, chosen));
        }
    }

    fn take_word(&mut self, word: String) {
        if self.subject.insert(word.clone()) {
            self.order.push(word);
        }
    }

    /// A bare number is an amount, unless it is a name: the 1 of `test 1`. What changes has amounts.
    fn take_number(&mut self, value: &str, at: usize, spoken: &[String]) {
        const BEFORE_AMOUNTS: [&str; 22] = [
            "is", "be", "to", "of", "at", "most", "least", "than", "exactly", "only", "about", "are", "was", "under",
            "over", "up", "max", "say", "that", "it", "now", "limit",
        ];
        let unit = spoken.get(at + 1).map(String::as_str).unwrap_or("");
        let measured = measure_of_unit(unit);
        let before = at.checked_sub(1).map(|before| spoken[before].as_str()).unwrap_or("is");
        let amount = measured.is_some() || self.changes || BEFORE_AMOUNTS.contains(&before) || is_common(before);
        match amount {
            true => self.values.push((measured.unwrap_or(Measure::Count), value.to_owned())),
            false => self.take_word(value.to_owned()),
        }
    }

    /// Whether the statement stands in the place of an earlier one.
    pub(super) fn stands_to(&self, earlier: &Claim) -> Stands {
        if self.former.iter().any(|former| earlier.names(former)) {
            return Stands::Replaces;
        }
        let shared = self
            .values
            .iter()
            .find(|(kind, _)| *kind != Measure::Choice && earlier.values.iter().any(|(other, _)| other == kind));
        if shared.is_some() {
            return self.values_stand_to(earlier);
        }
        if self.changes && !self.choice.is_empty() && !earlier.choice.is_empty() && self.values.len() == 1 {
            return if self.is_for_the_same(earlier) { Stands::Replaces } else { Stands::Beside };
        }
        let contrary = self.forbids != earlier.forbids && !self.subject.is_empty() && !earlier.subject.is_empty();
        match () {
            () if !self.subject.is_empty() && self.subject == earlier.subject && self.values == earlier.values => {
                Stands::Replaces
            }
            () if contrary && self.changes && !apart(&self.subject, &earlier.subject) => Stands::Replaces,
            () => Stands::Beside,
        }
    }

    fn values_stand_to(&self, earlier: &Claim) -> Stands {
        if self.subject.is_empty() {
            return if self.changes || self.points_back { Stands::Continues } else { Stands::Beside };
        }
        match () {
            () if self.subject == earlier.subject => Stands::Replaces,
            () if earlier.subject.is_empty() => Stands::Beside,
            () if self.changes && !apart(&self.subject, &earlier.subject) => Stands::Replaces,
            () => Stands::Beside,
        }
    }

    /// Whether a statement is about these words, or chooses them.
    fn names(&self, former: &BTreeSet<String>) -> bool {
        let said = |word: &String| {
            self.subject.contains(word)
                || self.choice.contains(word)
                || self.values.iter().any(|(_, value)| {
                    value.split(' ').any(|part| part.trim_start_matches('$') == word.trim_start_matches('$'))
                })
        };
        former.iter().all(said)
    }

    /// Whether two choices are for the same purpose, or one does not say for what.
    fn is_for_the_same(&self, earlier: &Claim) -> bool {
        let purpose =
            |claim: &Claim| -> BTreeSet<String> { claim.subject.difference(&claim.choice).cloned().collect() };
        let (this, that) = (purpose(self), purpose(earlier));
        this.is_empty() || that.is_empty() || !apart(&this, &that)
    }
}

/// Whether both have words that the other has not: then they are about different things.
fn apart(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    !one.is_subset(other) && !other.is_subset(one)
}

/// The words of a text that say what it is about.
fn words(text: &str) -> BTreeSet<String> {
    split(text).into_iter().filter(|word| !is_common(word)).map(|word| stem(&word)).collect()
}

/// The words of a text in lower case; in scripts without spaces, pairs of characters.
fn split(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’' && c != '$') {
        let word = word.trim_matches(['\'', '’']);
        let wide: Vec<char> = word.chars().filter(|c| *c >= '\u{2e80}').collect();
        if wide.is_empty() {
            match word {
                "" => {}
                // `A` names something, `a` does not.
                "A" => found.push(if found.is_empty() { "a".to_owned() } else { "A".to_owned() }),
                word => found.push(word.to_lowercase()),
            }
            continue;
        }
        found.extend(wide_words(&wide));
        let narrow: String = word.chars().filter(|c| *c < '\u{2e80}').collect();
        if !narrow.is_empty() {
            found.push(narrow.to_lowercase());
        }
    }
    found
}

/// Characters that join, rule or change in Chinese; what is left between them are the words.
fn wide_words(characters: &[char]) -> Vec<String> {
    const JOIN: &str = "的是了把将为到不再要别只能最多少至个请在和与也就都我你们它这那改成换用元块天号月日秒分钟小时毫超过现在必须应该可以";
    let mut found = Vec::new();
    for run in characters.split(|c| JOIN.contains(*c)) {
        if run.len() == 1 {
            found.push(run.iter().collect());
        }
        found.extend(run.windows(2).map(|pair| pair.iter().collect::<String>()));
    }
    found
}

/// Takes amounts with Chinese units out of a text.
fn with_units(text: &str, values: &mut Vec<(Measure, String)>) -> String {
    const UNITS: [(&str, Measure); 17] = [
        ("美元", Measure::Money),
        ("欧元", Measure::Money),
        ("元", Measure::Money),
        ("块", Measure::Money),
        ("毫秒", Measure::Time),
        ("秒", Measure::Time),
        ("分钟", Measure::Time),
        ("小时", Measure::Time),
        ("天", Measure::Time),
        ("周", Measure::Time),
        ("个月", Measure::Time),
        ("年", Measure::Day),
        ("月", Measure::Day),
        ("日", Measure::Day),
        ("号", Measure::Day),
        ("个", Measure::Count),
        ("次", Measure::Count),
    ];
    let mut kept = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let length =
            rest[start..].find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(rest.len() - start);
        let (number, behind) = rest[start..].split_at(length);
        kept.push_str(&rest[..start]);
        match UNITS.iter().find(|(unit, _)| behind.trim_start().starts_with(unit)) {
            Some((unit, measure)) => {
                values.push((*measure, number.to_owned()));
                kept.push(' ');
                rest = &behind.trim_start()[unit.len()..];
            }
            None => {
                kept.push_str(number);
                rest = behind;
            }
        }
    }
    kept.push_str(rest);
    kept
}

fn small_number(word: &str) -> Option<String> {
    const SPELLED: [(&str, &str); 10] = [
        ("two", "2"),
        ("three", "3"),
        ("four", "4"),
        ("five", "5"),
        ("six", "6"),
        ("seven", "7"),
        ("eight", "8"),
        ("nine", "9"),
        ("ten", "10"),
        ("twenty", "20"),
    ];
    let spelled = SPELLED.iter().find(|(name, _)| *name == word).map(|(_, digits)| (*digits).to_owned());
    spelled.or_else(|| word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.to_owned()))
}

fn is_day(word: &str) -> bool {
    const DAYS: [&str; 24] = [
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
        "周一",
        "周五",
        "明天",
    ];
    DAYS.contains(&word) || word.starts_with('周') || word.starts_with("星期")
}

fn is_measure(word: &str) -> bool {
    measure_of_unit(word).is_some() || is_unit(word)
}

fn measure_of_unit(unit: &str) -> Option<Measure> {
    match unit {
        "dollar" | "dollars" | "usd" | "euro" | "euros" | "eur" | "bucks" | "cents" | "yuan" | "rmb" | "k" => {
            Some(Measure::Money)
        }
        "ns" | "us" | "ms" | "s" | "sec" | "secs" | "second" | "seconds" | "min" | "mins" | "minute" | "minutes"
        | "hour" | "hours" | "h" | "day" | "days" | "week" | "weeks" | "month" | "months" | "year" | "years" => {
            Some(Measure::Time)
        }
        "percent" => Some(Measure::Share),
        "kb" | "mb" | "gb" | "tb" | "kib" | "mib" | "gib" | "byte" | "bytes" => Some(Measure::Bytes),
        _ => None,
    }
}

fn measure(written: &str, class: Class) -> Measure {
    let lower = written.to_lowercase();
    let unit = lower.rsplit(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or("");
    match () {
        () if class == Class::Version => Measure::Version,
        () if lower.starts_with('$') => Measure::Money,
        () if lower.ends_with('%') => Measure::Share,
        () if lower.len() >= 10 && lower.as_bytes()[4] == b'-' || lower.contains(':') => Measure::Day,
        () => measure_of_unit(unit).unwrap_or(Measure::Count),
    }
}

/// The same word in its other numbers and times, roughly.
fn stem(word: &str) -> String {
    let cut = |end: &str| word.strip_suffix(end).filter(|rest| rest.len() >= 3 && rest.is_ascii());
    cut("ies")
        .map(|rest| format!("{rest}y"))
        .or_else(|| cut("s").filter(|rest| !rest.ends_with('s')).map(str::to_owned))
        .unwrap_or_else(|| word.to_owned())
}

/// Words that do not tell what a statement is about: those that join, rule, change or are said to be polite.
pub(in crate::summary) fn is_common(word: &str) -> bool {
    static COMMON: LazyLock<HashSet<&str, RandomState>> = LazyLock::new(|| COMMON_WORDS.split_whitespace().collect());
    COMMON.contains(word)
}

const COMMON_WORDS: &str = "a an the and or but if then of to in on at for from by with without is are was were be been being am do does did have has \
    had i you he she it we they me my your his her its our their this that these those as so not no yes can could would should \
    will shall may might must just also any some all more most other there here what which who when where how than too very into \
    out up down over about please ok okay sure thank thanks hi hello let lets let's don't dont doesn't isn't can't cannot won't \
    never always only least need want like make sure keep ensure prefer preferred rather instead actually change changed \
    changing longer anymore now new moved move raise raised lower lowered bump increase increased decrease reduce reduced \
    extend extended postpone postponed switch switched replace replaced update updated correction set say sorry wait \
    i'd i'm i've we've we're that's it's there's use using go going get got try max maximum min minimum exactly still \
    again really after before until back amount number value total everything anything something thing well maybe think \
    goes become becomes available fine allowed per each";

impl Claim {
    /// Whether it does not say what it is about.
    pub(super) fn lacks_subject(&self) -> bool {
        self.subject.difference(&self.choice).next().is_none()
    }

    /// What it is about, in its own words.
    pub(super) fn about(&self) -> String {
        let about: Vec<&str> =
            self.order.iter().filter(|word| !self.choice.contains(*word)).map(String::as_str).collect();
        if self.order.iter().all(|word| word.chars().all(|c| c >= '\u{2e80}')) {
            overlapped(&about)
        } else {
            about.join(" ")
        }
    }

    /// Takes over what an earlier statement is about.
    pub(super) fn continue_from(&mut self, earlier: &Claim) {
        let taken: Vec<String> = earlier.order.iter().filter(|word| !earlier.choice.contains(*word)).cloned().collect();
        self.subject.extend(taken.iter().cloned());
        self.order = taken;
    }

    /// All words by which it may be found again.
    pub(super) fn all_words(&self) -> BTreeSet<&str> {
        self.subject.iter().chain(&self.choice).chain(self.former.iter().flatten()).map(String::as_str).collect()
    }
}

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
