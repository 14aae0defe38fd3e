//! `search` and `show`: what was cut is found again, in archives and transcripts of every format.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use regex::Regex;
use serde_json::{Value, json};

use crate::all_cases::{one_in, share};
use crate::fixtures;
use crate::program::{FIXTURES, Run, path, piped, run, shell, tcompact, with};
use crate::restoring::{compacted, records, rehashed};
use crate::support::turns;

fn rows(run: &Run) -> Vec<Value> {
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{run:?}"))).collect()
}

fn strings(values: &Value) -> Vec<&str> {
    values.as_array().expect("a list").iter().map(|value| value.as_str().expect("a string")).collect()
}

/// A conversation of so many messages, whose texts name them.
fn chat(messages: usize) -> String {
    let text = |index: usize| format!("message {index}: {}", "word ".repeat(40));
    json!(turns(0..messages, text)).to_string()
}

/// Every message of every record is shown to the byte; what a digest names is shown; a word of a message finds it.
#[test]
fn removed_messages_are_found_in_every_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = Regex::new(r"(?m)^- \[((?:\d+:)?\d+)\] ").expect("a pattern");
    let (mut shown, mut named, mut found) = (0, 0, 0);
    let fixtures = fixtures::all();
    let runs = fixtures.iter().map(|file| (file.to_str().expect("UTF-8"), ["--keep", "messages:2"]));
    // With --fit, pruned messages stand behind the summary.
    let fitted = ["--fit", "tokens:5k"];
    for (at, (file, arguments)) in runs.step_by(one_in()).chain([("agent-session.json", fitted)]).enumerate() {
        let archive = path(folder.path(), &format!("{at}.jsonl"));
        let result = compacted(&archive, &arguments, file);
        if !Path::new(&archive).exists() {
            continue;
        }
        let records = records(&archive);
        let all = with(&["search", ".", "--json", "--limit", "1000000", &archive]);
        let all = rows(&all);
        for record in &records {
            let (messages, indices) = (strings(&record["messages"]), record["indices"].as_array().expect("a list"));
            let name = |index: &Value| match records.len() {
                1 => format!("{}:{index}", record["round"]),
                _ => format!("{}:{index}", record["id"].as_str().expect("an id")),
            };
            let places: Vec<String> = indices.iter().map(name).collect();
            let run = with(&["show", &places.join(","), "--json", &archive]);
            assert_eq!(run.stdout, format!("[{}]\n", messages.join(",\n")), "{file}: {run:?}");
            shown += messages.len();
            // The last message with a word leads back to itself.
            let own = all.iter().filter(|row| places.iter().any(|place| row["index"] == **place));
            let Some(own) = own.into_iter().next() else { continue };
            let line = own["lines"].as_array().expect("lines").iter().find(|line| line["match"] == true);
            let text = line.expect("a match")["text"].as_str().expect("a text");
            let word = text.split(|c: char| !c.is_alphanumeric()).max_by_key(|word| word.len()).unwrap_or_default();
            let search = with(&["search", &regex::escape(word), "--json", "--limit", "1000000", &archive]);
            assert!(rows(&search).iter().any(|row| row["index"] == own["index"]), "{file}: {word}: {search:?}");
            found += 1;
        }
        let summary = result.replace("\\n", "\n");
        for name in place.captures_iter(&summary).filter(|_| records.len() == 1) {
            let run = with(&["show", &name[1], &archive]);
            assert_eq!(run.code, 0, "{file}: {run:?}");
            named += 1;
        }
    }
    let all = [shown, found, named].map(|count| count * one_in());
    assert!(all[0] > 250 && all[1] > 25 && all[2] > 20, "{shown} {found} {named}");
}

