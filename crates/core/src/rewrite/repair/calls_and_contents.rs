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
use crate::rewrite::repair::{Removals, Repairer, remove};
use crate::rewrite::{Edit, elements};
use crate::transcript::json::{Json, JsonKind};
use crate::transcript::pairing::{CallOrResult, results};
use crate::transcript::{Message, Role, marks};

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
                ProviderRule::EmptyId { of_result: true, place } => _ = answers.insert(place),
                ProviderRule::EmptyId { of_result: false, place } | ProviderRule::RefusedId(place) => {
                    ids.insert(place);
                }
                ProviderRule::RefusedName(place) => _ = names.insert(place),
                _ => {}
            }
        }
        let new = self.new_ids(&ids);
        let mut edits = self.edits_of_calls(&new, &names);
        // A result without an id beside a call with one: the call's id.
        for pair in results(self.messages()) {
            let result = pair.result;
            let Some(call) = pair.call else { continue };
            if !answers.contains(&result) {
                continue;
            }
            let old_id = call.call_of(self.messages()).id.map(|id| id.decode().into_owned());
            let id = new.get(&call).cloned().or(old_id);
            let holder = self.messages()[result.message].results[result.index].json;
            if let (Some(value), Some(id)) = (id_in(holder, ""), id) {
                edits.push(replaced(value, &id));
            }
        }
        edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
        edits.dedup();
        edits
    }

    fn new_ids(&self, calls: &HashSet<CallOrResult>) -> HashMap<CallOrResult, String> {
        let messages = self.messages();
        let mut taken = ids_of_calls(messages);
        let mut number = 0usize;
        let mut new = HashMap::new();
        for (message, read) in messages.iter().enumerate() {
            for (index, call) in read.calls.iter().enumerate() {
                let place = CallOrResult { message, index };
                if !calls.contains(&place) {
                    continue;
                }
                let nearest = call.id.map(|id| self.transcript.order.call_ids.nearest(&id.decode()));
                let mut fresh = nearest.clone().unwrap_or_default();
                while fresh.is_empty() || taken.contains(&fresh) {
                    number += 1;
                    // Mistral takes nine letters and digits.
                    fresh = match &nearest {
                        Some(nearest) => format!("{}_{number}", &nearest[..nearest.floor_char_boundary(LONGEST)]),
                        None => format!("call{number:05}"),
                    };
                }
                taken.insert(fresh.clone());
                new.insert(place, fresh);
            }
        }
        new
    }

    /// The edits of calls, of their copies and their results.
    fn edits_of_calls(&self, new: &HashMap<CallOrResult, String>, names: &HashSet<CallOrResult>) -> Vec<Edit> {
        let messages = self.messages();
        let results = results_of_calls(self.transcript);
        let mut edits = Vec::new();
        for (message, read) in messages.iter().enumerate() {
            let mut edited = Vec::new();
            for index in 0..read.calls.len() {
                let place = CallOrResult { message, index };
                if new.contains_key(&place) || names.contains(&place) {
                    edited.push(index);
                }
            }
            let mut duplicates: HashMap<usize, Vec<Json<'_>>> = HashMap::new();
            for (index, json) in self.transcript.format.duplicates(read, &edited) {
                duplicates.entry(index).or_default().push(json);
            }
            for index in edited {
                let call = &read.calls[index];
                let place = CallOrResult { message, index };
                let mut holders = duplicates.remove(&index).unwrap_or_default();
                holders.push(call.json);
                if let Some(result) = results.get(&place) {
                    holders.push(messages[result.message].results[result.index].json);
                }
                if let Some(new_id) = new.get(&place) {
                    let old_id = call.id.map(|id| id.decode()).unwrap_or_default();
                    for holder in &holders {
                        if let Some(value) = id_in(*holder, &old_id) {
                            edits.push(replaced(value, new_id));
                        }
                    }
                }
                let Some(name) = call.name else { continue };
                if !names.contains(&place) {
                    continue;
                }
                let name = name.decode();
                let nearest = self.transcript.order.tool_names.nearest(&name);
                for holder in &holders {
                    if let Some(value) = name_in(*holder, &name) {
                        edits.push(replaced(value, &nearest));
                    }
                }
            }
        }
        edits
    }

    /// Gives a message with the id of an earlier one its own, or removes it where it is a copy.
    pub(super) fn tell_messages_apart(&self, found: &[&Breach]) -> Vec<Edit> {
        let mut taken: HashSet<String> = HashSet::new();
        for message in self.messages() {
            if let Some(id) = self.transcript.format.id_of(message).and_then(|id| id.text()) {
                taken.insert(id.decode().into_owned());
            }
        }
        let again: HashSet<usize> = found.iter().map(|breach| breach.message).collect();
        let mut raw = HashSet::new();
        let mut removals = Removals::new();
        let mut edits = Vec::new();
        let mut number = 1usize;
        for (index, message) in self.messages().iter().enumerate() {
            let is_new = raw.insert(message.json.raw());
            if !again.contains(&index) {
                continue;
            }
            let Some(value) = self.transcript.format.id_of(message) else { continue };
            if !is_new {
                remove(&mut removals, index, message.json);
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
        let mut edits = Vec::new();
        for breach in found {
            if let ProviderRule::Input(call) = breach.rule
                && let Some(input) = odd_input(self.transcript, call.call_of(self.messages()))
            {
                edits.push(Edit { range: input.span(), text: as_object(input) });
            }
        }
        edits
    }

    /// Moves media out of results, into a message of the user's behind them.
    pub(super) fn move_media(&self, found: &[&Breach]) -> Vec<Edit> {
        let messages = self.messages();
        let mut edits = Vec::new();
        let mut moved: Vec<&str> = Vec::new();
        let indices: Vec<usize> = found.iter().map(|breach| breach.message).collect();
        let mut behind = 0;
        for (at, &index) in indices.iter().enumerate() {
            for part in media_in_result(self.transcript, &messages[index]) {
                moved.push(part.raw());
                edits.push(Edit { range: part.span(), text: json!({"type": "text", "text": MOVED}).to_string() });
            }
            if index >= behind {
                behind = index + messages[index..].iter().take_while(|message| message.role == Role::Tool).count();
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
        let marks = marks::excess(self.transcript).marks;
        let mut spans: Vec<Range<usize>> = marks.iter().map(|(_, mark)| mark.span()).collect();
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
    if let Some(text) = input.text() {
        let spelled = text.decode();
        if serde_json::from_str::<serde_json::Map<String, Value>>(&spelled).is_ok() {
            return spelled.into_owned();
        }
    }
    format!("{{\"input\": {}}}", input.raw())
}

/// The ids that calls have.
fn ids_of_calls(messages: &[Message<'_>]) -> HashSet<String> {
    let mut ids = HashSet::new();
    for message in messages {
        for call in &message.calls {
            if let Some(id) = call.id {
                ids.insert(id.decode().into_owned());
            }
        }
    }
    ids
}

impl Repairer<'_, '_> {
    /// Gives every call an id of its own, or removes it where it repeats another with all that came of it.
    pub(super) fn tell_apart(&self, _: &[&Breach]) -> Vec<Edit> {
        let messages = self.messages();
        let results = results_of_calls(self.transcript);
        let mut ids = Ids { taken: ids_of_calls(messages), ..Ids::default() };
        let mut known = HashSet::new();
        let mut removals = Removals::new();
        let mut edits = Vec::new();
        for (message, read) in messages.iter().enumerate() {
            for (index, call) in read.calls.iter().enumerate() {
                let Some(id) = call.id else { continue };
                let id = id.decode();
                let place = results.get(&CallOrResult { message, index });
                let result = place.map(|place| messages[place.message].results[place.index].json);
                let is_first = ids.seen.insert(id.clone().into_owned());
                let is_new = known.insert((call.json.raw(), result.map(|result| result.raw())));
                let has_less = result.is_none() && ids.calls.contains(call.json.raw());
                ids.calls.insert(call.json.raw());
                if is_first {
                    continue;
                }
                if !is_new || has_less {
                    remove(&mut removals, message, call.json);
                    if let (Some(place), Some(result)) = (place, result) {
                        remove(&mut removals, place.message, result);
                    }
                    continue;
                }
                let fresh = ids.fresh(&id);
                for holder in [Some(call.json), result].into_iter().flatten() {
                    if let Some(value) = id_in(holder, &id) {
                        edits.push(replaced(value, &fresh));
                    }
                }
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
                    for range in lone_surrogates(self.transcript, &self.messages()[breach.message]) {
                        edits.push(Edit { range, text: "\\ufffd".to_owned() });
                    }
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
