//! Sessions of which one line end was lost, or one line is broken, as an append that was interrupted leaves them: they are
//! counted as their agent reads them, and neither `slim` nor a compaction drops anything else than what is counted, or
//! what the agent does not send. The history before a torn link stays, or the compaction says why it changes nothing.

use std::collections::HashSet;
use std::fs;

use serde_json::Value;

use crate::all_cases::{Sample, one_in};
use crate::compact::{Accept, CompactionPolicy, Compactor};
use crate::fixtures;
use crate::plan::size::Size;
use crate::tests::slim::slimmed;
use crate::transcript::formats::by_name;
use crate::transcripts::read;
use crate::walks::sent;

/// What an agent does with a damaged line.
#[derive(Clone, Copy, PartialEq)]
enum Reads {
    /// It passes over the line.
    Others,
    /// It takes the objects that are whole.
    Objects,
    /// It reads nothing behind the line.
    NothingBehind,
    /// It does not load the file.
    Nothing,
}

/// The members with which entries name the one before them, where an agent goes that way and a lost line tears it.
const LINKED: [(&str, &str); 3] = [("claude-code", "parentUuid"), ("pi", "parentId"), ("qwen-code", "parentUuid")];

/// The formats with an entry a line.
const SESSIONS: [(&str, Reads); 7] = [
    ("claude-code", Reads::Others),
    ("codex", Reads::Others),
    ("copilot-cli", Reads::Others),
    ("gemini-cli", Reads::Nothing),
    ("kimi-code", Reads::NothingBehind),
    ("pi", Reads::Others),
    ("qwen-code", Reads::Objects),
];

/// A session with a damaged line.
struct Damaged {
    text: String,
    /// The lines that its agent reads.
    read: Vec<String>,
    /// The lines that are whole and that other lines can lead to.
    whole: HashSet<String>,
}

fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The ways in which the line at a place and the one behind it can be damaged.
fn damaged(lines: &[&str], at: usize, reads: Reads) -> Vec<Damaged> {
    let (line, behind) = (lines[at], lines[at + 1]);
    let half = line.floor_char_boundary(line.len() / 2);
    let mut all = Vec::new();
    for (place, taken, is_glued) in
        [(format!("{line}{behind}"), 2, true), (line[..half].to_owned(), 1, false), (format!("{line}\\"), 1, true)]
    {
        let rest = &lines[at + taken..];
        let whole: Vec<&str> = if taken == 2 { vec![line, behind] } else { vec![line] };
        let read = match reads {
            Reads::Objects if is_glued => [&lines[..at], &whole, rest].concat(),
            Reads::NothingBehind => lines[..at].to_vec(),
            _ => [&lines[..at], rest].concat(),
        };
        all.push(Damaged {
            text: joined(&[&lines[..at], &[place.as_str()], rest].concat()),
            read: read.into_iter().map(str::to_owned).collect(),
            whole: lines[..at].iter().chain(rest).map(|line| (*line).to_owned()).collect(),
        });
    }
    all
}

/// What is counted of a text: its messages as they stand there.
fn counted(text: &str, format: &str) -> Option<Vec<String>> {
    let document = read(text, by_name(format), None).ok()?;
    let messages = document.transcripts.iter().flat_map(|transcript| &transcript.messages);
    Some(messages.map(|message| message.json.raw().to_owned()).collect())
}

fn values(texts: &[String]) -> Vec<Value> {
    texts.iter().map(|text| serde_json::from_str(text).expect("JSON")).collect()
}

/// What an entry says, whatever its links and sizes are.
fn said(entry: &str) -> String {
    let entry: Value = serde_json::from_str(entry).expect("JSON");
    let inner = ["message", "payload", "data", "event"].into_iter().find_map(|key| entry.get(key)).unwrap_or(&entry);
    let mut inner = inner.clone();
    if let Some(members) = inner.as_object_mut() {
        ["usage", "details"].iter().for_each(|key| _ = members.remove(*key));
    }
    inner.to_string()
}

fn all_said(lines: &str) -> HashSet<String> {
    let mut all = HashSet::new();
    for line in lines.lines() {
        // Two values on a line are read in formats whose agents do not load such a file.
        for entry in serde_json::Deserializer::from_str(line).into_iter::<Value>().map_while(Result::ok) {
            // A record of Gemini CLI sets all messages at once.
            let list = entry["$set"]["messages"].as_array().into_iter().flatten();
            all.extend(list.map(|message| said(&message.to_string())));
            all.insert(said(&entry.to_string()));
        }
    }
    all
}

#[test]
fn a_damaged_line_loses_nothing_else() {
    let mut policy = CompactionPolicy::keeping(Size::Messages(1));
    policy.summary.accept = Accept::Any;
    let compactor = Compactor::new(policy);
    for (name, reads) in SESSIONS {
        let (mut tried, mut refused, mut sample) = (0, 0, Sample::default());
        for path in
            fixtures::of_format(name).into_iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        {
            let source = fs::read_to_string(&path).expect("a fixture");
            let lines: Vec<&str> = source.lines().filter(|line| !line.is_empty()).collect();
            let undamaged: HashSet<String> = counted(&source, name).expect("a session").into_iter().collect();
            for at in 0..lines.len() - 1 {
                for Damaged { text, read, whole } in
                    damaged(&lines, at, reads).into_iter().filter(|_| sample.takes_next())
                {
                    let about = format!("{} at line {}: {text}", path.display(), at + 1);
                    let Some(found) = counted(&text, name) else {
                        assert!(reads == Reads::Nothing || lines.len() < 3, "{about}");
                        continue;
                    };
                    tried += 1;
                    if matches!(reads, Reads::Others | Reads::Objects) && name != "claude-code" {
                        let read: String = read.iter().map(|line| format!("{line}\n")).collect();
                        assert_eq!(values(&found), sent(name, &read), "{about}");
                    }
                    // Where lines are replayed, a lost one changes what a later one takes back.
                    let is_linked = LINKED.iter().any(|(agent, parent)| *agent == name && text.contains(parent));
                    let sent_before =
                        undamaged.iter().filter(|line| whole.contains(*line) && (is_linked || found.contains(line)));
                    let (after, _) = slimmed(&text, by_name(name), true);
                    let left = all_said(&after);
                    for line in sent_before.clone() {
                        assert!(left.contains(&said(line)), "slim drops {line} of {about}");
                    }
                    let Ok(compacted) = compactor.compact(&text) else { continue };
                    if compacted.text == text {
                        refused += 1;
                        continue;
                    }
                    let left = all_said(&compacted.text);
                    for line in sent_before.filter(|line| !left.contains(&said(line))) {
                        assert!(found.contains(line), "a compaction drops {line} of {about}");
                    }
                }
            }
        }
        let is_torn = matches!(name, "pi" | "qwen-code");
        let enough = tried * one_in() > 50 && (refused * one_in() > 10 || !is_torn);
        assert!(enough || reads == Reads::Nothing, "{name}: {tried}, {refused} unchanged");
    }
}
