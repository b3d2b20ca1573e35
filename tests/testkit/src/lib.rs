//! What tests, benches and the demo share: real Kubernetes control planes without containers,
//! Reeve's own components as processes, and waits that say what they were waiting for.
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! use reeve_testkit::{Component, Plane, PlaneOptions, eventually};
//! use std::time::Duration;
//!
//! let hub = Plane::start(PlaneOptions { name: "hub", ..PlaneOptions::default() }).await?;
//! hub.install_crds().await?;
//! let mut propagator = Component::spawn(
//!     "governance-policy-propagator",
//!     &["--leader-elect=false"],
//!     &[hub.kubeconfig_env(), ("WATCH_NAMESPACE", "")],
//! )?;
//! hub.apply("{apiVersion: v1, kind: Namespace, metadata: {name: policies}}").await?;
//! eventually("the namespace is active", Duration::from_secs(10), || async {
//!     hub.get("v1", "Namespace", None, "policies").await?.ok_or_else(|| anyhow::anyhow!("absent"))
//! })
//! .await?;
//! propagator.stop().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Children never outlive the test: dropping a [`Plane`] or a [`Component`] kills and reaps them,
//! also when the test panics, and a helper process kills them when the test itself is killed.

mod assets;
mod audit;
mod cargo;
mod certificate_request;
mod child;
mod clients;
mod crds;
mod dump;
pub mod evidence;
mod fault_proxy;
mod gatekeeper;
mod go_programs;
mod golang;
pub mod hardening;
mod kubelet;
mod net;
mod objects;
pub mod ocm;
mod olm;
mod packaging;
mod pki;
mod plane;
mod process;
mod proxy;
mod reaper;
mod wait;
pub mod world;
mod yaml;

pub use assets::kubectl;
pub use audit::{AuditEvent, AuditLog, AuditQuery, Mark, count, tally};
pub use cargo::{cargo_command, target_folder};
pub use certificate_request::certificate_request;
pub use clients::{client_go, python_client};
pub use crds::{
    addon_crds, fleet_crd, install as install_crd, install_addon_crds, install_crds,
    install_crds_without_rules,
};
pub use dump::dump;
pub use fault_proxy::{FaultProxy, NetworkFault};
pub use gatekeeper::{
    GATEKEEPER_NAMESPACE, Gatekeeper, TEMPLATES_CRD, WEBHOOK, WEBHOOK_CONFIGURATION,
    gatekeeper_crds, gatekeeper_oracle, gatekeeper_pod, install_gatekeeper_crds, templates_crd,
};
pub use go_programs::build_go_programs;
pub use golang::GoProgram;
pub use kube::api::DynamicObject as Object;
pub use kubelet::{Kubelet, KubeletOptions};
pub use net::{free_port, http_get};
pub use objects::{FIELD_MANAGER, Objects};
pub use olm::{OLM_NAMESPACE, Olm};
pub use packaging::Packager;
pub use pki::CertificateAuthority;
pub use plane::{Plane, PlaneOptions, planes_are_embedded};
pub use process::{Component, reeve_binary};
pub use proxy::Proxy;
pub use wait::{Deadlines, SOON, eventually};
pub use world::{Cluster, World, WorldOptions};
pub use yaml::{parse, render};

use std::path::{Path, PathBuf};

/// The root of the Cargo workspace this crate was built from.
pub fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}
