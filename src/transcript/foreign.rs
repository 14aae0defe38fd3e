//! What no reader knows: parts of unknown kinds, and messages whose content stands under members that are not read.
//!
//! A reader never skips them: each is a [`PartKind::Foreign`] with its JSON as text, so that it is counted, shown and
//! summarized. A conversation that is mostly foreign is rejected: it is of another format.

use std::fmt;

use crate::transcript::format::Transcript;
use crate::transcript::json::{Json, Kind, Object};
use crate::transcript::message::{Arguments, Content, Message, Part, PartKind};
use crate::transcript::text::Text;

/// Kinds of parts that are known and have nothing to read: what only their provider can read, and marks. All others without
/// a reader are foreign.
const OPAQUE: [&str; 17] = [
    "cache-point",
    "cache_control",
    "citation",
    "connector_text",
    "encrypted",
    "fallback",
    "non_standard",
    "reasoning",
    "reasoning_content",
    "redacted_thinking",
    "refusal",
    "search_result",
    "text-plain",
    "thinking",
    "tool_addition",
    "tool_reference",
    "web_search_result",
];

/// Members under which formats keep texts, calls and results.
const CONTENT: [&str; 21] = [
    "blocks",
    "body",
    "calls",
    "chunks",
    "content",
    "contents",
    "items",
    "output",
    "parts",
    "response",
    "result",
    "results",
    "segments",
    "text",
    "toolCall",
    "toolCalls",
    "toolInvocations",
    "toolRequests",
    "tool_call",
    "tool_calls",
    "value",
];

/// Members that hold the message itself.
const WRAPPERS: [&str; 5] = ["message", "data", "kwargs", "payload", "args"];

/// Members beside what a message says, in any format: the speaker, and what a provider or a program notes down. Those whose
/// names begin with [`NOTED_BY_START`] are, too.
const NOTED: [&str; 6] = ["additional_kwargs", "annotations", "citations", "metadata", "name", "response_metadata"];

/// See [`NOTED`].
const NOTED_BY_START: [&str; 4] = ["provider", "reasoning", "thinking", "thought"];

/// Tells what a message says from what is noted down beside it.
#[derive(Clone, Copy)]
struct Words {
    /// Members that the format has beside what its messages say.
    beside: &'static [&'static str],
}

impl Words {
    fn is_beside(self, key: Text<'_>) -> bool {
        self.beside.iter().chain(&NOTED).any(|name| key.is(name))
            || NOTED_BY_START.iter().any(|start| key.starts_with(start))
    }

    /// Whether a member holds words: no label or number, but something that somebody said.
    fn are_under(self, key: Text<'_>, value: Json<'_>) -> bool {
        !self.is_beside(key) && self.are_in(value)
    }

    fn are_in(self, json: Json<'_>) -> bool {
        match json.kind() {
            Kind::String => json.text().is_some_and(|text| are_words(&text.decode())),
            Kind::Array => json.items().any(|item| self.are_in(item)),
            Kind::Object => json.entries().any(|(key, value)| self.are_under(key, value)),
            _ => false,
        }
    }

    /// The values of the members that hold words.
    fn values(self, json: Json<'_>) -> impl Iterator<Item = Json<'_>> {
        json.entries().filter(move |(key, value)| self.are_under(*key, *value)).map(|(_, value)| value)
    }
}

/// Whether a text has two words of letters, or a letter of a language that needs no spaces between them.
fn are_words(text: &str) -> bool {
    let is_word = |word: &&str| word.chars().filter(|c| c.is_alphabetic()).count() > 1 && !word.contains('_');
    let is_ideograph = |c: char| c.is_alphabetic() && !c.is_lowercase() && !c.is_uppercase();
    text.split_whitespace().filter(is_word).nth(1).is_some() || text.contains(is_ideograph)
}

/// Recognizes the messages of a program.
type Recognizer = fn(&Object<'_>) -> bool;

/// Programs whose files look like those of a format in the table, and how to recognize them.
const PROGRAMS: [(&str, Recognizer); 6] = [
    ("a session of Qwen Code", |line| line.get("uuid").is_some() && line.at(&["message", "parts"]).is_some()),
    ("a session of Factory Droid", |line| {
        line.get_text("type").is_some_and(|kind| kind.is("message"))
            && line.at(&["message", "content"]).is_some_and(|content| has_kind(content, &["tool_use", "tool_result"]))
    }),
    ("a stream of Cursor's agent", |line| line.get("call_id").is_some() && line.get("tool_call").is_some()),
    ("Goose's messages", |message| {
        message.get("content").is_some_and(|content| has_kind(content, &["toolRequest", "toolResponse"]))
    }),
    ("Mastra's messages", |message| message.at(&["content", "format"]).is_some()),
    ("Kimi CLI's context", |message| message.get("content").is_some_and(|content| has_kind(content, &["think"]))),
];

/// A part of an unknown kind.
pub(super) fn part<'a>(json: Json<'a>) -> PartKind<'a> {
    PartKind::Foreign(Text::plain(json.raw()))
}

