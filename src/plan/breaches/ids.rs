//! Calls that share an id, where the provider wants the ids of a conversation to differ.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::plan::breaches::{Breach, ProviderRule};
use crate::transcript::Transcript;
use crate::transcript::pairing::{CallOrResult, results};

/// Every call with the id of an earlier one.
pub(super) fn of_ids(transcript: &Transcript<'_>) -> Vec<Breach> {
    let mut found = Vec::new();
    if !transcript.order.unique_ids {
        return found;
    }
    let mut seen = HashSet::new();
    for (message, read) in transcript.messages.iter().enumerate() {
        for (index, call) in read.calls.iter().enumerate() {
            let Some(id) = call.id.map(|id| id.decode()) else { continue };
            if !seen.insert(id.clone()) {
                let rule = ProviderRule::Repeated(CallOrResult { message, index });
                found.push(Breach { message, rule, id: Some(id.into_owned()) });
            }
        }
    }
    found
}

/// The result of each call. The results of calls with one id in one message belong to them in order.
pub(crate) fn results_of_calls(transcript: &Transcript<'_>) -> HashMap<(usize, usize), CallOrResult> {
    let messages = &transcript.messages;
    let mut of_id: HashMap<_, Vec<CallOrResult>> = HashMap::new();
    for found in results(messages).into_iter().filter(|found| !found.again) {
        let Some(call) = found.call else { continue };
        let id = call.call_of(messages).id.map(|id| id.decode());
        of_id.entry((call.message, id)).or_default().push(found.result);
    }
    // The first is taken from the end.
    of_id.values_mut().for_each(|results| results.sort_unstable_by_key(|one| Reverse((one.message, one.index))));
    let mut pairs = HashMap::new();
    for (message, read) in messages.iter().enumerate() {
        for (index, call) in read.calls.iter().enumerate() {
            let results = of_id.get_mut(&(message, call.id.map(|id| id.decode())));
            pairs.extend(results.and_then(Vec::pop).map(|result| ((message, index), result)));
        }
    }
    pairs
}
