//! Lines on standard error: one for each event in which a run differs from the request and, with `-v`, for each
//! decision and step.

mod plans;
mod restored;

use std::io::Write;
use std::time::Duration;

use crate::compact::{CompactionEvent, EarlierSummary, OnError};
use crate::events::{Event, Listener, PrunedOnly};
use crate::llm::http::Between;
use crate::llm::limiter::MOST_IN_A_ROW;
use crate::plan::economy::Billed;
use crate::prune::RuleSavings;
use crate::report::by_kind;
use crate::report::explain::{self, savings};
use crate::report::terminal::{self, with_bar_hidden};
use crate::rewrite::repair::Repair;
use crate::sanitize::sanitize_line;
use crate::settings::Volume;
use crate::transcript::foreign::UnreadText;
use crate::wording::{counted, counted_and, grouped_and_counted, readable_source, reason};

/// Reports events on standard error, as many as the volume allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reporter {
    volume: Volume,
}

const NOTES_CUT_OFF: &str =
    "the length limit cut off the notes on a part of the history; tcompact uses their whole lines";

/// A line, and the least volume at which it is written.
type Line = (Volume, String);

impl Reporter {
    pub(crate) fn new(volume: Volume) -> Self {
        Reporter { volume }
    }
}

impl Listener for Reporter {
    fn handle(&self, event: &Event<'_>) {
        match *event {
            Event::Explained { source, plan, earlier, economy } => plans::picture(source, plan, earlier, economy),
            Event::LargestLosses { largest, looked } => {
                let table = savings::draw_savings(largest, terminal::columns(), looked);
                if !table.is_empty() {
                    terminal::draw(&table);
                }
            }
            Event::Categories { counted, context_window } => {
                let all = if counted.conversations == 1 { "the conversation" } else { "all conversations" };
                let mut bars = String::new();
                explain::categories(&counted.categories, all, context_window, terminal::columns(), &mut bars);
                terminal::draw(&bars);
            }
            // The line would need the tokens of every message.
            Event::Planned { .. } if self.volume < Volume::Verbose => {}
            // The reason stands in the plan.
            Event::NothingDone(reasons) if self.volume == Volume::Verbose && reasons.is_one() => {
                reasons.advice().iter().for_each(|line| print_line(line));
            }
            Event::Previewed { source, summary } if self.volume > Volume::Quiet => plans::previewed(source, summary),
            Event::Restored { archive, file, done, all, damaged } if self.volume > Volume::Quiet => {
                for line in restored::lines(archive, done, all, damaged) {
                    let of = file.map(|file| format!("{}: ", file.display())).unwrap_or_default();
                    print_line(&(of + &line));
                }
            }
            _ => {
                let lines = lines(event).into_iter().filter(|(wanted, _)| self.volume >= *wanted);
                lines.for_each(|(_, line)| print_line(&line));
            }
        }
    }
}

