//! What an earlier summary holds, carried on: the lines of the embedded summarizer by their shapes, those of a ledger as
//! they are, and anybody else's as sentences under their headings.

use crate::summary::record::files::Use;
use crate::summary::record::outcome::is_code;
use crate::summary::record::phrases::{
    BE_OPEN, DONE, ERROR_GONE, NO_RESULT, OPEN_QUESTION, RAN_WELL, REPORT, SECTIONS, USER,
};
use crate::summary::record::user::{LAST_REQUEST, Words};
use crate::summary::record::work::{FAILED_EDIT, Work};
use crate::summary::record::{Entry, Kind, Section, cues, section, values::LONGEST_VALUE};
use crate::summary::record::{homes, statements};

/// What is carried on weighs more than what is new of its kind: it was chosen before.
const CARRIED: f64 = 1.3;

/// Takes an earlier summary apart, and puts what it holds where it belongs.
pub(super) fn carry(summary: &str, index: usize, words: &mut Words, work: &mut Work, carried: &mut Vec<Entry>) {
    let own = section::without(summary);
    let mut entries = if is_foreign(&own) { prose(&own, index) } else { lines(&own, index) };
    let said: Vec<Entry> = section::parse(summary);
    // A ledger has what the summary beside it lacks.
    entries.extend(said);
    let mut tools: Vec<Entry> = Vec::new();
    for mut entry in entries {
        entry.earlier = true;
        match entry.kind {
            Kind::User => {
                if entry.about == LAST_REQUEST {
                    entry.about.clear();
                }
                words.carried(entry);
            }
            Kind::Todo | Kind::Done | Kind::File | Kind::Command => work.carried(entry),
            Kind::Error if entry.about != ERROR_GONE => work.carried(entry),
            Kind::Value => tools.push(entry),
            Kind::Open | Kind::Next | Kind::Report | Kind::Decision | Kind::Error | Kind::Finding => {
                entry.weight *= CARRIED;
                carried.push(entry);
            }
        }
    }
    for mut entry in tools {
        entry.weight *= CARRIED;
        let spare = entry.about.starts_with(homes::IN);
        let key = format!("{} {}", entry.about, entry.text);
        let cell = (!spare).then(|| Box::new(super::values::Cell::named_so(&entry.text)));
        work.value(Some(key), super::Found { entry, cell, spare });
    }
}

/// Whether a summary has none of the headings and shapes that tcompact writes, or asks a model for.
fn is_foreign(summary: &str) -> bool {
    let known =
        |line: &str| SECTIONS.iter().any(|(_, name)| line.trim_start_matches(['#', ' ']).eq_ignore_ascii_case(name));
    let headed = summary.lines().any(|line| line.starts_with('#') && known(line));
    !headed && !summary.trim_start().starts_with(USER)
}

/// Somebody else's summary: its paragraphs and items under the headings that they stand under, without the code it quotes.
fn prose(summary: &str, index: usize) -> Vec<Entry> {
    // What was thought before it was written is no part of it.
    let summary = summary.rsplit_once("</analysis>").map_or(summary, |(_, rest)| rest);
    let mut found = Vec::new();
    let mut section = Section::Summary;
    for part in parts(summary) {
        if let Some(heading) = part.heading {
            section = like(&heading.to_lowercase()).unwrap_or(Section::Summary);
        }
        for paragraph in statements::paragraphs(&part.text) {
            let text = paragraph.text.as_str();
            let announces = text.trim_end_matches(statements::GAP).trim_end().ends_with([':', '：']);
            if paragraph.is_heading || announces || is_code(text) || statements::spoken(text).nth(1).is_none() {
                continue;
            }
            let text = without_number(text);
            match section {
                Section::Intent => found.push(user(text, index)),
                Section::NextSteps => found.push(Entry::new(Kind::Next, index, String::new(), text.to_owned())),
                Section::Summary | Section::Artifacts => found.push(told(text, index)),
            }
        }
    }
    found
}

/// Lines of a summary with the heading that stands above them.
#[derive(Default)]
struct Part<'s> {
    heading: Option<&'s str>,
    text: String,
}

/// A summary cut at its headings: marked ones, and numbered or bold lines that end with a colon.
fn parts(summary: &str) -> Vec<Part<'_>> {
    let mut found = vec![Part::default()];
    let mut in_code = false;
    for line in summary.lines() {
        let trimmed = line.trim();
        in_code ^= trimmed.starts_with("```");
        let numbered = without_number(trimmed) != trimmed;
        let bold = trimmed.starts_with("**");
        let title = trimmed.trim_end_matches('*').ends_with([':', '：']) && trimmed.split_whitespace().nth(8).is_none();
        let is_heading =
            !in_code && (trimmed.starts_with('#') || !line.starts_with(' ') && (numbered || bold) && title);
        match found.last_mut().filter(|_| !is_heading) {
            Some(part) => {
                part.text.push_str(line);
                part.text.push('\n');
            }
            None => found.push(Part { heading: Some(trimmed), text: String::new() }),
        }
    }
    found
}

