//! Results of tools that the provider runs itself. The call and the result are one item, or parts of one message, so no
//! client answers them. Providers take them back only in their own form: ids, types, statuses and encrypted contents
//! stay, and only texts in it can be written (see [`provider_texts`](crate::transcript::provider_texts)).

use std::borrow::Cow;
use std::collections::HashMap;

use crate::transcript::json::Json;
use crate::transcript::media::{self, MediaKind};
use crate::transcript::outputs::{CallOutput, OutputShape};
use crate::transcript::provider_texts::{GENERATED, is_generated_picture};
use crate::transcript::text::Text;

/// A result that the provider wrote itself.
#[derive(Debug, Clone)]
pub(crate) struct HostedResult<'a> {
    /// The tool's name, where it is known.
    pub(crate) name: Option<Text<'a>>,
    pub(crate) output: CallOutput<'a>,
}

/// The members that hold the result in an item or a block of the provider.
const HOLDERS: [&str; 6] = ["output", "outputs", "results", "result", "content", "error"];
/// How the types of such items and blocks end.
const ENDINGS: [&str; 2] = ["_call", "_tool_result"];
/// The results among items or blocks, which stand in one message.
pub(crate) fn results<'a>(blocks: impl Iterator<Item = Json<'a>>) -> Vec<HostedResult<'a>> {
    let mut called: HashMap<Cow<'a, str>, Text<'a>> = HashMap::new();
    let mut found = Vec::new();
    for block in blocks {
        if let (Some(id), Some(name)) = (block.get_text("id"), block.get_text("name")) {
            called.insert(id.decode(), name);
        }
        let id = ["tool_use_id", "tool_call_id"].iter().find_map(|key| block.get_text(key));
        let name = id.and_then(|id| called.get(&id.decode()).copied());
        found.extend(result(block).map(|result| HostedResult { name: name.or(result.name), ..result }));
    }
    found
}

pub(crate) fn result(block: Json<'_>) -> Option<HostedResult<'_>> {
    let kind = block.get("type")?.raw().trim_matches('"');
    let ending = ENDINGS.iter().find(|ending| kind.ends_with(**ending))?;
    let sources = || block.at(&["action", "sources"]);
    let value = HOLDERS.iter().filter_map(|key| block.get(key)).find(|value| !value.is_falsy()).or_else(sources);
    let output = match kind {
        GENERATED => CallOutput::of(value.map(|_| block), OutputShape::Texts)?,
        "mcp_tool_result" => CallOutput::in_content(block, "text")?,
        _ => CallOutput::of(value, OutputShape::Texts)?,
    };
    let status = block.get_text("status").is_some_and(|status| ["failed", "error"].iter().any(|name| status.is(name)));
    let has_failed = status || block.get("error").is_some_and(|error| !error.is_falsy());
    let name = block.get_text("name").or_else(|| Some(Text::plain(kind.strip_suffix(ending)?)));
    Some(HostedResult { name, output: output.with_failure(has_failed) })
}

/// The media in the output of a provider's tool.
pub(crate) fn media(output: Json<'_>) -> Vec<(Json<'_>, MediaKind)> {
    if is_generated_picture(output) { vec![(output, MediaKind::Picture)] } else { media::find(output) }
}
