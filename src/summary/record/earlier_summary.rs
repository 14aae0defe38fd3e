//! Carries over an earlier summary: lines of the embedded summarizer by their forms, those of a ledger as they are, and
//! any other text as sentences under its headings.

use crate::summary::record::file_actions::FileAction;
use crate::summary::record::outcome::is_code;
use crate::summary::record::phrases::LAST_REQUEST;
use crate::summary::record::phrases::{
    CHANGED_SINCE, DONE, ERROR_GONE, LAST_PLAN, NO_RESULT, OPEN_QUESTION, OPEN_STATUSES, RAN_WELL, REPORT, SECTIONS,
    USER,
};
use crate::summary::record::root_folder::{FOLDER, restore_paths};
use crate::summary::record::touched_files::FAILED_EDIT;
use crate::summary::record::user::UserStatements;
use crate::summary::record::work_state::WorkState;
use crate::summary::record::{FactKind, RecordEntry, SummarySection, cues, json_fields::LONGEST_VALUE, ledger};
use crate::summary::record::{name_sources, segmentation};

/// The factor of carried entries: they weigh more than new ones, since they were chosen before.
const CARRIED: f64 = 1.3;

/// Parses an earlier summary and adds its entries to their collectors.
pub(super) fn carry_over(
    summary: &str,
    index: usize,
    user: &mut UserStatements,
    work: &mut WorkState,
    carried: &mut Vec<RecordEntry>,
) {
    let own = ledger::without_ledger(summary);
    let mut entries = if is_foreign(&own) { foreign_entries(&own, index) } else { own_entries(&own, index) };
    let ledger_entries: Vec<RecordEntry> = ledger::parse(summary);
    // The ledger has what the summary lacks.
    entries.extend(ledger_entries);
    let mut values: Vec<RecordEntry> = Vec::new();
    for mut entry in entries {
        entry.earlier = true;
        match entry.kind {
            FactKind::User => {
                if entry.about == LAST_REQUEST {
                    entry.about.clear();
                }
                user.restore_line(entry);
            }
            FactKind::Todo | FactKind::Done | FactKind::File | FactKind::Command => work.restore_entry(entry),
            FactKind::Error if entry.about != ERROR_GONE => work.restore_entry(entry),
            FactKind::Open if entry.about.starts_with(CHANGED_SINCE) => work.restore_entry(entry),
            FactKind::Value => values.push(entry),
            FactKind::Open
            | FactKind::Next
            | FactKind::Report
            | FactKind::Decision
            | FactKind::Error
            | FactKind::Finding => {
                entry.weight *= CARRIED;
                carried.push(entry);
            }
        }
    }
    for mut entry in values {
        entry.weight *= CARRIED;
        let is_spare = entry.about.starts_with(name_sources::IN_PREFIX);
        let key = format!("{} {}", entry.about, entry.text);
        let field = (!is_spare).then(|| Box::new(super::json_fields::JsonField::parse(&entry.text)));
        work.add_value(Some(key), super::FoundValue { entry, field, is_spare });
    }
}

/// Whether a summary has none of the headings and forms that tcompact writes or requests.
fn is_foreign(summary: &str) -> bool {
    let known =
        |line: &str| SECTIONS.iter().any(|(_, name)| line.trim_start_matches(['#', ' ']).eq_ignore_ascii_case(name));
    let headed = summary.lines().any(|line| line.starts_with('#') && known(line));
    !headed && !summary.trim_start().starts_with(USER)
}

