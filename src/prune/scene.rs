//! A conversation as rules see it: what may be touched, and every result with its call.

use std::cell::OnceCell;

use crate::plan::size::Size;
use crate::rewrite::elements;
use crate::tokens::{Counter, MEDIA_TOKENS, Tally};
use crate::transcript::edit::Edit;
use crate::transcript::outputs::Output;
use crate::transcript::pairing;
use crate::transcript::tools::ToolUse;
use crate::transcript::{Arguments, Call, Content, Part, PartKind, Transcript};

/// A conversation as rules see it.
pub(crate) struct Scene<'s, 'a> {
    /// The conversation.
    pub(crate) transcript: &'s Transcript<'a>,
    /// How large its messages are.
    pub(crate) tally: &'s Tally<'s, 'a>,
    /// The context window, in tokens, where it is known.
    pub(crate) context_window: Option<u64>,
    /// What a summary message begins with, by which one is told from a turn of the user's.
    pub(crate) summary_prefix: &'s str,
    /// For each message, whether it may be touched.
    pub(crate) touchable: Vec<bool>,
    /// Names of tools whose calls and results stay.
    pub(crate) except: &'s [String],
    /// Where what goes is kept, as messages are to name it.
    pub(crate) archive: Option<&'s str>,
    results: OnceCell<Vec<ToolResult<'s, 'a>>>,
}

/// How old things are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Age {
    /// All but the last so many.
    NotLast(u64),
    /// All that is older than this.
    Before(Size),
}

/// A result with its call.
pub(super) struct ToolResult<'s, 'a> {
    /// The message that it is in.
    pub(super) message: usize,
    /// What it answers; nothing where that is nowhere before it.
    pub(super) call: Option<&'s Call<'a>>,
    /// Where it stands.
    pub(super) output: Output<'a>,
}

impl<'s, 'a> Scene<'s, 'a> {
    /// A conversation of which the messages may be touched that are so marked.
    pub(crate) fn new(transcript: &'s Transcript<'a>, tally: &'s Tally<'s, 'a>, touchable: Vec<bool>) -> Self {
        Scene {
            transcript,
            tally,
            context_window: None,
            summary_prefix: crate::plan::SUMMARY_PREFIX,
            touchable,
            except: &[],
            archive: None,
            results: OnceCell::new(),
        }
    }

    /// How tokens are counted.
    pub(super) fn counter(&self) -> Counter {
        self.tally.counter()
    }

    /// Every result that can be shortened, in order.
    pub(super) fn results(&self) -> &[ToolResult<'s, 'a>] {
        self.results.get_or_init(|| {
            let messages = &self.transcript.messages;
            let found = pairing::results(messages).into_iter().filter_map(|found| {
                let pairing::CallOrResult { message, index } = found.result;
                let read = &messages[message];
                let output = self.transcript.format.output(read, &read.answers[index])?;
                Some(ToolResult { message, call: found.call.map(|call| call.call_of(messages)), output })
            });
            let mut found: Vec<ToolResult<'s, 'a>> = found.collect();
            // One text may answer several calls.
            found.dedup_by_key(|result| result.output.value.span().start);
            found
        })
    }

    /// Whether a tool is one of those whose calls and results stay.
    pub(super) fn is_excepted(&self, call: Option<&Call<'_>>) -> bool {
        let name = call.and_then(|call| call.name);
        name.is_some_and(|name| self.except.iter().any(|excepted| name.is(excepted)))
    }

    /// Whether a result may be shortened.
    pub(super) fn may_touch(&self, result: &ToolResult<'_, '_>) -> bool {
        self.touchable[result.message] && !self.is_excepted(result.call)
    }

    /// The first message that is not older than a size.
    fn first_within(&self, size: Size) -> usize {
        let messages = &self.transcript.messages;
        let within = |tokens: Option<u64>| tokens.map_or(0, |tokens| self.tally.suffix_within(tokens));
        match size {
            Size::Nothing => messages.len(),
            Size::Messages(number) => messages.len().saturating_sub(usize::try_from(number).unwrap_or(usize::MAX)),
            Size::Tokens(_) | Size::Fraction(_) => within(size.in_tokens(self.context_window)),
            Size::Turns(number) => {
                let turns = messages.iter().enumerate().rev();
                let mut turns =
                    turns.filter(|(_, message)| message.is_user_turn() && !message.is_summary(self.summary_prefix));
                let nth = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
                turns.nth(nth).map_or(0, |(index, _)| index)
            }
        }
    }

