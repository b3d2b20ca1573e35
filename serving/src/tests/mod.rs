//! Hostile and slow clients on real sockets. Limits are short where they have to end something, and long where they must not.

mod bodies;
mod heads;
mod http2;
mod many;
mod server;
