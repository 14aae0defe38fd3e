//! Writes a digest within a number of tokens: the steps of its order, until the first that has no room.
//!
//! A text is made and counted when its step is taken, so each version of an item is counted at most once. What is left out
//! is counted in one line a section, for which room is reserved.

use std::collections::HashMap;

use crate::digest::Digest;
use crate::digest::grammar::{EARLIER, EARLIER_AMONG, FOLDER, LAST, LeftOut, Section, THE_ASSISTANT, THE_USER};
use crate::digest::item::{Body, Item};
use crate::digest::kinds::Kind;
use crate::digest::order::{Step, Steps};
use crate::digest::pieces::beginning;
use crate::digest::ranked::RankedText;
use crate::tokens::Counter;
use crate::wording::counted;

/// Most ranges of places of what is left out of a section.
const MOST_RANGES: usize = 6;
/// The share of the room that these places may take.
const FOR_PLACES: f64 = 0.04;

impl Digest<'_> {
    /// Writes the digest in at most `limit` tokens, so that the whole `fits`: where it does not, the last steps are taken
    /// back. It is empty only where not even a word has room.
    pub fn write(&self, counter: Counter, limit: u64, fits: impl Fn(&str) -> bool) -> String {
        let mut writer = Writer::new(self, counter, limit);
        writer.take_steps();
        loop {
            for most in [MOST_RANGES, 0] {
                let text = writer.text(most);
                if !text.is_empty() && counter.count_text(&text) <= limit && fits(&text) {
                    return text;
                }
            }
            if !writer.take_back() {
                return self.least(counter, limit, fits);
            }
        }
    }

    /// A beginning of the user's last words, or else of any words, or how many messages there were.
    fn least(&self, counter: Counter, limit: u64, fits: impl Fn(&str) -> bool) -> String {
        let mut words: Option<(&Item<'_>, &str)> = None;
        let mut users = 0;
        for item in &self.items {
            let (who, is_better) = match (&item.body, words.map(|(known, _)| known.section())) {
                (Body::User { .. }, _) if item.is_typed() => (THE_USER, true),
                (Body::Said(_), known) => (THE_ASSISTANT, known != Some(Section::User)),
                (Body::Call(_), known) => ("", known.is_none_or(|known| known == Section::Calls)),
                _ => continue,
            };
            users += if item.section() == Section::User { item.alike as usize } else { 0 };
            if is_better {
                words = Some((item, who));
            }
        }
        let has_room = |text: &str| counter.count_text(text) <= limit && fits(text);
        let Some((item, who)) = words else {
            let text = format!("{} without words.", counted(self.messages, "message"));
            return if self.messages > 0 && has_room(&text) { text } else { String::new() };
        };
        let text = match &item.body {
            Body::Call(call) => call.label(None),
            // A larger digest begins with the same piece.
            _ => {
                let text = item.ranked();
                text.shown(&text.within(0))
            }
        };
        let others = self.left_out[Section::User as usize].number + users - usize::from(users > 0);
        let left_out = LeftOut { number: others, places: Vec::new() }.line(Section::User, 0);
        let mut count = left_out.map(|line| format!("\n{line}")).unwrap_or_default();
        // Where there is room for little more, the words are worth more than the count.
        if counter.count_text(&count).saturating_mul(3) > limit {
            count.clear();
        }
        let place = item.place;
        let shown = beginning(&text, |text| has_room(&format!("{LAST}\n- {place} {who}{text}{count}")));
        match shown {
            Some(text) => format!("{LAST}\n- {place} {who}{text}{count}"),
            None => String::new(),
        }
    }
}

/// What a digest tells of an item.
struct Told {
    lines: String,
    /// Its tokens, with its line end.
    tokens: u64,
    /// The lines of an earlier summary that it leaves out.
    lines_left_out: usize,
}

struct Writer<'w, 'a> {
    digest: &'w Digest<'a>,
    counter: Counter,
    /// The room in tokens.
    limit: u64,
    /// The tokens of what is told, without the lines that count what is left out.
    used: u64,
    texts: HashMap<usize, RankedText<'w>>,
    told: HashMap<usize, Told>,
    /// The items of the steps that were taken, each with what was told before.
    steps: Vec<(usize, Option<Told>)>,
    sections: [SectionState; Section::ALL.len()],
    has_tasks: bool,
}

/// What is told and what is left out of a section.
#[derive(Debug, Clone, Copy, Default)]
struct SectionState {
    told: usize,
    /// The items that are left out, of earlier summaries the lines.
    left_out: usize,
    /// The tokens of the line that counts them, or some more, and of the heading.
    count_tokens: u64,
    heading_tokens: u64,
}

