//! From flags and environment to what is to be done: every value checked before anything is read or asked for.
//!
//! [`layers`] says which value counts where several places give one; here is what the values mean together.

mod deerflow;
mod environment;
mod file;
mod keys;
pub(crate) mod layers;
mod mode;
mod names;
mod policy;
pub(crate) mod presets;
mod request_json;
pub(crate) mod summarizer;
mod value;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;

use crate::cli::{Arguments, NO_SUFFIX, When};
use crate::compact::{CompactionPolicy, Emit, SummarizerKind, is_no_model};
use crate::exit::Failure;
use crate::llm::Summarizer;
use crate::llm::cache::Cache;
use crate::plan;
use crate::rewrite::repair::Repair;
use crate::sync::cores_of_machine;
use crate::transcript::formats::Format;
use crate::transcript::framing::Lines;

use layers::Resolved;
use names::{from, unlisted};
use policy::policy;
use summarizer::{asks, cache, preview, summarizer, unencrypted, unknown, with_provider};

pub(crate) use mode::{Mode, RestoreSettings};
pub(crate) use policy::archive_among;

/// What is to be done with conversations, in values that have been checked: a part for each room that reads it.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// What is made of each conversation.
    pub(crate) action: Action,
    /// What is read.
    pub(crate) input: InputSettings,
    /// What is to become of conversations.
    pub(crate) policy: CompactionPolicy,
    /// Who writes summaries.
    pub(crate) summarizer: SummarizerSettings,
    /// Where results go.
    pub(crate) output: OutputSettings,
    /// What the user is told.
    pub(crate) voice: Voice,
    /// How such breaches of a provider's rules are repaired, where they are.
    pub(crate) repair: Option<Repair>,
    /// How many conversations are worked on at once, where it is not as many as there are cores.
    pub(crate) jobs: Option<usize>,
    /// All that decides a result besides its input, as a text.
    pub(crate) rules: String,
}

/// What is made of each conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Its history is replaced by a summary.
    Compact,
    /// Its tokens are printed.
    Count {
        /// As JSON.
        json: bool,
    },
    /// It is printed where the cut would be.
    DryRun {
        /// As JSON.
        json: bool,
        /// With the summary, which is kept for a real run.
        preview: bool,
    },
    /// It is printed what a run would remove and put in.
    Diff,
    /// Breaches of the provider's rules are printed.
    Check,
}

impl Action {
    /// Whether there are no results to be written: something else is printed.
    pub(crate) fn only_looks(self) -> bool {
        self != Action::Compact
    }

    /// Whether it is a dry run.
    pub(crate) fn is_dry_run(self) -> bool {
        matches!(self, Action::DryRun { .. })
    }

    /// Whether something short is printed for each conversation, wherever results would go.
    pub(crate) fn prints(self) -> bool {
        self.is_dry_run() || matches!(self, Action::Count { .. })
    }

    /// Whether it is a dry run that shows the summary.
    pub(crate) fn is_preview(self) -> bool {
        matches!(self, Action::DryRun { preview: true, .. })
    }
}

/// What is read.
#[derive(Debug, Clone)]
pub(crate) struct InputSettings {
    /// Where the transcripts are: files, and directories to be searched; standard input if nothing.
    pub(crate) paths: Vec<PathBuf>,
    /// Their format, where the user said.
    pub(crate) from: Option<&'static dyn Format>,
    /// How their lines are read, where the user said.
    pub(crate) lines: Option<Lines>,
    /// The other files that the user names for reading.
    pub(crate) besides: Vec<PathBuf>,
}

/// Who writes summaries.
#[derive(Debug, Clone)]
pub(crate) struct SummarizerSettings {
    /// Whoever answers requests.
    pub(crate) backend: Arc<Summarizer>,
    /// Whether the user said who.
    pub(crate) is_chosen: bool,
    /// Where summaries are kept.
    pub(crate) cache: Option<Cache>,
}

/// Where results go.
#[derive(Debug, Clone)]
pub(crate) struct OutputSettings {
    /// The results themselves.
    pub(crate) destination: Destination,
    /// What became of each conversation.
    pub(crate) report: Option<PathBuf>,
    /// The page that shows what was done.
    pub(crate) html: Option<PathBuf>,
    /// Whether the user said where what is cut away goes.
    pub(crate) archive_chosen: bool,
    /// Write a summary that is written alone as a JSON object.
    pub(crate) json: bool,
    /// Leave out what an earlier run has finished.
    pub(crate) resume: bool,
    /// Exit with 3 when nothing was compacted.
    pub(crate) exit_status: bool,
}

