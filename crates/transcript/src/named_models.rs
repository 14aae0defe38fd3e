//! The models that a conversation names: in its envelope, in its answers, and in lines of a session that set one.

use memchr::memmem;

use crate::format::Transcript;
use crate::json::{Json, Object};
use crate::message::{Message, Role};
use crate::thoughts::first;

/// The paths to the model that wrote a message, in all formats.
const OWN_MODEL: [&[&str]; 17] = [
    &["model"],
    &["message", "model"],
    &["model_name"],
    &["response_metadata", "model_name"],
    &["response_metadata", "model"],
    &["response_metadata", "model_id"],
    &["data", "response_metadata", "model_name"],
    &["data", "response_metadata", "model"],
    &["data", "response_metadata", "model_id"],
    &["kwargs", "response_metadata", "model_name"],
    &["kwargs", "response_metadata", "model"],
    &["kwargs", "response_metadata", "model_id"],
    &["tool_call_metadata", "model_response", "model"],
    &["metadata", "model"],
    &["extra", "response", "model"],
    &["info", "modelID"],
    &["data", "model"],
];

/// The paths to the model in a request, or in the log of one.
const MODEL: [&[&str]; 12] = [
    &["model"],
    &["body", "model"],
    &["request", "model"],
    &["request_params", "model"],
    &["kwargs", "model"],
    &["modelId"],
    &["model_id"],
    &["model_name"],
    &["output", "model"],
    &["eval", "model"],
    &["metadata", "model"],
    &["info", "config", "model", "model_name"],
];

/// The lines of sessions that set the model from there on: their type, and the path to the model. Events of sub-agents and
/// tools name models, too.
const MODEL_CHANGES: [(&str, &[&str]); 7] = [
    ("turn_context", &["payload", "model"]),
    ("model_change", &["modelId"]),
    ("session.start", &["data", "selectedModel"]),
    ("session.model_change", &["data", "newModel"]),
    ("llm.request", &["model"]),
    ("profile.bind", &["modelAlias"]),
    ("config.update", &["modelAlias"]),
];

/// The name of the model that wrote a message, if the message has it.
pub fn own_model(message: &Message<'_>) -> Option<String> {
    // Most messages name none, and a search is faster than a look at their members.
    memmem::find(message.json.raw().as_bytes(), b"odel")?;
    named(&Object::of(first(message.json)), &OWN_MODEL)
}

/// The name of a transcript's model: from the envelope of a request, or else from the last answer or line that names one.
pub fn model_of(transcript: &Transcript<'_>) -> Option<String> {
    for around in [transcript.state, transcript.envelope].into_iter().flatten() {
        if let Some(name) = named(&Object::of(around), &MODEL) {
            return Some(name);
        }
    }
    let mut changed = None;
    for note in transcript.notes.iter().rev() {
        if let Some(name) = set_model(note.json) {
            changed = Some((note.json.span().start, name));
            break;
        }
    }
    for message in transcript.messages.iter().rev() {
        if changed.as_ref().is_some_and(|(place, _)| message.span().start < *place) {
            break;
        }
        if message.role == Role::Assistant
            && let Some(name) = own_model(message)
        {
            return Some(name);
        }
    }
    changed.map(|(_, name)| name)
}

/// The model that a line of a session sets.
fn set_model(line: Json<'_>) -> Option<String> {
    let object = Object::of(line);
    let (_, path) = MODEL_CHANGES.iter().find(|(kind, _)| object.member_is("type", kind))?;
    named(&object, &[*path])
}

/// For each of some places in bytes, in order, the name of the model that the last note or answer before it names.
pub fn models_before(transcript: &Transcript<'_>, places: &[usize]) -> Vec<Option<String>> {
    let mut notes = transcript.notes.iter().peekable();
    let answers = transcript.messages.iter().filter(|message| message.role == Role::Assistant);
    let mut answers = answers.peekable();
    let mut found = Vec::new();
    let (mut noted, mut answered) = ((0, None), (0, None));
    for &place in places {
        while let Some(note) = notes.next_if(|note| note.json.span().start < place) {
            if let Some(model) = set_model(note.json) {
                noted = (note.json.span().start, Some(model));
            }
        }
        while let Some(answer) = answers.next_if(|answer| answer.span().start < place) {
            if let Some(model) = own_model(answer) {
                answered = (answer.span().start, Some(model));
            }
        }
        let (_, last) = if answered.1.is_none() || noted.0 > answered.0 { &noted } else { &answered };
        found.push(last.clone());
    }
    found
}

fn named(object: &Object<'_>, paths: &[&[&str]]) -> Option<String> {
    for path in paths {
        let Some(name) = object.at(path).and_then(|name| name.text()) else { continue };
        let name = name.decode();
        // Agents write names such as `<synthetic>` into messages that no model wrote, and routers choose for `auto`.
        if !name.is_empty() && !name.starts_with('<') && name != "auto" {
            return Some(name.into_owned());
        }
    }
    None
}
