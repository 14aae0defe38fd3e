//! Which summaries are taken, and what is said to a summarizer whose answer is not.

use std::fmt;

use super::prompt::words;
use super::{Reply, Stop};

/// Why a summary is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There is nothing in it.
    Empty,
    /// The summarizer stopped at its length limit.
    CutOff {
        /// Tokens of it that were thoughts.
        thoughts: u64,
    },
    /// The summarizer would not write it.
    Declined,
    /// It says the prompt's own words.
    Repeats,
    /// The message that would hold it has as many tokens as what it replaces, or more.
    NotSmaller {
        /// Tokens of the summary message.
        summary: u64,
        /// Tokens of the messages it would replace.
        replaced: u64,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Empty => write!(out, "the summary is empty"),
            Refusal::CutOff { thoughts: 0 } => {
                write!(out, "the summary was cut off by its length limit; raise --summary-tokens")
            }
            Refusal::CutOff { thoughts } => write!(
                out,
                "the summary was cut off by its length limit, of which {thoughts} tokens were thoughts; raise --summary-tokens"
            ),
            Refusal::Declined => {
                write!(out, "the summarizer declined to write the summary; name another with --model")
            }
            Refusal::Repeats => {
                write!(out, "the summary repeats the prompt instead of following it; name another model with --model")
            }
            Refusal::NotSmaller { summary, replaced } => write!(
                out,
                "the summary is no smaller than what it replaces ({summary} tokens for {replaced}); lower --summary-tokens or keep more"
            ),
        }
    }
}

impl Refusal {
    /// What a summarizer is told whose answer of at most `limit` tokens was refused, and how many tokens its next answer
    /// may have. Thoughts are no part of a summary, so what they took is given back.
    pub fn correction(&self, limit: u64) -> (String, u64) {
        let shorter = |tokens: u64| format!("Write what was asked for in at most {} words.", words(tokens));
        let (wrong, right, limit) = match *self {
            Refusal::Empty => ("was empty", "Write what was asked for.".to_owned(), limit),
            Refusal::CutOff { thoughts } => {
                let limit = limit.saturating_add(thoughts.saturating_mul(2));
                ("did not end before its length limit", shorter(limit * 3 / 5), limit)
            }
            Refusal::Declined => (
                "was a refusal",
                "Nothing is asked but what the record says: write that, and leave out what you cannot repeat."
                    .to_owned(),
                limit,
            ),
            Refusal::Repeats => {
                ("repeated these instructions", "Follow them, and write only the result.".to_owned(), limit)
            }
            Refusal::NotSmaller { replaced, .. } => {
                ("was longer than what it is to replace", shorter((replaced / 2).min(limit)), limit)
            }
        };
        (format!("A first answer to this could not be used: it {wrong}. {right}"), limit)
    }
}

/// Judges what a summarizer answered by itself; `instructions` are the lines of the prompt around the history.
///
/// # Errors
/// The first reason to refuse it.
pub fn judge<'i>(reply: &Reply, instructions: impl Iterator<Item = &'i str>) -> Result<(), Refusal> {
    match reply.stop {
        Stop::Length => Err(Refusal::CutOff { thoughts: reply.usage.map_or(0, |usage| usage.reasoning) }),
        Stop::Refused => Err(Refusal::Declined),
        Stop::Done if reply.text.trim().is_empty() => Err(Refusal::Empty),
        Stop::Done if declines(&reply.text) => Err(Refusal::Declined),
        Stop::Done if repeats(&reply.text, instructions) => Err(Refusal::Repeats),
        Stop::Done => Ok(()),
    }
}

/// Judges a summary by the tokens of its message and of what that would replace.
///
/// # Errors
/// It saves nothing.
pub fn judge_size(summary: u64, replaced: u64) -> Result<(), Refusal> {
    if summary < replaced { Ok(()) } else { Err(Refusal::NotSmaller { summary, replaced }) }
}

