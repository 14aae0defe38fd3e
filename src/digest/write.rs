//! Writes a digest within a number of tokens.
//!
//! The user's words come first: three fifths of the room, or more where the rest needs less. The state of the work has a
//! fifth. Both are taken in a fixed order until their share is used up, so that more room never loses a line of them.
//! Calls and the assistant's words share what is left.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use crate::digest::clip::{self, clipped_ends, cut, indented};
use crate::digest::files::{FileAction, Place};
use crate::digest::outcome::Ended;
use crate::digest::plan::Status;
use crate::digest::runs::{ARROW, Run, RunClass};
use crate::digest::said::{PieceRank, Said, SaidKind, ranked_pieces};
use crate::digest::user::{UserMessage, UserPiece, pieces_by_rank};
use crate::digest::{ASKED, Digest, EARLIER, LEFT_OUT, RUNS, SAID, STATE, THOUGHT, USER};
use crate::tokens::Counter;
use crate::wording::counted;

/// Shares of the room: of an earlier summary, the user's words, those of long messages that neither open, command nor end
/// them, the state, and the last report.
const EARLIER_SHARE: f64 = 0.25;
const USER_SHARE: f64 = 0.6;
const REST_SHARE: f64 = 0.3;
const STATE_SHARE: f64 = 0.2;
const REPORT_SHARE: f64 = 0.25;
/// Bytes of a token, to estimate what the parts would need. It is a low figure, so that the estimate is high.
const BYTES_PER_TOKEN: u64 = 3;

impl Digest<'_> {
    /// Writes the digest in at most `limit` tokens. It is empty only where nothing was said or done, or where not even a
    /// word has room.
    pub(crate) fn write(&self, counter: Counter, limit: u64) -> String {
        let writer = Writer { digest: self, counter, limit };
        let mut left = limit;
        loop {
            let text = writer.sections(left);
            let tokens = counter.count_text(&text);
            if tokens <= limit && !text.is_empty() {
                return text;
            }
            // The tokens of lines add up to those of a text but for joins.
            match left.checked_sub(tokens.saturating_sub(limit).max(1)) {
                Some(less) if tokens > limit => left = less,
                _ => return self.least(counter, limit),
            }
        }
    }

    /// Returns a beginning of the user's last words, or else of any words, or how many messages there were.
    fn least(&self, counter: Counter, limit: u64) -> String {
        let of_user = self.user.last().map(|message| message.words());
        let of_others =
            || self.said.last().map(|said| said.text.read().trim().to_owned()).filter(|text| !text.is_empty());
        let of_runs = || self.runs.last().map(|run| run.label(None));
        let none = || format!("{} without words.", counted(self.messages, "message"));
        let text = of_user.or_else(of_others).or_else(of_runs).unwrap_or_else(none);
        let text = indented(&cut(&text, usize::try_from(limit).unwrap_or(usize::MAX).saturating_mul(16)));
        let ends: Vec<usize> = text.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
        let fitting = ends.partition_point(|&end| counter.count_text(&text[..end]) <= limit);
        text[..fitting.checked_sub(1).map_or(0, |last| ends[last])].trim_end().to_owned()
    }

    /// Returns whether nothing was said or done.
    fn is_empty(&self) -> bool {
        let has_files = !self.files.newest_first().is_empty() || self.files.failed().next().is_some();
        self.earlier.is_none()
            && self.user.is_empty()
            && self.plan.items.is_empty()
            && !has_files
            && self.runs.is_empty()
            && self.said.is_empty()
    }
}

/// What the parts of a digest would need, in tokens, at most.
struct Needs {
    user: u64,
    state: u64,
    runs: u64,
    said: u64,
}

struct Writer<'w, 'a> {
    digest: &'w Digest<'a>,
    counter: Counter,
    limit: u64,
}

/// Lines in the order of their messages.
type Lines = Vec<(Place, String)>;

