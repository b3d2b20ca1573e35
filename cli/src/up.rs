//! `reeve up`: a hub and managed clusters in this process, with every controller.

pub(crate) mod changes;
mod logs;
mod messages;
mod screen;
mod session;
mod verdict;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use reeve_fleet::{
    Access, ExternalData, Fleet, FleetOptions, Foreign, Kubeconfig, Pods, RateLimits, Scratch,
};
use reeve_report::{FailOn, Output};
use reeve_runtime::CancellationToken;

use crate::fleet_args::{FleetArgs, Planned};
use crate::inputs::{self, InputArgs};
use crate::{output, terminal};
use logs::LogFileArgs;
use screen::{Kind, Screen};
use session::Session;
pub(crate) use session::sources;
use verdict::Wait;

/// How many clusters there are unless the arguments say it.
pub(crate) const CLUSTERS: usize = 2;
/// How long to wait for the end of the controllers.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);
/// A start that takes longer is announced.
const LONG_START: Duration = Duration::from_secs(1);

/// What a fleet is made of, and until when it runs.
// Each boolean is a separate flag.
#[allow(clippy::struct_excessive_bools)]
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  reeve up                                   a hub and two clusters, until Ctrl-C
  reeve up -f policies/                      the same, with every policy of a folder; what is bound to nothing is
                                             bound to all clusters
  kustomize build overlay | reeve up -f -    what another program renders
  reeve up -f policies/ --clusters 8 --label 'cluster1:env=dev' --objects cluster1=dev/
                                             eight clusters, one of them with a label and objects of its own
  reeve up -f policies/ --once -o junit      evaluate, print the results, end: exit code 2 if there are violations
  reeve up -f p.yaml --once --wait compliant --timeout 60
                                             give enforcement time to work
  reeve up --data fleet/                     the same fleet at every start

Exit codes: 0 as asked, 1 could not run, 2 violations (see --fail-on), 3 time is up, 64 usage.

Everything runs in this process and, without --data, is gone when it ends. Nodes do not exist: Pods are kept, and never run.")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    fleet: FleetArgs,
    /// Go on when some of the input cannot be read or applied.
    #[arg(long)]
    keep_going: bool,
    /// Apply the input again whenever its files change, and delete what is no longer there.
    #[arg(long, conflicts_with = "once")]
    watch: bool,
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
    /// End when everything is evaluated, or what --wait names is so, instead of running until Ctrl-C.
    #[arg(long)]
    once: bool,
    /// What to wait for.
    #[arg(long, value_name = "STATE", requires = "once")]
    wait: Option<Wait>,
    /// Which findings make the exit code 2. Default: violation; with --wait evaluated none but what has no answer.
    #[arg(long, value_name = "STATE", requires = "once")]
    fail_on: Option<FailOn>,
    /// How long to wait, in seconds.
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    timeout: u64,
    /// The form of the results of --once; of table and wide also the screen.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    output: Output,
    #[command(flatten)]
    log: LogFileArgs,
}

pub(crate) async fn run(args: Args, stop: CancellationToken) -> Result<ExitCode> {
    let started = Instant::now();
    let (input, clusters) = (args.input.clone(), args.fleet.clone());
    let reading = inputs::interruptible(&stop, move || {
        let mut read = input.read();
        let planned = clusters.plan(&mut read, CLUSTERS)?;
        anyhow::Ok((read, planned))
    });
    let (read, planned) = reading.await??;
    if !args.keep_going {
        inputs::fail(&read.errors)?;
    }
    let logs = args.log.start()?;
    let scratch = Scratch::new();
    let scratch = scratch.context("cannot make a folder for the controllers' kubeconfigs")?;
    let fleet = tokio::select! {
        () = stop.cancelled() => return Ok(ExitCode::SUCCESS),
        fleet = Fleet::start(args.options(scratch.path(), &planned)) => fleet?,
        never = notice_of_a_long_start(planned.clusters.len()) => match never {},
    };
    let kubeconfig = fleet.kubeconfig()?;
    let foreign = Foreign::forced(args.force);
    let _kubeconfig = Kubeconfig::write(&args.kubeconfig, &kubeconfig, "reeve up", foreign)?;
    let ready = messages::ready(started.elapsed().as_secs_f64(), &args.kubeconfig, logs);
    if args.is_text() {
        output::line(format_args!("{ready}"));
    } else {
        output::aside(format_args!("{ready}"));
    }
    let work = stop.child_token();
    let controllers = fleet.run(work.clone());
    let shown = async {
        let screen = Screen::new(Instant::now(), args.screen());
        let mut session = Session::new(&args, &fleet, screen, read);
        tokio::select! {
            () = stop.cancelled() => return Ok(ExitCode::SUCCESS),
            done = session.set_up(&planned) => done?,
        }
        session.run(&stop).await
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

/// Prints that the fleet is still starting, once. Never ends.
async fn notice_of_a_long_start(clusters: usize) -> Infallible {
    tokio::time::sleep(LONG_START).await;
    output::aside(format_args!("{}", messages::starting(clusters)));
    std::future::pending().await
}

impl Args {
    /// Whether standard output is for people: other forms have it for themselves.
    fn is_text(&self) -> bool {
        !self.once || matches!(self.output, Output::Table | Output::Wide)
    }

    fn screen(&self) -> Kind {
        if self.once && (!self.is_text() || !terminal::is_terminal()) {
            Kind::Hidden
        } else if terminal::is_terminal() {
            Kind::Table
        } else {
            Kind::Lines
        }
    }

    fn options(&self, folder: &Path, planned: &Planned) -> FleetOptions {
        FleetOptions {
            clusters: planned.clusters.clone(),
            folder: folder.to_owned(),
            access: Access::Ports(self.port),
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
            constraints: planned.constraints,
            external_data: ExternalData::default(),
        }
    }
}
