//! A conversation to be looked at: with edits made, and with its secrets masked where they are not to be shown.

use anyhow::Result;

use crate::exit::Failure;
use crate::rewrite::Edit;
use crate::rewrite::redaction::Redactor;
use crate::transcript::Transcript;
use crate::transcript::view::{Arena, view};

/// A conversation with some edits made.
///
/// # Errors
/// With these edits it is no conversation.
pub(super) fn edited<'t>(
    transcript: &'t Transcript<'t>,
    edits: &[Edit],
    arena: &'t Arena<'t>,
) -> Result<&'t Transcript<'t>> {
    let unreadable = |error| Failure::unreadable(format!("a conversation with its arguments cut {error}"));
    Ok(view(transcript, edits, arena).map_err(unreadable)?)
}

/// What masks the secrets of a conversation, and gives none of them a placeholder that is there.
pub(crate) fn redactor(transcript: &Transcript<'_>) -> Redactor {
    let mut redactor = Redactor::new();
    transcript.messages.iter().for_each(|message| redactor.reserve_placeholders(message.json.raw()));
    redactor
}

/// A conversation with some edits made, and with its secrets masked where they are to be.
///
/// # Errors
/// It cannot be read again like this.
pub(crate) fn masked<'t>(
    transcript: &'t Transcript<'t>,
    edits: &[Edit],
    masks: Option<&mut Redactor>,
    arena: &'t Arena<'t>,
) -> Result<&'t Transcript<'t>> {
    let unmasked = edited(transcript, edits, arena)?;
    let all: Vec<usize> = (0..unmasked.messages.len()).collect();
    let masking = masks.map(|masks| masks.edits(unmasked, &all)).unwrap_or_default();
    edited(unmasked, &masking, arena)
}