impl Writer<'_, '_> {
    /// Writes the sections for so many tokens.
    fn sections(&self, room: u64) -> String {
        if self.digest.is_empty() {
            return String::new();
        }
        let share = |share: f64| (room as f64 * share) as u64;
        let mut out = String::new();
        if let Some((place, text)) = &self.digest.earlier {
            self.add_section(&mut out, EARLIER, &[(*place, self.clipped_to(&text.read(), share(EARLIER_SHARE)))]);
        }
        let earlier = self.tokens(&out);
        let base = room.saturating_sub(earlier);
        let needs = self.needs();
        let of_base = |share: f64, others: u64| ((base as f64 * share) as u64).max(base.saturating_sub(others));
        let others = needs.state + needs.runs + needs.said;
        let user = self.user(of_base(USER_SHARE, others), of_base(REST_SHARE, others));
        self.add_section(&mut out, USER, &user);
        let state = self.state(of_base(STATE_SHARE, needs.user + needs.runs + needs.said));
        if !state.is_empty() {
            add_heading(&mut out, STATE);
            state.iter().for_each(|line| add_line(&mut out, line));
        }
        let left = room.saturating_sub(self.tokens(&out));
        let share = self.runs_share();
        let for_runs = ((left as f64 * share) as u64).max(left.saturating_sub(needs.said));
        let folder = state.iter().find_map(|line| line.strip_prefix(FOLDER));
        let runs = self.runs(for_runs.saturating_sub(self.tokens(RUNS) + 1), folder);
        self.add_section(&mut out, RUNS, &runs);
        let left = room.saturating_sub(self.tokens(&out)).saturating_sub(self.tokens(SAID) + 1);
        let said = self.said(left, (room as f64 * REPORT_SHARE) as u64);
        self.add_section(&mut out, SAID, &said);
        out
    }

    fn tokens(&self, text: &str) -> u64 {
        self.counter.count_text(text)
    }

    fn add_section(&self, out: &mut String, heading: &str, lines: &[(Place, String)]) {
        if lines.is_empty() {
            return;
        }
        add_heading(out, heading);
        for (place, text) in lines {
            match text.strip_prefix(LEFT_OUT) {
                Some(_) if *place == END => add_line(out, text),
                _ => add_line(out, &format!("{place} {text}")),
            }
        }
    }

    /// Estimates what the parts would need.
    fn needs(&self) -> Needs {
        /// Bytes around each line.
        const LINE: usize = 60;
        let Digest { user, files, runs, said, plan, .. } = self.digest;
        let of_said =
            |said: &Said<'_>| said.text.bytes().min(if said.kind == SaidKind::Report { 2_000 } else { 300 }) + LINE;
        let state = files.newest_first().iter().map(|file| file.path.len() + 12).sum::<usize>()
            + plan.items.len() * LINE
            + files.failed().count() * 4 * LINE
            + 10 * LINE;
        let tokens = |bytes: usize| bytes as u64 / BYTES_PER_TOKEN;
        Needs {
            user: tokens(user.iter().map(|message| message.bytes() + LINE).sum()),
            state: tokens(state),
            runs: tokens(runs.iter().map(|run| run.wanted_bytes() + 2 * LINE).sum()),
            said: tokens(said.iter().map(of_said).sum()),
        }
    }

    /// Returns the user's messages: the first pieces by rank that have room.
    fn user(&self, most: u64, most_with_rest: u64) -> Lines {
        /// Tokens of the line that counts what is left out.
        const COUNT: u64 = 12;
        let user = &self.digest.user;
        let mut used = self.tokens(USER) + 1 + COUNT;
        let mut chosen: BTreeMap<usize, Vec<Range<usize>>> = BTreeMap::new();
        let mut asked: Vec<usize> = Vec::new();
        let mut words: BTreeMap<usize, String> = BTreeMap::new();
        for UserPiece { at, range, is_rest } in pieces_by_rank(user, self.limit) {
            let words = words.entry(at).or_insert_with(|| user[at].words());
            let cost = match &range {
                Some(range) => {
                    let opening = if chosen.contains_key(&at) {
                        3
                    } else {
                        self.tokens(&format!("- {} … …", user[at].place))
                    };
                    self.tokens(&indented(&words[range.clone()])) + opening
                }
                None => user[at]
                    .asked
                    .as_ref()
                    .map_or(0, |(place, text)| self.tokens(&indented(&format!("- {place} {ASKED}{text}"))) + 1),
            };
            if used + cost > if is_rest { most_with_rest } else { most } {
                break;
            }
            used += cost;
            match range {
                Some(range) => chosen.entry(at).or_default().push(range),
                None => asked.push(at),
            }
        }
        let mut lines: Lines = Vec::new();
        let shown: HashSet<usize> = chosen.keys().copied().collect();
        for (at, mut ranges) in chosen {
            ranges.sort_by_key(|range| range.start);
            let message = &user[at];
            if let Some((place, text)) = message.asked.as_ref().filter(|_| asked.contains(&at)) {
                lines.push((*place, indented(&format!("{ASKED}{text}"))));
            }
            lines.push((message.place, unlabelled(&indented(&clip::shown(&words[&at], &ranges)))));
        }
        let left_out = self.digest.left_out + self.unshown(&words, &shown);
        if left_out > 0 && !lines.is_empty() {
            lines.push((END, format!("{LEFT_OUT}{} of the user.", counted(left_out, "message"))));
        }
        lines
    }

