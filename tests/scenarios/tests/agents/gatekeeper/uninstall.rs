//! The addon lets go of a cluster with Gatekeeper's objects on it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use reeve_scenarios::guarded::{Guarded, addon, constraint, template};
use reeve_scenarios::script::{CONSTRAINTS, TEMPLATES, audit};
use reeve_scenarios::steadily;
use reeve_testkit::Component;
use serde_json::{Value, json};

use crate::gatekeeper::flows::CLEAN;

const V1: &str = "policy.open-cluster-management.io/v1";
/// Where an addon outside a Pod looks for its Deployment.
const DEPLOYMENTS: &str = "open-cluster-management-agent-addon";
const FOREIGN: &str = "example.com/keep";

pub(crate) async fn finalizers_are_removed(world: Arc<Guarded>) -> Result<()> {
    let (kind, name, namespace) = ("CaseC18", "case-c18", "case-c18-addon");
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": namespace, "namespace": DEPLOYMENTS },
        "spec": {
            "replicas": 0, "selector": { "matchLabels": { "a": "b" } },
            "template": {
                "metadata": { "labels": { "a": "b" } },
                "spec": { "containers": [{ "name": "c", "image": "none" }] }
            }
        }
    });
    let parent =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": DEPLOYMENTS } });
    world
        .managed
        .apply(&format!("{parent}\n---\n{deployment}"))
        .await?;
    let mut running = addon(&world.hub, &world.managed, namespace, &[]).await?;

    let policy = world.policy_in(namespace, name);
    let mut kept = constraint(kind, name);
    kept["metadata"]["finalizers"] = json!([FOREIGN]);
    let undecodable = json!({ "objectDefinition": {
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "metadata": { "name": "case-c18-undecodable" }
    } });
    policy
        .apply("inform", &[template(kind), kept, undecodable])
        .await?;
    audit(&world.managed, kind, name, &[]).await?;
    policy.reports(name, CLEAN).await?;

    let args = [
        "trigger-uninstall".to_owned(),
        format!("--policy-namespace={namespace}"),
        format!("--deployment-name={namespace}"),
        format!("--deployment-namespace={DEPLOYMENTS}"),
        "--timeout-seconds=60".to_owned(),
    ];
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let program = "governance-policy-framework-addon";
    let mut trigger = Component::spawn(program, &args, &[world.managed.kubeconfig_env()])?;
    let status = trigger.wait(Duration::from_secs(90)).await?;
    ensure!(status.success(), "{status}: {}", trigger.log());

    let none = || async {
        let left = world.managed.list(V1, "Policy", Some(namespace)).await?;
        ensure!(left.is_empty(), "{left:#?}");
        Ok(())
    };
    none().await?;
    steadily("the hub's policies stay away", none).await?;
    let on_hub = world.hub.get(V1, "Policy", Some(namespace), name).await?;
    ensure!(on_hub.is_some(), "the hub's policy is gone");
    policy
        .lost(TEMPLATES, "ConstraintTemplate", "casec18")
        .await?;
    let found = world.managed.get(CONSTRAINTS, kind, None, name).await?;
    ensure!(
        found.is_none_or(|found| found.metadata.deletion_timestamp.is_some()),
        "the constraint stays"
    );
    running.component().stop().await?;
    let patch = json!({ "metadata": { "finalizers": Value::Null } });
    // It may be gone.
    let _ = world
        .managed
        .patch(CONSTRAINTS, kind, None, name, patch)
        .await;
    Ok(())
}
