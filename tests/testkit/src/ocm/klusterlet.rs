//! The agents of one managed cluster, and the hub's side of it.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::sync::watch;

use super::condition::is_true;
use super::health::Health;
use super::hub_side::{self, HubSide};
use super::journal::Journal;
use super::membership::Membership;
use super::mirror::{Bell, Pace, Task, run};
use super::names::{CLUSTER, DEFAULT_NAMESPACE};
use super::ocm_work_agent::OcmWorkAgent;
use super::registration::Registration;
use super::work::WorkAgent;
use crate::{Objects, Plane, eventually};

const READY: Duration = Duration::from_secs(30);

/// Where a klusterlet has to do with what.
#[derive(Clone, Copy)]
pub struct Sites<'a> {
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
    /// How often leases of add-ons are looked at.
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
    /// Open Cluster Management's own program, which looks at unchanged works every four to six minutes and at what it has
    /// applied every ten to twenty seconds, whatever [`KlusterletOptions`] says.
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

/// The stand-in for a klusterlet, that is for the registration agent and the work agent of one
/// managed cluster, and for the part of the hub that has to do with them: accepting the cluster, its
/// agents' rights, noticing its absence. It ends when it is dropped; what it has done stays.
pub struct Klusterlet {
    name: String,
    journal: Journal,
    open: watch::Sender<bool>,
    work_agent: Option<OcmWorkAgent>,
    _tasks: Vec<Task>,
}

impl Klusterlet {
    /// Joins a cluster to a hub. It is accepted and available when this returns. The hub and the
    /// clusters need the CRDs of [`crate::install_crds`] and [`crate::install_addon_crds`].
    pub async fn join(sites: Sites<'_>, options: KlusterletOptions) -> Result<Self> {
        let name = options.name.clone();
        hub_side::accept(sites.hub.objects(), &name).await?;
        let user = format!("system:open-cluster-management:{name}:stand-in");
        let group = format!("system:open-cluster-management:{name}");
        let all = "system:open-cluster-management:managed-clusters";
        let client = sites.hub.client_as(&user, &[&group, all]).await?;
        let agents = Agents {
            cluster: name.clone(),
            hub: Objects::new(client),
            managed: sites.managed.objects().clone(),
            agent: sites.agent.objects().clone(),
            server: sites.hub.server().to_owned(),
            ca: sites.hub.ca_pem(),
            options,
        };
        agents.make_namespaces(sites).await?;
        let (open, receiver) = watch::channel(true);
        let journal = Journal::default();
        let work_agent = match agents.options.work_agent {
            WorkAgentKind::StandIn => None,
            WorkAgentKind::Ocm => Some(OcmWorkAgent::start(sites, &name, &user, &group).await?),
        };
        let tasks = agents
            .start(sites.hub.objects(), receiver, &journal)
            .await?;
        let klusterlet = Self {
            name,
            journal,
            open,
            work_agent,
            _tasks: tasks,
        };
        klusterlet.available(sites.hub).await?;
        Ok(klusterlet)
    }

    async fn available(&self, hub: &Objects) -> Result<()> {
        let what = format!("cluster {} is available", self.name);
        let outcome = eventually(what, READY, || async {
            let cluster = hub
                .get(CLUSTER.api_version, CLUSTER.kind, None, &self.name)
                .await?;
            let conditions = cluster.map(|cluster| cluster.data["status"]["conditions"].clone());
            let available = conditions
                .as_ref()
                .is_some_and(|all| is_true(all, "ManagedClusterConditionAvailable"));
            ensure!(available, "its conditions are {conditions:?}");
            Ok(())
        });
        outcome.await.map_err(|error| error.context(self.log()))
    }

    /// The managed cluster's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Stops the agents: as if the hub could not be reached from the cluster. Steps under way end, but those of Open
    /// Cluster Management's own work agent: it is frozen.
    pub fn pause(&self) -> Result<()> {
        self.open.send_replace(false);
        self.work_agent.as_ref().map_or(Ok(()), OcmWorkAgent::pause)
    }

    /// Ends [`Klusterlet::pause`].
    pub fn resume(&self) -> Result<()> {
        self.open.send_replace(true);
        self.work_agent
            .as_ref()
            .map_or(Ok(()), OcmWorkAgent::resume)
    }

    /// What the agents could not do, for a failed test to print.
    pub fn log(&self) -> String {
        let work_agent = self.work_agent.as_ref();
        self.journal.text() + &work_agent.map(OcmWorkAgent::log).unwrap_or_default()
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

impl Agents {
    /// What an installed klusterlet has made for itself.
    async fn make_namespaces(&self, sites: Sites<'_>) -> Result<()> {
        let hosted = sites.managed.server() != sites.agent.server();
        let own = if hosted {
            format!("klusterlet-{}", self.cluster)
        } else {
            "open-cluster-management-agent".to_owned()
        };
        make_namespace(&self.agent, &own).await?;
        make_namespace(&self.managed, DEFAULT_NAMESPACE).await
    }

    async fn start(
        self,
        admin: &Objects,
        open: watch::Receiver<bool>,
        journal: &Journal,
    ) -> Result<Vec<Task>> {
        let cluster = self.cluster.clone();
        let second = Duration::from_secs(1);
        let pace = |tick| Pace {
            bell: Bell::default(),
            tick,
            open: open.clone(),
            journal: journal.clone(),
        };
        let who = |part: &str| format!("the {part} of {cluster}");

        // The hub goes on while the cluster is away.
        let (always, alive) = watch::channel(true);
        let hub_pace = Pace {
            open: alive,
            ..pace(second)
        };
        let grace = self.options.cluster_grace;
        let hub_side = HubSide::start(admin, &cluster, grace, &hub_pace.bell, always).await?;
        let member_pace = pace(self.options.cluster_grace / 3);
        let member = Membership::start(self.clone(), &member_pace.bell).await?;
        let registration_pace = pace(second);
        let registration = Registration::start(self.clone(), &registration_pace.bell).await?;
        let health_pace = pace(self.options.check_interval);
        let health = Health::start(self.clone(), &health_pace.bell).await?;
        let mut tasks = vec![
            run(who("hub side"), hub_side, hub_pace),
            run(who("membership"), member, member_pace),
            run(who("registration"), registration, registration_pace),
            run(who("health check"), health, health_pace),
        ];
        if self.options.work_agent == WorkAgentKind::StandIn {
            // The agent finds out by itself what is due.
            let work_pace = pace(Duration::from_millis(100));
            let work = WorkAgent::start(self, &work_pace.bell, journal.clone()).await?;
            tasks.push(run(who("work agent"), work, work_pace));
        }
        Ok(tasks)
    }
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
