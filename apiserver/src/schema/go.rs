//! How Go serializes the built-in kinds, as far as the published schemas do not contain it: see `tests/record/go_types`.

use std::collections::HashMap;
use std::sync::OnceLock;

/// How Go's type serializes one field.
#[derive(Clone, Debug, Default)]
pub(crate) struct GoField {
    /// It is a pointer: an explicit zero stays.
    pub(crate) pointer: bool,
    /// It is written though it is empty.
    pub(crate) always: bool,
    /// It is a structure and left out if it is zero.
    pub(crate) omit_zero: bool,
    /// The name of its type, if that is not plain from the schema.
    pub(crate) type_name: Option<&'static str>,
}

type Table = HashMap<&'static str, &'static str>;

/// One line a schema.
fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        include_str!("go_types.txt")
            .lines()
            .filter_map(|line| line.split_once(' '))
            .collect()
    })
}

/// What is known of the fields of a schema.
pub(crate) fn fields_of(schema: &str) -> HashMap<&'static str, GoField> {
    let Some(line) = table().get(schema) else {
        return HashMap::new();
    };
    line.split(' ')
        .filter_map(|entry| {
            let (field, rest) = entry.split_once('=')?;
            let (flags, type_name) = match rest.split_once(':') {
                Some((flags, name)) => (flags, Some(name)),
                None => (rest, None),
            };
            Some((
                field,
                GoField {
                    pointer: flags.contains('p'),
                    always: flags.contains('a'),
                    omit_zero: flags.contains('z'),
                    type_name,
                },
            ))
        })
        .collect()
}
