//! Sessions that are too large to be held in memory, with a bound that is small: what is left of them, what the archive
//! gives back, and what a bad file or archive does.

use std::fs::{self, Metadata, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};

use crate::cli::retry::Typed;
use crate::compact::CompactionPolicy;
use crate::engine::restore::restore;
use crate::files::agent_homes::AgentHomes;
use crate::files::append::{Section, write_section};
use crate::files::blocks::BlockSizes;
use crate::files::open_files::OpenFiles;
use crate::plan::size::Size;
use crate::settings::{Destination, InputSettings, LargeFiles, RestoreSettings, SlimSettings, Volume};

use super::by_lines::slim_by_lines;
use super::file::slim_file;
use super::place::{Outcome, Place, SessionFile};

/// Blocks of some lines.
const SMALL: LargeFiles = LargeFiles { from: 0, sizes: BlockSizes { block: 4_000, longest_line: 30_000 } };
/// No file is large.
const NEVER: LargeFiles = LargeFiles { from: u64::MAX, ..SMALL };

fn settings(large: LargeFiles) -> SlimSettings {
    SlimSettings {
        input: InputSettings { paths: Vec::new(), from: None, lines: None, other_files: Vec::new(), large },
        policy: CompactionPolicy::keeping(Size::Messages(20)),
        dry_run: false,
        older: None,
        archives: true,
        force: true,
        volume: Volume::Quiet,
    }
}

fn line(kind: &str, payload: Value) -> String {
    json!({"timestamp": "2026-11-02T09:00:00.000Z", "type": kind, "payload": payload}).to_string() + "\n"
}

/// Some turns of a session of Codex, from the number `first` on.
fn turns(first: usize, count: usize) -> String {
    let mut text = String::new();
    for turn in first..first + count {
        let output = format!("line {turn} of a log: größer\n").repeat(20 + turn % 7 * 10);
        let said = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": format!("do {turn}")}]});
        text += &line("response_item", said);
        let call = json!({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": format!("c{turn}")});
        text += &line("response_item", call);
        let event = json!({"type": "exec_command_end", "call_id": format!("c{turn}"), "stdout": output, "formatted_output": output});
        text += &line("event_msg", event);
        let result = json!({"type": "function_call_output", "call_id": format!("c{turn}"), "output": output});
        text += &line("response_item", result);
        text += &line("event_msg", json!({"type": "token_count", "info": null, "rate_limits": {"used": turn}}));
    }
    text
}

fn compaction() -> String {
    let item = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "so far"}]});
    line("compacted", json!({"message": "", "replacement_history": [item]}))
}

/// A session file in a folder of its own.
struct TestFile {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl TestFile {
    fn new(name: &str, text: &[u8]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        TestFile { _folder: folder, path }
    }

    fn session(&self) -> SessionFile {
        SessionFile { path: self.path.clone(), is_named: true }
    }

    fn archive(&self) -> PathBuf {
        self.session().archive()
    }

    fn text(&self) -> Vec<u8> {
        fs::read(&self.path).expect("the file")
    }

    fn append(&self, text: &str) {
        let mut file = OpenOptions::new().append(true).open(&self.path).expect("there");
        file.write_all(text.as_bytes()).expect("written");
    }

    fn slim(&self, large: LargeFiles) -> Result<Outcome> {
        slim_file(&settings(large), &self.session(), &OpenFiles::default(), &AgentHomes::default())
    }

    /// Slims the file, and says how many bytes that saved.
    fn slimmed(&self, large: LargeFiles) -> u64 {
        match self.slim(large).expect("slimmed") {
            Outcome::Slimmed(saving) => saving.before - saving.after,
            Outcome::Nothing(_) => 0,
            Outcome::Other(why) | Outcome::Left(why) => panic!("{why}"),
            Outcome::Young | Outcome::Failed(_) => panic!("not slimmed"),
        }
    }

    fn restore(&self, rounds: Option<usize>) -> Result<()> {
        self.restore_by(self.archive(), rounds)
    }

    fn restore_by(&self, archive: PathBuf, rounds: Option<usize>) -> Result<()> {
        let settings = RestoreSettings {
            archive,
            path: Some(self.path.clone()),
            destination: Destination::InPlace(None),
            force: true,
            rounds,
            volume: Volume::Quiet,
            typed: Typed::default(),
        };
        restore(&settings).map(drop)
    }

