//! Repairs ids of calls and messages, names of tools, inputs and cache marks that a provider refuses.
//!
//! Also repairs calls that share an id: a copy of an earlier call goes with its result, any other gets an id of its own.
//!
//! Also repairs contents that a provider refuses: halves of surrogate pairs, and texts without any text.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde_json::{Value, json};

use crate::plan::breaches::{
    Blank, Breach, ProviderRule, blanks, content_of, id_in, lone_surrogates, media_in_result, name_in, odd_input,
    results_of_calls,
};
use crate::rewrite::repair::{Removals, Repairer, bounds};
use crate::rewrite::{Edit, elements};
use crate::transcript::json::{Json, JsonKind};
use crate::transcript::pairing::{CallOrResult, results};
use crate::transcript::{Role, marks};

/// What stands in the place of media in a result.
const MOVED: &str = "(It is in the next message.)";
/// The longest part of an id that its successor repeats. Bedrock takes 64 characters.
const LONGEST: usize = 56;

impl Repairer<'_, '_> {
    /// Gives calls ids and names that their provider takes, and results the ids of their calls.
    pub(super) fn respell(&self, found: &[&Breach]) -> Vec<Edit> {
        let (mut ids, mut names, mut answers) = (HashSet::new(), HashSet::new(), HashSet::new());
        for breach in found {
            match breach.rule {
                ProviderRule::EmptyId { of_result: true, place } => _ = answers.insert((place.message, place.index)),
                ProviderRule::EmptyId { of_result: false, place } | ProviderRule::RefusedId(place) => {
                    ids.insert((place.message, place.index));
                }
                ProviderRule::RefusedName(place) => _ = names.insert((place.message, place.index)),
                _ => {}
            }
        }
        let new = self.new_ids(&ids);
        let mut edits = self.edits_of_calls(&new, &names);
        // A result without an id beside a call with one: the call's id.
        for pair in results(self.messages()) {
            let place = (pair.result.message, pair.result.index);
            let Some(call) = pair.call.filter(|_| answers.contains(&place)) else { continue };
            let own = call.call_of(self.messages()).id.map(|id| id.decode().into_owned());
            let id = new.get(&(call.message, call.index)).cloned().or(own);
            let holder = self.messages()[place.0].results[place.1].json;
            edits.extend(id_in(holder, "").zip(id).map(|(value, id)| replaced(value, &id)));
        }
        edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
        edits.dedup();
        edits
    }

    fn new_ids(&self, calls: &HashSet<(usize, usize)>) -> HashMap<(usize, usize), String> {
        let messages = self.messages();
        let all = messages.iter().flat_map(|message| message.calls.iter().filter_map(|call| call.id));
        let mut taken: HashSet<String> = all.map(|id| id.decode().into_owned()).collect();
        let mut number = 0usize;
        let mut new = HashMap::new();
        for (message, read) in messages.iter().enumerate() {
            for (index, call) in read.calls.iter().enumerate().filter(|(index, _)| calls.contains(&(message, *index))) {
                let near = call.id.map(|id| self.transcript.order.call_ids.nearest(&id.decode()));
                let mut fresh = near.clone().filter(|near| !near.is_empty());
                while fresh.as_ref().is_none_or(|fresh| taken.contains(fresh)) {
                    number += 1;
                    // Mistral takes nine letters and digits.
                    fresh = Some(match &near {
                        Some(near) => format!("{}_{number}", &near[..near.floor_char_boundary(LONGEST)]),
                        None => format!("call{number:05}"),
                    });
                }
                let fresh = fresh.unwrap_or_default();
                taken.insert(fresh.clone());
                new.insert((message, index), fresh);
            }
        }
        new
    }

    /// The edits of calls, of their copies and their results.
    fn edits_of_calls(&self, new: &HashMap<(usize, usize), String>, names: &HashSet<(usize, usize)>) -> Vec<Edit> {
        let messages = self.messages();
        let results = results_of_calls(self.transcript);
        let mut edits = Vec::new();
        for (message, read) in messages.iter().enumerate() {
            let is_edited = |index: &usize| new.contains_key(&(message, *index)) || names.contains(&(message, *index));
            let edited: Vec<usize> = (0..read.calls.len()).filter(is_edited).collect();
            let mut duplicates: HashMap<usize, Vec<Json<'_>>> = HashMap::new();
            for (index, json) in self.transcript.format.duplicates(read, &edited) {
                duplicates.entry(index).or_default().push(json);
            }
            for index in edited {
                let call = &read.calls[index];
                let (id, is_renamed) = (new.get(&(message, index)), names.contains(&(message, index)));
                let result = results.get(&(message, index)).map(|at| messages[at.message].results[at.index].json);
                let mut holders = duplicates.remove(&index).unwrap_or_default();
                holders.push(call.json);
                holders.extend(result);
                let old = call.id.map(|id| id.decode()).unwrap_or_default();
                if let Some(id) = id {
                    edits.extend(holders.iter().filter_map(|holder| Some(replaced(id_in(*holder, &old)?, id))));
                }
                let Some(name) = call.name.filter(|_| is_renamed).map(|name| name.decode()) else { continue };
                let near = self.transcript.order.tool_names.nearest(&name);
                edits.extend(holders.iter().filter_map(|holder| Some(replaced(name_in(*holder, &name)?, &near))));
            }
        }
        edits
    }

