//! Tests the completions in real shells, on a terminal.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use std::{fs, thread};

use crate::left_out::left_out;

/// The typed text with its tab, and the words that the line then has.
const TYPED: [(&str, &str); 26] = [
    ("tcompact cha\t", "<tcompact><chat.json>"),
    ("tcompact cou\t", "<tcompact><count>"),
    ("tcompact count cha\t", "<tcompact><count><chat.json>"),
    ("tcompact count chat.json --so\t", "<tcompact><count><chat.json><--sort>"),
    ("tcompact count --counter o2\t", "<tcompact><count><--counter><o200k_base>"),
    ("tcompact search x oth\t", "<tcompact><search><x><other.txt>"),
    ("tcompact repair syn\t", "<tcompact><repair><synthesize>"),
    ("tcompact completions fi\t", "<tcompact><completions><fish>"),
    ("tcompact help sho\t", "<tcompact><help><show>"),
    ("tcompact -v ch\t", "<tcompact><-v><chat.json>"),
    ("tcompact chat.json --summary-ro\t", "<tcompact><chat.json><--summary-role>"),
    ("tcompact -o oth\t", "<tcompact><-o><other.txt>"),
    ("tcompact --archive oth\t", "<tcompact><--archive><other.txt>"),
    ("tcompact -O lo\t", "<tcompact><-O><logs"),
    ("tcompact --preset deepa\t", "<tcompact><--preset><deepagents>"),
    ("tcompact --from openai-c\t", "<tcompact><--from><openai-chat>"),
    ("tcompact --pairs str\t", "<tcompact><--pairs><strict>"),
    ("tcompact --counter o2\t", "<tcompact><--counter><o200k_base>"),
    ("tcompact --prune rea\t", "<tcompact><--prune><reads>"),
    ("tcompact list mod\t", "<tcompact><list><models>"),
    ("tcompact --for gpt-3.5-turbo-ins\t", "<tcompact><--for><gpt-3.5-turbo-instruct>"),
    ("tcompact -m extr\t", "<tcompact><-m><extractive>"),
    ("tcompact -m groq:llama-3.3-70b-v\t", "<tcompact><-m><groq:llama-3.3-70b-versatile>"),
    ("tcompact --keep mess\t7", "<tcompact><--keep><messages:7>"),
    ("tcompact --trigger frac\t0.8", "<tcompact><--trigger><fraction:0.8>"),
    ("tcompact --on-error pass\t", "<tcompact><--on-error><passthrough>"),
];
const READY: &str = "READY>";

/// A shell on a terminal.
struct Shell {
    child: Child,
    output: Receiver<u8>,
    seen: String,
}

impl Shell {
    fn start(command: &str, folder: &Path) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_tcompact")).parent().expect("a folder");
        let search = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
        let mut child = Command::new("script")
            .args(["--quiet", "--flush", "--return", "--command", command, "/dev/null"])
            .current_dir(folder)
            .envs([("PATH", search.as_str()), ("TERM", "dumb"), ("HOME", folder.to_str().expect("UTF-8"))])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("script starts");
        let mut terminal = child.stdout.take().expect("a pipe");
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut byte = [0];
            while terminal.read_exact(&mut byte).is_ok() && sender.send(byte[0]).is_ok() {}
        });
        Shell { child, output, seen: String::new() }
    }

    fn types(&mut self, text: &str) {
        self.seen.clear();
        let stdin = self.child.stdin.as_mut().expect("a pipe");
        stdin.write_all(text.as_bytes()).and_then(|()| stdin.flush()).expect("it reads");
    }

    /// Waits until the terminal shows a text.
    fn shows(&mut self, text: &str) -> bool {
        let until = Instant::now() + Duration::from_secs(30);
        let mut bytes = Vec::new();
        while let Ok(byte) = self.output.recv_timeout(until.saturating_duration_since(Instant::now())) {
            bytes.push(byte);
            self.seen = String::from_utf8_lossy(&bytes).into_owned();
            if bytes.ends_with(text.as_bytes()) {
                return true;
            }
        }
        false
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

/// Starts `command`, loads the completions with `setup`, and types.
fn completes(shell: &str, command: &str, setup: &[&str]) {
    if let Some(lacking) = [shell, "script"].into_iter().find(|program| !is_there(program)) {
        return left_out(lacking);
    }
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["chat.json", "other.txt"] {
        fs::write(folder.path().join(name), "[]").expect("written");
    }
    fs::create_dir(folder.path().join("logs")).expect("made");
    let mut shell = Shell::start(command, folder.path());
    for line in setup {
        shell.types(&line.replace("COMPLETIONS", concat!(env!("CARGO_MANIFEST_DIR"), "/completions")));
        shell.types("\r");
    }
    assert!(shell.shows(&format!("\n{READY}")) || shell.seen.contains(READY), "no prompt: {}", shell.seen);
    for (typed, expected) in TYPED {
        // The line becomes the arguments of a command that prints each.
        shell.types(typed);
        thread::sleep(Duration::from_millis(700));
        shell.types("\u{1}printf '<%s>' \r");
        assert!(shell.shows(expected), "{typed:?} became: {}", shell.seen);
        assert!(shell.shows(READY), "{}", shell.seen);
    }
}

#[test]
fn bash_completes() {
    let setup = ["bind 'set enable-bracketed-paste off'", "source COMPLETIONS/tcompact.bash", "PS1='READ''Y>'"];
    completes("bash", "bash --noprofile --norc -i", &setup);
}

#[test]
fn zsh_completes() {
    let setup = ["autoload -U compinit && compinit -u -D", "source COMPLETIONS/_tcompact", "PROMPT='READ''Y>'"];
    completes("zsh", "zsh -f -i", &setup);
}

#[test]
fn fish_completes() {
    let setup = ["source COMPLETIONS/tcompact.fish", "function fish_prompt; printf 'READ%s' 'Y>'; end"];
    completes("fish", "fish --no-config --interactive", &setup);
}
