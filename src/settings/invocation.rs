//! What the program does, decided once for the command and all layers of settings.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{FromArgMatches, Parser};
use regex::Regex;

use crate::cli::commands::{
    CheckArguments, CommandName, CompletionsArguments, CountArguments, ListArguments, LookupFlags, MendingFlags,
    RedactArguments, RepairArguments, RestoreArguments, SearchArguments, ShowArguments,
};
use crate::cli::misplaced::misplaced;
use crate::cli::places::{MessagePlace, Places};
use crate::cli::retry::Typed;
use crate::cli::search_pattern::SearchPattern;
use crate::cli::slim::SlimArguments;
use crate::cli::word_order::{reordered, swapped};
use crate::cli::{CompactArguments, Shell, Table, When};
use crate::compact::Redaction;
use crate::diagnostic::Advice;
use crate::exit::Failure;
use crate::presets;
use crate::settings::layers::{CommandLine, Resolved};
use crate::settings::names::find_format;
use crate::settings::sessions::{Expanded, expanded};
use crate::settings::slim::SlimSettings;
use crate::settings::sources::misspelled;
use crate::settings::{Action, Destination, InputSettings, LargeFiles, Settings, Volume, place, volume};

/// What the program does.
#[derive(Debug)]
pub(crate) enum Invocation {
    /// Print a table.
    List(Table),
    /// Print the completion script of a shell.
    Completions(Shell),
    /// Print the manual page.
    Man,
    /// Restore a text by its archive.
    Restore(RestoreSettings),
    /// Search archives and transcripts.
    Search(Box<SearchSettings>),
    /// Show messages of an archive or a transcript.
    Show(Box<ShowSettings>),
    /// Remove from files what is not sent.
    Slim(Box<SlimSettings>),
    /// Work on conversations.
    Conversations(Box<Settings>),
}

/// The settings of `restore`.
#[derive(Debug)]
pub struct RestoreSettings {
    /// The archive.
    pub(crate) archive: PathBuf,
    /// The compacted text; nothing for standard input.
    pub(crate) path: Option<PathBuf>,
    /// Where the restored text goes.
    pub(crate) destination: Destination,
    /// Whether to replace also a file that another process has open for writing, or another session begins in.
    pub(crate) force: bool,
    /// The most rounds to put back; all where nothing is said.
    pub(crate) rounds: Option<usize>,
    /// How much to report.
    pub(crate) volume: Volume,
    /// The command line.
    pub(crate) typed: Typed,
}

/// What `search` and `show` read, and how.
#[derive(Debug)]
pub(crate) struct LookupSettings {
    /// The inputs; an archive that is named by its flag is the first.
    pub(crate) input: InputSettings,
    /// Whether a flag names an archive.
    pub(crate) has_archive: bool,
    /// Whether secrets are masked.
    pub(crate) masks: bool,
    /// Whether to print JSON.
    pub(crate) json: bool,
    /// How much to report.
    pub(crate) volume: Volume,
}

/// The settings of `search`.
#[derive(Debug)]
pub(crate) struct SearchSettings {
    pub(crate) lookup: LookupSettings,
    pub(crate) pattern: SearchPattern,
    /// The most messages to show.
    pub(crate) limit: usize,
    /// Whether to print only how many there are.
    pub(crate) counts: bool,
    /// The command line.
    pub(crate) typed: Typed,
}

/// The settings of `show`.
#[derive(Debug)]
pub(crate) struct ShowSettings {
    pub(crate) lookup: LookupSettings,
    pub(crate) places: Vec<MessagePlace>,
    /// The most tokens of each message.
    pub(crate) limit_tokens: u64,
}

impl RestoreSettings {
    /// # Errors
    /// The text cannot go where the arguments say.
    pub fn new(arguments: RestoreArguments, typed: Typed) -> Result<Self> {
        let RestoreArguments { archive, path, rounds, place: flags, general } = arguments;
        let rounds = rounds.map(|rounds| rounds as usize);
        let (destination, volume) = (place(&flags, None)?, volume(&general));
        Ok(RestoreSettings { archive, path, destination, force: flags.force, rounds, volume, typed })
    }
}

impl SearchSettings {
    fn new(arguments: SearchArguments, typed: Typed) -> Result<Self> {
        let SearchArguments { pattern, paths, limit, case_sensitive, count, json, lookup } = arguments;
        let pattern = SearchPattern::new(pattern, case_sensitive);
        let lookup = LookupSettings::new(lookup, paths, json)?;
        Ok(SearchSettings { lookup, pattern, limit: limit as usize, counts: count, typed })
    }
}

