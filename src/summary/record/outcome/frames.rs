//! Finds what the agent's program prints around every output.

use std::collections::{HashMap, HashSet};

use crate::summary::record::outcome::lines::without_digits;

/// Lines that the agent's program prints around every output, equal except for numbers: `[finished, status=0]`.
#[derive(Debug, Default)]
pub(in crate::summary::record) struct OutputFrames {
    lines: HashSet<String>,
}

impl OutputFrames {
    /// Most lines at either end of an output that may be a frame.
    const EDGE: usize = 3;

    /// Finds the lines that many outputs have at their edges.
    pub(in crate::summary::record) fn of<'o>(outputs: impl Iterator<Item = std::borrow::Cow<'o, str>>) -> OutputFrames {
        /// Most outputs that are read; the least number that must share a line; and the reciprocal of the least share.
        const MOST: usize = 120;
        const ENOUGH: usize = 4;
        const SHARE: usize = 4;
        let (mut times, mut count) = (HashMap::<String, usize>::new(), 0);
        for output in outputs.take(MOST) {
            count += 1;
            let edges: HashSet<String> = Self::edges(&output).map(without_digits).collect();
            edges.into_iter().for_each(|line| *times.entry(line).or_default() += 1);
        }
        let lines = times.into_iter().filter(|(_, times)| *times >= ENOUGH && *times * SHARE >= count);
        OutputFrames { lines: lines.map(|(line, _)| line).collect() }
    }

    fn edges(output: &str) -> impl Iterator<Item = &str> {
        const LONGEST: usize = 120;
        const SHORTEST: usize = 8;
        let lines = || output.lines().map(str::trim).filter(|line| !line.is_empty());
        // `done[Python Interpreter: /usr/bin/python]`
        let ends = lines().rev().take(Self::EDGE).filter_map(bracketed_end);
        let edges = lines().take(Self::EDGE).chain(lines().rev().take(Self::EDGE)).chain(ends);
        edges.filter(|line| (SHORTEST..=LONGEST).contains(&line.len()))
    }

    /// Removes the frame from an output.
    pub(in crate::summary::record) fn strip<'o>(&self, output: &'o str) -> &'o str {
        let mut inside = output;
        for _ in 0..Self::EDGE {
            let first = inside.trim_start().lines().next().unwrap_or("");
            if self.contains(first.trim()) {
                inside = &inside.trim_start()[first.len()..];
            }
            let last_line_text = inside.trim_end().lines().next_back().unwrap_or("");
            if self.contains(last_line_text.trim()) {
                inside = &inside[..inside.trim_end().len() - last_line_text.len()];
            }
        }
        match bracketed_end(inside.trim_end()) {
            Some(end) if self.contains(end) => inside.trim_end().strip_suffix(end).unwrap_or(inside),
            _ => inside,
        }
    }

    fn contains(&self, line: &str) -> bool {
        !self.lines.is_empty() && self.lines.contains(&without_digits(line))
    }

    /// Returns the exit status in a frame.
    pub(super) fn status(&self, edges: &str) -> Option<i32> {
        let line = Self::edges(edges).find(|line| {
            let lower = line.to_lowercase();
            self.contains(line) && ["status", "exit", "code", "return", "rc"].iter().any(|word| lower.contains(word))
        })?;
        let digits = line.rsplit(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty())?;
        digits.parse().ok()
    }
}

/// Returns the brackets that end a text behind other words.
fn bracketed_end(text: &str) -> Option<&str> {
    let start = text.strip_suffix(']')?.rfind('[').filter(|start| *start > 0)?;
    Some(&text[start..])
}

/// Returns an output without the command, which some terminals repeat before it.
pub(in crate::summary::record) fn without_echo<'o>(output: &'o str, command: &str) -> &'o str {
    let rest = output.trim_start().strip_prefix(command.trim());
    rest.filter(|rest| rest.is_empty() || rest.starts_with(['\r', '\n', '['])).unwrap_or(output)
}
