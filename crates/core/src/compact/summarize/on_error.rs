//! What takes the place of a summary that failed: `--on-error`.

use anyhow::Result;

use crate::compact::event::CompactionEvent;
use crate::compact::policy::{Accept, OnError};
use crate::compact::summarize::{Accepted, Session, Summarization, SummarySource};
use crate::diagnostic::Advice;
use crate::exit::{Exit, Failure};
use crate::fault::Fault;
use crate::summary::acceptance::Refusal;
use crate::summary::exchange::{FailureKind, NoAnswer, Reply, extractive};
use crate::transcript::Message;
use crate::wording::readable_source;

/// What takes the place of a summary that failed.
pub(super) enum Instead {
    Text(Accepted),
    /// Nothing: the conversation stays unchanged. `left` says why, where that is expected.
    Nothing {
        left: Option<String>,
    },
}

impl Summarization<'_, '_> {
    /// What `--on-error` puts in the place of a summary.
    ///
    /// # Errors
    /// The failure, where `--on-error` is `fail` or cannot help.
    pub(super) fn fall_back(&self, session: &mut Session, failed: &NoSummary) -> Result<Instead> {
        let policy = &self.policy.summary;
        let source = self.source;
        // The user must correct a prompt that cannot be filled, whatever `--on-error` says of a summarizer that fails.
        let is_prompt_wrong = failed.exit == Exit::Usage;
        // An error message of a server or a command can quote the conversation.
        let message = session.mask(failed.readable());
        let is_known = failed.kind == Some(FailureKind::Stopped);
        if self.is_embedded() && failed.exit != Exit::SummarizerFailed {
            // That is not an error: some histories have nothing to summarize.
            if !self.fitted.can_prune_alone() {
                return Ok(self.left(&failed.message));
            }
            self.report(CompactionEvent::PrunedAlone { message: &message });
            return Ok(Instead::Nothing { left: None });
        }
        let failure = || {
            let failure = Failure::new(failed.exit, format!("{}: {message}", readable_source(source)));
            failure.try_next(failed.remedy(self.is_embedded())).known(is_known)
        };
        match policy.on_error {
            OnError::Embed => {}
            OnError::Fail => return Err(failure().into()),
            _ if is_prompt_wrong => return Err(failure().into()),
            // The embedded summarizer does not help where it failed itself.
            OnError::Extractive if self.is_embedded() => return Err(failure().into()),
            _ => {}
        }
        let archived = self.policy.archive.is_some();
        self.report(CompactionEvent::Failed { message: &message, instead: policy.on_error, archived, is_known });
        match policy.on_error {
            OnError::Fail | OnError::Passthrough => Ok(Instead::Nothing { left: None }),
            OnError::Embed => {
                let text = session.mask(format!("{}{}", policy.recipe.error, failed.message));
                Ok(Instead::Text(Accepted { text, by: SummarySource::ErrorText }))
            }
            OnError::Extractive => {
                let messages: Vec<_> = self.messages(&self.summarized).collect();
                match self.judged_extractive(messages) {
                    Ok(reply) => Ok(Instead::Text(self.accepted(session, &reply, SummarySource::Embedded))),
                    Err(fault) if fault.exit == Exit::SummarizerFailed => {
                        let failure =
                            Failure::new(fault.exit, format!("{}: {}", readable_source(source), fault.message));
                        Err(failure.try_next(passthrough()).into())
                    }
                    Err(failed) => Ok(self.left(&failed.message)),
                }
            }
        }
    }

    /// Leaves the conversation unchanged, and reports why.
    fn left(&self, why: &str) -> Instead {
        let unexpected = self.policy.summary.accept == Accept::Any;
        self.report(CompactionEvent::Left { why, unexpected });
        Instead::Nothing { left: if unexpected { None } else { Some(why.to_owned()) } }
    }

    /// The embedded summarizer's text, where it is small enough.
    fn judged_extractive(&self, messages: Vec<&Message<'_>>) -> Result<Reply, NoSummary> {
        let reply = self.extractive(messages)?;
        self.judge_size(&reply.text)?;
        Ok(reply)
    }
}

/// Why there is no summary.
pub(in crate::compact) struct NoSummary {
    pub(in crate::compact) exit: Exit,
    pub(in crate::compact) message: String,
    /// The kind of failure, where a summarizer was asked in vain.
    pub(in crate::compact) kind: Option<FailureKind>,
}

impl NoSummary {
    /// What went wrong, for the user.
    pub(super) fn readable(&self) -> String {
        match self.exit {
            Exit::Usage => format!("the prompt cannot be filled: {}; {{messages}} is its only field", self.message),
            _ => self.message.clone(),
        }
    }

    pub(super) fn remedy(&self, is_embedded: bool) -> Advice {
        match self.exit {
            Exit::SummaryRefused => extractive("to go on without a model; --accept any takes the summary as it is"),
            Exit::SummarizerFailed if is_embedded => passthrough(),
            Exit::SummarizerFailed => self.kind.unwrap_or(FailureKind::Setup).remedy(),
            _ => Advice::Line("--prompt-file FILE with another prompt".to_owned()),
        }
    }
}

/// What to try where the embedded summarizer fails.
pub(super) fn passthrough() -> Advice {
    Advice::command(["--on-error", "passthrough"]).note("to leave such a transcript unchanged")
}

impl From<NoAnswer> for NoSummary {
    fn from(none: NoAnswer) -> Self {
        NoSummary { exit: Exit::SummarizerFailed, message: none.message, kind: Some(none.kind) }
    }
}

impl From<Fault> for NoSummary {
    fn from(fault: Fault) -> Self {
        NoSummary { exit: Exit::SummarizerFailed, message: fault.to_string(), kind: None }
    }
}

impl From<Refusal> for NoSummary {
    fn from(refusal: Refusal) -> Self {
        NoSummary { exit: Exit::SummaryRefused, message: refusal.to_string(), kind: None }
    }
}
