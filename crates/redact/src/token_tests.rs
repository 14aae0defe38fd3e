//! Random tokens from their providers' spellings, and what holds of every text: masking is final, planted secrets do not
//! survive, and messages stay messages.
//!
//! The spellings are repeated here as patterns, so that the tests do not depend on the rows of [`crate::kinds`].

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::string::string_regex;
use proptest::test_runner::TestRunner;

use crate::samples::of_shapes;
use crate::tests::{edited, masked};
use crate::*;

/// The number of tokens of each spelling.
const TOKENS_EACH: usize = 12;

/// The kind of the placeholder, and the spelling. A leading group in brackets of its own stays.
#[rustfmt::skip]
const TOKENS: &[(&str, &str)] = &[
    ("1password-key", "A3-[A-Z0-9]{6}-([A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(-[A-Z0-9]{5}){3}"),
    ("1password-token", "ops_eyJ[a-zA-Z0-9+/]{250,300}={0,3}"),
    ("secret", "p8e-[a-z0-9]{32}"),
    ("age-key", "AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    ("airtable-token", "pat[a-zA-Z0-9]{14}\\.[a-f0-9]{64}"),
    ("alibaba-access-key", "LTAI[a-z0-9]{20}"),
    ("anthropic-key", "sk-ant-(api03|admin01)-[a-zA-Z0-9_-]{93}AA"),
    ("artifactory-key", "AKCp[A-Za-z0-9]{69}|cmVmd[A-Za-z0-9]{59}"),
    ("authress-key", "(sc|ext|scauth|authress)_[a-z0-9]{5,30}\\.[a-z0-9]{4,6}\\.acc[_-][a-z0-9-]{10,32}\\.[a-z0-9+/_=-]{30,120}"),
    ("aws-access-key", "(A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    ("aws-bedrock-key", "ABSK[A-Za-z0-9+/]{109,269}={0,2}|bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t[A-Za-z0-9]{0,40}"),
    ("azure-secret", "[a-zA-Z0-9_]{3}[0-9]Q~[a-zA-Z0-9_~.-]{30,33}[a-zA-Z0-9]"),
    ("clickhouse-key", "4b1d[A-Za-z0-9]{38}"),
    ("secret", "CLOJARS_[a-z0-9]{60}"),
    ("cloudflare-key", "v1\\.0-[a-f0-9]{24}-[a-f0-9]{146}"),
    ("databricks-token", "dapi[a-f0-9]{32}(-[0-9])?"),
    ("digitalocean-token", "d(oo|op|or)_v1_[a-f0-9]{64}"),
    ("doppler-token", "dp\\.(pt|ct|sa|scim|audit)\\.[a-zA-Z0-9]{43}"),
    ("duffel-token", "duffel_(test|live)_[a-zA-Z0-9_=-]{43}"),
    ("dynatrace-token", "dt0c01\\.[A-Z0-9]{24}\\.[A-Z0-9]{64}"),
    ("secret", "EZ[AT]K[a-zA-Z0-9]{54}"),
    ("facebook-token", "[0-9]{15,16}(\\||%)[0-9a-z_-]{27,40}|EAA[MC][a-zA-Z0-9]{100,180}"),
    ("flutterwave-key", "FLWSECK_TEST-[a-h0-9]{12}|FLW(SEC|PUB)K_TEST-[a-h0-9]{32}-X"),
    ("fly-token", "fo1_[a-zA-Z0-9_-]{43}|(fm1[ar]|fm2)_[a-zA-Z0-9+/]{100,200}={0,3}"),
    ("frameio-token", "fio-u-[a-zA-Z0-9_=-]{64}"),
    ("freemius-key", "sk_[a-zA-Z0-9]{29}"),
    ("github-token", "gh[pousr]_[0-9a-zA-Z]{36}|github_pat_[0-9A-Za-z_]{82}"),
    ("gitlab-token", "gl(pat|dt|ft|rt|soat|ffct)-[0-9a-zA-Z_-]{20}|glcbt-[0-9a-zA-Z]{1,5}_[0-9a-zA-Z_-]{20}"),
    ("gitlab-token", "glptt-[0-9a-f]{40}|glimt-[0-9a-zA-Z_-]{25}|glagent-[0-9a-zA-Z_-]{50}|gloas-[0-9a-zA-Z_-]{64}"),
    ("gitlab-token", "(glpat-|glrt-t[0-9]_)[0-9a-zA-Z_-]{27,300}\\.[0-9a-z]{9}|GR1348941[0-9a-zA-Z_-]{20}"),
    ("gitlab-cookie", "_gitlab_session=[0-9a-z]{32}"),
    ("google-key", "AIza[0-9A-Za-z_-]{35}"),
    ("grafana-token", "eyJrIjoi[A-Za-z0-9]{70,400}={0,3}|glc_[A-Za-z0-9]{32,400}={0,3}|glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    ("harness-key", "[ps]at\\.[a-zA-Z0-9_-]{22}\\.[a-zA-Z0-9]{24}\\.[a-zA-Z0-9]{20}"),
    ("heroku-key", "HRKU-AA[0-9a-zA-Z_-]{58}"),
    ("huggingface-token", "(hf_|api_org_)[a-zA-Z]{34}"),
    ("secret", "ico-[a-zA-Z0-9]{32}"),
    ("secret", "s-s4t2(ud|af)-[a-f0-9]{64}"),
    ("linear-key", "lin_api_[a-zA-Z0-9]{40}"),
    ("maxmind-key", "[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    ("notion-token", "ntn_[0-9]{11}[A-Za-z0-9]{35}"),
    ("npm-token", "npm_[a-zA-Z0-9]{36}"),
    ("octopus-key", "API-[A-Z0-9]{26}"),
    ("openai-key", "sk-[a-zA-Z0-9]{20}T3BlbkFJ[a-zA-Z0-9]{20}|sk-(proj|svcacct|admin)-[A-Za-z0-9_-]{74}T3BlbkFJ[A-Za-z0-9_-]{74}"),
    ("openshift-token", "sha256~[a-zA-Z0-9_-]{43}"),
    ("perplexity-key", "pplx-[a-zA-Z0-9]{48}"),
    ("planetscale-token", "pscale_(tkn|oauth|pw)_[a-zA-Z0-9_=.-]{31,63}[a-zA-Z0-9]"),
    ("postman-key", "PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("secret", "pnu_[a-zA-Z0-9]{36}"),
    ("secret", "pul-[a-f0-9]{40}"),
    ("pypi-token", "pypi-AgEIcHlwaS5vcmc[a-zA-Z0-9_-]{50,200}"),
    ("secret", "rdme_[a-z0-9]{70}"),
    ("rubygems-key", "rubygems_[a-f0-9]{48}"),
    ("scalingo-token", "tk-us-[a-zA-Z0-9_-]{48}"),
    ("sendgrid-key", "SG\\.[a-zA-Z0-9_-]{22}\\.[a-zA-Z0-9_-]{43}"),
    ("brevo-key", "xkeysib-[a-f0-9]{64}-[a-zA-Z0-9]{16}"),
    ("sentry-token", "sntryu_[a-f0-9]{64}|sntrys_eyJpYXQiO[a-zA-Z0-9+/]{40,200}={0,2}_[a-zA-Z0-9]{43}"),
    ("settlemint-token", "sm_[aps]at_[a-zA-Z0-9]{16}"),
    ("secret", "shippo_(live|test)_[a-f0-9]{40}"),
    ("shopify-token", "shp(at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    ("slack-token", "xox[bp](-[0-9]{10,13}){3}-[a-zA-Z0-9]{28,34}|xapp-[0-9]-[A-Z0-9]{1,12}-[0-9]{1,13}-[a-z0-9]{1,64}"),
    ("slack-token", "xoxe\\.xox[bp]-[0-9]-[A-Z0-9]{163,166}|xoxe-[0-9]-[A-Z0-9]{146}|xoxb-[0-9]{8,14}-[a-zA-Z0-9]{18,26}"),
    ("slack-token", "xox[os]-[0-9]{1,9}-[0-9]{1,9}-[0-9]{1,9}-[a-f0-9]{1,32}|xox[ar]-([0-9]-)?[A-Z][a-z][0-9a-zA-Z]{6,46}"),
    ("slack-webhook", "https://hooks\\.slack\\.com/(services|workflows|triggers)/[A-Za-z0-9/]{43,55}[A-Za-z0-9]"),
    ("sourcegraph-token", "sgp_(([a-f0-9]{16}|local)_)?[a-f0-9]{40}"),
    ("square-token", "(EAAA|sq0atp-)[a-zA-Z0-9_-]{22,60}"),
    ("stripe-key", "[sr]k_(test|live|prod)_[0-9][a-zA-Z0-9]{9,98}"),
    ("teams-webhook", "https://[a-z0-9]{3,12}\\.webhook\\.office\\.com/webhookb2/[a-z0-9-]{36}@[a-z0-9-]{36}/IncomingWebhook/[a-z0-9]{32}/[a-z0-9-]{35}[a-z]"),
    ("terraform-token", "[a-zA-Z0-9]{14}\\.atlasv1\\.[a-zA-Z0-9_=-]{60,70}"),
    ("twilio-key", "SK[0-9a-f]{32}"),
    ("vault-token", "hvb\\.[a-zA-Z0-9_-]{138,300}|hvs\\.[a-zA-Z0-9_-]{90,120}|s\\.[0-9]{2}[a-zA-Z0-9]{22}"),
];

/// The texts around a token, which is `¦`.
const FRAMES: &[&str] = &[
    "¦",
    "it is ¦ today",
    "the last word: ¦\n",
    "two of ¦, then",
    "{\"value\": \"¦\"}",
    r#"{\"value\": \"¦\"}\n"#,
    r"first\n¦\nlast",
    "let x = '¦';",
    "call(`¦`)",
    "<code>¦</code>",
    "https://example.com/?a=¦&b=1",
    "export SERVICE_TOKEN=¦\nX=1",
    "\u{1b}[1;32m¦\u{1b}[0m",
    "é¦ü",
    "| ¦ | x |",
];

/// Whether a frame is masked correctly: the text before the token, at most words that name its owner, the placeholder,
/// and the text after it.
fn is_masked(masked: &str, frame: &str) -> bool {
    let (before, behind) = frame.split_once('¦').expect("a place");
    let Some(token) = masked.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind)) else { return false };
    let Some((stays, rest)) = token.split_once('[') else { return false };
    !stays.contains(|c: char| c.is_ascii_digit()) && rest.ends_with(']') && !rest.contains('[')
}

#[test]
fn tokens_go_whole_wherever_they_stand() {
    let mut runner = TestRunner::deterministic();
    let mut failed = Vec::new();
    for (kind, shape) in TOKENS {
        let strategy = string_regex(shape).expect("a pattern");
        for _ in 0..TOKENS_EACH {
            let token = strategy.new_tree(&mut runner).expect("a token").current();
            for frame in FRAMES {
                let mut redactor = Redactor::default();
                let masked = redactor.mask(&frame.replace('¦', &token)).into_owned();
                // After an upper-case name it may count as a variable's value.
                let is_kind = masked.contains(&format!("[{kind}-1]")) || masked.contains("[env-secret-1]");
                if !is_kind || !is_masked(&masked, frame) {
                    failed.push(format!("{kind}: {token}\n  in {frame:?} became {masked:?}"));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed[..failed.len().min(30)].join("\n"));
}

#[test]
fn every_kind_is_listed_once() {
    let table = secrets();
    let names: BTreeSet<&str> = table.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(names.len(), table.len());
    for kind in names.iter().chain(&TOKENS.iter().map(|(kind, _)| *kind).collect::<BTreeSet<_>>()) {
        assert_eq!(kinds::named(kind), Some(*kind));
        assert!(names.contains(kind), "{kind}");
    }
}

/// Words, code and ids with the prefixes of tokens, separated by `¦`.
const NO_TOKENS: &str = "path/to/pattern.rs¦pat.test(x)¦sat.down.then¦s.len()¦s.assertTheVeryLongNameHere¦self.assertEqualsSomethingLong\
    ¦ext_modules.name.acc_x¦sc_widget.value¦v1.0-rc.1¦v1.0-beta-of-a-very-long-name-with-words¦SKIP¦SKILL.md¦API-VERSION¦API-KEY\
    ¦ico-arrow-left¦EAAAfter¦A3-PAPER¦A3T¦4b1d0c9f3a7e5d2b8c6f1e0a9d4b7c3e5f2a1d8b¦key-value¦key-press-event-handler-name\
    ¦| 1234567890123456 | description of the thing |¦1234567890%increase¦sk_buff_head¦sk_test_helper_function\
    ¦sm_sat_x¦pul-request¦rdme_file¦_gitlab_session=x¦xoxb-token¦xoxa-tokens¦xapp-token¦p8e-x¦dp.pt.x\
    ¦sha256:4b1d0c9f3a7e5d2b8c6f1e0a9d4b7c3e5f2a1d8b4b1d0c9f3a7e5d2b8c6f1e0a¦image@sha256~latest\
    ¦https://outlook.office.com/webhookb2/¦hooks.slack.com/services/¦https://hooks.slack.com/docs/some/page\
    ¦duffel_test_mode¦shippo_test_client¦pscale_pw_reset¦tk-us-east¦cmVmdCBhbmQgcmlnaHQ=¦fm2_radio¦fo1_x\
    ¦pnu_x¦harness.pat.value¦terraform.atlasv1.com¦x_mmk";

#[test]
fn what_only_begins_like_a_token_stays() {
    for text in NO_TOKENS.split('¦') {
        assert_eq!(Redactor::default().mask(text), text);
    }
}

/// Generates text from the pieces that decisions depend on, in every order.
fn pieces() -> impl Strategy<Value = String> {
    let fixed = concat!(
        "password¦API_KEY¦token¦Authorization¦Bearer ¦Basic ¦Cookie¦curl -u ¦a:¦=¦: ¦:¦ = ¦\"¦'¦`¦\\¦\\n¦",
        "\\\"¦\n¦ ¦,¦;¦&¦(¦)¦[¦]¦{¦}¦<¦>¦$¦://¦@¦//u:¦/¦-----BEGIN PRIVATE KEY-----¦",
        "-----END PRIVATE KEY-----¦sk-¦ghp_¦eyJ¦.¦--¦*¦hunter2¦é¦\u{fffd}¦[password-1]¦[jwt-2]¦",
        "[github-token-¦AKIA¦mnemonic¦str¦export ¦connection_string¦SK¦s.¦|¦%¦Q~¦_mmk¦",
        "pat.¦.atlasv1.¦A3-¦EAAA¦xoxb-¦xoxa-¦hooks.slack.com/services/¦.webhook.office.com/webhookb2/¦sc_¦.acc_¦",
        "kind: Secret¦data:\n¦  conn: ¦stringData¦---¦\t¦  ¦│¦\u{1b}[32m¦\u{1b}[0m¦\\u001b[0m¦\u{8}¦create user x identified by ¦",
        "--from-literal=a=¦redis-cli -a ¦sshpass -p ¦printenv ¦echo ¦| sudo -S¦;PWD=¦oracle:thin:me/¦cookies¦value¦&lt;¦napi_¦MT",
    );
    let fixed = prop::sample::select(fixed.split('¦').collect::<Vec<_>>());
    let piece = prop_oneof![
        6 => fixed.prop_map(str::to_owned),
        1 => "[a-zA-Z0-9]{1,70}",
        1 => "[A-Z0-9]{16}",
        1 => ".{0,4}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn masking_is_safe_and_final(text in prop_oneof![pieces(), ".*"]) {
        let mut redactor = Redactor::default();
        let once = redactor.mask(&text).into_owned();
        let count = redactor.counts().clone();
        prop_assert_eq!(redactor.mask(&once), once.as_str());
        prop_assert_eq!(redactor.counts(), &count);
        prop_assert_eq!(masked(&once), once.clone());
    }

    #[test]
    fn a_planted_secret_does_not_survive(
        which in any::<prop::sample::Index>(),
        before in pieces(),
        after in pieces(),
        left in prop::sample::select(vec![" ", "\n", "\"", "=", "(", "\\n", ",", "|"]),
        right in prop::sample::select(vec![" ", "\n", "\"", ")", "\\n", ",", "|"]),
    ) {
        let shapes = of_shapes();
        let (_, secret) = which.get(&shapes);
        let masked = masked(&format!("{before}{left}{secret}{right}{after}"));
        prop_assert!(!masked.contains(secret.as_str()), "{secret} in {masked}");
    }

    #[test]
    fn a_password_with_a_name_does_not_survive(
        password in "[a-z]{3}[0-9]{3}[a-zA-Z0-9@%^+_]{2,20}",
        frame in prop::sample::select(vec![
            ("DB_PASSWORD=", "\n"), ("{\"password\": \"", "\"}"), ("password: ", "\n"), ("{\\\"api_key\\\": \\\"", "\\\"}"),
            ("Authorization: Bearer ", "\n"), ("amqp://user:", "@host"), ("export X_TOKEN='", "'"), ("<secret>", "</secret>"),
        ]),
        around in ("[ a-z\n]{0,30}", "[ a-z\n]{0,30}"),
    ) {
        let (start, end) = frame;
        let masked = masked(&format!("{}\n{start}{password}{end}{}", around.0, around.1));
        prop_assert!(!masked.contains(&password), "{masked}");
    }

    #[test]
    fn messages_stay_messages(text in pieces(), other in pieces()) {
        check_messages(&text, &other)?;
    }
}

#[test]
fn a_value_of_several_words_ends_with_its_string() {
    for before in ["'", "x\n", "\t", "{", "- "] {
        check_messages("Basic 0", &format!("{before}password:aa:")).expect("still JSON");
    }
}

fn check_messages(text: &str, other: &str) -> Result<(), TestCaseError> {
    let inner = serde_json::json!({"command": other, "password": text}).to_string();
    let call = serde_json::json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": inner}});
    let source = serde_json::json!([
        {"role": "user", "content": text},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": other},
    ])
    .to_string();
    let (masked, _) = edited(&source, &[0, 1, 2]);
    let value: Value = serde_json::from_str(&masked).expect("still JSON");
    let arguments = value[1]["tool_calls"][0]["function"]["arguments"].as_str().expect("arguments");
    prop_assert!(serde_json::from_str::<Value>(arguments).is_ok(), "{arguments}");
    prop_assert_eq!(edited(&masked, &[0, 1, 2]).0, masked);
    Ok(())
}

#[test]
fn no_cut_is_inside_a_mask() {
    let text = "é [env-secret-12][jwt-1] [no-kind-1] [";
    let masks = [3..18, 18..25];
    for at in 0..=text.len() + 3 {
        let (before, behind) = (cut_before(text, at), cut_behind(text, at));
        assert!(before <= at.min(text.len()) && behind >= at.min(text.len()));
        for cut in [before, behind] {
            assert!(text.is_char_boundary(cut));
            assert!(!masks.iter().any(|mask| mask.start < cut && cut < mask.end), "{at}: {cut}");
        }
    }
    assert_eq!((cut_before(text, 9), cut_behind(text, 9)), (3, 18));
    assert_eq!((cut_before(text, 30), beginning(text, 9), beginning(text, 99)), (30, "é ", text));
}