/// Parses the summary of another program: its paragraphs and items by their headings, without quoted code.
fn foreign_entries(summary: &str, index: usize) -> Vec<RecordEntry> {
    // The model's analysis is no part of the summary.
    let summary = summary.rsplit_once("</analysis>").map_or(summary, |(_, rest)| rest);
    let mut found = Vec::new();
    let mut section = SummarySection::Summary;
    let mut is_current = false;
    for part in split_at_headings(summary) {
        if let Some(heading) = part.heading {
            is_current = tells_what_goes_on(heading);
            section = section_of_heading(&heading.to_lowercase()).unwrap_or(SummarySection::Summary);
        }
        for paragraph in segmentation::paragraphs(&part.text) {
            let text = paragraph.text.as_str();
            let announces = text.trim_end_matches(segmentation::GAP).trim_end().ends_with([':', '：']);
            if paragraph.is_heading || announces || is_code(text) || segmentation::words_of(text).nth(1).is_none() {
                continue;
            }
            let text = without_number(text);
            // What was going on then is not what is going on now, but what was done is done.
            let goes_on =
                is_current && (!cues::DONE.is_in(text) || cues::AHEAD.is_in(text) || cues::UNFINISHED.is_in(text));
            let is_stale = section != SummarySection::Intent && (goes_on || cues::GOING_ON.is_in(text));
            match if is_stale { SummarySection::NextSteps } else { section } {
                SummarySection::Intent => found.push(user_entry(text, index)),
                SummarySection::NextSteps => {
                    found.push(RecordEntry::new(FactKind::Next, index, String::new(), text.to_owned()))
                }
                SummarySection::Summary | SummarySection::Artifacts => found.push(statement(text, index)),
            }
        }
    }
    found
}

/// Lines of a summary with their heading.
#[derive(Default)]
struct SummaryPart<'s> {
    heading: Option<&'s str>,
    text: String,
}

/// Splits a summary at its headings: marked ones, and numbered or bold lines that end with a colon.
fn split_at_headings(summary: &str) -> Vec<SummaryPart<'_>> {
    let mut found = vec![SummaryPart::default()];
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
            None => found.push(SummaryPart { heading: Some(trimmed), text: String::new() }),
        }
    }
    found
}

/// Removes the number of a list item.
fn without_number(text: &str) -> &str {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = text[digits..].strip_prefix(['.', ')', '、']);
    rest.filter(|_| (1..=2).contains(&digits)).map_or(text, str::trim_start)
}

/// Parses the lines of a summary that tcompact wrote.
fn own_entries(summary: &str, index: usize) -> Vec<RecordEntry> {
    let mut found = Vec::new();
    let mut section = None;
    let plain = summary.trim_start().starts_with(USER);
    // The tool whose calls follow on the next lines.
    let mut tool = String::new();
    for line in summary.lines().filter(|line| !line.trim().is_empty()) {
        if line.starts_with('#') {
            let heading = line.trim_start_matches(['#', ' ']).to_lowercase();
            section = SECTIONS.iter().find(|(_, name)| heading == *name).map(|(section, _)| *section);
            section = section.or_else(|| section_of_heading(&heading));
            continue;
        }
        let nested = line.starts_with("  ") || plain && line.starts_with('(');
        let text = line.trim().trim_start_matches(['-', '*', '•']).trim_start();
        let (index, text) = split_leading_index(text, index);
        if nested && !tool.is_empty() {
            parse_call_values(&tool, text, index, &mut found);
            continue;
        }
        tool.clear();
        // The user's words can look like a line of any kind.
        let is_of_user = section == Some(SummarySection::Intent) && !text.starts_with(LAST_REQUEST);
        if !is_of_user && parse_known_line(text, section, index, &mut found) {
            continue;
        }
        match section {
            Some(SummarySection::Intent) => found.push(user_entry(text.strip_prefix(USER).unwrap_or(text), index)),
            None if plain && text.starts_with(USER) => found.push(user_entry(&text[USER.len()..], index)),
            Some(SummarySection::NextSteps) => {
                found.push(RecordEntry::new(FactKind::Next, index, String::new(), text.to_owned()))
            }
            Some(SummarySection::Artifacts) => {
                tool = text.strip_suffix(':').unwrap_or("").to_owned();
                parse_call_line(text, index, &mut found);
            }
            _ if is_call_line(text) => {
                tool = text.strip_suffix(':').unwrap_or("").to_owned();
                parse_call_line(text, index, &mut found);
            }
            _ => add_statements(text, index, &mut found),
        }
    }
    restore_paths(&mut found);
    found
}

/// Returns the section that a heading means.
fn section_of_heading(heading: &str) -> Option<SummarySection> {
    let has = |user: &[&str]| user.iter().any(|word| heading.contains(word));
    match () {
        () if has(&["intent", "goal", "request", "user", "目标", "用户"]) => Some(SummarySection::Intent),
        () if has(&["next", "todo", "to do", "open", "pending", "remain", "下一步", "待办"]) => {
            Some(SummarySection::NextSteps)
        }
        () if has(&["artifact", "file", "产物"]) => Some(SummarySection::Artifacts),
        () => Some(SummarySection::Summary),
    }
}

