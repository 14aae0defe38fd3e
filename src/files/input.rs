//! Reads the text of a transcript: whole, or line by line if each line is a conversation.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, IsTerminal, Read};
use std::path::Path;

use anyhow::Result;

use crate::exit::{Failure, OtherFile};
use crate::standard_streams::check_stdin;
use crate::transcript::framing;
use crate::wording::{readable_source, reason};

use crate::files::compression::Compression;
use crate::files::file_kind::FileKind;
use crate::files::hashed::{Hashed, RunningHash};

/// A text and its origin.
#[derive(Debug, Default, Clone)]
pub struct Input {
    /// The name for reports: the path, or `-`.
    pub name: String,
    /// The text, byte for byte, unpacked if it was compressed.
    pub text: String,
    /// The bytes, if they are not UTF-8. The text has a NUL, which no JSON holds, for each byte that is not.
    pub raw: Option<Vec<u8>>,
    /// Whether each line is a conversation.
    pub as_lines: bool,
    /// The number of lines before it in the same file.
    pub lines_before: usize,
    /// The compression of the file.
    pub compression: Option<Compression>,
    /// The bytes of the file that the text does not have: no model is sent them.
    pub unsent: u64,
}

impl Input {
    /// Replaces the content.
    pub(crate) fn set_bytes(&mut self, bytes: Vec<u8>) {
        (self.text, self.raw) = match String::from_utf8(bytes) {
            Ok(text) => (text, None),
            Err(error) => {
                let bytes = error.into_bytes();
                (text_with_nuls(&bytes), Some(bytes))
            }
        };
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.raw.as_deref().unwrap_or(self.text.as_bytes())
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.raw.unwrap_or(self.text.into_bytes())
    }

    /// The line and column of the first byte that is not UTF-8, counted from 1; none where all are.
    pub(crate) fn not_utf8_at(&self) -> Option<(usize, usize)> {
        let valid = str::from_utf8(self.raw.as_deref()?).err()?.valid_up_to();
        Some(line_and_column(&self.text.as_bytes()[..valid]))
    }
}

/// The text of some bytes, with a NUL for each byte that is not UTF-8.
fn text_with_nuls(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(std::iter::repeat_n('\0', chunk.invalid().len()));
    }
    text
}

/// An input that has been opened.
pub(crate) enum Opened {
    /// One document, read as a whole.
    Whole(Input),
    /// One conversation or one record of an archive a line, to be read line by line.
    Lines(LineReader),
    /// No transcript by its first bytes.
    Other(OtherFile),
}

/// How to read an input.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadOptions {
    /// The value of `--lines`.
    pub(crate) lines: Option<framing::Lines>,
    /// Whether the file may be something other than a transcript, by its first bytes.
    pub(crate) may_be_other: bool,
    /// Whether to hash the bytes.
    pub(crate) hashed: bool,
    /// Whether a line is a record, where archives are told from transcripts.
    pub(crate) is_record: Option<fn(&[u8]) -> bool>,
}

/// Opens a file, or standard input if there is no path, compressed or not.
///
/// # Errors
/// It cannot be read, is damaged or is not UTF-8; or it is a terminal, where no user would type a transcript.
pub(crate) fn open(path: Option<&Path>, reading: ReadOptions) -> Result<(Opened, Option<RunningHash>)> {
    let hash = reading.hashed.then(RunningHash::default);
    Ok((opened(path, reading, hash.clone())?, hash))
}

