//! `--show`: prints messages of a transcript, or of what an archive holds.

use std::fmt::Write as _;

use anyhow::Result;

use crate::advice::Advice;
use crate::cli::places::{Origin, Place};
use crate::events::Event;
use crate::exit::{Exit, Failure};
use crate::files::output;
use crate::redact::cut_before;
use crate::report::reporter::Reporter;
use crate::sanitize::reveal_line;
use crate::settings::{LookupSettings, ShowSettings, Volume};
use crate::summary::inline_data::without_data;
use crate::tokens::Counter;
use crate::wording::{grouped, readable_source};

use crate::engine::listeners::notify;
use crate::engine::lookup::{FileKind, Lookup, LookupFile, Masks, Part, Rounds};
use crate::engine::search::header;

/// The most rounds, records or conversations that an error lists.
const MOST_LISTED: usize = 8;

/// A message that the user asked for.
struct Wanted {
    /// The position among the places that the user gave.
    nth: usize,
    /// The record of this round, or a conversation on a line, that has it.
    round: Option<u32>,
    origin: Origin,
    index: usize,
    role: String,
    tool: Option<String>,
    text: String,
}

/// What was seen of a file.
struct Seen<'s> {
    show: &'s ShowSettings,
    json: bool,
    wanted: Vec<Wanted>,
    /// The conversations of a transcript, each with its number of messages.
    conversations: Vec<(Origin, usize)>,
}

/// Shows messages.
///
/// # Errors
/// A place has no message, or several; the file cannot be read.
pub(super) fn show(settings: &LookupSettings, show: &ShowSettings) -> Result<Exit> {
    let paths = &settings.input.paths;
    // Beside an archive, a transcript is what was kept.
    if paths.len() > 1 + usize::from(settings.is_archive) {
        return Err(Failure::usage("--show: it shows messages of one file; name one").about("show").into());
    }
    let path = paths.first().filter(|path| path.as_os_str() != "-").cloned();
    let file = LookupFile { path, named: true };
    let mut lookup = Lookup::new(settings);
    let mut seen = Seen { show, json: settings.json, wanted: Vec::new(), conversations: Vec::new() };
    let kind = lookup.read(file.path.as_deref(), true, &mut |part, masks| seen.add(part, masks))?;
    let name = file.name();
    let name = readable_source(&name);
    let mut shown: Vec<(String, Wanted)> = Vec::new();
    let mut notices = lookup.damage;
    for (nth, place) in show.places.iter().enumerate() {
        let of_place = seen.wanted.extract_if(.., |wanted| wanted.nth == nth).collect();
        let chosen = match &kind {
            FileKind::Archive(rounds) => of_archive(place, of_place, rounds, &name)?,
            _ => of_transcript(place, of_place, &seen.conversations, &name)?,
        };
        let missing = place.end.saturating_sub(place.first).saturating_sub(chosen.len());
        if missing > 0 {
            notices.push(format!("{name}: {missing} of the messages {place} were not cut in this round"));
        }
        shown.extend(chosen);
    }
    if settings.json {
        let messages: Vec<&str> = shown.iter().map(|(_, wanted)| &*wanted.text).collect();
        output::print(&format!("[{}]\n", messages.join(",\n")))?;
    } else {
        output::print(&shown.iter().map(|(place, wanted)| wanted.draw(place, show.tokens)).collect::<String>())?;
    }
    if settings.volume > Volume::Quiet {
        let reporter = Reporter::new(settings.volume);
        notices.iter().for_each(|sentence| notify(&reporter, Event::Notice(sentence)));
    }
    Ok(Exit::Success)
}

impl Seen<'_> {
    fn add(&mut self, part: &Part<'_, '_>, masks: &mut Masks) {
        let round = part.record.map(|record| record.round);
        if round.is_none() {
            self.conversations.push((part.origin, part.messages.len()));
        }
        for (nth, place) in self.show.places.iter().enumerate() {
            let is_asked = match place.origin {
                Origin::Line(..) => place.origin == part.origin,
                _ if part.is_copy => false,
                Origin::Last => true,
                Origin::Round(wanted) => round == Some(wanted),
            };
            for at in 0..if is_asked { part.messages.len() } else { 0 } {
                let index = part.index(at);
                if !(place.first..place.end).contains(&index) {
                    continue;
                }
                let message = &part.messages[at];
                let text = if self.json { message.json.raw().to_owned() } else { masks.text(message) };
                let (role, tool) = part.speaker(at);
                self.wanted.push(Wanted { nth, round, origin: part.origin, index, role, tool, text });
            }
        }
    }
}

/// Returns the messages at a place of an archive.
fn of_archive(place: &Place, mut wanted: Vec<Wanted>, rounds: &Rounds, name: &str) -> Result<Vec<(String, Wanted)>> {
    let round = match place.origin {
        Origin::Last => Some(rounds.last),
        Origin::Round(round) => Some(round),
        Origin::Line(..) => None,
    };
    if let Some(round) = round {
        let records = rounds.of(round);
        if records.len() > 1 {
            return Err(ambiguous(place, round, rounds, name));
        }
        let own = |wanted: &Wanted| {
            wanted.round == Some(round) && records.iter().any(|record| Origin::Line(record.line, 1) == wanted.origin)
        };
        wanted.retain(own);
    }
    if wanted.is_empty() {
        return Err(not_there(place, round, rounds, name));
    }
    wanted.sort_by_key(|wanted| wanted.index);
    let name_of = |wanted: &Wanted| match (round, wanted.origin) {
        (Some(round), Origin::Line(line, _)) => rounds.origin(round, line).place(wanted.index),
        _ => wanted.origin.place(wanted.index),
    };
    Ok(wanted.into_iter().map(|wanted| (name_of(&wanted), wanted)).collect())
}

