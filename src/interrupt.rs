//! What an interrupt does: it ends the program at once, takes its unfinished files away, and ends the commands that it
//! runs, which a terminal would not tell: each is in a process group of its own.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::Mutex;
#[cfg(unix)]
use std::thread;

use tempfile::NamedTempFile;

use crate::exit::Exit;
use crate::sync::lock;

/// The process groups of the commands that run.
static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
/// The files that are not in their place yet.
static TEMPORARY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// What an interrupt is to say, where it is to say anything.
static LAST_WORDS: Mutex<Option<String>> = Mutex::new(None);

/// Has an interrupt say this from now on.
pub(crate) fn say_at_end(line: String) {
    lock(&LAST_WORDS).replace(line);
}

/// Has an interrupt, or another signal to end, end the program with the code for it, whatever it waits for. Files are
/// replaced whole or not at all, so what was written is. A terminal that closes is left to whoever started the program:
/// `nohup` has it go on.
#[cfg(unix)]
pub(crate) fn end_at_once() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    // Without it a signal ends the program all the same, and only the code is another.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            if let Some(line) = lock(&LAST_WORDS).take() {
                // Where nobody can be told, the exit code says it.
                let _ = writeln!(io::stderr(), "{line}");
            }
            leave(Exit::Interrupted);
        }
    });
}

/// Ends the program at once, whatever its threads do, with nothing unfinished left behind.
pub(crate) fn leave(exit: Exit) -> ! {
    let running = lock(&RUNNING);
    running.iter().copied().for_each(kill_group);
    let temporary = lock(&TEMPORARY);
    temporary.iter().for_each(|file| drop(fs::remove_file(file)));
    std::process::exit(exit as i32)
}

/// The system ends the program by itself.
#[cfg(not(unix))]
pub(crate) fn end_at_once() {}

/// Has no image of the program's memory written should it come to grief: a key is in it.
#[cfg(unix)]
pub(crate) fn leave_no_core() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    // Linux hands a core to a program in spite of a limit of 0, and not with a limit of 1; to a file it fits neither.
    const NONE: u64 = 1;
    let mut limit = getrlimit(Resource::Core);
    limit.current = Some(limit.maximum.map_or(NONE, |most| most.min(NONE)));
    // Less is always allowed.
    let _ = setrlimit(Resource::Core, limit);
}

/// There are none.
#[cfg(not(unix))]
pub(crate) fn leave_no_core() {}

/// A command that is running, to be ended with the program; no longer when this is dropped.
#[derive(Debug)]
pub(crate) struct Running(u32);

impl Running {
    /// Starts a command that leads a process group. An interrupt waits until the command is known, so that none is left
    /// behind.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start(command: &mut Command) -> io::Result<(Child, Self)> {
        let mut running = lock(&RUNNING);
        let child = command.spawn()?;
        running.insert(child.id());
        let group = Running(child.id());
        Ok((child, group))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        lock(&RUNNING).remove(&self.0);
    }
}

/// A file that goes with the program if that is interrupted; no longer when this is dropped.
#[derive(Debug)]
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    /// Makes a file that is not in its place yet. No interrupt comes between its making and the knowing of it.
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn of(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<(NamedTempFile, Self)> {
        let mut known = lock(&TEMPORARY);
        let file = make()?;
        known.insert(file.path().to_owned());
        let temporary = Temporary(file.path().to_owned());
        Ok((file, temporary))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        lock(&TEMPORARY).remove(&self.0);
    }
}

/// Kills all processes of a group.
#[cfg(unix)]
pub(crate) fn kill_group(group: u32) {
    // No process has the number 0, and there is no such group.
    if let Some(group) = i32::try_from(group).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// There are no process groups.
#[cfg(not(unix))]
pub(crate) fn kill_group(_group: u32) {}
