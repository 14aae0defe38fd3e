//! `restore` where several runs left what a text begins with, or where one of them is not there or not as it was left.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Run, path, run, tcompact, with};

const KEEPS_TWO: &[&str] = &["--keep", "messages:2"];

pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

pub(crate) fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

pub(crate) fn orphan(result: &str) -> Value {
    json!({"role": "tool", "tool_call_id": "gone", "content": result})
}

/// A text that a summary is shorter than.
pub(crate) fn long(topic: &str) -> String {
    format!("{topic}. {}", "The bed is dry and needs much water. ".repeat(20))
}

/// A file of messages in a folder of its own, as a document or a message a line.
pub(crate) struct Session {
    pub(crate) folder: tempfile::TempDir,
    name: &'static str,
}

impl Session {
    pub(crate) fn new(name: &'static str, messages: &[Value]) -> Self {
        let session = Session { folder: tempfile::tempdir().expect("a folder"), name };
        session.write(messages);
        session
    }

    pub(crate) fn file(&self) -> String {
        path(self.folder.path(), self.name)
    }

    pub(crate) fn archive(&self) -> String {
        path(self.folder.path(), "h.jsonl")
    }

    pub(crate) fn write(&self, messages: &[Value]) {
        write(&self.file(), messages);
    }

    pub(crate) fn messages(&self) -> Vec<Value> {
        messages(&fs::read_to_string(self.file()).expect("a file"))
    }

    /// Appends messages to the file.
    pub(crate) fn grow(&self, more: &[Value]) {
        self.write(&[self.messages(), more.to_vec()].concat());
    }

    /// Runs the program on the file in place.
    pub(crate) fn run(&self, arguments: &[&str]) {
        run_on(&self.archive(), &self.file(), arguments);
    }

    pub(crate) fn restore(&self) -> Run {
        with(&["restore", &self.archive(), &self.file()])
    }
}

pub(crate) fn run_on(archive: &str, file: &str, arguments: &[&str]) {
    let accepted: &[&str] =
        if arguments.contains(&"drop") || arguments[0] == "redact" { &[] } else { &["--accept", "any"] };
    let done = run(tcompact().args(arguments).args(accepted).args(["-q", "-i", "--archive", archive, file]), b"");
    assert_eq!(done.code, 0, "{arguments:?}: {done:?}");
}

pub(crate) fn write(file: &str, messages: &[Value]) {
    let text = if file.ends_with(".jsonl") {
        messages.iter().map(|message| format!("{message}\n")).collect()
    } else {
        Value::from(messages).to_string()
    };
    fs::write(file, text).expect("written");
}

pub(crate) fn messages(text: &str) -> Vec<Value> {
    serde_json::from_str(text)
        .unwrap_or_else(|_| text.lines().map(|line| serde_json::from_str(line).expect("a message")).collect())
}

pub(crate) fn assert_restored(back: &Run, expected: &[Value], what: &str) {
    assert_eq!(back.code, 0, "{what}: {back:?}");
    assert_eq!(messages(&back.stdout), expected, "{what}");
}

pub(crate) fn assert_refused(back: &Run, why: &str, what: &str) {
    assert_eq!((back.code, back.stdout.as_str()), (1, ""), "{what}: {back:?}");
    assert!(back.stderr.contains(why), "{what}: {back:?}");
}

/// A conversation of which a run keeps the system message and the last two.
fn with_system() -> Vec<Value> {
    vec![
        json!({"role": "system", "content": long("You are a gardener")}),
        user(&long("Bed 1")),
        assistant(&long("Watered")),
        user(&long("Bed 2")),
        assistant("Done."),
        user("Bed 3."),
        assistant("Good."),
    ]
}

