//! The library: it compacts a text into a text, and restores the original.

use std::collections::HashMap;

use serde_json::Value;

use crate::compact::archive::Section;
use crate::compact::context::CompactionContext;
use crate::compact::driver::{Changes, Conversation, Original, conversations, read};
use crate::compact::masks::FileMasks;
use crate::compact::policy::{Accept, CompactionPolicy, Redaction, SummarizerKind};
use crate::compact::record_ids::assign_record_ids;
use crate::exit::Failure;
use crate::hash::sha256;
use crate::plan::Plan;
use crate::rewrite;
use crate::rewrite::restoring::{self, Record};
use crate::rewrite::way_back::without_end;
use crate::summary::exchange::{Bill, NoAnswer, Reply, Request, SummaryBackend};
use crate::transcript::formats::{Format, by_name};
use crate::transcript::framing::{Document, ReadError};
use crate::transcript::source::Source;
use crate::transcript::view::Arena;

/// Compacts the conversations of a text: a list of messages, an object around one, a session file, or one conversation
/// per line, in any format that tcompact reads.
///
/// It reads and writes nothing but the text. The embedded summarizer writes the summaries, unless another is given.
///
/// ```
/// use tcompact_core::{CompactionPolicy, Compactor, Size};
///
/// let text = r#"[
///   {"role": "user", "content": "Which file of this crate has the bug that the tests show, and why does it fail there?"},
///   {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
///   {"role": "tool", "tool_call_id": "a", "content": "src/parse.rs"},
///   {"role": "assistant", "content": "src/parse.rs has it."},
///   {"role": "user", "content": "Fix it, please."}
/// ]"#;
/// let compactor = Compactor::new(CompactionPolicy::keeping(Size::Messages(3)));
///
/// // Where it would be cut: the last three messages begin with a result, so its call is kept with it.
/// let plans = compactor.plan(text)?;
/// assert_eq!((plans[0].wanted, plans[0].cutoff), (2, 1));
///
/// // The kept part is the same, byte for byte.
/// let compacted = compactor.compact(text)?;
/// assert!(compacted.text.len() < text.len() + 200);
/// let tail = &text[text.find(r#"{"role": "assistant", "tool_calls""#).unwrap()..];
/// assert!(compacted.text.ends_with(tail));
///
/// // The original can be restored.
/// assert_eq!(compacted.restore()?, text);
/// # Ok::<(), tcompact_core::Failure>(())
/// ```
pub struct Compactor {
    policy: CompactionPolicy,
    backend: Box<dyn SummaryBackend>,
}

/// A compacted text.
#[derive(Debug, Clone)]
pub struct CompactedText {
    /// The new text, or the same text where nothing was changed.
    pub text: String,
    /// The plan for each conversation.
    pub plans: Vec<Plan>,
    /// A record for each changed conversation, with what it takes to restore it.
    pub records: Vec<Value>,
}

/// A backend that is never asked, as the embedded summarizer needs none.
struct Unasked;

impl SummaryBackend for Unasked {
    fn answer(&self, _: &Request, _: &mut Bill) -> Result<Reply, NoAnswer> {
        Ok(Reply::default())
    }
}

/// A backend that answers with a given summary.
struct Given(String);

impl SummaryBackend for Given {
    fn answer(&self, _: &Request, _: &mut Bill) -> Result<Reply, NoAnswer> {
        Ok(Reply { text: self.0.clone(), ..Reply::default() })
    }
}

impl Compactor {
    /// Returns a compactor for a policy, with the embedded summarizer, or with none where the policy says so.
    pub fn new(mut policy: CompactionPolicy) -> Self {
        if policy.summary.summarizer != SummarizerKind::Off {
            policy.summary.summarizer = SummarizerKind::Embedded;
        }
        Compactor { policy, backend: Box::new(Unasked) }
    }

