//! JSON as it stands in a text: checked in one pass, found by spans, edited in place. No tree is built, and what is not
//! edited stays byte for byte. Unstable: made for tcompact.
//!
//! - [`source`]: checks a text, and records where its long values end.
//! - [`json`]: a value is a span of a checked text. [`text`]: the contents of a JSON string, decoded where they are needed.
//! - [`edit`]: replaces ranges of a text.

pub mod edit;
pub mod json;
pub mod source;
pub mod text;
