//! Settings: what flags, environment, config file and preset mean together. Every value is checked before anything is
//! read or requested.
//!
//! [`layers`] decides which layer wins.

mod invocation;
mod keys;
mod large;
pub(crate) mod layers;
mod names;
mod policy;
mod request_json;
mod sessions;
mod slim;
mod sources;
pub(crate) mod summarizer;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;

use crate::cli::{CompactArguments, EMITS, GeneralFlags, NO_SUFFIX, PlaceFlags, When};
use crate::compact::{CompactionPolicy, Emit, Redaction, SummarizerKind};
use crate::diagnostic::Advice;
use crate::exit::Failure;
use crate::llm::Summarizer;
use crate::llm::cache::Cache;
use crate::rewrite::repair::Repair;
use crate::sync::cores_of_machine;
use crate::transcript::formats::Format;
use crate::transcript::framing::Lines;
use crate::{plan, presets};

use layers::Resolved;
use names::{find_format, unlisted};
use policy::policy;
use summarizer::{is_of_others, is_preview, open_cache, summarizer, unencrypted_host, with_provider};

pub use invocation::RestoreSettings;
pub(crate) use invocation::{Invocation, LookupSettings, SearchSettings, ShowSettings};
pub(crate) use large::LargeFiles;
pub(crate) use policy::archive_among;
pub(crate) use slim::SlimSettings;

/// The checked settings for work on conversations, with a part for each module that reads them.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What to do with each conversation.
    pub(crate) action: Action,
    /// The inputs.
    pub input: InputSettings,
    /// How to compact conversations.
    pub policy: CompactionPolicy,
    /// The summarizer.
    pub(crate) summarizer: SummarizerSettings,
    /// The destination of results.
    pub output: OutputSettings,
    /// The messages on standard error.
    pub(crate) stderr: StderrSettings,
    /// How to repair violations, if at all.
    pub(crate) repair: Option<Repair>,
    /// The most conversations at once; by default, one for each core.
    pub(crate) jobs: Option<usize>,
    /// Everything besides the input that determines a result, as a text.
    pub(crate) rules: String,
}

/// What to do with each conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Replace its history by a summary.
    Compact,
    /// Repair or mask it, and cut nothing.
    Mend,
    /// Print its tokens.
    Count {
        /// As JSON.
        json: bool,
        /// The largest first.
        sorted: bool,
    },
    /// Print the cutoff.
    DryRun {
        /// As JSON.
        json: bool,
        /// With the summary, which is cached for a real run.
        preview: bool,
    },
    /// Print what a run would remove and add.
    Diff,
    /// Print violations of the provider's rules.
    Check,
}

impl Action {
    /// Whether the run writes or shows changes, so that a repair is one.
    pub(crate) fn shows_changes(self) -> bool {
        matches!(self, Action::Compact | Action::Mend | Action::Diff)
    }

    /// Whether it writes no results, and prints something else.
    pub(crate) fn is_read_only(self) -> bool {
        !matches!(self, Action::Compact | Action::Mend)
    }

    /// Whether it compacts, or shows what that would come to.
    fn compacts(self) -> bool {
        matches!(self, Action::Compact | Action::DryRun { .. } | Action::Diff)
    }

    /// Whether it fails where there is no transcript at all: its silence would mean that all is well.
    pub(crate) fn must_read(self) -> bool {
        matches!(self, Action::Check | Action::Count { .. } | Action::Mend)
    }

    /// Whether it is a dry run.
    pub(crate) fn is_dry_run(self) -> bool {
        matches!(self, Action::DryRun { .. })
    }

    /// Whether it prints a line for each conversation to standard output, whatever the destination of results.
    pub(crate) fn prints(self) -> bool {
        self.is_dry_run() || matches!(self, Action::Count { .. })
    }

    /// Whether it is a dry run that shows the summary.
    pub(crate) fn is_preview(self) -> bool {
        matches!(self, Action::DryRun { preview: true, .. })
    }
}

/// The inputs.
#[derive(Debug, Clone)]
pub struct InputSettings {
    /// Files, and directories to search; empty for standard input.
    pub(crate) paths: Vec<PathBuf>,
    /// The format that the user named.
    pub from: Option<&'static Format>,
    /// The value of `--lines`.
    pub(crate) lines: Option<Lines>,
    /// The other files that the user named for reading.
    pub(crate) other_files: Vec<PathBuf>,
    /// Which files are read by their lines.
    pub(crate) large: LargeFiles,
}

