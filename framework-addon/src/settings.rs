//! The settings of the process: its flags and environment variables, checked.

use std::path::PathBuf;

use crate::args::Args;
use crate::error::Error;
use crate::gatekeeper::Integration;

/// The client's rate limit for requests to an API server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Requests per second on average.
    pub qps: f32,
    /// Requests at once after a pause.
    pub burst: u32,
}

impl Rates {
    /// The defaults of client-go: the hub serves many clusters.
    pub const HUB: Self = Self {
        qps: 5.0,
        burst: 10,
    };
}

/// Whether the managed cluster is the hub itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A hub and a managed cluster.
    Managed,
    /// The hub manages itself: its propagator writes the replicas.
    SelfManagedHub,
}

/// The flags and the environment, checked and put together.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Whether the managed cluster is the hub itself.
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
    use clap::Parser;
    use reeve_runtime::flags::listen_address;

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
    fn flags_take_precedence_over_the_environment() {
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
    fn missing_flag_is_named_in_the_error() {
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
    fn fwk_9_self_managed_hub_needs_no_hub_kubeconfig() {
        let args = ["p", "--cluster-namespace=c1", "--on-multicluster-hub"];
        let args = Args::try_parse_from(args).unwrap();
        assert_eq!(args.settings(nothing).unwrap().hub_kubeconfig, None);
    }

    #[test]
    fn evaluation_concurrency_sets_the_rates_without_flags() {
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
    fn all_flags_of_the_manifests_are_accepted() {
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
