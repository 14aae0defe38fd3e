//! Bugs of tcompact: a panic is caught where it costs least, and becomes an error like any other.
//!
//! The message of a panic is never printed: it can quote the transcript.

use std::cell::RefCell;
use std::fmt;
use std::panic::{self, AssertUnwindSafe, Location};

thread_local! {
    /// The place of the last panic of this thread.
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A part of the program whose panics are caught.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramPart {
    /// The ledger beside a model's summary.
    Ledger,
    /// The embedded summarizer.
    Extractive,
    /// The drawing of a conversation for the page.
    Page,
    /// The work on an input.
    Input,
    /// The whole program.
    Program,
}

/// A panic that was caught.
#[derive(Debug)]
pub struct Fault {
    part: ProgramPart,
    place: Option<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.part {
            ProgramPart::Ledger => "the ledger hits a bug in tcompact",
            ProgramPart::Extractive => "the embedded summarizer hits a bug in tcompact",
            ProgramPart::Page => "the page hits a bug in tcompact",
            ProgramPart::Input => "this transcript hits a bug in tcompact",
            ProgramPart::Program => "this is a bug in tcompact",
        };
        f.write_str(what)?;
        if let Some(place) = &self.place {
            write!(f, " ({place})")?;
        }
        f.write_str(", please report it")
    }
}

/// Keeps panics from printing; [`caught`] reports their place. For the program only: users of the library set their own
/// hook.
pub fn install_hook() {
    panic::set_hook(Box::new(|info| LAST.set(info.location().and_then(place_in_tcompact))));
}

/// The file and the line of a place in tcompact. One in another library says little, and shows folders of the machine
/// that built it.
fn place_in_tcompact(place: &Location<'_>) -> Option<String> {
    let is_own = place.file().starts_with("src") || place.file().starts_with("crates");
    if is_own { Some(format!("{}:{}", place.file(), place.line())) } else { None }
}

/// Runs `work`.
///
/// # Errors
/// It panicked.
pub fn caught<T>(part: ProgramPart, work: impl FnOnce() -> T) -> Result<T, Fault> {
    let work = || {
        #[cfg(any(test, feature = "tests"))]
        failing::fail(part);
        work()
    };
    // A panic can leave counts and placeholders of secrets half done. No decision depends on them.
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|_| Fault { part, place: LAST.take() })
}

/// Parts that fail on purpose.
#[cfg(any(test, feature = "tests"))]
pub mod failing {
    use std::cell::Cell;

    use super::ProgramPart;

    thread_local! {
        static FAILING: Cell<Option<ProgramPart>> = const { Cell::new(None) };
    }

    pub(super) fn fail(part: ProgramPart) {
        assert!(FAILING.get() != Some(part), "on purpose: secret");
    }

    /// Runs `work` while a part panics wherever it runs on this thread.
    pub fn while_failing<T>(part: ProgramPart, work: impl FnOnce() -> T) -> T {
        FAILING.set(Some(part));
        let done = work();
        FAILING.set(None);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::failing::while_failing;
    use super::*;

    #[test]
    fn a_panic_is_an_error_without_its_message() {
        assert_eq!(caught(ProgramPart::Ledger, || 7).ok(), Some(7));
        let fault = while_failing(ProgramPart::Ledger, || caught(ProgramPart::Ledger, || ())).expect_err("it panicked");
        assert_eq!(fault.to_string(), "the ledger hits a bug in tcompact, please report it");
        let placed = Fault { place: Some("src/a.rs:7".to_owned()), ..fault };
        assert_eq!(placed.to_string(), "the ledger hits a bug in tcompact (src/a.rs:7), please report it");
    }
}
