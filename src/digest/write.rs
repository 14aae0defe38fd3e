//! Writes a digest within a number of tokens.
//!
//! The user's words come first: three fifths of the room, or more where the rest needs less. The state of the work has a
//! fifth. Both are taken in a fixed order until their share is used up, so that more room never loses a line of them.
//! Calls and the assistant's words share what is left; calls that only read come last.

use crate::digest::clip::{beginning, clipped, indented};
use crate::digest::grammar::{
    ASKED, EARLIER, FOLDER, LAST, LEFT_OUT, Lines, Place, RUNS, SAID, STATE, THE_ASSISTANT, THE_USER, USER,
};
use crate::digest::outcome::Ended;
use crate::digest::runs::CallRun;
use crate::digest::said::SaidKind;
use crate::digest::user::UserPiece;
use crate::digest::{Digest, runs, said, state, user};
use crate::tokens::Counter;
use crate::transcript::tools::purpose::Purpose;
use crate::wording::counted;

impl Digest<'_> {
    /// Writes the digest in at most `limit` tokens. It is empty only where not even a word has room.
    pub(crate) fn write(&self, counter: Counter, limit: u64) -> String {
        let writer = DigestWriter { digest: self, counter, user: user::pieces_by_rank(&self.user, limit) };
        let mut room = limit;
        loop {
            let text = writer.sections(room);
            let tokens = counter.count_text(&text);
            if tokens <= limit && !text.is_empty() {
                return text;
            }
            // The tokens of lines add up to those of a text but for joins.
            match room.checked_sub(tokens.saturating_sub(limit).max(1)) {
                Some(less) if tokens > limit => room = less,
                _ => return self.least(&writer.user, counter, limit),
            }
        }
    }

    /// Returns a beginning of the user's last words, or else of any words, or how many messages there were.
    fn least(&self, pieces: &[UserPiece], counter: Counter, limit: u64) -> String {
        let of_user = user::first_piece(&self.user, pieces).map(|(place, words)| (place, THE_USER, words));
        let of_others = || self.said.last().map(|said| (said.place, THE_ASSISTANT, said.text.read().trim().to_owned()));
        let of_runs = || self.runs.last().map(|run| (run.place, "", run.label(None)));
        let others = (self.user.len() + self.left_out).saturating_sub(1);
        let count = left_out_line(others, "message", " of the user").map(|line| format!("\n{line}"));
        // Where there is room for little more, the words are worth more than the count.
        let count = count.filter(|count| counter.count_text(count).saturating_mul(3) <= limit).unwrap_or_default();
        let Some((place, who, text)) = of_user.or_else(of_others).or_else(of_runs) else {
            let text = if self.messages > 0 {
                format!("{} without words.", counted(self.messages, "message"))
            } else {
                String::new()
            };
            return Some(text).filter(|text| counter.count_text(text) <= limit).unwrap_or_default();
        };
        let line = |text: &str| format!("{LAST}\n- {place} {who}{text}{count}");
        beginning(&indented(&text), |text| counter.count_text(&line(text)) <= limit)
            .map_or(String::new(), |text| line(&text))
    }
}

struct DigestWriter<'w, 'a> {
    digest: &'w Digest<'a>,
    counter: Counter,
    /// The pieces of the user's messages, the most important first.
    user: Vec<UserPiece>,
}

