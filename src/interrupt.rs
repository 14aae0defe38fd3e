//! Interrupts: the program exits at once, removes its unfinished files, and kills its commands. A terminal would not
//! signal these: each has a process group of its own.

use std::collections::BTreeSet;
#[cfg(unix)]
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
#[cfg(unix)]
use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use tempfile::NamedTempFile;

use crate::exit::Exit;
use crate::standard_streams::complain;
use crate::sync::lock;

/// The process groups of the running commands.
static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
/// The unfinished files.
static TEMPORARY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The files and folders that an interrupt removes where they are empty, in this order.
static REMOVED_IF_EMPTY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The number of works that an interrupt waits for.
static UNINTERRUPTED: Mutex<usize> = Mutex::new(0);

/// The line that an interrupt prints.
static LAST_LINE: Mutex<Option<String>> = Mutex::new(None);

/// Sets the line that an interrupt prints.
pub(crate) fn report_at_end(line: String) {
    lock(&LAST_LINE).replace(line);
}

/// Sets the files and folders that an interrupt removes where they are empty, in this order.
pub(crate) fn remove_if_empty(paths: Vec<PathBuf>) {
    *lock(&REMOVED_IF_EMPTY) = paths;
}

/// Makes every signal that asks a program to end do so at once with [`Exit::Interrupted`]: an alarm, the limit of
/// `ulimit -t` and those that batch systems send, too. Files are replaced whole or not at all, so what is written is
/// whole. A SIGHUP that is ignored stays so: `nohup` asks for that.
#[cfg(unix)]
pub(crate) fn exit_on_signals() {
    use signal_hook::consts::{
        SIGALRM, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU,
    };
    let hangup = if is_hangup_ignored() { None } else { Some(SIGHUP) };
    let ending = [SIGINT, SIGTERM, SIGQUIT, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGUSR1, SIGUSR2];
    let ending = ending.into_iter().chain(hangup);
    // Without a handler the signals still end the program, with another code.
    let Ok(mut signals) = signal_hook::iterator::Signals::new(ending) else { return };
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            if let Some(line) = lock(&LAST_LINE).take() {
                // If it cannot be printed, the exit code still tells.
                let _ = writeln!(io::stderr(), "{line}");
            }
            exit_now(Exit::Interrupted);
        }
    });
}

/// Whether the program was started with SIGHUP ignored.
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").ok();
    status.and_then(|status| ignores_hangup(&status)).unwrap_or_else(child_ignores_hangup)
}

/// Whether a process ignores SIGHUP, by its status in `/proc`; nothing if that does not say.
#[cfg(unix)]
fn ignores_hangup(status: &str) -> Option<bool> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let bit = 1 << (signal_hook::consts::SIGHUP - 1);
    u64::from_str_radix(mask.trim(), 16).ok().map(|mask| mask & bit != 0)
}

