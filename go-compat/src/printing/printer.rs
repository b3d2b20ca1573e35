//! The text of one call, with the flags, the padding and the limit of its directives.

use crate::runes;
use crate::value::Directive;

/// The flags of a directive.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // they are five flags and two forms of `v`
pub(super) struct Flags {
    pub(super) plus: bool,
    pub(super) minus: bool,
    pub(super) sharp: bool,
    pub(super) space: bool,
    pub(super) zero: bool,
    /// `%+v`
    pub(super) plus_v: bool,
    /// `%#v`
    pub(super) sharp_v: bool,
}

/// Collects formatted text.
pub(super) struct Printer {
    out: Vec<u8>,
    pub(super) flags: Flags,
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
    /// Inside a bad-verb marker, where `String` and `GoString` are not called.
    pub(super) erring: bool,
    limit: usize,
    over_limit: bool,
}

impl Printer {
    pub(super) fn new() -> Self {
        Self::with_limit(usize::MAX)
    }

    pub(super) fn with_limit(limit: usize) -> Self {
        Self {
            out: Vec::new(),
            flags: Flags::default(),
            width: None,
            precision: None,
            erring: false,
            limit,
            over_limit: false,
        }
    }

    /// The directive that is printed.
    pub(super) fn directive(&self, verb: char) -> Directive {
        let flags = self.flags;
        Directive {
            verb,
            plus: flags.plus || flags.plus_v,
            minus: flags.minus,
            sharp: flags.sharp || flags.sharp_v,
            space: flags.space,
            zero: flags.zero && !flags.minus,
            width: self.width,
            precision: self.precision,
        }
    }

    pub(super) fn finish_within_limit(self) -> Option<Vec<u8>> {
        (!self.over_limit).then_some(self.out)
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.out
    }

    /// Appends, unless there would be more than there may be.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if bytes.len() > self.limit.saturating_sub(self.out.len()) {
            self.over_limit = true;
        }
        if !self.over_limit {
            self.out.extend_from_slice(bytes);
        }
    }

    /// Whether there is more than there may be, so that nothing need be printed any more.
    pub(super) fn is_over_limit(&self) -> bool {
        self.over_limit
    }

    pub(super) fn clear(&mut self) {
        self.flags = Flags::default();
        self.width = None;
        self.precision = None;
    }

    pub(super) fn padding(&mut self, count: usize) {
        // Zeros are never put to the right.
        let fill = if self.flags.zero && !self.flags.minus {
            b'0'
        } else {
            b' '
        };
        if count > self.limit.saturating_sub(self.out.len()) {
            self.over_limit = true;
        }
        if !self.over_limit {
            self.out.resize(self.out.len() + count, fill);
        }
    }

    /// Appends, padded to the width.
    pub(super) fn pad(&mut self, bytes: &[u8]) {
        let missing = self
            .width
            .map_or(0, |width| width.saturating_sub(rune_count(bytes)));
        if !self.flags.minus {
            self.padding(missing);
        }
        self.push(bytes);
        if self.flags.minus {
            self.padding(missing);
        }
    }
}

fn rune_count(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    let mut count = 0;
    while !rest.is_empty() {
        let (_, width) = runes::decode(rest);
        rest = rest.get(width..).unwrap_or_default();
        count += 1;
    }
    count
}
