//! The way of a conversation through the house: read, plan, summarize, splice, write. The only place that strings the
//! steps together; each step is a module of its own.

mod work;

use anyhow::Result;

use crate::cli::{Accept, Emit};
use crate::exit::{Exit, Failure};
use crate::plan::{Plan, Policy, plan};
use crate::rewrite::{self, Edit};
use crate::run::input::{self, Input};
use crate::run::output;
use crate::run::report::{DryRun, Said};
use crate::settings::Settings;
use crate::tokens::Tally;
use crate::transcript::Transcript;
use crate::transcript::format::Format;
use crate::transcript::framing::{self, Document};

use work::{Accepted, Work, message_tokens};

/// Does what the settings say.
///
/// # Errors
/// What stopped it. Nothing has been written then.
pub fn run(settings: &Settings) -> Result<Exit> {
    Said::new(settings).settings();
    output::check(settings.path.as_deref(), settings.output.as_deref().filter(|_| !settings.dry_run))?;
    let input = input::read(settings.path.as_deref())?;
    let document = framing::read(&input.text, settings.from, settings.lines)
        .map_err(|error| Failure::unreadable(format!("{} {error}", input::spoken(&input.name))))?;
    check_role(settings, &document)?;
    let compacted =
        if settings.dry_run { dry_run(settings, &input, &document)? } else { compact(settings, &input, &document)? };
    Ok(if settings.exit_status && !compacted { Exit::NothingCompacted } else { Exit::Success })
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

/// Prints where each conversation would be cut; says whether any would be.
fn dry_run(settings: &Settings, input: &Input, document: &Document<'_>) -> Result<bool> {
    let mut out = String::new();
    let mut any = false;
    for transcript in &document.transcripts {
        let tally = Tally::new(settings.counter, &transcript.messages);
        let plan = decided(settings, transcript, &tally);
        any |= plan.cutoff > 0;
        let source = source_name(input, transcript);
        if settings.json {
            out.push_str(&DryRun::new(&source, transcript, &plan, &tally, settings).to_line());
        } else {
            out.push_str(&format!("{}\n", plan.cutoff));
        }
        Said::new(settings).planned(&source, transcript, &plan, &tally);
    }
    output::write(&out, None)?;
    Ok(any)
}

/// Compacts each conversation and writes the result; says whether any was compacted.
fn compact(settings: &Settings, input: &Input, document: &Document<'_>) -> Result<bool> {
    let mut edits: Vec<Edit> = Vec::new();
    let mut updates = String::new();
    let mut any = false;
    for transcript in &document.transcripts {
        let source = source_name(input, transcript);
        let done = conversation(settings, &source, transcript)?;
        any |= done.is_some();
        match (settings.emit, done) {
            (Emit::Messages, Some(done)) => {
                edits.extend(rewrite::splice(transcript, &done.plan, &done.message));
            }
            (Emit::Messages, None) => {}
            (Emit::Update, Some(done)) => updates.push_str(&rewrite::update(transcript, &done.plan, &done.message)),
            (Emit::Update, None) => updates.push_str(&rewrite::no_update()),
        }
    }
    let text = match settings.emit {
        Emit::Messages => rewrite::apply(document.source, &edits),
        Emit::Update => updates,
    };
    output::write(&text, settings.output.as_deref())?;
    Said::new(settings).disabled();
    if any {
        Said::new(settings).default_summarizer();
        Said::new(settings).prompt_not_used();
    }
    Ok(any)
}

/// A conversation that was compacted.
struct Compacted {
    plan: Plan,
    message: serde_json::Value,
}

/// Compacts one conversation, or nothing where nothing is to be done.
fn conversation(settings: &Settings, source: &str, transcript: &Transcript<'_>) -> Result<Option<Compacted>> {
    let said = Said::new(settings);
    let tally = Tally::new(settings.counter, &transcript.messages);
    let plan = decided(settings, transcript, &tally);
    said.planned(source, transcript, &plan, &tally);
    if plan.cutoff == 0 {
        return Ok(None);
    }
    let work = Work { settings, transcript, tally: &tally, summarized: plan.summarized(), plan: &plan };
    let accepted = match work.summary().and_then(|reply| work.accepted(reply)) {
        Ok(accepted) => Some(accepted),
        Err(failed) => work.instead(source, &failed)?,
    };
    let Some(Accepted { text, usage }) = accepted else { return Ok(None) };
    let message = work.message(&text);
    let tokens = message_tokens(transcript.format, settings.counter, &message);
    said.summarized(source, work.summarized.len(), tokens, usage);
    Ok(Some(Compacted { plan, message }))
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
            message_tokens(format, settings.counter, &format.summary(&text, settings.summary_role, None))
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
