//! Signals that end the program, and the processes that its summarizer leaves behind.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::program::{FIXTURES, shell, tcompact, with};
use crate::support::{tree, turns};

/// A summarizer that notes its process and waits for a signal, as does a process that it starts.
const WAITS: &str = "sleep 300 & echo $! > started; echo $$ >> started; cat > /dev/null; sleep 300";

/// Waits until `is_so`, and panics if that takes too long.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        sleep(Duration::from_millis(5));
    }
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
}

pub(crate) fn is_running(process: &str) -> bool {
    let is_there = Command::new("kill").args(["-0", process]).stderr(Stdio::null()).status();
    // A process that nobody has waited for yet is there, and does not run.
    let state = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    is_there.expect("kill is there").success() && !state.contains(") Z")
}

/// The program, to which a hangup is a signal like others, also where `nohup` runs the tests.
fn hears_hangups(folder: &Path) -> Command {
    const HUP: u64 = 1;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    let by = if ignored & HUP == 0 { "" } else { "env --default-signal=HUP " };
    shell(&format!(r#"exec {by}tcompact "$0" "$@""#), folder)
}

/// Starts a program whose summarizer waits, and returns it with the processes of the summarizer.
fn waiting(command: Command, folder: &Path) -> (Child, Vec<String>) {
    waiting_for("--summarizer-cmd", command, folder)
}

fn waiting_for(flag: &str, mut command: Command, folder: &Path) -> (Child, Vec<String>) {
    let _ = fs::remove_file(folder.join("started"));
    let file = Path::new(FIXTURES).join("openai-chat/plain.json");
    command.args([flag, WAITS, "--keep", "messages:2"]).arg(file);
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().expect("it starts");
    let started = || fs::read_to_string(folder.join("started")).unwrap_or_default();
    wait_until("the summarizer starts", || started().lines().count() == 2);
    (child, started().lines().map(str::to_owned).collect())
}

/// Whatever the signal: the summarizer ends with all it started, and no unfinished file is left.
#[test]
fn a_signal_ends_the_summarizer_and_leaves_nothing_unfinished() {
    for signal in ["HUP", "INT", "TERM", "QUIT", "ALRM", "VTALRM", "PROF", "XCPU", "USR1", "USR2"] {
        for output in [&["-o", "out.json"][..], &[]] {
            let folder = tempfile::tempdir().expect("a folder");
            let mut command = hears_hangups(folder.path());
            command.args(output);
            let flag = if ["INT", "TERM"].contains(&signal) { "--counter-cmd" } else { "--summarizer-cmd" };
            let (mut child, started) = waiting_for(flag, command, folder.path());
            send(signal, &child);
            assert_eq!(child.wait().expect("it ends").code(), Some(130), "{signal}");
            wait_until(signal, || !started.iter().any(|process| is_running(process)));
            fs::remove_file(folder.path().join("started")).expect("removed");
            assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "{signal} {output:?}");
        }
    }
}

/// What `nohup` starts goes on.
#[test]
fn an_ignored_hangup_stays_ignored() {
    let folder = tempfile::tempdir().expect("a folder");
    // The shell becomes the program, so that its number is that of the program.
    let mut command = shell(r#"trap "" HUP; exec tcompact "$0" "$@""#, folder.path());
    command.process_group(0).args(["-o", "out.json"]);
    let (mut child, started) = waiting(command, folder.path());
    send("HUP", &child);
    sleep(Duration::from_millis(200));
    assert_eq!(child.try_wait().expect("it is known"), None);
    assert!(started.iter().all(|process| is_running(process)));
    send("TERM", &child);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
}

/// Files that are restored and files beside an archive are as unfinished as others.
#[test]
fn any_signal_removes_an_unfinished_file() {
    let folder = tempfile::tempdir().expect("a folder");
    write_words(folder.path(), 40_000);
    let flags = ["--keep", "messages:2", "--archive", "cut.jsonl", "in.json", "-o", "short.json"];
    assert!(tcompact().args(flags).current_dir(folder.path()).status().expect("it runs").success());
    let before = fs::read_dir(folder.path()).expect("a folder").count();
    let mut interrupted = 0;
    for round in 0..12 {
        let flags = ["restore", "cut.jsonl", "short.json", "-o", "back.json"];
        let mut child = hears_hangups(folder.path()).args(flags).spawn().expect("it starts");
        sleep(Duration::from_millis(20 * round));
        send("HUP", &child);
        let code = child.wait().expect("it ends").code();
        interrupted += usize::from(code == Some(130));
        let _ = fs::remove_file(folder.path().join("back.json"));
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), before, "round {round}");
    }
    assert!(interrupted > 0);
}

/// What belongs to a result takes its place with it, or not at all.
#[test]
fn an_interrupted_run_leaves_nothing_without_its_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let flags = ["-q", "-i=.bak", "--archive", "h.jsonl", "--html", "p.html", "--keep", "messages:2", "in.json"];
    write_words(folder.path(), 2_000);
    let before = fs::read(file("in.json")).expect("a file");
    let started = Instant::now();
    assert!(tcompact().args(flags).current_dir(folder.path()).status().expect("it runs").success());
    let whole = started.elapsed();
    let mut interrupted = 0;
    for round in 0..24 {
        for made in ["in.json.bak", "h.jsonl"] {
            let _ = fs::remove_file(file(made));
        }
        fs::write(file("in.json"), &before).expect("written");
        fs::write(file("p.html"), "an earlier page").expect("written");
        let mut child = hears_hangups(folder.path()).args(flags).spawn().expect("it starts");
        sleep(whole * (12 + round) / 36);
        send(["HUP", "INT", "TERM"][round as usize % 3], &child);
        let code = child.wait().expect("it ends").code();
        interrupted += usize::from(code == Some(130));
        let is_replaced = fs::read(file("in.json")).expect("a file") != before;
        let is_new_page = fs::read(file("p.html")).expect("a page") != b"an earlier page";
        let made = ["in.json.bak", "h.jsonl"].map(|name| file(name).exists());
        assert_eq!((is_new_page, made), (is_replaced, [is_replaced; 2]), "round {round}: {code:?}");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), if is_replaced { 4 } else { 2 });
    }
    assert!(interrupted > 0);
}

