//! Results in the user's place: the replies to agents without native calls, which write their calls into their texts.
//!
//! Two signs tell a reply: the call in the message of the assistant before it, and the form of the reply. One alone does
//! not: people paste what looks like a reply, and models explain what looks like a call.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;
use crate::transcript::text::Text;
use crate::transcript::text_calls::{self, TextCall};

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
pub(crate) const OPENING: usize = 1_000;

/// The call in a text of the assistant that the text of the next message answers, by the opening of that text.
pub(crate) fn answered_call(said: &str, reply: &str) -> Option<TextCall> {
    let reply = reply.trim_start();
    if let Some(name) = name_in_brackets(reply).filter(|name| said.contains(&format!("<{name}>"))) {
        // A call that ends the work can run a command, whose output the reply has then.
        let asks = ASKING.split(';').any(|asking| asking == name) && !said.contains("<command>");
        return (!asks).then(|| text_calls::named(said, name));
    }
    if opens(reply, &REPLIES) && text_calls::has_call(said) {
        return Some(text_calls::parse(said));
    }
    text_calls::first_block(said).filter(|_| opens(reply, &OUTPUTS)).map(|block| block.call())
}

/// Whether a text has the form of a reply.
pub(crate) fn is_reply(text: &str) -> bool {
    opens(text, &REPLIES) || name_in_brackets(text.trim_start()).is_some()
}

/// Whether a text has the form of an output of a shell. Where no command was seen, a prompt that people paste too does
/// not tell.
pub(crate) fn is_shell_output(text: &str, follows_command: bool) -> bool {
    let prompts = &PROMPTS[..if follows_command { PROMPTS.len() } else { 1 }];
    opens(text, &SHELL) || prompts.iter().any(|prompt| text.trim_end().ends_with(prompt))
}

/// What the user says in a reply: some programs put it behind the result, in a text of its own.
pub(crate) fn feedback<'t>(texts: &[Text<'t>]) -> Vec<Cow<'t, str>> {
    let words = |text: &Text<'t>| {
        let text = text.decode();
        let inside = text.split_once("<feedback>")?.1.rsplit_once("</feedback>")?.0.trim().to_owned();
        let opens = text.starts_with("<feedback>") || text.starts_with("The user provided the following feedback:");
        opens.then(|| inside.into())
    };
    // The text behind the name of a call is its result.
    let is_name = |text: &Text<'_>| text.decode().trim_end().ends_with(BRACKETED);
    texts.windows(2).filter(|pair| !is_name(&pair[0])).filter_map(|pair| words(&pair[1])).collect()
}

/// The name of a call in brackets at the beginning of a reply: `[read_file for 'a.md'] Result:`.
fn name_in_brackets(reply: &str) -> Option<&str> {
    let inside = reply.strip_prefix('[')?;
    let name = &inside[..inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?];
    let behind = inside[name.len()..].starts_with([' ', ']', '.']) && inside.contains(BRACKETED);
    (behind && !name.is_empty()).then_some(name)
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
#[cfg(test)]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&REPLIES, &OUTPUTS, &SHELL]
}
