//! A secret that one place of a conversation tells stands nowhere in what is written, sent or shown, in every format: not in
//! what is said, called and answered before and behind that place. Ids stay, so that the conversation does.

use regex::Regex;
use serde_json::json;

use crate::all_cases::{Sample, one_in};
use crate::bricks::Bricks;
use crate::bricks::talk::{Step, choices, steps};
use crate::redact::Redactor;
use crate::transcript::edit::apply;
use crate::transcript::formats::FORMATS;
use crate::transcripts::read;
use crate::whole::{assert_whole, process};

/// Values with marks of several kinds, which no spelling tells, and a placeholder's kind.
const VALUES: [(&str, &str); 5] = [
    ("Kx7mQ2vRt7Lw4zzB", "DB_PASSWORD="),
    ("hunter22", "password: "),
    ("tr0ub4dor&3", "export ADMIN_PASSWORD="),
    ("6f1d0c52-9a1e-4d0b-8f3e-2b7a90c4d511", "HEROKU_API_KEY="),
    ("correcthorsebattery", "PGPASSWORD="),
];

const WAYS: [&[&str]; 6] = [
    &["--trigger=messages:999999"],
    &["--keep=messages:2"],
    &["--keep=messages:3", "--prune=all"],
    &["--keep=messages:2", "--emit=summary"],
    &["--fit=tokens:500"],
    &["--keep=messages:2", "--repair=drop"],
];

/// What is done with a secret that one step tells.
fn talk(seed: u64, secret: &str, name: &str) -> Vec<Step> {
    let mut below = choices(seed);
    let uses = [
        Step::Assistant(format!("I log in with {secret} now.")),
        Step::User(format!("No, \"{secret}\" is old ({secret}).")),
        Step::Call(
            "bash",
            json!({"command": format!("python login.py {secret} --host x")}),
            format!("as app with {secret}"),
        ),
        Step::Call(
            "Read",
            json!({"file_path": format!("/srv/{secret}/x")}),
            format!("{{\"seen\": [\"{secret}\", 1]}}\n"),
        ),
        Step::Call("get_user", json!({"user": {"login": secret, "list": ["a", secret]}}), format!("密码{secret}。")),
    ];
    let mut all = steps(&mut below, 0..6);
    for step in uses {
        all.insert(below(all.len() + 1), step);
    }
    let tells = match below(3) {
        0 => Step::User(format!("Use this:\n{name}{secret}\n")),
        1 => Step::Assistant(format!("It says\n{name}{secret}\nthere.")),
        _ => Step::Call("bash", json!({"command": "cat .env"}), format!("HOST=x\n{name}{secret}\nPORT=1")),
    };
    all.insert(below(all.len() + 1), tells);
    all.insert(0, Step::User("Look at the login.".to_owned()));
    all
}

/// Whether the secret is written in a conversation with a name that tells it, which a format without calls may not have.
fn is_told(source: &str, name: &str, secret: &str) -> bool {
    source.contains(&format!("{name}{secret}"))
}

#[test]
fn a_secret_that_was_found_stands_nowhere() {
    let (mut cases, mut sample) = (0, Sample::default());
    // Names of members stay, so a result is not one here.
    let results_as_names = Regex::new(r#"\{("(?:[^"\\]|\\.)*"):1\.50\}"#).expect("a pattern");
    for format in FORMATS {
        let bricks = Bricks::of(format.name);
        for (seed, (secret, name)) in VALUES.into_iter().enumerate() {
            for layout in 0..bricks.layouts() {
                let source = bricks.conversation(&talk((seed * 31 + layout) as u64, secret, name), layout);
                let source = results_as_names.replace_all(&source, r#"{"output":$1}"#).into_owned();
                if !is_told(&source, name, secret) {
                    continue;
                }
                let document = read(&source, Some(*format), None).expect("a transcript");
                let transcript = &document.transcripts[0];
                let all: Vec<usize> = (0..transcript.messages.len()).collect();
                let sent = apply(&source, &Redactor::default().edits(transcript, &all));
                assert!(!sent.contains(secret), "{}: {secret} is sent:\n{sent}", format.name);
                for way in WAYS.into_iter().filter(|_| sample.takes_next()) {
                    let from = format!("--from={}", format.name);
                    let mut arguments: Vec<String> = way.iter().map(|word| (*word).to_owned()).collect();
                    arguments.extend([from, "--redact=all".to_owned()]);
                    let Ok(outcome) = process(&arguments, &source) else { continue };
                    cases += 1;
                    assert!(!outcome.text.contains(secret), "{way:?}: {secret} stays:\n{}", outcome.text);
                    if !way.contains(&"--emit=summary") && !way.contains(&"--repair=drop") {
                        read(&outcome.text, Some(*format), None).expect("a transcript");
                        assert_whole(&arguments, &source);
                    }
                }
            }
        }
    }
    assert!(cases * one_in() > 300, "{cases}");
}

/// A password that is an id of the format, too.
#[test]
fn ids_stay_whatever_is_found() {
    let (id, mut cases) = ("kq7mz2vrt7lw4zzb", 0);
    for format in FORMATS {
        let bricks = Bricks::of(format.name);
        for layout in 0..bricks.layouts() {
            let call = Step::Call("bash", json!({"command": "cat .env"}), format!("DB_PASSWORD={id}"));
            let source =
                bricks.conversation(&[Step::User("Look.".to_owned()), call, Step::User("So?".to_owned())], layout);
            // The call is the second step.
            let source = source.replace("\"c1\"", &format!("\"{id}\""));
            let Ok(before) = read(&source, Some(*format), None) else { continue };
            let is_id = |call: &crate::transcript::message::Call<'_>| call.id.is_some_and(|own| own.decode() == id);
            let calls = before.transcripts[0].messages.iter().flat_map(|message| &message.calls);
            if calls.filter(|call| is_id(call)).count() == 0 {
                continue;
            }
            let arguments =
                ["--trigger=messages:999999", &format!("--from={}", format.name), "--redact=all"].map(str::to_owned);
            let outcome = process(&arguments, &source).unwrap_or_else(|error| panic!("{error}: {source}"));
            let after = read(&outcome.text, Some(*format), None).expect("a transcript");
            let of = |text: &str| text.matches(&format!("\"{id}\"")).count();
            assert_eq!(of(&outcome.text), of(&source), "{}\n{}", format.name, outcome.text);
            assert_eq!(after.transcripts[0].pairing.pairs, before.transcripts[0].pairing.pairs, "{}", outcome.text);
            cases += 1;
        }
    }
    assert!(cases > 10, "{cases}");
}