fn ambiguous(place: &Place, round: u32, rounds: &Rounds, name: &str) -> anyhow::Error {
    let records = rounds.of(round);
    let one = |line: usize| Place { origin: Origin::Line(line, 1), ..place.clone() }.to_string();
    let shown = records.iter().take(MOST_LISTED).map(|record| format!("{} of {}", one(record.line), record.source));
    let shown = listed(shown.collect(), records.len());
    let of = if round == 0 { "records without a round".to_owned() } else { format!("records of round {round}") };
    let what = format!("--show {place}: {name} has {} {of}; name one by its line: {shown}", records.len());
    let first = records.last().map(|record| one(record.line)).unwrap_or_default();
    Failure::usage(what).about("show").try_next(Advice::command(["--show".to_owned(), first])).into()
}

fn not_there(place: &Place, round: Option<u32>, rounds: &Rounds, name: &str) -> anyhow::Error {
    let all: Vec<_> = rounds.all().collect();
    let indices = |(first, last): (usize, usize)| format!("{first}..{}", last + 1);
    let listing = all.iter().take(MOST_LISTED).map(|(round, record)| {
        let origin = rounds.origin(*round, record.line);
        origin.place(indices(record.indices))
    });
    let there = format!("{name} has {}", listed(listing.collect(), all.len()));
    let why = match round.map(|round| rounds.of(round)) {
        _ if place.end <= place.first => "the range is empty; the index behind .. is not part of it".to_owned(),
        Some([record]) if place.first <= record.indices.1 => {
            "it was not cut in that round; where a later round did not cut it either, the transcript has it".to_owned()
        }
        Some([_]) => {
            "that round did not cut it; where a later round did not cut it either, the transcript has it".to_owned()
        }
        _ => "there is no such message".to_owned(),
    };
    let hint = if all.is_empty() { "" } else { "; --search finds a message by its text" };
    Failure::usage(format!("--show {place}: {why}; {there}{hint}")).about("show").into()
}

/// Returns the messages at a place of a transcript.
fn of_transcript(
    place: &Place,
    wanted: Vec<Wanted>,
    conversations: &[(Origin, usize)],
    name: &str,
) -> Result<Vec<(String, Wanted)>> {
    let there: Vec<&(Origin, usize)> =
        conversations.iter().filter(|(origin, _)| place.origin == Origin::Last || place.origin == *origin).collect();
    let listing = conversations.iter().take(MOST_LISTED).map(|(origin, length)| origin.place(format!("0..{length}")));
    let listing = listed(listing.collect(), conversations.len());
    let why = match there.as_slice() {
        _ if matches!(place.origin, Origin::Round(_)) => {
            "ROUND:INDEX names a message in an archive; --archive FILE names it".to_owned()
        }
        [_, _, ..] => format!("{name} has {} conversations; name one by its line, as #LINE:INDEX", conversations.len()),
        _ if place.end <= place.first => "the range is empty; the index behind .. is not part of it".to_owned(),
        [(_, length)] if place.end <= *length => {
            return Ok(wanted.into_iter().map(|wanted| (wanted.origin.place(wanted.index), wanted)).collect());
        }
        _ => "there is no such message".to_owned(),
    };
    Err(Failure::usage(format!("--show {place}: {why}; {name} has {listing}")).about("show").into())
}

fn listed(shown: Vec<String>, all: usize) -> String {
    let more = all - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    if shown.is_empty() { "no messages".to_owned() } else { shown.join(", ") + &more }
}

impl Wanted {
    /// Returns the lines that show it, of at most so many tokens.
    fn draw(&self, place: &str, tokens: u64) -> String {
        let text = without_data(&self.text);
        let text = text.trim_end_matches('\n');
        let all = Counter::DEFAULT.count_text(text);
        let shown = if all <= tokens { text } else { clipped(text, tokens) };
        let mut out = header(place, &self.role, self.tool.as_deref()) + "\n";
        for line in shown.split('\n') {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "  {}", reveal_line(line.strip_suffix('\r').unwrap_or(line)));
        }
        if shown.len() < text.len() {
            let more = grouped(all - Counter::DEFAULT.count_text(shown));
            let enough = all.next_multiple_of(1000);
            let _ = writeln!(out, "[{place}] … {more} more tokens; --limit-tokens {enough} shows them");
        }
        out
    }
}

/// Returns the beginning of a text of so many tokens, up to the end of a line where that is not far before.
fn clipped(text: &str, tokens: u64) -> &str {
    const CHARS_PER_TOKEN: usize = 4;
    let most = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(CHARS_PER_TOKEN);
    let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
    let line = memchr::memrchr(b'\n', &text.as_bytes()[..end]).filter(|line| *line >= end / 2);
    &text[..line.unwrap_or_else(|| cut_before(text, end))]
}
