//! What a closing line says of the original after a run: where it is, and how to see it.

use crate::compact::{Compaction, EXTRACTIVE, Emit, SummarySource, is_lines};
use crate::diagnostic::quoted;
use crate::events::{Ending, NO_SUMMARY};
use crate::settings::{Destination, Settings};
use crate::standard_streams::metadata_of_stdin;

/// Returns where the original of a result is, and how to see it or the change. `input` is the path of the only input, or
/// nothing for standard input. Of masked secrets, nothing is said.
pub(super) fn rest_of_file(settings: &Settings, input: Option<&str>, ending: &Ending) -> String {
    if !ending.removes() {
        return String::new();
    }
    let archive = settings.policy.archive.as_deref().filter(|_| ending.is_archived);
    let shown = archive.map(|archive| quoted(&archive.display().to_string())).unwrap_or_default();
    let (flag, input) = match (&settings.output.destination, input) {
        (Destination::InPlace(Some(suffix)), Some(input)) => {
            return format!("; the original is {}", quoted(&format!("{input}{suffix}")));
        }
        (Destination::InPlace(_), Some(input)) => {
            // A name that begins with a hyphen would be read as a flag.
            let input = if input.starts_with('-') { format!("./{input}") } else { input.to_owned() };
            return match archive {
                Some(file) if is_lines(file) => {
                    format!("; tcompact --restore {shown} {} prints the original", quoted(&input))
                }
                Some(_) => format!("; the rest is in {shown}"),
                None => GONE.to_owned(),
            };
        }
        (Destination::Folder(_), input) => ("--diff instead of --output-dir shows", input),
        (Destination::File(_), input) => ("--diff instead of --output shows", input),
        (_, input) => ("add --diff to see", input),
    };
    let place = match (archive, input) {
        (Some(_), _) => format!("; the rest is in {shown}"),
        (None, Some(_)) => "; the input is unchanged".to_owned(),
        (None, None) if is_file_on_stdin() => "; the input is unchanged".to_owned(),
        (None, None) => "; nothing keeps the rest (--archive FILE.jsonl does)".to_owned(),
    };
    let see = if settings.policy.emit == Emit::Messages { format!("; {flag} the change") } else { String::new() };
    place + &see
}

/// Whether standard input is a file, as behind `<`.
fn is_file_on_stdin() -> bool {
    metadata_of_stdin().is_some_and(|stdin| stdin.is_file())
}

/// Returns the same for several files.
pub(super) fn rest_of_files(settings: &Settings) -> String {
    match (&settings.output.destination, &settings.policy.archive) {
        (Destination::InPlace(Some(suffix)), _) => format!("; the originals end in {}", quoted(suffix)),
        (Destination::InPlace(None), None) => GONE.to_owned(),
        (_, Some(archive)) => format!("; the rest is in {}", quoted(&archive.display().to_string())),
        (_, None) => "; the inputs are unchanged".to_owned(),
    }
}

/// What is said where nothing keeps the original.
const GONE: &str = "; the rest is gone (--archive FILE.jsonl keeps it)";

/// Returns what the summary of a compaction is from.
pub(super) fn summary_from(compaction: &Compaction<'_>, name: &str, is_command: bool) -> String {
    match compaction.summary.as_ref().map(|summary| summary.by) {
        Some(SummarySource::Summarizer) if name == EXTRACTIVE => "embedded summary".to_owned(),
        Some(SummarySource::Embedded) => "embedded summary".to_owned(),
        Some(SummarySource::Summarizer) if is_command => "summary by --summarizer-cmd".to_owned(),
        Some(SummarySource::Summarizer) => format!("summary by {name}"),
        Some(SummarySource::ErrorText) => "the error instead of a summary".to_owned(),
        Some(SummarySource::Note) => "a note instead of a summary".to_owned(),
        None if compaction.is_pruned() => "pruned, not summarized".to_owned(),
        None => NO_SUMMARY.to_owned(),
    }
}
