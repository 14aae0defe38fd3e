//! What people and the model said: rules, goals, decisions, questions, what is done and what is next.

use crate::summary::ledger::cues;
use crate::summary::ledger::literals::{Class, literals};
use crate::summary::ledger::reading::{Speaker, Turn};
use crate::summary::ledger::sentences::{clipped, sentences};
use crate::summary::ledger::{Found, Kind};

/// The sentences of a person.
pub(super) fn by_user(turn: &Turn<'_>, first: bool, found: &mut Vec<Found>) {
    /// Sentences of the first message that say what the conversation is for.
    const OPENING: usize = 2;
    let said = with_lists(sentences(&turn.text.read()));
    let says =
        |sentence: &&String| (!sentence.ends_with([':', '：']) || said.len() == 1) && !cues::FILLERS.is_in(sentence);
    let mut before: Option<(usize, &str)> = None;
    for (place, sentence) in said.iter().filter(says).enumerate().filter(|(_, said)| !cues::FILLERS.is_in(said)) {
        let opens = first && place < OPENING;
        let weight = |kind| {
            // What comes late in a long message is more often material than a wish; a rule is one wherever it stands.
            let late = if kind == Kind::Rule { 0.01 } else { 0.05 } * place as f64;
            if opens { 1.5 } else { 1.0 / (1.0 + late) }
        };
        let start = found.len();
        if let Some((start, subject)) = before.filter(|(_, before)| refers(sentence, before)) {
            // The rule says with the sentence before it what it is about, and claims no more than it says itself.
            let mut rule = Found::new(Kind::Rule, Speaker::User, turn.index, "", &**sentence).claiming();
            rule.entry.text = format!("{subject} {}", rule.entry.text);
            if found[start..].iter().all(|found| found.entry.kind != Kind::Rule) {
                found.truncate(start);
            }
            found.push(rule.weighing(weight(Kind::Rule)));
            before = None;
            continue;
        }
        for clause in clauses(without_chatter(sentence)).into_iter().filter(|clause| !cues::THANKS.is_in(clause)) {
            let kind = kind_of_request(clause, opens);
            let statement = Found::new(kind, Speaker::User, turn.index, "", clause).weighing(weight(kind));
            // What gives no value and asks for nothing takes nothing back.
            let states = !matches!(kind, Kind::Said | Kind::Identifier | Kind::Url);
            found.push(if states { statement.claiming() } else { statement });
        }
        before = Some((start, without_chatter(sentence)));
    }
}

/// Whether a sentence is a rule about what the one before it names, and both are short enough to stand together.
fn refers(sentence: &str, before: &str) -> bool {
    const LONGEST: usize = 240;
    let whole = before.ends_with(['.', '!', '。', '！']);
    whole && cues::REFERS.is_in(sentence) && cues::RULES.is_in(sentence) && sentence.len() + before.len() < LONGEST
}

/// Sentences, of which a rule that ends in a colon holds the short items below it: `Do not change: a.rs, b.rs`.
fn with_lists(said: Vec<String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::with_capacity(said.len());
    let mut listing = false;
    for sentence in said {
        // An item that rules by itself stands by itself.
        let ends = sentence.ends_with(['.', '!', '?', ':', '。', '！', '？', '：']);
        let item = !ends && !cues::RULES.is_in(&sentence);
        match found.last_mut().filter(|_| listing && item) {
            Some(rule) => {
                let joint = if rule.ends_with([':', '：']) { " " } else { ", " };
                *rule = clipped(&format!("{rule}{joint}{sentence}"));
            }
            None => {
                listing = sentence.ends_with([':', '：']) && cues::RULES.is_in(&sentence);
                found.push(sentence);
            }
        }
    }
    found
}

