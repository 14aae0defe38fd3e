//! Splits a sentence into the words that comparisons use: lower-case stems; in scripts without spaces, pairs of
//! characters.

use std::borrow::Cow;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::LazyLock;

use foldhash::fast::RandomState;

/// A word of a statement. Its copies share the text.
pub(super) type Word = Rc<str>;

/// Words in order, each once. A statement has few, for which a list takes less memory than a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::summary::record) struct WordSet {
    words: Vec<Word>,
    /// The bits of its words. Most words that are looked up are not in the set, and have another bit.
    bits: u64,
}

impl WordSet {
    /// Returns one of 64 bits for a word.
    fn bit(word: &str) -> u64 {
        let bytes = word.as_bytes();
        let ends = [bytes.first(), bytes.get(bytes.len() / 2), bytes.last()];
        1 << (ends.iter().flatten().fold(bytes.len(), |sum, byte| sum * 5 + usize::from(**byte)) % 64)
    }

    /// Adds a word. Returns whether it is new.
    pub(super) fn insert(&mut self, word: Word) -> bool {
        self.bits |= Self::bit(&word);
        let place = self.words.binary_search(&word);
        place.map_err(|place| self.words.insert(place, word)).is_err()
    }

    pub(super) fn contains(&self, word: &str) -> bool {
        self.bits & Self::bit(word) != 0 && self.words.binary_search_by(|own| (**own).cmp(word)).is_ok()
    }

    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Word> {
        self.words.iter()
    }

    pub(super) fn intersection<'s>(&'s self, other: &'s WordSet) -> impl Iterator<Item = &'s Word> {
        self.iter().filter(|word| other.contains(word))
    }

    pub(super) fn difference<'s>(&'s self, other: &'s WordSet) -> impl Iterator<Item = &'s Word> {
        self.iter().filter(|word| !other.contains(word))
    }

    pub(super) fn is_disjoint(&self, other: &WordSet) -> bool {
        self.intersection(other).next().is_none()
    }

    pub(super) fn is_subset(&self, other: &WordSet) -> bool {
        self.iter().all(|word| other.contains(word))
    }
}

impl FromIterator<Word> for WordSet {
    fn from_iter<I: IntoIterator<Item = Word>>(words: I) -> Self {
        let mut words: Vec<Word> = words.into_iter().collect();
        words.sort_unstable();
        words.dedup();
        let bits = words.iter().fold(0, |bits, word| bits | Self::bit(word));
        WordSet { words, bits }
    }
}

/// A word as comparisons see it.
#[derive(Debug)]
pub(super) struct WordToken {
    pub(super) text: String,
}

/// Returns the words of a text in lower case; in scripts without spaces, pairs of characters, and amounts with their
/// units.
pub(super) fn tokens(text: &str) -> Vec<WordToken> {
    let mut found = Vec::new();
    let mut push = |text: &str| {
        let text = text.trim_matches(['\'', '’', '-', '.', '/', ':']);
        // `#123` is a name, not a value.
        let is_numbered = text.strip_prefix('#').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let text = if is_numbered { text } else { text.trim_matches('#') };
        // `A` is a label, `a` an article.
        let is_label = text == "A" && !found.is_empty();
        let text = ["-related", "-specific"].iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text);
        if !text.is_empty() {
            found.push(WordToken { text: if is_label { text.to_owned() } else { text.to_lowercase() } });
        }
    };
    let is_word_char = |c: char| {
        c.is_alphanumeric() || matches!(c, '\'' | '’' | '$' | '€' | '£' | '_' | '-' | '.' | '/' | '%' | ':' | '#')
    };
    for word in text.split(|c: char| !is_word_char(c)) {
        let mut latin = String::new();
        let mut chinese: Vec<char> = Vec::new();
        for c in word.chars() {
            if c >= '\u{2e80}' {
                push(&latin);
                latin.clear();
                chinese.push(c);
            } else {
                chinese_words(&std::mem::take(&mut chinese)).iter().for_each(|word| push(word));
                latin.push(c);
            }
        }
        push(&latin);
        chinese_words(&chinese).iter().for_each(|word| push(word));
    }
    found
}

