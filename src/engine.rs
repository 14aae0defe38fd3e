//! The way of a conversation through the house: read, plan, summarize, splice, write. The only place that strings the
//! steps together; each step is a module of its own.

mod account;
mod archive;
mod asking;
mod batch;
mod check;
mod conversation;
mod economy;
mod file;
mod files;
pub mod inputs;
pub mod journal;
pub mod ordered_output;
mod outcome;
mod page;
mod preview;
mod restore;
mod work;

use std::borrow::Cow;
use std::fs;
use std::io;
use std::mem;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::cli::{Accept, Emit};
use crate::exit::{Exit, Failure};
use crate::files::atomic::{folder, tidy};
use crate::files::input::{self, Input};
use crate::files::links;
use crate::files::output;
use crate::interrupt;
use crate::llm::cache::Cache;
use crate::plan::{Plan, Policy, Rules, mark_summaries};
use crate::report::diff::Diff;
use crate::report::json::{self, Conversation, DryRun, Status};
use crate::report::reporter::{self, Reporter};
use crate::report::terminal;
use crate::rewrite::{self, Edit, thinking};
use crate::sanitize::sanitize_line;
use crate::settings::{Destination, Explain, Settings};
use crate::summary::exchange::SummaryBackend;
use crate::transcript::formats::{InsertionPoint, SummaryMessage};
use crate::transcript::framing::{self, Document, Lines, ReadError};
use crate::transcript::source::Source;
use crate::transcript::view::Arena;
use crate::transcript::{Transcript, coercion};
use crate::wording::{readable_source, reason};

pub use archive::Archived;
pub use outcome::{Outcome, Rewritten};
pub use restore::restore;

use account::Account;
use archive::Changed;
use conversation::{Compaction, Task};
use inputs::Inputs;
use journal::Journal;
use work::{introduced, message_tokens};

/// Does what the settings say.
///
/// # Errors
/// What stopped it. Nothing has been written then, but for lines of a stream.
pub fn run(mut settings: Settings) -> Result<Exit> {
    Reporter::new(&settings).settings();
    match (settings.quiet, settings.verbose) {
        (true, _) => {}
        (false, true) => settings.summarizer.listen(reporter::between),
        (false, false) => settings.summarizer.listen(reporter::long_waits),
    }
    let inputs = inputs::find(&settings)?;
    settings.many = inputs.many;
    settings.explain = settings.explain.map(|how| if inputs.many { Explain::Table } else { how });
    file::check(&settings, &inputs)?;
    check_places(&settings, &inputs)?;
    let journal = inputs.home.as_ref().map(|home| Journal::open(home, &settings.rules)).transpose()?;
    if let Some(home) = &inputs.home {
        let summaries = home.join(inputs::OWN_FOLDER).join("summaries");
        remember(&mut settings, home, &summaries)?;
        inputs.tidy();
    }
    let waiting = waiting_room(&settings);
    if let Some((home, summaries)) = &waiting {
        links::refuse(home, summaries).map_err(|error| unusable(summaries, &error))?;
        settings.cache = Some(Cache::to_be_made(summaries));
        settings.cache_of_lines = true;
        tidy(home);
    }
    if !settings.embedded() {
        interrupt::leave_no_core();
    }
    if !settings.embedded() || settings.destination != Destination::Stdout || settings.html.is_some() {
        interrupt::end_at_once();
    }
    let done = batch::run(&settings, &inputs, journal);
    if let Some((_, summaries)) = &waiting {
        clear(summaries, done.is_ok());
    }
    let (exit, totals) = done?;
    let reporter = Reporter::new(&settings);
    if !settings.dry_run && !settings.check {
        reporter.disabled();
        if totals.compacted > 0 {
            reporter.default_summarizer();
            reporter.prompt_not_used();
        }
        if inputs.many && !settings.diff {
            reporter.totals(&totals);
        }
    }
    reporter.largest(&totals.largest);
    let nothing = settings.exit_status && totals.compacted == 0;
    Ok(if nothing && exit == Exit::Success { Exit::NothingCompacted } else { exit })
}

