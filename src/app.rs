//! The way of a conversation through the house: read, plan, summarize, splice, write. The only place that strings the
//! steps together; each step is a module of its own.

mod archive;
mod files;
mod work;

use anyhow::Result;

use crate::cli::{Accept, Emit};
use crate::exit::{Exit, Failure};
use crate::plan::carried::carried;
use crate::plan::{Plan, Policy, plan};
use crate::rewrite::{self, Edit, Placed};
use crate::run::input::{self, Input};
use crate::run::output;
use crate::run::report::{DryRun, Said};
use crate::settings::Settings;
use crate::summary::Answers;
use crate::tokens::Tally;
use crate::transcript::format::{Format, SummaryMessage};
use crate::transcript::framing::{self, Document, ReadError};
use crate::transcript::{Transcript, coercion};

pub use archive::Archived;

use work::{Accepted, Work, message_tokens};

/// Does what the settings say.
///
/// # Errors
/// What stopped it. Nothing has been written then.
pub fn run(settings: &Settings) -> Result<Exit> {
    let said = Said::new(settings);
    said.settings();
    output::check(settings.path.as_deref(), settings.output.as_deref().filter(|_| !settings.dry_run))?;
    archive::check(settings)?;
    let input = input::read(settings.path.as_deref())?;
    let outcome = process(settings, &input, &settings.summarizer)?;
    // First what is cut away: should the result fail to be written, it is there twice and not nowhere.
    archive::write(settings, &outcome.archived)?;
    output::write(&outcome.text, settings.output.as_deref().filter(|_| !settings.dry_run))?;
    if !settings.dry_run {
        said.disabled();
    }
    if outcome.compacted && !settings.dry_run {
        said.default_summarizer();
        said.prompt_not_used();
    }
    Ok(if settings.exit_status && !outcome.changed { Exit::NothingCompacted } else { Exit::Success })
}

/// What is made of an input.
#[derive(Debug)]
pub struct Outcome {
    /// What is to be written: the result, or where the cuts would fall.
    pub text: String,
    /// Whether any conversation was compacted, or would be.
    pub compacted: bool,
    /// Whether anything in it is changed, or would be.
    pub changed: bool,
    /// What is to be kept elsewhere.
    pub archived: Archived,
}

/// Makes the result of an input; writes nothing. `answers` writes the summaries, unless the settings name the embedded
/// summarizer.
///
/// # Errors
/// The input cannot be read, or there is no summary and the settings do not say what to put in its place.
pub fn process(settings: &Settings, input: &Input, answers: &dyn Answers) -> Result<Outcome> {
    let unreadable = |error: ReadError| Failure::unreadable(format!("{} {error}", input::spoken(&input.name)));
    let document = framing::read(&input.text, settings.from, settings.lines).map_err(unreadable)?;
    check_messages(settings, &input.name, &document)?;
    let shortened = with_short_arguments(settings, &document);
    let read_again = match &shortened {
        Some(text) => Some(framing::read(text, settings.from, settings.lines).map_err(unreadable)?),
        None => None,
    };
    let prepared = read_again.as_ref().unwrap_or(&document);
    let outcome = match settings.dry_run {
        true => dry_run(settings, input, prepared),
        false => compact(settings, input, &document, prepared, answers)?,
    };
    Ok(Outcome { changed: outcome.changed || outcome.compacted || shortened.is_some(), ..outcome })
}

/// Refuses what the format cannot hold and, in the presets of `LangChain`, what `LangChain` does not take.
fn check_messages(settings: &Settings, source: &str, document: &Document<'_>) -> Result<()> {
    check_role(settings, document)?;
    if settings.ways.converts {
        for transcript in &document.transcripts {
            let refused = transcript.messages.iter().enumerate().find_map(|(index, message)| {
                coercion::refusal(transcript.format.name(), message).map(|why| (index, why))
            });
            if let Some((index, why)) = refused {
                let source = input::spoken(source);
                let message = format!("{source}: message {index} {why}; without --preset it is read all the same");
                return Err(Failure::unreadable(message).into());
            }
        }
    }
    Ok(())
}

/// The source with old arguments of tools cut, where any are.
fn with_short_arguments(settings: &Settings, document: &Document<'_>) -> Option<String> {
    let truncation = settings.truncation.as_ref().filter(|_| settings.disabled.is_none())?;
    let edits = |transcript: &Transcript<'_>| {
        let tally = Tally::new(settings.counter, &transcript.messages);
        truncation.edits(transcript, &tally, &settings.policy)
    };
    let edits: Vec<Edit> = document.transcripts.iter().flat_map(edits).collect();
    (!edits.is_empty()).then(|| rewrite::apply(document.source, &edits))
}

fn check_role(settings: &Settings, document: &Document<'_>) -> Result<()> {
    let role = settings.summary_role;
    match document.transcripts.iter().find(|transcript| !transcript.format.summary_roles().contains(&role)) {
        None => Ok(()),
        Some(transcript) => {
            let roles: Vec<&str> = transcript.format.summary_roles().iter().map(|role| role.name()).collect();
            Err(Failure::usage(format!(
                "--summary-role {}: a summary in the format {} can only be of role {}",
                role.name(),
                transcript.format.name(),
                roles.join(" or ")
            ))
            .into())
        }
    }
}

/// Says where each conversation would be cut.
fn dry_run(settings: &Settings, input: &Input, document: &Document<'_>) -> Outcome {
    let mut outcome = Outcome { text: String::new(), compacted: false, changed: false, archived: Archived::default() };
    for transcript in &document.transcripts {
        let tally = Tally::new(settings.counter, &transcript.messages);
        let plan = decided(settings, transcript, &tally);
        outcome.compacted |= plan.cutoff > 0;
        let source = source_name(input, transcript);
        if settings.json {
            outcome.text.push_str(&DryRun::new(&source, transcript, &plan, &tally, settings).to_line());
        } else {
            outcome.text.push_str(&format!("{}\n", plan.cutoff));
        }
        Said::new(settings).planned(&source, transcript, &plan, &tally);
        Said::new(settings).parted(&source, &plan);
    }
    outcome
}

