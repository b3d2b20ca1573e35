//! Semantic versions and constraints on them, after github.com/Masterminds/semver v3.5.

mod constraint;
mod native;

use std::cmp::Ordering;
use std::fmt;

pub use constraint::Constraints;
pub use native::VersionValue;

/// No version text may be longer, in bytes.
const LONGEST: usize = 256;

/// Why a version was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// Not of the form of a version.
    #[error("invalid semantic version")]
    Invalid,
    /// A numeric part of a pre-release with a leading zero.
    #[error("version segment starts with 0")]
    LeadingZero,
    /// Longer than 256 bytes.
    #[error("version string is too long (max {LONGEST} bytes)")]
    TooLong,
    /// A number that does not fit 64 bits.
    #[error(
        "error parsing version segment: strconv.ParseUint: parsing \"{0}\": value out of range"
    )]
    OutOfRange(String),
}

/// A semantic version as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The first number.
    pub major: u64,
    /// The second number.
    pub minor: u64,
    /// The third number.
    pub patch: u64,
    /// What follows `-`; empty for a release.
    pub prerelease: String,
    /// What follows `+`.
    pub metadata: String,
    /// The text that was parsed.
    pub original: String,
}

impl Version {
    /// Reads a version with an optional `v`, one to three numbers, a pre-release and metadata.
    pub fn parse(text: &[u8]) -> Result<Self, VersionError> {
        if text.len() > LONGEST {
            return Err(VersionError::TooLong);
        }
        let text = std::str::from_utf8(text).map_err(|_| VersionError::Invalid)?;
        let body = text.strip_prefix('v').unwrap_or(text);
        let (body, metadata) = match body.split_once('+') {
            Some((body, metadata)) => (body, Some(metadata)),
            None => (body, None),
        };
        let (numbers, prerelease) = match body.split_once('-') {
            Some((numbers, prerelease)) => (numbers, Some(prerelease)),
            None => (body, None),
        };
        let segments: Vec<&str> = numbers.split('.').collect();
        let well_formed = segments.len() <= 3
            && segments.iter().all(|segment| is_number(segment))
            && metadata.is_none_or(are_identifiers)
            && prerelease.is_none_or(are_identifiers);
        if !well_formed {
            return Err(VersionError::Invalid);
        }
        let version = Self {
            major: number(segments.first())?,
            minor: number(segments.get(1))?,
            patch: number(segments.get(2))?,
            prerelease: prerelease.unwrap_or_default().to_owned(),
            metadata: metadata.unwrap_or_default().to_owned(),
            original: text.to_owned(),
        };
        version.check_prerelease()?;
        Ok(version)
    }

    /// Fails if a numeric part of the pre-release has a leading zero.
    pub fn check_prerelease(&self) -> Result<(), VersionError> {
        let leading_zero = |part: &str| part.len() > 1 && part.starts_with('0') && is_number(part);
        if self.prerelease.split('.').any(leading_zero) {
            return Err(VersionError::LeadingZero);
        }
        Ok(())
    }

    /// Whether this is a pre-release.
    pub fn is_prerelease(&self) -> bool {
        !self.prerelease.is_empty()
    }

    /// The order of precedence; metadata does not count.
    pub fn compare(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| {
            match (self.is_prerelease(), other.is_prerelease()) {
                (false, false) => Ordering::Equal,
                (false, true) => Ordering::Greater,
                (true, false) => Ordering::Less,
                (true, true) => compare_prereleases(&self.prerelease, &other.prerelease),
            }
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.prerelease.is_empty() {
            write!(formatter, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(formatter, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text is dot-separated identifiers, as a pre-release and metadata are.
pub fn are_identifiers(text: &str) -> bool {
    text.split('.').all(|part| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

fn number(segment: Option<&&str>) -> Result<u64, VersionError> {
    match segment {
        None => Ok(0),
        Some(digits) => digits
            .parse()
            .map_err(|_| VersionError::OutOfRange((*digits).to_owned())),
    }
}

/// Part by part; a missing part comes first, numbers come before words.
fn compare_prereleases(a: &str, b: &str) -> Ordering {
    let (mut ours, mut theirs) = (a.split('.'), b.split('.'));
    loop {
        let order = match (ours.next(), theirs.next()) {
            (None, None) => return Ordering::Equal,
            (x, y) => compare_parts(x.unwrap_or_default(), y.unwrap_or_default()),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

fn compare_parts(a: &str, b: &str) -> Ordering {
    let number = |part: &str| part.parse::<u64>().ok().filter(|_| is_number(part));
    if a.is_empty() || b.is_empty() {
        return a.len().cmp(&b.len());
    }
    match (number(a), number(b)) {
        (Some(x), Some(y)) => x.cmp(&y),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}
