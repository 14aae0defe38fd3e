//! What a conversation's tokens are spent on: the text of each role, each tool, thinking and media.
//!
//! A message is counted as a whole, as counters add tokens for each message. Its tokens are distributed over its parts
//! in proportion to their sizes, so that all categories add up to the messages.

use std::collections::{BTreeMap, HashMap};

use crate::tokens::approx::{MEDIA_TOKENS, reasoning_beside};
use crate::tokens::{Counter, Tally};
use crate::transcript::compaction::ProviderCompaction;
use crate::transcript::{Arguments, Call, Content, Message, Part, PartKind, Role, Transcript, pairing};

/// The tokens of a conversation by category.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Categories {
    /// The text of each role that occurs, outside the other categories.
    pub(crate) roles: Vec<(Role, u64)>,
    /// The calls of each tool and their results. A result without a call counts under the name in its message, if any.
    pub(crate) tools: BTreeMap<String, u64>,
    /// Reasoning of the model.
    pub(crate) thinking: u64,
    /// Pictures, sound and documents.
    pub(crate) media: u64,
}

/// The category of a part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Category {
    Text,
    Tool(String),
    Thinking,
    Media,
}

impl Categories {
    /// Returns the categories of the messages from `start` on, and of system messages before that.
    pub(crate) fn of(transcript: &Transcript<'_>, tally: &Tally<'_, '_>, start: usize) -> Self {
        let messages = &transcript.messages;
        let found = pairing::results(messages);
        let name = |call: &Call<'_>| call.name.map(|name| name.decode().into_owned());
        let answered: HashMap<(usize, usize), String> = found
            .iter()
            .filter_map(|found| {
                Some(((found.result.message, found.result.index), name(found.call?.call_of(messages))?))
            })
            .collect();
        let mut categories = Categories::default();
        for (index, message) in messages.iter().enumerate() {
            if index < start && !message.role.is_system() {
                continue;
            }
            let tool = |answer: usize| answered.get(&(index, answer)).cloned();
            let mut parts = SizedParts::of(message, tally.counter(), tool).0;
            parts.push((Category::Thinking, tally.encrypted_thinking(index) as f64));
            for (category, tokens) in distribute(tally.message(index), &parts) {
                categories.add(message.role, category, tokens);
            }
        }
        categories.roles.sort_by_key(|(role, _)| *role as usize);
        categories
    }

    /// Adds the categories of another conversation.
    pub(crate) fn join(&mut self, other: &Categories) {
        for (role, tokens) in &other.roles {
            self.add(*role, &Category::Text, *tokens);
        }
        self.roles.sort_by_key(|(role, _)| *role as usize);
        for (name, tokens) in &other.tools {
            *self.tools.entry(name.clone()).or_default() += tokens;
        }
        self.thinking += other.thinking;
        self.media += other.media;
    }

    /// Returns all categories together.
    pub(crate) fn total(&self) -> u64 {
        let roles = self.roles.iter().map(|(_, tokens)| tokens);
        roles.chain(self.tools.values()).sum::<u64>() + self.thinking + self.media
    }

    /// Returns each category with any tokens: the roles, then the tools from the largest down, then thinking and media.
    pub(crate) fn rows(&self) -> Vec<(String, u64)> {
        let mut tools: Vec<(String, u64)> = self.tools.iter().map(|(name, tokens)| (name.clone(), *tokens)).collect();
        tools.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let roles = self.roles.iter().map(|(role, tokens)| (role.openai_name().to_owned(), *tokens));
        let others =
            [("thinking", self.thinking), ("media", self.media)].map(|(name, tokens)| (name.to_owned(), tokens));
        roles.chain(tools).chain(others).filter(|(_, tokens)| *tokens > 0).collect()
    }

