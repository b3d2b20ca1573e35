//! What policies are evaluated against.

use std::path::Path;

use kube::Client;
use reeve_api::ConfigurationPolicy;
use reeve_apiserver::{Identity, Options as ServerOptions, Server};
use reeve_config_policy_controller::dryrun::{
    DiffLength, Offline, Options, TerminatingInclusion, evaluate_on,
};
use reeve_config_policy_controller::{Report, evaluate};
use reeve_constraint_audit::Objects;
use reeve_fleet::{Target, apply};
use reeve_manifests::{Object, Position};
use reeve_runtime::client::connect_unlimited;
use reeve_runtime::discovery::{DiscoveryError, ServedKind, group_version_kind};
use reeve_runtime::object::error_chain;
use serde_json::Value;

use crate::error::Error;
use crate::{mappings, messages};

/// What policies are evaluated against.
pub(crate) enum World {
    /// Objects in memory: what is given, without defaults and checks.
    Memory(Offline),
    /// A cluster.
    Cluster(Client),
    /// An API server in this process, which lives as long as this.
    Server {
        /// Its client.
        client: Client,
        /// The server itself.
        _server: Server,
    },
}

impl World {
    /// Objects in memory, of the given kinds and of those whose CRD is among them or among `crds`.
    pub(crate) fn in_memory(
        file: Option<&str>,
        objects: &[Object],
        crds: &[Value],
    ) -> Result<Self, Error> {
        let mut kinds = mappings::kinds(file).map_err(Error::Setup)?;
        let own = objects.iter().map(|object| &object.value);
        kinds.extend(own.chain(crds).flat_map(mappings::of_crd));
        let kinds = mappings::chosen(kinds);
        for object in objects {
            check(object, &kinds)?;
        }
        let values = objects.iter().map(|object| object.value.clone());
        let offline = Offline::new(kinds, values);
        let offline = offline.map_err(|error| Error::Apply(error.to_string()))?;
        Ok(Self::Memory(offline))
    }

    /// The cluster of a kubeconfig.
    pub(crate) async fn of_kubeconfig(kubeconfig: Option<&Path>) -> Result<Self, Error> {
        let client = client(kubeconfig).await.map_err(Error::Setup)?;
        Ok(Self::Cluster(client))
    }

    /// An API server with the objects.
    pub(crate) async fn in_server(objects: &[Object], crds: &[Value]) -> Result<Self, Error> {
        let server = Server::start(ServerOptions::default())
            .map_err(|error| Error::Setup(error.to_string()))?;
        let client = Client::new(server.service(Identity::admin()), "default");
        let target = Target::cluster("the API server", client.clone());
        let own = reeve_api::crds::all().map_err(|error| Error::Setup(error_chain(&error)))?;
        let own = own.into_iter().map(|(_, crd)| crd);
        let all = own.chain(crds.iter().cloned());
        let all = all.filter_map(|crd| Object::new(Position::default(), crd).ok());
        let all: Vec<Object> = all.chain(objects.iter().cloned()).collect();
        let applied = apply(&target, &all).await;
        if !applied.errors.is_empty() {
            let errors: Vec<String> = applied.errors.iter().map(ToString::to_string).collect();
            return Err(Error::Apply(errors.join("; ")));
        }
        Ok(Self::Server {
            client,
            _server: server,
        })
    }

    /// The objects that constraints are about.
    pub(crate) fn objects(&self) -> Objects {
        match self {
            Self::Memory(offline) => Objects::Given(offline.objects().cloned().collect()),
            Self::Cluster(client) | Self::Server { client, .. } => Objects::Cluster(client.clone()),
        }
    }

    /// Evaluates a policy.
    pub(crate) async fn evaluate(
        &self,
        policy: &ConfigurationPolicy,
        length: DiffLength,
    ) -> Report {
        let options = Options {
            terminating: TerminatingInclusion::IfMatch,
            length,
            ..Options::default()
        };
        match self {
            Self::Memory(objects) => evaluate(policy, objects, &options),
            Self::Cluster(client) | Self::Server { client, .. } => {
                evaluate_on(policy, client.clone(), &options).await
            }
        }
    }
}

fn check(object: &Object, kinds: &[ServedKind]) -> Result<(), Error> {
    let is_kind = |kind: &&ServedKind| {
        kind.resource.api_version == object.api_version && kind.resource.kind == object.kind
    };
    if kinds.iter().any(|kind| is_kind(&kind)) {
        return Ok(());
    }
    let kind = group_version_kind(&object.api_version, &object.kind);
    let why = DiscoveryError::UnknownVersion(kind).to_string();
    Err(Error::Apply(messages::unmapped(&why, &object.kind)))
}

/// A client of the cluster of a kubeconfig.
pub(crate) async fn client(kubeconfig: Option<&Path>) -> Result<Client, String> {
    let connected = connect_unlimited(kubeconfig, crate::PROGRAM).await;
    connected.map_err(|error| error_chain(&error))
}