/// The first run leaves the system message as it is, the second one summarizes it: what the first one knows of the front is
/// true of both.
#[test]
fn a_summary_in_the_place_of_the_system_message_goes_back_first() {
    let rules: [&[&str]; 5] = [
        &["--preset", "synaptic", "--trigger", "messages:2", "--keep", "messages:3"],
        &["--pin", "none", "--keep", "messages:3"],
        &["--pin", "none", "--archive-note", "off", "--keep", "messages:3"],
        &["--pin", "none", "--archive-note", "off", "--keep", "messages:3", "--summary-role", "system"],
        &["--pin", "none", "--archive-note", "see {archive}", "--keep", "messages:3"],
    ];
    for rule in rules {
        for name in ["s.json", "s.jsonl"] {
            let session = Session::new(name, &with_system());
            session.run(KEEPS_TWO);
            session.run(rule);
            let what = format!("{name} {rule:?}");
            let more = [user("Bed 4."), assistant("Fine.")];
            session.grow(&more);
            let whole = [with_system(), more.to_vec()].concat();
            assert_restored(&session.restore(), &whole, &what);
            if name == "s.json" {
                // In another layout, as clients write it.
                let text = format!("{:#}", Value::from(session.messages()));
                assert_restored(&run(tcompact().args(["restore", &session.archive()]), text.as_bytes()), &whole, &what);
            }
            let mut edited = session.messages();
            edited[0]["content"] = "Somebody wrote this.".into();
            session.write(&edited);
            assert_refused(&session.restore(), "entry 0 is not as the run of ", &what);
        }
    }
}

#[test]
fn only_a_system_message_may_stand_in_front() {
    let session = Session::new("s.json", &with_system());
    session.run(KEEPS_TWO);
    let left = session.messages();
    for (front, is_system) in [
        (json!({"role": "system", "content": "You are another gardener."}), true),
        (json!({"role": "developer", "content": "You are another gardener."}), true),
        (user("Hello."), false),
        (assistant("Hello."), false),
        (orphan("3 beds"), false),
        (json!(5), false),
        (json!({"content": "no role"}), false),
    ] {
        session.write(&[std::slice::from_ref(&front), &left[1..]].concat());
        let back = session.restore();
        if is_system {
            assert_restored(&back, &[std::slice::from_ref(&front), &with_system()[1..]].concat(), &front.to_string());
        } else {
            assert_refused(&back, "entry 0 is not as the run of ", &front.to_string());
        }
    }
}

/// What names no record in a text, such as a mask, can leave two sessions alike.
#[test]
fn a_session_never_gets_what_was_taken_from_another() {
    type OfWord = dyn Fn(&str) -> Vec<Value>;
    let masked =
        |word: &str| vec![user(&format!("Deploy.\nDB_PASSWORD={word}")), assistant("Deployed."), user("Test.")];
    let dropped = |word: &str| vec![user("Deploy."), orphan(word), assistant("Deployed."), user("Test.")];
    let words = ["Kx7mQ2vRt7Lw4zzB", "Zq9pT4wYs8Jn3ccD"];
    let ways: [(&[&str], &OfWord); 3] =
        [(&["redact"], &masked), (&["--redact=all", "-m", "none"], &masked), (&["repair", "drop"], &dropped)];
    for (arguments, of_word) in ways {
        for [first, second, other] in [["a.json", "b.json", "c.json"], ["a.jsonl", "b.jsonl", "c.jsonl"]] {
            let what = format!("{first} {arguments:?}");
            let folder = tempfile::tempdir().expect("a folder");
            let [archive, first, second, other] =
                ["h.jsonl", first, second, other].map(|name| path(folder.path(), name));
            // The second session has one message more.
            let [short, longer] = [of_word(words[0]), [of_word(words[1]), vec![assistant("All pass.")]].concat()];
            for (file, said) in [(&first, &short), (&second, &longer)] {
                write(file, said);
                run_on(&archive, file, arguments);
            }
            let left = messages(&fs::read_to_string(&first).expect("a file"));
            // The text becomes the same as that of the other session, and grows beyond it.
            for more in [vec![assistant("All pass.")], vec![assistant("All pass."), user("Thanks.")]] {
                let grown = [left.clone(), more.clone()].concat();
                write(&first, &grown);
                let back = with(&["restore", &archive, &first]);
                assert_restored(&back, &[short.clone(), more].concat(), &what);
                // Nothing tells whose a text under another name is.
                write(&other, &grown);
                let why = if arguments[0] == "repair" { "" } else { "different texts were compacted to this one" };
                assert_refused(&with(&["restore", &archive, &other]), why, &what);
            }
        }
    }
}