    fn add(&mut self, role: Role, category: &Category, tokens: u64) {
        match category {
            Category::Text => match self.roles.iter_mut().find(|(known, _)| *known == role) {
                Some((_, sum)) => *sum += tokens,
                None => self.roles.push((role, tokens)),
            },
            Category::Tool(name) => *self.tools.entry(name.clone()).or_default() += tokens,
            Category::Thinking => self.thinking += tokens,
            Category::Media => self.media += tokens,
        }
    }
}

/// The parts of a message, each with its category and size.
struct SizedParts(Vec<(Category, f64)>);

impl SizedParts {
    /// Returns the parts of a message. `tool` returns the tool of a result in it.
    fn of(message: &Message<'_>, counter: Counter, tool: impl Fn(usize) -> Option<String>) -> Self {
        let size = |text: &str| match counter {
            Counter::Exact(encoding) => encoding.count(text) as f64,
            Counter::Approx(characters) | Counter::ApproxContent(characters) | Counter::ApproxRepr(characters) => {
                text.chars().count() as f64 / characters
            }
            Counter::Bytes(bytes) => text.len() as f64 / bytes as f64,
        };
        let own_name = || message.rare_fields().name.map(|name| name.decode().into_owned());
        let named = |answer: usize| tool(answer).or_else(own_name).map(Category::Tool);
        let is_result = !message.results.is_empty() && matches!(message.role, Role::Tool | Role::Function);
        let own = if is_result { named(0).unwrap_or(Category::Text) } else { Category::Text };
        let mut parts = SizedParts(Vec::new());
        let mut answers = 0..;
        parts.add(&message.content, &own, &size, &mut || answers.next().and_then(&named).unwrap_or(Category::Text));
        for call in &message.calls {
            let name = call.name.map(|name| name.decode().into_owned()).unwrap_or_default();
            let arguments = match call.arguments {
                Arguments::Text(text) => size(&text.decode()),
                Arguments::Value(value) => size(value.raw()),
                Arguments::Absent => 0.0,
            };
            parts.0.push((Category::Tool(name.clone()), size(&name) + arguments));
        }
        if matches!(counter, Counter::Approx(_) | Counter::Exact(_)) {
            parts.0.extend(reasoning_beside(message).map(|text| (Category::Thinking, size(&text.decode()))));
        }
        if parts.0.is_empty() {
            parts.0.push((own, 1.0));
        }
        parts
    }

    fn add(
        &mut self,
        content: &Content<'_>,
        own: &Category,
        size: &dyn Fn(&str) -> f64,
        next_result: &mut dyn FnMut() -> Category,
    ) {
        let Content::Parts(list) = content else {
            let Content::Text(text) = content else { return };
            if !text.is_empty() {
                self.0.push((own.clone(), size(&text.decode())));
            }
            return;
        };
        for Part { json, kind } in list {
            let (category, size) = match kind {
                PartKind::Text(text)
                | PartKind::Refusal(text)
                | PartKind::Foreign(text)
                | PartKind::Compaction(ProviderCompaction::Readable(text)) => (own.clone(), size(&text.decode())),
                PartKind::Reasoning(text) => (Category::Thinking, size(&text.decode())),
                PartKind::Image | PartKind::Media => (Category::Media, MEDIA_TOKENS as f64),
                PartKind::Result(inner) => {
                    let of_result = next_result();
                    self.add(inner, &of_result, size, next_result);
                    continue;
                }
                // The calls of the message are counted separately.
                PartKind::Call => continue,
                PartKind::Compaction(_) | PartKind::Other => (own.clone(), size(json.raw())),
            };
            self.0.push((category, size));
        }
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
    use crate::tokens::bpe::Encoding;
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
        for counter in [Counter::DEFAULT, Counter::Exact(Encoding::O200kBase), Counter::Bytes(4)] {
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
        let (categories, total) = categories(text, Counter::DEFAULT);
        assert_eq!(categories.total(), total);
        assert!(categories.thinking >= 8, "{categories:?}");
        assert!(categories.tools["grep"] >= 8, "{categories:?}");
    }
}