/// A part that no reader reads: opaque, or foreign.
pub(super) fn unread<'a>(json: Json<'a>, kind: Text<'a>) -> PartKind<'a> {
    if OPAQUE.iter().any(|opaque| kind.is(opaque)) { PartKind::Other } else { part(json) }
}

/// A part that holds a text under this member. Where it holds something else, it is foreign.
pub(super) fn text_part<'a>(json: Json<'a>, member: &str) -> PartKind<'a> {
    let is_other = |(key, value): (Text<'_>, Json<'_>)| !key.is("type") && !value.is_falsy();
    match json.get_text(member) {
        Some(text) => PartKind::Text(text),
        None if json.entries().any(is_other) => part(json),
        None => PartKind::Text(Text::plain("")),
    }
}

/// Reads what a message holds where its reader does not look: the arguments of a call, a text or a result under another
/// member, and in a message without anything to read, whatever looks like content.
/// `beside` are the members that the format has beside what its messages say.
pub(super) fn complete(message: &mut Message<'_>, beside: &'static [&'static str]) {
    let words = Words { beside };
    complete_calls(message, words);
    complete_parts(message, words);
    let is_whole = |json: Json<'_>| json.span() == message.json.span();
    let is_silent = message.content.is_empty()
        && message.calls.is_empty()
        && message.answers.iter().all(|answer| is_whole(answer.json));
    let has_calls_or_answers = !message.calls.is_empty() || !message.answers.is_empty();
    let lacks_text = !is_silent && lacks_text(message);
    if !is_silent && has_calls_or_answers && !lacks_text {
        return;
    }
    let is_of_call = |value: Json<'_>| {
        let (calls, answers) = (message.calls.iter().map(|call| call.json), message.answers.iter().map(|one| one.json));
        let (place, mut spans) = (value.span(), calls.chain(answers).map(|json| json.span()));
        spans.any(|span| span.start < place.end && place.start < span.end)
    };
    let unread = members(message.json).filter(|(key, value)| match is_silent {
        true => {
            words.are_under(*key, *value)
                || is_content(*key, *value)
                || !words.is_beside(*key) && value.items().any(is_shaped_as_call)
        }
        // Beside calls much is noted down, so that only what is written as texts are is looked for.
        false if lacks_text => {
            (value.kind() == Kind::String || value.items().any(|item| item.get_text("type").is_some()))
                && words.are_under(*key, *value)
                && !is_of_call(*value)
        }
        false => !words.is_beside(*key) && is_unread_call(message, *key, *value),
    });
    let unread: Vec<Part<'_>> = unread.map(|(_, json)| Part { json, kind: part(json) }).collect();
    if unread.is_empty() {
        return;
    }
    let read = match &message.content {
        Content::Text(text) if text.is_empty() => Vec::new(),
        Content::Text(text) => {
            let is_of = |value: &Json<'_>| value.text().is_some_and(|other| other.raw() == text.raw());
            let json = members(message.json).map(|(_, value)| value).find(is_of);
            vec![Part { json: json.unwrap_or(message.json), kind: PartKind::Text(*text) }]
        }
        Content::Parts(parts) => parts.to_vec(),
    };
    message.content = Content::Parts(read.into_iter().chain(unread).collect());
}

/// Whether a message has calls, results or media and nothing where its reader looks for a text beside them.
fn lacks_text(message: &Message<'_>) -> bool {
    let has_calls = !message.calls.is_empty();
    let is_beside_text = |part: &Part<'_>| match part.kind {
        PartKind::Image | PartKind::Media | PartKind::Call | PartKind::Result(_) => true,
        PartKind::Reasoning(_) => has_calls,
        _ => false,
    };
    let says_nothing = match &message.content {
        Content::Text(text) => (has_calls || !message.answers.is_empty()) && text.is_empty(),
        Content::Parts(parts) => parts.iter().all(is_beside_text),
    };
    says_nothing && !is_result(message) && ["content", "parts"].iter().all(|name| message.field(name).is_none())
}

