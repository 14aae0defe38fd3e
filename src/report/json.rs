//! JSON output: the objects of `--dry-run --json`, `count --json`, `--emit summary --json` and `--report`.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use crate::compact::Decided;
use crate::events::{PlanRow, RepairedBy, ReportRow, Status, UpdatedBy};
use crate::exit::Failure;
use crate::plan::Plan;
use crate::plan::economy::{Billed, Economy};
use crate::plan::recorded::RecordedSize;
use crate::sanitize::sanitize_json;
use crate::sync::lock;
use crate::tokens::Categories;
use crate::wording;

use crate::files::atomic::private;
use crate::files::output;

/// A line of `--dry-run --json`.
#[derive(Debug, Serialize)]
pub(crate) struct DryRun<'r> {
    pub(crate) source: &'r str,
    #[serde(flatten)]
    pub(crate) plan: PlanRow,
    /// What the plan saves and costs, where something is changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) economy: Option<Economy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<&'r str>,
    /// How many places of each kind are masked, with `--redact=all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) redacted: Option<&'r BTreeMap<&'static str, u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'r str>,
}

impl DryRun<'_> {
    pub(crate) fn to_line(&self) -> String {
        json_line(self)
    }
}

/// The tokens of a conversation, as `count --json` prints them. Roles, tools, thinking, media and overhead add up to
/// `tokens`.
#[derive(Debug, Serialize)]
pub(crate) struct Count<'r> {
    source: &'r str,
    format: &'static str,
    counter: String,
    messages: usize,
    tokens: u64,
    context_window: Option<u64>,
    roles: BTreeMap<&'static str, u64>,
    tools: BTreeMap<String, u64>,
    thinking: u64,
    media: u64,
    /// How many media of each kind there are, and their tokens.
    media_kinds: BTreeMap<&'static str, MediaKindCount>,
    /// Tokens that are sent beside the messages.
    overhead: u64,
    /// The size that the session itself recorded, with the estimate of what follows that.
    recorded: Option<u64>,
}

/// The media of a kind in a conversation.
#[derive(Debug, Serialize)]
struct MediaKindCount {
    number: u64,
    tokens: u64,
}

impl<'r> Count<'r> {
    /// Describes a conversation, as it is counted.
    pub(crate) fn new(source: &'r str, decided: &Decided<'_>) -> Self {
        let Decided { policy, view, tally, plan, .. } = decided;
        let (spent, tokens) = (Categories::of(view, tally, plan.start), decided.tokens());
        Count {
            source,
            format: view.format.name,
            counter: tally.counter().to_string(),
            messages: view.messages.len(),
            tokens,
            context_window: policy.cut.context_window,
            // A carried summary counts there, too.
            overhead: (tokens + spent.overhead).saturating_sub(spent.total()),
            recorded: RecordedSize::of(view, tally).map(RecordedSize::tokens),
            roles: spent.roles.iter().map(|(role, tokens)| (role.openai_name(), *tokens)).collect(),
            thinking: spent.thinking,
            media: spent.media_tokens(),
            media_kinds: spent
                .media
                .iter()
                .map(|(kind, &(number, tokens))| (kind.name(), MediaKindCount { number, tokens }))
                .collect(),
            tools: spent.tools,
        }
    }

    pub(crate) fn to_line(&self) -> String {
        json_line(self)
    }
}

/// A line of `--report`.
#[derive(Debug, Serialize)]
struct ReportLine<'r> {
    source: &'r str,
    #[serde(flatten)]
    plan: Option<&'r PlanRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'r str>,
    status: Status,
    skipped_lines: usize,
    summary_tokens: Option<u64>,
    tokens_after: Option<u64>,
    provider: Option<&'r str>,
    usage: Option<Billed>,
    requests: u64,
    retries: u64,
    cached: u64,
    /// Only if a summary replaced the history.
    #[serde(skip_serializing_if = "Option::is_none")]
    economy: Option<Economy>,
    /// Only with `--redact`.
    #[serde(skip_serializing_if = "Option::is_none")]
    redacted: Option<&'r BTreeMap<&'static str, u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repaired: Option<RepairedBy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated: Option<UpdatedBy>,
    elapsed_ms: u64,
    error: Option<&'r str>,
}

impl<'r> ReportLine<'r> {
    fn of(row: &'r ReportRow) -> Self {
        let outcome = &row.outcome;
        ReportLine {
            source: &outcome.source,
            plan: outcome.plan.as_ref(),
            reason: outcome.reason.as_deref(),
            status: row.status(),
            skipped_lines: outcome.skipped_lines,
            summary_tokens: outcome.summary_tokens,
            tokens_after: outcome.tokens_after,
            provider: outcome.provider.as_deref(),
            usage: outcome.usage,
            requests: outcome.requests,
            retries: outcome.retries,
            cached: outcome.cached,
            economy: row.economy(),
            redacted: outcome.redacted.as_ref(),
            repaired: outcome.repaired,
            updated: outcome.updated,
            elapsed_ms: outcome.elapsed_ms,
            error: row.error(),
        }
    }
}

/// A summary that is printed alone.
pub(crate) struct EmittedSummary<'s> {
    pub(crate) text: &'s str,
    /// The text of its message.
    pub(crate) message: &'s str,
    /// The line that names the archive, where there is one.
    pub(crate) archive: Option<String>,
    pub(crate) tokens: u64,
}

