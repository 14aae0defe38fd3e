//! Whether a name says that a secret stands behind it.
//!
//! A name is taken apart into words, and its last word decides: `db_password` and `accessToken` say secret, `password_hash`,
//! `secret_name` and `max_tokens` do not. What the value then is, [`super::values`] knows.

/// What a name says of the value behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    /// A password, or what is simply called secret: it may be any word.
    Password,
    /// A key or a token of some service: it is no word.
    Key,
    /// No more than `token`, `auth` or `pass`, which have other meanings: what stands there must look like a key.
    Perhaps,
    /// The words that a wallet is made of.
    Phrase,
    /// An address with the secret among its parts.
    Connection,
    /// An authorization header: a scheme and a secret.
    Authorization,
    /// A cookie header: names and values.
    Cookie,
}

/// Words behind the one that counts that change nothing.
const QUALIFIERS: [&str; 22] = [
    "again",
    "b64",
    "base64",
    "confirm",
    "confirmation",
    "dev",
    "development",
    "live",
    "main",
    "new",
    "old",
    "plain",
    "plaintext",
    "prd",
    "primary",
    "prod",
    "production",
    "secondary",
    "staging",
    "test",
    "val",
    "value",
];
/// Words before `key` with which it is a secret.
const KEYS: [&str; 63] = [
    "access",
    "account",
    "admin",
    "ai",
    "anthropic",
    "api",
    "app",
    "application",
    "auth",
    "aws",
    "azure",
    "cipher",
    "client",
    "cohere",
    "consumer",
    "cookie",
    "crypto",
    "dashscope",
    "datadog",
    "deepseek",
    "deploy",
    "elevenlabs",
    "encryption",
    "exa",
    "fireworks",
    "function",
    "functions",
    "gemini",
    "github",
    "google",
    "groq",
    "hmac",
    "integration",
    "jwt",
    "license",
    "mailgun",
    "master",
    "mistral",
    "model",
    "openai",
    "openrouter",
    "perplexity",
    "pinecone",
    "private",
    "project",
    "rapidapi",
    "resend",
    "role",
    "secret",
    "security",
    "sendgrid",
    "serper",
    "service",
    "session",
    "shared",
    "signing",
    "storage",
    "stripe",
    "subscription",
    "tavily",
    "twilio",
    "webhook",
    "xai",
];
/// Words before `token` with which it is none: pieces of text, pages of a list.
const NO_TOKENS: [&str; 32] = [
    "bos",
    "cancel",
    "cancellation",
    "class",
    "cls",
    "completion",
    "continuation",
    "current",
    "end",
    "eos",
    "first",
    "image",
    "input",
    "last",
    "mask",
    "max",
    "min",
    "next",
    "output",
    "pad",
    "page",
    "per",
    "prev",
    "previous",
    "prompt",
    "sep",
    "special",
    "start",
    "stop",
    "sync",
    "top",
    "unk",
];

/// What a name says, if it says secret.
pub(super) fn says(name: &str) -> Option<Says> {
    let mut words = words(name);
    while words.len() > 1 && words.last().is_some_and(|last| is_qualifier(last)) {
        words.pop();
    }
    let last = words.pop()?;
    let before = words.pop();
    let before = before.as_deref();
    let ends = |endings: &[&str]| endings.iter().any(|ending| last.ends_with(ending));
    match last.as_str() {
        // The working directory.
        "pwd" | "oldpwd" if before.is_none() && !name.contains(|c: char| c.is_ascii_lowercase()) => None,
        "passcode" | "credential" | "credentials" => Some(Says::Key),
        "pass" | "token" | "auth" | "pw" => match before {
            Some(word) if last == "token" && NO_TOKENS.contains(&word) => None,
            Some(_) if last != "auth" => Some(Says::Key),
            _ => Some(Says::Perhaps),
        },
        "key" => before.filter(|word| KEYS.contains(word)).map(|_| Says::Key),
        // What Kubernetes and Rails call theirs.
        "data" | "base" => matches!(before, Some("key")).then_some(Says::Key),
        "authorization" => Some(Says::Authorization),
        "cookie" => Some(Says::Cookie),
        "mnemonic" => Some(Says::Phrase),
        "phrase" => matches!(before, Some("seed" | "recovery" | "secret" | "backup")).then_some(Says::Phrase),
        "string" | "str" => matches!(before, Some("connection" | "conn")).then_some(Says::Connection),
        "connectionstring" | "connstring" | "connstr" | "connection" => {
            (last != "connection").then_some(Says::Connection)
        }
        _ if ends(&["password", "passwd", "passphrase", "pwd", "secret", "dbpass", "passwort"]) => Some(Says::Password),
        _ if ends(&["apikey", "secretkey", "accesskey", "privatekey", "authkey", "masterkey", "signingkey"]) => {
            Some(Says::Key)
        }
        _ if ends(&["accesstoken", "authtoken", "apitoken", "refreshtoken", "bottoken", "bearertoken"]) => {
            Some(Says::Key)
        }
        _ => None,
    }
}