/// The members of a message, and of the message in it.
fn members(json: Json<'_>) -> impl Iterator<Item = (Text<'_>, Json<'_>)> {
    let is_inside = |(key, value): &(Text<'_>, Json<'_>)| {
        value.kind() == Kind::Object && WRAPPERS.iter().any(|wrapper| key.is(wrapper))
    };
    let inside = json.entries().filter(is_inside).flat_map(|(_, inner)| inner.entries());
    json.entries().filter(move |entry| !is_inside(entry)).chain(inside)
}

/// Finds the arguments of calls that have none.
fn complete_calls(message: &mut Message<'_>, words: Words) {
    let (whole, is_silent) = (message.json.span(), message.content.is_empty());
    // A call that holds its result has the words of that.
    let answers: Vec<_> = message.answers.iter().map(|answer| answer.json.span()).collect();
    for call in &mut message.calls {
        let span = call.json.span();
        let is_alone = (span != whole || is_silent) && !answers.contains(&span);
        if is_alone && matches!(call.arguments, Arguments::Absent) {
            call.arguments = Arguments::of(words.values(call.json).next());
        }
    }
}

/// Finds the words of texts and results that are empty. A result keeps its call, if it names one.
fn complete_parts(message: &mut Message<'_>, words: Words) {
    let Content::Parts(parts) = &mut message.content else { return };
    let is_call = |json: Json<'_>| message.calls.iter().any(|call| call.json.span() == json.span());
    let names_call =
        |json: Json<'_>| message.answers.iter().any(|answer| answer.json.span() == json.span() && answer.id.is_some());
    for Part { json, kind } in parts.iter_mut() {
        let unread = || words.values(*json);
        match kind {
            PartKind::Text(text) if text.is_empty() && unread().next().is_some() => *kind = part(*json),
            PartKind::Result(content) if content.is_empty() && !is_call(*json) && unread().next().is_some() => {
                *kind = match names_call(*json) {
                    true => {
                        PartKind::Result(Content::Parts(unread().map(|json| Part { json, kind: part(json) }).collect()))
                    }
                    false => part(*json),
                };
            }
            _ => {}
        }
    }
}

/// Whether a member is a list or an object with something in it, under a name that formats have for content.
fn is_content(key: Text<'_>, value: Json<'_>) -> bool {
    // A string could be any label.
    let holds = match value.kind() {
        Kind::Array => value.items().next().is_some(),
        Kind::Object => value.entries().next().is_some(),
        _ => false,
    };
    holds && CONTENT.iter().any(|name| key.is(name))
}

/// Whether a value has a name and arguments, whatever they are called: no format writes anything but calls so.
fn is_shaped_as_call(json: Json<'_>) -> bool {
    let call = json.get("function").filter(|function| function.kind() == Kind::Object).unwrap_or(json);
    let has = |keys: [&str; 3]| keys.iter().any(|key| call.get(key).is_some());
    has(["name", "toolName", "tool_name"]) && has(["arguments", "args", "input"])
}

/// Whether a member has the name or the shape of calls or results and holds some, in a message of which none were read.
fn is_unread_call(message: &Message<'_>, key: Text<'_>, value: Json<'_>) -> bool {
    let holds = |item: Json<'_>| item.kind() == Kind::Object && item.entries().next().is_some();
    let (place, parts) = (value.span(), message.content.parts());
    (holds(value) || value.items().any(holds))
        && (names_call_or_result(&key.decode()) || value.items().any(is_shaped_as_call))
        && !parts.iter().any(|part| place.contains(&part.json.span().start))
}

/// Whether a value of a kind that no reader knows could be a call or a result, by its type or its only key.
pub(super) fn could_be_call_or_result(json: Json<'_>) -> bool {
    let inside = || json.items().any(could_be_call_or_result);
    match json.get_text("type").or_else(|| json.get_text("kind")).or_else(|| json.get_text("content_type")) {
        Some(kind) => names_call_or_result(&kind.decode()),
        None => json.entries().any(|(key, _)| names_call_or_result(&key.decode())) || inside(),
    }
}

