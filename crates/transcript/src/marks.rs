//! Marks of the prompt cache in a request: `cache_control` in blocks, messages, the system's text and tools, and Bedrock's
//! `cachePoint` among the blocks. Providers take a few of them in a request.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::json::{Json, JsonKind};
use crate::{Message, Transcript};

/// The most marks that a request may have.
pub const MOST: usize = 4;

const MEMBER: &str = "cache_control";
const BLOCK: &str = "cachePoint";

/// Both names, as they are looked for in every message.
static NAMES: LazyLock<[Finder<'_>; 2]> = LazyLock::new(|| [MEMBER, BLOCK].map(Finder::new));

/// The marks of a message, in order: the values of members, and whole blocks.
pub fn of_message<'a>(message: &Message<'a>) -> Vec<Json<'a>> {
    let mut marks = Vec::new();
    if let Some(content) = message.json.get("content")
        && content.kind() == JsonKind::Array
        && has_mark(content)
    {
        of_blocks(content, true, &mut marks);
    }
    marks.extend(member(message.json));
    marks
}

/// The marks beside the messages, in order: those of tools, then those of the system's text.
pub fn beside<'a>(transcript: &Transcript<'a>) -> Vec<Json<'a>> {
    let mut marks = Vec::new();
    let Some(request) = transcript.state.or(transcript.envelope) else { return marks };
    let tools = [request.get("tools"), request.at(&["toolConfig", "tools"])];
    for list in tools.into_iter().chain([request.get("system")]).flatten() {
        of_blocks(list, false, &mut marks);
        // In Chat Completions a tool is under `function`.
        marks.extend(list.items().filter_map(|tool| member(tool.get("function")?)));
    }
    marks
}

fn has_mark(json: Json<'_>) -> bool {
    NAMES.iter().any(|name| name.find(json.raw().as_bytes()).is_some())
}

fn of_blocks<'a>(list: Json<'a>, have_blocks: bool, marks: &mut Vec<Json<'a>>) {
    for block in list.items() {
        if block.kind() != JsonKind::Object || !has_mark(block) {
            continue;
        }
        if block.get(BLOCK).is_some() {
            marks.push(block);
            continue;
        }
        // A result has blocks of its own.
        if have_blocks && let Some(inner) = block.get("content") {
            of_blocks(inner, false, marks);
        }
        marks.extend(member(block));
    }
}

fn member(object: Json<'_>) -> Option<Json<'_>> {
    object.get(MEMBER).filter(|mark| mark.kind() != JsonKind::Null)
}

/// The marks that are too many.
#[derive(Debug)]
pub struct Excess<'a> {
    /// How many marks there are.
    pub all: usize,
    /// Those that go, each with the index of its message; the first message's where it stands beside them.
    pub marks: Vec<(usize, Json<'a>)>,
}

/// The marks that are too many: the earliest of the messages, as the later ones cover them, and the earliest beside the
/// messages where these alone are too many.
pub fn excess<'a>(transcript: &Transcript<'a>) -> Excess<'a> {
    let beside = beside(transcript);
    let mut inside: Vec<(usize, Json<'a>)> = Vec::new();
    for (index, message) in transcript.messages.iter().enumerate() {
        for mark in of_message(message) {
            inside.push((index, mark));
        }
    }
    let all = beside.len() + inside.len();
    if all <= MOST {
        return Excess { all, marks: Vec::new() };
    }
    // One is left for the messages.
    let stays = beside.len().min(MOST - usize::from(!inside.is_empty()));
    let mut marks = Vec::new();
    for mark in &beside[..beside.len() - stays] {
        marks.push((0, *mark));
    }
    let surplus = inside.len() - inside.len().min(MOST - stays);
    marks.extend(&inside[..surplus]);
    Excess { all, marks }
}

/// The mark that a summary takes over: the last one of the messages that it replaces, if there is room for one.
/// `removed` tells where these begin, in order.
pub fn taken_over<'a>(transcript: &Transcript<'a>, removed: impl FnOnce() -> Vec<usize>) -> Option<Json<'a>> {
    let mut marked: Vec<(usize, Vec<Json<'a>>)> = Vec::new();
    for message in &transcript.messages {
        let marks = of_message(message);
        if !marks.is_empty() {
            marked.push((message.span().start, marks));
        }
    }
    if marked.is_empty() {
        return None;
    }
    let removed = removed();
    let mut last_removed = None;
    let mut left = 0;
    for (start, marks) in marked {
        if removed.binary_search(&start).is_ok() {
            last_removed = marks.last().copied();
        } else {
            left += marks.len();
        }
    }
    let mark = last_removed?;
    if beside(transcript).len() + left < MOST { Some(mark) } else { None }
}
