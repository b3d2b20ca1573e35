//! Creates the servers of a fleet, and the objects that exist before the first policy.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream;
use kube::Client;
use kube::core::Request;
use reeve_apiserver::{
    Authority, AuthorityError, Data, DataError, DataKind, Identity, KubeconfigContext, ListenError,
    Listener, NoRandomness, Options, Server, kubeconfig,
};
use reeve_constraint_audit::ExternalData;
use reeve_runtime::activity::Activity;
use reeve_runtime::client::RateLimits;
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use crate::admission::Registration;
use crate::cluster::Cluster;
use crate::constraints::{ConstraintEvaluation, Constraints};
use crate::crds;
use crate::objects;
use crate::placement;
use crate::private::write_private;

/// The name of the hub among the servers of a fleet, and of its folder.
const HUB: &str = "hub";
/// The folder with the folders of the clusters.
const CLUSTERS: &str = "clusters";

/// The options of a fleet.
#[derive(Clone, Debug)]
pub struct FleetOptions {
    /// The managed clusters.
    pub clusters: Vec<Cluster>,
    /// A folder for the kubeconfigs of the controllers. It must exist if the fleet listens.
    pub folder: PathBuf,
    /// Whether other processes reach the servers.
    pub access: Access,
    /// The folder in which the servers persist their objects for the next fleet. Absent: nothing is persisted.
    pub data: Option<PathBuf>,
    /// How Pods behave on the clusters.
    pub pods: Pods,
    /// Whether the controllers apply the rate limits of their flags.
    pub limits: RateLimits,
    /// Whether the clusters evaluate constraints.
    pub constraints: Constraints,
    /// What providers of external data answer the constraints.
    pub external_data: ExternalData,
}

/// Whether other processes reach the servers of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The hub listens on this port of 127.0.0.1, and the clusters on the following ports. 0: any free ports.
    Ports(u16),
    /// No port is opened and no file is written: only this process reaches them.
    InProcess,
}

/// How Pods behave on clusters without nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pods {
    /// They stay `Pending`.
    #[default]
    Kept,
    /// They are reported as running and ready, though nothing runs.
    Settled,
}