fn opened(path: Option<&Path>, reading: ReadOptions, hash: Option<RunningHash>) -> Result<Opened> {
    let name = name_of(path);
    let (mut reader, compression) = unpacking(path, &name, hash)?;
    let plain_file = if compression.is_none() { path } else { None };
    let damaged = |error: io::Error| unreadable(&name, &damage(&error, compression));
    let first = reader.fill_buf().map_err(damaged)?;
    if let Some(kind) = FileKind::of(&name, first) {
        if !reading.may_be_other {
            return Err(unreadable(&name, &format!("it is {}", kind.sentence(&name))).into());
        }
        let why = format!("is {}", kind.sentence(&name));
        let kind = if kind.holds_transcripts { Some(format!("is {}", kind.sentence("-"))) } else { None };
        return Ok(Opened::Other(OtherFile { why, kind }));
    }
    if reading.may_be_other && !begins_as_json(first) && !has_records(&name, first) {
        return Ok(Opened::Other(OtherFile { why: "does not begin like JSON".to_owned(), kind: None }));
    }
    let mut head = Vec::new();
    let mut lines = 0;
    let mut more = true;
    let mut decided = reading.lines;
    let mut begins_with_list = false;
    // The first lines of an archive can be damaged, so a record on one of the next lines tells, too.
    while more && (decided.is_none() || reading.is_record.is_some() && lines < MOST_DAMAGED) {
        let start = head.len();
        if reader.buffer().len() == AT_ONCE && memchr::memchr(b'\n', reader.buffer()).is_none() {
            // Most probably, a document on one line.
            reserve_length(&mut head, plain_file);
        }
        more = read_lines(&mut reader, false, &mut head).map_err(damaged)?;
        if head.len() == start {
            break;
        }
        lines += 1;
        take_blank_lines(&mut reader, &mut head, start);
        let line = &head[start..];
        if reading.is_record.is_some_and(|is_record| is_record(line)) {
            decided = Some(framing::Lines::Conversations);
            break;
        }
        if decided.is_some() || line.trim_ascii().is_empty() {
            continue;
        }
        if lines == 1 {
            let next = if more { reader.fill_buf().map_err(damaged)? } else { &[] };
            more = !next.is_empty();
            // A single line is a document.
            if next.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
        }
        decided = match str::from_utf8(line) {
            Ok(line) if begins_with_list => framing::detect_lines_behind_list(line),
            Ok(line) => framing::detect_lines(line),
            Err(_) if begins_with_list => Some(framing::Lines::Conversations),
            Err(_) => Some(framing::Lines::Messages),
        };
        let is_list = line.trim_ascii().starts_with(b"[");
        if decided == Some(framing::Lines::Conversations) && is_list && !begins_with_list {
            // The next line tells.
            begins_with_list = true;
            decided = None;
        }
    }
    if decided == Some(framing::Lines::Conversations) {
        head.shrink_to_fit();
        return Ok(Opened::Lines(LineReader { head, ..LineReader::new(name, compression, reader) }));
    }
    if more {
        reserve_length(&mut head, plain_file);
        reader.read_to_end(&mut head).map_err(damaged)?;
    }
    let mut input = Input { name, compression, ..Input::default() };
    input.set_bytes(head);
    Ok(Opened::Whole(input))
}

/// The name of an input for reports.
fn name_of(path: Option<&Path>) -> String {
    match path {
        Some(path) => path.display().to_string(),
        None => "-".to_owned(),
    }
}

/// Makes room for all of a file that `head` begins: growing step by step would need twice the memory.
fn reserve_length(head: &mut Vec<u8>, path: Option<&Path>) {
    let mut length = 0;
    if let Some(path) = path
        && let Ok(file) = fs::metadata(path)
    {
        length = file.len();
    }
    let missing = usize::try_from(length).unwrap_or_default().saturating_sub(head.len());
    // One more byte is read to see the end. Without so much memory, the file can still be one of lines.
    let _ = head.try_reserve_exact(missing.saturating_add(1));
}

/// Reads a file, or standard input if there is no path, as one text of any content.
///
/// # Errors
/// It cannot be read, is damaged or is not UTF-8; or it is a terminal.
pub fn read(path: Option<&Path>) -> Result<Input> {
    let reading =
        ReadOptions { lines: Some(framing::Lines::Messages), may_be_other: false, hashed: false, is_record: None };
    match open(path, reading)? {
        (Opened::Whole(input), _) => Ok(input),
        // The reading above asks for neither.
        (Opened::Lines(_) | Opened::Other(_), _) => Ok(Input::default()),
    }
}

