//! Constraints: comparisons, wildcards, tilde, caret and hyphen ranges.

use std::cmp::Ordering;
use std::sync::LazyLock;

use regex::bytes::{Captures, Regex};

use super::{Version, compare_prereleases};
use crate::runes;

/// No constraint text may be longer, in bytes.
const LONGEST: usize = 512;

/// No constraint may have more alternatives.
const MOST_ALTERNATIVES: usize = 32;

/// Why a constraint was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConstraintError {
    /// Longer than 512 bytes.
    #[error("constraint string is too long (max {LONGEST} bytes)")]
    TooLong,
    /// More than 32 alternatives.
    #[error("too many constraint groups (max {MOST_ALTERNATIVES})")]
    TooManyGroups,
    /// Not of the form of a constraint.
    #[error("improper constraint: {0}")]
    Improper(String),
    /// Numbers that are none, or too large.
    #[error("constraint parser error")]
    BadVersion,
}

/// What a version has to satisfy: one of several groups, all of a group.
#[derive(Clone, Debug)]
pub struct Constraints(Vec<Group>);

#[derive(Clone, Debug)]
struct Group {
    constraints: Vec<Constraint>,
    /// Pre-releases count only where the group names one.
    with_prereleases: bool,
}

#[derive(Clone, Debug)]
struct Constraint {
    operator: Operator,
    version: Version,
    missing: Missing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    Tilde,
    Caret,
}

/// From which number on the version was left open or a wildcard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    Nothing,
    Patch,
    Minor,
    Major,
}

const SPACE: &str = r"[\t\n\f\r ]";
const OPERATORS: &str = r"=||!=|>|<|>=|=>|<=|=<|~|~>|\^";
const VERSION: &str = concat!(
    r"v?([0-9|xX*]+)(\.[0-9|xX*]+)?(\.[0-9|xX*]+)?",
    r"(-([0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*))?",
    r"(\+([0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*))?"
);

struct Patterns {
    single: Regex,
    range: Regex,
    find: Regex,
    group: Regex,
}

static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(|| {
    let compile = |pattern: String| Regex::new(&format!("(?-u){pattern}")).ok();
    let one = format!("({OPERATORS}){SPACE}*({VERSION})");
    Some(Patterns {
        single: compile(format!(r"\A{SPACE}*{one}{SPACE}*\z"))?,
        range: compile(format!(
            "{SPACE}*({VERSION}){SPACE}+-{SPACE}+({VERSION}){SPACE}*"
        ))?,
        find: compile(one.clone())?,
        group: compile(format!(
            r"\A({SPACE}*{one}{SPACE}*)((?:{SPACE}+|,{SPACE}*){one}{SPACE}*)*\z"
        ))?,
    })
});

fn improper(text: &[u8]) -> ConstraintError {
    ConstraintError::Improper(runes::quote(text))
}

fn group_text<'a>(captures: &Captures<'a>, group: usize) -> &'a [u8] {
    captures
        .get(group)
        .map(|found| found.as_bytes())
        .unwrap_or_default()
}

impl Constraints {
    /// Reads a constraint such as `>=1.2 <2 || 3.x`.
    pub fn parse(text: &[u8]) -> Result<Self, ConstraintError> {
        if text.len() > LONGEST {
            return Err(ConstraintError::TooLong);
        }
        let Some(patterns) = &*PATTERNS else {
            return Err(improper(text));
        };
        let text = without_ranges(patterns, text);
        let alternatives = split_alternatives(&text);
        if alternatives.len() > MOST_ALTERNATIVES {
            return Err(ConstraintError::TooManyGroups);
        }
        alternatives
            .into_iter()
            .map(|alternative| Group::parse(patterns, alternative))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Whether the version satisfies this.
    pub fn check(&self, version: &Version) -> bool {
        self.0.iter().any(|group| {
            group
                .constraints
                .iter()
                .all(|constraint| constraint.check(version, group.with_prereleases))
        })
    }
}

fn split_alternatives(text: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(position) = memchr::memmem::find(rest, b"||") {
        found.push(rest.get(..position).unwrap_or_default());
        rest = rest.get(position + 2..).unwrap_or_default();
    }
    found.push(rest);
    found
}

/// `1.2 - 3.4` becomes two comparisons.
fn without_ranges(patterns: &Patterns, text: &[u8]) -> Vec<u8> {
    let mut result = text.to_vec();
    for captures in patterns.range.captures_iter(text) {
        let (range, low, high) = (
            group_text(&captures, 0),
            group_text(&captures, 1),
            group_text(&captures, 11),
        );
        // The first place of this text, which need not be where it was found.
        if let Some(position) = memchr::memmem::find(&result, range) {
            let comparisons = [b">= ", low, b", <= ", high, b" "].concat();
            result.splice(position..position + range.len(), comparisons);
        }
    }
    result
}

impl Group {
    fn parse(patterns: &Patterns, text: &[u8]) -> Result<Self, ConstraintError> {
        if !patterns.group.is_match(text) {
            return Err(improper(text));
        }
        let constraints: Vec<Constraint> = patterns
            .find
            .find_iter(text)
            .map(|found| Constraint::parse(patterns, found.as_bytes()))
            .collect::<Result<_, _>>()?;
        let with_prereleases = constraints
            .iter()
            .any(|constraint| constraint.version.is_prerelease());
        Ok(Self {
            constraints,
            with_prereleases,
        })
    }
}

impl Constraint {
    fn parse(patterns: &Patterns, text: &[u8]) -> Result<Self, ConstraintError> {
        let Some(captures) = patterns.single.captures(text) else {
            return Err(improper(text));
        };
        let part = |group| group_text(&captures, group);
        let open = |group| {
            let number = part(group);
            matches!(
                number.strip_prefix(b".").unwrap_or(number),
                b"" | b"x" | b"X" | b"*"
            )
        };
        let (missing, version) = if open(3) {
            (Missing::Major, [b"0.0.0", part(6)].concat())
        } else if open(4) {
            (Missing::Minor, [part(3), b".0.0", part(6)].concat())
        } else if open(5) {
            (Missing::Patch, [part(3), part(4), b".0", part(6)].concat())
        } else {
            (Missing::Nothing, part(2).to_vec())
        };
        Ok(Self {
            operator: Operator::parse(part(1)),
            version: Version::parse(&version).map_err(|_| ConstraintError::BadVersion)?,
            missing,
        })
    }

