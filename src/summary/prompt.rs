//! The text a summarizer is sent: a template, and the history in the place of `{messages}`.

use std::borrow::Cow;

use crate::tokens::python;
use crate::transcript::compaction::Compaction;
use crate::transcript::json::Json;
use crate::transcript::text::Text;
use crate::transcript::{Arguments, Content, Message, PartKind, Role};

use crate::summary::buffer::escaped;
use crate::summary::fence::opened;
use crate::summary::inline_data::without_data;
use crate::summary::python_format;
use crate::summary::recipe::Fill;
use crate::summary::record::without;

/// English has about three words for four tokens.
const WORDS_PER_TOKEN: f64 = 0.75;

/// The prompts that come with tcompact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltIn {
    /// Its own: notes under four headings.
    Own,
    /// The same in Chinese.
    Chinese,
    /// A few sentences, to follow a system message.
    Brief,
    /// The four headings in few words, for a model that reads little at once: such a model is small as well, and repeats
    /// long instructions instead of following them.
    Small,
}

impl BuiltIn {
    /// The text, which asks for notes of at most so many tokens.
    fn text(self, summary_tokens: u64) -> String {
        let text = match self {
            BuiltIn::Own => include_str!("prompt.txt"),
            BuiltIn::Chinese => include_str!("prompt_zh.txt"),
            BuiltIn::Brief => include_str!("prompt_brief.txt"),
            BuiltIn::Small => include_str!("prompt_small.txt"),
        };
        text.trim_end().replace("{{WORDS}}", &words(summary_tokens).to_string())
    }
}

/// About how many words have so many tokens.
pub(super) fn words(tokens: u64) -> u64 {
    ((tokens as f64 * WORDS_PER_TOKEN) as u64).max(1)
}

/// A prompt with a place for the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Template {
    /// One place, with what stands before and after it.
    Parts(String, String),
    /// A format string of Python, which may have any number of places; what stands behind it is cut off if so wanted.
    Python {
        /// The format string.
        text: String,
        /// Whether white space at the end of the whole is left out.
        stripped: bool,
    },
}

impl Template {
    /// The template that asks for notes of at most so many tokens.
    pub fn built_in(which: BuiltIn, summary_tokens: u64) -> Self {
        let text = which.text(summary_tokens);
        let (before, after) = text.split_once("{messages}").unwrap_or((&text, ""));
        Template::Parts(before.to_owned(), after.to_owned())
    }

    /// Reads a template. tcompact's own kind has one `{messages}`, and `{{` and `}}` for braces; Python's is only looked
    /// at when it is filled.
    ///
    /// # Errors
    /// What is wrong, to follow the name of the file: no place or several, another field, a brace that stands alone.
    pub fn parse(text: &str, fill: Fill) -> Result<Self, String> {
        match fill {
            Fill::Own => Template::own(text),
            Fill::Python => Ok(Template::Python { text: text.to_owned(), stripped: false }),
            Fill::PythonStripped => Ok(Template::Python { text: text.to_owned(), stripped: true }),
        }
    }

    fn own(text: &str) -> Result<Self, String> {
        let mut parts = vec![String::new()];
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (plain, brace) = rest.split_at(at);
            let last = parts.len() - 1;
            parts[last].push_str(plain);
            if let Some(after) = brace.strip_prefix("{{").or_else(|| brace.strip_prefix("}}")) {
                parts[last].push_str(&brace[..1]);
                rest = after;
            } else if let Some(after) = brace.strip_prefix("{messages}") {
                parts.push(String::new());
                rest = after;
            } else {
                let shown: String = brace.chars().take(20).take_while(|c| *c != '\n').collect();
                return Err(format!(
                    "has `{shown}`, which is no field: {{messages}} is the only one, and a brace of the text is written twice"
                ));
            }
        }
        let last = parts.len() - 1;
        parts[last].push_str(rest);
        match <[String; 2]>::try_from(parts) {
            Ok([before, after]) => Ok(Template::Parts(before, after)),
            Err(parts) if parts.len() < 2 => Err("has no {messages}, which is where the history goes".to_owned()),
            Err(_) => Err("has {messages} more than once".to_owned()),
        }
    }

    /// Whether the history has no place in it, which is no error in Python.
    pub fn has_no_place(&self) -> bool {
        matches!((self.fill("a"), self.fill("b")), (Ok(one), Ok(other)) if one == other)
    }

    /// The lines around the history.
    pub fn instructions(&self) -> impl Iterator<Item = &str> {
        let (before, after) = match self {
            Template::Parts(before, after) => (before, Some(after)),
            Template::Python { text, .. } => (text, None),
        };
        before.lines().chain(after.into_iter().flat_map(|after| after.lines()))
    }

    /// The prompt for a history.
    ///
    /// # Errors
    /// What Python says of a format string that it refuses.
    pub fn fill(&self, history: &str) -> Result<String, String> {
        match self {
            Template::Parts(before, after) => Ok([before, history, after].concat()),
            Template::Python { text, stripped } => {
                let filled = python_format::format(text, history)?;
                Ok(if *stripped { python::rstrip(&filled).to_owned() } else { filled })
            }
        }
    }
}

/// Messages as a summarizer reads them: one element each, with what could end an element early escaped.
pub fn history<'m, 'a: 'm>(messages: impl IntoIterator<Item = &'m Message<'a>>) -> String {
    history_of_at_most(messages, usize::MAX)
}

/// The same, with texts of more than `longest` characters without their middle.
pub(super) fn history_of_at_most<'m, 'a: 'm>(
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
pub fn earlier_notes(notes: &str) -> String {
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
pub fn end_of(message: &Message<'_>, end: impl Fn(&str) -> String) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::framing::tests::read;

    #[test]
    fn templates() {
        let template = Template::parse("a {{x}} {messages} }}", Fill::Own).expect("a template");
        assert_eq!(template.fill("{H}").as_deref(), Ok("a {x} {H} }"));
        let refused = |text: &str| Template::parse(text, Fill::Own).expect_err(text);
        assert!(refused("nothing").contains("has no {messages}"));
        assert!(refused("{messages}{messages}").contains("more than once"));
        assert!(refused("{messages} {other}").contains("`{other}`"));
        assert!(refused("{messages} }").contains("`}`"));
    }

    #[test]
    fn every_built_in_template_has_a_place_and_a_length() {
        for built_in in [BuiltIn::Own, BuiltIn::Chinese, BuiltIn::Brief, BuiltIn::Small] {
            let prompt = Template::built_in(built_in, 1024).fill("HISTORY").expect("filled");
            assert!(prompt.contains("\nHISTORY"), "{prompt}");
            assert!(prompt.contains(" 768 "), "{prompt}");
            assert!(!prompt.contains('{'), "{prompt}");
        }
    }

    fn rendered(source: &str) -> String {
        history(&read(source, None, None).expect("a transcript").transcripts[0].messages)
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
            history(&document.transcripts[0].messages),
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
