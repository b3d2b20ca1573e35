//! `trigger-uninstall`: makes a running controller remove its finalizers, and waits until it has.

use std::time::Duration;

use jiff::Timestamp;
use kube::api::Api;
use kube::core::PartialObjectMeta;
use kube::{Client, ResourceExt};
use reeve_api::configuration_policy::ConfigurationPolicy;
use reeve_runtime::CancellationToken;
use reeve_runtime::client::{self, ClientOptions, InProcessServers};
use reeve_runtime::manager::ManagerError;
use reeve_runtime::object::{ObjectKey, not_found_as_none};
use reeve_runtime::uninstall_annotation;
use reeve_runtime::{decode, writes};
use tokio::time::Instant;

use crate::args::UninstallArgs;
use crate::configuration_policy::finalizer::FINALIZER;
use crate::error::{Error, UninstallError};

/// The pause between two lists of the policies.
const PAUSE: Duration = Duration::from_millis(500);
/// When policies that still have their finalizer are annotated again.
const REANNOTATE_AFTER: Duration = Duration::from_secs(5);

type Metadata = PartialObjectMeta<ConfigurationPolicy>;

/// Runs the command.
pub async fn run(args: UninstallArgs, stop: CancellationToken) -> Result<(), Error> {
    reeve_runtime::logging::start(&args.log).map_err(ManagerError::from)?;
    args.check()?;
    let options = ClientOptions {
        kubeconfig: args.kubeconfig.clone(),
        qps: 5.0,
        burst: 10,
        user_agent: "config-policy-controller",
        in_process: InProcessServers::default(),
    };
    let client = client::connect(&options)
        .await
        .map_err(ManagerError::from)?;
    let timeout = Duration::from_secs(u64::from(args.timeout_seconds));
    let work = tokio::time::timeout(timeout, prepare(&client, &args));
    let outcome = tokio::select! {
        () = stop.cancelled() => return Err(UninstallError::Incomplete.into()),
        outcome = work => outcome,
    };
    Ok(outcome.map_err(|_| UninstallError::Incomplete)??)
}

async fn prepare(client: &Client, args: &UninstallArgs) -> Result<(), UninstallError> {
    let own = ObjectKey::new(
        args.deployment_namespace.as_str(),
        args.deployment_name.as_str(),
    );
    let annotated = uninstall_annotation::annotate_deployment(client, &own, &now()).await;
    annotated.map_err(|source| UninstallError::Deployment {
        deployment: own,
        source,
    })?;
    let namespaces: Vec<&str> = args.namespaces();
    let mut annotated_at: Option<Instant> = None;
    loop {
        let annotate =
            annotated_at.is_none_or(|annotated_at| annotated_at.elapsed() >= REANNOTATE_AFTER);
        let mut remaining = 0;
        for namespace in &namespaces {
            let held = held_policies(client, namespace).await?;
            remaining += held.len();
            if annotate {
                annotate_policies(client, namespace, &held).await?;
            }
        }
        if annotate {
            annotated_at = Some(Instant::now());
        }
        if remaining == 0 {
            tracing::info!("no policy has the finalizer: the uninstallation may go on");
            return Ok(());
        }
        tracing::info!(remaining, "waiting for policies to lose their finalizers");
        tokio::time::sleep(PAUSE).await;
    }
}

/// The annotation's value: any text but `false` counts, and a time is a change each time.
fn now() -> String {
    Timestamp::now().strftime("%FT%TZ").to_string()
}

/// The policies with our finalizer.
async fn held_policies(client: &Client, namespace: &str) -> Result<Vec<String>, UninstallError> {
    let policies: Api<ConfigurationPolicy> = Api::namespaced(client.clone(), namespace);
    let listed = decode::list_metadata(&policies).await;
    let listed = not_found_as_none(listed).map_err(|source| UninstallError::List {
        namespace: namespace.to_owned(),
        source,
    })?;
    // Without the kind there are no policies.
    let listed = listed.unwrap_or_default();
    let held = listed.iter().filter(|policy| has_finalizer(policy));
    Ok(held.map(ResourceExt::name_any).collect())
}

/// Annotates policies, which enqueues them in the controller.
async fn annotate_policies(
    client: &Client,
    namespace: &str,
    names: &[String],
) -> Result<(), UninstallError> {
    let policies: Api<ConfigurationPolicy> = Api::namespaced(client.clone(), namespace);
    for name in names {
        let annotation = uninstall_annotation::annotation(&now());
        let patched = writes::patch_with(&policies, name, &annotation).await;
        match not_found_as_none(patched) {
            Ok(_) => {}
            // The next pass tries it again.
            Err(error) if uninstall_annotation::may_pass(&error) => {
                tracing::info!(policy = name, %error, "trying again");
            }
            Err(source) => {
                return Err(UninstallError::Policy {
                    policy: ObjectKey::new(namespace, name.as_str()),
                    source,
                });
            }
        }
    }
    Ok(())
}

/// Finalizers of other controllers do not count.
fn has_finalizer(policy: &Metadata) -> bool {
    policy.finalizers().iter().any(|name| name == FINALIZER)
}
