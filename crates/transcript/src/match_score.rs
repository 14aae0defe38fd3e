//! How well a value, and the object around a list, fit a format. [`crate::detect`] compares them.

/// How well a value fits a format, from the least specific to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchScore {
    /// The format cannot read the value.
    Mismatch,
    /// The value is not evidence for or against the format. It is not a message but may occur in files of this format, or a
    /// message that other formats write alike; only the other messages decide.
    Neutral,
    /// It is an entry that the format does not know, and that its agent skips. It is not evidence, and a list of nothing
    /// else is not of the format.
    Skipped,
    /// The format can read it, and so can others.
    Plain,
    /// It has a trait that the format shares with its variants; the text names the trait.
    Shared(&'static str),
    /// It is a message of another format with an addition that only this format has; the text names the addition. A
    /// format that sees the message as plain or shared is ruled out.
    Variant(&'static str),
    /// It has a trait that only this format has; the text names the trait.
    Own(&'static str),
    /// It is a summary with a mark that tcompact writes in this format alone; the text names the mark. It outweighs the
    /// traits of other formats, since the messages with those of this one can be gone.
    Marked(&'static str),
}

impl MatchScore {
    /// Whether the value alone is a message of the format.
    pub fn is_message(self) -> bool {
        !matches!(self, MatchScore::Mismatch | MatchScore::Neutral | MatchScore::Skipped)
    }
}

/// How well the object around the messages fits a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvelopeScore {
    /// It is not evidence.
    Unknown,
    /// It is of the format unless the messages contradict.
    Likely,
    /// It is of the format.
    Sure,
}
