//! What stands behind a name that says secret: whether it is the secret itself, or a word, a type, a reference to where
//! the secret is, or the code that gets it.
//!
//! Nothing here finds anything; [`super::names`] and [`super::shapes`] ask.

/// What is written where a secret is not, in small letters.
const NO_SECRETS: [&str; 66] = [
    "any",
    "api_key",
    "apikey",
    "basic",
    "bearer",
    "blank",
    "bool",
    "boolean",
    "bytes",
    "changeme",
    "default",
    "description",
    "disabled",
    "dummy",
    "empty",
    "enabled",
    "encrypted",
    "enum",
    "env",
    "environment",
    "false",
    "hidden",
    "include",
    "inherit",
    "input",
    "int",
    "integer",
    "invalid",
    "literal",
    "masked",
    "missing",
    "n/a",
    "never",
    "nil",
    "no",
    "none",
    "not-set",
    "null",
    "number",
    "object",
    "off",
    "omit",
    "omitted",
    "on",
    "optional",
    "optionalstring",
    "placeholder",
    "prompt",
    "redacted",
    "required",
    "same-origin",
    "secret",
    "secretstr",
    "select",
    "set",
    "str",
    "string",
    "text",
    "true",
    "undefined",
    "unknown",
    "unset",
    "unused",
    "varchar",
    "write",
    "yes",
];
/// What such a value begins with, in small letters.
const STAND_IN_BEGINNINGS: [&str; 8] =
    ["your-", "your_", "your ", "yourapikey", "insert-", "insert_", "replace-", "replace_"];
/// What such a value has inside, in small letters.
const STAND_INS: [&str; 12] = [
    "-your-",
    "_your_",
    "changeme",
    "change-me",
    "change_me",
    "placeholder",
    "redacted",
    "replaceme",
    "replace-me",
    "replace_me",
    "-goes-here",
    "_goes_here",
];
/// What a reference to a secret begins with: where code or a deployment finds it.
const REFERENCES: [&str; 30] = [
    "${",
    "$(",
    "$[",
    "$env:",
    "{",
    "<",
    "%(",
    "%{",
    "#{",
    "@{",
    "!ref",
    "!sub",
    "!vault",
    "!secret",
    "enc[",
    "op://",
    "arn:",
    "vault:",
    "secret://",
    "env:",
    "env.",
    "os.environ",
    "os.getenv",
    "process.env",
    "import.meta",
    "file://",
    "file:/",
    "secrets.",
    "sops:",
    "ssm:",
];

/// Whether something stands in the place of a key and is none: dots, crosses, `your-key`, `changeme`.
pub(super) fn is_stand_in(value: &str) -> bool {
    let blank = |c: char| matches!(c, '*' | 'x' | 'X' | '.' | '•' | '…' | '-' | '_' | '#' | '?' | '=');
    if value.chars().all(blank) {
        return true;
    }
    let rest = value.trim_matches(['.', '…', '*', 'x', 'X']);
    let is_cut = value.contains("...") || value.contains('…') || value.contains("***");
    if begins_as_stand_in(value) {
        return true;
    }
    // Words are short, and what is long and holds one of them by chance is a key.
    let small: String = value.chars().take(80).collect::<String>().to_ascii_lowercase();
    (is_cut && rest.len() < 16) || (value.len() <= 80 && STAND_INS.iter().any(|word| small.contains(word)))
}

/// Whether something begins as what stands in the place of a key.
pub(super) fn begins_as_stand_in(value: &str) -> bool {
    STAND_IN_BEGINNINGS
        .iter()
        .any(|beginning| value.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning)))
}

