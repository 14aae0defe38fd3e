//! A command as summarizer: it reads the prompt from standard input and writes the summary to standard output.

use std::io::{self, ErrorKind, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::interrupt::{Running, kill_group};
use crate::llm::body::chunks;
use crate::wording::counted;

/// The longest name of a command in an error message, in characters.
pub(super) const NAMED: usize = 80;
/// The longest end of its standard error in an error message, in characters.
const SHOWN: usize = 300;

/// How long its standard error is still read after its end. Processes that it started can keep it open.
pub(super) const LAST_WORDS: Duration = Duration::from_millis(200);
/// How long its standard output is still read after its end. Processes that it started can keep it open, and write the
/// end of the answer.
pub(super) const GRACE: Duration = Duration::from_secs(1);
/// The pause between two looks at a running command.
pub(super) const PAUSE: Duration = Duration::from_millis(5);

/// The most bytes that are read of its output. A summary has a few thousand.
const MOST_OUTPUT: u64 = 16 << 20;

/// Runs `command` with the system's shell (`/bin/sh -c`, on Windows `cmd /C`), and returns its output.
///
/// # Errors
/// It could not be started, took longer than `timeout`, printed too much, or did not exit with 0. The message has the
/// end of its standard error.
pub(crate) fn run(command: &str, prompt: &str, timeout: Duration) -> Result<String, String> {
    let deadline = Instant::now() + timeout;
    let name = crate::summary::exchange::shown(command, NAMED);
    let (mut child, running) = match start(command) {
        Ok(started) => started,
        Err(error) => return Err(format!("`{name}` could not be started: {error}")),
    };
    let (mut stdout, mut stderr) = match serve_pipes(&mut child, prompt) {
        Ok(outputs) => outputs,
        Err(error) => {
            kill(&mut child);
            return Err(format!("`{name}` could not be started: {error}"));
        }
    };
    let finished = wait(&mut child, &mut stdout, deadline);
    drop(running);
    let status = match finished {
        Ok(status) => status,
        Err(stopped) => {
            kill(&mut child);
            let end = last_words(&mut stderr);
            return Err(match stopped {
                Stopped::TooLate => {
                    format!("`{name}` took longer than --timeout {}{end}", counted(timeout.as_secs_f64(), "second"))
                }
                Stopped::TooMuch => format!("`{name}` printed more than {MOST_OUTPUT} bytes{end}"),
            });
        }
    };
    if !status.success() {
        return Err(format!("`{name}` ended with {status}{}", last_words(&mut stderr)));
    }
    String::from_utf8(stdout.bytes).map_err(|_| format!("`{name}` printed something that is not UTF-8"))
}

/// Serves all three pipes of a command at once, as it can answer before it has read everything: writes the prompt, and
/// returns the standard output and the standard error.
fn serve_pipes(child: &mut Child, prompt: &str) -> io::Result<(Output, Output)> {
    if let Some(mut stdin) = child.stdin.take() {
        let prompt = prompt.to_owned();
        thread::Builder::new().spawn(move || {
            // A command need not read its whole input.
            let _ = stdin.write_all(prompt.as_bytes());
        })?;
    }
    Ok((Output::of(child.stdout.take())?, Output::of(child.stderr.take())?))
}

/// Why a command was stopped.
enum Stopped {
    TooLate,
    TooMuch,
}

/// What a command wrote to a pipe so far, and what comes from it, up to the limit.
struct Output {
    bytes: Vec<u8>,
    chunks: Receiver<io::Result<Vec<u8>>>,
}

impl Output {
    fn of(pipe: Option<impl Read + Send + 'static>) -> io::Result<Self> {
        let pipe = pipe.ok_or(ErrorKind::BrokenPipe)?;
        Ok(Output { bytes: Vec::new(), chunks: chunks(pipe.take(MOST_OUTPUT + 1))? })
    }

    /// Reads on for a time, and returns whether the pipe has ended.
    fn ends_within(&mut self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        loop {
            match self.chunks.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Ok(chunk)) => self.bytes.extend(chunk),
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => return false,
            }
        }
    }
}

/// Waits for the exit status and the output until the deadline. The output of a command that has exited is complete
/// after a short grace, even if a process that it started keeps it open.
fn wait(child: &mut Child, stdout: &mut Output, deadline: Instant) -> Result<ExitStatus, Stopped> {
    loop {
        let exited = child.try_wait().map_err(|_| Stopped::TooLate)?;
        let has_ended = stdout.ends_within(if exited.is_some() { GRACE } else { PAUSE });
        if stdout.bytes.len() as u64 > MOST_OUTPUT {
            return Err(Stopped::TooMuch);
        }
        if let Some(status) = exited {
            return Ok(status);
        }
        if Instant::now() >= deadline {
            return Err(Stopped::TooLate);
        }
        if has_ended {
            // The exit follows soon, if the command does not work on without its output.
            thread::sleep(PAUSE.min(deadline.saturating_duration_since(Instant::now())));
        }
    }
}

