//! `reeve install` and `reeve uninstall`: the components of a hub.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kube::Client;
use reeve_install::{
    Applied, InstallError, InstallOptions, NAMESPACE, Outcome, Removed, UninstallOptions, Write,
    apply, objects, uninstall, wait,
};
use reeve_runtime::CancellationToken;
use serde_json::Value;

use crate::hub::HubArgs;
use crate::output;
use crate::usage::{EXIT_FINDINGS, EXIT_TIME, until_stopped};

/// What `--dry-run` may be.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum DryRun {
    /// The objects are printed, and no cluster is asked.
    Client,
    /// The API server says what it would store.
    Server,
}

/// What is installed, and where.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  reeve install --context hub --image registry.example.com/reeve:0.1.0
                                              install, or upgrade, and wait
  reeve install --context hub --image registry.example.com/reeve:0.1.0 --dry-run=server
                                              what would change
  reeve install --image registry.example.com/reeve:0.1.0 --dry-run=client > hub.yaml
                                              the manifests

The components of Open Cluster Management are replaced in place: objects, accounts and add-ons keep their names. Run again,
it changes nothing. The add-ons of clusters are enabled as ever: clusteradm addon enable.

Exit codes: 0 installed, 1 could not run, 3 not available in time (see --timeout), 64 usage.")]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    hub: HubArgs,
    /// The image of all components and agents, with tag or digest.
    #[arg(long, value_name = "IMAGE")]
    image: String,
    /// The namespace of the components. It is created if it is not there.
    #[arg(short, long, default_value = NAMESPACE, value_name = "NAME")]
    namespace: String,
    /// Install the admission webhooks of the propagator as well. Needs cert-manager.
    #[arg(long)]
    webhooks: bool,
    /// Install a Service and a `ServiceMonitor` for metrics as well. Needs the Prometheus operator.
    #[arg(long)]
    monitoring: bool,
    /// Write nothing.
    #[arg(long, value_enum, value_name = "WHERE")]
    dry_run: Option<DryRun>,
    /// How long the components may take to become available, in seconds. 0 does not wait.
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    timeout: u64,
}

/// What is taken off a hub.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  reeve uninstall --context hub               the components, their rights and the two ClusterManagementAddOns
  reeve uninstall --context hub --delete-crds
                                              the kinds of policies, too, and with them every policy

Only what `reeve install` has applied is deleted: it has the label app.kubernetes.io/managed-by=reeve-install. The namespace
stays. Run again, it finds nothing.

Exit codes: 0 uninstalled, 1 could not run, 2 add-ons are enabled, 64 usage.")]
pub(crate) struct UninstallArgs {
    #[command(flatten)]
    hub: HubArgs,
    /// The namespace of the components.
    #[arg(short, long, default_value = NAMESPACE, value_name = "NAME")]
    namespace: String,
    /// Delete the definitions of the kinds of policies, and with them every policy of the hub.
    #[arg(long)]
    delete_crds: bool,
    /// Uninstall although clusters have the add-ons, whose agents then cannot clean up.
    #[arg(long)]
    ignore_add_ons: bool,
}

pub(crate) async fn run(args: InstallArgs, stop: CancellationToken) -> Result<ExitCode> {
    reeve_runtime::logging::start_nowhere();
    until_stopped(&stop, args.run()).await
}

pub(crate) async fn run_uninstall(
    args: UninstallArgs,
    stop: CancellationToken,
) -> Result<ExitCode> {
    reeve_runtime::logging::start_nowhere();
    until_stopped(&stop, args.run()).await
}

