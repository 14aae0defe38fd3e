//! SHA-256 in hexadecimal digits, by which texts and files are known again.

use ring::digest::{Context, SHA256};

/// The hash of bytes.
pub fn sha256(bytes: &[u8]) -> String {
    let mut hasher = Hasher::default();
    hasher.add(bytes);
    hasher.end()
}

/// The hash of bytes that come bit by bit.
#[derive(Clone)]
pub struct Hasher(Context);

impl Default for Hasher {
    fn default() -> Self {
        Hasher(Context::new(&SHA256))
    }
}

impl Hasher {
    /// Adds bytes behind those before.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all of them.
    pub fn end(self) -> String {
        self.0.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
