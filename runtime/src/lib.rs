//! The parts that every controller shares.
//!
//! A controller is: [`watch`]es that fill stores and deliver changes, a [`queue`] of keys, and workers that observe,
//! decide, act and publish. [`dependencies`] enqueues a key when an object that its reconcile read has changed.
//! Around that, a process: [`flags`], [`logging`], a [`client`] to each cluster, [`probes`], [`metrics`], [`leader`]
//! election, and a [`supervisor`] that owns every task.

pub mod activity;
pub mod addon_lease;
pub mod client;
pub mod decode;
pub mod definitions;
pub mod dependencies;
pub mod discovery;
pub mod events;
pub mod fence;
pub mod finalizers;
pub mod flags;
pub mod guarded;
mod hostname;
pub mod interned;
pub mod kinds;
pub mod leader;
pub mod logging;
pub mod manager;
pub mod metrics;
pub mod object;
pub mod object_stream;
pub mod path;
pub mod probes;
pub mod queue;
mod relist;
pub mod secrets;
pub mod serving;
pub mod strict;
pub mod supervisor;
pub mod uninstall_annotation;
pub mod watch;
pub mod window;
pub mod writes;

/// Cancelled when the process is to stop.
pub use tokio_util::sync::CancellationToken;
