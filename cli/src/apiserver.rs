//! `reeve apiserver`: a bare Kubernetes API server in memory.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use reeve_apiserver::{Access, AuditLog, Authority, Options, Server, kubeconfig};
use reeve_runtime::CancellationToken;
use reeve_runtime::flags::LogArgs;

/// Where to listen and whom to tell.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The port on 127.0.0.1; 0 is any that is free.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Where the kubeconfig is written that makes its bearer an administrator.
    #[arg(long, default_value = "reeve-apiserver.kubeconfig")]
    kubeconfig: PathBuf,
    /// Records each request at the end of this file, as audit events of the level Metadata.
    #[arg(long, value_name = "FILE")]
    audit_log_path: Option<PathBuf>,
    #[command(flatten)]
    log: LogArgs,
}

pub(crate) async fn run(args: Args, stop: CancellationToken) -> Result<()> {
    reeve_runtime::logging::start(&args.log)?;
    let authority = Authority::new()?;
    let audit = match &args.audit_log_path {
        Some(path) => {
            let opened = AuditLog::open(path);
            let what = || format!("cannot write {}", path.display());
            Some(Arc::new(opened.with_context(what)?))
        }
        None => None,
    };
    let server = Server::start(Options {
        rbac: true,
        audit,
        authority: authority.pem(),
        ..Options::default()
    });
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let listener = server.listen(&authority, address).await?;
    let access = Access::admin("reeve", &authority, &listener)?;
    reeve_fleet::write_private(&args.kubeconfig, &kubeconfig(&[access]))
        .with_context(|| format!("cannot write {}", args.kubeconfig.display()))?;
    println!(
        "Kubernetes API at {}. Use it with: kubectl --kubeconfig {}",
        listener.url(),
        args.kubeconfig.display()
    );
    stop.cancelled().await;
    Ok(())
}
