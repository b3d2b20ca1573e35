//! The flags of `governance-policy-framework-addon`.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Parser, Subcommand};
use reeve_runtime::client::InProcessServers;
use reeve_runtime::flags::{ListenAddress, LogArgs, TlsArgs, go_bool, listen_address};

use crate::error::Error;
use crate::gatekeeper::Integration;
use crate::uninstall::error::UninstallError;
use crate::uninstall::messages;

/// The process, or what a hook runs before it is removed.
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
    /// Logging.
    #[command(flatten)]
    pub log: LogArgs,
}

impl UninstallArgs {
    /// Whether the flags make sense.
    pub fn check(&self) -> Result<(), UninstallError> {
        let needed = [
            &self.deployment_name,
            &self.deployment_namespace,
            &self.policy_namespace,
        ];
        if needed.iter().any(|value| value.is_empty()) {
            return Err(UninstallError::Flags(messages::FLAGS));
        }
        if self.timeout_seconds < 30 {
            return Err(UninstallError::Flags(messages::TIMEOUT));
        }
        Ok(())
    }
}

/// The name of the add-on's Deployment, unless the environment says another.
pub const DEPLOYMENT: &str = "governance-policy-framework-addon";
/// The namespace of the add-on's Deployment.
pub const ADDON_NAMESPACE: &str = "open-cluster-management-agent-addon";

/// Keeps a managed cluster's policies the same as those in its namespace on the hub, creates the
/// objects that policy templates describe, and carries their compliance back to the hub.
// Each is a flag of its own; no two say the same thing.
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
    /// Servers in this process that the kubeconfigs may lead to. Not a flag.
    #[arg(skip)]
    pub in_process: InProcessServers,
    /// Renew the lease that tells the hub that the add-on is alive.
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
    /// Logging.
    #[command(flatten)]
    pub log: LogArgs,
}

/// Manifests pass flags with nothing behind the sign; that is as if they did not.
fn any_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// Requests to an API server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Per second on average.
    pub qps: f32,
    /// At once after a pause.
    pub burst: u32,
}

impl Rates {
    /// What client-go does unless told otherwise; the hub has many clusters to serve.
    pub const HUB: Self = Self {
        qps: 5.0,
        burst: 10,
    };
}

/// Which clusters take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A hub and a managed cluster.
    Managed,
    /// The hub manages itself: its propagator writes the policies that are worked on here.
    SelfManagedHub,
}

/// The flags and the environment, checked and put together.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Which clusters take part.
    pub mode: Mode,
    /// Whether policies may have templates of Gatekeeper's kinds.
    pub integration: Integration,
    /// The policies' namespace on the managed cluster.
    pub namespace: String,
    /// The policies' namespace on the hub.
    pub hub_namespace: String,
    /// The hub's kubeconfig; always present in [`Mode::Managed`].
    pub hub_kubeconfig: Option<PathBuf>,
    /// The managed cluster's kubeconfig; absent: to be found as kubectl does.
    pub managed_kubeconfig: Option<PathBuf>,
    /// Policies that each controller works on at once.
    pub workers: usize,
    /// Requests to the managed cluster.
    pub rates: Rates,
}

