//! Decides whether the value after a secret's name is the secret itself, and not a word, a type, a reference to the
//! secret, or code that gets it.
//!
//! Also masks the secrets in the strings of JSON, where the name of a member says what its value is.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::Redactor;
use crate::extents::{Class, varied};
use crate::letters::{is_noise, is_scrambled};
use crate::names::{self, NameClass};
use crate::pattern::pattern;
use crate::transcript::edit::{Edit, is_inside, sort};
use crate::transcript::json::{Json, JsonKind, Token};

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
            NameClass::Cookie => value.contains('=') && !is_code(value),
            NameClass::Authorization => self.is_credential(),
            _ if place == ValuePlace::Sentence => is_told(class, value),
            _ if place == ValuePlace::Announced => is_announced(class, value),
            _ if place == ValuePlace::Beside => is_told(class, value) && is_no_word_with_number(value),
            _ if !is_variable && is_own_name(name, value) => false,
            _ if !is_in_quotes && is_code_here() => false,
            // A list of secrets can be one of their names.
            _ if place == ValuePlace::Several && name.ends_with("secrets") && !has_words && !is_random(value, 3) => {
                false
            }
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

    /// Whether the name means a password and not a key.
    fn is_password(&self) -> bool {
        self.class == NameClass::Password && !self.name.to_ascii_lowercase().contains("key")
    }
}

/// Whether a value is spelled like a type, as in `password: String?` or `secret: Uint8Array`.
fn is_type(value: &str) -> bool {
    const ARRAYS: [&str; 8] = [
        "Uint8Array",
        "Uint16Array",
        "Uint32Array",
        "Int8Array",
        "Int16Array",
        "Int32Array",
        "Float32Array",
        "Float64Array",
    ];
    let name = value.strip_suffix('?').unwrap_or(value);
    let is_word =
        name.starts_with(|c: char| c.is_ascii_uppercase()) && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    ARRAYS.contains(&name) || is_word && !is_scrambled(name)
}

