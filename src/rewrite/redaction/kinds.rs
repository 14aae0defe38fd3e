//! The kinds of secrets, and the keys and tokens that are known by how they are spelled.
//!
//! A row is what a provider documents of its keys: how they begin, which characters follow, how many. It is not how they
//! are found in a text ([`super::shapes`]), and what is secret by its name alone has no row here ([`super::names`]).

/// A password, by the name it stands behind.
pub(super) const PASSWORD: &str = "password";
/// Another secret, by the name it stands behind.
pub(super) const SECRET: &str = "secret";
/// A secret in an environment variable, by its name.
pub(super) const ENV_SECRET: &str = "env-secret";
/// The password in a URL.
pub(super) const URL_PASSWORD: &str = "url-password";
/// What an authorization header gives beside its scheme.
pub(super) const AUTHORIZATION: &str = "authorization";
/// The value of a cookie.
pub(super) const COOKIE: &str = "cookie";
/// A JSON web token.
pub(super) const JWT: &str = "jwt";
/// A private key, whole.
pub(super) const PRIVATE_KEY: &str = "private-key";

/// The kinds that have no row among the shapes.
const OTHERS: [&str; 8] = [PASSWORD, SECRET, ENV_SECRET, URL_PASSWORD, AUTHORIZATION, COOKIE, JWT, PRIVATE_KEY];

/// The kind of that name, where there is one.
pub(super) fn named(name: &str) -> Option<&'static str> {
    let mut kinds = OTHERS.into_iter().chain(SHAPES.iter().map(|shape| shape.kind));
    kinds.find(|kind| *kind == name)
}

/// Which characters a secret is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Digits.
    Digits,
    /// Hexadecimal digits.
    Hex,
    /// Capital letters and digits.
    Capitals,
    /// Letters and digits.
    Alphanumeric,
    /// Letters, digits, `_` and `-`.
    Word,
    /// The same and dots.
    Dotted,
    /// The same, and what else stands in the path of a URL, percent signs among them.
    Path,
    /// Base64 with the ordinary alphabet.
    Base64,
    /// The same, percent encoded or not.
    EncodedBase64,
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
            Class::Path => Class::Dotted.has(byte) || matches!(byte, b'/' | b'%' | b'+'),
            Class::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Class::EncodedBase64 => Class::Base64.has(byte) || matches!(byte, b'%' | b'-' | b'_'),
        }
    }
}

/// How the keys of a provider are spelled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// What its placeholders are called.
    pub(super) kind: &'static str,
    /// How it begins.
    pub(super) prefix: &'static str,
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
const fn row(kind: &'static str, prefix: &'static str, class: Class, least: usize) -> Shape {
    Shape { kind, prefix, class, least, most: usize::MAX, stays: false, before: None, weak: false }
}

/// The same with exactly so many characters.
const fn exactly(kind: &'static str, prefix: &'static str, class: Class, count: usize) -> Shape {
    Shape { most: count, ..row(kind, prefix, class, count) }
}

/// What follows a beginning that is itself no secret.
const fn behind(kind: &'static str, prefix: &'static str, class: Class, least: usize) -> Shape {
    Shape { stays: true, ..row(kind, prefix, class, least) }
}

/// Keys with something before what tells them.
const fn around(before: (Class, usize, usize), shape: Shape) -> Shape {
    Shape { before: Some(before), ..shape }
}

use Class::{Alphanumeric, Base64, Capitals, Digits, Dotted, EncodedBase64, Hex, Path, Word};

