//! An item: one thing that a digest can tell, with its place, what it is worth, and its text. The text is read only when
//! the item is told.

use std::borrow::Cow;

use crate::digest::calls::{Call, without_folder};
use crate::digest::files::FileCalls;
use crate::digest::grammar::{ASKED, FROM_PROGRAM, GAP, Place, Section, THOUGHT, alike_label, more, unlabelled};
use crate::digest::kinds::Kind;
use crate::digest::pieces::indented;
use crate::digest::plan::Plan;
use crate::digest::ranked::{Line, RankedText};
use crate::digest::tasks::Task;
use crate::transcript::lazy_text::LazyText;
use crate::transcript::speaker::words_of_texts;

/// One thing that a digest can tell.
#[derive(Debug)]
pub(super) struct Item<'a> {
    pub(super) kind: Kind,
    /// The message that it is from: it orders the items of a section.
    pub(super) place: Place,
    /// What its value is multiplied by: newer items of a kind are worth more than older ones.
    pub(super) weight: f32,
    /// How many items it stands for: the last of several that are equal but for digits.
    pub(super) alike: u32,
    /// Whether a later item stands for it, so that it is not told.
    pub(super) is_replaced: bool,
    /// The bytes of its text, or some more.
    bytes: u32,
    pub(super) body: Body<'a>,
}

/// What an item tells.
#[derive(Debug)]
pub(super) enum Body<'a> {
    /// A message of the user, with the end of the message of the assistant that a short one answers.
    User {
        text: LazyText<'a>,
        asked: Option<Box<Question>>,
    },
    /// A text or a thought of the assistant.
    Said(LazyText<'a>),
    Call(Box<Call<'a>>),
    /// A summary that somebody else wrote.
    Summary(Box<str>),
    /// The text of a file that was read for its rules, with its path.
    Rules(Box<(String, String)>),
    Plan(Box<Plan>),
    File(Box<FileCalls>),
    Task(Box<Task>),
    Names(Box<Names>),
    /// A line of an earlier digest as it stands there.
    Line(Box<str>),
}

/// Names behind a label: loaded tools, files that were only read.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) label: &'static str,
    /// The first are told first.
    pub(super) names: Vec<String>,
}

/// What a short answer of the user answers.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) place: Place,
    pub(super) text: String,
}

impl<'a> Item<'a> {
    pub(super) fn new(kind: Kind, place: Place, body: Body<'a>) -> Self {
        let bytes = u32::try_from(body.bytes()).unwrap_or(u32::MAX);
        Item { kind, place, weight: 1.0, alike: 1, is_replaced: false, bytes, body }
    }

    /// Creates a message of the user. `words` are those that a person wrote.
    pub(super) fn of_user(kind: Kind, place: Place, text: LazyText<'a>, words: &str, asked: Option<Question>) -> Self {
        let bytes = u32::try_from(words.trim().len()).unwrap_or(u32::MAX);
        Item { bytes, ..Item::new(kind, place, Body::User { text, asked: asked.map(Box::new) }) }
    }

    /// Whether it is a message that a person typed, as far as is known.
    pub(super) fn is_typed(&self) -> bool {
        let is_by_program = self.kind == Kind::Interruption || self.kind == Kind::FromProgram && self.alike == 1;
        matches!(self.body, Body::User { .. }) && !is_by_program
    }

    pub(super) fn section(&self) -> Section {
        self.kind.worth().section
    }

    /// The bytes of the longest version of its text.
    pub(super) fn longest(&self) -> usize {
        (self.bytes as usize).min(self.kind.worth().most)
    }

    /// The bytes of its place and its label, or some more.
    pub(super) fn bytes_around(&self) -> usize {
        const PLACE: usize = 12;
        PLACE
            + match &self.body {
                Body::User { asked: Some(question), .. } => question.text.len() + PLACE,
                Body::Call(call) => call.label_bytes(),
                Body::File(file) => file.path.len(),
                Body::Rules(rules) => rules.0.len(),
                _ => 0,
            }
    }

    /// What a version of so many bytes is worth.
    pub(super) fn value(&self, bytes: usize) -> f32 {
        // An item without a text is worth what its label tells.
        const LABEL: usize = 20;
        if bytes == 0 {
            return 0.0;
        }
        let question = match &self.body {
            Body::User { asked: Some(question), .. } => question.text.len(),
            _ => 0,
        };
        let worth = self.kind.worth();
        let bytes = (bytes + question + LABEL) as f32;
        self.weight * worth.first * worth.length * bytes / (worth.length + bytes)
    }

