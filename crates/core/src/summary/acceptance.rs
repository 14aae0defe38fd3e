//! Accepts or rejects summaries, and writes the correction for a second request.

use std::collections::HashSet;
use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

use crate::digest::words_of;
use crate::pattern::pattern;
use crate::summary::exchange::{Reply, Stop, THOUGHTS, Usage};
use crate::summary::machine_answer::{self, MachineAnswer};
use crate::summary::prompt::words;
use crate::tokens::Counter;
use crate::wording::{counted, counted_and, one_line};

/// The reason why a summary is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    Empty,
    /// The summarizer stopped at its length limit.
    CutOff {
        /// The tokens of thoughts in it, as far as known.
        thoughts: u64,
        /// Whether some of the summary was written.
        begun: bool,
    },
    /// The summarizer declined to write it.
    Declined,
    Repeats,
    /// A program gave it, or it says nothing.
    Machine {
        what: MachineAnswer,
        start: String,
    },
    /// Its message has at least as many tokens as the messages it replaces.
    NotSmaller {
        /// Tokens of the summary message.
        summary: u64,
        /// Tokens of the messages it would replace.
        replaced: u64,
    },
    /// Its message has more than nine tenths of the tokens of the messages it replaces.
    SavesTooLittle {
        /// Tokens of the summary message.
        summary: u64,
        /// Tokens of the messages it would replace.
        replaced: u64,
    },
    /// Its message has more tokens than there is room for.
    TooLong {
        /// Tokens of the summary message.
        summary: u64,
        /// The most tokens that it may have.
        room: u64,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Empty => write!(out, "the summary is empty"),
            Refusal::CutOff { thoughts, begun } => {
                out.write_str("the summary was cut off by its length limit")?;
                out.write_str(if *begun { "" } else { " before it began" })?;
                if *thoughts > 0 {
                    let before = if *begun { ", of which " } else { ": " };
                    write!(out, "{before}{} thoughts", counted_and(*thoughts, "token", ["was", "were"]))?;
                }
                out.write_str("; raise --summary-tokens")?;
                out.write_str(if *begun { "" } else { " or name another model with --model" })
            }
            Refusal::Declined => {
                write!(out, "the summarizer declined to write the summary; name another with --model")
            }
            Refusal::Repeats => write!(
                out,
                "the summary repeats the prompt instead of following it; name another model with --model, or command with --summarizer-cmd"
            ),
            Refusal::Machine { what, start } => {
                write!(out, "the summarizer wrote {what} and not a summary: \"{start}\"")
            }
            Refusal::NotSmaller { summary, replaced } => write!(
                out,
                "the summary is not smaller than what it replaces ({} for {replaced}); lower --summary-tokens or keep more",
                counted(*summary, "token")
            ),
            Refusal::SavesTooLittle { summary, replaced } => write!(
                out,
                "too little would be saved ({} for {replaced}, and a tenth is the least); lower --summary-tokens or keep less",
                counted(*summary, "token")
            ),
            Refusal::TooLong { summary, room } => write!(
                out,
                "the summary is longer than --fit leaves room for ({}, and {room} are left); lower --summary-tokens or raise --fit",
                counted(*summary, "token")
            ),
        }
    }
}

/// Words of the note in a second request, which identify an answer that repeats it.
const NOTE: &str = "answer to this could not be used";
const TOO_LONG: &str = "did not end before its length limit";

impl Refusal {
    /// Whether some of the summary was written.
    pub fn has_begun(&self) -> bool {
        matches!(self, Refusal::CutOff { begun: true, .. })
    }

