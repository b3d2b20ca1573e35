//! Parts of a request: its path, its query, and the form of response that it accepts.

pub mod accept;
pub mod content;
pub mod path;
pub mod query;
pub mod selectors;

/// How the client of a request is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// In the same process: the client takes one watch event after the other.
    InProcess,
    /// Over a socket.
    Remote,
}