    /// Uses a given summary for every conversation.
    ///
    /// ```
    /// use tcompact_core::{CompactionPolicy, Compactor, Size};
    ///
    /// let text = r#"[{"role": "user", "content": "My name is Ada, and I like short answers. What is the capital of France?"},
    ///   {"role": "assistant", "content": "Paris."}, {"role": "user", "content": "And of Italy?"}]"#;
    /// let compactor = Compactor::new(CompactionPolicy::keeping(Size::Messages(1))).with_summary("Ada asked about France.");
    /// assert!(compactor.compact(text)?.text.contains("Ada asked about France."));
    /// # Ok::<(), tcompact_core::Failure>(())
    /// ```
    #[must_use]
    pub fn with_summary(mut self, summary: impl Into<String>) -> Self {
        self.policy.summary.accept = Accept::Any;
        self.policy.summary.ledger = 0;
        self.with_summarizer(Given(summary.into()))
    }

    /// Uses a backend that writes the summaries.
    #[must_use]
    pub fn with_summarizer(mut self, backend: impl SummaryBackend + 'static) -> Self {
        self.policy.summary.summarizer = SummarizerKind::Command;
        Compactor { backend: Box::new(backend), ..self }
    }

    /// Plans the compaction of each conversation of a text.
    ///
    /// # Errors
    /// The text is not a transcript.
    pub fn plan(&self, text: &str) -> Result<Vec<Plan>, Failure> {
        let source = Source::of_file(text).map_err(|error| unreadable(&error.into()))?;
        let document = self.read(&source, None)?;
        let mut plans = Vec::new();
        for conversation in conversations(&document, None) {
            let (name, arena) = (name_of(conversation), Arena::default());
            let planned = self.context().plan(conversation, &name, &arena).map_err(failure)?;
            plans.push(planned.fitted.plan);
        }
        Ok(plans)
    }

    /// Compacts each conversation of a text.
    ///
    /// # Errors
    /// The text is not a transcript, or there is no summary for one of its conversations.
    pub fn compact(&self, text: &str) -> Result<CompactedText, Failure> {
        self.compact_from(text, None)
    }

    /// Compacts each conversation of a text in a format that `tcompact list formats` names.
    ///
    /// # Errors
    /// There is no such format, the text is not a transcript of it, or there is no summary for one of its conversations.
    pub fn compact_as(&self, text: &str, format: &str) -> Result<CompactedText, Failure> {
        match by_name(format) {
            Some(known) => self.compact_from(text, Some(known)),
            None => Err(Failure::usage(format!("there is no format {format}"))),
        }
    }

    fn compact_from(&self, text: &str, from: Option<&'static Format>) -> Result<CompactedText, Failure> {
        let source = Source::of_file(text).map_err(|error| unreadable(&error.into()))?;
        let mut document = self.read(&source, from)?;
        assign_record_ids(&mut document, text.as_bytes(), 0);
        if self.policy.redact != Redaction::All {
            return self.compact_document(text, &document, None);
        }
        let masks = FileMasks::new(text, &source, &document);
        if masks.edits.is_empty() {
            return self.compact_document(text, &document, None);
        }
        let masked = rewrite::apply(text, &masks.edits);
        let source = Source::of_file(&masked).map_err(|error| unreadable(&error.into()))?;
        let mut read = self.read(&source, from)?;
        masks.mark(&mut read, &document)?;
        self.compact_document(text, &read, Some(&Original { document: &document, masks: &masks, masked: &masked }))
    }

    /// Compacts the conversations of a document of `text`; with `original`, of the same with its secrets masked.
    fn compact_document(
        &self,
        text: &str,
        document: &Document<'_>,
        original: Option<&Original<'_>>,
    ) -> Result<CompactedText, Failure> {
        let (mut plans, mut changes) = (Vec::new(), Changes::default());
        for conversation in conversations(document, original) {
            let (name, arena) = (name_of(conversation), Arena::default());
            let planned = self.context().plan(conversation, &name, &arena).map_err(failure)?;
            let done = planned.carry_out().into_result().map_err(failure)?;
            plans.push(done.plan.clone());
            changes.add(conversation, &name, done);
        }
        let (edits, archived) = changes.into_contents(original, &self.policy, true, text.as_bytes());
        let mut records = Vec::new();
        for section in archived.sections {
            if let Section::Record(record) = section {
                // It was written as JSON.
                records.extend(serde_json::from_str::<Value>(&record));
            }
        }
        Ok(CompactedText { text: rewrite::apply(text, &edits), plans, records })
    }

