//! The agents of one managed cluster, and the hub's side of it.

use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::sync::watch;

use super::agents::{Agents, ClusterPlanes, KlusterletOptions, WorkAgentKind, make_namespace};
use super::condition::is_true;
use super::health::Health;
use super::hub_side::{self, HubSide};
use super::journal::Journal;
use super::klusterlet_roles;
use super::membership::Membership;
use super::mirror::{ChangeTrigger, Pace, Task, run};
use super::names::{CLUSTER, DEFAULT_NAMESPACE};
use super::ocm_work_agent::OcmWorkAgent;
use super::registration::Registration;
use super::work::WorkAgent;
use crate::{Objects, SOON, eventually};

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
    pub async fn join(planes: ClusterPlanes<'_>, options: KlusterletOptions) -> Result<Self> {
        let name = options.name.clone();
        hub_side::accept(planes.hub.objects(), &name).await?;
        let user = format!("system:open-cluster-management:{name}:stand-in");
        let group = format!("system:open-cluster-management:{name}");
        let all = "system:open-cluster-management:managed-clusters";
        let client = planes.hub.client_as(&user, &[&group, all]).await?;
        let agents = Agents {
            cluster: name.clone(),
            hub: Objects::new(client),
            managed: planes.managed.objects().clone(),
            agent: planes.agent.objects().clone(),
            server: planes.hub.server().to_owned(),
            ca: planes.hub.ca_pem(),
            options,
        };
        agents.make_namespaces(planes).await?;
        let (open, receiver) = watch::channel(true);
        let journal = Journal::default();
        let work_agent = match agents.options.work_agent {
            WorkAgentKind::StandIn => None,
            WorkAgentKind::Ocm => {
                let account = klusterlet_roles::install(planes.managed).await?;
                let started = OcmWorkAgent::start(planes, &name, &user, &group, account).await;
                Some(started?)
            }
        };
        let tasks = agents
            .start(planes.hub.objects(), receiver, &journal)
            .await?;
        let klusterlet = Self {
            name,
            journal,
            open,
            work_agent,
            _tasks: tasks,
        };
        klusterlet.available(planes.hub).await?;
        Ok(klusterlet)
    }

    async fn available(&self, hub: &Objects) -> Result<()> {
        let what = format!("cluster {} is available", self.name);
        let outcome = eventually(what, SOON, || async {
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

impl Agents {
    /// What an installed klusterlet has made for itself.
    async fn make_namespaces(&self, planes: ClusterPlanes<'_>) -> Result<()> {
        let hosted = planes.managed.server() != planes.agent.server();
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
            trigger: ChangeTrigger::default(),
            tick,
            open: open.clone(),
            journal: journal.clone(),
        };
        let who = |part: &str| format!("the {part} of {cluster}");

        // The hub continues while the cluster is unreachable.
        let (always, alive) = watch::channel(true);
        let hub_pace = Pace {
            open: alive,
            ..pace(second)
        };
        let grace = self.options.cluster_grace;
        let hub_side = HubSide::start(admin, &cluster, grace, &hub_pace.trigger, always).await?;
        let member_pace = pace(self.options.cluster_grace / 3);
        let member = Membership::start(self.clone(), &member_pace.trigger).await?;
        let registration_pace = pace(second);
        let registration = Registration::start(self.clone(), &registration_pace.trigger).await?;
        let health_pace = pace(self.options.check_interval);
        let health = Health::start(self.clone(), &health_pace.trigger).await?;
        let mut tasks = vec![
            run(who("hub side"), hub_side, hub_pace),
            run(who("membership"), member, member_pace),
            run(who("registration"), registration, registration_pace),
            run(who("health check"), health, health_pace),
        ];
        if self.options.work_agent == WorkAgentKind::StandIn {
            // The agent finds out by itself what is due.
            let work_pace = pace(Duration::from_millis(100));
            let work = WorkAgent::start(self, &work_pace.trigger, journal.clone()).await?;
            tasks.push(run(who("work agent"), work, work_pace));
        }
        Ok(tasks)
    }
}
