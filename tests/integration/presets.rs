//! What the presets do, held against what the known systems did: every recorded case, with none left out.
//!
//! `fixtures/presets/README.md` says how the cases were recorded and what they hold. `TCOMPACT_CASES` names a folder with
//! other files of the same kind.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;

use tcompact::app::{Outcome, process};
use tcompact::plan::carried::{self, carried};
use tcompact::plan::size::Size;
use tcompact::plan::{Plan, Policy, plan, total};
use tcompact::presets::{self, by_name};
use tcompact::rewrite::arguments::{MARK, Truncation};
use tcompact::run::input::Input;
use tcompact::settings::Settings;
use tcompact::settings::layers::CommandLine;
use tcompact::summary::attempts::{Failed, Kind, Patience};
use tcompact::summary::prompt::Template;
use tcompact::summary::{Answers, NoAnswer, Reply, Request, Summarizer};
use tcompact::tokens::{Counter, Tally, python};
use tcompact::transcript::format;
use tcompact::transcript::framing::read;
use tcompact::transcript::json::{Json, Kind as JsonKind};
use tcompact::transcript::syntax;

use crate::program::FIXTURES;

/// Where the recorded `DeepAgents` kept the history.
const ARCHIVE: &str = "/conversation_history/session_recorded.md";

/// One recorded case.
struct Case<'a> {
    system: &'static str,
    json: Json<'a>,
}

/// A model that answers as a case says, and remembers what it was sent.
struct Script {
    patience: Patience,
    reply: String,
    steps: RefCell<Vec<String>>,
    prompts: RefCell<Vec<String>>,
}

impl Answers for Script {
    fn answer(&self, request: &Request, _summary_tokens: u64) -> Result<Reply, NoAnswer> {
        let attempt = || {
            self.prompts.borrow_mut().push(request.prompt.clone());
            let mut steps = self.steps.borrow_mut();
            let step = if steps.is_empty() { "ok".to_owned() } else { steps.remove(0) };
            let failed = |kind: Kind, message: &str| Err(Failed { message: message.to_owned(), kind, asked: None });
            match step.as_str() {
                "ok" => Ok(Reply { text: self.reply.clone(), ..Reply::default() }),
                "overflow" => failed(Kind::TooLong, "prompt is too long"),
                "nonretryable" => failed(Kind::Lasting, "bad request"),
                _ => failed(Kind::Odd, "boom"),
            }
        };
        self.patience.persist(attempt, |_| {})
    }
}

fn repr(value: Json<'_>) -> String {
    let mut out = String::new();
    python::repr(value, &mut out);
    out
}

fn text(value: Option<Json<'_>>) -> Option<String> {
    Some(value?.text()?.decode().into_owned())
}

fn whole(value: Option<Json<'_>>) -> Option<u64> {
    value?.raw().parse().ok()
}

/// A size as Python has it, in tcompact's words: `["tokens", 5]`.
fn size(pair: Json<'_>) -> String {
    let items: Vec<Json<'_>> = pair.items().collect();
    match items.as_slice() {
        // LangChain compares with a broken number, which is reached where the next whole one is.
        [kind, value] => {
            let least = value.raw().parse::<f64>().ok().filter(|value| *value > 1.0 && value.fract() != 0.0);
            let value = least.map_or(value.raw().to_owned(), |value| value.ceil().to_string());
            format!("{}:{value}", text(Some(*kind)).unwrap_or_default())
        }
        _ => pair.raw().to_owned(),
    }
}

/// What is kept, of which `LangChain` takes the whole part.
fn kept(pair: Json<'_>) -> String {
    match pair.items().collect::<Vec<_>>().as_slice() {
        [kind, value] if text(Some(*kind)).as_deref() == Some("tokens") && value.raw().contains('.') => {
            format!("tokens:{}", value.raw().parse::<f64>().expect("a number") as u64)
        }
        _ => size(pair),
    }
}

fn clause(value: Json<'_>) -> String {
    match value.kind() {
        JsonKind::Object => {
            let sizes = value.entries().map(|(kind, value)| format!("{}:{}", kind.decode(), value.raw()));
            sizes.collect::<Vec<_>>().join(",")
        }
        JsonKind::Array => size(value),
        _ => value.raw().to_owned(),
    }
}

