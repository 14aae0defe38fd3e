//! `--archive X.jsonl` and `restore X.jsonl`: removed messages are restored to the byte, or not at all.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use serde_json::Value;

use crate::all_cases::{Sample, one_in};
use crate::archives::sha256;
use crate::fixtures;
use crate::program::{FIXTURES, Run, path, run, tcompact, with};

pub(crate) fn records(archive: &str) -> Vec<Value> {
    let ending = Path::new(archive).extension().expect("an extension").to_str().expect("UTF-8");
    let text = unpack(&fs::read(archive).expect("an archive"), ending);
    text.lines().map(|line| serde_json::from_str(line).expect("a record a line")).collect()
}

/// The text of an archive that somebody changed, with a hash in each record that fits the record.
pub(crate) fn rehashed(text: &str) -> String {
    const BEFORE: &str = ",\"hash\":\"";
    const DIGITS: usize = 16;
    let mut done = String::new();
    for line in text.lines() {
        if let Some(at) = line.rfind(BEFORE) {
            let (before, rest) = line.split_at(at + BEFORE.len());
            let time = &rest[DIGITS..];
            let hash = sha256(&format!("{before}{time}"));
            done += &format!("{before}{}{time}\n", &hash[..DIGITS]);
        } else {
            done += &format!("{line}\n");
        }
    }
    done
}

/// Compacts a file with an archive and returns the result.
pub(crate) fn compacted(archive: &str, arguments: &[&str], file: &str) -> String {
    // Small conversations are compacted, too.
    let any = if arguments.contains(&"--accept") { &[][..] } else { &["--accept", "any"] };
    let run = with(&[&["-q", "--archive", archive], arguments, any, &[file]].concat());
    assert_eq!(run.code, 0, "{file} {arguments:?}: {run:?}");
    run.stdout
}

pub(crate) fn restored(archive: &str, text: &str) -> Run {
    run(tcompact().args(["restore", "-q", archive]), text.as_bytes())
}

/// Asserts that an archive restores one text from another.
pub(crate) fn assert_goes_back(archive: &str, from: &str, to: &str, what: &str) {
    let run = restored(archive, from);
    if from == to {
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{what}: nothing was cut");
    } else {
        assert!(run.code == 0 && run.stdout == to, "{what}: {run:?}");
    }
}

#[test]
fn every_fixture_comes_back_to_the_byte() {
    let folder = tempfile::tempdir().expect("a folder");
    let ways: [&[&str]; 8] = [
        &["--keep", "messages:1"],
        &["--keep", "turns:1", "--accept", "any"],
        &["--keep", "tokens:60", "--pin", "none"],
        &["--keep", "messages:2", "--pin", "first:2", "--prune", "arguments:10"],
        &["--keep", "messages:2", "--pin", "match:e", "--accept", "any", "--summarizer-cmd", "echo é"],
        &["--keep", "messages:2", "--repair", "synthesize"],
        &["--keep", "messages:1", "--redact", "--ledger", "off", "--summary-prefix", "😀"],
        &["--trigger", "tokens:10", "--keep", "messages:2", "--prune", "arguments:4"],
    ];
    let (mut cut, mut sample) = (0, Sample::default());
    for (at, file) in fixtures::all().into_iter().enumerate() {
        let text = fs::read_to_string(&file).expect("a fixture");
        let file = file.to_str().expect("UTF-8");
        // Several results in one archive: each finds its own record. Repaired texts may become equal to others, so they
        // have their own archive.
        let archive = path(folder.path(), &format!("{at}.jsonl"));
        let repaired_archive = path(folder.path(), &format!("{at}-mended.jsonl"));
        let archive_of = |way: &[&str]| if way.contains(&"--repair") { &repaired_archive } else { &archive };
        let checked = ways.into_iter().filter(|_| sample.takes_next());
        let results: Vec<_> = checked.map(|way| (way, compacted(archive_of(way), way, file))).collect();
        for (way, result) in &results {
            cut += usize::from(*result != text);
            assert_goes_back(archive_of(way), result, &text, &format!("{file} {way:?}"));
        }
        for (end, with_ends) in
            [("\n", text.replace("\r\n", "\n")), ("\r\n", text.replace("\r\n", "\n").replace('\n', "\r\n"))]
        {
            if !sample.takes_next() {
                continue;
            }
            let marked = format!("\u{feff}{}", with_ends.trim_start_matches('\u{feff}'));
            let copy = path(folder.path(), "copy");
            fs::write(&copy, &marked).expect("written");
            let result = compacted(&archive, &["--keep", "messages:2"], &copy);
            assert_goes_back(&archive, &result, &marked, &format!("{file} with {end:?}"));
        }
    }
    assert!(cut * one_in() > 200, "{cut}");
}