/// Refuses places for what is written besides, before anything is done or paid for.
fn check_places(settings: &Settings, inputs: &Inputs) -> Result<()> {
    let named: Vec<Option<&Path>> =
        inputs.entries.iter().flat_map(|entry| [entry.path.as_deref(), entry.output.as_deref()]).collect();
    if settings.archive_chosen {
        archive::check(settings, &named)?;
    }
    let copies: Vec<PathBuf> = match &settings.destination {
        Destination::InPlace(Some(suffix)) => inputs.files().map(|file| inputs::copy_of(file, suffix)).collect(),
        _ => Vec::new(),
    };
    let besides = copies.iter().chain(&settings.archive).chain(&settings.read_besides).map(PathBuf::as_path);
    let others: Vec<&Path> = named.into_iter().flatten().chain(besides).collect();
    for (flag, file) in [("--report", &settings.report), ("--html", &settings.html)] {
        let Some(file) = file else { continue };
        check_besides(settings, flag, file)?;
        if let (Destination::Folder(folder), Some(parent)) = (&settings.destination, file.parent())
            && parent.starts_with(folder)
        {
            // The results will be there too.
            fs::create_dir_all(parent).map_err(|error| output::unwritable(file, &error))?;
        }
    }
    if let Some(report) = &settings.report {
        json::check(report, &others)?;
    }
    let others: Vec<&Path> = others.into_iter().chain(settings.report.as_deref()).collect();
    settings.html.as_ref().map_or(Ok(()), |page| page::check(page, &others))
}

/// Refuses a file that is standard input or output by another name, or that is among tcompact's own.
fn check_besides(settings: &Settings, flag: &str, file: &Path) -> Result<()> {
    let name = file.display();
    let printed = settings.destination == Destination::Stdout;
    if output::is_standard_stream(file, printed) {
        return Err(Failure::usage(format!("{flag} {name} is standard input or output; name another file")).into());
    }
    if file.components().any(|part| part.as_os_str() == inputs::OWN_FOLDER) {
        let message = format!("{flag} {name} is among the files that tcompact keeps for itself; name another place");
        return Err(Failure::usage(message).into());
    }
    Ok(())
}

/// Has summaries that are paid for kept in a folder below `home`, beside the results, so that none is asked for twice.
fn remember(settings: &mut Settings, home: &Path, folder: &Path) -> Result<()> {
    if settings.cache.is_none() && !settings.embedded() {
        links::refuse(home, folder).map_err(|error| unusable(folder, &error))?;
        let cache = Cache::open(folder).map_err(|error| unusable(folder, &error))?;
        settings.cache = Some(cache.that_must_keep());
    }
    Ok(())
}

fn unusable(folder: &Path, error: &io::Error) -> Failure {
    Failure::unreadable(format!("{} cannot be used: {}", folder.display(), reason(error)))
}

/// Where summaries wait that go into one file, until that is whole: the folder of the file, and one below it.
fn waiting_room(settings: &Settings) -> Option<(PathBuf, PathBuf)> {
    let Destination::File(file) = &settings.destination else { return None };
    let is_device = fs::metadata(file).is_ok_and(|there| !there.is_file());
    if is_device || settings.embedded() || settings.only_looks() || settings.cache.is_some() {
        return None;
    }
    let home = folder(file);
    Some((home.to_owned(), home.join(inputs::OWN_FOLDER).join(file.file_name()?)))
}

/// Removes summaries that wait no longer, or where none came.
fn clear(summaries: &Path, is_whole: bool) {
    let _ = if is_whole { fs::remove_dir_all(summaries) } else { fs::remove_dir(summaries) };
    // Another file may have summaries that wait.
    let _ = summaries.parent().map(fs::remove_dir);
}