/// The summarizer.
#[derive(Debug, Clone)]
pub(crate) struct SummarizerSettings {
    /// Answers the requests.
    pub(crate) backend: Arc<Summarizer>,
    /// Whether the user named it.
    pub(crate) is_chosen: bool,
    /// The cache that the user named.
    pub(crate) cache: Option<Cache>,
}

/// The destination of results.
#[derive(Debug, Clone)]
pub struct OutputSettings {
    /// The destination of the results themselves.
    pub(crate) destination: Destination,
    /// The file of `--report`.
    pub(crate) report: Option<PathBuf>,
    /// The file of `--html`.
    pub(crate) html: Option<PathBuf>,
    /// Whether the user named the archive, rather than a preset.
    pub archive_chosen: bool,
    /// Whether `--emit summary` prints a JSON object.
    pub(crate) json: bool,
    /// Skip what an earlier run has finished.
    pub(crate) resume: bool,
    /// Replace also a file that another process has open for writing, or another session begins in.
    pub(crate) force: bool,
    /// Exit with 3 when nothing was compacted.
    pub(crate) exit_status: bool,
}

impl OutputSettings {
    /// Whether each conversation gets a row in a report or on a page.
    pub(crate) fn has_report(&self) -> bool {
        self.report.is_some() || self.html.is_some()
    }

    /// Whether the rows are kept: for a report, or for the journal of a directory.
    pub(crate) fn keeps_rows(&self) -> bool {
        self.has_report() || matches!(self.destination, Destination::Folder(_) | Destination::InPlace(_))
    }
}

/// The messages on standard error.
#[derive(Debug, Clone)]
pub(crate) struct StderrSettings {
    /// How much to report.
    pub(crate) volume: Volume,
    /// When to show progress.
    pub(crate) progress: When,
    /// Whether to say at the end what became of the conversations: a person looks on.
    pub(crate) closes: bool,
    /// Whether to draw conversations.
    pub(crate) explain: bool,
    /// Notes on the settings themselves, a line each.
    pub(crate) notices: Vec<String>,
    /// What to say if nothing is changed.
    pub(crate) if_unchanged: Option<String>,
    /// The origins of settings that are not defaults, a line each; only with `--verbose`.
    pub(crate) origins: Vec<String>,
}

/// How much to report on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Volume {
    /// Only errors.
    Quiet,
    /// What went differently than asked.
    Usual,
    /// Decisions and results, too.
    Verbose,
}

/// How to draw conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Explain {
    /// As a picture.
    Picture,
    /// As rows of a table, for several conversations.
    Table,
}

/// The destination of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Standard output.
    Stdout,
    /// A file.
    File(PathBuf),
    /// Files of the same names in this directory.
    Folder(PathBuf),
    /// The input files themselves, after a copy with this suffix if there is one.
    InPlace(Option<String>),
}

/// What is known of a run besides its arguments.
struct RunFacts<'r> {
    action: Action,
    /// The names of the flags that any layer gives.
    chosen: &'r [String],
    /// Whether the summarizer may be asked.
    asks: bool,
    /// The file of the settings.
    config: Option<PathBuf>,
}

impl Settings {
    /// Checks the resolved arguments, reads the prompt file, and reads the key from the environment by `variable`.
    ///
    /// # Errors
    /// The first value that cannot be used, with its flag, its origin, and what to do instead.
    pub fn new(resolved: Resolved, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let preview = is_preview(&resolved.arguments, &resolved.given);
        let action = action(&resolved.arguments, preview);
        Settings::for_action(action, resolved, variable)
    }