/// Whether a name looks like those of calls and results in all formats: `tool_use`, `functionResponse`, `ToolCallPart`.
fn names_call_or_result(name: &str) -> bool {
    const ENDINGS: [&str; 9] =
        ["call", "use", "request", "invocation", "result", "response", "output", "return", "execution"];
    let name: String = name.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect();
    let name = name.strip_suffix('s').unwrap_or(&name);
    let name = ["part", "event", "block", "content"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    (name.contains("tool") || name.contains("function")) && ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn has_kind(list: Json<'_>, kinds: &[&str]) -> bool {
    list.items().any(|part| part.get_text("type").is_some_and(|kind| kinds.iter().any(|name| kind.is(name))))
}

/// The program that writes messages like this one, if it is known and tcompact does not read its files.
pub(super) fn program(message: Json<'_>) -> Option<&'static str> {
    let message = Object::of(message);
    PROGRAMS.iter().find(|(_, is_of)| is_of(&message)).map(|(name, _)| *name)
}

/// The foreign parts of a message. A result may have parts of any kind.
fn parts<'m, 'a>(message: &'m Message<'a>) -> impl Iterator<Item = &'m Part<'a>> {
    let parts = match &message.content {
        Content::Parts(parts) if !is_result(message) => parts.as_ref(),
        _ => &[],
    };
    parts.iter().filter(|part| matches!(part.kind, PartKind::Foreign(_)))
}

fn is_result(message: &Message<'_>) -> bool {
    message.answers.iter().any(|answer| answer.json.span() == message.json.span())
}

/// Whether a message has parts of a kind that no reader knows.
pub(crate) fn is_in(message: &Message<'_>) -> bool {
    parts(message).next().is_some()
}

/// Bytes of JSON in parts of unknown kinds, and in all others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Bytes {
    /// In parts that no reader knows.
    pub(crate) foreign: usize,
    /// In parts, texts and calls that were read.
    pub(crate) known: usize,
}

impl Bytes {
    /// What the messages hold.
    pub(crate) fn of<'m, 'a: 'm>(messages: impl IntoIterator<Item = &'m Message<'a>>) -> Self {
        let mut bytes = Bytes::default();
        for message in messages {
            let content: usize = match &message.content {
                Content::Text(text) => text.spelled_len(),
                Content::Parts(parts) => parts.iter().map(|part| part.json.span().len()).sum(),
            };
            let foreign: usize = parts(message).map(|part| part.json.span().len()).sum();
            let calls: usize = message.calls.iter().map(|call| call.json.span().len()).sum();
            bytes.foreign += foreign;
            bytes.known += content - foreign + calls;
        }
        bytes
    }

    /// Whether most of it cannot be read.
    pub(crate) fn is_mostly_foreign(&self) -> bool {
        self.foreign > self.known
    }
}

/// Messages that are not read as what they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unread {
    /// The index of the first.
    pub(crate) message: usize,
    /// What is unknown of it: a type, or the member it stands under.
    what: String,
    /// The format that the others are in.
    format: &'static str,
    /// The program that is known to write such messages.
    program: Option<&'static str>,
    /// How much of the conversation is unknown; nothing where one part is reason enough.
    bytes: Option<Bytes>,
}

impl Unread {
    fn of<'a>(transcript: &Transcript<'a>, (message, part): (usize, Json<'a>), bytes: Option<Bytes>) -> Self {
        let whole = transcript.messages[message].json;
        let kind = part.get_text("type").map(|kind| kind.decode()).filter(|kind| kind.chars().count() < 60);
        let what = match kind {
            Some(kind) => format!("a part of the type `{}`", kind.escape_debug()),
            None => format!("{} that {} does not have there", part.kind().noun(), transcript.format.name()),
        };
        Unread { message, what, format: transcript.format.name(), program: program(whole), bytes }
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unread { message, what, format, .. } = self;
        match self.bytes {
            Some(Bytes { foreign, known }) => write!(
                out,
                "most of it is of kinds that no reader knows ({foreign} of {} bytes): message {message} has {what}",
                foreign + known
            )?,
            None => write!(
                out,
                "message {message} has {what}, which may be a call or a result, and is none that {format} knows"
            )?,
        }
        match self.program {
            Some(program) => write!(out, "; it looks like {program}, which tcompact does not read"),
            None => Ok(()),
        }
    }
}

/// Each foreign part with the index of its message.
fn all<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = (usize, Json<'a>)> + use<'t, 'a> {
    let messages = transcript.messages.iter().enumerate();
    messages.flat_map(|(index, message)| parts(message).map(move |part| (index, part.json)))
}

/// The first foreign part that could be a call or a result. Where the user did not name the format, it is another one,
/// since the calls of this one are known.
pub(crate) fn unknown_call(transcript: &Transcript<'_>) -> Option<Unread> {
    let found = all(transcript).find(|(_, part)| could_be_call_or_result(*part))?;
    Some(Unread::of(transcript, found, None))
}