/// Other changes by presets: arguments cut early, results moved to files, a summary beside the messages.
#[test]
fn compactions_of_presets_are_restored() {
    let folder = tempfile::tempdir().expect("a folder");
    let big = "row\\n".repeat(2_000);
    let call = |id: &str, text: &str| {
        format!(
            r#"{{"role":"assistant","content":"","tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"write_file","arguments":"{{\"content\":\"{text}\"}}"}}}}]}}"#
        )
    };
    let result = |id: &str, text: &str| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"{text}"}}"#);
    let user = |text: &str| format!(r#"{{"role":"user","content":"{text}"}}"#);
    let long = "long ".repeat(600);
    let all = [user(&long), call("a", &long), result("a", "ok"), user("go on"), call("b", "x"), result("b", &big)];
    let text = format!("{{\"messages\": [{}], \"summary_text\": \"Earlier.\"}}\n", all.join(",\n"));
    for (preset, more) in
        [("deepagents", vec!["--context-window", "1500"]), ("deerflow", vec![]), ("langchain", vec![])]
    {
        let (file, archive) = (path(folder.path(), "chat.json"), path(folder.path(), "archive.jsonl"));
        fs::write(&file, &text).expect("written");
        let arguments = [
            &["--preset", preset, "--keep", "messages:2", "--trigger", "messages:2", "--summarizer-cmd", "echo Short"],
            &more[..],
        ];
        let result = compacted(&archive, &arguments.concat(), &file);
        assert_ne!(result, text, "{preset}");
        assert_goes_back(&archive, &result, &text, preset);
    }
}

#[test]
fn a_file_that_was_compacted_twice_goes_all_the_way_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "archive.jsonl");
    for (name, first) in
        [("agent-session.json", "12"), ("openai-chat/conversations.jsonl", "6"), ("tau-bench/results.json", "4")]
    {
        let Ok(text) = fs::read_to_string(Path::new(FIXTURES).join(name)) else { panic!("{name}") };
        let copy = path(folder.path(), "copy");
        let once = compacted(&archive, &["--keep", &format!("messages:{first}"), "--accept", "any"], name);
        fs::write(&copy, &once).expect("written");
        let twice =
            compacted(&archive, &["--keep", "messages:2", "--summarizer-cmd", "echo Twice", "--accept", "any"], &copy);
        assert!(once != twice && once != text, "{name}");
        assert_goes_back(&archive, &twice, &text, name);
        // A run that was killed between archive and result, and started again.
        let records = fs::read_to_string(&archive).expect("an archive");
        fs::write(&archive, format!("{records}{records}")).expect("written");
        assert_goes_back(&archive, &twice, &text, name);
    }
}

#[test]
fn lines_go_back_one_by_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "archive.jsonl");
    let name = "openai-chat/conversations.jsonl";
    let text = fs::read_to_string(Path::new(FIXTURES).join(name)).expect("a fixture");
    let result = compacted(&archive, &["--keep", "messages:2"], name);
    let lines: Vec<Option<u64>> = records(&archive).iter().map(|record| record["line"].as_u64()).collect();
    assert_eq!(lines, [Some(1), Some(2)]);
    let second = |text: &str| text.lines().nth(1).expect("a line").to_owned();
    assert_goes_back(&archive, &second(&result), &second(&text), "a line alone");
    let mixed = format!("{}\n{}\nanother\n", second(&result), second(&text));
    let run = run(tcompact().args(["restore", &archive]), mixed.as_bytes());
    assert_eq!(run.stdout, format!("{0}\n{0}\nanother\n", second(&text)));
    assert_eq!(run.stderr, "tcompact: 1 of 3 lines was put back; the others stay as they are\n");
    let record = records(&archive).remove(0);
    let keys: Vec<&String> = record.as_object().expect("an object").keys().collect();
    assert_eq!(
        keys,
        [
            "source",
            "id",
            "line",
            "original_sha256",
            "result_sha256",
            "list",
            "left_sha256",
            "left",
            "before",
            "before_sha256",
            "put_back",
            "format",
            "round",
            "indices",
            "messages",
            "summary_sha256",
            "hash",
            "summarized_at"
        ]
    );
    assert!(!record["put_back"].to_string().contains("content"), "no message is there twice: {record}");
}

/// Equal results of different histories are told apart by their lines; otherwise none is restored.
#[test]
fn equal_results_are_told_apart_by_their_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, archive) = (path(folder.path(), "chats.jsonl"), path(folder.path(), "archive.jsonl"));
    let line = |said: &str| {
        format!(r#"[{{"role":"user","content":"{}"}},{{"role":"user","content":"last"}}]"#, said.repeat(60))
    };
    let text = format!("{}\n{}\n{}\n", line("one "), line("two "), line("one "));
    fs::write(&file, &text).expect("written");
    let arguments = ["--keep", "messages:1", "--summarizer-cmd", "echo The same."];
    let result = compacted(&archive, &arguments, &file);
    assert_goes_back(&archive, &result, &text, "by line");
    let alone = restored(&archive, result.lines().next().expect("a line"));
    assert_eq!((alone.code, alone.stdout.as_str()), (1, ""));
    assert!(alone.stderr.contains("different texts were compacted to this one"), "{alone:?}");
}

