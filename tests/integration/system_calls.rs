//! How many system calls on files a file of a batch takes. A clock would measure the machine.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::interrupted_runs::can_trace;
use crate::left_out::left_out;
use crate::program::{own_settings, tcompact};
use crate::support::turns;

/// The system calls on files that a batch of `count` files takes.
fn calls(count: usize, flags: &[&str]) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    let sessions = folder.path().join("sessions");
    fs::create_dir(&sessions).expect("made");
    for number in 0..count {
        let messages = turns(0..9, |_| "word ".repeat(50));
        fs::write(sessions.join(format!("{number}.json")), json!(messages).to_string()).expect("written");
    }
    let log = folder.path().join("log");
    let mut traced = Command::new("strace");
    traced
        .args(["-f", "-qq", "-e", "trace=file,desc", "-e", "signal=none", "-o"])
        .arg(&log)
        .arg(tcompact().get_program());
    traced.args(["-q", "-j", "1", "-m", "none", "--keep", "messages:2"]).args(flags).arg("sessions");
    traced.envs(own_settings()).current_dir(&folder);
    assert!(traced.status().expect("it runs").success(), "{flags:?}");
    fs::read_to_string(log).expect("a log").lines().count()
}

#[test]
fn a_file_of_a_batch_takes_few_system_calls() {
    const FEWER: usize = 10;
    const MORE: usize = 30;
    if !can_trace() {
        return left_out("strace");
    }
    // With --force, nobody looks for other processes that have the file open: how many there are changes.
    for (flags, most) in [(["-O", "out"].as_slice(), 25), (&["-i", "--force"], 30)] {
        let taken = calls(MORE, flags) - calls(FEWER, flags);
        assert!(taken <= most * (MORE - FEWER), "{flags:?}: {taken} for {}", MORE - FEWER);
    }
}
