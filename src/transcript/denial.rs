//! The agent's own record that the user refused a call. It stands beside the text of a result: whoever wrote the text,
//! a page or a server, can write a sentence that reads like a refusal, and did not write the record.

use std::borrow::Cow;

use crate::transcript::json::Json;
use crate::transcript::text::Text;

/// A record that the user refused a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Denial<'a> {
    /// The text with what the user said.
    said: Option<Text<'a>>,
    /// What the agent's program writes before the user's words; without it no word of the text is the user's.
    frame: Option<&'static str>,
    /// The tools whose record it can be, where other tools can write it too.
    tools: Option<&'static [&'static str]>,
}

impl<'a> Denial<'a> {
    /// Creates one with the words of the user, if there are any.
    pub(crate) fn new(said: Option<Text<'a>>) -> Self {
        Denial { said, frame: None, tools: None }
    }

    /// The record with words that stand behind a frame.
    pub(crate) fn behind(self, frame: &'static str) -> Self {
        Denial { frame: Some(frame), ..self }
    }

    /// For a record that only calls of these tools make certain.
    pub(crate) fn of_tools(self, tools: &'static [&'static str]) -> Self {
        Denial { tools: Some(tools), ..self }
    }

    /// What the user said in refusing a call of a tool, which can be nothing; `None` if the tool could have written the
    /// record itself.
    pub(crate) fn words(&self, tool: &str) -> Option<Cow<'a, str>> {
        if self.tools.is_some_and(|tools| !tools.contains(&tool)) {
            return None;
        }
        let said = self.said.map_or(Cow::Borrowed(""), |said| said.decode());
        let Some(frame) = self.frame else { return Some(said) };
        Some(said.split_once(frame).map_or_else(String::new, |(_, words)| words.to_owned()).into())
    }

    /// The user's answer to a request for approval that is a part of a message of the AI SDK.
    pub(crate) fn in_part(part: Json<'a>) -> Option<Self> {
        part.get_text("type").filter(|kind| kind.is("tool-approval-response"))?;
        part.get("approved").filter(|approved| approved.raw() == "false")?;
        Some(Denial::new(part.get_text("reason")))
    }
}
