//! The fixed phrases of a summary, by which the next one recognizes its lines.

use crate::summary::record::SummarySection;

/// The sections with their headings in lower case.
pub(super) const SECTIONS: [(SummarySection, &str); 4] = [
    (SummarySection::Intent, "session intent"),
    (SummarySection::Summary, "summary"),
    (SummarySection::Artifacts, "artifacts"),
    (SummarySection::NextSteps, "next steps"),
];

/// The prefix of the user's words in a summary that is too small for headings.
pub(super) const USER: &str = "User: ";
/// The prefix of the model's last report.
pub(super) const REPORT: &str = "Last report: ";
/// The prefix of commands that succeeded without output.
pub(super) const RAN_WELL: &str = "Ran ok: ";
/// The prefix of items of the plan that are done.
pub(super) const DONE: &str = "Done: ";
/// The prefixes of a question without an answer and of a call without a result.
pub(super) const OPEN_QUESTION: &str = "Open question: ";
pub(super) const NO_RESULT: &str = "No result yet: ";
/// Opens the subject of files changed since a command ran, which the command and a "`" end.
pub(super) const CHANGED_SINCE: &str = "Changed since the last run of `";
/// The subject of steps that the model planned and the user agreed to, before more work.
pub(super) const PLANNED: &str = "Planned then";
/// The subject of what the model thought and did not tell the user, of what another agent reported to it, and of what it
/// planned last in thought.
pub(super) const THOUGHT: &str = "Thought";
pub(super) const OTHER_AGENT: &str = "Another agent";
pub(super) const LAST_PLAN: &str = "Last plan";
/// The subject of an error that is fixed.
pub(super) const ERROR_GONE: &str = "Gone";
/// The statuses of plan items that are not done.
pub(super) const OPEN_STATUSES: [&str; 8] =
    ["in progress", "pending", "todo", "to do", "open", "not started", "blocked", "active"];

/// Prefix of a statement that may no longer hold.
pub(super) const WAS: &str = "was: ";
/// Opens the note with an earlier statement on the same matter, after the newer one.
pub(super) const EARLIER: &str = " (earlier: ";
/// Opens the note with an earlier statement that may no longer hold.
pub(super) const FORMERLY: &str = " (was: ";
/// The subject of a request that nobody has answered yet.
pub(super) const LAST_REQUEST: &str = "Open request";