fn lines(event: &Event<'_>) -> Vec<Line> {
    use Volume::{Quiet, Usual, Verbose};
    let of = |source: &str, text: String| format!("{}: {text}", readable_source(source));
    let line = match *event {
        Event::Notice(line) | Event::InputFailed(line) => (Quiet, line.to_owned()),
        Event::Disabled(reason) => (Usual, format!("{reason}; the transcript stays unchanged")),
        // Violations are the output of `check`.
        Event::Breach { source, breach } => (Quiet, of(source, format!("message {}: {breach}", breach.message))),
        Event::Updated { .. } | Event::Repaired { .. } | Event::CallsRemoved { .. } => {
            return prepared(event).into_iter().collect();
        }
        Event::PrunedOnly(PrunedOnly { only, conversations, tokens, unsent }) => {
            let mut sizes = Vec::new();
            if *tokens > 0 || *unsent == 0 {
                sizes.push(grouped_and_counted(*tokens, "token"));
            }
            if *unsent > 0 {
                sizes.push(format!("{} that are not sent", grouped_and_counted(*unsent, "byte")));
            }
            let what = format!("nothing would be summarized; {} would be pruned", sizes.join(" and "));
            let several = || format!("of {} {what}", counted(*conversations, "conversation"));
            (Usual, only.as_ref().map_or_else(several, |source| of(source, what.clone())))
        }
        Event::Counted(counted) => (Usual, counted.sentence()),
        Event::StillBroken { source, violations } => {
            let violations = counted(violations as u64, "violation");
            let what =
                format!("the result still has {violations} of its provider's rules, which tcompact check prints");
            (Usual, of(source, what))
        }
        Event::BrokenLines { source, lines } => (Usual, of(source, broken_lines(lines))),
        Event::ReadingStops { source, line, format } => {
            let what = format!(
                "the agent of {format} reads nothing behind line {line}, which is not JSON; it loses the lines behind it \
                 when it resumes the session"
            );
            (Usual, of(source, what))
        }
        Event::UnknownVersion { source, version, format } => {
            let what = format!("{version} is newer than what tcompact knows of {format}; its known lines are read");
            (Usual, of(source, what))
        }
        Event::BeginsElsewhere { source, base } => (Usual, of(source, base.warning())),
        Event::UnreadText { source, format, unread } => (Usual, of(source, unread_text(format, unread))),
        Event::UnknownParts { source, unknown } => {
            let (percent, message, what) = (unknown.percent(), unknown.message, unknown.what());
            let what = format!(
                "{percent} % of the content is in parts that tcompact does not know, as message {message} has {what}; they are counted, and read as their JSON"
            );
            (Usual, of(source, what))
        }
        Event::Planned { source, plan } => (Verbose, plans::planned(source, plan)),
        Event::Refused { source, reason } => (Usual, format!("{} stays unchanged: {reason}", readable_source(source))),
        Event::Estimated { source, economy, reader } => (Verbose, of(source, economy.sentence(true, reader))),
        Event::Split { source, plan, pairs } => match plans::split(plan, pairs) {
            Some(text) => (Usual, of(source, text)),
            None => return Vec::new(),
        },
        Event::Compacting { source, what: CompactionEvent::Thinking(removal), .. } => {
            return plans::thinking(removal).into_iter().map(|text| (Usual, of(source, text))).collect();
        }
        Event::Compacting { source, what, reader } => match compacting(what, reader) {
            Some((wanted, text)) => (wanted, of(source, text)),
            None => return Vec::new(),
        },
        Event::NoSuchTool { source, name } => {
            (Usual, of(source, format!("--prune-except {name}: no call is of this tool")))
        }
        Event::NotCached(error) => {
            (Usual, format!("the summary could not be kept in --cache: {}; this run uses it anyway", reason(error)))
        }
        Event::NotDrawn { source, fault } => {
            (Quiet, of(source, format!("{fault}; the page does not show this conversation")))
        }
        Event::NamesParted { path, others } => {
            let names = counted(others, "other name");
            let text = format!("the file had {names} (hard links), where the old text stays");
            (Usual, of(&path.display().to_string(), text))
        }
        Event::InputStatus { source, what } => (Verbose, of(source, what.to_owned())),
        Event::DefaultSummarizer => {
            (Verbose, "the embedded summarizer wrote the summary; --model names another".to_owned())
        }
        Event::PromptNotUsed(from) => {
            let text =
                format!("the embedded summarizer takes no prompt, so {from} is not used; name a model with --model");
            (Usual, text)
        }
        Event::NothingDone(reasons) => match reasons.sentence() {
            Some(text) => (Usual, text),
            None => return Vec::new(),
        },
        Event::AllDone(totals) => (Usual, totals.sentence()),
        Event::Ended { ending, rest } => (Usual, ending.sentence(rest)),
        _ => return Vec::new(),
    };
    vec![line]
}

/// Describes what is done to a conversation before it is compacted.
fn prepared(event: &Event<'_>) -> Option<Line> {
    let (source, text) = match *event {
        Event::Updated { source, updated, is_planned } => {
            let removed = counted(updated.removed as u64, "message");
            let replaced = counted(updated.replaced as u64, "message");
            let done = if is_planned { "would remove" } else { "removed" };
            let and = if updated.replaced > 0 { format!(" and replaced {replaced} by id") } else { String::new() };
            (source, format!("RemoveMessage {done} {removed}{and}, as LangGraph does"))
        }
        Event::Repaired { source, repaired, how, is_planned } => {
            let found = counted(repaired.violations as u64, "violation");
            let how = if how == Repair::Drop { "drop" } else { "synthesize" };
            let done = if is_planned { "would be repaired" } else { "repaired" };
            (source, format!("{found} of its provider's rules {done} (--repair {how})"))
        }
        Event::CallsRemoved { source, calls, is_planned } => {
            let them = if calls == 1 { "it" } else { "them" };
            let removed = counted_and(calls as u64, "call", if is_planned { ["would be"; 2] } else { ["is", "are"] });
            (source, format!("{removed} removed, since the format cannot hold a result for {them}"))
        }
        _ => return None,
    };
    Some((Volume::Usual, format!("{}: {text}", readable_source(source))))
}