/// Returns the words of a Chinese text: it is split at function characters and the rest cut into pairs.
fn chinese_words(characters: &[char]) -> Vec<String> {
    const FUNCTION_CHARACTERS: &str = "的是了把将为到不再要别只能最多少至个请在和与也就都我你们它这那改成换用元块秒毫超过现在必须应该可以给吧太里每才先";
    const NUMBERS: &str = "零一二两三四五六七八九十百千万半";
    const UNITS: [&str; 30] = [
        "美元", "欧元", "元", "块", "毫秒", "秒", "分钟", "小时", "天", "个月", "次", "条", "行", "页", "号", "日",
        "点", "个", "成", "度", "栏", "列", "层", "倍", "份", "台", "张", "位", "字", "兆",
    ];
    let text: String = characters.iter().collect();
    let mut found = Vec::new();
    let mut rest = text.as_str();
    let mut run: Vec<char> = Vec::new();
    let flush = |run: &mut Vec<char>, found: &mut Vec<String>| {
        for part in run.split(|c| FUNCTION_CHARACTERS.contains(*c)) {
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

/// Joins overlapping pairs of characters: 截止, 止日, 日期 is 截止日期.
pub(super) fn join_bigrams(pairs: &[&str]) -> String {
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

/// Returns the approximate stem of an English word.
pub(in crate::summary::record) fn stem(word: &str) -> Cow<'_, str> {
    let word = word.strip_suffix("'s").or(word.strip_suffix("’s")).unwrap_or(word);
    if let Some((before, last)) = word.rsplit_once('-').filter(|(before, last)| is_spelled(before) && is_spelled(last))
    {
        // `force-pushing` comes from `force-push`.
        return format!("{before}-{}", stem(last)).into();
    }
    if word.len() < 4 || !is_spelled(word) {
        return word.into();
    }
    let cut = |end: &str, least: usize| word.strip_suffix(end).filter(|rest| rest.len() >= least);
    // `pinning` and `pinned` come from `pin`.
    let without_doubled_end = |rest: &'_ str| -> usize {
        let end = rest.len();
        let doubled =
            end > 3 && rest.as_bytes()[end - 1] == rest.as_bytes()[end - 2] && !rest.ends_with(['l', 's', 'e', 'o']);
        end - usize::from(doubled)
    };
    let root = match () {
        () if let Some(rest) = cut("ies", 3) => return format!("{rest}y").into(),
        () if let Some(rest) = cut("ing", 3) => &rest[..without_doubled_end(rest)],
        () if let Some(rest) = cut("ed", 3) => &rest[..without_doubled_end(rest)],
        () if let Some(rest) = cut("s", 3).filter(|rest| !rest.ends_with('s')) => rest,
        () => word,
    };
    root.strip_suffix('e').filter(|rest| rest.len() >= 3).unwrap_or(root).into()
}

/// Whether a word has letters only.
fn is_spelled(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Whether a word has a digit or punctuation inside, as identifiers do.
pub(super) fn is_identifier(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'/' | b'.' | b':'))
}

/// Whether a word says nothing about the subject of a statement: function words, words of rules and changes, and polite
/// words.
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
    i'd i'm i've i'll we've we're we'll you'll you're they'll they're it'll that's it's there's use using go going get got try max maximum min minimum exactly still \
    one again really after before until back amount number value total everything anything something thing things stuff myself yourself himself herself itself ourselves yourselves themselves well maybe think \
    goes become becomes available fine allowed per each much dude man shit fuck fucking damn jesus christ wtf omg omfg alright haha lol yep yeah nope nah nice cool hmm hm hey btw pls plz ty thx fyi \
    inside within got gets end ends kind sort bit lot first last next own same else help appreciate understand hope hoping believe glad \
    possible proceed provide come comes came";

/// Whether a word opens a request without being its verb.
pub(super) fn is_polite(word: &str) -> bool {
    const POLITE: [&str; 14] = [
        "please", "pls", "now", "then", "next", "also", "and", "ok", "okay", "so", "first", "finally", "just", "kindly",
    ];
    POLITE.contains(&word)
}

/// Whether a word is the verb of a request to change a thing, though it may also signal that a statement changed.
pub(super) fn is_action(word: &str) -> bool {
    const ACTIONS: [&str; 13] = [
        "update", "move", "replace", "extend", "switch", "raise", "lower", "bump", "increase", "decrease", "reduce",
        "change", "rename",
    ];
    ACTIONS.contains(&word)
}

/// Whether a word is a verb that fits anything, or only praises or limits.
pub(super) fn is_light(word: &str) -> bool {
    static LIGHT: LazyLock<HashSet<Cow<'static, str>, RandomState>> =
        LazyLock::new(|| LIGHT_WORDS.split_whitespace().map(stem).collect());
    LIGHT.contains(word)
}

const LIGHT_WORDS: &str = "nothing put take give run call name write show send ask tell target pin sample mute deploy ship store save \
    read open close keep leave stay work bother touch edit reach aim pick choose call called named listen listens live lives \
    plenty enough good great nice fine better best ready should must stop start begin add create default hold holds limit \
    limited cap budget spend cost absolutely please kindly simply currently later soon";
