//! Conversations of ShareGPT, as training programs read them.
//!
//! Turns have `from` and `value`, in a `conversations` list or bare. A call is JSON in the value of a `function_call`
//! turn, or text between `<tool_call>` marks in a turn of the model; its result is the next turn. Training programs
//! require that user and model alternate, the user first, and drop other conversations.

use serde_json::{Value, json};

use crate::format::{EnvelopeRule, Format, Hooks, InsertionPoint, MatchScore, NewResult, SummaryMessage, SummaryRole};
use crate::formats::shared::fields::{begins_with, check_object, name_inside, role_in};
use crate::json::{Json, Object};
use crate::message::{Arguments, Call, CallPlace, Content, Message, RareFields, ResultRef, Role};
use crate::order::{MessageOrder, OrderRule, ResultPlacement};
use crate::outputs::{CallOutput, OutputShape};
use crate::text::Text;
use crate::thin_list::ThinList;

const ROLES: [(&str, Role); 20] = [
    ("human", Role::User),
    ("gpt", Role::Assistant),
    ("user", Role::User),
    ("assistant", Role::Assistant),
    ("system", Role::System),
    (CALLS[0], Role::Assistant),
    (CALLS[1], Role::Assistant),
    ("observation", Role::Tool),
    ("tool", Role::Tool),
    ("function_response", Role::Tool),
    ("tool_response", Role::Tool),
    ("ipython", Role::Tool),
    ("model", Role::Assistant),
    ("chatgpt", Role::Assistant),
    ("chatbot", Role::Assistant),
    ("bot", Role::Assistant),
    ("bard", Role::Assistant),
    ("bing", Role::Assistant),
    ("claude", Role::Assistant),
    ("ai", Role::Assistant),
];

/// The speakers of turns that are nothing but a call.
const CALLS: [&str; 2] = ["function_call", "tool_call"];

/// The marks that begin a call in the text of a model's turn.
const MARKS: [&str; 3] = ["<tool_call>", "<functioncall>", "<function_call>"];

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "sharegpt",
    about: "ShareGPT conversations, with LLaMA-Factory's and Hermes' calls",
    envelope: &[EnvelopeRule::likely(&["conversations"])],
    order: OrderRule::Always(MessageOrder {
        user_first: true,
        alternates: true,
        ..MessageOrder::of(ResultPlacement::Next)
    }),
    hooks: Hooks { match_score, read, groups, result_output, write_summary, write_result, ..Hooks::NONE },
    ..Format::DEFAULT
};

fn match_score(message: &Object<'_>) -> MatchScore {
    match (role(message), message.get_text("value")) {
        (Some(_), Some(_)) => MatchScore::Own("from and value"),
        _ => MatchScore::Mismatch,
    }
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let json = message.json;
    check_object(json, "an object with from and value")?;
    let Some(from) = message.get_text("from") else { return Err("does not say whom it is from".to_owned()) };
    let role = role(message).unwrap_or(Role::Other);
    let value = message.get("value").and_then(|value| Some((value, value.text()?)));
    let (calls, text) = match value {
        Some((value, text)) if from.is_in(&CALLS) => (Some(call(json, value, text)), None),
        Some((value, text)) if role == Role::Assistant && MARKS.iter().any(|mark| value.raw().contains(mark)) => {
            (Some(Call { name: None, arguments: Arguments::Absent, ..call(json, value, text) }), Some(text))
        }
        value => (None, value.map(|(_, text)| text)),
    };
    Ok(Message {
        role,
        content: text.map_or_else(Content::empty, Content::Text),
        calls: calls.into_iter().collect(),
        results: if role == Role::Tool { ThinList::from([ResultRef::new(json, None)]) } else { ThinList::default() },
        rest: RareFields::of_role(if role == Role::Other { Some(from) } else { None }),
        ..Message::empty(json)
    })
}

fn groups(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    // The call of a result is in the previous turn, whatever its content.
    let mut groups = Vec::new();
    for (index, message) in messages.iter().enumerate().skip(1) {
        if message.role == Role::Tool {
            groups.push((index - 1, index));
        }
    }
    groups
}

