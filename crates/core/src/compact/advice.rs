//! What to try where a conversation stays unchanged: a flag with which the same run would change it. Each flag is
//! fitted before it is suggested, so that it works.

use std::rc::Rc;

use crate::compact::context::CompactionContext;
use crate::compact::decide::decide;
use crate::compact::fit::{Fitted, limit_of, without_draft};
use crate::compact::policy::CompactionPolicy;
use crate::plan::size::Size;
use crate::plan::steps::answers;
use crate::prune::{Choice, chosen};
use crate::transcript::Transcript;
use crate::transcript::view::Arena;

impl CompactionContext<'_> {
    /// A flag, with its value, that would change a conversation that the plan leaves unchanged; none where no attempt
    /// works.
    pub fn advice(&self, fitted: &Fitted<'_>) -> Option<String> {
        for (flag, policy) in attempts(fitted) {
            if changes(fitted.decided.transcript, &policy) {
                return Some(flag);
            }
        }
        None
    }
}

/// Whether a policy changes a conversation, and meets its limit.
fn changes(transcript: &Transcript<'_>, policy: &CompactionPolicy) -> bool {
    let arena = Arena::default();
    let Ok(decided) = decide(transcript, transcript, policy, &arena) else { return false };
    let fitted = without_draft(Rc::new(decided), limit_of(policy));
    fitted.is_change() && fitted.is_met()
}

/// Flags that may change a conversation, the most useful first, each with its policy.
fn attempts(fitted: &Fitted<'_>) -> Vec<(String, CompactionPolicy)> {
    let policy = fitted.decided.policy;
    let tokens = fitted.tokens();
    let half = rounded(tokens / 2);
    let mut attempts = Vec::new();
    let is_hopeless = fitted.plan.refused || policy.disabled.is_some();
    if is_hopeless || half == 0 {
        return attempts;
    }
    if !fitted.plan.triggered && !policy.is_by_window {
        let size = Size::Tokens(rounded(fitted.decided.recorded().unwrap_or(tokens)));
        let mut lower = policy.clone();
        lower.cut.triggers = vec![vec![size]];
        attempts.push((format!("--trigger {}", shown(size)), lower));
        return attempts;
    }
    let mut unforced = policy.clone();
    if policy.is_by_window {
        unforced.cut.triggers.clear();
        unforced.fit = None;
    }
    if !policy.keep_is_given {
        let mut smaller = unforced.clone();
        smaller.fit = Some(Size::Tokens(half));
        if smaller.pruning.rules.is_empty() {
            smaller.pruning.rules = chosen(&[Choice::All]);
        }
        attempts.push((format!("--fit {}", shown(Size::Tokens(half))), smaller));
    }
    let messages = fitted.decided.view.messages.len() as u64 / 2;
    let fewer = match policy.cut.keep {
        Size::Tokens(_) | Size::Fraction(_) => Size::Tokens(half),
        // An agent's work can be a single turn.
        Size::Turns(_) | Size::Steps(_) => {
            Size::Steps(answers(fitted.decided.view, &policy.cut.summary_prefix).len() as u64 / 2)
        }
        _ => Size::Messages(messages),
    };
    let mut sizes = vec![fewer, Size::Messages(messages), Size::Messages(1)];
    sizes.retain(|keep| ![Size::Messages(0), Size::Steps(0)].contains(keep));
    sizes.dedup();
    for keep in sizes {
        let mut less = unforced.clone();
        (less.cut.keep, less.keep_is_given) = (keep, true);
        attempts.push((format!("--keep {}", shown(keep)), less));
    }
    attempts
}

/// Rounds a number down to its first two digits.
fn rounded(number: u64) -> u64 {
    let unit = 10_u64.pow(number.checked_ilog10().unwrap_or(0).saturating_sub(1));
    number / unit * unit
}

/// Formats a size as people write it.
fn shown(size: Size) -> String {
    match size {
        Size::Tokens(tokens) if tokens % 1000 == 0 => format!("tokens:{}k", tokens / 1000),
        size => size.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::Transcript;
    use crate::transcript::framing::read_for_test as read;

    fn fitted<'t>(transcript: &'t Transcript<'t>, policy: &'t CompactionPolicy, arena: &'t Arena<'t>) -> Fitted<'t> {
        without_draft(Rc::new(decide(transcript, transcript, policy, arena).expect("a decision")), limit_of(policy))
    }

    #[test]
    fn no_flag_is_tried_twice() {
        for (messages, expected) in [(3, &["--keep messages:1"][..]), (8, &["--keep messages:4", "--keep messages:1"])]
        {
            let message = r#"{"role":"user","content":"one of some messages"}"#;
            let source = format!("[{}]", vec![message; messages].join(","));
            let document = read(&source, None, None).expect("a transcript");
            let policy = CompactionPolicy::keeping(Size::Messages(20));
            let arena = Arena::default();
            let fitted = fitted(&document.transcripts[0], &policy, &arena);
            let flags: Vec<String> = attempts(&fitted).into_iter().map(|(flag, _)| flag).collect();
            assert_eq!(flags, expected, "{messages}");
        }
    }

    #[test]
    fn where_turns_keep_everything_steps_are_offered() {
        let step = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"c","content":"a result of some words"}"#;
        let source = format!(r#"[{{"role":"user","content":"go"}},{}]"#, [step; 9].join(","));
        let document = read(&source, None, None).expect("a transcript");
        let policy = CompactionPolicy::keeping(Size::Turns(3));
        let arena = Arena::default();
        let fitted = fitted(&document.transcripts[0], &policy, &arena);
        assert_eq!(attempts(&fitted).first().map(|(flag, _)| flag.as_str()), Some("--keep steps:4"));
    }

    #[test]
    fn numbers_that_one_can_remember() {
        assert_eq!([0, 7, 12, 5327, 13_987, 150_999].map(rounded), [0, 7, 12, 5300, 13_000, 150_000]);
        assert_eq!(shown(Size::Tokens(13_000)), "tokens:13k");
        assert_eq!(shown(Size::Tokens(5300)), "tokens:5300");
    }
}