#[test]
fn a_pattern_finds_words_across_escapes_and_never_data() {
    let data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJx9+/QzTk".repeat(20);
    let call = json!({"id": "c", "type": "function", "function": {"name": "edit", "arguments": json!({"text": "one\ntwo é"}).to_string()}});
    let text = json!([
        {"role": "user", "content": [{"type": "text", "text": format!("see {data} end")}, {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}}]},
        {"role": "assistant", "content": null, "reasoning_content": "pondered", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "wrote\tit"},
        {"role": "assistant", "refusal": "I decline", "content": null},
    ])
    .to_string()
    .replace('é', "\\\\u00e9");
    for (pattern, index) in [
        ("^two é$", Some("1")),
        ("(?s)one.two", Some("1")),
        ("pondered", Some("1")),
        ("wrote\\tit", Some("2")),
        ("(?i)WROTE", Some("2")),
        ("I decline", Some("3")),
        ("see .* end", Some("0")),
        ("NSUhEUg", None),
        ("u00e9", None),
    ] {
        let run = piped(&["search", pattern, "--json"], &text);
        let row = rows(&run);
        assert_eq!(row.first().map(|row| row["index"].as_str().expect("a place")), index, "{pattern}: {run:?}");
        assert_eq!(run.code, if index.is_some() { 0 } else { 3 }, "{pattern}");
    }
    let row = rows(&piped(&["search", "wrote", "--json"], &text)).remove(0);
    let expected = json!({"source": "-", "index": "2", "role": "tool", "tool": "edit", "lines": [{"number": 1, "text": "wrote\tit", "match": true}]});
    assert_eq!(row, expected);
    assert!(piped(&["show", "0"], &text).stdout.contains("  see [image/png, "));
}

/// The newest comes first, the limit holds over all files, and the rest is counted.
#[test]
fn the_newest_hits_come_first_and_the_rest_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, archive) = (path(folder.path(), "chat.json"), path(folder.path(), "cut.jsonl"));
    fs::write(&file, chat(30)).expect("written");
    let once = compacted(&archive, &["--keep", "messages:10"], &file);
    fs::write(&file, once).expect("written");
    compacted(&archive, &["--keep", "messages:4"], &file);
    let indices =
        |run: &Run| rows(run).iter().map(|row| row["index"].as_str().expect("a place").to_owned()).collect::<Vec<_>>();
    let search = |more: &[&str]| with(&[&["search", "^message \\d+: ", "--json"], more].concat());
    let run = search(&["--limit", "8", &archive]);
    assert_eq!(indices(&run), ["2:6", "2:5", "2:4", "2:3", "2:2", "2:1", "1:19", "1:18"], "{run:?}");
    assert!(run.stderr.starts_with("tcompact: 18 more; to see all: tcompact search '^message "), "{run:?}");
    assert!(run.stderr.ends_with(&format!(" --json --limit 26 {archive}\n")), "{run:?}");
    let run = search(&["--limit", "27", "-q", &archive, &file]);
    assert_eq!((indices(&run).len(), indices(&run)[26].as_str(), run.stderr.as_str()), (27, "10", ""), "{run:?}");
    let run = with(&["search", "^message", "--count", &archive, &file]);
    assert_eq!(run.stdout, format!("{archive}\t26\n{file}\t10\n"));
    assert_eq!(with(&["search", "^message", "--count", &archive]).stdout, "26\n");
    // Standard input, a directory and a packed file are read as well.
    let text = fs::read_to_string(&archive).expect("an archive");
    assert_eq!(piped(&["search", "^message", "--count", "-"], &text).stdout, "26\n");
    let run = with(&["search", "^message", "--count", folder.path().to_str().expect("UTF-8")]);
    assert_eq!(run.stdout, format!("{file}\t10\n{archive}\t26\n"));
    // A bare index is of the last round.
    for place in ["2:3", "3", "[3]", "[2:3]", "#2:3"] {
        assert!(with(&["show", place, "--archive", &archive]).stdout.contains("message 22: "), "{place}");
    }
}

