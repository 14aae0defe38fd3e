//! What an interrupt does: it ends the program at once, takes its unfinished files away, and ends the commands that it
//! runs, which a terminal would not tell: each is in a process group of its own.

use std::collections::BTreeSet;
#[cfg(unix)]
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
#[cfg(unix)]
use std::thread;

#[cfg(unix)]
use crate::exit::Exit;

/// The process groups of the commands that run.
static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
/// The files that are not in their place yet.
static TEMPORARY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Has an interrupt, or another signal to end, end the program with the code for it, whatever it waits for. Files are
/// replaced whole or not at all, so what was written is. A terminal that closes is left to whoever started the program:
/// `nohup` has it go on.
#[cfg(unix)]
pub fn end_at_once() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    // Without it a signal ends the program all the same, and only the code is another.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            running.iter().copied().for_each(kill_group);
            let temporary = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner);
            temporary.iter().for_each(|file| drop(fs::remove_file(file)));
            std::process::exit(Exit::Interrupted as i32);
        }
    });
}

/// The system ends the program by itself.
#[cfg(not(unix))]
pub fn end_at_once() {}

/// A command that is running, to be ended with the program; no longer when this is dropped.
#[derive(Debug)]
pub struct Running(u32);

impl Running {
    /// The command that leads a process group.
    pub fn new(group: u32) -> Self {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).insert(group);
        Running(group)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// A file that goes with the program if that is interrupted; no longer when this is dropped.
#[derive(Debug)]
pub struct Temporary(PathBuf);

impl Temporary {
    /// A file that is not in its place yet.
    pub fn new(file: &Path) -> Self {
        TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).insert(file.to_owned());
        Temporary(file.to_owned())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// Kills all processes of a group.
#[cfg(unix)]
pub fn kill_group(group: u32) {
    // No process has the number 0, and there is no such group.
    if let Some(group) = i32::try_from(group).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// There are no process groups.
#[cfg(not(unix))]
pub fn kill_group(_group: u32) {}
