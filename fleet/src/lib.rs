//! A hub and managed clusters in one process: each is an in-memory API server that listens on this machine, with the
//! same controllers that run on real clusters, configured by the same flags.
//!
//! [`Fleet::start`] creates the servers and the objects that an administrator would have created ([`Fleet`]);
//! [`Fleet::run`] runs the controllers: the propagator, [`placement`] and [`registration`] on the hub, the two agents
//! on each cluster.

mod admission;
mod apply;
mod components;
mod crds;
mod heartbeat;
mod kubeconfig;
mod objects;
pub mod placement;
mod placement_rules;
mod pods;
mod private;
pub mod registration;
mod scratch;
mod settled;
mod start;

pub use apply::{Applied, ApplyError, apply};
pub use components::ComponentError;
pub use kubeconfig::{Foreign, Kubeconfig, KubeconfigError};
pub use reeve_runtime::client::RateLimits;
pub use scratch::Scratch;
pub use start::{Fleet, FleetError, FleetOptions, Member, Pods};
