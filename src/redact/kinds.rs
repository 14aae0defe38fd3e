//! The kinds of secrets, and the spelling of known keys and tokens.
//!
//! A row is what a provider documents about its keys: the prefix, the characters that follow, and their number.
//! Searching a text for them is in [`crate::redact::shapes`]. Secrets recognized only by name have no row
//! here; they are in [`crate::redact::names`].

/// A password, by the name before it.
pub(super) const PASSWORD: &str = "password";
/// Another secret, by the name before it, or a key of a provider too small for a kind of its own.
pub(super) const SECRET: &str = "secret";
/// A secret in an environment variable, by the variable's name.
pub(super) const ENV_SECRET: &str = "env-secret";
/// The password or token before the host in a URL.
pub(super) const URL_PASSWORD: &str = "url-password";
/// The credential in an authorization header, without the scheme.
pub(super) const AUTHORIZATION: &str = "authorization";
/// The value of a cookie header.
pub(super) const COOKIE: &str = "cookie";
/// A JSON web token.
pub(super) const JWT: &str = "jwt";
/// A private key, whole.
pub(super) const PRIVATE_KEY: &str = "private-key";

/// The kinds that are not, or not only, recognized by a prefix, and how they are recognized.
const OTHERS: [(&str, &str); 8] = [
    (PASSWORD, "the value of a name such as password or clientSecret, of --password, and of curl -u"),
    (SECRET, "the value of a name such as api_key, accessToken or private_key"),
    (ENV_SECRET, "the value of an environment variable such as DB_PASSWORD or API_TOKEN"),
    (URL_PASSWORD, "between :// and @ in an address"),
    (AUTHORIZATION, "behind Authorization:, X-Api-Key: or Bearer"),
    (COOKIE, "behind Cookie: or Set-Cookie:"),
    (JWT, "three parts in Base64 that begin with eyJ"),
    (PRIVATE_KEY, "PEM, OpenSSH, PGP and PuTTY keys, and PEM in Base64"),
];

/// Returns each kind once: its name and how it is recognized.
pub(super) fn table() -> Vec<(&'static str, String)> {
    let mut rows: Vec<(&str, String)> = Vec::new();
    for shape in SHAPES {
        // Some bytes before the prefix are part of the secret.
        let dots = if shape.before.is_some() { "…" } else { "" };
        for begins in shape.prefixes.iter().map(|prefix| format!("{dots}{prefix}…")) {
            match rows.iter_mut().find(|(kind, _)| *kind == shape.kind) {
                Some((_, known)) if known.split(' ').any(|known| known == begins) => {}
                Some((_, known)) => *known = format!("{known} {begins}"),
                None => rows.push((shape.kind, begins)),
            }
        }
    }
    for (kind, about) in OTHERS {
        match rows.iter_mut().find(|(known, _)| *known == kind) {
            // The Base64 of a marker means nothing to a reader.
            Some((_, begins)) if kind == PRIVATE_KEY => *begins = about.to_owned(),
            Some((_, begins)) => *begins = format!("{about}; {begins}"),
            None => rows.push((kind, about.to_owned())),
        }
    }
    rows
}

/// Returns the kind of this name, if there is one.
pub(super) fn named(name: &str) -> Option<&'static str> {
    OTHERS.iter().map(|(kind, _)| *kind).chain(SHAPES.iter().map(|shape| shape.kind)).find(|kind| *kind == name)
}

/// The set of characters in a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Digits,
    Hex,
    /// Capital letters and digits.
    Capitals,
    Alphanumeric,
    /// Letters, digits, `_` and `-`.
    Word,
    /// `Word`, dots and `~`.
    Dotted,
    /// `Dotted` and `=`.
    Padded,
    /// Base64 of either alphabet, percent encoded or not; also the path of a URL.
    Encoded,
}

impl Class {
    /// Whether the class contains a byte.
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Class::Digits => byte.is_ascii_digit(),
            Class::Hex => byte.is_ascii_hexdigit(),
            Class::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Class::Alphanumeric => byte.is_ascii_alphanumeric(),
            Class::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Class::Dotted => Class::Word.has(byte) || matches!(byte, b'.' | b'~'),
            Class::Padded => Class::Dotted.has(byte) || byte == b'=',
            Class::Encoded => Class::Word.has(byte) || matches!(byte, b'+' | b'/' | b'=' | b'%'),
        }
    }

    /// Counts the leading bytes that the class contains.
    pub(super) fn run(self, bytes: &[u8]) -> usize {
        bytes.iter().take_while(|byte| self.has(**byte)).count()
    }
}