    fn read<'a>(&self, source: &'a Source<'a>, from: Option<&'static Format>) -> Result<Document<'a>, Failure> {
        read(source, from, None, &self.policy).map_err(|error| unreadable(&error))
    }

    fn context(&self) -> CompactionContext<'_> {
        let (policy, backend) = (&self.policy, &*self.backend);
        CompactionContext { policy, backend, listen: &|_, _| (), counts: false, counts_savings: false }
    }
}

impl CompactedText {
    /// Restores the original text.
    ///
    /// # Errors
    /// The records do not fit the text.
    pub fn restore(&self) -> Result<String, Failure> {
        restore(&self.text, &self.records)
    }
}

/// Restores a compacted text from its records: the whole text, or each of its lines.
///
/// # Errors
/// The records do not fit the text.
pub fn restore(text: &str, records: &[Value]) -> Result<String, Failure> {
    let mut by_hash: RecordsByHash<'_> = HashMap::new();
    for record in records {
        let Some(hash) = record.get("result_sha256").and_then(Value::as_str) else { continue };
        let line = record.get("line").and_then(Value::as_u64);
        by_hash.entry(hash).or_default().entry(line).or_default().push(record);
    }
    if !records.iter().any(|record| record.get("line").is_some()) {
        return restore_part(text, None, &by_hash);
    }
    let mut lines = String::with_capacity(text.len());
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let content = &line[..without_end(line.as_bytes()).len()];
        lines.push_str(&restore_part(content, Some(index + 1), &by_hash)?);
        lines.push_str(&line[content.len()..]);
    }
    Ok(lines)
}

/// The records of results, by the hash of the result and by the line that they name.
type RecordsByHash<'r> = HashMap<&'r str, HashMap<Option<u64>, Vec<&'r Value>>>;

/// Restores a whole text, or one of its lines. What has no record stays as it is.
fn restore_part(part: &str, line: Option<usize>, by_hash: &RecordsByHash<'_>) -> Result<String, Failure> {
    let hash = sha256(part.as_bytes());
    let Some(by_line) = by_hash.get(&*hash) else { return Ok(part.to_owned()) };
    // Many lines can be equal, so those of one are not parsed for another.
    let own: Vec<&Value> = match line.and_then(|line| by_line.get(&Some(line as u64))) {
        Some(named) => named.clone(),
        None => by_line.values().flatten().copied().collect(),
    };
    let mut parsed: Vec<Record> = Vec::with_capacity(own.len());
    for record in own {
        match Record::read(record.to_string().as_bytes()) {
            Ok(record) => parsed.push(record),
            Err(error) => {
                let what = format!("a record is not as tcompact writes them ({error})");
                return Err(Failure::unreadable(what));
            }
        }
    }
    match restoring::restore_original(part.as_bytes(), line, parsed) {
        Ok(original) => String::from_utf8(original).map_err(|_| Failure::unreadable("the original is not UTF-8")),
        Err(why) => Err(Failure::unreadable(why.to_string())),
    }
}

/// The name of a conversation in errors and records.
fn name_of(conversation: Conversation<'_>) -> String {
    format!("conversation {}", conversation.index)
}

fn unreadable(error: &ReadError) -> Failure {
    Failure::unreadable(format!("the text {error}"))
}

