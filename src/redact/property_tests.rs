//! What holds of every text: masking is final, planted secrets do not survive, and messages stay messages.

use proptest::prelude::*;

use crate::redact::tests::{edited, masked, of_shapes};
use crate::redact::*;

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