    /// The note to a summarizer whose summary of at most `limit` tokens was rejected, and the tokens that the next
    /// request needs for thoughts. Thoughts are not part of a summary, so the tokens they took are added.
    pub fn correction(&self, limit: u64) -> (String, u64) {
        let (wrong, right) = match *self {
            Refusal::Empty => ("was empty", "Write what was asked for.".to_owned()),
            Refusal::CutOff { begun: true, .. } => (TOO_LONG, shorter(limit / 5 * 3)),
            Refusal::CutOff { begun: false, .. } => (TOO_LONG, shorter(limit)),
            Refusal::Declined => (
                "was a refusal",
                "Nothing is asked but what the record says: write that, and leave out what you cannot repeat."
                    .to_owned(),
            ),
            Refusal::Machine { what, .. } => {
                let (wrong, right) = match what {
                    MachineAnswer::Json => ("was JSON", "Write text, not JSON."),
                    MachineAnswer::WebPage => ("was a web page", "Write plain text or Markdown."),
                    MachineAnswer::Error => ("was the text of an error", "Write what was asked for."),
                    MachineAnswer::TooShort => {
                        ("was only a few words", "Write all that was asked for, in whole sentences.")
                    }
                };
                (wrong, right.to_owned())
            }
            Refusal::Repeats => ("repeated these instructions", "Follow them, and write only the result.".to_owned()),
            Refusal::NotSmaller { replaced, .. } | Refusal::SavesTooLittle { replaced, .. } => {
                ("was longer than what it is to replace", shorter((replaced / 2).min(limit)))
            }
            Refusal::TooLong { room, .. } => ("was longer than there is room for", shorter((room / 2).min(limit))),
        };
        let thoughts = match *self {
            Refusal::CutOff { thoughts: 0, begun: true } => 0,
            // At least as much as a known reasoning model gets at first: a small limit does not show how many more
            // thoughts were to come.
            Refusal::CutOff { thoughts, .. } => thoughts.saturating_mul(2).max(THOUGHTS),
            _ => 0,
        };
        (format!("A first {NOTE}: it {wrong}. {right}"), thoughts)
    }
}

/// Asks for a summary of at most so many tokens.
fn shorter(tokens: u64) -> String {
    format!("Write what was asked for in at most {}.", counted(words(tokens), "word"))
}

/// Judges a reply by its content; `instructions` are the lines of the prompt around the history.
///
/// # Errors
/// The first reason to reject it.
pub fn judge<'i>(reply: &Reply, instructions: impl Iterator<Item = &'i str>) -> Result<(), Refusal> {
    match reply.stop {
        Stop::Length => {
            let begun = !reply.text.trim().is_empty();
            let thoughts = match reply.usage {
                Some(Usage { reasoning, .. }) if begun => reasoning,
                // Without any text, all tokens were thoughts.
                Some(Usage { reasoning, output, .. }) => reasoning.max(output),
                None => 0,
            };
            Err(Refusal::CutOff { thoughts, begun })
        }
        Stop::Refused => Err(Refusal::Declined),
        Stop::Done if reply.text.trim().is_empty() => Err(Refusal::Empty),
        Stop::Done if declines(&reply.text) => Err(Refusal::Declined),
        Stop::Done if repeats_instructions(&reply.text, instructions) => Err(Refusal::Repeats),
        Stop::Done => Ok(()),
    }
}

/// Judges a text by who seems to have written it; it takes the place of so many tokens.
///
/// # Errors
/// It is what a program prints, or a few words for a long history.
pub fn judge_author(text: &str, counter: Counter, replaced: u64) -> Result<(), Refusal> {
    match machine_answer::recognize(text, counter, replaced) {
        None => Ok(()),
        Some(what) => Err(Refusal::Machine { what, start: machine_answer::first_words(text) }),
    }
}

/// Judges a summary by the tokens of its message and of the messages it replaces.
///
/// # Errors
/// It saves nothing.
pub fn judge_size(summary: u64, replaced: u64) -> Result<(), Refusal> {
    if summary < replaced { Ok(()) } else { Err(Refusal::NotSmaller { summary, replaced }) }
}

/// Judges whether a summary is worth a compaction.
///
/// # Errors
/// It saves less than a tenth.
pub fn judge_saving(summary: u64, replaced: u64) -> Result<(), Refusal> {
    if summary <= most_worthwhile(replaced) { Ok(()) } else { Err(Refusal::SavesTooLittle { summary, replaced }) }
}

