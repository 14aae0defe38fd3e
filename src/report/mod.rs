//! What a run reports to people and programs: lines on standard error, JSON, a picture, a page.

pub(crate) mod brief;
pub(crate) mod columns;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod reporter;
mod shares;
pub(crate) mod terminal;

use std::collections::BTreeMap;

use crate::wording::counted;

/// Names secrets by kind: `2 github tokens, 1 password`.
pub(crate) fn by_kind(counts: &BTreeMap<&'static str, u64>) -> String {
    let mut kinds = Vec::new();
    for (kind, count) in counts {
        kinds.push(counted(*count, &kind.replace('-', " ")));
    }
    kinds.join(", ")
}
