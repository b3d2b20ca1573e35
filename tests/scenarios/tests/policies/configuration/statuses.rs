//! CFG-111: what a policy wants of an object's status is checked, and never written.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Evaluator, Subject, same, spec, within};
use serde_json::{Value, json};

fn policy_with_status(name: &str, status: &str) -> String {
    format!(
        "apiVersion: policy.open-cluster-management.io/v1
kind: ConfigurationPolicy
metadata: {{name: {name}, namespace: managed}}
status:
{}",
        reeve_scenarios::indent(status, 2)
    )
}

pub(crate) async fn of_a_policy(world: Arc<Evaluator>) -> Result<()> {
    let watched = world.policy("case8-watched");
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n";
    watched
        .apply(&spec("inform", &[("musthave", namespace)]))
        .await?;
    watched.is("Compliant").await?;

    let policy = world.policy("case8-watching");
    let compliant = policy_with_status("case8-watched", "compliant: Compliant");
    policy
        .apply(&spec("inform", &[("musthave", &compliant)]))
        .await?;
    policy.is("Compliant").await?;

    let not = policy_with_status(
        "case8-watched",
        "compliant: NonCompliant\ncompliancyDetails: []",
    );
    for action in ["inform", "enforce"] {
        policy.apply(&spec(action, &[("musthave", &not)])).await?;
        let observed = policy.is("NonCompliant").await?;
        let related = observed.related();
        let diff = related.first().context("no related object")?.diff();
        ensure!(
            diff.contains("\n-  compliant: Compliant\n+  compliant: NonCompliant\n"),
            "the diff is {diff}"
        );
        policy.stays_with("NonCompliant").await?;
    }
    same(
        "the other policy",
        watched.observed().await?.compliance(),
        "Compliant",
    )
}

fn pod(rest: &str) -> String {
    format!(
        "apiVersion: v1
kind: Pod
metadata: {{name: pod, namespace: case8-pod}}
spec:
{}",
        reeve_scenarios::indent(rest, 2)
    )
}

const CONTAINERS: &str = "containers: [{name: c, image: 'example.com/not/there:1'}]";

pub(crate) async fn of_a_pod(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case8-pod"]).await?;
    let policy = world.policy("case8-pod");
    let running = pod(CONTAINERS) + "status: {phase: Running}\n";
    policy
        .apply(&spec("enforce", &[("musthave", &running)]))
        .await?;
    policy.is("NonCompliant").await?;
    same("the phase", phase(&world).await?, json!("Pending"))?;
    policy.stays_with("NonCompliant").await?;

    let failed =
        pod(&format!("{CONTAINERS}\nactiveDeadlineSeconds: 10")) + "status: {phase: Failed}\n";
    policy
        .apply(&spec("enforce", &[("musthave", &failed)]))
        .await?;
    within(
        "the spec is updated although the status does not match",
        || async {
            let live = world
                .get("v1", "Pod", Some("case8-pod"), "pod")
                .await?
                .context("no Pod")?;
            ensure!(
                live.data["spec"]["activeDeadlineSeconds"] == 10,
                "{}",
                live.data["spec"]
            );
            Ok(())
        },
    )
    .await?;
    policy.is("NonCompliant").await?;
    // What the kubelet does when the deadline has passed.
    let phase = json!({ "status": { "phase": "Failed" } });
    world
        .patch_status("v1", "Pod", Some("case8-pod"), "pod", phase)
        .await?;
    policy.is("Compliant").await?;
    Ok(())
}

async fn phase(world: &Evaluator) -> Result<Value> {
    let pod = world
        .get("v1", "Pod", Some("case8-pod"), "pod")
        .await?
        .context("no Pod")?;
    Ok(pod.data["status"]["phase"].clone())
}

fn service(remediation: &str, kind: &str) -> String {
    format!(
        "remediationAction: {remediation}
object-templates:
- complianceType: mustonlyhave
  metadataComplianceType: musthave
  objectDefinition:
    apiVersion: v1
    kind: Service
    metadata: {{name: service, namespace: case8-service}}
    spec:
      clusterIP: 10.0.0.88
      clusterIPs: [10.0.0.88]
      internalTrafficPolicy: Cluster
      ipFamilies: [IPv4]
      ipFamilyPolicy: SingleStack
      ports:
      - {{port: 80, protocol: TCP, targetPort: 8080}}
      selector: {{app: grc}}
      sessionAffinity: None
{kind}"
    )
}

/// Waits until it is Compliant with a dry run's help or without, and this much history.
async fn settled(policy: &Subject<'_>, after_dry_run: bool, history: usize) -> Result<()> {
    policy.is("Compliant").await?;
    let matches = |related: &[reeve_scenarios::Related]| {
        let property = related
            .first()
            .and_then(|it| it.properties["matchesAfterDryRun"].as_bool());
        property.unwrap_or(false) == after_dry_run
    };
    let what = format!("matchesAfterDryRun: {after_dry_run}, {history} entries of history");
    policy
        .until(&what, |observed| {
            let compliant = observed.compliance() == "Compliant";
            compliant && matches(&observed.related()) && observed.history().len() == history
        })
        .await?;
    Ok(())
}

pub(crate) async fn after_dry_run(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case8-service"]).await?;
    world
        .apply(
            "apiVersion: v1
kind: Service
metadata: {name: service, namespace: case8-service}
spec:
  clusterIP: 10.0.0.88
  ports: [{port: 80, protocol: TCP, targetPort: 8080}]
  selector: {app: grc}
",
        )
        .await?;
    let policy = world.policy("case8-service");
    // The API server fills `type` in again.
    policy.apply(&service("inform", "")).await?;
    settled(&policy, true, 1).await?;
    policy.remediate("enforce").await?;
    settled(&policy, true, 2).await?;
    policy
        .apply(&service("enforce", "      type: ClusterIP\n"))
        .await?;
    settled(&policy, false, 3).await?;
    policy
        .apply(&service("inform", "      type: ClusterIP\n"))
        .await?;
    settled(&policy, false, 4).await
}
