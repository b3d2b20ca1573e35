//! What a program says of itself: for which processor it is, and whether it needs anything else to start.

use anyhow::{Context, Result, bail, ensure};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Machine {
    Amd64,
    Arm64,
}

impl Machine {
    /// As images name it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Linkage {
    Static,
    /// Another program has to load it.
    Dynamic,
}

/// The type of the program header that names the loader.
const INTERPRETER: u32 = 3;

/// Reads the headers of a 64-bit little-endian ELF program.
pub(super) fn read(program: &[u8]) -> Result<(Machine, Linkage)> {
    ensure!(
        program.starts_with(b"\x7fELF\x02\x01"),
        "it is no program for 64-bit Linux"
    );
    let machine = match number::<2>(program, 18)? {
        62 => Machine::Amd64,
        183 => Machine::Arm64,
        other => bail!("it is for the processor {other}, which images here are not made for"),
    };
    let table = number::<8>(program, 32)?;
    let (size, count) = (number::<2>(program, 54)?, number::<2>(program, 56)?);
    for index in 0..count {
        let at = size.checked_mul(index).and_then(|at| at.checked_add(table));
        let kind = number::<4>(program, at.context("a header is nowhere")?)?;
        if kind == u64::from(INTERPRETER) {
            return Ok((machine, Linkage::Dynamic));
        }
    }
    Ok((machine, Linkage::Static))
}

fn number<const SIZE: usize>(program: &[u8], at: u64) -> Result<u64> {
    let at = usize::try_from(at).context("a header is nowhere")?;
    let bytes = at.checked_add(SIZE).and_then(|end| program.get(at..end));
    let bytes = bytes.context("the program ends within its headers")?;
    let digits = bytes.iter().rev();
    Ok(digits.fold(0, |sum, byte| (sum << 8) | u64::from(*byte)))
}