/// The spelling of a provider's keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// The kind, which its placeholders name.
    pub(super) kind: &'static str,
    /// The possible prefixes.
    pub(super) prefixes: &'static [&'static str],
    /// The characters that follow.
    pub(super) class: Class,
    /// The fewest characters that follow.
    pub(super) least: usize,
    /// The most characters that follow; a longer run is something else.
    pub(super) most: usize,
    /// Whether the prefix is not secret, so that it stays.
    pub(super) keeps_prefix: bool,
    /// The class, the fewest and the most characters before the prefix that belong to the secret.
    pub(super) before: Option<(Class, usize, usize)>,
    /// A further condition, for prefixes that words or code may have too.
    pub(super) needs: Needs,
    /// A pattern for a key of several parts. The key ends where no character of the class follows.
    pub(super) parts: Option<&'static str>,
}

/// A condition that distinguishes a secret from words and code with the same prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// A digit, or letters of both cases.
    Mixed,
    /// Two digits or more.
    Digits,
    /// A long run of letters and digits.
    Dense,
}

impl Needs {
    /// Whether the characters after the prefix meet the condition.
    pub(super) fn met_by(self, value: &str) -> bool {
        let count = |test: fn(&u8) -> bool| value.bytes().filter(test).count();
        let digits = count(u8::is_ascii_digit);
        let mut runs = value.split(|c: char| !c.is_ascii_alphanumeric());
        match self {
            Needs::Nothing => true,
            Needs::Mixed => digits > 0 || (count(u8::is_ascii_uppercase) > 0 && count(u8::is_ascii_lowercase) > 0),
            Needs::Digits => digits > 1,
            Needs::Dense => {
                runs.any(|run| run.len() >= 20 || (run.len() >= 16 && run.bytes().any(|byte| byte.is_ascii_digit())))
            }
        }
    }
}

