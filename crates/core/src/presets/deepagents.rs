//! What `DeepAgents` takes out of the messages that it keeps or sends.
//!
//! - Results at the end of a conversation that do not fit into the rest of the model's input: a result is cut if the whole
//!   is in a file already, and moved to a file of its own otherwise. The replacement is as long as that of `DeepAgents`, so
//!   that its estimates hold here too.
//! - Pictures and other data: they move to files. A reference replaces them, which a summarizer can read and pass on.
//! - Reasoning that a provider accepts only after the very messages it followed: once those are summarized, the next
//!   request with it would be rejected.

mod media;

use std::collections::HashMap;

use serde_json::json;

use crate::hash::sha256;
use crate::plan::Plan;
use crate::redact::beginning;
use crate::rewrite::media::OffloadedFile;
use crate::rewrite::{Edit, removal};
use crate::tokens::approx::{ReadContent, read_content};
use crate::tokens::python::repr;
use crate::transcript::json::{Json, JsonKind};
use crate::transcript::source::Source;
use crate::transcript::text::Text;
use crate::transcript::{Arguments, Call, Message, Part, PartKind, Role, Transcript};

pub use media::move_media;

/// The characters that stay of a read file.
const READ_STAYS: usize = 4_000;
/// The lines shown from each end of a moved result, and the characters shown of each.
const SHOWN_LINES: usize = 5;
const SHOWN_CHARS: usize = 1_000;
/// The characters shown of a call's id.
const SHOWN_ID: usize = 32;
/// The most bytes of a file name made of a call's id.
const LONGEST_NAME: usize = 128;

/// The edits that shorten the results at the end of a conversation, from message `first` on, and the files in
/// `folder` that they refer to.
pub fn shorten_results(transcript: &Transcript<'_>, first: usize, folder: &str) -> (Vec<Edit>, Vec<OffloadedFile>) {
    let kept = &transcript.messages[first..];
    let run = kept.iter().rev().take_while(|message| message.role == Role::Tool).count();
    let (before, results) = kept.split_at(kept.len() - run);
    let read = read_files(before);
    let mut edits = Vec::new();
    let mut files: Vec<OffloadedFile> = Vec::new();
    for result in results {
        let Some(content) = result.field("content") else { continue };
        let id = result.results.first().and_then(|answer| answer.id).map(|id| id.decode().into_owned());
        let id = id.unwrap_or_default();
        let text = text_of(result);
        let shorter = match read.get(&id) {
            Some(Some(path)) => json!(cut(&text, path)).to_string(),
            _ => {
                let name = file_name(&id);
                let note = note(&id, &format!("{folder}/{name}"), &text);
                match files.iter_mut().find(|file| file.name == name) {
                    // A second result with the same id is appended to the first.
                    Some(file) => file.bytes.extend(format!("\n{text}").bytes()),
                    None => files.push(OffloadedFile { name, bytes: text.into_bytes() }),
                }
                beside_media(result, &note)
            }
        };
        edits.push(Edit { range: content.span(), text: shorter });
    }
    (edits, files)
}

/// Joins the texts of a result with line ends, without the text of refusals.
fn text_of<'a>(result: &Message<'a>) -> String {
    let texts: Vec<Text<'_>> = match read_content(result) {
        ReadContent::Text(text) => vec![text],
        ReadContent::Printed(value) => {
            let mut printed = String::new();
            repr(value, &mut printed);
            return printed;
        }
        ReadContent::List(parts) => parts.into_iter().filter_map(text_of_part).collect(),
    };
    let texts: Vec<_> = texts.iter().map(|text| text.decode()).collect();
    texts.join("\n")
}

fn text_of_part<'a>(part: &Part<'a>) -> Option<Text<'a>> {
    match part.kind {
        PartKind::Text(text) => Some(text),
        _ => untyped_text(part.json),
    }
}

