//! A conversation as the rules see it: the messages that they may touch, and each result with its call.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

use crate::plan::size::Size;
use crate::plan::{last_bytes, steps};
use crate::prune::way_back::NotedArchive;
use crate::redact::beginning;
use crate::rewrite::{Masked, elements};
use crate::tokens::{Counter, Tally};
use crate::transcript::edit::Edit;
use crate::transcript::json::Json;
use crate::transcript::media::MediaKind;
use crate::transcript::message::ResultRef;
use crate::transcript::outputs::{CallOutput, OutputShape, loads_tools};
use crate::transcript::pieces::Piece;
use crate::transcript::text::Text;
use crate::transcript::tools::{Access, ToolUse};
use crate::transcript::users_words::{asks_user, carries_words_of_user};
use crate::transcript::{Arguments, Call, Transcript, pairing};

/// A conversation as the rules see it.
pub struct Scene<'s, 'a> {
    /// The conversation as the rules read it, with its secrets masked where they are.
    pub transcript: &'s Transcript<'a>,
    /// The conversation of the source.
    pub(super) original: &'s Transcript<'a>,
    masked: Option<&'s Masked<'a>>,
    /// The sizes of its messages.
    pub tally: &'s Tally<'s, 'a>,
    /// The context window, in tokens, where it is known.
    pub context_window: Option<u64>,
    /// For each message, whether rules may touch it.
    pub touchable: Vec<bool>,
    /// The model that will read the result, where the user names it.
    pub reader: Option<&'s str>,
    /// The tools whose calls and results stay: `--prune-except`.
    pub except: &'s [String],
    /// The archive of removed content, as notes name it.
    pub archive: Option<&'s NotedArchive>,
    results: OnceCell<Vec<ToolResult<'s, 'a>>>,
    /// The media of its messages, in order.
    media: OnceCell<Vec<SceneMedium<'a>>>,
}

/// A picture or another medium in a message.
#[derive(Debug, Clone, Copy)]
struct SceneMedium<'a> {
    kind: MediaKind,
    /// The value that holds it.
    json: Json<'a>,
}

/// The age from which things are pruned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Age {
    /// All except the last so many.
    NotLast(u64),
    /// All that are older than this.
    Before(Size),
}

/// A result with its call.
pub(super) struct ToolResult<'s, 'a> {
    /// The index of its message.
    pub(super) message: usize,
    /// The call that it answers; none where no earlier message has it, and where the provider ran the tool.
    pub(super) call: Option<&'s Call<'a>>,
    /// The name of the tool, where it is known.
    pub(super) name: Option<Text<'a>>,
    /// Its place in the source.
    pub(super) output: CallOutput<'a>,
    /// Whether there are media in it, of which no text can take the place.
    pub(super) has_media: bool,
    // Several rules need these, and decoding long results takes most of their time.
    text: OnceCell<Cow<'a, str>>,
    tokens: OnceCell<u64>,
    call_use: OnceCell<ToolUse>,
    has_failed: OnceCell<bool>,
    /// Whether later calls need it, because it has loaded their tools.
    loads_tools: bool,
    /// Whether the agent's record says that the user refused the call.
    pub(super) is_refused: bool,
    /// Whether it carries words of the user, which stay.
    pub(super) is_users: bool,
}

impl<'s, 'a> Scene<'s, 'a> {
    /// A conversation in which the rules may touch the messages that are so marked.
    pub fn new(transcript: &'s Transcript<'a>, tally: &'s Tally<'s, 'a>, touchable: Vec<bool>) -> Self {
        Scene {
            transcript,
            original: transcript,
            masked: None,
            tally,
            context_window: None,
            touchable,
            reader: None,
            except: &[],
            archive: None,
            results: OnceCell::new(),
            media: OnceCell::new(),
        }
    }

    /// Makes the rules read the conversation with its secrets masked. What they change is changed in the source.
    pub fn read_masked(&mut self, masked: Option<&'s Masked<'a>>) {
        self.masked = masked;
        self.transcript = match masked {
            Some(masked) => masked.transcript,
            None => self.original,
        };
    }

    /// Edits that a rule proposes as edits of the source.
    pub(super) fn in_source(&self, edits: Vec<Edit>) -> Vec<Edit> {
        match self.masked {
            Some(masked) => masked.edits_in_source(edits),
            None => edits,
        }
    }

    /// The place of a value in the source.
    pub(super) fn span_in_source(&self, span: Range<usize>) -> Range<usize> {
        match self.masked {
            Some(masked) => masked.span_in_source(span),
            None => span,
        }
    }

    pub(super) fn counter(&self) -> Counter {
        self.tally.counter()
    }

