//! JSON output: the objects of `--dry-run --json`, `--count --json`, `--emit summary --json` and `--report`.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};

use crate::compact::{CompactionPolicy, EarlierSummary, Planned};
use crate::events::{Event, Listener, ReportRow};
use crate::exit::Failure;
use crate::plan::Plan;
use crate::plan::economy::Economy;
use crate::plan::recorded::RecordedSize;
use crate::prune::RuleSavings;
use crate::sanitize::sanitize_json;
use crate::sync::lock;
use crate::tokens::Categories;
use crate::transcript::Transcript;
use crate::transcript::compaction::ProviderCompaction;
use crate::transcript::reset::{Reset, ResetCounts};
use crate::wording;

use crate::files::output;
use crate::files::readers::Readers;

/// The plan for one conversation, as `--dry-run --json` prints it. `counter` counts the tokens; indices are those of
/// the input's messages.
#[derive(Debug, Serialize)]
pub(crate) struct DryRun<'r> {
    source: &'r str,
    pub(super) format: &'static str,
    pub(super) counter: String,
    pub(super) messages: usize,
    pub(super) tokens: u64,
    /// Those of them that are sent beside the messages.
    overhead: u64,
    /// The size that the session itself recorded, with the estimate of what follows that.
    recorded: Option<u64>,
    context_window: Option<u64>,
    triggered: bool,
    pub(super) fired: Option<String>,
    wanted_cutoff: usize,
    cutoff: usize,
    moved_because: Option<&'r str>,
    pinned: &'r [usize],
    /// What happens to the provider's own compactions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    compactions: Vec<Compacted>,
    /// The earlier summaries that the new one replaces, and what it has of them.
    #[serde(skip_serializing_if = "<[EarlierSummary]>::is_empty")]
    earlier: &'r [EarlierSummary],
    /// The effect of each rule of `--prune`.
    prune: BTreeMap<&'static str, PrunedBy>,
    pub(super) summarize: RangeSize,
    /// The pruned messages between the summary and the kept part.
    pub(super) middle: RangeSize,
    pub(super) keep: RangeSize,
    /// Thinking that is removed from messages that stay, where there is any.
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Removed>,
    /// What is reset in entries that stay, where there is any.
    #[serde(skip_serializing_if = "Option::is_none")]
    reset: Option<ResetCounts>,
    /// What the plan saves and costs, where something is changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    economy: Option<Economy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'r str>,
    /// How many places of each kind are masked, with `--redact=all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    redacted: Option<&'r BTreeMap<&'static str, u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'r str>,
}

/// A provider's own compaction among the messages.
#[derive(Debug, Serialize)]
struct Compacted {
    message: usize,
    /// Whether others than the provider can read it.
    readable: bool,
    /// What happens to its message.
    status: &'static str,
}

impl Compacted {
    /// Returns the compactions of a conversation, in order.
    fn of(transcript: &Transcript<'_>, plan: &Plan) -> Vec<Self> {
        let of_one = |&message: &usize| {
            let compaction = transcript.messages[message].compaction();
            let status = match message {
                message if message >= plan.cutoff => "kept",
                message if plan.pinned.binary_search(&message).is_ok() => "pinned",
                message if message < plan.start => "removed",
                _ => "summarized",
            };
            Compacted { message, readable: matches!(compaction, Some(ProviderCompaction::Readable(_))), status }
        };
        transcript.compactions.iter().map(of_one).collect()
    }
}

/// A range of messages, `to` excluded, with its tokens except those of pinned messages.
#[derive(Debug, Serialize)]
pub(super) struct RangeSize {
    from: usize,
    to: usize,
    pub(super) tokens: u64,
}

/// The effect of a rule: the messages that it shortens, and the tokens that it saves.
#[derive(Debug, Serialize)]
struct PrunedBy {
    messages: usize,
    tokens: u64,
}

/// Removed thinking: its messages, blocks and tokens.
#[derive(Debug, Serialize)]
struct Removed {
    messages: usize,
    blocks: usize,
    tokens: u64,
}

impl Removed {
    fn of(planned: &Planned<'_>) -> Option<Self> {
        let removal = &planned.thinking;
        (!removal.is_empty()).then(|| Removed {
            messages: removal.messages.len(),
            blocks: removal.blocks,
            tokens: planned.thinking_tokens(),
        })
    }
}

impl<'r> DryRun<'r> {
    /// Describes a plan.
    pub(crate) fn new(source: &'r str, planned: &'r Planned<'_>, policy: &CompactionPolicy) -> Self {
        let Planned { view: transcript, plan, tally, .. } = planned;
        let messages = transcript.messages.len();
        let part = |indices: &[usize], empty: usize| RangeSize {
            from: indices.first().copied().unwrap_or(empty),
            to: indices.last().map_or(empty, |last| last + 1),
            tokens: tally.sum(indices),
        };
        let summarized = plan.summarized();
        let kept: Vec<usize> = (planned.kept_from..messages).collect();
        let as_pruned = |indices: &[usize]| indices.iter().map(|&index| planned.size(index)).sum();
        let middle = planned.middle();
        let by_rule = |one: RuleSavings| (one.rule, PrunedBy { messages: one.messages, tokens: one.tokens });
        DryRun {
            source,
            format: transcript.format.name(),
            counter: tally.counter().to_string(),
            messages,
            tokens: planned.tokens(policy),
            overhead: tally.overhead(),
            recorded: RecordedSize::of(transcript, tally).map(RecordedSize::tokens),
            context_window: policy.cut.context_window,
            triggered: plan.triggered,
            fired: plan.fired.as_deref().map(clause),
            wanted_cutoff: plan.wanted,
            cutoff: plan.cutoff,
            moved_because: plan.moved_because.as_deref(),
            pinned: &plan.pinned,
            compactions: Compacted::of(transcript, plan),
            earlier: &[],
            summarize: RangeSize { to: plan.cutoff, ..part(&summarized, plan.cutoff) },
            prune: planned.savings().into_iter().map(by_rule).collect(),
            middle: RangeSize { from: plan.cutoff, to: planned.kept_from, tokens: as_pruned(&middle) },
            keep: RangeSize { tokens: as_pruned(&kept), ..part(&kept, messages) },
            thinking: Removed::of(planned),
            reset: None,
            economy: None,
            summary: None,
            redacted: None,
            reason: plan.reason.as_deref(),
        }
    }

