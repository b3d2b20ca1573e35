//! What a template has written so far, and which of it came from secrets.

use std::ops::Range;

use crate::budget::{Exceeded, Meter};

/// Collects output with the ranges that are sensitive.
#[derive(Debug, Default)]
pub struct Output {
    bytes: Vec<u8>,
    sensitive: Vec<Range<usize>>,
}

/// A finished output. It may hold secrets: nothing prints it.
pub struct Rendered {
    /// The text, which need not be UTF-8.
    pub bytes: Vec<u8>,
    /// The ranges of it that were computed from secrets, in order and apart.
    pub sensitive: Vec<Range<usize>>,
}

impl Output {
    /// An empty output that will probably grow to about this many bytes.
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            sensitive: Vec::new(),
        }
    }

    pub(super) fn write(
        &mut self,
        bytes: &[u8],
        sensitive: bool,
        meter: &mut Meter,
    ) -> Result<(), Exceeded> {
        meter.bytes(bytes.len() as u64)?;
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        if sensitive && !bytes.is_empty() {
            match self.sensitive.last_mut() {
                Some(last) if last.end == start => last.end = self.bytes.len(),
                _ => self.sensitive.push(start..self.bytes.len()),
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Rendered {
        Rendered {
            bytes: self.bytes,
            sensitive: self.sensitive,
        }
    }
}
