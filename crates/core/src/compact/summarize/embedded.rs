//! The embedded summarizer, within the size that a summary can have.

use std::borrow::Cow;

use crate::compact::message::LEAST_SUMMARY;
use crate::compact::policy::Accept;
use crate::compact::summarize::Summarization;
use crate::compact::summarize::on_error::NoSummary;
use crate::digest::{self, Digest};
use crate::fault::{self, ProgramPart};
use crate::plan::Rules;
use crate::summary::acceptance::{self, Refusal};
use crate::summary::exchange::Reply;
use crate::transcript::{Message, fence};

/// A summary for which there is no room.
const LEFT_OUT: &str = "…";
/// The size of a history in whose summary the user's words come before all else, in tokens.
const SMALL: u64 = 1_000;
/// The room of a summary, in tokens, where any size is accepted: a few words have room there under their headings.
const FEW_WORDS: u64 = 200;

impl Summarization<'_, '_> {
    /// The embedded summarizer's text.
    ///
    /// # Errors
    /// It would save too little; not even one character is small enough; or the embedded summarizer has a fault.
    pub(super) fn extractive<'s>(&'s self, sent: Vec<&'s Message<'s>>) -> Result<Reply, NoSummary> {
        match &self.fitted.draft {
            Some(draft) => Ok(Reply { text: draft.clone(), ..Reply::default() }),
            None => fault::caught(ProgramPart::Extractive, || self.extract(sent))?,
        }
    }

    fn extract<'s>(&'s self, sent: Vec<&'s Message<'s>>) -> Result<Reply, NoSummary> {
        let prefix = &self.policy.cut.summary_prefix;
        let lacking = match self.summarized.last() {
            Some(&last) if sent.is_empty() => Some(last),
            _ => self.too_large_last(),
        };
        let mut indices = self.indices_of(&sent);
        let mut messages = sent;
        if let Some(earlier) = self.earlier_message {
            messages.insert(0, earlier);
            // An earlier summary beside the messages has no index of its own.
            indices.to_mut().insert(0, 0);
        }
        if let Some(last) = lacking {
            messages.push(&self.history.messages[last]);
            indices.to_mut().push(last);
        }
        // The words around a summary are part of its size, but a few must be left for the summary itself. They are
        // counted once.
        let around = self.message_tokens("");
        let fit = self.fitted.fit.map(|fit| fit.limit);
        let size = self.policy.summary.embedded_tokens(self.replaced_tokens(), self.earlier_digest_tokens(), fit);
        let allowed = size.max(around + LEAST_SUMMARY);
        let few_words = (around + FEW_WORDS).min(allowed);
        let most = self.most_embedded(few_words).min(allowed);
        let digest = digest::read(&messages, &indices, prefix);
        let mut digest = digest.focused_on(self.policy.summary.focus.as_deref().unwrap_or_default());
        if self.fitted.fit.is_some() || self.replaced_tokens() < SMALL {
            digest = digest.preferring_user();
        }
        let mut text = self.write_within(&digest, most, around);
        if text.trim_end().is_empty() && self.takes_any() {
            text = self.write_within(&digest, few_words, around);
        }
        if self.must_save() && most < allowed {
            let whole = self.write_within(&digest, allowed, around);
            let (summary, replaced) = (self.message_tokens(&whole), self.replaced_tokens());
            // What the user said is worth more than a few tokens.
            if left_out(&text) > left_out(&whole) {
                acceptance::judge_saving(summary, replaced)?;
            }
        }
        // A plan of `--fit` counts on a summary of one character at least: the mark of what is left out.
        if text.trim_end().is_empty() && self.fitted.fit.is_some() && self.message_tokens(LEFT_OUT) <= most {
            return Ok(Reply { text: LEFT_OUT.to_owned(), ..Reply::default() });
        }
        match text.trim_end() {
            "" => Err(Refusal::Empty.into()),
            text => Ok(Reply { text: text.to_owned(), ..Reply::default() }),
        }
    }

    /// The tokens of the digest of ours that the summary replaces; 0 where it replaces none.
    fn earlier_digest_tokens(&self) -> u64 {
        let counter = self.tally.counter();
        let mut most = 0;
        for index in self.fitted.plan.superseded() {
            let message = &self.history.messages[index];
            if message.is_ours() {
                most = most.max(counter.count(message));
            }
        }
        most
    }

    /// The most tokens of a summary's message, which is smaller than what it replaces. In presets of systems that take
    /// any size, few words have all the room that they need.
    fn most_embedded(&self, few_words: u64) -> u64 {
        if self.must_save() {
            return acceptance::most_worthwhile(self.replaced_tokens());
        }
        let is_foreign = self.policy.cut.rules != Rules::OWN;
        self.most_tokens().max(if self.takes_any() && is_foreign { few_words } else { 0 })
    }

    /// Whether a summary may have any size.
    fn takes_any(&self) -> bool {
        self.policy.summary.accept == Accept::Any && self.fitted.fit.is_none()
    }

    /// Writes a digest whose message has at most `most` tokens. The words around a short one have `around`; a longer one
    /// gets a note, too.
    fn write_within(&self, digest: &Digest<'_>, most: u64, around: u64) -> String {
        let counter = self.tally.counter();
        let sample = "a long summary ".repeat(fence::MIN_WITH_NOTE / 10);
        let around_long = self.message_tokens(&sample).saturating_sub(counter.count_text(&sample)).max(around);
        let fits = |text: &str| self.message_tokens(text) <= most;
        let mut text = digest.write(counter, most.saturating_sub(around_long).max(1), fits);
        if text.len() < fence::MIN_WITH_NOTE {
            let short = digest.write(counter, most.saturating_sub(around).max(1), fits);
            if told_bytes(&short) > told_bytes(&text) {
                text = short;
            }
        }
        if !fits(&text) {
            text.clear();
        }
        text
    }

    /// The indices in the input of the messages that the summarizer is sent. The oldest can be a shortened copy.
    fn indices_of(&self, sent: &[&Message<'_>]) -> Cow<'_, [usize]> {
        if sent.len() == self.summarized.len() {
            return Cow::Borrowed(&self.summarized);
        }
        let mut end = self.summarized.len();
        let mut indices: Vec<usize> = Vec::with_capacity(sent.len());
        for message in sent.iter().rev() {
            let mut before = self.summarized[..end].iter();
            let place = before.rposition(|&index| std::ptr::eq::<Message<'_>>(*message, &self.history.messages[index]));
            end = place.unwrap_or(end.saturating_sub(1));
            indices.extend(self.summarized.get(end));
        }
        indices.reverse();
        indices.into()
    }
}

/// The bytes of a digest without the lines that count what it leaves out.
fn told_bytes(digest: &str) -> usize {
    digest.lines().filter(|line| !line.starts_with("- Left out: ")).map(str::len).sum()
}

/// How many messages of the user and lines of an earlier summary a digest says that it leaves out.
fn left_out(digest: &str) -> u64 {
    let mut sum: u64 = 0;
    for line in digest.lines() {
        let Some((count, what)) = line.strip_prefix("- Left out: ").and_then(|rest| rest.split_once(' ')) else {
            continue;
        };
        if what.contains(" of the user") || what.contains(" of an earlier summary") {
            sum = sum.saturating_add(count.parse().unwrap_or(0));
        }
    }
    sum
}
