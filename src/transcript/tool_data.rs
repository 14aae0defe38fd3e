//! The parts of messages that a tool or a model's call wrote: the arguments and the results.

use std::ops::Range;

use crate::transcript::edit::apart;
use crate::transcript::format::Transcript;
use crate::transcript::message::{Arguments, Message};

/// The parts of a message that a tool has written, or that are written for one, in order.
pub(crate) fn tool_data(transcript: &Transcript<'_>, message: &Message<'_>) -> Vec<Range<usize>> {
    let arguments = message.calls.iter().filter_map(|call| match call.arguments {
        Arguments::Value(value) => Some(value.span()),
        Arguments::Text(_) | Arguments::Absent => None,
    });
    let outputs = message.results.iter().filter_map(|result| transcript.format.output(message, result));
    let values = outputs.flat_map(|output| [output.value].into_iter().chain(output.duplicates).chain(output.copies));
    apart(arguments.chain(values.map(|value| value.span())).collect())
}

/// These parts of all messages of some conversations, in order.
pub(crate) fn all_tool_data(conversations: &[Transcript<'_>]) -> Vec<Range<usize>> {
    let messages = conversations.iter().flat_map(|one| one.messages.iter().map(move |message| (one, message)));
    apart(messages.flat_map(|(one, message)| tool_data(one, message)).collect())
}