/// The limit keeps the best of all files; of equal ones, the order is that of any search.
#[test]
fn messages_that_match_more_alternatives_come_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = ["a.json", "b.json"].map(|name| path(folder.path(), name));
    let texts = [["cat", "dog and cat", "cow", "cat, dog, cow", "dog"], ["x cat", "x cow", "x dog", "x", "x cow, cat"]];
    for (file, texts) in files.iter().zip(texts) {
        let messages: Vec<Value> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
        fs::write(file, json!(messages).to_string()).expect("written");
    }
    for (pattern, limit, expected) in [
        ("cat|dog|cow", "20", &["a3", "a1", "b4", "a4", "a2", "a0", "b2", "b1", "b0"][..]),
        ("(cat|dog|cow)", "3", &["a3", "a1", "b4"]),
        ("cat|dog|cow", "4", &["a3", "a1", "b4", "a4"]),
        ("CAT|dog", "20", &["a4", "a3", "a1", "b2"]),
        ("c[ao][tw]", "3", &["a3", "a2", "a1"]),
    ] {
        for more in [&[][..], &["--json"]] {
            let run = with(&[&["search", pattern, "--limit", limit], more, &[&*files[0], &*files[1]]].concat());
            let mut found = Vec::new();
            for line in run.stdout.lines().filter(|line| line.starts_with(['[', '{'])) {
                let name = if line.contains("a.json") { "a" } else { "b" };
                let index =
                    line.split(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty() && line.starts_with('['));
                let row = || serde_json::from_str::<Value>(line).expect("a row")["index"].as_str().map(str::to_owned);
                found.push(name.to_owned() + &index.map(str::to_owned).or_else(row).expect("an index"));
            }
            assert_eq!(found, expected, "{pattern} {limit}: {run:?}");
        }
    }
    let run = with(&["search", "cat|dog|cow", "--limit", "3", &files[0], &files[1]]);
    assert!(run.stderr.starts_with("tcompact: 6 more; "), "{run:?}");
    assert_eq!(with(&["search", "cat|dog", "--count", &files[0]]).stdout, "4\n");
}

/// One that stands for several can count as more than the limit. Then nothing of the next file is shown.
#[test]
fn what_is_said_again_counts_each_time_over_all_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let same = json!(vec![json!({"role": "user", "content": "Milk is out."}); 5]).to_string();
    let files = ["a.json", "b.json"].map(|name| path(folder.path(), name));
    files.iter().for_each(|file| fs::write(file, &same).expect("written"));
    let run = with(&["search", "Milk", "--limit", "3", &files[0], &files[1]]);
    let note = format!("tcompact: 5 more; to see all: tcompact search Milk --limit 10 {} {}\n", files[0], files[1]);
    assert_eq!((run.code, &run.stderr), (0, &note));
    assert!(run.stdout.contains(&files[0]) && !run.stdout.contains(&files[1]), "{run:?}");
}

/// Copies count once; the messages of a round that several records have are named by the ids of these.
#[test]
fn copies_count_once_and_rounds_of_several_are_named_by_id() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| path(folder.path(), name);
    for (name, messages) in [("a.json", 9), ("b.json", 12)] {
        fs::write(at(name), chat(messages)).expect("written");
    }
    compacted(&at("one.jsonl"), &["--keep", "messages:2"], &at("a.json"));
    let one = fs::read_to_string(at("one.jsonl")).expect("an archive");
    fs::write(at("twice.jsonl"), format!("{one}{one}")).expect("written");
    for files in [&["twice.jsonl"][..], &["one.jsonl", "twice.jsonl"]] {
        let files: Vec<String> = files.iter().map(|name| at(name)).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let run = with(&[&["search", "message 3", "--json"], &files[..]].concat());
        assert_eq!(rows(&run).iter().map(|row| row["index"].clone()).collect::<Vec<_>>(), ["1:3"], "{run:?}");
    }
    assert_eq!(with(&["show", "1:3,#2:3", "--json", &at("twice.jsonl")]).stdout.matches("message 3:").count(), 2);
    compacted(&at("one.jsonl"), &["--keep", "messages:2"], &at("b.json"));
    let ids: Vec<String> =
        records(&at("one.jsonl")).iter().map(|record| record["id"].as_str().expect("an id").to_owned()).collect();
    let [one_place, two_place] = [0, 1].map(|record| format!("{}:3", ids[record]));
    let run = with(&["search", "message 3", "--json", &at("one.jsonl")]);
    let found: Vec<Value> = rows(&run).iter().map(|row| row["index"].clone()).collect();
    assert_eq!(found, [&*two_place, &*one_place], "{run:?}");
    for place in ["1:3", "3"] {
        let run = with(&["show", place, &at("one.jsonl")]);
        let (one, two) = (format!("{one_place} of {}", at("a.json")), format!("{two_place} of {}", at("b.json")));
        assert!(
            run.code == 2 && run.stderr.contains(&format!("2 records of this round; name one: {one}, {two}")),
            "{run:?}"
        );
        assert!(run.stderr.contains(&format!("try: tcompact show {two_place} ")), "{run:?}");
    }
    // Records of older versions have no id and no round.
    let old = one.replace("\"round\":1,", "").replace(&format!("\"id\":\"{}\",", ids[0]), "");
    let old = rehashed(&old);
    assert_eq!(old.len(), one.len() - "'round':1,'id':'12345678',".len());
    assert_eq!(rows(&piped(&["search", "message 3", "--json"], &old))[0]["index"], "#1:3");
    assert!(piped(&["show", "3"], &old).stdout.starts_with("[#1:3] assistant\n  message 3: "));
}

