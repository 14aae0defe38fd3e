//! The history as tcompact writes it down for a summarizer.

use std::borrow::Cow;

use crate::transcript::compaction::Compaction;
use crate::transcript::json::Json;
use crate::transcript::text::Text;
use crate::transcript::{Arguments, Content, Message, PartKind, Role};

use crate::summary::fence::opened;
use crate::summary::inline_data::without_data;
use crate::summary::record::without;

/// Messages as a summarizer reads them: one element each, with what could end an element early escaped.
pub(crate) fn write<'m, 'a: 'm>(messages: impl IntoIterator<Item = &'m Message<'a>>) -> String {
    write_shortened(messages, usize::MAX)
}

/// The same, with texts of more than `longest` characters without their middle.
pub(super) fn write_shortened<'m, 'a: 'm>(
    messages: impl IntoIterator<Item = &'m Message<'a>>,
    longest: usize,
) -> String {
    let mut out = HistoryWriter { out: String::new(), longest };
    for message in messages {
        if !out.out.is_empty() {
            out.out.push('\n');
        }
        out.element(message);
    }
    out.out
}

/// Notes on what came before, as a summarizer reads them.
pub(crate) fn write_notes(notes: &str) -> String {
    let mut out = HistoryWriter { out: String::new(), longest: usize::MAX };
    out.notes(&Content::Text(Text::plain(notes)));
    out.out
}

/// The beginning and the end of a text that has more than `longest` characters, and how many are left out between them.
pub(super) fn without_middle(text: &str, longest: usize) -> Cow<'_, str> {
    let count = if text.len() <= longest { 0 } else { text.chars().count() };
    if count <= longest {
        return Cow::Borrowed(text);
    }
    let at = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let (head, tail) = (longest.div_ceil(2), longest / 2);
    Cow::Owned(format!("{}[… {} characters …]{}", &text[..at(head)], count - longest, &text[at(count - tail)..]))
}

/// One message of which only the end is shown: what it says and calls, cut by `end`.
pub(crate) fn write_end(message: &Message<'_>, end: impl Fn(&str) -> String) -> String {
    let said = message.content.texts().into_iter().map(|text| text.decode().into_owned());
    let called = message.calls.iter().map(|call| {
        let name = call.name.map_or(Cow::Borrowed(""), |name| name.decode());
        format!("{name} {}", spelled(&call.arguments))
    });
    let text = said.chain(called).collect::<Vec<_>>().join("\n");
    let text = escaped(&end(&without_data(&text)));
    let from_outside = matches!(message.role, Role::Tool | Role::Function);
    let text = if from_outside { format!("{RESULT}>\n{text}\n</tool_result>") } else { text };
    format!("<message role=\"{}\">\n{text}\n</message>", message.role.openai_name())
}

/// Characters that are shown of a part that no reader knows.
const LONGEST_JSON: usize = 2_000;

/// How what a tool gave back begins.
const RESULT: &str = "<tool_result trusted=\"no\"";

/// A history as it is written down.
struct HistoryWriter {
    out: String,
    /// Characters of a text that are shown.
    longest: usize,
}

impl HistoryWriter {
    fn element(&mut self, message: &Message<'_>) {
        if message.earlier {
            return self.notes(&message.content);
        }
        let role = message.role.openai_name();
        self.out.push_str(&format!("<message role=\"{role}\""));
        if let Some(name) = message.rest().name {
            self.attribute("name", name);
        }
        self.out.push_str(">\n");
        if matches!(message.role, Role::Tool | Role::Function) {
            self.result(message.answers.first().and_then(|answer| answer.id), &message.content);
        } else {
            self.content(&message.content);
        }
        for call in &message.calls {
            self.out.push_str("<tool_call");
            call.id.into_iter().for_each(|id| self.attribute("id", id));
            call.name.into_iter().for_each(|name| self.attribute("name", name));
            self.out.push('>');
            let arguments = spelled(&call.arguments);
            self.text(&arguments);
            self.out.push_str("</tool_call>\n");
        }
        self.out.push_str("</message>");
    }

    fn notes(&mut self, content: &Content<'_>) {
        self.out.push_str("<earlier_notes>\n");
        let texts = content.texts().into_iter().map(|text| text.decode()).collect::<Vec<_>>().join("\n");
        // The ledger is carried on by code; a model would only wear it down.
        self.line(without(opened(&texts)).trim_end());
        self.out.push_str("</earlier_notes>");
    }

    /// What a tool gave back: from outside, and marked so, since it may hold words that pass for instructions.
    fn result(&mut self, call: Option<Text<'_>>, content: &Content<'_>) {
        self.out.push_str(RESULT);
        call.into_iter().for_each(|id| self.attribute("call", id));
        self.out.push_str(">\n");
        self.content(content);
        self.out.push_str("</tool_result>\n");
    }

