//! A recorded case: its input as tcompact's settings, and a model that answers from its script.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::compact::SummarizerKind;
use crate::plan::size::Size;
use crate::presets;
use crate::rewrite::arguments::{MARK, Truncation};
use crate::summary::exchange::{Bill, FailureKind, NoAnswer, Reply, Request, SummaryBackend};
use crate::summary::prompt::Template;
use crate::tokens::python;
use crate::transcript::formats;
use crate::transcript::json::{Json, JsonKind};
use tcompact::internals::{CommandLine, FailedAttempt, RetryPolicy, Settings};

/// The path of the recorded `DeepAgents` history.
const ARCHIVE: &str = "/conversation_history/session_recorded.md";

pub(super) struct Case<'a> {
    pub(super) system: &'static str,
    pub(super) json: Json<'a>,
}

/// A model that answers as a case says, and records its prompts.
pub(super) struct Script {
    patience: RetryPolicy,
    reply: String,
    steps: RefCell<Vec<String>>,
    pub(super) prompts: RefCell<Vec<String>>,
}

impl SummaryBackend for Script {
    fn answer(&self, request: &Request, _bill: &mut Bill) -> Result<Reply, NoAnswer> {
        let attempt = || {
            self.prompts.borrow_mut().push(request.prompt.clone());
            let mut steps = self.steps.borrow_mut();
            let step = if steps.is_empty() { "ok".to_owned() } else { steps.remove(0) };
            let failed = |kind: FailureKind, message: &str| Err(FailedAttempt::new(kind, message.to_owned()));
            match step.as_str() {
                "ok" => Ok(Reply { text: self.reply.clone(), ..Reply::default() }),
                "overflow" => failed(FailureKind::TooLong, "prompt is too long"),
                "nonretryable" => failed(FailureKind::BadRequest, "bad request"),
                _ => failed(FailureKind::Odd, "boom"),
            }
        };
        self.patience.run(attempt, |_, _| {})
    }
}

pub(super) fn repr(value: Json<'_>) -> String {
    let mut out = String::new();
    python::repr(value, &mut out);
    out
}

pub(super) fn text(value: Option<Json<'_>>) -> Option<String> {
    Some(value?.text()?.decode().into_owned())
}

pub(super) fn unsigned(value: Option<Json<'_>>) -> Option<u64> {
    value?.raw().parse().ok()
}

/// Converts a Python size, `["tokens", 5]`, to tcompact's syntax.
fn size(pair: Json<'_>) -> String {
    let items: Vec<Json<'_>> = pair.items().collect();
    match items.as_slice() {
        // LangChain compares with a fraction, which is reached at the next integer.
        [kind, value] => {
            let least = value.raw().parse::<f64>().ok().filter(|value| *value > 1.0 && value.fract() != 0.0);
            let value = least.map_or(value.raw().to_owned(), |value| value.ceil().to_string());
            format!("{}:{value}", text(Some(*kind)).unwrap_or_default())
        }
        _ => pair.raw().to_owned(),
    }
}

/// Converts the size to keep, of which `LangChain` takes the integer part.
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

/// The clauses of a trigger; none if there is no trigger.
fn clauses(trigger: Json<'_>) -> Vec<String> {
    let is_pair = trigger.items().count() == 2 && trigger.items().next().is_some_and(|first| first.text().is_some());
    match trigger.kind() {
        JsonKind::Null => Vec::new(),
        JsonKind::Array if !is_pair => trigger.items().map(clause).collect(),
        _ => vec![clause(trigger)],
    }
}