/// A run that repairs a text writes a record of that too; the digest's places are those of the other one.
#[test]
fn places_of_a_repaired_text_are_those_of_its_digest() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "cut.jsonl");
    let mut messages: Vec<Value> = serde_json::from_str(&chat(9)).expect("messages");
    messages.insert(2, json!({"role": "tool", "tool_call_id": "nobody", "content": "lost"}));
    let file = path(folder.path(), "chat.json");
    fs::write(&file, json!(messages).to_string()).expect("written");
    compacted(&archive, &["--keep", "messages:2", "--repair", "drop"], &file);
    assert!(records(&archive).len() > 1, "a record of the repair and one of the compaction");
    let place = |pattern: &str| rows(&with(&["search", pattern, "--json", &archive]))[0]["index"].clone();
    assert_eq!(place("message 3"), "1:3");
    assert!(with(&["show", "1:3", &archive]).stdout.starts_with("[1:3] assistant\n  message 3: "));
}

#[test]
fn conversations_on_lines_are_named_by_line() {
    const FILE: &str = "openai-chat/conversations.jsonl";
    let run = with(&["search", "suppliers", "--json", "--limit", "1", FILE]);
    assert_eq!((&rows(&run)[0]["index"], &rows(&run)[0]["line"]), (&json!("#2:1"), &json!(2)), "{run:?}");
    let shown = "[#2:1] user\n  Which of our suppliers delivers tulips fastest, and what do they charge for 500?\n";
    assert_eq!(with(&["show", "#2:1", FILE]).stdout, shown);
    let run = with(&["show", "1", FILE]);
    assert!(run.code == 2 && run.stderr.contains("4 conversations; name one by its line: #1:1, "), "{run:?}");
}

