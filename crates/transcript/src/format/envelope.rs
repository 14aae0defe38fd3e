//! What the object around the messages tells of their format.

use crate::json::Object;
use crate::match_score::EnvelopeScore;

/// A rule for the object around the messages.
#[derive(Debug)]
pub enum EnvelopeRule {
    /// Its members tell a format.
    Members {
        /// All of these are there.
        all: &'static [&'static str],
        /// One of these is there, unless the list is empty.
        any: &'static [&'static str],
        /// What it then says.
        score: EnvelopeScore,
    },
    /// Their values tell it.
    Values(fn(&Object<'_>) -> EnvelopeScore),
}

impl EnvelopeRule {
    /// One of the members says that the format is likely.
    pub(crate) const fn likely(any: &'static [&'static str]) -> Self {
        EnvelopeRule::Members { all: &[], any, score: EnvelopeScore::Likely }
    }

    pub(super) fn score(&self, envelope: &Object<'_>) -> EnvelopeScore {
        let (all, any, score) = match self {
            EnvelopeRule::Members { all, any, score } => (all, any, *score),
            EnvelopeRule::Values(read) => return read(envelope),
        };
        let has = |key: &&str| envelope.get(key).is_some();
        let holds = all.iter().all(has) && (any.is_empty() || any.iter().any(has));
        if holds { score } else { EnvelopeScore::Unknown }
    }
}
