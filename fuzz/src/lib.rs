//! What tcompact promises, as functions of any bytes. Each panics where a promise is broken.
//!
//! libFuzzer drives them (`cargo +nightly fuzz run TARGET`), and so does `drive`, which needs nothing but a stable
//! toolchain. The laws themselves are those of the tests.

mod choices;
mod conversation;
mod journal;
#[path = "../../tests/integration/lawful.rs"]
mod lawful;
mod mutate;
mod python;
mod seeds;
mod settings;
mod summary;
pub mod whole;

pub use mutate::Mutator;
pub use seeds::{FIXTURES, seeds_of};

/// Something that reads what it did not write.
pub struct Target {
    /// Its name, that of its file in `fuzz_targets`.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "read", about: "telling and reading every format, counting, breaches", run: conversation::read },
    Target { name: "edit", about: "a summary in the place of messages: the laws", run: conversation::edit },
    Target { name: "repair", about: "mending breaches, and compacting what is mended", run: conversation::repair },
    Target {
        name: "compact",
        about: "the whole program in memory: presets, pins, truncation, redaction, and the way back",
        run: whole::compact,
    },
    Target { name: "restore", about: "archives that anybody wrote, and texts put back by them", run: whole::restore },
    Target { name: "config", about: "config files in TOML, YAML and DeerFlow's, and variables", run: settings::config },
    Target { name: "size", about: "the grammars of sizes, pairs, counters and pins", run: settings::size },
    Target { name: "answers", about: "what providers answer, and whether it is taken", run: summary::answers },
    Target { name: "journal", about: "the journal of a directory", run: journal::journal },
    Target { name: "ledger", about: "facts of any text, written and read", run: summary::ledger },
    Target { name: "extractive", about: "the embedded summarizer on any text", run: summary::extractive },
    Target { name: "python", about: "Python's repr, json, numbers and format strings", run: python::python },
];

/// The target called so.
///
/// # Panics
/// There is none.
pub fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| panic!("there is no target {name}"))
}

/// Gives a target some bytes.
///
/// # Panics
/// A promise is broken.
pub fn run(name: &str, bytes: &[u8]) {
    (target(name).run)(bytes);
}