/// Whether a text is short and begins as models do that will not do what they are asked.
fn declines(text: &str) -> bool {
    const LONGEST: usize = 400;
    const OPENINGS: [&str; 17] = [
        "i can't ",
        "i cannot ",
        "i can not ",
        "i'm unable ",
        "i am unable ",
        "i'm not able ",
        "i am not able ",
        "i won't ",
        "i'm sorry, but i",
        "i am sorry, but i",
        "sorry, but i can",
        "i apologize, but i",
        "as an ai language model",
        "对不起，我",
        "抱歉，我",
        "很抱歉，我",
        "我无法",
    ];
    let start: String = text.trim_start().chars().take(LONGEST + 1).collect();
    let start = start.to_lowercase().replace('’', "'");
    start.chars().count() <= LONGEST && OPENINGS.iter().any(|opening| start.starts_with(opening))
}

/// Whether half of a text or more is lines of the instructions, or of the elements that a history is written down in.
/// Short lines are not counted: headings are asked for.
fn repeats<'i>(text: &str, instructions: impl Iterator<Item = &'i str>) -> bool {
    const SHORTEST: usize = 30;
    let long = |line: &&str| line.chars().count() >= SHORTEST;
    let instructions: Vec<&str> = instructions.map(str::trim).filter(long).collect();
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let said_again = |line: &&str| line.starts_with("<message role=\"") || instructions.contains(line);
    let of_prompt: usize = lines().filter(said_again).map(str::len).sum();
    of_prompt > 0 && of_prompt * 2 >= lines().map(str::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Usage;

    fn judged(text: &str, stop: Stop) -> Result<(), Refusal> {
        let instructions =
            "You are taking notes so that somebody can carry on.\n\n## Summary\nWhat happened, in order.";
        judge(&Reply { text: text.to_owned(), stop, usage: None }, instructions.lines())
    }

    #[test]
    fn good_summaries_are_taken() {
        for text in [
            "## Summary\nThe parser was mended.",
            "I cannot reproduce the crash, said the user; then we found the cause. ".repeat(8).as_str(),
            "The user said: I'm sorry, but I changed my mind.",
            "用户说无法登录，已修复。",
            "## Summary\nWhat happened, in order.\nYou are taking notes so that somebody can carry on.\n- and then a good deal of what did happen in the session, with names, paths and numbers",
        ] {
            assert_eq!(judged(text, Stop::Done), Ok(()), "{text}");
        }
    }

    #[test]
    fn others_are_not() {
        for (text, refusal) in [
            (" \n", Refusal::Empty),
            ("I’m sorry, but I can't help with that.", Refusal::Declined),
            ("抱歉，我无法完成这个请求。", Refusal::Declined),
            ("You are taking notes so that somebody can carry on.\n\n## Summary\nWhat", Refusal::Repeats),
            ("<message role=\"user\">\nhi\n</message>", Refusal::Repeats),
        ] {
            assert_eq!(judged(text, Stop::Done), Err(refusal), "{text}");
        }
        assert_eq!(judged("Half of", Stop::Length), Err(Refusal::CutOff { thoughts: 0 }));
        assert_eq!(judged("", Stop::Length), Err(Refusal::CutOff { thoughts: 0 }), "how it stopped says more");
        assert_eq!(judged("", Stop::Refused), Err(Refusal::Declined));
        assert_eq!(judge_size(9, 10), Ok(()));
        assert_eq!(judge_size(10, 10), Err(Refusal::NotSmaller { summary: 10, replaced: 10 }));
    }

    #[test]
    fn thoughts_are_given_back() {
        let usage = Some(Usage { reasoning: 500, ..Usage::default() });
        let reply = Reply { stop: Stop::Length, usage, ..Reply::default() };
        let refusal = judge(&reply, std::iter::empty()).expect_err("cut off");
        assert_eq!(refusal, Refusal::CutOff { thoughts: 500 });
        let (said, limit) = refusal.correction(1000);
        assert_eq!(limit, 2000);
        assert!(said.contains("length limit") && said.contains("at most 900 words"), "{said}");
        assert_eq!(Refusal::NotSmaller { summary: 500, replaced: 400 }.correction(1024).1, 1024);
    }
}
