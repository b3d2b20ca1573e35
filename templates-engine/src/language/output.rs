//! What a template has written so far, and which of it came from secrets.

use std::ops::Range;

use super::scope::Sensitivity;
use super::tree::NodeId;
use crate::budget::{Exceeded, Meter};

/// Collects output with the ranges that are sensitive.
#[derive(Debug, Default)]
pub struct Output {
    bytes: Vec<u8>,
    sensitive: Vec<Range<usize>>,
    derived: Vec<(Range<usize>, Option<NodeId>)>,
}

/// What wrote something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// Its sensitivity.
    pub(super) sensitivity: Sensitivity,
    /// The node that was being executed.
    pub(super) node: Option<NodeId>,
}

/// A finished output. It may hold secrets: nothing prints it.
pub struct Rendered {
    /// The text, which need not be UTF-8.
    pub bytes: Vec<u8>,
    /// The ranges of it that were computed from secrets or chosen by them, in order and apart.
    pub sensitive: Vec<Range<usize>>,
    /// Those that were computed from secrets, in order and apart, each with the expression that was.
    pub derived: Vec<(Range<usize>, String)>,
}

impl Output {
    /// An empty output that will probably grow to about this many bytes.
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            ..Self::default()
        }
    }

    pub(super) fn write(
        &mut self,
        bytes: &[u8],
        origin: Origin,
        meter: &mut Meter,
    ) -> Result<(), Exceeded> {
        meter.bytes(bytes.len() as u64)?;
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        if origin.sensitivity == Sensitivity::Open || bytes.is_empty() {
            return Ok(());
        }
        let end = self.bytes.len();
        match self.sensitive.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => self.sensitive.push(start..end),
        }
        if origin.sensitivity == Sensitivity::Derived {
            self.derived.push((start..end, origin.node));
        }
        Ok(())
    }

    /// The output; `expression` is the text of a node.
    pub(super) fn finish(self, expression: impl Fn(NodeId) -> String) -> Rendered {
        let named =
            |(range, node): (_, Option<NodeId>)| (range, node.map(&expression).unwrap_or_default());
        Rendered {
            bytes: self.bytes,
            sensitive: self.sensitive,
            derived: self.derived.into_iter().map(named).collect(),
        }
    }
}
