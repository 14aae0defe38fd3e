//! Reading a transcript's text: whole, or line by line where each line is a conversation.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, IsTerminal, Read};
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::Result;

use crate::exit::Failure;
use crate::hash::Hasher;
use crate::sync::lock;
use crate::transcript::framing;
use crate::wording::{readable_source, reason};

use crate::files::compression::{Compression, Unpacked};

/// A text and where it comes from.
#[derive(Debug, Default, Clone)]
pub(crate) struct Input {
    /// The name that reports give: the path, or `-`.
    pub(crate) name: String,
    /// The text, to the byte, unpacked if it was compressed.
    pub(crate) text: String,
    /// Whether each line is a conversation.
    pub(crate) as_lines: bool,
    /// Lines of the same file that stand before it.
    pub(crate) lines_before: usize,
    /// How the file is compressed.
    pub(crate) compression: Option<Compression>,
}

/// An input that has been opened, and is read whole or line by line.
pub(crate) enum Opened {
    /// One document.
    Whole(Input),
    /// One conversation a line.
    Lines(Lines),
    /// It does not begin as JSON does.
    Other,
}

/// How an input is to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// What the user said of its lines.
    pub(crate) lines: Option<framing::Lines>,
    /// Whether it may turn out to be something else than a transcript, which its first bytes tell.
    pub(crate) may_be_other: bool,
    /// Whether the hash of it is wanted.
    pub(crate) hashed: bool,
}

/// The hash of what was read of a file, of all of it at its end.
#[derive(Clone, Default)]
pub(crate) struct ReadHash(Arc<Mutex<Hasher>>);

impl ReadHash {
    /// The hash, in hexadecimal digits.
    pub(crate) fn hash(&self) -> String {
        lock(&self.0).clone().end()
    }
}

/// A file that is hashed while it is read.
struct Hashed<R> {
    file: R,
    hash: ReadHash,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        lock(&self.hash.0).add(&buffer[..read]);
        Ok(read)
    }
}

/// Opens a file, or standard input where there is no path, compressed or not.
///
/// # Errors
/// It cannot be read, is damaged or is not UTF-8; or nobody would type into it: standard input is a terminal.
pub(crate) fn open(path: Option<&Path>, reading: Reading) -> Result<(Opened, Option<ReadHash>)> {
    let hash = reading.hashed.then(ReadHash::default);
    Ok((opened(path, reading, hash.clone())?, hash))
}

fn opened(path: Option<&Path>, reading: Reading, hash: Option<ReadHash>) -> Result<Opened> {
    let name = path.map_or("-".to_owned(), |path| path.display().to_string());
    let (mut reader, compression, unpacked) = unpacking(path, &name, hash)?;
    let damaged = |error: io::Error| unreadable(&name, &damage(&error, compression));
    let first = reader.fill_buf().map_err(damaged)?;
    if reading.may_be_other && !begins_as_json(first) {
        return Ok(Opened::Other);
    }
    let mut head = Vec::new();
    let mut lines = 0;
    if reading.lines == Some(framing::Lines::Conversations) {
        return Ok(Opened::Lines(Lines { name, compression, reader, unpacked, head, done: 0 }));
    }
    let mut more = true;
    while more && reading.lines.is_none() {
        let start = head.len();
        more = read_lines(&mut reader, false, &mut head).map_err(damaged)?;
        if head.len() == start {
            break;
        }
        lines += 1;
        // One line alone is a document like any other.
        let mut is_last = || {
            if !more {
                return Ok(true);
            }
            let next = reader.fill_buf()?;
            more &= !next.is_empty();
            Ok::<_, io::Error>(next.iter().all(u8::is_ascii_whitespace))
        };
        let told = match &head[start..] {
            line if line.trim_ascii().is_empty() || lines == 1 && is_last().map_err(damaged)? => None,
            line => str::from_utf8(line).map_or(Some(framing::Lines::Messages), framing::detect_lines),
        };
        match told {
            None => {}
            Some(framing::Lines::Messages) => break,
            Some(framing::Lines::Conversations) => {
                return Ok(Opened::Lines(Lines { name, compression, reader, unpacked, head, done: 0 }));
            }
        }
    }
    if more {
        if let Some(length) = path.filter(|_| compression.is_none()).and_then(|path| fs::metadata(path).ok()) {
            // Grown step by step, the text would be there twice for a while.
            head.reserve_exact((usize::try_from(length.len()).unwrap_or(0) + 1).saturating_sub(head.len()));
        }
        reader.read_to_end(&mut head).map_err(damaged)?;
    }
    let text = String::from_utf8(head).map_err(|error| {
        let lines = error.as_bytes();
        unreadable(&name, &not_utf8(lines, error.utf8_error().valid_up_to(), 0))
    })?;
    Ok(Opened::Whole(Input { name, text, as_lines: false, lines_before: 0, compression }))
}

/// Reads a file, or standard input where there is no path, as one text, whatever is in it.
///
/// # Errors
/// As [`open`] has them.
pub(crate) fn read(path: Option<&Path>) -> Result<Input> {
    let reading = Reading { lines: Some(framing::Lines::Messages), may_be_other: false, hashed: false };
    match open(path, reading)? {
        (Opened::Whole(input), _) => Ok(input),
        // It was not asked for.
        (Opened::Lines(_) | Opened::Other, _) => Ok(Input::default()),
    }
}

