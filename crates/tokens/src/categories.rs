//! What a conversation's tokens are spent on: the text of each role, each tool, thinking and media.
//!
//! A message is counted as a whole, as counters add tokens for each message. Its tokens are distributed over its parts
//! in proportion to their sizes, so that all categories add up to the messages.

use std::collections::{BTreeMap, HashMap};

use crate::transcript::media::MediaKind;
use crate::transcript::pieces::Piece;
use crate::transcript::{Call, Message, Role, Transcript, pairing};
use crate::{MessageCounter, Tally};

/// The tokens of a conversation by category.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Categories {
    /// The text of each role that occurs, outside the other categories.
    pub roles: Vec<(Role, u64)>,
    /// The calls of each tool and their results. A result without a call counts under the name in its message, if any.
    pub tools: BTreeMap<String, u64>,
    /// Reasoning of the model.
    pub thinking: u64,
    /// Pictures, sound and documents: of each kind how many, and their tokens.
    pub media: BTreeMap<MediaKind, (u64, u64)>,
    /// What requests send beside the messages.
    pub overhead: u64,
}

/// The category of a part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Category {
    Text,
    Tool(String),
    Thinking,
    Media(MediaKind),
}

impl Categories {
    /// The categories of the messages from `start` on, and of system messages before that.
    pub fn of(transcript: &Transcript<'_>, tally: &Tally<'_, '_>, start: usize) -> Self {
        let messages = &transcript.messages;
        let mut tool_of_result: HashMap<(usize, usize), String> = HashMap::new();
        for found in pairing::results(messages) {
            let Some(call) = found.call else { continue };
            if let Some(name) = call.call_of(messages).name {
                tool_of_result.insert((found.result.message, found.result.index), name.decode().into_owned());
            }
        }
        let mut categories = Categories { overhead: tally.overhead(), ..Categories::default() };
        for (index, message) in messages.iter().enumerate() {
            if index < start && !message.role.is_system() {
                continue;
            }
            let tool = |result: usize| tool_of_result.get(&(index, result)).cloned();
            let mut parts = sized_pieces(message, tally.message_counter(), tool);
            parts.push((Category::Thinking, tally.sealed_thinking(index, message) as f64));
            for (category, tokens) in distribute(tally.message(index), &parts) {
                categories.add(message.role, category, tokens);
            }
        }
        categories.roles.sort_by_key(|(role, _)| *role as usize);
        categories
    }

    /// Adds the categories of another conversation.
    pub fn join(&mut self, other: &Categories) {
        for (role, tokens) in &other.roles {
            self.add(*role, &Category::Text, *tokens);
        }
        self.roles.sort_by_key(|(role, _)| *role as usize);
        for (name, tokens) in &other.tools {
            *self.tools.entry(name.clone()).or_default() += tokens;
        }
        self.thinking += other.thinking;
        self.overhead += other.overhead;
        for (kind, (number, tokens)) in &other.media {
            let sum = self.media.entry(*kind).or_default();
            *sum = (sum.0 + number, sum.1 + tokens);
        }
    }

    pub fn media_tokens(&self) -> u64 {
        self.media.values().map(|(_, tokens)| tokens).sum()
    }

    /// The tokens of all categories together.
    pub fn total(&self) -> u64 {
        let mut total = self.thinking + self.media_tokens() + self.overhead;
        for (_, tokens) in &self.roles {
            total += tokens;
        }
        for tokens in self.tools.values() {
            total += tokens;
        }
        total
    }

    /// Each category with any tokens: the roles, then the tools from the largest down, then thinking, media and
    /// overhead.
    pub fn rows(&self) -> Vec<(String, u64)> {
        let mut rows: Vec<(String, u64)> = Vec::new();
        for (role, tokens) in &self.roles {
            rows.push((role.openai_name().to_owned(), *tokens));
        }
        let mut tools: Vec<(&String, &u64)> = self.tools.iter().collect();
        tools.sort_by(|(name, tokens), (other, more)| more.cmp(tokens).then_with(|| name.cmp(other)));
        for (name, tokens) in tools {
            rows.push((name.clone(), *tokens));
        }
        rows.push(("thinking".to_owned(), self.thinking));
        rows.push(("media".to_owned(), self.media_tokens()));
        rows.push(("overhead".to_owned(), self.overhead));
        rows.retain(|(_, tokens)| *tokens > 0);
        rows
    }

    fn add(&mut self, role: Role, category: &Category, tokens: u64) {
        match category {
            Category::Text => match self.roles.iter_mut().find(|(known, _)| *known == role) {
                Some((_, sum)) => *sum += tokens,
                None => self.roles.push((role, tokens)),
            },
            Category::Tool(name) => *self.tools.entry(name.clone()).or_default() += tokens,
            Category::Thinking => self.thinking += tokens,
            Category::Media(kind) => {
                let sum = self.media.entry(*kind).or_default();
                *sum = (sum.0 + 1, sum.1 + tokens);
            }
        }
    }
}

