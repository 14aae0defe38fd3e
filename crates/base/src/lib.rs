//! What every part of tcompact may use. It knows nothing of transcripts. Unstable: made for tcompact.
//!
//! - [`exit`]: exit codes, and the errors that end in them.
//! - [`diagnostic`]: what is wrong with a text, what was probably meant, and what to try.
//! - [`fault`]: panics are caught where they cost least, and become errors.
//! - [`wording`]: numbers and names in sentences.
//! - [`sanitize`]: characters that a terminal obeys.
//! - [`pattern`]: regular expressions. [`hash`]: SHA-256. [`sync`]: locks.

pub mod diagnostic;
pub mod exit;
pub mod fault;
pub mod hash;
pub mod pattern;
pub mod sanitize;
pub mod sync;
pub mod wording;
