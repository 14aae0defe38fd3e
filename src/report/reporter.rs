//! What is said on standard error, a line each: what went otherwise than asked, and with `-v` what is decided and done.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use crate::cli::{Accept, OnError};
use crate::fault::Fault;
use crate::llm::http::Between;
use crate::llm::limiter::MOST_IN_A_ROW;
use crate::plan::breaches::Breach;
use crate::plan::economy::Economy;
use crate::plan::{Parted, Plan, total};
use crate::report::explain::{Largest, Picture, Saving};
use crate::report::json::DryRun;
use crate::report::progress::{Totals, beside_the_bar};
use crate::report::terminal;
use crate::rewrite::thinking::Removal;
use crate::sanitize::{sanitize, sanitize_line};
use crate::settings::{Explain, Settings};
use crate::summary::acceptance::Refusal;
use crate::summary::exchange::Bill;
use crate::tokens::Tally;
use crate::transcript::Transcript;
use crate::wording::readable_source;
use crate::wording::reason;

/// Lines on standard error, as many as the user wants.
#[derive(Debug, Clone, Copy)]
pub struct Reporter<'s> {
    settings: &'s Settings,
}

impl<'s> Reporter<'s> {
    /// Speaks as the settings say.
    pub fn new(settings: &'s Settings) -> Self {
        Reporter { settings }
    }

    /// Where the settings come from, and what the user should know of them.
    pub fn settings(self) {
        for line in &self.settings.said {
            self.line(line);
        }
    }

    /// That the config file has nothing done.
    pub fn disabled(self) {
        if let Some(reason) = self.settings.disabled.as_ref().filter(|_| !self.settings.quiet) {
            self.line(&format!("{reason}; the transcript is left as it is"));
        }
    }

    /// A breach of the provider's rules: what `--check` is asked for, so it is said even where little is wanted.
    pub fn breach(self, source: &str, breach: &Breach) {
        self.line(&format!("{}: message {}: {breach}", readable_source(source), breach.message));
    }

    /// Why a transcript is left alone that could have been cut by the rules.
    pub fn refused(self, source: &str, plan: &Plan) {
        if let Some(reason) = plan.reason.as_ref().filter(|_| plan.refused && !self.settings.quiet) {
            self.line(&format!("{} is left as it is: {reason}", readable_source(source)));
        }
    }

    /// That calls are taken away though they were to be given a result.
    pub fn dropping(self, source: &str, calls: usize) {
        if calls > 0 && !self.settings.quiet {
            let calls = if calls == 1 { "1 call goes".to_owned() } else { format!("{calls} calls go") };
            self.line(&format!(
                "{}: {calls}, since the format has no way to write a result for it",
                readable_source(source)
            ));
        }
    }

    /// How many breaches there are to be mended.
    pub fn repairing(self, source: &str, found: usize) {
        if self.settings.verbose {
            self.line(&format!("{}: {found} breaches of its provider's rules", readable_source(source)));
        }
    }

    /// What was decided.
    pub fn planned(self, source: &str, transcript: &Transcript<'_>, plan: &Plan, tally: &Tally<'_, '_>) {
        if !self.settings.verbose {
            return;
        }
        let dry_run = DryRun::new(source, transcript, plan, tally, self.settings);
        let size = format!(
            "{}: {}, {} messages, {} tokens ({})",
            readable_source(source),
            dry_run.format,
            dry_run.messages,
            dry_run.tokens,
            dry_run.counter
        );
        let fired = dry_run.fired.map(|fired| format!("; {fired} was reached")).unwrap_or_default();
        let decision = match &plan.reason {
            Some(reason) => format!("left as it is: {reason}"),
            None => {
                let moved = plan.moved_because.as_ref().map(|why| format!(" instead of {}, since {why}", plan.wanted));
                let pinned =
                    if plan.pinned.is_empty() { String::new() } else { format!(", {} pinned", plan.pinned.len()) };
                format!(
                    "cut at {}{}: {} tokens go, {} stay{pinned}",
                    plan.cutoff,
                    moved.unwrap_or_default(),
                    dry_run.summarize.tokens,
                    dry_run.keep.tokens
                )
            }
        };
        self.line(&format!("{size}{fired}; {decision}"));
    }