/// What is made of an input, or of lines of one, before it is written: of what is mended, where `--repair` asks for that.
///
/// # Errors
/// It cannot be read or mended, or there is no summary and the settings do not say what to put in its place.
pub fn made(
    settings: &Settings,
    input: &Input,
    answers: &dyn SummaryBackend,
    conversations: &mut Vec<Conversation>,
) -> Result<Outcome> {
    if settings.check {
        let breaches = check::check(settings, input)?;
        return Ok(Outcome { breaches, ..Outcome::default() });
    }
    let mut archived = Archived::default();
    let mut whole = Cow::Borrowed(input);
    if let Some(how) = settings.repair {
        archived = check::repair(settings, whole.to_mut(), how)?;
    }
    if !settings.archive_chosen && settings.archive.is_some() && !settings.diff && cuts(settings, &whole)? {
        archive::check(settings, &[])?;
    }
    let mut outcome = process(settings, &whole, answers, conversations)?;
    archived.extend(outcome.archived);
    // When it is written, what was mended is no longer there, and lines are not either.
    if matches!(whole, Cow::Owned(_)) || input.as_lines {
        outcome.made = Rewritten::Text(mem::take(&mut outcome.made).text(&whole.text));
    }
    Ok(Outcome { changed: outcome.made.changes(&input.text), archived, ..outcome })
}

/// Whether anything in an input would be changed, as far as that is known before.
fn changes(settings: &Settings, input: &Input) -> bool {
    settings.repair.is_some() || settings.truncation.is_some() || cuts(settings, input).unwrap_or(true)
}

/// Whether anything in an input would be cut.
fn cuts(settings: &Settings, input: &Input) -> Result<bool> {
    let source = json(input)?;
    let document = read(settings, input, &source)?;
    let mut any = false;
    for transcript in &document.transcripts {
        conversation::look(settings, transcript, |_, _, plan| any |= plan.cutoff > 0);
    }
    Ok(any)
}

/// The JSON that an input is.
fn json(input: &Input) -> Result<Source<'_>> {
    Ok(Source::of(&input.text).map_err(|error| unreadable(input, error.into()))?)
}

/// The conversations in the JSON of an input.
fn read<'a>(settings: &Settings, input: &Input, source: &'a Source<'a>) -> Result<Document<'a>> {
    let lines = input.as_lines.then_some(Lines::Conversations).or(settings.lines);
    let mut document = framing::read(source, settings.from, lines).map_err(|error| unreadable(input, error))?;
    framing::check_foreign(&document).map_err(|error| unreadable(input, error))?;
    for transcript in &mut document.transcripts {
        transcript.line = transcript.line.map(|line| line + input.lines_before);
        mark_summaries(transcript, &settings.policy);
        thinking::release(transcript, settings.thinking, settings.reader_name());
    }
    Ok(document)
}

fn unreadable(input: &Input, error: ReadError) -> Failure {
    let other_file = match &error {
        ReadError::Empty | ReadError::NoTranscript { .. } => true,
        ReadError::Syntax(_) => !input::is_json_by_name(&input.name),
        ReadError::Foreign { .. } | ReadError::Ambiguous { .. } => false,
    };
    let next = match &error {
        ReadError::Ambiguous { .. } => Some("--from FORMAT, one of these"),
        ReadError::Syntax(error) if input.as_lines || (error.line, error.column) != (1, 1) => None,
        _ => Some("tcompact --list formats, for what is read: JSON or JSONL, gzip or zstd"),
    };
    let error = error.after(input.lines_before);
    let failure = Failure::unreadable(format!("{} {error}", readable_source(&input.name))).of_other_file(other_file);
    next.into_iter().fold(failure, Failure::try_next)
}

/// Makes the result of an input; writes nothing. `answers` writes the summaries, unless the settings name the embedded
/// summarizer. What became of each conversation is added to `conversations`, also where another fails.
///
/// # Errors
/// The input cannot be read, or there is no summary and the settings do not say what to put in its place.
pub fn process(
    settings: &Settings,
    input: &Input,
    answers: &dyn SummaryBackend,
    conversations: &mut Vec<Conversation>,
) -> Result<Outcome> {
    let source = json(input)?;
    let document = read(settings, input, &source)?;
    check_messages(settings, &input.name, &document)?;
    document.incomplete_line.into_iter().for_each(|line| Reporter::new(settings).broken_off(&input.name, line));
    match settings.dry_run {
        true => dry_run(settings, input, &document, answers, conversations),
        false => compact(settings, input, &document, answers, conversations),
    }
}

