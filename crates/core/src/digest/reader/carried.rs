//! Reads a digest back from an earlier summary, by its own grammar: a heading, items that begin with `- `, and lines behind
//! them that begin with two spaces. What is read keeps its section, and so its speaker, and its place.

use crate::digest::calls::{Call, CallSource, Ended, tells_nothing};
use crate::digest::files::FileCalls;
use crate::digest::grammar::{
    ARROW, ASKED, FOLDER, FROM_PROGRAM, HEADINGS, LAST, LEFT_OUT, LOADED, LeftOut, MISSING, Place, READ, Section,
    SourcePlace, TASK, THE_ASSISTANT, THE_USER, THOUGHT, bracketed, is_heading, read_more, split_alike,
};
use crate::digest::item::{Body, Item, Question};
use crate::digest::kinds::Kind;
use crate::digest::plan::PlanItem;
use crate::digest::reader::HistoryReader;
use crate::digest::tasks;
use crate::transcript::lazy_text::LazyText;
use crate::transcript::tools::ToolUse;
use crate::transcript::tools::actions::FileAction;
use crate::transcript::tools::purpose::{Purpose, only_searches, purpose_of};

/// Reads an earlier summary of ours: a whole digest, or what stands beside a model's summary. Returns whether it is one.
/// `round` is that of the summary.
pub(super) fn read_into(reader: &mut HistoryReader<'_, '_>, place: Place, round: u32, summary: &str) -> bool {
    let summary = summary.trim_matches('\n');
    let first = summary.split('\n').next().unwrap_or("");
    let (of_model, ours) = if HEADINGS.contains(&first) {
        ("", summary)
    } else if let Some(at) = summary.rfind(&format!("\n{MISSING}\n")) {
        summary.split_at(at)
    } else {
        return false;
    };
    if !of_model.trim().is_empty() {
        reader.add_summary(place, of_model.trim());
    }
    let items = items_of(ours);
    let mut carried = CarriedReader { round: round_of(&items, round), asked: None, reader };
    let mut unknown: Vec<&str> = Vec::new();
    for (heading, item) in &items {
        if carried.read_item(heading, item.trim_start_matches('\n')).is_none() {
            unknown.push(item);
        }
    }
    // Somebody else wrote these into it.
    if !unknown.is_empty() {
        carried.reader.add_summary(place, &unknown.join("\n"));
    }
    true
}

/// Stands for the heading of lines that no digest has.
const BY_HAND: &str = "";

/// The items of a digest, each with its heading. The lines behind the first have no indentation.
fn items_of(digest: &str) -> Vec<(&str, String)> {
    let mut items: Vec<(&str, String)> = Vec::new();
    let mut heading = "";
    let mut has_item = false;
    for line in digest.split('\n') {
        if let Some(item) = line.strip_prefix("- ") {
            items.push((heading, item.to_owned()));
            has_item = true;
        } else if has_item
            && let Some(rest) = line.strip_prefix("  ")
            && let Some((_, item)) = items.last_mut()
        {
            item.extend(["\n", rest]);
        } else if is_heading(line) {
            heading = line;
            has_item = false;
        } else if !line.trim().is_empty() {
            // Somebody wrote it by hand, and what follows it may not be what the heading says.
            items.push((BY_HAND, line.to_owned()));
            has_item = true;
            if line.starts_with('#') {
                heading = BY_HAND;
            }
        }
    }
    items
}

/// The round of a digest. Where a preset writes the words around a summary, nothing but the places names it.
fn round_of(items: &[(&str, String)], round: u32) -> u32 {
    let mut found = round;
    for (heading, item) in items {
        // What anybody said can hold brackets, too.
        let is_list = Section::of_heading(heading) == Some(Section::State) || item.starts_with(LEFT_OUT);
        let mut places: Vec<&str> = bracketed(item).into_iter().map(|(places, _)| places).collect();
        places.extend(tasks::places_in(item).map(|(places, _)| places));
        if is_list {
            places.extend(item.split(" [").skip(1).filter_map(|rest| Some(rest.split_once(']')?.0)));
        }
        for place in places.into_iter().filter_map(SourcePlace::parse_all).flatten() {
            if let Some(round) = place.round {
                found = found.max(round.saturating_add(1));
            }
        }
    }
    found
}

