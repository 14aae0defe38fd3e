//! Pictures and other data of messages as files.

use crate::hash::sha256;

/// A file with data from a message, or with a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffloadedFile {
    /// The name of the file, made of the hash of its content or of the id of the call.
    pub name: String,
    pub bytes: Vec<u8>,
}

/// The digits of the hash of a medium in the name of its file.
pub const HASH_DIGITS: usize = 16;

impl OffloadedFile {
    /// The file of a medium, named by its hash.
    pub fn of_medium(bytes: Vec<u8>, media_type: &str) -> Self {
        let name = format!("{}.{}", &sha256(&bytes)[..HASH_DIGITS], extension(media_type));
        OffloadedFile { name, bytes }
    }
}

/// The file name extension of a media type, from Python's own table of types.
fn extension(media_type: &str) -> &'static str {
    const EXTENSIONS: [(&str, &str); 27] = [
        ("image/png", "png"),
        ("image/jpeg", "jpg"),
        ("image/gif", "gif"),
        ("image/webp", "webp"),
        ("image/svg+xml", "svg"),
        ("image/bmp", "bmp"),
        ("image/tiff", "tiff"),
        ("image/heic", "heic"),
        ("image/avif", "avif"),
        ("audio/mpeg", "mp3"),
        ("audio/x-wav", "wav"),
        ("audio/ogg", "oga"),
        ("audio/flac", "flac"),
        ("audio/aac", "aac"),
        ("audio/mp4", "m4a"),
        ("audio/opus", "opus"),
        ("video/mp4", "mp4"),
        ("video/webm", "webm"),
        ("video/mpeg", "mpeg"),
        ("video/quicktime", "mov"),
        ("application/pdf", "pdf"),
        ("application/json", "json"),
        ("application/zip", "zip"),
        ("text/plain", "txt"),
        ("text/html", "html"),
        ("text/csv", "csv"),
        ("text/xml", "xml"),
    ];
    let media_type = media_type.trim().to_ascii_lowercase();
    EXTENSIONS.iter().find(|(known, _)| *known == media_type).map_or("bin", |(_, extension)| extension)
}
