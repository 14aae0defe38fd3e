//! Checks the laws of digests on generated conversations of every format, on the fixtures, and on tables.

mod background;
mod beside;
mod calls;
mod cuts;
mod files;
mod frames;
mod limits;
mod places;
mod results;
mod rounds;
mod rules;
mod speakers;
mod statuses;
mod text_protocols;

use crate::compact::{Accept, CompactionPolicy};
use crate::plan::size::Size;
use crate::tokens::Counter;
use crate::transcript::formats::{FORMATS, Format, by_name};
use crate::transcript::{Message, fence};
use serde_json::{Value, json};
use tcompact_core::digest::{self, Digest};

use crate::bricks::Bricks;
use crate::digest::{Item, Section, digest_of, parse};
use crate::lawful::{PREFIX, with_document};
/// Passes the messages of the first conversation in a source to `inspect`.
fn with_messages<T>(source: &str, format: Option<&'static Format>, inspect: impl FnOnce(&[&Message<'_>]) -> T) -> T {
    with_document(source, format, |document| inspect(&document.transcripts[0].messages.iter().collect::<Vec<_>>()))
}

fn read<'a>(messages: &[&'a Message<'a>]) -> Digest<'a> {
    digest::read(messages, &(0..messages.len()).collect::<Vec<_>>(), PREFIX)
}

/// Returns a digest of a conversation of Chat Completions.
fn digest_of_chat(messages: &[Value], limit: u64) -> String {
    let source = json!(messages).to_string();
    with_messages(&source, by_name("openai-chat"), |messages| digest_of(messages, Counter::APPROX, limit))
}

/// Runs `check` with each format and some seeds, in the share of these cases that is checked.
fn for_cases(cases: usize, check: impl Fn(&Bricks, &'static Format, u64)) {
    for (format, seed) in FORMATS.iter().cycle().zip(0..crate::all_cases::share(cases) as u64) {
        check(&Bricks::of(format.name), format, seed);
    }
}

/// The marks of speakers in a text, such as `u12`.
fn marks(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter_map(|word| word.strip_prefix('z'));
    words
        .filter(|mark| mark.len() > 1 && mark.starts_with(['u', 'a', 'c', 'r']) && mark[1..].parse::<u32>().is_ok())
        .collect()
}

/// Checks that each line has the words of its speaker only.
fn assert_speakers(digest: &str) {
    for item in parse(digest) {
        let allowed: &[char] = match item.section {
            Section::User if item.question().is_some() => &['a'],
            Section::User => &['u'],
            Section::State | Section::Rules | Section::Calls => &['c', 'r'],
            Section::Assistant => &['a'],
            Section::Earlier => &[],
            Section::Missing if item.text.starts_with("The user: ") => &['u'],
            Section::Missing => &['c', 'r'],
        };
        for mark in marks(&item.text) {
            assert!(mark.starts_with(allowed), "z{mark} in {:?}: {digest}", item.section);
        }
    }
}

/// The items of a section.
fn items(digest: &str, section: Section) -> Vec<Item> {
    parse(digest).into_iter().filter(|item| item.section == section).collect()
}

/// The marks of the messages of the user that a digest holds, in order, each once.
fn users(digest: &str) -> Vec<u32> {
    let mut found: Vec<u32> = Vec::new();
    for item in items(digest, Section::User).iter().filter(|item| item.question().is_none()) {
        found.extend(marks(&item.text).first().and_then(|mark| mark[1..].parse::<u32>().ok()));
    }
    found.dedup();
    found
}

/// Returns the summary in a compacted text.
fn summary_in(text: &str, format: &'static Format) -> String {
    with_messages(text, Some(format), |messages| {
        let summary = messages.iter().find(|message| message.is_ours()).expect("a summary");
        let texts = summary.content.texts().iter().map(|text| text.decode().into_owned()).collect::<String>();
        // The fence escapes what could end it.
        fence::opened(&texts).replace("&lt;", "<")
    })
}

/// Returns a policy that keeps so many messages.
fn keeping(messages: u64) -> CompactionPolicy {
    let mut policy = CompactionPolicy::keeping(Size::Messages(messages));
    policy.cut.summary_prefix = PREFIX.to_owned();
    policy.summary.accept = Accept::Any;
    policy
}

/// A call of `make check` in Chat Completions, with its result.
fn chat(result: &str) -> Value {
    let function = json!({"name": "bash", "arguments": json!({"command": "make check"}).to_string()});
    let call = json!({"id": "a", "type": "function", "function": function});
    json!([{"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": result}])
}

/// A call of a tool in Chat Completions, with its result.
fn call(name: &str, arguments: &Value, result: &str) -> Vec<Value> {
    let mut messages = chat(result);
    messages[0]["tool_calls"][0]["function"] = json!({"name": name, "arguments": arguments.to_string()});
    messages.as_array().cloned().unwrap_or_default()
}
