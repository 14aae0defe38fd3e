//! `restore` by an archive with lines that are not whole records: of runs that were killed, and of records that were damaged later.

use std::fs;

use serde_json::Value;

use crate::program::{Run, path, run, tcompact, with};
use crate::restoring_runs::{
    Session, assert_refused, assert_restored, assistant, long, messages, orphan, run_on, user, write,
};

const NAMES: [&str; 2] = ["s.json", "s.jsonl"];
/// What changes only what grew behind the first run.
const LATER_RUNS: [&[&str]; 3] = [&["redact"], &["repair", "drop"], &["--redact=all", "-m", "none"]];

fn said() -> Vec<Value> {
    vec![user(&long("Bed 1")), assistant(&long("Watered")), user(&long("Bed 2")), assistant("Done.")]
}

fn grown() -> Vec<Value> {
    vec![
        user("Deploy with DB_PASSWORD=Kx7mQ2vRt7Lw4zzB please."),
        orphan("4711"),
        assistant("Deployed."),
        user("Next."),
    ]
}

/// A session that a run summarized, and a later run changed only behind what the first one left.
struct TwoRuns {
    session: Session,
    /// The messages that the later run found.
    found: Vec<Value>,
    /// The archive of both runs, and where the record of the later one begins.
    records: Vec<u8>,
    second: usize,
}

impl TwoRuns {
    fn new(name: &'static str, arguments: &[&str]) -> Self {
        let session = Session::new(name, &said());
        session.run(&["--keep", "messages:1"]);
        session.grow(&grown());
        let found = session.messages();
        session.run(arguments);
        let records = fs::read(session.archive()).expect("an archive");
        let second = memchr::memchr(b'\n', &records).expect("a record") + 1;
        TwoRuns { session, found, records, second }
    }

    /// Cuts the later record off so many bytes behind its beginning.
    fn cut(&self, length: usize) {
        fs::write(self.session.archive(), &self.records[..self.second + length]).expect("written");
    }

    /// The length of the later record.
    fn length(&self) -> usize {
        self.records.len() - self.second - 1
    }

    /// Where a member of the later record begins.
    fn place_of(&self, member: &str) -> usize {
        let record = str::from_utf8(&self.records[self.second..]).expect("text");
        record.find(&format!("\"{member}\":")).expect("a member")
    }
}

#[test]
fn what_a_run_wrote_is_not_growth_where_its_record_is_damaged() {
    for name in NAMES {
        for arguments in LATER_RUNS {
            let runs = TwoRuns::new(name, arguments);
            let told = runs.place_of("left");
            let mut left = runs.session.messages();
            for more in 0..2 {
                left.extend(vec![user("And bed 3?"); more]);
                runs.session.write(&left);
                for length in (1..runs.length()).step_by(37) {
                    runs.cut(length);
                    let what = format!("{name} {arguments:?} {length} of {}", runs.length());
                    let back = runs.session.restore();
                    assert_refused(&back, "line 2 ", &what);
                    let is_told = back.stderr.contains("a later run changed this text");
                    assert!(is_told || length <= told, "{what}: {back:?}");
                }
                // The line has its end, but something in the middle of it is gone.
                let (front, end) = (runs.second + told + 20, runs.records.len() - 30);
                let broken = [&runs.records[..front], &runs.records[end..]].concat();
                fs::write(runs.session.archive(), broken).expect("written");
                assert_refused(&runs.session.restore(), "a later run changed this text", name);
                // What is left is JSON still.
                let (front, end) = (runs.second + told - 20, runs.second + runs.place_of("put_back"));
                let broken = [&runs.records[..front], b"\",", &runs.records[end..]].concat();
                fs::write(runs.session.archive(), broken).expect("written");
                assert_refused(&runs.session.restore(), "line 2 ", name);
            }
        }
    }
}

