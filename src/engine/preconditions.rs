//! Checks of the inputs and the output before anything is done or paid for.

use anyhow::Result;

use crate::compact::{CompactionPolicy, Emit, Planned};
use crate::engine::inputs::Inputs;
use crate::engine::task::Task;
use crate::exit::Failure;
use crate::files::output;
use crate::presets::{coercion, langgraph};
use crate::settings::{Action, Destination, Settings};
use crate::transcript::Transcript;
use crate::transcript::framing::Document;
use crate::wording::readable_source;

impl Task<'_> {
    /// Refuses options that the format cannot hold and, in the presets of `LangChain`, messages that `LangChain`
    /// refuses.
    pub(super) fn check_document(&self, document: &Document<'_>) -> Result<()> {
        check_role(self.policy, document)?;
        check_emit(self.policy, document)?;
        if !self.policy.habits.langchain {
            return Ok(());
        }
        for transcript in &document.transcripts {
            let refused = transcript
                .messages
                .iter()
                .enumerate()
                .find_map(|(index, message)| coercion::refusal(transcript.format, message).map(|why| (index, why)));
            if let Some((index, why)) = refused {
                let source = readable_source(&self.input.name);
                let message = format!("{source}: message {index} {why}; without --preset, tcompact reads it");
                return Err(Failure::unreadable(message).into());
            }
        }
        Ok(())
    }

    /// Refuses the update of messages that no `LangGraph` state accepts, before a summary is paid for.
    pub(super) fn check_state(&self, source: &str, planned: &Planned<'_>) -> Result<()> {
        let refused = || langgraph::refused_by_state(planned.view, &planned.plan);
        let refused = (self.policy.emit == Emit::Update).then(refused).flatten();
        let Some((index, why)) = refused else { return Ok(()) };
        let advice = "a LangGraph state does not accept it; leave out --emit update";
        let message = format!("{}: message {index} {why}, so that {advice}", readable_source(source));
        Err(Failure::unreadable(message).into())
    }
}

fn check_role(policy: &CompactionPolicy, document: &Document<'_>) -> Result<()> {
    let role = policy.summary.role;
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

/// Refuses `--emit update` for a format that no `LangGraph` state holds.
fn check_emit(policy: &CompactionPolicy, document: &Document<'_>) -> Result<()> {
    let without = |transcript: &&Transcript<'_>| transcript.format.remove_all().is_none();
    match document.transcripts.iter().find(without).filter(|_| policy.emit == Emit::Update) {
        None => Ok(()),
        Some(transcript) => Err(Failure::usage(format!(
            "--emit update: a LangGraph state holds no messages of the format {}; leave it out",
            transcript.format.name()
        ))
        .into()),
    }
}

/// Refuses an output that is the only input itself, or that cannot be written.
pub(super) fn check_output(settings: &Settings, inputs: &Inputs) -> Result<()> {
    let only = inputs.entries.first().filter(|_| !inputs.many);
    for named in inputs.entries.iter().filter(|entry| entry.named) {
        output::refuse_emptied(named.path.as_deref())?;
    }
    let to_stdout = settings.output.destination == Destination::Stdout || settings.action.is_read_only();
    if to_stdout && settings.action != Action::Check {
        output::check(None)?;
    }
    match (&settings.output.destination, only) {
        (Destination::File(file), Some(entry)) if !settings.action.is_read_only() => {
            let can_replace = settings.policy.emit == Emit::Messages;
            output::refuse_input(entry.path.as_deref(), file, can_replace)?;
            output::check(Some(file))
        }
        _ => Ok(()),
    }
}
