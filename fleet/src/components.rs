//! Runs the controllers of a fleet. Their flags name the servers to connect to, as on real clusters.

use std::ffi::OsString;

use clap::Parser as _;
use futures::future::BoxFuture;
use reeve_config_policy_controller as configuration;
use reeve_framework_addon as addon;
use reeve_propagator as propagator;
use reeve_runtime::CancellationToken;
use reeve_runtime::client::InProcessServers;
use reeve_runtime::metrics::ControllerMetrics;
use reeve_runtime::supervisor::TaskError;
use tokio::task::JoinSet;

use crate::constraints::Constraints;
use crate::placement::controller::{self, Deps};
use crate::start::{Fleet, Member, Pods};
use crate::{heartbeat, placement_rules, pods, registration};

/// Why the controllers of a fleet have ended.
#[derive(Debug, thiserror::Error)]
pub enum ComponentError {
    /// A component rejected its flags.
    #[error("the flags of {name}")]
    Flags {
        /// The component.
        name: &'static str,
        /// The error of its arguments.
        #[source]
        source: Box<clap::Error>,
    },
    /// The propagator.
    #[error("the propagator of the hub")]
    Propagator(#[source] Box<propagator::Error>),
    /// A framework add-on.
    #[error("the framework add-on of {cluster}")]
    Addon {
        /// The name of its cluster.
        cluster: String,
        /// The error of the framework add-on.
        #[source]
        source: Box<addon::Error>,
    },
    /// A configuration policy controller.
    #[error("the configuration policy controller of {cluster}")]
    Configuration {
        /// The name of its cluster.
        cluster: String,
        /// The error of the configuration policy controller.
        #[source]
        source: Box<configuration::Error>,
    },
    /// The audit of the constraints of a cluster ended.
    #[error("the audit of constraints of {cluster}")]
    Constraints {
        /// The name of the cluster.
        cluster: String,
        /// The error of the task.
        #[source]
        source: TaskError,
    },
    /// The controller of the Pods of a cluster ended.
    #[error("what settles the Pods of {cluster}")]
    Pods {
        /// The name of the cluster.
        cluster: String,
        /// The error of the task.
        #[source]
        source: TaskError,
    },
    /// Placement or registration ended.
    #[error("{name} of the hub")]
    Hub {
        /// The component.
        name: &'static str,
        /// The error of the task.
        #[source]
        source: TaskError,
    },
    /// A controller's task panicked.
    #[error("a controller broke")]
    Broke(#[from] tokio::task::JoinError),
}

/// The flags that every component gets: no leader election, no health probes, no metrics server.
const IN_PROCESS_FLAGS: [&str; 3] = [
    "--leader-elect=false",
    "--metrics-bind-address=0",
    "--health-probe-bind-address=0",
];

impl Fleet {
    /// Runs all controllers until `stop`, or until one of them ends.
    pub fn run(&self, stop: CancellationToken) -> BoxFuture<'_, Result<(), ComponentError>> {
        Box::pin(async move {
            let mut all = JoinSet::new();
            let hub = self.hub.client();
            let names = self
                .clusters
                .iter()
                .map(|cluster| cluster.name.clone())
                .collect();
            all.spawn({
                let (hub, stop) = (hub.clone(), stop.clone());
                async move {
                    heartbeat::run(hub, names, stop).await;
                    Ok(())
                }
            });
            all.spawn({
                let (hub, stop) = (hub.clone(), stop.clone());
                let metrics = self.metrics();
                async move {
                    let ended = registration::controller::run(hub, metrics, stop).await;
                    ended.map_err(|source| ComponentError::Hub {
                        name: "registration",
                        source,
                    })
                }
            });
            all.spawn({
                let stop = stop.clone();
                let deps = Deps::of(hub).tracked_by(&self.activity.component());
                async move {
                    let ended = controller::run(deps, stop).await;
                    ended.map_err(|source| ComponentError::Hub {
                        name: "placement",
                        source,
                    })
                }
            });
            all.spawn({
                let (hub, stop, metrics) = (self.hub.client(), stop.clone(), self.metrics());
                async move {
                    let ended = placement_rules::run(hub, metrics, stop).await;
                    ended.map_err(|source| ComponentError::Hub {
                        name: "placement rules",
                        source,
                    })
                }
            });
            let args = self.propagator_args()?;
            let stopped = stop.clone();
            all.spawn(async move {
                let ended = propagator::run(args, stopped).await;
                ended.map_err(|source| ComponentError::Propagator(Box::new(source)))
            });
            for cluster in &self.clusters {
                self.run_agents(cluster, &mut all, &stop)?;
                if self.constraints != Constraints::Ignored {
                    let (server, name, stop) =
                        (cluster.server.clone(), cluster.name.clone(), stop.clone());
                    let (metrics, constraints) = (self.metrics(), self.constraints);
                    let evaluation = cluster.constraints.clone();
                    all.spawn(async move {
                        let ended = evaluation.run(&server, constraints, metrics, stop).await;
                        ended.map_err(|source| ComponentError::Constraints {
                            cluster: name,
                            source,
                        })
                    });
                }
                if self.pods == Pods::Settled {
                    let (client, name, stop) =
                        (cluster.client(), cluster.name.clone(), stop.clone());
                    let metrics = self.metrics();
                    all.spawn(async move {
                        let ended = pods::settle(client, metrics, stop).await;
                        ended.map_err(|source| ComponentError::Pods {
                            cluster: name,
                            source,
                        })
                    });
                }
            }
            while let Some(ended) = all.join_next().await {
                stop.cancel();
                ended??;
            }
            Ok(())
        })
    }

    fn run_agents(
        &self,
        cluster: &Member,
        all: &mut JoinSet<Result<(), ComponentError>>,
        stop: &CancellationToken,
    ) -> Result<(), ComponentError> {
        let args = self.addon_args(cluster)?;
        let (stopped, name) = (stop.clone(), cluster.name.clone());
        all.spawn(async move {
            let ended = addon::run(args, stopped).await;
            ended.map_err(|source| ComponentError::Addon {
                cluster: name,
                source: Box::new(source),
            })
        });
        let args = self.configuration_args(cluster)?;
        let (stopped, name) = (stop.clone(), cluster.name.clone());
        all.spawn(async move {
            let ended = configuration::run(args, stopped).await;
            ended.map_err(|source| ComponentError::Configuration {
                cluster: name,
                source: Box::new(source),
            })
        });
        Ok(())
    }

    /// The metrics of a controller that serves none.
    fn metrics(&self) -> ControllerMetrics {
        ControllerMetrics::default().tracked_by(&self.activity.component())
    }

    /// The kubeconfigs of servers, with the in-process clients that replace their sockets.
    fn in_process<const N: usize>(&self, members: [&Member; N]) -> InProcessServers {
        let known = members.map(|member| (member.kubeconfig.clone(), member.client()));
        InProcessServers::new(known)
            .tracked_by(self.activity.component())
            .with_rate_limits(self.limits)
    }

    fn propagator_args(&self) -> Result<propagator::Args, ComponentError> {
        const NAME: &str = "governance-policy-propagator";
        let own = vec![
            flag("kubeconfig", &self.hub.kubeconfig),
            "--enable-webhooks=false".into(),
            "--watch-namespace=".into(),
        ];
        let mut args =
            propagator::Args::try_parse_from(with_all(NAME, own)).map_err(refused(NAME))?;
        args.in_process = self.in_process([&self.hub]);
        Ok(args)
    }

    fn addon_args(&self, cluster: &Member) -> Result<addon::Args, ComponentError> {
        const NAME: &str = "governance-policy-framework-addon";
        let own = vec![
            flag("hub-cluster-configfile", &self.hub.kubeconfig),
            flag("managed-cluster-configfile", &cluster.kubeconfig),
            format!("--cluster-namespace={}", cluster.name).into(),
        ];
        let mut args = addon::Args::try_parse_from(with_all(NAME, own)).map_err(refused(NAME))?;
        args.in_process = self.in_process([&self.hub, cluster]);
        Ok(args)
    }

    fn configuration_args(&self, cluster: &Member) -> Result<configuration::Args, ComponentError> {
        const NAME: &str = "config-policy-controller";
        let own = vec![
            "controller".into(),
            flag("kubeconfig", &cluster.kubeconfig),
            format!("--cluster-name={}", cluster.name).into(),
            format!("--watch-namespace={}", cluster.name).into(),
            "--enable-operator-policy=true".into(),
        ];
        let mut args =
            configuration::Args::try_parse_from(with_all(NAME, own)).map_err(refused(NAME))?;
        if let Some(configuration::Command::Controller(args)) = &mut args.command {
            args.in_process = self.in_process([cluster]);
        }
        Ok(args)
    }
}

fn flag(name: &str, path: &std::path::Path) -> OsString {
    let mut flag = OsString::from(format!("--{name}="));
    flag.push(path);
    flag
}

fn with_all(name: &'static str, own: Vec<OsString>) -> Vec<OsString> {
    let mut all = vec![OsString::from(name)];
    all.extend(own);
    all.extend(IN_PROCESS_FLAGS.map(OsString::from));
    all
}

fn refused(name: &'static str) -> impl FnOnce(clap::Error) -> ComponentError {
    move |source| ComponentError::Flags {
        name,
        source: Box::new(source),
    }
}
