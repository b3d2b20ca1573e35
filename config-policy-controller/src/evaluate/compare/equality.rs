//! The result of comparing two values.

/// How a desired value and a live one relate, from best to worst.
///
/// The worst result of the parts is the result of the whole, so `max` combines them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Equality {
    /// The same.
    Same,
    /// The same if the server fills in defaults and normalises: `false` or `0` against an absent field, or
    /// quantities spelled differently. Only a dry run can decide.
    IfDefaulted,
    /// Live fields were left out of the desired value, which is as long as the live one. Only a dry run can decide,
    /// and without one it is not the same.
    IfServerAgrees,
    /// Not the same.
    Different,
}
