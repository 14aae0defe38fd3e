//! Lines of agents' sessions that are not JSON or not UTF-8: they stay or go with their neighbours, byte for byte.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::all_cases::{Sample, one_in};
use crate::fixtures;
use crate::program::{FIXTURES, path, piped, run, tcompact};

/// A session without broken lines, and the broken lines that an agent could leave in it.
struct Session {
    format: &'static str,
    lines: Vec<Vec<u8>>,
    broken: Vec<Vec<u8>>,
}

fn sessions() -> Vec<Session> {
    let session = |format: &'static str| {
        // The largest session of each format.
        let files =
            fixtures::of_format(format).into_iter().filter(|file| file.extension().is_some_and(|end| end == "jsonl"));
        let text = files.map(|file| fs::read(file).expect("a fixture")).max_by_key(Vec::len).expect("a session");
        let lines: Vec<Vec<u8>> =
            text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect();
        let middle = &lines[lines.len() / 2];
        let cut = middle[..middle.len() / 2].to_vec();
        let broken = vec![
            cut.clone(),
            [&cut, &b"\xe6\x96"[..]].concat(),
            [&cut, middle.as_slice()].concat(),
            vec![0; 40],
            [middle.as_slice(), middle].concat(),
            b"\xfe, ]}:".to_vec(),
        ];
        Session { format, lines, broken }
    };
    ["claude-code", "codex", "pi"].map(session).into()
}

fn joined<'l>(lines: impl IntoIterator<Item = &'l Vec<u8>>) -> Vec<u8> {
    lines.into_iter().flat_map(|line| [line.as_slice(), b"\n"]).collect::<Vec<_>>().concat()
}

/// The result of a run that succeeds, in bytes, and what it prints on standard error.
fn done(arguments: &[&str], input: &[u8], folder: &Path) -> (Vec<u8>, String) {
    let (from, to) = (path(folder, "in.jsonl"), path(folder, "out.jsonl"));
    fs::write(&from, input).expect("written");
    let run = run(tcompact().args(arguments).args(["-o", &to, &from]), b"");
    assert_eq!(run.code, 0, "{arguments:?}: {run:?}");
    (fs::read(&to).expect("a result"), run.stderr)
}

const WAYS: [&[&str]; 7] = [
    &["--keep", "messages:2"],
    &["--keep", "messages:3", "--pin", "first:1", "--accept", "any"],
    &["--keep", "messages:2", "-m", "none"],
    &["--keep", "messages:4", "--prune", "all"],
    &["--fit", "tokens:300"],
    &["--repair", "drop", "--keep", "messages:3"],
    &["--keep", "none", "--accept", "any"],
];

#[test]
fn broken_lines_go_with_their_neighbours_and_come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (mut tried, mut kept, mut cut, mut sample) = (0, 0, 0, Sample::default());
    for Session { format, lines, broken } in sessions() {
        let count = lines.len();
        let mut places: Vec<Vec<usize>> = (0..=count).map(|at| vec![at]).collect();
        places.extend([vec![0, 0, 1], vec![1, count / 2, count / 2, count], (0..=count).collect()]);
        for (which, places) in places.iter().enumerate().filter(|_| sample.takes_next()) {
            let way = WAYS[which % WAYS.len()];
            let mut all = lines.clone();
            for (nth, at) in places.iter().rev().enumerate() {
                all.insert(*at, broken[(which + nth) % broken.len()].clone());
            }
            let source = joined(&all);
            let archive = path(folder, &format!("{format}-{which}.jsonl"));
            let arguments = [&["--from", format], way].concat();
            let (clean, _) = done(&[&["-q"], arguments.as_slice()].concat(), &joined(&lines), folder);
            let (out, said) = done(&arguments, &source, folder);
            let what = format!("{format} {places:?} {way:?}");
            let is_broken = |line: &&[u8]| broken.iter().any(|one| one == line);
            let (aside, others): (Vec<&[u8]>, Vec<&[u8]>) = out.split(|byte| *byte == b'\n').partition(is_broken);
            let (others, known) = (others.join(&b'\n'), String::from_utf8_lossy(&clean));
            assert!(others == clean, "{what}:\n{}\nis not\n{known}", String::from_utf8_lossy(&others));
            assert!(places[0] == 0 || !broken.iter().any(|one| out.starts_with(one)), "{what}: the first line");
            assert!(aside.len() <= places.len(), "{what}");
            kept += aside.len();
            cut += places.len() - aside.len();
            assert_eq!(said.matches("not JSON").count(), 1, "{what}: {said}");
            let line = 1 + places[0];
            let named = [format!("line {line} is not JSON"), format!("not JSON ({line}")];
            assert!(named.iter().any(|named| said.contains(named)), "{what}: {said}");
            let (out, _) = done(&[arguments.as_slice(), &["--archive", &archive]].concat(), &source, folder);
            if out != source {
                let (short, long) = (path(folder, "short"), path(folder, "long"));
                fs::write(&short, &out).expect("written");
                let back = run(tcompact().args(["restore", "-q", &archive, "-o", &long, &short]), b"");
                assert_eq!(back.code, 0, "{what}: {back:?}");
                assert!(fs::read(&long).expect("a text") == source, "{what}: it comes back");
            }
            tried += 1;
        }
    }
    let all = [tried, kept, cut].map(|count| count * one_in());
    assert!(all[0] > 60 && all[1] > 30 && all[2] > 30, "{tried} {kept} {cut}");
}