fn failure(error: anyhow::Error) -> Failure {
    error.downcast().unwrap_or_else(|error| Failure::unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::policy::Pruning;
    use crate::exit::Exit;
    use crate::plan::size::Size;

    const LONG: &str = r#"{"messages":[{"role":"user","content":"Which of the files of this crate has the bug that all of the tests show since yesterday?"},{"role":"user","content":"Fix it."}]}"#;
    const SHORT: &str = r#"{"messages":[{"role":"user","content":"Fix it."}]}"#;

    fn compactor() -> Compactor {
        Compactor::new(CompactionPolicy::keeping(Size::Messages(1))).with_summary("A bug.")
    }

    #[test]
    fn each_line_comes_back() {
        let text = format!("{LONG}\n{SHORT}\n{LONG}\n");
        let compacted = compactor().compact(&text).expect("transcripts");
        assert_eq!(compacted.text.lines().nth(1), Some(SHORT));
        assert_eq!((compacted.plans.len(), compacted.records.len()), (3, 2));
        assert_eq!(compacted.text.matches("A bug.").count(), 2);
        assert_eq!(compacted.restore().expect("its records"), text);
    }

    #[test]
    fn all_secrets_are_masked_and_come_back() {
        let token = format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3));
        let text = format!("{}\n{SHORT}\n", SHORT.replace("Fix it.", &format!("Push with {token}.")));
        let mut policy = CompactionPolicy::keeping(Size::Messages(9));
        policy.redact = Redaction::All;
        let masked = Compactor::new(policy).compact(&text).expect("transcripts");
        assert!(
            masked.text.contains("Push with [github-token-1].") && !masked.text.contains(&token),
            "{}",
            masked.text
        );
        assert_eq!((masked.records.len(), masked.restore().expect("its records")), (1, text));
    }

    #[test]
    fn what_needs_nothing_stays() {
        let compacted = compactor().compact(SHORT).expect("a transcript");
        assert_eq!((compacted.text.as_str(), compacted.records.len()), (SHORT, 0));
        assert_eq!(compacted.restore().expect("nothing to do"), SHORT);
    }

    #[test]
    fn a_format_can_be_named() {
        let named = compactor().compact_as(LONG, "openai-chat").expect("a transcript");
        assert_eq!(named.text, compactor().compact(LONG).expect("a transcript").text);
        let failure = compactor().compact_as(LONG, "openai-chatter").expect_err("no format");
        assert_eq!((failure.exit, failure.to_string().as_str()), (Exit::Usage, "there is no format openai-chatter"));
    }

    #[test]
    fn rules_of_pruning_are_those_of_the_flag() {
        let call = r#"{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#;
        let result =
            format!(r#"{{"role":"tool","tool_call_id":"a","content":"{}"}}"#, "a file and a folder, ".repeat(400));
        let text =
            format!(r#"[{{"role":"user","content":"List."}},{call},{result},{{"role":"user","content":"Go on."}}]"#);
        let mut policy = CompactionPolicy::keeping(Size::Messages(4));
        policy.pruning = Pruning::new(&["cap:100"]).expect("a rule");
        policy.fit = Some(Size::Tokens(1_000));
        let compacted = Compactor::new(policy).compact(&text).expect("a transcript");
        assert!(compacted.text.len() < text.len() / 2 && compacted.text.contains("Go on."), "{}", compacted.text);
        assert_eq!(compacted.restore().expect("its records"), text);
        assert!(Pruning::new(&["everything"]).is_err());
    }

    #[test]
    fn a_summarizer_that_fails_is_an_error() {
        struct Silent;
        impl SummaryBackend for Silent {
            fn answer(&self, _: &Request, _: &mut Bill) -> Result<Reply, NoAnswer> {
                Err(NoAnswer::new(crate::summary::exchange::FailureKind::Odd, "it has no answer".to_owned()))
            }
        }
        let error = compactor().with_summarizer(Silent).compact(LONG).expect_err("there is no summary");
        assert!(error.to_string().contains("it has no answer"), "{error}");
        assert!(compactor().compact("7").is_err_and(|error| error.to_string().contains("a number")));
    }

    #[test]
    fn records_that_do_not_fit_are_refused() {
        let compacted = compactor().compact(LONG).expect("a transcript");
        let mut records = compacted.records.clone();
        records[0]["original_sha256"] = "0".into();
        assert!(restore(&compacted.text, &records).is_err());
        assert_eq!(restore(SHORT, &compacted.records).expect("none of them is of it"), SHORT);
    }
}