/// What an earlier summary is read into.
struct CarriedReader<'r, 'a, 'p> {
    reader: &'r mut HistoryReader<'a, 'p>,
    /// The round of the summary.
    round: u32,
    /// What the next message of the user answers.
    asked: Option<Question>,
}

impl CarriedReader<'_, '_, '_> {
    /// Reads an item below a heading; `None` if it is not one that a digest has there.
    fn read_item(&mut self, heading: &str, item: &str) -> Option<()> {
        let section = if heading == LAST { Some(Section::User) } else { Section::of_heading(heading) };
        if let (Some(section), Some(text)) = (section, item.strip_prefix(LEFT_OUT)) {
            let left_out = LeftOut::parse(text)?;
            let known = &mut self.reader.digest.left_out[section as usize];
            known.number = known.number.saturating_add(left_out.number);
            known.places.extend(left_out.places.into_iter().map(|place| place.in_round(self.round)));
            return Some(());
        }
        if section == Some(Section::State) || heading == MISSING && !item.starts_with('[') {
            return self.read_state(item);
        }
        let (place, text) = self.split_place(item)?;
        match section {
            Some(Section::Earlier) => self.reader.add_summary(place, text),
            Some(Section::Rules) => {
                let (path, text) = text.split_once(": ")?;
                let rules = Box::new((path.to_owned(), text.to_owned()));
                self.add(Kind::RulesRead, place, Body::Rules(rules));
            }
            Some(Section::Calls) => self.add_call(place, text)?,
            // What was thought then is not thought now.
            Some(Section::Said) if text.starts_with(THOUGHT) => {
                self.reader.digest.left_out[Section::Said as usize].add(1, place.source);
            }
            Some(Section::Said) => self.add_said(place, text),
            Some(Section::User) if heading == LAST => {
                match (text.strip_prefix(THE_USER), text.strip_prefix(THE_ASSISTANT)) {
                    (Some(words), _) => self.add_user(place, words),
                    (_, Some(words)) => self.add_said(place, words),
                    _ => self.add_call(place, text)?,
                }
            }
            Some(Section::User) => match text.strip_prefix(ASKED) {
                Some(question) => self.asked = Some(Question { place, text: question.to_owned() }),
                None => self.add_user(place, text),
            },
            Some(Section::State) | None => match text.strip_prefix(THE_USER) {
                Some(words) => self.add_user(place, words),
                None if heading == MISSING => self.add_call(place, text).or_else(|| self.read_state(item))?,
                None => return None,
            },
        }
        Some(())
    }

    fn add(&mut self, kind: Kind, place: Place, body: Body<'static>) {
        self.reader.digest.items.push(Item::new(kind, place, body));
    }

    fn add_said(&mut self, place: Place, text: &str) {
        let (alike, text) = split_alike(text);
        let text = text.trim_start_matches('\n');
        self.reader.note_alike(text);
        self.add(Kind::Step, place, Body::Said(LazyText::owned(text)));
        self.set_alike(alike);
    }

    fn set_alike(&mut self, number: usize) {
        if let Some(item) = self.reader.digest.items.last_mut() {
            item.alike = u32::try_from(number).unwrap_or(u32::MAX);
        }
    }

    fn add_user(&mut self, place: Place, text: &str) {
        let (alike, text) = split_alike(text);
        let from_program = text.strip_prefix(FROM_PROGRAM);
        let text = from_program.unwrap_or(text).trim_start_matches('\n');
        let asked = self.asked.take();
        self.reader.add_user(place, LazyText::owned(text), text, asked);
        if let Some(item) = self.reader.digest.items.last_mut() {
            item.alike = u32::try_from(alike).unwrap_or(u32::MAX);
            if from_program.is_some() || alike > 1 && matches!(item.kind, Kind::Typed | Kind::Remark) {
                item.kind = Kind::FromProgram;
            }
        }
    }

    /// Reads a line of the state; `None` if a digest has no such line there.
    fn read_state(&mut self, item: &str) -> Option<()> {
        let Some((place, text)) = self.split_place(item) else {
            return self.read_state_without_place(item);
        };
        if let Some(items) = text.strip_prefix("Plan:\n") {
            let plan = &mut self.reader.plan;
            let last = items.rsplit('\n').next().unwrap_or("");
            plan.left_out = last.split(", ").filter_map(read_more).sum();
            plan.items = items.split('\n').filter_map(PlanItem::parse).collect();
            plan.place = Some(place);
        } else if let Some(names) = text.strip_prefix(LOADED) {
            // The last loaded stands first.
            for name in names.rsplit(", ") {
                if read_more(name).is_none() {
                    self.reader.add_loaded_tool(place, name.trim_matches(['…', ' ']).to_owned());
                }
            }
        } else {
            self.add(Kind::CarriedState, place, Body::Line(text.into()));
        }
        Some(())
    }

    fn read_state_without_place(&mut self, item: &str) -> Option<()> {
        if item.starts_with(TASK) {
            return self.reader.tasks.add_carried(item, self.round);
        }
        if let Some(folder) = item.strip_prefix(FOLDER) {
            self.reader.digest.folder = Some(folder.to_owned());
            return Some(());
        }
        if let Some(files) = item.strip_prefix(READ) {
            return self.read_files(files, None);
        }
        // Older digests list the files of each action.
        for action in FileAction::ALL {
            if let Some(files) = item.strip_prefix(&format!("{action:?}: ")) {
                return self.read_files(files, Some(format!("{action:?}").to_lowercase()));
            }
        }
        let (path, calls) = item.split_once(": ")?;
        let calls = FileCalls::parse_calls(calls, self.round)?;
        let last = *calls.last()?.1.last()?;
        let place = self.next_place(last);
        self.reader.files.add_carried(path, calls, place);
        Some(())
    }

    /// Reads a list of files with their places: of those that were read, or that a `call` changed.
    fn read_files(&mut self, files: &str, call: Option<String>) -> Option<()> {
        // The last ones stand first.
        for file in files.rsplit("], ") {
            let file = file.trim_matches(['…', ' ', ']']);
            let Some((path, places)) = file.rsplit_once(" [") else {
                // The numbers of those that older digests left out.
                for part in file.split(", ") {
                    self.reader.digest.left_out[Section::State as usize].number += read_more(part)?;
                }
                continue;
            };
            let mut places = SourcePlace::parse_all(places)?;
            for place in &mut places {
                *place = place.in_round(self.round);
            }
            let place = self.next_place(*places.last()?);
            match &call {
                Some(call) => self.reader.files.add_carried(path, vec![(call.clone(), places)], place),
                None => self.reader.files.add_read(path, place),
            }
        }
        Some(())
    }

    /// Reads the line of a call; `None` if it is not one.
    fn add_call(&mut self, place: Place, text: &str) -> Option<()> {
        let (alike, text) = split_alike(text);
        let (label, outcome) = text.split_once(ARROW)?;
        let command = label.strip_prefix('`').and_then(|label| label.strip_suffix('`')).map(str::to_owned);
        let name = label.split('(').next().unwrap_or("").to_owned();
        let ended = Ended::parse(outcome);
        let tool = ToolUse { command, ..ToolUse::default() };
        let kind = match purpose_of(&name, &tool, outcome) {
            _ if tells_nothing(outcome) && only_searches(&name, &tool) => Kind::FoundNothing,
            _ if ended.is_failure() || ended == Ended::Refused => Kind::FailedCall,
            Purpose::Effects => Kind::Effect,
            Purpose::Acts | Purpose::Checks | Purpose::Scripts => Kind::Action,
            Purpose::LooksUp => Kind::LookUp,
            Purpose::Reads => Kind::Read,
        };
        let next = self.reader.digest.items.len();
        self.reader.carried_calls.entry(label.to_owned()).or_default().push(next);
        self.reader.note_alike(label);
        let source = CallSource::Carried { label: label.to_owned(), outcome: outcome.to_owned() };
        self.add(kind, place, Body::Call(Box::new(Call { source, ended, has_deciding_lines: false })));
        self.set_alike(alike);
        Some(())
    }

    /// Splits the place of a message from the beginning of an item.
    fn split_place<'i>(&mut self, item: &'i str) -> Option<(Place, &'i str)> {
        let (place, text) = bracketed(item)?;
        let place = SourcePlace::parse(place)?.in_round(self.round);
        Some((self.next_place(place), text.strip_prefix(' ').unwrap_or(text)))
    }

    /// The place of what is read back next.
    fn next_place(&mut self, source: SourcePlace) -> Place {
        self.reader.carried += 1;
        Place::carried(self.reader.carried, source)
    }
}
