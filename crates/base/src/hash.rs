//! SHA-256 in hexadecimal digits, which identifies texts and files.

use ring::digest::{Context, SHA256};

/// The hash of bytes.
pub fn sha256(bytes: &[u8]) -> String {
    let mut hasher = Hasher::default();
    hasher.add(bytes);
    hasher.end()
}

/// A running hash.
#[derive(Clone)]
pub struct Hasher(Context);

impl Default for Hasher {
    fn default() -> Self {
        Hasher(Context::new(&SHA256))
    }
}

impl Hasher {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all bytes.
    pub fn end(self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digest = self.0.finish();
        let mut hash = String::with_capacity(2 * digest.as_ref().len());
        for byte in digest.as_ref() {
            hash.push(char::from(DIGITS[usize::from(byte >> 4)]));
            hash.push(char::from(DIGITS[usize::from(byte & 0xf)]));
        }
        hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From `printf tcompact | sha256sum`.
    #[test]
    fn digits_are_those_of_sha256sum() {
        assert_eq!(sha256(b"tcompact"), "aa62a8ca9be9cf1bab0433e3b9a134efdc4e6bba8aa9519860b438f7621cac76");
        let mut hasher = Hasher::default();
        [b"tcom".as_slice(), b"", b"pact"].into_iter().for_each(|bytes| hasher.add(bytes));
        assert_eq!(hasher.end(), sha256(b"tcompact"));
    }
}