/// What a sentence of a person is; the one that opens a conversation says what it is for.
pub(super) fn kind_of_request(clause: &str, opening: bool) -> Kind {
    match () {
        () if cues::RULES.is_in(clause) && !cues::LACKS.is_in(clause) => Kind::Rule,
        // What somebody has not got is no rule, and tells what help is wanted.
        () if opening || cues::LACKS.is_in(clause) => Kind::Goal,
        () if cues::GOALS.is_in(clause) => Kind::Goal,
        () if cues::DECISIONS.is_in(clause) => Kind::Decision,
        () => kind_of_literals(clause),
    }
}

/// What a statement is by the literals in it.
pub(super) fn kind_of_literals(text: &str) -> Kind {
    let classes: Vec<Class> = literals(text).into_iter().map(|literal| literal.class).collect();
    let kinds = [
        (Class::Identifier, Kind::Identifier),
        (Class::Email, Kind::Identifier),
        (Class::Url, Kind::Url),
        (Class::Version, Kind::Version),
        (Class::Number, Kind::Number),
    ];
    kinds.into_iter().find(|(class, _)| classes.contains(class)).map_or(Kind::Said, |(_, kind)| kind)
}

/// The sentences of the model. Only of its last words is it known that they are still ahead.
pub(super) fn by_assistant(turn: &Turn<'_>, last: bool, found: &mut Vec<Found>) {
    let said = sentences(&turn.text.read());
    let ahead = said.iter().rposition(|sentence| cues::AHEAD.is_in(sentence)).filter(|_| last);
    for (place, sentence) in said.iter().enumerate() {
        let text = without_chatter(sentence);
        // What follows `Next:` is what is next.
        let listed = ahead.is_some_and(|ahead| place > ahead && said[ahead].ends_with([':', '：']));
        if Some(place) == ahead && text.ends_with([':', '：']) && place + 1 < said.len() {
            continue;
        }
        let kind = match () {
            () if Some(place) == ahead || listed => Kind::Next,
            () if last && text.ends_with(['?', '？']) => Kind::Question,
            // What it was about to do then is said by what it did.
            () if text.ends_with([':', '?', '：', '？']) => Kind::Said,
            () if cues::DECISIONS.is_in(text) => Kind::Decision,
            () if cues::DONE.is_in(text) => Kind::Done,
            () => Kind::Said,
        };
        let fragment = !text.ends_with(['.', '!', '?', '。', '！', '？', '…'])
            && text.split_whitespace().count() < 4
            && text.is_ascii()
            || text.split_whitespace().count() < 4 && text.ends_with('!');
        if fragment && literals(text).is_empty() || cues::FILLERS.is_in(text) {
            continue;
        }
        // What it says before it acts is told by what it did.
        let talk = text.ends_with([':', '：']) || cues::TALK.is_in(text);
        if talk && matches!(kind, Kind::Said | Kind::Done) {
            continue;
        }
        let statement = Found::new(kind, Speaker::Assistant, turn.index, "", text);
        found.push(if kind == Kind::Decision { statement.claiming() } else { statement });
    }
}

/// A sentence without the thanks and greetings before it.
fn without_chatter(sentence: &str) -> &str {
    let end = cues::CHATTER.end(sentence);
    let rest = sentence[end..].trim_start();
    if rest.chars().filter(|c| c.is_alphanumeric()).count() < 4 { sentence } else { rest }
}

/// The clauses of a sentence that can hold by themselves: a later statement may replace one of them and not the others.
fn clauses(sentence: &str) -> Vec<&str> {
    const JOINTS: [&str; 12] = [
        ", and ",
        ", but ",
        "; ",
        "；",
        " and my ",
        " and the ",
        " and I ",
        " and never ",
        " and do not ",
        " and don't ",
        " and always ",
        "，但",
    ];
    let mut cuts: Vec<usize> = JOINTS
        .iter()
        .flat_map(|joint| {
            sentence.match_indices(joint).map(|(at, _)| {
                at + if joint.starts_with(' ') { 0 } else { joint.chars().next().map_or(0, char::len_utf8) }
            })
        })
        .collect();
    cuts.extend(between_rules(sentence));
    cuts.sort_unstable();
    cuts.dedup();
    let mut found = Vec::new();
    let mut start = 0;
    for cut in cuts {
        // A list is no row of clauses.
        if sentence[start..cut].split_whitespace().count() >= 3 && sentence[cut..].split_whitespace().count() >= 4
            || !sentence.is_ascii() && cut - start > 12
        {
            found.push(sentence[start..cut].trim());
            start = cut;
        }
    }
    found.push(sentence[start..].trim());
    found.retain(|clause| !clause.is_empty());
    found
}

