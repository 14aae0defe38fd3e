//! Replays the lines of a session as Kimi Code does when it resumes one: which lines are the conversation at the end.

use std::borrow::Cow;

use crate::entries::{EntryKind, Retention};
use crate::formats::kimi_code::line::{self, Line};
use crate::formats::shared::fields::elements_of;
use crate::json::{Json, Object};

/// The most that a compaction keeps of the user's prompts, and how much of that the first prompts get, in tokens as Kimi
/// Code estimates them.
const MOST_OF_PROMPTS: u64 = 20_000;
const MOST_OF_FIRST_PROMPTS: u64 = 2_000;
/// What Kimi Code estimates a picture at.
const MEDIA_TOKENS: u64 = 2_000;

/// A message as Kimi Code holds it: an answer of several lines, or one line. A result that it invents has none.
#[derive(Debug, Default)]
struct Folded {
    /// Its lines that are messages here, by their index.
    lines: Vec<usize>,
    /// The lines that begin and end an answer.
    frame: Vec<usize>,
    /// A line that stays if any of the answer stays: not its reasoning, if there is more.
    anchor: Option<usize>,
    kind: FoldedKind,
    /// Its size as Kimi Code estimates it.
    tokens: u64,
    /// The id of a prompt, or of the prompt that a reminder belongs to.
    prompt: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum FoldedKind {
    /// What the user typed or called. An undo goes back to one, and a compaction keeps it.
    Prompt,
    /// What the program slipped in.
    Reminder,
    /// The reminder of a mode, which goes when the mode ends.
    SwarmReminder,
    Summary,
    #[default]
    Other,
}

/// The answer that is being written.
#[derive(Debug)]
struct OpenStep {
    id: String,
    /// Its place in the context.
    at: usize,
    has_calls: bool,
    /// Whether it has nothing but white space.
    is_blank: bool,
}

/// What a line is, before it is known whether its message stays.
#[derive(Debug, Clone, Copy)]
enum Seen {
    /// A message, or a line that belongs to one.
    OfContext,
    /// A line that takes back what is before it.
    TakesBack,
    Prompt,
    Log,
    Always,
}

#[derive(Debug, Default)]
pub(super) struct Replay {
    /// The agent whose session it is. Kimi Code reads no lines of other agents here.
    agent: Option<String>,
    seen: Vec<Seen>,
    context: Vec<Folded>,
    open: Option<OpenStep>,
    /// The calls that have no result yet, by their ids.
    pending: Vec<String>,
    /// What came while calls waited for their results. Kimi Code puts it behind them.
    deferred: Vec<Folded>,
}

impl Replay {
    pub(super) fn add(&mut self, value: Json<'_>) {
        let index = self.seen.len();
        let object = Object::of(value);
        if let Some(agent) = object.get_text("agentId").map(|agent| agent.decode()) {
            match &self.agent {
                Some(of_session) if *of_session != agent => return self.seen.push(Seen::Log),
                Some(_) => {}
                None => self.agent = Some(agent.into_owned()),
            }
        }
        let line = line::read(&object).unwrap_or(Line::State);
        self.seen.push(match line {
            Line::Metadata | Line::SwarmExit | Line::State => Seen::Always,
            Line::Clear | Line::Undo(_) => Seen::TakesBack,
            Line::Prompt => Seen::Prompt,
            Line::Log => Seen::Log,
            _ => Seen::OfContext,
        });
        match line {
            Line::Message(message) => self.append(message_of(index, message)),
            Line::StepBegin { event } => self.begin(index, event),
            Line::Part { event, part } => self.add_part(index, event, part),
            Line::Call { event } => self.add_call(index, event),
            Line::Result { event } => self.add_result(index, event),
            Line::StepEnd { event } => self.end(index, event),
            Line::Compaction => self.compact(index, &object),
            Line::Clear => self.reset(Vec::new()),
            Line::Undo(count) => self.undo(count),
            Line::SwarmExit => {
                if self.context.last().is_some_and(|last| last.kind == FoldedKind::SwarmReminder) {
                    self.context.pop();
                    let context = std::mem::take(&mut self.context);
                    self.reset(context);
                }
            }
            Line::Metadata | Line::Prompt | Line::Log | Line::State => {}
        }
    }