    /// Every result that can be shortened, in order.
    pub(super) fn results(&self) -> &[ToolResult<'s, 'a>] {
        self.results.get_or_init(|| {
            let mut found = self.find_results();
            for result in &mut found {
                result.has_media = !self.media_in(result.output.value.span()).is_empty();
            }
            found.sort_by_key(|result| (result.message, result.output.value.span().start));
            // One text can answer several calls.
            found.dedup_by(|again, first| {
                let is_same = again.output.value.span().start == first.output.value.span().start;
                first.is_users |= is_same && again.is_users;
                is_same
            });
            found
        })
    }

    /// Every result that can be shortened: those of clients, and those of a provider's own tools.
    fn find_results(&self) -> Vec<ToolResult<'s, 'a>> {
        let messages = &self.transcript.messages;
        let format = self.transcript.format;
        let mut found = Vec::new();
        for pair in pairing::results(messages) {
            let message = pair.result.message;
            let answer = &messages[message].results[pair.result.index];
            if let Some(output) = format.result_output(&messages[message], answer) {
                let call = pair.call.map(|call| call.call_of(messages));
                let result = ToolResult { call, ..ToolResult::new(message, call.and_then(|call| call.name), output) };
                found.push(result.with_record(answer));
            }
        }
        for (message, read) in messages.iter().enumerate() {
            for hosted in format.provider_results(read) {
                found.push(ToolResult::new(message, hosted.name, hosted.output));
            }
        }
        found
    }

    /// Whether `--prune-except` names a tool.
    pub(super) fn is_excepted(&self, name: Option<Text<'_>>) -> bool {
        name.is_some_and(|name| self.except.iter().any(|excepted| name.is(excepted)))
    }

    /// Whether rules may shorten a result.
    pub(super) fn may_touch(&self, result: &ToolResult<'_, '_>) -> bool {
        self.touchable[result.message] && !self.must_stay(result) && !result.loads_tools
    }

    /// Whether nothing in a result may change: it carries words of the user, `--prune-except` names its tool, or its
    /// program takes nothing else there.
    pub(super) fn must_stay(&self, result: &ToolResult<'_, '_>) -> bool {
        result.is_users || self.is_excepted(result.name) || result.output.shape == OutputShape::Fixed
    }

    /// Whether rules may cut the arguments of a call. Those of a question hold what the user answers, and some agents add
    /// the answer.
    pub(super) fn may_cut_arguments(&self, call: &Call<'_>) -> bool {
        !self.is_excepted(call.name) && !call.name.is_some_and(|name| asks_user(&name.decode()))
    }

    /// The first message that is not older than a size.
    fn first_within(&self, size: Size) -> usize {
        let messages = &self.transcript.messages;
        match size {
            Size::Nothing | Size::From(_) | Size::Since(_) | Size::Last(_) => messages.len(),
            Size::Messages(number) => messages.len().saturating_sub(usize::try_from(number).unwrap_or(usize::MAX)),
            Size::Tokens(_) | Size::Fraction(_) => match size.in_tokens(self.context_window) {
                Some(tokens) => self.tally.suffix_within(tokens),
                None => 0,
            },
            Size::Bytes(bytes) => last_bytes(messages, bytes),
            Size::Steps(number) => steps::last(self.transcript, "", number),
            Size::Turns(number) => {
                let mut left = number.max(1);
                for (index, message) in messages.iter().enumerate().rev() {
                    if message.is_user_turn() && !message.earlier {
                        left -= 1;
                    }
                    if left == 0 {
                        return index;
                    }
                }
                0
            }
        }
    }

    /// For each item whether it is old enough. `messages` has the message of each item.
    pub(super) fn is_old(&self, age: Age, messages: &[usize]) -> Vec<bool> {
        match age {
            Age::Before(size) => {
                let first = self.first_within(size);
                messages.iter().map(|message| *message < first).collect()
            }
            Age::NotLast(number) => {
                let old = messages.len().saturating_sub(usize::try_from(number).unwrap_or(usize::MAX));
                (0..messages.len()).map(|at| at < old).collect()
            }
        }
    }
}

/// The longest name of a tool in a note, in characters.
const LONGEST_NAME: usize = 80;

impl<'s, 'a> ToolResult<'s, 'a> {
    fn new(message: usize, name: Option<Text<'a>>, output: CallOutput<'a>) -> Self {
        ToolResult {
            message,
            call: None,
            name,
            loads_tools: loads_tools(output.value),
            is_refused: false,
            is_users: false,
            has_media: false,
            output,
            text: OnceCell::new(),
            tokens: OnceCell::new(),
            call_use: OnceCell::new(),
            has_failed: OnceCell::new(),
        }
    }

    /// The result with what the agent's record says of it.
    fn with_record(mut self, answer: &ResultRef<'_>) -> Self {
        let tool = self.name.map(|name| name.decode()).unwrap_or_default();
        let bytes = self.output.value.raw().len();
        self.is_refused = answer.denial.is_some();
        self.is_users = carries_words_of_user(answer, &tool, bytes, || self.text());
        self
    }

