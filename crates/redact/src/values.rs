//! Decides whether the value after a secret's name is the secret itself, and not a word, a type, a reference to the
//! secret, or code that gets it.

use std::sync::LazyLock;

use regex::Regex;

use crate::extents::{Class, varied};
use crate::letters::{is_noise, is_scrambled};
use crate::names::{self, NameClass};
use crate::pattern::pattern;
use crate::phrases::{begins_as_pointer, is_mnemonic, is_passphrase, is_phrase, is_wallet};
use crate::stand_ins::has_references;

pub(super) use crate::letters::{is_dense, is_key_in_phrase, is_name, is_random, is_resource_name};
pub(super) use crate::stand_ins::{is_call, is_code, is_nothing, is_reference};

/// From so many characters on, noise is a secret even where it has the marks of a reference or white space.
const LONG_NOISE: usize = 24;
/// From so many characters on, noise is not code.
const SHORT_NOISE: usize = 12;

/// A value behind the name of a secret.
pub(super) struct SecretCandidate<'t> {
    pub(super) class: NameClass,
    pub(super) name: &'t str,
    pub(super) value: &'t str,
    pub(super) place: ValuePlace,
}

/// Where a value stands. The surer the place, the less the value has to look like a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValuePlace {
    /// In quotes, or the string of a member.
    Quotes,
    /// In a list, or in lines below the name.
    Several,
    /// Behind an environment variable, a flag or the like, where no code is.
    Setting,
    /// In a form, a connection string or an element of XML.
    Form,
    /// Alone on its line.
    Line,
    /// Behind the scheme of a header.
    Scheme,
    /// In a command that takes a password there.
    Command,
    /// Behind words of a sentence that announce it: `the password is …`.
    Sentence,
    /// Behind words that announce nothing else, so that an id is a key too: `the API key is …`.
    Announced,
    /// Beside the word for a password, where a sentence may go on as well: `password …`.
    Beside,
    /// In a sentence or in code.
    Anywhere,
}

impl SecretCandidate<'_> {
    /// Whether the value is secret.
    pub(super) fn is_secret(&self) -> bool {
        let SecretCandidate { class, name, value, place } = *self;
        if place == ValuePlace::Command {
            return value.len() >= 3 && value.contains(char::is_alphanumeric) && !is_reference(value);
        }
        let is_in_quotes = matches!(place, ValuePlace::Quotes | ValuePlace::Several);
        let is_explicit = matches!(place, ValuePlace::Setting | ValuePlace::Form);
        let is_variable = names::is_environment(name) && (is_in_quotes || place == ValuePlace::Setting);
        let is_code_here = || if is_variable { is_call(value) } else { is_code(value) };
        let has_words = is_in_quotes && value.contains(char::is_whitespace);
        let length = value.chars().count();
        match class {
            _ if is_in_quotes && length >= LONG_NOISE && is_noise(value) && !has_references(value) => true,
            _ if is_nothing(value) || (name == "pwd" && value.contains(['/', '\\'])) => false,
            NameClass::Cookie => begins_with_pair(value) && !is_code(value),
            NameClass::Authorization => self.is_credential(),
            _ if place == ValuePlace::Sentence => is_told(class, value),
            _ if place == ValuePlace::Announced => is_announced(class, value),
            _ if place == ValuePlace::Beside => is_told(class, value) && is_no_word_with_number(value),
            _ if !is_variable && is_own_name(name, value) => false,
            _ if !is_in_quotes && is_code_here() => false,
            _ if self.is_name_of_secret() => false,
            _ if place == ValuePlace::Several && !self.is_password() && !is_key(value) => false,
            // A variable's value may be several words.
            NameClass::Password if has_words && name.to_ascii_lowercase().contains("mnemonic") => is_mnemonic(value),
            NameClass::Password if has_words => is_phrase(value) || (is_wallet(name) && is_mnemonic(value)),
            _ if has_words => false,
            NameClass::Password if is_in_quotes || is_explicit => length >= 3,
            NameClass::Password if place == ValuePlace::Line && !is_type(value) => length >= 4,
            NameClass::Password => is_random(value, 6) && !is_type(value),
            NameClass::Key if is_in_quotes => {
                length >= 8 && (!is_code(value) || length >= SHORT_NOISE && is_noise(value)) && !is_number(value)
            }
            NameClass::Key if is_explicit => length >= 4 && !is_number(value),
            NameClass::Key => is_random(value, 8),
            NameClass::Ambiguous => {
                looks_random(value) && (is_in_quotes || is_dense(value, 8) || is_run_of_letters(value))
            }
        }
    }

    /// Whether the value of an authorization header is secret.
    fn is_credential(&self) -> bool {
        let SecretCandidate { name, value, place, .. } = *self;
        match place {
            ValuePlace::Scheme => value.len() >= 3 && (!is_call(value) || value.contains(':')),
            ValuePlace::Quotes => !is_call(value),
            // A name without `-` may be a member in code, and its value a variable.
            ValuePlace::Line if name.contains('-') => !is_call(value),
            ValuePlace::Line => !is_code(value),
            _ => is_random(value, 8) && !is_code(value),
        }
    }

    /// Whether the value is the name of what holds the secret, and not the secret: `secret: db-creds-2`. Under a name that
    /// says *password* it is a weak password.
    fn is_name_of_secret(&self) -> bool {
        let SecretCandidate { class, name, value, place } = *self;
        // A capital name in a sentence or a table is not that of a variable.
        let is_variable = names::is_environment(name) && place != ValuePlace::Anywhere;
        let name = name.to_ascii_lowercase();
        let is_list = place == ValuePlace::Several && (name.ends_with("secrets") || name.ends_with("credentials"));
        let says_otherwise = ["pass", "pw", "cookie"].iter().any(|word| name.contains(word));
        match class {
            NameClass::Ambiguous => !is_variable && !says_otherwise && is_name(value),
            // Or its type: `private_key: &PrivatePkcs8KeyDer`.
            NameClass::Key if matches!(place, ValuePlace::Anywhere | ValuePlace::Line) => {
                !says_otherwise && is_name(value.trim_start_matches('&'))
            }
            NameClass::Password if is_list => {
                is_name(value) || !is_random(value, 3) && !value.contains(char::is_whitespace)
            }
            NameClass::Password if is_variable => false,
            NameClass::Password => {
                // `kubernetes.Secret("app-secret-1")`
                let is_holder = matches!(&*name, "secrets" | "token") || name.rsplit('.').next() == Some("secret");
                is_holder && is_resource_name(value) || is_key_of_message(value)
            }
            _ => false,
        }
    }

    /// Whether the name means a password and not a key.
    fn is_password(&self) -> bool {
        self.class == NameClass::Password && !self.name.to_ascii_lowercase().contains("key")
    }
}

