//! A hub and managed clusters in one process: each is an in-memory API server that listens on this machine, with the
//! same controllers that run on real clusters, configured by the same flags.
//!
//! [`Fleet::start`] creates the servers and the objects that an administrator would have created ([`Fleet`]);
//! [`Fleet::run`] runs the controllers: the propagator, [`placement`] and [`registration`] on the hub, the two agents
//! on each cluster.

mod admission;
mod apply;
mod assumed_kinds;
mod bind;
mod cluster;
mod components;
mod constraints;
mod crds;
pub mod explain;
mod heartbeat;
mod kubeconfig;
mod objects;
pub mod placement;
mod placement_rules;
mod pods;
mod private;
pub mod registration;
pub mod results;
mod scratch;
mod settled;
mod setup;
mod start;

pub use apply::{Applied, ApplyError, Target, apply};
pub use assumed_kinds::{AssumedKind, assumed_kinds, definitions_of};
pub use cluster::{Cluster, Taint};
pub use components::ComponentError;
pub use constraints::{ConstraintEvaluation, Constraints};
pub use kubeconfig::{Foreign, Kubeconfig, KubeconfigError};
pub use reeve_constraint_audit::ExternalData;
pub use reeve_runtime::client::RateLimits;
pub use scratch::Scratch;
pub use setup::{Initial, SetUp, Unbound};
pub use start::{Access, Fleet, FleetError, FleetOptions, Member, Pods};