fn is_qualifier(word: &str) -> bool {
    QUALIFIERS.contains(&word) || word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The words of a name in small letters: parted by what is no letter, and where small letters meet capitals.
fn words(name: &str) -> Vec<String> {
    let bytes = name.as_bytes();
    let mut words = vec![String::new()];
    for (index, byte) in bytes.iter().enumerate() {
        if !byte.is_ascii_alphanumeric() {
            words.push(String::new());
            continue;
        }
        let before = index.checked_sub(1).map(|before| bytes[before]);
        let after = bytes.get(index + 1);
        let turns = before.is_some_and(|before| before.is_ascii_lowercase() || before.is_ascii_digit())
            || (before.is_some_and(|before| before.is_ascii_uppercase()) && after.is_some_and(u8::is_ascii_lowercase));
        if byte.is_ascii_uppercase() && turns {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a name is written as those of environment variables are.
pub(super) fn is_environment(name: &str) -> bool {
    name.len() > 2
        && name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Whether a member of that name says how a message is built rather than what is said in it, so that only what is spelled
/// as a secret is one there.
pub(super) fn is_structural(name: &str) -> bool {
    const STRUCTURAL: [&str; 20] = [
        "call_id",
        "callId",
        "event",
        "finish_reason",
        "id",
        "index",
        "kind",
        "mime_type",
        "model",
        "name",
        "object",
        "role",
        "stop_reason",
        "status",
        "timestamp",
        "toolCallId",
        "tool_call_id",
        "tool_use_id",
        "type",
        "uuid",
    ];
    STRUCTURAL.contains(&name)
}

/// Whether a member of that name is for machines alone: a provider's own bytes, which it checks.
pub(super) fn is_sealed(name: &str) -> bool {
    ["encrypted_content", "redactedContent", "signature", "thoughtSignature", "thought_signature"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_decides() {
        for (name, expected) in [
            ("password", Says::Password),
            ("DB_PASSWORD", Says::Password),
            ("PGPASSWORD", Says::Password),
            ("spring.datasource.password", Says::Password),
            ("client_secret", Says::Password),
            ("clientSecret", Says::Password),
            ("password_confirmation", Says::Password),
            ("OPENAI_API_KEY", Says::Key),
            ("apiKey", Says::Key),
            ("APIKey", Says::Key),
            ("x-api-key", Says::Key),
            ("API_KEY_2", Says::Key),
            ("STRIPE_SECRET_KEY_LIVE", Says::Key),
            ("SecretAccessKey", Says::Key),
            ("SECRET_KEY_BASE", Says::Key),
            ("client-key-data", Says::Key),
            ("access_token", Says::Key),
            ("_authToken", Says::Key),
            ("SMTP_PASS", Says::Key),
            ("token", Says::Perhaps),
            ("_auth", Says::Perhaps),
            ("Proxy-Authorization", Says::Authorization),
            ("Set-Cookie", Says::Cookie),
            ("connectionString", Says::Connection),
        ] {
            assert_eq!(says(name), Some(expected), "{name}");
        }
        for name in [
            "max_tokens",
            "total_tokens",
            "tokenizer",
            "next_page_token",
            "eos_token",
            "password_hash",
            "PASSWORD_FILE",
            "secret_name",
            "PWD",
            "primary_key",
            "public_key",
            "cache_key",
            "key",
            "author",
            "compass",
            "aws_access_key_id",
            "private_key_id",
            "database_connection",
            "secretary",
        ] {
            assert_eq!(says(name), None, "{name}");
        }
    }
}