impl OutputSettings {
    /// Whether what became of each conversation is reported or drawn on a page.
    pub(crate) fn has_report(&self) -> bool {
        self.report.is_some() || self.html.is_some()
    }
}

/// What the user is told.
#[derive(Debug, Clone)]
pub(crate) struct Voice {
    /// How much is told on standard error.
    pub(crate) volume: Volume,
    /// When progress is shown.
    pub(crate) progress: When,
    /// Whether conversations are drawn.
    pub(crate) explain: bool,
    /// What is to be told of the settings themselves, a line each.
    pub(crate) notices: Vec<String>,
    /// Where settings come from that are no defaults, a line each, where that is to be told.
    pub(crate) origins: Vec<String>,
}

/// How much is told on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Volume {
    /// Nothing but errors.
    Quiet,
    /// What went otherwise than asked.
    Usual,
    /// What is decided and done, too.
    Verbose,
}

/// How conversations are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Explain {
    /// A picture.
    Picture,
    /// A row in a table, where there are several.
    Table,
}

/// Where results go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Standard output.
    Stdout,
    /// A file.
    File(PathBuf),
    /// Files of the same names in this directory.
    Folder(PathBuf),
    /// The files that they are made of, perhaps after a copy with this at the end of its name.
    InPlace(Option<String>),
}

impl Settings {
    /// Checks what the layers resolved to, reads the prompt file, and takes the key from the environment through
    /// `variable`.
    ///
    /// # Errors
    /// The first thing that cannot be used, by its flag and where that was given, and what to do instead.
    pub(crate) fn new(resolved: Resolved, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let Resolved { arguments, summary_prompt, disabled, said, origins, given, rules, chosen } = resolved;
        let preview = preview(&arguments, &given);
        let asks = asks(&arguments, preview) && disabled.is_none();
        let settings = Self::checked(arguments, &chosen, (asks, preview), summary_prompt, variable);
        let mut settings = settings.map_err(|error| layers::with_origin(&given, error))?;
        settings.rules = format!("{rules}{:?}\n{disabled:?}", settings.policy.summary.template);
        settings.policy.disabled = disabled;
        let notices = said.into_iter().chain(settings.notices(asks)).collect();
        settings.voice.notices = notices;
        settings.voice.origins = origins;
        Ok(settings)
    }

    /// What the user should know of the settings.
    fn notices(&self, asks: bool) -> Vec<String> {
        let Settings { policy: CompactionPolicy { cut, summary, disabled, unlisted_reader, .. }, summarizer, .. } =
            self;
        if self.voice.volume == Volume::Quiet {
            return Vec::new();
        }
        let is_done = disabled.is_none();
        let never = (cut.never() && is_done).then(|| format!("{}; the transcript stays unchanged", plan::NEVER));
        let host = unencrypted(&summarizer.backend).filter(|_| is_done);
        let unencrypted =
            host.map(|host| format!("the key goes to {host} unencrypted; an address with https:// is safer"));
        let reader = unlisted_reader.as_deref().filter(|_| cut.context_window.is_none() && is_done);
        let same = reader == Some(summary.name.as_str());
        let reader = reader.map(unlisted);
        let unknown = unknown(&summary.name, summary.summarizer, summary.model).filter(|_| asks);
        let no_place = summary
            .template
            .has_no_place()
            .then(|| "the prompt has no {messages}, so that the summarizer is sent none of the history".to_owned());
        let nothing_to_mask = self.policy.redact && summary.summarizer == SummarizerKind::Nobody;
        let nothing_to_mask = nothing_to_mask.then(|| {
            "--redact masks what a summarizer is sent and the summary; with --model none there is neither, and \
             messages that stay keep their secrets"
                .to_owned()
        });
        let of_model = [never, unencrypted, reader, unknown.filter(|_| !same)];
        of_model.into_iter().chain([no_place, nothing_to_mask]).flatten().collect()
    }

    /// How many conversations are worked on at once.
    pub(crate) fn jobs(&self) -> usize {
        self.jobs.unwrap_or_else(cores_of_machine)
    }

    /// Whether anybody is told what a compaction saves.
    pub(crate) fn needs_costs(&self) -> bool {
        self.output.has_report() || self.voice.volume == Volume::Verbose || self.action.is_preview()
    }

    /// Whether nobody else is asked for summaries: they are written by the embedded summarizer, or not at all.
    pub(crate) fn is_embedded(&self) -> bool {
        self.policy.summary.is_embedded() || self.policy.summary.summarizer == SummarizerKind::Nobody
    }

