//! A summarizer that is a command: the prompt on its standard input, the summary from its standard output.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::interrupt::{Running, kill_group};

/// Characters of the command that an error message names it by.
const NAMED: usize = 80;
/// Characters of the end of its standard error that an error message shows.
const SHOWN: usize = 300;

/// How long its standard error is read on when it has ended: what it started may hold that open.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Bytes that are read of what a command prints; a summary has a few thousand.
const MOST_OUTPUT: u64 = 16 << 20;

/// Runs `command` with `sh -c` and gives what it printed.
///
/// # Errors
/// It could not be started, took longer than `timeout`, printed too much, or did not exit with 0; its last words are in
/// the message.
pub(crate) fn run(command: &str, prompt: &str, timeout: Duration) -> Result<String, String> {
    let deadline = Instant::now() + timeout;
    let name = crate::summary::exchange::shown(command, NAMED);
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    in_own_group(&mut shell);
    let started = Running::start(&mut shell);
    let (mut child, running) = started.map_err(|error| format!("`{name}` could not be started: {error}"))?;
    // All three pipes move at once: a command may answer before it has read everything.
    let stdin = child.stdin.take();
    let prompt = prompt.to_owned();
    let feed = move || {
        // A command that does not read its input to the end is free to.
        let _ = stdin.map(|mut stdin| stdin.write_all(prompt.as_bytes()));
    };
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let pipes = || {
        thread::Builder::new().spawn(feed)?;
        Ok::<_, io::Error>((collected(stdout)?, collected(stderr)?))
    };
    let (stdout, stderr) = pipes().map_err(|error| {
        kill(&mut child);
        format!("`{name}` could not be started: {error}")
    })?;
    let finished = wait(&mut child, &stdout, deadline);
    drop(running);
    let (status, output) = match finished {
        Ok(finished) => finished,
        Err(stopped) => {
            kill(&mut child);
            let said = last_words(&stderr.recv_timeout(LAST_WORDS).unwrap_or_default());
            return Err(match stopped {
                Stopped::TooLate => {
                    format!("`{name}` took longer than --timeout {} seconds{said}", timeout.as_secs_f64())
                }
                Stopped::TooMuch => format!("`{name}` printed more than {MOST_OUTPUT} bytes{said}"),
            });
        }
    };
    let said = stderr.recv_timeout(LAST_WORDS).unwrap_or_default();
    if !status.success() {
        return Err(format!("`{name}` ended with {status}{}", last_words(&said)));
    }
    String::from_utf8(output).map_err(|_| format!("`{name}` printed something that is not UTF-8"))
}

/// Why a command is not waited for any longer.
enum Stopped {
    TooLate,
    TooMuch,
}

/// Reads a pipe to its end, or to more than anybody should print, on a thread of its own.
fn collected(pipe: Option<impl Read + Send + 'static>) -> io::Result<Receiver<Vec<u8>>> {
    let (done, result) = channel();
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.map(|pipe| pipe.take(MOST_OUTPUT + 1).read_to_end(&mut bytes));
        let _ = done.send(bytes);
    })?;
    Ok(result)
}

/// The exit status and the output, if both are there before the deadline.
fn wait(child: &mut Child, stdout: &Receiver<Vec<u8>>, deadline: Instant) -> Result<(ExitStatus, Vec<u8>), Stopped> {
    let left = deadline.saturating_duration_since(Instant::now());
    let output = stdout.recv_timeout(left).map_err(|_| Stopped::TooLate)?;
    if output.len() as u64 > MOST_OUTPUT {
        return Err(Stopped::TooMuch);
    }
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok((status, output)),
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
            _ => return Err(Stopped::TooLate),
        }
    }
}

/// Gives the command a process group of its own, so that at the timeout nothing it started is left behind.
#[cfg(unix)]
fn in_own_group(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(not(unix))]
fn in_own_group(_command: &mut Command) {}

fn kill(child: &mut Child) {
    kill_group(child.id());
    let _ = child.kill();
    let _ = child.wait();
}

fn last_words(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let clean = crate::summary::exchange::shown(text.trim(), usize::MAX);
    let start = clean.char_indices().rev().nth(SHOWN).map_or(0, |(at, _)| at);
    if clean.is_empty() { String::new() } else { format!(": {}", &clean[start..]) }
}

#[cfg(test)]
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
}
