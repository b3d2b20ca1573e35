//! A fleet with the objects of a suite, while its controllers run.

use std::path::PathBuf;
use std::time::Duration;

use kube::api::{Api, DynamicObject};
use reeve_fleet::results::Results;
use reeve_fleet::{
    Access, Applied, ApplyError, Cluster, Fleet, FleetOptions, Member, Pods, RateLimits, Target,
    apply, bind_unbound,
};
use reeve_manifests::Object;
use reeve_report::{Entry, State, made_namespaces};
use reeve_runtime::CancellationToken;
use reeve_runtime::discovery::{Discovery, group_version_kind};
use reeve_runtime::object::{error_chain, status_message};
use serde_json::Value;

use crate::messages;

/// What a fleet has before its controllers start.
#[derive(Default)]
pub(crate) struct Setup {
    /// The managed clusters.
    pub(crate) clusters: Vec<Cluster>,
    /// CRDs for the hub and all clusters.
    pub(crate) crds: Vec<Object>,
    /// The objects of clusters, by their names.
    pub(crate) of_clusters: Vec<(String, Vec<Object>)>,
    /// The objects of the hub.
    pub(crate) of_hub: Vec<Object>,
    /// Whether policies that nothing binds are bound to all clusters.
    pub(crate) bind_unbound: bool,
}

/// A running fleet.
pub(crate) struct World<'a> {
    fleet: &'a Fleet,
    results: Results,
    /// What was done without being asked for.
    pub(crate) notes: Vec<String>,
    /// What could not be applied at the start.
    pub(crate) errors: Vec<ApplyError>,
    bind_unbound: bool,
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
    });
    let fleet = fleet.await.map_err(|error| error_chain(&error))?;
    let mut world = World {
        fleet: &fleet,
        results: Results::default(),
        notes: Vec::new(),
        errors: Vec::new(),
        bind_unbound: setup.bind_unbound,
        timeout,
    };
    let stop = CancellationToken::new();
    let controllers = fleet.run(stop.clone());
    let outcome = async {
        world.set_up(&setup).await?;
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
    async fn set_up(&mut self, setup: &Setup) -> Result<(), String> {
        let hub = Target::hub(self.fleet.hub.client());
        for member in &self.fleet.clusters {
            let target = Target::cluster(&member.name, member.client());
            let applied = apply(&target, &setup.crds).await;
            self.errors.extend(applied.errors);
        }
        let applied = apply(&hub, &setup.crds).await;
        self.errors.extend(applied.errors);
        for (cluster, objects) in &setup.of_clusters {
            let applied = self.apply(Some(cluster), objects).await?;
            self.errors.extend(applied.errors);
        }
        let applied = self.apply(None, &setup.of_hub).await?;
        self.errors.extend(applied.errors);
        Ok(())
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
    ) -> Result<Applied, String> {
        let target = self.target(cluster)?;
        let mut applied = apply(&target, objects).await;
        let is_hub = cluster.is_none_or(|name| name == "hub");
        if is_hub && !applied.namespaces.is_empty() {
            let note = made_namespaces(&target.name, &applied.namespaces);
            self.notes.push(note);
        }
        if is_hub && self.bind_unbound {
            let bound = bind_unbound(&target.client).await;
            let bound = bound.map_err(|error| status_message(&error))?;
            applied.errors.extend(bound.errors);
            if !bound.policies.is_empty() {
                self.notes.push(messages::bound(&bound.policies));
            }
        }
        Ok(applied)
    }

    /// Waits until all controllers are idle.
    pub(crate) async fn settled(&mut self) -> Result<(), String> {
        if tokio::time::timeout(self.timeout, self.fleet.settled())
            .await
            .is_ok()
        {
            return Ok(());
        }
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
        Ok(if served.namespaced {
            let namespace = namespace.unwrap_or(&target.namespace);
            Api::namespaced_with(target.client, namespace, &served.resource)
        } else {
            Api::all_with(target.client, &served.resource)
        })
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