/// Packs a text as files with this extension are.
pub(crate) fn pack(text: &str, ending: &str) -> Vec<u8> {
    match ending {
        "gz" => {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            gzip.write_all(text.as_bytes()).expect("packed");
            gzip.finish().expect("packed")
        }
        "zst" => zstd::encode_all(text.as_bytes(), 0).expect("packed"),
        _ => text.as_bytes().to_vec(),
    }
}

pub(crate) fn unpack(bytes: &[u8], ending: &str) -> String {
    let mut text = String::new();
    match ending {
        "gz" => flate2::read::MultiGzDecoder::new(bytes).read_to_string(&mut text),
        "zst" => zstd::Decoder::new(bytes).expect("a frame").read_to_string(&mut text),
        _ => return String::from_utf8(bytes.to_vec()).expect("UTF-8"),
    }
    .expect("unpacked");
    text
}

#[test]
fn compressed_files_are_restored() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "archive.jsonl");
    let text = fs::read_to_string(Path::new(FIXTURES).join("agent-session.json")).expect("a fixture");
    for ending in ["gz", "zst"] {
        let at = |name: &str| path(folder.path(), &format!("{name}.json.{ending}"));
        fs::write(at("whole"), pack(&text, ending)).expect("written");
        let short = compacted(&archive, &["--keep", "messages:4", "-o", &at("short")], &at("whole"));
        assert_eq!(short, "");
        assert_eq!(with(&["restore", &archive, &at("short")]).stdout, text);
        let run = with(&["restore", &archive, &at("short"), "-o", &at("back")]);
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
        assert_eq!(unpack(&fs::read(at("back")).expect("written"), ending), text);
    }
}

