//! Files and standard streams: reads them, and writes them whole or not at all.

pub(crate) mod agent_homes;
pub(crate) mod append;
pub(crate) mod atomic;
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod attributes;
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
mod attributes {
    pub(super) fn copy(_from: &std::path::Path, _to: &std::fs::File) {}
}
pub(crate) mod beside_archive;
pub(crate) mod blocks;
pub(crate) mod compression;
mod file_kind;
pub(crate) mod hashed;
pub(crate) mod input;
pub(crate) mod open_files;
pub(crate) mod output;
pub(crate) mod paths;
pub(crate) mod record_hash;
pub(crate) mod replacing;
pub(crate) mod spool;
pub(crate) mod written;
