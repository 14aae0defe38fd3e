//! Calls that a model writes into its text, as agents without native calls let it: as tags, as JSON, as lines, as a block
//! of code. What a text holds is only a call if a reply to it follows, or if it ends with it.

use serde_json::{Map, Value, json};

/// A call in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextCall {
    pub(crate) name: String,
    /// The arguments: an object, or a text.
    pub(crate) arguments: String,
}

/// What the calls of many protocols begin with.
const MARKS: &str = "<tool_call;<tool_use;<tool>;<tool_name>;<tool_code>;<|tool_call;<｜tool▁call;<function_call;<function=;<function>;<invoke;<execute>;<execute_;<|python_tag|>;<|action_start|>;<|start_action|>;<action>;<｜dsml｜;[tool_calls];[tool_call;✿function✿;```tool_c;```action;\"action_input\";action input:;calling tools:;to=functions.";
/// The keys of a call that is JSON.
const NAMES: [&str; 6] = ["name", "tool", "tool_name", "action", "function", "command"];
const ARGUMENTS: [&str; 7] = ["arguments", "parameters", "args", "action_input", "tool_input", "input", "kwargs"];

/// Most tags and values of a text that are looked at.
const MOST: usize = 32;

/// Whether a text has the marks of a call.
pub(crate) fn has_call(text: &str) -> bool {
    let lower = text.to_lowercase();
    MARKS.split(';').any(|mark| lower.contains(mark)) || action_line(text).is_some() || json_call(text).is_some()
}

/// The first call in a text with the marks of one, as far as it can be read.
pub(crate) fn parse(text: &str) -> TextCall {
    tagged(text)
        .or_else(|| json_call(text))
        .or_else(|| action_line(text))
        .or_else(|| first_block(text).map(|block| block.call()))
        .unwrap_or_else(|| TextCall { name: "call".to_owned(), arguments: String::new() })
}

/// The call in the tag of this name, whose tags are its arguments.
pub(crate) fn named(text: &str, name: &str) -> TextCall {
    let inside = elements(text).find(|element| element.name == name).map_or("", |element| element.inside);
    TextCall { name: name.to_owned(), arguments: arguments(inside) }
}

/// A fenced block of a text.
pub(crate) struct Block<'t> {
    language: &'t str,
    code: &'t str,
}

impl Block<'_> {
    pub(crate) fn call(&self) -> TextCall {
        let language = if self.language.is_empty() { "code" } else { self.language };
        if SHELLS.contains(&language) {
            return TextCall { name: "bash".to_owned(), arguments: self.code.trim().to_owned() };
        }
        TextCall { name: language.to_owned(), arguments: json!({"code": self.code.trim()}).to_string() }
    }
}

const SHELLS: [&str; 4] = ["bash", "sh", "shell", "mswea_bash_command"];

/// The first block of code in a text: in a fence, or in the tag of some agents.
pub(crate) fn first_block(text: &str) -> Option<Block<'_>> {
    let Some((_, rest)) = text.split_once("```") else {
        let code = elements(text).find(|element| element.name == "code")?.inside;
        return Some(Block { language: "python", code });
    };
    let (block, _) = rest.split_once("```").unwrap_or((rest, ""));
    let (language, code) = block.split_once('\n').unwrap_or(("", block));
    Some(Block { language: language.trim(), code })
}

/// The command of an agent without tools: the only fenced block of its message. A block without a language is a command
/// if an output follows.
pub(crate) fn shell_block(text: &str, is_next_output: impl Fn() -> bool) -> Option<&str> {
    let (_, rest) = Some(text).filter(|text| text.contains('`'))?.split_once("```")?;
    let (block, after) = rest.split_once("```")?;
    let (language, command) = block.split_once('\n')?;
    let shell = SHELLS.contains(&language.trim());
    let shell = shell || language.trim().is_empty() && is_next_output();
    (shell && !after.contains("```")).then(|| command.trim())
}

/// A tag with its content: `<name=label>inside</name>`.
struct Element<'t> {
    name: &'t str,
    label: &'t str,
    inside: &'t str,
}

/// The first tags of a text, each with its content. A tag that is not closed goes up to the end.
fn elements(text: &str) -> impl Iterator<Item = Element<'_>> {
    /// Bytes of a label.
    const LONGEST: usize = 200;
    let mut rest = text;
    let next = move || {
        loop {
            let (_, tag) = rest.split_once('<')?;
            rest = tag;
            let end = tag.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(tag.len());
            let (name, behind) = tag.split_at(end);
            let near = &behind[..behind.floor_char_boundary(LONGEST)];
            let Some((label, _)) = near.split_once('>').filter(|_| !name.is_empty()) else { continue };
            let inside = &behind[label.len() + 1..];
            let label = label.trim().trim_start_matches('=').trim_start_matches("name=").trim_matches('"');
            let close = inside.find(&format!("</{name}>"));
            return Some(Element { name, label, inside: &inside[..close.unwrap_or(inside.len())] });
        }
    };
    std::iter::from_fn(next).take(MOST)
}

