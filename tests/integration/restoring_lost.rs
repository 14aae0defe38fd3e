//! `restore` by an archive from which a whole record is gone: each record names the one before it of its text.

use std::fs;

use serde_json::Value;

use crate::program::{path, run, tcompact, with};
use crate::restoring_runs::{Session, assert_refused, assert_restored, assistant, long, orphan, run_on, user, write};

const NAMES: [&str; 2] = ["s.json", "s.jsonl"];
/// Runs that leave no note in the text, so that nothing but the archive tells of them.
const SILENT_RUNS: [&[&str]; 3] = [&["redact"], &["repair", "drop"], &["--redact=all", "-m", "none"]];

fn said() -> Vec<Value> {
    vec![user(&long("Bed 1")), assistant(&long("Watered")), user(&long("Bed 2")), assistant("Done.")]
}

fn grown(number: usize) -> Vec<Value> {
    let secret = format!("Deploy with DB_PASSWORD=Kx7mQ2vRt7Lw4zz{number} please.");
    vec![user(&secret), orphan(&number.to_string()), assistant(&format!("Deployed {number}.")), user("Next.")]
}

/// A session of which the archive has three runs. Returns what each of them found.
fn three_runs(name: &'static str, silent: &[&str]) -> (Session, [Vec<Value>; 3]) {
    let session = Session::new(name, &said());
    session.run(&["--keep", "messages:1"]);
    session.grow(&grown(1));
    let second = session.messages();
    session.run(silent);
    session.grow(&grown(2));
    let third = session.messages();
    session.run(silent);
    let more = vec![user("And bed 3?")];
    session.grow(&more);
    let found = [[said(), grown(1), grown(2), more.clone()].concat(), [second, grown(2), more.clone()].concat()];
    let [first, second] = found;
    (session, [first, second, [third, more].concat()])
}

fn records(archive: &str) -> Vec<String> {
    fs::read_to_string(archive).expect("an archive").lines().map(str::to_owned).collect()
}

fn member(record: &str, name: &str) -> Value {
    serde_json::from_str::<Value>(record).expect("a record")[name].clone()
}

#[test]
fn each_record_names_the_one_before_it_of_its_file() {
    for name in NAMES {
        let (session, _) = three_runs(name, &["redact"]);
        let other = path(session.folder.path(), "other.json");
        write(&other, &grown(7));
        run_on(&session.archive(), &other, &["redact"]);
        session.grow(&grown(3));
        session.run(&["redact"]);
        let records = records(&session.archive());
        let ids: Vec<Value> = records.iter().map(|record| member(record, "id")).collect();
        let previous: Vec<Value> = records.iter().map(|record| member(record, "previous")).collect();
        assert_eq!(previous, [Value::Null, ids[0].clone(), ids[1].clone(), Value::Null, ids[2].clone()], "{name}");
        // An archive that is begun anew knows nothing of the one before.
        session.grow(&grown(4));
        let second = path(session.folder.path(), "second.jsonl");
        run_on(&second, &session.file(), &["redact"]);
        assert_eq!(member(&self::records(&second)[0], "previous"), Value::Null, "{name}");
    }
}

#[test]
fn what_a_run_wrote_is_not_growth_where_its_record_is_gone() {
    for name in NAMES {
        for silent in SILENT_RUNS {
            let (session, [first, _, third]) = three_runs(name, silent);
            let what = format!("{name} {silent:?}");
            assert_restored(&session.restore(), &first, &what);
            let records = records(&session.archive());
            for end in [".gz", ""] {
                let archive = session.archive() + end;
                let lines = format!("{}\n{}\n", records[0], records[2]);
                pack(&archive, &lines);
                let restore = |rounds: &[&str]| with(&[&["restore", &archive, &session.file()], rounds].concat());
                let id = member(&records[1], "id");
                let why = format!("the record {} of the run before is missing or broken", id.as_str().expect("an id"));
                let back = restore(&[]);
                assert_refused(&back, &why, &what);
                assert!(back.stderr.contains("--rounds 1 takes back"), "{what}: {back:?}");
                assert_refused(&restore(&["--rounds", "2"]), &why, &what);
                assert_restored(&restore(&["--rounds", "1"]), &third, &what);
            }
            // Without the member, as older versions wrote it, the runs are undone as far as they are there.
            let mut old: Value = serde_json::from_str(&records[2]).expect("a record");
            old.as_object_mut().expect("an object").retain(|key, _| !["previous", "hash"].contains(&key.as_str()));
            fs::write(session.archive(), format!("{}\n{}\n{old}\n", records[0], records[1])).expect("written");
            assert_restored(&session.restore(), &first, &what);
        }
    }
}

