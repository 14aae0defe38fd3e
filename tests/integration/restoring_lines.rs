//! `restore` of a file of conversations: each of its lines has runs of its own.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Run, path, run, tcompact, with};
use crate::restoring::records;
use crate::restoring_runs::{assert_refused, assistant, call, long, orphan, run_on, user};

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
    assert!(back.stderr.contains("1 of 2 lines was put back; the others stay as they are"), "{}", back.stderr);
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
    // Of a record that is cut off in front of its hashes, the source tells the line.
    let second = archive.lines().next().expect("a record").len() + 1;
    let at = second + archive[second..].find("\"id\"").expect("a member");
    fs::write(conversations.archive(), &archive[..at]).expect("written");
    assert_refused(&conversations.restore(&[]), "line 2 is cut off or damaged, so that nothing tells", &archive);
    // Another line is as it was before, whatever is damaged.
    fs::write(conversations.archive(), &archive[..end]).expect("written");
    let masked = conversations.text();
    let second = original.lines().nth(1).expect("a line");
    conversations.write(&format!("{}\n{second}\n", masked.lines().next().expect("a line")));
    let back = conversations.restore(&[]);
    assert_eq!((back.code, back.stdout), (0, original), "{}", back.stderr);
}

/// Lines of conversations with these messages.
fn lines(conversations: &[&[Value]]) -> String {
    conversations.iter().map(|messages| format!("{}\n", json!({ "messages": messages }))).collect()
}

/// A run that only removed something is on another line where lines in front were removed.
#[test]
fn all_runs_on_a_line_that_moved_and_grew_come_back() {
    let first = [user(&long("A")), assistant("Good."), user(&long("B")), assistant("Good.")];
    let second = [call("c1"), user(&long("C")), assistant(&long("D")), user(&long("E")), assistant("Good.")];
    let runs: [&[&[&str]]; 2] =
        [&[&["--repair", "drop", "--keep", "messages:2"]], &[&["repair", "drop"], &["--keep", "messages:2"]]];
    for runs in runs {
        let conversations = Conversations::new();
        conversations.write(&lines(&[&first, &second]));
        for arguments in runs {
            run_on(&conversations.archive(), &conversations.file(), arguments);
        }
        let text = conversations.text();
        let left: Value = serde_json::from_str(text.lines().nth(1).expect("a line")).expect("JSON");
        let left = left["messages"].as_array().expect("messages").clone();
        let more = [user("Go on.")];
        conversations.write(&lines(&[&[&left[..], &more].concat()]));
        let back = conversations.restore(&[]);
        assert_eq!(
            (back.code, back.stdout),
            (0, lines(&[&[&second[..], &more].concat()])),
            "{runs:?}: {}",
            back.stderr
        );
    }
}

/// The archive also has runs of standard input, whose file can be any.
#[test]
fn a_line_that_grew_comes_back_through_standard_input() {
    let conversations = Conversations::new();
    let (masked, dropped) = ([user(SECRETS[0])], [user("Hi."), orphan("3 beds"), assistant("Hello.")]);
    let arguments = ["redact", "-q", "--lines", "conversations", "--archive", &conversations.archive()];
    let done = run(tcompact().args(arguments), lines(&[&masked, &dropped]).as_bytes());
    conversations.write(&done.stdout);
    run_on(&conversations.archive(), &conversations.file(), &["repair", "drop"]);
    let (hello, more) = (assistant("Hello.").to_string(), user("Go on.").to_string());
    let grown = conversations.text().replacen(&hello, &format!("{hello},{more}"), 1);
    assert!(grown.contains(&more), "{grown}");
    let back = run(tcompact().args(["restore", &conversations.archive()]), grown.as_bytes());
    let whole = lines(&[&masked, &[&dropped[..], &[user("Go on.")]].concat()]);
    assert_eq!((back.code, back.stdout), (0, whole), "{}", back.stderr);
}

#[test]
fn a_line_that_counts_as_put_back_is_named() {
    let conversations = Conversations::new();
    let dropped = [user("Hi."), assistant("Hello."), orphan("3 beds")];
    conversations.write(&lines(&[&[user(SECRETS[0])], &dropped]));
    run_on(&conversations.archive(), &conversations.file(), &["--repair", "drop", "--redact=all", "-m", "none"]);
    let masked = conversations.text().lines().next().map(|line| format!("{line}\n")).expect("a line");
    conversations.write(&(masked + &lines(&[&[&dropped[..], &[user("Go on.")]].concat()])));
    let back = conversations.restore(&[]);
    assert!(back.code == 0 && back.stderr.contains(", which counts as put back; nothing tells"), "{back:?}");
}

