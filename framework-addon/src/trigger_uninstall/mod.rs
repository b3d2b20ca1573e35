//! `trigger-uninstall`: makes a running add-on stop syncing, deletes the policies and waits until they are gone.

pub mod error;
mod messages;

use std::time::Duration;

use kube::Client;
use kube::api::Api;
use reeve_api::Policy;
use reeve_runtime::CancellationToken;
use reeve_runtime::client::{self, ClientOptions, InProcessServers};
use reeve_runtime::manager::ManagerError;
use reeve_runtime::object::{ObjectKey, not_found_as_none, status_message};
use reeve_runtime::uninstall_annotation;
use reeve_runtime::{decode, writes};

use crate::args::{USER_AGENT, UninstallArgs};
use error::UninstallError;

/// How long the running add-on may take to see the annotation.
const OBSERVE_DELAY: Duration = Duration::from_secs(5);
/// The interval between two lists of the policies.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Runs the command.
pub async fn run(args: UninstallArgs, stop: CancellationToken) -> Result<(), UninstallError> {
    reeve_runtime::logging::start(&args.log).map_err(ManagerError::from)?;
    check(&args)?;
    let options = ClientOptions {
        kubeconfig: args.kubeconfig.clone(),
        qps: 5.0,
        burst: 10,
        user_agent: USER_AGENT,
        in_process: InProcessServers::default(),
    };
    let client = client::connect(&options)
        .await
        .map_err(ManagerError::from)?;
    let timeout = Duration::from_secs(u64::from(args.timeout_seconds));
    let work = tokio::time::timeout(timeout, prepare(&client, &args));
    tokio::select! {
        () = stop.cancelled() => Err(UninstallError::Incomplete),
        result = work => result.map_err(|_| UninstallError::Incomplete)?,
    }
}

/// Validates the flags.
fn check(args: &UninstallArgs) -> Result<(), UninstallError> {
    let needed = [
        &args.deployment_name,
        &args.deployment_namespace,
        &args.policy_namespace,
    ];
    if needed.iter().any(|value| value.is_empty()) {
        return Err(UninstallError::Flags(messages::FLAGS));
    }
    if args.timeout_seconds < 30 {
        return Err(UninstallError::Flags(messages::TIMEOUT));
    }
    Ok(())
}

async fn prepare(client: &Client, args: &UninstallArgs) -> Result<(), UninstallError> {
    let own = ObjectKey::new(
        args.deployment_namespace.as_str(),
        args.deployment_name.as_str(),
    );
    let annotated = uninstall_annotation::annotate_deployment(client, &own, "true").await;
    annotated.map_err(|source| UninstallError::Deployment {
        deployment: own,
        source,
    })?;
    tokio::time::sleep(OBSERVE_DELAY).await;
    let namespace = args.policy_namespace.as_str();
    let policies: Api<Policy> = Api::namespaced(client.clone(), namespace);
    loop {
        let listed = decode::list_metadata(&policies).await;
        let listed = not_found_as_none(listed).map_err(|source| UninstallError::List {
            namespace: namespace.to_owned(),
            source,
        })?;
        // If the kind is not served, there are no policies.
        let remaining = listed.map_or(0, |list| list.len());
        if remaining == 0 {
            tracing::info!(namespace, "{}", messages::DONE);
            return Ok(());
        }
        tracing::info!(namespace, remaining, "{}", messages::WAITING);
        let deleted = writes::delete_collection(&policies).await;
        if let Err(error) = deleted {
            tracing::warn!(namespace, error = status_message(&error), "trying again");
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