fn result_output<'a>(message: &Message<'a>, _answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    CallOutput::of(message.json.get("value"), OutputShape::Blocks("text"))
}

fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let turns = &at.transcript.messages;
    let (role, usual) =
        if summary.role == SummaryRole::Assistant { (Role::Assistant, "gpt") } else { (Role::User, "human") };
    let speaker = turns.iter().find(|message| message.role == role && message.calls.is_empty());
    let from = speaker.and_then(|message| message.json.get_text("from"));
    let from = from.unwrap_or_else(|| Text::plain(usual));
    vec![if begins_with("value", at.neighbour()) {
        json!({"value": summary.text, "from": from.decode()})
    } else {
        json!({"from": from.decode(), "value": summary.text})
    }]
}

fn write_result(_call: &Call<'_>, _calling: &Message<'_>, text: &str) -> Option<NewResult> {
    Some(NewResult::Entry(json!({"from": "observation", "value": text})))
}

fn role(message: &Object<'_>) -> Option<Role> {
    role_in(&ROLES, message.get_text("from")?)
}

/// Reads the call in a value, or several calls with one result.
fn call<'a>(json: Json<'a>, value: Json<'a>, text: Text<'a>) -> Call<'a> {
    Call { json, id: None, name: name_inside(value), arguments: Arguments::Text(text), place: CallPlace::Content }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::read_for_test as read;

    #[test]
    fn calls_are_paired_with_the_turn_behind_them() {
        let turns = r#"[{"from":"human","value":"u"},
            {"from":"function_call","value":"{\"name\": \"f\", \"arguments\": {\"n\": 1.50}}"},
            {"from":"observation","value":"r"},{"from":"gpt","value":"a"},{"from":"human","value":"u"},
            {"from":"gpt","value":"<tool_call>\n{\"name\":\"g\"}\n</tool_call>"},{"from":"tool","value":"r"},
            {"from":"gpt","value":"a"}]"#;
        for (source, count) in [
            (turns.to_owned(), 1),
            (format!(r#"[{{"id":"x","conversations":{turns}}},{{"conversations":{turns}}}]"#), 2),
            (format!("{{\"conversations\":{turns},\"system\":\"s\"}}"), 1),
        ] {
            let document = read(&source, None, None).expect("a transcript");
            assert_eq!(document.transcripts.len(), count);
            for transcript in &document.transcripts {
                assert_eq!(transcript.format.name, "sharegpt");
                assert_eq!(transcript.pairing.pairs, [(1, 2), (5, 6)]);
                assert!(transcript.messages[1].calls[0].name.is_some_and(|name| name.is("f")));
                let turns = [0, 2].map(|index| transcript.messages[index].is_user_turn());
                assert_eq!(turns, [true, false]);
            }
        }
    }

    #[test]
    fn a_result_stays_with_the_turn_before_it_whatever_that_is() {
        let source = r#"[{"from":"gpt","value":"look up x"},{"from":"tool","value":"r"},{"from":"tool","value":"r"}]"#;
        assert_eq!(read(source, None, None).expect("a transcript").transcripts[0].groups, [(0, 1), (1, 2)]);
    }

    #[test]
    fn a_summary_is_from_whom_the_person_is_called() {
        let source = r#"[{"value":"u","from":"user"},{"value":"a","from":"assistant"}]"#;
        let document = read(source, None, None).expect("a transcript");
        let summary = SummaryMessage { text: "s", role: SummaryRole::User, name: None, marked: false };
        let place = InsertionPoint::new(&document.transcripts[0], 1);
        assert_eq!(FORMAT.write_summary(&summary, &place)[0].to_string(), r#"{"value":"s","from":"user"}"#);
    }

    #[test]
    fn calls_that_are_no_json_and_speakers_nobody_knows() {
        let broken = r#"[{"from":"function_call","value":"f(x)"},{"from":"observation","value":"r"}]"#;
        let document = read(broken, None, None).expect("a transcript");
        assert_eq!(document.transcripts[0].pairing.pairs, [(0, 1)]);
        assert!(read(r#"[{"from":"Berlin","value":"Rome"}]"#, None, None).is_err());
    }
}