    fn unfinished_files(&self) -> usize {
        let folder = fs::read_dir(self.path.parent().unwrap_or(Path::new("."))).expect("a folder");
        folder.flatten().filter(|entry| entry.file_name().to_string_lossy().ends_with(".part")).count()
    }
}

#[test]
fn a_session_is_slimmed_by_its_lines_as_in_memory() {
    let session = [turns(0, 30), compaction(), turns(30, 9)].concat();
    for name in ["s.jsonl", "s.jsonl.gz", "s.jsonl.zst"] {
        let [by_lines, whole] = [SMALL, NEVER].map(|sizes| {
            let file = TestFile::new("s.jsonl", session.as_bytes());
            if name != "s.jsonl" {
                pack(&file.path, name);
            }
            let file = TestFile { path: file.path.with_file_name(name), ..file };
            assert!(file.slimmed(sizes) > 0);
            file
        });
        let text = |file: &TestFile| crate::files::input::read(Some(&file.path)).expect("a text").text;
        assert!(text(&by_lines) == text(&whole), "{name}");
        by_lines.restore(None).expect("it comes back");
        assert!(text(&by_lines) == session, "{name}");
        let again = by_lines.restore(None).expect_err("it is the original");
        assert!(again.to_string().contains("nothing is to be put back"), "{again}");
        assert!(by_lines.slimmed(SMALL) > 0, "{name}");
    }
}

/// Compresses a file to another one beside it.
fn pack(file: &Path, name: &str) {
    let target = file.with_file_name(name);
    let bytes = fs::read(file).expect("there");
    let readers = crate::files::atomic::Readers::default();
    crate::files::output::write([bytes.as_slice()].into_iter(), Some(&target), &readers).expect("written");
}

#[test]
fn a_second_run_finds_nothing_and_writes_nothing() {
    let file = TestFile::new("s.jsonl", turns(0, 20).as_bytes());
    assert!(file.slimmed(SMALL) > 0);
    let (text, archive) = (file.text(), fs::read(file.archive()).expect("an archive"));
    assert_eq!(file.slimmed(SMALL), 0);
    assert!(file.text() == text && fs::read(file.archive()).expect("an archive") == archive);
}

#[test]
fn rounds_come_back_one_by_one_and_all_at_once() {
    let file = TestFile::new("s.jsonl", turns(0, 5).as_bytes());
    let mut whole = turns(0, 5);
    let mut left = Vec::new();
    // In memory, by lines, in memory again, and by lines.
    for (at, sizes) in [NEVER, SMALL, NEVER, SMALL].into_iter().enumerate() {
        assert!(file.slimmed(sizes) > 0);
        left.push(file.text());
        let more = turns(5 + at * 4, 4);
        file.append(&more);
        whole += &more;
    }
    let grown = file.text();
    file.restore(Some(1)).expect("one round");
    let one_less = file.text();
    assert!(one_less.len() > grown.len() && one_less.starts_with(&left[2]), "what the third run left");
    file.restore(None).expect("all rounds");
    assert!(file.text() == whole.as_bytes());
    let again = file.restore(None).expect_err("nothing is to be put back");
    assert!(again.to_string().contains("has nothing that was cut from this text"), "{again}");
    assert!(file.text() == whole.as_bytes());
    assert_eq!(file.unfinished_files(), 0);
}

#[test]
fn odd_lines_stay_and_come_back() {
    let long = line("event_msg", json!({"type": "agent_message", "message": "x".repeat(50_000)}));
    let odd =
        [b"{\"cut off\n".to_vec(), b"\xff\xfe\n".to_vec(), long.clone().into_bytes(), b"\r\n\n".to_vec()].concat();
    let cut = turns(90, 1);
    let session = [turns(0, 20).as_bytes(), &odd, turns(20, 20).as_bytes(), &cut.as_bytes()[..700]].concat();
    let file = TestFile::new("s.jsonl", &session);
    assert!(file.slimmed(SMALL) > session.len() as u64 / 4);
    let text = file.text();
    assert!(memchr::memmem::find(&text, long.as_bytes()).is_some(), "a line that is too long is not read");
    assert!(memchr::memmem::find(&text, b"\xff\xfe\n").is_some() && text.ends_with(&session[session.len() - 200..]));
    file.restore(None).expect("it comes back");
    assert!(file.text() == session);
}

#[test]
fn nothing_before_a_compaction_goes_where_a_line_was_not_read() {
    let long = line("event_msg", json!({"type": "agent_message", "message": "x".repeat(50_000)}));
    let session = [turns(0, 9), long, compaction(), turns(9, 3)].concat();
    let file = TestFile::new("s.jsonl", session.as_bytes());
    assert!(file.slimmed(SMALL) > 0);
    assert!(String::from_utf8_lossy(&file.text()).contains("do 3"));
}

#[test]
fn a_file_that_grows_meanwhile_stays() {
    let file = TestFile::new("s.jsonl", turns(0, 20).as_bytes());
    let before: Metadata = fs::metadata(&file.path).expect("there");
    file.append(&turns(20, 1));
    let text = file.text();
    let settings = settings(SMALL);
    let (session, open_files) = (file.session(), OpenFiles::default());
    let place = Place { settings: &settings, file: &session, before: &before, open_files: &open_files };
    let error = slim_by_lines(&place).err().expect("it changed");
    assert!(error.to_string().contains("changed meanwhile"), "{error}");
    assert!(file.text() == text && !file.archive().exists());
    assert_eq!(file.unfinished_files(), 0);
}

#[test]
fn an_archive_that_cannot_be_written_leaves_the_file() {
    for text in [&b"no zstd"[..], b""] {
        let file = TestFile::new("s.jsonl", turns(0, 20).as_bytes());
        let before = file.text();
        match text {
            b"" => fs::create_dir(file.archive()).expect("a folder"),
            text => fs::write(file.archive(), text).expect("written"),
        }
        let error = file.slim(SMALL).err().expect("no archive");
        assert!(file.text() == before, "{error}");
        assert_eq!(file.unfinished_files(), 0);
    }
}

#[test]
fn a_line_of_another_program_leaves_the_file() {
    let session = [turns(0, 20), "{\"role\":\"user\",\"content\":\"a\"}\n".to_owned(), turns(20, 4)].concat();
    let file = TestFile::new("s.jsonl", session.as_bytes());
    let error = file.slim(SMALL).err().expect("it is not a session");
    assert!(error.to_string().contains("line 101 is not one of a session of codex"), "{error}");
    assert!(file.text() == session.as_bytes() && !file.archive().exists());
}

/// A later run in memory comes back first. What it found is the result of the run by lines, which must come back, too.
#[test]
fn a_run_that_lacks_ranges_is_missed_behind_a_later_one() {
    let file = TestFile::new("s.jsonl", turns(0, 24).as_bytes());
    file.slimmed(SMALL);
    file.append(&turns(24, 8));
    file.slimmed(NEVER);
    let left = file.text();
    let packed = fs::read(file.archive()).expect("an archive");
    let (records, _) = records(&file);
    let records: Vec<&str> = records.lines().collect();
    let (ranges, total) = (records.len() - 2, records.len() - 2);
    assert!(ranges > 2 && records[total].contains("\"ranges\""), "{ranges}");
    let without = |lost: usize| [&records[..lost], &records[lost + 1..]].concat();
    let swapped = [&[records[1], records[0]], &records[2..]].concat();
    let twice = [&records[..2], &records[1..]].concat();
    for (lacking, why) in [
        (without(1), "a run on this text lacks some of the ranges"),
        (swapped, "a run on this text lacks some of the ranges"),
        (twice, "a run on this text lacks some of the ranges"),
        (without(total), "a run on this text lacks the record behind the ranges"),
    ] {
        let text = lacking.join("\n") + "\n";
        fs::write(file.archive(), zstd::encode_all(text.as_bytes(), 1).expect("packed")).expect("written");
        file.restore(Some(1)).expect("the later one alone");
        fs::write(&file.path, &left).expect("written");
        let error = file.restore(None).expect_err("it is not complete");
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!(file.text(), left);
    }
    fs::write(file.archive(), packed).expect("written");
    file.restore(None).expect("all of it");
    assert_eq!(file.text(), (turns(0, 24) + &turns(24, 8)).as_bytes());
}

/// The text of the archive, and where its last record begins.
fn records(file: &TestFile) -> (String, usize) {
    let packed = fs::read(file.archive()).expect("an archive");
    let records = String::from_utf8(zstd::decode_all(&packed[..]).expect("unpacked")).expect("UTF-8");
    let last = records.trim_end().rfind('\n').map_or(0, |end| end + 1);
    (records, last)
}

/// A run in memory, and one by lines whose records are cut off.
#[test]
fn a_run_by_lines_is_not_growth_where_its_records_are_cut_off() {
    let file = TestFile::new("s.jsonl", turns(0, 5).as_bytes());
    file.slimmed(NEVER);
    file.append(&turns(5, 9));
    let found = file.text();
    file.slimmed(SMALL);
    let left = file.text();
    let (records, closing) = records(&file);
    let ranges = records.find('\n').expect("a record") + 1;
    let [told, totals] =
        [ranges, closing].map(|record| record + records[record..].find(",\"format\"").expect("a format"));
    let more = turns(14, 1);
    for grown in ["", &more] {
        let whole = turns(0, 14) + grown;
        for length in
            [ranges + 9, told - 1, told + 2, ranges + 900, closing - 9, closing, closing + 9, totals - 1, totals + 2]
        {
            let cut = zstd::encode_all(&records.as_bytes()[..length], 1).expect("packed");
            fs::write(file.archive(), cut).expect("written");
            fs::write(&file.path, [&left, grown.as_bytes()].concat()).expect("written");
            match file.restore(None) {
                Ok(()) => assert!(length > totals && file.text() == whole.as_bytes(), "{length}"),
                Err(error) => assert!(length < totals && !error.to_string().is_empty(), "{length}: {error}"),
            }
            // The run by lines was killed before it wrote the file.
            fs::write(&file.path, [&found, grown.as_bytes()].concat()).expect("written");
            match file.restore(None) {
                Ok(()) => assert!(file.text() == whole.as_bytes(), "{length}"),
                Err(error) => {
                    let is_early = length < told || length == closing + 9;
                    assert!(is_early && error.to_string().contains("without this line"), "{length}: {error}");
                }
            }
        }
    }
}

#[test]
fn a_later_run_by_lines_in_another_archive_is_taken_back_first() {
    for sizes in [[NEVER, SMALL], [SMALL, NEVER], [SMALL, SMALL]] {
        let file = TestFile::new("s.jsonl", turns(0, 5).as_bytes());
        file.slimmed(sizes[0]);
        let first = file.path.with_file_name("s.jsonl.cut.jsonl");
        fs::write(&first, records(&file).0).expect("written");
        fs::remove_file(file.archive()).expect("removed");
        file.append(&turns(5, 9));
        file.slimmed(sizes[1]);
        file.append(&turns(14, 1));
        let left = file.text();
        let error = file.restore_by(first.clone(), None).expect_err("a later run is in another archive");
        assert!(error.to_string().contains("a later run on it is in "), "{error}");
        assert!(file.text() == left && file.unfinished_files() == 0);
        file.restore(None).expect("the later run");
        file.restore_by(first, None).expect("the first run");
        assert!(file.text() == turns(0, 15).as_bytes());
    }
}

#[test]
fn a_changed_text_or_archive_is_not_put_back() {
    let session = turns(0, 20);
    let file = TestFile::new("s.jsonl", session.as_bytes());
    assert!(file.slimmed(SMALL) > 0);
    let left = file.text();
    let changed = String::from_utf8(left.clone()).expect("text").replacen("do 1\"", "do 2\"", 1);
    fs::write(&file.path, &changed).expect("written");
    let error = file.restore(None).expect_err("it was changed");
    assert!(error.to_string().contains("has nothing that was cut from this text"), "{error}");
    assert!(file.text() == changed.as_bytes());

    // A record whose text was changed, and one that lacks its ranges.
    let records = crate::files::input::read(Some(&file.archive())).expect("an archive").text;
    let mut lines: Vec<&str> = records.lines().collect();
    let forged = records.replacen("line 0 of a log", "line 1 of a log", 1);
    lines.remove(1);
    let mut rehashed = Vec::new();
    for line in forged.lines() {
        let record = line.split(",\"hash\":\"").next().expect("a record");
        write_section(&mut rehashed, &Section::Record(format!("{record}}}")), "2026").expect("written");
    }
    let rehashed = String::from_utf8(rehashed).expect("text");
    for (records, why) in [
        (rehashed, "the archive was changed"),
        (forged, "line 1 was changed or damaged, as its hash shows"),
        (lines.join("\n") + "\n", "lacks some of the ranges"),
    ] {
        let plain = file.path.with_extension("plain.jsonl");
        fs::write(&plain, records).expect("written");
        pack(&plain, "s.jsonl.cut.jsonl.zst");
        fs::write(&file.path, &left).expect("written");
        let error = file.restore(None).expect_err("it is not proved");
        assert!(error.to_string().contains(why), "{error}");
        assert!(file.text() == left);
    }
    assert_eq!(file.unfinished_files(), 0);
}

/// What grew behind the first run could be taken for what the second one left.
#[test]
fn a_changed_byte_in_the_record_of_a_range_gives_no_wrong_text() {
    let file = TestFile::new("s.jsonl", turns(0, 6).as_bytes());
    assert!(file.slimmed(SMALL) > 0);
    file.append(&turns(6, 6));
    assert!(file.slimmed(SMALL) > 0);
    let left = file.text();
    let records = crate::files::input::read(Some(&file.archive())).expect("an archive").text;
    let archive = file.path.with_extension("plain.jsonl");
    // A large text is in the middle of each record; their ends are where the numbers are.
    let mut places: Vec<usize> = (0..records.len()).step_by(1009).collect();
    let mut start = 0;
    for line in records.split_inclusive('\n') {
        places.extend((start..start + line.len().min(500)).step_by(17));
        places.extend((start + line.len().saturating_sub(160)..start + line.len()).step_by(17));
        start += line.len();
    }
    let whole = turns(0, 12) + "{}\n";
    let of_first = TestFile::new("s.jsonl", turns(0, 6).as_bytes());
    of_first.slimmed(SMALL);
    let found = [of_first.text(), turns(6, 6).into_bytes(), b"{}\n".to_vec()].concat();
    let mut restored = 0;
    for at in places {
        let mut changed = records.clone().into_bytes();
        changed[at] = if changed[at] == b'4' { b'5' } else { b'4' };
        fs::write(&archive, &changed).expect("written");
        fs::write(&file.path, &left).expect("written");
        file.append("{}\n");
        match file.restore_by(archive.clone(), None) {
            Ok(()) => {
                restored += 1;
                assert!(file.text() == whole.as_bytes() || file.text() == found, "{at}");
            }
            Err(_) => assert!(file.text() == [&*left, b"{}\n"].concat(), "{at}"),
        }
    }
    assert!(restored > 0, "what is damaged in the first run leaves the second");
}

/// The most memory that this process had since it was last asked, in bytes.
#[cfg(target_os = "linux")]
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    fs::write("/proc/self/clear_refs", "5").expect("it starts anew");
    kilobytes << 10
}