    /// Returns how many messages of the user are neither shown nor equal to one that is.
    fn unshown(&self, looked_at: &BTreeMap<usize, String>, shown: &HashSet<usize>) -> usize {
        let texts: HashSet<&String> =
            looked_at.iter().filter(|(at, _)| shown.contains(at)).map(|(_, words)| words).collect();
        let lengths: HashSet<usize> = texts.iter().map(|words| words.len()).collect();
        let is_equal =
            |message: &UserMessage<'_>| lengths.contains(&message.bytes()) && texts.contains(&message.words());
        self.digest.user.iter().enumerate().filter(|(at, message)| !shown.contains(at) && !is_equal(message)).count()
    }

    /// Returns the lines of the state, as many as have room, in the order of their importance.
    fn state(&self, most: u64) -> Vec<String> {
        let Digest { plan, files, runs, folder, .. } = self.digest;
        let mut used = self.tokens(STATE) + 1;
        let mut take = |text: &str| {
            let cost = self.tokens(text) + 1;
            let fits = used + cost <= most;
            // Nothing that comes later is taken once something had no room.
            used = if fits { used + cost } else { u64::MAX / 2 };
            fits
        };
        // All that follows is told without the folder.
        let folder = folder.as_ref().filter(|_| !runs.is_empty() || files.newest_first().len() > 1);
        let folder_line = folder.map(|folder| format!("{FOLDER}{folder}")).filter(|line| take(line));
        let mut open: Vec<String> = Vec::new();
        for run in runs.iter().rev().filter(|run| run.ended == Ended::NoResult).take(2) {
            let line = format!("{} No result yet: {}", run.place, run.label(folder.map(String::as_str)));
            open.extend(Some(line).filter(|line| take(line)));
        }
        let mut plan_lines: Vec<Option<String>> = vec![None; plan.items.len()];
        let place = plan.place.filter(|place| !plan.items.is_empty() && take(&format!("- {place} Plan:")));
        for wanted in [Status::Going, Status::Open, Status::Done] {
            for (at, item) in plan.items.iter().enumerate().filter(|(_, item)| place.is_some() && item.status == wanted)
            {
                plan_lines[at] = Some(item.line()).filter(|line| take(line));
            }
        }
        let failed: Vec<String> = files
            .failed()
            .map(|edit| format!("{} Failed edit of {}: {}", edit.place, edit.path, edit.line))
            .take_while(|line| take(line))
            .collect();
        let mut uses: Vec<(FileAction, String)> = Vec::new();
        let by_time = files.newest_first();
        let (read, changed): (Vec<_>, Vec<_>) = by_time.into_iter().partition(|file| file.action == FileAction::Read);
        for file in changed {
            let shown = format!("{} {}", file.path, file.place);
            if take(&format!("Changed: {shown}, ")) {
                uses.push((file.action, shown));
            }
        }
        let edit = files
            .last_edit
            .as_ref()
            .map(|edit| indented(&format!("{} Last edit of {}: {}", edit.place, edit.path, edit.text)));
        let edit = edit.filter(|line| take(line));
        for file in read {
            let shown = format!("{} {}", file.path, file.place);
            if take(&format!("Read: {shown}, ")) {
                uses.push((file.action, shown));
            }
        }
        let plan = place.map(|place| {
            let items: Vec<String> = plan_lines.into_iter().flatten().collect();
            format!("{place} Plan:\n  {}", items.join("\n  "))
        });
        let listed = FileAction::ALL.into_iter().filter_map(|action| {
            let paths: Vec<&str> =
                uses.iter().filter(|(used, _)| *used == action).map(|(_, path)| path.as_str()).collect();
            (!paths.is_empty()).then(|| format!("{}: {}", action.word(), paths.join(", ")))
        });
        folder_line.into_iter().chain(open).chain(plan).chain(listed).chain(failed).chain(edit).collect()
    }

