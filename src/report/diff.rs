//! The text of `--diff`: like a unified diff, but of messages instead of lines.

mod repair;

use std::borrow::Cow;
use std::collections::BTreeMap;

use clap::builder::styling::{AnsiColor, Style};
use serde_json::Value;

use crate::plan::Plan;
use crate::prune::Pruned;
use crate::rewrite::{Edit, Placed, edited};
use crate::sanitize::{sanitize, sanitize_line};
use crate::tokens::Tally;
use crate::transcript::formats::read_entry;
use crate::transcript::{Message, Transcript};
use crate::wording::{counted, counted_and, readable_source};

use crate::report::columns::fitted;
use crate::report::{brief, by_kind};

pub(crate) use repair::RepairDiff;

const HEADER: Style = Style::new().bold();
const HUNK: Style = AnsiColor::Cyan.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const ADDED: Style = AnsiColor::Green.on_default();

/// Unchanged messages that are shown on each side of a change.
const CONTEXT: usize = 1;
/// The most columns of a line of a message.
const COLUMNS: usize = 100;

/// How a message is shown.
#[derive(Debug, Clone)]
struct MessageStyle {
    style: Style,
    sign: &'static str,
    /// A note behind its size.
    note: Cow<'static, str>,
    /// How many lines of its text are shown, about.
    lines: usize,
}

const REMOVED_MESSAGE: MessageStyle = MessageStyle { style: REMOVED, sign: "-", note: Cow::Borrowed(""), lines: 3 };
const SHORTENED_MESSAGE: MessageStyle =
    MessageStyle { style: ADDED, sign: "+", note: Cow::Borrowed(", shortened"), lines: 3 };
const KEPT_MESSAGE: MessageStyle = MessageStyle { style: Style::new(), sign: " ", note: Cow::Borrowed(""), lines: 1 };

/// The contents of a diff.
pub(crate) struct Diff<'d, 'a> {
    /// The name of the conversation.
    pub(crate) source: &'d str,
    /// The conversation before the compaction.
    pub(crate) transcript: &'d Transcript<'a>,
    /// The conversation before and after with its secrets masked, with `--redact`.
    pub(crate) masked: Option<(&'d Transcript<'d>, &'d Transcript<'d>)>,
    /// The sizes of its messages.
    pub(crate) tally: &'d Tally<'d, 'a>,
    pub(crate) plan: &'d Plan,
    pub(crate) summary: Option<&'d Placed>,
    /// The edits of messages that stay, in order.
    pub(crate) edits: &'d [Edit],
    /// The effect of the rules of `--prune`.
    pub(crate) pruned: &'d Pruned,
    /// How many places of each kind were masked before all else, with `--redact=all`.
    pub(crate) masked_secrets: Option<&'d BTreeMap<&'static str, u64>>,
}

/// A step from the old messages to the new ones.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DiffStep {
    /// A message is removed.
    Remove(usize),
    /// A message is added, with its index in the conversation after.
    Add(usize),
    /// A message stays unchanged.
    Keep(usize),
    /// A pinned message before the cut stays.
    Pinned(usize),
    /// A message stays with this text.
    Change(usize, String),
    /// The summary is added, as so many messages.
    Summary(usize),
}

impl DiffStep {
    fn is_change(&self) -> bool {
        !matches!(self, DiffStep::Keep(_) | DiffStep::Pinned(_))
    }

    /// The number of messages before and after.
    fn lengths(&self) -> (usize, usize) {
        match self {
            DiffStep::Remove(_) => (1, 0),
            DiffStep::Add(_) => (0, 1),
            DiffStep::Summary(messages) => (0, *messages),
            _ => (1, 1),
        }
    }
}

/// What a diff draws: the steps from the messages before to those after, in hunks of changes and their neighbours.
trait Steps {
    /// A note on the steps of a hunk, behind their numbers.
    fn note(&self, hunk: &[DiffStep]) -> String;

    fn step(&self, step: &DiffStep, out: &mut String);