/// A reader of the unpacked bytes of a file, or of standard input if there is no path.
///
/// # Errors
/// It cannot be opened.
pub(crate) fn unpacked(path: Option<&Path>) -> Result<Reader> {
    Ok(unpacking(path, &name_of(path), None)?.0)
}

/// A reader of the unpacked bytes of a file, and how they are packed.
pub(super) fn unpacking(
    path: Option<&Path>,
    name: &str,
    hash: Option<RunningHash>,
) -> Result<(Reader, Option<Compression>)> {
    let failed = |error: io::Error| unreadable(name, &reason(&error));
    let raw: Box<dyn Read + Send> = match path {
        Some(path) => {
            let file = File::open(path).map_err(failed)?;
            match hash {
                Some(hash) => Box::new(Hashed { file, hash }),
                None => Box::new(file),
            }
        }
        None if io::stdin().is_terminal() => {
            let message = "no transcript: name a file, or send one to standard input (tcompact --help shows how)";
            return Err(Failure::usage(message).into());
        }
        None => {
            check_stdin().map_err(failed)?;
            Box::new(io::stdin())
        }
    };
    let mut raw = BufReader::with_capacity(AT_ONCE, raw);
    let compression = Compression::of_bytes(raw.fill_buf().map_err(failed)?);
    let Some(compression) = compression else { return Ok((raw, None)) };
    let reader = compression.reader(raw).map_err(failed)?;
    Ok((BufReader::with_capacity(AT_ONCE, reader), Some(compression)))
}

pub(crate) type Reader = BufReader<Box<dyn Read + Send>>;

/// The lines in front of the first record within which a file is told to be an archive.
const MOST_DAMAGED: usize = 16;

/// The bytes that are read at once, and the length up to which short lines are passed on together.
const AT_ONCE: usize = 1 << 16;

/// Reads up to the end of a line or, with `several`, of the last line in the buffer. Returns whether the line end was
/// there.
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

/// Takes along the blank lines behind a blank line that begins at `start`, as far as they are in the buffer: one by one,
/// millions of them take long.
fn take_blank_lines(reader: &mut Reader, bytes: &mut Vec<u8>, start: usize) {
    let line = &bytes[start..];
    if !line.ends_with(b"\n") || !line.trim_ascii().is_empty() {
        return;
    }
    let read = reader.buffer();
    let blank = &read[..read.len() - read.trim_ascii_start().len()];
    let taken = memchr::memrchr(b'\n', blank).map_or(0, |end| end + 1);
    bytes.extend_from_slice(&read[..taken]);
    reader.consume(taken);
}

fn begins_as_json(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    text.is_empty() || text.starts_with(b"[") || text.starts_with(b"{")
}

/// Whether a file of lines has an object on a line behind the first, which may be broken.
fn has_records(name: &str, bytes: &[u8]) -> bool {
    let name = without_packing(name);
    if !name.ends_with(".jsonl") && !name.ends_with(".ndjson") {
        return false;
    }
    bytes.split(|byte| *byte == b'\n').skip(1).any(|line| line.starts_with(b"{"))
}

/// Lines of an input.
pub(crate) enum InputPiece {
    /// Lines that are UTF-8.
    Lines(Input),
    /// A line that is not, its number in the file from 1 on, and the error.
    NotUtf8 { line: Vec<u8>, number: usize, failure: Failure },
}

/// An input with one conversation a line, while it is read.
pub(crate) struct LineReader {
    /// The name of the input.
    pub(crate) name: String,
    /// The compression of the file.
    pub(crate) compression: Option<Compression>,
    reader: Reader,
    /// The bytes that were read to detect the kind of input.
    head: Vec<u8>,
    /// The number of lines that were passed on.
    done: usize,
    /// What the last error was, if its compressed data is cut off or damaged: the lines before that hold.
    pub(crate) damage: Option<String>,
    /// The beginning of the line that this damage cuts off.
    pub(crate) cut_line: Vec<u8>,
}