impl<'a> Case<'a> {
    pub(super) fn given(&self, key: &str) -> Option<Json<'a>> {
        self.json.at(&["given", key])
    }

    pub(super) fn is_given(&self, key: &str) -> bool {
        self.given(key).is_some_and(|value| !value.is_falsy())
    }

    pub(super) fn expected(&self, key: &str) -> Option<Json<'a>> {
        self.json.at(&["expected", key]).filter(|value| value.kind() != JsonKind::Null)
    }

    pub(super) fn is_expected(&self, key: &str) -> bool {
        self.expected(key).is_some_and(|value| value.raw() == "true")
    }

    /// The flags for the input of the case.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = vec!["tcompact".to_owned(), format!("--preset={}", self.system), "-q".to_owned()];
        let mut flag = |name: &str, value: String| words.push(format!("--{name}={value}"));
        match self.system {
            "tongyi" => {
                flag("trigger", format!("tokens:{}", self.given("max_tokens_before_summary").expect("given").raw()));
                let keep = self.given("messages_to_keep").expect("given").raw();
                flag("keep", format!("messages:{}", if keep == "0" { "1" } else { keep }));
                // That class does so, but no preset does by default.
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
                    Some(limit) => flag("trim-tokens", limit.raw().to_owned()),
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

    pub(super) fn settings(&self) -> Result<Settings, String> {
        let words = self.words().into_iter().map(OsString::from);
        let resolved = CommandLine::parse(words).map_err(|error| error.to_string())?;
        let resolved = resolved.resolve(&presets::values, |_| None).map_err(|error| error.to_string())?;
        let mut settings = Settings::new(resolved, |_| None).map_err(|error| error.to_string())?;
        settings.input.from = formats::by_name(&text(self.json.get("format")).expect("a format"));
        // The archive of a preset is not looked up on the disk.
        settings.output.archive_chosen = true;
        // Settings without a flag, because they make no sense on a command line.
        let none = self.given("trigger").is_none_or(|trigger| clauses(trigger).is_empty());
        if self.system == "deepagents" && none && !self.is_given("deepagents_defaults") {
            settings.policy.cut.triggers.clear();
        }
        if self.is_given("force") {
            settings.policy.cut.triggers.clear();
            settings.policy.cut.rules.without_trigger = true;
        }
        if self.given("messages_to_keep").is_some_and(|keep| keep.raw() == "0") {
            settings.policy.cut.keep = Size::Messages(0);
            settings.policy.cut.rules.last_stays = false;
        }
        if self.given("max_tokens").is_some_and(|most| most.raw() == "1") {
            // Half of one token is zero.
            settings.policy.cut.keep = Size::Tokens(0);
        }
        if self.system == "deepagents" && !self.is_given("deepagents_defaults") {
            settings.policy.truncation = self
                .given("truncate_args_settings")
                .and_then(|clip| truncation(clip, settings.policy.cut.context_window.is_some()));
        }
        settings.policy.archive = settings.policy.archive.map(|_| PathBuf::from(ARCHIVE));
        settings.policy.cut.provider = Some(match text(self.given("model_kind")).as_deref() {
            Some("anthropic") => "anthropic",
            _ => "openai",
        });
        settings.policy.summary.summarizer = SummarizerKind::Command;
        let prompt = text(self.given("summary_prompt")).unwrap_or("{messages}".to_owned());
        settings.policy.summary.template = Template::parse(&prompt, settings.policy.summary.recipe.template, None)
            .map_err(|error| error.to_string())?;
        Ok(settings)
    }

    pub(super) fn script(&self, settings: &Settings) -> Script {
        let steps = self.given("model_script").into_iter().flat_map(|steps| steps.items()).map(|step| text(Some(step)));
        let flags = presets::values(self.system, &|_| None).expect("a preset");
        let retries = flags.iter().find(|(flag, _)| *flag == "retries");
        Script {
            patience: RetryPolicy {
                retries: retries.map_or(3, |(_, retries)| retries.parse().expect("a number")),
                persistence: settings.policy.summary.recipe.patience,
            },
            reply: text(self.given("reply")).unwrap_or("SUMMARY".to_owned()),
            steps: RefCell::new(steps.flatten().collect()),
            prompts: RefCell::default(),
        }
    }

    /// The transcript, with an earlier summary if there is one: in the state around the messages, or as the first
    /// message. Also returns how many messages that adds in front.
    pub(super) fn source(&self, in_state: bool, settings: &Settings) -> (String, usize) {
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
        let content = quoted(&format!("{}{earlier}", settings.policy.cut.summary_prefix));
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
        longest: unsigned(settings.get("max_length")).unwrap_or(2_000) as usize,
        tools: presets::WRITING_TOOLS,
        sizes: Some((
            // Without a trigger nothing is ever cut.
            size(parsed("trigger")?).parse().expect("a size"),
            // Without a window DeepAgents keeps messages instead.
            if matches!(keep, Size::Fraction(_)) && !window { Size::Messages(20) } else { keep },
        )),
    })
}