/// Whether a heading announces what was going on: `8. Current Work:`.
fn tells_what_goes_on(heading: &str) -> bool {
    const HEADINGS: [&str; 9] = [
        "current work",
        "current task",
        "current state",
        "current status",
        "in progress",
        "work in progress",
        "当前工作",
        "当前任务",
        "进行中",
    ];
    let words = heading.trim_matches(|c: char| !c.is_alphabetic()).to_lowercase();
    HEADINGS.contains(&words.as_str())
}

/// Splits the index of a message from the start of a line.
fn split_leading_index(text: &str, index: usize) -> (usize, &str) {
    let inside = text.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    match inside.and_then(|(number, rest)| Some((number.trim_start_matches('~').parse().ok()?, rest))) {
        Some((index, rest)) => (index, rest),
        None => (index, text),
    }
}

/// Parses a line of the user's words: with a question, with a rejected call, or alone.
fn user_entry(text: &str, index: usize) -> RecordEntry {
    let asked = text.starts_with('“').then(|| text.split_once("” → ")).flatten();
    let rejected = text.starts_with("rejected `").then(|| text.split_once("`: ")).flatten();
    match (asked, rejected) {
        (Some((question, answer)), _) => {
            RecordEntry::new(FactKind::User, index, format!("{question}”"), answer.to_owned())
        }
        (None, Some((call, ledger_entries))) => {
            RecordEntry::new(FactKind::User, index, format!("{call}`"), ledger_entries.to_owned())
        }
        _ => RecordEntry::new(FactKind::User, index, String::new(), text.to_owned()),
    }
}

/// Parses a line with a known form. Returns whether it is one.
fn parse_known_line(text: &str, section: Option<SummarySection>, index: usize, found: &mut Vec<RecordEntry>) -> bool {
    let mut push = |kind, about: &str, text: &str, index: usize| {
        found.push(RecordEntry::new(kind, index, about.to_owned(), text.to_owned()))
    };
    if section == Some(SummarySection::NextSteps)
        && let Some((status, item)) = text.split_once(": ")
        && OPEN_STATUSES.contains(&status.to_lowercase().as_str())
    {
        push(FactKind::Todo, &status.to_lowercase(), item, index);
        return true;
    }
    if let Some(plan) = text.strip_prefix(LAST_PLAN).and_then(|rest| rest.strip_prefix(": ")) {
        push(FactKind::Next, LAST_PLAN, plan, index);
        return true;
    }
    let folder = text.strip_prefix("Folder (…): ").filter(|_| section == Some(SummarySection::Artifacts));
    if let Some(folder) = folder {
        push(FactKind::File, FOLDER, folder, index);
        return true;
    }
    for used in ["Changed", "Created", "Deleted", "Renamed", "Restored", "Read", "Edit failed"] {
        if let Some(paths) = text.strip_prefix(used).and_then(|rest| rest.strip_prefix(": ")) {
            let about = if used == "Edit failed" { FAILED_EDIT.to_owned() } else { used.to_lowercase() };
            for path in split_list(without_gap(paths)) {
                let (path, index) = split_trailing_index(path, index);
                push(FactKind::File, &about, path, index);
            }
            return FileAction::named(&about).is_some() || about == FAILED_EDIT;
        }
    }
    if let Some((place, names)) = text.strip_prefix(name_sources::IN_PREFIX).and_then(|rest| rest.rsplit_once(": ")) {
        names
            .split(", ")
            .for_each(|name| push(FactKind::Value, &format!("{}{place}", name_sources::IN_PREFIX), name, index));
        return true;
    }
    if let Some(ran) = text.strip_prefix(RAN_WELL) {
        for command in without_gap(ran).split("`, `") {
            push(FactKind::Command, command.trim_matches('`'), "ok", index);
        }
        return true;
    }
    if let Some(done) = text.strip_prefix(DONE) {
        // The mark of items that had no room stays with the item before it: the list is not complete.
        let items = done.split("; ").fold(Vec::<String>::new(), |mut items, item| {
            match items.last_mut().filter(|_| item.chars().eq([segmentation::GAP])) {
                Some(before) => before.push_str(&format!("; {item}")),
                None => items.push(item.to_owned()),
            }
            items
        });
        items.iter().for_each(|item| push(FactKind::Done, "", item, index));
        return true;
    }
    for (prefix, kind) in [(REPORT, FactKind::Report), (OPEN_QUESTION, FactKind::Open), (NO_RESULT, FactKind::Open)] {
        if let Some(rest) = text.strip_prefix(prefix) {
            push(kind, "", rest, index);
            return true;
        }
    }
    if let Some((run, files)) = text.strip_prefix(CHANGED_SINCE).and_then(|rest| rest.split_once("`: ")) {
        push(FactKind::Open, &format!("{CHANGED_SINCE}{run}`"), files, index);
        return true;
    }
    if let Some(error) = text.strip_prefix(ERROR_GONE).and_then(|rest| rest.strip_prefix(": ")) {
        push(FactKind::Error, ERROR_GONE, error, index);
        return true;
    }
    if let Some(request) = text.strip_prefix(LAST_REQUEST).and_then(|rest| rest.strip_prefix(": ")) {
        push(FactKind::User, LAST_REQUEST, request, index);
        return true;
    }
    if let Some((command, outcome)) = text.strip_prefix('`').and_then(|rest| rest.split_once("` → ")) {
        let kind = if outcome.starts_with("failed") { FactKind::Error } else { FactKind::Command };
        push(kind, command, outcome, index);
        return true;
    }
    if let Some((command, line)) = text.strip_prefix('`').and_then(|rest| rest.split_once("`: ")) {
        push(FactKind::Finding, &format!("`{command}`"), line, index);
        return true;
    }
    false
}

