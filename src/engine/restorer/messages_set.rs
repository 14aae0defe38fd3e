//! What an agent wrote behind a compaction so that it never sends what was put back: a line that sets all messages at once.

use crate::transcript::framing;
use crate::transcript::json::Items;
use crate::transcript::source::Source;

use crate::engine::restorer::text::Restored;

/// The numbers of the lines that set all messages, behind all that was put back. `before` is the text that was restored.
pub(in crate::engine) fn lines_that_set_all_messages(before: &[u8], restored: &mut Restored<'_>) -> Vec<usize> {
    restored.join();
    let restored = &*restored.text;
    let same_end = before.iter().rev().zip(restored.iter().rev()).take_while(|(one, other)| one == other).count();
    let put_back = restored.len() - same_end;
    let Ok(text) = str::from_utf8(restored) else { return Vec::new() };
    let Ok(source) = Source::of_file(text) else { return Vec::new() };
    let Ok(document) = framing::read(&source, None, None) else { return Vec::new() };
    let [transcript] = document.transcripts.as_slice() else { return Vec::new() };
    let mut lines = Vec::new();
    if transcript.inner.is_none_or(|inner| inner.entry.span().start < put_back) {
        return lines;
    }
    for value in source.values() {
        let start = value.span().start;
        if start >= put_back && transcript.format.session.inner_list(Items::only(value)).is_some() {
            lines.push(1 + memchr::memchr_iter(b'\n', &restored[..start]).count());
        }
    }
    lines
}
