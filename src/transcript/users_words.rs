//! Results of calls that carry words of the user: a refusal of the call, or an answer to a question of the agent. No rule
//! of `--prune` changes them, and no cap of `--fit`.
//!
//! A digest shows words under the user's heading only by the agent's record ([`Denial::words`](crate::transcript::status::Denial::words)), and a
//! result with such words stays, however long it is. More results stay than speak: to keep a doubtful one costs only its
//! tokens. So one that may carry words of the user stays while it is short. A long one could be the output of a tool that
//! writes such a sentence, and would keep a conversation above `--fit`.

use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;
use crate::transcript::message::ResultRef;

/// The most bytes of a result that stays although a tool could have written it.
const LONGEST_DOUBTFUL: usize = 4_096;
/// Bytes at the beginning of a result in which it can say what the user did.
const OPENING: usize = 200;

/// Tools with which agents ask their user. The result is the answer. Names stand in lower case, without marks.
const ASKING: &[&str] = &[
    "askfollowupquestion",
    "askhuman",
    "askhumanviaconsole",
    "asktheuser",
    "askuser",
    "askuserquestion",
    "askuserquestions",
    "exitplanmode",
    "gethumaninput",
    "getuserinput",
    "handofftouser",
    "humanassistance",
    "humaninput",
    "messageaskuser",
    "planmoderespond",
    "planmoderesponse",
    "requesthumaninput",
    "requestuserinput",
    "userinput",
];
/// How names of tools end that can ask the user, and can do something else.
const MAY_ASK: &[&str] = &[
    "askquestion",
    "askquestions",
    "attemptcompletion",
    "clarify",
    "confirm",
    "confirmation",
    "human",
    "planexit",
    "planmode",
    "question",
    "questions",
];

/// The sentences with which agents say what the user did, where no record stands beside them: `The user doesn't want to
/// proceed …`, `exec command rejected by user`, `[Operation Cancelled] Reason: User did not allow tool call`.
static OF_USER: LazyLock<Regex> = LazyLock::new(|| {
    const DID: &str = "reject|den(?:y|ie)|declin|refus|cancel|abort|interrupt|approv|answer";
    const SAID: &str = "said|repl(?:y|ie)|respon|feedback|clarif|chose|(?:doesn|didn)['’]t|(?:does|did) not";
    pattern(&format!(
        r"(?i)\b(?:user|human|operator)\b[^.\n]{{0,60}}?(?:\b(?:{DID}|{SAID}))|\b(?:{DID})[a-z]*\b[^.\n]{{0,40}}\b(?:by|from) (?:the |your )?(?:user|human|operator)\b|\bquestions? (?:have|has) been answered|\bnot approved\b|^\s*<(?:answer|feedback|user_message)>|用户(?:拒绝|取消|回答|批准)"
    ))
});

/// Whether a tool asks the user.
pub(crate) fn asks_user(tool: &str) -> bool {
    ASKING.contains(&&*without_marks(tool))
}

/// Whether a result carries words of the user, by the name of its tool, its text, and the bytes that it has in the source.
pub(crate) fn carries_words_of_user<'t>(
    answer: &ResultRef<'_>,
    tool: &str,
    bytes: usize,
    text: impl FnOnce() -> &'t str,
) -> bool {
    let recorded = answer.denial.as_deref().and_then(|denial| denial.words(tool));
    if recorded.is_some_and(|words| !words.trim().is_empty()) || asks_user(tool) {
        return true;
    }
    bytes <= LONGEST_DOUBTFUL && (answer.denial.is_some() || may_ask_user(tool) || tells_of_user(text()))
}

/// Whether a tool may ask the user: a server can offer one of any name behind its own.
fn may_ask_user(tool: &str) -> bool {
    let name = without_marks(tool);
    ASKING.iter().chain(MAY_ASK).any(|end| name.ends_with(end))
}

/// Whether a result begins by saying what the user did.
fn tells_of_user(text: &str) -> bool {
    OF_USER.is_match(&text[..text.floor_char_boundary(OPENING)])
}

/// A name in lower case, without the marks between its words.
fn without_marks(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Builds the pattern of this file.
#[cfg(test)]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&OF_USER]
}
