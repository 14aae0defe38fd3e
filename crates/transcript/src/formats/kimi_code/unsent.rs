//! What Kimi Code writes to its sessions and sends to no model: a copy of each message for other programs, and the tools of
//! each request.
//!
//! No line goes: Kimi Code's own summaries name lines of the file by their numbers.

use crate::unsent_forms::{Conditions, KeptMember, Shortened, UnsentForms, UnsentMember};

const COPY: Conditions = &[(&["type"], "agent.message.appended")];
const COMPACTION: Conditions = &[(&["type"], "context.apply_compaction")];
const TOOLS: Conditions = &[(&["type"], "llm.tools_snapshot")];

pub(super) const FORMS: UnsentForms = UnsentForms {
    entries: &[],
    members: &[
        UnsentMember::new(COPY, &["message", "message", "content"], Shortened::Empty),
        UnsentMember::new(COPY, &["message", "message", "toolCalls"], Shortened::Empty),
        UnsentMember::new(TOOLS, &["tools"], Shortened::Empty),
    ],
    // The screen shows it where the model is sent a longer one.
    kept: &[KeptMember { of: COMPACTION, path: &["summary"] }],
    links: None,
};