/// The object of `--emit summary --json` as a line.
pub(crate) fn summary(plan: &Plan, summary: &EmittedSummary<'_>) -> String {
    let EmittedSummary { text, message, archive, tokens } = summary;
    let mut object =
        json!({"text": text, "message": message, "cutoff": plan.cutoff, "pinned": plan.pinned, "tokens": tokens});
    if let Some(archive) = archive {
        object["archive"] = json!(archive);
    }
    json_line(&object)
}

/// An object as a line, without control characters.
fn json_line(object: &impl Serialize) -> String {
    // Strings and numbers do not fail to serialize.
    serde_json::to_string(object).map(|line| sanitize_json(&line) + "\n").unwrap_or_default()
}

/// Checks that a report can be written, and that it is none of `others`. What an existing report says stays.
///
/// # Errors
/// Why the report is refused.
pub(crate) fn check(file: &Path, others: &[&Path]) -> Result<()> {
    let name = file.display();
    if file.as_os_str() == "-" {
        return Err(Failure::usage("--report -: standard output carries the transcript; name a file").into());
    }
    if others.iter().any(|other| output::same_place(file, other)) {
        let message = format!("--report {name} is another file of this command; name one of its own");
        return Err(Failure::usage(message).into());
    }
    // To open a pipe and close it again would tell its reader that nothing comes.
    if output::is_stream(file) {
        return Ok(());
    }
    let is_new = !file.exists();
    made(file).map_err(|error| unwritable(file, &error))?;
    if is_new {
        // A run that reports nothing leaves no empty report.
        remove(file);
    }
    Ok(())
}

/// So many bytes hold the members of a row by which a report is known.
pub(crate) const LONGEST_BEGINNING: usize = 1 << 16;

/// Whether a file that begins with these bytes is a report. Records of an archive begin like its rows, but have no status.
pub(crate) fn begins_report(begin: &[u8]) -> bool {
    begin.starts_with(b"{\"source\":") && memchr::memmem::find(begin, b",\"status\":\"").is_some()
}

/// Makes the file of a report where there is none.
fn made(file: &Path) -> io::Result<()> {
    private(OpenOptions::new().append(true).create(true)).open(file).map(drop)
}

/// Removes a report that this run made, behind the links of its path.
fn remove(file: &Path) {
    let _ = fs::canonicalize(file).and_then(fs::remove_file);
}

/// The file of `--report`: one line per conversation. Without a file, nothing is written.
#[derive(Debug)]
pub(crate) struct Report {
    path: Option<PathBuf>,
    file: Mutex<Option<ReportFile>>,
}

#[derive(Debug)]
struct ReportFile {
    file: File,
    /// The bytes of its whole lines.
    length: u64,
    /// Whether this run made the file.
    is_new: bool,
}

/// The bytes of lines that were added.
pub(crate) type Added = Range<u64>;

impl Report {
    /// A report in a file. The first line replaces an existing report.
    pub(crate) fn new(path: Option<&Path>) -> Self {
        Report { path: path.map(Path::to_owned), file: Mutex::default() }
    }

    /// Adds conversations as soon as they are done, all or none.
    ///
    /// # Errors
    /// They cannot be written.
    pub(crate) fn add(&self, conversations: &[ReportRow]) -> Result<Added> {
        let Some(path) = self.path.as_ref().filter(|_| !conversations.is_empty()) else { return Ok(0..0) };
        let lines: String = conversations.iter().map(|row| json_line(&ReportLine::of(row))).collect();
        let write = || {
            let mut begun = lock(&self.file);
            let report = match &mut *begun {
                Some(report) => report,
                none => none.insert(ReportFile::begin(path)?),
            };
            let start = report.length;
            if let Err(error) = report.file.write_all(lines.as_bytes()) {
                cut(&mut begun, path, start);
                return Err(error);
            }
            report.length += lines.len() as u64;
            Ok(start..report.length)
        };
        Ok(write().map_err(|error| unwritable(path, &error))?)
    }

    /// Removes lines that were added last: what they tell of did not come to pass. A pipe keeps them.
    pub(crate) fn take_back(&self, added: &Added) {
        let mut begun = lock(&self.file);
        let is_last = begun.as_ref().is_some_and(|report| report.length == added.end);
        if let Some(path) = self.path.as_ref().filter(|_| is_last && !added.is_empty()) {
            cut(&mut begun, path, added.start);
        }
    }

    /// Ends the report of a run that succeeded: without a conversation it is empty.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn end(&self) -> Result<()> {
        let Some(path) = self.path.as_ref().filter(|path| !path.exists()) else { return Ok(()) };
        Ok(made(path).map_err(|error| unwritable(path, &error))?)
    }
}

impl ReportFile {
    /// Begins a report in the place of an earlier one.
    fn begin(path: &Path) -> io::Result<Self> {
        let is_new = !path.exists();
        let file = private(OpenOptions::new().write(true).create(true).truncate(true)).open(path)?;
        Ok(ReportFile { file, length: 0, is_new })
    }
}

/// Cuts a report to its first bytes, and removes a new one that has none. A pipe stays as it is.
fn cut(begun: &mut Option<ReportFile>, path: &Path, length: u64) {
    let Some(report) = begun else { return };
    if length == 0 && report.is_new {
        *begun = None;
        return remove(path);
    }
    if report.file.set_len(length).and_then(|()| report.file.seek(SeekFrom::Start(length))).is_ok() {
        report.length = length;
    }
}

fn unwritable(file: &Path, error: &io::Error) -> Failure {
    Failure::unreadable(wording::unwritable(format_args!("--report {}", file.display()), error))
}