#[test]
fn a_missing_place_names_those_that_exist() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, archive) = (path(folder.path(), "chat.json"), path(folder.path(), "cut.jsonl"));
    fs::write(&file, chat(9)).expect("written");
    compacted(&archive, &["--keep", "messages:2"], &file);
    for (place, of, why) in [
        ("9", &file, "there is no such message"),
        ("9-11", &file, "there is no such message"),
        ("1:3", &file, "only an archive has rounds"),
        ("#1:3", &file, "there is no such message"),
        ("1:8", &archive, "it was not cut then"),
        ("2:3", &archive, "there is no such message"),
        ("#2:3", &archive, "there is no such message"),
    ] {
        let run = with(&["show", place, of]);
        let there = if *of == file { "has 0 to 8" } else { "has 1:0 to 1:6" };
        assert!((run.code, run.stdout.as_str()) == (2, "") && run.stderr.contains(why), "{place}: {run:?}");
        assert!(run.stderr.contains(there), "{place}: {run:?}");
    }
    // Of a range or a list, what is there is shown.
    for (places, of, code, why) in [
        ("1:5-8", &archive, 0, "show 1:5-8: not all of these are there; "),
        ("1:5,1:6,1:99", &archive, 7, "show 1:99: it was not cut then"),
        ("7-11", &file, 0, "show 7-11: not all of these are there; "),
        ("7-8", &file, 0, ""),
    ] {
        let run = with(&["show", places, of]);
        let shown = run.stdout.lines().filter(|line| line.starts_with('[')).count();
        assert!(run.code == code && shown == 2 && run.stderr.contains(why), "{run:?}");
        let json = with(&["show", places, "--json", of]);
        assert_eq!(
            json.code,
            if code == 0 && places == "7-8" { 0 } else { 2 },
            "a program is given all or none: {json:?}"
        );
    }
    let run = with(&["show", "[~12]", &archive]);
    assert!(
        run.code == 2 && run.stderr.contains("#RECORD:INDEX") && run.stderr.contains("try: tcompact show '#1:12'"),
        "{run:?}"
    );
    let run = with(&["show", "1:3", "--archive", &file]);
    assert!(run.code == 1 && run.stderr.contains("is not an archive"), "{run:?}");
    for flag in ["--keep=messages:2", "--dry-run", "--output=x", "--in-place", "--prune=all", "--restore=x"] {
        for command in [["search", "x"], ["show", "1:3"]] {
            let run = with(&[command[0], flag, command[1], &archive]);
            assert!(run.code == 2 && run.stderr.contains(flag.split('=').next().unwrap_or_default()), "{run:?}");
        }
    }
}

/// Half a record, a foreign object and bytes that are not UTF-8 stand among records, in front too.
#[test]
fn the_readable_part_of_a_damaged_archive_is_searched() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, archive) = (path(folder.path(), "chat.json"), path(folder.path(), "cut.jsonl"));
    fs::write(&file, chat(9)).expect("written");
    compacted(&archive, &["--keep", "messages:2"], &file);
    let record = fs::read(&archive).expect("an archive");
    let foreign = rehashed(&str::from_utf8(&record).expect("text").replace("openai-chat", "unheard-of"));
    let damaged = [&record[..300], b"\n{\"a\":1}\n\xff\n\n", &record, foreign.as_bytes(), &record[..200]].concat();
    fs::write(&archive, damaged).expect("written");
    let run = with(&["search", "message 3", &archive]);
    assert!(run.code == 0 && run.stdout.starts_with("[1:3] assistant  "), "{run:?}");
    assert_eq!(run.stderr, format!("tcompact: {archive}: 5 lines of it are not records; the first is line 1\n"));
    assert!(with(&["show", "1:3", "--archive", &archive]).stdout.starts_with("[1:3] assistant\n  message 3: "));
}