    /// The same for an action that the command decides, and not the arguments.
    ///
    /// # Errors
    /// The first value that cannot be used.
    fn for_action(action: Action, resolved: Resolved, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let Resolved { arguments, summary_prompt, disabled, notices, origins, given, rules, chosen, config, .. } =
            resolved;
        let only_looks = matches!(action, Action::Check | Action::Count { .. } | Action::DryRun { preview: false, .. });
        let asks = !only_looks && disabled.is_none();
        let is_note_of_layer = given.iter().any(|value| value.flag == "archive-note");
        if arguments.archive_note.is_some() && arguments.archive.is_none() && !is_note_of_layer {
            let why = "--archive-note: there is no archive to name; give --archive FILE";
            let failure = Failure::usage(why).about("archive-note");
            return Err(failure.try_next(Advice::command(["--archive", "removed.jsonl"])).into());
        }
        let facts = RunFacts { action, chosen: &chosen, asks, config };
        let settings = Self::checked(arguments, &facts, summary_prompt, variable);
        let mut settings = settings.map_err(|error| layers::with_origin(&given, error))?;
        settings.rules = format!("{rules}{:?}\n{disabled:?}", settings.policy.summary.template);
        settings.policy.disabled = disabled;
        let notices = notices.into_iter().chain(settings.notices(asks)).collect();
        settings.stderr.notices = notices;
        settings.stderr.origins = origins;
        Ok(settings)
    }

    fn notices(&self, asks: bool) -> Vec<String> {
        let Settings { policy: CompactionPolicy { cut, summary, disabled, unlisted_reader, .. }, summarizer, .. } =
            self;
        let mut notices = Vec::new();
        if self.stderr.volume == Volume::Quiet {
            return notices;
        }
        let mut told = None;
        if disabled.is_none() {
            if cut.never_triggers() && self.action.compacts() {
                notices.push(format!("{}; the transcript stays unchanged", plan::NEVER));
            }
            if let Some(host) = unencrypted_host(&summarizer.backend) {
                notices.push(format!("the key goes to {host} unencrypted; an address with https:// is safer"));
            }
            told = unlisted_reader.as_deref().filter(|_| cut.context_window.is_none());
            notices.extend(told.map(unlisted));
        }
        // Most models of own servers are in no table, and run all the same.
        let is_unlisted = summary.summarizer == SummarizerKind::Model && summary.model.window.is_none();
        if is_unlisted && asks && self.stderr.volume == Volume::Verbose && told != Some(summary.name.as_str()) {
            notices.push(unlisted(&summary.name));
        }
        if summary.template.has_no_place() {
            notices.push("the prompt has no {messages}, so the summarizer gets none of the history".to_owned());
        }
        if self.policy.redact == Redaction::Sent && summary.summarizer == SummarizerKind::Off {
            let text = "--redact masks what a summarizer is sent and the summary; with --model none there is neither, and \
                        messages that stay keep their secrets, except in texts that are cut; --redact=all masks them too";
            notices.push(text.to_owned());
        }
        notices
    }

    /// The most conversations to work on at once.
    pub(crate) fn jobs(&self) -> usize {
        self.jobs.unwrap_or_else(cores_of_machine)
    }

    /// Whether savings and costs are reported.
    pub(crate) fn needs_costs(&self) -> bool {
        self.output.keeps_rows()
            || self.stderr.closes
            || self.stderr.volume == Volume::Verbose
            || self.action.is_preview()
    }

    /// Whether the embedded summarizer writes the summaries, or nobody does.
    pub(crate) fn is_embedded(&self) -> bool {
        self.policy.summary.is_embedded() || self.policy.summary.summarizer == SummarizerKind::Off
    }