#[test]
fn broken_lines_are_counted_but_violate_no_rule() {
    let folder = tempfile::tempdir().expect("a folder");
    let [report, packed] = ["report.jsonl", "in.jsonl.gz"].map(|name| path(folder.path(), name));
    for Session { format, mut lines, broken } in sessions() {
        let clean = joined(&lines);
        broken.iter().for_each(|line| lines.insert(lines.len() - 1, line.clone()));
        let source = joined(&lines);
        let of = |arguments: &[&str], input: &[u8]| {
            let run = run(tcompact().args(arguments).args(["--from", format]), input);
            (run.code, run.stdout, run.stderr)
        };
        for arguments in [&["count"][..], &["--dry-run", "--keep", "messages:3"], &["check"], &["--emit", "summary"]] {
            let ((code, stdout, said), clean) = (of(arguments, &source), of(arguments, &clean));
            assert_eq!((code, &stdout), (clean.0, &clean.1), "{format} {arguments:?}: {said}");
            let (first, names) = (lines.len() - broken.len(), "6 lines are not JSON (");
            assert!(said.contains(&format!("{names}{first}, {}", first + 1)), "{said}");
            assert!(said.contains(", …): they are not read, and stay or go") && !clean.2.contains("JSON"), "{said}");
        }
        let file = path(folder.path(), "in.jsonl");
        fs::write(&file, &source).expect("written");
        let in_place = run(tcompact().args(["-q", "-i", "--keep", "messages:3", "--report", &report, &file]), b"");
        assert_eq!(in_place.code, 0, "{in_place:?}");
        let row: Value = serde_json::from_slice(&fs::read(&report).expect("a report")).expect("a row");
        assert_eq!((&row["format"], &row["skipped_lines"]), (&format.into(), &6.into()), "{row}");
        let out = fs::read(&file).expect("a result");
        assert!(
            broken.iter().all(|line| out.windows(line.len()).any(|part| part == line)),
            "they stay in the kept part"
        );
        let (unchanged, _) = done(&["-q", "--keep", "messages:999"], &source, folder.path());
        assert!(unchanged == source, "what needs nothing stays");
        let (logs, results) = (path(folder.path(), "logs"), path(folder.path(), &format!("of-{format}")));
        fs::create_dir_all(&logs).expect("a folder");
        let begins_broken = [&broken[3], &b"\n"[..], &source].concat();
        fs::write(Path::new(&logs).join("a.jsonl"), &begins_broken).expect("written");
        let batch = run(tcompact().args(["-q", "--keep", "messages:999", "-O", &results, &logs]), b"");
        assert_eq!(batch.code, 0, "{batch:?}");
        assert!(fs::read(Path::new(&results).join("a.jsonl")).expect("a result") == begins_broken, "of a directory");
        fs::write(&file, &source).expect("written");
        let pack = run(tcompact().args(["-q", "--keep", "messages:999", "-o", &packed, &file]), b"");
        assert_eq!(pack.code, 0, "{pack:?}");
        let (unpacked, _) = done(&["-q", "--keep", "messages:999"], &fs::read(&packed).expect("packed"), folder.path());
        assert!(unpacked == source, "compressed too");
    }
}

