//! What became of a conversation, or of those of one file: a line for whoever looks on.

use std::collections::BTreeSet;

use crate::wording::{counted, grouped, readable_source};

/// What a closing line says where a result has no summary.
pub(crate) const NO_SUMMARY: &str = "no summary";

/// What became of the conversations of a file that were changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ending {
    /// The name of the file.
    pub(crate) source: String,
    /// The number of conversations.
    pub(crate) conversations: u64,
    /// Messages before and after.
    pub(crate) messages: (u64, u64),
    /// Tokens before and after.
    pub(crate) tokens: (u64, u64),
    /// What the summaries are from.
    pub(crate) summaries: BTreeSet<String>,
    /// The number of masked secrets, with `--redact=all`.
    pub(crate) masked: u64,
    /// Whether an archive has what was removed.
    pub(crate) is_archived: bool,
}

impl Ending {
    /// Adds another conversation of the file.
    pub(crate) fn join(&mut self, other: &Ending) {
        let sum = |(before, after): (u64, u64), more: (u64, u64)| (before + more.0, after + more.1);
        self.conversations += other.conversations;
        self.messages = sum(self.messages, other.messages);
        self.tokens = sum(self.tokens, other.tokens);
        self.summaries.extend(other.summaries.iter().cloned());
        self.masked += other.masked;
        self.is_archived |= other.is_archived;
    }

    /// Whether messages were removed or shortened, and not only masked.
    pub(crate) fn removes(&self) -> bool {
        self.summaries.iter().any(|from| from != NO_SUMMARY)
    }

    /// Returns it as a sentence; `rest` says where the original is, and how to see it.
    pub(crate) fn sentence(&self, rest: &str) -> String {
        let source = readable_source(&self.source);
        let several = counted(self.conversations, "conversation");
        let several = if self.conversations > 1 { format!("{several}, ") } else { String::new() };
        let (messages, tokens) = (changed(self.messages, "message"), changed(self.tokens, "token"));
        let masked =
            if self.masked > 0 { format!(", {} masked", counted(self.masked, "secret")) } else { String::new() };
        let from = self.summaries.iter().cloned().collect::<Vec<_>>().join(" and ");
        format!("{source}: {several}{messages}, {tokens}{masked}; {from}{rest}")
    }
}

/// Returns a number before and after, with its noun: `62 → 13 messages`, `1 message`.
fn changed((before, after): (u64, u64), noun: &str) -> String {
    let ending = if (before, after) == (1, 1) { "" } else { "s" };
    let was = if before == after { String::new() } else { format!("{} → ", grouped(before)) };
    format!("{was}{} {noun}{ending}", grouped(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_conversation_and_several() {
        let mut ending = Ending {
            source: "chat.json".to_owned(),
            conversations: 1,
            messages: (62, 13),
            tokens: (10_712, 2398),
            summaries: BTreeSet::from(["embedded summary".to_owned()]),
            masked: 0,
            is_archived: false,
        };
        let (one, rest) = (ending.clone(), "; the input is unchanged");
        let told = "chat.json: 62 → 13 messages, 10,712 → 2,398 tokens; embedded summary; the input is unchanged";
        assert_eq!(ending.sentence(rest), told);
        ending.join(&Ending {
            messages: (1, 1),
            summaries: BTreeSet::from(["pruned".to_owned()]),
            masked: 1,
            is_archived: true,
            ..one.clone()
        });
        let told = "chat.json: 2 conversations, 63 → 14 messages, 21,424 → 4,796 tokens, 1 secret masked; embedded summary \
                    and pruned";
        assert_eq!(ending.sentence(""), told);
        assert!(ending.is_archived && ending.removes());
        let masked = Ending {
            source: "-".to_owned(),
            messages: (1, 1),
            tokens: (1, 1),
            summaries: BTreeSet::from([NO_SUMMARY.to_owned()]),
            masked: 2,
            ..one
        };
        assert_eq!(masked.sentence(""), "standard input: 1 message, 1 token, 2 secrets masked; no summary");
        assert!(!masked.removes());
    }
}
