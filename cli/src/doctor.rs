//! `reeve doctor`: what a hub lacks for policies.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use reeve_report::{FailOn, Output, Report, Subject};
use reeve_runtime::CancellationToken;

use crate::hub::HubArgs;
use crate::output;
use crate::usage::until_stopped;

/// Which hub is examined.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  reeve doctor                                the hub of the current context
  reeve doctor --kubeconfig hub.kubeconfig --context admin
                                              another one
  reeve doctor -o junit > junit.xml           for a build server

Exit codes: 0 nothing is missing, 1 could not run, 2 findings (see --fail-on), 64 usage.

Nothing is written to the hub. The kubeconfig needs the rights to read CRDs, Deployments, Pods, clusters and add-ons, and to
create SubjectAccessReviews; what it may not do is among the findings.")]
pub(crate) struct Args {
    #[command(flatten)]
    hub: HubArgs,
    /// Which findings make the exit code 2.
    #[arg(long, value_enum, default_value_t, value_name = "STATE")]
    fail_on: FailOn,
    /// How long the hub may take to answer, in seconds.
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    timeout: u64,
    /// The form of the results.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    output: Output,
}

pub(crate) async fn run(args: Args, stop: CancellationToken) -> Result<ExitCode> {
    reeve_runtime::logging::start_nowhere();
    until_stopped(&stop, args.examine()).await
}

impl Args {
    async fn examine(&self) -> Result<ExitCode> {
        let started = Instant::now();
        let hub = self.hub.client().await?;
        let timeout = Duration::from_secs(self.timeout);
        let examined = tokio::time::timeout(timeout, reeve_doctor::examine(&hub)).await;
        let entries = examined.with_context(|| {
            let seconds = self.timeout;
            format!("the hub has not answered within {seconds} s (--timeout)")
        })?;
        let report = Report {
            subject: Subject::Checks,
            entries: entries?,
            seconds: started.elapsed().as_secs_f64(),
            ..Report::default()
        };
        let has_findings = output::report(&report, self.output, self.fail_on);
        Ok(output::verdict(has_findings))
    }
}