impl InstallArgs {
    async fn run(&self) -> Result<ExitCode> {
        let started = Instant::now();
        let objects = objects(&InstallOptions {
            namespace: self.namespace.clone(),
            image: self.image.clone(),
            webhooks: self.webhooks,
            monitoring: self.monitoring,
        })?;
        if self.dry_run == Some(DryRun::Client) {
            return print(&objects);
        }
        let hub = self.hub.client().await?;
        let write = match self.dry_run {
            Some(_) => Write::DryRun,
            None => Write::Persisted,
        };
        let mut counts = Counts::default();
        apply(&hub, &objects, write, |applied| {
            counts.add(applied.outcome);
            show(applied);
        })
        .await
        .context("cannot install")?;
        if write == Write::Persisted
            && self.timeout > 0
            && !self.becomes_available(&hub, &objects).await?
        {
            return Ok(ExitCode::from(EXIT_TIME));
        }
        let verb = match write {
            Write::Persisted => "installed",
            Write::DryRun => "dry run, nothing written",
        };
        let seconds = started.elapsed().as_secs_f64();
        output::line(format_args!("{verb}: {}   {seconds:.1} s", counts.text()));
        Ok(ExitCode::SUCCESS)
    }

    /// Whether the components become available in time.
    async fn becomes_available(&self, hub: &Client, objects: &[Value]) -> Result<bool> {
        let timeout = Duration::from_secs(self.timeout);
        let waited = wait(hub, objects, timeout, |line| eprintln!("waiting: {line}")).await;
        match waited {
            Ok(()) => Ok(true),
            Err(error @ InstallError::NotAvailable { .. }) => {
                eprintln!("error: {error} (--timeout)");
                Ok(false)
            }
            Err(error) => Err(error).context("cannot see whether the components are available"),
        }
    }
}

impl UninstallArgs {
    async fn run(&self) -> Result<ExitCode> {
        let hub = self.hub.client().await?;
        let options = UninstallOptions {
            namespace: self.namespace.clone(),
            with_crds: self.delete_crds,
            ignores_add_ons: self.ignore_add_ons,
        };
        let mut deleted = 0_usize;
        let mut foreign = 0_usize;
        let removed = uninstall(&hub, &options, |removed| match removed {
            Removed::Deleted(object) => {
                deleted += 1;
                output::line(format_args!("deleted     {object}"));
            }
            Removed::Foreign(object) => {
                foreign += 1;
                output::line(format_args!(
                    "kept        {object}: not installed by `reeve install`"
                ));
            }
        });
        match removed.await {
            Ok(()) => {}
            Err(error @ InstallError::AddOns(_)) => {
                eprintln!("error: cannot uninstall: {error}");
                return Ok(ExitCode::from(EXIT_FINDINGS));
            }
            Err(error) => bail!(anyhow::Error::from(error).context("cannot uninstall")),
        }
        match (deleted, foreign) {
            (0, 0) => output::line(format_args!("nothing is installed")),
            (deleted, 0) => output::line(format_args!("uninstalled: {deleted} deleted")),
            (deleted, foreign) => {
                output::line(format_args!(
                    "uninstalled: {deleted} deleted, {foreign} kept"
                ));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn show(applied: &Applied) {
    output::line(format_args!(
        "{:<11} {}",
        applied.outcome.word(),
        applied.object
    ));
}

/// The manifests, as documents of YAML.
fn print(objects: &[Value]) -> Result<ExitCode> {
    for object in objects {
        let text = serde_saphyr::to_string(object).context("cannot write an object")?;
        output::line(format_args!("---\n{}", text.trim_end()));
    }
    Ok(ExitCode::SUCCESS)
}

/// How many objects became what.
#[derive(Default)]
struct Counts([usize; 4]);

impl Counts {
    const ALL: [Outcome; 4] = [
        Outcome::Created,
        Outcome::Configured,
        Outcome::Unchanged,
        Outcome::NotAsked,
    ];

    fn add(&mut self, outcome: Outcome) {
        for (count, one) in self.0.iter_mut().zip(Self::ALL) {
            *count += usize::from(one == outcome);
        }
    }

    fn text(&self) -> String {
        let counts = self
            .0
            .iter()
            .zip(Self::ALL)
            .filter(|(count, _)| **count > 0);
        let texts: Vec<String> = counts
            .map(|(count, outcome)| format!("{count} {}", outcome.word()))
            .collect();
        texts.join(", ")
    }
}