/// Runs a command that must end within a minute, and returns its exit code.
fn run_to_end(arguments: &[&str], folder: &Path) -> i32 {
    let mut child = tcompact().args(arguments).arg("-q").current_dir(folder).spawn().expect("it runs");
    for _ in 0..6_000 {
        if let Some(status) = child.try_wait().expect("a child") {
            return status.code().expect("a code");
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().expect("it ran on");
    panic!("{arguments:?} does not end");
}

/// Repairing and cutting leave two messages, one, or none, with and without a final line end, in every framing.
#[test]
fn files_with_few_lines_left_are_restored() {
    const ORPHAN: &str = r#"{"role":"tool","tool_call_id":"g","content":"x"}"#;
    const KEPT: [&str; 2] = [r#"{"role":"user","content":"hi"}"#, r#"{"role":"assistant","content":"yes"}"#];
    type Framing = (&'static str, fn(&[&str]) -> String);
    let framings: [Framing; 7] = [
        ("list.json", |all| format!("[{}]", all.join(", "))),
        ("spaced.json", |all| format!("[\n  {}\n]", all.join(",\n  "))),
        ("envelope.json", |all| format!(r#"{{"id":1,"messages":[{}]}}"#, all.join(","))),
        ("messages.jsonl", |all| all.join("\n")),
        ("returns.jsonl", |all| all.join("\r\n")),
        ("lists.jsonl", |all| format!("[{}]\n[{},{}]", all.join(","), KEPT[0], KEPT[1])),
        ("envelopes.jsonl", |all| {
            let all = all.join(",");
            format!("{{\"messages\":[{all}]}}\n{{\"messages\":[{all}]}}")
        }),
    ];
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path();
    let mut back = 0;
    let packings = ["", "gz", "zst"];
    let files = framings.iter().flat_map(|framing| packings.map(|packing| (framing, packing)));
    for (((name, framing), packing), kept) in
        files.flat_map(|file| (0..=2).map(move |kept| (file, kept))).step_by(one_in())
    {
        let named = |name: &str| if packing.is_empty() { name.to_owned() } else { format!("{name}.{packing}") };
        let (name, out, back_again) = (&named(name), &named("out"), &named("back"));
        for (orphans, end) in [(1, ""), (1, "\n"), (2, ""), (3, "\n")] {
            for more in [&["--keep", "messages:99"][..], &["--keep", "messages:1", "--accept", "any"]] {
                let all: Vec<&str> = std::iter::repeat_n(ORPHAN, orphans).chain(KEPT[..kept].iter().copied()).collect();
                let source = framing(&all) + end;
                fs::write(folder.join(name), pack(&source, packing)).expect("written");
                for left in ["a.jsonl", out, back_again] {
                    fs::remove_file(folder.join(left)).ok();
                }
                let repair = ["--repair", "drop", "--archive", "a.jsonl", "--from", "openai-chat", "-o", out, name];
                if run_to_end(&[more, &repair].concat(), folder) != 0 {
                    assert!(kept == 0 && !folder.join(out).exists(), "{name} {kept}: {source}");
                    continue;
                }
                let code = run_to_end(&["restore", "a.jsonl", "-o", back_again, out], folder);
                let read = unpack(&fs::read(folder.join(back_again)).unwrap_or_default(), packing);
                assert_eq!((code, read.as_str()), (0, source.as_str()), "{name} {kept} {more:?}");
                back += 1;
            }
        }
    }
    assert!(back * one_in() >= 300, "{back}");
}

/// If different inputs became the same text, nothing tells which of them it was, and none is put back.
#[test]
fn inputs_that_became_the_same_text_are_refused() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path();
    let conversation = |what: &str| {
        format!(r#"[{{"role":"user","content":"{}"}},{{"role":"user","content":"last"}}]"#, what.repeat(80))
    };
    let files = [("a.json", "one "), ("b.json", "two "), ("sub/a.json", "three "), ("sub/c/a.json", "four ")];
    let lines = [("x.jsonl", "five "), ("y.jsonl", "six ")];
    fs::create_dir_all(folder.join("in/sub/c")).expect("folders");
    for (file, what) in files {
        fs::write(folder.join("in").join(file), conversation(what)).expect("written");
    }
    for (file, what) in lines {
        let text = format!("{}\n{}\n", conversation(what), conversation(&what.to_uppercase()));
        fs::write(folder.join("in").join(file), text).expect("written");
    }
    let rules = ["--keep", "messages:1", "--ledger", "off", "--summarizer-cmd", "echo short", "--archive", "a.jsonl"];
    let without_name = ["--archive-note", "off", "-O", "out", "in"];
    assert_eq!(run_to_end(&[&rules[..], &without_name].concat(), folder), 0);
    let read = |file: &Path| fs::read_to_string(file).expect("a text");
    assert_eq!(read(&folder.join("out/a.json")), read(&folder.join("out/sub/a.json")));
    for (file, _) in files.iter().chain(&lines) {
        let out = format!("out/{file}");
        assert_eq!(run_to_end(&["restore", "a.jsonl", "-o", "back", &out], folder), 1, "{file}");
        assert!(!folder.join("back").exists(), "{file}");
    }
    let archive = path(folder, "a.jsonl");
    let unknown = restored(&archive, &read(&folder.join("out/a.json")));
    assert!(unknown.code == 1 && unknown.stdout.is_empty(), "{unknown:?}");
    assert!(files.iter().all(|(file, _)| unknown.stderr.contains(&format!("in/{file}"))), "{unknown:?}");
}

/// Conversations on one line have names of their own, and are restored together.
#[test]
fn several_conversations_on_one_line_are_restored() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "The delivery of tulips is late again, so we have to call the grower. ".repeat(6);
    let one = |id: usize| {
        let message = format!(r#"{{"role":"user","content":"{id} {text}"}}"#);
        format!(r#"{{"id":{id},"messages":[{message},{message},{{"role":"user","content":"Go on."}}]}}"#)
    };
    for (at, (text, names)) in [
        (format!("[{},{}]\n", one(1), one(2)), &["1", "1#2"][..]),
        (format!("[{},{},\n{}]", one(1), one(2), one(3)), &["1", "1#2", "2"]),
        (format!("{}{}\n{}\n", one(1), one(2), one(3)), &["1", "1#2", "2"]),
    ]
    .into_iter()
    .enumerate()
    {
        let [file, short, archive] =
            ["two.json", "short.json", "a.jsonl"].map(|name| path(folder.path(), &format!("{at}-{name}")));
        fs::write(&file, &text).expect("written");
        let found = |arguments: &[&str]| {
            let run = with(&[arguments, &[&file]].concat());
            assert_eq!(run.code, 0, "{run:?}");
            let line = |line: &str| Some(line.split_once('\t')?.0.strip_prefix(&format!("{file}:"))?.to_owned());
            run.stdout.lines().map(|one| line(one).unwrap_or_default()).collect::<Vec<_>>()
        };
        assert_eq!(found(&["count"]), names, "{text}");
        assert_eq!(found(&["-n", "--keep", "messages:1"]), names, "{text}");
        let run = with(&["--keep", "messages:1", "--archive", &archive, "-o", &short, &file]);
        assert_eq!(run.code, 0, "{run:?}");
        assert_ne!(fs::read_to_string(&short).expect("read"), text);
        let records = fs::read_to_string(&archive).expect("read");
        assert!(records.contains(&format!("{file}:1#2")), "{records}");
        let run = with(&["restore", &archive, &short]);
        assert_eq!((run.code, run.stdout), (0, text), "{}", run.stderr);
    }
}
