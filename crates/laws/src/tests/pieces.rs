//! Every value of a message lies in one piece or in its envelope, and the pieces are all that is counted.

use std::fs;
use std::ops::Range;

use crate::fixtures;
use crate::tokens::bpe::Encoding;
use crate::tokens::{Categories, Counter, MessageCounter, ModelFamily, Tally};
use crate::transcript::formats::by_name;
use crate::transcript::framing::{self, Document};
use crate::transcript::json::named_strings;
use crate::transcript::pieces::Piece;
use crate::transcript::source::Source;
use crate::transcript::{Arguments, Message, Role, Transcript};

/// The members whose words say what a message or a part is.
const WORDS: [&str; 10] =
    ["action", "from", "kind", "mime", "observation", "part_kind", "role", "source", "thought", "type"];
/// More characters than any count rounds away.
const MORE: usize = 400;

#[test]
fn pieces_lie_apart_and_in_order_of_the_source() {
    each_fixture(|name, source, document| {
        for message in document.transcripts.iter().flat_map(|transcript| &transcript.messages) {
            let mut spans: Vec<Range<usize>> = places(message, source).into_iter().map(|(span, _)| span).collect();
            // Events of OpenHands have what the model said among the arguments of its call, where it counts again.
            spans.retain(|span| !span.is_empty() && name != "openhands");
            spans.sort_by_key(|span| (span.start, span.end));
            let met = spans.windows(2).find(|two| two[1].start < two[0].end);
            assert!(met.is_none(), "{name}: {met:?} of {}", message.json.raw());
        }
    });
}

/// Whether a size is reached may be told by them, and the answer must not depend on that.
#[test]
fn the_most_and_the_least_tokens_of_a_message_hold() {
    let family = ModelFamily::of_model("qwen3-max");
    each_fixture(|name, _, document| {
        for message in document.transcripts.iter().flat_map(|transcript| &transcript.messages) {
            for counter in [Counter::Exact(Encoding::Cl100kBase), Counter::Estimate(family)].map(MessageCounter::from) {
                let (least, tokens, most) = (counter.least(message), counter.count(message), counter.most(message));
                assert!(least <= Some(tokens) && most.is_none_or(|most| tokens <= most), "{name}: {message:?}");
            }
        }
    });
}

#[test]
fn categories_sum_to_the_count() {
    each_fixture(|name, _, document| {
        for transcript in &document.transcripts {
            for counter in [Counter::APPROX, Counter::Exact(Encoding::O200kBase), Counter::Bytes(4)] {
                let tally = Tally::new(counter, &transcript.messages);
                assert_eq!(Categories::of(transcript, &tally, 0).total(), total(transcript, counter), "{name}");
            }
        }
    });
}

/// A longer text in a piece counts once, and a longer value of the envelope counts nothing.
#[test]
fn longer_text_counts_once_or_never() {
    let mut tried = 0;
    each_fixture(|name, source, document| {
        let before = sum(document);
        let messages = document.transcripts.iter().flat_map(|transcript| &transcript.messages);
        for message in messages {
            let places = places(message, source);
            for (key, string) in named_strings(message.json) {
                // Another word there makes another message, and an empty text is no piece.
                if string.is_falsy()
                    || key.and_then(|key| key.text()).is_some_and(|key| WORDS.iter().any(|word| key.is(word)))
                {
                    continue;
                }
                let inside = string.span().start + 1..string.span().end - 1;
                let around =
                    |(span, _): &&(Range<usize>, Counted)| span.start <= inside.start && inside.end <= span.end;
                // What a program writes around the words of the user is a piece of its own.
                let within =
                    |(span, _): &&(Range<usize>, Counted)| inside.start <= span.start && span.end <= inside.end;
                let place = places.iter().find(around).or_else(|| places.iter().find(within));
                let Some(after) = lengthened(source, &inside, name, document) else { continue };
                let added = after.saturating_sub(before) * 4;
                let is_once = (MORE as u64 - 4..=MORE as u64 + 4).contains(&added);
                let is_right = match place {
                    Some((_, Counted::Once)) => is_once,
                    Some((_, Counted::Never)) => added <= 4,
                    Some((_, Counted::AsPython)) => added >= MORE as u64 - 4,
                    // The frame of a message has its role, its name, and the ids of calls.
                    None => added <= 4 || is_once && is_of_frame(message, source, &inside),
                };
                assert!(is_right, "{name}: {added} for {} in {}", string.raw(), message.json.raw());
                tried += 1;
            }
        }
    });
    assert!(tried > 1_500, "{tried} strings");
}