#[test]
fn secrets_are_masked_before_anything_is_clipped() {
    const SECRET: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let folder = tempfile::tempdir().expect("a folder");
    let (file, archive) = (path(folder.path(), "chat.json"), path(folder.path(), "cut.jsonl"));
    let long = format!("{} {SECRET} {}", "a ".repeat(112), "b ".repeat(300));
    let call = json!({"id": "c", "type": "function", "function": {"name": "run", "arguments": json!({"env": {"password": "hunter2-and-more"}}).to_string()}});
    let text = json!([{"role": "user", "content": long}, {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"}, {"role": "user", "content": "go on"}, {"role": "assistant", "content": "done"}]);
    fs::write(&file, text.to_string()).expect("written");
    compacted(&archive, &["--keep", "messages:1"], &file);
    for of in [&file, &archive] {
        for more in [
            &["search", "a a"][..],
            &["search", "a a", "--json"],
            &["show", "0-2"],
            &["show", "0-2", "--json"],
            &["show", "0", "--limit-tokens", "60"],
        ] {
            let (plain, masked) = (with(&[more, &[of]].concat()), with(&[more, &["--redact", of]].concat()));
            assert!(plain.code == 0 && masked.code == 0, "{more:?}: {plain:?} {masked:?}");
            assert!(!masked.stdout.contains("ghp_") && !masked.stdout.contains("hunter2"), "{more:?}: {masked:?}");
            if more.contains(&"--json") && more.contains(&"show") {
                let messages: Vec<Value> = serde_json::from_str(&masked.stdout).expect("JSON");
                assert_eq!((messages.len(), plain.stdout.contains(SECRET)), (3, true));
            }
        }
        // A search tells nothing of a secret that it does not show.
        assert_eq!(with(&["search", "ghp_16C", "--redact", of]).code, 3);
        assert_eq!(with(&["search", "hunter2", "--redact", of]).code, 3);
        assert_eq!(with(&["search", "github-token-1", "--redact", of]).code, 0);
    }
}

#[test]
fn a_long_message_says_how_to_get_the_rest() {
    let text = json!([{"role": "user", "content": (0..3_000).map(|at| format!("line {at}\n")).collect::<String>()}])
        .to_string();
    let run = piped(&["show", "0"], &text);
    let (content, rest) = run.stdout.split_once("\n[0] … ").expect("a rest");
    let (marker, end) = rest.split_once('\n').expect("the end");
    assert_eq!(marker, "3,225 tokens; --limit-tokens 8000 shows them");
    let whole_lines = content.lines().skip(1).chain(end.lines()).all(|line| line.starts_with("  line "));
    assert!(whole_lines && end.ends_with("  line 2999\n"), "{content}\n{end}");
    let whole = piped(&["show", "0", "--limit-tokens", "8000"], &text).stdout;
    assert!(whole.starts_with(content) && whole.ends_with("  line 2999\n"), "{whole}");
}

/// Whatever the file is called and whatever flags were given, the command in a note shows what the note leaves out.
#[test]
fn a_note_has_the_command_for_the_rest() {
    let folder = tempfile::tempdir().expect("a folder");
    let long = (0..3_000).map(|at| format!("line {at} it's\n")).collect::<String>();
    let messages: Vec<Value> = (0..30).map(|_| json!({"role": "user", "content": long})).collect();
    let files = ["chat.json", "it's (a) chat.json", "-x.json"];
    for file in files {
        fs::write(folder.path().join(file), json!(messages).to_string()).expect("written");
    }
    let pasted = |line: &str| {
        let (_, command) = line.split_once("; to see all: ").unwrap_or_else(|| panic!("no command: {line}"));
        run(&mut shell(command, folder.path()), b"")
    };
    for (file, flags) in files.into_iter().flat_map(|file| [(file, ""), (file, "--redact --from openai-chat")]) {
        let file = format!("./{file}").replace("./-", "-");
        let name = file.replace('\'', r"'\''");
        let shown = run(&mut shell(&format!("tcompact show {flags} 3 -- '{name}'"), folder.path()), b"");
        let note = shown.stdout.lines().find(|line| line.contains(" … ")).expect("a note");
        let whole = pasted(note);
        assert_eq!(whole.stdout.lines().count(), 1 + 3_000, "{note}: {whole:?}");
        let found =
            run(&mut shell(&format!("tcompact search {flags} \"line .* it's\" -- '{name}'"), folder.path()), b"");
        let note = found.stdout.lines().find(|line| line.starts_with("  … ")).expect("a note");
        assert_eq!(pasted(note).stdout.lines().count(), 1 + 3_000, "{note}");
    }
    let messages: Vec<Value> =
        (0..30).map(|at| json!({"role": "user", "content": format!("line {at} it's")})).collect();
    fs::write(folder.path().join("short.json"), json!(messages).to_string()).expect("written");
    for command in [
        "tcompact search \"^line \\d+ it's\" short.json",
        "tcompact search --limit 3 --json \"line|it's\" short.json",
        "tcompact search -s --limit=3 -- \"-x|it's\" short.json",
    ] {
        let found = run(&mut shell(command, folder.path()), b"");
        let whole = pasted(found.stderr.trim_end());
        let hits = whole.stdout.lines().filter(|line| line.starts_with(['[', '{'])).count();
        assert_eq!((hits, whole.stderr.as_str()), (30, ""), "{command}: {}", found.stderr);
    }
}

/// A line of many megabytes, and a reader that leaves early.
#[test]
fn long_lines_and_closed_pipes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, archive) = (path(folder.path(), "chat.json"), path(folder.path(), "cut.jsonl"));
    let lines = share(4 << 20);
    fs::write(&file, chat(9).replace("message 3", &"x\\n".repeat(lines))).expect("written");
    compacted(&archive, &["--keep", "messages:2"], &file);
    let run = with(&["search", "x", "--json", &archive]);
    assert_eq!((run.code, &rows(&run)[0]["more_lines"]), (0, &json!(lines - 20)));
    let mut child =
        tcompact().args(["show", "1:3", "--json", &archive]).stdout(Stdio::piped()).spawn().expect("it starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

/// Nothing is written, whatever is read.
#[test]
fn a_lookup_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = Path::new(FIXTURES).join("agent-session.json");
    let before = fs::read(&name).expect("a fixture");
    for arguments in [&["search", "the"][..], &["show", "3"], &["search", "the", "--count"]] {
        let run = run(tcompact().args(arguments).arg(&name).current_dir(folder.path()), b"");
        assert_eq!(run.code, 0, "{run:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    assert_eq!(fs::read(&name).expect("a fixture"), before);
}

/// What a record says of its messages, whoever wrote it, stops no lookup.
#[test]
fn a_foreign_record_and_a_run_that_was_repeated_hide_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, archive) = (path(folder.path(), "chat.json"), path(folder.path(), "cut.jsonl"));
    fs::write(&file, chat(9)).expect("written");
    for _ in 0..2 {
        compacted(&archive, &["--keep", "messages:2"], &file);
    }
    let record = fs::read_to_string(&archive).expect("an archive");
    let foreign = json!({"source": "x", "format": "openai-chat", "round": 1, "indices": [u64::MAX], "messages": [r#"{"role":"user","content":"message 3"}"#]});
    fs::write(&archive, format!("{foreign}\n{record}")).expect("written");
    let run = with(&["search", "message 3", "--count", &archive]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "1\n"), "{run:?}");
    assert!(run.stderr.contains("1 line of it is not a record; it is line 1"), "{run:?}");
    assert!(with(&["show", "3", &archive]).stdout.starts_with("[1:3] assistant\n  message 3: "));
}

/// The places in an earlier digest are of its own round, and the message says so.
#[test]
fn an_earlier_digest_is_named_as_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, archive) = (path(folder.path(), "chat.json"), path(folder.path(), "cut.jsonl"));
    fs::write(&file, chat(40)).expect("written");
    let once = compacted(&archive, &["--keep", "messages:20"], &file);
    fs::write(&file, once).expect("written");
    compacted(&archive, &["--keep", "messages:2"], &file);
    let run = with(&["search", "later words hold", &archive]);
    assert!(run.stdout.starts_with("[2:0] summary of round 1  "), "{run:?}");
}

/// An archive holds secrets as they were: what masks them is in the command, and counts in every layer of settings.
#[test]
fn redaction_holds_for_lookups() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "cut.jsonl");
    let text = chat(30).replace("message 3: ", "message 3: ghp_16C7e42F292c6912E7710c838347Ae178B4a ");
    let arguments = ["-q", "--keep", "messages:2", "--redact=all", "--archive", &archive];
    let run = piped(&arguments, &text);
    assert!(run.stdout.contains("cut.jsonl --redact` finds"), "{run:?}");
    let shown = crate::program::run(tcompact().args(["show", "3", &archive]).env("TCOMPACT_REDACT", "all"), b"");
    assert!(shown.stdout.contains("[1:3] assistant") && !shown.stdout.contains("ghp_"), "{shown:?}");
}

