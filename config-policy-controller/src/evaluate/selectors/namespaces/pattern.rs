//! Shell patterns as Go's `filepath.Match` reads them: `*`, `?`, `[a-z]`, `[^x]`, and `\` before any of these.

/// A pattern that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// Any run of characters, none included.
    Many,
    /// One character.
    One(Class),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Class {
    Any,
    Exactly(char),
    Within {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
}

impl Pattern {
    /// The pattern that matches every name.
    pub(super) fn anything() -> Self {
        Self(vec![Part::Many])
    }

    /// `None` if the pattern is malformed.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = Vec::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            parts.push(match c {
                '*' => Part::Many,
                '?' => Part::One(Class::Any),
                '[' => Part::One(class(&mut chars)?),
                '\\' => Part::One(Class::Exactly(chars.next()?)),
                other => Part::One(Class::Exactly(other)),
            });
        }
        Some(Self(parts))
    }

    /// Whether the whole name fits. Neither `*` nor `?` stands for a slash, which names do not have.
    pub(super) fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        // Which beginnings of the name the parts so far can stand for.
        let mut reached: Vec<bool> = std::iter::once(true)
            .chain(name.iter().map(|_| false))
            .collect();
        for part in &self.0 {
            reached = match part {
                Part::Many => after_many(&reached, &name),
                Part::One(class) => after_one(&reached, &name, class),
            };
        }
        reached.last().copied().unwrap_or(false)
    }
}

fn after_many(reached: &[bool], name: &[char]) -> Vec<bool> {
    let mut open = false;
    let before = std::iter::once(None).chain(name.iter().map(Some));
    reached
        .iter()
        .zip(before)
        .map(|(here, before)| {
            open = *here || (open && before != Some(&'/'));
            open
        })
        .collect()
}

fn after_one(reached: &[bool], name: &[char], class: &Class) -> Vec<bool> {
    let fits = reached
        .iter()
        .zip(name)
        .map(|(here, c)| *here && class.contains(*c));
    std::iter::once(false).chain(fits).collect()
}

impl Class {
    fn contains(&self, c: char) -> bool {
        match self {
            Self::Any => c != '/',
            Self::Exactly(wanted) => c == *wanted,
            Self::Within { ranges, negated } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *negated
            }
        }
    }
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn class(chars: &mut Chars<'_>) -> Option<Class> {
    let negated = chars.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    loop {
        if !ranges.is_empty() && chars.next_if_eq(&']').is_some() {
            return Some(Class::Within { ranges, negated });
        }
        let low = range_end(chars)?;
        let high = match chars.next_if_eq(&'-') {
            Some(_) => range_end(chars)?,
            None => low,
        };
        ranges.push((low, high));
    }
}

fn range_end(chars: &mut Chars<'_>) -> Option<char> {
    match chars.next()? {
        '-' | ']' => None,
        '\\' => chars.next(),
        other => Some(other),
    }
}
