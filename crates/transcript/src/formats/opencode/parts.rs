//! The parts of a message, as opencode sends them: texts, reasoning, files, and calls that hold their results.
//!
//! Parts that only opencode reads, such as the beginning and the end of a step, are none here.

use crate::foreign;
use crate::formats::shared::fields::call_part;
use crate::json::{Json, JsonKind};
use crate::media::MediaKind;
use crate::message::{Call, Content, Message, Part, PartKind, ResultRef};
use crate::status::Denial;
use crate::text::Text;

/// The types of parts that no model is sent.
const SILENT: [&str; 9] =
    ["step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction", "subtask", "file"];

/// How the error of a call begins that the user refused, and what stands before the user's words.
const REFUSED: &str = "The user rejected permission to use this specific tool call";
const FEEDBACK: &str = " with the following feedback: ";
/// The tools of opencode whose errors never begin like that.
const OWN_TOOLS: &str = "bash|edit|write|read|glob|grep|list|multiedit|patch|apply_patch|todowrite|todoread";

/// Collects what a message is made of.
#[derive(Debug, Default)]
pub(super) struct Reader<'a> {
    pub(super) content: Vec<Part<'a>>,
    pub(super) calls: Vec<Call<'a>>,
    pub(super) results: Vec<ResultRef<'a>>,
    /// Whether a call before had attachments.
    has_attachments: bool,
}

impl<'a> Reader<'a> {
    fn add(&mut self, json: Json<'a>, kind: PartKind<'a>) {
        self.content.push(Part { json, kind });
    }

    /// Adds a part of a message of the user.
    pub(super) fn add_of_user(&mut self, part: Json<'a>) {
        let kind = part.get_text("type").map(|kind| kind.decode());
        match kind.as_deref() {
            Some("text") if part.member_is_true("ignored") => {}
            // opencode wrote it: the content of a file that the user names, or a reminder.
            Some("text") if part.member_is_true("synthetic") => {
                let text = part.get_text("text").unwrap_or_else(|| Text::plain(""));
                self.add(part, PartKind::Result(Content::Text(text)));
            }
            Some("text") => self.add(part, foreign::text_part(part, "text")),
            Some("file") if is_sent_file(part) => self.add(part, PartKind::Media(kind_of_file(part))),
            // Of a command that starts a sub-agent, opencode sends a fixed sentence.
            Some("subtask") => self.add(part.get("type").unwrap_or(part), PartKind::Result(Content::empty())),
            Some(kind) if SILENT.contains(&kind) => {}
            _ => self.add(part, foreign::part(part)),
        }
    }

    /// Adds a part of an answer.
    pub(super) fn add_of_model(&mut self, part: Json<'a>) {
        let kind = part.get_text("type").map(|kind| kind.decode());
        match kind.as_deref() {
            Some("text") => self.add(part, foreign::text_part(part, "text")),
            Some("reasoning") => {
                self.add(part, PartKind::Reasoning(part.get_text("text").unwrap_or_else(|| Text::plain(""))));
            }
            Some("tool") => self.add_call(part),
            Some(kind) if SILENT.contains(&kind) => {}
            _ => self.add(part, foreign::part(part)),
        }
    }

    /// Adds a call, and its result if it has one.
    fn add_call(&mut self, part: Json<'a>) {
        let state = part.get("state").unwrap_or(part);
        let call = Call {
            id: part.get_text("callID").filter(|id| !id.is_empty()),
            name: part.get_text("tool"),
            ..call_part(part, state, ["", "", "input"])
        };
        self.add(state.get("input").unwrap_or(part), PartKind::Call);
        if let Some(output) = sent_output(state) {
            // Of an output that opencode cleared, it sends that it did.
            let content = if is_cleared(state) { Content::empty() } else { self.with_attachments(state, output) };
            self.add(output, PartKind::Result(content));
            self.results.push(ResultRef { denial: denial(state), ..ResultRef::new(state, call.id) });
        }
        self.calls.push(call);
    }