/// The first call that is a tag.
fn tagged(text: &str) -> Option<TextCall> {
    let mut outer: Option<TextCall> = None;
    for Element { name, label, inside } in elements(text) {
        let call = |name: &str, arguments: String| Some(TextCall { name: name.trim().to_owned(), arguments });
        match name {
            "function" | "invoke" | "tool_call" if !label.is_empty() => return call(label, arguments(inside)),
            "tool_call" | "function_call" | "tool_use" => match json_call(inside) {
                Some(call) => return Some(call),
                None if !inside.trim_start().starts_with('<') => {
                    let (name, rest) = inside.trim().split_once('\n').unwrap_or((inside.trim(), ""));
                    outer = outer.or_else(|| call(name, rest.trim().to_owned()));
                }
                None => {}
            },
            "tool" | "tool_name" | "action" => outer = outer.or_else(|| call(inside, String::new())),
            "tool_input" | "arguments" | "parameters" | "input" => {
                return outer.map(|call| TextCall { arguments: inside.trim().to_owned(), ..call });
            }
            "execute" | "execute_bash" => return call("bash", json!({"command": inside.trim()}).to_string()),
            _ if name.starts_with("execute_") => return call(name, json!({"code": inside.trim()}).to_string()),
            _ => {}
        }
    }
    outer.filter(|call| call.name.len() < 200)
}

/// The arguments that are the tags in a text, or the JSON or the text that stands in their place.
fn arguments(inside: &str) -> String {
    let mut members = Map::new();
    let mut covered = 0;
    let start = inside.as_ptr() as usize;
    for Element { name, label, inside: value } in elements(inside) {
        // A tag inside of a value is a part of it.
        let at = value.as_ptr() as usize - start;
        if at >= covered {
            covered = at + value.len();
            let key = if label.is_empty() { name } else { label };
            members.insert(key.to_owned(), Value::from(value.trim_matches('\n')));
        }
    }
    if members.is_empty() { inside.trim().to_owned() } else { Value::Object(members).to_string() }
}

/// The first call that is a JSON object.
fn json_call(text: &str) -> Option<TextCall> {
    const LARGEST: usize = 400_000;
    let text = &text[..text.floor_char_boundary(LARGEST)];
    let mut rest = text;
    for _ in 0..MOST.min(4) {
        let at = rest.find('{')?;
        rest = &rest[at..];
        let value = serde_json::Deserializer::from_str(rest).into_iter::<Value>().next();
        if let Some(Ok(value)) = value {
            let inside = || value.as_object().into_iter().flat_map(Map::values).find_map(call_in);
            return call_in(&value).or_else(inside);
        }
        rest = &rest[1..];
    }
    None
}

fn call_in(value: &Value) -> Option<TextCall> {
    let inner = value.get("function").filter(|function| function.is_object()).unwrap_or(value);
    let name = NAMES.iter().find_map(|key| inner.get(key)?.as_str())?;
    let arguments = ARGUMENTS.iter().find_map(|key| inner.get(key))?;
    let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
    Some(TextCall { name: name.to_owned(), arguments })
}

/// The last call that is a line: `Action: name` with `Action Input: …`, or `Action 1: name[…]`.
fn action_line(text: &str) -> Option<TextCall> {
    let at = text.rfind("Action:").or_else(|| text.rfind("Action "))?;
    let line = text[at..].lines().next()?;
    let is_alone = text[..at].rsplit('\n').next().is_none_or(|before| before.trim_matches(['*', '#', ' ']).is_empty());
    let (label, name) = line.split_once(':')?;
    let number = label.strip_prefix("Action")?.trim_matches(['*', ' ']);
    if !is_alone || !number.bytes().all(|byte| byte.is_ascii_digit()) || name.trim().is_empty() {
        return None;
    }
    let name = name.trim().trim_matches(['*', '`', ' ']);
    if let Some((name, argument)) = name.split_once(['[', '(']).filter(|_| name.ends_with([']', ')'])) {
        let argument = &argument[..argument.len() - 1];
        return Some(TextCall { name: name.trim().to_owned(), arguments: argument.to_owned() });
    }
    let input = text[at..].split_once("Input:").map_or("", |(_, input)| input);
    let input = input.split("\nObservation").next().unwrap_or("").trim();
    Some(TextCall { name: name.to_owned(), arguments: input.to_owned() })
}
