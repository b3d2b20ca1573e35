//! Comparing what a policy wants with what the cluster has. Pure: no client, no clock.
//!
//! [`compare`] answers for one object, [`matches()`] for the search of an object without a name. Both follow the same
//! rules, key by key at the top level: merge the wanted value into the live one, then ask whether the result
//! means the same as the live one.

mod assign;
mod equal;
mod key;
mod merge;
mod metadata;
mod mismatch;
mod noise;
mod object;
mod quantity;
mod secret;
mod sprint;
mod verdict;

#[cfg(test)]
mod tests;

pub use mismatch::{Mismatch, Shown, differences};
pub use noise::without_noise;
pub use object::{
    CompareError, Comparison, ComplianceType, Desired, StringMapFault, compare, matches,
};
pub use quantity::{Quantity, same_amount};
pub use sprint::{go_type, sprint};
pub use verdict::{Verdict, ZeroRule};

pub(crate) use sprint::print_float;