/// The commas of a Chinese sentence between two clauses that rule each: others may join a condition to what it is for.
fn between_rules(sentence: &str) -> Vec<usize> {
    const COMMA: &str = "，";
    let commas: Vec<usize> = sentence.match_indices(COMMA).map(|(at, _)| at).collect();
    let ends = commas.iter().skip(1).copied().chain([sentence.len()]);
    let starts = [0].into_iter().chain(commas.iter().map(|comma| comma + COMMA.len()));
    let rules = |clause: &str| cues::RULES.is_in(clause);
    let sides = commas.iter().zip(starts.zip(ends));
    sides
        .filter(|(comma, (start, end))| {
            rules(&sentence[*start..**comma]) && rules(&sentence[**comma + COMMA.len()..*end])
        })
        .map(|(comma, _)| comma + COMMA.len())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_hold_by_themselves() {
        assert_eq!(
            clauses("My budget is $500, and I hate flying at night."),
            ["My budget is $500,", "and I hate flying at night."]
        );
        assert_eq!(clauses("预算是 500 元，截止日期是 12 月 3 日。"), ["预算是 500 元，", "截止日期是 12 月 3 日。"]);
        assert_eq!(clauses("如果太贵，不要买。"), ["如果太贵，不要买。"]);
        assert_eq!(clauses("Buy apples, pears, and plums."), ["Buy apples, pears, and plums."]);
    }

    /// What a person's message is taken apart into.
    fn told(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        by_user(&Turn::of(Speaker::User, 0, text), false, &mut found);
        found.into_iter().map(|found| format!("{:?} {}", found.entry.kind, found.entry.text)).collect()
    }

    #[test]
    fn a_rule_stands_with_what_it_is_about() {
        assert_eq!(
            told("The opening hours on the page are wrong. They should only say 9 to 18."),
            ["Rule The opening hours on the page are wrong. They should only say 9 to 18."]
        );
        assert_eq!(
            told(
                "Never touch the fixtures. They must stay as they are. It rained a lot here.\nTimeout: 30 s in all\nIt must work."
            ),
            [
                "Rule Never touch the fixtures.",
                "Rule Never touch the fixtures. They must stay as they are.",
                "Said It rained a lot here.",
                "Number Timeout: 30 s in all",
                "Rule It must work."
            ]
        );
    }

    #[test]
    fn a_rule_stands_with_its_list() {
        assert_eq!(
            told(
                "Do not change these files:\n- src/main.rs\n- all of the tests\n- Never touch main\nPlease look into it.\nDetails here:\n- one of them"
            ),
            [
                "Rule Do not change these files: src/main.rs, all of the tests",
                "Rule Never touch main",
                "Goal Please look into it.",
                "Said one of them"
            ]
        );
    }

    #[test]
    fn greetings_and_fillers_are_no_facts() {
        for text in ["Hey there.", "Can you help me with just my name?", "#Person1#: I know.", "Umm, well... okay!"] {
            assert!(told(text).is_empty(), "{text}");
        }
        for text in [
            "Can you help me with my booking?",
            "I know the number.",
            "So, 500 at most.",
            "#Person1#: Yes, at noon.",
            "Verbose: no, never",
        ] {
            assert_eq!(told(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn chatter_goes() {
        assert_eq!(without_chatter("Great, thanks! Can you book it?"), "Can you book it?");
        assert_eq!(without_chatter("Yes."), "Yes.");
    }
}