    /// Returns the part of the room that calls have before the assistant's words.
    fn runs_share(&self) -> f64 {
        let is_work = self.digest.files.last_change().is_some();
        if is_work && self.digest.said.iter().any(|said| said.kind == SaidKind::Report && said.text.bytes() > 400) {
            0.45
        } else {
            0.6
        }
    }

    /// Returns the lines of calls.
    fn runs(&self, room: u64, folder: Option<&str>) -> Lines {
        /// Bytes of a result: at first, and then where there is room.
        const LEVELS: [usize; 5] = [130, 240, 400, 700, 1_200];
        /// Tokens of the shortest line, and of the one that counts what is left out.
        const SHORTEST: u64 = 8;
        const COUNT: u64 = 8;
        let Digest { runs, files, .. } = self.digest;
        let told: Vec<&Run<'_>> = runs.iter().filter(|run| run.ended != Ended::NoResult).collect();
        let last = told.last().map(|run| run.place);
        let mut order: Vec<usize> = (0..told.len()).collect();
        order.sort_by_key(|&at| {
            let run = told[at];
            (Some(run.place) != last, run.class, !matches!(run.ended, Ended::Failed(_) | Ended::Refused), Reverse(at))
        });
        let changed = files.last_change();
        let line = |run: &Run<'_>, most: usize| {
            let label = run.label(folder);
            let is_stale = run.class == RunClass::Checks && run.carried.is_none() && changed > Some(run.place);
            let stale = changed
                .filter(|_| is_stale)
                .map_or(String::new(), |changed| format!("; not run since the change of {changed}"));
            format!("{label}{ARROW}{}{stale}", crate::wording::one_line(&run.outcome(&label, most)))
        };
        let mut left = room.saturating_sub(COUNT);
        let mut lines: BTreeMap<usize, (u64, String)> = BTreeMap::new();
        let most_lines = usize::try_from(room / SHORTEST).unwrap_or(usize::MAX);
        for &at in order.iter().take(most_lines) {
            let text = line(told[at], LEVELS[0]);
            let cost = self.tokens(&format!("- {} {text}\n", told[at].place)) + 1;
            if cost <= left {
                left -= cost;
                lines.insert(at, (cost, text));
            }
        }
        for pair in LEVELS.windows(2) {
            for &at in &order {
                let Some((cost, _)) = lines.get(&at) else { continue };
                if told[at].wanted_bytes() <= pair[0] {
                    continue;
                }
                let text = line(told[at], pair[1].min(told[at].wanted_bytes() + 40));
                let longer = self.tokens(&format!("- {} {text}\n", told[at].place)) + 1;
                if longer <= left + cost && longer > *cost {
                    left = left + cost - longer;
                    lines.insert(at, (longer, text));
                }
            }
        }
        let left_out = told.len() - lines.len() + self.digest.runs_left_out;
        let mut lines: Lines = lines.into_iter().map(|(at, (_, text))| (told[at].place, text)).collect();
        if left_out > 0 && !lines.is_empty() {
            lines.push((END, format!("{LEFT_OUT}{}.", counted(left_out, "call"))));
        }
        lines
    }

    /// Returns the lines of what the assistant said: the last report, the last step, sentences that give a reason, and then
    /// other pieces, those of reports and of later texts first.
    fn said(&self, room: u64, for_report: u64) -> Lines {
        /// Bytes of texts that are looked at for each token of room: most of the newest, some of the oldest.
        const LOOK: u64 = 256;
        let said = &self.digest.said;
        let Some(last) = said.len().checked_sub(1) else { return Vec::new() };
        let report = said.iter().rposition(|said| said.kind == SaidKind::Report);
        let mut texts: BTreeMap<usize, String> = BTreeMap::new();
        let mut look = |indices: &mut dyn Iterator<Item = usize>, bytes: u64| {
            let mut left = usize::try_from(bytes).unwrap_or(usize::MAX);
            for at in indices {
                if said[at].text.bytes() > left && !texts.is_empty() {
                    break;
                }
                left = left.saturating_sub(said[at].text.bytes());
                texts.entry(at).or_insert_with(|| said[at].text.read().trim().to_owned());
            }
        };
        look(&mut (0..said.len()).rev(), room * LOOK * 3 / 4);
        look(&mut (0..said.len()), room * LOOK / 4);
        look(&mut report.into_iter(), u64::MAX);
        let mut ranked: Vec<(SaidOrder, usize, Range<usize>)> = Vec::new();
        for (&at, text) in &texts {
            for (order, ranked_piece) in ranked_pieces(text).into_iter().enumerate() {
                let Some(tier) = self.tier(at, last, report, ranked_piece.rank) else { continue };
                // The last report is read from its beginning, all else by its rank.
                let rank = if tier == Tier::Last { PieceRank::Opening } else { ranked_piece.rank };
                ranked.push((SaidOrder { tier, rank, age: last - at, order }, at, ranked_piece.piece.range));
            }
        }
        ranked.sort_by(|a, b| a.0.cmp(&b.0));
        let (mut left, mut left_for_report) = (room, for_report.max(60));
        let mut chosen: BTreeMap<usize, Vec<Range<usize>>> = BTreeMap::new();
        for (order, at, range) in ranked {
            let opening =
                if chosen.contains_key(&at) { 2 } else { self.tokens(&format!("- {} … …", said[at].place)) + 1 };
            let cost = self.tokens(&indented(&texts[&at][range.clone()])) + opening;
            if cost > left || order.tier == Tier::Last && cost > left_for_report {
                continue;
            }
            left -= cost;
            if order.tier == Tier::Last {
                left_for_report -= cost;
            }
            chosen.entry(at).or_default().push(range);
        }
        let mut lines: Lines = Vec::new();
        for (at, mut ranges) in chosen {
            ranges.sort_by_key(|range| range.start);
            let mark = if said[at].kind == SaidKind::Thought { THOUGHT } else { "" };
            lines
                .push((said[at].place, format!("{mark}{}", unlabelled(&indented(&clip::shown(&texts[&at], &ranges))))));
        }
        lines
    }

    /// Returns the tier of a piece; `None` for what only announces a call that is told.
    fn tier(&self, at: usize, last: usize, report: Option<usize>, rank: PieceRank) -> Option<Tier> {
        /// Steps at the end that are told even if they give no reason.
        const LAST_STEPS: usize = 4;
        let is_report = self.digest.said[at].kind == SaidKind::Report;
        let tier = match rank {
            _ if at == last || Some(at) == report => Tier::Last,
            PieceRank::Idle => return None,
            PieceRank::Reason(_) => Tier::Reason,
            PieceRank::Opening if is_report || last - at <= LAST_STEPS => Tier::Report,
            PieceRank::Plain if is_report => Tier::Plain,
            PieceRank::Opening => Tier::Plain,
            PieceRank::Plain => Tier::Rest,
        };
        Some(tier)
    }

    /// Returns as much of a text as so many tokens allow.
    fn clipped_to(&self, text: &str, most: u64) -> String {
        let mut bytes = usize::try_from(most).unwrap_or(usize::MAX).saturating_mul(4);
        loop {
            let shown = indented(&clipped_ends(text, bytes));
            if self.tokens(&shown) <= most || bytes < 8 {
                return shown;
            }
            bytes = bytes * 4 / 5;
        }
    }
}

/// The order of pieces of what the assistant said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SaidOrder {
    tier: Tier,
    rank: PieceRank,
    age: usize,
    order: usize,
}

/// What comes first of what the assistant said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    /// The last report, and the last text.
    Last,
    /// It gives a reason.
    Reason,
    /// It opens a report, or one of the last steps.
    Report,
    Plain,
    Rest,
}

/// The opening of the line that names the folder of commands and paths.
pub(super) const FOLDER: &str = "Paths and commands are in ";
/// The place of lines that count what is left out.
const END: Place = Place { is_new: true, index: usize::MAX };

fn add_heading(out: &mut String, heading: &str) {
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(heading);
}

fn add_line(out: &mut String, line: &str) {
    out.push_str("\n- ");
    out.push_str(line);
}

/// Keeps text of others from looking like a label of the digest: it begins on the next line then.
fn unlabelled(text: &str) -> String {
    let is_label = [ASKED, LEFT_OUT, THOUGHT, "["].iter().any(|label| text.starts_with(label));
    if is_label { format!("\n  {text}") } else { text.to_owned() }
}
