//! `--redact=all`: no planted secret stands in a result, whatever the format, its place, and what is done beside it.

use std::fs;

use crate::all_cases::{Sample, one_in};
use crate::fixtures::all;
use crate::plan::breaches::breaches;
use crate::transcript::Transcript;
use crate::transcript::json::Token;
use crate::transcript::source::Source;
use crate::transcripts::read;
use crate::whole::{assert_whole, process};

/// Secrets of all kinds of places, assembled here so that no scanner mistakes them for real ones.
fn secrets() -> Vec<String> {
    vec![
        format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3)),
        format!("AK{}{}", "IA", "Q7ZK3MPL5XWVT2RD"),
        format!("sk-{}-{}", "ant", "x9Y8z7W6v5U4".repeat(5)),
        "hunter2-and-more".to_owned(),
    ]
}

/// The first secrets, which stand for themselves, and the last behind the name that tells it.
fn planted(which: usize) -> String {
    let secrets = secrets();
    let at = which % secrets.len();
    if at + 1 == secrets.len() { format!("DB_PASSWORD={}", secrets[at]) } else { secrets[at].clone() }
}

/// Plants a secret between two words of each string, and counts them.
fn in_texts(text: &str) -> (String, usize) {
    let source = Source::of_file(text).expect("JSON");
    let (mut out, mut done, mut count) = (String::new(), 0, 0);
    for scalar in source.values().flat_map(|value| value.tokens().collect::<Vec<_>>()) {
        let Token::Scalar(json) = scalar else { continue };
        let words = json
            .raw()
            .as_bytes()
            .windows(3)
            .position(|three| three[0].is_ascii_lowercase() && three[1] == b' ' && three[2].is_ascii_lowercase());
        let Some(place) = words.filter(|_| json.text().is_some()) else { continue };
        let at = json.span().start + place + 1;
        out.push_str(&text[done..at]);
        out.push_str(&format!(" {} ", planted(count)));
        (done, count) = (at, count + 1);
    }
    (out + &text[done..], count)
}

/// Puts a secret of its own in the place of each id of a call.
fn in_ids(text: &str) -> String {
    let document = read(text, None, None).expect("a transcript");
    let calls = document.transcripts.iter().flat_map(|one| one.messages.iter().flat_map(|message| &message.calls));
    let mut ids: Vec<String> = calls.filter_map(|call| Some(call.id?.decode().into_owned())).collect();
    ids.sort_by_key(|id| std::cmp::Reverse(id.len()));
    ids.dedup();
    ids.retain(|id| id.len() > 5);
    let mut out = text.to_owned();
    for (at, id) in ids.iter().enumerate() {
        out = out.replace(id.as_str(), &format!("gh{}_{}{at:0>6}", "s", "f6E5d4C3b2A1".repeat(3)));
    }
    out
}

fn violations(transcripts: &[Transcript<'_>]) -> usize {
    transcripts.iter().map(|one| breaches(one).len()).sum()
}

const WAYS: [&[&str]; 9] = [
    &["--trigger=messages:999999"],
    &["--keep=messages:2"],
    &["--keep=messages:1", "--prune=all"],
    &["--keep=messages:3", "--model=none", "--thinking=keep"],
    &["--keep=turns:1", "--repair=drop"],
    &["--fit=tokens:400"],
    &["--keep=messages:2", "--preset=deepagents", "--truncate-args=7"],
    &["--keep=messages:2", "--emit=update"],
    &["--keep=messages:2", "--emit=summary"],
];

#[test]
fn no_planted_secret_stands_in_a_result() {
    let (mut results, mut planted_in_ids, mut sample) = (0, 0, Sample::default());
    for (name, file) in all() {
        let text = fs::read_to_string(&file).expect("a fixture");
        let (with_texts, count) = in_texts(&text);
        let with_ids = in_ids(&text);
        planted_in_ids += usize::from(with_ids != text);
        let both = in_ids(&with_texts);
        for text in [with_texts, with_ids, both].iter().filter(|planted| **planted != text) {
            let Ok(before) = read(text, None, None) else { continue };
            for way in WAYS.into_iter().filter(|_| sample.takes_next()) {
                let mut arguments: Vec<String> = way.iter().map(|word| (*word).to_owned()).collect();
                arguments.extend([format!("--from={name}"), "--redact=all".to_owned()]);
                let Ok(outcome) = process(&arguments, text) else { continue };
                results += 1;
                let secrets = secrets().into_iter().chain([format!("gh{}_{}", "s", "f6E5d4C3b2A1".repeat(3))]);
                for secret in secrets {
                    assert!(
                        !outcome.text.contains(&secret),
                        "{}: {way:?}: {secret} of {count}\n{}",
                        file.display(),
                        outcome.text
                    );
                }
                if way.iter().any(|word| word.starts_with("--emit")) {
                    continue;
                }
                assert!(outcome.compacted, "{}: {way:?}", file.display());
                // A repair has a record of its own, which restoring undoes after the other.
                if !way.contains(&"--repair=drop") {
                    assert_whole(&arguments, text);
                }
                let after = read(&outcome.text, before.transcripts.first().map(|one| one.format), None);
                let after = after.unwrap_or_else(|error| panic!("{} {error}: {way:?}", file.display()));
                if violations(&before.transcripts) == 0 {
                    assert_eq!(violations(&after.transcripts), 0, "{}: {way:?}\n{}", file.display(), outcome.text);
                }
            }
        }
    }
    assert!(results * one_in() > 500 && planted_in_ids > 15, "{results} {planted_in_ids}");
}