impl Args {
    /// Checks the flags against each other and fills what is missing from `environment`.
    pub fn settings(
        &self,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Settings, Error> {
        if self.cluster_namespace.is_empty() {
            return Err(Error::ClusterNamespace);
        }
        let given =
            |flag: &Option<PathBuf>| flag.clone().filter(|path| !path.as_os_str().is_empty());
        let path = |flag: &Option<PathBuf>, variable: &str| {
            let set = || environment(variable).filter(|value| !value.is_empty());
            given(flag).or_else(|| set().map(PathBuf::from))
        };
        let by_environment = environment("ON_MULTICLUSTERHUB").is_some_and(|value| value == "true");
        let alone = self.on_multicluster_hub || self.disable_spec_sync || by_environment;
        let mode = if alone {
            Mode::SelfManagedHub
        } else {
            Mode::Managed
        };
        let hub_kubeconfig = path(&self.hub_cluster_configfile, "HUB_CONFIG");
        if mode == Mode::Managed && hub_kubeconfig.is_none() {
            return Err(Error::NoHubKubeconfig);
        }
        let hub_namespace = if self.cluster_namespace_on_hub.is_empty() {
            &self.cluster_namespace
        } else {
            &self.cluster_namespace_on_hub
        };
        let managed = path(&self.managed_cluster_configfile, "MANAGED_CONFIG");
        let integration = if self.disable_gatekeeper_sync {
            Integration::Disabled
        } else {
            Integration::Enabled
        };
        Ok(Settings {
            mode,
            integration,
            namespace: self.cluster_namespace.clone(),
            hub_namespace: hub_namespace.clone(),
            hub_kubeconfig,
            managed_kubeconfig: managed.or_else(|| given(&self.kubeconfig)),
            workers: usize::from(self.evaluation_concurrency.unwrap_or(2).max(1)),
            rates: self.rates(),
        })
    }

    fn rates(&self) -> Rates {
        let asked = self.evaluation_concurrency;
        let qps = asked.map_or(30.0, |n| 15.0 * f32::from(n));
        let burst = asked.map_or(45, |n| u32::from(n).saturating_mul(22).saturating_add(1));
        Rates {
            qps: self.client_max_qps.unwrap_or(qps),
            burst: self.client_burst.unwrap_or(burst),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Args {
        let namespace = [
            "p",
            "--cluster-namespace=c1",
            "--hub-cluster-configfile=/hub",
        ];
        Args::try_parse_from([&namespace, args].concat()).unwrap()
    }

    fn nothing(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn defaults() {
        let args = parse(&[]);
        assert!(args.leader_elect && !args.enable_lease);
        assert_eq!(
            args.health_probe_bind_address,
            listen_address(":8080").unwrap()
        );
        let expected = Settings {
            mode: Mode::Managed,
            integration: Integration::Enabled,
            namespace: "c1".into(),
            hub_namespace: "c1".into(),
            hub_kubeconfig: Some("/hub".into()),
            managed_kubeconfig: None,
            workers: 2,
            rates: Rates {
                qps: 30.0,
                burst: 45,
            },
        };
        assert_eq!(args.settings(nothing).unwrap(), expected);
    }

    #[test]
    fn the_environment_fills_only_what_no_flag_says() {
        let environment = |name: &str| match name {
            "HUB_CONFIG" => Some("/env/hub".to_owned()),
            "MANAGED_CONFIG" => Some("/env/managed".to_owned()),
            "ON_MULTICLUSTERHUB" => Some("true".to_owned()),
            _ => None,
        };
        let settings = parse(&["--kubeconfig=/other"])
            .settings(environment)
            .unwrap();
        assert_eq!(settings.hub_kubeconfig, Some("/hub".into()));
        assert_eq!(settings.managed_kubeconfig, Some("/env/managed".into()));
        assert_eq!(settings.mode, Mode::SelfManagedHub);
        let args = ["p", "--cluster-namespace=c1", "--hub-cluster-configfile="];
        let args = Args::try_parse_from(args).unwrap();
        let settings = args.settings(environment).unwrap();
        assert_eq!(settings.hub_kubeconfig, Some("/env/hub".into()));
    }

    #[test]
    fn what_is_missing_is_named() {
        let args = Args::try_parse_from(["p"]).unwrap();
        let error = args.settings(nothing).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the --cluster-namespace flag must be provided"
        );
        let args = Args::try_parse_from(["p", "--cluster-namespace", "c1"]).unwrap();
        assert!(
            args.settings(nothing)
                .unwrap_err()
                .to_string()
                .contains("HUB_CONFIG")
        );
        assert!(Args::try_parse_from(["p", "--no-such-flag"]).is_err());
    }

    #[test]
    fn rough_edge_42_a_self_managed_hub_needs_no_hub_kubeconfig() {
        let args = ["p", "--cluster-namespace=c1", "--on-multicluster-hub"];
        let args = Args::try_parse_from(args).unwrap();
        assert_eq!(args.settings(nothing).unwrap().hub_kubeconfig, None);
    }

    #[test]
    fn an_explicit_concurrency_sets_the_rates_that_are_not_explicit() {
        let rates = |args: &[&str]| parse(args).settings(nothing).unwrap().rates;
        let four = rates(&["--evaluation-concurrency=4"]);
        assert_eq!(
            four,
            Rates {
                qps: 60.0,
                burst: 89
            }
        );
        let four = rates(&["--evaluation-concurrency=4", "--client-max-qps=7"]);
        assert_eq!(
            four,
            Rates {
                qps: 7.0,
                burst: 89
            }
        );
        let two = rates(&["--client-burst=9"]);
        assert_eq!(
            two,
            Rates {
                qps: 30.0,
                burst: 9
            }
        );
    }

    #[test]
    fn every_flag_of_the_manifests_is_accepted() {
        let args = parse(&[
            "--cluster-namespace-on-hub=c2",
            "--enable-lease=true",
            "--disable-spec-sync",
            "--disable-gatekeeper-sync=true",
            "--leader-elect=false",
            "--secure-metrics=false",
            "--tls-min-version=VersionTLS12",
            "--tls-cipher-suites=TLS_AES_128_GCM_SHA256",
            "--log-level=2",
            "--log-encoder=json",
            "-v",
            "0",
        ]);
        assert_eq!(args.settings(nothing).unwrap().hub_namespace, "c2");
    }
}
