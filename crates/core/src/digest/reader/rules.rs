//! Files that agents read for their rules: `AGENTS.md`, a skill, a page that the user named.

use crate::digest::cues::has_cue;
use crate::digest::grammar::Place;
use crate::digest::reader::HistoryReader;
use crate::transcript::lazy_text::LazyText;

/// A file with rules, as it was read last.
pub(super) struct RuleFile {
    pub(super) path: String,
    pub(super) place: Place,
    pub(super) text: String,
}

impl<'a> HistoryReader<'a, '_> {
    /// Notes a file that was read, if it may hold rules.
    pub(super) fn note_rules(&mut self, path: &str, place: Place, result: Option<&LazyText<'a>>) {
        /// Files whose texts are kept, and bytes of a text.
        const MOST_FILES: usize = 12;
        const MOST_BYTES: usize = 40_000;
        let Some(result) = result else { return };
        if !holds_rules(path) || result.bytes() > MOST_BYTES || path.contains(": ") || path.contains('\n') {
            return;
        }
        let text = without_line_numbers(&result.read());
        if !has_cue(&text) {
            return;
        }
        self.rules.retain(|known| known.path != path);
        if self.rules.len() == MOST_FILES {
            self.rules.remove(0);
        }
        self.rules.push(RuleFile { path: path.to_owned(), place, text });
    }
}

/// Whether agents and people write their rules into files of this name.
fn holds_rules(path: &str) -> bool {
    #[rustfmt::skip]
    const NAMES: [&str; 14] = [
        "AGENTS", "CLAUDE", "SKILL", "GEMINI", "RULES", "CONTRIBUTING", "GUIDE", "INSTRUCTIONS", "CONVENTIONS",
        "HEARTBEAT", "STYLE", "COPILOT-INSTRUCTIONS", "SOUL", "POLICY",
    ];
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_uppercase();
    let is_text = [".MD", ".MDC", ".TXT", ".MDX", ".CURSORRULES"].iter().any(|end| name.ends_with(end));
    is_text && (NAMES.iter().any(|known| name.contains(known)) || name.ends_with("RULES"))
}

/// A text without the numbers that tools print in front of its lines: `   12→text`, `12: text`, `12\ttext`.
fn without_line_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let start = line.trim_start();
        let behind = start.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_numbered = behind.len() < start.len() && behind.starts_with(['→', '\t', '|', ':']);
        let shown = if is_numbered { behind.trim_start_matches(['→', '\t', '|', ':']) } else { line };
        out.push_str(shown);
        out.push('\n');
    }
    out
}
