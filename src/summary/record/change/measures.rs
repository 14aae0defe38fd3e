//! Recognizes the values in a sentence and what they measure.

use crate::summary::record::change::words::{WordToken, is_common, is_light, stem};

/// What a value measures. Two values of one measure cannot both hold for one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ValueMeasure {
    Money,
    Time,
    Day,
    TimeOfDay,
    Percentage,
    Bytes,
    Version,
    /// A number of things, with their noun.
    Count(String),
    /// A number after its noun: `java 17`. It may also be part of a name.
    Named(String),
    /// A number alone: a port.
    Number,
}

/// Returns the measure and the value that start at a word, and how many words they span.
pub(super) fn value_at(tokens: &[WordToken], at: usize) -> Option<(ValueMeasure, String, usize)> {
    let word = tokens[at].text.as_str();
    let next = |n: usize| tokens.get(at + n).map_or("", |token| token.text.as_str());
    if is_day(word) || is_ordinal(word) {
        return Some((ValueMeasure::Day, word.to_owned(), 1));
    }
    if is_time_of_day(word) {
        return Some((ValueMeasure::TimeOfDay, word.to_owned(), 1));
    }
    if let Some(period) = period(word) {
        return Some((ValueMeasure::Time, period.to_owned(), 1));
    }
    // The unit stays a word of the sentence: `once a night` is also about the night.
    if word == "once" && matches!(next(1), "a" | "per" | "every") && is_period(next(2)) {
        return Some((ValueMeasure::Time, format!("1 {}", canonical(next(2))), 2));
    }
    if is_scientific(word) {
        return Some((ValueMeasure::Number, word.to_owned(), 1));
    }
    // A full minute, an hour.
    let adjectives = usize::from(matches!(next(1), "full" | "whole" | "single"));
    if matches!(word, "a" | "an" | "one") && measure_of_unit(next(1 + adjectives)) == Some(ValueMeasure::Time) {
        return Some((ValueMeasure::Time, format!("1 {}", canonical(next(1 + adjectives))), 2 + adjectives));
    }
    if let Some(money) = word.strip_prefix(['$', '€', '£']).and_then(number_of) {
        return Some((ValueMeasure::Money, money, 1));
    }
    let digits = word.bytes().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',')).count();
    if digits > 0 && digits < word.len() {
        let (number, unit) = word.split_at(digits);
        let dashed = number.len() == 4 && unit.starts_with('-');
        return match measure_of_unit(unit) {
            Some(measure) => Some((measure, format!("{number} {}", canonical(unit)), 1)),
            None if dashed => Some((ValueMeasure::Day, word.to_owned(), 1)),
            // `1440p`
            None if unit.len() < 3 && unit.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
                Some((ValueMeasure::Count(unit.to_owned()), number.to_owned(), 1))
            }
            None => None,
        };
    }
    let version = word.strip_prefix('v').unwrap_or(word);
    if version.matches('.').count() == 2 && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Some((ValueMeasure::Version, version.to_owned(), 1));
    }
    let adjectives_after_one = usize::from(matches!(next(1), "single" | "only"));
    let unit = next(1 + adjectives_after_one);
    if word == "one" && unit.len() > 2 && !is_common(unit) && unit.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Some((ValueMeasure::Count(stem(unit).into_owned()), "1".to_owned(), 2 + adjectives_after_one));
    }
    let number = number_of(word)?;
    let before = at.checked_sub(1).map_or("is", |before| tokens[before].text.as_str());
    match (next(1), measure_of_unit(next(1))) {
        (unit, Some(measure)) => Some((measure, format!("{number} {}", canonical(unit)), 2)),
        (unit, None) if !unit.is_empty() && !is_common(unit) && unit.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
            Some((ValueMeasure::Count(stem(unit).into_owned()), number, 2))
        }
        // A single character behind a number counts things: 112 路.
        (unit, None) if unit.chars().count() == 1 && !unit.is_ascii() => {
            Some((ValueMeasure::Count(unit.to_owned()), number, 2))
        }
        // In a name, the number follows: `test 1`, `user 4001`. A limit or a port has a number as its value.
        _ if is_common(before) || is_light(before) || matches!(before, "port" | "timeout") => {
            Some((ValueMeasure::Number, number, 1))
        }
        _ if before.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
            Some((ValueMeasure::Named(stem(before).into_owned()), number, 1))
        }
        _ => None,
    }
}