/// Refuses what the format cannot hold and, in the presets of `LangChain`, what `LangChain` does not take.
fn check_messages(settings: &Settings, source: &str, document: &Document<'_>) -> Result<()> {
    check_role(settings, document)?;
    check_emit(settings, document)?;
    if settings.ways.langchain {
        for transcript in &document.transcripts {
            let refused = transcript.messages.iter().enumerate().find_map(|(index, message)| {
                coercion::refusal(transcript.format.name(), message).map(|why| (index, why))
            });
            if let Some((index, why)) = refused {
                let source = readable_source(source);
                let message = format!("{source}: message {index} {why}; without --preset it is read all the same");
                return Err(Failure::unreadable(message).into());
            }
        }
    }
    Ok(())
}

fn check_role(settings: &Settings, document: &Document<'_>) -> Result<()> {
    let role = settings.summary_role;
    match document.transcripts.iter().find(|transcript| !transcript.format.summary_roles().contains(&role)) {
        None => Ok(()),
        Some(transcript) => {
            let roles: Vec<&str> = transcript.format.summary_roles().iter().map(|role| role.name()).collect();
            Err(Failure::usage(format!(
                "--summary-role {}: a summary in the format {} can only be of role {}; give --summary-role {}",
                role.name(),
                transcript.format.name(),
                roles.join(" or "),
                roles[0]
            ))
            .into())
        }
    }
}

/// Refuses the update of a state in a format that no `LangGraph` state has.
fn check_emit(settings: &Settings, document: &Document<'_>) -> Result<()> {
    let without = |transcript: &&Transcript<'_>| transcript.format.remove_all().is_none();
    match document.transcripts.iter().find(without).filter(|_| settings.emit == Emit::Update) {
        None => Ok(()),
        Some(transcript) => Err(Failure::usage(format!(
            "--emit update: a LangGraph state holds no messages of the format {}; leave it out",
            transcript.format.name()
        ))
        .into()),
    }
}

/// Refuses to make an update of messages that no `LangGraph` state takes, before a summary is paid for.
fn check_state(settings: &Settings, source: &str, transcript: &Transcript<'_>, plan: &Plan) -> Result<()> {
    let refused = || rewrite::refused_by_state(transcript, plan);
    let Some((index, why)) = (settings.emit == Emit::Update).then(refused).flatten() else { return Ok(()) };
    let advice = "no LangGraph state takes it; leave --emit update out";
    Err(Failure::unreadable(format!("{}: message {index} {why}, so that {advice}", readable_source(source))).into())
}

/// Says where each conversation would be cut, and shows the summary where that is wanted.
fn dry_run(
    settings: &Settings,
    input: &Input,
    document: &Document<'_>,
    answers: &dyn SummaryBackend,
    conversations: &mut Vec<Conversation>,
) -> Result<Outcome> {
    let (mut text, mut compacted) = (String::new(), false);
    for transcript in &document.transcripts {
        let source = source_name(input, transcript);
        let mut previewed = Ok(None);
        conversation::look(settings, transcript, |seen, tally, plan| {
            compacted |= plan.cutoff > 0;
            let told = settings.json || settings.verbose || settings.explain.is_some();
            let economy = told.then(|| economy::estimated(settings, seen, plan, tally)).flatten();
            let reporter = Reporter::new(settings);
            reporter.planned(&source, seen, plan, tally);
            reporter.economy(&source, economy.as_ref(), true);
            reporter.parted(&source, plan);
            reporter.thinking(&source, &settings.thinking_removed(transcript, plan));
            if let Some(how) = explained(settings, input, document) {
                let arena = Arena::default();
                let saving = conversation::shown(settings, seen, &arena)
                    .and_then(|shown| reporter.explained(how, &source, shown, plan, tally, economy.as_ref()));
                let untouched = Conversation::without_plan(&source, Status::Unchanged, None);
                conversations.push(Conversation { saving, ..untouched });
            }
            previewed = check_state(settings, &source, seen, plan)
                .and_then(|()| preview::previewed(settings, &source, transcript, answers));
            let shown = previewed.as_ref().ok().and_then(Option::as_ref);
            let economy = shown.and_then(|shown| shown.economy).or(economy);
            let summary = shown.map(|shown| shown.summary.as_str());
            text.push_str(&match settings.json {
                true => DryRun::new(&source, seen, plan, tally, settings).with(economy, summary).to_line(),
                false if settings.many => format!("{}\t{}\n", sanitize_line(&source), plan.cutoff),
                false => format!("{}\n", plan.cutoff),
            });
        });
        previewed?;
    }
    Ok(Outcome { made: Rewritten::Text(text), compacted, ..Outcome::default() })
}