    /// Adds what the plan saves and costs, and the summary where that is shown.
    #[must_use]
    pub(crate) fn with(self, economy: Option<Economy>, summary: Option<&'r str>) -> Self {
        DryRun { economy, summary, ..self }
    }

    /// Adds what is masked, with `--redact=all`.
    #[must_use]
    pub(crate) fn masking(self, redacted: Option<&'r BTreeMap<&'static str, u64>>) -> Self {
        DryRun { redacted, ..self }
    }

    /// Adds what becomes of earlier summaries.
    #[must_use]
    pub(crate) fn with_earlier(self, earlier: &'r [EarlierSummary]) -> Self {
        DryRun { earlier, ..self }
    }

    /// Adds what is reset.
    #[must_use]
    pub(crate) fn with_resets(self, resets: &[Reset]) -> Self {
        DryRun { reset: Some(ResetCounts::of(resets)).filter(|counts| !counts.is_none()), ..self }
    }

    /// Returns the object.
    pub(crate) fn to_value(&self) -> Value {
        // Strings and numbers do not fail to serialize.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Returns the object as a line.
    pub(crate) fn to_line(&self) -> String {
        json_line(self)
    }
}

/// The tokens of a conversation, as `--count --json` prints them. Roles, tools, thinking, media and overhead add up to
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
    pub(crate) fn new(source: &'r str, planned: &Planned<'_>, policy: &CompactionPolicy) -> Self {
        let Planned { view, tally, plan, .. } = planned;
        let (spent, tokens) = (Categories::of(view, tally, plan.start), planned.tokens(policy));
        Count {
            source,
            format: view.format.name(),
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

    /// Returns the object as a line.
    pub(crate) fn to_line(&self) -> String {
        json_line(self)
    }
}

/// Returns the object of `--emit summary --json` as a line: with the text of a summary, and that of its message.
pub(crate) fn summary(plan: &Plan, text: &str, message: &str, tokens: u64) -> String {
    let object =
        json!({"text": text, "message": message, "cutoff": plan.cutoff, "pinned": plan.pinned, "tokens": tokens});
    json_line(&object)
}

/// Returns an object as a line, without control characters.
fn json_line(object: &impl Serialize) -> String {
    // Strings and numbers do not fail to serialize.
    serde_json::to_string(object).map(|line| sanitize_json(&line) + "\n").unwrap_or_default()
}

fn clause(sizes: &[crate::plan::size::Size]) -> String {
    sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Checks that a report for `readers` can be written, and that it is none of `others`. What an existing report says stays.
///
/// # Errors
/// Why the report is refused.
pub(crate) fn check(file: &Path, others: &[&Path], readers: &Readers) -> Result<()> {
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
    let made = readers.open(OpenOptions::new().append(true).create(true), file);
    Ok(made.and_then(|made| readers.apply(&made, None)).map_err(|error| unwritable(file, &error))?)
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
}

/// The bytes of lines that were added.
pub(crate) type Added = Range<u64>;

impl Report {
    /// Returns a report in a file. The first line replaces an existing report.
    pub(crate) fn new(path: Option<&Path>) -> Self {
        Report { path: path.map(Path::to_owned), file: Mutex::default() }
    }

    /// Adds conversations as soon as they are done, all or none.
    ///
    /// # Errors
    /// They cannot be written.
    pub(crate) fn add(&self, conversations: &[ReportRow]) -> Result<Added> {
        let Some(path) = self.path.as_ref().filter(|_| !conversations.is_empty()) else { return Ok(0..0) };
        let lines: String = conversations.iter().map(json_line).collect();
        let write = || {
            let mut report = lock(&self.file);
            let report = match &mut *report {
                Some(report) => report,
                none => none.insert(ReportFile { file: File::create(path)?, length: 0 }),
            };
            let start = report.length;
            if let Err(error) = report.file.write_all(lines.as_bytes()) {
                report.cut(start);
                return Err(error);
            }
            report.length += lines.len() as u64;
            Ok(start..report.length)
        };
        Ok(write().map_err(|error| unwritable(path, &error))?)
    }

    /// Removes lines that were added last: what they tell of did not come to pass. A pipe keeps them.
    pub(crate) fn take_back(&self, added: &Added) {
        if let Some(report) = lock(&self.file).as_mut().filter(|report| !added.is_empty() && report.length == added.end)
        {
            report.cut(added.start);
        }
    }
}

impl ReportFile {
    /// Cuts a file; a pipe stays as it is.
    fn cut(&mut self, length: u64) {
        if self.file.set_len(length).and_then(|()| self.file.seek(SeekFrom::Start(length))).is_ok() {
            self.length = length;
        }
    }
}

impl Listener for Report {
    fn handle(&self, event: &Event<'_>) -> Result<()> {
        match event {
            Event::Done { conversations, .. } => self.add(conversations).map(drop),
            _ => Ok(()),
        }
    }
}

fn unwritable(file: &Path, error: &std::io::Error) -> Failure {
    Failure::unreadable(wording::unwritable(format_args!("--report {}", file.display()), error))
}
