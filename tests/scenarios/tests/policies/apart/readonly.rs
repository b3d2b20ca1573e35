//! A controller that may look at objects and change none of them.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Controller, Pair, Subject, namespace, same, spec};

/// Looking at everything, and telling.
const RIGHTS: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: read-only}
rules:
- {apiGroups: ['*'], resources: ['*'], verbs: [get, list, watch]}
- {apiGroups: [policy.open-cluster-management.io], resources: ['*'], verbs: ['*']}
- {apiGroups: ['', events.k8s.io], resources: [events], verbs: ['*']}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: read-only}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: read-only}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: read-only}]
";

/// Inform still works, by comparison alone, and reports so.
pub(crate) async fn looks(world: Arc<Pair>) -> Result<()> {
    let policies = "read-only-policies";
    namespace(&world.managed, policies).await?;
    world.managed.apply(RIGHTS).await?;
    let identity = world.managed.kubeconfig_for("read-only", None)?;
    let mut controller = Controller::start_as(identity, policies, &[]).await?;
    let run_scenario = controller.with_log(run_scenario(&world, policies).await);
    controller.stop().await?;
    run_scenario
}

async fn run_scenario(world: &Pair, policies: &str) -> Result<()> {
    let service = |port: &str| {
        format!(
            "{{apiVersion: v1, kind: Service, metadata: {{name: web, namespace: {policies}}}, spec: {{ports: [{{port: {port}}}]}}}}"
        )
    };
    world.managed.apply(&service("80")).await?;
    // What needs no dry run is as sure as ever.
    let same_port = Subject::new(&world.managed, policies, "read-only-same");
    same_port
        .apply(&spec("inform", &[("musthave", &service("80"))]))
        .await?;
    let observed = same_port.is("Compliant").await?;
    let found = format!("services [web] found as specified in namespace {policies}");
    same("the message", observed.message(0), found.as_str())?;

    let other = Subject::new(&world.managed, policies, "read-only-other");
    other
        .apply(&spec("inform", &[("musthave", &service("81"))]))
        .await?;
    let observed = other.is("NonCompliant").await?;
    let note = format!(
        "services [web] found but not as specified in namespace {policies}. This was not verified by a dry run, as the controller may not request updates of the objects."
    );
    same("the message", observed.message(0), note.as_str())?;
    let properties = &observed.0["relatedObjects"][0]["properties"];
    let why = properties["unverified"]
        .as_str()
        .context("no reason is given")?;
    ensure!(why.contains("is forbidden"), "the reason is {why}");
    let path = properties["fields"][0]["path"].as_str().unwrap_or_default();
    ensure!(path.starts_with("spec.ports["), "the field is {path:?}");

    // Nothing can be enforced, which is no comparison's business.
    let enforced = Subject::new(&world.managed, policies, "read-only-enforced");
    enforced
        .apply(&spec("enforce", &[("musthave", &service("82"))]))
        .await?;
    enforced
        .mentions(&["Error issuing a dry run update request", "is forbidden"])
        .await?;
    Ok(())
}
