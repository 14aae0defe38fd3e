//! Calls that the user refused: Claude Code says so beside the message, in the copy of the result that it displays.

use crate::transcript::denial::Denial;
use crate::transcript::json::{Json, Object};
use crate::transcript::message::ResultRef;
use crate::transcript::text::Text;

/// The copies of a refused call. The copy of an error of a tool begins with `Error: `, so no tool can write these.
const REFUSED: [&str; 2] = ["User rejected tool use", STOP];
const STOP: &str = "The user doesn't want to take this action right now. STOP what you are doing and wait for the user to tell you how to proceed.";

/// The opening of the text in a result of a refused call, and what it has before the words of the user.
const OPENING: &str = "The user doesn't want to proceed with this tool use.";
const FRAME: &str = "the user said:\n";
/// The opening of a copy that has this text as an error. A server or a page can write such an error, too.
const ERROR: &str = "Error: The user doesn't want to ";

/// Tools whose errors are written by Claude Code. An error of the shell begins with the exit code in newer versions.
const OWN: [&str; 15] = [
    "Bash",
    "Edit",
    "EnterPlanMode",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "KillShell",
    "LS",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "Read",
    "TodoRead",
    "TodoWrite",
    "Write",
];

/// The record of a line that the user refused the call that its only result answers.
pub(super) fn denial<'a>(line: &Object<'a>, results: &[ResultRef<'a>]) -> Option<Box<Denial<'a>>> {
    let [result] = results else { return None };
    result.json.get("is_error").filter(|is_error| is_error.raw() == "true")?;
    let copy = ["toolUseResult", "tool_use_result"].into_iter().find_map(|key| line.get_text(key))?;
    let denial = if REFUSED.iter().any(|refused| copy.is(refused)) {
        Denial::new(text(result.json).filter(|text| text.starts_with(OPENING)))
    } else if copy.starts_with(ERROR) {
        let own: &'static [&'static str] = if shell_errors_have_code(line) { &OWN } else { &OWN[1..] };
        Denial::new(Some(copy)).of_tools(own)
    } else {
        return None;
    };
    Some(Box::new(denial.behind(FRAME)))
}

/// Whether the version of a line writes the exit code before what a command printed.
fn shell_errors_have_code(line: &Object<'_>) -> bool {
    let version = line.get_text("version").map(|version| version.decode()).unwrap_or_default();
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(2), Some(1))
}

fn text(result: Json<'_>) -> Option<Text<'_>> {
    let content = result.get("content")?;
    content.text().or_else(|| content.items().next()?.get_text("text"))
}