    /// Its text with the pieces in the order in which they are told.
    pub(super) fn ranked(&self) -> RankedText<'_> {
        match &self.body {
            Body::User { .. } => RankedText::of_user(self.words().into()),
            Body::Said(text) => RankedText::of_assistant(trimmed(text.read())),
            Body::Call(call) => call.ranked_result(),
            Body::Summary(text) => RankedText::of_summary(Cow::Borrowed(text)),
            Body::Rules(rules) => RankedText::of_rules(Cow::Borrowed(&rules.1)),
            Body::Plan(plan) => RankedText::of_separate_lines(plan.ranked_lines()),
            Body::File(file) => RankedText::of_lines(file.ranked_calls(), ", "),
            Body::Task(task) => RankedText::of_lines(vec![Line::new(0, task.line())], ""),
            Body::Names(names) => {
                let names = names.names.iter().map(|name| Line::new(0, name.clone())).collect();
                RankedText::of_lines(names, ", ")
            }
            Body::Line(line) => {
                RankedText::of_separate_lines(line.lines().map(|line| Line::new(0, line.to_owned())).collect())
            }
        }
    }

    /// The words of a message of the user, without what its program inserted.
    pub(super) fn words(&self) -> String {
        match &self.body {
            Body::User { text, .. } => words_of_texts(text.strings()).trim().to_owned(),
            _ => String::new(),
        }
    }

    /// Its lines in the digest: the pieces at these places of its text, behind its place and its label.
    pub(super) fn lines(&self, text: &RankedText<'_>, chosen: &[usize], folder: Option<&str>) -> String {
        let Item { place, kind, .. } = self;
        let shown = text.shown(chosen);
        let alike = alike_label(self.alike as usize);
        match &self.body {
            Body::User { asked, .. } => {
                let question = match asked {
                    Some(question) => format!("- {} {ASKED}{}\n", question.place, indented(&question.text)),
                    None => String::new(),
                };
                let program = if *kind == Kind::FromProgram && self.alike < 2 { FROM_PROGRAM } else { "" };
                format!("{question}- {place} {alike}{program}{}", unlabelled(&shown))
            }
            Body::Said(_) if *kind == Kind::Thought => format!("- {place} {THOUGHT}{shown}"),
            Body::Said(_) => format!("- {place} {alike}{}", unlabelled(&shown)),
            Body::Call(call) => format!("- {place} {alike}{}", call.told(&shown, folder)),
            Body::Summary(_) => format!("- {place} {shown}"),
            Body::Rules(rules) => format!("- {place} {}: {shown}", without_folder(&rules.0, folder)),
            Body::Plan(plan) => {
                let end = more(plan.left_out).map(|more| format!("\n  {more}")).unwrap_or_default();
                format!("- {place} Plan:\n  {shown}{end}")
            }
            Body::File(file) => format!("- {}: {shown}", without_folder(&file.path, folder)),
            Body::Names(names) if *kind == Kind::LoadedTools => format!("- {place} {}{shown}", names.label),
            Body::Names(names) => format!("- {}{}", names.label, without_folder(&shown, folder)),
            Body::Task(_) => format!("- {shown}"),
            Body::Line(_) => format!("- {place} {shown}"),
        }
    }

    /// Whether all of a message that was carried from an earlier digest stands there.
    pub(super) fn is_clipped(&self) -> bool {
        self.place.is_carried() && self.words().contains(GAP)
    }
}

impl Body<'_> {
    /// The bytes of its text, or some more.
    fn bytes(&self) -> usize {
        const NAME: usize = 40;
        match self {
            Body::User { text, .. } | Body::Said(text) => text.bytes(),
            Body::Call(call) => call.result_bytes(),
            Body::Summary(text) | Body::Line(text) => text.len(),
            Body::Rules(rules) => rules.1.len(),
            Body::Plan(plan) => plan.items.len() * NAME,
            Body::File(file) => file.calls.len() * NAME / 2,
            Body::Task(_) => 3 * NAME,
            Body::Names(names) => names.names.len() * NAME,
        }
    }
}

fn trimmed(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
        Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A digest has one for each message, and there may be a million.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn an_item_in_memory_is_small() {
        assert!(size_of::<Item<'_>>() <= 64);
    }
}