/// Writes an archive, compressed where its name says so.
fn pack(archive: &str, lines: &str) {
    let bytes = match archive.strip_suffix(".gz") {
        None => lines.as_bytes().to_vec(),
        Some(_) => {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            std::io::Write::write_all(&mut packed, lines.as_bytes()).expect("packed");
            packed.finish().expect("packed")
        }
    };
    fs::write(archive, bytes).expect("written");
}

/// What the others found is exact, and nothing goes back to before them.
#[test]
fn where_the_first_records_are_gone_the_others_go_back() {
    for name in NAMES {
        let (session, [_, second, third]) = three_runs(name, &["redact"]);
        let records = records(&session.archive());
        for (gone, found) in [(1, second), (2, third)] {
            fs::write(session.archive(), records[gone..].join("\n") + "\n").expect("written");
            let back = session.restore();
            assert_restored(&back, &found, name);
            let id = member(&records[gone - 1], "id");
            let said = format!("lacks the record {} of the run before", id.as_str().expect("an id"));
            assert!(back.stderr.contains(&said) || back.stderr.contains("has nothing of round 1"), "{name}: {back:?}");
        }
    }
}

#[test]
fn a_broken_record_between_others_is_missed_too() {
    for name in NAMES {
        let (session, [_, _, third]) = three_runs(name, &["redact"]);
        let records = records(&session.archive());
        let half = &records[1][..records[1].len() / 2];
        fs::write(session.archive(), format!("{}\n{half}\n{}\n", records[0], records[2])).expect("written");
        assert_refused(&session.restore(), "cannot be used: ", name);
        let back = with(&["restore", "--rounds", "1", &session.archive(), &session.file()]);
        assert_restored(&back, &third, name);
    }
}

#[test]
fn a_file_that_was_renamed_between_its_runs_comes_back() {
    for name in NAMES {
        let session = Session::new(name, &said());
        session.run(&["--keep", "messages:1"]);
        let moved = path(session.folder.path(), &name.replacen('s', "moved", 1));
        fs::rename(session.file(), &moved).expect("renamed");
        let left = crate::restoring_runs::messages(&fs::read_to_string(&moved).expect("a file"));
        write(&moved, &[left, grown(1)].concat());
        run_on(&session.archive(), &moved, &["redact"]);
        assert_restored(&with(&["restore", &session.archive(), &moved]), &[said(), grown(1)].concat(), name);
    }
}

/// The lines of a file of conversations have chains of their own.
#[test]
fn each_line_has_its_own_run_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let [archive, file] = ["h.jsonl", "chats.jsonl"].map(|name| path(folder.path(), name));
    let line = |messages: Vec<Value>| format!("{}\n", serde_json::json!({ "messages": messages }));
    fs::write(&file, [line(said()), line([said(), grown(5)].concat())].concat()).expect("written");
    run_on(&archive, &file, &["--keep", "messages:1"]);
    let left = fs::read_to_string(&file).expect("a file");
    let mut lists: Vec<Value> = left.lines().map(|line| serde_json::from_str(line).expect("a line")).collect();
    for list in &mut lists {
        list["messages"].as_array_mut().expect("messages").extend(grown(6));
    }
    let found = format!("{}\n{}\n", lists[0], lists[1]);
    fs::write(&file, &found).expect("written");
    run_on(&archive, &file, &["redact"]);
    let records = records(&archive);
    let previous: Vec<Value> = records.iter().map(|record| member(record, "previous")).collect();
    let ids: Vec<Value> = records.iter().map(|record| member(record, "id")).collect();
    assert_eq!(previous, [Value::Null, Value::Null, ids[0].clone(), ids[1].clone()]);
    let whole = [line([said(), grown(6)].concat()), line([said(), grown(5), grown(6)].concat())].concat();
    let back = with(&["restore", &archive, &file]);
    assert_eq!((back.code, back.stdout), (0, whole), "{}", back.stderr);
    fs::write(&archive, [&*records[0], &records[2], &records[3], ""].join("\n")).expect("written");
    let back = with(&["restore", &archive, &file]);
    let second = found.lines().nth(1).expect("a line");
    assert_eq!((back.code, back.stdout), (0, format!("{}{second}\n", line([said(), grown(6)].concat()))));
    let said = format!("lacks the record {} of the run before", ids[1].as_str().expect("an id"));
    assert!(back.stderr.contains(&said), "{}", back.stderr);
}

