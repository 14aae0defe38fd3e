//! Sessions that are too large to be held in memory: which files these are, how they are read by blocks of lines, and what
//! is left in memory for a command that only looks at what is sent.

use std::path::Path;

use anyhow::Result;

use crate::compact::UnsentFinder;
use crate::files::blocks::{Block, BlockReader};
use crate::files::compression::Compression;
use crate::files::input::Input;
use crate::prune::{SessionEnd, reads_by_line};
use crate::rewrite::{Edit, pieces};
use crate::settings::InputSettings;
use crate::transcript::detect;
use crate::transcript::format::Format;
use crate::transcript::framing::Lines;
use crate::transcript::json::JsonKind;
use crate::transcript::source::Source;

/// How many times its size a compressed file is taken to unpack to.
const UNPACKED: u64 = 8;

/// Whether a file of so many bytes is too large to be held in memory.
pub(super) fn is_large(settings: &InputSettings, path: &Path, length: u64) -> bool {
    let times = if Compression::of_name(path).is_some() { UNPACKED } else { 1 };
    length.saturating_mul(times) >= settings.large.from
}

/// The format of a session, by its first lines; none where it is not one that can be read by its lines.
///
/// # Errors
/// The file cannot be read.
pub(super) fn format_by_lines(settings: &InputSettings, path: &Path) -> Result<Option<&'static Format>> {
    if settings.lines == Some(Lines::Conversations) {
        return Ok(None);
    }
    let mut reader = BlockReader::open(path, settings.large.sizes)?;
    let Some(Block::Lines(head)) = reader.next()? else { return Ok(None) };
    let Ok(head) = str::from_utf8(&head) else { return Ok(None) };
    let Ok(source) = Source::of(head) else { return Ok(None) };
    let is_entry_a_line = source.irregular_lines.is_empty()
        && source.values().all(|value| !value.raw().contains('\n') && value.kind() == JsonKind::Object);
    if !is_entry_a_line {
        return Ok(None);
    }
    let Some(first) = source.first() else { return Ok(None) };
    let format = match settings.from {
        Some(format) => Some(format),
        None => detect::format(None, &source.values()).ok(),
    };
    Ok(format.filter(|format| reads_by_line(format, first)))
}

/// What only the end of a session tells.
///
/// # Errors
/// The file cannot be read.
pub(super) fn end_of_session(settings: &InputSettings, path: &Path, format: &'static Format) -> Result<SessionEnd> {
    let mut end = SessionEnd::new(format);
    if !end.is_needed() {
        return Ok(end);
    }
    let mut reader = BlockReader::open(path, settings.large.sizes)?;
    let (mut start, mut has_long_line) = (0, false);
    while let Some(block) = reader.next()? {
        match &block {
            Block::Lines(lines) => end.look_at(start, lines),
            Block::OfLongLine(_) => has_long_line = true,
        }
        start += block.bytes().len() as u64;
    }
    if has_long_line {
        // It could be a compaction, or take one back.
        end.forget_compaction();
    }
    Ok(end)
}

/// Reads a large session without what is not sent, of which no more than a block is in memory; none where the file is not
/// one that can be read by its lines. Each line keeps its number. Messages that are no longer sent stay with `keeps_all`.
///
/// # Errors
/// The file cannot be read.
pub(super) fn read_without_unsent(settings: &InputSettings, path: &Path, keeps_all: bool) -> Result<Option<Input>> {
    let Some(format) = format_by_lines(settings, path)? else { return Ok(None) };
    let end = end_of_session(settings, path, format)?;
    let mut finder = UnsentFinder::new(format, end, !keeps_all);
    let mut reader = BlockReader::open(path, settings.large.sizes)?;
    let (mut bytes, mut start) = (Vec::new(), 0);
    while let Some(block) = reader.next()? {
        let edits = match &block {
            Block::OfLongLine(_) => Vec::new(),
            Block::Lines(lines) => match finder.edits(start, lines) {
                Ok(edits) => edits.into_iter().map(|edit| with_line_ends(edit, lines)).collect(),
                // To read it whole tells what is wrong with it.
                Err(_) => return Ok(None),
            },
        };
        for piece in pieces(block.bytes(), &edits) {
            bytes.extend_from_slice(piece);
        }
        start += block.bytes().len() as u64;
    }
    let unsent = start - bytes.len() as u64;
    let mut input =
        Input { name: path.display().to_string(), compression: reader.compression, unsent, ..Input::default() };
    input.set_bytes(bytes);
    Ok(Some(input))
}

