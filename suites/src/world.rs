//! A fleet with the objects of a suite, while its controllers run.

use std::path::PathBuf;
use std::time::Duration;

use kube::api::{Api, DynamicObject};
use reeve_fleet::explain::Servers;
use reeve_fleet::results::Results;
use reeve_fleet::{
    Access, ApplyError, Cluster, Constraints, ExternalData, Fleet, FleetOptions, Initial, Member,
    Pods, RateLimits, SetUp, Target, Unbound, apply,
};
use reeve_manifests::Object;
use reeve_report::{Entry, State, made_namespaces};
use reeve_runtime::CancellationToken;
use reeve_runtime::discovery::{Discovery, group_version_kind};
use reeve_runtime::object::{error_chain, status_message};
use serde_json::Value;

use crate::messages;

/// A fleet and its first objects.
#[derive(Default)]
pub(crate) struct Setup {
    /// The managed clusters.
    pub(crate) clusters: Vec<Cluster>,
    /// Whether they evaluate Gatekeeper's constraints.
    pub(crate) constraints: Constraints,
    /// What providers of external data answer the constraints.
    pub(crate) external_data: ExternalData,
    /// What was done without being asked for.
    pub(crate) notes: Vec<String>,
    /// What the hub and the clusters have.
    pub(crate) initial: Initial,
}

/// A running fleet.
pub(crate) struct World<'a> {
    fleet: &'a Fleet,
    results: Results,
    /// What was done without being asked for.
    notes: Vec<String>,
    /// How many policies were bound that nothing had bound.
    bound: usize,
    /// What could not be applied at the start.
    pub(crate) errors: Vec<ApplyError>,
    unbound: Unbound,
    timeout: Duration,
}

