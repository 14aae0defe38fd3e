//! What an earlier summary says beside its ledger, taken apart into facts again: the embedded summarizer's lines by their
//! shapes, and anybody else's as sentences under their headings.
//!
//! What was next then is left out: it is done, dropped or said again by now.

use crate::summary::ledger::cues;
use crate::summary::ledger::files::Use;
use crate::summary::ledger::homes;
use crate::summary::ledger::reading::{Speaker, Turn};
use crate::summary::ledger::said::kind_of_request;
use crate::summary::ledger::section;
use crate::summary::ledger::sentences::sentences;
use crate::summary::ledger::{Found, Kind};

/// What stands before the words of the user in a summary that is too small for headings.
pub(in crate::summary) const USER: &str = "User: ";
/// What is carried on weighs more than what is new: it was chosen before.
const CARRIED: f64 = 2.0;

/// Takes an earlier summary apart.
pub(super) fn by_earlier(turn: &Turn<'_>, found: &mut Vec<Found>) {
    let mut heading = String::new();
    // The tool whose calls stand on the lines below it.
    let mut tool = String::new();
    let first = found.len();
    let summary = turn.text.read();
    let plain = summary.trim_start().starts_with(USER);
    for line in section::without(&summary).lines().filter(|line| !line.trim().is_empty()) {
        if line.starts_with('#') {
            heading = line.trim_start_matches(['#', ' ']).to_lowercase();
            continue;
        }
        if heading.contains("next") {
            continue;
        }
        let nested = (line.starts_with("  ") || plain && line.starts_with('(')) && !tool.is_empty();
        let text = line.trim().trim_start_matches("- ").trim();
        match () {
            () if nested => values(&tool, text, turn.index, found),
            () if !heading.contains("intent") && of_shape(text, turn.index, found) => {}
            () if plain && text.starts_with(USER) => said(&text[USER.len()..], true, turn.index, found),
            () if heading.contains("artifact") || plain && is_call(text) => {
                tool = text.strip_suffix(':').unwrap_or("").to_owned();
                of_call(text, turn.index, found);
            }
            () => said(text, heading.contains("intent") || heading.contains("goal"), turn.index, found),
        }
    }
    for found in &mut found[first..] {
        found.entry.earlier = true;
        found.entry.weight *= CARRIED;
    }
}

/// Files and commands, where the line is one of theirs.
fn of_shape(text: &str, index: usize, found: &mut Vec<Found>) -> bool {
    for (opening, used) in [("Changed: ", Use::Changed), ("Read: ", Use::Read)] {
        if let Some(paths) = text.strip_prefix(opening) {
            let files = paths.split(", ").map(|path| {
                Found::new(Kind::File, Speaker::Tool, index, used.word(), path).keyed(format!("file {path}"))
            });
            found.extend(files.map(|file| if used == Use::Read { file.weighing(0.3) } else { file }));
            return true;
        }
    }
    if let Some((place, names)) = text.strip_prefix(homes::IN).and_then(|rest| rest.rsplit_once(": ")) {
        found.extend(names.split(", ").map(|name| homes::in_place(place, name, index)));
        return true;
    }
    if let Some((command, outcome)) = text.strip_prefix('`').and_then(|rest| rest.split_once("` → ")) {
        found.push(
            Found::new(Kind::Command, Speaker::Tool, index, command, outcome).keyed(format!("command {command}")),
        );
        return true;
    }
    false
}

/// Whether a line without a heading is that of a tool.
fn is_call(text: &str) -> bool {
    let (tool, rest) = text.split_once(':').unwrap_or((" ", ""));
    !tool.contains(' ') && (rest.is_empty() || rest.starts_with(" ("))
}

/// `tool: (given) values`, or any other line of names.
fn of_call(text: &str, index: usize, found: &mut Vec<Found>) {
    match text.split_once(": ").filter(|(tool, _)| !tool.contains(' ')) {
        Some((tool, rest)) => values(tool, rest, index, found),
        None if text.ends_with(':') => {}
        None => found.push(Found::new(Kind::Identifier, Speaker::Assistant, index, "", text)),
    }
}

/// The values that a call brought, parted where they were joined.
fn values(tool: &str, text: &str, index: usize, found: &mut Vec<Found>) {
    let (call, rest) = match text.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        Some((given, rest)) => (format!("({given})"), rest),
        None => ("()".to_owned(), text),
    };
    let about = format!("{tool}{call}");
    found.extend(rest.split("; ").map(|value| {
        Found::new(Kind::Identifier, Speaker::Tool, index, &about, value).keyed(format!("{about} {value}"))
    }));
}

fn said(text: &str, wanted: bool, index: usize, found: &mut Vec<Found>) {
    for sentence in sentences(text) {
        let kind = match () {
            () if wanted => kind_of_request(&sentence, false),
            () if cues::DECISIONS.is_in(&sentence) => Kind::Decision,
            () if cues::DONE.is_in(&sentence) => Kind::Done,
            () => Kind::Said,
        };
        let speaker = if wanted { Speaker::User } else { Speaker::Assistant };
        let statement = Found::new(kind, speaker, index, "", sentence);
        found.push(if matches!(kind, Kind::Done | Kind::Said) && !wanted { statement } else { statement.claiming() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        by_earlier(&Turn::of(Speaker::Earlier, 3, text), &mut found);
        assert!(found.iter().all(|found| found.entry.earlier));
        found.iter().map(|found| format!("{:?} {}|{}", found.entry.kind, found.entry.about, found.entry.text)).collect()
    }

    #[test]
    fn a_small_summary_without_headings_is_as_well() {
        let text = "User: Fix the login. Keep it small.\n`cargo test` → ok: 42 passed\nget_user: (4711) mia\nlook:\n(a) x=1\n(b) y=2\nIt was fixed: all of it.";
        assert_eq!(
            told(text),
            [
                "Goal |Fix the login.",
                "Rule |Keep it small.",
                "Command cargo test|ok: 42 passed",
                "Identifier get_user(4711)|mia",
                "Identifier look(a)|x=1",
                "Identifier look(b)|y=2",
                "Done |It was fixed: all of it.",
            ]
        );
    }

    #[test]
    fn a_summary_is_taken_apart_as_it_was_put_together() {
        let text = "## Session intent\n- Fix the login. Keep it small.\n- Never touch the migrations.\n\n## Summary\n- `cargo test` → ok: 42 passed\n\n\
                    ## Artifacts\n- Changed: src/a.rs, src/b.rs\n- get_user: (4711) user_id=mia; flights: HAT1\n- look:\n  (a) x=1\n  (b) y=2\n\n## Next steps\n- Go on.";
        assert_eq!(
            told(text),
            [
                "Goal |Fix the login.",
                "Rule |Keep it small.",
                "Rule |Never touch the migrations.",
                "Command cargo test|ok: 42 passed",
                "File changed|src/a.rs",
                "File changed|src/b.rs",
                "Identifier get_user(4711)|user_id=mia",
                "Identifier get_user(4711)|flights: HAT1",
                "Identifier look(a)|x=1",
                "Identifier look(b)|y=2",
            ]
        );
    }
}