/// Removes the mark of items that had no room from the end of a list.
fn without_gap(list: &str) -> &str {
    list.strip_suffix(segmentation::GAP).map_or(list, |list| list.trim_end_matches([',', ';', ' ']))
}

/// Splits a list whose items may have notes in brackets.
fn split_list(list: &str) -> Vec<&str> {
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

/// Splits the index of a message from the end of an item.
fn split_trailing_index(item: &str, index: usize) -> (&str, usize) {
    let parts = item.strip_suffix(']').and_then(|item| item.rsplit_once(" ["));
    let parsed = parts.and_then(|(path, number)| Some((path, number.trim_start_matches('~').parse().ok()?)));
    parsed.unwrap_or((item, index))
}

/// Whether a line is that of a tool.
fn is_call_line(text: &str) -> bool {
    let (tool, rest) = text.split_once(':').unwrap_or((" ", ""));
    !tool.contains(' ') && (rest.is_empty() || rest.starts_with(" ("))
}

/// Parses `tool: (arguments) values`, or a line of names.
fn parse_call_line(text: &str, index: usize, found: &mut Vec<RecordEntry>) {
    match text.split_once(": ").filter(|(tool, _)| !tool.contains(' ')) {
        Some((tool, rest)) => parse_call_values(tool, rest, index, found),
        None if text.ends_with(':') => {}
        None => found.push(RecordEntry::new(FactKind::Finding, index, String::new(), text.to_owned())),
    }
}

/// Splits the values of a call.
fn parse_call_values(tool: &str, text: &str, index: usize, found: &mut Vec<RecordEntry>) {
    let (call, rest) = match text.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        Some((given, rest)) => (format!("({given})"), rest),
        None => ("()".to_owned(), text),
    };
    let about = format!("{tool}{call}");
    let parts = without_gap(rest).split("; ").filter(|value| value.len() <= 4 * LONGEST_VALUE);
    found.extend(parts.map(|value| RecordEntry::new(FactKind::Value, index, about.clone(), value.to_owned())));
}

/// Adds the statements of a line.
fn add_statements(text: &str, index: usize, found: &mut Vec<RecordEntry>) {
    found.extend(segmentation::paragraphs(text).into_iter().map(|paragraph| statement(&paragraph.text, index)));
}

/// Returns a statement of an earlier summary as an entry.
fn statement(text: &str, index: usize) -> RecordEntry {
    let decides = cues::CHOOSES.is_in(text) || cues::REASONS.is_in(text);
    let kind = if decides { FactKind::Decision } else { FactKind::Finding };
    RecordEntry::new(kind, index, String::new(), text.to_owned())
}
