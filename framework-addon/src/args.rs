//! The flags of `governance-policy-framework-addon`.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Parser, Subcommand};
use reeve_runtime::client::InProcessServers;
use reeve_runtime::flags::{ListenAddress, LogArgs, TlsArgs, go_bool, listen_address};

/// The user agent in the audit logs of the API servers.
pub const USER_AGENT: &str = "governance-policy-framework-addon";

/// The sub-commands.
#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// Makes the running add-on stop syncing, deletes the policies and waits until they are gone.
    #[command(name = "trigger-uninstall")]
    TriggerUninstall(UninstallArgs),
}

/// The flags of `trigger-uninstall`.
#[derive(clap::Args, Clone, Debug)]
pub struct UninstallArgs {
    /// Name of the add-on's Deployment.
    #[arg(long, default_value = DEPLOYMENT, value_name = "NAME")]
    pub deployment_name: String,
    /// Namespace of the add-on's Deployment.
    #[arg(long, default_value = ADDON_NAMESPACE, value_name = "NAME")]
    pub deployment_namespace: String,
    /// Namespace of the policies. Required.
    #[arg(long, default_value = "", value_name = "NAME")]
    pub policy_namespace: String,
    /// Seconds after which to give up, at least 30.
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    pub timeout_seconds: u32,
    /// The cluster's kubeconfig. Absent: KUBECONFIG, the Pod's service account, ~/.kube/config.
    #[arg(long, value_parser = any_path(), value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The flags of logging.
    #[command(flatten)]
    pub log: LogArgs,
}

/// The default name of the add-on's Deployment.
pub const DEPLOYMENT: &str = "governance-policy-framework-addon";
/// The namespace of the add-on's Deployment.
pub const ADDON_NAMESPACE: &str = "open-cluster-management-agent-addon";

/// Keeps a managed cluster's policies the same as those in its namespace on the hub, creates the
/// objects that policy templates describe, and carries their compliance back to the hub.
// Each is a flag of its own.
#[allow(clippy::struct_excessive_bools)]
#[derive(Parser, Clone, Debug)]
#[command(
    name = "governance-policy-framework-addon",
    version,
    args_override_self = true,
    args_conflicts_with_subcommands = true
)]
pub struct Args {
    /// Another thing to do than to run.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The namespace of the policies on the managed cluster. Required.
    #[arg(long, default_value = "", value_name = "NAMESPACE")]
    pub cluster_namespace: String,
    /// The cluster's namespace on the hub. Absent: the same as --cluster-namespace.
    #[arg(long, default_value = "", value_name = "NAMESPACE")]
    pub cluster_namespace_on_hub: String,
    /// The hub's kubeconfig. Absent: the environment variable `HUB_CONFIG`.
    #[arg(long, value_parser = any_path(), value_name = "FILE")]
    pub hub_cluster_configfile: Option<PathBuf>,
    /// The managed cluster's kubeconfig. Absent: the environment variable `MANAGED_CONFIG`, then
    /// --kubeconfig.
    #[arg(long, value_parser = any_path(), value_name = "FILE")]
    pub managed_cluster_configfile: Option<PathBuf>,
    /// The managed cluster's kubeconfig when nothing more particular is given. Absent: KUBECONFIG,
    /// the Pod's service account, ~/.kube/config.
    #[arg(long, value_parser = any_path(), value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Servers of this process that kubeconfigs may point to. Not a flag.
    #[arg(skip)]
    pub in_process: InProcessServers,
    /// Renew the lease by which the hub knows that the add-on is alive.
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = go_bool, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub enable_lease: bool,
    /// The managed cluster is the hub itself: sync nothing from or to a hub.
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = go_bool, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub on_multicluster_hub: bool,
    /// Deprecated: the same as --on-multicluster-hub.
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = go_bool, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub disable_spec_sync: bool,
    /// Leave Gatekeeper's kinds alone: policies with templates of them are in error.
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = go_bool, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub disable_gatekeeper_sync: bool,
    /// Work only while holding the leader lease.
    #[arg(long, default_value = "true", default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = go_bool, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub leader_elect: bool,
    /// Address of the /healthz and /readyz probes; 0 switches them off.
    #[arg(long, default_value = ":8080", value_parser = listen_address, value_name = "ADDRESS")]
    pub health_probe_bind_address: ListenAddress,
    /// Address of the metrics server; 0 switches it off.
    #[arg(long, default_value = "localhost:8383", value_parser = listen_address, value_name = "ADDRESS")]
    pub metrics_bind_address: ListenAddress,
    /// Serve metrics over HTTPS, to callers that the API server allows to get /metrics.
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = go_bool, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub secure_metrics: bool,
    /// Policies that each controller works on at once [default: 2]. When given, it also sets the
    /// two client flags that are not given: 15 requests per second and a burst of 22 for each, and
    /// one more.
    #[arg(long, value_name = "N")]
    pub evaluation_concurrency: Option<u8>,
    /// Requests per second to the managed cluster, on average [default: 30].
    #[arg(long, value_name = "N")]
    pub client_max_qps: Option<f32>,
    /// Requests to the managed cluster at once after a pause [default: 45].
    #[arg(long, value_name = "N")]
    pub client_burst: Option<u32>,
    /// TLS settings.
    #[command(flatten)]
    pub tls: TlsArgs,
    /// The flags of logging.
    #[command(flatten)]
    pub log: LogArgs,
}

/// A path that may be empty: manifests pass flags with nothing behind the `=`, which count as absent.
fn any_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}