/// An earlier run alone is not what the text was before: a later one changed it, too.
#[test]
fn an_entry_that_the_last_run_left_and_somebody_changed_is_named() {
    let first = [user(&long("Bed 1")), assistant(&long("Watered")), user(&long("Bed 2")), assistant("Done.")];
    let more = [
        user("Deploy with DB_PASSWORD=Kx7mQ2vRt7Lw4zzB please."),
        assistant("Deployed."),
        orphan("4711"),
        user("And now?"),
        assistant("All is well."),
    ];
    let runs: [&[&str]; 3] = [&["redact"], &["repair", "drop"], &["--redact=all", "-m", "none"]];
    for arguments in runs {
        for name in ["s.json", "s.jsonl"] {
            let session = Session::new(name, &first);
            session.run(&["--keep", "messages:1"]);
            let kept = session.messages().len();
            session.grow(&more);
            session.run(arguments);
            let left = session.messages();
            for edited in kept..left.len() {
                let mut changed = left.clone();
                changed[edited]["content"] = "Somebody wrote this.".into();
                session.write(&changed);
                let what = format!("{name} {arguments:?} {edited}");
                assert_refused(&session.restore(), &format!("entry {edited} is not as the run of "), &what);
                session.write(&[&left[..edited], &left[edited + 1..]].concat());
                if edited + 1 < left.len() {
                    assert_refused(&session.restore(), &format!("entry {edited} is not as the run of "), &what);
                }
            }
            session.write(&left);
            assert_restored(&session.restore(), &[&first[..], &more].concat(), name);
        }
    }
}

/// A copy of the text from before the last run is put back without it.
#[test]
fn an_earlier_copy_needs_no_later_run() {
    let session = Session::new("s.json", &with_system());
    session.run(KEEPS_TWO);
    let copy = session.messages();
    session.grow(&[user("Deploy with DB_PASSWORD=Kx7mQ2vRt7Lw4zzB please."), assistant("Deployed.")]);
    session.run(&["redact"]);
    let more = [user("Bed 4."), assistant("Fine.")];
    session.write(&[copy, more.to_vec()].concat());
    assert_restored(&session.restore(), &[with_system(), more.to_vec()].concat(), "a copy");
}

/// A user can go on from an earlier copy with words that a later run left, too.
#[test]
fn one_equal_message_is_not_a_trace_of_a_later_run() {
    let keeps: &[&str] = &["--keep", "messages:2", "-m", "none"];
    let said = [user(&long("Bed 1")), assistant("ok"), user("Bed 2."), assistant("ok")];
    let secret = user("Deploy with DB_PASSWORD=Kx7mQ2vRt7Lw4zzB please.");
    let later: [&[(&[Value], &[&str])]; 2] = [
        &[(&[user("Bed 3."), assistant("ok")], keeps), (&[user("Bed 4."), assistant("ok")], keeps)],
        &[(&[secret, assistant("ok"), user("Thanks.")], &["redact"])],
    ];
    let more = [user("Bed 9."), assistant("ok"), user("And bed 5?")];
    for rounds in later {
        for name in ["s.json", "s.jsonl"] {
            let session = Session::new(name, &said);
            session.run(keeps);
            let copy = session.messages();
            for (gained, arguments) in rounds {
                session.grow(gained);
                session.run(arguments);
            }
            session.write(&[&copy[..], &more].concat());
            assert_restored(&session.restore(), &[&said[..], &more].concat(), name);
        }
    }
}

/// Where nothing tells an earlier copy from a text that somebody changed, the refusal names the way to restore the copy.
#[test]
fn a_refused_copy_is_restored_without_the_later_records() {
    for name in ["s.json", "s.jsonl"] {
        let session = Session::new(name, &with_system());
        session.run(KEEPS_TWO);
        let copy = session.messages();
        session.grow(&[user("Deploy with DB_PASSWORD=Kx7mQ2vRt7Lw4zzB please."), assistant("ok")]);
        session.run(&["redact"]);
        let more = [user("Bed 4."), assistant("ok"), user("Bed 5.")];
        session.write(&[&copy[..], &more].concat());
        for arguments in [&[][..], &["--rounds", "1"]] {
            let back = with(&[&["restore", &session.archive(), &session.file()], arguments].concat());
            assert_refused(&back, "name a copy of the archive that ends with line 1", name);
        }
        let archive = fs::read_to_string(session.archive()).expect("an archive");
        fs::write(session.archive(), archive.lines().next().expect("a record")).expect("written");
        assert_restored(&session.restore(), &[&with_system()[..], &more].concat(), name);
    }
}

pub(crate) fn call(id: &str) -> Value {
    let call = json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    json!({"role": "assistant", "content": "I look.", "tool_calls": [call]})
}