    /// The kind of each line, now that all are read.
    pub(super) fn entries(mut self) -> Vec<EntryKind> {
        if let Some(open) = self.open.take()
            && open.is_blank
            && !open.has_calls
        {
            self.context.remove(open.at);
        }
        let mut entries = vec![EntryKind::Note(Retention::Obsolete); self.seen.len()];
        for folded in self.context.iter().chain(&self.deferred) {
            for line in &folded.lines {
                entries[*line] = EntryKind::Message;
            }
            for line in &folded.frame {
                entries[*line] = EntryKind::Note(folded.anchor.map_or(Retention::Obsolete, Retention::With));
            }
        }
        // What tells of a message that was taken back goes with it.
        let mut is_taken_back = false;
        for (index, seen) in self.seen.iter().enumerate() {
            match seen {
                Seen::OfContext => is_taken_back = entries[index] == EntryKind::Note(Retention::Obsolete),
                Seen::TakesBack => is_taken_back = true,
                Seen::Log if !is_taken_back => entries[index] = EntryKind::Note(Retention::WithPrevious),
                Seen::Always => entries[index] = EntryKind::Note(Retention::Always),
                Seen::Log | Seen::Prompt => {}
            }
        }
        // A prompt stands before the message that it becomes.
        let mut next = None;
        for (index, seen) in self.seen.iter().enumerate().rev() {
            match seen {
                Seen::OfContext if entries[index] == EntryKind::Message => next = Some(index),
                Seen::OfContext | Seen::TakesBack => next = None,
                Seen::Prompt => entries[index] = EntryKind::Note(next.map_or(Retention::Obsolete, Retention::With)),
                Seen::Log | Seen::Always => {}
            }
        }
        entries
    }

    fn append(&mut self, message: Folded) {
        if self.pending.is_empty() { self.context.push(message) } else { self.deferred.push(message) }
    }

    fn begin(&mut self, index: usize, event: Json<'_>) {
        self.settle();
        let id = text_of(event, "uuid");
        self.open = Some(OpenStep { id, at: self.context.len(), has_calls: false, is_blank: true });
        self.context.push(Folded { frame: vec![index], ..Folded::default() });
    }

    /// The open answer, if an event belongs to it.
    fn open_for(&mut self, event: Json<'_>) -> Option<(&mut OpenStep, &mut Folded)> {
        let open = self.open.as_mut()?;
        if event.get_text("stepUuid")?.decode() != open.id {
            return None;
        }
        let folded = self.context.get_mut(open.at)?;
        Some((open, folded))
    }

    fn add_part(&mut self, index: usize, event: Json<'_>, part: Json<'_>) {
        let Some((open, folded)) = self.open_for(event) else { return };
        let is_reasoning = part.member_is("type", "think");
        open.is_blank &= is_blank(part);
        folded.lines.push(index);
        if folded.anchor.is_none() || !is_reasoning {
            folded.anchor = Some(index);
        }
    }

    fn add_call(&mut self, index: usize, event: Json<'_>) {
        let Some((open, folded)) = self.open_for(event) else { return };
        open.has_calls = true;
        folded.lines.push(index);
        folded.anchor = Some(index);
        let id = text_of(event, "toolCallId");
        if !self.pending.contains(&id) {
            self.pending.push(id);
        }
    }

    fn add_result(&mut self, index: usize, event: Json<'_>) {
        let id = text_of(event, "toolCallId");
        let Some(at) = self.pending.iter().position(|pending| *pending == id) else { return };
        self.pending.remove(at);
        self.context.push(Folded { lines: vec![index], ..Folded::default() });
        self.append_deferred();
    }

    fn end(&mut self, index: usize, event: Json<'_>) {
        if let Some(open) = &self.open {
            self.context[open.at].frame.push(index);
        }
        // An interrupted answer goes on until the next one begins.
        if event.get_text("finishReason").is_some_and(|reason| reason.is_in(&["interrupted", "error"])) {
            return;
        }
        self.settle();
        self.append_deferred();
    }

    /// Ends the open answer: calls without results get one that says so, and an answer without content goes.
    fn settle(&mut self) {
        let Some(open) = self.open.take() else { return };
        for _ in self.pending.drain(..) {
            self.context.push(Folded::default());
        }
        self.append_deferred();
        if open.is_blank && !open.has_calls {
            self.context.remove(open.at);
        }
    }

    fn append_deferred(&mut self) {
        if self.pending.is_empty() {
            self.context.append(&mut self.deferred);
        }
    }

    /// Replaces the context. What was being written is forgotten.
    fn reset(&mut self, context: Vec<Folded>) {
        self.context = context;
        self.open = None;
        self.pending.clear();
        self.deferred.clear();
    }

    /// Takes back the last prompts and all behind them, but nothing across a summary; where there are fewer prompts,
    /// nothing is taken back.
    fn undo(&mut self, count: u64) {
        let mut left = count;
        let mut cut = None;
        for (index, message) in self.context.iter().enumerate().rev() {
            match message.kind {
                FoldedKind::Summary => break,
                FoldedKind::Prompt => {
                    left -= 1;
                    cut = Some(index);
                }
                FoldedKind::Reminder | FoldedKind::SwarmReminder | FoldedKind::Other => {}
            }
            if left == 0 {
                break;
            }
        }
        let Some(prompt) = cut else { return };
        if left > 0 {
            return;
        }
        let mut cut = prompt;
        while cut > 0 && self.context[cut - 1].reminds_of(&self.context[prompt]) {
            cut -= 1;
        }
        let mut context = std::mem::take(&mut self.context);
        context.truncate(cut);
        self.reset(context);
    }

