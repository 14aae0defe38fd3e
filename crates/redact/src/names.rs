//! Decides whether a name suggests that its value is a secret.
//!
//! A name is split into words. `db_password` and `accessToken` end in a word for secrets. A word such as `hash`, `name`
//! or `max` means that the value is not a secret. Whether the value itself is one, [`crate::values`]
//! decides.

use std::sync::LazyLock;

use regex::Regex;

use crate::kinds::{AUTHORIZATION, COOKIE, ENV_SECRET, PASSWORD, SECRET};
use crate::pattern::pattern;

/// The kind of secret that a name suggests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameClass {
    /// A password, or an unspecific secret: it may be any word.
    Password,
    /// A key or token of a service: it is not a word.
    Key,
    /// A name such as `token`, `auth` or `pass`, which has other meanings too: the value must look like a key.
    Ambiguous,
    /// An authorization header: a scheme and a secret, or a secret alone.
    Authorization,
    /// A cookie header: names and values.
    Cookie,
}

/// Words in names that are not secrets: what a secret is for, or metadata of one.
static NOT_SECRET: LazyLock<Regex> = LazyLock::new(|| {
    let kinds =
        "public|pub|publishable|primary|foreign|partition|allow|sort|cache|routing|idempotency|hot|index|keyboard";
    let about = "hash|hashed|hashers?|validators?|hint|name|file|path|dir|url|uri|host|port|ids?|types?|mode|expir\\w*|ttl|age|days|minutes|\
        seconds|timeout|enabled|required|algorithm|prefix|suffix|header|policy|endpoint|sock|username|email|method|\
        provider|domain|bucket|version|region|column|field|format|regex|pattern|rotation|error|errors|msg|message|label|\
        title|text|description|placeholder|invalid|reset|pos|position|offset|span|kind|length|len|size|count|counts|limit|budget|usage|rate|cost";
    let tokens = "max|min|next|prev|previous|page|pad|eos|bos|unk|cls|sep|mask|special|first|last|start|stop|end|input|\
        output|prompt|completion|continuation|image|cancel|cancellation|class|per|sync|top|total|csrfmiddleware";
    pattern(&format!(
        "(?:^|_)(?:{kinds}|{about}|{tokens})(?:_|$)|(?:^|_)user$|^(?:old_?)?pwd$|^(?:export|delete|list)_secret_(?:sub)?keys$|existing_secret_\\w*key$|_(?:backend|helper|process|source|store)$"
    ))
});
/// Names of passwords with such a word before, which says what the password is for.
static FOR: LazyLock<Regex> = LazyLock::new(|| {
    let whose = "email|host|file|image|domain|provider|bucket|username|text";
    pattern(&format!("(?:^|_)(?:(?:{whose})_(?:password|passwd|passphrase|pass)|hash_(?:salt|secret))$"))
});
/// Names of passwords; unimportant words may follow.
static PASSWORDS: LazyLock<Regex> = LazyLock::new(|| {
    let words = "mnemonic|(?:seed|recovery|backup)_?phrase|(?:^|_)(?:psk|pw|psw|mdp)|rootpw|bindpw|secret_string|authtok|requirepass|(?:auth|hash|password)_pepper";
    ending(&format!("(?:pass(?:word|wd|phrase|code|wort)|pwd|secret|dbpass|credential)s?|{words}"))
});
/// Names of keys.
static KEYS: LazyLock<Regex> = LazyLock::new(|| {
    let keys = "(?:api|secret|access|private|auth|master|sign(?:ing)?|encryption|account|client|service|shared|license|\
        app|subscription)_?keys?";
    ending(&format!(
        "{keys}|(?:unseal|activation|wpa|wifi)_?key|(?:recovery|backup)_?codes?|_token|_bearer|signing_salt|(?:api|access|auth|bot|bearer|refresh|identity)token|dockerconfigjson|_pass|_pw"
    ))
});
/// Names of environment variables that end in a word which means a secret only there.
static VARIABLES: LazyLock<Regex> =
    LazyLock::new(|| ending("(?:^|_)(?:pass|token|salt)|_(?:key|pat|pin|dsn|auth|pw)|pass|apikey|pepper"));
/// Names that may mean a secret.
static AMBIGUOUS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        "(?:^|_)(?:token|auth|pass|pw|secret|cookies)(?:_|$)|^(?:phpsessid|jsessionid)$|(?:session|auth|login|erlang)_cookie$|(?:_key|passw(?:or)?d|passphrase|secret|credential)(?:_|s?$)",
    )
});
/// Names of what holds a secret, in charts of Helm and in pods.
static HOLDERS: LazyLock<Regex> = LazyLock::new(|| {
    pattern("(?:^|_)(?:existing|pull|tls|cert|certificate|ca|ingress|password|credentials?|db)_secrets?$")
});
/// The names of headers with a secret, in their own spelling.
static HEADERS: LazyLock<Regex> = LazyLock::new(|| {
    pattern("^(?i:(?:proxy-)?authorization|api-key|x-(?:[a-z]+-)*(?:api-?key|key|token|secret|auth|authorization))$")
});

fn ending(words: &str) -> Regex {
    let unimportant = r"\d+|b64|base|base64|confirm|confirmation|data|dev|live|new|old|plain|prod|staging|test|value";
    pattern(&format!("(?:{words})(?:_?\\d+|_(?:{unimportant}))*$"))
}

