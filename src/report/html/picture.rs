//! The picture of a conversation as a list to click through: the rows of `--explain`, each with its messages.
//!
//! The picture for terminals decides which rows there are, and the status of each message.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

use crate::report::brief;
use crate::report::explain::{CutMark, MessageStatus, Picture, PictureRow, StatusSum, Tie};
use crate::transcript::{Message, Transcript};
use crate::wording::{counted, grouped, grouped_and_counted};

use crate::report::html::escape::{block, escaped};

const MOST_ROWS: usize = 120;
/// The most messages of a run that can be opened: at its beginning, and at its end.
const OF_RUN: (usize, usize) = (16, 4);
/// The most characters of all texts together, about, and the range of that limit for one text.
const ALL_TEXTS: usize = 400_000;
const TEXT: Range<usize> = 240..8_000;
/// The columns of a message in its row.
const LINE: usize = 140;

/// A conversation to draw; with `--redact`, its secrets are masked.
pub(crate) struct Shown<'s, 'a> {
    /// The conversation before, its sizes and its plan.
    pub(crate) picture: Picture<'s, 'a>,
    /// The same messages after the edits of those that stay.
    pub(crate) after: &'s Transcript<'a>,
    /// The name of the conversation, from which its unique anchors are derived.
    pub(crate) anchor: &'s str,
}

/// The class for the line at the side of a row that ties it to its neighbours.
fn tie_class(tie: Tie) -> &'static str {
    match tie {
        Tie::Alone => "",
        Tie::Inside => "tie-run",
        Tie::First => "tie-first",
        Tie::Middle | Tie::Passed => "tie-middle",
        Tie::Last => "tie-last",
    }
}

/// The anchor of a message of a conversation.
pub(super) fn anchor(conversation: &str, index: usize) -> String {
    format!("c{}-{index}", &crate::hash::sha256(conversation.as_bytes())[..10])
}

/// The messages of a row that can be opened.
fn openable(messages: &Range<usize>) -> (Range<usize>, Range<usize>) {
    if messages.len() <= OF_RUN.0 + OF_RUN.1 {
        (messages.clone(), messages.end..messages.end)
    } else {
        (messages.start..messages.start + OF_RUN.0, messages.end - OF_RUN.1..messages.end)
    }
}

/// Draws the list and the legend below it.
pub(crate) fn picture(shown: &Shown<'_, '_>) -> String {
    let whole = shown.picture.whole_cuts();
    let rows = shown.picture.rows(MOST_ROWS, &whole);
    if rows.is_empty() {
        return "<p>There are no messages.</p>\n".to_owned();
    }
    let list = PictureList { shown, whole, longest: longest(&rows), most: most_of_a_text(shown, &rows) };
    let mut out = "<p class=\"hint\">A row opens with a click, or with Enter.</p>\n<ol class=\"picture\">\n".to_owned();
    for row in &rows {
        list.lines_at(row.messages.start, &mut out);
        list.row(row, &mut out);
    }
    list.lines_at(shown.picture.transcript.messages.len(), &mut out);
    out.push_str("</ol>\n");
    list.legend(&mut out);
    out
}

fn longest(rows: &[PictureRow]) -> u64 {
    rows.iter().map(|row| row.sizes.iter().sum()).max().unwrap_or(0).max(1)
}

/// The most characters of a text, so that a browser can show all texts together.
fn most_of_a_text(shown: &Shown<'_, '_>, rows: &[PictureRow]) -> usize {
    let messages = rows.iter().flat_map(|row| {
        let (first, last) = openable(&row.messages);
        first.chain(last)
    });
    let texts = messages.map(|index| texts(&shown.picture.transcript.messages[index]));
    let lengths: Vec<usize> =
        texts.flat_map(|texts| texts.into_iter().map(|(_, text)| text.chars().count()).collect::<Vec<_>>()).collect();
    let fits = |most: usize| lengths.iter().map(|length| most.min(*length)).sum::<usize>() <= ALL_TEXTS;
    // Reducing it in steps is near enough.
    let mut most = TEXT.end;
    while most > TEXT.start && !fits(most) {
        most = most / 4 * 3;
    }
    most.max(TEXT.start)
}