/// The first foreign message of a conversation that is mostly foreign.
pub(crate) fn mostly(transcript: &Transcript<'_>) -> Option<Unread> {
    let first = all(transcript).next()?;
    let bytes = Bytes::of(&transcript.messages);
    bytes.is_mostly_foreign().then(|| Unread::of(transcript, first, Some(bytes)))
}

#[cfg(test)]
mod tests {
    use crate::transcript::formats::by_name;
    use crate::transcript::framing::tests::read;
    use crate::transcript::message::{Content, PartKind};

    /// Reads the second of three messages in this format: its texts, and whether the rest of it is foreign.
    fn second(message: &str, from: &str) -> (String, bool) {
        let source = format!(r#"[{{"role":"user","content":"u"}},{message},{{"role":"assistant","content":"a"}}]"#);
        let document = read(&source, by_name(from), None).expect("a transcript");
        let message = &document.transcripts[0].messages[1];
        let texts: Vec<String> = message.content.texts().iter().map(|text| text.decode().into_owned()).collect();
        (texts.join("\n"), super::is_in(message))
    }

    #[test]
    fn no_words_are_read_as_nothing() {
        let cases = [
            ("openai-chat", r#"{"role":"user","message_text":"two words"}"#, true),
            ("openai-chat", r#"{"role":"tool","tool_call_id":"c","output":"two words"}"#, false),
            ("anthropic", r#"{"role":"user","content":[{"type":"text","Text":"two words"}]}"#, true),
            ("anthropic", r#"{"role":"user","content":[{"type":"text","text":{"value":"two words"}}]}"#, true),
            (
                "anthropic",
                r#"{"role":"user","content":[{"type":"tool_result","toolUseID":"t","run":{"result":"two words"}}]}"#,
                true,
            ),
            (
                "anthropic",
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","output":"two words"}]}"#,
                false,
            ),
            ("ai-sdk", r#"{"role":"user","parts":[{"type":"text","content":"two words"}]}"#, true),
            ("ollama", r#"{"role":"user","body":{"lines":["两个词"]}}"#, true),
            ("openai-chat", r#"{"role":"assistant","content":"hm","toolRequests":[{"q":"two words"}]}"#, true),
        ];
        for (format, message, is_foreign) in cases {
            let (text, foreign) = second(message, format);
            assert!(text.contains("two words") || text.contains("两个词"), "{format}: {message}: {text}");
            assert_eq!(foreign, is_foreign, "{format}: {message}");
        }
    }

    #[test]
    fn what_stands_beside_a_message_is_none_of_its_words() {
        for message in [
            r#"{"role":"assistant","content":"","metadata":{"title":"two words"},"reasoning_note":"two words"}"#,
            r#"{"role":"assistant","content":"","name":"Two Words","id":"a_b c_d","n":[1,null]}"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"","citations":["two words"]}]}"#,
            r#"{"role":"assistant","content":"hm","toolUses":[]}"#,
        ] {
            let (text, foreign) = second(message, "openai-chat");
            assert!(!foreign && !text.contains("words"), "{message}: {text}");
        }
    }

    #[test]
    fn arguments_and_texts_beside_unread_calls_are_read() {
        let source = r#"[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","args":{"q":"two words"}}]}]"#;
        let document = read(source, None, None).expect("a transcript");
        let call = &document.transcripts[0].messages[1].calls[0];
        assert!(format!("{:?}", call.arguments).contains("two words"), "{call:?}");
        let source = r#"[{"role":"user","content":"u"},{"role":"assistant","content":"hm","toolRequests":[{"q":1}]}]"#;
        let document = read(source, by_name("openai-chat"), None).expect("a transcript");
        let Content::Parts(parts) = &document.transcripts[0].messages[1].content else { panic!("a text") };
        assert!(matches!(parts[0].kind, PartKind::Text(text) if text.is("hm")));
        assert_eq!(parts.iter().map(|part| part.json.raw()).collect::<Vec<_>>(), [r#""hm""#, r#"[{"q":1}]"#]);
    }

    #[test]
    fn a_result_that_names_no_call_is_of_another_format() {
        let source = r#"[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","toolUseID":"t","run":{"result":"two words"}}]}]"#;
        let refused = read(source, None, None).expect_err("another format").to_string();
        assert!(refused.contains("message 2 has a part of the type `tool_result`"), "{refused}");
    }

    #[test]
    fn a_file_without_a_message_of_the_named_format_is_refused() {
        let source = r#"[{"role":"user","content":"u"},{"role":"assistant","content":"a"}]"#;
        for format in ["pi", "claude-code", "gemini-cli"] {
            assert!(read(source, by_name(format), None).is_err(), "{format}");
        }
    }
}
