//! The types of flag values, and their parsers.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::{Map, Value};

use crate::compact::{Accept, ArchiveNote, Emit, OnError, Redaction};
use crate::diagnostic::{Diagnostic, nearest};
use crate::plan::size::{self, Size, whole};
use crate::rewrite::repair::Repair;
use crate::rewrite::thinking::Thinking;
use crate::transcript::formats::SummaryRole;
use crate::transcript::framing::Lines;

/// Sizes that must all be reached.
#[derive(Debug, Clone)]
pub(crate) struct Clause(pub(crate) Vec<Size>);

impl std::str::FromStr for Clause {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        if !text.contains(',') {
            return Ok(Clause(vec![size::trigger(text)?]));
        }
        let mut start = 0;
        let mut sizes = Vec::new();
        for part in text.split(',') {
            sizes.push(size::trigger(part).map_err(|diagnostic| diagnostic.in_part(start, part.len()))?);
            start += part.len() + 1;
        }
        Ok(Clause(sizes))
    }
}

/// How many tokens of the history the summarizer is sent; nothing means all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrimTokens(pub(crate) Option<u64>);

impl std::str::FromStr for TrimTokens {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" { Ok(TrimTokens(None)) } else { whole_or_none(text).map(|tokens| TrimTokens(Some(tokens))) }
    }
}

/// The JSON merge patch for the body of each request, which is an object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RequestJson(pub(crate) Map<String, Value>);

impl std::str::FromStr for RequestJson {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let example = |diagnostic: Diagnostic| diagnostic.example(r#"{"temperature": 0.2}"#);
        match serde_json::from_str(text) {
            Ok(Value::Object(members)) => Ok(RequestJson(members)),
            Ok(_) => Err(example(Diagnostic::new("expected a JSON object"))),
            Err(error) => {
                let line: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
                let at = (line + error.column().saturating_sub(1)).min(text.len());
                let what = error.to_string();
                let what = what.split(" at line ").next().unwrap_or_default();
                Err(example(Diagnostic::new(format!("expected a JSON object: {what}")).at(at..text.len().min(at + 1))))
            }
        }
    }
}

/// Whether what a model's summary lacks is appended to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Facts {
    /// As much as a fifth of `--summary-tokens`, or a little more where these are few.
    On,
    /// Nothing.
    Off,
    /// As much as this many tokens.
    Within(u64),
}

impl std::str::FromStr for Facts {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        match text {
            "on" => Ok(Facts::On),
            "off" => Ok(Facts::Off),
            _ => whole_or_none(text).map(Facts::Within).map_err(|_| {
                Diagnostic::new("expected on, off or a number of tokens").meant(nearest(text, ["on", "off"]))
            }),
        }
    }
}

/// The name of a tool.
pub(super) fn tool_name(text: &str) -> Result<String, &'static str> {
    not_blank(text).ok_or("expected the names of tools, with a comma between them")
}

/// What a message says of the archive.
pub(super) fn archive_note(text: &str) -> Result<ArchiveNote, &'static str> {
    match text.trim() {
        "" => Err("expected a text, or off"),
        "off" => Ok(ArchiveNote::Off),
        text => Ok(ArchiveNote::Text(text.replace(['\n', '\r'], " "))),
    }
}

/// A command for the shell.
pub(super) fn shell_command(text: &str) -> Result<String, &'static str> {
    not_blank(text).ok_or("expected a command")
}

fn not_blank(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.to_owned())
}

/// Whether a text is the name of an environment variable, and not a key that was given in its place.
pub(crate) fn is_variable_name(text: &str) -> bool {
    /// A name of so many characters with small letters and digits in it is a key.
    const LONG: usize = 20;
    let is_name = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !text.is_empty();
    let is_mixed = text.chars().any(|c| c.is_ascii_lowercase()) && text.chars().any(|c| c.is_ascii_digit());
    is_name && !text.starts_with(|c: char| c.is_ascii_digit()) && !(is_mixed && text.len() >= LONG)
}

pub(super) fn whole_or_none(text: &str) -> Result<u64, String> {
    if text == "0" { Ok(0) } else { whole(text).map_err(|why| why.replace("from 1 up", "from 0 up")) }
}

/// Parses a number in a range.
pub(super) fn number<const LEAST: u32, const MOST: u32>(text: &str) -> Result<u32, String> {
    let number = text.parse::<u64>().ok().filter(|number| *number >= LEAST.into());
    match (number, u32::try_from(number.unwrap_or_default())) {
        (Some(_), Ok(number)) if number <= MOST => Ok(number),
        (Some(_), _) if MOST == u32::MAX => Err(format!("expected at most {MOST}")),
        _ if MOST == u32::MAX => Err(format!("expected a whole number, {LEAST} or more")),
        _ => Err(format!("expected a whole number from {LEAST} to {MOST}")),
    }
}

