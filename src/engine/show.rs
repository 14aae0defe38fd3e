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
    let mut found: Vec<Vec<(Found, String)>> = places.iter().map(|_| Vec::new()).collect();
    let contents = lookup.read(&file, &mut |part, masks| {
        for (place, found) in places.iter().zip(&mut found).filter(|(place, _)| may_mean(place, part)) {
            let all = part.messages.len();
            let wanted = (0..all).filter(|at| place.indices.contain(part.index(*at), at + 1 == all));
            found.extend(wanted.map(|at| {
                let message = &part.messages[at];
                (part.found(at), if settings.json { message.json.raw().to_owned() } else { masks.text(message) })
            }));
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
        let draw = |(found, text): (Found, String)| drawn(&found, contents.origin_of(&found), &text, *tokens, &command);
        out.extend(meant.into_iter().map(|one| if settings.json { one.1 } else { draw(one) }));
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
    mut found: Vec<(Found, String)>,
    contents: &Contents,
    name: &str,
) -> Result<Vec<(Found, String)>, Failure> {
    const NOT_CUT: &str = "it was not cut then; a later round cut it, or the transcript still has it";
    let mut known_by_id = Vec::new();
    if let PlaceOrigin::Record(id) = place.origin {
        found = of_one_text(found, place.indices);
        known_by_id = contents.with_id(id);
        if found.windows(2).any(|two| two[0].0.index == two[1].0.index) {
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
            found.retain(|(found, _)| found.origin == only.origin);
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
fn of_one_text(mut found: Vec<(Found, String)>, indices: Indices) -> Vec<(Found, String)> {
    found.sort_by_key(|(found, _)| found.index);
    found.dedup_by(|later, earlier| (later.0.index, &later.1) == (earlier.0.index, &earlier.1));
    if indices == Indices::Last {
        let last = found.last().map(|(found, _)| found.index);
        found.retain(|(found, _)| Some(found.index) == last);
    }
    found
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
    let indented = |text: &str| {
        let lines = text.split('\n').map(|line| reveal_line(line.strip_suffix('\r').unwrap_or(line)));
        lines.fold(String::new(), |out, line| out + "  " + &line + "\n")
    };
    let mut out = found.header(origin) + "\n" + &indented(head);
    if head.len() < text.len() {
        let less = all.saturating_sub([head, tail].map(|text| Counter::APPROX.count_text(text)).iter().sum());
        let place = origin.place(found.index);
        let less = grouped_and_counted(less, "token");
        out += &format!("[{place}] … {less}; {}\n", command.to_see_all(&place, all));
        out += &indented(tail);
    }
    out
}

/// The beginning and the end of a text, together of so many tokens, each of whole lines where that is possible.
fn ends(text: &str, tokens: u64) -> (&str, &str) {
    const CHARS_PER_TOKEN: usize = 4;
    let most = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(CHARS_PER_TOKEN);
    let char_at = |count: usize| text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    let head = char_at(most - most / 3);
    let line = memchr::memrchr(b'\n', &text.as_bytes()[..head]).filter(|line| *line >= head / 2);
    let head = line.unwrap_or_else(|| cut_before(text, head));
    let tail = char_at(text.chars().count().saturating_sub(most / 3)).max(head);
    let line = memchr::memchr(b'\n', &text.as_bytes()[tail..]).map(|line| tail + line + 1);
    let tail = line.filter(|line| *line <= tail + (text.len() - tail) / 2).unwrap_or_else(|| cut_behind(text, tail));
    (&text[..head], &text[tail..])
}
