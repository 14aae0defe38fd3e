//! Messages of a kind that is newer than this program: they count and stay, and one of them refuses no file.

use std::fs;
use std::path::{Path, PathBuf};

use crate::format::Format;
use crate::formats::FORMATS;
use crate::framing::read_for_test;
use crate::message::{Message, Role};

/// Messages that no format knows.
const UNKNOWN_MESSAGES: [&str; 7] = [
    r#"{"type":"hologram","content":"two words"}"#,
    r#"{"role":"narrator","content":"two words"}"#,
    r#"{"role":"narrator","parts":[{"text":"two words"}]}"#,
    r#"{"role":"narrator","content":[{"type":"text","text":"two words"}]}"#,
    r#"{"kind":"hologram","items":[{"part_kind":"x","content":"two words"}]}"#,
    r#"{"from":"narrator","value":"two words"}"#,
    r#"{"hologram":{"body":"two words"}}"#,
];

/// The documents of one conversation in formats whose lists hold nothing but messages.
fn documents() -> Vec<(&'static Format, PathBuf)> {
    let mut documents = Vec::new();
    for format in FORMATS.iter().filter(|format| format.session_files.is_none()) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(format.name);
        for entry in fs::read_dir(folder).expect("a folder of fixtures") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "json") {
                documents.push((*format, path));
            }
        }
    }
    documents
}

fn said(message: &Message<'_>) -> (Role, String) {
    (message.role, message.whole_text())
}

#[test]
fn an_unknown_message_is_read_as_it_is_spelled_and_changes_no_other() {
    let mut failed = Vec::new();
    let mut tried = 0;
    for (format, path) in documents() {
        let source = fs::read_to_string(&path).expect("a fixture");
        let document = read_for_test(&source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        // Of two messages, one that is unknown is half.
        if transcript.messages.len() < 3 || document.transcripts.len() > 1 || !transcript.notes.is_empty() {
            continue;
        }
        let expected: Vec<(Role, String)> = transcript.messages.iter().map(said).collect();
        for unknown in UNKNOWN_MESSAGES {
            for index in [0, 1, expected.len() / 2, expected.len() - 1] {
                tried += 1;
                let at = transcript.messages[index].span().start;
                let longer = format!("{}{unknown},{}", &source[..at], &source[at..]);
                let name = || format!("{}: {unknown} at {index} of {}", format.name, path.display());
                let document = match read_for_test(&longer, None, None) {
                    Ok(document) => document,
                    Err(error) => {
                        failed.push(format!("{}: {error}", name()));
                        continue;
                    }
                };
                let mut read: Vec<(Role, String)> = document.transcripts[0].messages.iter().map(said).collect();
                let (role, text) = read.remove(index);
                let is_right = role == Role::Other && text.contains("two words") && read == expected;
                if !is_right || document.transcripts[0].format.name != format.name {
                    failed.push(name());
                }
            }
        }
    }
    assert_eq!(failed, Vec::<String>::new());
    assert!(tried > 500, "{tried}");
}

#[test]
fn half_of_the_messages_unknown_is_another_format() {
    let known = r#"{"type":"human","content":"u"},{"type":"ai","content":"a"}"#;
    let unknown = r#"{"type":"hologram","body":"two words"}"#;
    assert!(read_for_test(&format!("[{known},{unknown}]"), None, None).is_ok());
    for more in [format!("{unknown},{unknown}"), format!("{unknown},{unknown},{unknown}")] {
        let error = read_for_test(&format!("[{known},{more}]"), None, None).expect_err("another format").to_string();
        assert!(error.contains("message 2"), "{error}");
    }
}

#[test]
fn a_message_that_another_format_knows_is_not_unknown() {
    let langchain = r#"{"type":"human","content":"u"},{"type":"ai","content":"a"},{"type":"human","content":"u"}"#;
    for known in [
        r#"{"role":"user","content":"x"}"#,
        r#"{"role":"tool","tool_call_id":"c","content":"x"}"#,
        r#"{"role":"user","parts":[{"text":"x"}]}"#,
    ] {
        assert!(read_for_test(&format!("[{langchain},{known}]"), None, None).is_err(), "{known}");
    }
}