/// How a string in a piece counts.
#[derive(Clone, Copy)]
enum Counted {
    Once,
    /// Not at all: its bytes are no text.
    Never,
    /// As `repr` spells it.
    AsPython,
}

/// The places of the pieces of a message.
fn places(message: &Message<'_>, source: &str) -> Vec<(Range<usize>, Counted)> {
    let mut places = Vec::new();
    message.pieces(&mut |_, piece| match piece {
        Piece::Call(call) => {
            let name = call.name.and_then(|name| name.span_in(source));
            let arguments = match call.arguments {
                Arguments::Text(text) => text.span_in(source),
                Arguments::Value(value) => Some(value.span()),
                Arguments::Absent => None,
            };
            // A call that is a text has its name in it.
            let is_inside = |name: &Range<usize>| {
                arguments.as_ref().is_some_and(|all| all.start <= name.start && name.end <= all.end)
            };
            places.extend(name.filter(|name| !is_inside(name)).map(|name| (name, Counted::Once)));
            places.extend(arguments.map(|span| (span, Counted::AsPython)));
        }
        Piece::Media(_, json) => places.push((json.span(), Counted::Never)),
        Piece::Opaque(json) => places.push((json.span(), Counted::Once)),
        Piece::Reasoning(text) => places.extend(text.span_in(source).map(|span| (span, Counted::Once))),
        piece => {
            let span = piece.text().and_then(|text| text.span_in(source));
            places.extend(span.map(|span| (span, Counted::Once)));
        }
    });
    places
}

fn is_of_frame(message: &Message<'_>, source: &str, span: &Range<usize>) -> bool {
    let rest = message.rare_fields();
    let answered = message.results.first().and_then(|result| result.id);
    let called = message.calls.iter().filter_map(|call| call.id);
    let mut frame = [rest.role_name, rest.name, answered].into_iter().flatten().chain(called);
    frame.any(|text| text.span_in(source).is_some_and(|own| own == *span))
}

/// The count with a longer string, where that is still the same conversation.
fn lengthened(source: &str, inside: &Range<usize>, name: &str, before: &Document<'_>) -> Option<u64> {
    let longer = [&source[..inside.end], &"x".repeat(MORE), &source[inside.end..]].concat();
    let source = Source::of_file(&longer).ok()?;
    let after = framing::read(&source, by_name(name), None).ok()?;
    let shape = |document: &Document<'_>| -> Vec<(Role, usize, usize)> {
        let messages = document.transcripts.iter().flat_map(|transcript| &transcript.messages);
        messages.map(|message| (message.role, message.calls.len(), message.results.len())).collect()
    };
    (shape(before) == shape(&after)).then(|| sum(&after))
}

fn sum(document: &Document<'_>) -> u64 {
    document.transcripts.iter().map(|transcript| total(transcript, Counter::APPROX)).sum()
}

fn total(transcript: &Transcript<'_>, counter: Counter) -> u64 {
    let all: Vec<usize> = (0..transcript.messages.len()).collect();
    Tally::new(counter, &transcript.messages).sum(&all)
}

fn each_fixture(check: impl FnMut(&str, &str, &Document<'_>)) {
    let mut check = check;
    for (name, file) in fixtures::all() {
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let source = Source::of_file(&text).unwrap_or_else(|error| panic!("{error:?}"));
        let document = framing::read(&source, by_name(name), None).unwrap_or_else(|error| panic!("{error}"));
        check(name, &text, &document);
    }
}