/// How a conversation of a document is drawn, if it is.
fn explained(settings: &Settings, input: &Input, document: &Document<'_>) -> Option<Explain> {
    let several = input.as_lines || document.transcripts.len() > 1;
    settings.explain.map(|how| if several { Explain::Table } else { how })
}

/// Compacts each conversation.
fn compact(
    settings: &Settings,
    input: &Input,
    document: &Document<'_>,
    answers: &dyn SummaryBackend,
    conversations: &mut Vec<Conversation>,
) -> Result<Outcome> {
    let mut changed: Vec<Changed<'_, '_>> = Vec::new();
    let (mut updates, mut diffs) = (String::new(), String::new());
    let mut compacted = false;
    for transcript in &document.transcripts {
        let source = source_name(input, transcript);
        let mut account = Account::new();
        let explain = explained(settings, input, document);
        let task = Task { settings, source: &source, explain, transcript, answers };
        let done = conversation::conversation(task, &mut account);
        let redactor = account.redactor.take();
        conversations.push(account.closed(settings, done.is_err()));
        let Some(done) = done? else {
            updates.push_str(&rewrite::no_update());
            continue;
        };
        compacted |= done.summary.is_some();
        if settings.emit == Emit::Update {
            updates.push_str(&rewrite::update(transcript, &done.plan, done.summary.as_ref(), &done.edits));
        }
        if settings.diff {
            let Compaction { plan, summary, edits, .. } = &done;
            let (counter, summary) = (settings.counter, summary.as_ref());
            let draw = |masked: Option<(&Transcript<'_>, &Transcript<'_>)>| {
                Diff { source: &source, transcript, masked, counter, plan, summary, edits }.draw()
            };
            let arena = Arena::default();
            let masked = settings.redact.then(|| page::both_masked(transcript, edits, redactor, &arena)).transpose()?;
            diffs.push_str(&draw(masked));
            continue;
        }
        let placed = done.summary.iter().flat_map(|summary| rewrite::placed(transcript, &done.plan, summary));
        let edits = placed.chain(done.edits).collect();
        changed.push(Changed { transcript, source, edits, removed: done.plan.removed(), archived: done.archived });
    }
    if settings.diff {
        return Ok(Outcome { made: Rewritten::Text(terminal::printed(diffs)), compacted, ..Outcome::default() });
    }
    let mut edits: Vec<Edit> = changed.iter().flat_map(|one| one.edits.iter().cloned()).collect();
    rewrite::sort(&mut edits);
    let archived = archive::kept(settings, document.source, &edits, changed);
    let made = match settings.emit {
        Emit::Messages => Rewritten::Edited(edits),
        Emit::Update => Rewritten::Text(updates),
    };
    Ok(Outcome { made, compacted, archived, ..Outcome::default() })
}

/// The shortest summary there can be: a history is only worth summarizing if the message that holds this is smaller.
const SMALLEST_SUMMARY: &str = ".";

/// The planner's rules for a conversation.
fn policy(settings: &Settings, transcript: &Transcript<'_>) -> Policy {
    // The embedded summarizer's is never larger, so a dry run of tcompact's own rules promises none that it cannot write.
    let embedded = settings.embedded() && settings.policy.rules == Rules::OWN;
    let smallest_summary = if settings.accept == Accept::Smaller || embedded {
        let place = archive::place(settings, transcript);
        let text = introduced(settings, place.as_ref(), SMALLEST_SUMMARY);
        let summary = SummaryMessage { text: &text, role: settings.summary_role, name: None, marked: true };
        let entries =
            transcript.format.summary(&summary, &InsertionPoint { transcript, cutoff: 0, removed: &Vec::new });
        message_tokens(transcript.format, settings.counter, &entries)
    } else {
        0
    };
    Policy { smallest_summary, ..settings.policy.clone() }
}

/// The name of a conversation: its source, and its line where the source holds one a line.
fn source_name(input: &Input, transcript: &Transcript<'_>) -> String {
    match transcript.line {
        Some(line) => format!("{}:{line}", input.name),
        None => input.name.clone(),
    }
}
