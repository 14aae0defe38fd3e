//! What programs write around texts of theirs that stand in the user's place. Each agent's frames are a table in the file
//! of its format ([`crate::format::Format::frames`]).
//!
//! A transcript can have been converted, so every frame is believed in every format.

/// A frame around what a program wrote.
#[derive(Debug, Clone, Copy)]
pub enum Frame {
    /// From the first opening to the last closing in a text: what stands inside can hold both. Words around it are the
    /// user's. An opening without a closing is no frame, as a person can have pasted it.
    Tag(&'static str, &'static str),
    /// From an opening at the beginning of a text to the last closing in it. Words behind it are the user's.
    Head(&'static str, &'static str),
    /// From an opening at the beginning of a text to the first closing behind it: a program wrote what stands between.
    /// Words behind it are the user's.
    Preamble(&'static str, &'static str),
    /// The same as a head, where the first line stands for what the user called.
    Called(&'static str, &'static str),
    /// A text that begins with the opening and ends with the closing.
    Whole(&'static str, &'static str),
    /// A text that begins with the opening.
    Opening(&'static str),
    /// From a line that begins with the opening to the end of the message, in the texts behind it too.
    Rest(&'static str),
}
