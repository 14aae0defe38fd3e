//! Reads lines whose quotes and brackets are escaped, as in the source of a page or in the string of another text:
//! `&quot;password&quot;:&quot;…&quot;`.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// The escapes of the marks that stand around names and values, and the marks.
const ESCAPES: [(&str, &str); 16] = [
    ("&quot;", "\""),
    ("&#34;", "\""),
    ("&#x22;", "\""),
    ("&apos;", "'"),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("\\u0022", "\""),
    ("\\u0027", "'"),
    ("\\u003c", "<"),
    ("\\u003e", ">"),
    ("\\u003C", "<"),
    ("\\u003E", ">"),
    ("%22", "\""),
    ("%3A", ":"),
];
static SEARCH: LazyLock<AhoCorasick> =
    LazyLock::new(|| AhoCorasick::new(ESCAPES.map(|(escape, _)| escape)).expect("the escapes"));

/// The lines of a text that can name a secret and have escapes, without the escapes.
pub(super) struct Unescaped {
    pub(super) text: String,
    /// Where a piece of the source begins in the text, and where in the source.
    pieces: Vec<(usize, usize)>,
}

impl Unescaped {
    /// Nothing where none of the lines that can name a secret has an escape.
    pub(super) fn new(source: &str, lines: &[Range<usize>]) -> Option<Self> {
        let mut read = Unescaped { text: String::new(), pieces: Vec::new() };
        for line in lines {
            if SEARCH.is_match(&source[line.clone()]) {
                read.push_line(source, line.clone());
            }
        }
        if read.text.is_empty() { None } else { Some(read) }
    }

    fn push_line(&mut self, source: &str, line: Range<usize>) {
        let mut done = line.start;
        for escape in SEARCH.find_iter(&source[line.clone()]) {
            self.push_piece(source, done..line.start + escape.start());
            // The mark is a piece of its own: it stands where its escape begins.
            self.pieces.push((self.text.len(), line.start + escape.start()));
            self.text.push_str(ESCAPES[escape.pattern().as_usize()].1);
            done = line.start + escape.end();
        }
        self.push_piece(source, done..line.end);
        self.pieces.push((self.text.len(), line.end));
        self.text.push('\n');
    }

    fn push_piece(&mut self, source: &str, range: Range<usize>) {
        self.pieces.push((self.text.len(), range.start));
        self.text.push_str(&source[range]);
    }

    /// The place in the source of a part of the text.
    pub(super) fn in_source(&self, range: &Range<usize>) -> Range<usize> {
        // The last byte is inside of a piece; what is behind it may be an escape.
        self.place_in_source(range.start)..self.place_in_source(range.end - 1) + 1
    }

    fn place_in_source(&self, at: usize) -> usize {
        let (text, source) = self.pieces[self.pieces.partition_point(|(text, _)| *text <= at) - 1];
        source + at - text
    }
}
