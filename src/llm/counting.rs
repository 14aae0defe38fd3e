//! A command that counts tokens: it reads each text as a JSON string on a line, and writes the number on a line.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use crate::interrupt::Running;
use crate::llm::command::{GRACE, LAST_WORDS, NAMED, PAUSE, ending, kill, start};
use crate::summary::exchange::shown;
use crate::sync::lock;
use crate::wording::counted;

/// The most tokens of a text. A larger number is no count, and a sum of them could overflow.
const MOST_TOKENS: u64 = 1_000_000_000;
/// The most bytes of a line. A number has a few.
const LONGEST_LINE: u64 = 200;
/// How long the first answer is watched: a command that writes more than a line for each text does so from the start.
const WATCHED: Duration = Duration::from_millis(100);
/// The bytes that are kept of its standard error.
const KEPT: usize = 4 << 10;

/// A command that counts. It starts with the first text, and counts for all workers of the run.
pub(crate) struct CountingCommand {
    line: String,
    timeout: Duration,
    session: Mutex<Option<Session>>,
}

impl CountingCommand {
    /// The command does not start yet. It may take `timeout` for each text.
    pub(crate) fn new(line: String, timeout: Duration) -> Self {
        CountingCommand { line, timeout, session: Mutex::new(None) }
    }

    /// The number for a text.
    ///
    /// # Errors
    /// The command gave none: what came instead.
    pub(crate) fn count(&self, text: &str) -> Result<u64, String> {
        let mut session = lock(&self.session);
        let session = match &mut *session {
            Some(session) => session,
            none => match Session::start(&self.line) {
                Ok(started) => none.insert(started),
                Err(error) => return Err(format!("{} could not be started: {error}", self.name())),
            },
        };
        match session.count(text, self.timeout) {
            Ok(number) => Ok(number),
            Err(wrong) => Err(format!("{} {}{}", self.name(), self.describe(wrong), session.last_words())),
        }
    }

    /// The flag and the command, for an error.
    fn name(&self) -> String {
        format!("--counter-cmd: `{}`", shown(&self.line, NAMED))
    }

    fn describe(&self, wrong: Wrong) -> String {
        match wrong {
            Wrong::Line(line) if line.is_empty() => "printed an empty line and not a whole number".to_owned(),
            Wrong::Line(line) => format!("printed `{line}` and not a whole number, 0 or more"),
            Wrong::Extra(line) => format!("printed more than a line for a text: `{line}`"),
            Wrong::Late => {
                let timeout = counted(self.timeout.as_secs_f64(), "second");
                format!("took longer than --timeout {timeout} for a text; it must flush each line")
            }
            Wrong::Ended(Some(status)) => format!("ended with {status} before it counted all texts"),
            Wrong::Ended(None) => "closed its output before it counted all texts".to_owned(),
        }
    }
}

/// A running command.
struct Session {
    child: Child,
    /// Until this is dropped, the command is killed with the program.
    _running: Running,
    pipes: Pipes,
    is_watched: bool,
}

/// Why there is no number for a text.
enum Wrong {
    Line(String),
    Extra(String),
    Late,
    Ended(Option<ExitStatus>),
}

impl Session {
    fn start(line: &str) -> io::Result<Self> {
        let (mut child, running) = start(line)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else { return Err(io::ErrorKind::BrokenPipe.into()) };
        match Pipes::serve(stdin, stdout, stderr) {
            Ok(pipes) => Ok(Session { child, _running: running, pipes, is_watched: true }),
            Err(error) => {
                kill(&mut child);
                Err(error)
            }
        }
    }

    fn count(&mut self, text: &str, timeout: Duration) -> Result<u64, Wrong> {
        // What it printed before it was asked is taken for its first answer, and what it prints behind that is too much.
        if !self.is_watched
            && let Ok(line) = self.pipes.answers.try_recv()
        {
            return Err(Wrong::Extra(line));
        }
        // One that no longer reads may have ended, which its output tells.
        let _ = self.pipes.texts.send(serde_json::Value::from(text).to_string() + "\n");
        let line = match self.pipes.answers.recv_timeout(timeout) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return Err(Wrong::Late),
            Err(RecvTimeoutError::Disconnected) => return Err(Wrong::Ended(self.status())),
        };
        let Some(number) = number_of_tokens(&line) else { return Err(Wrong::Line(line)) };
        if std::mem::take(&mut self.is_watched)
            && let Ok(line) = self.pipes.answers.recv_timeout(WATCHED)
        {
            return Err(Wrong::Extra(line));
        }
        Ok(number)
    }

    /// How the command ended, if it does soon.
    fn status(&mut self) -> Option<ExitStatus> {
        let deadline = Instant::now() + GRACE;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < deadline => thread::sleep(PAUSE),
                status => return status.ok().flatten(),
            }
        }
    }

    fn last_words(&self) -> String {
        thread::sleep(LAST_WORDS);
        ending(&lock(&self.pipes.stderr))
    }
}

/// The streams of a running command.
struct Pipes {
    texts: Sender<String>,
    answers: Receiver<String>,
    stderr: Arc<Mutex<Vec<u8>>>,
}