/// Whether a child outlives SIGHUP. It inherits which signals are ignored, and not every system says that elsewhere.
#[cfg(unix)]
fn child_ignores_hangup() -> bool {
    let mut child = Command::new("/bin/sh");
    child.args(["-c", "kill -s HUP $$"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    child.status().is_ok_and(|status| status.success())
}

/// Does what an interrupt must not leave half done: an interrupt waits for it, if it is soon done.
pub(crate) fn uninterrupted<T>(work: impl FnOnce() -> T) -> T {
    *lock(&UNINTERRUPTED) += 1;
    let _counted = UninterruptedWork;
    work()
}

/// Is counted until it is dropped.
struct UninterruptedWork;

impl Drop for UninterruptedWork {
    fn drop(&mut self) {
        *lock(&UNINTERRUPTED) -= 1;
    }
}

/// Kills the commands that still run at the end of the program.
pub(crate) fn end_commands() {
    lock(&RUNNING).iter().copied().for_each(kill_group);
}

/// Ends the program at once with an error, whatever its threads do. Of several that fail, the first is reported.
pub(crate) fn fail_now(exit: Exit, message: &str) -> ! {
    static FAILING: Mutex<()> = Mutex::new(());
    let _held = lock(&FAILING);
    complain(message);
    exit_now(exit)
}

/// Ends the program at once, whatever its threads do. Removes unfinished files and kills commands.
pub(crate) fn exit_now(exit: Exit) -> ! {
    const PATIENCE: Duration = Duration::from_secs(2);
    let asked = Instant::now();
    let _held = loop {
        let works = lock(&UNINTERRUPTED);
        if *works == 0 || asked.elapsed() >= PATIENCE {
            break works;
        }
        drop(works);
        thread::sleep(Duration::from_millis(5));
    };
    let running = lock(&RUNNING);
    running.iter().copied().for_each(kill_group);
    let temporary = lock(&TEMPORARY);
    temporary.iter().for_each(|file| drop(fs::remove_file(file)));
    for path in lock(&REMOVED_IF_EMPTY).iter() {
        match fs::symlink_metadata(path) {
            Ok(there) if there.is_dir() => drop(fs::remove_dir(path)),
            Ok(there) if there.is_file() && there.len() == 0 => drop(fs::remove_file(path)),
            _ => {}
        }
    }
    std::process::exit(exit as i32)
}

/// The system ends the program.
#[cfg(not(unix))]
pub(crate) fn exit_on_signals() {}

/// Makes a file that grows beyond the limit of `ulimit -f` an error of writing, as a full disk is. Else SIGXFSZ ends
/// the program without a word. Commands that it starts do not inherit this.
#[cfg(unix)]
pub(crate) fn survive_file_size_limit() {
    // Nobody asks whether the signal came: the error says so. Without the handler, it ends the program as before.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// There is no such limit.
#[cfg(not(unix))]
pub(crate) fn survive_file_size_limit() {}

/// Disables core dumps: a key is in memory.
#[cfg(unix)]
pub(crate) fn disable_core_dumps() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    // With a limit of 0, Linux still pipes a core to a program; with 1 it does not. No core fits a file of 1 byte
    // either.
    const NONE: u64 = 1;
    let mut limit = getrlimit(Resource::Core);
    limit.current = Some(limit.maximum.map_or(NONE, |most| most.min(NONE)));
    // A lower limit is always allowed.
    let _ = setrlimit(Resource::Core, limit);
}

/// There are no core dumps to disable.
#[cfg(not(unix))]
pub(crate) fn disable_core_dumps() {}

/// A running command. It is killed with the program until this is dropped.
#[derive(Debug)]
pub(crate) struct Running(u32);

impl Running {
    /// Starts a command in a process group of its own. An interrupt waits until the command is registered, so that none
    /// outlives the program.
    ///
    /// # Errors
    /// The command cannot be started.
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

/// An unfinished file. An interrupt removes it until this is dropped.
#[derive(Debug)]
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    /// Creates an unfinished file. An interrupt waits until the file is registered.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(crate) fn create(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<(NamedTempFile, Self)> {
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
    // Process 0 does not exist, and neither does its group.
    if let Some(group) = i32::try_from(group).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// Kills a process and all that it started: there are no process groups.
#[cfg(not(unix))]
pub(crate) fn kill_group(process: u32) {
    let mut command = Command::new("taskkill");
    command.args(["/T", "/F", "/PID", &process.to_string()]);
    let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_child_says_of_an_ignored_hangup_what_the_system_says() {
        let mask = |mask: &str| ignores_hangup(&format!("Name:\tx\nSigIgn:\t{mask}\nSigCgt:\t0000000000000001\n"));
        assert_eq!(mask("0000000000001000"), Some(false));
        assert_eq!(mask("0000000000001001"), Some(true));
        assert_eq!(ignores_hangup("Name:\tx\n"), None);
        if let Ok(status) = fs::read_to_string("/proc/self/status") {
            assert_eq!(ignores_hangup(&status), Some(child_ignores_hangup()));
        }
    }
}
