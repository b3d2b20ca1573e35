//! Standard input, which ends once, while commands with `--watch` read their inputs again and again.

use std::io::{self, Read as _};
use std::sync::{Mutex, PoisonError};

/// What has come, once it has ended.
static ENDED: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// What comes by standard input until its end. Whoever asks again gets the same.
pub fn stdin_bytes() -> io::Result<Vec<u8>> {
    let mut ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bytes) = &*ended {
        return Ok(bytes.clone());
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(ended.insert(bytes).clone())
}
