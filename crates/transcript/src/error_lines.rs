//! Lines of an output that name an error, in the forms of compilers, interpreters, shells and test runners.

/// Whether a line names an error: `ModuleNotFoundError: no module`, `error[E0308]: mismatched types`,
/// `fatal: not a git repository`, `FAILED tests/a.py::b`.
pub fn names_error(line: &str) -> bool {
    const OPENINGS: [&str; 8] =
        ["npm ERR!", "npm error ", "fatal: ", "panic: ", "CONFLICT (", "! [rejected", "! [remote", "not ok "];
    const ENDS: [&str; 6] = [
        ": command not found",
        ": no such file or directory",
        ": permission denied",
        ": operation not permitted",
        ": is a directory",
        ": not found",
    ];
    let line = line.trim();
    if OPENINGS.iter().any(|opening| line.starts_with(opening)) || line.contains("panicked at ") {
        return true;
    }
    if line.starts_with(['✗', '✘', '✖', '×', '❌', '⛔', '🚫', '🛑']) {
        return true;
    }
    let bare = line.trim_start_matches(['-', '=', '*', ' ']);
    let first = bare.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
    if matches!(first, "FAIL" | "FAILED") {
        return true;
    }
    let lower = line.to_ascii_lowercase();
    ENDS.iter().any(|end| lower.ends_with(end)) || begins_with_exception(line) || begins_with_error(&lower)
}

/// Whether a line begins with the name of an exception: `E   AssertionError`, `java.lang.IllegalStateException: …`.
fn begins_with_exception(line: &str) -> bool {
    const BEFORE: [&str; 4] = ["E ", "Caused by: ", "Uncaught ", "Unhandled "];
    const NAMES: [&str; 4] = ["Error", "Exception", "Interrupt", "Exit"];
    let mut rest = line;
    if let Some(behind) = rest.strip_prefix("Exception in thread ") {
        rest = match behind.split_once(' ') {
            Some((_, rest)) => rest,
            None => "",
        };
    }
    while let Some(behind) = BEFORE.iter().find_map(|before| rest.strip_prefix(before)) {
        rest = behind.trim_start();
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '_' | '$' | ':')).unwrap_or(rest.len());
    let name = rest[..end].trim_end_matches(':');
    let behind = &rest[name.len()..];
    NAMES.iter().any(|ending| name.ends_with(ending))
        && (behind.is_empty() || behind.starts_with([':', '(']) || behind.starts_with(" ["))
}

/// Whether a line in lower case begins with the word error, alone or behind a place in a file:
/// `error[E0308]: mismatched types`, `src/a.ts(3,9): error TS2322: …`, `[ERROR] …`.
fn begins_with_error(lower: &str) -> bool {
    let mut rest = lower.trim_start_matches('[');
    let (first, behind) = rest.split_once(' ').unwrap_or((rest, ""));
    let is_place = first.ends_with(':') || first.contains([':', '(']) && first.contains(|c: char| c.is_ascii_digit());
    if is_place && !behind.is_empty() && !first.starts_with("error") {
        rest = behind.trim_start_matches(['-', ' ']);
    }
    rest = rest.strip_prefix("fatal ").unwrap_or(rest);
    let Some(behind) = rest.strip_prefix("error") else { return false };
    // A code stands between the word and the colon: `error TS2322: no`.
    if behind.is_empty() || behind.starts_with([':', '[', ']']) {
        return true;
    }
    match behind.split_once(':') {
        Some((code, _)) => code.strip_prefix(' ').is_some_and(|code| !code.is_empty() && !code.contains(' ')),
        None => false,
    }
}