    /// Gives a message with the id of an earlier one its own, or removes it where it is a copy.
    pub(super) fn tell_messages_apart(&self, found: &[&Breach]) -> Vec<Edit> {
        let id_of = |index: usize| self.transcript.format.id_of(&self.messages()[index]);
        let texts = (0..self.messages().len()).filter_map(id_of).filter_map(|id| id.text());
        let mut taken: HashSet<String> = texts.map(|id| id.decode().into_owned()).collect();
        let again: HashSet<usize> = found.iter().map(|breach| breach.message).collect();
        let mut raw = HashSet::new();
        let mut removals = Removals::new();
        let mut edits = Vec::new();
        let mut number = 1usize;
        for (index, message) in self.messages().iter().enumerate() {
            let is_new = raw.insert(message.json.raw());
            let Some(value) = id_of(index).filter(|_| again.contains(&index)) else { continue };
            if !is_new {
                removals.entry(index).or_default().insert(bounds(message.json));
                continue;
            }
            let old = value.text().map(|id| id.decode().into_owned()).unwrap_or_default();
            let fresh = loop {
                number += 1;
                let fresh = format!("{old}_{number}");
                if taken.insert(fresh.clone()) {
                    break fresh;
                }
            };
            edits.push(replaced(value, &fresh));
        }
        edits.extend(self.removal_edits(&removals));
        edits
    }

    pub(super) fn make_objects(&self, found: &[&Breach]) -> Vec<Edit> {
        let place = |breach: &&Breach| match breach.rule {
            ProviderRule::Input(place) => Some(place),
            _ => None,
        };
        let edit = |place: CallOrResult| {
            let input = odd_input(self.transcript, place.call_of(self.messages()))?;
            Some(Edit { range: input.span(), text: as_object(input) })
        };
        found.iter().filter_map(place).filter_map(edit).collect()
    }

    /// Moves media out of results, into a message of the user's behind them.
    pub(super) fn move_media(&self, found: &[&Breach]) -> Vec<Edit> {
        let messages = self.messages();
        let mut edits = Vec::new();
        let is_result = |index: usize| messages.get(index).is_some_and(|message| message.role == Role::Tool);
        let mut moved: Vec<&str> = Vec::new();
        let indices: Vec<usize> = found.iter().map(|breach| breach.message).collect();
        let mut behind = 0;
        for (at, &index) in indices.iter().enumerate() {
            for part in media_in_result(self.transcript, &messages[index]) {
                moved.push(part.raw());
                edits.push(Edit { range: part.span(), text: json!({"type": "text", "text": MOVED}).to_string() });
            }
            if index >= behind {
                behind = (index..).find(|&index| !is_result(index)).unwrap_or(index);
            }
            if indices.get(at + 1).is_none_or(|next| *next >= behind) {
                let message = format!("{{\"role\": \"user\", \"content\": [{}]}}", moved.join(", "));
                edits.push(self.entry(behind, &message));
                moved.clear();
            }
        }
        edits
    }

    /// Removes the cache marks that are too many.
    pub(super) fn remove_marks(&self, _: &[&Breach]) -> Vec<Edit> {
        let mut spans: Vec<Range<usize>> =
            marks::excess(self.transcript).marks.into_iter().map(|(_, mark)| mark.span()).collect();
        spans.sort_by_key(|span| span.start);
        elements::removal_edits(self.transcript.source, &spans)
    }

    /// Moves entries that stand between a call and its result behind the result.
    pub(super) fn move_entries(&self, _: &[&Breach]) -> Vec<Edit> {
        self.transcript.format.session.misplaced_entries(self.transcript).repairs
    }
}

fn replaced(value: Json<'_>, text: &str) -> Edit {
    Edit { range: value.span(), text: Value::from(text).to_string() }
}

/// An input as an object: the one that it spells, or one that holds it.
fn as_object(input: Json<'_>) -> String {
    if input.kind() == JsonKind::Null {
        return "{}".to_owned();
    }
    let spelled = input.text().map(|text| text.decode().into_owned());
    let is_object = |text: &String| serde_json::from_str::<serde_json::Map<String, Value>>(text).is_ok();
    spelled.filter(is_object).unwrap_or_else(|| format!("{{\"input\": {}}}", input.raw()))
}