/// A damaged record is of a run, too: the run behind it does not follow the one before it.
#[test]
fn a_run_behind_a_damaged_record_names_it() {
    for name in NAMES {
        let session = Session::new(name, &said());
        session.run(&["--keep", "messages:1"]);
        session.grow(&grown(1));
        session.run(&["redact"]);
        let archive = fs::read_to_string(session.archive()).expect("an archive");
        let (first, second) = archive.split_once('\n').expect("two records");
        fs::write(session.archive(), format!("{first}\n{}", second.replacen("\"round\":", "\"rOund\":", 1)))
            .expect("written");
        session.grow(&grown(2));
        session.run(&["redact"]);
        let third = records(&session.archive()).pop().expect("a record");
        assert_eq!(member(&third, "previous"), member(second, "id"), "{name}");
    }
}

#[test]
fn a_run_on_standard_input_counts_among_those_of_the_file() {
    let session = Session::new("s.json", &said());
    session.run(&["redact"]);
    session.grow(&grown(1));
    session.run(&["redact"]);
    let masked = session.messages();
    let mut dropped = masked.clone();
    dropped.push(orphan("A result that the next run removes."));
    session.write(&dropped);
    let text = fs::read(session.file()).expect("a file");
    let done = run(tcompact().args(["repair", "drop", "-q", "--archive", &session.archive()]), &text);
    assert_eq!(done.code, 0, "{done:?}");
    fs::write(session.file(), done.stdout).expect("written");
    let expected = [said(), grown(1), vec![orphan("A result that the next run removes.")]].concat();
    assert_restored(&session.restore(), &expected, "standard input");
}

/// What a run left of one line can be what another line is.
#[test]
fn a_line_that_no_run_changed_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, archive) = (path(folder.path(), "s.jsonl"), path(folder.path(), "h.jsonl"));
    let line = |secret: &str| serde_json::to_string(&[user(&format!("password={secret}")), assistant("Thanks.")]);
    let lines = [line("[password-1]"), line("Kx7mQ2vRt7Lw4zz1")].map(|line| line.expect("JSON") + "\n").concat();
    fs::write(&file, &lines).expect("written");
    run_on(&archive, &file, &["redact"]);
    assert!(!fs::read_to_string(&file).expect("a file").contains("Kx7mQ2"));
    let back = with(&["restore", &archive, &file]);
    assert_eq!((back.code, back.stdout), (0, lines), "{}", back.stderr);
}

/// A file that was renamed and named back is not told from a copy that went another way.
#[test]
fn a_run_under_another_name_is_named() {
    let session = Session::new("s.json", &said());
    session.run(&["redact"]);
    session.run(&["--keep", "messages:1"]);
    session.grow(&[orphan("A result that the next run removes.")]);
    let renamed = path(session.folder.path(), "t.json");
    fs::rename(session.file(), &renamed).expect("renamed");
    run_on(&session.archive(), &renamed, &["repair", "drop"]);
    fs::rename(&renamed, session.file()).expect("renamed");
    session.grow(&grown(1));
    let back = session.restore();
    assert_restored(&back, &[said(), grown(1)].concat(), "without the run under another name");
    let named = format!("on {renamed} left what this text begins with, too, and was not put back");
    assert!(back.stderr.contains(&named), "{}", back.stderr);
    fs::rename(session.file(), &renamed).expect("renamed");
    let back = with(&["restore", &session.archive(), &renamed]);
    let whole = [said(), vec![orphan("A result that the next run removes.")], grown(1)].concat();
    assert_restored(&back, &whole, "under that name");
    assert!(!back.stderr.contains("was not put back"), "{}", back.stderr);
}

/// What an only run on another name removed is told by nothing else.
#[test]
fn a_run_before_a_file_was_renamed_is_named() {
    let session = Session::new("s.json", &[said(), vec![orphan("A result that the first run removes.")]].concat());
    session.run(&["repair", "drop"]);
    let renamed = path(session.folder.path(), "t.json");
    fs::rename(session.file(), &renamed).expect("renamed");
    write(&renamed, &[said(), grown(1)].concat());
    run_on(&session.archive(), &renamed, &["--keep", "messages:1"]);
    let back = with(&["restore", &session.archive(), &renamed]);
    assert_restored(&back, &[said(), grown(1)].concat(), "without the run under another name");
    let named = format!("on {} left what this text begins with, too, and was not put back", session.file());
    assert!(back.stderr.contains(&named), "{}", back.stderr);
}
