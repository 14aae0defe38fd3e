//! Repairs ids of calls and messages, names of tools, inputs and cache marks that a provider refuses.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde_json::{Value, json};

use crate::plan::breaches::{Breach, ProviderRule, id_in, media_in_result, name_in, odd_input, results_of_calls};
use crate::rewrite::repair::{Removals, Repairer};
use crate::rewrite::{Edit, elements};
use crate::transcript::json::{Json, JsonKind};
use crate::transcript::pairing::{CallOrResult, results};
use crate::transcript::{Role, marks};

/// What stands in the place of media in a result.
const MOVED: &str = "(It is in the next message.)";
/// The longest part of an id that its successor repeats.
const LONGEST: usize = 56;

impl Repairer<'_, '_> {
    /// Gives calls ids and names that their provider takes, and results the ids of their calls.
    pub(super) fn respell(&self, found: &[Breach]) -> Vec<Edit> {
        let (mut ids, mut names, mut answers) = (HashSet::new(), HashSet::new(), HashSet::new());
        for breach in found {
            match breach.rule {
                ProviderRule::EmptyId { of_result: true, place } => {
                    answers.insert((place.message, place.index));
                }
                ProviderRule::EmptyId { of_result: false, place } | ProviderRule::RefusedId(place) => {
                    ids.insert((place.message, place.index));
                }
                ProviderRule::RefusedName(place) => {
                    names.insert((place.message, place.index));
                }
                _ => {}
            }
        }
        if ids.is_empty() && names.is_empty() && answers.is_empty() {
            return Vec::new();
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
    pub(super) fn tell_messages_apart(&self, found: &[Breach]) -> Vec<Edit> {
        let is_same = |breach: &&Breach| breach.rule == ProviderRule::SameMessageId;
        if !found.iter().any(|breach| is_same(&breach)) {
            return Vec::new();
        }
        let id_of = |index: usize| self.transcript.format.message_id(&self.messages()[index]);
        let texts = (0..self.messages().len()).filter_map(id_of).filter_map(|id| id.text());
        let mut taken: HashSet<String> = texts.map(|id| id.decode().into_owned()).collect();
        let again: HashSet<usize> = found.iter().filter(is_same).map(|breach| breach.message).collect();
        let mut raw = HashSet::new();
        let mut removals = Removals::new();
        let mut edits = Vec::new();
        let mut number = 1usize;
        for (index, message) in self.messages().iter().enumerate() {
            let is_new = raw.insert(message.json.raw());
            let Some(value) = id_of(index).filter(|_| again.contains(&index)) else { continue };
            if !is_new {
                let span = message.span();
                removals.entry(index).or_default().insert((span.start, span.end));
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

    pub(super) fn make_objects(&self, found: &[Breach]) -> Vec<Edit> {
        let place = |breach: &Breach| match breach.rule {
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
    pub(super) fn move_media(&self, found: &[Breach]) -> Vec<Edit> {
        let messages = self.messages();
        let mut edits = Vec::new();
        let is_result = |index: usize| messages.get(index).is_some_and(|message| message.role == Role::Tool);
        let mut moved: Vec<&str> = Vec::new();
        let of_rule = found.iter().filter(|breach| breach.rule == ProviderRule::MediaInResult);
        let indices: Vec<usize> = of_rule.map(|breach| breach.message).collect();
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
    pub(super) fn remove_marks(&self, found: &[Breach]) -> Vec<Edit> {
        if !found.iter().any(|breach| matches!(breach.rule, ProviderRule::Mark { .. })) {
            return Vec::new();
        }
        let mut spans: Vec<Range<usize>> =
            marks::excess(self.transcript).marks.into_iter().map(|(_, mark)| mark.span()).collect();
        spans.sort_by_key(|span| span.start);
        elements::removal_edits(self.transcript.source, &spans)
    }

    /// Moves entries that stand between a call and its result behind the result.
    pub(super) fn move_entries(&self, found: &[Breach]) -> Vec<Edit> {
        if !found.iter().any(|breach| breach.rule == ProviderRule::Between) {
            return Vec::new();
        }
        self.transcript.format.move_misplaced(self.transcript)
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