impl Repairer<'_, '_> {
    /// Gives every call an id of its own, or removes it where it repeats another with all that came of it.
    pub(super) fn tell_apart(&self, _: &[&Breach]) -> Vec<Edit> {
        let messages = self.messages();
        let results = results_of_calls(self.transcript);
        let mut ids = Ids::default();
        let mut known = HashSet::new();
        let mut removals = Removals::new();
        let mut edits = Vec::new();
        for message in messages {
            ids.taken.extend(message.calls.iter().filter_map(|call| call.id).map(|id| id.decode().into_owned()));
        }
        for (message, read) in messages.iter().enumerate() {
            for (index, call) in read.calls.iter().enumerate() {
                let Some(id) = call.id.map(|id| id.decode()) else { continue };
                let result = results
                    .get(&(message, index))
                    .map(|result| (result, messages[result.message].results[result.index].json));
                let is_first = ids.seen.insert(id.clone().into_owned());
                let is_new = known.insert((call.json.raw(), result.map(|(_, result)| result.raw())));
                let has_less = result.is_none() && ids.calls.contains(call.json.raw());
                ids.calls.insert(call.json.raw());
                if is_first {
                    continue;
                }
                if !is_new || has_less {
                    let mut remove = |at: usize, json: Json<'_>| removals.entry(at).or_default().insert(bounds(json));
                    remove(message, call.json);
                    result.map(|(place, result)| remove(place.message, result));
                    continue;
                }
                let fresh = Value::from(ids.fresh(&id)).to_string();
                let holders = [Some(call.json), result.map(|(_, result)| result)];
                let places = holders.into_iter().flatten().filter_map(|holder| id_in(holder, &id));
                edits.extend(places.map(|place| Edit { range: place.span(), text: fresh.clone() }));
            }
        }
        edits.extend(self.removal_edits(&removals));
        edits
    }
}

/// The ids of a conversation.
#[derive(Default)]
struct Ids<'a> {
    /// Those that no other call can get.
    taken: HashSet<String>,
    /// Those of the calls so far.
    seen: HashSet<String>,
    /// The calls so far.
    calls: HashSet<&'a str>,
    /// The last number of each id.
    numbers: HashMap<String, usize>,
}

impl Ids<'_> {
    /// An id that no call has.
    fn fresh(&mut self, id: &str) -> String {
        let number = self.numbers.entry(id.to_owned()).or_insert(1);
        loop {
            *number += 1;
            let fresh = format!("{}_{number}", &id[..id.floor_char_boundary(LONGEST)]);
            if self.taken.insert(fresh.clone()) {
                return fresh;
            }
        }
    }
}

/// The text of a message that must have one.
const NO_CONTENT: &str = "(no content)";

impl Repairer<'_, '_> {
    /// Replaces halves of surrogate pairs by the character for what cannot be read, and removes or fills blank texts.
    pub(super) fn fix_contents(&self, found: &[&Breach]) -> Vec<Edit> {
        let mut edits = Vec::new();
        for breach in found {
            match breach.rule {
                ProviderRule::Surrogate => {
                    let lone = lone_surrogates(self.transcript, &self.messages()[breach.message]);
                    edits.extend(lone.into_iter().map(|range| Edit { range, text: "\\ufffd".to_owned() }));
                }
                ProviderRule::Blank => edits.extend(self.fill(breach.message)),
                _ => {}
            }
        }
        edits
    }

    fn fill(&self, index: usize) -> Vec<Edit> {
        let mut spans: Vec<Range<usize>> = Vec::new();
        let mut edits = Vec::new();
        for blank in blanks(self.transcript, index) {
            match blank {
                Blank::Part(part) => spans.push(part.span()),
                Blank::Only(text) => {
                    let value = text.get("text").unwrap_or(text);
                    edits.push(Edit { range: value.span(), text: Value::from(NO_CONTENT).to_string() });
                }
                Blank::Content => edits.push(self.content(index)),
            }
        }
        edits.extend(elements::removal_edits(self.transcript.source, &spans));
        edits
    }

    /// Gives a message without content one.
    fn content(&self, index: usize) -> Edit {
        let message = &self.messages()[index];
        match content_of(message) {
            Some(list) if list.kind() == JsonKind::Array => {
                let block =
                    self.transcript.format.write_text_block(list, NO_CONTENT).unwrap_or(Value::from(NO_CONTENT));
                Edit { range: list.span(), text: json!([block]).to_string() }
            }
            Some(nothing) => Edit { range: nothing.span(), text: "\"\"".to_owned() },
            None => {
                let end = message.span().end - "}".len();
                Edit { range: end..end, text: ", \"content\": \"\"".to_owned() }
            }
        }
    }
}