/// Keys with at least `least` characters of a class.
const fn row(kind: &'static str, prefixes: &'static [&'static str], class: Class, least: usize) -> Shape {
    let (keeps_prefix, before, needs, parts) = (false, None, Needs::Nothing, None);
    Shape { kind, prefixes, class, least, most: usize::MAX, keeps_prefix, before, needs, parts }
}

/// Keys with exactly `count` characters of a class.
const fn exactly(kind: &'static str, prefixes: &'static [&'static str], class: Class, count: usize) -> Shape {
    Shape { most: count, ..row(kind, prefixes, class, count) }
}

/// Secrets after a prefix that is not secret.
const fn behind(kind: &'static str, prefixes: &'static [&'static str], class: Class, least: usize) -> Shape {
    Shape { keeps_prefix: true, ..row(kind, prefixes, class, least) }
}

/// Keys of several parts, with a pattern for what follows the prefix.
const fn parts(kind: &'static str, prefixes: &'static [&'static str], class: Class, pattern: &'static str) -> Shape {
    Shape { parts: Some(pattern), ..row(kind, prefixes, class, 0) }
}

use Class::{Alphanumeric, Capitals, Digits, Dotted, Encoded, Hex, Padded, Word};

/// The prefixes of small providers, which words may have too.
#[rustfmt::skip]
const SMALL: &[&str] = &[
    "NRAK-", "phx_", "figd_", "sq0csp-", "sq0idp-", "dp.st.",
    "sqp_", "tvly-", "lsv2_", "pcsk_", "tgp_v1_", "fw_", "sbp_", "sb_secret_",
];

/// All known spellings. If several prefixes fit, the first row with a complete key counts.
pub(super) const SHAPES: &[Shape] = &[
    // Models.
    row("anthropic-key", &["sk-ant-"], Word, 20),
    row("langfuse-key", &["sk-lf-"], Word, 20),
    row("openrouter-key", &["sk-or-"], Word, 20),
    row("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-"], Word, 20),
    // DeepSeek, Moonshot, LiteLLM and others spell their keys like OpenAI's old ones.
    Shape { needs: Needs::Dense, ..row("openai-key", &["sk-"], Word, 20) },
    row("google-key", &["AIza", "AQ.Ab8"], Word, 33),
    row("google-token", &["ya29.", "1//0"], Dotted, 30),
    row("google-secret", &["GOCSPX-"], Word, 24),
    row("groq-key", &["gsk_"], Alphanumeric, 20),
    row("xai-key", &["xai-"], Alphanumeric, 20),
    row("huggingface-token", &["hf_", "api_org_"], Alphanumeric, 30),
    exactly("replicate-token", &["r8_"], Word, 37),
    row("perplexity-key", &["pplx-"], Alphanumeric, 30),
    row("nvidia-key", &["nvapi-"], Word, 30),
    row("elevenlabs-key", &["sk_"], Hex, 48),
    // Clouds.
    exactly("aws-access-key", &["AKIA", "ASIA", "ABIA", "ACCA"], Capitals, 16),
    exactly("aws-access-key", &["A3T"], Capitals, 17),
    // The Base64 of `BedrockAPIKey-`, or a longer key without it.
    row("aws-bedrock-key", &["ABSKQmVkcm9ja0FQSUtleS"], Encoded, 40),
    row("aws-bedrock-key", &["ABSK"], Encoded, 109),
    // The Base64 of `bedrock.amazonaws.com`.
    row("aws-bedrock-key", &["bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t"], Encoded, 0),
    behind("aws-signature", &["X-Amz-Signature="], Hex, 64),
    behind("aws-session-token", &["X-Amz-Security-Token="], Encoded, 40),
    behind("azure-key", &["AccountKey=", "SharedAccessKey="], Encoded, 40),
    behind("azure-signature", &["?sig=", "&sig="], Encoded, 40),
    behind("google-signature", &["X-Goog-Signature="], Hex, 64),
    Shape { before: Some((Dotted, 4, 4)), ..row("azure-secret", &["Q~"], Dotted, 31) },
    row("alibaba-access-key", &["LTAI"], Alphanumeric, 16),
    row("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], Hex, 64),
    row("heroku-key", &["HRKU-"], Word, 36),
    row("cloudflare-key", &["v1.0-"], Word, 171),
    row("fly-token", &["fo1_"], Word, 43),
    row("fly-token", &["fm1r_", "fm1a_", "fm2_"], Encoded, 100),
    row("scalingo-token", &["tk-us-"], Word, 48),
    row("openshift-token", &["sha256~"], Word, 43),
    row("vault-token", &["hvs.", "hvb.", "hvr."], Word, 20),
    // The member of a variable `s` is a name, which never has two digits and this length at once.
    Shape { needs: Needs::Digits, ..exactly("vault-token", &["s."], Alphanumeric, 24) },
    Shape { before: Some((Alphanumeric, 14, 14)), ..row("terraform-token", &[".atlasv1."], Padded, 60) },
    row("pulumi-token", &["pul-"], Hex, 40),
    parts("harness-key", &["pat.", "sat."], Dotted, r"[\w-]{22}\.[0-9A-Za-z]{24}\.[0-9A-Za-z]{20}"),
    row("prefect-key", &["pnu_", "pnb_"], Alphanumeric, 36),
    row("infracost-key", &["ico-"], Alphanumeric, 32),
    row("doppler-token", &["dp.pt.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."], Alphanumeric, 40),
    row("dynatrace-token", &["dt0c01."], Dotted, 80),
    // Data.
    parts("databricks-token", &["dapi"], Word, "[0-9a-f]{32}(?:-[0-9])?"),
    row("planetscale-token", &["pscale_tkn_", "pscale_oauth_", "pscale_pw_"], Padded, 32),
    exactly("clickhouse-key", &["4b1d"], Alphanumeric, 38),
    parts("airtable-token", &["pat"], Dotted, r"[0-9A-Za-z]{14}\.[0-9a-f]{64}"),
    Shape { before: Some((Word, 36, 36)), ..row("maxmind-key", &["_mmk"], Word, 0) },
    // Code and packages.
    row("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], Alphanumeric, 30),
    row("github-token", &["github_pat_"], Word, 40),
    row("gitlab-token", &["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "gloas-", "glsoat-"], Dotted, 20),
    row("gitlab-token", &["glffct-", "glft-", "glimt-", "glagent-", "GR1348941"], Dotted, 20),
    behind("gitlab-cookie", &["_gitlab_session="], Alphanumeric, 32),
    row("sourcegraph-token", &["sgp_"], Word, 40),
    row("npm-token", &["npm_"], Alphanumeric, 36),
    row("pypi-token", &["pypi-AgE"], Word, 40),
    row("rubygems-key", &["rubygems_"], Hex, 48),
    row("clojars-token", &["CLOJARS_"], Alphanumeric, 60),
    exactly("crates-token", &["cio"], Alphanumeric, 32),
    exactly("artifactory-key", &["AKCp"], Alphanumeric, 69),
    // The Base64 of `reft`.
    exactly("artifactory-key", &["cmVmd"], Alphanumeric, 59),
    row("docker-token", &["dckr_pat_", "dckr_oat_"], Word, 20),
    exactly("octopus-key", &["API-"], Capitals, 26),
    row("postman-key", &["PMAK-"], Word, 59),
    row("readme-key", &["rdme_"], Alphanumeric, 70),
    row("atlassian-token", &["ATATT3", "ATCTT3"], Encoded, 100),
    row("sentry-token", &["sntrys_", "sntryu_"], Encoded, 40),
    row("grafana-token", &["glsa_", "glc_"], Encoded, 32),
    // The Base64 of `{"k":"`.
    row("grafana-token", &["eyJrIjoi"], Encoded, 70),
    // Chat.
    row("slack-token", &["xoxb-", "xoxp-", "xoxs-", "xoxc-", "xoxe-", "xoxe.xox", "xapp-"], Word, 20),
    row("slack-token", &["xoxd-"], Encoded, 20),
    // Long ones count even if they are glued to a word because tags or a dot between were lost.
    Shape { before: Some((Alphanumeric, 1, 64)), ..row("slack-token", &["xoxb-", "xoxp-"], Word, 165) },
    // Shorter ones with known parts.
    Shape { needs: Needs::Mixed, ..row("slack-token", &["xoxa-", "xoxr-"], Word, 8) },
    parts("slack-token", &["xoxo-", "xoxs-"], Word, "[0-9]+-[0-9]+-[0-9]+-[0-9A-Fa-f]+"),
    parts("slack-token", &["xapp-"], Word, "[0-9]-[0-9A-Z]+-[0-9]+-[0-9a-z]+"),
    behind(
        "slack-webhook",
        &["hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"],
        Encoded,
        20,
    ),
    behind("discord-webhook", &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"], Encoded, 40),
    Shape {
        before: Some((Word, 1, 63)),
        ..parts("teams-webhook", &[".webhook.office.com/webhookb2/"], Encoded, "[0-9A-Za-z@/-]{80,400}")
    },
    Shape { before: Some((Digits, 8, 10)), ..row("telegram-token", &[":AA"], Word, 33) },
    Shape { before: Some((Digits, 15, 16)), most: 40, ..row("facebook-token", &["|", "%"], Word, 27) },
    row("facebook-token", &["EAA"], Alphanumeric, 100),
    exactly("twilio-key", &["SK"], Hex, 32),
    exactly("sendgrid-key", &["SG."], Padded, 66),
    row("brevo-key", &["xkeysib-"], Word, 64),
    exactly("mailgun-key", &["key-"], Hex, 32),
    // Payments, shops, work, and keys of other kinds.
    Shape {
        needs: Needs::Mixed,
        ..row("stripe-key", &["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"], Word, 10)
    },
    row("stripe-secret", &["whsec_"], Encoded, 24),
    Shape { most: 60, ..row("square-token", &["EAAA", "sq0atp-"], Word, 22) },
    row("flutterwave-key", &["FLWSECK_TEST-", "FLWPUBK_TEST-", "FLWSECK-", "FLWPUBK-"], Word, 12),
    Shape { needs: Needs::Dense, ..row("freemius-key", &["sk_"], Alphanumeric, 28) },
    row("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], Hex, 32),
    row("shippo-token", &["shippo_live_", "shippo_test_"], Hex, 40),
    row("easypost-key", &["EZAK", "EZTK"], Alphanumeric, 54),
    row("duffel-token", &["duffel_test_", "duffel_live_"], Padded, 43),
    row("settlemint-token", &["sm_aat_", "sm_pat_", "sm_sat_"], Alphanumeric, 16),
    row("adobe-secret", &["p8e-"], Alphanumeric, 32),
    row("frameio-token", &["fio-u-"], Padded, 64),
    row("intra42-secret", &["s-s4t2ud-", "s-s4t2af-"], Hex, 64),
    row("linear-key", &["lin_api_", "lin_oauth_"], Alphanumeric, 30),
    row("notion-token", &["ntn_"], Alphanumeric, 40),
    exactly("notion-token", &["secret_"], Alphanumeric, 43),
    row("1password-token", &["ops_eyJ"], Encoded, 100),
    parts("1password-key", &["A3-"], Word, "[0-9A-Z]{6}-(?:[0-9A-Z]{11}|[0-9A-Z]{6}-[0-9A-Z]{5})(?:-[0-9A-Z]{5}){3}"),
    parts(
        "authress-key",
        &["sc_", "ext_", "scauth_", "authress_"],
        Encoded,
        r"[0-9a-z]{5,30}\.[0-9a-z]{4,6}\.acc[_-][0-9a-z-]{10,32}\.[0-9A-Za-z+/_=-]{30,120}",
    ),
    row("age-key", &["AGE-SECRET-KEY-1"], Capitals, 50),
    // Base64 of `-----BEGIN ` and the words that may come before `PRIVATE KEY`.
    row(PRIVATE_KEY, &["LS0tLS1CRUdJTiBQUklW", "LS0tLS1CRUdJTiBSU0Eg", "LS0tLS1CRUdJTiBFQyBQ"], Encoded, 36),
    row(PRIVATE_KEY, &["LS0tLS1CRUdJTiBPUEVO", "LS0tLS1CRUdJTiBFTkNS", "LS0tLS1CRUdJTiBEU0Eg"], Encoded, 36),
    row(PRIVATE_KEY, &["LS0tLS1CRUdJTiBQR1AgUFJJ"], Encoded, 36),
    Shape { needs: Needs::Dense, ..row(SECRET, SMALL, Dotted, 26) },
];