    /// What is saved and what it costs, as it is or, before there is a summary, about.
    pub fn economy(self, source: &str, economy: Option<&Economy>, about: bool) {
        if let Some(economy) = economy.filter(|_| self.settings.verbose) {
            self.line(&format!("{}: {}", readable_source(source), economy.sentence(about, self.reader())));
        }
    }

    /// What the model is called that reads on.
    fn reader(self) -> Option<&'static str> {
        self.settings.reader.map(|model| model.name)
    }

    /// Draws a conversation and what is to be done with it, or says what to tell of it in a table: what was asked for is
    /// shown even where little is to be said.
    pub fn explained(
        self,
        how: Explain,
        source: &str,
        transcript: &Transcript<'_>,
        plan: &Plan,
        tally: &Tally<'_, '_>,
        economy: Option<&Economy>,
    ) -> Option<Saving> {
        let Settings { policy, archive, .. } = self.settings;
        match how {
            Explain::Picture => {
                let economy = economy.map(|economy| economy.sentence(true, self.reader()));
                let archive = archive.as_deref();
                let picture = Picture { source, transcript, tally, plan, policy, archive, economy };
                terminal::draw(&picture.draw(terminal::columns()));
                None
            }
            Explain::Table => Some(Saving {
                source: readable_source(source).into_owned(),
                messages: transcript.messages.len(),
                tokens: total(transcript, tally, policy),
                saved: tally.sum(&plan.summarized()),
            }),
        }
    }

    /// The conversations that lose most.
    pub fn largest(self, largest: &Largest) {
        let table = largest.draw(terminal::columns(), self.settings.dry_run);
        if !table.is_empty() {
            terminal::draw(&table);
        }
    }

    /// What was put in the place of the history, and what the provider counts.
    pub fn summarized(self, source: &str, messages: usize, tokens: u64, bill: &Bill) {
        if self.settings.verbose {
            let counted = bill.usage.map(|usage| self.settings.writer.billed(usage)).map(|billed| {
                let cost = billed.cost_usd.map(|cost| format!(", ${cost:.6}")).unwrap_or_default();
                format!(
                    "; the provider counts {} tokens in and {} out{cost}",
                    billed.input_tokens, billed.output_tokens
                )
            });
            let cached = if bill.cached > 0 { "; from the cache" } else { "" };
            let counted = counted.unwrap_or_default();
            self.line(&format!(
                "{}: {messages} messages became a summary of {tokens} tokens{counted}{cached}",
                readable_source(source)
            ));
        }
    }

    /// The summary that a real run with the same flags puts in the place of the history.
    pub fn previewed(self, source: &str, summary: &str) {
        if !self.settings.quiet {
            let head =
                format!("tcompact: {}: the summary that a real run with these flags uses:", readable_source(source));
            terminal::draw(&format!("{}\n\n{}\n\n", sanitize_line(&head), sanitize(summary.trim_end())));
        }
    }

    /// How many secrets were masked.
    pub fn redacted(self, source: &str, counts: Option<&BTreeMap<&'static str, u64>>) {
        if let Some(counts) = counts.filter(|counts| self.settings.verbose && !counts.is_empty()) {
            let places: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            self.line(&format!("{}: secrets were masked: {}", readable_source(source), places.join(", ")));
        }
    }

    /// That an answer was refused, and is asked for once more.
    pub fn asked_again(self, source: &str, refusal: &Refusal) {
        if self.settings.verbose {
            self.line(&format!("{}: {refusal}; asked once more", readable_source(source)));
        }
    }

    /// That only some messages are summarized at a time.
    pub fn part(self, source: &str, messages: usize, part: usize) {
        if self.settings.verbose {
            self.line(&format!(
                "{}: the next {part} of {messages} messages are summarized by themselves, since not all fit the summarizer",
                readable_source(source)
            ));
        }
    }

    /// That notes on a part were cut off, and are used as far as they go.
    pub fn notes_cut_off(self, source: &str) {
        if !self.settings.quiet {
            self.line(&format!(
                "{}: notes on a part of the history were cut off by their length limit; their whole lines are used",
                readable_source(source)
            ));
        }
    }

    /// That a summary could not be kept for another time.
    pub fn not_cached(self, error: &io::Error) {
        if !self.settings.quiet {
            self.line(&format!("the summary could not be kept in --cache: {}; it is used all the same", reason(error)));
        }
    }

    /// What is changed where nothing is summarized: arguments are cut, results are moved to files, or both.
    pub fn not_summarized(self, source: &str, arguments: bool, results: bool) {
        let changes: Vec<&str> = [
            (arguments, "long arguments of old tool calls are cut"),
            (results, "large results at the end are moved to files"),
        ]
        .into_iter()
        .filter_map(|(done, what)| done.then_some(what))
        .collect();
        if !self.settings.quiet && !changes.is_empty() {
            self.line(&format!("{}: nothing is summarized; {}", readable_source(source), changes.join(", and ")));
        }
    }

    /// That thinking is removed which was signed for the history before it, or that it stays and could be refused.
    pub fn thinking(self, source: &str, removal: &Removal) {
        if self.settings.quiet {
            return;
        }
        if !removal.is_empty() {
            let count = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
            let blocks = count(removal.blocks, "block");
            let messages = count(removal.messages.len(), "kept message");
            let why = match &removal.model {
                Some(model) => {
                    format!("{model} refuses it once the history before it has changed; --thinking keep keeps it")
                }
                None => "as --thinking drop says".to_owned(),
            };
            self.line(&format!("{}: thinking removed, {blocks} in {messages}: {why}", readable_source(source)));
        }
        if removal.unknown > 0 {
            self.line(&format!(
                "{}: signed thinking stays, since no model is named: the newest Claude models refuse it once the history before it has changed; --for names the model, --thinking drop removes it",
                readable_source(source)
            ));
        }
    }

    /// That the cut parts a call from its result, which the rule for pairs does not prevent.
    pub fn parted(self, source: &str, plan: &Plan) {
        let cut = plan.cutoff;
        let what = match plan.parted {
            None => return,
            Some(Parted::Pair(call, result)) => {
                format!("the cut at {cut} parts the call in message {call} from its result in message {result}")
            }
            Some(Parted::Orphan) => format!("what is kept begins with a result whose call is nowhere, message {cut}"),
        };
        if !self.settings.quiet {
            let pairs = self.settings.policy.pairs;
            self.line(&format!(
                "{}: {what}, as --pairs {pairs} lets it; --pairs strict does not",
                readable_source(source)
            ));
        }
    }

    /// That the last line is only the beginning of one.
    pub fn broken_off(self, source: &str, line: usize) {
        if !self.settings.quiet {
            self.line(&format!("{}: line {line} breaks off; it is left as it is", readable_source(source)));
        }
    }

    /// That nothing of the history was left to be sent, and what stands for a summary.
    pub fn nothing_sent(self, source: &str, text: &str) {
        if !self.settings.quiet {
            self.line(&format!(
                "{}: nothing of the history is left within --trim-tokens, so no summarizer is asked, and the summary is: {text}",
                readable_source(source)
            ));
        }
    }

    /// That the embedded summarizer found nothing that would be smaller than what it replaces; where that is not what
    /// decides otherwise, it is said without being asked.
    pub fn left(self, source: &str, why: &str) {
        let unexpected = self.settings.accept == Accept::Any && !self.settings.quiet;
        if self.settings.verbose || unexpected {
            self.line(&format!("{}: left as it is: {why}", readable_source(source)));
        }
    }

    /// That there is no summary, where that does not end the program.
    pub fn failed(self, source: &str, message: &str, on_error: OnError) {
        let instead = match on_error {
            OnError::Fail => return,
            OnError::Passthrough => "the transcript is left as it is",
            OnError::Extractive => "the embedded summarizer is used instead",
            OnError::Embed if self.settings.archive.is_some() => "the summary is this message",
            OnError::Embed => "the summary is this message, and the history is gone",
        };
        self.line(&format!("{}: {message}; {instead}", readable_source(source)));
    }

    /// That a model's summary goes without the facts that it lacks.
    pub fn without_ledger(self, source: &str, fault: &Fault) {
        self.line(&format!("{}: {fault}; the summary has no ledger beside it", readable_source(source)));
    }

    /// That a page goes without a conversation.
    pub fn not_drawn(self, source: &str, fault: &Fault) {
        self.line(&format!("{}: {fault}; the page does not show this conversation", readable_source(source)));
    }

    /// That nobody said who was to write the summary.
    pub fn default_summarizer(self) {
        if !self.settings.quiet && !self.settings.summarizer_chosen && self.settings.embedded() {
            self.line(
                "summarized by the embedded summarizer; --model names another, and --model extractive silences this line",
            );
        }
    }

    /// That the embedded summarizer takes no prompt, where the user gave one.
    pub fn prompt_not_used(self) {
        if !self.settings.quiet
            && let Some(from) = self.settings.template_from
            && self.settings.embedded()
        {
            self.line(&format!(
                "the embedded summarizer takes no prompt, so {from} is not used; name a model with --model"
            ));
        }
    }

    /// What became of one of several inputs.
    pub fn became(self, source: &str, what: &str) {
        if self.settings.verbose {
            self.line(&format!("{}: {what}", readable_source(source)));
        }
    }

    /// That one of several inputs has no result.
    pub fn input_failed(self, message: &str) {
        self.line(message);
    }

    /// What came of all inputs.
    pub fn totals(self, totals: &Totals) {
        if !self.settings.quiet {
            self.line(&totals.sentence());
        }
    }

    fn line(self, text: &str) {
        print_line(text);
    }
}

