//! `reeve explain`: why a policy has its state, step by step.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Subcommand;
use reeve_fleet::explain::Servers;
use reeve_report::{Entry, FailOn, Output, Report, Subject};
use reeve_runtime::CancellationToken;
use reeve_suites::{Evaluation, Question};

use crate::fleet_args::FleetArgs;
use crate::hub::HubArgs;
use crate::inputs::{self, InputArgs};
use crate::output;
use crate::usage::{until_stopped, usage};

/// What is explained.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Args {
    /// Binding, placement, decisions, hub templates, replica, template sync, evaluation and status of a policy.
    #[command(after_help = "Examples:
  reeve explain policy policy-namespace -f policies/
                                             with the policies of a folder, on a fleet in this process
  reeve explain policy policies/policy-namespace -f policies/ --clusters 3 --label 'cluster1:env=dev'
                                             on three clusters, one of them with a label
  reeve explain policy policies/policy-namespace --kubeconfig hub.kubeconfig
                                             on a hub that runs elsewhere
  reeve explain policy policy-namespace --kubeconfig reeve.kubeconfig --context hub --cluster-context cluster1
                                             on the hub of reeve up, with a look at cluster1

Exit codes: 0 compliant, 1 could not run, 2 findings (see --fail-on), 64 usage.")]
    Policy(Explained),
    /// What a placement does with each cluster, and which predicate or taint drops it.
    #[command(after_help = "Examples:
  reeve explain placement placement-policy-namespace -f policies/ --clusters fleet.yaml
                                             with the clusters of a file
  reeve explain placement policies/all-clusters --kubeconfig hub.kubeconfig
                                             on a hub that runs elsewhere

Exit codes: 0 clusters are chosen, 1 could not run, 2 findings (see --fail-on), 64 usage.")]
    Placement(Explained),
    /// The expressions of a template, what became of them, and the objects that it is about.
    #[command(after_help = "Examples:
  reeve explain template policy-namespace/policy-namespace-example -f policies/
                                             one template of a policy
  reeve explain template policies/policy-namespace --kubeconfig hub.kubeconfig
                                             all templates of a policy on a hub that runs elsewhere

Exit codes: 0 compliant, 1 could not run, 2 findings (see --fail-on), 64 usage.")]
    Template(Explained),
}

/// Which object, and where it is.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Explained {
    /// The name, or namespace/name; of a template policy/template.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    fleet: FleetArgs,
    #[command(flatten)]
    hub: HubArgs,
    /// A managed cluster of the hub that is read too, by a context of the kubeconfig; the context has the cluster's name if
    /// none is given. May be given several times.
    #[arg(long, value_name = "CLUSTER[=CONTEXT]")]
    cluster_context: Vec<String>,
    /// Which findings make the exit code 2.
    #[arg(long, value_enum, default_value_t, value_name = "STATE")]
    fail_on: FailOn,
    /// How long the controllers may be busy, in seconds.
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    timeout: u64,
    /// The form of the results.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    output: Output,
}

pub(crate) async fn run(args: Args, stop: CancellationToken) -> Result<ExitCode> {
    // What a controller logs about a policy is among the reasons.
    reeve_runtime::logging::start_nowhere();
    let (explained, question) = match args {
        Args::Policy(explained) => (explained.clone(), Question::Policy(explained.name)),
        Args::Placement(explained) => (explained.clone(), Question::Placement(explained.name)),
        Args::Template(explained) => (explained.clone(), Question::Template(explained.name)),
    };
    until_stopped(&stop, explained.explain(question, &stop)).await
}

impl Explained {
    async fn explain(&self, question: Question, stop: &CancellationToken) -> Result<ExitCode> {
        let started = Instant::now();
        let has_files = !self.input.policies.is_empty() || !self.input.kustomize.is_empty();
        let is_hub = self.hub.kubeconfig.is_some() || self.hub.context.is_some();
        let mut report = match (has_files, is_hub) {
            (true, true) => {
                return usage(
                    "-f and -k are for a fleet in this process, --kubeconfig and --context for a hub",
                );
            }
            (true, false) => self.in_process(question, stop).await?,
            (false, _) => self.on_hub(question).await?,
        };
        report.subject = Subject::Checks;
        report.seconds = started.elapsed().as_secs_f64();
        let has_findings = output::report(&report, self.output, self.fail_on);
        Ok(output::verdict(has_findings))
    }

    /// On a fleet in this process.
    async fn in_process(&self, question: Question, stop: &CancellationToken) -> Result<Report> {
        if !self.cluster_context.is_empty() {
            return usage(
                "--cluster-context is for the clusters of a hub: with -f all clusters are read",
            );
        }
        let (input, clusters) = (self.input.clone(), self.fleet.clone());
        let reading = inputs::interruptible(stop, move || {
            let mut read = input.read();
            let planned = clusters.plan(&mut read, crate::up::CLUSTERS)?;
            anyhow::Ok((read, planned))
        });
        let (read, planned) = reading.await??;
        inputs::fail(&read.errors)?;
        let sources = crate::up::sources(&read.hub);
        let evaluation = Evaluation {
            clusters: planned.clusters,
            of_clusters: planned.objects,
            crds: read.crds,
            policies: read.hub,
            unbound: self.input.unbound(),
            constraints: planned.constraints,
            notes: planned.notes,
        };
        let timeout = Duration::from_secs(self.timeout);
        let explained = Box::pin(reeve_suites::explain(evaluation, question, timeout)).await;
        let (mut entries, notes): (Vec<Entry>, _) = explained.map_err(anyhow::Error::msg)?;
        for entry in &mut entries {
            // The subject of a step on a cluster goes on behind the name of the policy.
            let policy = entry.subject.split(' ').next().unwrap_or_default();
            entry.source = sources.get(policy).cloned();
        }
        Ok(Report {
            entries,
            notes,
            skipped: read.skipped,
            ..Report::default()
        })
    }

    /// On a hub that runs elsewhere.
    async fn on_hub(&self, question: Question) -> Result<Report> {
        let mut clusters = BTreeMap::new();
        for one in &self.cluster_context {
            let (cluster, context) = one.split_once('=').unwrap_or((one, one));
            let client = self.hub.client_of(Some(context)).await;
            let client = client.with_context(|| format!("--cluster-context {one}"))?;
            clusters.insert(cluster.to_owned(), client);
        }
        let servers = Servers {
            hub: self.hub.client().await?,
            clusters,
        };
        let timeout = Duration::from_secs(self.timeout);
        let answered = tokio::time::timeout(timeout, question.answer(&servers)).await;
        let entries = answered.with_context(|| {
            let seconds = self.timeout;
            format!("the hub has not answered within {seconds} s (--timeout)")
        })?;
        // The text of the error has that of the request.
        let entries = entries.map_err(|error| anyhow::Error::msg(error.to_string()))?;
        Ok(Report {
            entries,
            ..Report::default()
        })
    }
}