/// All of them. Where the beginnings of several fit, the first row whose key is there counts.
pub(super) const SHAPES: &[Shape] = &[
    // Models.
    row("anthropic-key", "sk-ant-", Word, 20),
    row("openrouter-key", "sk-or-", Word, 20),
    row("langfuse-key", "sk-lf-", Word, 20),
    row("openai-key", "sk-proj-", Word, 20),
    row("openai-key", "sk-svcacct-", Word, 20),
    row("openai-key", "sk-admin-", Word, 20),
    // DeepSeek, Moonshot, LiteLLM and others write their keys as OpenAI once did.
    Shape { weak: true, ..row("openai-key", "sk-", Word, 20) },
    row("google-key", "AIza", Word, 33),
    row("google-token", "ya29.", Dotted, 20),
    row("google-secret", "GOCSPX-", Word, 24),
    row("google-token", "1//0", Word, 30),
    row("groq-key", "gsk_", Alphanumeric, 20),
    row("xai-key", "xai-", Alphanumeric, 20),
    row("huggingface-token", "hf_", Alphanumeric, 30),
    row("huggingface-token", "api_org_", Alphanumeric, 30),
    row("replicate-token", "r8_", Alphanumeric, 30),
    row("perplexity-key", "pplx-", Alphanumeric, 30),
    row("nvidia-key", "nvapi-", Word, 30),
    row("cerebras-key", "csk-", Alphanumeric, 30),
    row("together-key", "tgp_v1_", Word, 30),
    row("fireworks-key", "fw_", Alphanumeric, 22),
    row("elevenlabs-key", "sk_", Hex, 48),
    row("tavily-key", "tvly-", Word, 20),
    row("langsmith-key", "lsv2_", Word, 32),
    row("pinecone-key", "pcsk_", Word, 40),
    // Clouds.
    exactly("aws-access-key", "AKIA", Capitals, 16),
    exactly("aws-access-key", "ASIA", Capitals, 16),
    exactly("aws-access-key", "ABIA", Capitals, 16),
    exactly("aws-access-key", "ACCA", Capitals, 16),
    // The first characters are the Base64 of `BedrockAPIKey-`.
    row("aws-bedrock-key", "ABSKQmVkcm9ja0FQSUtleS", Base64, 40),
    behind("aws-signature", "X-Amz-Signature=", Hex, 64),
    behind("aws-session-token", "X-Amz-Security-Token=", EncodedBase64, 40),
    behind("azure-key", "AccountKey=", EncodedBase64, 40),
    behind("azure-key", "SharedAccessKey=", EncodedBase64, 40),
    behind("azure-signature", "?sig=", EncodedBase64, 40),
    behind("azure-signature", "&sig=", EncodedBase64, 40),
    behind("google-signature", "X-Goog-Signature=", Hex, 64),
    around((Dotted, 4, 4), row("azure-secret", "Q~", Dotted, 31)),
    row("alibaba-access-key", "LTAI", Alphanumeric, 16),
    row("digitalocean-token", "dop_v1_", Hex, 64),
    row("digitalocean-token", "doo_v1_", Hex, 64),
    row("digitalocean-token", "dor_v1_", Hex, 64),
    row("heroku-key", "HRKU-", Word, 36),
    row("fly-token", "fo1_", Word, 40),
    row("vault-token", "hvs.", Word, 20),
    row("vault-token", "hvb.", Word, 20),
    row("vault-token", "hvr.", Word, 20),
    around((Alphanumeric, 14, 14), row("terraform-token", ".atlasv1.", Word, 60)),
    row("pulumi-token", "pul-", Hex, 40),
    row("doppler-token", "dp.pt.", Alphanumeric, 40),
    row("doppler-token", "dp.st.", Dotted, 40),
    row("databricks-token", "dapi", Hex, 32),
    row("planetscale-token", "pscale_tkn_", Dotted, 30),
    row("planetscale-password", "pscale_pw_", Dotted, 30),
    row("supabase-key", "sbp_", Hex, 40),
    row("supabase-key", "sb_secret_", Word, 20),
    // Code and packages.
    row("github-token", "ghp_", Alphanumeric, 30),
    row("github-token", "gho_", Alphanumeric, 30),
    row("github-token", "ghu_", Alphanumeric, 30),
    row("github-token", "ghs_", Alphanumeric, 30),
    row("github-token", "ghr_", Alphanumeric, 30),
    row("github-token", "github_pat_", Word, 40),
    row("gitlab-token", "glpat-", Dotted, 20),
    row("gitlab-token", "gldt-", Word, 20),
    row("gitlab-token", "glrt-", Dotted, 20),
    row("gitlab-token", "glptt-", Word, 20),
    row("gitlab-token", "glcbt-", Word, 20),
    row("gitlab-token", "gloas-", Word, 20),
    row("gitlab-token", "glsoat-", Word, 20),
    row("gitlab-token", "glagent-", Word, 20),
    row("gitlab-token", "GR1348941", Word, 20),
    row("npm-token", "npm_", Alphanumeric, 36),
    row("pypi-token", "pypi-AgE", Word, 40),
    row("rubygems-key", "rubygems_", Hex, 48),
    exactly("crates-token", "cio", Alphanumeric, 32),
    row("docker-token", "dckr_pat_", Word, 20),
    row("docker-token", "dckr_oat_", Word, 20),
    row("atlassian-token", "ATATT3", EncodedBase64, 100),
    row("atlassian-token", "ATCTT3", EncodedBase64, 100),
    row("artifactory-key", "AKCp", Alphanumeric, 69),
    row("sonar-token", "squ_", Hex, 40),
    row("sonar-token", "sqp_", Hex, 40),
    row("sonar-token", "sqa_", Hex, 40),
    row("sentry-token", "sntrys_", EncodedBase64, 40),
    row("sentry-token", "sntryu_", Hex, 64),
    row("newrelic-key", "NRAK-", Alphanumeric, 27),
    row("grafana-token", "glsa_", Word, 32),
    row("grafana-token", "glc_", Base64, 40),
    row("postman-key", "PMAK-", Word, 40),
    row("posthog-key", "phx_", Alphanumeric, 40),
    // Talk.
    row("slack-token", "xoxb-", Word, 20),
    row("slack-token", "xoxp-", Word, 20),
    row("slack-token", "xoxa-", Word, 20),
    row("slack-token", "xoxr-", Word, 20),
    row("slack-token", "xoxs-", Word, 20),
    row("slack-token", "xoxc-", Word, 20),
    row("slack-token", "xoxd-", Path, 20),
    row("slack-token", "xoxe-", Word, 20),
    row("slack-token", "xoxe.xox", Word, 20),
    row("slack-token", "xapp-", Word, 20),
    behind("slack-webhook", "hooks.slack.com/services/", Path, 20),
    behind("slack-webhook", "hooks.slack.com/workflows/", Path, 20),
    behind("slack-webhook", "hooks.slack.com/triggers/", Path, 20),
    behind("discord-webhook", "discord.com/api/webhooks/", Path, 40),
    behind("discord-webhook", "discordapp.com/api/webhooks/", Path, 40),
    around((Digits, 8, 10), row("telegram-token", ":AA", Word, 33)),
    exactly("twilio-key", "SK", Hex, 32),
    row("sendgrid-key", "SG.", Dotted, 60),
    exactly("mailgun-key", "key-", Hex, 32),
    row("brevo-key", "xkeysib-", Word, 60),
    // Money and shops.
    row("stripe-key", "sk_live_", Word, 16),
    row("stripe-key", "sk_test_", Word, 16),
    row("stripe-key", "rk_live_", Word, 16),
    row("stripe-key", "rk_test_", Word, 16),
    row("stripe-secret", "whsec_", Base64, 24),
    row("shopify-token", "shpat_", Hex, 32),
    row("shopify-token", "shpca_", Hex, 32),
    row("shopify-token", "shppa_", Hex, 32),
    row("shopify-token", "shpss_", Hex, 32),
    row("square-token", "sq0atp-", Word, 22),
    row("square-token", "sq0csp-", Word, 40),
    // Work.
    row("linear-key", "lin_api_", Alphanumeric, 30),
    row("linear-key", "lin_oauth_", Alphanumeric, 30),
    row("notion-token", "ntn_", Alphanumeric, 40),
    exactly("notion-token", "secret_", Alphanumeric, 43),
    row("figma-token", "figd_", Word, 30),
    row("dynatrace-token", "dt0c01.", Dotted, 80),
    // Keys of other kinds.
    row("1password-token", "ops_eyJ", EncodedBase64, 100),
    row("age-key", "AGE-SECRET-KEY-1", Capitals, 50),
    // Base64 of `-----BEGIN ` and the words that may come before `PRIVATE KEY`.
    row(PRIVATE_KEY, "LS0tLS1CRUdJTiBQUklW", Base64, 60),
    row(PRIVATE_KEY, "LS0tLS1CRUdJTiBSU0Eg", Base64, 60),
    row(PRIVATE_KEY, "LS0tLS1CRUdJTiBFQyBQ", Base64, 60),
    row(PRIVATE_KEY, "LS0tLS1CRUdJTiBPUEVO", Base64, 60),
    row(PRIVATE_KEY, "LS0tLS1CRUdJTiBFTkNS", Base64, 60),
];
