//! Bytes that stand in texts: data URLs, and long runs of base64. A summarizer can make nothing of them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Where a data URL's bytes begin, or a run that may be bytes.
static RUNS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    // It is tested that this is a pattern; were it none, texts would be sent as they are.
    Regex::new(r"(?:data:(?<kind>[\w.+-]+/[\w.+-]+)[^,\s]{0,40};base64,)[A-Za-z0-9+/=_-]{64,}|[A-Za-z0-9+/=_-]{512,}")
        .ok()
});

/// A text with what stands for bytes in the place of them: their type, where it is said, and how many there are.
pub fn without_data(text: &str) -> Cow<'_, str> {
    // No run is shorter, and most texts are.
    const SHORTEST: usize = 64;
    let Some(runs) = RUNS.as_ref().filter(|_| text.len() > SHORTEST) else { return Cow::Borrowed(text) };
    let found: Vec<(Range<usize>, String)> = runs
        .captures_iter(text)
        .filter_map(|captures| {
            let whole = captures.get(0)?;
            let kind = captures.name("kind");
            (kind.is_some() || is_mixed(whole.as_str())).then(|| {
                (whole.range(), format!("[{}, {} bytes]", kind.map_or("data", |kind| kind.as_str()), whole.len()))
            })
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

/// Whether a run has the variety of encoded bytes; rows of dashes, and words without spaces, have not.
fn is_mixed(run: &str) -> bool {
    const LEAST: u32 = 24;
    let seen = run.bytes().fold(0u128, |seen, byte| seen | 1 << (byte & 0x7f));
    let has = |wanted: fn(&u8) -> bool| run.bytes().any(|byte| wanted(&byte));
    seen.count_ones() >= LEAST && has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_named_and_not_sent() {
        assert!(RUNS.is_some());
        let run = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJx9+/QzTk".repeat(20);
        let url = format!("see data:image/png;base64,{run}\" end");
        assert_eq!(without_data(&url), format!("see [image/png, {} bytes]\" end", run.len() + 22));
        assert_eq!(without_data(&format!("a {run} b")), format!("a [data, {} bytes] b", run.len()));
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
