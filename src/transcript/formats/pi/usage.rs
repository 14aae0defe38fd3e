//! The sizes that pi records: the usage of each answer.

use crate::transcript::formats::pi::{Pi, is_compaction, is_summary};
use crate::transcript::formats::shared::times;
use crate::transcript::json::{Json, Object};
use crate::transcript::message::Message;
use crate::transcript::usage::{Names, Usage, UsageReader};

/// What was cached is counted beside the input.
const NAMES: Names = Names { read: "input", cached: &["cacheRead", "cacheWrite"], written: "output", total: "" };

impl UsageReader for Pi {
    fn usage<'a>(&self, message: &Message<'a>) -> Option<Usage<'a>> {
        let inner = Object::of(message.json.get("message")?);
        // pi does not take the sizes of these either.
        let is_broken = |reason: &str| inner.get_text("stopReason").is_some_and(|stopped| stopped.is(reason));
        if is_broken("aborted") || is_broken("error") {
            None
        } else {
            Usage::named(&Object::of(inner.get("usage")?), &NAMES)
        }
    }

    /// Ours stands before what is kept, and has a later time, by which pi itself tells what is older.
    fn is_newer(&self, entry: Json<'_>, summary: &Message<'_>) -> Option<bool> {
        let line = Object::of(summary.json);
        let is_later = || written(entry).zip(written(summary.json)).is_some_and(|(entry, summary)| entry > summary);
        is_summary(&line).then(|| !is_compaction(&line) || is_later())
    }
}

/// When an entry was written, in milliseconds.
fn written(entry: Json<'_>) -> Option<i64> {
    let inner = || entry.at(&["message", "timestamp"])?.raw().parse::<i64>().ok();
    inner().or_else(|| times::milliseconds(&entry.get_text("timestamp")?.decode()))
}
