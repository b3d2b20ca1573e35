//! Stand-ins for what Open Cluster Management runs around an add-on: its add-on manager on the hub
//! and, for every managed cluster, a klusterlet (registration agent and work agent) with the hub's
//! side of it. They play on real control planes, so that garbage collection, signing and the removal
//! of namespaces are real. In place of the work agent, Open Cluster Management's own program can run:
//! see [`WorkAgentKind`].
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! use reeve_testkit::ocm::{AddonManager, ClusterPlanes, Klusterlet, KlusterletOptions};
//! use reeve_testkit::{Plane, PlaneOptions, install_addon_crds};
//!
//! let hub = Plane::start(PlaneOptions { name: "hub", ..PlaneOptions::default() }).await?;
//! let managed = Plane::start(PlaneOptions::default()).await?;
//! for plane in [&hub, &managed] {
//!     plane.install_crds().await?;
//!     install_addon_crds(plane.objects()).await?;
//! }
//! let _manager = AddonManager::start(hub.objects()).await?;
//! let planes = ClusterPlanes { hub: &hub, managed: &managed, agent: &managed };
//! let klusterlet = Klusterlet::join(planes, KlusterletOptions::named("cluster2")).await?;
//! klusterlet.pause()?; // The hub gets no update from the cluster, nor the cluster from the hub.
//! # Ok(())
//! # }
//! ```

mod addon_manager;
mod agents;
mod condition;
mod configuration;
mod csr;
mod health;
mod hub_side;
mod journal;
mod klusterlet;
mod klusterlet_roles;
mod membership;
mod mirror;
mod names;
mod ocm_work_agent;
mod progress;
mod registration;
mod secret;
mod spec_hash;
mod work;
mod write;

pub use addon_manager::AddonManager;
pub use agents::{ClusterPlanes, KlusterletOptions, WorkAgentKind};
pub use condition::is_current;
pub use klusterlet::Klusterlet;
pub(crate) use ocm_work_agent::work_agent;
pub use spec_hash::spec_hash;
