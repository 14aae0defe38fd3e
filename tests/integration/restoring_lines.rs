//! `restore` of a file of conversations: each of its lines has runs of its own.

use std::fs;

use serde_json::json;

use crate::program::{Run, path, run, tcompact, with};
use crate::restoring::records;
use crate::restoring_runs::{assert_refused, run_on};

const SECRETS: [&str; 2] = ["password=Zx9kQ2mLw7", "password=Qw8rTy2UiO"];

/// A file of conversations in a folder of its own.
struct Conversations {
    folder: tempfile::TempDir,
}

impl Conversations {
    fn new() -> Self {
        let conversations = Conversations { folder: tempfile::tempdir().expect("a folder") };
        conversations.write(&SECRETS.map(conversation).concat());
        conversations
    }

    fn file(&self) -> String {
        path(self.folder.path(), "s.jsonl")
    }

    fn archive(&self) -> String {
        path(self.folder.path(), "h.jsonl")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).expect("a file")
    }

    fn write(&self, text: &str) {
        fs::write(self.file(), text).expect("written");
    }

    fn redact(&self) {
        run_on(&self.archive(), &self.file(), &["redact"]);
    }

    /// Adds an answer with a secret to the conversation on the second line.
    fn grow_second(&self) {
        let secret = json!({"role": "assistant", "content": "It is token=Qw8rTy2UiOp5aSdF."});
        let (front, _) =
            self.text().rsplit_once("]}").map(|(front, end)| (front.to_owned(), end.len())).expect("a list");
        self.write(&format!("{front},{secret}]}}\n"));
    }

    fn restore(&self, arguments: &[&str]) -> Run {
        with(&[&["restore", &self.archive(), &self.file()], arguments].concat())
    }
}

fn conversation(text: &str) -> String {
    format!("{}\n", json!({"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "Good."}]}))
}

#[test]
fn the_last_rounds_are_those_of_the_file() {
    let conversations = Conversations::new();
    let original = conversations.text();
    conversations.redact();
    conversations.grow_second();
    let grown = conversations.text();
    conversations.redact();
    let back = conversations.restore(&["--rounds", "1"]);
    assert_eq!((back.code, &back.stdout), (0, &grown), "{}", back.stderr);
    assert!(!back.stderr.contains("nothing of the others"), "{}", back.stderr);
    let back = conversations.restore(&["--rounds", "2"]);
    let whole = conversations.restore(&[]);
    assert_eq!((back.code, &back.stdout), (0, &whole.stdout), "{}", back.stderr);
    assert!(whole.stdout.starts_with(original.trim_end().trim_end_matches("]}")), "{}", whole.stdout);
    assert!(whole.stdout.contains("Qw8rTy2UiOp5aSdF"), "{}", whole.stdout);
}

/// Also where the lines come from a pipe one by one.
#[test]
fn all_lines_of_a_run_have_its_time() {
    let conversations = Conversations::new();
    let many = conversations.text().repeat(50);
    let arguments = ["redact", "-q", "--lines", "conversations", "--archive", &conversations.archive()];
    let done = run(tcompact().args(arguments), many.as_bytes());
    assert_eq!(done.code, 0, "{}", done.stderr);
    let records = records(&conversations.archive());
    assert_eq!(records.len(), 100);
    assert!(records.iter().all(|record| record["summarized_at"] == records[0]["summarized_at"]));
    conversations.write(&done.stdout);
    let back = conversations.restore(&["--rounds", "1"]);
    assert_eq!((back.code, back.stdout), (0, many), "{}", back.stderr);
}

#[test]
fn a_line_whose_record_is_damaged_is_not_left_as_it_is() {
    let conversations = Conversations::new();
    let original = conversations.text();
    conversations.redact();
    let archive = fs::read_to_string(conversations.archive()).expect("an archive");
    let end = archive.rfind("\"put_back\"").expect("a member");
    for (damaged, line) in [(archive.replacen("\"round\":1", "\"round\":2", 1), 1), (archive[..end].to_owned(), 2)] {
        fs::write(conversations.archive(), damaged).expect("written");
        let why = format!("line {line}: {} cannot be used: a later run changed this text", conversations.archive());
        assert_refused(&conversations.restore(&[]), &why, &archive);
    }
    // Another line is as it was before, whatever is damaged.
    fs::write(conversations.archive(), &archive[..end]).expect("written");
    let masked = conversations.text();
    let second = original.lines().nth(1).expect("a line");
    conversations.write(&format!("{}\n{second}\n", masked.lines().next().expect("a line")));
    let back = conversations.restore(&[]);
    assert_eq!((back.code, back.stdout), (0, original), "{}", back.stderr);
}
