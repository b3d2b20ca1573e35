//! HTTP listeners for unauthenticated clients: limits of the time, the memory and the number of connections.
//!
//! Any client that reaches a port can be slow or silent, and can open many connections. A [`Listener`] therefore limits the time of a handshake, of a
//! request's head and of its body, the time without a request, and the number of connections ([`Limits`]). Responses may take
//! as long as the server works on them: a watch is cut only when its client stops reading.

mod activity;
mod body;
mod budget;
mod connection;
mod connections;
mod limits;
mod listener;
mod report;
mod stream;
#[cfg(test)]
mod tests;

pub use body::{BodyError, RequestBody, ResponseBody};
pub use budget::{Budget, Reservation};
pub use connection::Peer;
pub use limits::{ClosedBecause, Limits};
pub use listener::Listener;
