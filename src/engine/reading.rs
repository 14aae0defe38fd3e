//! The conversations in an input, and the error of an input that has none.

use crate::compact::{self, CompactionPolicy};
use crate::diagnostic::Advice;
use crate::engine::broken_records::RECORD_START;
use crate::engine::records::RecordMessages;
use crate::exit::{Failure, OtherFile};
use crate::files::input::{Input, NOT_UTF8, is_json_by_name};
use crate::rewrite::{Edit, pieces};
use crate::settings::InputSettings;
use crate::transcript::Transcript;
use crate::transcript::framing::{Document, Found, Lines, ReadError};
use crate::transcript::source::{Source, SyntaxError};
use crate::transcript::view::Arena;
use crate::wording::readable_source;

/// Reads the conversations of an input, which live in `arena`.
///
/// # Errors
/// There are none, and why.
pub(super) fn read<'a>(
    settings: &InputSettings,
    policy: &CompactionPolicy,
    input: &'a Input,
    arena: &'a Arena<'a>,
) -> Result<Document<'a>, Failure> {
    if begins_archive(&input.text) {
        return Err(archive_as_input(input));
    }
    let source = Source::of_file(&input.text).map_err(|error| unreadable(input, error.into()))?;
    let lines = match settings.lines {
        _ if input.as_lines => Some(Lines::Conversations),
        // A list without messages is not a message: updates removed all lines.
        Some(Lines::Messages) if input.text == "[]" => None,
        lines => lines,
    };
    let document = compact::read(arena.keep(source), settings.from, lines, policy);
    let mut document = document.map_err(|error| unreadable(input, error))?;
    for transcript in &mut document.transcripts {
        transcript.line = transcript.line.map(|line| line + input.lines_before);
    }
    Ok(document)
}

/// The error of an input that is not a transcript.
pub(super) fn unreadable(input: &Input, mut error: ReadError) -> Failure {
    if matches!(error, ReadError::Empty) && input.name == "-" {
        return Failure::unreadable(
            "standard input is empty: the command in front of the pipe wrote nothing, or a flag took the path as its value",
        );
    }
    if let (ReadError::Syntax(error), Some((line, column))) = (&mut error, input.not_utf8_at()) {
        *error = SyntaxError { line, column, what: NOT_UTF8.to_owned(), is_unclosed: false, is_early_end: false };
    }
    let is_other_file = match &error {
        ReadError::Empty | ReadError::NoTranscript { .. } | ReadError::OtherFormat { .. } => true,
        ReadError::Syntax(_) => !is_json_by_name(&input.name),
        ReadError::Foreign { .. } | ReadError::Ambiguous { .. } => false,
    };
    let kind = match &error {
        ReadError::NoTranscript { found: Found { program: Some(program), .. }, .. } => {
            Some(format!("looks like {program}"))
        }
        _ => None,
    };
    let next = match &error {
        ReadError::Ambiguous { ambiguity, .. } => {
            ambiguity.candidates.first().map(|(format, ..)| Advice::command(["--from", format]))
        }
        ReadError::Foreign { known_by, .. } if let Some(format) = known_by.first() => {
            Some(Advice::command(["--from", format]))
        }
        ReadError::OtherFormat { own, .. } => Some(Advice::command(["--from", own])),
        ReadError::Syntax(error) if input.as_lines || (error.line, error.column) != (1, 1) => None,
        _ => Some(Advice::command(["list", "formats"]).note("for what is read: JSON or JSONL, gzip or zstd")),
    };
    // Of a document on several lines the first is no more than its beginning.
    let is_begun = matches!(&error, ReadError::Syntax(error) if error.is_early_end);
    let is_first = input.as_lines && input.lines_before == 0 && !input.text.trim_end().contains('\n');
    let hint = if is_begun && is_first { "; line 1 is not a whole conversation: leave out --lines" } else { "" };
    let why = error.after(input.lines_before).to_string() + hint;
    let failure = Failure::unreadable(format!("{} {why}", readable_source(&input.name)));
    let failure = failure.of_other_file(if is_other_file { Some(OtherFile { why, kind }) } else { None });
    match next {
        Some(advice) => failure.try_next(advice),
        None => failure,
    }
}

/// Whether a text begins with a record of an archive. One without messages could be read as an empty conversation.
fn begins_archive(text: &str) -> bool {
    if !text.starts_with(RECORD_START) {
        return false;
    }
    let first = text.lines().next().unwrap_or_default();
    let Ok(record) = serde_json::from_str::<RecordMessages>(first) else { return false };
    !record.messages.is_empty() || record.original_sha256.is_some()
}

/// The error of an archive of tcompact in the place of a transcript.
fn archive_as_input(input: &Input) -> Failure {
    let why = "is an archive of tcompact: search and show print what it holds, and restore puts it back".to_owned();
    let failure = Failure::unreadable(format!("{} {why}", readable_source(&input.name)));
    failure.of_other_file(Some(OtherFile { kind: Some(why.clone()), why }))
}

/// The name of a conversation: its input, with the line if the input has one conversation a line. Of several
/// conversations on one line, the later ones have their number too.
pub(super) fn source_name(input: &Input, transcript: &Transcript<'_>) -> String {
    match transcript.line {
        Some(line) if transcript.nth_of_line > 1 => format!("{}:{line}#{}", input.name, transcript.nth_of_line),
        Some(line) => format!("{}:{line}", input.name),
        None => input.name.clone(),
    }
}

/// `edits` are in order.
pub(super) fn edited(input: &Input, edits: &[Edit]) -> Input {
    let Input { as_lines, lines_before, compression, .. } = *input;
    let mut edited = Input { name: input.name.clone(), as_lines, lines_before, compression, ..Input::default() };
    edited.set_bytes(pieces(input.bytes(), edits).collect::<Vec<_>>().concat());
    edited
}
