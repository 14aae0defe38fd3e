//! What of the values that tools brought is used: said by people, given to calls, brought again. A model's summary has
//! little room beside it, and an identifier that was used is asked for more often than the cabin of every flight.

use std::collections::{HashMap, HashSet};

use crate::summary::ledger::homes::given;
use crate::summary::ledger::literals::{Class, literals};
use crate::summary::ledger::reading::{Speaker, Turn, Words};
use crate::summary::ledger::{Found, Kind};

/// Values by how they were used, in small letters.
pub(super) struct Uses {
    /// What people said and calls were given.
    wanted: HashSet<String>,
    /// What results held, and in how many of them.
    brought: HashMap<String, usize>,
}

/// How much more a value weighs that was wanted, or that came up in several results.
const WANTED: f64 = 1.5;
const AGAIN: f64 = 1.2;
/// How much is left of the weight of a word that names nothing: `flight_type=round_trip`, `first_name=Mia`.
const WORDS: f64 = 0.4;

impl Uses {
    pub(super) fn of(turns: &[Turn<'_>]) -> Uses {
        let mut uses = Uses { wanted: HashSet::new(), brought: HashMap::new() };
        for turn in turns {
            if matches!(turn.speaker, Speaker::User | Speaker::Earlier) {
                uses.wanted.extend(spelled(&turn.text.read()));
            }
            for call in &turn.calls {
                uses.wanted.extend(spelled(&given(&call.arguments.read())));
                // In one result a value may stand in every row.
                let result = call.result.as_ref().map(Words::read).unwrap_or_default();
                let here: HashSet<String> = spelled(&result).collect();
                here.into_iter().for_each(|value| *uses.brought.entry(value).or_default() += 1);
            }
        }
        uses
    }

    /// A fact, weighed by the use of what it holds where it is a value that a tool brought.
    pub(super) fn weighed(&self, found: Found) -> Found {
        let is_value = matches!(found.entry.kind, Kind::Identifier | Kind::Url | Kind::Version | Kind::Number);
        let Some(cell) = found.cell.as_ref().filter(|_| is_value) else { return found };
        let value = cell.value.to_lowercase();
        // What the call was given stands beside it.
        let told = found.entry.about.to_lowercase().contains(&value);
        let names = literals(&cell.value).iter().any(|literal| literal.class != Class::Identifier || has_digit(&value));
        let factor = match () {
            () if told || !names => WORDS,
            () if self.wanted.contains(&value) => WANTED,
            () if self.brought.get(&value).is_some_and(|times| *times > 1) => AGAIN,
            () => 1.0,
        };
        found.weighing(factor)
    }
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

/// The literals of a text in small letters.
fn spelled(text: &str) -> impl Iterator<Item = String> + '_ {
    literals(text).into_iter().map(|literal| text[literal.span].to_lowercase())
}

#[cfg(test)]
mod tests {
    use crate::summary::ledger::tests::ledger;

    #[test]
    fn what_was_used_comes_first() {
        let source = r#"[{"role":"user","content":"Change HAT192, please."},
            {"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"get","arguments":"{\"id\":\"4WQ150\"}"}}]},
            {"role":"tool","tool_call_id":"1","content":"{\"reservation_id\":\"4WQ150\",\"first_name\":\"Mia\",\"flight_type\":\"round_trip\",\"flight_number\":\"HAT192\",\"payment\":\"card_4421\",\"amount\":897}"}]"#;
        let lacking: Vec<String> = ledger(source).lacking("").iter().map(|entry| entry.text.clone()).collect();
        assert_eq!(
            lacking,
            [
                "Change HAT192, please.",
                "flight_number=HAT192",
                "payment=card_4421",
                "amount=897",
                "reservation_id=4WQ150",
                "first_name=Mia",
                "flight_type=round_trip"
            ]
        );
    }
}