/// What stands beside the messages, or is no longer sent, tells secrets as well.
#[test]
fn a_secret_that_is_told_beside_the_messages_is_not_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = "Kx7mQ2vRt7Lw4zzB";
    let said = format!("I ran psql with {secret} and it worked.");
    let document = json!({"model": "m", "metadata": {"env": format!("DB_PASSWORD={secret}")},
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": said}]});
    let session = fs::read_to_string(Path::new(FIXTURES).join("claude-code/compacted.jsonl")).expect("a fixture");
    let boundary = session.find("compact_boundary").expect("a boundary");
    let (before, behind) = session.split_at(session[..boundary].rfind('\n').expect("a line") + 1);
    let before = before.replacen("\"content\":\"", &format!("\"content\":\"export DB_PASSWORD={secret}; "), 1);
    let session = before + &behind.replacen("Good.", &format!("Good, {secret} it is."), 1);
    for (name, text) in [("chat.json", document.to_string()), ("session.jsonl", session)] {
        let file = path(folder.path(), name);
        fs::write(&file, &text).expect("written");
        for arguments in [&["show", "0-last", &file][..], &["search", ".", &file], &["search", "--json", ".", &file]] {
            let plain = with(arguments);
            assert!(plain.stdout.contains(secret), "{name}: {plain:?}");
            let mut masked = arguments.to_vec();
            masked.insert(1, "--redact");
            let masked = with(&masked);
            assert!(masked.code == 0 && !masked.stdout.contains(secret), "{name}: {masked:?}");
        }
    }
}

/// `last` is an index wherever one is asked for.
#[test]
fn the_last_message_is_shown_and_kept_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, archive, short] = ["chat.json", "cut.jsonl", "short.json"].map(|name| path(folder.path(), name));
    fs::write(&file, chat(8)).expect("written");
    let shown = |place: &str, file: &str| with(&["show", "-q", place, file]).stdout;
    assert_eq!(shown("last", &file), shown("7", &file));
    assert_eq!(shown("0,last", &file), shown("0,7", &file));
    let run = with(&["-q", "--keep", "from:last", "--archive", &archive, "-o", &short, &file]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(fs::read_to_string(&short).expect("a result").contains("message 7: "));
    assert_eq!(shown("last", &archive), shown("6", &archive), "the last one that was cut");
    assert_eq!(shown("1:last", &archive), shown("1:6", &archive));
    let run = with(&["show", "2..last", &file]);
    assert!(run.code == 2 && run.stderr.contains("expected INDEX, last"), "{run:?}");
}

