//! The phrases that a summary is made of, by which the next one knows what it carries on.

use crate::summary::record::Section;

/// The sections with their headings in small letters.
pub(super) const SECTIONS: [(Section, &str); 4] = [
    (Section::Intent, "session intent"),
    (Section::Summary, "summary"),
    (Section::Artifacts, "artifacts"),
    (Section::NextSteps, "next steps"),
];

/// What stands before the user's words in a summary that is too small for headings.
pub(super) const USER: &str = "User: ";
/// What stands before the model's last words.
pub(super) const REPORT: &str = "Last report: ";
/// What stands before commands that ended well and said nothing.
pub(super) const RAN_WELL: &str = "Ran ok: ";
/// What stands before items of the plan that are done.
pub(super) const DONE: &str = "Done: ";
/// What stands before a question that nobody answered, and before a call.
pub(super) const OPEN_QUESTION: &str = "Open question: ";
pub(super) const NO_RESULT: &str = "No result yet: ";
/// What an error is that is gone.
pub(super) const ERROR_GONE: &str = "Gone";
/// How far an item of a plan is that is not done.
pub(super) const BE_OPEN: [&str; 8] =
    ["in progress", "pending", "todo", "to do", "open", "not started", "blocked", "active"];
