//! Calls that a model writes into its text, as agents without native calls let it: as tags, as JSON, as lines, as a block
//! of code. What a text holds is only a call if a reply to it follows, or if it ends with it.
//!
//! Also: results in the user's place: the replies to agents without native calls, which write their calls into their texts.
//!
//! Two signs tell a reply: the call in the message of the assistant before it, and the form of the reply. One alone does
//! not: people paste what looks like a reply, and models explain what looks like a call.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::pattern::pattern;
use crate::text::Text;

/// A call in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextCall {
    pub name: String,
    /// The arguments: an object, or a text.
    pub arguments: String,
}

/// What the calls of many protocols begin with.
const MARKS: &str = "<tool_call;<tool_use;<tool>;<tool_name>;<tool_code>;<|tool_call;<｜tool▁call;<function_call;<function=;<function>;<invoke;<execute>;<execute_;<|python_tag|>;<|action_start|>;<|start_action|>;<action>;<｜dsml｜;[tool_calls];[tool_call;✿function✿;```tool_c;```action;\"action_input\";action input:;calling tools:;to=functions.";
/// The keys of a call that is JSON.
const NAMES: [&str; 6] = ["name", "tool", "tool_name", "action", "function", "command"];
const ARGUMENTS: [&str; 7] = ["arguments", "parameters", "args", "action_input", "tool_input", "input", "kwargs"];

/// Most tags and values of a text that are looked at.
const MOST: usize = 32;

/// Whether a text has the marks of a call.
pub fn has_call(text: &str) -> bool {
    let lower = text.to_lowercase();
    MARKS.split(';').any(|mark| lower.contains(mark)) || action_line(text).is_some() || json_call(text).is_some()
}

/// The first call in a text with the marks of one, as far as it can be read.
pub fn parse(text: &str) -> TextCall {
    tagged(text)
        .or_else(|| json_call(text))
        .or_else(|| action_line(text))
        .or_else(|| first_block(text).map(|block| block.call()))
        .unwrap_or_else(|| TextCall { name: "call".to_owned(), arguments: String::new() })
}

/// The call in the tag of this name, whose tags are its arguments.
pub fn named(text: &str, name: &str) -> TextCall {
    let inside = match elements(text).find(|element| element.name == name) {
        Some(element) => element.inside,
        None => "",
    };
    TextCall { name: name.to_owned(), arguments: arguments(inside) }
}

/// A fenced block of a text.
pub struct Block<'t> {
    language: &'t str,
    code: &'t str,
}

impl Block<'_> {
    pub fn call(&self) -> TextCall {
        let language = if self.language.is_empty() { "code" } else { self.language };
        if SHELLS.contains(&language) {
            return TextCall { name: "bash".to_owned(), arguments: self.code.trim().to_owned() };
        }
        TextCall { name: language.to_owned(), arguments: json!({"code": self.code.trim()}).to_string() }
    }
}

const SHELLS: [&str; 4] = ["bash", "sh", "shell", "mswea_bash_command"];

/// The first block of code in a text: in a fence, or in the tag of some agents.
pub fn first_block(text: &str) -> Option<Block<'_>> {
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
pub fn shell_block(text: &str, is_next_output: impl Fn() -> bool) -> Option<&str> {
    if !text.contains('`') {
        return None;
    }
    let (_, rest) = text.split_once("```")?;
    let (block, after) = rest.split_once("```")?;
    let (language, command) = block.split_once('\n')?;
    let language = language.trim();
    let is_command = SHELLS.contains(&language) || language.is_empty() && is_next_output();
    if is_command && !after.contains("```") { Some(command.trim()) } else { None }
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
            let Some((label, _)) = near.split_once('>') else { continue };
            if name.is_empty() {
                continue;
            }
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
        match name {
            "function" | "invoke" | "tool_call" if !label.is_empty() => return Some(call(label, arguments(inside))),
            "tool_call" | "function_call" | "tool_use" => match json_call(inside) {
                Some(call) => return Some(call),
                None if outer.is_none() && !inside.trim_start().starts_with('<') => {
                    let (name, rest) = inside.trim().split_once('\n').unwrap_or((inside.trim(), ""));
                    outer = Some(call(name, rest.trim().to_owned()));
                }
                None => {}
            },
            "tool" | "tool_name" | "action" if outer.is_none() => outer = Some(call(inside, String::new())),
            "tool_input" | "arguments" | "parameters" | "input" => {
                return Some(TextCall { arguments: inside.trim().to_owned(), ..outer? });
            }
            "execute" | "execute_bash" => return Some(call("bash", json!({"command": inside.trim()}).to_string())),
            _ if name.starts_with("execute_") => return Some(call(name, json!({"code": inside.trim()}).to_string())),
            _ => {}
        }
    }
    outer.filter(|call| call.name.len() < 200)
}

fn call(name: &str, arguments: String) -> TextCall {
    TextCall { name: name.trim().to_owned(), arguments }
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
            return call_in(&value).or_else(|| value.as_object()?.values().find_map(call_in));
        }
        rest = &rest[1..];
    }
    None
}

fn call_in(value: &Value) -> Option<TextCall> {
    let inner = match value.get("function") {
        Some(function) if function.is_object() => function,
        _ => value,
    };
    let name = NAMES.iter().find_map(|key| inner.get(key)?.as_str())?;
    let arguments = ARGUMENTS.iter().find_map(|key| inner.get(key))?;
    let arguments = match arguments {
        Value::String(text) => text.clone(),
        arguments => arguments.to_string(),
    };
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
    if let Some((name, argument)) = name.split_once(['[', '('])
        && argument.ends_with([']', ')'])
    {
        let argument = &argument[..argument.len() - 1];
        return Some(TextCall { name: name.trim().to_owned(), arguments: argument.to_owned() });
    }
    let input = text[at..].split_once("Input:").map_or("", |(_, input)| input);
    let input = input.split("\nObservation").next().unwrap_or("").trim();
    Some(TextCall { name: name.to_owned(), arguments: input.to_owned() })
}

