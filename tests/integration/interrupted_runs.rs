//! Runs that are killed at any step, fill the disk, or cannot write. After another run the result is that of an
//! undisturbed run, and no summary is requested twice.

#![allow(clippy::print_stdout, reason = "what could not be tried here is said")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::batch::within;
use crate::left_out::left_out;
use crate::program::{FIXTURES, own_settings, tcompact};
use crate::support::{tree, turns};

/// Writes conversations in files and on lines, small enough for many runs.
fn small_logs(folder: &Path) {
    let root = folder.join("logs");
    fs::create_dir_all(root.join("deep")).expect("made");
    let conversation = |number: usize| {
        let text = |at| {
            format!("Conversation {number} says its part {at}, which is long enough to be summarized as T-{number}.")
        };
        json!({"messages": turns(0..6, text)}).to_string()
    };
    for number in 0..3 {
        fs::write(root.join(format!("{number}.json")), conversation(number)).expect("written");
    }
    let lines: String = (3..6).map(|number| conversation(number) + "\n").collect();
    fs::write(root.join("deep/lines.jsonl"), lines).expect("written");
    fs::copy(Path::new(FIXTURES).join("openai-chat/empty.json"), root.join("deep/empty.json"))
        .or_else(|_| fs::write(root.join("deep/empty.json"), "[]").map(|()| 0))
        .expect("written");
}

/// What an undisturbed run leaves in a new folder.
fn undisturbed(arguments: &[&str]) -> BTreeMap<PathBuf, Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder");
    small_logs(folder.path());
    let run = within(folder.path(), arguments);
    assert_eq!(run.code, 0, "{run:?}");
    tree(folder.path())
}

fn assert_resumes(folder: &Path, arguments: &[&str], expected: &BTreeMap<PathBuf, Vec<u8>>, step: &str) {
    let run = within(folder, &[arguments, &["--resume"]].concat());
    assert_eq!(run.code, 0, "after step {step}: {run:?}");
    let found = tree(folder);
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "after step {step}");
    assert!(found == *expected, "after step {step}");
}

/// Whether `strace`, which can kill the program at a system call, is installed and permitted.
pub(crate) fn can_trace() -> bool {
    let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    traced.is_ok_and(|status| status.success())
}

/// Kills the program at every step. A step is a system call on a file.
fn killed_at_every_step(arguments: &[&str]) {
    const CALLS: &str =
        "openat,write,fsync,fdatasync,fchmod,utimensat,rename,renameat,renameat2,unlink,mkdir,copy_file_range,sendfile";
    if !can_trace() {
        return left_out("strace");
    }
    let expected = undisturbed(arguments);
    let traced = |folder: &Path, how: &str, log: &Path| {
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-o"]).arg(log).args(["-e", &format!("trace={CALLS}"), "-e", how]);
        command.arg(tcompact().get_program()).args(arguments).args(["--jobs", "1"]);
        command.envs(own_settings()).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().expect("it starts").success()
    };
    let whole = tempfile::tempdir().expect("a folder");
    small_logs(whole.path());
    let log = tempfile::NamedTempFile::new().expect("a file");
    assert!(traced(whole.path(), "signal=none", log.path()));
    let steps = steps(&fs::read_to_string(log.path()).expect("a log"));
    let mut killed = 0;
    for (call, time) in &steps {
        let folder = tempfile::tempdir().expect("a folder");
        small_logs(folder.path());
        let how = format!("inject={call}:signal=KILL:when={time}");
        if !traced(folder.path(), &how, log.path()) {
            killed += 1;
        }
        assert_resumes(folder.path(), arguments, &expected, &format!("{call} number {time}"));
    }
    assert!(killed * 10 >= steps.len() * 9, "only {killed} of {} were killed", steps.len());
    println!("killed at {killed} of {} steps", steps.len());
}

/// The system calls of a log, each with how often the same thread made the same call before: `strace` counts calls by
/// name.
pub(crate) fn steps(log: &str) -> Vec<(String, usize)> {
    let mut times = BTreeMap::new();
    let calls = log.lines().filter_map(|line| line.split_once('(')?.0.split_once(' '));
    let calls = calls.map(|(thread, call)| (thread, call.trim())).filter(|(_, call)| !call.starts_with('<'));
    let mut steps: Vec<(String, usize)> = calls
        .map(|call| {
            let times = times.entry(call).or_insert(0);
            *times += 1;
            (call.1.to_owned(), *times)
        })
        .collect();
    steps.sort();
    steps.dedup();
    steps
}

#[test]
fn killed_at_every_step_and_resumed() {
    killed_at_every_step(&["--model", "extractive", "--keep", "messages:2", "-O", "out", "logs"]);
}

