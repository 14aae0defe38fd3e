//! A summary beside the messages that stands for the first of them, as `DeepAgents` keeps it in its state: it sends the
//! summary and the messages behind those.

use crate::transcript::json::{Json, JsonKind};

/// The key in the state.
pub(crate) const KEY: &str = "_summarization_event";

/// What the state says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SummarizationEvent<'a> {
    /// The summary as a message.
    pub(crate) summary: Json<'a>,
    /// How many messages it stands for. No model is sent these.
    pub(crate) messages: usize,
}

impl<'a> SummarizationEvent<'a> {
    /// Reads the event of a state; `DeepAgents` skips one that lacks a part.
    pub(crate) fn of(state: Json<'a>) -> Option<Self> {
        let event = place(state)?;
        let messages = event.get("cutoff_index")?.raw().parse().ok()?;
        Some(SummarizationEvent { summary: event.get("summary_message")?, messages })
    }
}

/// The place of an event in a state.
pub(crate) fn place(state: Json<'_>) -> Option<Json<'_>> {
    state.get(KEY).filter(|event| event.kind() == JsonKind::Object)
}
