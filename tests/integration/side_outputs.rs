//! A run that fails has changed nothing: what belongs to a result is complete before its place is touched. Where more
//! than one file is written, the error says what was written before it.

#![allow(clippy::print_stdout, reason = "what could not be tried here is said")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::all_cases::{Sample, one_in};
use crate::interrupted_runs::{can_trace, steps};
use crate::left_out::left_out;
use crate::program::{own_settings, shell, tcompact};
use crate::support::{tree, turns};

/// Where the results of a document, of lines and of several files go.
const PLACES: [(&str, &str); 11] = [
    ("a document to a file", "-o out.json a.json"),
    ("a document in place", "-i a.json"),
    ("a document in place, with a copy", "--in-place=.bak a.json"),
    ("a document to a folder", "-O out a.json"),
    ("a document to standard output", "a.json"),
    ("lines to a file", "--lines conversations -o out.json lines.jsonl"),
    ("lines in place", "--lines conversations -i lines.jsonl"),
    ("lines to standard output", "--lines conversations lines.jsonl"),
    ("several in place", "-j 2 -i a.json b.json lines.jsonl"),
    ("several to a folder", "-j 2 -O out a.json b.json lines.jsonl"),
    ("a directory in place", "-j 2 -i deep"),
];

/// Why a file beside the result cannot be written: what is done before the run, its flags, and what the summarizer does
/// before it answers.
const WAYS: [(&str, &str, &str, &str); 17] = [
    ("a full report", "", "--report /dev/full", ""),
    ("a full page", "", "--html /dev/full", ""),
    ("a full page beside a report", "", "--report side.jsonl --html /dev/full", ""),
    ("a report where nothing can be made", "", "--report /proc/report.jsonl", ""),
    ("a page where nothing can be made", "", "--html /proc/page.html", ""),
    ("an archive where nothing can be made", "", "--archive /proc/cut.jsonl", ""),
    ("a report that is a folder", "mkdir side.jsonl", "--report side.jsonl", ""),
    ("a page that is a folder", "mkdir side.html", "--html side.html", ""),
    ("an archive that is a folder", "mkdir new.jsonl", "--archive new.jsonl", ""),
    ("a report that becomes a folder", "", "--report side.jsonl", "rm -f side.jsonl; mkdir -p side.jsonl;"),
    ("a page that becomes a folder", "", "--html side.html", "mkdir -p side.html;"),
    ("an archive that becomes a folder", "", "--archive new.jsonl", "mkdir -p new.jsonl;"),
    ("a report whose folder goes", "mkdir side", "--report side/r.jsonl", "rm -rf side;"),
    ("a report below a file", "echo x > side", "--report side/r.jsonl", ""),
    ("a report to a closed pipe", "", "--report /dev/fd/7", ""),
    ("a page to a closed pipe", "", "--html /dev/fd/7", ""),
    // Shells count blocks of 512 or 1,024 bytes: the archive has more than the limit, and all else less.
    ("an archive above the limit of sizes", "head -c 300000 /dev/zero | tr '\\0' '\\n' >> cut.jsonl", "", ""),
];

/// What the error says where files were written before it.
const SAID: [&str; 4] =
    ["replaced before that: ", "written before that: ", "the result is written anyway", "what came before it"];

fn says(error: &str) -> bool {
    SAID.iter().any(|sentence| error.contains(sentence))
}

fn conversation(number: usize) -> String {
    let text = |at| format!("Conversation {number} says its part {at}, which is long enough. ").repeat(4);
    json!(turns(0..8, text)).to_string()
}

/// A folder with conversations, an archive and an earlier output.
fn place() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let write = |name: &str, text: &str| fs::write(root.join(name), text).expect("written");
    fs::create_dir_all(root.join("deep")).expect("made");
    fs::create_dir_all(root.join("out")).expect("made");
    for (number, name) in ["a.json", "b.json", "deep/c.json", "deep/d.json"].iter().enumerate() {
        write(name, &conversation(number));
    }
    write("lines.jsonl", &(4..7).map(|number| conversation(number) + "\n").collect::<String>());
    write("cut.jsonl", "{\"source\":\"of an earlier run\",\"messages\":[]}\n");
    write("out.json", "earlier");
    write("printed", "");
    folder
}

/// The inputs, results and archives that differ. Reports and pages tell of runs that failed, too.
fn changed(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let differs = |name: &&PathBuf| !name.starts_with("run") && before.get(*name) != after.get(*name);
    let names = before.keys().chain(after.keys()).filter(differs).map(|name| name.display().to_string());
    names.filter(|name| !name.starts_with("side")).collect()
}