/// What happens between two requests.
pub fn between(between: Between<'_>) {
    match between {
        Between::Wait(why, pause) => print_line(&format!("{why}; trying again in {:.1} seconds", pause.as_secs_f64())),
        Between::Change(why, change) => {
            print_line(&format!("{}; asking again {change}, from now on", why.trim_end_matches('.')));
        }
        Between::Stop(why) => print_line(&format!(
            "{MOST_IN_A_ROW} requests in a row failed, so no more are sent: {why}; mend that and run again"
        )),
        Between::Slower(why, at_once) => {
            let requests = if at_once == 1 { "request" } else { "requests" };
            print_line(&format!("{why}; at most {at_once} {requests} at once until the server answers again"));
        }
    }
}

/// Of that, what matters to all, and the waits which take long enough to wonder.
pub fn long_waits(what: Between<'_>) {
    const LONG: Duration = Duration::from_secs(10);
    match what {
        Between::Wait(_, pause) if pause < LONG => {}
        Between::Change(..) => {}
        Between::Wait(..) | Between::Stop(_) | Between::Slower(..) => between(what),
    }
}

/// How many of the lines of a text an archive put back, where it was lines, and what in the archive cannot be read.
pub fn restored(archive: &Path, lines: Option<(usize, usize)>, damaged: Option<&str>) {
    damaged.into_iter().for_each(print_line);
    if let Some((put_back, all)) = lines.filter(|(put_back, all)| put_back < all) {
        print_line(&format!(
            "{put_back} of {all} lines were put back; {} has nothing of the others",
            archive.display()
        ));
    }
}

fn print_line(text: &str) {
    // Where nobody can be told, the work goes on.
    beside_the_bar(|| drop(writeln!(anstream::stderr(), "tcompact: {}", sanitize_line(text))));
}