/// Compacts each conversation. The conversations of `document` are those of `original`, some of whose arguments may have
/// been cut.
fn compact(
    settings: &Settings,
    input: &Input,
    original: &Document<'_>,
    document: &Document<'_>,
    answers: &dyn Answers,
) -> Result<Outcome> {
    let mut edits: Vec<Edit> = Vec::new();
    let mut updates = String::new();
    let mut archived = Archived::default();
    let (mut compacted, mut changed) = (false, false);
    for (original, transcript) in original.transcripts.iter().zip(&document.transcripts) {
        let source = source_name(input, transcript);
        let done = conversation(settings, &source, original, transcript, answers)?;
        let Some(done) = done else {
            updates.push_str(&rewrite::no_update());
            continue;
        };
        changed = true;
        compacted |= done.summary.is_some();
        if settings.emit == Emit::Update {
            updates.push_str(&rewrite::update(transcript, &done.plan, done.summary.as_ref(), &done.edits));
        }
        edits.extend(done.summary.iter().flat_map(|summary| rewrite::placed(transcript, &done.plan, summary)));
        edits.extend(done.edits);
        archived.extend(done.archived);
    }
    edits.sort_by_key(|edit| edit.range.start);
    let text = match settings.emit {
        Emit::Messages => rewrite::apply(document.source, &edits),
        Emit::Update => updates,
    };
    Ok(Outcome { text, compacted, changed, archived })
}

/// What was done to a conversation.
struct Done {
    /// Where it was cut.
    plan: Plan,
    /// What took the place of its history, where that went.
    summary: Option<Placed>,
    /// What else is changed, in what is kept.
    edits: Vec<Edit>,
    /// What is to be kept elsewhere.
    archived: Archived,
}

/// Compacts one conversation, or nothing where nothing is to be done. `original` is the conversation before arguments were
/// cut.
fn conversation(
    settings: &Settings,
    source: &str,
    original: &Transcript<'_>,
    transcript: &Transcript<'_>,
    answers: &dyn Answers,
) -> Result<Option<Done>> {
    let said = Said::new(settings);
    let tally = Tally::new(settings.counter, &transcript.messages);
    let plan = decided(settings, transcript, &tally);
    said.planned(source, transcript, &plan, &tally);
    let archive = archive::place(settings);
    if plan.cutoff == 0 {
        return match plan.triggered && settings.ways.files {
            true => files::fitted(settings, source, transcript, plan, None, archive.as_ref()),
            false => Ok(None),
        };
    }
    said.parted(source, &plan);
    let earlier = carried(transcript, &settings.policy);
    let moved = files::media_moved(settings, transcript, &plan, archive.as_ref());
    let read_again = match &moved.text {
        Some(text) => Some(
            framing::read(text, Some(transcript.format), None)
                .map_err(|error| Failure::unreadable(error.to_string()))?,
        ),
        None => None,
    };
    let history = read_again.as_ref().map_or(transcript, |document| &document.transcripts[0]);
    let history_tally = Tally::new(settings.counter, &history.messages);
    let work = Work {
        settings,
        original,
        answers,
        transcript,
        plan: &plan,
        history,
        tally: &history_tally,
        summarized: plan.summarized(),
        earlier: earlier.as_ref(),
        archive: archive.as_ref(),
    };
    let accepted = match work.summary(source).and_then(|reply| work.accepted(reply)) {
        Ok(accepted) => Some(accepted),
        Err(failed) => work.instead(source, &failed)?,
    };
    let Some(Accepted { text, usage }) = accepted else { return Ok(None) };
    said.summarized(source, work.summarized.len(), work.message_tokens(&text), usage);
    let mut archived = work.archived();
    archived.files.extend(moved.files);
    let summary = work.placed(text);
    match settings.ways.files {
        true => {
            let done = files::fitted(settings, source, transcript, plan, Some(summary), archive.as_ref())?;
            Ok(done.map(|mut done| {
                done.archived.extend(archived);
                done
            }))
        }
        false => Ok(Some(Done { plan, summary: Some(summary), edits: Vec::new(), archived })),
    }
}

/// Where a conversation is cut: nowhere, if the config file has nothing done.
fn decided(settings: &Settings, transcript: &Transcript<'_>, tally: &Tally<'_, '_>) -> Plan {
    match &settings.disabled {
        None => plan(transcript, tally, &policy(settings, transcript.format)),
        Some(reason) => Plan {
            triggered: false,
            fired: None,
            wanted: 0,
            cutoff: 0,
            moved_because: None,
            pinned: vec![],
            before_summary: 0,
            carried: false,
            parted: None,
            reason: Some(reason.clone()),
        },
    }
}

/// The shortest summary there can be: a history is only worth summarizing if the message that holds this is smaller.
const SMALLEST_SUMMARY: &str = ".";

/// The planner's rules for conversations of a format.
fn policy(settings: &Settings, format: &'static dyn Format) -> Policy {
    let smallest_summary = match settings.accept {
        Accept::Smaller => {
            let text = format!("{}{SMALLEST_SUMMARY}", settings.policy.summary_prefix);
            let summary = SummaryMessage { text: &text, role: settings.summary_role, name: None, marked: true };
            message_tokens(format, settings.counter, &format.summary(&summary, None))
        }
        Accept::Any => 0,
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
