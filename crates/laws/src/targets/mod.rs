//! The targets of fuzzing: one law each, for any bytes.

mod conversation;
mod journal;
mod python;
mod settings;
mod summary;

use crate::whole;

/// A reader of untrusted input.
pub struct Target {
    /// The name of its file in `fuzz/fuzz_targets`.
    pub name: &'static str,
    pub about: &'static str,
    /// Panics if the bytes break a promise.
    pub run: fn(&[u8]),
}

pub const TARGETS: &[Target] = &[
    Target { name: "read", about: "detecting and reading every format, counting, breaches", run: conversation::read },
    Target { name: "edit", about: "a summary in the place of messages: the laws", run: conversation::edit },
    Target { name: "repair", about: "repairing breaches, and compacting the result", run: conversation::repair },
    Target {
        name: "compact",
        about: "the whole program in memory: presets, pins, truncation, redaction, and the way back",
        run: whole::compact,
    },
    Target { name: "restore", about: "archives that anybody wrote, and texts put back by them", run: whole::restore },
    Target { name: "config", about: "config files in TOML, YAML and DeerFlow's, and variables", run: settings::config },
    Target { name: "size", about: "the grammars of sizes, pairs, counters and pins", run: settings::size },
    Target { name: "answers", about: "what providers answer, and whether it is accepted", run: summary::answers },
    Target { name: "journal", about: "the journal of a directory", run: journal::journal },
    Target { name: "ledger", about: "what stands beside a model's summary of any text", run: summary::ledger },
    Target { name: "extractive", about: "the embedded summarizer on any text", run: summary::extractive },
    Target { name: "python", about: "Python's repr, json, numbers and format strings", run: python::python },
];
