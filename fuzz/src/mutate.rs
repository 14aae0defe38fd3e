//! Mutation without feedback, for systems without libFuzzer. The same seed gives the same inputs.

/// Words that the readers look for.
const WORDS: &[&str] = &[
    "null",
    "\"\"",
    "0",
    "-1",
    "[]",
    "{}",
    "true",
    "{\"role\":\"tool\"}",
    ",",
    ":",
    "\\ud83d",
    "\\u0000",
    "\"content\":",
    "\"role\":\"user\"",
    "\"role\":\"assistant\"",
    "\"type\":\"tool_use\"",
    "\"tool_calls\":[",
    "\"id\":7,",
    "é",
    "😀",
    "\\",
    "tool",
    "call_0",
    "\r\n",
    "\n",
    "\u{feff}",
    "NaN",
    "1e999",
    "18446744073709551616",
    "\u{2028}",
    "Earlier:\\n\\n",
    "Earlier:\n\n",
    "## Not in the summary above\n",
    "## The user, in order; later words hold where two disagree\n",
    "## State\n",
    "- [1:1] ",
    "The user: ",
    "The assistant asked: ",
    "Left out: ",
    " → ",
    " … ",
    "\n\n",
    "messages:",
    "fraction:",
    "{messages}",
    "[[",
    "]]",
    "\"messages\":[",
    "\"parentUuid\":null",
    "password=hunter2x",
    "`",
    "```\n",
    "https://a.b/c",
    "/a/b.rs:1",
    "3 files",
    "12 tests.rs",
    "2 failed",
    "v1.2.3",
    "2026-11-23",
    "10:30 ",
    "$5,000",
    "500毫秒",
    "a_b::c",
    " instead of ",
    "never ",
    "  ",
    "\t",
];

/// A generator of mutated inputs.
pub struct Mutator {
    seeds: Vec<Vec<u8>>,
    state: u64,
}

impl Mutator {
    /// Returns a generator that mutates `seeds`.
    pub fn new(seeds: Vec<Vec<u8>>, seed: u64) -> Self {
        Mutator { seeds, state: seed ^ 0x9e37_79b9_7f4a_7c15 }
    }

    fn random(&mut self) -> u64 {
        // splitmix64
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn below(&mut self, all: usize) -> usize {
        usize::try_from(self.random() % all.max(1) as u64).unwrap_or_default()
    }

    /// Returns the next input.
    pub fn next_input(&mut self) -> Vec<u8> {
        let seed = self.below(self.seeds.len());
        let mut input = self.seeds[seed].clone();
        for _ in 0..self.below(6) {
            self.change(&mut input);
        }
        // Two of three inputs get bytes for the choices of the target.
        if self.below(3) > 0 {
            input.push(0);
            input.extend((0..10).map(|_| self.random() as u8));
        }
        input
    }

    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let most = if self.below(4) == 0 { 400 } else { 20 };
        start..(start + self.below(most)).min(length)
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let range = self.range(input.len());
        match self.below(7) {
            0 => drop(input.drain(range)),
            1 => {
                let copy = input[range].to_vec();
                let at = self.below(input.len() + 1);
                input.splice(at..at, copy);
            }
            2 => {
                let other = self.below(self.seeds.len());
                let theirs = self.range(self.seeds[other].len());
                let piece = self.seeds[other][theirs].to_vec();
                input.splice(range, piece);
            }
            3 => {
                if let Some(at) = Some(self.below(input.len())).filter(|at| *at < input.len()) {
                    input[at] = self.random() as u8;
                }
            }
            4 => {
                if let Some(at) = Some(self.below(input.len())).filter(|at| *at < input.len()) {
                    input[at] = b"[]{}\",:\\0123456789.-eE \n"[self.below(24)];
                }
            }
            5 => {
                let word = WORDS[self.below(WORDS.len())];
                input.splice(range.start..range.start, word.bytes());
            }
            _ => {
                let word = WORDS[self.below(WORDS.len())];
                input.splice(range, word.bytes());
            }
        }
    }
}
