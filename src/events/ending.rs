//! What became of a conversation, or of those of one file: a line for whoever looks on.
//!
//! Also: why conversations stayed unchanged.

use std::collections::{BTreeMap, BTreeSet};

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
        self.conversations += other.conversations;
        self.messages.0 += other.messages.0;
        self.messages.1 += other.messages.1;
        self.tokens.0 += other.tokens.0;
        self.tokens.1 += other.tokens.1;
        self.summaries.extend(other.summaries.iter().cloned());
        self.masked += other.masked;
        self.is_archived |= other.is_archived;
    }

    /// Whether messages were removed or shortened, and not only masked.
    pub(crate) fn removes(&self) -> bool {
        self.summaries.iter().any(|from| from != NO_SUMMARY)
    }

    /// `rest` says where the original is, and how to see it.
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

/// The most reasons that are counted: a reason can hold numbers that only one conversation has.
const MOST: usize = 16;

/// The unchanged conversations of a run whose reason no event has reported.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct UnchangedReasons {
    conversations: u64,
    /// The name of a single conversation, and what to try.
    only: Option<(String, Option<String>)>,
    reasons: BTreeMap<String, u64>,
}

impl UnchangedReasons {
    /// Adds a conversation.
    pub(crate) fn add(&mut self, source: &str, reason: &str, advice: Option<String>) {
        self.only = (self.conversations == 0).then(|| (source.to_owned(), advice));
        self.conversations += 1;
        self.count(reason, 1);
    }

    /// Adds the conversations of another part of the run.
    pub(crate) fn join(&mut self, other: &UnchangedReasons) {
        if other.conversations > 0 {
            self.only = other.only.clone().filter(|_| self.conversations == 0);
        }
        self.conversations += other.conversations;
        for (reason, count) in &other.reasons {
            self.count(reason, *count);
        }
    }

    fn count(&mut self, reason: &str, conversations: u64) {
        if self.reasons.len() < MOST || self.reasons.contains_key(reason) {
            *self.reasons.entry(reason.to_owned()).or_default() += conversations;
        }
    }

    /// What to try if only one conversation is unchanged, without the reason; nothing if there is no advice.
    pub(crate) fn advice(&self) -> Option<String> {
        let (source, advice) = self.only.as_ref()?;
        advice.as_ref().map(|flag| format!("{}: try {flag}", readable_source(source)))
    }

    /// Whether it is one conversation.
    pub(crate) fn is_one(&self) -> bool {
        self.only.is_some()
    }

    /// The reason of a single conversation, or the most frequent reason; nothing if there is none.
    pub(crate) fn sentence(&self) -> Option<String> {
        let (reason, count) = self.reasons.iter().rev().max_by_key(|(_, count)| **count)?;
        Some(match &self.only {
            Some((source, advice)) => {
                let advice = advice.as_ref().map(|flag| format!("; try {flag}")).unwrap_or_default();
                format!("{}: unchanged: {reason}{advice}", readable_source(source))
            }
            None if *count == self.conversations => {
                format!("{} unchanged: {reason}", counted(self.conversations, "conversation"))
            }
            None => {
                let all = counted(self.conversations, "conversation");
                format!("{all} unchanged, {count} of them since {reason}; -v reports each")
            }
        })
    }
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

#[cfg(test)]
mod reason_tests {
    use super::*;

    #[test]
    fn one_conversation_by_name_and_several_by_their_most_frequent_reason() {
        let mut reasons = UnchangedReasons::default();
        assert_eq!(reasons.sentence(), None);
        reasons.add("-", "it is short", Some("--fit tokens:2k".to_owned()));
        assert_eq!(reasons.sentence().as_deref(), Some("standard input: unchanged: it is short; try --fit tokens:2k"));
        let mut all = UnchangedReasons::default();
        all.join(&reasons);
        assert_eq!(all, reasons);
        all.join(&reasons);
        all.join(&UnchangedReasons::default());
        assert_eq!(all.sentence().as_deref(), Some("2 conversations unchanged: it is short"));
        all.add("b", "it is empty", None);
        let sentence = "3 conversations unchanged, 2 of them since it is short; -v reports each";
        assert_eq!(all.sentence().as_deref(), Some(sentence));
    }
}
