//! The kinds of secrets, and the keys and tokens that are known by how they are spelled.
//!
//! A row is what a provider documents of its keys: how they begin, which characters follow, how many. It is not how they
//! are found in a text ([`super::shapes`]), and what is secret by its name alone has no row here ([`super::names`]).

/// A password, by the name it stands behind.
pub(super) const PASSWORD: &str = "password";
/// Another secret, by the name it stands behind, or a key of a provider too small for a kind of its own.
pub(super) const SECRET: &str = "secret";
/// A secret in an environment variable, by its name.
pub(super) const ENV_SECRET: &str = "env-secret";
/// The password or token before the host in a URL.
pub(super) const URL_PASSWORD: &str = "url-password";
/// What an authorization header gives beside its scheme.
pub(super) const AUTHORIZATION: &str = "authorization";
/// The value of a cookie header.
pub(super) const COOKIE: &str = "cookie";
/// A JSON web token.
pub(super) const JWT: &str = "jwt";
/// A private key, whole.
pub(super) const PRIVATE_KEY: &str = "private-key";

/// The kinds that have no row among the shapes.
const OTHERS: [&str; 8] = [PASSWORD, SECRET, ENV_SECRET, URL_PASSWORD, AUTHORIZATION, COOKIE, JWT, PRIVATE_KEY];

/// The kind of that name, where there is one.
pub(super) fn named(name: &str) -> Option<&'static str> {
    OTHERS.into_iter().chain(SHAPES.iter().map(|shape| shape.kind)).find(|kind| *kind == name)
}

/// Which characters a secret is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Digits,
    Hex,
    /// Capital letters and digits.
    Capitals,
    Alphanumeric,
    /// Letters, digits, `_` and `-`.
    Word,
    /// The same, dots and `~`.
    Dotted,
    /// Base64 of either alphabet, percent encoded or not; also the path of a URL.
    Encoded,
}

impl Class {
    /// Whether a byte belongs to it.
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Class::Digits => byte.is_ascii_digit(),
            Class::Hex => byte.is_ascii_hexdigit(),
            Class::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Class::Alphanumeric => byte.is_ascii_alphanumeric(),
            Class::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Class::Dotted => Class::Word.has(byte) || matches!(byte, b'.' | b'~'),
            Class::Encoded => Class::Word.has(byte) || matches!(byte, b'+' | b'/' | b'=' | b'%'),
        }
    }

    /// How many bytes at the start of some belong to it.
    pub(super) fn run(self, bytes: &[u8]) -> usize {
        bytes.iter().take_while(|byte| self.has(**byte)).count()
    }
}

/// How the keys of a provider are spelled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// What its placeholders are called.
    pub(super) kind: &'static str,
    /// How it begins.
    pub(super) prefixes: &'static [&'static str],
    /// What follows.
    pub(super) class: Class,
    /// The fewest characters that follow.
    pub(super) least: usize,
    /// The most characters that follow; with more of them it is something else.
    pub(super) most: usize,
    /// Whether the beginning is no part of the secret, so that it stays.
    pub(super) stays: bool,
    /// The fewest and the most characters of a class before the beginning that belong to the secret.
    pub(super) before: Option<(Class, usize, usize)>,
    /// Whether words may be spelled like that, so that more is asked of what follows: many letters and digits in a row.
    pub(super) weak: bool,
}

