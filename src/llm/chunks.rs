//! Reads on a thread of its own, so that the receiver can stop waiting. What was not received stays in memory: a reader
//! has a limit.

use std::io::{self, ErrorKind, Read};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// Returns what a reader gives, piece by piece. The channel is disconnected at the end, and after an error.
///
/// # Errors
/// No thread can be started.
pub(super) fn chunks(mut reader: impl Read + Send + 'static) -> io::Result<Receiver<io::Result<Vec<u8>>>> {
    let (sender, chunks) = channel();
    thread::Builder::new().spawn(move || {
        let mut buffer = [0; 16 << 10];
        loop {
            let chunk = match reader.read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => Ok(buffer[..count].to_vec()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let failed = chunk.is_err();
            // The receiver can be gone.
            if sender.send(chunk).is_err() || failed {
                return;
            }
        }
    })?;
    Ok(chunks)
}