    fn checked(
        mut arguments: Arguments,
        chosen: &[String],
        (asks, preview): (bool, bool),
        summary_prompt: Option<(String, String)>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        if arguments.json && !(arguments.dry_run || arguments.count || arguments.emit == Emit::Summary) {
            let why = "--json: it goes with --dry-run, --count or --emit summary; give one of them";
            return Err(Failure::usage(why).about("json").try_next("tcompact --dry-run --json").into());
        }
        let preset = arguments.preset.as_deref().and_then(presets::by_name).unwrap_or(&presets::OWN);
        if let Some(full) = arguments.model.as_deref().and_then(with_provider) {
            arguments.model = Some(full);
        }
        let policy = policy(&arguments, chosen, preset, summary_prompt)?;
        let destination = destination(&arguments)?;
        let from = from(&arguments.from)?;
        let backend = Arc::new(summarizer(&arguments, asks, &preset.recipe, variable)?);
        Ok(Settings {
            action: action(&arguments, preview),
            policy,
            summarizer: SummarizerSettings {
                backend,
                is_chosen: arguments.model.is_some() || arguments.summarizer_cmd.is_some(),
                cache: cache(&arguments, asks)?,
            },
            output: OutputSettings {
                destination,
                report: arguments.report.clone(),
                html: arguments.html.clone(),
                archive_chosen: arguments.archive.is_some(),
                json: arguments.json,
                resume: arguments.resume,
                exit_status: arguments.exit_status,
            },
            voice: Voice {
                volume: volume(&arguments),
                progress: arguments.progress,
                explain: arguments.explain,
                notices: Vec::new(),
                origins: Vec::new(),
            },
            repair: arguments.repair,
            jobs: jobs(&arguments),
            rules: String::new(),
            input: InputSettings {
                from,
                lines: arguments.lines,
                besides: arguments.prompt_file.iter().chain(&arguments.config).cloned().collect(),
                paths: arguments.paths,
            },
        })
    }
}

fn action(arguments: &Arguments, preview: bool) -> Action {
    match (arguments.check, arguments.diff, arguments.dry_run) {
        _ if arguments.count => Action::Count { json: arguments.json },
        (true, ..) => Action::Check,
        (_, true, _) => Action::Diff,
        (.., true) => Action::DryRun { json: arguments.json, preview },
        _ => Action::Compact,
    }
}

fn volume(arguments: &Arguments) -> Volume {
    match (arguments.quiet, arguments.verbose) {
        (true, _) => Volume::Quiet,
        (_, true) => Volume::Verbose,
        _ => Volume::Usual,
    }
}

/// Where results go, and whether they can go there at all.
fn destination(arguments: &Arguments) -> Result<Destination> {
    let destination = match (&arguments.output, &arguments.output_dir, &arguments.in_place) {
        (_, Some(folder), _) => Destination::Folder(folder.clone()),
        (_, _, Some(suffix)) => Destination::InPlace(Some(suffix.clone()).filter(|suffix| suffix != NO_SUFFIX)),
        (Some(file), ..) if file.as_os_str() != "-" => Destination::File(file.clone()),
        _ => Destination::Stdout,
    };
    let wrong = |flag: &'static str, message: &str| Err(Failure::usage(message).about(flag).into());
    match &destination {
        Destination::InPlace(Some(suffix)) if suffix.is_empty() => {
            wrong("in-place", "--in-place=: SUFFIX is empty; --in-place without `=` makes no copy")
        }
        Destination::InPlace(Some(suffix)) if suffix.contains(['/', '\\']) => {
            wrong("in-place", &format!("--in-place={suffix}: expected the end of a file name, as in --in-place=.bak"))
        }
        Destination::InPlace(_) if arguments.emit != Emit::Messages => {
            let what = if arguments.emit == Emit::Update { "update" } else { "summary" };
            let why = "with --in-place it would take the place of the transcript; write it to --output-dir";
            wrong("emit", &format!("--emit {what}: {why}"))
        }
        Destination::Stdout if arguments.resume => {
            wrong("resume", "--resume: it goes on with --output, --output-dir or --in-place; name one of them")
        }
        _ => Ok(destination),
    }
}

/// How many conversations are worked on at once, where that is said, or where others do the work.
fn jobs(arguments: &Arguments) -> Option<usize> {
    const OF_OTHERS: usize = 8;
    let asks = arguments.summarizer_cmd.is_some() || arguments.model.as_ref().is_some_and(|model| !is_no_model(model));
    let said = arguments.jobs.map(|jobs| usize::try_from(jobs).unwrap_or(1));
    said.or(asks.then_some(OF_OTHERS))
}

#[cfg(test)]
mod tests;