    fn content(&mut self, content: &Content<'_>) {
        match content {
            Content::Text(text) => self.line(&text.decode()),
            Content::Parts(parts) => {
                for part in parts {
                    match &part.kind {
                        PartKind::Text(text) | PartKind::Reasoning(text) | PartKind::Refusal(text) => {
                            self.line(&text.decode());
                        }
                        PartKind::Foreign(json) => self.line(&without_middle(&json.decode(), LONGEST_JSON)),
                        PartKind::Result(inner) => self.result(part.json.get_text("tool_use_id"), inner),
                        PartKind::Compaction(Compaction::Readable(text)) => {
                            self.notes(&Content::Text(*text));
                            self.out.push('\n');
                        }
                        // Calls are written with the message's own.
                        PartKind::Call => {}
                        PartKind::Image | PartKind::Media | PartKind::Compaction(_) | PartKind::Other => {
                            self.placeholder(part.json);
                        }
                    }
                }
            }
        }
    }

    /// What stands for a part that is no text: its type and size, never its bytes.
    fn placeholder(&mut self, part: Json<'_>) {
        let kind = part.get_text("type").map_or(Cow::Borrowed("data"), |kind| kind.decode());
        self.line(&format!("[{kind}, {} bytes]", part.raw().len()));
    }

    fn line(&mut self, text: &str) {
        if !text.is_empty() {
            self.text(text);
            self.out.push('\n');
        }
    }

    fn text(&mut self, text: &str) {
        self.out.push_str(&escaped(&without_middle(&without_data(text), self.longest)));
    }

    fn attribute(&mut self, name: &str, value: Text<'_>) {
        let value = escaped(&value.decode()).replace('"', "&quot;").replace(['\n', '\r'], " ");
        self.out.push_str(&format!(" {name}=\"{value}\""));
    }
}

fn spelled<'a>(arguments: &Arguments<'a>) -> Cow<'a, str> {
    match arguments {
        Arguments::Text(text) => text.decode(),
        Arguments::Value(value) => Cow::Borrowed(value.raw()),
        Arguments::Absent => Cow::Borrowed(""),
    }
}

/// Text that cannot end an element.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('>', "&gt;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::framing::tests::read;

    fn rendered(source: &str) -> String {
        write(&read(source, None, None).expect("a transcript").transcripts[0].messages)
    }

    #[test]
    fn messages_cannot_leave_their_element() {
        assert_eq!(
            rendered(r#"[{"role":"user","content":"</message> & <b>"},{"role":"user","content":null}]"#),
            "<message role=\"user\">\n&lt;/message&gt; &amp; &lt;b&gt;\n</message>\n<message role=\"user\">\n</message>"
        );
    }

    #[test]
    fn calls_and_results_are_shown_in_every_format() {
        let openai = rendered(
            r#"[{"role":"assistant","content":"c","tool_calls":[{"id":"x","function":{"name":"f","arguments":"{\"a\":1}"}}]},
                {"role":"tool","tool_call_id":"x","content":"r"}]"#,
        );
        let expected =
            "<message role=\"assistant\">\nc\n<tool_call id=\"x\" name=\"f\">{\"a\":1}</tool_call>\n</message>\n";
        assert!(openai.starts_with(expected), "{openai}");
        assert!(openai.ends_with("<tool_result trusted=\"no\" call=\"x\">\nr\n</tool_result>\n</message>"), "{openai}");
        let anthropic = rendered(
            r#"[{"role":"assistant","content":[{"type":"text","text":"c"},{"type":"tool_use","id":"x","name":"f","input":{"a":1}}]},
                {"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","text":"r"}]},{"type":"text","text":"u"}]}]"#,
        );
        assert!(anthropic.starts_with(expected), "{anthropic}");
        assert!(
            anthropic.ends_with("<tool_result trusted=\"no\" call=\"x\">\nr\n</tool_result>\nu\n</message>"),
            "{anthropic}"
        );
    }

    #[test]
    fn an_earlier_summary_is_not_shown_as_talk() {
        let source = r#"[{"role":"user","content":"s </earlier_notes>"}]"#;
        let mut document = read(source, None, None).expect("a transcript");
        document.transcripts[0].messages[0].earlier = true;
        assert_eq!(
            write(&document.transcripts[0].messages),
            "<earlier_notes>\ns &lt;/earlier_notes&gt;\n</earlier_notes>"
        );
    }

    #[test]
    fn media_are_named_and_not_sent() {
        let data = "A".repeat(5_000);
        let shown = rendered(&format!(
            r#"[{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{data}"}}}}]}}]"#
        ));
        assert!(shown.contains("[image_url, 5"), "{shown}");
        assert!(shown.len() < 100);
    }
}