#[test]
fn a_run_that_fails_has_changed_nothing_or_says_what() {
    let (mut failed, mut told, mut wrong, mut sample) = (0, 0, Vec::new(), Sample::default());
    for (place_name, places) in PLACES {
        for (way, before, flags, meanwhile) in WAYS.into_iter().filter(|_| sample.takes_next()) {
            let folder = place();
            let root = folder.path();
            fs::create_dir(root.join("run")).expect("made");
            assert!(shell(before, root).status().expect("it runs").success(), "{way}");
            let was = tree(root);
            let archive = if flags.contains("--archive") { "" } else { "--archive cut.jsonl" };
            let limit = if way.contains("limit") { "ulimit -f 256" } else { "" };
            let summarizer =
                format!("{meanwhile} cat > /dev/null; echo They said their parts, one after the other, all of them.");
            // Descriptor 7 is a pipe that nobody reads any more.
            let script = format!(
                "exec 8> run/code
                {{ sleep 0.03; {limit}
                tcompact --accept any --ledger off --keep messages:2 --summarizer-cmd '{summarizer}' \
                {archive} {flags} {places} > printed 2> run/said 8>&-; echo $? >&8; }} 7>&1 | true"
            );
            assert!(shell(&script, root).status().expect("it runs").success(), "{script}");
            let said = fs::read_to_string(root.join("run/said")).expect("standard error");
            let code = fs::read_to_string(root.join("run/code")).expect("a code");
            let is = tree(root);
            let changed = changed(&was, &is);
            let context = format!("{place_name}, {way}: exit code {}: {said}: {changed:?}", code.trim());
            let is_unfinished = is.keys().any(|name| name.to_string_lossy().contains(".part"));
            if code.trim() == "0" && !is_unfinished {
                continue;
            }
            failed += 1;
            told += usize::from(!changed.is_empty());
            let is_told = match place_name {
                "a document to standard output" | "lines to standard output" => says(&said),
                // Each of several files has its own error.
                _ if places.contains("-j") => says(&said) || way.contains("archive"),
                _ => false,
            };
            if is_unfinished || !said.contains("cannot be written") || !changed.is_empty() && !is_told {
                wrong.push(context);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{failed} runs failed, {told} of them after something was written");
    assert!(failed * one_in() > 120, "{failed}");
}

/// Each system call that can fail at a write fails once, wherever it stands.
#[test]
fn a_system_call_that_fails_changes_nothing() {
    const CALLS: &str = "write,fsync,rename,renameat,renameat2,fchmod,ftruncate,flock,lseek";
    if !can_trace() {
        return left_out("strace");
    }
    let (mut failed, mut wrong, mut sample) = (0, Vec::new(), Sample::default());
    for (place_name, places) in PLACES.into_iter().filter(|(_, places)| !places.contains("-j")) {
        let traced = |folder: &Path, how: &str| {
            let mut command = Command::new("strace");
            command.args(["-f", "-qq", "-o", "run/log", "-e", &format!("trace={CALLS}"), "-e", how]);
            command.arg(tcompact().get_program());
            command.args("--keep messages:2 --archive cut.jsonl --report side.jsonl --html side.html -j 1".split(' '));
            command.args(places.split(' ')).envs(own_settings()).current_dir(folder);
            command.stdout(fs::File::create(folder.join("printed")).expect("made")).stderr(Stdio::piped());
            command.output().expect("it runs")
        };
        let whole = place();
        fs::create_dir(whole.path().join("run")).expect("made");
        assert!(traced(whole.path(), "signal=none").status.success(), "{place_name}");
        let log = fs::read_to_string(whole.path().join("run/log")).expect("a log");
        for (call, time) in steps(&log) {
            for error in ["ENOSPC", "EFBIG"].into_iter().filter(|_| sample.takes_next()) {
                let folder = place();
                fs::create_dir(folder.path().join("run")).expect("made");
                let was = tree(folder.path());
                let done = traced(folder.path(), &format!("inject={call}:error={error}:when={time}"));
                if done.status.success() {
                    continue;
                }
                failed += 1;
                let said = String::from_utf8_lossy(&done.stderr);
                let changed = changed(&was, &tree(folder.path()));
                let context = format!("{place_name}, {call} number {time}: {}: {said}: {changed:?}", done.status);
                let is_told = place_name.ends_with("standard output") && says(&said);
                if !changed.is_empty() && !is_told {
                    wrong.push(context);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{failed} runs failed");
    assert!(failed * one_in() > 100, "{failed}");
}
