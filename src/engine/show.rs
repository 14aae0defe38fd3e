//! `show`: prints messages of a transcript, or of what an archive holds.

use std::io::{self, IsTerminal};

use anyhow::Result;

use crate::cli::places::{Indices, MessagePlace, PlaceOrigin};
use crate::diagnostic::Advice;
use crate::events::{Event, Listener};
use crate::exit::{Exit, Failure};
use crate::files::output;
use crate::redact::{cut_before, cut_behind};
use crate::report::reporter::Reporter;
use crate::sanitize::{reveal_line, sanitize_json};
use crate::settings::{ShowSettings, Volume};
use crate::tokens::Counter;
use crate::transcript::media::without_data;
use crate::transcript::record_id::RecordId;
use crate::wording::{grouped_and_counted, readable_source};

use crate::engine::contents::{Contents, Found, KnownPart, ReadPart};
use crate::engine::inputs::Entry;
use crate::engine::lookup::Lookup;
use crate::engine::show_command::ShowCommand;

/// The most records or conversations that an error lists.
const MOST_LISTED: usize = 8;

/// A message that was found, with its text or its JSON.
struct FoundMessage {
    found: Found,
    text: String,
}

/// Shows the messages at some places.
///
/// # Errors
/// A place has no message, or several; the file cannot be read.
pub(super) fn show(settings: &ShowSettings) -> Result<Exit> {
    let ShowSettings { lookup: settings, places, limit_tokens: tokens } = settings;
    // Beside an archive, a transcript is what was kept.
    let file = Entry::named(settings.input.paths.first());
    let mut lookup = Lookup::new(settings);
    // For each place, the messages that it may mean: the rounds of an archive are known at its end.
    let mut found: Vec<Vec<FoundMessage>> = places.iter().map(|_| Vec::new()).collect();
    let contents = lookup.read(&file, &mut |part, masks| {
        for (place, found) in places.iter().zip(&mut found) {
            if !may_mean(place, part) {
                continue;
            }
            let all = part.messages.len();
            for (at, message) in part.messages.iter().enumerate() {
                if place.indices.contain(part.index(at), at + 1 == all) {
                    let text = if settings.json { message.json.raw().to_owned() } else { masks.text(message) };
                    found.push(FoundMessage { found: part.found(at), text });
                }
            }
        }
    })?;
    let command = ShowCommand::of(settings, &file);
    let (contents, name) = (contents.unwrap_or_default(), file.name());
    let name = readable_source(&name);
    let (mut out, mut failures, mut notices) = (Vec::new(), Vec::new(), lookup.damage);
    for (place, found) in places.iter().zip(found) {
        let meant = match meant(place, found, &contents, &name) {
            Ok(meant) => meant,
            Err(failure) => {
                failures.push(failure);
                continue;
            }
        };
        if meant.len() < place.indices.count() {
            let all = listed(contents.listing());
            let why = format!("show {place}: not all of these are there; {name} has {all}");
            if settings.json {
                return Err(Failure::usage(why).into());
            }
            notices.push(why);
        }
        for FoundMessage { found, text } in meant {
            if settings.json {
                out.push(text);
            } else {
                out.push(drawn(&found, contents.origin_of(&found), &text, *tokens, &command));
            }
        }
    }
    // A person is shown those of several places that are there, and a program all or none.
    if !failures.is_empty() && (out.is_empty() || settings.json) {
        // A message can be missing because its record is damaged.
        report(&notices, settings.volume);
        return Err(failures.swap_remove(0).into());
    }
    notices.extend(failures.iter().map(ToString::to_string));
    let shown = if settings.json { format!("[{}]\n", out.join(",\n")) } else { out.concat() };
    let is_for_a_person = settings.json && io::stdout().is_terminal();
    output::print(&if is_for_a_person { sanitize_json(&shown) } else { shown })?;
    report(&notices, settings.volume);
    Ok(if failures.is_empty() { Exit::Success } else { Exit::SomeFailed })
}

