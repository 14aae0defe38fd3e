//! A provider's own compaction of the history in a message.
//!
//! Anthropic writes blocks with a text, `OpenAI` writes items that only `OpenAI` can read. The provider reads the last
//! compaction instead of all messages before it, and rejects an edited one.

use crate::transcript::json::Json;
use crate::transcript::text::Text;

/// The compaction of the history before it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ProviderCompaction<'a> {
    /// A failed compaction: the provider reads the messages before it.
    Failed,
    /// A summary as readable text.
    Readable(Text<'a>),
    /// A summary that only the provider can read.
    Opaque,
}

impl<'a> ProviderCompaction<'a> {
    /// Reads a block or an item of the type `compaction`.
    pub(super) fn of(block: Json<'a>) -> Self {
        let content = block.get("content").filter(|content| !content.is_falsy());
        let text = content.and_then(|content| content.text());
        if let Some(text) = text.filter(|text| !text.decode().trim().is_empty()) {
            return ProviderCompaction::Readable(text);
        }
        let has = |key: &str| block.get(key).is_some_and(|value| !value.is_falsy());
        let unread = content.is_some() && text.is_none();
        if unread || ["encrypted_content", "provider_details"].into_iter().any(has) {
            ProviderCompaction::Opaque
        } else {
            ProviderCompaction::Failed
        }
    }
}
