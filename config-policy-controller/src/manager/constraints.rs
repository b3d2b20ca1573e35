//! Starts the audit of Gatekeeper's constraints, in the process that may read everything on the cluster.

use std::path::Path;

use reeve_constraint_audit::{
    self as constraint_audit, AuditGauges, Engines, ExternalData, Mode, Options,
};
use reeve_runtime::client::ClientOptions;
use reeve_runtime::manager::{Manager, ManagerError};

use super::with_kubeconfig;
use crate::args::ControllerArgs;

/// The name of a process outside a Pod in the statuses of constraints.
const NO_POD: &str = "reeve";

/// Starts the audit, if the flags ask for one, on the target cluster. It has a rate limit of its own: repairs do not wait behind it.
pub(super) async fn start(
    args: &ControllerArgs,
    (options, target): (&ClientOptions, Option<&Path>),
    manager: &mut Manager,
) -> Result<(), ManagerError> {
    if args.constraint_audit == Mode::Off {
        return Ok(());
    }
    let options = match target {
        Some(target) => with_kubeconfig(options, target),
        None => options.clone(),
    };
    let client = manager.client(&options).await?;
    let options = Options {
        mode: args.constraint_audit,
        external_data: ExternalData::default(),
        id: std::env::var("POD_NAME")
            .or_else(|_| std::env::var("HOSTNAME"))
            .unwrap_or_else(|_| NO_POD.to_owned()),
        violations_limit: args.constraint_violations_limit,
        engines: if args.enable_k8s_native_validation {
            Engines::CelFirst
        } else {
            Engines::RegoOnly
        },
        admission: None,
        gauges: AuditGauges::register(manager.metrics()),
    };
    let (metrics, stop) = (manager.controller_metrics().clone(), manager.stop());
    let work = constraint_audit::run(client, options, metrics, stop);
    manager.tasks().spawn("constraint audit", work);
    Ok(())
}