/// Reports some sentences on standard error.
fn report(notices: &[String], volume: Volume) {
    if volume > Volume::Quiet {
        let reporter = Reporter::new(volume);
        for notice in notices {
            reporter.handle(&Event::Notice(notice));
        }
    }
}

/// Whether a place can name messages of a part.
fn may_mean(place: &MessagePlace, part: &ReadPart<'_, '_>) -> bool {
    match place.origin {
        PlaceOrigin::Line(..) => place.origin == part.origin,
        PlaceOrigin::Record(id) => part.record.id == Some(id),
        PlaceOrigin::Round(round) => round == part.record.round && !part.is_copy,
        PlaceOrigin::Last => !part.is_copy,
    }
}

/// Whether a place is a number that an id of a record can be, too.
fn may_be_id(place: &MessagePlace) -> bool {
    place.origin == PlaceOrigin::Last && place.to_string().parse::<RecordId>().is_ok()
}

/// The error of a number in place of the message of a record.
fn id_alone(place: &MessagePlace, contents: &Contents, name: &str) -> Failure {
    let of_record = place.to_string().parse().map(|id| contents.with_id(id)).unwrap_or_default();
    let why = if of_record.is_empty() {
        format!("no message has this index, and no record this id; {name} has {}", listed(contents.listing()))
    } else {
        format!(
            "this is the id of a record, and {place}:INDEX a message of it; {name} has {}",
            listed(contents.listing())
        )
    };
    Failure::usage(format!("show {place}: {why}"))
}

/// Those of some messages that a place means.
fn meant(
    place: &MessagePlace,
    mut found: Vec<FoundMessage>,
    contents: &Contents,
    name: &str,
) -> Result<Vec<FoundMessage>, Failure> {
    const NOT_CUT: &str = "it was not cut then; a later round cut it, or the transcript still has it";
    let mut known_by_id = Vec::new();
    if let PlaceOrigin::Record(id) = place.origin {
        found = of_one_text(found, place.indices);
        known_by_id = contents.with_id(id);
        if found.windows(2).any(|two| two[0].found.index == two[1].found.index) {
            return Err(ambiguous(place, &known_by_id, "records with this id", contents, name));
        }
    }
    let known: Option<Vec<&KnownPart>> = match place.origin {
        PlaceOrigin::Last => Some(contents.of(contents.last).iter().collect()),
        PlaceOrigin::Round(round) if contents.is_archive => Some(contents.of(round).iter().collect()),
        PlaceOrigin::Round(_) | PlaceOrigin::Record(_) | PlaceOrigin::Line(..) => None,
    };
    let why = match known.as_deref() {
        Some(several @ [_, _, ..]) => {
            let what = if contents.is_archive { "records of this round" } else { "conversations" };
            return Err(ambiguous(place, several, what, contents, name));
        }
        _ if matches!(place.origin, PlaceOrigin::Round(_)) && !contents.is_archive => {
            "only an archive has rounds, and --archive FILE names one"
        }
        _ if matches!(place.origin, PlaceOrigin::Record(_)) && !contents.is_archive => {
            "only an archive has records, and --archive FILE names one"
        }
        Some([only]) => {
            found.retain(|message| message.found.origin == only.origin);
            if !found.is_empty() {
                return Ok(found);
            }
            if may_be_id(place) && contents.is_archive {
                return Err(id_alone(place, contents, name));
            }
            if contents.is_archive { NOT_CUT } else { "there is no such message" }
        }
        None if !found.is_empty() => return Ok(found),
        None if !known_by_id.is_empty() => NOT_CUT,
        _ => "there is no such message",
    };
    let what = format!("show {place}: {why}; {name} has {}", listed(contents.listing()));
    Err(Failure::usage(what))
}