fn is_number(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Words with digits that sentences about passwords have: algorithms, lengths, versions, files and addresses.
static OF_SENTENCES: LazyLock<Regex> = LazyLock::new(|| {
    let names = "sha-?[0-9]|md[245]|aes|rsa|ed25519|base-?[0-9]|utf|iso-?[0-9]|hs[0-9]{3}|rs[0-9]{3}|pbkdf2|argon2|bcrypt|scrypt|\
        oauth|2fa|mfa|3des|http|ipv[46]|sha256:|blake|ntlm|pkcs|x509|[0-9]+(?:st|nd|rd|th)\\b";
    let lengths =
        "[0-9]+[-+]?(?:char|bit|byte|digit|letter|word|day|hour|h\\b|m\\b|min|s\\b|sec|week|month|year|time|x\\b)";
    let versions = r"(?:[0-9]+:)?v?[0-9]+(?:\.[0-9]+)+|v[0-9]";
    let things = "(?:auth|column|field|file|hash|hint|input|level|line|option|policy|prompt|reset|rule|step|table|test|type|user)[a-z]*[_-]?[0-9]{1,2}[a-z]*$";
    let types =
        "(?:(?:var)?char|string|text|u?int|float|number|min|max)[_-]?[0-9]{1,4}(?:[a-z]|chars?)?$|at-least-[0-9]";
    let places = r"[\w./:-]*/[\w./:-]*$|[\w-]+(?:\.[\w-]+)*\.[a-z]{1,5}$";
    pattern(&format!("^(?i-u:{names}|{lengths}|{versions}|{things}|{types}|{places})"))
});

/// Whether a value that a sentence announces, or that a secret is compared with, is one: letters and digits, of which a key
/// has many in a row.
pub(super) fn is_told(class: NameClass, value: &str) -> bool {
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    if class == NameClass::Password && is_passphrase(value) {
        return true;
    }
    if !has_digit
        || !has_letter
        || value.contains(char::is_whitespace)
        || (OF_SENTENCES.is_match(value) && !is_scrambled(value))
        || is_code(value)
    {
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

/// Whether a value is four words or more that hyphens join, as generators of passphrases write them, and not an adjective
/// such as `end-to-end-encrypted`.
fn is_passphrase(value: &str) -> bool {
    const OF_SECRETS: [&str; 6] = ["auth", "keys", "pass", "password", "secret", "token"];
    const ENDS_OF_ADJECTIVES: [&str; 6] = ["able", "based", "ed", "ing", "ly", "only"];
    let is_word = |word: &str| {
        (4..=10).contains(&word.len())
            && word.bytes().all(|byte| byte.is_ascii_lowercase())
            && !OF_SECRETS.contains(&word)
            && !is_of_sentences(word)
    };
    value.split('-').count() >= 4
        && value.split('-').all(is_word)
        && !ENDS_OF_ADJECTIVES.iter().any(|end| value.ends_with(end))
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

/// Words in place of a secret, whatever the name.
static NOTHING: LazyLock<Regex> = LazyLock::new(|| {
    let words = "any|api_?key|basic|bearer|blank|bool|boolean|bytes|change(?:me|it)|default|description|disabled|dummy|empty|\
        enabled|encrypted|enum|env|environment|example|false|hidden|include|inherit|input|int|integer|invalid|literal|masked|\
        missing|n/a|never|nil|no|none|not-set|null|number|object|off|omit|omitted|on|optional|optionalstring|\
        placeholder|prompt|redacted|required|same-origin|secretstr|select|set|str|string|text|token|true|undefined|\
        unknown|unset|unused|value|varchar|write|yes|passwort|kennwort|(?:mot de |palavra-)?passe|contraseña|senha|wachtwoord|hasło|\
        api[- ]schlüssel|clé|geheimnis|jeton|ключ|пароля|секрет|токен|密钥|令牌|秘密|\
        пароль|密码|密碼|パスワード|비밀번호|lösenord|salasana|şifre|parola|heslo|jelszó|adgangskode|passord";
    pattern(&format!("^(?i:{words})$"))
});
/// References to the place of a secret (a variable, a file, a vault), and stand-ins for one.
static REFERENCES: LazyLock<Regex> = LazyLock::new(|| {
    let variables = r"\$[a-z_]\w{0,63}$|%\w{1,63}%$|\$[{(\[]+<?[a-z_]|\{+[\s%#]*[a-z_][\w\s.:/()\[\]|-]*\}*$|(?:<|&lt;)[/!]?[a-z][\w\s.:/|-]*(?:>|&gt;?)?$|\{+$|\
        <+$|%[({]|[#@]\{|\$env:|\$[0-9]{1,2}$|!!(?:null|str|int|bool|map|seq)$|!(?:ref|sub|vault|secret|getatt|importvalue|env|env_?var|include)\d?(?:\s|$)|:(?-i:[a-z][a-z_]*)\d?$|(?-i:(?:Get|Read|New|Import|Invoke|ConvertTo|ConvertFrom)-[A-Z][A-Za-z]+)\d?$";
    // Paths and variables; a text in quotes inside of them can be a secret.
    let templates = r"\{\{-?\s*(?:env\s+)?[.$`][\w.$]*`?\s*-?\}\}$|<%=?\s*env\[['\x22]\w+['\x22]\]\s*%>$|@@(?-i:[A-Z][A-Z0-9_]*)@@$";
    let places =
        r"enc\[|op://|arn:|vault:|secret://|env[:.]|os\.environ|os\.getenv|process\.env|import\.meta|secrets\.";
    let others =
        r"file:/|sops:|ssm:|https?://[^@]*$|your[-_ ]|your(?:api)?(?:key|token|password)|insert[-_]|replace[-_]";
    // What a form checks.
    let rules = r"(?:required|nullable|sometimes|bail|confirmed|string)\||(?:min|max|size|same|between):[\w,]+$";
    pattern(&format!(r"^(?i:[*x.•…_?\#=-]*$|{variables}|{templates}|{places}|{others}|{rules})"))
});
/// Parts of such values, and marks of a cut.
static STAND_INS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)[-_]your[-_]|change[-_]?me|placeholder|redacted|replace[-_]?me|[-_]goes[-_]here"));
/// A file path.
static PATHS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:~|\.\.?|@)?/(?:[\w. -]{1,32}/)+[\w. -]{0,32}$|^(?:~|\.\.?)?/[\w-]{1,32}\.[a-z]{1,5}$|^projects/[\w.-]+/(?:locations/[\w-]+/)?secrets/[\w./-]+$|^secret/(?:meta)?data/[\w./-]+$",
    )
});
/// A call, an element, or an attribute of something.
static CALLS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^[&*!@]*[A-Za-z_][\w.:?]*!?[(\[<]|^[&*!@]*[A-Za-z_]+(?:[.:?]+[A-Za-z_]+\d{0,2})+$"));
/// A variable with the name of a secret.
static VARIABLES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?i)[&*!@]*[a-z_]*(?:passw(?:or)?d|pwd|secret|token|key|credential|auth_?header)[a-z_]*\d{0,2}$")
});