impl LineReader {
    fn new(name: String, compression: Option<Compression>, reader: Reader) -> Self {
        LineReader { name, compression, reader, head: Vec::new(), done: 0, damage: None, cut_line: Vec::new() }
    }

    /// Opens a file whose lines are read whatever they hold.
    ///
    /// # Errors
    /// As for [`open`].
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let (reader, compression) = unpacking(Some(path), &name, None)?;
        Ok(LineReader::new(name, compression, reader))
    }

    /// The next line, or with `several` as many short lines as the buffer holds; nothing at the end. Blank lines come
    /// together. Reads into `buffer`, whose content is dropped.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub(crate) fn next(&mut self, several: bool, mut buffer: Vec<u8>) -> Result<Option<InputPiece>> {
        buffer.clear();
        let mut bytes = if self.head.is_empty() { buffer } else { std::mem::take(&mut self.head) };
        if bytes.last() != Some(&b'\n') {
            if let Err(error) = read_lines(&mut self.reader, several, &mut bytes) {
                let why = damage(&error, self.compression);
                let failure = unreadable(&self.name, &why);
                let is_damaged = self.compression.is_some() && error.kind() != ErrorKind::FileTooLarge;
                self.damage = if is_damaged { Some(why) } else { None };
                self.cut_line = bytes;
                return Err(failure.into());
            }
            take_blank_lines(&mut self.reader, &mut bytes, 0);
        }
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
        // The lines before the bad one come first, and those after it next.
        let start = memchr::memrchr(b'\n', &bytes[..valid]).map_or(0, |at| at + 1);
        if start > 0 {
            self.head = bytes.split_off(start);
            return Ok(Some(self.lines(String::from_utf8_lossy(&bytes).into_owned())));
        }
        self.head = match memchr::memchr(b'\n', &bytes) {
            Some(end) => bytes.split_off(end + 1),
            None => Vec::new(),
        };
        self.done += 1;
        Ok(Some(InputPiece::NotUtf8 { line: bytes, number: self.done, failure }))
    }

    fn lines(&mut self, text: String) -> InputPiece {
        let lines_before = self.done;
        self.done += memchr::memchr_iter(b'\n', text.as_bytes()).count();
        let LineReader { name, compression, .. } = &*self;
        let (name, compression) = (name.clone(), *compression);
        InputPiece::Lines(Input { name, text, as_lines: true, lines_before, compression, ..Input::default() })
    }
}

/// Whether a file name is one of a JSON file.
pub(crate) fn is_json_by_name(name: &str) -> bool {
    let name = without_packing(name);
    [".json", ".jsonl", ".ndjson"].iter().any(|end| name.ends_with(end))
}

fn without_packing(name: &str) -> &str {
    [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

pub(super) fn unreadable(name: &str, what: &str) -> Failure {
    Failure::unreadable(format!("{} cannot be read: {what}", readable_source(name)))
}

pub(super) fn damage(error: &io::Error, compression: Option<Compression>) -> String {
    match compression {
        Some(_) if error.kind() == ErrorKind::FileTooLarge => reason(error),
        Some(compression) if error.kind() == ErrorKind::UnexpectedEof => {
            format!("its {} data is cut off", compression.name())
        }
        Some(compression) => format!("its {} data is damaged: {}", compression.name(), reason(error)),
        None => reason(error),
    }
}

/// Describes bytes of which only `valid` are UTF-8, after `lines_before` lines of the same file.
fn not_utf8(bytes: &[u8], valid: usize, lines_before: usize) -> String {
    let (line, column) = line_and_column(&bytes[..valid]);
    format!("{NOT_UTF8} at line {} column {column}", lines_before + line)
}

/// What is wrong with bytes that are not UTF-8.
pub(crate) const NOT_UTF8: &str = "it has bytes that are not UTF-8";

/// The line and column behind some bytes, counted from 1.
fn line_and_column(before: &[u8]) -> (usize, usize) {
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    (memchr::memchr_iter(b'\n', before).count() + 1, before.len() - line_start + 1)
}