/// The pieces of a message, each with its category and size. `tool` returns the tool of a result in it.
fn sized_pieces(
    message: &Message<'_>,
    counter: MessageCounter,
    tool: impl Fn(usize) -> Option<String>,
) -> Vec<(Category, f64)> {
    let is_result = !message.results.is_empty() && matches!(message.role, Role::Tool | Role::Function);
    let category_of_message = if is_result { category_of_result(message, tool(0)) } else { Category::Text };
    let mut pieces = Vec::new();
    message.pieces(&mut |result, piece| {
        let category = match (&piece, result) {
            (Piece::Reasoning(_), _) => Category::Thinking,
            (Piece::Media(kind, _), _) => Category::Media(*kind),
            (Piece::Call(call), _) => Category::Tool(name_of(call)),
            (_, Some(result)) => category_of_result(message, tool(result)),
            (_, None) => category_of_message.clone(),
        };
        let size = counter.size(&piece);
        if size > 0.0 {
            pieces.push((category, size));
        }
    });
    // The first has what a counter adds per message.
    pieces.sort_by_key(|(category, _)| *category == Category::Thinking);
    if pieces.is_empty() {
        pieces.push((category_of_message, 1.0));
    }
    pieces
}

/// The name of the tool that a call calls; empty where it has none.
fn name_of(call: &Call<'_>) -> String {
    match call.name {
        Some(name) => name.decode().into_owned(),
        None => String::new(),
    }
}

/// The category of a result: its tool where that is known, or else the name in its message.
fn category_of_result(message: &Message<'_>, tool: Option<String>) -> Category {
    match (tool, message.rare_fields().name) {
        (Some(tool), _) => Category::Tool(tool),
        (None, Some(name)) => Category::Tool(name.decode().into_owned()),
        (None, None) => Category::Text,
    }
}

/// Distributes the tokens of a message over its parts. The first part gets the tokens that a counter adds per message.
fn distribute(tokens: u64, parts: &[(Category, f64)]) -> impl Iterator<Item = (&Category, u64)> {
    let sizes: f64 = parts.iter().map(|(_, size)| size).sum();
    let frame = (tokens as f64 - sizes).max(0.0);
    let scale = tokens as f64 / (sizes + frame).max(f64::MIN_POSITIVE);
    let (mut upto, mut given) = (frame, 0);
    parts.iter().map(move |(category, size)| {
        upto += size;
        let end = ((upto * scale).round() as u64).min(tokens);
        (category, end - std::mem::replace(&mut given, end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counter;
    use crate::bpe::Encoding;
    use crate::transcript::framing;
    use crate::transcript::source::Source;

    const CHAT: &str = r#"[
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Look at this."}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        {"role": "assistant", "content": "Let me see.", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "ls", "arguments": "{\"path\": \"src\"}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "a.rs b.rs c.rs d.rs e.rs f.rs"},
        {"role": "assistant", "content": "Six files."}
    ]"#;

    fn categories(text: &str, counter: Counter) -> (Categories, u64) {
        let source = Source::of(text).expect("JSON");
        let document = framing::read(&source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        let tally = Tally::new(counter, &transcript.messages);
        let all: Vec<usize> = (0..transcript.messages.len()).collect();
        (Categories::of(transcript, &tally, 0), tally.sum(&all))
    }

    #[test]
    fn together_they_are_as_large_as_the_messages() {
        for counter in [Counter::APPROX, Counter::Exact(Encoding::O200kBase), Counter::Bytes(4)] {
            let (categories, total) = categories(CHAT, counter);
            assert_eq!(categories.total(), total, "{categories:?}");
            let names: Vec<String> = categories.rows().into_iter().map(|(name, _)| name).collect();
            let (counted, uncounted): (&[&str], &[&str]) = if counter == Counter::Bytes(4) {
                (&["system", "assistant", "ls"], &[])
            } else {
                (&["system", "assistant", "ls", "media"], &["tool"])
            };
            assert!(counted.iter().all(|name| names.iter().any(|known| known == name)), "{names:?}");
            assert!(!uncounted.iter().any(|name| names.iter().any(|known| known == name)), "{names:?}");
        }
    }

    #[test]
    fn thinking_and_results_in_blocks_are_told_apart() {
        let text = r#"[{"role": "user", "content": "Go."},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "It is in the folder of the tests.", "signature": "c2ln"},
                {"type": "tool_use", "id": "t", "name": "grep", "input": {"pattern": "bug"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "tests/a.rs: bug"}]}]"#;
        let (categories, total) = categories(text, Counter::APPROX);
        assert_eq!(categories.total(), total);
        assert!(categories.thinking >= 8, "{categories:?}");
        assert!(categories.tools["grep"] >= 8, "{categories:?}");
    }
}
