//! Results of calls that carry words of the user: a refusal of the call, or an answer to a question of the agent. No rule
//! of `--prune` changes them, and no cap of `--fit`.
//!
//! A digest shows words under the user's heading only by the agent's record ([`Denial::words`](crate::status::Denial::words)), and a
//! result with such words stays, however long it is. More results stay than speak: to keep a doubtful one costs only its
//! tokens. So one that may carry words of the user stays while it is short. A long one could be the output of a tool that
//! writes such a sentence, and would keep a conversation above `--fit`.

use std::sync::LazyLock;

use regex::Regex;

use crate::message::ResultRef;
use crate::pattern::pattern;

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
    const WHO: &str = "user|human|operator";
    const DID: &str = "reject|den(?:y|ie)|declin|refus|cancel|abort|interrupt|approv|answered";
    const SAID: &str = "said|repl(?:y|ie)|respon|feedback|clarif|chose";
    const NOT: &str = "(?:doesn['’]t|didn['’]t|does not|did not) (?:agree|allow|approve|permit|want)";
    let forms = [
        format!(r"\b(?:{WHO})\b[^.\n]{{0,60}}?\b(?:{DID}|{SAID}|{NOT})"),
        format!(r"\b(?:{DID})[a-z]*\b[^.\n]{{0,40}}\b(?:by|from) (?:the |your )?(?:{WHO})\b"),
        r"\bquestions? (?:have|has) been answered".to_owned(),
        r"\bnot approved\b".to_owned(),
        r"^\s*<(?:answer|feedback|user_message)>".to_owned(),
        "用户(?:拒绝|取消|回答|批准)".to_owned(),
    ];
    pattern(&format!("(?i){}", forms.join("|")))
});

/// Whether a tool asks the user.
pub fn asks_user(tool: &str) -> bool {
    ASKING.contains(&&*without_marks(tool))
}

/// Whether a result carries words of the user, by the name of its tool, its text, and the bytes that it has in the source.
pub fn carries_words_of_user<'t>(
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
pub fn may_ask_user(tool: &str) -> bool {
    let name = without_marks(tool);
    ASKING.iter().chain(MAY_ASK).any(|end| name.ends_with(end))
}

/// Whether a result begins by saying what the user did.
pub fn tells_of_user(text: &str) -> bool {
    OF_USER.is_match(&text[..text.floor_char_boundary(OPENING)])
}

/// A name in lower case, without the marks between its words.
fn without_marks(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Builds the pattern of this file.
#[cfg(any(test, feature = "tests"))]
pub fn patterns() -> Vec<&'static Regex> {
    vec![&OF_USER]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_agents_tell_of_the_user() {
        for text in [
            "The user doesn't want to proceed with this tool use. The tool use was rejected",
            "The user doesn’t want to take this action right now.",
            "[Request interrupted by user for tool use]",
            "User has answered your questions: \"Which?\"=\"A\"",
            "Your questions have been answered: \"Which?\"=\"A\"",
            "User has approved your plan. You can now start coding.",
            "exec command rejected by user",
            "aborted by user after 3.2s",
            "[Operation Cancelled] Reason: User did not allow tool call",
            "Plan rejected. User feedback: use the attic",
            "The user rejected permission to use this specific tool call with the following feedback: no",
            "The tool call is rejected by the user. Stop what you are doing.",
            "{\"status\":\"denied\",\"message\":\"The user denied this operation\",\"feedback\":\"no\"}",
            "The user denied this operation and provided the following feedback:\n<feedback>\nno\n</feedback>",
            "<answer>\nthe second\n</answer>",
            "User rejected the tool call for `book` with id w",
            "Tool execution was not approved.",
            "Error: user declined",
            "用户拒绝，原因：不要删除",
        ] {
            assert!(tells_of_user(text), "{text}");
        }
    }

    #[test]
    fn outputs_of_tools_do_not_tell_of_the_user() {
        for text in [
            "",
            "12 passed, 0 failed",
            "drwxr-xr-x 2 user user 4096 answers",
            "If the user did not give you a concrete task, read README.md.",
            "error: permission denied (os error 13)",
            "The user list was saved. It was denied by nobody.",
            "Updates were rejected because the remote contains work",
            "fn user(id: u32) -> User {",
        ] {
            assert!(!tells_of_user(text), "{text}");
        }
    }

    #[test]
    fn names_of_tools_tell_who_answers() {
        for name in ["AskUserQuestion", "ask_user_question", "ExitPlanMode", "exit_plan_mode", "request_user_input"] {
            assert!(asks_user(name) && may_ask_user(name), "{name}");
        }
        for name in ["mcp__web__ask_user", "vscode_askQuestions", "question", "human"] {
            assert!(!asks_user(name) && may_ask_user(name), "{name}");
        }
        for name in ["", "Bash", "get_user", "ask", "update_user", "questionnaire_export"] {
            assert!(!asks_user(name) && !may_ask_user(name), "{name}");
        }
    }
}