#[test]
fn killed_at_every_step_in_place_and_resumed() {
    // With --force nothing looks through /proc, where other processes come and go: two runs make the same calls.
    killed_at_every_step(&["--model", "extractive", "--keep", "messages:2", "--force", "--in-place=.bak", "logs"]);
}

/// The summarizer kills the program that asks it, each time before another answer.
#[cfg(unix)]
#[test]
fn killed_while_it_asks_and_no_summary_is_asked_for_twice() {
    let answer = r#"sum=$(cksum | cut -d" " -f1); echo "$sum" >> asked; echo "Notes on $sum.""#;
    let rules = ["--keep", "messages:2", "--ledger", "off", "-O", "out", "logs", "--jobs", "1"];
    let expected = {
        let folder = tempfile::tempdir().expect("a folder");
        small_logs(folder.path());
        let run = within(folder.path(), &[&["--summarizer-cmd", answer][..], &rules].concat());
        assert_eq!(run.code, 0, "{run:?}");
        tree(&folder.path().join("out"))
    };
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    small_logs(root);
    for round in 1..=6 {
        // The command is part of the rules, so its task of this round is in a file.
        fs::write(root.join("kill-at"), round.to_string()).expect("written");
        let command =
            format!(r#"n=$(cat asked 2>/dev/null | wc -l); [ "$n" -eq "$(cat kill-at)" ] && kill -9 $PPID; {answer}"#);
        let run = tcompact()
            .current_dir(root)
            .args(["--summarizer-cmd", &command])
            .args(rules)
            .arg("--resume")
            .stderr(Stdio::null())
            .status()
            .expect("it starts");
        if round < 6 {
            assert!(!run.success(), "round {round}");
            // The command that killed its caller continues, but its answer is lost.
            std::thread::sleep(std::time::Duration::from_millis(200));
            let asked = fs::read_to_string(root.join("asked")).expect("a log");
            let paid = asked.lines().count() - 1;
            fs::write(root.join("asked"), asked.lines().take(paid).map(|line| format!("{line}\n")).collect::<String>())
                .expect("written");
        } else {
            assert!(run.success());
        }
    }
    assert_eq!(tree(&root.join("out")), expected);
    let asked = fs::read_to_string(root.join("asked")).expect("a log");
    let mut distinct: Vec<&str> = asked.lines().collect();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!((asked.lines().count(), distinct.len()), (6, 6), "{asked}");
}

/// A disk that is too small. Only root can create one; elsewhere the test prints that it was skipped.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    small_logs(root);
    let original = tree(&root.join("logs"));
    fs::create_dir(root.join("disk")).expect("made");
    // First on the small disk, then again with room: nothing is requested twice.
    let script = r#"mount -t tmpfs -o size=24k none disk || exit 99
        head -c 9000 /dev/zero > disk/filler
        "$0" --model extractive --keep messages:2 --jobs 1 -O disk/out logs; code=$?
        cp -r disk/out copied; rm -rf disk/out
        ask() { "$0" --summarizer-cmd 'sum=$(cksum); echo "$sum" >> asked; echo "Notes on $sum."' --keep messages:2 --ledger off --jobs 2 --resume -O disk/asked logs; }
        ask; [ $? -eq 7 ] || exit 98
        mount -o remount,size=2m disk && ask || exit 97
        cp -r disk/asked copied-asked
        exit $code"#;
    let output = Command::new("unshare")
        .args(["-rm", "sh", "-c", script])
        .arg(tcompact().get_program())
        .envs(own_settings())
        .current_dir(root)
        .output();
    let Ok(output) = output else { return left_out("unshare") };
    let said = String::from_utf8_lossy(&output.stderr);
    if matches!(output.status.code(), Some(1 | 99)) {
        // No small disk can be made here.
        return left_out("unshare");
    }
    assert_eq!(output.status.code(), Some(7), "{said}");
    let asked = fs::read_to_string(root.join("asked")).expect("a log");
    assert_eq!(asked.lines().count(), asked.lines().collect::<std::collections::BTreeSet<_>>().len(), "{asked}");
    assert_eq!(tree(&root.join("copied-asked")).len(), 5);
    assert!(said.contains("cannot be written: no space left on device"), "{said}");
    assert_eq!(tree(&root.join("logs")), original, "no input is touched");
    let expected = undisturbed(&["--model", "extractive", "--keep", "messages:2", "-O", "out", "logs"]);
    for (name, bytes) in tree(&root.join("copied")) {
        assert!(expected[&Path::new("out").join(&name)] == bytes, "{} is whole or not there", name.display());
    }
}