#[test]
fn broken_lines_are_an_error_where_no_agent_skips_them() {
    let broken = r#"{"role":"user","content":"cut"#;
    let user = r#"{"role":"user","content":"a"}"#;
    let refused = |arguments: &[&str], input: &[u8], what: &str| {
        let run = run(tcompact().args(arguments), input);
        assert!(run.code == 1 && run.stdout.is_empty() && run.stderr.contains(what), "{run:?}");
    };
    let unclosed = "is not JSON: the string that begins at line 2 column 26 is not closed";
    refused(&[], format!("{user}\n{broken}\n{user}\n").as_bytes(), unclosed);
    refused(&[], format!("{user}\n{broken}\n").as_bytes(), unclosed);
    refused(&[], format!("{user}\n\0\0\n{user}\n").as_bytes(), "is not JSON: a NUL byte at line 2 column 1");
    let not_utf8 = [user.as_bytes(), b"\n\xe6\n", user.as_bytes()].concat();
    refused(&[], &not_utf8, "is not JSON: it has bytes that are not UTF-8 at line 2 column 1");
    let Session { lines, broken, .. } = sessions().remove(0);
    let session = joined(lines.iter().take(3).chain(&broken[..1]).chain(lines.iter().skip(3)));
    refused(&["--lines", "conversations"], &session, "");
    // One value that is spread over lines.
    let log = format!("{{\"loglines\": [\n{}\n", String::from_utf8_lossy(&lines[0]));
    refused(&[], log.as_bytes(), "is not JSON: the list that begins at line 1 column 14 is not closed");
}

/// A file that was cut off as `head -c` does it. Its other lines are read, and each result ends with the bytes of the last.
#[test]
fn a_cut_last_line_stands_aside_in_messages_and_conversations() {
    let turns: Vec<String> = (0..12)
        .flat_map(|at| {
            let text = format!("Beet {at} 你好 ").repeat(12);
            ["user", "assistant"].map(|role| format!(r#"{{"role":"{role}","content":"{text}"}}"#))
        })
        .collect();
    let conversation = format!(r#"{{"messages":[{}]}}"#, turns.join(","));
    let list = format!("[{}]", turns.join(","));
    let folder = tempfile::tempdir().expect("a folder");
    for lines in [&turns[..], &[conversation.clone(), conversation], &[list.clone(), list.clone(), list]] {
        let whole = lines.join("\n");
        let before = whole.rfind('\n').expect("several lines") + 1;
        let number = lines.len();
        for cut in [before + 1, before + 30, before + 60, before + 61, before + 62, whole.len() - 40, whole.len() - 1] {
            let source = &whole.as_bytes()[..cut];
            let (last, note) = (&source[before..], format!("line {number} is not JSON"));
            let (kept, said) = done(&["--keep", "messages:4"], source, folder.path());
            assert!(kept.ends_with(last) && said.contains(&note), "{cut}: {said}");
            for emit in ["summary", "handoff"] {
                let (other, _) = done(&["--keep", "messages:4", "--emit", emit], source, folder.path());
                assert!(!other.ends_with(last), "{emit} is no transcript: {cut}");
            }
        }
    }
}

/// A list on the first line of a session is skipped like any line that the agent does not read, and a file of lists stays
/// a file of conversations.
#[test]
fn a_session_can_begin_with_a_list() {
    let file = Path::new(FIXTURES).join("claude-code/parallel.jsonl");
    let session = fs::read_to_string(file).expect("a fixture");
    let list = r#"[{"role":"user","content":"x"}]"#;
    let counted = piped(&["count"], &session).stdout;
    assert_eq!(piped(&["count"], &format!("{list}\n{session}")).stdout, counted);
    let conversations = piped(&["count"], &format!("{list}\n{list}\nbroken\n")).stdout;
    assert_eq!(conversations.lines().count(), 2, "{conversations}");
}
