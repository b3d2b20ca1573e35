//! `reeve up`: a hub and managed clusters in this process, with every controller.

mod messages;
mod policies;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum;
use reeve_fleet::{Fleet, FleetOptions, Foreign, Kubeconfig, Pods, RateLimits, Scratch, apply};
use reeve_runtime::CancellationToken;
use reeve_runtime::flags::LogArgs;

use crate::output;
use policies::Row;
use table::Table;

/// The interval between two reads of the hub.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long to wait for the end of the controllers.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);
/// The exit code when the fleet did not reach the state that `--wait` names.
const EXIT_NOT_REACHED: u8 = 2;

/// What a fleet is made of, and until when it runs.
// Each boolean is a separate flag.
#[allow(clippy::struct_excessive_bools)]
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  reeve up                                   a hub and two clusters, until Ctrl-C
  reeve up --policies policies/              the same, with every policy of a folder
  reeve up --clusters 20 --policies p.yaml --once --wait compliant
                                             exit 0 when all clusters comply, 2 if they do not in time

  reeve up --data fleet/                     the same fleet at every start

Everything runs in this process and, without --data, is gone when it ends. Nodes do not exist: Pods are kept, and never run.")]
pub(crate) struct Args {
    /// How many managed clusters: cluster1, cluster2 and so on.
    #[arg(long, default_value_t = 2)]
    clusters: usize,
    /// A file, or a folder with files, to apply to the hub. May be given several times. Objects without a namespace go
    /// to `policies`, where placements may choose among all clusters.
    #[arg(long, value_name = "PATH")]
    policies: Vec<PathBuf>,
    /// The hub's port on 127.0.0.1; the clusters have those after it. 0: whichever are free.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// A folder in which the hub and the clusters keep everything, for the next start on it. Its clusters are there
    /// again, even if --clusters asks for fewer.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Set Pods on the clusters to running and ready. Nothing runs all the same: without this they stay Pending.
    #[arg(long)]
    settle_pods: bool,
    /// Where the kubeconfig is written, with a context for the hub and each cluster.
    #[arg(long, default_value = "reeve.kubeconfig", value_name = "FILE")]
    kubeconfig: PathBuf,
    /// Add the contexts to a kubeconfig that Reeve has not written. Its other contexts stay in any case.
    #[arg(long)]
    force: bool,
    /// Let the controllers keep to the request rates that they have on real clusters. Without this they have none: there
    /// is nobody whom they could be too fast for.
    #[arg(long)]
    client_limits: bool,
    /// End when what --wait names is so, instead of running until Ctrl-C.
    #[arg(long, requires = "wait")]
    once: bool,
    /// What to wait for.
    #[arg(long, value_name = "STATE")]
    wait: Option<Wait>,
    /// How long to wait, in seconds.
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    timeout: u64,
    #[command(flatten)]
    log: LogArgs,
}

/// What may be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Wait {
    /// Every policy is Compliant on every cluster that it is bound to, and bound to one at least.
    Compliant,
    /// Every policy has an answer from every cluster that it is bound to.
    Evaluated,
}

pub(crate) async fn run(args: Args, stop: CancellationToken) -> Result<ExitCode> {
    reeve_runtime::logging::start(&args.log)?;
    let started = Instant::now();
    let scratch = Scratch::new();
    let scratch = scratch.context("cannot make a folder for the controllers' kubeconfigs")?;
    ensure!(args.clusters < 10_000, "--clusters: at most 9999");
    let fleet = Fleet::start(args.options(scratch.path())).await?;
    let kubeconfig = fleet.kubeconfig()?;
    let foreign = Foreign::forced(args.force);
    let _kubeconfig = Kubeconfig::write(&args.kubeconfig, &kubeconfig, "reeve up", foreign)?;
    output::line(format_args!(
        "a hub and {} clusters run after {:.2} s",
        fleet.clusters.len(),
        started.elapsed().as_secs_f64()
    ));
    output::line(format_args!(
        "look around with: kubectl --kubeconfig {} --context hub",
        args.kubeconfig.display()
    ));
    let work = stop.child_token();
    let controllers = fleet.run(work.clone());
    let shown = async {
        for applied in apply(&fleet.hub.client(), &args.policies).await? {
            let (count, path) = (applied.count, applied.path.display());
            output::line(format_args!("applied {count} objects of {path}"));
        }
        show(&fleet, &args, &stop, started).await
    };
    tokio::pin!(controllers, shown);
    tokio::select! {
        // A fleet does not work without its controllers.
        ended = &mut controllers => {
            ended?;
            ensure!(stop.is_cancelled(), "a controller has ended");
            Ok(ExitCode::SUCCESS)
        }
        outcome = &mut shown => {
            work.cancel();
            // All controllers end with this process: there is no need to wait longer for one.
            let ended = tokio::time::timeout(SHUTDOWN_TIMEOUT, controllers).await;
            let outcome = outcome?;
            if let Ok(ended) = ended {
                ended?;
            }
            Ok(outcome)
        }
    }
}

impl Args {
    fn options(&self, folder: &Path) -> FleetOptions {
        let name = |number| format!("cluster{number}");
        FleetOptions {
            clusters: (1..=self.clusters).map(name).collect(),
            folder: folder.to_owned(),
            port: self.port,
            data: self.data.clone(),
            pods: if self.settle_pods {
                Pods::Settled
            } else {
                Pods::Kept
            },
            limits: if self.client_limits {
                RateLimits::Enforced
            } else {
                RateLimits::Lifted
            },
        }
    }
}

/// Prints the compliance of the policies, until it is time to end.
async fn show(
    fleet: &Fleet,
    args: &Args,
    stop: &CancellationToken,
    started: Instant,
) -> Result<ExitCode> {
    let mut table = Table::new(started);
    let waiting = args.wait.filter(|_| args.once);
    let reached = async {
        match waiting {
            Some(wait) => reached(fleet, wait).await,
            None => std::future::pending().await,
        }
    };
    // A time beyond the clock's range is no limit.
    let limit = Instant::now().checked_add(Duration::from_secs(args.timeout));
    tokio::pin!(reached);
    loop {
        let policies = policies::read(fleet).await?;
        table.show(&policies);
        if output::is_closed() && !args.once {
            return Ok(ExitCode::SUCCESS);
        }
        if waiting.is_some() && limit.is_some_and(|limit| Instant::now() >= limit) {
            output::line(format_args!("not reached within {} s", args.timeout));
            return Ok(ExitCode::from(EXIT_NOT_REACHED));
        }
        tokio::select! {
            () = stop.cancelled() => return Ok(ExitCode::SUCCESS),
            policies = &mut reached => {
                table.show(&policies?);
                let seconds = started.elapsed().as_secs_f64();
                output::line(format_args!("reached after {seconds:.2} s"));
                return Ok(ExitCode::SUCCESS);
            }
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
    }
}

/// Waits until the policies reach the requested state. A status counts only when the fleet has settled: before that
/// it may be of an earlier spec, even of an earlier process, or lack a cluster that was just chosen.
/// be of an earlier spec, of an earlier process even, or lack a cluster that has just been chosen.
async fn reached(fleet: &Fleet, wait: Wait) -> Result<Vec<Row>> {
    loop {
        fleet.settled().await;
        let policies = policies::read(fleet).await?;
        // A replica that cannot be written keeps an outdated status.
        let is_current = wait == Wait::Evaluated || !fleet.is_failing();
        if is_current && table::is_reached(&policies, wait == Wait::Compliant) {
            return Ok(policies);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
