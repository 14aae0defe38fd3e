//! A command as summarizer: it reads the prompt from standard input and writes the summary to standard output.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::interrupt::{Running, kill_group};

/// The longest name of a command in an error message, in characters.
const NAMED: usize = 80;
/// The longest end of its standard error in an error message, in characters.
const SHOWN: usize = 300;

/// How long its standard error is still read after its end. Processes that it started can keep it open.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// The most bytes that are read of its output. A summary has a few thousand.
const MOST_OUTPUT: u64 = 16 << 20;

/// Runs `command` with `sh -c`, and returns its output.
///
/// # Errors
/// It could not be started, took longer than `timeout`, printed too much, or did not exit with 0. The message has the
/// end of its standard error.
pub(crate) fn run(command: &str, prompt: &str, timeout: Duration) -> Result<String, String> {
    let deadline = Instant::now() + timeout;
    let name = crate::summary::exchange::shown(command, NAMED);
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    in_own_group(&mut shell);
    let started = Running::start(&mut shell);
    let (mut child, running) = started.map_err(|error| format!("`{name}` could not be started: {error}"))?;
    // All three pipes are served at once: a command can answer before it has read everything.
    let stdin = child.stdin.take();
    let prompt = prompt.to_owned();
    let feed = move || {
        // A command need not read its whole input.
        let _ = stdin.map(|mut stdin| stdin.write_all(prompt.as_bytes()));
    };
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let pipes = || {
        thread::Builder::new().spawn(feed)?;
        Ok::<_, io::Error>((read_all(stdout)?, read_all(stderr)?))
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
            let end = last_words(&stderr.recv_timeout(LAST_WORDS).unwrap_or_default());
            return Err(match stopped {
                Stopped::TooLate => {
                    format!("`{name}` took longer than --timeout {} seconds{end}", timeout.as_secs_f64())
                }
                Stopped::TooMuch => format!("`{name}` printed more than {MOST_OUTPUT} bytes{end}"),
            });
        }
    };
    let stderr = stderr.recv_timeout(LAST_WORDS).unwrap_or_default();
    if !status.success() {
        return Err(format!("`{name}` ended with {status}{}", last_words(&stderr)));
    }
    String::from_utf8(output).map_err(|_| format!("`{name}` printed something that is not UTF-8"))
}

/// Why a command was stopped.
enum Stopped {
    TooLate,
    TooMuch,
}

/// Reads a pipe to its end, or past the limit, on its own thread.
fn read_all(pipe: Option<impl Read + Send + 'static>) -> io::Result<Receiver<Vec<u8>>> {
    let (done, result) = channel();
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.map(|pipe| pipe.take(MOST_OUTPUT + 1).read_to_end(&mut bytes));
        let _ = done.send(bytes);
    })?;
    Ok(result)
}

/// Waits for the output and the exit status until the deadline.
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

/// Runs the command in its own process group, so that the timeout also ends the processes that it started.
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