impl ShowSettings {
    fn new(arguments: ShowArguments) -> Result<Self> {
        let ShowArguments { places: Places(places), path, limit_tokens, json, lookup } = arguments;
        let lookup = LookupSettings::new(lookup, path.into_iter().collect(), json)?;
        Ok(ShowSettings { lookup, places, limit_tokens: limit_tokens.into() })
    }
}

impl LookupSettings {
    fn new(flags: LookupFlags, paths: Vec<PathBuf>, json: bool) -> Result<Self> {
        let LookupFlags { archive, masking, reading, general } = flags;
        let has_archive = archive.is_some();
        let paths = archive.into_iter().chain(paths).collect();
        let input = InputSettings {
            paths,
            from: find_format(&reading.from)?,
            lines: reading.lines,
            other_files: Vec::new(),
            large: LargeFiles::LOOKED_AT,
        };
        let masks = masking.redact.is_some();
        Ok(LookupSettings { input, has_archive, masks, json, volume: volume(&general) })
    }
}

impl Invocation {
    /// Decides what the program does. `variable` reads the environment. `colour` is called as soon as it is known when
    /// to colour messages.
    ///
    /// # Errors
    /// A value cannot be used, with what to do instead.
    pub(crate) fn new(
        command_line: CommandLine,
        variable: impl Fn(&str) -> Option<OsString>,
        colour: impl Fn(When),
    ) -> Result<Self> {
        let Expanded { mut command_line, notices, if_unchanged } = expanded(command_line, &variable)?;
        check_inputs(&mut command_line)?;
        let resolver = Resolver { variable: &variable, colour: &colour, notices, if_unchanged };
        Ok(match command_line.name {
            CommandName::List => Invocation::List(command_line.arguments::<ListArguments>()?.table),
            CommandName::Completions => {
                Invocation::Completions(command_line.arguments::<CompletionsArguments>()?.shell)
            }
            CommandName::Man => Invocation::Man,
            CommandName::Restore => {
                let typed = typed(&command_line);
                let arguments = resolver.resolve::<RestoreArguments>(command_line)?.arguments;
                Invocation::Restore(RestoreSettings::new(arguments, typed)?)
            }
            CommandName::Slim => {
                let typed = typed(&command_line);
                let arguments = resolver.resolve::<SlimArguments>(command_line)?.arguments;
                Invocation::Slim(Box::new(SlimSettings::new(arguments, typed)?))
            }
            CommandName::Search => {
                let typed = typed(&command_line);
                let arguments = resolver.resolve::<SearchArguments>(command_line)?.arguments;
                Invocation::Search(Box::new(SearchSettings::new(arguments, typed)?))
            }
            CommandName::Show => {
                if let Some((line, words)) = reordered(&typed(&command_line)) {
                    return Err(Failure::usage(line).try_next(Advice::command(words)).into());
                }
                let arguments = resolver.resolve::<ShowArguments>(command_line)?.arguments;
                Invocation::Show(Box::new(ShowSettings::new(arguments)?))
            }
            _ => Invocation::Conversations(Box::new(conversations(command_line, &resolver)?)),
        })
    }
}

/// The settings of a command that works on conversations.
fn conversations(command_line: CommandLine, resolver: &Resolver<'_>) -> Result<Settings> {
    let key = |name: &str| (resolver.variable)(name)?.into_string().ok();
    let (action, resolved) = match command_line.name {
        CommandName::Count => {
            let resolved = resolver.resolve::<CountArguments>(command_line)?;
            let action = Action::Count { json: resolved.arguments.json, sorted: resolved.arguments.sort.is_some() };
            (action, resolved.map(of_count))
        }
        CommandName::Check => (Action::Check, resolver.resolve::<CheckArguments>(command_line)?.map(of_check)),
        CommandName::Repair => (Action::Mend, resolver.resolve::<RepairArguments>(command_line)?.map(of_repair)),
        CommandName::Redact => (Action::Mend, resolver.resolve::<RedactArguments>(command_line)?.map(of_redact)),
        _ => {
            if let Some(failure) = misplaced(command_line.typed_words()) {
                return Err(failure.into());
            }
            let mut settings = Settings::new(resolver.resolve(command_line)?, key)?;
            settings.stderr.if_unchanged.clone_from(&resolver.if_unchanged);
            return Ok(settings);
        }
    };
    let mut settings = Settings::for_action(action, resolved, key)?;
    if action == Action::Mend {
        let is_repair = settings.repair.is_some();
        let what = if is_repair { "there is nothing that can be repaired" } else { "there is no secret to mask" };
        settings.policy.disabled = Some(what.to_owned());
    }
    Ok(settings)
}

/// The command line of a command as it was typed.
fn typed(command_line: &CommandLine) -> Typed {
    let mut words = command_line.typed_words();
    words.insert(1, command_line.name.word().to_owned());
    Typed { words, by_variable: Vec::new() }
}

