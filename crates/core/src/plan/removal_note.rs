//! The note of `--model none` in the place of removed messages: how many were removed, by all runs.

use std::fmt;

use crate::transcript::{Content, Message};
use crate::wording::{NOTE, counted};

pub(super) const OPENING: &str = NOTE;
const REMOVED: &str = " removed";
const ROUNDS: (&str, &str) = (" in ", " rounds");
const ARCHIVE: &str = "; ";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovalNote {
    pub messages: u64,
    pub tokens: u64,
    /// How many rounds of compaction removed them.
    pub rounds: u32,
    /// What it says of the archive that keeps them, where there is one.
    pub archive: Option<String>,
}

impl fmt::Display for RemovalNote {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (messages, tokens) = (counted(self.messages, "earlier message"), counted(self.tokens, "token"));
        write!(out, "{OPENING}{messages}{REMOVED}")?;
        if self.rounds > 1 {
            write!(out, "{}{}{}", ROUNDS.0, self.rounds, ROUNDS.1)?;
        }
        write!(out, ", {tokens}")?;
        if let Some(archive) = &self.archive {
            write!(out, "{ARCHIVE}{archive}")?;
        }
        out.write_str("]")
    }
}

impl RemovalNote {
    /// Reads a message that is such a note, and nothing else.
    pub fn of(message: &Message<'_>) -> Option<Self> {
        let text = match &message.content {
            Content::Text(text) => *text,
            Content::Parts(parts) if parts.len() == 1 => message.content.first_text()?,
            Content::Parts(_) => return None,
        };
        let has_only_content = message.calls.is_empty() && message.results.is_empty();
        if has_only_content && text.starts_with(OPENING) { RemovalNote::read(&text.decode()) } else { None }
    }

    fn read(text: &str) -> Option<Self> {
        let inside = text.trim().strip_prefix(OPENING)?.strip_suffix(']')?;
        let (messages, rest) = inside.split_once(REMOVED)?;
        let (rounds, rest) = rest.split_once(", ")?;
        let rounds = match rounds {
            "" => 1,
            rounds => rounds.strip_prefix(ROUNDS.0)?.strip_suffix(ROUNDS.1)?.parse().ok()?,
        };
        let (tokens, archive) = match rest.split_once(ARCHIVE) {
            Some((tokens, archive)) => (tokens, Some(archive.to_owned())),
            None => (rest, None),
        };
        let messages = parse_counted(messages, " earlier message")?;
        let tokens = parse_counted(tokens, " token")?;
        Some(RemovalNote { messages, tokens, rounds, archive })
    }
}

/// Reads a number with its noun, which may be a plural.
fn parse_counted(text: &str, noun: &str) -> Option<u64> {
    let singular = text.strip_suffix('s').unwrap_or(text);
    singular.strip_suffix(noun)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_is_written() {
        for (messages, tokens, rounds, archive) in
            [(1, 1, 1, None), (2, 0, 2, Some("they are kept in a; they are kept in b].md")), (25, 2036, 14, None)]
        {
            let note = RemovalNote { messages, tokens, rounds, archive: archive.map(str::to_owned) };
            assert_eq!(RemovalNote::read(&note.to_string()), Some(note));
        }
        let one = RemovalNote { messages: 1, tokens: 1, rounds: 1, archive: None };
        assert_eq!(one.to_string(), "[tcompact: 1 earlier message removed, 1 token]");
        // Notes of earlier versions count, too.
        assert_eq!(RemovalNote::read("[tcompact: 1 earlier messages removed, 1 tokens]"), Some(one));
        for other in
            ["", "[tcompact: 1 earlier message removed, 1 token", "[tcompact: x earlier messages removed, 1 token]"]
        {
            assert_eq!(RemovalNote::read(other), None);
        }
    }
}