/// The text of a block without a type, which `DeepAgents` treats as text.
fn untyped_text(block: Json<'_>) -> Option<Text<'_>> {
    if block.get("type").is_some() { None } else { block.get_text("text") }
}

fn is_text(json: Json<'_>) -> bool {
    json.text().is_some() || untyped_text(json).is_some() || json.get_text("type").is_some_and(|kind| kind.is("text"))
}

/// Maps the id of each call to the file that it read, if it read one. Of repeated ids the last call counts.
fn read_files(before: &[Message<'_>]) -> HashMap<String, Option<String>> {
    let mut read = HashMap::new();
    for call in before.iter().flat_map(|message| &message.calls) {
        if let Some(id) = call.id {
            read.insert(id.decode().into_owned(), read_path(call));
        }
    }
    read
}

fn read_path(call: &Call<'_>) -> Option<String> {
    if !call.name?.is("read_file") {
        return None;
    }
    let json = match call.arguments {
        Arguments::Text(text) => text.decode_json(),
        Arguments::Value(value) => value.raw().into(),
        Arguments::Absent => return None,
    };
    let path = Source::of_arguments(&json)?.first()?.get_text("file_path")?.decode().into_owned();
    if path.is_empty() { None } else { Some(path) }
}

/// Cuts a read file to its beginning and says how to read the rest.
fn cut(text: &str, path: &str) -> String {
    let beginning = beginning(text, READ_STAYS);
    format!(
        "{beginning}\n\n[What was read is cut off here, since all of it would not fit into the context window. The file is {path}, and the rest of it can be read with the parameters offset and limit of read_file: with file_path='{path}', offset=0, limit=100 it gives the lines number 1 to 100]"
    )
}

/// Writes the content of a result with its text replaced by a note; pictures and other media stay as they are spelled.
fn beside_media(result: &Message<'_>, note: &str) -> String {
    let text = json!({"type": "text", "text": note}).to_string();
    let ReadContent::List(parts) = read_content(result) else { return json!(note).to_string() };
    let mut blocks = vec![text];
    for part in parts {
        if part.json.kind() == JsonKind::Object && !is_text(part.json) {
            blocks.push(part.json.raw().to_owned());
        }
    }
    if blocks.len() == 1 { json!(note).to_string() } else { format!("[{}]", blocks.join(", ")) }
}

/// Makes a valid file name of a call's id.
fn file_name(id: &str) -> String {
    let name = id.replace(|c: char| matches!(c, '.' | '/' | '\\') || c.is_control(), "_");
    if name.len() <= LONGEST_NAME && !name.is_empty() {
        return name;
    }
    format!("call-{}", sha256(id.as_bytes()))
}

/// Writes the replacement of a result that moved to a file: the path, and the first and last lines.
fn note(id: &str, path: &str, text: &str) -> String {
    let shown = match id.char_indices().nth(SHOWN_ID) {
        Some((at, _)) => format!("{}...", &id[..at]),
        None => id.to_owned(),
    };
    let lines = split_lines(text);
    let all = lines.len() <= 2 * SHOWN_LINES;
    let (head, tail) = if all {
        (lines.as_slice(), [].as_slice())
    } else {
        (&lines[..SHOWN_LINES], &lines[lines.len() - SHOWN_LINES..])
    };
    let clipped = head.iter().chain(tail).any(|line| line.chars().count() > SHOWN_CHARS);
    let about = if all {
        "These are lines from the result"
    } else {
        "These are the first and the last lines of the result only"
    };
    let mut caveats: Vec<&str> = Vec::new();
    if !all {
        caveats.push(
            "`... [N lines truncated] ...` stands where N lines between the first and the last ones are left out",
        );
    }
    if clipped {
        caveats.push("a line that has more than 1000 characters is cut off behind its first 1000 characters wherever it is shown");
    }
    let caveats = if caveats.is_empty() { String::new() } else { format!(" ({})", caveats.join("; ")) };
    let mut sample = numbered(head, 1);
    if !all {
        let left_out = lines.len() - 2 * SHOWN_LINES;
        let after = numbered(tail, lines.len() - SHOWN_LINES + 1);
        sample = format!("{sample}\n... [{left_out} lines truncated] ...\n{after}");
    }
    format!(
        "The result of the tool call {shown} took more room than there is left, so that all of it is now in the file {path}\n\nThe read_file tool shows you what is in that file. It is best read a piece at a time, since the whole of it would not fit in here again.\n\nWhich piece is shown, the parameters offset and limit of read_file say: the lines from 1 to 100, for an example, are what read_file shows with offset=0 and limit=100.\n\n{about}{caveats}:\n\n{sample}\n"
    )
}

/// Numbers lines, aligned.
fn numbered(lines: &[&str], first: usize) -> String {
    let width = (first + lines.len()).saturating_sub(1).to_string().len();
    let mut numbered: Vec<String> = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        numbered.push(format!("{:>width$}  {}", first + at, beginning(line, SHOWN_CHARS)));
    }
    numbered.join("\n")
}

/// Splits lines like Python's `splitlines`.
fn split_lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(ends_line).unwrap_or(rest.len());
        lines.push(&rest[..end]);
        rest = &rest[end..];
        let newline = if rest.starts_with("\r\n") { 2 } else { rest.chars().next().map_or(0, char::len_utf8) };
        rest = &rest[newline..];
    }
    lines
}

fn ends_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The block types of such reasoning.
const BOUND: [&str; 3] = ["thinking", "redacted_thinking", "reasoning_content"];

/// The edits that remove bound reasoning from the kept messages.
pub fn remove_bound(transcript: &Transcript<'_>, plan: &Plan) -> Vec<Edit> {
    let mut edits = Vec::new();
    for index in plan.pinned.iter().copied().chain(plan.cutoff..transcript.messages.len()) {
        let message = &transcript.messages[index];
        if message.role == Role::Assistant {
            edits.extend(without_reasoning(message));
        }
    }
    edits
}

fn without_reasoning(message: &Message<'_>) -> Vec<Edit> {
    let ReadContent::List(parts) = read_content(message) else { return Vec::new() };
    let kinds = bound_kinds(message);
    let mut bound: Vec<usize> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        if part.json.get_text("type").is_some_and(|kind| kind.is_in(&kinds)) {
            bound.push(index);
        }
    }
    let spans: Vec<_> = parts.iter().map(|part| part.json.span()).collect();
    bound.chunk_by(|a, b| a + 1 == *b).map(|run| removal(&spans, run[0], run[run.len() - 1] + 1)).collect()
}

/// The block types that are bound in a message: Claude's, whichever provider serves it. Without a provider, the types
/// that only Claude has.
fn bound_kinds(message: &Message<'_>) -> Vec<&'static str> {
    let Some(provider) = message.rare_fields().provider else { return BOUND.to_vec() };
    let model = message.metadata("model_name").and_then(|name| name.text());
    let model = model.map(|name| name.decode().to_lowercase()).unwrap_or_default();
    let bedrock = provider.is("bedrock") || provider.is("bedrock_converse");
    if provider.is("anthropic") || bedrock && (model.contains("claude") || model.contains("anthropic")) {
        return BOUND.into_iter().chain(["reasoning"]).collect();
    }
    Vec::new()
}