/// A run that was taken back and done again has two records, and the time of the last one counts.
#[test]
fn rounds_count_a_run_that_was_repeated_once() {
    let conversations = Conversations::new();
    let original = conversations.text();
    conversations.redact();
    conversations.grow_second();
    conversations.redact();
    let back = conversations.restore(&["--rounds", "1", "-i"]);
    assert_eq!(back.code, 0, "{back:?}");
    conversations.redact();
    let back = conversations.restore(&["--rounds", "2"]);
    assert_eq!(back.code, 0, "{back:?}");
    assert!(back.stdout.starts_with(original.trim_end().trim_end_matches("]}")), "{}", back.stdout);
}

/// A run on one line can leave what another line has been all the time. Where its own line has grown, it is still of that line.
#[test]
fn a_line_that_no_run_touched_stays_beside_one_that_grew() {
    let untouched = json!([user("Go."), assistant("Fine."), user("Next.")]);
    let mut changed = untouched.clone();
    changed.as_array_mut().expect("messages").push(orphan("removed 1,204 files"));
    for lines in [[&untouched, &changed], [&changed, &untouched]] {
        let folder = tempfile::tempdir().expect("a folder");
        let [archive, file] = ["h.jsonl", "c.jsonl"].map(|name| path(folder.path(), name));
        fs::write(&file, lines.map(|line| format!("{line}\n")).concat()).expect("written");
        run_on(&archive, &file, &["--lines", "conversations", "--repair", "drop", "--keep", "messages:99"]);
        assert_eq!(fs::read_to_string(&file).expect("a file"), format!("{untouched}\n").repeat(2));
        let grow = |line: &Value| {
            let mut line = line.clone();
            line.as_array_mut().expect("messages").push(user("More."));
            line
        };
        let [left, whole] = [&untouched, &changed].map(|changed| {
            lines.map(|line| if line == &untouched { format!("{line}\n") } else { format!("{}\n", grow(changed)) })
        });
        let back = run(tcompact().args(["restore", &archive]), left.concat().as_bytes());
        assert_eq!((back.code, back.stdout), (0, whole.concat()), "{}", back.stderr);
    }
}

/// A line can grow to what a run left on another one. As long as that other one stands in its place, its records are of it.
#[test]
fn a_line_that_grew_to_what_another_one_was_keeps_its_own_records() {
    let question = |answer: &str, more: &[Value]| -> Value {
        let asked = [user("When is the shop open?"), assistant(answer), user("Thanks, and on Sunday?")];
        asked.iter().chain(more).cloned().collect()
    };
    let (closed, thanks) = (assistant("Closed."), [user("Thanks."), assistant("Bye.")]);
    let folder = tempfile::tempdir().expect("a folder");
    let [archive, file] = ["h.jsonl", "c.jsonl"].map(|name| path(folder.path(), name));
    let write = |lines: [&Value; 2]| fs::write(&file, lines.map(|line| format!("{line}\n")).concat()).expect("written");
    let grow = |line: usize, more: &[Value]| {
        let text = fs::read_to_string(&file).expect("a file");
        let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        lines[line].as_array_mut().expect("messages").extend_from_slice(more);
        write([&lines[0], &lines[1]]);
    };
    let compact = |summary: &str| {
        let command = format!("echo {summary}");
        let arguments = ["--lines", "conversations", "--summarizer-cmd", &command, "--keep", "turns:1"];
        run_on(&archive, &file, &arguments);
    };
    let (first, second) = ("From nine to six.", "I cannot read the page.");
    write([&question(first, std::slice::from_ref(&closed)), &question(second, &[])]);
    compact("The user asked when the shop is open.");
    grow(1, std::slice::from_ref(&closed));
    grow(0, &thanks);
    compact("The user asked when the shop is open, and on Sunday.");
    let back = with(&["restore", &archive, &file]);
    let whole = [question(first, &[&[closed.clone()][..], &thanks].concat()), question(second, &[closed])];
    assert_eq!((back.code, back.stdout), (0, whole.map(|line| format!("{line}\n")).concat()), "{}", back.stderr);
}
