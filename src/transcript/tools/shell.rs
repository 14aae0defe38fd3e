//! Splits shell commands into steps. It is not a parser of any shell.

/// Returns the steps of a command: its lines split at `&&`, `;` and `||` outside of quotes, without here-documents.
pub(crate) fn steps(command: &str) -> Vec<&str> {
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
        }
    }
    found.into_iter().map(str::trim).filter(|step| !step.is_empty() && !step.starts_with('#')).collect()
}

fn cut_line<'l>(line: &'l str, quote: &mut Option<char>) -> Vec<&'l str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match (*quote, c) {
            (Some(open), c) if c == open && before != '\\' => *quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') if before != '\\' => *quote = Some(c),
            (None, ';') => {
                found.push(&line[start..at]);
                start = at + 1;
            }
            (None, '&' | '|') if before == c => {
                found.push(line[start..at].trim_end_matches(c));
                start = at + 1;
            }
            _ => {}
        }
        before = c;
    }
    found.push(&line[start..]);
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
