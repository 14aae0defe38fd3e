//! Writes a digest within a number of tokens.
//!
//! The user's words yield last: they may take four fifths of the room where they need them, and all that the rest leaves.
//! What is left of the state and of the last step has the other fifth. Both are taken in a fixed order until their share is
//! used up, so that more room never loses a line of them. Calls and the assistant's words share what is left; calls that
//! only read come last. Summaries of others have a quarter of the room, and what nobody else uses.

use std::cmp::Reverse;
use std::collections::HashSet;

use crate::digest::clip::{beginning, indented};
use crate::digest::cues::Focus;
use crate::digest::grammar::{
    CallPlaces, EARLIER, EARLIER_AMONG, FOLDER, LAST, LEFT_OUT, Lines, Place, RUNS, SAID, STATE, SourcePlace,
    THE_ASSISTANT, THE_USER, USER, left_out_calls, left_out_line,
};
use crate::digest::outcome::Ended;
use crate::digest::runs::{CallRun, LinesOfCalls};
use crate::digest::said::SaidKind;
use crate::digest::state::StateLines;
use crate::digest::user::RankedUser;
use crate::digest::{Digest, earlier, runs, said, state};
use crate::tokens::Counter;
use crate::transcript::tools::actions::Purpose;
use crate::wording::counted;

impl Digest<'_> {
    /// Writes the digest in at most `limit` tokens. It is empty only where not even a word has room.
    pub(crate) fn write(&self, counter: Counter, limit: u64) -> String {
        let user = RankedUser::new(&self.user, limit);
        let mut writer = DigestWriter { digest: self, counter, user, focus: &Focus::default() };
        let mut room = limit;
        loop {
            let text = writer.sections(room);
            let tokens = counter.count_text(&text);
            if tokens <= limit && !text.is_empty() {
                // In the same room the focus moves no line of the user or of the state.
                writer.focus = &self.focus;
                let focused = Some(&self.focus).filter(|focus| !focus.is_empty()).map(|_| writer.sections(room));
                return focused.filter(|text| counter.count_text(text) <= limit).unwrap_or(text);
            }
            // The tokens of lines add up to those of a text but for joins.
            match room.checked_sub(tokens.saturating_sub(limit).max(1)) {
                Some(less) if tokens > limit => room = less,
                _ => return self.least(&writer.user, counter, limit),
            }
        }
    }

    /// A beginning of the user's last words, or else of any words, or how many messages there were.
    fn least(&self, user: &RankedUser<'_, '_>, counter: Counter, limit: u64) -> String {
        let of_user = user.first_piece().map(|(place, words)| (place, THE_USER, words));
        let of_others = || self.said.last().map(|said| (said.place, THE_ASSISTANT, said.text.read().trim().to_owned()));
        let of_runs = || self.runs.last().map(|run| (run.place, "", run.label(None)));
        let others = (user.number() + self.left_out.user).saturating_sub(1);
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
    user: RankedUser<'w, 'a>,
    focus: &'w Focus,
}

impl DigestWriter<'_, '_> {
    /// Writes all sections in `room` tokens.
    fn sections(&self, room: u64) -> String {
        /// The share of the room that summaries of others have at least, as far as they need it.
        const EARLIER_SHARE: f64 = 0.25;
        let least = share(room, EARLIER_SHARE);
        let mut out = self.earlier(least);
        let rest = self.rest(room.saturating_sub(self.tokens(&out)));
        if rest.is_empty() {
            return String::new();
        }
        let unused = room.saturating_sub(self.tokens(&rest) + 1);
        if unused > least {
            out = self.earlier(unused);
        }
        add_line(&mut out, &rest);
        out
    }

