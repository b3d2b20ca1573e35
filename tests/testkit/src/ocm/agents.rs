//! The parts of a klusterlet share these: where it runs, how often it works, and its clients.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use crate::{Objects, Plane};

/// Where a klusterlet has to do with what.
#[derive(Clone, Copy)]
pub struct ClusterPlanes<'a> {
    /// The hub.
    pub hub: &'a Plane,
    /// The managed cluster: where works are applied.
    pub managed: &'a Plane,
    /// Where the agents themselves run: the managed cluster, or for a hosted klusterlet the hosting one.
    pub agent: &'a Plane,
}

/// How to start a [`Klusterlet`]. The intervals are OCM's for people, made short for tests.
#[derive(Debug, Clone)]
pub struct KlusterletOptions {
    /// The managed cluster's name.
    pub name: String,
    /// How often leases of add-ons are checked.
    pub check_interval: Duration,
    /// How old the lease of an add-on may be.
    pub lease_grace: Duration,
    /// How old the cluster's own lease may be; it is renewed three times as often.
    pub cluster_grace: Duration,
    /// How often works are applied again, against changes on the cluster.
    pub resync: Duration,
    /// How often the state of applied objects is reported.
    pub status_interval: Duration,
    /// Who applies works.
    pub work_agent: WorkAgentKind,
}

/// Which work agent a [`Klusterlet`] has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkAgentKind {
    /// The stand-in, with its short intervals.
    StandIn,
    /// Open Cluster Management's own program, which reconciles unchanged works every four to six minutes and the objects that it has
    /// applied every ten to twenty seconds, whatever [`KlusterletOptions`] has.
    Ocm,
}

impl KlusterletOptions {
    /// For a cluster of this name.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            check_interval: Duration::from_secs(1),
            lease_grace: Duration::from_mins(5),
            cluster_grace: Duration::from_secs(15),
            resync: Duration::from_secs(5),
            status_interval: Duration::from_secs(1),
            work_agent: WorkAgentKind::StandIn,
        }
    }
}

/// What the agents of a cluster work with. Clones share it.
#[derive(Clone)]
pub(super) struct Agents {
    pub(super) cluster: String,
    /// The hub, with the agents' own rights.
    pub(super) hub: Objects,
    pub(super) managed: Objects,
    /// The cluster that the agents run on.
    pub(super) agent: Objects,
    pub(super) server: String,
    /// The certificate of the hub's authority, in PEM.
    pub(super) ca: String,
    pub(super) options: KlusterletOptions,
}

/// Makes a namespace if it is not there.
pub(super) async fn make_namespace(objects: &Objects, name: &str) -> Result<()> {
    let there = objects.get("v1", "Namespace", None, name).await?;
    if there.is_none() {
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        objects.apply(&namespace.to_string()).await?;
    }
    Ok(())
}