/// The messages of records with one id, in order. The records are of one text, whose message at an index counts once: a
/// run was repeated, or several conversations are equal. Only an altered archive has others.
fn of_one_text(mut messages: Vec<FoundMessage>, indices: Indices) -> Vec<FoundMessage> {
    messages.sort_by_key(|message| message.found.index);
    messages.dedup_by(|later, earlier| later.found.index == earlier.found.index && later.text == earlier.text);
    if indices == Indices::Last
        && let Some(last) = messages.last()
    {
        let last = last.found.index;
        messages.retain(|message| message.found.index == last);
    }
    messages
}

/// The error of a place that several records or conversations have, with a place for each of them.
fn ambiguous(place: &MessagePlace, several: &[&KnownPart], what: &str, contents: &Contents, name: &str) -> Failure {
    let mut last = None;
    let mut named = Vec::new();
    for part in several {
        let one = MessagePlace { origin: contents.origin_of_part(part), ..place.clone() }.to_string();
        let of = if part.source.is_empty() { String::new() } else { format!(" of {}", part.source) };
        named.push(format!("{one}{of}"));
        last = Some(one);
    }
    let by = if contents.is_archive { "" } else { " by its line" };
    let number = several.len();
    let why = format!("show {place}: {name} has {number} {what}; name one{by}: {}", listed(named));
    let failure = Failure::usage(why);
    let file = if name == readable_source("-") { "-" } else { name };
    match last {
        Some(last) => failure.try_next(Advice::command(["show".to_owned(), last, file.to_owned()])),
        None => failure,
    }
}

/// Joins names for a sentence, the first ones of many.
fn listed(names: Vec<String>) -> String {
    match names.len().saturating_sub(MOST_LISTED) {
        _ if names.is_empty() => "no messages".to_owned(),
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..MOST_LISTED].join(", ")),
    }
}

/// The lines that show a message, of at most so many tokens: the beginning and the end of a longer text, and the command
/// that shows all of it.
pub(super) fn drawn(found: &Found, origin: PlaceOrigin, text: &str, tokens: u64, command: &ShowCommand) -> String {
    let text = without_data(text);
    let text = text.trim_end_matches('\n');
    let all = Counter::APPROX.count_text(text);
    let (head, tail) = if all <= tokens { (text, "") } else { ends(text, tokens) };
    let mut out = found.header(origin) + "\n" + &indented(head);
    if head.len() < text.len() {
        let shown = Counter::APPROX.count_text(head) + Counter::APPROX.count_text(tail);
        let place = origin.place(found.index);
        let less = grouped_and_counted(all.saturating_sub(shown), "token");
        out += &format!("[{place}] … {less}; {}\n", command.to_see_all(&place, all));
        out += &indented(tail);
    }
    out
}

/// The lines of a text, each behind two spaces and with its control characters made visible.
fn indented(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split('\n') {
        out.push_str("  ");
        out.push_str(&reveal_line(line.strip_suffix('\r').unwrap_or(line)));
        out.push('\n');
    }
    out
}

/// The beginning and the end of a text, together of so many tokens, each of whole lines where that is possible.
fn ends(text: &str, tokens: u64) -> (&str, &str) {
    const CHARS_PER_TOKEN: usize = 4;
    let most = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(CHARS_PER_TOKEN);
    let latest_head = offset_of_char(text, most - most / 3);
    let head = match memchr::memrchr(b'\n', &text.as_bytes()[..latest_head]) {
        Some(line_end) if line_end >= latest_head / 2 => line_end,
        _ => cut_before(text, latest_head),
    };
    let earliest_tail = offset_of_char(text, text.chars().count().saturating_sub(most / 3)).max(head);
    let rest = &text.as_bytes()[earliest_tail..];
    let tail = match memchr::memchr(b'\n', rest) {
        Some(line_end) if line_end < rest.len() / 2 => earliest_tail + line_end + 1,
        _ => cut_behind(text, earliest_tail),
    };
    (&text[..head], &text[tail..])
}

/// Where the character with this index begins in a text; its end where it has fewer.
fn offset_of_char(text: &str, index: usize) -> usize {
    match text.char_indices().nth(index) {
        Some((offset, _)) => offset,
        None => text.len(),
    }
}