    /// Which of some items, by the messages that they are in, are older than an amount.
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

/// Characters of a tool's name that are shown.
const LONGEST_NAME: usize = 80;

impl ToolResult<'_, '_> {
    /// The tool that gave it.
    pub(super) fn tool(&self) -> String {
        let name = self.call.and_then(|call| call.name).map(|name| name.decode().chars().take(LONGEST_NAME).collect());
        name.filter(|name: &String| !name.is_empty()).unwrap_or_else(|| "tool".to_owned())
    }

    /// What its call does.
    pub(super) fn call_use(&self) -> ToolUse {
        let Some(call) = self.call else { return ToolUse::default() };
        let name = call.name.map(|name| name.decode()).unwrap_or_default();
        match call.arguments {
            Arguments::Text(text) => ToolUse::of(&name, &text.decode()),
            Arguments::Value(value) => ToolUse::of(&name, value.raw()),
            Arguments::Absent => ToolUse::default(),
        }
    }

    /// All that it says.
    pub(super) fn text(&self) -> String {
        let strings = self.output.strings();
        let texts: Vec<_> = strings.into_iter().filter_map(|string| Some(string.text()?.decode())).collect();
        match texts.as_slice() {
            // What has no text at all is told by its size.
            [] => self.output.value.raw().to_owned(),
            texts => texts.join("\n"),
        }
    }

    /// Whether the tool failed: the format says so, or what it gave, which is `text`, begins or ends as errors do.
    pub(super) fn has_failed(&self, text: &str) -> bool {
        const BEGINS: [&str; 7] =
            ["error", "<tool_use_error>", "failed", "traceback", "fatal", "exit code", "exception"];
        let opening: String = text.trim_start().chars().take(40).flat_map(char::to_lowercase).collect();
        let code = opening.strip_prefix("exit code").map(|code| code.trim_start_matches([':', ' ']));
        let is_zero = code.is_some_and(|code| code.starts_with('0'));
        self.output.failed
            || !is_zero && BEGINS.iter().any(|begins| opening.starts_with(begins))
            || exit_code(text).is_some_and(|code| code != 0)
    }
}

/// The exit code of a command, where an agent writes it beside the output.
fn exit_code(text: &str) -> Option<i64> {
    const MARKS: [&str; 4] = ["<returncode>", "\"exit_code\":", "exit code: ", "exited with code "];
    const NEAR: usize = 200;
    let near = |mut at: usize| {
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    // It stands at one of the ends.
    let ends = [&text[..near(NEAR.min(text.len()))], &text[near(text.len().saturating_sub(NEAR))..]];
    ends.iter().find_map(|end| {
        MARKS.iter().find_map(|mark| {
            let (_, behind) = end.split_once(mark)?;
            let behind = behind.trim_start();
            let length = behind.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'-').count();
            behind[..length].parse().ok()
        })
    })
}

impl Scene<'_, '_> {
    /// The edits that take away what repeats a result.
    pub(super) fn without_copies(&self, result: &ToolResult<'_, '_>) -> Vec<Edit> {
        let spans: Vec<_> = result.output.copies.iter().map(|copy| copy.span()).collect();
        elements::removal_edits(self.transcript.source, &spans)
    }

    /// How large a result is which says `text`: its texts, and pictures at their flat rate.
    pub(super) fn tokens(&self, result: &ToolResult<'_, '_>, text: &str) -> u64 {
        let parts = match &self.transcript.messages[result.message].content {
            Content::Parts(parts) => &**parts,
            Content::Text(_) => &[],
        };
        let span = result.output.value.span();
        let is_inside = |part: &Part<'_>| span.start <= part.json.span().start && part.json.span().end <= span.end;
        let of_results = parts.iter().flat_map(|part| match &part.kind {
            PartKind::Result(Content::Parts(inner)) => &**inner,
            _ => std::slice::from_ref(part),
        });
        let is_medium = |part: &&Part<'_>| matches!(part.kind, PartKind::Image | PartKind::Media) && is_inside(part);
        let media = of_results.filter(is_medium).count();
        self.counter().count_text(text) + media as u64 * MEDIA_TOKENS
    }
}
