//! Entries of session files that agents skip, because a newer version or another program wrote them.

use crate::format::MatchScore;
use crate::json::Object;

/// Members in which one format or another has what was said.
const SAID: [&str; 4] = ["content", "message", "parts", "role"];

/// How well an entry of no known type fits a session: it is skipped, unless it could be a message of another format.
pub(crate) fn match_unknown(entry: &Object<'_>) -> MatchScore {
    if SAID.iter().any(|key| entry.get(key).is_some()) { MatchScore::Mismatch } else { MatchScore::Skipped }
}