/// The kind of secret that a name suggests, if any.
pub(super) fn classify(name: &str) -> Option<NameClass> {
    if HEADERS.is_match(name) {
        return Some(NameClass::Authorization);
    }
    let words = words(name);
    match words.as_str() {
        "cookie" | "set_cookie" => Some(NameClass::Cookie),
        // A token that tells who somebody is, and not the id of one.
        words if ["id_token", "reset_token"].iter().any(|end| words == *end || words.ends_with(&format!("_{end}"))) => {
            Some(NameClass::Key)
        }
        // Charts of Helm name the Secret there.
        words if HOLDERS.is_match(words) => Some(NameClass::Ambiguous),
        words if FOR.is_match(words) => Some(NameClass::Password),
        words if NOT_SECRET.is_match(words) && name != "pwd" => None,
        words if PASSWORDS.is_match(words) => Some(NameClass::Password),
        words if is_environment(name) && VARIABLES.is_match(words) => Some(NameClass::Password),
        words if KEYS.is_match(words) => Some(NameClass::Key),
        words if AMBIGUOUS.is_match(words) => {
            Some(if is_environment(name) { NameClass::Key } else { NameClass::Ambiguous })
        }
        _ => None,
    }
}

/// Whether a name suggests that its value is a secret.
pub fn is_secret_name(name: &str) -> bool {
    classify(name).is_some()
}

/// The kind of a secret with such a name.
pub(super) fn kind(class: NameClass, name: &str) -> &'static str {
    match class {
        NameClass::Authorization => AUTHORIZATION,
        NameClass::Cookie => COOKIE,
        _ if is_environment(name) => ENV_SECRET,
        NameClass::Password if !name.to_ascii_lowercase().ends_with("secret") => PASSWORD,
        _ => SECRET,
    }
}

/// The words of a name in lower case with `_` between them. Words end at other characters, and where lower case meets
/// upper case.
fn words(name: &str) -> String {
    let bytes = name.as_bytes();
    let mut words = String::with_capacity(name.len() + 8);
    for (index, byte) in bytes.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| bytes[before]);
        let starts_word = before.is_some_and(|before| before.is_ascii_lowercase() || before.is_ascii_digit())
            || (before.is_some_and(|before| before.is_ascii_uppercase())
                && bytes.get(index + 1).is_some_and(u8::is_ascii_lowercase));
        if !byte.is_ascii_alphanumeric() || (byte.is_ascii_uppercase() && starts_word) {
            words.push('_');
        }
        if byte.is_ascii_alphanumeric() {
            words.push(char::from(byte.to_ascii_lowercase()));
        }
    }
    words
}

/// Whether a name is spelled like an environment variable.
pub(super) fn is_environment(name: &str) -> bool {
    name.len() > 2
        && name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Whether a member of this name describes the structure of a message and not its content. Only a spelled secret counts
/// there.
pub(super) fn is_structural(name: &str) -> bool {
    const STRUCTURAL: &str = "event finish_reason id index kind mime_type model name object role stop_reason status \
        timestamp type uuid";
    let is_id = ["Id", "ID", "_id", "Uuid"].iter().any(|end| name.ends_with(end));
    is_id || STRUCTURAL.split_whitespace().any(|structural| structural == name)
}

/// Whether a member of this name is opaque: bytes that its provider verifies.
pub(super) fn is_sealed(name: &str) -> bool {
    ["encrypted_content", "redactedContent", "signature", "thoughtSignature", "thought_signature"].contains(&name)
}

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*FOR, &*HOLDERS, &*NOT_SECRET, &*PASSWORDS, &*KEYS, &*VARIABLES, &*AMBIGUOUS, &*HEADERS]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_decides() {
        for (expected, names) in [
            (
                Some(NameClass::Password),
                "password DB_PASSWORD PGPASSWORD spring.datasource.password clientSecret AZURE_DEVOPS_PAT",
            ),
            (
                Some(NameClass::Password),
                "password_confirmation OPENAI_API_KEY API_KEY_2 SECRET_KEY_BASE SMTP_PASS AUTH_SALT",
            ),
            (
                Some(NameClass::Key),
                "apiKey APIKey SecretAccessKey client-key-data access_token _authToken STRIPE_SECRET_KEY_EU",
            ),
            (Some(NameClass::Ambiguous), "token _auth algolia_key password_again"),
            (Some(NameClass::Authorization), "Proxy-Authorization authorization x-api-key Api-Key X-Auth-Token"),
            (Some(NameClass::Cookie), "Set-Cookie cookie"),
            (
                None,
                "max_tokens total_tokens tokenizer next_page_token eos_token password_hash PASSWORD_FILE secret_name PWD",
            ),
            (
                None,
                "primary_key public_key cache_key key author compass aws_access_key_id private_key_id secretary KEYBOARD",
            ),
            (None, "TOKEN_LIMIT STRIPE_PUBLISHABLE_KEY GIT_AUTHOR_NAME SSH_AUTH_SOCK TOKENIZERS_PARALLELISM"),
        ] {
            for name in names.split(' ') {
                assert_eq!(classify(name), expected, "{name}");
            }
        }
    }
}