/// Refuses a search that has its file where the pattern belongs.
fn check_pattern(pattern: &Regex, paths: &[PathBuf], typed: &Typed) -> Result<()> {
    let (pattern, Some(path)) = (pattern.as_str(), paths.first().and_then(|path| path.to_str())) else {
        return Ok(());
    };
    if path == "-" || Path::new(path).exists() || !Path::new(pattern).exists() {
        return Ok(());
    }
    let failure = Failure::usage(format!("search takes PATTERN before the files: there is no file {path}"));
    let failure = match swapped(typed, pattern, path) {
        Some(words) => failure.try_next(Advice::command(words)),
        None => failure,
    };
    Err(failure.into())
}

/// Refuses a command without an input where standard input is a terminal: nobody types a transcript.
fn check_inputs(command_line: &mut CommandLine) -> Result<()> {
    let name = command_line.name;
    let (paths, pattern) = match name {
        CommandName::Count => (command_line.arguments::<CountArguments>()?.paths, None),
        CommandName::Check => (command_line.arguments::<CheckArguments>()?.paths, None),
        CommandName::Search => {
            let arguments = command_line.arguments::<SearchArguments>()?;
            check_pattern(&arguments.pattern, &arguments.paths, &typed(command_line))?;
            (arguments.lookup.archive.into_iter().chain(arguments.paths).collect(), Some(arguments.pattern))
        }
        _ => return Ok(()),
    };
    if !paths.is_empty() || !io::stdin().is_terminal() {
        return Ok(());
    }
    let word = name.word();
    if let Some(file) = pattern.as_ref().map(Regex::as_str).filter(|pattern| Path::new(pattern).exists()) {
        let failure = Failure::usage(format!("search needs PATTERN before {file}: a regular expression"));
        return Err(failure.try_next(Advice::command(["error"])).into());
    }
    let other =
        if Path::new(word).exists() { format!("; the file or folder of that name is ./{word}") } else { String::new() };
    let failure = Failure::usage(format!("{word} needs a PATH, or a transcript on standard input{other}"));
    let mut words = command_line.typed_words();
    words[0] = word.to_owned();
    words.push(".".to_owned());
    Err(failure.try_next(Advice::command(words)).into())
}

/// Adds the layers of settings to a command line.
struct Resolver<'r> {
    variable: &'r dyn Fn(&str) -> Option<OsString>,
    colour: &'r dyn Fn(When),
    /// What is said of the command line.
    notices: Vec<String>,
    if_unchanged: Option<String>,
}

impl Resolver<'_> {
    fn resolve<A: FromArgMatches>(&self, command_line: CommandLine) -> Result<Resolved<A>> {
        (self.colour)(command_line.colour());
        let variables = std::env::vars_os().filter(|(_, value)| !value.is_empty());
        let misspelled = misspelled(variables.map(|(name, _)| name));
        let mut resolved = command_line.resolve(&presets::values, self.variable)?;
        if !resolved.is_quiet {
            resolved.notices.extend(misspelled);
            resolved.notices.extend(self.notices.iter().cloned());
        }
        (self.colour)(resolved.colour);
        Ok(resolved)
    }
}

/// The arguments of a compaction without any flag.
fn compaction() -> CompactArguments {
    CompactArguments::parse_from(["tcompact"])
}

fn of_count(arguments: CountArguments) -> CompactArguments {
    let CountArguments {
        paths, explain, for_model, counting, reading, timeout, masking, work, preset, general, ..
    } = arguments;
    let redact = masking.redact;
    CompactArguments {
        paths,
        explain,
        for_model,
        counting,
        reading,
        timeout,
        redact,
        work,
        preset,
        general,
        ..compaction()
    }
}

fn of_check(arguments: CheckArguments) -> CompactArguments {
    let CheckArguments { paths, reader, reading, masking, work, general } = arguments;
    CompactArguments {
        paths,
        for_model: reader.for_model,
        thinking: reader.thinking,
        reading,
        redact: masking.redact,
        work,
        general,
        ..compaction()
    }
}

fn of_repair(arguments: RepairArguments) -> CompactArguments {
    let RepairArguments { how, reader, redact, mending } = arguments;
    CompactArguments {
        repair: Some(how),
        for_model: reader.for_model,
        thinking: reader.thinking,
        redact,
        ..of_mending(mending)
    }
}

fn of_redact(arguments: RedactArguments) -> CompactArguments {
    CompactArguments { redact: Some(Redaction::All), ..of_mending(arguments.mending) }
}

fn of_mending(flags: MendingFlags) -> CompactArguments {
    let MendingFlags { paths, place, output_dir, archive, reading, work, general } = flags;
    CompactArguments { paths, place, output_dir, archive, reading, work, general, ..compaction() }
}