/// The most tokens of a summary that saves a tenth of what it replaces.
pub fn most_worthwhile(replaced: u64) -> u64 {
    replaced - replaced.div_ceil(10)
}

/// The most tokens that a summary of this size is not worth replacing.
pub fn largest_not_worth(summary: u64) -> u64 {
    (summary.saturating_mul(10)).div_ceil(9).saturating_sub(1)
}

/// Matches how models begin when they decline.
static DECLINING: LazyLock<Regex> = LazyLock::new(|| {
    const DO: &str = "(?:help|assist|comply|summari[sz]e|provide|fulfill?|continue|do (?:that|this|so)|write|create|share|\
        process|answer|respond|engage|support)";
    const NOT: &str = "(?:can'?t|cannot|can not|won'?t|will not|am unable to|'?m unable to|am not able to|'?m not able to|\
        decline to|refuse to|must decline|must refuse|have to decline)";
    let english = format!(
        r"(?:[^.!?\n]{{0,20}}\b(?:sorry|apologi[sz]e)\b[^.!?\n]{{0,25}}\bi ?{NOT}|(?:(?:unfortunately|as an ai)[^.!?\n]{{0,30}}, )?i ?(?:must |have to )?{NOT}(?: \w+){{0,3}}? ?\b{DO}|i must decline)"
    );
    let others = "(?:非常|很)?(?:对不起|抱歉)[，,]? ?我?(?:无法|不能)|我(?:无法|不能)(?:协助|帮助|提供|完成|总结|回答|处理|满足)\
        |申し訳(?:ありません|ございません)|lo siento[^.\n]{0,40}\\bno puedo\\b|(?:es )?tut mir leid[^.\n]{0,40}\\bkann\\b\
        |(?:je suis )?désolée?[^.\n]{0,40}\\bne (?:peux|puis)\\b";
    pattern(&format!("^(?:{english}|{others})"))
});

/// Matches how models begin when they answer the user of the record instead of describing it: they offer help, or ask
/// for the user's data.
static CONVERSING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:(?:sure|certainly|of course|thank you|hello|hi)\b[^.!?\n]{0,40}[.!,] )?(?:i(?:'d| would) be (?:happy|glad) to (?:help|assist)|(?:how|what) (?:can|may) i (?:help|assist|do for) |to (?:help|assist) you\b[^.?!\n]{0,80}\b(?:please|could you|i(?:'ll)? (?:will )?need)\b|(?:please|(?:could|can|would) you(?: please)?) (?:provide|share|tell|confirm|give)\b[^.?!\n]{0,40}\byour\b)",
    )
});

/// Whether a text is short and begins like a model that declines, or that continues the conversation.
fn declines(text: &str) -> bool {
    const LONGEST: usize = 400;
    let start: String = text.trim_start().chars().take(LONGEST + 1).collect();
    let start = start.to_lowercase().replace('’', "'");
    start.chars().count() <= LONGEST && (DECLINING.is_match(&start) || CONVERSING.is_match(&start))
}

/// Whether at least half of a text is sentences of the instructions, or one of its sections is, or it has the note of a
/// second request, or it continues the record. Short sentences and headings do not count: the prompt asks for headings.
fn repeats_instructions<'i>(text: &str, instructions: impl Iterator<Item = &'i str>) -> bool {
    const SHORTEST: usize = 25;
    let lines: Vec<&str> = instructions.collect();
    let echoes_in_section = echoes_instructions(text, &lines);
    let instructions = one_line(&lines.join(" "));
    // Lines may be wrapped differently than in the prompt, or quoted.
    let unquoted: Vec<&str> = text.lines().map(|line| line.trim_start_matches(['>', ' '])).collect();
    let text = one_line(&unquoted.join(" "));
    let (mut repeated, mut all) = (0, 0);
    for sentence in text.split(['.', '?', '!', '。', '？', '！']).map(str::trim) {
        all += sentence.len();
        let is_sentence = sentence.chars().count() >= SHORTEST && !sentence.ends_with(':');
        if is_sentence && instructions.contains(sentence) {
            repeated += sentence.len();
        }
    }
    repeated > 0 && repeated * 2 >= all
        || echoes_in_section
        || text.contains(NOTE)
        || text.contains(TOO_LONG)
        || text.starts_with("<message role=\"")
}

