//! Reading a transcript's text.

use std::borrow::Cow;
use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use anyhow::Result;

use crate::exit::Failure;

use super::compression::Compression;

/// A text and where it comes from.
#[derive(Debug)]
pub struct Input {
    /// The name that reports give: the path, or `-`.
    pub name: String,
    /// The text, to the byte, unpacked if it was compressed.
    pub text: String,
}

/// A source's name, with its line if it has one, as it stands in a sentence.
pub fn spoken(name: &str) -> Cow<'_, str> {
    match name.strip_prefix('-') {
        Some("") => Cow::Borrowed("standard input"),
        Some(line) if line.starts_with(':') => Cow::Owned(format!("standard input{line}")),
        _ => Cow::Borrowed(name),
    }
}

/// A text as it can be shown on a terminal, with nothing in it that one would obey.
pub fn visible(text: &str) -> String {
    let obeyed = |c: &char| c.is_control() && !matches!(c, '\n' | '\t');
    text.chars().filter(|c| !obeyed(c)).collect()
}

/// Reads a file, or standard input where there is no path, compressed or not.
///
/// # Errors
/// It cannot be read, is damaged or is not UTF-8; or nobody would type into it: standard input is a terminal.
pub fn read(path: Option<&Path>) -> Result<Input> {
    let name = path.map_or("-".to_owned(), |path| path.display().to_string());
    let unreadable = |what: String| Failure::unreadable(format!("{} cannot be read: {what}", spoken(&name)));
    let bytes = match path {
        Some(path) if path.is_dir() => return Err(unreadable("it is a directory; name a file in it".to_owned()).into()),
        Some(path) => fs::read(path).map_err(|error| unreadable(plain(&error)))?,
        None => {
            let mut stdin = io::stdin().lock();
            if stdin.is_terminal() {
                let message = "no transcript: name a file, or send one to standard input (tcompact --help shows how)";
                return Err(Failure::usage(message).into());
            }
            let mut bytes = Vec::new();
            stdin.read_to_end(&mut bytes).map_err(|error| unreadable(plain(&error)))?;
            bytes
        }
    };
    let bytes = match Compression::of_bytes(&bytes) {
        None => bytes,
        Some(compression) => {
            let damaged = |error| unreadable(format!("its {} data is damaged: {}", compression.name(), plain(&error)));
            compression.unpack(&bytes).map_err(damaged)?
        }
    };
    let text = String::from_utf8(bytes).map_err(|error| unreadable(not_utf8(&error)))?;
    Ok(Input { name, text })
}

fn not_utf8(error: &std::string::FromUtf8Error) -> String {
    let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
    if error.as_bytes().starts_with(b"\xff\xfe") || error.as_bytes().starts_with(b"\xfe\xff") {
        return "it is UTF-16; convert it to UTF-8 first, as with iconv -f UTF-16 -t UTF-8".to_owned();
    }
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let column = before.len() - memchr::memrchr(b'\n', before).map_or(0, |at| at + 1) + 1;
    format!("it is not UTF-8 (line {line} column {column})")
}

/// An error of the system without its number.
pub(crate) fn plain(error: &io::Error) -> String {
    let full = error.to_string();
    let message = full.rsplit_once(" (os error").map_or(full.as_str(), |(message, _)| message);
    let mut chars = message.chars();
    chars.next().map_or(String::new(), |first| first.to_lowercase().chain(chars).collect())
}