/// Whether a value is spelled like a type, as in `password: String?` or `secret: Uint8Array`.
fn is_type(value: &str) -> bool {
    let name = value.strip_suffix('?').unwrap_or(value).trim_start_matches(['&', '*']);
    let is_word =
        name.starts_with(|c: char| c.is_ascii_uppercase()) && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_word && !is_scrambled(name) || name.ends_with("Array") && is_name(name)
}

/// Whether a text begins as a cookie does, `name=…`, and not with words.
fn begins_with_pair(value: &str) -> bool {
    value.split_once('=').is_some_and(|(name, _)| !name.trim().contains(char::is_whitespace))
}

fn is_number(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Words with digits that sentences about passwords have: algorithms, lengths, versions, files and addresses.
static OF_SENTENCES: LazyLock<Regex> = LazyLock::new(|| {
    let names = "sha-?[0-9]|md[245]|aes|rsa|ed25519|base-?[0-9]|utf|iso-?[0-9]|hs[0-9]{3}|rs[0-9]{3}|pbkdf2|argon2|bcrypt|scrypt|\
        oauth|2fa|mfa|3des|http|ipv[46]|sha256:|blake|ntlm|pkcs|x509|rfc-?[0-9]|[0-9]+(?:st|nd|rd|th)\\b";
    let lengths =
        "[0-9]+[-+]?(?:char|bit|byte|digit|letter|word|day|hour|h\\b|m\\b|min|s\\b|sec|week|month|year|time|x\\b)";
    let versions = r"(?:[0-9]+:)?v?[0-9]+(?:\.[0-9]+)+|v[0-9]";
    let things = "(?:auth|column|field|file|hash|hint|input|level|line|option|plain|policy|prompt|reset|rule|step|table|test|type|user)[a-z]*[_-]?[0-9]{1,2}[a-z]*$";
    let types =
        "(?:(?:var)?char|string|text|u?int|float|number|min|max)[_-]?[0-9]{1,4}(?:[a-z]|chars?)?$|at-least-[0-9]";
    let places = r"[\w./:-]*/[\w./:-]*$|[\w-]+(?:\.[\w-]+)*\.[a-z]{1,5}$";
    pattern(&format!("^(?i-u:{names}|{lengths}|{versions}|{things}|{types}|{places})"))
});

/// Whether a value is such a word.
pub(super) fn is_of_sentences(value: &str) -> bool {
    OF_SENTENCES.is_match(value) && !is_scrambled(value)
}

/// Whether a value that a sentence announces, or that a secret is compared with, is one: letters and digits, of which a key
/// has many in a row.
pub(super) fn is_told(class: NameClass, value: &str) -> bool {
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    if begins_as_pointer(value) {
        return false;
    }
    if class == NameClass::Password && is_passphrase(value) {
        return true;
    }
    if !has_digit || !has_letter || value.contains(char::is_whitespace) || is_of_sentences(value) || is_code(value) {
        return false;
    }
    match class {
        NameClass::Password => value.chars().count() >= 6,
        _ => value.len() >= 20 && (is_dense(value, 16) || is_scrambled_base64(value)),
    }
}

/// Whether a value is told, or a key as an id or a short run of letters, where nothing but a key can be.
pub(super) fn is_announced(class: NameClass, value: &str) -> bool {
    is_told(class, value) || class != NameClass::Password && is_short_key(value)
}

/// Whether a value is Base64 whose letters follow each other as in no path.
fn is_scrambled_base64(value: &str) -> bool {
    value.bytes().all(|byte| Class::Encoded.has(byte)) && varied(value) && is_scrambled(value)
}

/// Whether a value is an id in groups, or a run of letters of both cases and digits, as short keys are.
fn is_short_key(value: &str) -> bool {
    let groups = value.split('-').map(str::len);
    let is_hex = value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let is_id = is_hex && value.contains(['1', '2', '3', '4']) && groups.eq([8, 4, 4, 4, 12]);
    is_id || value.len() >= 16 && is_dense(value, 16) && varied(value) && !OF_SENTENCES.is_match(value)
}

/// Whether a value is more than a word in small letters with a number behind it.
fn is_no_word_with_number(value: &str) -> bool {
    let first_digit = value.find(|c: char| c.is_ascii_digit()).unwrap_or(value.len());
    let has_capital = value.bytes().any(|byte| byte.is_ascii_uppercase());
    value.len() >= 8 && (has_capital || value[first_digit..].bytes().any(|byte| byte.is_ascii_alphabetic()))
}

/// Whether a value is random letters and digits with nothing between but `-` and `_`.
fn is_run_of_letters(value: &str) -> bool {
    is_scrambled(value) && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Whether a value looks random and is not a short hexadecimal id.
fn looks_random(value: &str) -> bool {
    is_random(value, 8) && (value.len() >= 16 || !value.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether a value looks like a key: random, dense, and not code.
fn is_key(value: &str) -> bool {
    is_random(value, 8) && is_dense(value, 6) && !is_code(value)
}

/// Whether a value begins as a flag, a path or an address does, and is not as random as a key.
pub(super) fn begins_otherwise(value: &str) -> bool {
    let is_random_key = || is_scrambled(value) || is_dense(value, 12) && varied(value);
    value.starts_with(':') || value.starts_with(['-', '/']) && !is_random_key()
}

/// Whether a value has a digit that is not at its end, as the numbers of words are.
pub(super) fn is_no_numbered_word(value: &str) -> bool {
    value.trim_end_matches(|c: char| c.is_ascii_digit()).contains(|c: char| c.is_ascii_digit())
}

/// Whether a value of a raw string or of a template is random, and has no marks of either. A backslash before a letter that
/// no pattern escapes is a part of it.
pub(super) fn is_plain(value: &str) -> bool {
    let is_mark = |c: char| c.is_whitespace() || "{}()[]<>*|^$".contains(c);
    let mut escapes = value.split('\\').skip(1);
    let is_of_pattern = escapes.any(|rest| !rest.starts_with(|c: char| "ceghijklmoqyCEFGHIJKLMNOQRTUVXY".contains(c)));
    let may_be = !value.contains('\\') || varied(value) && !is_of_pattern && !value.contains(":\\");
    is_random(value, 8) && is_no_numbered_word(value) && !value.contains(is_mark) && may_be
}

/// Whether a value repeats its own name, as in `api_key=api_key` or `{"password": "password"}`.
pub(super) fn is_own_name(name: &str, value: &str) -> bool {
    let is_name = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    is_name && without_marks(name).ends_with(&without_marks(value))
}

/// A name in small letters, without the marks between its words.
fn without_marks(name: &str) -> String {
    name.replace(['_', '-', '.'], "").to_ascii_lowercase()
}

/// Whether a value is the key of a translated message about a password: `errors.password_too_short_8`.
fn is_key_of_message(value: &str) -> bool {
    value.contains('.') && value.contains("password") && is_name(value)
}

/// Whether a value has letters among digits as no word does, and capitals or marks as no name of an algorithm does.
pub(super) fn is_no_identifier(value: &str) -> bool {
    let is_mark = |byte: u8| byte.is_ascii_punctuation() && !b"_-.".contains(&byte);
    value.len() >= 8 && is_dense(value, 4) && value.bytes().any(|byte| byte.is_ascii_uppercase() || is_mark(byte))
}

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*OF_SENTENCES]
}