/// Keys that begin so, with at least so many characters of a class.
const fn row(kind: &'static str, prefixes: &'static [&'static str], class: Class, least: usize) -> Shape {
    Shape { kind, prefixes, class, least, most: usize::MAX, stays: false, before: None, weak: false }
}

/// The same with exactly so many characters.
const fn exactly(kind: &'static str, prefixes: &'static [&'static str], class: Class, count: usize) -> Shape {
    Shape { most: count, ..row(kind, prefixes, class, count) }
}

/// What follows a beginning that is itself no secret.
const fn behind(kind: &'static str, prefixes: &'static [&'static str], class: Class, least: usize) -> Shape {
    Shape { stays: true, ..row(kind, prefixes, class, least) }
}

use Class::{Alphanumeric, Capitals, Digits, Dotted, Encoded, Hex, Word};

/// The tail of small providers, whose beginnings words may have too.
#[rustfmt::skip]
const SMALL: &[&str] = &[
    "NRAK-", "PMAK-", "phx_", "pul-", "figd_", "xkeysib-", "sq0atp-", "pscale_", "dt0c01.", "dp.st.",
    "sqp_", "tvly-", "lsv2_", "pcsk_", "tgp_v1_", "fw_", "fo1_", "sbp_", "sb_secret_",
];

/// All of them. Where the beginnings of several fit, the first row whose key is there counts.
pub(super) const SHAPES: &[Shape] = &[
    // Models.
    row("anthropic-key", &["sk-ant-"], Word, 20),
    row("langfuse-key", &["sk-lf-"], Word, 20),
    row("openrouter-key", &["sk-or-"], Word, 20),
    row("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-"], Word, 20),
    // DeepSeek, Moonshot, LiteLLM and others write their keys as OpenAI once did.
    Shape { weak: true, ..row("openai-key", &["sk-"], Word, 20) },
    row("google-key", &["AIza", "AQ.Ab8"], Word, 33),
    row("google-token", &["ya29.", "1//0"], Dotted, 30),
    row("google-secret", &["GOCSPX-"], Word, 24),
    row("groq-key", &["gsk_"], Alphanumeric, 20),
    row("xai-key", &["xai-"], Alphanumeric, 20),
    row("huggingface-token", &["hf_", "api_org_"], Alphanumeric, 30),
    row("replicate-token", &["r8_"], Alphanumeric, 30),
    row("perplexity-key", &["pplx-"], Alphanumeric, 30),
    row("nvidia-key", &["nvapi-"], Word, 30),
    row("elevenlabs-key", &["sk_"], Hex, 48),
    // Clouds.
    exactly("aws-access-key", &["AKIA", "ASIA", "ABIA", "ACCA"], Capitals, 16),
    // The Base64 of `BedrockAPIKey-`.
    row("aws-bedrock-key", &["ABSKQmVkcm9ja0FQSUtleS"], Encoded, 40),
    behind("aws-signature", &["X-Amz-Signature="], Hex, 64),
    behind("aws-session-token", &["X-Amz-Security-Token="], Encoded, 40),
    behind("azure-key", &["AccountKey=", "SharedAccessKey="], Encoded, 40),
    behind("azure-signature", &["?sig=", "&sig="], Encoded, 40),
    behind("google-signature", &["X-Goog-Signature="], Hex, 64),
    Shape { before: Some((Dotted, 4, 4)), ..row("azure-secret", &["Q~"], Dotted, 31) },
    row("alibaba-access-key", &["LTAI"], Alphanumeric, 16),
    row("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], Hex, 64),
    row("heroku-key", &["HRKU-"], Word, 36),
    row("vault-token", &["hvs.", "hvb.", "hvr."], Word, 20),
    row("databricks-token", &["dapi"], Hex, 32),
    // Code and packages.
    row("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], Alphanumeric, 30),
    row("github-token", &["github_pat_"], Word, 40),
    row(
        "gitlab-token",
        &["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "gloas-", "glsoat-", "GR1348941"],
        Dotted,
        20,
    ),
    row("npm-token", &["npm_"], Alphanumeric, 36),
    row("pypi-token", &["pypi-AgE"], Word, 40),
    row("rubygems-key", &["rubygems_"], Hex, 48),
    exactly("crates-token", &["cio"], Alphanumeric, 32),
    row("docker-token", &["dckr_pat_", "dckr_oat_"], Word, 20),
    row("atlassian-token", &["ATATT3", "ATCTT3"], Encoded, 100),
    row("sentry-token", &["sntrys_", "sntryu_"], Encoded, 40),
    row("grafana-token", &["glsa_", "glc_"], Encoded, 32),
    // Talk.
    row("slack-token", &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxc-", "xoxe-", "xoxe.xox", "xapp-"], Word, 20),
    row("slack-token", &["xoxd-"], Encoded, 20),
    behind("slack-webhook", &["hooks.slack.com/services/", "hooks.slack.com/workflows/"], Encoded, 20),
    behind("discord-webhook", &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"], Encoded, 40),
    Shape { before: Some((Digits, 8, 10)), ..row("telegram-token", &[":AA"], Word, 33) },
    exactly("twilio-key", &["SK"], Hex, 32),
    row("sendgrid-key", &["SG."], Dotted, 60),
    exactly("mailgun-key", &["key-"], Hex, 32),
    // Money, shops, work, and keys of other kinds.
    row("stripe-key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_"], Word, 16),
    row("stripe-secret", &["whsec_"], Encoded, 24),
    row("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], Hex, 32),
    row("linear-key", &["lin_api_", "lin_oauth_"], Alphanumeric, 30),
    row("notion-token", &["ntn_"], Alphanumeric, 40),
    exactly("notion-token", &["secret_"], Alphanumeric, 43),
    row("1password-token", &["ops_eyJ"], Encoded, 100),
    row("age-key", &["AGE-SECRET-KEY-1"], Capitals, 50),
    // Base64 of `-----BEGIN ` and the words that may come before `PRIVATE KEY`.
    row(PRIVATE_KEY, &["LS0tLS1CRUdJTiBQUklW", "LS0tLS1CRUdJTiBSU0Eg", "LS0tLS1CRUdJTiBFQyBQ"], Encoded, 60),
    row(PRIVATE_KEY, &["LS0tLS1CRUdJTiBPUEVO", "LS0tLS1CRUdJTiBFTkNS"], Encoded, 60),
    Shape { weak: true, ..row(SECRET, SMALL, Dotted, 26) },
];