/// An edit that leaves a blank line for each line that it takes.
fn with_line_ends(edit: Edit, lines: &[u8]) -> Edit {
    let taken = memchr::memchr_iter(b'\n', &lines[edit.range.clone()]).count();
    let left = memchr::memchr_iter(b'\n', edit.text.as_bytes()).count();
    Edit { text: edit.text + &"\n".repeat(taken.saturating_sub(left)), ..edit }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::compact::{CompactionPolicy, context_difference, unsent_bytes};
    use crate::engine::inputs::below;
    use crate::engine::reading::read;
    use crate::files::blocks::BlockSizes;
    use crate::files::input;
    use crate::plan::size::Size;
    use crate::settings::LargeFiles;
    use crate::transcript::view::Arena;

    fn settings(from: u64) -> InputSettings {
        let sizes = BlockSizes { block: 2_000, longest_line: 200_000 };
        InputSettings {
            paths: Vec::new(),
            from: None,
            lines: None,
            other_files: Vec::new(),
            large: LargeFiles { from, sizes },
        }
    }

    /// The same messages are read, at the same lines, and as many bytes are said to be sent to no model.
    fn assert_same(path: &Path, whole: &Input, without: &Input) {
        let name = path.display();
        let (policy, arenas) = (CompactionPolicy::keeping(Size::Nothing), [Arena::default(), Arena::default()]);
        let [before, after] = [(whole, &arenas[0]), (without, &arenas[1])]
            .map(|(input, arena)| read(&settings(0), &policy, input, arena).expect("a session"));
        assert_eq!(before.transcripts.len(), after.transcripts.len(), "{name}");
        for (before, after) in before.transcripts.iter().zip(&after.transcripts) {
            assert_eq!(before.messages.len(), after.messages.len(), "{name}");
            assert_eq!(context_difference(before, after), None, "{name}");
            let line = |input: &Input, at: usize| input.text[..at].matches('\n').count();
            for (one, other) in before.messages.iter().zip(&after.messages) {
                let (one, other) = (one.json.span().start, other.json.span().start);
                assert_eq!(line(whole, one), line(without, other), "{name}");
            }
            // Of each line that goes, its end stays.
            let lines = whole.text.lines().count() as u64;
            let missing = unsent_bytes(before) - unsent_bytes(after) - without.unsent;
            assert!(missing <= lines, "{name}: {missing} of {lines}");
        }
    }

    #[test]
    fn what_is_left_of_a_session_is_the_same_context() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let (mut sessions, mut smaller) = (0, 0);
        for entry in below(&fixtures).flatten().filter(|entry| entry.file_type().is_file()) {
            let path = entry.path();
            let Ok(Some(without)) = read_without_unsent(&settings(0), path, false) else { continue };
            let whole = input::read(Some(path)).expect("there");
            assert_eq!(without.bytes().len() as u64 + without.unsent, whole.bytes().len() as u64);
            assert_same(path, &whole, &without);
            sessions += 1;
            smaller += usize::from(without.unsent > 0);
        }
        assert!(sessions > 15 && smaller > 5, "{sessions} sessions, {smaller} smaller");
    }

    #[test]
    fn messages_that_are_no_longer_sent_stay_where_they_are_wanted() {
        let line = |kind: &str, payload: &str| {
            format!("{{\"timestamp\":\"2026-11-02T09:00:00.000Z\",\"type\":\"{kind}\",\"payload\":{payload}}}\n")
        };
        let said = |text: &str| {
            let content = format!("[{{\"type\":\"input_text\",\"text\":\"{text}\"}}]");
            line("response_item", &format!("{{\"type\":\"message\",\"role\":\"user\",\"content\":{content}}}"))
        };
        let compaction = r#"{"message":"","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"kept"}]}]}"#;
        let meta = line("session_meta", r#"{"id":"0199","cwd":"/w"}"#);
        let session = [meta, said("before"), line("compacted", compaction), said("behind")].concat();
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rollout.jsonl");
        fs::write(&path, &session).expect("written");
        let text =
            |keeps_all| read_without_unsent(&settings(0), &path, keeps_all).expect("read").expect("a session").text;
        assert_eq!(text(true), session);
        assert_eq!(text(false), session.replace(&said("before"), "\n"));
    }
}