/// Runs `story` on a fleet.
pub(crate) async fn with_fleet<T>(
    setup: Setup,
    timeout: Duration,
    story: impl AsyncFnOnce(&mut World<'_>) -> T,
) -> Result<T, String> {
    let fleet = Fleet::start(FleetOptions {
        clusters: setup.clusters.clone(),
        // Nothing is written: the paths only tell the servers of this process from each other.
        folder: PathBuf::from("in-process"),
        access: Access::InProcess,
        data: None,
        pods: Pods::Settled,
        limits: RateLimits::Lifted,
        constraints: setup.constraints,
        external_data: setup.external_data.clone(),
    });
    let fleet = fleet.await.map_err(|error| error_chain(&error))?;
    let mut world = World {
        fleet: &fleet,
        results: Results::default(),
        notes: setup.notes.clone(),
        bound: 0,
        errors: Vec::new(),
        unbound: setup.initial.unbound,
        timeout,
    };
    let stop = CancellationToken::new();
    let controllers = fleet.run(stop.clone());
    let outcome = async {
        world.set_up(&setup.initial).await?;
        Ok(story(&mut world).await)
    };
    tokio::pin!(controllers, outcome);
    tokio::select! {
        ended = &mut controllers => {
            let why = ended.err().map_or_else(String::new, |error| error_chain(&error));
            Err(messages::controllers_ended(&why))
        }
        outcome = &mut outcome => {
            stop.cancel();
            // The controllers are dropped with the fleet: there is no need to wait for long.
            let _ = tokio::time::timeout(Duration::from_secs(1), controllers).await;
            outcome
        }
    }
}

impl World<'_> {
    async fn set_up(&mut self, initial: &Initial) -> Result<(), String> {
        let done = self.fleet.set_up(initial).await;
        let done = done.map_err(|error| status_message(&error))?;
        self.errors = self.noted(done);
        Ok(())
    }

    /// Keeps what was done without being asked for, and returns the errors.
    fn noted(&mut self, mut done: SetUp) -> Vec<ApplyError> {
        let hub = Target::hub(self.fleet.hub.client()).name;
        // What a cluster is given, it is given with its namespace.
        done.namespaces.retain(|(server, _)| *server == hub);
        self.notes.extend(made_namespaces(&done.namespaces));
        self.bound += done.bound.len();
        done.errors
    }

    /// What was done without being asked for. `off` is what leaves policies unbound.
    pub(crate) fn notes(&self, off: &str) -> Vec<String> {
        let mut notes = self.notes.clone();
        if self.bound > 0 {
            notes.push(reeve_report::bound(self.bound, off));
        }
        notes
    }

    fn member(&self, cluster: Option<&str>) -> Result<&Member, String> {
        let Some(name) = cluster.filter(|name| *name != "hub") else {
            return Ok(&self.fleet.hub);
        };
        let mut members = self.fleet.clusters.iter();
        members.find(|member| member.name == name).ok_or_else(|| {
            let known: Vec<&str> = self
                .fleet
                .clusters
                .iter()
                .map(|member| member.name.as_str())
                .collect();
            messages::no_cluster(name, &known.join(", "))
        })
    }

    fn target(&self, cluster: Option<&str>) -> Result<Target, String> {
        let member = self.member(cluster)?;
        Ok(match cluster.filter(|name| *name != "hub") {
            Some(name) => Target::cluster(name, member.client()),
            None => Target::hub(member.client()),
        })
    }

    /// Applies objects to the hub or a cluster; policies on the hub that nothing binds are bound.
    pub(crate) async fn apply(
        &mut self,
        cluster: Option<&str>,
        objects: &[Object],
    ) -> Result<Vec<ApplyError>, String> {
        if cluster.is_some_and(|name| name != "hub") {
            return Ok(apply(&self.target(cluster)?, objects).await.errors);
        }
        let mut done = SetUp::default();
        let applied = self.fleet.apply_to_hub(objects, self.unbound, &mut done);
        applied.await.map_err(|error| status_message(&error))?;
        Ok(self.noted(done))
    }

    /// Waits until all controllers are idle.
    pub(crate) async fn settled(&mut self) -> Result<(), String> {
        match tokio::time::timeout(self.timeout, self.fleet.settled()).await {
            Ok(()) => Ok(()),
            Err(_) => self.late().await,
        }
    }

    /// What the controllers are still busy with.
    async fn late(&mut self) -> Result<(), String> {
        let entries = self.entries().await?;
        let waiting: Vec<String> = entries
            .iter()
            .filter(|entry| matches!(entry.state, State::Unknown | State::Pending))
            .map(|entry| format!("{} on {}", entry.subject, entry.place))
            .take(5)
            .collect();
        let waiting = match waiting.as_slice() {
            [] => "no policy: what they do fails again and again".to_owned(),
            some => some.join(", "),
        };
        Err(messages::not_idle(self.timeout.as_secs(), &waiting))
    }

    /// The servers of the fleet.
    pub(crate) fn servers(&self) -> Servers {
        self.fleet.servers()
    }

    /// The states of all policies, the worst first.
    pub(crate) async fn entries(&mut self) -> Result<Vec<Entry>, String> {
        let entries = self.results.read(self.fleet).await;
        entries.map_err(|error| status_message(&error))
    }

    /// The API of a kind in the namespace of an object, or the default of the server.
    pub(crate) async fn api(
        &self,
        cluster: Option<&str>,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Result<Api<DynamicObject>, String> {
        let target = self.target(cluster)?;
        let wanted = group_version_kind(api_version, kind);
        let served = Discovery::new(target.client.clone()).find(&wanted).await;
        let served = served.map_err(|_| {
            let of = &target.name;
            format!("no matches for kind {kind:?} in version {api_version:?} on {of}")
        })?;
        Ok(target.api(&served, namespace))
    }

    /// Reads a path of a server.
    pub(crate) async fn get(
        &self,
        cluster: Option<&str>,
        path: &str,
    ) -> Result<Option<Value>, String> {
        let client = self.target(cluster)?.client;
        let get = http::Request::get(path).body(Vec::new());
        let get = get.map_err(|error| error.to_string())?;
        match client.request_text(get).await {
            Ok(text) => serde_json::from_str(&text)
                .map(Some)
                .map_err(|error| error.to_string()),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
            Err(error) => Err(status_message(&error)),
        }
    }

    /// Merges a patch into an object.
    pub(crate) async fn merge(
        &self,
        cluster: Option<&str>,
        path: &str,
        change: &Value,
    ) -> Result<(), String> {
        let client = self.target(cluster)?.client;
        let request = http::Request::patch(path)
            .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
            .body(change.to_string().into_bytes());
        let request = request.map_err(|error| error.to_string())?;
        let sent = client.request_text(request).await;
        sent.map(|_| ()).map_err(|error| status_message(&error))
    }
}
