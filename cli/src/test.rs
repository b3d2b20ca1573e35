//! `reeve test`: runs suites, or evaluates policies without one, on fleets in this process.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use reeve_report::{Entry, FailOn, Output, Report, Subject};
use reeve_runtime::CancellationToken;
use reeve_suites::{Evaluation, RunOptions, Suites, evaluate, find, run_all};

use crate::fleet_args::FleetArgs;
use crate::inputs::{self, InputArgs, Objects};
use crate::up::changes;
use crate::usage::{until_stopped, usage};
use crate::{messages, output};

/// The interval between two looks at the files of `--watch`.
const WATCH: Duration = Duration::from_millis(500);
/// How many clusters there are without a suite, unless the arguments say it.
const CLUSTERS: usize = 1;

/// What is tested.
// Each boolean is a separate flag.
#[allow(clippy::struct_excessive_bools)]
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  reeve test                                  the suites of this folder and of the folders in it
  reeve test policies/ -o junit > junit.xml   those of another, for a build server
  reeve test -f policy.yaml --cluster-objects objects/
                                              without a suite: what the policy comes to on a cluster with these objects
  kustomize build overlay | reeve test -      what another program renders

Exit codes: 0 as expected, 1 could not run, 2 findings (see --fail-on), 64 usage.

Everything runs in this process: no port is opened and no file is written. docs/test.md describes suites.")]
pub(crate) struct Args {
    /// Files and folders (read recursively) with suites, or with policies; - is standard input.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    input: InputArgs,
    /// Without a suite: a file or folder with the objects that every cluster has. May be given several times.
    #[arg(long, value_name = "PATH")]
    cluster_objects: Vec<PathBuf>,
    #[command(flatten)]
    fleet: FleetArgs,
    /// Which findings make the exit code 2.
    #[arg(long, value_enum, default_value_t, value_name = "STATE")]
    fail_on: FailOn,
    /// Fail if anything was skipped.
    #[arg(long)]
    strict: bool,
    /// Run again whenever a file changes, until Ctrl-C.
    #[arg(long)]
    watch: bool,
    /// How many suites run at the same time; 0: as many as there are processors.
    #[arg(long, default_value_t = 0, value_name = "N")]
    parallel: usize,
    /// How long the controllers may be busy after a step, in seconds.
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    timeout: u64,
    /// The form of the results.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    output: Output,
}

pub(crate) async fn run(args: Args, stop: CancellationToken) -> Result<ExitCode> {
    // What a controller logs about a policy is among its reasons.
    reeve_runtime::logging::start_nowhere();
    if !args.watch {
        return until_stopped(&stop, args.once(&stop)).await;
    }
    loop {
        let watched = args.watched();
        let stamps = changes::stamps(&watched);
        tokio::select! {
            () = stop.cancelled() => return Ok(ExitCode::SUCCESS),
            ran = args.once(&stop) => {
                if let Err(error) = ran {
                    output::line(format_args!("error: {error:#}"));
                }
            }
        }
        output::line(format_args!("waiting for a change; Ctrl-C ends"));
        while changes::stamps(&watched) == stamps {
            tokio::select! {
                () = stop.cancelled() => return Ok(ExitCode::SUCCESS),
                () = tokio::time::sleep(WATCH) => {}
            }
        }
    }
}

impl Args {
    /// The paths of suites; the current folder if the arguments name nothing.
    fn paths(&self) -> Vec<PathBuf> {
        let names_policies = !self.input.policies.is_empty() || !self.input.kustomize.is_empty();
        if self.paths.is_empty() && !names_policies {
            vec![PathBuf::from(".")]
        } else {
            self.paths.clone()
        }
    }

    fn watched(&self) -> Vec<PathBuf> {
        let mut all = self.paths();
        all.extend(self.input.policies.iter().cloned());
        all.extend(self.cluster_objects.iter().cloned());
        changes::watched(&all, &self.input.kustomize)
    }

    async fn once(&self, stop: &CancellationToken) -> Result<ExitCode> {
        let started = Instant::now();
        let paths = self.paths();
        let mut found = inputs::interruptible(stop, move || find(&paths)).await?;
        let errors: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        inputs::fail(&errors)?;
        let mut report = if found.suites.is_empty() {
            self.evaluate(&mut found, stop).await?
        } else {
            self.suites(found).await?
        };
        report.seconds = started.elapsed().as_secs_f64();
        let has_findings = output::report(&report, self.output, self.fail_on);
        let is_skipped = self.strict && !report.skipped.is_empty();
        Ok(output::verdict(has_findings || is_skipped))
    }

    async fn suites(&self, found: Suites) -> Result<Report> {
        if !self.input.policies.is_empty() || !self.input.kustomize.is_empty() {
            return usage("-f and -k are for policies without a suite: a suite names its own");
        }
        let parallel = match self.parallel {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            some => some,
        };
        let options = RunOptions {
            parallel,
            timeout: Duration::from_secs(self.timeout),
            assumes_kinds: self.fleet.assume_kinds,
        };
        let outcome = run_all(found.suites, options).await;
        let skipped = found.skipped.into_iter().chain(outcome.skipped);
        Ok(Report {
            subject: Subject::Suites,
            entries: outcome.entries,
            skipped: skipped.collect(),
            notes: outcome.notes,
            seconds: 0.0,
        })
    }

    /// What policies come to without a suite.
    async fn evaluate(&self, found: &mut Suites, stop: &CancellationToken) -> Result<Report> {
        let mut objects = Objects::default();
        let mut input = self.input.clone();
        let from_stdin = found.stdin.take();
        let is_stdin = |path: &PathBuf| path.as_path() == std::path::Path::new("-");
        let paths = self.paths();
        let files = paths
            .iter()
            .filter(|path| from_stdin.is_none() || !is_stdin(path));
        input.policies.extend(files.cloned());
        if let Some(text) = from_stdin {
            objects.hub = objects.add(reeve_suites::policies_of_stdin(&text));
        }
        let read = inputs::interruptible(stop, move || input.read()).await?;
        objects.hub.extend(read.hub);
        objects.crds.extend(read.crds);
        objects.skipped.extend(read.skipped);
        objects.errors.extend(read.errors);
        let mut fleet = self.fleet.clone();
        let paths = self.cluster_objects.iter();
        let of_all = paths.map(|path| format!("*={}", path.display()));
        fleet.objects.extend(of_all);
        let planned = fleet.plan(&mut objects, CLUSTERS)?;
        inputs::fail(&objects.errors)?;
        let sources = crate::up::sources(&objects.hub);
        let evaluation = Evaluation {
            of_clusters: planned.objects,
            clusters: planned.clusters,
            crds: objects.crds,
            policies: objects.hub,
            unbound: self.input.unbound(),
            constraints: planned.constraints,
            notes: planned.notes,
        };
        let timeout = Duration::from_secs(self.timeout);
        let evaluated = Box::pin(evaluate(evaluation, timeout)).await;
        let (mut entries, notes): (Vec<Entry>, _) = evaluated.map_err(anyhow::Error::msg)?;
        if entries.is_empty() {
            anyhow::bail!("{}", messages::NO_POLICY);
        }
        for entry in &mut entries {
            entry.source = sources.get(&entry.subject).cloned();
        }
        let mut report = Report {
            entries,
            notes,
            // Without a suite every file counts: what `find` calls unused is used.
            skipped: objects.skipped,
            ..Report::default()
        };
        report.sort();
        Ok(report)
    }
}
