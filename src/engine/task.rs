//! One input, with all that determines its result, and what all kinds of runs do with it: they report, explain and check.

use std::fmt::Display;

use anyhow::Result;

use crate::compact::{
    CompactionContext, CompactionEvent, CompactionPolicy, EarlierSummary, FileMasks, Planned, certain_files,
};
use crate::events::{Event, Listener, Saving, UnchangedReasons};
use crate::exit::Failure;
use crate::files::append;
use crate::files::input::Input;
use crate::plan::Plan;
use crate::plan::economy::Economy;
use crate::report::html::PageBuilder;
use crate::sanitize::sanitize_name;
use crate::settings::{Explain, Settings, Volume};
use crate::summary::exchange::SummaryBackend;
use crate::transcript::Transcript;
use crate::transcript::framing::Document;
use crate::transcript::view::Arena;
use crate::wording::{counted, readable_source};

use crate::engine::archive;
use crate::engine::listeners::notify;
use crate::engine::records::ArchivedRounds;
use crate::engine::sink::Sink;

/// One input, with all that determines its result.
#[derive(Clone, Copy)]
pub(super) struct Task<'r> {
    pub(super) input: &'r Input,
    pub(super) settings: &'r Settings,
    /// The policy of this input, which can name an archive of its own.
    pub(super) policy: &'r CompactionPolicy,
    /// Writes the summaries, unless the policy names the embedded summarizer.
    pub(super) backend: &'r dyn SummaryBackend,
    pub(super) listener: &'r dyn Listener,
    /// The page of `--html`.
    pub(super) page: Option<&'r PageBuilder>,
    /// Where the result goes.
    pub(super) sink: Option<&'r Sink<'r>>,
    /// The rounds of the summaries in the archive.
    pub(super) rounds: &'r ArchivedRounds,
    /// Whether there is or could be more than one input, so that each line of output names its input.
    pub(super) many: bool,
    /// Whether the input is what `--repair` made of another.
    pub(super) repaired: bool,
    /// What the input was before `--redact=all` masked it.
    pub(super) unmasked: Option<&'r Unmasked<'r>>,
}

/// What an input was before it was masked.
pub(super) struct Unmasked<'r> {
    pub(super) input: &'r Input,
    pub(super) document: &'r Document<'r>,
    pub(super) masks: &'r FileMasks,
}