    /// Replaces messages by a summary. Where the line says how many prompts it keeps, all prompts stay before it, and else
    /// the messages behind those that it counts are sent behind it.
    fn compact(&mut self, index: usize, line: &Object<'_>) {
        let has_tail = match line.get("legacyTail").map(|value| value.raw()) {
            Some("true") => true,
            Some("false") => false,
            _ => number(line, "keptUserMessageCount").is_none(),
        };
        let summary = Folded { lines: vec![index], kind: FoldedKind::Summary, ..Folded::default() };
        let before = std::mem::take(&mut self.context);
        let mut context = Vec::new();
        if has_tail {
            let count = number(line, "compactedCount").or_else(|| number(line, "count")).unwrap_or_default();
            context.push(summary);
            context.extend(tail(before, count));
        } else {
            context.extend(kept_prompts(before));
            context.push(summary);
        }
        self.reset(context);
    }
}

impl Folded {
    /// Whether it is a reminder that belongs to a prompt.
    fn reminds_of(&self, prompt: &Folded) -> bool {
        let is_reminder = matches!(self.kind, FoldedKind::Reminder | FoldedKind::SwarmReminder);
        is_reminder && prompt.prompt.is_some() && self.prompt == prompt.prompt
    }
}

fn number(line: &Object<'_>, key: &str) -> Option<f64> {
    line.get(key)?.raw().parse().ok()
}

/// The messages from an index on. JavaScript counts a negative one from the end.
fn tail(mut messages: Vec<Folded>, index: f64) -> Vec<Folded> {
    let first = if index < 0.0 { messages.len() as f64 + index } else { index };
    messages.drain(..(first.max(0.0) as usize).min(messages.len()));
    messages
}

/// The prompts that a compaction keeps: all, or where they are too large the first and the last.
fn kept_prompts(messages: Vec<Folded>) -> Vec<Folded> {
    let mut prompts: Vec<Folded> = messages.into_iter().filter(|message| message.kind == FoldedKind::Prompt).collect();
    let all: u64 = prompts.iter().map(|prompt| prompt.tokens).sum();
    if all <= MOST_OF_PROMPTS {
        return prompts;
    }
    let mut left = MOST_OF_PROMPTS - MOST_OF_FIRST_PROMPTS;
    let mut first_of_last = prompts.len();
    while first_of_last > 0 && left > 0 {
        first_of_last -= 1;
        left = left.saturating_sub(prompts[first_of_last].tokens);
    }
    let mut left = MOST_OF_FIRST_PROMPTS;
    let mut end_of_first = 0;
    while end_of_first < first_of_last && left > 0 {
        left = left.saturating_sub(prompts[end_of_first].tokens);
        end_of_first += 1;
    }
    prompts.drain(end_of_first..first_of_last);
    prompts
}

fn message_of(index: usize, message: Json<'_>) -> Folded {
    let origin = message.get("origin");
    let kind = word_of(origin, "kind");
    let is_user = message.member_is("role", "user");
    let folded_kind = match kind.as_deref() {
        Some("injection") if word_of(origin, "variant").as_deref() == Some("swarm_mode") => FoldedKind::SwarmReminder,
        Some("injection") => FoldedKind::Reminder,
        Some("compaction_summary") => FoldedKind::Summary,
        None | Some("user") if is_user => FoldedKind::Prompt,
        Some("skill_activation" | "plugin_command")
            if is_user && word_of(origin, "trigger").as_deref() == Some("user-slash") =>
        {
            FoldedKind::Prompt
        }
        _ => FoldedKind::Other,
    };
    let prompt = match folded_kind {
        FoldedKind::Reminder | FoldedKind::SwarmReminder => word_of(origin, "ownerPromptId").map(Cow::into_owned),
        _ => word_of(Some(message), "id").map(Cow::into_owned),
    };
    let tokens = elements_of(message, "content").map(tokens_of).sum::<u64>();
    Folded { lines: vec![index], kind: folded_kind, tokens: tokens + 1, prompt, ..Folded::default() }
}

fn word_of<'a>(object: Option<Json<'a>>, key: &str) -> Option<Cow<'a, str>> {
    Some(object?.get_text(key)?.decode())
}

/// The size of a part as Kimi Code estimates it: four ASCII characters are a token, and any other one is one.
fn tokens_of(part: Json<'_>) -> u64 {
    let Some(text) = part.get_text("text").or_else(|| part.get_text("think")) else { return MEDIA_TOKENS };
    let text = text.decode();
    let ascii = text.chars().filter(char::is_ascii).count() as u64;
    let others = text.chars().count() as u64 - ascii;
    ascii.div_ceil(4) + others
}

/// Whether a part says nothing. One with its words under another name than Kimi Code's does.
fn is_blank(part: Json<'_>) -> bool {
    let key = if part.member_is("type", "text") {
        "text"
    } else if part.member_is("type", "think") && part.get("encrypted").is_none() {
        "think"
    } else {
        return false;
    };
    match part.get_text(key) {
        Some(text) => text.decode().trim().is_empty(),
        None => part.entries().nth(1).is_none(),
    }
}

fn text_of(event: Json<'_>, key: &str) -> String {
    event.get_text(key).map(|text| text.decode().into_owned()).unwrap_or_default()
}
