//! Results of tools at the end of a conversation that are too large for what is left of the model's input: cut where the
//! whole is in a file already, and moved to a file of their own where it is not.
//!
//! What stands in their place is as long as what `DeepAgents` puts there, so that its estimates hold here too.

use std::collections::HashMap;

use serde_json::json;

use crate::hash::sha256;
use crate::transcript::json::{Json, Kind};
use crate::transcript::source::Source;
use crate::transcript::text::Text;
use crate::transcript::{Arguments, Call, Content, Message, Part, PartKind, Role, Transcript};

use crate::rewrite::Edit;

/// Characters of a read file that stay.
const READ_STAYS: usize = 4_000;
/// Lines of a moved result that are shown from each end, and characters of each.
const SHOWN_LINES: usize = 5;
const SHOWN_CHARS: usize = 1_000;
/// Characters of a call's id that are shown.
const SHOWN_ID: usize = 32;
/// Bytes that a name made of a call's id may have.
const LONGEST_NAME: usize = 128;

/// A result that becomes a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Large {
    /// The file's name.
    pub(crate) name: String,
    /// The result's text.
    pub(crate) text: String,
}

/// The edits that shorten the results with which a conversation ends, of the messages from `first` on, and the files in
/// `folder` that they name.
pub(crate) fn moved_out(transcript: &Transcript<'_>, first: usize, folder: &str) -> (Vec<Edit>, Vec<Large>) {
    let kept = &transcript.messages[first..];
    let run = kept.iter().rev().take_while(|message| message.role == Role::Tool).count();
    let (before, results) = kept.split_at(kept.len() - run);
    let read = read_files(before);
    let mut edits = Vec::new();
    let mut files: Vec<Large> = Vec::new();
    for result in results {
        let Some(content) = result.field("content") else { continue };
        let id = result.answers.first().and_then(|answer| answer.id).map(|id| id.decode().into_owned());
        let id = id.unwrap_or_default();
        let text = text_of(result);
        let shorter = match read.get(&id) {
            Some(Some(path)) => json!(cut(&text, path)).to_string(),
            _ => {
                let name = file_name(&id);
                let note = note(&id, &format!("{folder}/{name}"), &text);
                match files.iter_mut().find(|file: &&mut Large| file.name == name) {
                    // A second result of one id goes behind the first.
                    Some(file) => file.text.push_str(&format!("\n{text}")),
                    None => files.push(Large { name, text }),
                }
                beside_media(result, &note)
            }
        };
        edits.push(Edit { range: content.span(), text: shorter });
    }
    (edits, files)
}

/// The texts of a result, a line each; what a refusal says is none of them.
fn text_of<'a>(result: &Message<'a>) -> String {
    let texts: Vec<Text<'_>> = match &result.content {
        Content::Text(text) => vec![*text],
        Content::Parts(parts) => {
            let of_part = |part: &Part<'a>| match part.kind {
                PartKind::Text(text) => Some(text),
                _ => untyped_text(part.json),
            };
            parts.iter().filter_map(of_part).collect()
        }
    };
    texts.iter().map(|text| text.decode()).collect::<Vec<_>>().join("\n")
}