    /// Writes the summaries of others, in front of what was told after them or beside them.
    fn earlier(&self, room: u64) -> String {
        let count = self.tokens(&format!("\n- {LEFT_OUT}999999 lines of an earlier summary.\n"));
        let of = |reserved: u64| self.earlier_lines(room.saturating_sub(self.tokens(EARLIER_AMONG) + reserved));
        // Room for a count is kept only where one is needed.
        let (lines, not_told) = Some(of(0)).filter(|(_, not_told)| *not_told == 0).unwrap_or_else(|| of(count));
        let is_among = lines.iter().any(|(place, _)| self.digest.user.iter().any(|message| message.place < *place));
        let mut out = String::new();
        let heading = if is_among { EARLIER_AMONG } else { EARLIER };
        add_section(&mut out, heading, &lines, left_out_line(not_told, "line", " of an earlier summary"));
        out
    }

    /// What is told of the summaries of others in `room` tokens, and how many of their lines are left out.
    fn earlier_lines(&self, room: u64) -> (Lines, usize) {
        let Digest { earlier, left_out, .. } = self.digest;
        let (mut lines, mut not_told, mut left) = (Lines::new(), left_out.earlier, room);
        // The last one knows most.
        for (place, text) in earlier.iter().rev() {
            let around = self.tokens(&format!("- {place} \n"));
            let (shown, more) = earlier::told(text, self.counter, left.saturating_sub(around));
            not_told += more;
            if !shown.is_empty() {
                left = left.saturating_sub(self.tokens(&format!("- {place} {shown}\n")));
                lines.push((*place, shown));
            }
        }
        lines.reverse();
        (lines, not_told)
    }

    /// Writes all but the summaries of others.
    fn rest(&self, room: u64) -> String {
        /// Shares of the room: of the state where the user's words need theirs and where they do not.
        const STATE_SHARES: (f64, f64) = (0.1, 0.2);
        const LINE_OF_STATE: u64 = 24;
        let Digest { user, left_out, .. } = self.digest;
        let needs = self.needs();
        let least = |room: u64, least: f64, others: u64| share(room, least).max(room.saturating_sub(others));
        let count = self.tokens(&format!("\n- {LEFT_OUT}999999 messages of the user.\n"));
        let mut out = String::new();
        let of_others = needs.state + needs.runs + needs.said;
        let most = |part: f64| least(room, part, of_others).saturating_sub(self.tokens(USER));
        let of = |reserved: u64| self.user.lines(self.counter, |part| most(part).saturating_sub(reserved));
        // Room for a count is kept only where one is needed.
        let whole = Some(of(0)).filter(|(_, told)| left_out.user == 0 && *told == self.user.number());
        let (lines, told) = whole.unwrap_or_else(|| of(count));
        // Where not a piece of the user's words has room, a beginning of them is worth more than all else.
        if lines.is_empty() && !user.is_empty() {
            return String::new();
        }
        let not_told = left_out.user + self.user.number() - told;
        add_section(&mut out, USER, &lines, left_out_line(not_told, "message", " of the user"));
        let most = share(room, STATE_SHARES.1).min(room.saturating_sub(needs.rules + count));
        let most = most.max(least(room, STATE_SHARES.0, needs.user + needs.runs + needs.said));
        // However small it is, a line of the state has room.
        let most = most.max(share(room, 0.3).min(LINE_OF_STATE));
        let most = most.saturating_sub(self.tokens(STATE));
        let state = state::lines(self.digest, self.counter, most);
        // A count alone is worth its room only where an earlier digest told what is left out.
        let not_told = left_out_line(state.left_out, "line", " of the state");
        let not_told = not_told.filter(|_| self.digest.carried > 0 || !state.lines.is_empty());
        if !state.lines.is_empty() || not_told.is_some() {
            add_line(&mut out, STATE);
            state.lines.iter().for_each(|line| add_line(&mut out, &format!("- {line}")));
            not_told.iter().for_each(|line| add_line(&mut out, line));
        }
        let with_steps = |reserved: u64| {
            let mut whole = out.clone();
            self.add_steps(&mut whole, room, reserved, &state);
            whole
        };
        // What is left out is known once all else is chosen: its counts take the room of a few lines.
        let whole = with_steps(0);
        let lacking = self.tokens(&whole).saturating_sub(room);
        if lacking == 0 {
            return whole;
        }
        // More room for counts can leave less or more for a line that has just room.
        let reserves = [lacking, 2 * count, 2 * count + for_calls(room)];
        let fitting = reserves.map(with_steps).into_iter().filter(|whole| self.tokens(whole) <= room);
        fitting.max_by_key(|whole| self.tokens(whole)).unwrap_or(whole)
    }

