//! Messages that no rule touches, in what is not sent of them either: those of tools that `--prune-except` names, and results
//! that carry words of the user.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::transcript::format::Format;
use crate::transcript::message::ResultRef;
use crate::transcript::users_words::carries_words_of_user;
use crate::transcript::{Message, Transcript};

/// The names of tools by the ids of their calls.
pub(super) struct SparedMessages<'r, 'a> {
    except: &'r [String],
    names: HashMap<Cow<'a, str>, Cow<'a, str>>,
}

impl<'r, 'a> SparedMessages<'r, 'a> {
    pub(super) fn of(transcript: &Transcript<'a>, except: &'r [String]) -> Self {
        let mut names = HashMap::new();
        for call in transcript.messages.iter().flat_map(|message| &message.calls) {
            if let (Some(id), Some(name)) = (call.id, call.name) {
                names.insert(id.decode(), name.decode());
            }
        }
        SparedMessages { except, names }
    }

    /// Whether a message stays as it is.
    pub(super) fn has(&self, transcript: &Transcript<'a>, message: &Message<'a>) -> bool {
        for call in &message.calls {
            if call.name.is_some_and(|name| self.excepts(&name.decode())) {
                return true;
            }
        }
        for result in &message.results {
            let tool = match result.id.and_then(|id| self.names.get(&id.decode())) {
                Some(name) => name,
                None => "",
            };
            if self.excepts(tool) || is_of_user(transcript.format, message, result, tool) {
                return true;
            }
        }
        false
    }

    fn excepts(&self, tool: &str) -> bool {
        self.except.iter().any(|excepted| excepted == tool)
    }
}

/// Whether a result of a tool carries words of the user.
pub(super) fn is_of_user(format: &Format, message: &Message<'_>, result: &ResultRef<'_>, tool: &str) -> bool {
    let Some(output) = format.result_output(message, result) else { return false };
    let bytes = output.value.raw().len();
    let strings = output.strings();
    let texts = strings.into_iter().filter_map(|string| string.text());
    let texts: Vec<Cow<'_, str>> = texts.map(|text| text.decode()).collect();
    let text = texts.join("\n");
    carries_words_of_user(result, tool, bytes, || &text)
}