/// The text of a block that has no type, which `DeepAgents` takes for one of text.
fn untyped_text(block: Json<'_>) -> Option<Text<'_>> {
    if block.get("type").is_some() { None } else { block.get_text("text") }
}

/// For the id of each call, of which the last counts: the file that it read, if it read one.
fn read_files(before: &[Message<'_>]) -> HashMap<String, Option<String>> {
    let calls = before.iter().flat_map(|message| &message.calls);
    calls.filter_map(|call| Some((call.id?.decode().into_owned(), read_path(call)))).collect()
}

fn read_path(call: &Call<'_>) -> Option<String> {
    call.name.filter(|name| name.is("read_file"))?;
    let json = match call.arguments {
        Arguments::Text(text) => text.decode_json(),
        Arguments::Value(value) => value.raw().into(),
        Arguments::Absent => return None,
    };
    let path = Source::of_arguments(&json)?.first()?.get_text("file_path")?.decode().into_owned();
    Some(path).filter(|path| !path.is_empty())
}

/// The beginning of what was read, and how to read the rest.
fn cut(text: &str, path: &str) -> String {
    let begins: String = text.chars().take(READ_STAYS).collect();
    format!(
        "{begins}\n\n[What was read is cut off here, since all of it would not fit into the context window. The file is {path}, and the rest of it can be read with the parameters offset and limit of read_file: with file_path='{path}', offset=0, limit=100 it gives the lines number 1 to 100]"
    )
}

/// The content of a result whose text became a note; pictures and the like stay as they are written.
fn beside_media(result: &Message<'_>, note: &str) -> String {
    let text = json!({"type": "text", "text": note}).to_string();
    let Content::Parts(parts) = &result.content else { return json!(note).to_string() };
    let is_text = |json: Json<'_>| {
        json.text().is_some()
            || untyped_text(json).is_some()
            || json.get_text("type").is_some_and(|kind| kind.is("text"))
    };
    let media = parts.iter().map(|part| part.json).filter(|json| json.kind() == Kind::Object && !is_text(*json));
    let blocks: Vec<String> = [text].into_iter().chain(media.map(|json| json.raw().to_owned())).collect();
    if blocks.len() == 1 { json!(note).to_string() } else { format!("[{}]", blocks.join(", ")) }
}

/// A name that a file can have in any folder, made of a call's id.
fn file_name(id: &str) -> String {
    let name: String =
        id.chars().map(|c| if matches!(c, '.' | '/' | '\\') || c.is_control() { '_' } else { c }).collect();
    if name.len() <= LONGEST_NAME && !name.is_empty() {
        return name;
    }
    format!("call-{}", sha256(id.as_bytes()))
}

/// What stands in the place of a result that became a file: where it is, and its first and last lines.
fn note(id: &str, path: &str, text: &str) -> String {
    let shown = match id.char_indices().nth(SHOWN_ID) {
        Some((at, _)) => format!("{}...", &id[..at]),
        None => id.to_owned(),
    };
    let lines = split_lines(text);
    let all = lines.len() <= 2 * SHOWN_LINES;
    let (head, tail) = match all {
        true => (lines.as_slice(), [].as_slice()),
        false => (&lines[..SHOWN_LINES], &lines[lines.len() - SHOWN_LINES..]),
    };
    let clipped = head.iter().chain(tail).any(|line| line.chars().count() > SHOWN_CHARS);
    let mut about = if all {
        "These are lines from the result"
    } else {
        "These are the first and the last lines of the result only"
    }
    .to_owned();
    let caveats: Vec<&str> = [
        (!all).then_some("`... [N lines truncated] ...` stands where N lines between the first and the last ones are left out"),
        clipped.then_some("a line that has more than 1000 characters is cut off behind its first 1000 characters wherever it is shown"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !caveats.is_empty() {
        about.push_str(&format!(" ({})", caveats.join("; ")));
    }
    let mut sample = numbered(head, 1);
    if !all {
        let left_out = lines.len() - 2 * SHOWN_LINES;
        let after = numbered(tail, lines.len() - SHOWN_LINES + 1);
        sample = format!("{sample}\n... [{left_out} lines truncated] ...\n{after}");
    }
    format!(
        "The result of the tool call {shown} took more room than there is left, so that all of it is now in the file {path}\n\nThe read_file tool shows you what is in that file. It is best read a piece at a time, since the whole of it would not fit in here again.\n\nWhich piece is shown, the parameters offset and limit of read_file say: the lines from 1 to 100, for an example, are what read_file shows with offset=0 and limit=100.\n\n{about}:\n\n{sample}\n"
    )
}

/// Lines with their numbers, aligned.
fn numbered(lines: &[&str], first: usize) -> String {
    let width = (first + lines.len()).saturating_sub(1).to_string().len();
    let numbered = lines.iter().enumerate().map(|(at, line)| {
        let clipped: String = line.chars().take(SHOWN_CHARS).collect();
        format!("{:>width$}  {clipped}", first + at)
    });
    numbered.collect::<Vec<_>>().join("\n")
}

/// Lines as Python's `splitlines` finds them.
fn split_lines(text: &str) -> Vec<&str> {
    let ends = |c: char| {
        matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
    };
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(ends).unwrap_or(rest.len());
        lines.push(&rest[..end]);
        rest = &rest[end..];
        let newline = if rest.starts_with("\r\n") { 2 } else { rest.chars().next().map_or(0, char::len_utf8) };
        rest = &rest[newline..];
    }
    lines
}
