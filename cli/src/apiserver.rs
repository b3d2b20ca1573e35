//! `reeve apiserver`: a bare in-memory Kubernetes API server.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use reeve_apiserver::{
    AuditLog, Authority, Data, DataKind, KubeconfigContext, Options, Server, kubeconfig,
};
use reeve_fleet::{ConstraintEvaluation, Constraints, Foreign, Kubeconfig};
use reeve_runtime::CancellationToken;
use reeve_runtime::flags::LogArgs;
use reeve_runtime::metrics::ControllerMetrics;

use crate::output;

/// The name of the server in its data folder.
const NAME: &str = "apiserver";

/// Where the server listens and where its kubeconfig is written.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  reeve apiserver                             until Ctrl-C, on any free port
  reeve apiserver --port 6443 --data state/   the same objects at every start
  reeve apiserver --constraints=admission     with Gatekeeper's constraints, which refuse writes")]
pub(crate) struct Args {
    /// The port on 127.0.0.1; 0 is any that is free.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Where the kubeconfig is written that makes its bearer an administrator.
    #[arg(long, default_value = "reeve-apiserver.kubeconfig")]
    kubeconfig: PathBuf,
    /// Add the context to a kubeconfig that Reeve has not written. Its other contexts stay in any case.
    #[arg(long)]
    force: bool,
    /// Records each request at the end of this file, as audit events of the level Metadata.
    #[arg(long, value_name = "FILE")]
    audit_log_path: Option<PathBuf>,
    /// A folder in which everything is kept, for the next start on it. Without it nothing is.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Whether Gatekeeper's constraints are evaluated. on: as a Gatekeeper's audit does; admission: they also refuse writes, as with
    /// Gatekeeper's webhook.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    constraints: EvaluateConstraints,
    #[command(flatten)]
    log: LogArgs,
}

/// What constraints do.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default)]
enum EvaluateConstraints {
    #[default]
    Off,
    On,
    Admission,
}

impl From<EvaluateConstraints> for Constraints {
    fn from(evaluate: EvaluateConstraints) -> Self {
        match evaluate {
            EvaluateConstraints::Off => Self::Ignored,
            EvaluateConstraints::On => Self::Audited,
            EvaluateConstraints::Admission => Self::Enforced,
        }
    }
}

pub(crate) async fn run(args: Args, stop: CancellationToken) -> Result<()> {
    reeve_runtime::logging::start(&args.log)?;
    let folder = match &args.data {
        Some(path) => Some(Data::open(path, DataKind::ApiServer)?.folder(NAME)?),
        None => None,
    };
    let authority = Arc::new(match &folder {
        Some(folder) => folder.authority()?,
        None => Authority::new()?,
    });
    let audit = match &args.audit_log_path {
        Some(path) => {
            let opened = AuditLog::open(path);
            let what = || format!("cannot write {}", path.display());
            Some(Arc::new(opened.with_context(what)?))
        }
        None => None,
    };
    let evaluation = ConstraintEvaluation::default();
    let options = Options {
        rbac: true,
        webhooks: vec![evaluation.webhook()],
        audit,
        authority: authority.pem(),
        signer: Some(Arc::clone(&authority)),
        ..Options::default()
    };
    let server = match &folder {
        Some(folder) => Server::open(options, folder)?,
        None => Server::start(options)?,
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let listener = server.listen(&authority, address).await?;
    let access = KubeconfigContext::admin("reeve", &authority, &listener)?;
    let text = kubeconfig(&[access]);
    let foreign = Foreign::forced(args.force);
    let _kubeconfig = Kubeconfig::write(&args.kubeconfig, &text, "reeve apiserver", foreign)?;
    output::line(format_args!(
        "Kubernetes API at {}. Use it with: kubectl --kubeconfig {}",
        listener.url(),
        args.kubeconfig.display()
    ));
    let metrics = ControllerMetrics::default();
    let evaluated = evaluation.run(&server, args.constraints.into(), metrics, stop);
    evaluated.await.context("the audit of constraints")
}