impl<'w, 'a> Writer<'w, 'a> {
    fn new(digest: &'w Digest<'a>, counter: Counter, limit: u64) -> Self {
        let mut sections = [SectionState::default(); Section::ALL.len()];
        for item in &digest.items {
            sections[item.section() as usize].left_out += left_out_lines(item);
        }
        let (texts, told, steps) = (HashMap::new(), HashMap::new(), Vec::new());
        let has_tasks = digest.items.iter().any(|item| item.kind == Kind::Task);
        let mut writer = Writer { digest, counter, limit, used: 0, texts, told, steps, sections, has_tasks };
        for section in Section::ALL {
            let number = digest.left_out[section as usize].number + sections[section as usize].left_out;
            let line = LeftOut { number, places: Vec::new() }.line(section, 0).unwrap_or_default();
            writer.sections[section as usize].left_out = number;
            writer.sections[section as usize].count_tokens = writer.cost(&line);
            writer.sections[section as usize].heading_tokens = writer.cost(section.heading());
        }
        writer.used = writer.folder_tokens();
        writer
    }

    /// The tokens that the lines need that count what is left out.
    fn reserved(&self) -> u64 {
        let mut tokens = 0;
        let mut is_complete = true;
        for section in Section::ALL {
            let SectionState { told, left_out, count_tokens, .. } = self.sections[section as usize];
            if left_out == 0 {
                continue;
            }
            is_complete = false;
            if told > 0 || self.must_count(section) {
                tokens += count_tokens + self.heading_tokens(section);
            }
        }
        if is_complete { 0 } else { tokens + (self.limit as f64 * FOR_PLACES) as u64 }
    }

    /// Whether what is left out of a section is counted even where nothing of it is told: what the user, earlier summaries
    /// and earlier digests said does not vanish uncounted, nor do background tasks.
    fn must_count(&self, section: Section) -> bool {
        match section {
            Section::User | Section::Earlier => true,
            Section::State if self.has_tasks => true,
            _ => self.digest.left_out[section as usize].number > 0,
        }
    }

    /// The tokens of a line with its end.
    fn cost(&self, line: &str) -> u64 {
        self.counter.count_text(&format!("{line}\n"))
    }

    /// Takes the steps of the order, until the first that has no room; of these as many as leave room for the lines that
    /// count the rest.
    fn take_steps(&mut self) {
        let digest = self.digest;
        let mut fitting = 0;
        for step in Steps::new(&digest.items, digest.prefers_user) {
            let item = &digest.items[step.item];
            let told = self.told_at(item, step);
            if self.told.get(&step.item).is_some_and(|known| known.lines == told.lines) {
                continue;
            }
            self.tell(step.item, told);
            if self.used > self.limit {
                break;
            }
            if self.used + self.reserved() <= self.limit {
                fitting = self.steps.len();
            }
        }
        while self.steps.len() > fitting {
            self.take_back();
        }
    }

    /// Takes a step.
    fn tell(&mut self, at: usize, told: Told) {
        let item = &self.digest.items[at];
        self.used += told.tokens + self.heading_tokens(item.section());
        let state = &mut self.sections[item.section() as usize];
        state.left_out += told.lines_left_out;
        let before = self.told.insert(at, told);
        match &before {
            Some(before) => {
                self.used -= before.tokens;
                state.left_out -= before.lines_left_out;
            }
            None => {
                state.told += 1;
                state.left_out -= left_out_lines(item);
            }
        }
        self.steps.push((at, before));
    }

    /// What a step tells of an item.
    fn told_at(&mut self, item: &'w Item<'a>, step: Step) -> Told {
        let text = self.texts.entry(step.item).or_insert_with(|| item.ranked());
        let chosen = text.within(step.length);
        let lines = item.lines(text, &chosen, self.digest.folder.as_deref());
        let lines_left_out = if item.kind == Kind::EarlierSummary { text.lines_left_out(&chosen) } else { 0 };
        let tokens = self.cost(&lines);
        Told { lines, tokens, lines_left_out }
    }

    /// Takes the last step back; `false` where there is none.
    fn take_back(&mut self) -> bool {
        let Some((at, before)) = self.steps.pop() else { return false };
        let item = &self.digest.items[at];
        let state = &mut self.sections[item.section() as usize];
        if let Some(told) = self.told.remove(&at) {
            self.used -= told.tokens;
            state.left_out -= told.lines_left_out;
        }
        match before {
            Some(before) => {
                self.used += before.tokens;
                state.left_out += before.lines_left_out;
                self.told.insert(at, before);
            }
            None => {
                state.told -= 1;
                state.left_out += left_out_lines(item);
                self.used -= self.heading_tokens(item.section());
            }
        }
        true
    }