/// An item without its number.
fn without_number(text: &str) -> &str {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = text[digits..].strip_prefix(['.', ')', '、']);
    rest.filter(|_| (1..=2).contains(&digits)).map_or(text, str::trim_start)
}

/// The lines of a summary as entries.
fn lines(summary: &str, index: usize) -> Vec<Entry> {
    let mut found = Vec::new();
    let mut section = None;
    let plain = summary.trim_start().starts_with(USER);
    // The tool whose calls stand on the lines below it.
    let mut tool = String::new();
    for line in summary.lines().filter(|line| !line.trim().is_empty()) {
        if line.starts_with('#') {
            let heading = line.trim_start_matches(['#', ' ']).to_lowercase();
            section = SECTIONS.iter().find(|(_, name)| heading == *name).map(|(section, _)| *section);
            section = section.or_else(|| like(&heading));
            continue;
        }
        let nested = line.starts_with("  ") || plain && line.starts_with('(');
        let text = line.trim().trim_start_matches(['-', '*', '•']).trim_start();
        let (index, text) = without_index(text, index);
        if nested && !tool.is_empty() {
            values(&tool, text, index, &mut found);
            continue;
        }
        tool.clear();
        if of_shape(text, section, index, &mut found) {
            continue;
        }
        match section {
            Some(Section::Intent) => found.push(user(text.strip_prefix(USER).unwrap_or(text), index)),
            None if plain && text.starts_with(USER) => found.push(user(&text[USER.len()..], index)),
            Some(Section::NextSteps) => found.push(Entry::new(Kind::Next, index, String::new(), text.to_owned())),
            Some(Section::Artifacts) => {
                tool = text.strip_suffix(':').unwrap_or("").to_owned();
                of_call(text, index, &mut found);
            }
            _ if is_call(text) => {
                tool = text.strip_suffix(':').unwrap_or("").to_owned();
                of_call(text, index, &mut found);
            }
            _ => said(text, index, &mut found),
        }
    }
    found
}

/// The section that somebody else's heading means.
fn like(heading: &str) -> Option<Section> {
    let has = |words: &[&str]| words.iter().any(|word| heading.contains(word));
    match () {
        () if has(&["intent", "goal", "request", "user", "目标", "用户"]) => Some(Section::Intent),
        () if has(&["next", "todo", "to do", "open", "pending", "remain", "下一步", "待办"]) => {
            Some(Section::NextSteps)
        }
        () if has(&["artifact", "file", "产物"]) => Some(Section::Artifacts),
        () => Some(Section::Summary),
    }
}

/// A line without the index of its message before it.
fn without_index(text: &str, index: usize) -> (usize, &str) {
    let inside = text.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    match inside.and_then(|(number, rest)| Some((number.trim_start_matches('~').parse().ok()?, rest))) {
        Some((index, rest)) => (index, rest),
        None => (index, text),
    }
}

/// A line of the user's words: with a question before it, with what was rejected, or by itself.
fn user(text: &str, index: usize) -> Entry {
    let asked = text.starts_with('“').then(|| text.split_once("” → ")).flatten();
    let rejected = text.starts_with("rejected `").then(|| text.split_once("`: ")).flatten();
    match (asked, rejected) {
        (Some((question, answer)), _) => Entry::new(Kind::User, index, format!("{question}”"), answer.to_owned()),
        (None, Some((call, said))) => Entry::new(Kind::User, index, format!("{call}`"), said.to_owned()),
        _ => Entry::new(Kind::User, index, String::new(), text.to_owned()),
    }
}