/// The openings of replies to calls, in lower case; `*` stands for a name or a number on the first line.
static REPLIES: LazyLock<Regex> = LazyLock::new(|| {
    openings(
        "observation:;observation *:;observation\n;<observation>;<|observation|>;<tool_re;<tool_out;<|tool_re;<|tool_out;<|start_tool_result;<function_re;<function_out;<fnr;<results>;<result>;<output>;<returncode>;<exit_code>;<execution_;<stdout>;<stderr>;[tool_re;[tool_out;[tool re;[tool out;[tool:;[command finished;[function;<｜tool▁output;✿result✿;execution result;execution output;execution logs:;exitcode:;code output:;command output:;command * returned;```tool_out;```output;tool_output;## return of ;tool re;tool output;tool call result;tool execution;tool * returned;tool * result;tool * output;function re;function output;function * returned;result of ;result:;results:;output:;call id:;<|start|>functions.",
    )
});
/// The openings of replies to a block of code. Chats are full of code, so only forms that no person writes.
static OUTPUTS: LazyLock<Regex> = LazyLock::new(|| {
    openings(
        "observation:\n;<observation>;<returncode>;<output>;<exit_code>;<execution_;exitcode:;execution logs:;execution result of [;code output:;the code above was executed;```output;[command finished",
    )
});
/// The openings of outputs of a shell, and the prompts that one can end with.
static SHELL: LazyLock<Regex> =
    LazyLock::new(|| openings("observation:;<returncode>;<output>;<exit_code>;[command finished"));
const PROMPTS: [&str; 3] = ["bash-$", ":~$", "\n$"];

/// Calls that ask the user. The reply has the answer.
const ASKING: &str = "ask_followup_question;attempt_completion;plan_mode_respond;plan_mode_response";
/// What stands behind the name of a call, where a reply begins with that name in brackets.
const BRACKETED: &str = "] Result:";

/// Bytes of a reply that are looked at.
pub const OPENING: usize = 1_000;

/// The call in a text of the assistant that the text of the next message answers, by the opening of that text.
pub fn answered_call(said: &str, reply: &str) -> Option<TextCall> {
    let reply = reply.trim_start();
    if let Some(name) = name_in_brackets(reply)
        && said.contains(&format!("<{name}>"))
    {
        // A call that ends the work can run a command, whose output the reply has then.
        let asks = ASKING.split(';').any(|asking| asking == name) && !said.contains("<command>");
        return if asks { None } else { Some(named(said, name)) };
    }
    if opens(reply, &REPLIES) && has_call(said) {
        return Some(parse(said));
    }
    let block = first_block(said)?;
    if opens(reply, &OUTPUTS) { Some(block.call()) } else { None }
}

/// Whether a text has the form of a reply.
pub fn is_reply(text: &str) -> bool {
    opens(text, &REPLIES) || name_in_brackets(text.trim_start()).is_some()
}

/// Whether a text has the form of an output of a shell. Where no command was seen, a prompt that people paste too does
/// not tell.
pub fn is_shell_output(text: &str, follows_command: bool) -> bool {
    let prompts = &PROMPTS[..if follows_command { PROMPTS.len() } else { 1 }];
    opens(text, &SHELL) || prompts.iter().any(|prompt| text.trim_end().ends_with(prompt))
}

/// What the user says in a reply: some programs put it behind the result, in a text of its own.
pub fn feedback<'t>(texts: &[Text<'t>]) -> Vec<Cow<'t, str>> {
    let mut found = Vec::new();
    for pair in texts.windows(2) {
        // The text behind the name of a call is its result.
        if !pair[0].decode().trim_end().ends_with(BRACKETED)
            && let Some(words) = words_of_feedback(&pair[1].decode())
        {
            found.push(Cow::Owned(words));
        }
    }
    found
}

fn words_of_feedback(text: &str) -> Option<String> {
    if !text.starts_with("<feedback>") && !text.starts_with("The user provided the following feedback:") {
        return None;
    }
    let (_, rest) = text.split_once("<feedback>")?;
    let (inside, _) = rest.rsplit_once("</feedback>")?;
    Some(inside.trim().to_owned())
}

/// The name of a call in brackets at the beginning of a reply: `[read_file for 'a.md'] Result:`.
fn name_in_brackets(reply: &str) -> Option<&str> {
    let inside = reply.strip_prefix('[')?;
    let name = &inside[..inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?];
    let behind = inside[name.len()..].starts_with([' ', ']', '.']) && inside.contains(BRACKETED);
    if behind && !name.is_empty() { Some(name) } else { None }
}

/// The pattern of a list of openings, whatever their case.
fn openings(list: &str) -> Regex {
    let all = list.split(';').map(|one| regex::escape(one).replace(r"\*", ".*")).collect::<Vec<_>>();
    pattern(&format!("(?i)^(?:{})", all.join("|")))
}

/// Whether a text begins as the pattern says.
fn opens(text: &str, pattern: &Regex) -> bool {
    const FAR: usize = 160;
    let text = text.trim_start();
    pattern.is_match(&text[..text.floor_char_boundary(FAR)])
}

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub fn patterns() -> Vec<&'static Regex> {
    vec![&REPLIES, &OUTPUTS, &SHELL]
}