impl DigestWriter<'_, '_> {
    /// Writes the sections for so many tokens.
    fn sections(&self, room: u64) -> String {
        /// Shares of the room: of an earlier summary, the state, the calls, and the last report. The user's words have
        /// shares by rank.
        const EARLIER_SHARE: f64 = 0.25;
        const STATE_SHARE: f64 = 0.2;
        const RUNS_SHARES: (f64, f64) = (0.45, 0.65);
        const REPORT_SHARE: f64 = 0.25;
        let Digest { earlier, user, files, runs, said, .. } = self.digest;
        let (of_user, of_state, of_runs, of_said) = self.needs();
        let of = |room: u64, share: f64| (room as f64 * share) as u64;
        let share = |room: u64, least: f64, others: u64| of(room, least).max(room.saturating_sub(others));
        let others = of_state + of_runs + of_said;
        let count = self.tokens(&format!("\n- {LEFT_OUT}999999 messages of the user.\n"));
        let mut out = String::new();
        if let Some((place, text)) = earlier {
            let shown = self.clipped_to(&text.read(), of(room, EARLIER_SHARE));
            add_section(&mut out, EARLIER, &[(*place, shown)], None);
        }
        let base = room.saturating_sub(self.tokens(&out));
        let most = |least| share(base, least, others).saturating_sub(self.tokens(USER) + count);
        let lines = user::lines(user, &self.user, self.counter, most);
        // Where not a piece of the user's words has room, a beginning of them is worth more than all else.
        if lines.is_empty() && !user.is_empty() {
            return String::new();
        }
        let told = lines.iter().filter(|(_, text)| !text.starts_with(ASKED)).count();
        let left_out = self.digest.left_out + user.len() - told;
        add_section(&mut out, USER, &lines, left_out_line(left_out, "message", " of the user"));
        let most = share(base, STATE_SHARE, of_user + of_runs + of_said);
        let state = state::lines(self.digest, self.counter, most.saturating_sub(self.tokens(STATE) + 1));
        if !state.is_empty() {
            add_line(&mut out, STATE);
            state.iter().for_each(|line| add_line(&mut out, &format!("- {line}")));
        }
        let folder = state.iter().find_map(|line| line.strip_prefix(FOLDER));
        let told: Vec<&CallRun<'_>> = runs.iter().filter(|run| run.ended != Ended::NoResult).collect();
        let last = told.last().map(|run| run.place);
        let only_reads = |run: &&&CallRun<'_>| run.purpose == Purpose::Reads && Some(run.place) != last;
        let (reads, acts): (Vec<&CallRun<'_>>, Vec<&CallRun<'_>>) = told.iter().partition(only_reads);
        let left = room.saturating_sub(self.tokens(&out) + self.tokens(RUNS) + self.tokens(SAID) + count);
        let least = if files.changes().next().is_some() { RUNS_SHARES.0 } else { RUNS_SHARES.1 };
        let lines_of = |runs: &[&CallRun<'_>], room| runs::lines(runs, files, self.counter, room, folder);
        let mut runs = lines_of(&acts, share(left, least, of_said));
        let left = left.saturating_sub(self.cost(&runs));
        let said = said::lines(said, self.counter, left, of(room, REPORT_SHARE));
        runs.extend(lines_of(&reads, left.saturating_sub(self.cost(&said))));
        runs.sort_by_key(|(place, _)| *place);
        let left_out = told.len() - runs.len() + self.digest.runs_left_out;
        add_section(&mut out, RUNS, &runs, left_out_line(left_out, "call", "").filter(|_| !runs.is_empty()));
        add_section(&mut out, SAID, &said, None);
        out
    }

    fn tokens(&self, text: &str) -> u64 {
        self.counter.count_text(text)
    }

    fn cost(&self, lines: &Lines) -> u64 {
        lines.iter().map(|(place, text)| self.tokens(&format!("- {place} {text}\n")) + 1).sum()
    }

    /// Estimates the most tokens that the user's words, the state, the calls and the assistant's words can use.
    fn needs(&self) -> (u64, u64, u64, u64) {
        /// Bytes of a token: a low figure, so that the estimate is high. Bytes around each line, and of a text that is told.
        const BYTES_PER_TOKEN: usize = 3;
        const LINE: usize = 60;
        const LONGEST: usize = 300;
        let Digest { user, files, runs, said, plan, .. } = self.digest;
        let tokens = |bytes: usize| (bytes / BYTES_PER_TOKEN) as u64;
        let most = |kind| if kind == SaidKind::Report { 6 * LONGEST } else { LONGEST };
        let notes = files.edits.iter().chain(&files.failed).map(|note| note.text.len() + 2 * LINE);
        let state = notes.chain(files.newest_first().iter().map(|file| file.path.len() + 12)).sum::<usize>();
        (
            tokens(user.iter().map(|message| message.bytes + LINE).sum()),
            tokens(state + (plan.items.len() + 5) * LINE),
            tokens(runs.iter().map(|run| run.wanted_bytes() + 2 * LINE).sum()),
            tokens(said.iter().map(|said| said.text.bytes().min(most(said.kind)) + LINE).sum()),
        )
    }

    /// Returns as much of a text as so many tokens allow.
    fn clipped_to(&self, text: &str, most: u64) -> String {
        const LEAST: usize = 8;
        let mut bytes = usize::try_from(most).unwrap_or(usize::MAX).saturating_mul(4);
        let mut shown = indented(&clipped(text, bytes));
        while self.tokens(&shown) > most && bytes >= LEAST {
            bytes = bytes / 5 * 4;
            shown = indented(&clipped(text, bytes));
        }
        shown
    }
}

fn left_out_line(number: usize, noun: &str, of: &str) -> Option<String> {
    (number > 0).then(|| format!("- {LEFT_OUT}{}{of}.", counted(number, noun)))
}

/// Adds a section, with the line that counts what it leaves out.
fn add_section(out: &mut String, heading: &str, lines: &[(Place, String)], left_out: Option<String>) {
    if !lines.is_empty() || left_out.is_some() {
        add_line(out, heading);
        lines.iter().for_each(|(place, text)| add_line(out, &format!("- {place} {text}")));
        left_out.iter().for_each(|line| add_line(out, line));
    }
}

fn add_line(out: &mut String, line: &str) {
    out.push_str(if out.is_empty() { "" } else { "\n" });
    out.push_str(line);
}
