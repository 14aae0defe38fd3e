//! What a file is by its first bytes, where it is not JSON in UTF-8, and how to get JSON of it.

use crate::diagnostic::quoted;

/// How each section of an archive for people begins.
pub(super) const MARKDOWN_ARCHIVE: &str = "## Summarized at ";

/// Where the name of a tar archive's first file ends, and its mark stands.
const TAR_MARK: usize = 257;

/// A kind of file that is not JSON in UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileKind {
    /// What it is.
    what: &'static str,
    /// What to do with it, with `FILE` in the place of its name; empty if nothing.
    next: &'static str,
    /// Whether such files often hold transcripts.
    pub(super) holds_transcripts: bool,
}

const fn kind(what: &'static str, next: &'static str) -> FileKind {
    FileKind { what, next, holds_transcripts: true }
}

const fn no_text(what: &'static str) -> FileKind {
    FileKind { what, next: "", holds_transcripts: false }
}

/// The first bytes of each kind.
#[rustfmt::skip]
const KINDS: [(&[u8], FileKind); 25] = [
    (b"PAR1", kind("a Parquet file", "write its rows as JSONL, as with duckdb -c \"COPY (FROM 'FILE') TO 'rows.jsonl' (FORMAT json)\"")),
    (b"PK\x03\x04", kind("a zip archive", "unzip -l FILE lists its files, and unzip -p FILE NAME | tcompact reads one")),
    (b"7z\xbc\xaf\x27\x1c", kind("a 7z archive", "7z l FILE lists its files, and 7z x -so FILE NAME | tcompact reads one")),
    (b"BZh", kind("compressed with bzip2", "bzip2 -dc FILE | tcompact reads it")),
    (b"\xfd7zXZ\0", kind("compressed with xz", "xz -dc FILE | tcompact reads it")),
    (b"\x1f\x8b", kind("compressed twice", "unpack it once, as with gzip -d or zstd -d")),
    (b"\x28\xb5\x2f\xfd", kind("compressed twice", "unpack it once, as with gzip -d or zstd -d")),
    // The mark of UTF-32 begins with that of UTF-16.
    (b"\xff\xfe\0\0", kind("UTF-32", "convert it to UTF-8 first, as with iconv -f UTF-32 -t UTF-8")),
    (b"\0\0\xfe\xff", kind("UTF-32", "convert it to UTF-8 first, as with iconv -f UTF-32 -t UTF-8")),
    (b"\xff\xfe", kind("UTF-16", "convert it to UTF-8 first, as with iconv -f UTF-16 -t UTF-8")),
    (b"\xfe\xff", kind("UTF-16", "convert it to UTF-8 first, as with iconv -f UTF-16 -t UTF-8")),
    // Without a mark, zeros stand beside the bracket that a transcript begins with.
    (b"{\0\0\0", kind("UTF-32", "convert it to UTF-8 first, as with iconv -f UTF-32LE -t UTF-8")),
    (b"[\0\0\0", kind("UTF-32", "convert it to UTF-8 first, as with iconv -f UTF-32LE -t UTF-8")),
    (b"\0\0\0{", kind("UTF-32", "convert it to UTF-8 first, as with iconv -f UTF-32BE -t UTF-8")),
    (b"\0\0\0[", kind("UTF-32", "convert it to UTF-8 first, as with iconv -f UTF-32BE -t UTF-8")),
    (b"{\0", kind("UTF-16", "convert it to UTF-8 first, as with iconv -f UTF-16LE -t UTF-8")),
    (b"[\0", kind("UTF-16", "convert it to UTF-8 first, as with iconv -f UTF-16LE -t UTF-8")),
    (b"\0{", kind("UTF-16", "convert it to UTF-8 first, as with iconv -f UTF-16BE -t UTF-8")),
    (b"\0[", kind("UTF-16", "convert it to UTF-8 first, as with iconv -f UTF-16BE -t UTF-8")),
    (b"\x89PNG", no_text("a picture (PNG)")),
    (b"\xff\xd8\xff", no_text("a picture (JPEG)")),
    (b"GIF8", no_text("a picture (GIF)")),
    (b"RIFF", no_text("a picture, a sound or a film (RIFF)")),
    (b"%PDF-", no_text("a PDF document")),
    (b"\x7fELF", no_text("a program (ELF)")),
];

/// The first bytes of kinds of text, behind white space.
const TEXTS: [(&[u8], FileKind); 2] = [
    (b"# aider chat started", kind("a chat history of aider, which is Markdown and not JSON", "")),
    (MARKDOWN_ARCHIVE.as_bytes(), kind("an archive for people", "tcompact reads one whose name ends in .jsonl")),
];

