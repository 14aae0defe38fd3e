//! Standard streams: what is behind them, and which were closed when the program started.
//!
//! Before `main`, Rust opens `/dev/null` in the place of each closed one, and nothing shows afterwards that a result went nowhere. So
//! this looks earlier, in a function that the system calls when it has loaded the program.

#![cfg_attr(unix, allow(unsafe_code, reason = "there is no other way to have a function called before `main`"))]

#[cfg(unix)]
use std::fs::File;
use std::fs::Metadata;
use std::io::{self, Write};
#[cfg(unix)]
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::sanitize::sanitize;

static STDIN_WAS_CLOSED: AtomicBool = AtomicBool::new(false);
static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

#[cfg(unix)]
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static LOOK: extern "C" fn() = look;

/// Only asks the system: the standard library is not ready yet.
#[cfg(unix)]
extern "C" fn look() {
    use rustix::io::{Errno, fcntl_getfd};
    use rustix::stdio::{stdin, stdout};
    STDIN_WAS_CLOSED.store(fcntl_getfd(stdin()) == Err(Errno::BADF), Ordering::Relaxed);
    STDOUT_WAS_CLOSED.store(fcntl_getfd(stdout()) == Err(Errno::BADF), Ordering::Relaxed);
}

/// # Errors
/// Standard input was closed.
pub(crate) fn check_stdin() -> io::Result<()> {
    check(&STDIN_WAS_CLOSED)
}

/// # Errors
/// Standard output was closed.
pub(crate) fn check_stdout() -> io::Result<()> {
    check(&STDOUT_WAS_CLOSED)
}

fn check(was_closed: &AtomicBool) -> io::Result<()> {
    if was_closed.load(Ordering::Relaxed) { Err(io::Error::other("it is closed")) } else { Ok(()) }
}

/// The metadata of the file behind standard input, on systems that tell.
pub(crate) fn metadata_of_stdin() -> Option<Metadata> {
    metadata_of(io::stdin())
}

/// The metadata of the file behind standard output, on systems that tell.
pub(crate) fn metadata_of_stdout() -> Option<Metadata> {
    metadata_of(io::stdout())
}

#[cfg(unix)]
fn metadata_of(stream: impl AsFd) -> Option<Metadata> {
    File::from(stream.as_fd().try_clone_to_owned().ok()?).metadata().ok()
}

#[cfg(not(unix))]
fn metadata_of<T>(_stream: T) -> Option<Metadata> {
    None
}

/// Prints an error to standard error.
pub(crate) fn complain(message: &str) {
    let red = clap::builder::styling::AnsiColor::Red.on_default().bold();
    // If standard error is closed, the exit code still reports the error.
    let _ = writeln!(anstream::stderr(), "{red}tcompact{red:#}: {}", sanitize(message));
}