/// Why a fleet could not start.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// Certificates could not be created.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// The data folder cannot be read or written.
    #[error(transparent)]
    Data(#[from] DataError),
    /// There are no random numbers for keys and uids.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
    /// A cluster has the hub's name.
    #[error("no cluster can be called {HUB}: that is the name of the hub")]
    Name,
    /// A server cannot listen.
    #[error("the server of {of}")]
    Listen {
        /// The name of the hub or the cluster.
        of: String,
        /// The error of the listener.
        #[source]
        source: ListenError,
    },
    /// A kubeconfig cannot be written.
    #[error("cannot write {path}")]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// The CRDs of policies cannot be generated.
    #[error(transparent)]
    Policies(#[from] reeve_api::crds::CrdError),
    /// The CRDs of placements cannot be parsed.
    #[error(transparent)]
    Placements(#[from] placement::crds::CrdError),
    /// An object cannot be created.
    #[error("cannot make {what} on {of}")]
    Make {
        /// The object, as the message names it.
        what: String,
        /// The name of the hub or the cluster.
        of: String,
        /// The error of the client.
        #[source]
        source: Box<kube::Error>,
    },
    /// The task that starts a cluster has panicked.
    #[error("the start of a cluster")]
    Broke(#[source] tokio::task::JoinError),
}

/// A server of a fleet: the hub, or a managed cluster.
pub struct Member {
    /// `hub`, or the cluster's name.
    pub name: String,
    /// The server.
    pub server: Server,
    /// The listener of the server, if other processes reach it.
    pub listener: Option<Listener>,
    /// An in-process client with all access, which all controllers share: the queue of each client takes some KiB.
    client: Client,
    /// The kubeconfig of this process's controllers. It has no credential.
    pub kubeconfig: PathBuf,
    /// The CA of the server and its clients. Each member has its own, so that a client certificate of one cluster is
    /// not valid on another.
    authority: Arc<Authority>,
    /// What evaluates its constraints.
    pub constraints: ConstraintEvaluation,
}

impl Member {
    /// An in-process client with all access.
    pub fn client(&self) -> Client {
        self.client.clone()
    }
}

/// A hub and managed clusters.
pub struct Fleet {
    /// The hub.
    pub hub: Member,
    /// The managed clusters.
    pub clusters: Vec<Member>,
    pub(crate) pods: Pods,
    pub(crate) limits: RateLimits,
    pub(crate) constraints: Constraints,
    pub(crate) activity: Activity,
}

impl Fleet {
    /// Creates the servers, the CRDs, and the clusters on the hub. [`Fleet::run`] runs the controllers. The clusters
    /// of an earlier fleet in [`FleetOptions::data`] are part of this one, too.
    pub fn start(options: FleetOptions) -> BoxFuture<'static, Result<Self, FleetError>> {
        Box::pin(async move {
            let open = |path: &PathBuf| Data::open(path, DataKind::Fleet);
            let data = options.data.as_ref().map(open).transpose()?;
            let names = clusters(&options, data.as_ref())?;
            let (pods, limits, constraints) = (options.pods, options.limits, options.constraints);
            let members = Members { options, data };
            let of_placement = placement::crds::crds()?;
            let of_policies = reeve_api::crds::all()?.into_iter();
            let of_policies: Vec<Value> = of_policies.map(|(_, crd)| crd).collect();
            let hub = members.start(HUB, 0).await?;
            let client = hub.client();
            let of_hub = crds::of_hub()?;
            for crd in of_policies.iter().chain(&of_placement).chain(&of_hub) {
                make(&client, HUB, crd).await?;
            }
            make(&client, HUB, &objects::namespace(objects::POLICIES)).await?;
            let mut of_cluster = of_policies;
            of_cluster.extend(crds::of_cluster()?);
            let starter = Arc::new(ClusterStarter {
                members,
                crds: of_cluster,
            });
            let start = |(place, wanted): (usize, Cluster)| {
                let starter = Arc::clone(&starter);
                AbortOnDropHandle::new(tokio::spawn(async move {
                    starter.start(place, &wanted).await.map(|one| (one, wanted))
                }))
            };
            let at_once = std::thread::available_parallelism().map_or(1, NonZero::get);
            let mut joining = stream::iter(names.into_iter().enumerate())
                .map(start)
                .buffered(at_once);
            let mut clusters = Vec::new();
            while let Some(cluster) = joining.next().await {
                let (cluster, wanted) = cluster.map_err(FleetError::Broke)??;
                join(&client, &wanted).await?;
                clusters.push(cluster);
            }
            make(&client, HUB, &objects::binding(objects::POLICIES, "global")).await?;
            Ok(Self {
                hub,
                clusters,
                pods,
                limits,
                constraints,
                activity: Activity::default(),
            })
        })
    }

    /// The text of a kubeconfig with a context for the hub and each cluster.
    pub fn kubeconfig(&self) -> Result<String, FleetError> {
        let members = std::iter::once(&self.hub).chain(&self.clusters);
        let all: Result<Vec<KubeconfigContext>, AuthorityError> = members
            .filter_map(|member| {
                let listener = member.listener.as_ref()?;
                let (name, authority) = (&member.name, &member.authority);
                Some(KubeconfigContext::admin(name, authority, listener))
            })
            .collect();
        Ok(kubeconfig(&all?))
    }
}

/// The requested clusters, then the others of the data folder.
fn clusters(options: &FleetOptions, data: Option<&Data>) -> Result<Vec<Cluster>, FleetError> {
    let mut clusters = options.clusters.clone();
    let is_known = |name: &String| options.clusters.iter().any(|one| one.name == *name);
    let kept = data.map(|data| data.names_in(CLUSTERS)).transpose()?;
    let kept = kept.unwrap_or_default().into_iter();
    let mut others: Vec<String> = kept.filter(|name| !is_known(name)).collect();
    // Sorted by length first: cluster10 follows cluster9.
    others.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    clusters.extend(others.into_iter().map(Cluster::from));
    if clusters.iter().any(|cluster| cluster.name == HUB) {
        return Err(FleetError::Name);
    }
    Ok(clusters)
}

/// The settings that all servers of a fleet share.
struct Members {
    options: FleetOptions,
    data: Option<Data>,
}

/// Starts managed clusters, several at a time.
struct ClusterStarter {
    members: Members,
    /// The CRDs of every cluster.
    crds: Vec<Value>,
}

impl ClusterStarter {
    /// Starts the server of a cluster and creates what is on every cluster. `place` counts the clusters of the fleet.
    async fn start(&self, place: usize, wanted: &Cluster) -> Result<Member, FleetError> {
        let name = &wanted.name;
        let offset = u16::try_from(place + 1).unwrap_or_default();
        let cluster = self.members.start(name, offset).await?;
        let client = cluster.client();
        for crd in &self.crds {
            make(&client, name, crd).await?;
        }
        for claim in objects::cluster_claims(wanted) {
            make(&client, name, &claim).await?;
        }
        make(&client, name, &objects::namespace(name)).await?;
        Ok(cluster)
    }
}

impl Members {
    async fn start(&self, name: &str, offset: u16) -> Result<Member, FleetError> {
        let is_hub = offset == 0;
        let folder = self.data.as_ref().map(|data| {
            if is_hub {
                data.folder(HUB)
            } else {
                data.folder_in(CLUSTERS, name)
            }
        });
        let folder = folder.transpose()?;
        let authority = Arc::new(match &folder {
            Some(folder) => folder.authority()?,
            None => Authority::new()?,
        });
        let constraints = ConstraintEvaluation::new(self.options.external_data.clone());
        let options = Options {
            webhooks: vec![constraints.webhook()],
            admission: if is_hub {
                vec![Arc::new(Registration)]
            } else {
                Vec::new()
            },
            authority: authority.pem(),
            signer: Some(Arc::clone(&authority)),
            rbac: true,
            ..Options::default()
        };
        let server = match &folder {
            Some(folder) => Server::open(options, folder)?,
            None => Server::start(options)?,
        };
        let path = self.options.folder.join(format!("{name}.kubeconfig"));
        let member = Member {
            name: name.to_owned(),
            client: Client::new(server.service(Identity::admin()), "default"),
            server,
            listener: None,
            kubeconfig: path,
            authority,
            constraints,
        };
        match self.options.access {
            Access::InProcess => Ok(member),
            Access::Ports(0) => listen(member, 0).await,
            Access::Ports(port) => listen(member, port.saturating_add(offset)).await,
        }
    }
}

/// Opens the port of a server and writes the kubeconfig of its controllers.
async fn listen(mut member: Member, port: u16) -> Result<Member, FleetError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listening = member.server.listen(&member.authority, address).await;
    let listener = listening.map_err(|source| FleetError::Listen {
        of: member.name.clone(),
        source,
    })?;
    // The controllers of this process need no credential, so the file has none: a file that is never removed
    // gives no access.
    let access = KubeconfigContext::anonymous(&member.name, &member.authority, &listener);
    let path = &member.kubeconfig;
    write_private(path, &kubeconfig(&[access]), None).map_err(|source| FleetError::Write {
        path: path.clone(),
        source,
    })?;
    member.listener = Some(listener);
    Ok(member)
}

/// Registers a cluster with the hub, as its administrator and its agent do.
async fn join(hub: &Client, cluster: &Cluster) -> Result<(), FleetError> {
    let name = cluster.name.as_str();
    make(hub, HUB, &objects::managed_cluster(name)).await?;
    make(hub, HUB, &objects::namespace(name)).await?;
    make(hub, HUB, &objects::lease(name)).await?;
    let refused = |what: &str| {
        let what = format!("{what} of ManagedCluster {name}");
        move |source| FleetError::Make {
            what,
            of: "the hub".to_owned(),
            source: Box::new(source),
        }
    };
    // A persisted lease is as old as the end of the last fleet.
    let lease = format!(
        "/apis/coordination.k8s.io/v1/namespaces/{name}/leases/{}",
        objects::LEASE
    );
    let renewed = merge(hub, &lease, &objects::renewal()).await;
    renewed.map_err(refused("the lease"))?;
    let path = format!("/apis/cluster.open-cluster-management.io/v1/managedclusters/{name}");
    if let Some(patch) = cluster.patch() {
        let merged = merge(hub, &path, &patch).await;
        merged.map_err(refused("the labels and taints"))?;
    }
    let path = format!("{path}/status");
    let merged = merge(hub, &path, &objects::cluster_status(cluster)).await;
    merged.map_err(refused("the status"))
}

/// Merges a patch into an object at a path.
pub(crate) async fn merge(client: &Client, path: &str, change: &Value) -> Result<(), kube::Error> {
    let request = http::Request::patch(path)
        .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
        .body(change.to_string().into_bytes())
        .map_err(kube::Error::HttpError)?;
    client.request_text(request).await.map(|_| ())
}

/// Creates an object that every fleet has. An existing one stays as it is, but a CRD is replaced by this version's.
async fn make(client: &Client, of: &str, object: &Value) -> Result<(), FleetError> {
    let text = |path: &str| {
        object
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (api_version, kind) = (text("/apiVersion"), text("/kind"));
    let root = if api_version.contains('/') {
        "apis"
    } else {
        "api"
    };
    let place = match text("/metadata/namespace") {
        "" => String::new(),
        namespace => format!("namespaces/{namespace}/"),
    };
    // The path has a regular plural: the kinds here have no other.
    let path = format!("/{root}/{api_version}/{place}{}s", kind.to_lowercase());
    let refused = |source| FleetError::Make {
        what: format!("{kind} {}", text("/metadata/name")),
        of: of.to_owned(),
        source: Box::new(source),
    };
    let request = Request::new(path.as_str());
    let request = request.create(
        &kube::api::PostParams::default(),
        object.to_string().into_bytes(),
    );
    let request = request.map_err(|error| refused(kube::Error::BuildRequest(error)))?;
    let made = match client.request_text(request).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            let path = format!("{path}/{}", text("/metadata/name"));
            match kind {
                "CustomResourceDefinition" => merge(client, &path, object).await,
                _ => Ok(()),
            }
        }
        made => made.map(|_| ()),
    };
    made.map_err(refused)
}