/// Whether a text names variables that a shell or a template puts in.
fn has_references(text: &str) -> bool {
    ["${", "$(", "{{", "%{"].iter().any(|opening| text.contains(opening))
}

/// Whether a value refers to the place of a secret, or stands in for one: dots, crosses, `your-key`.
pub(super) fn is_reference(value: &str) -> bool {
    let is_cut = value.contains("...") || value.contains('…') || value.contains("***");
    let is_short = || value.trim_matches(['.', '…', '*', 'x', 'X']).len() < 16;
    // Stand-ins are short; a long value with such a word by chance is a key.
    (is_cut && is_short()) || REFERENCES.is_match(value) || (value.len() <= 80 && STAND_INS.is_match(value))
}

/// Whether a value begins as a flag, a path or an address does, and is not as random as a key.
pub(super) fn begins_otherwise(value: &str) -> bool {
    let is_random_key = || is_scrambled(value) || is_dense(value, 12) && varied(value);
    value.starts_with(':') || value.starts_with(['-', '/']) && !is_random_key()
}

/// Words of sentences about passwords, which passwords of several words lack.
const WORDS_OF_SENTENCES: &[&str] = &[
    "a",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "been",
    "by",
    "can",
    "cannot",
    "could",
    "did",
    "do",
    "does",
    "else",
    "enter",
    "field",
    "file",
    "for",
    "from",
    "has",
    "have",
    "here",
    "if",
    "in",
    "incorrect",
    "invalid",
    "is",
    "it",
    "its",
    "key",
    "match",
    "must",
    "need",
    "needs",
    "new",
    "no",
    "not",
    "of",
    "on",
    "one",
    "optional",
    "or",
    "our",
    "password",
    "passwords",
    "please",
    "required",
    "secret",
    "should",
    "so",
    "that",
    "the",
    "their",
    "then",
    "this",
    "to",
    "token",
    "use",
    "used",
    "user",
    "uses",
    "value",
    "was",
    "we",
    "were",
    "when",
    "which",
    "will",
    "with",
    "you",
    "your",
];

fn is_of_sentences(word: &str) -> bool {
    WORDS_OF_SENTENCES.contains(&word)
}

/// Whether several words can be a secret: none of them is of a sentence.
pub(super) fn is_phrase(value: &str) -> bool {
    let words: Vec<&str> = value.split_whitespace().collect();
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let is_of_sentence = |word: &&str| is_of_sentences(&bare(word));
    let is_assignment = |word: &&str| word.len() < 3 && !word.contains(char::is_alphanumeric);
    value.chars().count() >= 3
        && words.len() <= 12
        && !value.ends_with(['.', '?', '!', ':', ',', '{', '('])
        && value.starts_with(|c: char| c.is_alphanumeric() || "$<{!@#%^&*".contains(c))
        && !POINTERS.contains(&bare(words[0]).as_str())
        && (words.iter().any(is_key_in_phrase)
            || !words
                .iter()
                .any(|word| is_of_sentence(word) || is_assignment(word) || is_call(word) || is_nothing(word)))
}

