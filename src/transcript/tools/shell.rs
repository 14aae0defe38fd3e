//! Splits shell commands into steps. It is not a parser of any shell.

/// A step of a command: a part of a line between `&&`, `;`, `||` and `&` outside of quotes.
#[derive(Debug, Clone, Copy)]
struct Step<'c> {
    text: &'c str,
    /// The sign behind it: `b` for an `&` that leaves it running, a blank at the end of a line.
    sign: char,
    is_piped: bool,
}

/// Returns the steps of a command, without here-documents.
pub(crate) fn steps(command: &str) -> Vec<&str> {
    read_steps(command).into_iter().map(|step| step.text).collect()
}

/// Returns the steps of a command, each with whether an exit code of 0 says that it went well: it is the last one, or all
/// behind it ran because it did.
pub(crate) fn steps_with_status(command: &str) -> Vec<(&str, bool)> {
    let steps = read_steps(command);
    let mut decides = true;
    let is_sure = |(at, step): (usize, &Step<'_>)| {
        decides &= if at + 1 == steps.len() { step.sign != 'b' } else { step.sign == '&' };
        decides && !step.is_piped && (at == 0 || steps[at - 1].sign != '|')
    };
    let sure: Vec<bool> = steps.iter().enumerate().rev().map(is_sure).collect();
    steps.iter().map(|step| step.text).zip(sure.into_iter().rev()).collect()
}

/// Returns the number of steps of a command that can fail.
pub(crate) fn steps_that_act(command: &str) -> usize {
    let prepares = |step: &&str| ["cd ", "set ", "export ", "source "].iter().any(|program| step.starts_with(program));
    steps(command).iter().filter(|step| !prepares(step)).count()
}

/// Whether the exit code of a command says nothing of what matters: it is that of the end of a pipe, of a loop or of a branch,
/// or of an `echo`, or an `||` hides it.
pub(crate) fn hides_status(command: &str) -> bool {
    /// Shells that are looked into, each in the one before.
    const DEEPEST: usize = 4;
    hides_status_within(command, DEEPEST)
}

fn hides_status_within(command: &str, depth: usize) -> bool {
    let steps = read_steps(command);
    let Some((last, before)) = steps.split_last() else { return false };
    let has_pipefail = command.contains("pipefail");
    let opens_with = |step: &Step<'_>, programs: &[&str]| {
        let program = step.text.split_whitespace().next().unwrap_or("");
        programs.contains(&program.trim_start_matches('('))
    };
    // Behind `&&` it says that all before it went well.
    let only_prints = |before: &Step<'_>| before.sign != '&' && opens_with(last, &["echo", "printf", "true", ":"]);
    let is_loop = |step: &Step<'_>| {
        opens_with(step, &["for", "while", "until", "if", "case", "function"]) || step.text.contains("() {")
    };
    steps.iter().any(|step| step.sign == '|' || is_loop(step) || step.is_piped && !has_pipefail)
        || last.sign == 'b'
        || before.last().is_some_and(only_prints)
        || script_of(last.text).is_some_and(|script| depth == 0 || hides_status_within(script, depth - 1))
}

/// Returns the script that a step hands to a shell: `bash -lc "make | tail"`.
fn script_of(step: &str) -> Option<&str> {
    const FLAGS: usize = 2;
    let (_, flags) = step.split_once("sh -")?;
    let (flags, script) = flags.split_once("c ")?;
    (flags.len() <= FLAGS).then(|| script.trim_matches([' ', '\'', '"']))
}

fn read_steps(command: &str) -> Vec<Step<'_>> {
    /// Most lines of a command that are read.
    const MOST_LINES: usize = 400;
    let mut found = Vec::new();
    let mut heredoc_delimiter: Option<String> = None;
    let mut quote = None;
    for line in command.lines().take(MOST_LINES) {
        if let Some(end) = &heredoc_delimiter {
            if line.trim() == end {
                heredoc_delimiter = None;
            }
            continue;
        }
        // A line inside quotes of an earlier line is text.
        let is_in_quotes = quote.is_some();
        let pieces = cut_line(line, &mut quote);
        if !is_in_quotes {
            found.extend(pieces);
            heredoc_delimiter = quote.is_none().then(|| heredoc_end(line)).flatten();
        } else if let Some((step, (first, rest))) = found.last_mut().zip(pieces.split_first()) {
            step.sign = rest.last().map_or(first.sign, |last| last.sign);
            step.is_piped |= pieces.iter().any(|step| step.is_piped);
        }
    }
    let trimmed = found.into_iter().map(|step| Step { text: step.text.trim(), ..step });
    trimmed.filter(|step| !step.text.is_empty() && !step.text.starts_with('#')).collect()
}

fn cut_line<'l>(line: &'l str, quote: &mut Option<char>) -> Vec<Step<'l>> {
    let mut found = Vec::new();
    let (mut start, mut is_piped) = (0, false);
    let mut before = ' ';
    let mut add = |end: usize, next: usize, sign, is_piped: &mut bool| {
        found.push(Step { text: &line[start..end], sign, is_piped: std::mem::take(is_piped) });
        start = next;
    };
    for (at, c) in line.char_indices() {
        let behind = &line[at + c.len_utf8()..];
        match (*quote, c) {
            (Some(open), c) if c == open && before != '\\' => *quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') if before != '\\' => *quote = Some(c),
            (None, ';') => add(at, at + 1, ';', &mut is_piped),
            (None, '&' | '|') if before == c => add(at - 1, at + 1, c, &mut is_piped),
            // Alone at the end, it leaves the step running.
            (None, '&') if behind.trim_start().is_empty() && before != '|' => add(at, at + 1, 'b', &mut is_piped),
            (None, '|') if !behind.starts_with('|') && !matches!(before, '>' | '\\') => is_piped = true,
            _ => {}
        }
        before = c;
    }
    add(line.len(), line.len(), ' ', &mut is_piped);
    found
}

/// Returns the delimiter of the here-document that a line starts, or of the new lines of SWE-agent's `edit 3:5`.
fn heredoc_end(line: &str) -> Option<String> {
    const END_OF_EDIT: &str = "end_of_edit";
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let lines = line.trim().strip_prefix("edit ").and_then(|lines| lines.split_once(':'));
    if lines.is_some_and(|(first, last)| is_number(first) && is_number(last)) {
        return Some(END_OF_EDIT.to_owned());
    }
    let (_, rest) = line.split_once("<<")?;
    let word = rest.trim_start_matches(['-', ' ']).split_whitespace().next()?.trim_matches(['\'', '"']);
    (!word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_cut_into_steps() {
        assert_eq!(
            steps("cd /testbed && cat > a.py << 'EOF'\nx; y\nEOF\npython a.py 2>&1 | tail -3; echo \"a && b\""),
            ["cd /testbed", "cat > a.py << 'EOF'", "python a.py 2>&1 | tail -3", "echo \"a && b\""]
        );
        assert_eq!(steps("git commit -m \"one\n\ntwo; three\""), ["git commit -m \"one"]);
        assert_eq!(steps("edit 1:2\nprint(1)\nend_of_edit\nls"), ["edit 1:2", "ls"]);
        assert!(steps("\n# nothing\n").is_empty());
    }
}