    /// What is left out of each section.
    fn left_out(&self) -> [LeftOut; Section::ALL.len()] {
        let mut left_out = self.digest.left_out.clone();
        for (at, item) in self.digest.items.iter().enumerate() {
            let of_section = &mut left_out[item.section() as usize];
            match (self.told.get(&at), &item.body) {
                (Some(told), _) => of_section.number += told.lines_left_out,
                (None, Body::Summary(_)) => of_section.number += left_out_lines(item),
                (None, _) => of_section.add(item.alike as usize, item.place.source),
            }
        }
        left_out
    }

    /// The whole digest, with where what is left out is in at most `most` ranges, as far as that has room. Empty where
    /// nothing is told.
    fn text(&self, most: usize) -> String {
        if self.told.is_empty() {
            return String::new();
        }
        let left_out = self.left_out();
        let room = self.limit.saturating_sub(self.used);
        for most in [most, most / 2, 1] {
            if most == 0 {
                break;
            }
            let lines = self.left_out_lines(&left_out, most, true);
            if lines.iter().flatten().map(|line| self.cost(line)).sum::<u64>() <= room {
                return self.joined(&lines);
            }
        }
        self.joined(&self.left_out_lines(&left_out, 0, false))
    }

    /// The line of each section that counts what is left out. Where `all` is not wanted, only those of sections that tell
    /// something, and of the user.
    fn left_out_lines(&self, left_out: &[LeftOut], most: usize, all: bool) -> Vec<Option<String>> {
        let mut lines = Vec::new();
        for section in Section::ALL {
            let left_out = &left_out[section as usize];
            let has_folder = section == Section::State && self.digest.folder.is_some();
            let is_empty = self.sections[section as usize].told == 0 && !has_folder;
            let is_wanted = all && section != Section::Rules;
            if is_empty && !is_wanted && !self.must_count(section) {
                lines.push(None);
                continue;
            }
            lines.push(match left_out.line(section, most) {
                // The heading of a section that tells nothing is only for this line.
                Some(line) if is_empty => Some(format!("{}\n{line}", section.heading())),
                line => line,
            });
        }
        lines
    }

    fn joined(&self, left_out: &[Option<String>]) -> String {
        let mut told: Vec<usize> = self.told.keys().copied().collect();
        told.sort_by_key(|at| {
            let item = &self.digest.items[*at];
            (item.section(), item.kind != Kind::Plan, item.kind == Kind::FilesRead, item.place.by_result(), *at)
        });
        let mut rest = told.as_slice();
        let mut out: Vec<&str> = Vec::new();
        let folder = self.digest.folder.as_ref().map(|folder| format!("- {FOLDER}{folder}"));
        for section in Section::ALL {
            // The items are in the order of their sections.
            let number = rest.iter().take_while(|at| self.digest.items[**at].section() == section).count();
            let (items, others) = rest.split_at(number);
            rest = others;
            let folder = if section == Section::State { folder.as_deref() } else { None };
            if !items.is_empty() || folder.is_some() {
                out.push(self.heading(section, items));
            }
            out.extend(folder);
            for at in items {
                out.push(&self.told[at].lines);
            }
            out.extend(left_out[section as usize].as_deref());
        }
        out.join("\n")
    }

    /// The heading of a section; that of earlier summaries says whether messages before them are told behind them.
    fn heading(&self, section: Section, items: &[usize]) -> &'static str {
        if section != Section::Earlier {
            return section.heading();
        }
        let first_message = self.digest.items.iter().find(|item| item.section() == Section::User);
        let last_summary = items.last().map(|at| self.digest.items[*at].place);
        match (first_message, last_summary) {
            (Some(message), Some(summary)) if message.place < summary => EARLIER_AMONG,
            _ => EARLIER,
        }
    }

    /// The tokens of the line that names the folder, below its heading.
    fn folder_tokens(&self) -> u64 {
        let Some(folder) = &self.digest.folder else { return 0 };
        self.cost(&format!("- {FOLDER}{folder}")) + self.sections[Section::State as usize].heading_tokens
    }

    /// The tokens of a section's heading, where nothing below it is told yet.
    fn heading_tokens(&self, section: Section) -> u64 {
        let has_folder = section == Section::State && self.digest.folder.is_some();
        let state = self.sections[section as usize];
        if has_folder || state.told > 0 { 0 } else { state.heading_tokens }
    }
}

/// How many lines are left out where an item is not told: of an earlier summary its lines, else what it stands for.
fn left_out_lines(item: &Item<'_>) -> usize {
    match &item.body {
        Body::Summary(text) => text.lines().filter(|line| !line.trim().is_empty()).count(),
        _ => item.alike as usize,
    }
}