    fn checked(
        mut arguments: CompactArguments,
        RunFacts { action, chosen, asks, config }: &RunFacts<'_>,
        summary_prompt: Option<(String, String)>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let (action, asks) = (*action, *asks);
        if arguments.json && !(arguments.dry_run || arguments.emit == Emit::Summary) {
            let why = "--json works only with --dry-run or --emit summary; give one of them";
            return Err(Failure::usage(why).about("json").try_next(Advice::command(["--dry-run", "--json"])).into());
        }
        let preset = arguments.preset.as_deref().and_then(presets::by_name).unwrap_or(&presets::OWN);
        if let Some(full) = arguments.model.as_deref().and_then(with_provider) {
            arguments.model = Some(full);
        }
        let policy = policy(&arguments, chosen, preset, summary_prompt)?;
        let destination = destination(&arguments)?;
        let from = find_format(&arguments.reading.from)?;
        let backend = Arc::new(summarizer(&arguments, asks, &preset.recipe, variable)?);
        Ok(Settings {
            action,
            policy,
            summarizer: SummarizerSettings {
                backend,
                is_chosen: arguments.model.is_some() || arguments.summarizer_cmd.is_some(),
                cache: open_cache(&arguments, asks)?,
            },
            output: OutputSettings {
                destination,
                report: arguments.report.clone(),
                html: arguments.html.clone(),
                archive_chosen: arguments.archive.is_some(),
                json: arguments.json,
                resume: arguments.resume,
                force: arguments.place.force,
                exit_status: arguments.exit_status,
            },
            stderr: StderrSettings {
                volume: volume(&arguments.general),
                progress: arguments.work.progress,
                closes: action == Action::Compact
                    && volume(&arguments.general) > Volume::Quiet
                    && (arguments.rescue || io::stderr().is_terminal()),
                explain: arguments.explain,
                notices: Vec::new(),
                if_unchanged: None,
                origins: Vec::new(),
            },
            repair: arguments.repair,
            jobs: jobs(&arguments),
            rules: String::new(),
            input: InputSettings {
                from,
                lines: arguments.reading.lines,
                other_files: arguments.prompt_file.iter().chain(config).cloned().collect(),
                paths: arguments.paths,
                large: LargeFiles::LOOKED_AT,
            },
        })
    }
}

fn action(arguments: &CompactArguments, preview: bool) -> Action {
    if arguments.diff {
        Action::Diff
    } else if arguments.dry_run {
        Action::DryRun { json: arguments.json, preview }
    } else {
        Action::Compact
    }
}

fn volume(flags: &GeneralFlags) -> Volume {
    if flags.quiet {
        Volume::Quiet
    } else if flags.verbose {
        Volume::Verbose
    } else {
        Volume::Usual
    }
}

/// The destination of results, if they can go there.
fn destination(arguments: &CompactArguments) -> Result<Destination> {
    let destination = place(&arguments.place, arguments.output_dir.as_deref())?;
    match &destination {
        Destination::InPlace(_) if arguments.emit != Emit::Messages => {
            let what = EMITS.iter().find(|(.., emit)| *emit == arguments.emit).map_or("", |(name, ..)| name);
            let why = "with --in-place it would take the place of the transcript; write it to --output-dir";
            Err(Failure::usage(format!("--emit {what}: {why}")).about("emit").into())
        }
        Destination::Stdout if arguments.resume => {
            let why = "--resume works only with --output, --output-dir or --in-place; give one of them";
            Err(Failure::usage(why).about("resume").into())
        }
        _ => Ok(destination),
    }
}

/// Where results go, if the flags for it go together.
fn place(flags: &PlaceFlags, output_dir: Option<&Path>) -> Result<Destination> {
    let destination = match (&flags.output, output_dir, &flags.in_place) {
        (_, Some(folder), _) => Destination::Folder(folder.to_owned()),
        (_, _, Some(suffix)) => Destination::InPlace(Some(suffix.clone()).filter(|suffix| suffix != NO_SUFFIX)),
        (Some(file), ..) if file.as_os_str() != "-" => Destination::File(file.clone()),
        _ => Destination::Stdout,
    };
    match &destination {
        Destination::InPlace(Some(suffix)) if suffix.is_empty() => {
            let why = "--in-place=: SUFFIX is empty; --in-place without `=` makes no copy";
            Err(Failure::usage(why).about("in-place").into())
        }
        Destination::InPlace(Some(suffix)) if suffix.contains(['/', '\\']) => {
            let why = format!("--in-place={suffix}: expected the end of a file name, as in --in-place=.bak");
            Err(Failure::usage(why).about("in-place").into())
        }
        Destination::Stdout | Destination::File(_) | Destination::Folder(_) if flags.force => {
            let why = "--force works only with --in-place; give it too, or leave out --force";
            Err(Failure::usage(why).about("force").into())
        }
        _ => Ok(destination),
    }
}

/// The number of jobs that the user gave, or the default for summarizers that others run.
fn jobs(arguments: &CompactArguments) -> Option<usize> {
    const OF_OTHERS: usize = 8;
    match arguments.work.jobs {
        Some(jobs) => Some(usize::try_from(jobs).unwrap_or(1)),
        None if is_of_others(arguments) => Some(OF_OTHERS),
        None => None,
    }
}

#[cfg(test)]
mod tests;