    /// Reads an output with the pictures and documents beside it.
    fn with_attachments(&mut self, state: Json<'a>, output: Json<'a>) -> Content<'a> {
        let kind = match output.text() {
            Some(text) => PartKind::Text(text),
            None => foreign::value(output, PartKind::Text),
        };
        let mut parts = vec![Part { json: output, kind }];
        if let Some(files) = attachments(state) {
            for file in files.items() {
                // Only the first list of a message can be shortened: see `Format::attachments`. Nothing can take the
                // place of an element of another one, so its address is the medium.
                let medium = if self.has_attachments { file.get("url") } else { Some(file) };
                if let Some(json) = medium {
                    parts.push(Part { json, kind: PartKind::Media(kind_of_file(file)) });
                }
            }
            self.has_attachments = true;
        }
        match parts.as_slice() {
            [Part { kind: PartKind::Text(text), .. }] => Content::Text(*text),
            _ => Content::Parts(parts.into()),
        }
    }
}

/// Whether a part of a message of the user is sent. A part of an unknown type counts as one.
pub(super) fn is_sent_of_user(part: Json<'_>) -> bool {
    let Some(kind) = part.get_text("type").map(|kind| kind.decode()) else { return true };
    match &*kind {
        "text" => !part.member_is_true("ignored"),
        "file" => is_sent_file(part),
        "subtask" => true,
        kind => !SILENT.contains(&kind),
    }
}

/// Whether a part of an answer is sent.
pub(super) fn is_sent_of_model(part: Json<'_>) -> bool {
    let Some(kind) = part.get_text("type") else { return true };
    !kind.is_in(&SILENT)
}

/// Whether a file that the user attached is sent. Of texts and folders, opencode writes the content beside them.
fn is_sent_file(part: Json<'_>) -> bool {
    !part.member_is("mime", "text/plain") && !part.member_is("mime", "application/x-directory")
}

fn kind_of_file(part: Json<'_>) -> MediaKind {
    match part.get_text("mime") {
        Some(mime) => MediaKind::of_type(&mime.decode()),
        None => MediaKind::Document,
    }
}

/// Whether opencode sends nothing of an output but that it was cleared.
fn is_cleared(state: Json<'_>) -> bool {
    state.at(&["time", "compacted"]).is_some_and(|time| !time.is_falsy())
}

/// The output of a call, or its error; `None` while it has neither.
fn sent_output(state: Json<'_>) -> Option<Json<'_>> {
    let status = state.get_text("status")?.decode();
    match &*status {
        "completed" => state.get("output").or(Some(state)),
        "error" => interrupted_output(state).or_else(|| state.get("error")),
        _ => None,
    }
}

/// What a call that was interrupted put out so far.
fn interrupted_output(state: Json<'_>) -> Option<Json<'_>> {
    let metadata = state.get("metadata")?;
    let output = metadata.get("output")?;
    if metadata.member_is_true("interrupted") && output.kind() == JsonKind::String { Some(output) } else { None }
}

/// The output of a call that is sent and can be replaced.
pub(super) fn output(state: Json<'_>) -> Option<Json<'_>> {
    let output = sent_output(state)?;
    if output.kind() == JsonKind::String && !is_cleared(state) { Some(output) } else { None }
}

/// The files beside the output of a call that are sent.
fn attachments(state: Json<'_>) -> Option<Json<'_>> {
    let files = state.get("attachments")?;
    let is_sent = state.member_is("status", "completed") && !is_cleared(state);
    if is_sent && files.items().next().is_some() { Some(files) } else { None }
}

/// The files beside the output of the first call of a message that has some.
pub(super) fn first_attachments<'a>(message: &Message<'a>) -> Option<Json<'a>> {
    message.results.iter().find_map(|result| attachments(result.json))
}

/// The record that the user refused a call: its error. Only opencode's own tools have no other errors like it.
fn denial(state: Json<'_>) -> Option<Box<Denial<'_>>> {
    if !state.member_is("status", "error") {
        return None;
    }
    let error = state.get_text("error")?;
    let denial = if error.starts_with(&format!("{REFUSED}{FEEDBACK}")) {
        Denial::new(Some(error)).of_tools(OWN_TOOLS).behind(FEEDBACK)
    } else if error.is(&format!("{REFUSED}.")) {
        Denial::new(None).of_tools(OWN_TOOLS)
    } else {
        return None;
    };
    Some(Box::new(denial))
}