#[test]
fn a_run_that_was_killed_stands_in_no_way() {
    for name in NAMES {
        for arguments in LATER_RUNS {
            let runs = TwoRuns::new(name, arguments);
            let (told, id) = (runs.place_of("left"), runs.place_of("original_sha256"));
            for more in [vec![], vec![user("And bed 3?"), assistant("Dry.")]] {
                runs.session.write(&[&runs.found[..], &more].concat());
                let whole = [said(), grown(), more.clone()].concat();
                for length in (1..runs.length()).step_by(37) {
                    runs.cut(length);
                    let (what, back) = (format!("{name} {arguments:?} {length}"), runs.session.restore());
                    let told = if name == "s.jsonl" || more.is_empty() { id } else { told };
                    if length > told {
                        assert_restored(&back, &whole, &what);
                        assert!(back.stderr.contains("it is line 2"), "{what}: {back:?}");
                    } else {
                        assert_refused(&back, "use a copy of the archive without this line", &what);
                    }
                }
                fs::write(runs.session.archive(), &runs.records[..runs.second]).expect("written");
                assert_restored(&runs.session.restore(), &whole, name);
            }
        }
    }
}

#[test]
fn a_run_that_was_killed_and_repeated_comes_back() {
    for name in NAMES {
        for arguments in LATER_RUNS {
            let runs = TwoRuns::new(name, arguments);
            let left = runs.session.messages();
            for length in (30..runs.length()).step_by(37) {
                runs.cut(length);
                runs.session.write(&runs.found);
                runs.session.run(arguments);
                assert_eq!(runs.session.messages(), left);
                let more = [user("And bed 3?")];
                for more in [&more[..0], &more] {
                    runs.session.write(&[&left[..], more].concat());
                    let back = runs.session.restore();
                    if length > runs.place_of("original_sha256") {
                        assert_restored(&back, &[&said()[..], &grown(), more].concat(), &format!("{name} {length}"));
                    }
                }
            }
        }
    }
}

/// Half a record of the first run, all of it, and the record of the second run.
#[test]
fn a_run_that_was_killed_and_repeated_before_another_comes_back() {
    for name in NAMES {
        for arguments in LATER_RUNS {
            let runs = TwoRuns::new(name, arguments);
            let left = [runs.session.messages(), vec![user("And bed 3?")]].concat();
            let whole = [said(), grown(), vec![user("And bed 3?")]].concat();
            let told = memchr::memmem::find(&runs.records, b"\"left\":").expect("a member");
            for length in (told..runs.second - 1).step_by(runs.second / 12) {
                runs.session.write(&left);
                let records = [&runs.records[..length], b"\n", &runs.records[..]].concat();
                fs::write(runs.session.archive(), records).expect("written");
                assert_restored(&runs.session.restore(), &whole, &format!("{name} {arguments:?} {length}"));
            }
        }
    }
}

#[test]
fn the_broken_record_of_another_file_is_not_of_this_one() {
    for name in NAMES {
        let runs = TwoRuns::new(name, &["redact"]);
        let left = [runs.session.messages(), vec![user("And bed 3?")]].concat();
        runs.session.write(&left);
        let other = path(runs.session.folder.path(), "other.json");
        write(&other, &[user(&long("Well 1")), assistant(&long("Deep")), user("Well 2.")]);
        let archive = path(runs.session.folder.path(), "other-h.jsonl");
        run_on(&archive, &other, &["--keep", "messages:1"]);
        let record = fs::read(&archive).expect("an archive");
        for length in [40, 200, record.len() / 2, record.len() - 5] {
            let records = [&record[..length], b"\n", &runs.records].concat();
            fs::write(runs.session.archive(), records).expect("written");
            let whole = [said(), grown(), vec![user("And bed 3?")]].concat();
            assert_restored(&runs.session.restore(), &whole, &format!("{name} {length}"));
        }
    }
}

