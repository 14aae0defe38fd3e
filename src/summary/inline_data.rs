//! Removes binary data from texts: data URLs, and long runs of Base64. A summarizer cannot use them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;
use crate::wording::counted;

/// Matches candidates: the data of a data URL, a long run, or a run wrapped into lines.
static RUNS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"data:(?<kind>[\w.+-]+/[\w.+-]+)[^,\s]{0,40};base64,(?<url>[A-Za-z0-9+/=_-]{64,})",
        r"|[A-Za-z0-9+/=_-]{512,}",
        r"|(?:[A-Za-z0-9+/]{60,80}(?:\r?\n|\\n)){8,}[A-Za-z0-9+/=]*",
    ))
});

/// Replaces the data in a text with its media type, if known, and its approximate size.
pub(crate) fn without_data(text: &str) -> Cow<'_, str> {
    // No run is shorter, but most texts are.
    const SHORTEST: usize = 64;
    if text.len() <= SHORTEST {
        return Cow::Borrowed(text);
    }
    let found: Vec<(Range<usize>, String)> = RUNS
        .captures_iter(text)
        .filter_map(|captures| {
            let whole = captures.get(0)?;
            let kind = captures.name("kind").map(|kind| kind.as_str());
            let run = captures.name("url").unwrap_or(whole).as_str();
            let bytes = data_size(run).or(kind.map(|_| run.len() * 3 / 4))?;
            Some((whole.range(), format!("[{}, {}]", kind.unwrap_or("data"), counted(bytes as u64, "byte"))))
        })
        .collect();
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut from = 0;
    for (range, placeholder) in found {
        out.push_str(&text[from..range.start]);
        out.push_str(&placeholder);
        from = range.end;
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// Estimates the bytes that a run encodes, if it has the variety of characters of hexadecimal digits or Base64. Rows of
/// dashes and words without spaces do not.
fn data_size(run: &str) -> Option<usize> {
    const LEAST_OF_64: u32 = 24;
    const LEAST_OF_16: u32 = 10;
    let distinct = run.bytes().fold(0u128, |distinct, byte| distinct | 1 << (byte & 0x7f)).count_ones();
    let has = |wanted: fn(&u8) -> bool| run.bytes().any(|byte| wanted(&byte));
    let digits = has(u8::is_ascii_digit);
    if digits && distinct >= LEAST_OF_16 && run.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Some(run.len() / 2)
    } else if digits && distinct >= LEAST_OF_64 && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) {
        Some(run.len() * 3 / 4)
    } else {
        None
    }
}

/// Builds the patterns of this file.
#[cfg(test)]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*RUNS]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_named_and_not_sent() {
        let run = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJx9+/QzTk".repeat(20);
        let url = format!("see data:image/png;base64,{run}\" end");
        assert_eq!(without_data(&url), format!("see [image/png, {} bytes]\" end", run.len() * 3 / 4));
        assert_eq!(without_data(&format!("a {run} b")), format!("a [data, {} bytes] b", run.len() * 3 / 4));
        let lines = run.as_bytes().chunks(76).map(|line| String::from_utf8_lossy(line)).collect::<Vec<_>>().join("\n");
        assert!(without_data(&format!("a {lines} b")).starts_with("a [data, "), "{lines}");
        let hex = "0123456789abcdef".repeat(40);
        assert_eq!(without_data(&hex), "[data, 320 bytes]");
    }

    #[test]
    fn text_stays() {
        for text in
            ["short", &"x".repeat(5_000), &"-".repeat(600), &"word-".repeat(300), &"a sentence of text ".repeat(90)]
        {
            assert_eq!(without_data(text), *text);
        }
    }
}