/// Whether a section says nearly nothing but the instructions: they contain four of five of its trigrams of words.
fn echoes_instructions(text: &str, instructions: &[&str]) -> bool {
    /// The fewest trigrams of a section that is judged.
    const FEWEST: usize = 6;
    let instruction_trigrams: HashSet<[String; 3]> = trigrams(&instructions.join("\n")).collect();
    let mut section = None;
    let mut sections: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with('#') || line.starts_with("**") && line.ends_with("**") {
            section = Some(sections.len());
            sections.push(String::new());
        } else if let Some(at) = section {
            sections[at].push_str(line);
            sections[at].push('\n');
        }
    }
    for section in &sections {
        let said: Vec<[String; 3]> = trigrams(section).collect();
        let repeated = said.iter().filter(|run| instruction_trigrams.contains(*run)).count();
        if said.len() >= FEWEST && repeated * 5 >= said.len() * 4 {
            return true;
        }
    }
    false
}

/// Each three consecutive words of a text.
fn trigrams(text: &str) -> impl Iterator<Item = [String; 3]> {
    let words: Vec<String> = words_of(&text.to_lowercase()).collect();
    (2..words.len()).map(move |end| [words[end - 2].clone(), words[end - 1].clone(), words[end].clone()])
}

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub fn patterns() -> Vec<&'static Regex> {
    vec![&*DECLINING, &*CONVERSING]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge_text(text: &str, stop: Stop) -> Result<(), Refusal> {
        let instructions =
            "You are taking notes so that somebody can carry on.\n\n## Summary\nWhat happened, in order.";
        judge(&Reply { text: text.to_owned(), stop, usage: None }, instructions.lines())
    }

    #[test]
    fn good_summaries_are_accepted() {
        for text in [
            "## Summary\nThe parser was mended.",
            "I cannot reproduce the crash, said the user; then we found the cause. ".repeat(8).as_str(),
            "The user said: I'm sorry, but I changed my mind.",
            "I cannot find any earlier errors: the user asked to mend parser.rs; I changed it; tests pass.",
            "I can't reproduce it, said the user. We added a log line in src/net.rs and wait for the next crash.",
            "Unfortunately the user cannot log in since Monday; the cause is an expired certificate.",
            "Sorry state of the build: 3 tests fail.",
            "1. What the user wants in their own words, with every rule they gave:\nfix it\n2. Files and code sections that were touched in this session:\na.rs",
            "用户说无法登录，已修复。",
            "Please fix the login: the user wants it by Friday, and src/auth.rs is changed.",
            "The assistant asked: could you please provide your user ID?",
            "To help users log in again, the token check was turned around; your tests pass.",
            "## Summary\nWhat was done is this: the parser was mended.\n\n## Next steps\nNothing is left to be done.",
            "Here are notes so that somebody can carry on:\n\n## Summary\nThe parser was mended.",
            "## Summary\nWhat happened, in order.\nYou are taking notes so that somebody can carry on.\n- and then a good deal of what did happen in the session, with names, paths and numbers",
        ] {
            assert_eq!(judge_text(text, Stop::Done), Ok(()), "{text}");
        }
    }

    #[test]
    fn bad_summaries_are_refused() {
        for (text, refusal) in [
            (" \n", Refusal::Empty),
            ("I’m sorry, but I can't help with that.", Refusal::Declined),
            ("I'm sorry, I can't assist with that request.", Refusal::Declined),
            ("Sorry, I can't help with that.", Refusal::Declined),
            ("I'm sorry — I can't help with this.", Refusal::Declined),
            ("I apologize, but I'm unable to summarize this conversation.", Refusal::Declined),
            ("Unfortunately, I cannot summarize this.", Refusal::Declined),
            ("As an AI language model, I can't provide that.", Refusal::Declined),
            ("I must decline to continue.", Refusal::Declined),
            ("I'm not able to help with that.", Refusal::Declined),
            ("I cannot in good conscience comply.", Refusal::Declined),
            ("抱歉，我无法完成这个请求。", Refusal::Declined),
            ("申し訳ありませんが、お手伝いできません。", Refusal::Declined),
            ("Lo siento, pero no puedo ayudar con eso.", Refusal::Declined),
            ("Es tut mir leid, dabei kann ich nicht helfen.", Refusal::Declined),
            ("> You are taking notes so that\n> somebody can carry on.", Refusal::Repeats),
            ("You are taking notes so that somebody can carry on. What happened, in order.", Refusal::Repeats),
            ("You are taking notes so that somebody can carry on.\n\n## Summary\nWhat", Refusal::Repeats),
            ("<message role=\"user\">\nhi\n</message>", Refusal::Repeats),
            (
                "## Summary\nThe parser was mended, and all of its tests pass now that the loop ends where it should end.\n\n\
                 ## Intent\nYou are taking notes, so that somebody can carry on",
                Refusal::Repeats,
            ),
            ("The first try did not end before its length limit. The parser was mended.", Refusal::Repeats),
            ("Could you please provide your user ID?", Refusal::Declined),
            ("Thank you for waiting! To assist you with this, could you tell me the number?", Refusal::Declined),
            ("Sure, I'd be happy to help you with that. Please provide your user ID.", Refusal::Declined),
        ] {
            assert_eq!(judge_text(text, Stop::Done), Err(refusal), "{text}");
        }
        assert_eq!(judge_text("Half of", Stop::Length), Err(Refusal::CutOff { thoughts: 0, begun: true }));
        assert_eq!(
            judge_text("", Stop::Length),
            Err(Refusal::CutOff { thoughts: 0, begun: false }),
            "how it stopped says more"
        );
        assert_eq!(judge_text("", Stop::Refused), Err(Refusal::Declined));
        assert_eq!(judge_size(9, 10), Ok(()));
        assert_eq!(judge_size(10, 10), Err(Refusal::NotSmaller { summary: 10, replaced: 10 }));
        assert_eq!((judge_saving(9, 10), judge_saving(0, 1)), (Ok(()), Ok(())));
        for summary in 1..99 {
            let most = largest_not_worth(summary);
            assert!(most_worthwhile(most) < summary && most_worthwhile(most + 1) >= summary, "{summary}");
        }
        assert_eq!(judge_saving(10, 11), Err(Refusal::SavesTooLittle { summary: 10, replaced: 11 }));
    }

    #[test]
    fn thoughts_get_room_in_the_next_request() {
        for (text, reasoning, output, refusal, given, words) in [
            ("Half", 500, 900, Refusal::CutOff { thoughts: 500, begun: true }, THOUGHTS, 450),
            ("Half", 0, 900, Refusal::CutOff { thoughts: 0, begun: true }, 0, 450),
            ("", 5000, 5000, Refusal::CutOff { thoughts: 5000, begun: false }, 10_000, 750),
            // The usage does not separate thoughts from text.
            (" \n", 0, 900, Refusal::CutOff { thoughts: 900, begun: false }, THOUGHTS, 750),
            ("", 0, 0, Refusal::CutOff { thoughts: 0, begun: false }, THOUGHTS, 750),
        ] {
            let usage = Some(Usage { reasoning, output, ..Usage::default() });
            let reply = Reply { text: text.to_owned(), stop: Stop::Length, usage };
            assert_eq!(judge(&reply, std::iter::empty()), Err(refusal.clone()));
            let (said, thoughts) = refusal.correction(1000);
            assert_eq!(thoughts, given, "{refusal}");
            assert!(said.contains("length limit") && said.contains(&format!("at most {words} words")), "{said}");
        }
        assert_eq!(Refusal::NotSmaller { summary: 500, replaced: 400 }.correction(1024).1, 0);
    }
}