/// A session of half a gigabyte. `benches/large.py` measures larger ones.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "it takes minutes without optimization"]
fn a_large_session_needs_little_memory() {
    const BYTES: u64 = 500_000_000;
    const MOST_MEMORY: u64 = 200 << 20;
    let file = TestFile::new("s.jsonl", b"");
    let mut hasher = crate::hash::Hasher::default();
    let mut out = std::io::BufWriter::new(fs::File::create(&file.path).expect("made"));
    let (mut bytes, mut lines, mut first) = (0, 0, 0);
    while bytes < BYTES {
        let text = if first == 60_000 { compaction() } else { turns(first, 20) };
        out.write_all(text.as_bytes()).expect("written");
        hasher.add(text.as_bytes());
        bytes += text.len() as u64;
        lines += text.lines().count() as u64;
        first += 20;
    }
    drop(out);
    let whole = hasher.end();
    peak_memory();
    assert!(file.slimmed(LargeFiles::SLIMMED) > BYTES / 3);
    let peak = peak_memory();
    assert!(peak < MOST_MEMORY + 32 * lines, "slim: {peak} bytes");
    file.restore(None).expect("it comes back");
    let peak = peak_memory();
    assert!(peak < MOST_MEMORY, "restore: {peak} bytes");
    assert_eq!(crate::files::paths::hash_of(&file.path).expect("there"), whole);
}
