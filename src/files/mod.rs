//! Files and standard streams: reads them, and writes them whole or not at all.

pub(crate) mod append;
pub(crate) mod atomic;
pub(crate) mod compression;
pub(crate) mod input;
pub(crate) mod output;
pub(crate) mod paths;