impl Task<'_> {
    /// Reports an event to the listener.
    pub(super) fn notify(&self, event: Event<'_>) {
        notify(self.listener, event);
    }

    /// Reports the lines that are kept aside.
    pub(super) fn note_broken_lines(&self, document: &Document<'_>) {
        if !document.broken_lines.is_empty() {
            self.notify(Event::BrokenLines { source: &self.input.name, lines: &document.broken_lines });
        }
    }

    /// Returns a line with a number, after the name of the conversation if there may be several.
    pub(super) fn line(&self, source: &str, transcript: &Transcript<'_>, number: impl Display) -> String {
        if self.many || transcript.line.is_some() {
            format!("{}\t{number}\n", sanitize_name(source))
        } else {
            format!("{number}\n")
        }
    }

    /// Warns of protected tools that have no calls. Several inputs need not have the same tools, so there is no warning
    /// then.
    pub(super) fn warn_of_unknown_tools(&self, source: &str, planned: &Planned<'_>) {
        let unknown = if self.many || self.input.as_lines { Vec::new() } else { planned.unknown_tools(self.policy) };
        unknown.into_iter().for_each(|name| self.notify(Event::NoSuchTool { source, name }));
    }

    /// Counts a conversation as unchanged, with the reason, unless an event reports that already. `left` is why there is
    /// no summary, if that was expected.
    pub(super) fn note_unchanged(
        &self,
        document: &Document<'_>,
        source: &str,
        planned: &Planned<'_>,
        left: Option<String>,
        reasons: &mut UnchangedReasons,
    ) {
        let Plan { reason, refused, .. } = &planned.plan;
        let is_reported = self.policy.disabled.is_some() || self.policy.cut.never_triggers();
        let is_reported = is_reported || *refused && !self.settings.action.is_dry_run();
        let of_plan = reason.clone().filter(|_| !is_reported && !planned.is_change());
        let is_of_plan = left.is_none();
        let Some(reason) = left.or(of_plan) else { return };
        if self.is_one_of_several(document) || self.settings.stderr.volume == Volume::Quiet {
            return reasons.add(source, &reason, None);
        }
        // What was found out while summarizing names its own remedy.
        let advice = if is_of_plan { self.context(&|_, _| ()).advice(planned) } else { None };
        let has_tokens = || match planned.recorded(self.policy) {
            Some(recorded) => format!("it has {} by what it recorded itself, and ", counted(recorded, "token")),
            None => format!("it has {}, and ", counted(planned.tokens(self.policy), "token")),
        };
        let size = if planned.plan.triggered { String::new() } else { has_tokens() };
        reasons.add(source, &format!("{size}{reason}"), advice);
    }

    /// Draws a conversation, or returns its row in the table of several.
    pub(super) fn explain_plan(
        &self,
        explain: Option<Explain>,
        source: &str,
        plan: &Planned<'_>,
        earlier: &[EarlierSummary],
        economy: Option<&Economy>,
    ) -> Option<Saving> {
        match explain? {
            Explain::Picture => {
                self.notify(Event::Explained { source, plan, policy: self.policy, earlier, economy });
                None
            }
            Explain::Table => Some(Saving {
                source: readable_source(source).into_owned(),
                messages: plan.view.messages.len(),
                tokens: plan.tokens(self.policy),
                saved: plan.tally.sum(&plan.plan.summarized()),
            }),
        }
    }

    /// Refuses, before a summary is paid for, what could not be written or emitted afterwards.
    pub(super) fn check_plan(&self, source: &str, planned: &Planned<'_>) -> Result<()> {
        if !planned.is_change() {
            return if planned.edits.is_empty() { Ok(()) } else { self.check_places(false) };
        }
        if planned.plan.cutoff > 0 {
            self.notify(Event::Split { source, plan: &planned.plan, pairs: self.policy.cut.pairs });
            append::check_files(&certain_files(self.policy, planned))?;
        }
        self.check_places(true)?;
        self.check_state(source, planned)
    }

    /// Refuses a result that could not be written, or an archive of a preset. One that the user chose is checked before
    /// anything is read.
    pub(super) fn check_places(&self, is_archived: bool) -> Result<()> {
        self.sink.map_or(Ok(()), Sink::check)?;
        if is_archived && !self.settings.output.archive_chosen {
            archive::check(self.settings, self.policy, &[])?;
        }
        Ok(())
    }

    pub(super) fn context<'c>(&'c self, listen: &'c dyn Fn(&str, CompactionEvent<'_>)) -> CompactionContext<'c> {
        let Task { settings, policy, backend, .. } = *self;
        let counts = settings.needs_costs();
        CompactionContext { policy, backend, listen, counts }
    }

    /// Plans the compaction of a conversation of this name.
    pub(super) fn plan<'t>(
        &self,
        context: &CompactionContext<'_>,
        source: &str,
        transcript: &'t Transcript<'t>,
        arena: &'t Arena<'t>,
    ) -> Result<Planned<'t>> {
        context.plan(transcript, arena).map_err(|error| match error.downcast::<Failure>() {
            Ok(failure) => failure.of(readable_source(source)).into(),
            Err(error) => error,
        })
    }

    /// Returns how `--explain` draws a conversation of a document.
    pub(super) fn explain(&self, document: &Document<'_>) -> Option<Explain> {
        let explain = if self.is_one_of_several(document) { Explain::Table } else { Explain::Picture };
        self.settings.stderr.explain.then_some(explain)
    }

    pub(super) fn is_one_of_several(&self, document: &Document<'_>) -> bool {
        self.many || self.input.as_lines || document.transcripts.len() > 1
    }
}