/// The clauses of a trigger; nothing where there is no trigger.
fn clauses(trigger: Json<'_>) -> Vec<String> {
    let is_pair = trigger.items().count() == 2 && trigger.items().next().is_some_and(|first| first.text().is_some());
    match trigger.kind() {
        JsonKind::Null => Vec::new(),
        JsonKind::Array if !is_pair => trigger.items().map(clause).collect(),
        _ => vec![clause(trigger)],
    }
}

impl<'a> Case<'a> {
    fn given(&self, key: &str) -> Option<Json<'a>> {
        self.json.at(&["given", key])
    }

    fn is_given(&self, key: &str) -> bool {
        self.given(key).is_some_and(|value| !value.is_falsy())
    }

    fn expected(&self, key: &str) -> Option<Json<'a>> {
        self.json.at(&["expected", key]).filter(|value| value.kind() != JsonKind::Null)
    }

    fn is_expected(&self, key: &str) -> bool {
        self.expected(key).is_some_and(|value| value.raw() == "true")
    }

    /// The flags that say what the case gives.
    fn words(&self) -> Vec<String> {
        let mut words = vec!["tcompact".to_owned(), format!("--preset={}", self.system), "-q".to_owned()];
        let mut flag = |name: &str, value: String| words.push(format!("--{name}={value}"));
        match self.system {
            "tongyi" => {
                flag("trigger", format!("tokens:{}", self.given("max_tokens_before_summary").expect("given").raw()));
                let keep = self.given("messages_to_keep").expect("given").raw();
                flag("keep", format!("messages:{}", if keep == "0" { "1" } else { keep }));
                // As that class does, and no preset does by itself.
                flag("on-error", "embed".to_owned());
            }
            "synaptic" => {
                flag("trigger", format!("tokens:{}", self.given("max_tokens").expect("given").raw()));
            }
            _ => {
                for clause in self.given("trigger").map(clauses).unwrap_or_default() {
                    flag("trigger", clause);
                }
                if let Some(keep) = self.given("keep").filter(|keep| keep.kind() != JsonKind::Null) {
                    flag("keep", kept(keep));
                } else if !self.is_given("deepagents_defaults") {
                    flag("keep", "messages:20".to_owned());
                }
                match self.given("trim_tokens_to_summarize") {
                    Some(limit) if limit.kind() == JsonKind::Null && self.system.starts_with("deerflow") => {}
                    Some(limit) if limit.kind() == JsonKind::Null => flag("trim-tokens", "none".to_owned()),
                    Some(limit) if limit.raw() != "0" => flag("trim-tokens", limit.raw().to_owned()),
                    None if self.system == "deepagents" && !self.is_given("deepagents_defaults") => {
                        flag("trim-tokens", "4000".to_owned());
                    }
                    _ => {}
                }
                if let Some(window) = self.given("max_input_tokens").filter(|window| window.kind() != JsonKind::Null) {
                    flag("context-window", window.raw().to_owned());
                }
                if self.system == "deerflow-v1" {
                    flag("on-error", "embed".to_owned());
                }
                let anthropic = text(self.given("model_kind")).as_deref() == Some("anthropic");
                flag("counter", if anthropic { "approx:3.3" } else { "approx" }.to_owned());
            }
        }
        words
    }

    fn settings(&self) -> Result<Settings, String> {
        let words = self.words().into_iter().map(OsString::from);
        let resolved = CommandLine::parse(words).map_err(|error| error.to_string())?;
        let resolved = resolved.resolve(&presets::values, |_| None).map_err(|error| error.to_string())?;
        let mut settings = Settings::new(resolved, |_| None).map_err(|error| error.to_string())?;
        settings.from = format::by_name(&text(self.json.get("format")).expect("a format"));
        // What no flag can say, since it makes no sense on a command line.
        if self.given("trim_tokens_to_summarize").is_some_and(|limit| limit.raw() == "0") {
            settings.trim_tokens = Some(0);
        }
        let none = self.given("trigger").is_none_or(|trigger| clauses(trigger).is_empty());
        if self.system == "deepagents" && none && !self.is_given("deepagents_defaults") {
            settings.policy.triggers.clear();
        }
        if self.is_given("force") {
            settings.policy.triggers.clear();
            settings.policy.rules.without_trigger = true;
        }
        if self.given("messages_to_keep").is_some_and(|keep| keep.raw() == "0") {
            settings.policy.keep = Size::Messages(0);
            settings.policy.rules.last_stays = false;
        }
        if self.system == "synaptic" {
            // Half of one token is none.
            let most = whole(self.given("max_tokens")).expect("given");
            settings.policy.keep = Size::Tokens(most / 2);
        }
        if self.system == "deepagents" && !self.is_given("deepagents_defaults") {
            settings.truncation = self
                .given("truncate_args_settings")
                .and_then(|clip| truncation(clip, settings.policy.context_window.is_some()));
        }
        settings.archive = settings.archive.map(|_| PathBuf::from(ARCHIVE));
        settings.policy.provider = Some(match text(self.given("model_kind")).as_deref() {
            Some("anthropic") => "anthropic",
            _ => "openai",
        });
        settings.summarizer = Summarizer::Command("is not run".to_owned(), std::time::Duration::from_secs(1));
        let prompt = text(self.given("summary_prompt")).unwrap_or("{messages}".to_owned());
        settings.template = Template::parse(&prompt, settings.recipe.template).map_err(|error| error.to_string())?;
        Ok(settings)
    }

    fn script(&self, settings: &Settings) -> Script {
        let steps = self.given("model_script").into_iter().flat_map(|steps| steps.items()).map(|step| text(Some(step)));
        let retries = by_name(self.system).expect("a preset").flags.iter().find(|(flag, _)| *flag == "retries");
        Script {
            patience: Patience {
                retries: retries.map_or(0, |(_, retries)| retries.parse().expect("a number")),
                persistence: settings.recipe.patience,
            },
            reply: text(self.given("reply")).unwrap_or("SUMMARY".to_owned()),
            steps: RefCell::new(steps.flatten().collect()),
            prompts: RefCell::default(),
        }
    }

    /// The transcript, with an earlier summary where there is one: in the state around the messages, or as the first of
    /// them; with how many messages that puts before the others.
    fn source(&self, in_state: bool, settings: &Settings) -> (String, usize) {
        let messages = self.json.get("messages").expect("messages").raw();
        let Some(earlier) = text(self.given("previous_summary")).filter(|earlier| !earlier.is_empty()) else {
            let empty = messages == "[]";
            return match in_state && self.system == "deerflow" {
                true if !empty => (format!(r#"{{"summary_text": null, "messages": {messages}}}"#), 0),
                _ => (messages.to_owned(), 0),
            };
        };
        let quoted = |text: &str| serde_json::to_string(text).expect("text");
        if in_state {
            return (format!(r#"{{"messages": {messages}, "summary_text": {}}}"#, quoted(&earlier)), 0);
        }
        let content = quoted(&format!("{}{earlier}", settings.policy.summary_prefix));
        let first = self.json.get("messages").and_then(|messages| messages.items().next());
        let message = match first {
            Some(first) if first.get("data").is_some() => {
                format!(r#"{{"type":"human","data":{{"content":{content},"name":"summary"}}}}"#)
            }
            _ if text(self.json.get("format")).as_deref() == Some("langchain") => {
                format!(r#"{{"type":"human","content":{content},"name":"summary"}}"#)
            }
            _ => format!(r#"{{"role":"user","content":{content},"name":"summary"}}"#),
        };
        let comma = if first.is_some() { "," } else { "" };
        (format!("[{message}{comma}{}", &messages[1..]), 1)
    }
}

fn truncation(settings: Json<'_>, window: bool) -> Option<Truncation> {
    let parsed = |key: &str| settings.get(key).filter(|value| value.kind() != JsonKind::Null);
    let keep = parsed("keep").map_or(Size::Messages(20), |keep| size(keep).parse().expect("a size"));
    let mark = text(settings.get("truncation_text"));
    Some(Truncation {
        mark: mark.map_or(MARK, |mark| Box::leak(mark.into_boxed_str())),
        longest: whole(settings.get("max_length")).unwrap_or(2_000) as usize,
        tools: presets::WRITING_TOOLS,
        // Without a trigger nothing is ever cut.
        trigger: Some(size(parsed("trigger")?).parse().expect("a size")),
        // Without a window DeepAgents keeps messages instead.
        keep: Some(if matches!(keep, Size::Fraction(_)) && !window { Size::Messages(20) } else { keep }),
    })
}

/// Differences of one case.
fn differences(case: &Case<'_>, in_state: bool) -> String {
    let mut out = String::new();
    let stage = case.expected("error").and_then(|error| text(error.get("stage")));
    let settings = match (case.settings(), stage.as_deref()) {
        (Ok(_), Some("construct")) => return format!("{:?} are taken, and are not there\n", case.words()),
        (Err(_), Some("construct")) => return out,
        (Err(error), _) => return format!("{:?} are refused: {error}\n", case.words()),
        (Ok(settings), _) => settings,
    };
    let (source, before) = case.source(in_state, &settings);
    compare_plan(case, &settings, &source, before, &mut out);
    let script = case.script(&settings);
    let input = Input { name: "case".to_owned(), text: source.clone() };
    let outcome = process(&settings, &input, &script);
    let outcome = match (outcome, stage.is_some()) {
        (Err(_), true) => None,
        (Ok(outcome), false) => Some(outcome),
        // What these classes put into the summary is here an error of the prompt, before anything is asked.
        (Err(error), false) if error.to_string().contains("the prompt cannot be filled") => {
            let embedded = case.is_expected("summarized") && case.system == "deerflow-v1";
            return if embedded { out } else { format!("{out}{error}\n") };
        }
        (Err(error), false) => {
            let _ = writeln!(out, "it fails and should not: {error}");
            None
        }
        (Ok(_), true) => {
            let _ = writeln!(out, "it should fail: {}", case.expected("error").expect("an error").raw());
            None
        }
    };
    if stage.as_deref() != Some("convert") {
        compare_prompts(case, &script.prompts.borrow(), &mut out);
    }
    if let Some(outcome) = outcome {
        compare_result(case, &settings, &source, before, &outcome, &mut out);
    }
    out
}

/// Total, trigger and cutoff.
fn compare_plan(case: &Case<'_>, settings: &Settings, source: &str, before: usize, out: &mut String) {
    let Ok(document) = read(source, settings.from, None) else { return };
    let transcript = &document.transcripts[0];
    let tally = Tally::new(settings.counter, &transcript.messages);
    if let Some(expected) = whole(case.expected("total_tokens")) {
        let found = total(transcript, &tally, &settings.policy);
        if found != expected {
            let _ = writeln!(out, "total {found} and not {expected}");
        }
    }
    let truncated =
        settings.truncation.as_ref().map(|truncation| truncation.edits(transcript, &tally, &settings.policy));
    let source = tcompact::rewrite::apply(source, &truncated.unwrap_or_default());
    let document = read(&source, settings.from, None).expect("a transcript");
    let transcript = &document.transcripts[0];
    let tally = Tally::new(settings.counter, &transcript.messages);
    let decided: Plan = plan(transcript, &tally, &settings.policy);
    if let Some(expected) = case.expected("triggered") {
        let over = case.is_expected("over_budget");
        let expected = expected.raw() == "true" || case.is_given("force") || over;
        if decided.triggered != expected {
            let _ = writeln!(out, "triggered {} and not {expected}", decided.triggered);
        }
    }
    let forced = Policy { triggers: Vec::new(), budget: None, ..settings.policy.clone() };
    let rules = tcompact::plan::Rules { without_trigger: true, ..forced.rules };
    let forced = plan(transcript, &tally, &Policy { rules, ..forced });
    if let Some(expected) = whole(case.expected("cutoff")) {
        let expected = if expected == 0 { 0 } else { expected as usize + before };
        let all_stay = forced.reason.as_deref() == Some("every message before the cut is pinned");
        let left = all_stay && !case.is_expected("summarized");
        if forced.cutoff != expected && !left {
            let _ = writeln!(out, "cutoff {} and not {expected}: {:?}", forced.cutoff, forced.reason);
        }
    }
}

fn compare_prompts(case: &Case<'_>, prompts: &[String], out: &mut String) {
    let expected: Vec<String> = case
        .expected("prompts")
        .into_iter()
        .flat_map(|prompts| prompts.items())
        .filter_map(|one| text(Some(one)))
        .collect();
    if prompts != expected {
        let _ = writeln!(out, "prompts\n{prompts:#?}\nand not\n{expected:#?}");
    }
}

fn compare_result(
    case: &Case<'_>,
    settings: &Settings,
    source: &str,
    before: usize,
    outcome: &Outcome,
    out: &mut String,
) {
    if outcome.compacted != case.is_expected("summarized") {
        let _ = writeln!(out, "summarized {} and not {}", outcome.compacted, case.is_expected("summarized"));
    }
    let (input, result) = (values(source), values(&outcome.text));
    let mut found = result.clone();
    if case.system == "deerflow" {
        let document = read(&outcome.text, settings.from, None).expect("a transcript");
        let summary = carried(&document.transcripts[0], &settings.policy);
        let expected = text(case.expected("summary_text")).or(text(case.given("previous_summary")));
        if summary.as_ref().map(|summary| summary.text.to_string()).filter(|text| !text.is_empty())
            != expected.filter(|text| !text.is_empty())
        {
            let _ = writeln!(out, "summary {summary:?}");
        }
        if summary.is_some_and(|summary| summary.is_message) {
            found.remove(0);
        }
        assert_eq!(carried::KEY, "summary_text");
    }
    let expected: Vec<Json<'_>> = case.expected("messages").into_iter().flat_map(|messages| messages.items()).collect();
    if found.len() != expected.len() {
        let _ = writeln!(out, "{} messages and not {}", found.len(), expected.len());
        return;
    }
    for (found, expected) in found.into_iter().zip(expected) {
        match expected.kind() {
            JsonKind::Number => {
                let index = whole(Some(expected)).expect("an index") as usize + before;
                if found.raw() != input[index].raw() {
                    let _ = writeln!(out, "{} and not message {index}", found.raw());
                }
            }
            _ => compare_message(found, expected, out),
        }
    }
    compare_files(case, outcome, out);
}

/// The messages of a source.
fn values(source: &str) -> Vec<Json<'_>> {
    let value = syntax::values(source, 0).expect("JSON")[0];
    value.get("messages").unwrap_or(value).items().collect()
}

/// What is recorded of a note on a result that became a file.
fn moved(expected: Json<'_>) -> Option<Json<'_>> {
    let content = expected.get("content")?;
    let in_list = || content.items().find_map(|block| block.at(&["text", "moved"]));
    content.get("moved").or_else(in_list)
}

/// Whether a note is as long as the recorded one, names the same file, and shows the same lines.
fn says(fields: Json<'_>, moved: Json<'_>) -> bool {
    let content = fields.get("content").expect("content");
    let note = text(Some(content)).or_else(|| text(content.items().next()?.get("text"))).expect("a note");
    let shown = format!(":\n\n{}", text(moved.get("lines")).expect("lines"));
    Some(note.chars().count() as u64) == whole(moved.get("characters"))
        && note.contains(&text(moved.get("path")).expect("a path"))
        && note.ends_with(&shown)
}

/// A message that is not one of the input's, in what the recorded one has.
fn compare_message(found: Json<'_>, expected: Json<'_>, out: &mut String) {
    let fields = found.get("data").unwrap_or(found);
    let role = text(found.get("role").or(found.get("type"))).unwrap_or_default();
    let role = match role.as_str() {
        "human" => "user",
        "ai" => "assistant",
        other => other,
    };
    let mut differs = text(expected.get("role")).as_deref() != Some(role);
    if let Some(moved) = moved(expected) {
        if !says(fields, moved) {
            let _ = writeln!(out, "note\n{}\nand not\n{}", found.raw(), moved.raw());
        }
        return;
    }
    for key in ["content", "name", "tool_call_id"] {
        let value = |json: Json<'_>| json.get(key).filter(|value| value.kind() != JsonKind::Null).map(repr);
        let empty = |value: Option<String>| value.filter(|value| value != "''");
        differs |= empty(value(fields)) != empty(value(expected));
    }
    let calls = |json: Json<'_>| -> Vec<String> {
        let calls = json.get("tool_calls").into_iter().flat_map(|calls| calls.items());
        calls
            .map(|call| {
                let function = call.get("function").unwrap_or(call);
                let arguments = function.get("arguments").or(function.get("args")).expect("arguments");
                match arguments.text() {
                    Some(text) => repr(syntax::parse_arguments(&text.decode_json()).expect("JSON")),
                    None => repr(arguments),
                }
            })
            .collect()
    };
    differs |= calls(fields) != calls(expected);
    // The chat format has no place for these.
    if found.get("type").is_some() && found.get("role").is_none() {
        let kwargs = |json: Json<'_>| json.get("additional_kwargs").filter(|kwargs| !kwargs.is_falsy()).map(repr);
        differs |= expected.get("index").is_none() && kwargs(fields) != kwargs(expected);
    }
    if differs {
        let _ = writeln!(out, "message\n{}\nand not\n{}", found.raw(), expected.raw());
    }
}

/// What is kept elsewhere.
fn compare_files(case: &Case<'_>, outcome: &Outcome, out: &mut String) {
    if case.system != "deepagents" {
        return;
    }
    let found = outcome.archived.sections.concat();
    let expected = text(case.expected("history_file")).unwrap_or_default();
    let expected = expected.strip_prefix("## Summarized at <TS>\n\n").unwrap_or(&expected);
    if found != expected {
        let _ = writeln!(out, "history\n{found}\nand not\n{expected}");
    }
    let names = |of: &str| {
        let of = format!("/{of}/");
        let files = outcome
            .archived
            .files
            .iter()
            .filter_map(|(path, _)| path.to_str()?.split_once(&of).map(|(_, name)| name.to_owned()));
        let mut names: Vec<String> = files.collect();
        names.sort();
        names
    };
    let media: Vec<String> = case
        .expected("media_files")
        .into_iter()
        .flat_map(|names| names.items())
        .filter_map(|name| text(Some(name)))
        .collect();
    if names("media") != media {
        let _ = writeln!(out, "media {:?} and not {media:?}", names("media"));
    }
    let results = case.expected("large_tool_results");
    let results: Vec<_> = results.into_iter().flat_map(|results| results.entries()).collect();
    let mut large: Vec<String> = results.iter().map(|(name, _)| name.decode().into_owned()).collect();
    large.sort();
    if names("large_tool_results") != large {
        let _ = writeln!(out, "results {:?} and not {large:?}", names("large_tool_results"));
    }
    for (name, text) in results {
        let named = |path: &std::path::Path| path.file_name().is_some_and(|file| name.is(&file.to_string_lossy()));
        let file = outcome.archived.files.iter().find(|(path, _)| named(path));
        let text = text.text().expect("text").decode();
        // Where DeepAgents writes over the first result of an id, this has both.
        if !file.is_some_and(|(_, bytes)| bytes.ends_with(text.as_bytes())) {
            let _ = writeln!(out, "the result in {} is another", name.decode());
        }
    }
}

/// Cases that are shown, and characters of each.
const SHOWN: usize = 20;
const LONGEST: usize = 2_000;

/// Tries all cases of a system; there are so many at least.
fn recorded(system: &'static str, least: usize) {
    let folder = std::env::var("TCOMPACT_CASES").unwrap_or(format!("{FIXTURES}/presets"));
    let Ok(lines) = std::fs::read_to_string(format!("{folder}/{system}.jsonl")) else {
        assert!(std::env::var_os("TCOMPACT_CASES").is_some(), "the cases of {system} are there");
        return;
    };
    let mut wrong = Vec::new();
    for line in lines.lines() {
        let case = Case { system, json: syntax::values(line, 0).expect("JSON")[0] };
        for in_state in [false, true] {
            let differences = differences(&case, in_state);
            if !differences.is_empty() {
                wrong.push(format!("{}: {differences}", text(case.json.get("name")).expect("a name")));
                break;
            }
        }
    }
    let cases = lines.lines().count();
    let shown: Vec<String> = wrong.iter().take(SHOWN).map(|one| one.chars().take(LONGEST).collect()).collect();
    assert!(wrong.is_empty(), "{} of {cases} cases of {system} differ:\n{}", wrong.len(), shown.join("\n"));
    assert!(cases >= least || std::env::var_os("TCOMPACT_CASES").is_some(), "{cases} cases");
}

#[test]
fn langchain() {
    recorded("langchain", 300);
}

#[test]
fn deepagents() {
    recorded("deepagents", 100);
}

#[test]
fn deerflow() {
    recorded("deerflow", 100);
}

#[test]
fn deerflow_v1() {
    recorded("deerflow-v1", 100);
}

#[test]
fn tongyi() {
    recorded("tongyi", 100);
}

#[test]
fn synaptic() {
    recorded("synaptic", 100);
}

#[test]
fn an_estimate_is_what_the_presets_of_langchain_count_with() {
    let words = ["tcompact", "--preset", "langchain", "--for", "claude-haiku-4-5"].map(OsString::from);
    let resolved = CommandLine::parse(words).expect("words").resolve(&presets::values, |_| None).expect("settings");
    assert_eq!(Settings::new(resolved, |_| None).expect("settings").counter, Counter::Approx(3.3));
}