/// The first words of a sentence that says where a password is, in place of the password.
const POINTERS: [&str; 24] = [
    "ask", "auf", "check", "consulte", "contact", "demander", "demandez", "fragen", "in", "kept", "like", "min",
    "refer", "same", "saved", "see", "siehe", "stored", "vedi", "ver", "via", "voir", "zie", "см",
];

/// Whether a word is as random as a key, so that the words beside it are a part of the secret.
pub(super) fn is_key_in_phrase(word: &&str) -> bool {
    is_dense(word, 12) && varied(word)
}

/// Whether a value has a digit that is not at its end, as the numbers of words are.
pub(super) fn is_no_numbered_word(value: &str) -> bool {
    value.trim_end_matches(|c: char| c.is_ascii_digit()).contains(|c: char| c.is_ascii_digit())
}

/// Whether a value of a raw string or of a template is random, and has no marks of either.
pub(super) fn is_plain(value: &str) -> bool {
    let is_mark = |c: char| c.is_whitespace() || "\\{}()[]<>*|^$".contains(c);
    is_random(value, 8) && is_no_numbered_word(value) && !value.contains(is_mark)
}

/// Whether a name is that of the words which a wallet is restored from.
fn is_wallet(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("mnemonic") || name.contains("phrase")
}

/// Whether words are those of a wallet: a multiple of three, from a list of short words.
fn is_mnemonic(value: &str) -> bool {
    let words: Vec<&str> = value.split_whitespace().collect();
    let is_listed = |word: &&str| (3..=8).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_lowercase());
    (12..=24).contains(&words.len()) && words.len().is_multiple_of(3) && words.iter().all(is_listed)
}

/// Whether a value is not a secret, whatever its name.
pub(super) fn is_nothing(value: &str) -> bool {
    !value.chars().any(char::is_alphanumeric)
        || NOTHING.is_match(value.trim_end_matches('!'))
        || is_reference(value)
        || is_path(value)
}

/// Whether a value is the path of a file or of a resource, and not Base64 that a slash begins or parts.
fn is_path(value: &str) -> bool {
    PATHS.is_match(value) && !(varied(value) && is_scrambled(value))
}

/// Whether a value repeats its own name, as in `api_key=api_key` or `{"password": "password"}`.
pub(super) fn is_own_name(name: &str, value: &str) -> bool {
    let letters = |text: &str| text.replace(['_', '-', '.'], "").to_ascii_lowercase();
    let is_name = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name && value.len() <= name.len() && letters(name).ends_with(&letters(value))
}

/// Whether an unquoted value is a call, an element or an attribute.
pub(super) fn is_call(value: &str) -> bool {
    let value = value.split(',').next().unwrap_or(value).trim_end_matches([';', ')', '}']);
    (value.starts_with(['(', '[', '{', '|', '\\']) && !is_random_in_brackets(value))
        || (CALLS.is_match(value) && !is_random_in_brackets(value))
}

/// Whether a value with brackets is random characters and not code: letters and digits alternate before a bracket, or
/// marks that code does not put there are beside it.
fn is_random_in_brackets(value: &str) -> bool {
    let word = value.trim_start_matches(['(', '[', '{', '<', '$']);
    let (word, rest) = word.split_at(word.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(word.len()));
    let is_macro = ["![", "!(", "!{"].iter().any(|bracket| rest.starts_with(bracket));
    let changes =
        word.as_bytes().windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    let is_mixed = changes >= 2 && word.bytes().any(|byte| byte.is_ascii_uppercase()) && !word.contains("64");
    let marks = value.bytes().filter(|byte| b"!#%^~@$&;?".contains(byte)).count();
    is_mixed || (marks > 1 && !is_macro && !value.contains(['"', '\'']))
}