/// Entries whose lines are known by their shape.
fn of_shape(text: &str, section: Option<Section>, index: usize, found: &mut Vec<Entry>) -> bool {
    let mut push = |kind, about: &str, text: &str, index: usize| {
        found.push(Entry::new(kind, index, about.to_owned(), text.to_owned()))
    };
    for used in ["Changed", "Created", "Deleted", "Renamed", "Restored", "Read", "Edit failed"] {
        if let Some(paths) = text.strip_prefix(used).and_then(|rest| rest.strip_prefix(": ")) {
            let about = if used == "Edit failed" { FAILED_EDIT.to_owned() } else { used.to_lowercase() };
            for path in items(paths) {
                let (path, index) = with_index(path, index);
                push(Kind::File, &about, path, index);
            }
            return Use::named(&about).is_some() || about == FAILED_EDIT;
        }
    }
    if let Some((place, names)) = text.strip_prefix(homes::IN).and_then(|rest| rest.rsplit_once(": ")) {
        names.split(", ").for_each(|name| push(Kind::Value, &format!("{}{place}", homes::IN), name, index));
        return true;
    }
    if let Some(ran) = text.strip_prefix(RAN_WELL) {
        for command in ran.split("`, `") {
            push(Kind::Command, command.trim_matches('`'), "ok", index);
        }
        return true;
    }
    if let Some(done) = text.strip_prefix(DONE) {
        done.split("; ").for_each(|item| push(Kind::Done, "", item, index));
        return true;
    }
    for (prefix, kind) in [(REPORT, Kind::Report), (OPEN_QUESTION, Kind::Open), (NO_RESULT, Kind::Open)] {
        if let Some(rest) = text.strip_prefix(prefix) {
            push(kind, "", rest, index);
            return true;
        }
    }
    if let Some(error) = text.strip_prefix(ERROR_GONE).and_then(|rest| rest.strip_prefix(": ")) {
        push(Kind::Error, ERROR_GONE, error, index);
        return true;
    }
    if let Some(request) = text.strip_prefix(LAST_REQUEST).and_then(|rest| rest.strip_prefix(": ")) {
        push(Kind::User, LAST_REQUEST, request, index);
        return true;
    }
    if let Some((command, outcome)) = text.strip_prefix('`').and_then(|rest| rest.split_once("` → ")) {
        let kind = if outcome.starts_with("failed") { Kind::Error } else { Kind::Command };
        push(kind, command, outcome, index);
        return true;
    }
    if let Some((command, line)) = text.strip_prefix('`').and_then(|rest| rest.split_once("`: ")) {
        push(Kind::Finding, &format!("`{command}`"), line, index);
        return true;
    }
    if section == Some(Section::NextSteps)
        && let Some((status, item)) = text.split_once(": ")
        && BE_OPEN.contains(&status.to_lowercase().as_str())
    {
        push(Kind::Todo, &status.to_lowercase(), item, index);
        return true;
    }
    false
}

/// The items of a list whose items may have reasons in brackets.
fn items(list: &str) -> Vec<&str> {
    let (mut found, mut start, mut depth) = (Vec::new(), 0, 0i32);
    for (at, c) in list.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth <= 0 && list[at..].starts_with(", ") => {
                found.push(&list[start..at]);
                start = at + 2;
            }
            _ => {}
        }
    }
    found.push(list.get(start..).unwrap_or(""));
    found
}

/// An item without the index of its message behind it.
fn with_index(item: &str, index: usize) -> (&str, usize) {
    let parts = item.strip_suffix(']').and_then(|item| item.rsplit_once(" ["));
    let parsed = parts.and_then(|(path, number)| Some((path, number.trim_start_matches('~').parse().ok()?)));
    parsed.unwrap_or((item, index))
}

/// Whether a line without a heading is that of a tool.
fn is_call(text: &str) -> bool {
    let (tool, rest) = text.split_once(':').unwrap_or((" ", ""));
    !tool.contains(' ') && (rest.is_empty() || rest.starts_with(" ("))
}

/// `tool: (given) values`, or any other line of names.
fn of_call(text: &str, index: usize, found: &mut Vec<Entry>) {
    match text.split_once(": ").filter(|(tool, _)| !tool.contains(' ')) {
        Some((tool, rest)) => values(tool, rest, index, found),
        None if text.ends_with(':') => {}
        None => found.push(Entry::new(Kind::Finding, index, String::new(), text.to_owned())),
    }
}

/// The values that a call brought, parted where they were joined.
fn values(tool: &str, text: &str, index: usize, found: &mut Vec<Entry>) {
    let (call, rest) = match text.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        Some((given, rest)) => (format!("({given})"), rest),
        None => ("()".to_owned(), text),
    };
    let about = format!("{tool}{call}");
    let parts = rest.split("; ").filter(|value| value.len() <= 4 * LONGEST_VALUE);
    found.extend(parts.map(|value| Entry::new(Kind::Value, index, about.clone(), value.to_owned())));
}

/// A line of prose.
fn said(text: &str, index: usize, found: &mut Vec<Entry>) {
    found.extend(statements::paragraphs(text).into_iter().map(|paragraph| told(&paragraph.text, index)));
}

/// A statement that an earlier summary makes.
fn told(text: &str, index: usize) -> Entry {
    let decides = cues::CHOOSES.is_in(text) || cues::REASONS.is_in(text);
    let kind = if decides { Kind::Decision } else { Kind::Finding };
    Entry::new(kind, index, String::new(), text.to_owned())
}