    /// Draws the steps of the conversation `source`, with their colours; nothing where nothing is changed. `result`
    /// says what happened to the conversation.
    fn draw_steps(&self, source: &str, result: &str, steps: &[DiffStep]) -> String {
        if !steps.iter().any(DiffStep::is_change) {
            return String::new();
        }
        let mut out = header(source, result);
        let (mut old, mut new, mut at) = (0, 0, 0);
        while at < steps.len() {
            if !is_shown(steps, at) {
                let (before, after) = steps[at].lengths();
                (old, new, at) = (old + before, new + after, at + 1);
                continue;
            }
            let end = (at..steps.len()).find(|at| !is_shown(steps, *at)).unwrap_or(steps.len());
            let hunk = &steps[at..end];
            let (before, after) = lengths_of(hunk);
            push(&mut out, HUNK, "@@", &format!(" -{old},{before} +{new},{after} @@{}", self.note(hunk)));
            for step in hunk {
                self.step(step, &mut out);
            }
            (old, new, at) = (old + before, new + after, end);
        }
        out
    }
}

/// Whether a step is a part of a hunk: it is near a change, or about a pinned message.
fn is_shown(steps: &[DiffStep], at: usize) -> bool {
    let around = at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(steps.len());
    matches!(steps[at], DiffStep::Pinned(_)) || steps[around].iter().any(DiffStep::is_change)
}

/// The number of messages before and after some steps.
fn lengths_of(steps: &[DiffStep]) -> (usize, usize) {
    let (mut before, mut after) = (0, 0);
    for step in steps {
        let (old, new) = step.lengths();
        before += old;
        after += new;
    }
    (before, after)
}

/// Draws the header of the conversation `source`.
fn header(source: &str, result: &str) -> String {
    let mut out = String::new();
    let source = sanitize_line(&readable_source(source));
    push(&mut out, HEADER, "---", &format!(" {source}"));
    push(&mut out, HEADER, "+++", &format!(" {source}, {result}"));
    out
}

impl Diff<'_, '_> {
    /// Draws the diff, with its colours; nothing where nothing was changed.
    pub(crate) fn draw(&self) -> String {
        let mut out = self.draw_steps(self.source, "compacted", &self.steps());
        if let Some(secrets) = self.masked_secrets {
            if out.is_empty() {
                out = header(self.source, "compacted");
            }
            let masked = counted(secrets.values().sum::<u64>(), "secret");
            push(&mut out, HUNK, "@@", &format!(" {masked} masked ({}) @@", by_kind(secrets)));
        }
        out
    }

    fn steps(&self) -> Vec<DiffStep> {
        let Diff { transcript, plan, .. } = self;
        let next = plan.pinned.get(plan.before_summary).copied().unwrap_or(plan.cutoff);
        let summary = match self.summary {
            Some(Placed::Messages(entries)) => Some(DiffStep::Summary(self.written(entries).len())),
            Some(Placed::Beside(_)) => Some(DiffStep::Summary(0)),
            None => None,
        };
        let mut steps = Vec::new();
        for (index, message) in transcript.messages.iter().enumerate() {
            if index == next {
                steps.extend(summary.clone());
            }
            let pinned = plan.pinned.binary_search(&index).is_ok();
            steps.push(match edited(transcript, index, self.edits) {
                _ if summary.is_some() && index < plan.cutoff && !pinned => DiffStep::Remove(index),
                _ if plan.emptied.binary_search(&index).is_ok() => DiffStep::Remove(index),
                text if text != message.json.raw() => DiffStep::Change(index, text),
                _ if pinned => DiffStep::Pinned(index),
                _ => DiffStep::Keep(index),
            });
        }
        if next >= transcript.messages.len() {
            steps.extend(summary);
        }
        steps
    }

    /// The look of a shortened message, with the rules that shortened it.
    fn shortened(&self, index: usize) -> MessageStyle {
        let rules: Vec<&str> = self.pruned.rules(index).collect();
        if rules.is_empty() {
            return SHORTENED_MESSAGE;
        }
        MessageStyle { note: format!(", shortened by {}", rules.join(", ")).into(), ..SHORTENED_MESSAGE }
    }

    /// The look of a removed message, with the rules where these removed it.
    fn removed(&self, index: usize) -> MessageStyle {
        let rules: Vec<&str> = self.pruned.rules(index).collect();
        if rules.is_empty() || self.plan.emptied.binary_search(&index).is_err() {
            return REMOVED_MESSAGE;
        }
        MessageStyle { note: format!(", removed by {}", rules.join(", ")).into(), ..REMOVED_MESSAGE }
    }

