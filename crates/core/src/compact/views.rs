//! Views of a conversation: with edits applied, and with its secrets masked.

use anyhow::Result;

use crate::compact::policy::{CompactionPolicy, Redaction};
use crate::exit::Failure;
use crate::redact::Redactor;
use crate::rewrite::{Edit, Masked};
use crate::transcript::Transcript;
use crate::transcript::view::{Arena, view};

/// A conversation with edits applied.
///
/// # Errors
/// The conversation cannot be read with these edits.
pub(super) fn edited<'t>(
    transcript: &'t Transcript<'t>,
    edits: &[Edit],
    arena: &'t Arena<'t>,
) -> Result<&'t Transcript<'t>> {
    match view(transcript, edits, arena) {
        Ok(edited) => Ok(edited),
        Err(error) => Err(Failure::unreadable(format!("a conversation with its arguments cut {error}")).into()),
    }
}

/// A redactor that knows the secrets of a conversation, and uses no placeholder that it already contains.
pub fn redactor(transcript: &Transcript<'_>) -> Redactor {
    let mut redactor = Redactor::default();
    redactor.look_through(transcript);
    redactor
}

/// Masks the secrets of a conversation before anything of it is cut; nothing where nothing is cut or masked.
///
/// # Errors
/// The conversation cannot be read with its secrets masked.
pub(super) fn masked_before_cuts<'t>(
    transcript: &'t Transcript<'t>,
    policy: &CompactionPolicy,
    arena: &'t Arena<'t>,
) -> Result<Option<Masked<'t>>> {
    let cuts = policy.truncation.is_some() || !policy.pruning.rules.is_empty() || policy.habits.files;
    // With `--redact=all`, all of it is masked already.
    if policy.redact != Redaction::Sent || !(cuts || policy.fit.is_some()) {
        return Ok(None);
    }
    let masked = match Masked::new(transcript, arena) {
        Ok(masked) => masked,
        Err(error) => {
            return Err(Failure::unreadable(format!("a conversation with its secrets masked {error}")).into());
        }
    };
    if masked.transcript.messages.len() != transcript.messages.len() {
        return Err(Failure::unreadable("the messages cannot be told apart with their secrets masked").into());
    }
    Ok(Some(masked))
}

/// A conversation with edits applied, and with its secrets masked where `masks` is given.
///
/// # Errors
/// The conversation cannot be read like this.
pub fn masked<'t>(
    transcript: &'t Transcript<'t>,
    edits: &[Edit],
    masks: Option<&mut Redactor>,
    arena: &'t Arena<'t>,
) -> Result<&'t Transcript<'t>> {
    let unmasked = edited(transcript, edits, arena)?;
    let mut masking = Vec::new();
    if let Some(masks) = masks {
        let all: Vec<usize> = (0..unmasked.messages.len()).collect();
        masking = masks.edits(unmasked, &all);
    }
    edited(unmasked, &masking, arena)
}
