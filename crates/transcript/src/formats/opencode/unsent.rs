//! What opencode keeps of a session and sends to no model: what its screen shows of results, and the files that a turn
//! changed, before and after.

use crate::unsent_forms::{Shortened, UnsentForms, UnsentMember};

const OUTPUT: Shortened = Shortened::Lines(10);
const CHANGE: Shortened = Shortened::Hunks(60);

pub(super) const FORMS: UnsentForms = UnsentForms {
    entries: &[],
    members: &[
        UnsentMember::new(&[], &["parts", "*", "state", "metadata", "filediff", "before"], Shortened::Empty),
        UnsentMember::new(&[], &["parts", "*", "state", "metadata", "filediff", "after"], Shortened::Empty),
        UnsentMember::new(&[], &["parts", "*", "state", "metadata", "diff"], CHANGE),
        UnsentMember::new(&[], &["parts", "*", "state", "metadata", "output"], OUTPUT),
        UnsentMember::new(&[], &["parts", "*", "state", "metadata", "preview"], OUTPUT),
        UnsentMember::new(&[], &["info", "summary", "diffs", "*", "before"], Shortened::Empty),
        UnsentMember::new(&[], &["info", "summary", "diffs", "*", "after"], Shortened::Empty),
        UnsentMember::new(&[], &["info", "summary", "diffs", "*", "patch"], CHANGE),
    ],
    kept: &[],
    links: None,
};