    /// Draws a message of the conversation before.
    fn old(&self, index: usize, look: MessageStyle, out: &mut String) {
        let carried = self.plan.carried == Some(index);
        let look = if carried { MessageStyle { note: ", carried on by the summary".into(), ..look } } else { look };
        let message = &self.transcript.messages[index];
        let shown = self.masked.map_or(message, |(before, _)| &before.messages[index]);
        draw_message(index, self.tally.message(index), shown, look, out);
    }

    /// The entries that are messages. Others are for the program of the session.
    fn written(&self, entries: &[Value]) -> Vec<String> {
        let mut written = Vec::new();
        for entry in entries {
            let entry = entry.to_string();
            if read_entry(self.transcript.format, &entry, |_| ()).is_some() {
                written.push(entry);
            }
        }
        written
    }

    fn summary(&self, out: &mut String) {
        match self.summary {
            Some(Placed::Messages(entries)) => {
                for written in self.written(entries) {
                    read_entry(self.transcript.format, &written, |message| {
                        let tokens = counted(self.tally.message_counter().count(message), "token");
                        push(out, ADDED, "+", &format!("[summary] {}, {tokens}", brief::role(message)));
                        draw_added(&brief::text(message), out);
                    });
                }
            }
            Some(Placed::Beside(text)) => {
                push(out, ADDED, "+", "[summary] beside the messages");
                draw_added(text, out);
            }
            None => {}
        }
    }
}

impl Steps for Diff<'_, '_> {
    fn note(&self, hunk: &[DiffStep]) -> String {
        let (mut messages, mut tokens) = (0_u64, 0);
        for step in hunk {
            if let DiffStep::Remove(index) = step {
                messages += 1;
                tokens += self.tally.message(*index);
            }
        }
        if messages == 0 {
            return String::new();
        }
        format!(" {} ({})", counted_and(messages, "message", ["goes", "go"]), counted(tokens, "token"))
    }

    fn step(&self, step: &DiffStep, out: &mut String) {
        match step {
            DiffStep::Remove(index) => self.old(*index, self.removed(*index), out),
            DiffStep::Keep(index) => self.old(*index, KEPT_MESSAGE, out),
            DiffStep::Pinned(index) => self.old(*index, MessageStyle { note: ", pinned".into(), ..KEPT_MESSAGE }, out),
            DiffStep::Change(index, text) => {
                self.old(*index, REMOVED_MESSAGE, out);
                read_entry(self.transcript.format, text, |message| {
                    let shown = self.masked.map_or(message, |(_, after)| &after.messages[*index]);
                    let tokens = self.tally.edited(*index, message);
                    draw_message(*index, tokens, shown, self.shortened(*index), out);
                });
            }
            DiffStep::Summary(_) => self.summary(out),
            // Only a repair adds messages.
            DiffStep::Add(_) => {}
        }
    }
}

/// Draws a message: its role, its size in tokens and the beginning of its text.
fn draw_message(index: usize, tokens: u64, message: &Message<'_>, look: MessageStyle, out: &mut String) {
    let mut add = |text: &str| push(out, look.style, look.sign, text);
    add(&format!("[{index}] {}, {}{}", brief::role(message), counted(tokens, "token"), look.note));
    for call in brief::calls(message, COLUMNS) {
        add(&format!("    {call}"));
    }
    let text = brief::text(message);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    // A single line more takes no more room than the note of it.
    let shown = if lines.len() <= look.lines + 1 { lines.len() } else { look.lines };
    for line in &lines[..shown] {
        add(&format!("    {}", fitted(line, COLUMNS)));
    }
    if shown < lines.len() {
        add(&format!("    … and {} more", counted((lines.len() - shown) as u64, "line")));
    }
    for other in brief::others(message) {
        add(&format!("    {other}"));
    }
}

/// Draws a whole text that is added.
fn draw_added(text: &str, out: &mut String) {
    for line in text.lines() {
        push(out, ADDED, "+", format!("    {}", sanitize(line)).trim_end());
    }
}

