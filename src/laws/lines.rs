//! Generates lines from what the ledger looks for: the words in its own source, and numbers, units, paths, versions,
//! dates, addresses and names in every shape, with various separators.

use std::collections::BTreeSet;
use std::fs;

use crate::tokens::Counter;
use crate::transcript::Message;
use serde_json::{Value, json};

use crate::laws::FIXTURES;
use crate::laws::lawful::{PREFIX, assert_facts, assert_summary, with_document};

/// The shapes of tokens: `9` is a digit, `a` a letter, `A` a capital.
const SHAPES: [&str; 72] = [
    "9",
    "99",
    "999",
    "9.9",
    "9,999",
    "$9,999.99",
    "$9",
    "-9",
    "99%",
    "9.",
    "9:",
    "9-",
    "9,",
    "99:99",
    "99:99:99Z",
    "9999-99-99",
    "9999-99-99T99:99",
    "9999-99",
    "v9.9.9",
    "9.9.9",
    "9.9.9.9",
    "v9",
    "v9.9.9-aa.9",
    "9aa",
    "9aaa",
    "99 99",
    "9 tests.rs",
    "9 files.py:9 failed",
    "9 days_aa",
    "9 s/aa.rs",
    "a",
    "aaaaa",
    "Aaaaa",
    "AAAA",
    "aaAaa",
    "aa_aa",
    "_aa",
    "AAA-9999",
    "AAA999",
    "#9",
    "#aa",
    "--aa-aaa",
    "-aa",
    "a9a9a9a99",
    "aaaa::aaa",
    "aa:aa",
    "aa.rs",
    "aaa.py:9",
    "aa.tar.gz",
    "files.py:9:9",
    "tests.rs",
    ".env",
    "/",
    "/aaa",
    "/aaa/aa.rs:99:9",
    "./aa",
    "../aa/",
    "~/a.a",
    "aaa/aa.aa",
    "a//a",
    "C:\\aa\\aa.rs",
    "aa@aa.aa",
    "@aa",
    "aa@",
    "https://aa.aa",
    "http://",
    "https://a.a:9/aa?a=9#a).",
    "E9999",
    "AaaaError",
    "KeyError:",
    "SIGAAAA",
    "- [9] ",
];

/// The separators of tokens, many of them empty.
const BETWEEN: [&str; 40] = [
    "", "", "", "", "", "", "", "", "", "", " ", " ", " ", " ", " ", " ", "  ", "\t", ":", ": ", ", ", ",", ".", ". ",
    "; ", "/", "-", "_", "=", "(", ")", "\"", "`", "\\", "é", "，", "。", "😀", "\u{301}", "\u{2028}",
];

/// A source of choices: returns a number below its argument.
pub type Below<'b> = dyn FnMut(usize) -> usize + 'b;

/// The tokens of generated lines.
pub struct Tokens(Vec<String>);

impl Tokens {
    /// Collects the words of the ledger from its source.
    pub fn of_ledger() -> Self {
        let folder = format!("{FIXTURES}/../src/summary/record");
        let mut words = BTreeSet::new();
        for entry in fs::read_dir(folder).expect("a folder") {
            // Folders have no source.
            let Ok(source) = fs::read_to_string(entry.expect("an entry").path()) else { continue };
            let code = source.split("#[cfg(test)]").next().unwrap_or_default();
            for text in code
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
                .flat_map(|line| line.split('"').skip(1).step_by(2))
            {
                let part = |c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '_' | '$' | '.' | ' ');
                words.extend(text.split(part).map(str::to_owned));
                words.insert(text.to_owned());
            }
        }
        words.retain(|word| !word.is_empty() && word.len() <= 40);
        Tokens(words.into_iter().collect())
    }

    /// Returns the number of words.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Generates a line.
    pub fn line(&self, below: &mut Below<'_>) -> String {
        let mut line = String::new();
        for _ in 0..=below(7) {
            if below(2) == 0 {
                line.push_str(&self.0[below(self.0.len())]);
            } else {
                let shape = SHAPES[below(SHAPES.len())];
                line.extend(shape.chars().map(|c| match c {
                    '9' => b"0123456789"[below(10)].into(),
                    'a' => b"abcdefghijklmnopqrstuvwxyz"[below(26)].into(),
                    'A' => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"[below(26)].into(),
                    c => c,
                }));
            }
            line.push_str(BETWEEN[below(BETWEEN.len())]);
        }
        line
    }
}

/// Returns the choices of a seed.
pub fn choices(seed: u64) -> impl FnMut(usize) -> usize {
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

/// Generates a conversation of `lines` lines by users, models, tools and earlier summaries.
pub fn conversation(tokens: &Tokens, lines: usize, below: &mut Below<'_>) -> String {
    let mut messages = Vec::new();
    let mut left = lines;
    while left > 0 {
        let count = (1 + below(5)).min(left);
        left -= count;
        let lines: Vec<String> = (0..count).map(|_| tokens.line(below)).collect();
        let text = lines.join("\n");
        match below(7) {
            0 | 1 => messages.push(json!({"role": "user", "content": text})),
            2 => messages.push(json!({"role": "assistant", "content": text})),
            3 => {
                messages.push(json!({"role": "user", "content": format!("{PREFIX}{text}\n\n## Ledger\nUser:\n{text}")}))
            }
            how => {
                let id = messages.len().to_string();
                let name = ["bash", "Edit", "get_user"][below(3)];
                let arguments = json!({"command": text, "file_path": lines[0]}).to_string();
                let result = if how == 4 { json!([{lines[0].clone(): text}, lines]).to_string() } else { text };
                let call = json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
                messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
                messages.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
            }
        }
    }
    Value::from(messages).to_string()
}

/// Checks the laws of facts and of the embedded summarizer on a conversation.
pub fn assert_read(conversation: &str, below: &mut Below<'_>) {
    let limit = [0, 7, 60, 300, 4_000][below(5)];
    with_document(conversation, None, |document| {
        let messages: Vec<&Message<'_>> = document.transcripts[0].messages.iter().collect();
        assert_facts(&messages, Counter::DEFAULT, limit);
        assert_summary(&messages, Counter::DEFAULT, limit);
    });
}
