//! Tells what a tool that is no shell and names no file does, by the words of its name and of its arguments.

use serde_json::Value;

use crate::summary::record::cues;
use crate::transcript::tools::words_of_name;

/// Words of tools that change something, of those that read, and of those that take small steps in a browser or keep
/// notes. A name with words of none of these may change something.
const ACTING_WORDS: &str = "create update delete remove cancel refund book send close set add write edit replace submit pay charge \
    transfer exchange return modify move rename assign merge deploy publish post reply approve reject restart start stop turn \
    lock unlock enable disable reset transition upload invite schedule apply";
const READING_WORDS: &str = "get list search find read fetch view show query lookup look check describe count browse load calculate \
    think thinking thought grep glob ls wait sleep retrieve download inspect snapshot sql output";
const STEP_WORDS: &str = "browser page computer click type scroll press hover screenshot drag focus key mouse tap swipe navigate goto \
    fill notify memory todo finish skill";
/// Words of tools and arguments with something secret, beside those of [`cues::SECRETS`].
const SECRET_WORDS: &str = "pin otp cvv cvc token login";

/// What a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolKind {
    /// It may change something: `refund_order`, `mcp__jira__closeTicket`.
    Acts,
    /// It reads: `get_order`, `jira_search_issues`.
    Reads,
    /// It takes a small step or keeps notes, which no summary tells.
    Step,
    /// Its arguments may be secret.
    Secret,
}

impl ToolKind {
    /// Returns the kind of a tool that is called with the arguments `given`.
    pub(super) fn of(name: &str, given: &Value) -> ToolKind {
        // The server of a tool says nothing of what it does: `mcp__browser__get_text`.
        let words = words_of_name(name.rsplit("__").next().unwrap_or(name));
        let is_secret = |name: &str| cues::SECRETS.is_in(name) || has_one(&words_of_name(name), SECRET_WORDS);
        let mut keys = given.as_object().into_iter().flat_map(|given| given.keys());
        match () {
            () if is_secret(name) || keys.any(|key| is_secret(key)) => ToolKind::Secret,
            () if has_one(&words, STEP_WORDS) => ToolKind::Step,
            () if has_one(&words, ACTING_WORDS) || !has_one(&words, READING_WORDS) => ToolKind::Acts,
            () => ToolKind::Reads,
        }
    }
}

fn has_one(words: &[String], list: &str) -> bool {
    list.split_whitespace().any(|known| words.iter().any(|word| word == known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_tell_what_tools_do() {
        for (kind, names) in [
            (
                ToolKind::Acts,
                &["refund_order", "mcp__jira__closeTicket", "find_and_replace", "move_card", "取消订单"][..],
            ),
            (ToolKind::Reads, &["get_order", "jira_search_issues", "webSearch", "mcp__browser__get_text"]),
            (ToolKind::Step, &["click", "web_browser_scroll", "memory_add"]),
            (ToolKind::Secret, &["set_password", "verify_otp", "user_login"]),
        ] {
            for name in names {
                assert_eq!(ToolKind::of(name, &json!({"id": 7})), kind, "{name}");
            }
        }
        assert_eq!(ToolKind::of("update_user", &json!({"apiKey": "x"})), ToolKind::Secret);
    }
}
