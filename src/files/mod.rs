//! Files and standard streams: reading them, and writing them whole or not at all.

pub mod append;
pub mod atomic;
pub mod compression;
pub mod hash;
pub mod input;
pub mod links;
pub mod output;