/// Returns a number in digits, also if it is spelled out.
pub(super) fn number_of(word: &str) -> Option<String> {
    const SPELLED: [(&str, u32); 20] = [
        ("two", 2),
        ("three", 3),
        ("four", 4),
        ("five", 5),
        ("six", 6),
        ("seven", 7),
        ("eight", 8),
        ("nine", 9),
        ("ten", 10),
        ("eleven", 11),
        ("twelve", 12),
        ("fifteen", 15),
        ("twenty", 20),
        ("thirty", 30),
        ("forty", 40),
        ("fifty", 50),
        ("sixty", 60),
        ("ninety", 90),
        ("hundred", 100),
        ("thousand", 1_000),
    ];
    if let Some((_, number)) = SPELLED.iter().find(|(spelled, _)| *spelled == word) {
        return Some(number.to_string());
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

fn is_period(word: &str) -> bool {
    matches!(word, "hour" | "day" | "night" | "week" | "month" | "quarter" | "year")
}

/// Returns the time between events: an hour for `hourly`.
fn period(word: &str) -> Option<&'static str> {
    match word {
        "hourly" => Some("1 h"),
        "daily" | "nightly" => Some("1 day"),
        "weekly" => Some("1 week"),
        "monthly" => Some("1 month"),
        _ => None,
    }
}

/// `14th`.
fn is_ordinal(word: &str) -> bool {
    let number = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end));
    number.is_some_and(|number| (1..=2).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `02:00`, `5pm`.
fn is_time_of_day(word: &str) -> bool {
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

fn measure_of_unit(unit: &str) -> Option<ValueMeasure> {
    match unit {
        "dollar" | "dollars" | "usd" | "euro" | "euros" | "eur" | "bucks" | "cents" | "yuan" | "rmb" | "k" | "美元"
        | "欧元" | "元" | "块" => Some(ValueMeasure::Money),
        "ns" | "us" | "ms" | "s" | "sec" | "secs" | "second" | "seconds" | "min" | "mins" | "minute" | "minutes"
        | "hour" | "hours" | "h" | "day" | "days" | "week" | "weeks" | "month" | "months" | "year" | "years"
        | "毫秒" | "秒" | "分钟" | "小时" | "天" | "个月" => Some(ValueMeasure::Time),
        "%" | "percent" | "成" => Some(ValueMeasure::Percentage),
        "kb" | "mb" | "gb" | "tb" | "kib" | "mib" | "gib" | "byte" | "bytes" | "兆" => Some(ValueMeasure::Bytes),
        "次" | "条" | "行" | "页" | "度" | "栏" | "列" | "层" | "倍" | "份" | "台" | "张" | "位" | "字" => {
            Some(ValueMeasure::Count(unit.to_owned()))
        }
        "个" => Some(ValueMeasure::Count("个".to_owned())),
        "点" => Some(ValueMeasure::TimeOfDay),
        "号" | "日" => Some(ValueMeasure::Day),
        _ => None,
    }
}

/// Returns the canonical form of a unit, or the stem of any other word.
pub(super) fn canonical(unit: &str) -> String {
    let short = match unit {
        "second" | "seconds" | "sec" | "secs" | "秒" => "s",
        "minute" | "minutes" | "mins" | "分钟" => "min",
        "hour" | "hours" | "小时" => "h",
        "dollar" | "dollars" | "bucks" => "usd",
        "euros" | "euro" => "eur",
        _ => return stem(unit).into_owned(),
    };
    short.to_owned()
}
