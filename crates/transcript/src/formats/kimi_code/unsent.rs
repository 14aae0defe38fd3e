//! What Kimi Code writes to its sessions and sends to no model: a copy of each message for other programs, and the tools of
//! each request.
//!
//! No line goes: Kimi Code's own summaries name lines of the file by their numbers.

use crate::unsent_forms::{Conditions, Shortened, UnsentForms, UnsentMember};

const COPY: Conditions = &[(&["type"], "agent.message.appended")];
const TOOLS: Conditions = &[(&["type"], "llm.tools_snapshot")];

pub(super) const FORMS: UnsentForms = UnsentForms {
    entries: &[],
    members: &[
        UnsentMember::new(COPY, &["message", "message", "content"], Shortened::Empty),
        UnsentMember::new(COPY, &["message", "message", "toolCalls"], Shortened::Empty),
        UnsentMember::new(TOOLS, &["tools"], Shortened::Empty),
    ],
    links: None,
};
