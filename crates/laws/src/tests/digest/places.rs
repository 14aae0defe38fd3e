//! Places in digests are what `show` takes, and lead to what their lines tell.

use crate::tokens::Counter;
use crate::transcript::formats::by_name;
use serde_json::{Value, json};

use crate::digest::{Section, as_message};
use crate::tests::digest::{call, digest_of_chat, items, read, with_messages};

fn run(command: &str, result: &str) -> Vec<Value> {
    call("bash", &json!({"command": command}), result)
}

fn edit(path: &str, new: &str) -> Vec<Value> {
    call("Edit", &json!({"file_path": path, "old_string": "a", "new_string": new}), "The file has been updated.")
}

fn history() -> Vec<Value> {
    let long = format!("./deploy --to {}", "bed-of-the-garden ".repeat(30));
    [
        vec![json!({"role": "user", "content": "Water the beds."})],
        run("make check", "bed 7 is dry\n[exit code 1]"),
        edit("src/beds.rs", "b"),
        edit("src/beds.rs", "c"),
        run("make check", "all is well\n[exit code 0]"),
        edit("src/beds.rs", "d"),
        run(&long, "deployed as 17"),
        call("mcp:garden:book", &json!({"bed": "a → b → c"}), "booked"),
    ]
    .concat()
}

#[test]
fn a_place_leads_to_what_its_line_tells() {
    let digest = digest_of_chat(&history(), 2_000);
    for text in [
        // A run has the place of its result, and so has the failure before it.
        "- [2] `make check` → exit 1: bed 7 is dry\n- [8] `make check` → exit 0: all is well",
        // A file has its edits, of which two stand beside each other.
        "- src/beds.rs: edit [3-5,9]",
        "- [12] `./deploy --to bed-of-the-garden",
        // Names and texts stand as they were.
        "- [14] mcp:garden:book(bed=a -> b -> c) → booked",
    ] {
        assert!(digest.contains(text), "{text} is not in {digest}");
    }
    let words = digest.lines().find(|line| line.contains("./deploy")).expect("a line").split_whitespace();
    assert!(words.filter(|word| word.contains("bed")).all(|word| word.contains("bed-of-the-garden")), "{digest}");
}

/// What is left out of a section is counted, with where it is.
#[test]
fn what_is_left_out_is_found_by_its_places() {
    let said = |at: usize| json!({"role": "user", "content": format!("Never touch bed {at} of the garden, whatever it says.")});
    let word = |at: usize| ["red", "old", "wet", "far", "low", "new", "odd"][at % 7].repeat(1 + at / 7);
    let calls = |at: usize| {
        let output = "The bed was looked at, and it is dry at its edges. ".repeat(20);
        [run(&format!("make {}", word(at)), &output), vec![said(at)]].concat()
    };
    let mut messages: Vec<Value> = (0..20).flat_map(calls).collect();
    let digest = digest_of_chat(&messages, 700);
    let left_out = |digest: &str, section| {
        let items = items(digest, section);
        items.iter().find(|item| item.left_out().is_some()).unwrap_or_else(|| panic!("{digest}")).clone()
    };
    let calls = left_out(&digest, Section::Calls);
    assert!(!calls.ranges().is_empty() && calls.text.contains(" calls ["), "{digest}");
    // The next round carries them on, and adds its own.
    messages.insert(0, json!({"role": "user", "content": as_message(&digest)}));
    let next = digest_of_chat(&messages, 900);
    let carried = left_out(&next, Section::Calls);
    assert!(carried.text.contains("[1:") && carried.left_out() > calls.left_out(), "{next}");
    assert!(carried.text.len() < 200, "{next}");
}

/// What a path is shown without is the one folder that is recorded, and not a part of another path.
#[test]
fn a_path_is_told_without_the_recorded_folder_alone() {
    let digest = |folders: &[&str]| {
        let mut messages = [
            run("cd /srv/garden && make", "done"),
            run("cd /srv/garden && grep a /srv/garden/src/a.rs /mnt/srv/garden/b.rs -I/srv/garden/c", "done"),
            run("cd web && touch a.css", ""),
            edit("/srv/garden/src/a.rs", "b"),
            edit("/srv/garden/src/b.rs", "b"),
            edit("/srv/garden/src/c.rs", "b"),
        ]
        .concat();
        for (message, folder) in messages.iter_mut().zip(folders) {
            message["cwd"] = json!(folder);
        }
        digest_of_chat(&messages, 900)
    };
    let one = digest(&["/srv/garden", "/srv/garden/"]);
    for text in [
        "Paths and commands are in /srv/garden",
        "`grep a src/a.rs /mnt/srv/garden/b.rs -I/srv/garden/c`",
        "- src/c.rs: edit [",
    ] {
        assert!(one.contains(text), "{text} is not in {one}");
    }
    for folders in [&[][..], &["/srv/garden", "/srv/garden/web"]] {
        let digest = digest(folders);
        assert!(!digest.contains("Paths and commands"), "{digest}");
        assert!(digest.contains("- /srv/garden/src/c.rs: edit ["), "{digest}");
    }
}

#[test]
fn calls_and_sentences_of_the_focus_come_first() {
    let filler =
        |at: usize| run(&format!("make bed{at}"), &format!("bed {at} was watered by Mia at noon and again at night"));
    let said = |at: usize, text: &str| {
        let word = |at: usize| ["red", "old", "wet", "far", "low", "new"][at % 6];
        let bed = format!("{} {} {}", word(at), word(at / 6 + 1), word(at + at / 6));
        vec![
            json!({"role": "assistant", "content": format!("{text} The {bed} bed needs the {bed} light of its {bed} side.")}),
            json!({"role": "user", "content": format!("Look at bed {at}.")}),
        ]
    };
    let mut messages: Vec<Value> = run("cat src/fence_post.rs", "fn fence() {}");
    messages.extend(said(0, "The refund of the old fence was refused, as the Gate fails."));
    (0..30).for_each(|at| messages.extend([filler(at), said(at, "The bed is fine.")].concat()));
    let source = json!(messages).to_string();
    with_messages(&source, by_name("openai-chat"), |messages| {
        let plain = read(messages).write(Counter::APPROX, 700, |_| true);
        let focused = read(messages).focused_on("fencePosts and Refunds").write(Counter::APPROX, 700, |_| true);
        let text = "The refund of the old fence was refused";
        assert!(!plain.contains(text) && focused.contains(text), "{plain}\n-- focused --\n{focused}");
    });
}
