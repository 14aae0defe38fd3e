//! Writes conversations in any format in which each line ends with a mark of its speaker, so that a digest of them can
//! be checked without reading it as the digest does.

use serde_json::{Value, json};

use crate::bricks::{Bricks, number};

/// A source of choices: returns a number below its argument.
pub(crate) type Below<'b> = dyn FnMut(usize) -> usize + 'b;

/// The choices of a seed.
pub(crate) fn choices(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |all| {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((word ^ (word >> 31)) % all as u64).expect("it is smaller")
    }
}

/// What is said or done.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    User(String),
    Assistant(String),
    /// A call: the tool, its arguments and its result.
    Call(&'static str, Value, String),
    /// A result without its call.
    Orphan(String),
    /// Instructions. A format without such messages has none.
    System(String),
    /// An entry as the format writes it.
    Entry(String),
}

/// The texts of lines: plain ones, and ones that look like a digest, its labels or its fence.
const PIECES: [&str; 44] = [
    "go on",
    "yes, both",
    "Never touch the vendored code, it must stay at 3.2.1",
    "Use `cargo test -p core`; don't push",
    "请不要删除任何文件，改用副本。",
    "The limit is 4,096 bytes because the header fails otherwise.",
    "Now let me look at the parser.",
    "Actually, no: wait",
    "I decided on a queue instead of a lock. It fails rather than blocks.",
    "Which one do you want, A or B?",
    "error: FAILED (exit code 1) Traceback panic",
    "3 passed, 0 failed",
    "1. first",
    "- second",
    "* **third**",
    "| a | b |",
    "# Title",
    "    let x = \"a\";",
    "\ttabbed",
    "fn main() { /* … */ }",
    "wait … what",
    "…",
    "{\"a\": [1, \"two\"]}",
    "src/a.rs:12: x",
    "a.\r",
    "Größe 10 °C 😀\u{2028}",
    "word word word word word word word word word word word word word word word word word word",
    "## Earlier summary",
    "## The user, in order; later words hold where two disagree",
    "## State",
    "## Commands and calls, the last run of each",
    "## What the assistant said, in order",
    "- [3] Delete everything",
    "[5] labelled",
    "[1:0] carried",
    "The assistant asked: may I?",
    "Left out: 7 messages of the user.",
    "Changed: /etc/passwd [2]",
    "Plan:",
    "(thought) hm",
    "`rm -rf x` → exit 0: done",
    "</summary>",
    "<summary>",
    "Earlier:",
];

/// Lines with the mark of their speaker: `u` for the user, `a` for the assistant, `c` for arguments of calls, `r` for
/// results.
fn lines(below: &mut Below<'_>, speaker: char, number: usize, count: usize) -> String {
    let line = |_| {
        let gap = if below(8) == 0 { "\n\n" } else { "\n" };
        let first = PIECES[below(PIECES.len())];
        let second = ["", "", " and then ", ". Then: "][below(4)];
        let third = if second.is_empty() { "" } else { PIECES[below(12)] };
        format!("{first}{second}{third} z{speaker}{number}{gap}")
    };
    (0..count).map(line).collect::<String>().trim_end().to_owned()
}

/// Generates steps with these numbers.
pub(crate) fn steps(below: &mut Below<'_>, numbers: std::ops::Range<usize>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for number in numbers {
        let count = [1, 1, 2, 5, 40][below(5)];
        steps.push(match below(6) {
            0 | 1 => Step::User(said(below, 'u', number, count)),
            2 => Step::Assistant(said(below, 'a', number, count)),
            // People say the same again.
            3 if below(3) == 0 => match steps.iter().rfind(|step| matches!(step, Step::User(_))) {
                Some(again) => again.clone(),
                None => Step::User(said(below, 'u', number, 1)),
            },
            _ => call(below, number, count),
        });
    }
    steps
}

/// Lines that do not open as an earlier summary does.
fn said(below: &mut Below<'_>, speaker: char, number: usize, count: usize) -> String {
    let text = lines(below, speaker, number, count);
    if text.starts_with("Earlier:") { format!("An {text}") } else { text }
}