#[test]
fn a_damaged_compressed_archive_proves_nothing_of_a_text_that_grew() {
    for end in ["gz", "zst"] {
        for name in NAMES {
            let session = Session::new(name, &said());
            let archive = format!("{}.{end}", session.archive());
            run_on(&archive, &session.file(), &["--keep", "messages:1"]);
            let first = fs::read(&archive).expect("an archive").len();
            let exact = fs::read(session.file()).expect("a text");
            session.grow(&grown());
            run_on(&archive, &session.file(), &["redact"]);
            let whole = fs::read(&archive).expect("an archive");
            let left = [session.messages(), vec![user("And bed 3?")]].concat();
            for length in (first + 1..whole.len()).step_by(13) {
                fs::write(&archive, &whole[..length]).expect("written");
                session.write(&left);
                let what = format!("{name} {end} {length} of {}", whole.len());
                let back = with(&["restore", &archive, &session.file()]);
                // Only the check behind the whole record can be missing.
                if back.code == 0 {
                    assert_restored(&back, &[said(), grown(), vec![user("And bed 3?")]].concat(), &what);
                } else {
                    assert_refused(&back, "", &what);
                }
                fs::write(session.file(), &exact).expect("written");
                assert_restored(&with(&["restore", &archive, &session.file()]), &said(), &what);
            }
        }
    }
}

/// What a run left in the archive beside a file, which the text is not read from.
#[test]
fn a_text_of_standard_input_is_not_taken_back_past_a_later_archive() {
    for [first, second] in [["cut.jsonl", "cut.jsonl.zst"], ["cut.jsonl.gz", "cut.jsonl"]] {
        for name in NAMES {
            let session = Session::new(name, &said());
            let [first, second] = [first, second].map(|end| format!("{}.{end}", session.file()));
            run_on(&first, &session.file(), &["--keep", "messages:1"]);
            session.grow(&grown());
            run_on(&second, &session.file(), &["redact"]);
            session.grow(&[user("And bed 3?")]);
            let text = fs::read(session.file()).expect("a text");
            fs::remove_file(session.file()).expect("removed");
            let restore = |archive: &str, text: &[u8]| -> Run { run(tcompact().args(["restore", archive]), text) };
            assert_refused(&restore(&first, &text), "a later run on it is in ", name);
            let back = restore(&second, &text);
            assert_eq!(back.code, 0, "{name}: {back:?}");
            let whole = restore(&first, back.stdout.as_bytes());
            assert_restored(&whole, &[said(), grown(), vec![user("And bed 3?")]].concat(), name);
        }
    }
}

#[cfg(unix)]
#[test]
fn files_whose_names_end_in_numbers_are_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "h.jsonl");
    let files = ["chat:1", "chat:2"].map(|name| path(folder.path(), name));
    let texts = ["Kx7mQ2vRt7Lw4zzB", "Zq9pT4wYs8Jn3ccD"]
        .map(|word| vec![user(&format!("Deploy.\nDB_PASSWORD={word}")), assistant("Deployed.")]);
    for (file, text) in files.iter().zip(&texts) {
        write(file, text);
        run_on(&archive, file, &["redact"]);
    }
    for (file, text) in files.iter().zip(&texts) {
        assert_restored(&with(&["restore", &archive, file]), text, file);
        let left = messages(&fs::read_to_string(file).expect("a text"));
        write(file, &[left, vec![user("Thanks.")]].concat());
        assert_restored(&with(&["restore", &archive, file]), &[&text[..], &[user("Thanks.")]].concat(), file);
    }
}

/// The record of a run through standard input does not name the one before it.
#[test]
fn a_broken_record_of_the_run_before_is_named() {
    for name in NAMES {
        let session = Session::new(name, &said());
        session.run(&["redact"]);
        session.grow(&grown());
        session.run(&["redact"]);
        let text = fs::read(session.file()).expect("a file");
        let archive = session.archive();
        let done = run(tcompact().args(["--keep", "messages:1", "-q", "--archive", &archive]), &text);
        assert_eq!(done.code, 0, "{done:?}");
        fs::write(session.file(), &done.stdout).expect("written");
        let records = fs::read_to_string(&archive).expect("an archive");
        fs::write(&archive, records.replacen("\"round\":", "\"rOund\":", 1)).expect("written");
        let back = session.restore();
        assert_restored(&back, &messages(str::from_utf8(&text).expect("text")), name);
        assert!(back.stderr.contains("lacks the record "), "{name}: {back:?}");
    }
}
