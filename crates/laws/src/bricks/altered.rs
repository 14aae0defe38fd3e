//! Variants of the fixtures' pieces with other content.

use serde_json::Value;

use super::{Bricks, Ids, number};

impl Bricks {
    /// Replaces the text of results by this text, as JSON.
    pub(crate) fn with_results(mut self, text: &str) -> Self {
        let text = Value::from(text).to_string();
        self.result = self.result.map(|result| {
            if result.contains("\"r\":1.50") { result.replace("1.50", &text) } else { result.replace("\"r\"", &text) }
        });
        self
    }

    /// Conversations in which the user, the model, a result or a call has these words: in the member that the reader
    /// reads, and with each member around them renamed.
    pub(crate) fn displaced(&self, words: &str) -> Vec<String> {
        let quoted = Value::from(words).to_string();
        let with = |element: &Option<String>, places: [(&str, String); 5]| {
            let element = element.as_ref()?;
            let (place, by) = places.iter().find(|(place, _)| element.contains(place)).expect("a place for the words");
            Some(element.replace(place, by))
        };
        let member = |name: &str| format!("\"{name}\":{quoted}");
        let none = || ("\u{0}", String::new());
        let [first, third] = ["what is asked", "what is answered"].map(|text| Bricks::with_text(&self.user, text).0);
        let ids = ["c0".to_owned()];
        let texts = |messages: Vec<(String, Ids)>| messages.into_iter().map(|(text, _)| text);
        let (call, result) = (self.calls(&ids), self.results(&ids));
        let arguments = [
            ("\"{}\"", quoted.clone()),
            ("{}", format!("{{{}}}", member("q"))),
            ("\"n\":1.50", member("n")),
            ("1,2.0", quoted.clone()),
            ("\"c\"", quoted.clone()),
        ];
        let output = [("\"r\":1.50", member("r")), ("\"r\"", quoted.clone()), none(), none(), none()];
        let with_call = Bricks { call: with(&self.call, arguments), ..self.clone() }.calls(&ids);
        let with_result = Bricks { result: with(&self.result, output), ..self.clone() }.results(&ids);
        let conversations = [
            vec![first.clone(), Bricks::with_text(&self.user, words).0, third.clone()],
            vec![first.clone(), Bricks::with_text(&self.assistant, words).0, third.clone()],
            [first.clone()].into_iter().chain(texts(with_call)).chain(texts(result)).chain([third.clone()]).collect(),
            [first].into_iter().chain(texts(call)).chain(texts(with_result)).chain([third]).collect(),
        ];
        let [before, between, behind] = &self.around[0];
        let file = |messages: &[String]| format!("{before}{}{behind}", messages.join(between));
        let mut out = Vec::new();
        for mut messages in conversations {
            number(messages.iter_mut());
            let Some(index) = messages.iter().position(|message| message.contains(words)) else { continue };
            out.push(file(&messages));
            let message = serde_json::from_str(&messages[index]).expect("a message");
            out.extend(renamed(&message, words).into_iter().map(|other| {
                let mut messages = messages.clone();
                messages[index] = other.to_string();
                file(&messages)
            }));
        }
        out
    }
}

/// A message with each of the members around these words renamed, one at a time. The member of a session line around
/// its message keeps its name: without it the line is not part of the conversation.
fn renamed(value: &Value, words: &str) -> Vec<Value> {
    match value {
        Value::Array(items) => {
            let around = items.iter().position(|item| item.to_string().contains(words)).expect("the words");
            let with = |item| {
                let mut items = items.clone();
                items[around] = item;
                Value::Array(items)
            };
            renamed(&items[around], words).into_iter().map(with).collect()
        }
        Value::Object(members) => {
            let (key, inner) = members.iter().find(|(_, value)| value.to_string().contains(words)).expect("the words");
            let with = |(name, value): (&str, Value)| {
                let others = members.iter().filter(|(other, _)| *other != key);
                let others = others.map(|(key, value)| (key.clone(), value.clone()));
                Value::Object(others.chain([(name.to_owned(), value)]).collect())
            };
            let here = Some(("hologram", inner.clone())).filter(|_| !["message", "payload"].contains(&key.as_str()));
            let inside = renamed(inner, words).into_iter().map(|value| (key.as_str(), value));
            here.into_iter().chain(inside).map(with).collect()
        }
        _ => Vec::new(),
    }
}