/// Starts a command with a pipe for each of its streams.
pub(super) fn start(command: &str) -> io::Result<(Child, Running)> {
    Running::start(shell(command).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()))
}

/// The shell that runs a command. It gets its own process group, so that the timeout also ends the processes that
/// it started.
#[cfg(not(windows))]
fn shell(command: &str) -> Command {
    // Not the first on the path: there can be others in the working directory.
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut shell, 0);
    shell
}

/// The shell that runs a command. `/D` leaves out what the registry has each shell run first. `cmd` does not take
/// arguments apart as other programs do: with `/S` it removes the outer quotes, and the rest is the command as it is.
#[cfg(windows)]
fn shell(command: &str) -> Command {
    use std::os::windows::process::CommandExt;
    let mut shell = Command::new("cmd");
    shell.args(["/D", "/S", "/C"]).raw_arg(format!("\"{command}\""));
    shell
}

pub(super) fn kill(child: &mut Child) {
    kill_group(child.id());
    let _ = child.kill();
    let _ = child.wait();
}

fn last_words(stderr: &mut Output) -> String {
    stderr.ends_within(LAST_WORDS);
    ending(&stderr.bytes)
}

/// The end of what a command wrote to its standard error, behind a colon.
pub(super) fn ending(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let clean = crate::summary::exchange::shown(text.trim(), usize::MAX);
    let start = clean.char_indices().rev().nth(SHOWN).map_or(0, |(at, _)| at);
    if clean.is_empty() { String::new() } else { format!(": {}", &clean[start..]) }
}

#[cfg(all(test, windows))]
mod windows_tests {
    use super::*;

    #[test]
    fn quotes_and_pipes_are_those_of_the_shell() {
        let run = |command: &str| run(command, "b\r\na\r\n", Duration::from_secs(20));
        assert_eq!(run("echo \"two  words\"&& echo more"), Ok("\"two  words\"\r\nmore\r\n".to_owned()));
        assert!(run("echo no luck>&2& exit 7").expect_err("exit 7").ends_with("exit code: 7: no luck"));
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn the_prompt_goes_in_and_the_summary_comes_out() {
        assert_eq!(run("tr a-z A-Z", "héllo", SOON), Ok("HéLLO".to_owned()));
    }

    #[test]
    fn large_prompts_and_answers_do_not_wait_for_each_other() {
        let prompt = "x".repeat(3_000_000);
        assert_eq!(run("cat", &prompt, SOON).map(|answer| answer.len()), Ok(3_000_000));
        assert_eq!(run("echo short", &prompt, SOON), Ok("short\n".to_owned()));
    }

    #[test]
    fn what_prints_without_end_is_ended() {
        assert!(run("yes", "", SOON).expect_err("too much").contains("printed more than"));
    }

    #[test]
    fn failures_carry_the_last_words() {
        let error = run("echo 'no\u{1b}[31m luck' >&2; exit 7", "", SOON).expect_err("exit 7");
        assert!(error.ends_with("ended with exit status: 7: no[31m luck"), "{error}");
        assert!(run("printf '\\377'", "", SOON).expect_err("not UTF-8").contains("not UTF-8"));
    }

    #[test]
    fn what_takes_too_long_is_ended_with_all_it_started() {
        let started = Instant::now();
        let error =
            run("echo thinking >&2; sleep 60 & sleep 60", "", Duration::from_millis(300)).expect_err("too long");
        assert!(error.ends_with("--timeout 0.3 seconds: thinking"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    /// A process that the command leaves behind keeps its pipes open, as a server does that it starts.
    #[test]
    fn a_finished_answer_is_taken_from_a_command_that_leaves_a_process() {
        let started = Instant::now();
        assert_eq!(run("sleep 60 & echo Notes.", "", SOON), Ok("Notes.\n".to_owned()));
        assert_eq!(run("(sleep 0.2; echo more; sleep 60) & echo Notes,", "", SOON), Ok("Notes,\nmore\n".to_owned()));
        let error = run("sleep 60 & echo no luck >&2; exit 7", "", SOON).expect_err("exit 7");
        assert!(error.ends_with("exit status: 7: no luck"), "{error}");
        assert_eq!(run("exec >&-; sleep 0.1", "", SOON), Ok(String::new()), "it ends after its output");
        assert!(started.elapsed() < SOON, "nobody waits for what is left");
    }
}
