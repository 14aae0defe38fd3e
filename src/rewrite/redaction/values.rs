//! Decides whether the value after a secret's name is the secret itself, and not a word, a type, a reference to the
//! secret, or code that gets it.
//!
//! Nothing here searches a text; [`crate::rewrite::redaction::assignments`], [`crate::rewrite::redaction::headers`] and
//! [`crate::rewrite::redaction::shapes`] do.

use std::sync::LazyLock;

use regex::Regex;

/// Words in place of a secret, whatever the name.
static NOTHING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = "any|api_?key|basic|bearer|blank|bool|boolean|bytes|changeme|default|description|disabled|dummy|empty|\
        enabled|encrypted|enum|env|environment|false|hidden|include|inherit|input|int|integer|invalid|literal|masked|\
        missing|n/a|never|nil|no|none|not-set|null|number|object|off|omit|omitted|on|optional|optionalstring|\
        placeholder|prompt|redacted|required|same-origin|secretstr|select|set|str|string|text|token|true|undefined|\
        unknown|unset|unused|varchar|write|yes";
    Regex::new(&format!("^(?i:{words})$")).ok()
});
/// References to the place of a secret (a variable, a file, a vault), and stand-ins for one.
static REFERENCES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let variables = r"\$[a-z_]\w{0,63}$|%\w{1,63}%$|\$[{(\[]|\{|<|%[({]|[#@]\{|\$env:|!(?:ref|sub|vault|secret)\b";
    let places =
        r"enc\[|op://|arn:|vault:|secret://|env[:.]|os\.environ|os\.getenv|process\.env|import\.meta|secrets\.";
    let others =
        r"file:/|sops:|ssm:|https?://[^@]*$|your[-_ ]|your(?:api)?(?:key|token|password)|insert[-_]|replace[-_]";
    Regex::new(&format!(r"^(?i:[*x.•…_?\#=-]*$|{variables}|{places}|{others})")).ok()
});
/// Parts of such values, and marks of a cut.
static STAND_INS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)[-_]your[-_]|change[-_]?me|placeholder|redacted|replace[-_]?me|[-_]goes[-_]here").ok()
});
/// A file path.
static PATHS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:~|\.\.?)?/(?:[\w. -]{1,32}/)+[\w. -]{0,32}$|^(?:~|\.\.?)?/[\w-]{1,32}\.[a-z]{1,5}$").ok()
});
/// A call, an element, or an attribute of something.
static CALLS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^[&*!@]*[A-Za-z_][\w.:?]*[(\[<]|^[&*!@]*[A-Za-z_]+(?:[.:?]+[A-Za-z_]+\d{0,2})+$").ok()
});
/// A variable with the name of a secret.
static VARIABLES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?i)[&*!@]*[a-z_]*(?:passw(?:or)?d|pwd|secret|token|key|credential)[a-z_]*\d{0,2}$").ok()
});

fn fits(regex: &Option<Regex>, value: &str) -> bool {
    // A test checks that they compile.
    regex.as_ref().is_some_and(|regex| regex.is_match(value))
}

/// Whether a value refers to the place of a secret, or stands in for one: dots, crosses, `your-key`.
pub(super) fn is_reference(value: &str) -> bool {
    let is_cut = value.contains("...") || value.contains('…') || value.contains("***");
    let is_short = || value.trim_matches(['.', '…', '*', 'x', 'X']).len() < 16;
    // Stand-ins are short; a long value with such a word by chance is a key.
    (is_cut && is_short()) || fits(&REFERENCES, value) || (value.len() <= 80 && fits(&STAND_INS, value))
}

/// Whether a value is no secret, whatever its name.
pub(super) fn is_nothing(value: &str) -> bool {
    !value.chars().any(char::is_alphanumeric) || fits(&NOTHING, value) || is_reference(value) || fits(&PATHS, value)
}

/// Whether a value repeats its own name, as in `api_key=api_key` or `{"password": "password"}`.
pub(super) fn is_own_name(name: &str, value: &str) -> bool {
    let letters = |text: &str| text.replace(['_', '-', '.'], "").to_ascii_lowercase();
    let is_name = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name && value.len() <= name.len() && letters(name).ends_with(&letters(value))
}

/// Whether an unquoted value is a call, an element or an attribute.
pub(super) fn is_call(value: &str) -> bool {
    let value = value.trim_end_matches([',', ';', ')', '}']);
    value.starts_with(['(', '[', '{', '|', '\\']) || fits(&CALLS, value)
}

/// Whether an unquoted value is code: a call, or a variable with the name of a secret.
pub(super) fn is_code(value: &str) -> bool {
    is_call(value) || fits(&VARIABLES, value.trim_end_matches([',', ';', ')', '}']))
}

/// Whether a value has a run of at least `least` letters and digits, with both in it.
pub(super) fn is_dense(value: &str, least: usize) -> bool {
    value.split(|c: char| !c.is_ascii_alphanumeric()).any(|run| run.len() >= least && is_random(run, least))
}

/// Whether a value mixes letters with digits or marks, as no word does.
pub(super) fn is_random(value: &str, least: usize) -> bool {
    let has = |test: fn(&u8) -> bool| value.bytes().any(|byte| test(&byte));
    let letters = has(u8::is_ascii_alphabetic) || !value.is_ascii();
    let marks = has(|byte| byte.is_ascii_punctuation() && !matches!(byte, b'_' | b'-' | b'.' | b'\'' | b','));
    let cases = value.len() >= 20 && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'_' | b'e'));
    value.chars().count() >= least && !is_number && letters && (has(u8::is_ascii_digit) || marks || cases)
}