/// The texts of a message, each with a label where it is a call.
fn texts<'m>(message: &'m Message<'_>) -> Vec<(Option<String>, Cow<'m, str>)> {
    let mut texts = Vec::new();
    let text = brief::text(message);
    if !text.is_empty() {
        texts.push((None, Cow::Owned(text)));
    }
    texts.extend(brief::called(message).map(|(name, arguments)| (Some(format!("calls {name}")), arguments)));
    texts
}

struct PictureList<'l, 's, 'a> {
    shown: &'l Shown<'s, 'a>,
    whole: Vec<bool>,
    /// Tokens of the longest bar.
    longest: u64,
    /// The most characters of a text.
    most: usize,
}

impl PictureList<'_, '_, '_> {
    fn row(&self, row: &PictureRow, out: &mut String) {
        let picture = &self.shown.picture;
        let statuses: Vec<MessageStatus> = MessageStatus::ALL
            .into_iter()
            .filter(|status| row.messages.clone().any(|index| picture.status(index) == *status))
            .collect();
        let words = statuses.iter().map(|status| status.word()).collect::<Vec<_>>().join(", ");
        let class = statuses.last().map_or("", |status| status.word());
        let mut bar = String::new();
        for (status, tokens) in MessageStatus::ALL.into_iter().zip(row.sizes).filter(|(_, tokens)| *tokens > 0) {
            // Of what is pruned, the part that stays has the colour.
            let kept =
                if status == MessageStatus::Pruned { self.kept(row.messages.clone()).min(tokens) } else { tokens };
            for (class, tokens) in [(status.word(), kept), ("removed", tokens - kept)] {
                let share = tokens as f64 * 100.0 / self.longest as f64;
                if tokens > 0 {
                    // Writing to a string cannot fail.
                    let _ = write!(bar, "<i class=\"{class}\" style=\"width:{share:.2}%\"></i>");
                }
            }
        }
        let role = if row.role.is_empty() { "several" } else { &row.role };
        let tokens = grouped(row.sizes.iter().sum());
        let text = picture.row_text(row, LINE);
        let text = if text.is_empty() { "says nothing" } else { &text };
        let _ = writeln!(
            out,
            "<li class=\"row {tie}\"><details><summary><span class=\"index\">{index}</span> \
             <span class=\"role\">{role}</span> <span class=\"tokens\">{tokens}<span class=\"unseen\"> tokens</span></span> \
             <span class=\"bar\" aria-hidden=\"true\">{bar}</span> <span class=\"fate {class}\">{words}</span> \
             <bdi class=\"said\">{text}</bdi></summary>",
            tie = tie_class(row.tie),
            index = row.index,
            role = escaped(role),
            text = escaped(text),
        );
        self.contents(&row.messages, out);
        out.push_str("</details></li>\n");
    }

    /// The tokens that the pruned ones of some messages keep.
    fn kept(&self, messages: Range<usize>) -> u64 {
        let picture = &self.shown.picture;
        let pruned = messages.filter(|&index| picture.status(index) == MessageStatus::Pruned);
        pruned.filter_map(|index| picture.pruned.get(&index)).sum()
    }

    /// Draws the contents of an opened row.
    fn contents(&self, row: &Range<usize>, out: &mut String) {
        if row.len() == 1 {
            return self.message(row.start, out);
        }
        let (first, last) = openable(row);
        let left_out = row.len() - first.len() - last.len();
        out.push_str("<ol class=\"run\">\n");
        for index in first {
            self.one_of_run(index, out);
        }
        if left_out > 0 {
            let _ = writeln!(out, "<li class=\"left-out\">… {} are left out here …</li>", counted(left_out, "message"));
        }
        for index in last {
            self.one_of_run(index, out);
        }
        out.push_str("</ol>\n");
    }

    fn one_of_run(&self, index: usize, out: &mut String) {
        let picture = &self.shown.picture;
        let message = &picture.transcript.messages[index];
        let _ = writeln!(
            out,
            "<li><details><summary><span class=\"index\">{index}</span> <span class=\"role\">{}</span> \
             <span class=\"fate {status}\">{status}</span> <bdi class=\"said\">{}</bdi></summary>",
            escaped(&brief::role(message)),
            escaped(&brief::line(message, LINE)),
            status = picture.status(index).word(),
        );
        self.message(index, out);
        out.push_str("</details></li>\n");
    }

    fn message(&self, index: usize, out: &mut String) {
        let picture = &self.shown.picture;
        let message = &picture.transcript.messages[index];
        let tokens = picture.tally.message(index);
        let tokens = grouped_and_counted(tokens, "token");
        let is_pruned = picture.status(index) == MessageStatus::Pruned;
        let kept = if is_pruned { format!(" to {}", grouped(self.kept(index..index + 1))) } else { String::new() };
        let mut facts = vec![format!("Message {index}, {tokens}, {}{kept}", picture.status(index).word())];
        if picture.plan.carried == Some(index) {
            facts.push("carried on by the new summary".to_owned());
        } else if message.earlier {
            facts.push("an earlier summary".to_owned());
        }
        if message.compaction().is_some() {
            facts.push("holds a compaction of the provider".to_owned());
        }
        if let Some(others) = self.tied_to(index) {
            facts.push(format!("belongs together with {others}"));
        }
        let _ = writeln!(
            out,
            "<div class=\"message\" id=\"{}\"><p class=\"about\">{}.</p>",
            anchor(self.shown.anchor, index),
            facts.join("; ")
        );
        self.texts(message, out);
        let after = &self.shown.after.messages[index];
        let stays = !matches!(picture.status(index), MessageStatus::Removed | MessageStatus::Summarized);
        if picture.plan.emptied.binary_search(&index).is_ok() {
            out.push_str("<p class=\"about\">It is removed whole, as nothing is left of it.</p>\n");
        } else if stays && after.json.raw() != message.json.raw() {
            out.push_str("<p class=\"about\">It is shortened, and reads now:</p>\n");
            self.texts(after, out);
        }
        out.push_str("</div>\n");
    }

    fn texts(&self, message: &Message<'_>, out: &mut String) {
        let texts = texts(message);
        let others = brief::others(message);
        if texts.is_empty() && others.is_empty() {
            out.push_str("<p class=\"about\">It says nothing.</p>\n");
        }
        for (what, text) in texts {
            if let Some(what) = what {
                let _ = writeln!(out, "<p class=\"call\">→ <bdi>{}</bdi></p>", escaped(&what));
            }
            out.push_str(&block(&text, self.most));
        }
        if !others.is_empty() {
            let _ = writeln!(out, "<p class=\"about\">Besides: {}.</p>", others.join(" "));
        }
    }

    /// Describes the messages from which a message must not be split.
    fn tied_to(&self, index: usize) -> Option<String> {
        let first = (0..=index).rev().find(|&at| self.whole[at])?;
        let last = (index + 1..self.whole.len()).find(|&at| self.whole[at])? - 1;
        match last - first {
            0 => None,
            1 => Some(format!("message {}", if index == first { last } else { first })),
            _ => Some(format!("messages {first} to {last}")),
        }
    }

    /// Draws the lines before a message: where the cut was wanted, and where it is.
    fn lines_at(&self, index: usize, out: &mut String) {
        let (class, text) = match self.shown.picture.mark(index) {
            Some(CutMark::Cut) => {
                let why = self.shown.picture.plan.moved_because.as_ref();
                let why = why.map(|why| format!(", since {why}")).unwrap_or_default();
                ("cut", format!("Cut at {index}{why}"))
            }
            Some(CutMark::Wanted) => ("wanted", format!("Wanted at {index}")),
            None => return,
        };
        let tie = if self.whole[index] { "" } else { " tie-middle" };
        let _ = writeln!(out, "<li class=\"line {class}{tie}\"><span>{}</span></li>", escaped(&text));
    }

    /// Draws the legend: what each colour means, with its messages and tokens.
    fn legend(&self, out: &mut String) {
        out.push_str("<ul class=\"legend\" aria-label=\"Legend\">\n");
        let kept = self.kept(0..self.shown.picture.transcript.messages.len());
        let pruned_to = format!(", of which {} stay", grouped(kept));
        for StatusSum { status, messages, tokens } in self.shown.picture.sums() {
            let _ = writeln!(
                out,
                "<li><i class=\"{status}\" aria-hidden=\"true\"></i> {status}: {}, {}{kept}</li>",
                counted(messages, "message"),
                grouped_and_counted(tokens, "token"),
                status = status.word(),
                kept = if status == MessageStatus::Pruned { pruned_to.as_str() } else { "" },
            );
        }
        if self.whole.iter().any(|whole| !whole) {
            out.push_str(
                "<li><i class=\"bracket\" aria-hidden=\"true\"></i> at the side: calls with their results</li>\n",
            );
        }
        out.push_str("</ul>\n");
    }
}