/// What an agent compacted itself is still in its file: no index names it, so a note names the lines.
#[test]
fn what_is_no_longer_sent_is_named_by_its_lines() {
    let file = path(Path::new(FIXTURES), "claude-code/compacted.jsonl");
    let text = fs::read_to_string(&file).expect("a fixture");
    let boundary = text.lines().position(|line| line.contains("compact_boundary")).expect("a boundary");
    let before = text.lines().take(boundary).find(|line| line.contains("\"role\":\"user\"")).expect("a message");
    let said: Value = serde_json::from_str(before).expect("JSON");
    let said = said["message"]["content"].as_str().expect("a text").split(['.', '\n']).next().expect("a sentence");
    let found = with(&["search", &regex::escape(said), &file]);
    assert!(found.code == 3 && found.stdout.is_empty(), "{found:?}");
    assert!(
        found.stderr.contains(
            "is also in a message that the agent no longer sends, before its own compaction or on a branch: line "
        ),
        "{found:?}"
    );
    let quiet = with(&["search", "-q", &regex::escape(said), &file]);
    assert_eq!((quiet.code, quiet.stderr.as_str()), (3, ""));
}

/// An archive that is written for people is named as one, and a flag of compaction in the place of a pattern, too.
#[test]
fn what_cannot_be_searched_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = path(folder.path(), "archive.md");
    fs::write(&archive, "## Summarized at 2026-01-01T00:00:00+00:00\n\nFrom chat.json:\n").expect("written");
    for command in [&["search", "word", &archive][..], &["show", "1", &archive], &["count", &archive]] {
        let run = with(command);
        assert!(run.code == 1 && run.stderr.contains("it is an archive for people"), "{run:?}");
    }
    let run = with(&["search", "-n", &archive]);
    assert!(run.code == 2 && run.stderr.contains("a PATTERN that begins with `-` follows `--`"), "{run:?}");
}