pub(super) fn summary_size(text: &str) -> Result<u64, String> {
    const LARGEST: u64 = 10_000_000;
    match whole(text)? {
        tokens if tokens <= LARGEST => Ok(tokens),
        _ => Err(format!("expected at most {LARGEST}; no model writes more")),
    }
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    const LONGEST: f64 = 86_400.0;
    match text.parse() {
        Ok(seconds) if seconds > 0.0 && seconds <= LONGEST => Ok(seconds),
        _ => Err(format!("expected seconds above 0 and at most {LONGEST}")),
    }
}

/// When to do something that depends on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The order of conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    /// The largest first.
    Size,
}

/// A table to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Table {
    /// The formats that are read and written.
    Formats,
    /// The known systems of `--preset`.
    Presets,
    /// The providers of `--model`.
    Providers,
    /// The models of `--for`: context windows and prices.
    Models,
    /// The ways of counting tokens.
    Counters,
    /// The rules of `--prune`.
    Prune,
    /// The secrets that `--redact` masks.
    Secrets,
}

/// A shell that completes the words of a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// For bash.
    Bash,
    /// For zsh.
    Zsh,
    /// For fish.
    Fish,
    /// For PowerShell.
    Powershell,
    /// For elvish.
    Elvish,
}

impl Shell {
    /// The name and the content of the script in `completions/`.
    pub(crate) fn file(self) -> (&'static str, &'static str) {
        match self {
            Shell::Bash => ("tcompact.bash", include_str!("../../completions/tcompact.bash")),
            Shell::Zsh => ("_tcompact", include_str!("../../completions/_tcompact")),
            Shell::Fish => ("tcompact.fish", include_str!("../../completions/tcompact.fish")),
            Shell::Powershell => ("_tcompact.ps1", include_str!("../../completions/_tcompact.ps1")),
            Shell::Elvish => ("tcompact.elv", include_str!("../../completions/tcompact.elv")),
        }
    }
}

/// The manual page: its name and its content in `completions/`.
pub(crate) const MANUAL: (&str, &str) = ("tcompact.1", include_str!("../../completions/tcompact.1"));

/// The values of `--summary-role`, with their names and their help.
pub(crate) const SUMMARY_ROLES: [(&str, &str, SummaryRole); 3] = [
    ("user", "As if the user wrote it; every provider accepts it", SummaryRole::User),
    ("system", "As an instruction", SummaryRole::System),
    ("assistant", "As if the model wrote it", SummaryRole::Assistant),
];

/// The values of `--lines`.
pub(crate) const LINES: [(&str, &str, Lines); 2] = [
    ("messages", "One message a line: the file is one conversation", Lines::Messages),
    ("conversations", "One conversation a line: a list of messages, or an object around one", Lines::Conversations),
];

/// The values of `--repair`.
pub(crate) const REPAIRS: [(&str, &str, Repair); 2] =
    [("drop", "Remove them", Repair::Drop), ("synthesize", "Add a result that says there is none", Repair::Synthesize)];

/// The values of `--thinking`.
pub(crate) const THINKING: [(&str, &str, Thinking); 3] = [
    ("auto", "Remove it if its model binds it to the messages before it", Thinking::Auto),
    ("keep", "It stays", Thinking::Keep),
    ("drop", "It is removed", Thinking::Drop),
];

/// The values of `--on-error`.
pub(crate) const ON_ERROR: [(&str, &str, OnError); 4] = [
    ("fail", "Exit with 4 or 5 and write nothing", OnError::Fail),
    ("passthrough", "Write the input unchanged", OnError::Passthrough),
    ("extractive", "Use the embedded summarizer", OnError::Extractive),
    ("embed", "Put the text of the error in the summary; the history is lost", OnError::Embed),
];

/// The values of `--redact`.
pub(crate) const REDACTIONS: [(&str, &str, Redaction); 2] = [
    ("sent", "What a summarizer is sent, and the summary", Redaction::Sent),
    ("all", "All that is written, kept messages too", Redaction::All),
];

/// The values of `--accept`.
pub(crate) const ACCEPTS: [(&str, &str, Accept); 2] = [
    (
        "smaller",
        "Summaries that are whole and at least a tenth smaller than the replaced messages: no JSON, web page or error",
        Accept::Smaller,
    ),
    ("any", "All", Accept::Any),
];

/// The values of `--emit`.
pub(crate) const EMITS: [(&str, &str, Emit); 4] = [
    ("messages", "The transcript in its own format", Emit::Messages),
    ("update", "`{\"messages\": [remove-all, summary, kept…]}`, or null", Emit::Update),
    ("summary", "Only the text of the summary; with --json an object, or null", Emit::Summary),
    (
        "handoff",
        "Plain text for a paste elsewhere, within --fit: the summary, and the messages that stay, without system prompts",
        Emit::Handoff,
    ),
];

/// A parser of values of a type that knows no flags: each with its name and its help.
pub(crate) fn named<T>(values: &'static [(&'static str, &'static str, T)]) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    let possible = values.iter().map(|(name, help, _)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(possible).try_map(|given| {
        let found = values.iter().find(|(name, ..)| *name == given);
        found.map(|(.., value)| value.clone()).ok_or("it is none of these")
    })
}
