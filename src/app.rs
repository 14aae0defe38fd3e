//! The way of a conversation through the house: read, plan, summarize, splice, write. The only place that strings the
//! steps together; each step is a module of its own.

use anyhow::Result;

use crate::cli::{Accept, Emit, OnError};
use crate::exit::{Exit, Failure};
use crate::plan::{Plan, Policy, plan};
use crate::rewrite::{self, Edit};
use crate::run::input::{self, Input};
use crate::run::output;
use crate::run::report::{DryRun, Said};
use crate::settings::Settings;
use crate::summary::acceptance;
use crate::summary::{Reply, Summarizer, Usage, ask, command, extractive, prompt, trim};
use crate::tokens::{Counter, Tally};
use crate::transcript::Transcript;
use crate::transcript::format::Format;
use crate::transcript::framing::{self, Document};
use crate::transcript::json::{self, Object};

/// Does what the settings say.
///
/// # Errors
/// What stopped it. Nothing has been written then.
pub fn run(settings: &Settings) -> Result<Exit> {
    output::check(settings.path.as_deref(), settings.output.as_deref().filter(|_| !settings.dry_run))?;
    let input = input::read(settings.path.as_deref())?;
    let document = framing::read(&input.text, settings.from, settings.lines)
        .map_err(|error| Failure::unreadable(format!("{} {error}", input.spoken())))?;
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
        let plan = plan(transcript, &tally, &policy(settings, transcript.format));
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
    let plan = plan(transcript, &tally, &policy(settings, transcript.format));
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

/// What it takes to summarize one conversation.
struct Work<'w, 'a> {
    settings: &'w Settings,
    transcript: &'w Transcript<'a>,
    tally: &'w Tally<'w, 'a>,
    plan: &'w Plan,
    summarized: Vec<usize>,
}

/// Why there is no summary.
struct NoSummary {
    exit: Exit,
    message: String,
}

/// A summary that was taken.
struct Accepted {
    text: String,
    /// What the provider counts.
    usage: Option<Usage>,
}

impl Work<'_, '_> {
    /// Has the summarizer write a summary.
    fn summary(&self) -> Result<Reply, NoSummary> {
        let failed = |message: String| NoSummary { exit: Exit::SummarizerFailed, message };
        let settings = self.settings;
        match &settings.summarizer {
            Summarizer::Extractive => Ok(self.extractive()),
            Summarizer::Endpoint(endpoint, wire) => {
                ask(endpoint, wire, &self.prompt(), settings.summary_tokens).map_err(failed)
            }
            Summarizer::Command(line, timeout) => command::run(line, &self.prompt(), *timeout)
                .map(|text| Reply { text, ..Reply::default() })
                .map_err(failed),
        }
    }

    /// What is put in the place of a summary that there is none of: `--on-error`, or nothing.
    fn instead(&self, source: &str, failed: &NoSummary) -> Result<Option<Accepted>> {
        let said = Said::new(self.settings);
        if matches!(self.settings.summarizer, Summarizer::Extractive) {
            // That is no error of anybody's: some histories have nothing to say.
            said.left(source, &failed.message);
            return Ok(None);
        }
        said.failed(source, &failed.message, self.settings.on_error);
        match self.settings.on_error {
            OnError::Fail => Err(Failure::new(failed.exit, format!("{source}: {}", failed.message)).into()),
            OnError::Passthrough => Ok(None),
            OnError::Embed => {
                let text = format!("Error generating summary: {}", failed.message);
                Ok(Some(Accepted { text, usage: None }))
            }
            OnError::Extractive => Ok(match self.accepted(self.extractive()) {
                Ok(accepted) => Some(accepted),
                Err(failed) => {
                    said.left(source, &failed.message);
                    None
                }
            }),
        }
    }

    /// A reply, if it is taken.
    fn accepted(&self, reply: Reply) -> Result<Accepted, NoSummary> {
        let text = reply.text.trim().to_owned();
        let usage = reply.usage;
        if self.settings.accept == Accept::Any {
            return Ok(Accepted { text, usage });
        }
        let after = message_tokens(self.transcript.format, self.settings.counter, &self.message(&text));
        match acceptance::judge(&text, reply.cut_off, after, self.tally.sum(&self.summarized)) {
            Ok(()) => Ok(Accepted { text, usage }),
            Err(refusal) => Err(NoSummary { exit: Exit::SummaryRefused, message: refusal.to_string() }),
        }
    }

    /// The indices of the messages that the summarizer is sent.
    fn sent(&self) -> &[usize] {
        match self.settings.trim_tokens {
            None => &self.summarized,
            Some(limit) => trim::last_within(&self.summarized, self.tally, limit),
        }
    }

    fn prompt(&self) -> String {
        let history =
            |indices: &[usize]| prompt::history(indices.iter().map(|&index| &self.transcript.messages[index]));
        let sent = self.sent();
        let text = match (sent.is_empty(), self.settings.trim_tokens, self.summarized.last()) {
            // Even the last message is too large: its end is better than nothing.
            (true, Some(limit), Some(&last)) => {
                let end = |text: &str| trim::end_within(text, self.settings.counter, limit).to_owned();
                prompt::end_of(&self.transcript.messages[last], end)
            }
            _ => history(sent),
        };
        self.settings.template.fill(&text)
    }

    /// The embedded summarizer's text, so large that the message is smaller than what it replaces.
    fn extractive(&self) -> Reply {
        let settings = self.settings;
        let last = self.summarized.len() - 1;
        let sent = if self.sent().is_empty() { &self.summarized[last..] } else { self.sent() };
        let messages: Vec<_> = sent.iter().map(|&index| &self.transcript.messages[index]).collect();
        let replaced = self.tally.sum(&self.summarized);
        let frame = message_tokens(self.transcript.format, settings.counter, &self.message(""));
        let mut limit = settings.summary_tokens.min(replaced.saturating_sub(frame + 1));
        loop {
            let text = extractive::summarize(&messages, &settings.summary_prefix, settings.counter, limit);
            let after = message_tokens(self.transcript.format, settings.counter, &self.message(&text));
            // Escapes and merges at the seams can cost a token or two more than the parts do.
            if after < replaced || limit == 0 {
                return Reply { text, ..Reply::default() };
            }
            limit = limit.saturating_sub(after - replaced + 1);
        }
    }

    /// The summary message, as the format writes it.
    fn message(&self, text: &str) -> serde_json::Value {
        let content = format!("{}{text}", self.settings.summary_prefix);
        rewrite::summary_message(self.transcript, self.plan, &content, self.settings.summary_role)
    }
}

/// A history is only worth summarizing if a summary of this length would be smaller.
const SMALLEST_SUMMARY: &str = "A few words on it.";

/// The planner's rules for conversations of a format.
fn policy(settings: &Settings, format: &'static dyn Format) -> Policy {
    let smallest = format!("{}{SMALLEST_SUMMARY}", settings.summary_prefix);
    let smallest = format.summary(&smallest, settings.summary_role, None);
    Policy {
        triggers: settings.triggers.clone(),
        keep: settings.keep,
        pins: settings.pins.clone(),
        context_window: settings.context_window,
        overhead_tokens: settings.overhead_tokens,
        summary_prefix: settings.summary_prefix.clone(),
        smallest_summary: match settings.accept {
            Accept::Smaller => message_tokens(format, settings.counter, &smallest),
            Accept::Any => 0,
        },
    }
}

/// Tokens of a message that is not part of a transcript yet.
fn message_tokens(format: &dyn Format, counter: Counter, message: &serde_json::Value) -> u64 {
    let written = message.to_string();
    let parsed = json::values(&written, 0).ok().and_then(|values| values.first().copied());
    parsed.and_then(|json| format.message(&Object::of(json)).ok()).map_or(0, |message| counter.count(&message))
}

/// The name of a conversation: its source, and its line where the source holds one a line.
fn source_name(input: &Input, transcript: &Transcript<'_>) -> String {
    match transcript.line {
        Some(line) => format!("{}:{line}", input.name),
        None => input.name.clone(),
    }
}