/// Databases by the beginnings of their names, and how to export a session.
const DATABASES: [(&str, &str); 3] = [
    ("opencode.", "opencode export ID > session.json writes what tcompact reads"),
    ("state.db", "hermes sessions export --session-id ID session.jsonl writes what tcompact reads of Hermes"),
    ("", "export a session as JSON, as opencode does with opencode export, and Hermes with hermes sessions export"),
];

impl FileKind {
    /// The kind of a file with a name, by its first bytes; nothing where it can be JSON.
    pub(super) fn of(name: &str, first: &[u8]) -> Option<Self> {
        if first.starts_with(b"SQLite format 3\0") {
            let base = name.rsplit(['/', '\\']).next().unwrap_or(name);
            let (_, export) = DATABASES.iter().find(|(start, _)| base.starts_with(start))?;
            return Some(kind("an SQLite database", export));
        }
        if first.get(TAR_MARK..).is_some_and(|mark| mark.starts_with(b"ustar")) {
            return Some(kind(
                "a tar archive",
                "tar -tf FILE lists its files, and tar -xOf FILE NAME | tcompact reads one",
            ));
        }
        let text = first.trim_ascii_start();
        for (start, kind) in &TEXTS {
            if text.starts_with(start) {
                return Some(*kind);
            }
        }
        for (start, kind) in &KINDS {
            if first.starts_with(start) {
                return Some(*kind);
            }
        }
        None
    }

    /// What it is and what to do with it: a sentence without `it is`. Standard input has the name `-`.
    pub(super) fn sentence(self, name: &str) -> String {
        if self.next.is_empty() {
            return self.what.to_owned();
        }
        // Inside of the quotes of a query inside of those of a shell.
        let is_plain = name != "-" && !name.contains(['\'', '"', '\\', '$', '`']) && !name.contains(char::is_control);
        let in_query = if is_plain { name } else { "FILE" };
        let file = if name == "-" { "FILE".to_owned() } else { quoted(name) };
        let next = if self.next.contains("'FILE'") {
            self.next.replace("'FILE'", &format!("'{in_query}'"))
        } else {
            self.next.replace("FILE", &file)
        };
        format!("{}; {next}", self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(name: &str, first: &[u8]) -> String {
        FileKind::of(name, first).map_or_else(|| "JSON".to_owned(), |kind| kind.sentence(name))
    }

    #[test]
    fn first_bytes_tell_the_kind_and_what_to_do() {
        let mut tar = vec![0; TAR_MARK];
        tar.extend_from_slice(b"ustar");
        let utf16: Vec<u8> = "[{}]".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (name, first, said) in [
            ("a.json", &b" [{}]"[..], "JSON"),
            ("a.json", b"{\"a\":0}", "JSON"),
            ("a.json", b"", "JSON"),
            ("a.png", b"\x89PNG\r\n\x1a\n", "a picture (PNG)"),
            ("a.pdf", b"%PDF-1.7", "a PDF document"),
            ("a b.7z", b"7z\xbc\xaf\x27\x1c", "7z l 'a b.7z' lists its files"),
            ("a.bz2", b"BZh9", "compressed with bzip2; bzip2 -dc a.bz2 | tcompact reads it"),
            ("-", b"\xfd7zXZ\0\0", "compressed with xz; xz -dc FILE | tcompact reads it"),
            ("a.tar", &tar, "tar -xOf a.tar NAME | tcompact reads one"),
            ("a.json", &utf16, "UTF-16; convert it to UTF-8 first, as with iconv -f UTF-16LE -t UTF-8"),
            ("a.json", b"\xff\xfe\0\0[\0\0\0", "UTF-32; convert it to UTF-8 first, as with iconv -f UTF-32 "),
            ("a.json", b"\xff\xfe[\0", "UTF-16; convert it to UTF-8 first, as with iconv -f UTF-16 "),
            ("x/opencode.db", b"SQLite format 3\0", "an SQLite database; opencode export ID > session.json"),
            ("state.db", b"SQLite format 3\0", "hermes sessions export --session-id ID session.jsonl"),
            (
                "a.db",
                b"SQLite format 3\0",
                "export a session as JSON, as opencode does with opencode export, and Hermes",
            ),
            ("a.parquet", b"PAR1", "duckdb -c \"COPY (FROM 'a.parquet')"),
            ("a'.parquet", b"PAR1", "duckdb -c \"COPY (FROM 'FILE')"),
        ] {
            assert!(sentence(name, first).contains(said), "{name}: {}", sentence(name, first));
        }
    }
}