    fn check(&self, version: &Version, with_prereleases: bool) -> bool {
        if version.is_prerelease() && !with_prereleases {
            return false;
        }
        let order = version.compare(&self.version);
        match self.operator {
            Operator::Equal if self.missing == Missing::Nothing => order == Ordering::Equal,
            Operator::Equal | Operator::Tilde => self.check_tilde(version, order),
            Operator::NotEqual => self.check_not_equal(version, order),
            Operator::Greater => self.check_greater(version, order),
            Operator::Less => order == Ordering::Less,
            Operator::GreaterOrEqual => order != Ordering::Less,
            Operator::LessOrEqual => self.check_less_or_equal(version, order),
            Operator::Caret => self.check_caret(version, order),
        }
    }

    fn check_not_equal(&self, version: &Version, order: Ordering) -> bool {
        let ours = &self.version;
        match self.missing {
            Missing::Nothing => order != Ordering::Equal,
            // A wildcard alone counts as 0.0.0 here, but only if the version starts with 0.
            _ if ours.major != version.major => true,
            Missing::Minor => false,
            _ if ours.minor != version.minor => true,
            Missing::Patch => {
                (version.is_prerelease() || ours.is_prerelease())
                    && compare_prereleases(&version.prerelease, &ours.prerelease) != Ordering::Equal
            }
            Missing::Major => ours.patch != version.patch || order != Ordering::Equal,
        }
    }

    fn check_greater(&self, version: &Version, order: Ordering) -> bool {
        let ours = &self.version;
        if self.missing == Missing::Nothing || ours.major == version.major {
            return match self.missing {
                Missing::Minor => false,
                Missing::Patch => version.minor > ours.minor,
                _ => order == Ordering::Greater,
            };
        }
        version.major > ours.major
    }

    fn check_less_or_equal(&self, version: &Version, order: Ordering) -> bool {
        let ours = &self.version;
        if self.missing == Missing::Nothing {
            return order != Ordering::Greater;
        }
        let beyond_minor = version.major == ours.major
            && version.minor > ours.minor
            && self.missing != Missing::Minor;
        version.major <= ours.major && !beyond_minor
    }

    fn check_tilde(&self, version: &Version, order: Ordering) -> bool {
        let ours = &self.version;
        if order == Ordering::Less {
            return false;
        }
        let open = matches!(self.missing, Missing::Minor | Missing::Patch);
        if (ours.major, ours.minor, ours.patch) == (0, 0, 0) && !open {
            return true;
        }
        version.major == ours.major
            && (version.minor == ours.minor || self.missing == Missing::Minor)
    }

    fn check_caret(&self, version: &Version, order: Ordering) -> bool {
        let ours = &self.version;
        if order == Ordering::Less {
            return false;
        }
        if ours.major > 0 || self.missing == Missing::Minor {
            return version.major == ours.major;
        }
        if version.major > 0 {
            return false;
        }
        if ours.minor > 0 || self.missing == Missing::Patch {
            return version.minor == ours.minor;
        }
        version.minor == 0 && version.patch == ours.patch
    }
}

impl Operator {
    fn parse(text: &[u8]) -> Self {
        match text {
            b"!=" => Self::NotEqual,
            b">" => Self::Greater,
            b"<" => Self::Less,
            b">=" | b"=>" => Self::GreaterOrEqual,
            b"<=" | b"=<" => Self::LessOrEqual,
            b"~" | b"~>" => Self::Tilde,
            b"^" => Self::Caret,
            _ => Self::Equal,
        }
    }
}