fn compacting(what: CompactionEvent<'_>, reader: Option<&str>) -> Option<Line> {
    use Volume::{Quiet, Usual, Verbose};
    Some(match what {
        CompactionEvent::NothingSent(text) => {
            let text = format!(
                "--trim-tokens leaves nothing of the history, so tcompact asks no summarizer, and the summary is: {text}"
            );
            (Usual, text)
        }
        CompactionEvent::AskedAgain(refusal) => (Verbose, format!("{refusal}; asked once more")),
        CompactionEvent::Part { messages, part } => {
            let messages = counted(messages as u64, "message");
            let (are, themselves) = if part == 1 { ("is", "itself") } else { ("are", "themselves") };
            let what = format!("the next {part} of {messages} {are} summarized by {themselves}");
            (Verbose, format!("{what}, since the summarizer cannot read all at once"))
        }
        CompactionEvent::NotesCutOff => (Usual, NOTES_CUT_OFF.to_owned()),
        CompactionEvent::Failed { message, instead, archived, is_known } => {
            let instead = match instead {
                OnError::Fail => return None,
                OnError::Passthrough => "the transcript stays unchanged",
                OnError::Extractive => "the embedded summarizer is used instead",
                OnError::Embed if archived => "the summary is this message",
                OnError::Embed => "the summary is this message, and the history is lost",
            };
            (if is_known { Verbose } else { Quiet }, format!("{message}; {instead}"))
        }
        CompactionEvent::PrunedAlone { message } => {
            (Verbose, format!("{message}; the transcript is only pruned, which makes it fit"))
        }
        CompactionEvent::Left { why, unexpected } => {
            (if unexpected { Usual } else { Verbose }, format!("unchanged: {why}"))
        }
        CompactionEvent::WithoutLedger(fault) => (Quiet, format!("{fault}; the summary has no ledger beside it")),
        CompactionEvent::Summarized { messages, tokens, is_note: true, .. } => (
            Verbose,
            format!("a note of {} replaces {}", counted(tokens, "token"), counted(messages as u64, "message")),
        ),
        CompactionEvent::Summarized { messages, tokens, billed, cached, is_note: false } => {
            let billed = billed.map(counted_by_provider).unwrap_or_default();
            let cached = if cached { "; from the cache" } else { "" };
            let messages = counted(messages as u64, "message");
            (Verbose, format!("{messages} became a summary of {}{billed}{cached}", counted(tokens, "token")))
        }
        CompactionEvent::Redacted(_) | CompactionEvent::MaskedAll { .. } | CompactionEvent::SecretsLeft(_) => {
            return secrets(what);
        }
        CompactionEvent::Earlier([]) | CompactionEvent::Pruned([]) | CompactionEvent::Thinking(_) => return None,
        CompactionEvent::Earlier(earlier) => {
            (Verbose, earlier.iter().map(EarlierSummary::sentence).collect::<Vec<_>>().join("; "))
        }
        CompactionEvent::NotSummarized { arguments, results } => (Usual, not_summarized(arguments, results)?),
        CompactionEvent::Pruned(savings) => (Verbose, pruned(savings)),
        CompactionEvent::Capped(tokens) => {
            let cut = format!("results in the kept part are cut to {}", counted(tokens, "token"));
            (Usual, format!("{cut}, since nothing else makes it fit"))
        }
        CompactionEvent::TooLarge { tokens, window } => {
            let has = format!("the result has {}", counted(tokens, "token"));
            (Usual, format!("{has} and does not fit the context window of {window}"))
        }
        CompactionEvent::OverLimit { tokens, limit } => {
            (Quiet, format!("the transcript still has {}, more than {limit}", counted(tokens, "token")))
        }
        CompactionEvent::Economy(economy) => (Verbose, economy.sentence(false, reader)),
        CompactionEvent::Reset(counts, _) if counts.is_none() => return None,
        CompactionEvent::Reset(counts, reset) => (Verbose, counts.sentence(reset)),
    })
}