    /// The name of the tool.
    pub(super) fn tool(&self) -> String {
        let name = self.name.map(|name| name.decode()).unwrap_or_default();
        let shown = beginning(&name, LONGEST_NAME);
        if shown.is_empty() { "tool".to_owned() } else { shown.to_owned() }
    }

    pub(super) fn call_use(&self) -> &ToolUse {
        self.call_use.get_or_init(|| {
            let Some(call) = self.call else { return ToolUse::default() };
            let name = call.name.map(|name| name.decode()).unwrap_or_default();
            match call.arguments {
                Arguments::Text(text) => ToolUse::parse(&name, &text.decode()),
                Arguments::Value(value) => ToolUse::parse(&name, value.raw()),
                Arguments::Absent => ToolUse::default(),
            }
        })
    }

    pub(super) fn text(&self) -> &str {
        self.text.get_or_init(|| {
            let strings = self.output.strings();
            let texts = strings.into_iter().filter_map(|string| string.text());
            let mut texts: Vec<_> = texts.map(|text| text.decode()).collect();
            match texts.len() {
                0 if self.has_media => Cow::Borrowed(""),
                // A result without any text is its JSON.
                0 => Cow::Borrowed(self.output.value.raw()),
                1 => texts.remove(0),
                _ => Cow::Owned(texts.join("\n")),
            }
        })
    }

    /// Whether it is the outcome of a command or of a change, which cannot be had again, or an error.
    pub(super) fn is_outcome(&self) -> bool {
        let call = self.call_use();
        let changes_file = call.files.iter().any(|file| file.access == Access::Changed);
        let acts = call.command.is_some() && !call.only_reads;
        changes_file || acts || self.has_failed()
    }

    /// Whether the tool failed or never ran: the format says so, or the text of the result begins or ends like an error.
    pub(super) fn has_failed(&self) -> bool {
        *self.has_failed.get_or_init(|| self.is_refused || self.output.failed || reads_like_error(self.text()))
    }
}

/// Whether a text begins or ends like an error.
fn reads_like_error(text: &str) -> bool {
    const BEGINS: [&str; 7] = ["error", "<tool_use_error>", "failed", "traceback", "fatal", "exit code", "exception"];
    let opening: String = text.trim_start().chars().take(40).flat_map(char::to_lowercase).collect();
    let is_zero = match opening.strip_prefix("exit code") {
        Some(code) => code.trim_start_matches([':', ' ']).starts_with('0'),
        None => false,
    };
    !is_zero && BEGINS.iter().any(|begins| opening.starts_with(begins)) || exit_code(text).is_some_and(|code| code != 0)
}

/// The exit code of a command, where an agent writes it beside the output.
fn exit_code(text: &str) -> Option<i64> {
    const MARKS: [&str; 4] = ["<returncode>", "\"exit_code\":", "exit code: ", "exited with code "];
    const NEAR: usize = 200;
    // Agents write it at one of the ends.
    let (head, tail) = (text.floor_char_boundary(NEAR), text.floor_char_boundary(text.len().saturating_sub(NEAR)));
    for end in [&text[..head], &text[tail..]] {
        for mark in MARKS {
            let Some((_, behind)) = end.split_once(mark) else { continue };
            let behind = behind.trim_start();
            let length = behind.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'-').count();
            if let Ok(code) = behind[..length].parse() {
                return Some(code);
            }
        }
    }
    None
}

impl<'a> Scene<'_, 'a> {
    /// The edits that remove the copies of a result.
    pub(super) fn without_copies(&self, result: &ToolResult<'_, '_>) -> Vec<Edit> {
        let spans: Vec<_> = result.output.copies.iter().map(|copy| copy.span()).collect();
        elements::removal_edits(self.transcript.source, &spans)
    }

    /// The tokens of a result: those of its text, and of the media in it.
    pub(super) fn tokens(&self, result: &ToolResult<'_, '_>) -> u64 {
        let rates = self.tally.message_counter().media;
        let media = self.media_in(result.output.value.span()).iter();
        self.text_tokens(result) + media.map(|medium| rates.tokens(medium.kind, medium.json)).sum::<u64>()
    }

    pub(super) fn text_tokens(&self, result: &ToolResult<'_, '_>) -> u64 {
        *result.tokens.get_or_init(|| self.counter().count_text(result.text()))
    }

    fn media_in(&self, span: Range<usize>) -> &[SceneMedium<'a>] {
        let media = self.media();
        let first = media.partition_point(|medium| medium.json.span().start < span.start);
        let end = media.partition_point(|medium| medium.json.span().start < span.end);
        &media[first..end]
    }

    /// The media of all messages, in order.
    fn media(&self) -> &[SceneMedium<'a>] {
        self.media.get_or_init(|| {
            let mut found = Vec::new();
            for message in &self.transcript.messages {
                message.pieces(&mut |_, piece| {
                    if let Piece::Media(kind, json) = piece {
                        found.push(SceneMedium { kind, json });
                    }
                });
            }
            found.sort_by_key(|medium| medium.json.span().start);
            found
        })
    }
}
