//! Repairs calls that share an id: a copy of an earlier call goes with its result, any other gets an id of its own.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::plan::breaches::{Breach, ProviderRule, id_in, results_of_calls};
use crate::rewrite::Edit;
use crate::rewrite::repair::{Removals, Repairer};
use crate::transcript::json::Json;

/// The longest part of an id that its successor repeats. Bedrock takes 64 characters.
const LONGEST: usize = 56;

impl Repairer<'_, '_> {
    /// Gives every call an id of its own, or removes it where it repeats another with all that came of it.
    pub(super) fn tell_apart(&self, found: &[Breach]) -> Vec<Edit> {
        if !found.iter().any(|breach| matches!(breach.rule, ProviderRule::Repeated(_))) {
            return Vec::new();
        }
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
                    let mut remove = |at: usize, json: Json<'_>| {
                        removals.entry(at).or_default().insert((json.span().start, json.span().end))
                    };
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