/// Words that end in `key` and name none. Passwords have them.
const WITHOUT_KEYS: [&str; 6] = ["monkey", "donkey", "turkey", "hockey", "jockey", "whiskey"];

/// Whether an unquoted value is code: a call, or a variable with the name of a secret.
pub(super) fn is_code(value: &str) -> bool {
    let is_variable = VARIABLES.is_match(value.trim_end_matches([',', ';', ')', '}']));
    let begins = |word: &&str| value.get(..word.len()).is_some_and(|first| first.eq_ignore_ascii_case(word));
    is_call(value) || is_variable && !WITHOUT_KEYS.iter().any(|word| begins(&word))
}

/// Whether a value has a run of at least `least` letters and digits, with both in it.
pub(super) fn is_dense(value: &str, least: usize) -> bool {
    value.split(|c: char| !c.is_ascii_alphanumeric()).any(|run| run.len() >= least && is_random(run, least))
}

/// Whether a value mixes letters with digits or marks, as no word does, or has letters in an order that no word has.
pub(super) fn is_random(value: &str, least: usize) -> bool {
    let has = |test: fn(&u8) -> bool| value.bytes().any(|byte| test(&byte));
    let letters = has(u8::is_ascii_alphabetic) || !value.is_ascii();
    let marks = has(|byte| byte.is_ascii_punctuation() && !matches!(byte, b'_' | b'-' | b'.' | b'\'' | b','));
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'_' | b'e'));
    value.chars().count() >= least && !is_number && letters && (has(u8::is_ascii_digit) || marks || is_scrambled(value))
}

/// Whether a value has letters among digits as no word does, and capitals or marks as no name of an algorithm does.
pub(super) fn is_no_identifier(value: &str) -> bool {
    let is_mark = |byte: u8| byte.is_ascii_punctuation() && !b"_-.".contains(&byte);
    value.len() >= 8 && is_dense(value, 4) && value.bytes().any(|byte| byte.is_ascii_uppercase() || is_mark(byte))
}

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*NOTHING, &*OF_SENTENCES, &*REFERENCES, &*STAND_INS, &*PATHS, &*CALLS, &*VARIABLES]
}

/// The fewest bytes of a key that is searched for a spelled secret.
const SHORTEST_IN_KEY: usize = 12;

/// Ranges in order and apart.
type Ranges<'r> = &'r [Range<usize>];

/// The member whose value a string is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Member<'n> {
    /// None with a name.
    Unnamed,
    /// A member of this name.
    Named(&'n str),
    /// A member that describes the structure of a message.
    Structural,
    /// A member that its provider verifies.
    Sealed,
    /// None: the name of a member that a tool has written.
    Name,
}

impl Member<'_> {
    /// What the member is inside a tool's arguments or results, where no format has members of its own.
    fn in_data(self, is_data: bool) -> Self {
        if is_data && matches!(self, Member::Structural | Member::Sealed) { Member::Unnamed } else { self }
    }
}

/// An open object or list around a string.
#[derive(Default)]
struct OpenContainer {
    is_object: bool,
    /// The key of the next value, unless it comes next; a list has its own key.
    key: Option<String>,
    /// The key of an object, or of the list that it is in, if it is that of a secret.
    secret_name: Option<String>,
    /// The text of the member `name` or `key`, which may name the member called `value`.
    label: Option<String>,
    /// The place and the text of the member called `value`, where no name came before it.
    unnamed: Option<(Range<usize>, String)>,
}