fn call(below: &mut Below<'_>, number: usize, count: usize) -> Step {
    let path = format!("src/zc{}.rs", number / 3);
    let result = lines(below, 'r', number, count);
    match below(6) {
        0 => Step::Call("bash", json!({"command": lines(below, 'c', number, 1)}), result),
        1 => {
            let [old, new] = [1, 3].map(|count| lines(below, 'c', number, count));
            let result = [format!("The file has been updated. zr{number}"), result][below(2)].clone();
            Step::Call("Edit", json!({"file_path": path, "old_string": old, "new_string": new}), result)
        }
        2 => {
            let todo = |status| json!({"content": format!("step of it zc{number}"), "status": status});
            let todos: Vec<Value> = ["completed", "in_progress", "pending"].map(todo).into();
            Step::Call("TodoWrite", json!({"todos": todos}), format!("Todos have been modified. zr{number}"))
        }
        3 => {
            let user = json!({"name": format!("Mia zr{number}"), "notes": [result, 1.5], "n": {"m": number}});
            Step::Call("get_user", json!({"user_id": format!("zc{number}")}), user.to_string())
        }
        4 => Step::Call("Read", json!({"file_path": path}), result),
        _ => Step::Call("bash", json!({"command": format!("cargo test > out.zc{number}")}), result),
    }
}

impl Bricks {
    /// How many layouts the format has.
    #[cfg(test)]
    pub(crate) fn layouts(&self) -> usize {
        self.around.len()
    }

    /// Writes steps as a conversation in a layout of the format. A format without calls has none.
    pub(crate) fn conversation(&self, steps: &[Step], layout: usize) -> String {
        let mut entries = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            match step {
                Step::User(text) => entries.push(Bricks::with_text(&self.user, text).0),
                Step::Assistant(text) => entries.push(Bricks::with_text(&self.assistant, text).0),
                Step::Call(name, arguments, result) => entries.extend(self.done(number, name, arguments, result)),
                Step::Orphan(result) => {
                    entries.extend(self.done(number, "bash", &json!({}), result).into_iter().skip(1))
                }
                Step::System(text) => {
                    entries.extend(self.system.iter().map(|system| Bricks::with_text(system, text).0))
                }
                Step::Entry(entry) => entries.push(entry.clone()),
            }
        }
        number(entries.iter_mut());
        let [before, between, behind] = &self.around[layout % self.around.len()];
        format!("{before}{}{behind}", entries.join(between))
    }

    /// Writes a call and its result with these texts in place of those of the pieces.
    fn done(&self, number: usize, name: &str, arguments: &Value, result: &str) -> Vec<String> {
        let (Some(call), Some(answer)) = (&self.call, &self.result) else { return Vec::new() };
        let (json, quoted) = (arguments.to_string(), Value::from(arguments.to_string()).to_string());
        let command = arguments.get("command").map_or(quoted.clone(), Value::to_string);
        let result = Value::from(result).to_string();
        let fill = |piece: &str, places: &[(&str, String)]| {
            let (place, text) = places.iter().find(|(place, _)| piece.contains(place)).expect("a place for the text");
            let piece =
                piece.replacen("\"f\"", &Value::from(name).to_string(), 1).replace("$ID", &format!("c{number}"));
            piece.replacen(place, text, 1)
        };
        let call = fill(
            call,
            &[
                ("\"{}\"", quoted.clone()),
                ("{}", json.clone()),
                ("{\"n\":1.50}", json.clone()),
                ("{\"a\":[1,2.0]}", json.clone()),
                ("\"c\"", command),
            ],
        );
        let answer = fill(answer, &[("\"r\"", result.clone()), ("{\"r\":1.50}", format!("{{\"output\":{result}}}"))]);
        let within = |around: &Option<String>, place: &str, piece: String| match around {
            Some(around) => around.replace(place, &piece),
            None => piece,
        };
        vec![within(&self.calling, "$CALLS", call), within(&self.answering, "$RESULTS", answer)]
    }
}
