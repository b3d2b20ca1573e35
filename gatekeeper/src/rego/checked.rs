//! What is known of a program before it is evaluated.

use std::collections::{BTreeMap, BTreeSet};

/// What the check of all modules has found out.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// How deep calls and expressions are nested at most.
    pub levels: usize,
    /// Whether `data.inventory` is read.
    pub is_referential: bool,
    /// For each line with calls, where the second definition of the first function called there is.
    pub second_definitions: BTreeMap<String, String>,
    /// Where members of objects are defined.
    pub object_places: BTreeSet<String>,
}