#[cfg(unix)]
#[test]
fn interrupted_it_leaves_nothing_unfinished() {
    let rules = [
        "--summarizer-cmd",
        "cat > /dev/null; echo Notes.",
        "--keep",
        "messages:2",
        "--jobs",
        "4",
        "-O",
        "out",
        "logs",
    ];
    let expected = undisturbed(&rules);
    let mut interrupted = 0;
    for round in 0..12 {
        let folder = tempfile::tempdir().expect("a folder");
        small_logs(folder.path());
        let mut child =
            tcompact().args(rules).current_dir(folder.path()).stderr(Stdio::null()).spawn().expect("it starts");
        std::thread::sleep(std::time::Duration::from_millis(4 * round));
        let _ = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        interrupted += u32::from(child.wait().expect("it ends").code() == Some(130));
        let left = |folder: &Path| {
            tree(folder).into_keys().filter(|name| name.display().to_string().contains(".part")).count()
        };
        assert_eq!(left(&folder.path().join("out")) + left(&folder.path().join("out/.tcompact/summaries")), 0);
        assert_resumes(folder.path(), &rules, &expected, &format!("round {round}"));
    }
    println!("interrupted {interrupted} times of 12");
}

#[cfg(unix)]
#[test]
fn an_interrupted_batch_says_how_far_it_came() {
    let folder = tempfile::tempdir().expect("a folder");
    small_logs(folder.path());
    // One of the summaries takes longer than anybody waits.
    let slow = "cat > /dev/null; touch asked; sleep 60";
    let rules = ["--summarizer-cmd", slow, "--keep", "messages:2", "--jobs", "1", "-O", "out", "logs"];
    for more in [&[][..], &["-q"]] {
        let arguments = [more, &rules[..]].concat();
        let child = tcompact()
            .args(&arguments)
            .current_dir(folder.path())
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        while !folder.path().join("asked").exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        let output = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(130), "{stderr}");
        let is_told = stderr.contains("interrupted, 0 of ") && stderr.contains("--resume goes on with the others");
        assert_eq!(is_told, more.is_empty(), "{stderr}");
        fs::remove_file(folder.path().join("asked")).expect("removed");
    }
}

#[test]
fn unwritable_files_are_reported_and_the_rest_is_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    small_logs(root);
    fs::create_dir_all(root.join("out/0.json")).expect("made");
    fs::write(root.join("out/deep"), "a file where a directory should be").expect("written");
    let run = within(root, &["--model", "extractive", "--keep", "messages:2", "--accept", "any", "-O", "out", "logs"]);
    assert_eq!(run.code, 7, "{run:?}");
    assert!(run.stderr.contains("out/0.json cannot be written: it is a directory"), "{run:?}");
    assert!(run.stderr.contains("out/deep/lines.jsonl cannot be written: "), "{run:?}");
    assert!(run.stderr.contains("2 compacted"), "{run:?}");
    assert!(root.join("out/1.json").is_file());
    assert_eq!(fs::read_dir(root.join("out")).expect("a folder").count(), 5, "no unfinished file is left");
}

/// Kills the program at random moments of a seed, several times before it may finish.
fn killed_at_random_moments(rounds: usize, seed: u64) {
    let mut seed = seed;
    let mut below = |bound: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % bound
    };
    let ways = [&["-O", "out", "logs"][..], &["--in-place=.bak", "logs"]].map(|places| {
        let rules = ["--model", "extractive", "--keep", "messages:2", "--jobs", "3"];
        let arguments = [&rules[..], places].concat();
        let began = std::time::Instant::now();
        let expected = undisturbed(&arguments);
        (arguments, expected, u64::try_from(began.elapsed().as_micros()).expect("it fits"))
    });
    let mut killed = 0;
    // On a busy machine many runs end before their moment comes: some more rounds make up for them.
    for round in 0..20 * rounds {
        if round >= rounds && killed > rounds / 4 {
            break;
        }
        let (arguments, expected, takes) = &ways[round % ways.len()];
        let folder = tempfile::tempdir().expect("a folder");
        small_logs(folder.path());
        for _ in 0..=below(3) {
            let mut command = tcompact();
            command.args(arguments).arg("--resume").current_dir(folder.path());
            let mut child = command.stderr(Stdio::null()).spawn().expect("it starts");
            std::thread::sleep(std::time::Duration::from_micros(below(*takes)));
            let _ = child.kill();
            killed += usize::from(child.wait().expect("it ends").code().is_none());
        }
        assert_resumes(folder.path(), arguments, expected, &round.to_string());
    }
    println!("killed {killed} times in {rounds} rounds");
    assert!(killed > rounds / 4, "only {killed} in {rounds} rounds");
}

#[test]
fn killed_at_a_few_random_moments_and_resumed() {
    killed_at_random_moments(6, 1);
}

#[test]
#[ignore = "half a minute; six rounds are always run"]
fn killed_at_a_hundred_random_moments_and_resumed() {
    killed_at_random_moments(100, 2);
}
