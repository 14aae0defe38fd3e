//! The kinds of secrets, and the spelling of known keys and tokens.
//!
//! A row is what a provider documents about its keys: the prefix, the characters that follow, and their number.
//! [`crate::shapes`] searches a text for them. Secrets recognized only by name have no row here; they are in
//! [`crate::names`].

use std::collections::BTreeSet;
use std::ops::Range;

use crate::extents::Class::{Alphanumeric, Base58, Capitals, Digits, Dotted, Encoded, Hex, Padded, Word};
use crate::extents::{CharRun, Class, varied};
use crate::letters::is_scrambled;
use crate::whole_keys;

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

/// Each kind of secret once, as its placeholders name it, and how it is recognized.
pub fn secrets() -> Vec<(&'static str, String)> {
    let mut seen = BTreeSet::new();
    let mut secrets = Vec::new();
    for kind in kinds() {
        if seen.insert(kind) {
            secrets.push((kind, about(kind)));
        }
    }
    secrets
}

pub(super) fn named(name: &str) -> Option<&'static str> {
    kinds().find(|kind| *kind == name)
}

/// The kind of each row.
fn kinds() -> impl Iterator<Item = &'static str> {
    SHAPES.iter().map(|shape| shape.kind).chain(OTHERS.iter().map(|(kind, _)| *kind))
}

/// How a kind is recognized.
fn about(kind: &str) -> String {
    let mut seen = BTreeSet::new();
    let mut beginnings = Vec::new();
    for shape in SHAPES {
        if shape.kind != kind {
            continue;
        }
        // Some bytes before the prefix are part of the secret.
        let dots = if shape.before.is_some() { "…" } else { "" };
        for prefix in shape.prefixes {
            let beginning = format!("{dots}{prefix}…");
            if seen.insert(beginning.clone()) {
                beginnings.push(beginning);
            }
        }
    }
    match OTHERS.iter().find(|(other, _)| *other == kind) {
        None => beginnings.join(" "),
        Some((_, about)) if kind == SECRET => format!("{about}; {}", beginnings.join(" ")),
        // The Base64 of a marker means nothing to a reader.
        Some((_, about)) => (*about).to_owned(),
    }
}

/// The prefixes of a row.
type Prefixes = &'static [&'static str];
/// Returns the secret around a prefix at an offset, or the offset before which there is none.
type Finder = fn(&str, usize) -> Result<Range<usize>, usize>;

/// The spelling of a provider's keys.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// The kind, which its placeholders name.
    pub(super) kind: &'static str,
    pub(super) prefixes: Prefixes,
    /// What follows the prefix.
    pub(super) body: Body,
    /// Whether the prefix is not secret, so that it stays.
    pub(super) keeps_prefix: bool,
    /// The characters before the prefix that belong to the secret.
    pub(super) before: Option<CharRun>,
    /// A further condition, for prefixes that words or code may have too.
    pub(super) needs: fn(&str) -> bool,
}

/// What follows a prefix.
#[derive(Clone, Copy)]
pub(super) enum Body {
    Run(CharRun),
    /// Several parts, which a pattern describes. No letter or digit follows them.
    Parts(&'static str),
    /// What a function finds.
    Whole(Finder),
}

const fn shape(kind: &'static str, prefixes: Prefixes, body: Body) -> Shape {
    Shape { kind, prefixes, body, keeps_prefix: false, before: None, needs: |_| true }
}

/// Keys with `least` to `most` characters of a class.
const fn between(kind: &'static str, prefixes: Prefixes, class: Class, least: usize, most: usize) -> Shape {
    shape(kind, prefixes, Body::Run(CharRun { class, least, most }))
}

/// Keys with at least `least` characters of a class.
const fn row(kind: &'static str, prefixes: Prefixes, class: Class, least: usize) -> Shape {
    between(kind, prefixes, class, least, usize::MAX)
}

/// Keys with exactly `count` characters of a class.
const fn exactly(kind: &'static str, prefixes: Prefixes, class: Class, count: usize) -> Shape {
    between(kind, prefixes, class, count, count)
}

/// Secrets after a prefix that is not secret.
const fn behind(kind: &'static str, prefixes: Prefixes, class: Class, least: usize) -> Shape {
    Shape { keeps_prefix: true, ..row(kind, prefixes, class, least) }
}

/// Secrets that a function finds around their prefix.
const fn whole(kind: &'static str, prefixes: Prefixes, find: Finder) -> Shape {
    Shape { keeps_prefix: true, ..shape(kind, prefixes, Body::Whole(find)) }
}

use Body::Parts;

impl Shape {
    /// Adds characters before the prefix.
    const fn after(self, class: Class, least: usize, most: usize) -> Self {
        Shape { before: Some(CharRun { class, least, most }), ..self }
    }

