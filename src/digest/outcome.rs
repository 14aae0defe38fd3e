//! How a call ended, and the lines of its result that tell most. A structured status says how it ended; words never do.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::digest::clip::{self, GAP, middle_cut};
use crate::digest::{values, words};
use crate::transcript::lazy_text::LazyText;
use crate::transcript::status::{EDGE, FALSE, exit_status};
use crate::transcript::tools::purpose::is_in;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// Well, by its status.
    Well,
    /// Failed, by its status, with the exit code if it has one.
    Failed(Option<i32>),
    /// With a result that has no status: whoever reads it judges.
    Unknown,
    /// The user refused or cancelled it.
    Refused,
    /// It has no result.
    NoResult,
}

/// Returns how a call ended: by the mark of its format, or else by the status that its program writes at the edges of the
/// result. Where the two differ, it is unknown.
pub(super) fn ended(result: &LazyText<'_>, marked: Option<bool>) -> Ended {
    let (first, last) = result.edges(EDGE);
    let written = exit_status(first, last);
    match (marked, written) {
        (Some(true), Some(code)) if code != 0 => Ended::Failed(Some(code)),
        (Some(true), _) => Ended::Failed(None),
        (None, Some(0)) | (Some(false), Some(0) | None) => Ended::Well,
        (None, Some(FALSE)) => Ended::Failed(None),
        (None, Some(code)) => Ended::Failed(Some(code)),
        (Some(false), Some(_)) | (None, None) => Ended::Unknown,
    }
}

/// Whether a result without a status reads like the refusal of an edit. It decides only which of two lists names a file.
pub(super) fn reads_as_error(result: &str) -> bool {
    const OPENINGS: &str = "error|<tool_use_error>|failed|failure|no replacement|no match|invalid|cannot|could not|permission denied|file not found|string to replace not found|traceback|patch failed|the user doesn't want|the user does not want|the user denied|the user rejected|user rejected|user denied|user declined|rejected by|exec command rejected|the operation was rejected|permission for this tool use was denied|用户拒绝|用户取消";
    words::opens_with(result, OPENINGS)
}

/// Returns the lines of an output without what an agent's shell prints around it: tags, marks of the end, the command.
fn lines_of_output<'r>(output: &'r str, call: &ToldCall<'_>) -> Vec<&'r str> {
    const FRAMES: &str = "![|<returncode>|<output_head>|<output_tail>|<elided_chars>|<warning>|[command finished|[the command completed|[current working directory|[python interpreter|[jupyter|shell cwd was reset|wall time:|[... omitted 0 of|exit code|process exited with code|chunk id:|original token count:|output:|observation:";
    // How replies of agents without native calls begin, and the tags around them.
    const LABELS: [&str; 4] = ["Observation:", "OBSERVATION:", "Code output:", "Command output:"];
    const TAGS: &str =
        "tool_response|tool_result|tool_output|function_results|function_result|observation|results|result";
    let inside = |line: &'r str| {
        let line = line.trim();
        let line = LABELS.iter().find_map(|label| line.strip_prefix(label)).unwrap_or(line).trim_start();
        let line = line.strip_prefix("<output>").unwrap_or(line);
        line.strip_suffix("</output>").unwrap_or(line).trim()
    };
    let is_frame = |line: &&str| {
        let is_mark = line.len() < 200 && (words::opens_with(line, FRAMES) || line.ends_with("] Result:"));
        let is_echo = *line == call.label.trim_matches('`');
        let is_tag = line.starts_with('<') && is_in(line.trim_matches(['<', '/', '>']), TAGS);
        is_mark || is_tag || is_echo || !line.contains(char::is_alphanumeric) || call.noise.contains(&noise_key(line))
    };
    output.lines().map(inside).filter(|line| !is_frame(line)).collect()
}

/// A call whose result is told.
pub(super) struct ToldCall<'c> {
    pub(super) label: &'c str,
    /// Whether its result is the output of a command, and not a text.
    pub(super) is_output: bool,
    /// Whether it only shows what is there: no line of it says how anything went.
    pub(super) only_shows: bool,
    /// Whether what it prints is worth more than how it went.
    pub(super) is_data: bool,
    /// Lines that stand in the results of many calls.
    pub(super) noise: &'c HashSet<String>,
}

/// Returns what lines share that are equal but for their numbers.
fn noise_key(line: &str) -> String {
    line.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
}

/// Returns the lines at the edges of results that many of them share.
pub(super) fn noise<'r>(results: impl Iterator<Item = &'r LazyText<'r>>) -> HashSet<String> {
    const MOST_RESULTS: usize = 60;
    const EDGE_LINES: usize = 3;
    const LONGEST: usize = 240;
    /// A line is noise in at least so many results, and in one of so many.
    const LEAST: usize = 4;
    const SHARE: usize = 4;
    let (mut times, mut results_read) = (HashMap::<String, usize>::new(), 0);
    for result in results.take(MOST_RESULTS) {
        results_read += 1;
        let text = result.read();
        let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && line.len() <= LONGEST);
        let edges: HashSet<String> =
            lines().take(EDGE_LINES).chain(lines().rev().take(EDGE_LINES)).map(noise_key).collect();
        edges.into_iter().for_each(|line| *times.entry(line).or_default() += 1);
    }
    times
        .into_iter()
        .filter(|(_, times)| *times >= LEAST && times * SHARE >= results_read)
        .map(|(line, _)| line)
        .collect()
}