/// Whether something names a place where the secret is, rather than the secret: a variable, a file, an address.
pub(super) fn is_reference(value: &str) -> bool {
    let small: String = value.chars().take(16).collect::<String>().to_ascii_lowercase();
    let is_variable = |name: &str| is_identifier(name) && name.len() < 64;
    let is_blank = |c: char| matches!(c, '*' | 'x' | 'X' | '.' | '•' | '…' | '-' | '_' | '?');
    value.chars().all(is_blank)
        || REFERENCES.iter().any(|beginning| small.starts_with(beginning))
        || value.strip_prefix('$').is_some_and(is_variable)
        || value.strip_prefix('%').and_then(|rest| rest.strip_suffix('%')).is_some_and(is_variable)
        || is_path(value)
        || ((small.starts_with("http://") || small.starts_with("https://")) && !value.contains('@'))
}

/// Whether something is a path of a file.
fn is_path(value: &str) -> bool {
    let is_rooted = ["/", "./", "../", "~/"].iter().any(|root| value.starts_with(root));
    let is_word = |part: &str| part.len() <= 32 && !part.contains(['+', '=', '@', '!', '#', '$', '%', '&', ';', ':']);
    is_rooted && (value.matches('/').count() > 1 || value.contains('.')) && value.split('/').all(is_word)
}

/// Whether a value is no secret, whatever its name says.
pub(super) fn is_no_secret(name: &str, value: &str) -> bool {
    let small = value.to_ascii_lowercase();
    !value.chars().any(char::is_alphanumeric)
        || value.len() > 16 * 1024
        || NO_SECRETS.binary_search(&small.as_str()).is_ok()
        || value.eq_ignore_ascii_case(name)
        || (value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && letters(name).ends_with(&letters(value)))
        || is_stand_in(value)
        || is_reference(value)
}

/// The letters and digits of something, small: `api_key` and `apiKey` are the same.
fn letters(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether something is a name in code.
fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a value without quotes is code: a call, an attribute, an element, a variable called as secrets are.
pub(super) fn is_code(value: &str) -> bool {
    let value = value.trim_start_matches(['&', '*', '!', '@']).trim_end_matches([',', ';', ')', '}']);
    let name_end = value.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.' || c == ':' || c == '?'));
    let name = &value[..name_end.unwrap_or(value.len())];
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return value.starts_with(['(', '[', '{', '|', '\\']);
    }
    let is_plain = |part: &str| {
        let ends = part.trim_end_matches(|c: char| c.is_ascii_digit());
        part.len() - ends.len() <= 2 && ends.chars().all(|c| c.is_ascii_alphabetic() || c == '_')
    };
    let says_secret = ["password", "passwd", "pwd", "secret", "token", "key", "credential"]
        .iter()
        .any(|word| value.to_ascii_lowercase().contains(word));
    match name_end.map(|end| &value[end..]) {
        Some(rest) if rest.starts_with(['(', '[', '<']) => true,
        Some(_) => false,
        None if name.contains(['.', ':']) => name.split(['.', ':']).all(is_plain),
        None => says_secret && is_plain(name),
    }
}

/// Whether a value has so many letters and digits in a row, and both.
pub(super) fn is_dense(value: &str, least: usize) -> bool {
    let mut runs = value.split(|c: char| !c.is_ascii_alphanumeric());
    runs.any(|run| run.len() >= least && is_random(run, least))
}

/// Whether a value is made of letters and digits, or letters and marks, as no word is.
pub(super) fn is_random(value: &str, least: usize) -> bool {
    let has = |test: fn(&u8) -> bool| value.bytes().any(|byte| test(&byte));
    let letters = has(u8::is_ascii_alphabetic) || !value.is_ascii();
    let digits = has(u8::is_ascii_digit);
    let marks =
        value.bytes().any(|byte| byte.is_ascii_punctuation() && !matches!(byte, b'_' | b'-' | b'.' | b'\'' | b','));
    let cases = value.len() >= 20 && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'_' | b'e'));
    value.chars().count() >= least && !is_number && letters && (digits || marks || cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_in_order() {
        assert!(NO_SECRETS.is_sorted());
    }
}