    /// Adds a condition.
    const fn needs(self, needs: fn(&str) -> bool) -> Self {
        Shape { needs, ..self }
    }
}

/// Whether a value is more than words in small letters.
fn mixed(value: &str) -> bool {
    value.contains(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase())
}

/// Whether the letters and digits of a value are mixed as in no name of code.
fn random(value: &str) -> bool {
    is_scrambled(value) || varied(value)
}

/// Whether a value of a small provider is dense, or long and as mixed as no name in words is.
fn dense_or_mixed(value: &str) -> bool {
    if dense(value) {
        return true;
    }
    let (mut digits, mut capitals, mut small) = (0, 0, 0);
    for byte in value.bytes() {
        digits += usize::from(byte.is_ascii_digit());
        capitals += usize::from(byte.is_ascii_uppercase());
        small += usize::from(byte.is_ascii_lowercase());
    }
    value.len() >= 36 && digits > 3 && capitals > 3 && small > 3
}

/// Whether a value has a long run of letters and digits.
pub(super) fn dense(value: &str) -> bool {
    let mut runs = value.split(|c: char| !c.is_ascii_alphanumeric());
    runs.any(|run| run.len() >= 20 || (run.len() >= 16 && run.bytes().any(|byte| byte.is_ascii_digit())))
}

/// What is before the first private key of Hardhat's accounts.
#[rustfmt::skip]
const ACCOUNTS: &[&str] = &["accounts: [\"0x", "accounts:[\"0x", "accounts: ['0x", "accounts\": [\"0x", "accounts\":[\"0x", "accounts: [`0x"];

/// The prefixes of small providers, which words may have too.
#[rustfmt::skip]
const SMALL: &[&str] = &[
    "EZAK", "EZTK", "pnu_", "pnb_", "pul-", "ico-", "CLOJARS_", "rdme_", "shippo_live_", "shippo_test_", "p8e-", "s-s4t2ud-", "s-s4t2af-",
    "NRAK-", "phx_", "figd_", "sq0csp-", "sq0idp-", "dp.st.",
    "sqp_", "tvly-", "lsv2_", "pcsk_", "tgp_v1_", "fw_", "sbp_", "tskey-", "nfp_", "vcp_", "vck_", "vca_",
    "vci_", "vcr_", "bkua_", "bkcs_", "CCIPAT_", "CCIPRJ_", "rpa_", "csk-", "esecret_", "e2b_", "fc-", "jina_", "pa-", "zpka_",
    "rnd_", "snyk_", "squ_", "sqa_", "tfp_", "hcaik_", "hcxik_", "pdl_live_apikey_", "CFPAT-", "sl.u.", "sl.A", "sl.B", "NRII-",
    "nfc_", "nfo_", "nfu_", "bkaj_", "xau_", "censys_", "BBDC-", "figu_", "dnkey-", "da2-", "y0_", "mfa.",
    "cr_", "co_", "ls__", "cfut_", "cfat_", "ddp_", "apik_", "unkey_", "opk_", "crsr_", "sgamp_user_", "fk-",
    "xai-token-", "AKID", "NRJS-", "ak_", "testsk_", "fal-", "lin_wh_", "ctx7sk-", "bws_", "glrtr-", "nk-",
    "polar_oat_", "apify_api_", "secret-live-", "secret-test-", "ubtr_", "AQVN", "sk.eyJ", "wandb_v1_",
    "cfk_", "tr_pat_", "retool_", "aio_", "NF-", "n8n_api_", "os_v2_app_", "ory_pat_", "ory_st_", "ory_at_", "ory_rt_", "bkct_",
    "dbtc_", "dbtu_", "llx-", "slk_", "figp_", "BBFF-", "ddw_", "thog-secret-", "ramp_sec_", "rootly_",
    "salad_cloud_", "shltm_", "sqco_", "u-s4t2ud-", "u-s4t2af-", "hawk.", "CCDB1_", "mdb_sa_sk_", "pylf_v", "xaat-", "xapt-",
    "alcht_", "nyk_v0_", "tmprl_", "depot_", "gitpod_pat_", "vtwn_", "tpuf_", "PMAT-", "phs_", "hcbik_", "hcalk_", "hcamk_",
    "xnd_production_", "APP_USR-", "cal_live_", "KGAT_", "odt_", "signkey-prod-", "m0-", "snyk_uat.", "snyk_sat.",
    "apk_", "cog_", "sktsec_", "dvc_server_", "flp_", "hbp_", "shptka_",
    "msy_", "ck-", "dtn_", "hl_sk_", "mlsn.", "vercel_blob_rw_", "pdl_sdbx_apikey_", "ddo_", "bfl_", "lmnt_", "sk_org_live_", "sk_org_test_",
];
/// The prefixes of shorter keys, with which no word begins.
#[rustfmt::skip]
const SHORT: &[&str] = &["sk_car_", "tr_prod_", "tr_stg_", "tr_dev_", "flb_live_", "AVNS_", "lip_", "endr+", "unkey_", "sb_secret_", "bb_live_", "bb_test_"];
/// Prefixes with a mark with which words may end.
pub(super) const COMMON: [&str; 6] = ["key-", "ico-", "pul-", "API-", "tk-us-", "secret_"];

/// The Base64 of the first digits of an id, and the rest of which is the token of a bot.
#[rustfmt::skip]
const DISCORD: &[&str] = &["MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"];

/// The Base64 of `-----BEGIN ` and of the words that may come before `PRIVATE KEY`.
#[rustfmt::skip]
const PEM_IN_BASE64: &[&str] = &[
    "LS0tLS1CRUdJTiBQUklW", "LS0tLS1CRUdJTiBSU0Eg", "LS0tLS1CRUdJTiBFQyBQ", "LS0tLS1CRUdJTiBPUEVO",
    "LS0tLS1CRUdJTiBFTkNS", "LS0tLS1CRUdJTiBEU0Eg", "LS0tLS1CRUdJTiBQR1AgUFJJ",
];

/// All known spellings. If several prefixes fit, the first row with a complete key counts.
#[rustfmt::skip]
pub(super) const SHAPES: &[Shape] = &[
    // Models.
    row("anthropic-key", &["sk-ant-"], Word, 20),
    row("langfuse-key", &["sk-lf-"], Word, 20),
    row("helicone-key", &["sk-helicone-"], Word, 20),
    row("openrouter-key", &["sk-or-"], Word, 20),
    row("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-"], Word, 20),
    // DeepSeek, Moonshot, LiteLLM and others spell their keys like OpenAI's old ones.
    row("openai-key", &["sk-"], Word, 20).needs(dense),
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
    // The Base64 of bytes before `origin` and `aws`.
    row("aws-session-token", &["IQoJb3JpZ2lu", "FwoGZXIvYXdz", "FQoGZXIvYXdz"], Encoded, 100),
    behind("azure-key", &["AccountKey=", "SharedAccessKey="], Encoded, 40),
    behind("azure-key", &["?code=", "&code="], Encoded, 44).needs(varied),
    behind("azure-signature", &["?sig=", "&sig="], Encoded, 24).needs(varied),
    behind("google-signature", &["X-Goog-Signature="], Hex, 32),
    row("azure-secret", &["Q~"], Dotted, 31).after(Dotted, 4, 4),
    row("alibaba-access-key", &["LTAI"], Alphanumeric, 16),
    row("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_", "dose_v1_"], Hex, 64),
    row("heroku-key", &["HRKU-"], Word, 36),
    row("cloudflare-key", &["v1.0-"], Word, 171),
    shape("cloudflare-key", &["v1.0-"], Parts("[0-9a-f]{24}-[0-9a-f]{32,146}")),
    row("fly-token", &["fo1_"], Word, 43),
    row("fly-token", &["fm1r_", "fm1a_", "fm2_"], Encoded, 100),
    row("scalingo-token", &["tk-us-"], Word, 48),
    row("openshift-token", &["sha256~"], Word, 43),
    row("vault-token", &["hvs.", "hvb.", "hvr."], Word, 20),
    // The member of a variable `s` is a name, which never has two digits and this length at once.
    exactly("vault-token", &["s."], Alphanumeric, 24).needs(varied),
    row("terraform-token", &[".atlasv1."], Padded, 60).after(Alphanumeric, 14, 14),
    shape("harness-key", &["pat.", "sat."], Parts(r"[\w-]{22}\.[0-9A-Za-z]{24}\.[0-9A-Za-z]{20}")),
    row("doppler-token", &["dp.pt.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."], Alphanumeric, 40),
    row("dynatrace-token", &["dt0c01.", "dt0s01.", "dt0s16."], Dotted, 73),
    // Data.
    shape("databricks-token", &["dapi", "dose", "dkea"], Parts("[0-9a-f]{32}(?:-[0-9])?")),
    row("planetscale-token", &["pscale_tkn_", "pscale_oauth_", "pscale_pw_"], Padded, 32),
    exactly("clickhouse-key", &["4b1d"], Alphanumeric, 38),
    shape("airtable-token", &["pat"], Parts(r"[0-9A-Za-z]{14}\.[0-9a-f]{64}")),
    row("maxmind-key", &["_mmk"], Word, 0).after(Word, 36, 36),
    // Code and packages.
    row("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], Alphanumeric, 30),
    row("github-token", &["github_pat_"], Word, 40),
    // The id of an app and a JSON web token.
    shape("github-token", &["ghs_", "ghu_"], Parts(r"[0-9]+_eyJ[\w-]+\.[\w-]+\.[\w-]+")),
    row("gitlab-token", &["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "gloas-", "glsoat-", "glffct-", "glft-", "glimt-", "glagent-", "glwt-", "GR1348941"], Dotted, 20),
    behind("gitlab-cookie", &["_gitlab_session="], Alphanumeric, 32),
    row("sourcegraph-token", &["sgp_"], Word, 40),
    row("npm-token", &["npm_"], Alphanumeric, 36),
    row("pypi-token", &["pypi-AgE"], Word, 40),
    row("rubygems-key", &["rubygems_"], Hex, 48),
    exactly("crates-token", &["cio"], Alphanumeric, 32),
    exactly("artifactory-key", &["AKCp"], Alphanumeric, 69),
    // The Base64 of `reft`.
    exactly("artifactory-key", &["cmVmd"], Alphanumeric, 59),
    row("docker-token", &["dckr_pat_", "dckr_oat_"], Word, 20),
    exactly("octopus-key", &["API-"], Capitals, 26),
    row("postman-key", &["PMAK-"], Word, 59),
    row("atlassian-token", &["ATATT3", "ATCTT3"], Encoded, 60),
    row("sentry-token", &["sntrys_", "sntryu_", "sntrya_", "sntryi_"], Encoded, 40),
    row("grafana-token", &["glsa_", "glc_"], Encoded, 32),
    // The Base64 of `{"k":"`.
    row("grafana-token", &["eyJrIjoi"], Encoded, 70),
    // Chat.
    row("slack-token", &["xoxb-", "xoxp-", "xoxs-", "xoxc-", "xoxe-", "xoxe.xox", "xapp-"], Word, 20),
    row("slack-token", &["xoxd-"], Encoded, 20),
    // Shorter ones with known parts.
    row("slack-token", &["xoxa-", "xoxr-"], Word, 8).needs(mixed),
    shape("slack-token", &["xoxo-", "xoxs-", "xapp-"], Parts("[0-9]+-[0-9A-Z]+-[0-9]+-[0-9A-Fa-z]+")),
    behind("slack-webhook", &["hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"], Encoded, 20),
    behind("discord-webhook", &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"], Encoded, 40),
    shape("teams-webhook", &[".webhook.office.com/webhookb2/"], Parts("[0-9A-Za-z@/-]{80,400}")).after(Word, 1, 63),
    shape("teams-webhook", &["outlook.office.com/webhook/"], Parts("[0-9A-Za-z@/-]{80,400}")),
    row("telegram-token", &[":AA"], Word, 33).after(Digits, 8, 10),
    between("facebook-token", &["|", "%"], Word, 27, 40).after(Digits, 15, 16),
    row("facebook-token", &["EAA"], Alphanumeric, 100),
    row("facebook-token", &["EAACEdEose0cBA"], Alphanumeric, 20),
    exactly("twilio-key", &["SK"], Hex, 32),
    exactly("sendgrid-key", &["SG."], Padded, 66),
    row("brevo-key", &["xkeysib-", "xsmtpsib-"], Word, 64),
    exactly("mailgun-key", &["key-"], Hex, 32),
    // Payments, shops, work, and keys of other kinds.
    row("stripe-key", &["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"], Word, 10).needs(mixed),
    row("stripe-secret", &["whsec_"], Encoded, 24),
    between("square-token", &["EAAA", "sq0atp-"], Word, 22, 60),
    row("flutterwave-key", &["FLWSECK_TEST-", "FLWPUBK_TEST-", "FLWSECK-", "FLWPUBK-"], Word, 12),
    row("freemius-key", &["sk_"], Alphanumeric, 28).needs(dense),
    row("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_", "shpua_"], Hex, 32),
    row("duffel-token", &["duffel_test_", "duffel_live_"], Padded, 43),
    row("settlemint-token", &["sm_aat_", "sm_pat_", "sm_sat_"], Alphanumeric, 16),
    row("frameio-token", &["fio-u-"], Padded, 64),
    row("linear-key", &["lin_api_", "lin_oauth_"], Alphanumeric, 30),
    row("notion-token", &["ntn_"], Alphanumeric, 40),
    exactly("notion-token", &["secret_"], Alphanumeric, 43),
    row("1password-token", &["ops_eyJ"], Encoded, 100),
    shape("1password-key", &["A3-"], Parts("[0-9A-Z]{6}-(?:[0-9A-Z]{11}|[0-9A-Z]{6}-[0-9A-Z]{5})(?:-[0-9A-Z]{5}){3}")),
    shape("authress-key", &["sc_", "ext_", "scauth_", "authress_"], Parts(r"[0-9a-z]{5,30}\.[0-9a-z]{4,6}\.acc[_-][0-9a-z-]{10,32}\.[0-9A-Za-z+/_=-]{30,120}")),
    row("age-key", &["AGE-SECRET-KEY-1"], Capitals, 50),
    whole(PRIVATE_KEY, &["-----BEGIN "], whole_keys::pem),
    whole(PRIVATE_KEY, &["-----END "], whole_keys::without_first_line),
    whole(PRIVATE_KEY, &["Private-Lines: "], whole_keys::putty),
    row(PRIVATE_KEY, PEM_IN_BASE64, Encoded, 36),
    whole(JWT, &["eyJ"], whole_keys::jwt),
    exactly("azure-devops-token", &["AZDO"], Alphanumeric, 4).after(Alphanumeric, 76, 76),
    row("azure-key", &["JQQJ99"], Alphanumeric, 26).after(Alphanumeric, 52, 52),
    // The marks of the keys of storage, Cosmos DB, search, functions, registries, messages and caches.
    row("azure-key", &["+ASt", "+ABa", "ACDb"], Encoded, 6).after(Encoded, 76, 76),
    row("azure-key", &["AzSe"], Alphanumeric, 6).after(Alphanumeric, 42, 42),
    row("azure-key", &["AzFu"], Padded, 6).after(Word, 44, 44),
    row("azure-key", &["+ACR"], Encoded, 6).after(Encoded, 42, 42),
    row("azure-key", &["+ASb", "+AEh", "+ARm", "AIoT", "AzCa"], Encoded, 6).after(Encoded, 33, 33),
    exactly("neon-key", &["napi_"], Alphanumeric, 64),
    exactly("nuget-key", &["oy2"], Alphanumeric, 43),
    shape("resend-key", &["re_"], Parts("[0-9A-Za-z]{8,9}_[0-9A-Za-z]{22,26}")).needs(random),
    shape(SECRET, &["pat-na1-", "pat-na2-", "pat-eu1-", "pat-ap1-", "access-production-", "access-development-", "access-sandbox-", "sdk-", "api-", "rh-api-", "waka_", "amzn.mws.", "ctx7sk-", "vapi_"], Parts("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")),
    shape("discord-token", DISCORD, Parts(r"[\w-]{21,24}\.[\w-]{6}\.[\w-]{27,40}")),
    row("bitbucket-token", &["ATBB"], Alphanumeric, 28).needs(varied),
    exactly("trello-token", &["ATTA"], Hex, 64),
    exactly("razorpay-key", &["rzp_live_", "rzp_test_"], Alphanumeric, 14),
    between("fireworks-key", &["fw_"], Alphanumeric, 22, 25).needs(dense),
    between("mailchimp-key", &["-us"], Digits, 1, 2).after(Hex, 32, 32),
    shape("clickup-token", &["pk_"], Parts("[0-9]{6,10}_[0-9A-Z]{32}")),
    shape("asana-token", &["1/", "2/"], Parts("[0-9]{15,17}(?:/[0-9]{15,17})?:[0-9a-f]{32}")),
    shape("zoho-token", &["1000."], Parts(r"[0-9a-f]{32}\.[0-9a-f]{32}")),
    shape("voiceflow-key", &["VF."], Parts(r"(?:(?:DM|WS)\.)?[0-9A-Fa-f]{24}\.[0-9A-Za-z]{16}")),
    shape("infisical-token", &["st."], Parts(r"[0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32}")),
    shape("stripe-secret", &["pi_", "seti_"], Parts("[0-9A-Za-z]{24}_secret_[0-9A-Za-z]{25}")),
    // The key of a Laravel application.
    Shape { keeps_prefix: true, ..exactly(SECRET, &["base64:"], Encoded, 44) },
    behind(SECRET, &["?key=", "&key=", "?code=", "&code="], Word, 24).needs(varied),
    // The private keys of wallets: BIP 32, the format of Bitcoin's core, and the accounts of Hardhat.
    exactly(SECRET, &["xprv", "yprv", "zprv", "tprv"], Base58, 107),
    exactly(SECRET, &["5H", "5J", "5K"], Base58, 49).needs(varied),
    exactly(SECRET, &["Kw", "Kx", "Ky", "Kz", "L1", "L2", "L3", "L4", "L5"], Base58, 50).needs(varied),
    Shape { keeps_prefix: true, ..exactly(SECRET, ACCOUNTS, Hex, 64) },
    // Hashes of passwords: the MD5 of Apache, SHA-256, SHA-512 and yescrypt.
    shape(PASSWORD, &["$apr1$", "$1$", "$5$", "$6$", "$y$"], Parts(r"(?:rounds=[0-9]{1,9}\$|j[./0-9A-Za-z]{1,4}\$)?[./0-9A-Za-z]{1,32}\$[./0-9A-Za-z]{22,86}")),
    behind(SECRET, &["infura.io/v3/", "alchemy.com/v2/"], Word, 30),
    behind("zapier-webhook", &["hooks.zapier.com/hooks/catch/"], Encoded, 12),
    row(SECRET, &["sec-c-"], Encoded, 30),
    shape(SECRET, &["sk-helicone-", "sk-helicone-eu-"], Parts("[0-9a-z]{7}(?:-[0-9a-z]{7}){1,3}")),
    exactly(SECRET, &["ES_"], Hex, 32),
    exactly(SECRET, &["pk_"], Hex, 34),
    between(SECRET, &["0x4AAAAAAA"], Word, 20, 32).needs(mixed),
    shape(SECRET, &["prod:", "dev:", "preview:"], Parts(r"[0-9a-z-]{3,60}\|[0-9A-Za-z+/=]{40,200}")).needs(varied),
    between("mollie-key", &["live_"], Alphanumeric, 30, 42).needs(varied),
    exactly("dify-key", &["app-", "dataset-"], Alphanumeric, 24).needs(varied),
    exactly("metabase-key", &["mb_"], Encoded, 44).needs(varied),
    exactly("newrelic-key", &["FFFFNRAL"], Alphanumeric, 0).after(Alphanumeric, 32, 32),
    exactly("cursor-key", &["key_"], Hex, 64),
    row("portkey-key", &["pk-"], Word, 28).needs(varied),
    exactly("modal-token", &["ak-", "as-"], Alphanumeric, 22).needs(varied),
    row(SECRET, &["NRII-", "NRIQ-", "CFPAT-"], Word, 32),
    // A token in Base64.
    row(JWT, &["ZXlKaGJHY2lPaU", "ZXlKMGVYQWlPaU"], Encoded, 40),
    // The Base64 of `tok:`; the id of an organization.
    between("intercom-token", &["dG9rO"], Encoded, 40, 100).needs(varied),
    row("salesforce-token", &["!AQ", "!AR"], Dotted, 80).after(Alphanumeric, 15, 18),
    // The Base64 of `{"a":"`, of the id of an account, and of `,"t":"`.
    shape("cloudflare-key", &["eyJhIjoi"], Parts("[0-9A-Za-z]{44}LCJ0Ijoi[0-9A-Za-z+/=]{60,400}")),
    shape(SECRET, &["luma-"], Parts("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")),
    shape(SECRET, &["bce-v3/ALTAK-"], Parts("[0-9A-Za-z]{21}/[0-9a-f]{40}")),
    shape(SECRET, &["access_token$production$", "access_token$sandbox$"], Parts(r"[0-9a-z]{16}\$[0-9a-f]{32}")),
    row(SECRET, &["t1.9euel"], Dotted, 60),
    between(SECRET, &["BSA"], Word, 27, 29).needs(varied),
    exactly(SECRET, &["oauth:"], Alphanumeric, 30).needs(dense),
    between(SECRET, &["secret-"], Alphanumeric, 32, 60).needs(varied),
    behind(SECRET, &["bot/v2/hook/", "webhook/send?key="], Word, 32),
    behind(SECRET, &["/with/key/"], Word, 20).needs(varied),
    behind(SECRET, &[".make.com/"], Alphanumeric, 30),
    row(SECRET, SMALL, Dotted, 26).needs(dense_or_mixed),
    row(SECRET, SHORT, Word, 16).needs(varied),
];
