//! Compares desired objects with live ones. Pure: no client, no clock.
//!
//! [`compare`] answers for one object, [`matches()`] for the search of an object without a name. Both follow the same
//! rules, key by key at the top level: merge the wanted value into the live one, then compare the result
//! with the live one.

mod assign;
mod equal;
mod equality;
mod error;
mod key;
mod merge;
mod metadata;
mod mismatch;
mod noise;
mod object;
mod quantity;
mod rules;
mod secret;
mod sprint;

#[cfg(test)]
mod tests;

pub use mismatch::{Mismatch, Shown, differences};
pub use noise::without_noise;
pub use object::{DesiredContent, compare, matches, with_status_of};
pub use quantity::same_amount;
pub use rules::ComplianceType;

#[cfg(test)]
use {
    equality::Equality,
    object::Comparison,
    quantity::is_quantity,
    rules::{AbsenceRules, EmptyListRule, ZeroRule},
    sprint::{go_type, sprint},
};