impl Redactor {
    /// The edits of the strings in one value, in order. `data` are the parts that a tool has written, and `gone` those
    /// that are passed over, both in order and apart.
    pub fn edits_in(&mut self, json: Json<'_>, data: Ranges<'_>, gone: Ranges<'_>, depth: usize) -> Vec<Edit> {
        let mut edits: Vec<Edit> = Vec::new();
        let mut open = vec![OpenContainer::list(String::new())];
        for token in json.tokens() {
            let Some(container) = open.last_mut() else { break };
            match token {
                Token::Open(kind) => {
                    let key = container.take_key();
                    let new = if kind == JsonKind::Object { OpenContainer::object } else { OpenContainer::list };
                    open.push(new(key));
                }
                Token::Close => {
                    let closed = open.pop().and_then(|object| object.unnamed.zip(object.label));
                    if let Some(((range, value), label)) = closed {
                        // An edit of the value stands behind all that are before the value.
                        let before = edits.iter().rposition(|edit| edit.range.start < range.start);
                        let behind = edits.split_off(before.map_or(0, |last| last + 1));
                        edits.extend(behind.into_iter().filter(|edit| edit.range != range));
                        edits.extend(self.edit(&value, Member::Named(&label), range, depth));
                    }
                }
                Token::Scalar(scalar) => match scalar.text() {
                    Some(text) if container.key.is_none() => {
                        let key = text.decode();
                        if key.len() >= SHORTEST_IN_KEY && !is_inside(gone, &scalar.span()) {
                            let is_data = is_inside(data, &scalar.span());
                            let member = if is_data { Member::Name } else { Member::Structural };
                            edits.extend(self.edit(&key, member, scalar.span(), depth));
                        }
                        container.read_key(key.into_owned());
                    }
                    Some(_) if is_inside(gone, &scalar.span()) => drop(container.take_key()),
                    Some(text) => {
                        let (key, value, range) = (container.take_key(), text.decode(), scalar.span());
                        let member = container.member(&key).in_data(is_inside(data, &range));
                        edits.extend(self.edit(&value, member, range.clone(), depth));
                        container.pass_text(&key, &value, range);
                    }
                    None => drop(container.take_key()),
                },
            }
        }
        sort(&mut edits);
        edits
    }
}

impl OpenContainer {
    fn object(key: String) -> Self {
        let secret_name = names::classify(&key).map(|_| key);
        OpenContainer { is_object: true, secret_name, ..OpenContainer::default() }
    }

    fn list(key: String) -> Self {
        OpenContainer { key: Some(key), ..OpenContainer::default() }
    }

    /// Reads the key of a member. In an object with a secret's name, `value` and the like are secret too.
    fn read_key(&mut self, key: String) {
        let outer = self.secret_name.as_deref().filter(|_| names::classify(&key).is_none());
        let both = outer.map(|outer| format!("{outer}.{key}"));
        let is_key = |both: &String| matches!(names::classify(both), Some(NameClass::Password | NameClass::Key));
        let is_secret = |both: &String| both.starts_with("cookies.") || is_key(both);
        self.key = both.filter(is_secret).or(Some(key));
    }

    /// The key of the next value, before which the next key comes.
    fn take_key(&mut self) -> String {
        let key = if self.is_object { self.key.take() } else { self.key.clone() };
        key.unwrap_or_default()
    }

    fn pass_text(&mut self, key: &str, value: &str, range: Range<usize>) {
        let is = |name: &&str| key.eq_ignore_ascii_case(name);
        if self.is_object && ["name", "key", "variable"].iter().any(is) && value.len() <= 64 {
            self.label = Some(value.to_owned());
        } else if self.is_object && is(&"value") && self.label.is_none() {
            self.unnamed = Some((range, value.to_owned()));
        }
    }

    fn member<'o>(&'o self, key: &'o str) -> Member<'o> {
        match &self.label {
            _ if key.is_empty() => Member::Unnamed,
            Some(label) if key.eq_ignore_ascii_case("value") => Member::Named(label),
            _ if names::is_sealed(key) => Member::Sealed,
            _ if names::is_structural(key) => Member::Structural,
            _ => Member::Named(key),
        }
    }
}