/// The separator of lines that are shown on one.
const SEPARATOR: &str = " / ";

/// Returns what a result tells in at most `most` bytes, on one line: a short one whole, the values of a JSON document, of
/// a long output the lines that say how it went, of a long text its beginning and end.
pub(super) fn telling(result: &str, call: &ToldCall<'_>, ended: Ended, most: usize) -> String {
    /// Bytes at either end of an output that are looked at, and most bytes of a document.
    const LOOK: usize = 16_000;
    const LARGEST: usize = 400_000;
    let start = result.trim();
    if ["[]", "{}", "null"].contains(&start) {
        return start.to_owned();
    }
    if start.starts_with(['{', '['])
        && result.len() <= LARGEST
        && let Ok(value) = serde_json::from_str::<Value>(start)
    {
        return match value.as_object().and_then(output_in_object) {
            Some(output) => telling(&output, call, ended, most),
            None => values::told(value, call.label, most),
        };
    }
    let is_long = result.len() > 2 * LOOK;
    let head = if is_long { &result[..result.floor_char_boundary(LOOK)] } else { result };
    let tail = if is_long { &result[result.ceil_char_boundary(result.len() - LOOK)..] } else { "" };
    let mut lines = lines_of_output(head, call);
    lines.extend(lines_of_output(tail, call));
    if !is_long && lines.iter().map(|line| line.len() + SEPARATOR.len()).sum::<usize>() <= most {
        return lines.join(SEPARATOR);
    }
    if call.is_output && !call.only_shows {
        return telling_lines(&lines, call, ended, most);
    }
    clip::clipped(&lines.join("\n"), most).replace('\n', SEPARATOR)
}

/// Returns the output of a command from the object in which some agents hand it over beside its status.
fn output_in_object(object: &Map<String, Value>) -> Option<String> {
    let text = |name: &str| object.get(name).and_then(Value::as_str);
    let output = text("output").or_else(|| text("stdout"))?;
    Some([output, text("stderr").unwrap_or("")].join("\n"))
}

/// Returns the lines that say how something went, in their order: the last ones, of a failure the first as well.
fn telling_lines(lines: &[&str], call: &ToldCall<'_>, ended: Ended, most: usize) -> String {
    const WORDS: &str = " passed| failed|error|exception|warning|not found|denied|refused|panicked|fatal|success|cannot|no such|timed out|conflict|rejected|traceback|undefined|expected|mismatch|ok.|fail:|fail |--- fail|result:|total|失败|成功|错误|通过";
    /// Bytes of a line that a person reads, the least room for one, and lines besides the first ones chosen.
    const LONGEST: usize = 400;
    const LEAST: usize = 40;
    const MORE: usize = 5;
    const MOST_LINES: usize = 80;
    let Some(end) = lines.len().checked_sub(1) else { return String::new() };
    let tells = |line: &str| {
        line.len() <= LONGEST && words::has(&line.to_lowercase(), WORDS) || ["ok", "OK", "PASS"].contains(&line)
    };
    let hits: Vec<usize> = (0..lines.len()).filter(|&at| tells(lines[at])).collect();
    let mut wanted = match (ended, hits.as_slice()) {
        (Ended::Failed(_), [first, .., last]) => vec![*last, *first, end],
        (_, [.., before, last]) => vec![*last, *before, end],
        (_, [only]) => vec![*only, end, 0],
        _ => vec![end, 0, 1.min(end), end.saturating_sub(1)],
    };
    wanted.extend(hits.iter().rev().take(MORE));
    // Where there is room, the rest of what a script prints follows from the beginning.
    wanted.extend((0..=end).filter(|_| call.is_data));
    let (mut room, mut chosen) = (most, Vec::<(usize, String)>::new());
    for at in wanted.into_iter().take(MOST_LINES) {
        let line = middle_cut(lines[at], room);
        let is_cut = line.contains(GAP) && !lines[at].contains(GAP);
        let is_bad = chosen.iter().any(|(known, _)| *known == at) || room < LEAST || is_cut;
        if is_bad && !chosen.is_empty() {
            continue;
        }
        room = room.saturating_sub(line.len() + SEPARATOR.len() + GAP.len_utf8());
        chosen.push((at, line));
    }
    chosen.sort_unstable();
    let mut out = String::new();
    let mut next = 0;
    for (at, line) in chosen {
        out.push_str(if out.is_empty() { "" } else { SEPARATOR });
        out.push_str(if at > next { "… " } else { "" });
        out.push_str(&line);
        next = at + 1;
    }
    if next > end { out } else { format!("{out} {GAP}") }
}
