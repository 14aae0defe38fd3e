//! Tools that a result has loaded: tools whose definitions the model is only given once a search has found them. Without
//! that result, later calls of these tools are refused.

use memchr::memmem;

use crate::transcript::json::{Json, JsonKind};
use crate::transcript::text::Text;

/// The type of a block that names a loaded tool. In a text its quotes are escaped.
const REFERENCE: &str = "\"tool_reference\"";

/// Whether a value of a result names loaded tools.
pub(crate) fn loads_tools(value: Json<'_>) -> bool {
    memmem::find(value.raw().as_bytes(), REFERENCE.as_bytes()).is_some()
}

/// The names of the tools that a result has loaded.
pub(crate) fn loaded_tools<'a>(result: Json<'a>) -> Vec<Text<'a>> {
    let item = result.get("payload").unwrap_or(result);
    if item.get_text("type").is_some_and(|kind| kind.is("tool_search_output")) {
        let tools = item.get("tools").into_iter().flat_map(|tools| tools.items());
        return tools.filter_map(|tool| tool.get_text("name")).collect();
    }
    if !loads_tools(result) {
        return Vec::new();
    }
    let mut names = Vec::new();
    let mut left = vec![result];
    while let Some(value) = left.pop() {
        let first = left.len();
        match value.kind() {
            JsonKind::Array => left.extend(value.items()),
            JsonKind::Object if value.get_text("type").is_some_and(|kind| kind.is("tool_reference")) => {
                names.extend(value.get_text("tool_name"));
            }
            JsonKind::Object => left.extend(value.entries().map(|(_, inner)| inner)),
            _ => {}
        }
        left[first..].reverse();
    }
    names
}