    /// Adds the calls and the assistant's words in what is left of `room` tokens, without `reserved` ones.
    fn add_steps(&self, out: &mut String, room: u64, reserved: u64, state: &StateLines) {
        /// The share of the last report.
        const REPORT_SHARE: f64 = 0.25;
        /// The least share of calls: a smaller one where changed files tell what was done.
        const RUNS_SHARES: (f64, f64) = (0.45, 0.65);
        /// Characters of the last text that have room, and tokens around them.
        const OPENING: usize = 240;
        const LINE: u64 = 8;
        /// The share that is worth another look.
        const UNUSED: f64 = 0.05;
        /// Most ranges of places of left out calls of a kind.
        const MOST_RANGES: usize = 4;
        let Digest { files, runs, said, left_out, .. } = self.digest;
        let of_said = self.needs().said;
        let told: Vec<&CallRun<'_>> = runs.iter().filter(|run| run.ended != Ended::NoResult).collect();
        let last = told.last().map(|run| run.place);
        let only_reads = |run: &&CallRun<'_>| run.purpose == Purpose::Reads && Some(run.place) != last;
        let acts: Vec<&CallRun<'_>> = told.iter().copied().filter(|run| !only_reads(run)).collect();
        let folder = state.lines.iter().find_map(|line| line.strip_prefix(FOLDER));
        let left = room.saturating_sub(self.tokens(out) + reserved + self.tokens(RUNS) + self.tokens(SAID));
        let of_acts = if files.changes().next().is_some() { RUNS_SHARES.0 } else { RUNS_SHARES.1 };
        let nothing = Focus::default();
        let outdated = &runs::outdated_check(runs.iter(), files);
        let of = LinesOfCalls { outdated, counter: self.counter, folder, focus: &nothing };
        let lines_of = |runs: &[&CallRun<'_>], room| runs::lines(runs, room, &of);
        let of_last = said.last().filter(|said| said.kind == SaidKind::Report);
        let of_last = of_last.map_or(0, |said| self.tokens(&said.text.opening(OPENING)) + LINE).min(left / 2);
        let for_acts = share(left, of_acts).max(left.saturating_sub(of_said)).min(left - of_last);
        let mut runs = lines_of(&acts, for_acts);
        let for_said = left.saturating_sub(self.cost(&runs));
        let said_lines = said::lines(said, self.counter, for_said, share(room, REPORT_SHARE), self.focus);
        // What the assistant's words leave is for what was only read, and for longer lines.
        let left = left.saturating_sub(self.cost(&said_lines));
        if acts.len() < told.len() || left.saturating_sub(self.cost(&runs)) > share(room, UNUSED) {
            runs = lines_of(&told, left);
        }
        if !self.focus.is_empty() {
            // Calls of the focus take room from calls alone.
            runs = runs::lines(&told, self.cost(&runs), &LinesOfCalls { focus: self.focus, ..of });
        }
        runs.reverse();
        runs.sort_by_key(|(place, _)| Reverse(place.by_result()));
        let mut known = HashSet::new();
        runs.retain(|(_, text)| known.insert(text.clone()));
        runs.reverse();
        let is_carried = told.iter().any(|run| run.place.is_carried()) || left_out.runs > 0;
        let shown: HashSet<SourcePlace> = runs.iter().map(|(place, _)| place.source.last()).collect();
        let not_shown = told.iter().filter(|run| !shown.contains(&run.place.source.last()));
        let mut calls: CallPlaces = not_shown.map(|run| (run.kind(), run.place.source)).collect();
        let shown: HashSet<SourcePlace> =
            shown.into_iter().chain(state.files.iter().map(|place| place.last())).collect();
        calls.extend(self.digest.calls.iter().filter(|(_, place)| !shown.contains(&place.last())));
        let count = told.len() - runs.len() + left_out.runs;
        let not_told = left_out_calls(count, &calls, 0).filter(|_| is_carried || !runs.is_empty());
        let most = self.tokens(not_told.as_deref().unwrap_or_default()) + for_calls(room);
        let with_places = (1..=MOST_RANGES).rev().filter_map(|ranges| left_out_calls(count, &calls, ranges));
        let not_told = with_places.into_iter().find(|line| self.tokens(line) <= most).or(not_told);
        add_section(out, RUNS, &runs, not_told);
        let is_carried = said.iter().any(|said| said.place.is_carried()) || left_out.said > 0;
        let not_told = (said.len() + left_out.said).saturating_sub(said_lines.len());
        let not_told = left_out_line(not_told, "text", " of the assistant");
        add_section(out, SAID, &said_lines, not_told.filter(|_| is_carried || !said_lines.is_empty()));
    }

    fn tokens(&self, text: &str) -> u64 {
        self.counter.count_text(text)
    }

    fn cost(&self, lines: &Lines) -> u64 {
        lines.iter().map(|(place, text)| self.tokens(&format!("- {place} {text}\n")) + 1).sum()
    }

    /// Estimates the most tokens that the parts of a digest can use.
    fn needs(&self) -> Needs {
        /// Bytes of a token: a low figure, so that the estimate is high. Bytes around each line, and of a text that is told.
        const BYTES_PER_TOKEN: usize = 3;
        const SAMPLE: &str = "The last run of each call, as told in order.";
        const LINE: usize = 60;
        const LONGEST: usize = 300;
        let Digest { user, files, runs, said, plan, tasks, .. } = self.digest;
        // A counter can count bytes.
        let of_sample = usize::try_from(self.tokens(SAMPLE)).unwrap_or(usize::MAX).max(1);
        let bytes_per_token = (SAMPLE.len() / of_sample).clamp(1, BYTES_PER_TOKEN);
        let tokens = |bytes: usize| (bytes / bytes_per_token) as u64;
        let most = |kind| if kind == SaidKind::Report { 6 * LONGEST } else { LONGEST };
        let edits = files.edits.largest_first().into_iter().map(|(.., edits)| edits.shown(4 * LONGEST).len());
        let notes = files.failed.iter().map(|edit| edit.text.len()).chain(edits).map(|bytes| bytes + 2 * LINE);
        let state = notes.chain(files.newest_first().iter().map(|file| file.path.len() + 12)).sum::<usize>();
        let (messages, bytes) = self.user.first_rank();
        Needs {
            user: tokens(user.iter().map(|message| message.bytes + LINE).sum()),
            rules: tokens(bytes + messages * LINE),
            state: tokens(state + (plan.items.len() + 3 * tasks.number() + 5) * LINE),
            runs: tokens(runs.iter().map(|run| run.wanted_bytes() + 2 * LINE).sum()),
            said: tokens(said.iter().map(|said| said.text.bytes().min(most(said.kind)) + LINE).sum()),
        }
    }
}

/// The most tokens that the user's words, those of them that yield last, the state, the calls and the assistant's words can
/// use.
struct Needs {
    user: u64,
    rules: u64,
    state: u64,
    runs: u64,
    said: u64,
}

/// The most tokens of the places of calls that are left out.
fn for_calls(room: u64) -> u64 {
    const SHARE: f64 = 0.02;
    const MOST: u64 = 60;
    share(room, SHARE).min(MOST)
}

fn share(room: u64, part: f64) -> u64 {
    (room as f64 * part) as u64
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
