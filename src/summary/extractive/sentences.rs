//! Cutting text into sentences, words and names.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Characters of a sentence that are kept.
const LONGEST: usize = 280;

/// The sentences of a text: code blocks and tags are left out, markers of lists and headings are taken off.
pub(super) fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code {
            continue;
        }
        let line = without_tags(line);
        let line = line.trim_start_matches(['#', '-', '*', '>', '•', ' ']);
        let mut start = 0;
        let mut chars = line.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let before_space = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
            let ends = matches!(c, '。' | '！' | '？' | '；') || matches!(c, '.' | '!' | '?') && before_space;
            if ends {
                let end = at + c.len_utf8();
                push(&line[start..end], &mut found);
                start = end;
            }
        }
        push(&line[start..], &mut found);
    }
    found
}

/// A line without the tags and comments that frame what it says; one that only begins like a tag is left as it is.
fn without_tags(line: &str) -> Cow<'_, str> {
    if !line.starts_with('<') && !line.ends_with('>') {
        return Cow::Borrowed(line);
    }
    let mut kept = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        kept.push_str(before);
        rest = match tag.find('>') {
            Some(end) => &tag[end + 1..],
            // A comment that ends on another line.
            None if tag.starts_with("<!--") => "",
            None => {
                kept.push_str(tag);
                ""
            }
        };
    }
    kept.push_str(rest);
    Cow::Owned(kept.trim().to_owned())
}

/// Letters that a sentence needs to say something ("Yes, do." does not); a character of a script without spaces is three.
const FEWEST: usize = 8;

/// Keeps what has enough in it to say something.
fn push(sentence: &str, found: &mut Vec<String>) {
    let sentence = sentence.trim();
    let letters = sentence.chars().filter(|c| c.is_alphanumeric()).map(|c| if c < '\u{2e80}' { 1 } else { 3 });
    if letters.sum::<usize>() >= FEWEST {
        found.push(clipped(sentence));
    }
}

/// At most [`LONGEST`] characters, ended between words where there are any.
pub(super) fn clipped(sentence: &str) -> String {
    let Some((end, _)) = sentence.char_indices().nth(LONGEST) else { return sentence.to_owned() };
    let head = &sentence[..end];
    let word_end = head.rfind(char::is_whitespace).filter(|at| *at > end / 2).unwrap_or(end);
    format!("{}…", head[..word_end].trim_end())
}

/// The words of a text as hashes: lower case, from three letters on; pairs of characters in scripts without spaces.
pub(super) fn words(text: &str) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let wide: Vec<char> = word.chars().filter(|c| *c >= '\u{2e80}').collect();
        if wide.is_empty() {
            if word.chars().count() >= 3 {
                found.insert(hash(&word.to_lowercase()));
            }
        } else {
            found.extend(wide.windows(2).map(hash));
        }
    }
    found
}

/// The same in every run: the standard hasher with its fixed start.
fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Names of files and addresses in a text, in order.
pub(super) fn artifacts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\'' | '`' | '\\' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | ',' | ';' | '|' | '='
            )
    })
    .map(|word| word.trim_end_matches(['.', ':', '!', '?', '。', '，']))
    .filter(|word| is_artifact(word))
}

fn is_artifact(word: &str) -> bool {
    const EXTENSIONS: [&str; 40] = [
        "rs", "py", "js", "ts", "tsx", "jsx", "go", "c", "h", "cpp", "hpp", "java", "kt", "rb", "php", "cs", "swift",
        "sh", "sql", "md", "rst", "txt", "json", "jsonl", "toml", "yaml", "yml", "xml", "html", "css", "csv", "tsv",
        "lock", "log", "ini", "cfg", "env", "ipynb", "pdf", "proto",
    ];
    const LONGEST_NAME: usize = 160;
    if word.len() < 4 || word.len() > LONGEST_NAME || !word.is_ascii() {
        return false;
    }
    if word.starts_with("https://") || word.starts_with("http://") {
        return true;
    }
    let name_like = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+@~:".contains(&byte));
    let file = word.rsplit('/').next().unwrap_or(word);
    let extension = file.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension);
    let known =
        extension.is_some_and(|extension| EXTENSIONS.contains(&extension.split(':').next().unwrap_or(extension)));
    let rooted = ["/", "./", "../", "~/"].iter().any(|root| word.starts_with(root));
    name_like && (known || rooted && word.matches('/').count() >= 2 && !word.contains("//"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_they_end() {
        assert_eq!(
            sentences("# Title here\n- Version 1.2 is out. Yes! Use it now!\n```\ncode.here();\n```\n他走了。他回来了"),
            ["Title here", "Version 1.2 is out.", "Use it now!", "他走了。", "他回来了"]
        );
        assert!(sentences("... - !\n\n").is_empty());
    }

    #[test]
    fn tags_frame_sentences_and_are_none() {
        assert_eq!(
            sentences(
                "<task>Fix the parser.</task>\n<uploaded_files>\n<!-- a hint\n1 < 2 holds here\n<b>Bold</b> words here"
            ),
            ["Fix the parser.", "1 < 2 holds here", "Bold words here"]
        );
    }

    #[test]
    fn long_sentences_are_clipped_between_words() {
        let long = sentences(&"word ".repeat(200));
        assert!(long[0].ends_with("word…") && long[0].chars().count() <= LONGEST + 1);
        assert!(sentences(&"字".repeat(1_000))[0].chars().count() <= LONGEST + 1);
    }

    #[test]
    fn names_of_files_and_addresses() {
        let text = "see `src/main.rs:42`, /etc/hosts and ./run.sh (https://a.b/c?d=1). Not 1/2, and/or, e.g. this.";
        assert_eq!(
            artifacts(text).collect::<Vec<_>>(),
            ["src/main.rs:42", "/etc/hosts", "./run.sh", "https://a.b/c?d"]
        );
    }
}