/// Writes a conversation with so many messages.
fn write_words(folder: &Path, messages: usize) {
    let messages = turns(0..messages, |at| format!("{at} {}", "word ".repeat(60)));
    fs::write(folder.join("in.json"), serde_json::json!(messages).to_string()).expect("written");
}

/// Writes a long conversation, and returns the flags of a run that writes most of it again.
fn long(folder: &Path) -> &'static str {
    write_words(folder, 2000);
    "--keep messages:1900"
}

/// The limit of `ulimit -f` is an error as a full disk is: a sentence, and nothing is left.
#[test]
fn a_file_above_the_limit_is_an_error() {
    for (arguments, written) in [
        ("-i in.json", "in.json"),
        ("-i --archive cut.jsonl in.json", "in.json"),
        ("--in-place=.bak in.json", "in.json"),
        ("-o out.json in.json", "out.json"),
        ("-O out in.json", "out/in.json"),
        ("in.json", "standard output"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let flags = long(folder.path());
        let was = tree(folder.path());
        let script = format!("ulimit -f 64; tcompact -q {flags} {arguments}");
        let stdout = fs::File::create(folder.path().join("printed")).expect("made");
        let done = shell(&script, folder.path()).stdout(stdout).stderr(Stdio::piped()).output().expect("it runs");
        let said = String::from_utf8(done.stderr).expect("UTF-8");
        assert!(matches!(done.status.code(), Some(1 | 7)), "{arguments}: {}", done.status);
        assert!(said.contains(&format!("{written} cannot be written: file too large")), "{arguments}: {said}");
        fs::remove_file(folder.path().join("printed")).expect("removed");
        assert!(tree(folder.path()) == was, "{arguments}");
    }
    // A command keeps what the system does.
    let limited = "ulimit -f 1; head -c 9000 /dev/zero > large; echo $? > code";
    let folder = tempfile::tempdir().expect("a folder");
    long(folder.path());
    let command = format!("sh -c '{limited}'; echo They counted words.");
    let run = |command: &str| {
        let flags =
            ["--keep", "messages:1990", "--accept", "any", "--summarizer-cmd", command, "in.json", "-o", "o.json"];
        tcompact().args(flags).current_dir(folder.path()).status().expect("it runs")
    };
    assert!(run(&command).success());
    assert_eq!(fs::read_to_string(folder.path().join("code")).expect("a code"), "153\n");
}

/// What a killed run left goes with the next run that writes there, and nothing else goes.
#[test]
fn leftovers_of_a_killed_run_are_removed() {
    const OURS: &str = ".tcompact-aB3dE9.part";
    for (arguments, place) in [
        ("-i in.json", "."),
        ("-o out.json in.json", "."),
        ("-o deep/out.json in.json", "deep"),
        ("-O deep in.json", "deep"),
        ("--html deep/page.html in.json", "deep"),
        ("restore cut.jsonl short.json -o back.json", "."),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let within = |line: &str| {
            shell(line, folder.path()).stdout(Stdio::null()).stderr(Stdio::null()).status().expect("it runs").success()
        };
        fs::create_dir(folder.path().join("deep")).expect("made");
        let flags = if arguments.contains("restore") { "" } else { "--keep messages:9" };
        long(folder.path());
        assert!(within("tcompact --keep messages:9 --archive cut.jsonl in.json -o short.json"));
        let place = folder.path().join(place);
        let held = fs::File::create(place.join(".tcompact-Held00.part")).expect("made");
        held.lock().expect("locked");
        for other in
            [".tcompact-mine.part", ".tcompact-aB3dE9.part.json", "tcompact-aB3dE9.part", ".tcompact-a.b.c9.part"]
        {
            fs::write(place.join(other), "not ours").expect("written");
        }
        fs::create_dir(place.join(".tcompact-Folder.part")).expect("made");
        fs::write(place.join(OURS), "left behind").expect("written");
        let before = fs::read_dir(&place).expect("a folder").count();
        assert!(within(&format!("tcompact {flags} {arguments}")), "{arguments}");
        assert!(!place.join(OURS).exists(), "{arguments}");
        let made = usize::from(!arguments.contains("-i "));
        assert_eq!(fs::read_dir(&place).expect("a folder").count(), before - 1 + made, "{arguments}");
        drop(held);
    }
}

#[test]
fn a_process_left_behind_delays_no_answer() {
    let began = Instant::now();
    let command = "cat > /dev/null; sleep 40 & echo They mended the hours.";
    let run = with(&["--summarizer-cmd", command, "--keep", "messages:2", "openai-chat/plain.json"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("They mended the hours."), "{run:?}");
    assert!(began.elapsed() < Duration::from_secs(20));
}