fn secrets(what: CompactionEvent<'_>) -> Option<Line> {
    use Volume::{Usual, Verbose};
    match what {
        CompactionEvent::MaskedAll { secrets, places, is_planned } => {
            let verbs = if is_planned { ["would be"; 2] } else { ["is", "are"] };
            let masked = counted_and(secrets.values().sum::<u64>(), "secret", verbs);
            let (kinds, places) = (by_kind(secrets), counted(places, "place"));
            Some((Usual, format!("{masked} masked in all that is written ({kinds}; in {places})")))
        }
        CompactionEvent::SecretsLeft(counts) => {
            let left = counted(counts.values().sum::<u64>(), "secret");
            let them = if left.starts_with("1 ") { "it" } else { "them" };
            let kinds = by_kind(counts);
            Some((Usual, format!("--redact leaves {left} in kept messages ({kinds}); --redact=all masks {them} too")))
        }
        CompactionEvent::Redacted(counts) if !counts.is_empty() => {
            let places: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            Some((Verbose, format!("places where secrets were masked: {}", places.join(", "))))
        }
        _ => None,
    }
}

fn unread_text(format: &str, unread: &UnreadText) -> String {
    let UnreadText { message, member, unread, all } = unread;
    let share = unread * 100 / all;
    let member: String = member.chars().take(40).flat_map(char::escape_debug).collect();
    match message {
        Some(message) => format!(
            "{share} % of the text is under members that {format} does not have, as `{member}` of message {message}; it is not counted and goes with its message"
        ),
        None => format!(
            "{share} % of the text is beside the messages, as under `{member}`; it is not counted, and no summary has it"
        ),
    }
}

fn broken_lines(lines: &[usize]) -> String {
    const SHOWN: usize = 5;
    if let [line] = lines {
        return format!("line {line} is not JSON: it is not read, and stays or goes with the line before it");
    }
    let shown: Vec<String> = lines.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = if lines.len() > SHOWN { ", …" } else { "" };
    let (count, shown) = (counted(lines.len() as u64, "line"), shown.join(", "));
    format!("{count} are not JSON ({shown}{more}): they are not read, and stay or go with the lines before them")
}

/// Describes the changes of a conversation that is not summarized, where there are any.
fn not_summarized(arguments: bool, results: bool) -> Option<String> {
    let changes = [
        (arguments, "long arguments of old tool calls are cut"),
        (results, "large results at the end are moved to files"),
    ];
    let changes: Vec<&str> = changes.into_iter().filter_map(|(is_done, what)| is_done.then_some(what)).collect();
    (!changes.is_empty()).then(|| format!("nothing is summarized; {}", changes.join(", and ")))
}

/// Describes the effect of each rule of `--prune`.
fn pruned(savings: &[RuleSavings]) -> String {
    let rule = |one: &RuleSavings| {
        if one.bytes > 0 && one.tokens == 0 {
            let places = counted(one.messages as u64, "place");
            return format!("{} in {places}, {} that are not sent", one.rule, counted(one.bytes, "byte"));
        }
        let messages = counted(one.messages as u64, "message");
        format!("{} in {messages}, {}", one.rule, counted(one.tokens, "token"))
    };
    format!("pruned: {}", savings.iter().map(rule).collect::<Vec<_>>().join("; "))
}

fn counted_by_provider(billed: Billed) -> String {
    let cost = billed.cost_usd.map(|cost| format!(", ${cost:.6}")).unwrap_or_default();
    format!("; the provider counts {} in and {} out{cost}", counted(billed.input_tokens, "token"), billed.output_tokens)
}

/// Reports what happens between two requests.
pub(crate) fn report_between(between: Between<'_>) {
    match between {
        Between::Wait(why, pause) => print_line(&format!("{why}; trying again in {:.1} seconds", pause.as_secs_f64())),
        Between::Change(why, change) => {
            print_line(&format!("{}; asking again {change}, from now on", why.trim_end_matches('.')));
        }
        Between::Stop(why) => print_line(&format!(
            "{MOST_IN_A_ROW} requests in a row failed, so no more are sent: {why}; fix the cause and run again"
        )),
        Between::Slower(why, at_once) => {
            let requests = counted(at_once, "request");
            print_line(&format!("{why}; at most {requests} at once until the server answers again"));
        }
    }
}

/// Reports what happens between two requests, except changes and short waits.
pub(crate) fn report_long_waits(what: Between<'_>) {
    const LONG: Duration = Duration::from_secs(10);
    match what {
        Between::Wait(_, pause) if pause < LONG => {}
        Between::Change(..) => {}
        Between::Wait(..) | Between::Stop(_) | Between::Slower(..) => report_between(what),
    }
}

fn print_line(text: &str) {
    // A failed write to standard error does not end the run.
    with_bar_hidden(|| drop(writeln!(anstream::stderr(), "tcompact: {}", sanitize_line(text))));
}