/// Appends a line with its sign in a style.
fn push(out: &mut String, style: Style, sign: &str, text: &str) {
    out.push_str(&format!("{style}{sign}{text}{style:#}\n"));
}
#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use serde_json::json;

    use super::*;
    use crate::tokens::Counter;
    use crate::transcript::framing::read_for_test as read;

    const SOURCE: &str = r#"[
        {"role":"system","content":"Rules."},
        {"role":"user","content":"one\n\ntwo\u001b[31m\nthree\nfour\nfive"},
        {"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"look","arguments":"{\"at\":\"日本語\"}"}}]},
        {"role":"tool","tool_call_id":"a","content":"here"},
        {"role":"user","content":"Keep this."},
        {"role":"user","content":"Not this."},
        {"role":"assistant","content":"Fine."},
        {"role":"user","content":"Next.\nAnd after that.\nAnd then."},
        {"role":"assistant","content":"Last."}
    ]"#;

    fn diff(plan: &Plan, summary: Option<&Placed>, shortened: Option<usize>) -> String {
        let document = read(SOURCE, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        let edit = |index: usize| {
            let start = transcript.messages[index].span().start
                + SOURCE[transcript.messages[index].span().start..].find("at").expect("an argument");
            Edit { range: start..start + "at".len(), text: "@".to_owned() }
        };
        let edits: Vec<Edit> = shortened.map(edit).into_iter().collect();
        let (edits, pruned) = (edits.as_slice(), &Pruned::default());
        let tally = &Tally::new(Counter::APPROX, &transcript.messages);
        Diff { source: "a.json", transcript, masked: None, tally, plan, summary, edits, pruned, masked_secrets: None }
            .draw()
    }

    fn plain(text: &str) -> String {
        strip_str(text).to_string()
    }

    #[test]
    fn a_diff_shows_removed_and_added_messages() {
        let plan = Plan { cutoff: 6, pinned: vec![0, 4], before_summary: 2, ..Plan::default() };
        let summary = Placed::Messages(vec![json!({"role": "user", "content": "So far:\n\n\ta\u{1b}[2J"})]);
        let coloured = diff(&plan, Some(&summary), None);
        assert_eq!(
            plain(&coloured),
            "\
--- a.json
+++ a.json, compacted
@@ -0,7 +0,4 @@ 4 messages go (49 tokens)
 [0] system, 6 tokens, pinned
     Rules.
-[1] user, 12 tokens
-    one
-    two[31m
-    three
-    … and 2 lines more
-[2] assistant, 24 tokens
-    → look {\"at\":\"日本語\"}
-[3] tool, 6 tokens
-    here
 [4] user, 7 tokens, pinned
     Keep this.
-[5] user, 7 tokens
-    Not this.
+[summary] user, 8 tokens
+    So far:
+
+    \ta[2J
 [6] assistant, 7 tokens
     Fine.
"
        );
        for colour in ["\u{1b}[1m--- a.json", "\u{1b}[36m@@", "\u{1b}[31m-[1]", "\u{1b}[32m+[summary]"] {
            assert!(coloured.contains(colour), "{coloured:?} has {colour:?}");
        }
    }

    #[test]
    fn a_change_in_what_stays_is_a_hunk_of_its_own() {
        let plan = Plan { cutoff: 0, ..Plan::default() };
        let text = "\
--- a.json
+++ a.json, compacted
@@ -1,3 +1,3 @@
 [1] user, 12 tokens
     one
     … and 4 lines more
-[2] assistant, 24 tokens
-    → look {\"at\":\"日本語\"}
+[2] assistant, 24 tokens, shortened
+    → look {\"@\":\"日本語\"}
 [3] tool, 6 tokens
     here
";
        assert_eq!(plain(&diff(&plan, None, Some(2))), text);
        assert_eq!(diff(&plan, None, None), "");
    }

    #[test]
    fn a_summary_may_stand_first_last_or_beside() {
        let beside = Placed::Beside("So far.".to_owned());
        let first = Plan { cutoff: 2, pinned: vec![0], before_summary: 0, ..Plan::default() };
        let first = plain(&diff(&first, Some(&beside), None));
        assert!(
            first.contains(
                "@@ -0,3 +0,2 @@ 1 message goes (12 tokens)\n+[summary] beside the messages\n+    So far.\n [0] system"
            ),
            "{first}"
        );
        let last = Plan { cutoff: 9, ..Plan::default() };
        assert!(
            plain(&diff(&last, Some(&beside), None))
                .ends_with("-    Last.\n+[summary] beside the messages\n+    So far.\n")
        );
    }
}