/// A reader of what a file holds, unpacked.
fn unpacking(
    path: Option<&Path>,
    name: &str,
    hash: Option<ReadHash>,
) -> Result<(Reader, Option<Compression>, Unpacked)> {
    let raw: Box<dyn Read + Send> = match path {
        Some(path) => {
            let file = File::open(path).map_err(|error| unreadable(name, &reason(&error)))?;
            match hash {
                Some(hash) => Box::new(Hashed { file, hash }),
                None => Box::new(file),
            }
        }
        None if io::stdin().is_terminal() => {
            let message = "no transcript: name a file, or send one to standard input (tcompact --help shows how)";
            return Err(Failure::usage(message).into());
        }
        None => Box::new(io::stdin()),
    };
    let mut raw = BufReader::with_capacity(AT_ONCE, raw);
    let compression = Compression::of_bytes(raw.fill_buf().map_err(|error| unreadable(name, &reason(&error)))?);
    let Some(compression) = compression else { return Ok((raw, None, Unpacked::default())) };
    let (reader, unpacked) = compression.reader(raw).map_err(|error| unreadable(name, &reason(&error)))?;
    Ok((BufReader::with_capacity(AT_ONCE, reader), Some(compression), unpacked))
}

type Reader = BufReader<Box<dyn Read + Send>>;

/// Bytes that are read at once, and that short lines are handed on in.
const AT_ONCE: usize = 1 << 16;

/// Reads on to the end of a line or, with `several`, to the last that has been read already; whether it was there.
fn read_lines(reader: &mut Reader, several: bool, bytes: &mut Vec<u8>) -> io::Result<bool> {
    loop {
        let read = match reader.fill_buf() {
            Ok([]) => return Ok(false),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = if several { memchr::memrchr(b'\n', read) } else { memchr::memchr(b'\n', read) };
        let taken = end.map_or(read.len(), |at| at + 1);
        bytes.extend_from_slice(&read[..taken]);
        reader.consume(taken);
        if end.is_some() {
            return Ok(true);
        }
    }
}

fn begins_as_json(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    text.is_empty() || text.starts_with(b"[") || text.starts_with(b"{")
}

/// Lines of an input.
pub(crate) enum Piece {
    /// Lines that are text.
    Lines(Input),
    /// A line that is none, and what is wrong with it.
    Bad(Vec<u8>, Failure),
}

/// An input that holds one conversation a line, as it is read.
pub(crate) struct Lines {
    /// The name of the input.
    pub(crate) name: String,
    /// How it is compressed.
    pub(crate) compression: Option<Compression>,
    reader: Reader,
    /// How far it unpacks.
    unpacked: Unpacked,
    /// What was read to tell what it is.
    head: Vec<u8>,
    /// Lines that were handed on.
    done: usize,
}

impl Lines {
    /// The next line, or with `several` as many as have been read already and are short; nothing at the end. They are
    /// read into `buffer`, whatever was in it.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub(crate) fn next(&mut self, several: bool, mut buffer: Vec<u8>) -> Result<Option<Piece>> {
        let damaged = |error: io::Error| unreadable(&self.name, &damage(&error, self.compression));
        buffer.clear();
        let mut bytes = if self.head.is_empty() { buffer } else { std::mem::take(&mut self.head) };
        if bytes.last() != Some(&b'\n') {
            read_lines(&mut self.reader, several, &mut bytes).map_err(damaged)?;
        }
        // A line is as much as is held of it at once.
        self.unpacked.begin_again();
        if bytes.is_empty() {
            return Ok(None);
        }
        let lines_before = self.done;
        let wrong = match String::from_utf8(bytes) {
            Ok(text) => return Ok(Some(self.lines(text))),
            Err(wrong) => wrong,
        };
        let valid = wrong.utf8_error().valid_up_to();
        let mut bytes = wrong.into_bytes();
        let failure = unreadable(&self.name, &not_utf8(&bytes, valid, lines_before));
        // What stands before the bad line goes first, and what stands behind it next.
        let start = memchr::memrchr(b'\n', &bytes[..valid]).map_or(0, |at| at + 1);
        if start > 0 {
            self.head = bytes.split_off(start);
            return Ok(Some(self.lines(String::from_utf8_lossy(&bytes).into_owned())));
        }
        self.head = memchr::memchr(b'\n', &bytes).map_or_else(Vec::new, |end| bytes.split_off(end + 1));
        self.done += 1;
        Ok(Some(Piece::Bad(bytes, failure)))
    }

    fn lines(&mut self, text: String) -> Piece {
        let lines_before = self.done;
        self.done += memchr::memchr_iter(b'\n', text.as_bytes()).count();
        let Lines { name, compression, .. } = &*self;
        Piece::Lines(Input { name: name.clone(), text, as_lines: true, lines_before, compression: *compression })
    }
}

/// Whether a file says by its name that it holds JSON.
pub(crate) fn is_json_by_name(name: &str) -> bool {
    let name = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    [".json", ".jsonl", ".ndjson"].iter().any(|end| name.ends_with(end))
}

fn unreadable(name: &str, what: &str) -> Failure {
    Failure::unreadable(format!("{} cannot be read: {what}", readable_source(name)))
}

fn damage(error: &io::Error, compression: Option<Compression>) -> String {
    match compression {
        Some(_) if error.kind() == ErrorKind::FileTooLarge => reason(error),
        Some(compression) => format!("its {} data is damaged: {}", compression.name(), reason(error)),
        None => reason(error),
    }
}

/// What is wrong with bytes of which only so many are UTF-8, after so many lines of the same file.
fn not_utf8(bytes: &[u8], valid: usize, lines_before: usize) -> String {
    let before = &bytes[..valid];
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return "it is UTF-16; convert it to UTF-8 first, as with iconv -f UTF-16 -t UTF-8".to_owned();
    }
    let line = lines_before + memchr::memchr_iter(b'\n', before).count() + 1;
    let column = before.len() - memchr::memrchr(b'\n', before).map_or(0, |at| at + 1) + 1;
    format!("it is not UTF-8 (line {line} column {column})")
}
