//! The Protobuf fields of the built-in kinds: see `tests/record/protobuf`.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The type of a field.
#[derive(Debug, PartialEq)]
pub(super) enum Type {
    Text,
    Integer,
    Bool,
    Double,
    Bytes,
    Time,
    Duration,
    Quantity,
    IntegerOrText,
    Raw,
    /// A list of texts in a message of its own.
    Texts,
    Message(&'static str),
    /// Left out of JSON if it is empty, zero or false.
    Omitted(Box<Type>),
    /// Either a message or something else: one of the unions of JSON schemas.
    Either(Other, &'static str),
    List(Box<Type>),
    Map(Box<Type>),
}

/// What a schema of JSON can be instead of a schema. All are messages of two fields.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Other {
    /// In field 1; the schema is in 2.
    Bool,
    /// In field 2, repeated; the schema is in 1.
    List,
    /// In field 2, repeated; the schema is in 1.
    Texts,
}

#[derive(Default)]
struct Table {
    /// By version and kind, with a blank between them.
    kinds: HashMap<&'static str, &'static str>,
    fields: HashMap<(&'static str, u64), (&'static str, Type)>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::default();
    for line in include_str!("types.txt").lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default();
        for word in words {
            let Some((left, right)) = word.split_once('=') else {
                continue;
            };
            if let (Ok(number), Some((property, of))) = (left.parse(), right.split_once(':')) {
                table.fields.insert((name, number), (property, read(of)));
            } else if let Some((kind, _)) = line.split_once('=') {
                table.kinds.insert(kind, right);
            }
        }
    }
    table
});

fn read(text: &'static str) -> Type {
    let inside = |end: &str| {
        text.get(1..)
            .and_then(|rest| rest.strip_suffix(end))
            .unwrap_or_default()
    };
    match text.chars().next() {
        Some('i') => Type::Integer,
        Some('b') => Type::Bool,
        Some('d') => Type::Double,
        Some('y') => Type::Bytes,
        Some('T') => Type::Time,
        Some('D') => Type::Duration,
        Some('Q') => Type::Quantity,
        Some('I') => Type::IntegerOrText,
        Some('R') => Type::Raw,
        Some('X') => Type::Texts,
        Some('#') => Type::Message(text.get(1..).unwrap_or_default()),
        Some('?') => {
            let (other, name) = text.split_at_checked(2).unwrap_or((text, ""));
            let other = match other {
                "?b" => Other::Bool,
                "?a" => Other::List,
                _ => Other::Texts,
            };
            Type::Either(other, name)
        }
        Some('~') => Type::Omitted(Box::new(read(inside("")))),
        Some('[') => Type::List(Box::new(read(inside("]")))),
        Some('{') => Type::Map(Box::new(read(inside("}")))),
        _ => Type::Text,
    }
}

/// The type of a kind.
pub(super) fn of_kind(version: &str, kind: &str) -> Option<&'static str> {
    TABLE
        .kinds
        .get(format!("{version} {kind}").as_str())
        .copied()
}

/// The property of a field, empty if it is part of what holds it, and its type.
pub(super) fn field(name: &'static str, number: u64) -> Option<(&'static str, &'static Type)> {
    let (property, of) = TABLE.fields.get(&(name, number))?;
    Some((property, of))
}