/// What a repair removed at the end can come again, as if the repair was undone.
#[test]
fn a_run_that_counts_as_put_back_is_reported() {
    for name in ["s.json", "s.jsonl"] {
        let said = [user(&long("Bed 1")), assistant(&long("Watered")), user("Bed 2."), assistant("Done.")];
        let session = Session::new(name, &said);
        session.run(KEEPS_TWO);
        session.grow(&[orphan("3 beds")]);
        session.run(&["repair", "drop"]);
        session.grow(&[user("Go on.")]);
        let whole = [said.to_vec(), vec![orphan("3 beds"), user("Go on.")]].concat();
        let back = session.restore();
        assert_restored(&back, &whole, name);
        assert!(!back.stderr.contains("counts as put back"), "{back:?}");
        let mut again = session.messages();
        again.insert(again.len() - 1, orphan("3 beds"));
        session.write(&again);
        let back = session.restore();
        assert_restored(&back, &whole, name);
        assert!(back.stderr.contains(", which counts as put back"), "{back:?}");
    }
}

/// Where no other run is to be put back, that is why.
#[test]
fn what_counts_as_put_back_is_the_reason_of_a_refusal() {
    for name in ["s.json", "s.jsonl"] {
        let said = [user("Bed 1."), assistant("Watered."), orphan("3 beds")];
        let session = Session::new(name, &said);
        session.run(&["repair", "drop"]);
        session.grow(&[orphan("3 beds"), user("Go on.")]);
        assert_refused(&session.restore(), ", which counts as put back; nothing is to be put back", name);
    }
}

/// The notes of pruned results ask an agent to run a command, so it quotes them.
#[test]
fn a_quoted_note_is_no_trace_of_its_run() {
    const PRUNES: &[&str] = &["--prune", "results:0", "-m", "none", "--keep", "messages:1"];
    let result = json!({"role": "tool", "tool_call_id": "c", "content": "A line of the log.\n".repeat(200)});
    let monday = [user("Look at the log."), call("c"), result, user("Thanks."), assistant("Bye.")];
    let session = Session::new("monday.jsonl", &monday);
    session.run(PRUNES);
    let pruned = session.messages();
    let note = pruned[2]["content"].as_str().expect("a note");
    assert!(note.contains("to see all: tcompact show "), "{note}");
    // Another session that read this one, in one archive with it.
    let quote = json!({"role": "tool", "tool_call_id": "c", "content": Value::from(pruned.clone()).to_string()});
    let tuesday = [user(&long("What was on Monday?")), call("c"), quote, user("Thanks."), assistant("Bye.")];
    let other = path(session.folder.path(), "tuesday.jsonl");
    write(&other, &tuesday);
    run_on(&session.archive(), &other, KEEPS_TWO);
    assert_restored(&with(&["restore", &session.archive(), &other]), &tuesday, "another session");
    // The same session, after its run was put back.
    let more =
        [user("What was it?"), assistant(&format!("{} It says: {note}", long("It is gone"))), user("Put it back.")];
    session.grow(&more);
    let back = with(&["restore", "-i", &session.archive(), &session.file()]);
    assert!(back.code == 0 && !back.stderr.contains("of pruned content still in the text"), "{back:?}");
    let whole = [&monday[..], &more].concat();
    assert_eq!(session.messages(), whole);
    session.run(KEEPS_TWO);
    assert_restored(&session.restore(), &whole, "the same session");
}

/// A note that names a run whose entries were changed since stands in the way, also beside a line that is not whole.
#[test]
fn a_run_whose_entry_was_changed_is_not_left_behind() {
    let result = json!({"role": "tool", "tool_call_id": "c", "content": "A line of the log.\n".repeat(200)});
    let before = [user("Look at the log."), call("c"), result, user("Thanks."), assistant("Bye.")];
    for (name, end) in [("s.jsonl", ""), ("s.jsonl", "{\"role\":\"us"), ("s.json", "")] {
        let session = Session::new(name, &before);
        session.run(&["--prune", "results:0", "-m", "none", "--keep", "messages:1"]);
        let mut changed = session.messages();
        changed[0] = user("Look at the other log.");
        session.write(&[&changed[..], &[user(&long("Bed 1")), assistant(&long("Watered")), user("Bed 2.")]].concat());
        session.run(&["--keep", "messages:1", "-m", "none", "--pin", "first:3"]);
        let text = fs::read_to_string(session.file()).expect("a file");
        fs::write(session.file(), text + end).expect("written");
        let back = session.restore();
        assert_eq!((back.code, back.stdout.as_str()), (1, ""), "{name} {end}: {back:?}");
        assert!(back.stderr.contains("--rounds 1 takes back the"), "{name} {end}: {back:?}");
    }
}