impl Pipes {
    /// Starts a thread for each pipe: the command may not read, or say more than is asked.
    fn serve(stdin: ChildStdin, stdout: ChildStdout, stderr: ChildStderr) -> io::Result<Self> {
        let (texts, next) = channel::<String>();
        let (sender, answers) = sync_channel(1);
        let kept = Arc::new(Mutex::new(Vec::new()));
        let last = Arc::clone(&kept);
        Builder::new().spawn(move || feed(&next, stdin))?;
        Builder::new().spawn(move || lines(stdout, |line| sender.send(line).is_ok()))?;
        Builder::new().spawn(move || keep_end(stderr, &last))?;
        Ok(Pipes { texts, answers, stderr: kept })
    }
}

/// Writes each text to a pipe, until it is closed.
fn feed(texts: &Receiver<String>, mut stdin: ChildStdin) {
    for text in texts {
        if stdin.write_all(text.as_bytes()).is_err() || stdin.flush().is_err() {
            return;
        }
    }
}

/// The number in a line.
fn number_of_tokens(line: &str) -> Option<u64> {
    let digits = line.trim();
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = digits.parse().ok()?;
    if number <= MOST_TOKENS { Some(number) } else { None }
}

/// Gives each line of a pipe to `take`, as it can be shown, until it wants no more.
fn lines(pipe: impl Read, mut take: impl FnMut(String) -> bool) {
    let mut pipe = BufReader::new(pipe);
    loop {
        let mut line = Vec::new();
        let Ok(1..) = pipe.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) else { return };
        let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line));
        if !take(shown(text.trim_end_matches('\r'), NAMED)) {
            return;
        }
    }
}

/// Reads a pipe to its end, and keeps the last bytes.
fn keep_end(mut pipe: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4 << 10];
    while let Ok(count @ 1..) = pipe.read(&mut buffer) {
        let mut kept = lock(kept);
        kept.extend_from_slice(&buffer[..count]);
        let more = kept.len().saturating_sub(KEPT);
        kept.drain(..more);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn counts(line: &str, seconds: f64, texts: &[&str]) -> Result<Vec<u64>, String> {
        let command = CountingCommand::new(line.to_owned(), Duration::from_secs_f64(seconds));
        let counts = texts.iter().map(|text| command.count(text)).collect();
        if let Some(session) = &mut *lock(&command.session) {
            kill(&mut session.child);
        }
        counts
    }

    #[test]
    fn a_text_is_a_json_string_on_a_line() {
        let length = "while IFS= read -r line; do echo ${#line}; done";
        assert_eq!(counts(length, 20.0, &["", "one", "two\nlines", "a \"b\""]), Ok(vec![2, 5, 12, 9]));
        let large = "x".repeat(1_000_000);
        assert_eq!(counts("while read -r line; do echo 7; done", 20.0, &[&large, &large]), Ok(vec![7, 7]));
        let chatty = "while read -r line; do head -c 100000 /dev/zero >&2; echo 3; done";
        assert_eq!(counts(chatty, 20.0, &["a"; 9]), Ok(vec![3; 9]));
    }

    #[test]
    fn what_is_no_count_says_what_came() {
        for (line, words) in [
            ("exit 3", "ended with exit status: 3 before it counted all texts"),
            ("echo no luck >&2; exit 3", "all texts: no luck"),
            ("read -r line; echo 5; exit", "ended with exit status: 0"),
            ("exec >&-; sleep 9", "closed its output"),
            ("sleep 9", "longer than --timeout 0.5 seconds"),
            ("while read -r line; do :; done", "it must flush each line"),
            ("while read -r line; do echo 5; echo 5; done", "more than a line for a text: `5`"),
            ("while read -r line; do echo 5; sleep 0.02; echo 6; done", "more than a line for a text: `6`"),
            ("while read -r line; do echo 5.0; done", "printed `5.0` and not a whole number"),
            ("while read -r line; do echo -5; done", "printed `-5`"),
            ("while read -r line; do echo +5; done", "printed `+5`"),
            ("while read -r line; do echo 1e3; done", "printed `1e3`"),
            ("while read -r line; do echo 99999999999; done", "printed `99999999999`"),
            ("while read -r line; do echo 99999999999999999999999; done", "printed `9"),
            ("while read -r line; do echo five tokens; done", "printed `five tokens`"),
            ("while read -r line; do printf 'a\\033[31mb\\n'; done", "printed `a[31mb`"),
            ("while read -r line; do echo; done", "printed an empty line"),
            ("printf '\\377\\n'; sleep 9", "printed `\u{fffd}`"),
            ("yes", "printed `y`"),
            ("cat /dev/zero", "printed an empty line"),
            ("yes | tr -d '\\n'", "printed `yyyy"),
            ("nonexistent-command-59", "not found"),
        ] {
            let error = counts(line, 0.5, &["some words", "more", "and more"]).expect_err(line);
            assert!(error.starts_with("--counter-cmd: `") && error.contains(words), "{line}: {error}");
            assert!(!error.contains(char::is_control), "{line}: {error:?}");
        }
    }
}
