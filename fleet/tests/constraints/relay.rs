//! What a policy reports where its constraint refuses.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use kube::api::{Api, Patch, PatchParams};
use reeve_api::Policy;
use reeve_fleet::{
    Access, Constraints, ExternalData, Fleet, FleetOptions, Pods, RateLimits, Target, apply,
};
use reeve_manifests::Input;
use reeve_runtime::CancellationToken;
use reeve_testkit::{eventually, workspace};
use serde_json::{Value, json};

const POLICY: &str = "require-gatekeeper-labels-on-ns";

#[tokio::test(flavor = "multi_thread")]
async fn gk_149_policy_reports_that_its_constraint_refuses() -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let fleet = Fleet::start(FleetOptions {
        clusters: vec!["c1".into()],
        folder: PathBuf::from("in-process"),
        access: Access::InProcess,
        data: None,
        pods: Pods::Kept,
        limits: RateLimits::Lifted,
        constraints: Constraints::Enforced,
        external_data: ExternalData::default(),
    });
    let fleet = fleet.await?;
    let stop = CancellationToken::new();
    let story = async {
        let result = play(&fleet).await;
        stop.cancel();
        result
    };
    let (ran, result) = tokio::join!(fleet.run(stop.clone()), story);
    result?;
    ran?;
    Ok(())
}

async fn play(fleet: &Fleet) -> Result<()> {
    let hub = fleet.hub.client();
    let file = workspace().join("policies/gatekeeper.yaml");
    let found = reeve_manifests::read(&[Input::Path(file)]);
    let applied = apply(&Target::hub(hub.clone()), &found.objects).await;
    ensure!(applied.errors.is_empty(), "{applied:?}");
    reports(fleet, "NonCompliant; warn - you must provide labels").await?;
    let policies: Api<Policy> = Api::namespaced(hub, "policies");
    let enforce = Patch::Merge(json!({"spec": {"remediationAction": "enforce"}}));
    policies
        .patch(POLICY, &PatchParams::default(), &enforce)
        .await?;
    // Without the prefix that the webhook is disabled.
    reports(fleet, "NonCompliant; deny - you must provide labels").await?;
    let cluster = fleet.clusters.first().context("no cluster")?.client();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    eventually("a Namespace is refused", Duration::from_secs(30), || async {
        let request = http::Request::post("/api/v1/namespaces?dryRun=All")
            .header("content-type", "application/json")
            .body(namespace.to_string().into_bytes())?;
        let made = cluster.request::<Value>(request).await;
        let refused = made.err().context("it was admitted")?.to_string();
        let text = "admission webhook \"validation.gatekeeper.sh\" denied the request: [ns-must-have-gk] you must";
        ensure!(refused.contains(text), "{refused}");
        Ok(())
    })
    .await
}

/// Waits until the newest report of the constraint begins with a text.
async fn reports(fleet: &Fleet, wanted: &str) -> Result<()> {
    let policies: Api<Policy> = Api::namespaced(fleet.hub.client(), "c1");
    eventually(wanted.to_owned(), Duration::from_mins(1), || async {
        let policy = policies.get(&format!("policies.{POLICY}")).await?;
        let policy = serde_json::to_value(policy)?;
        let message = &policy["status"]["details"][1]["history"][0]["message"];
        let begins = message
            .as_str()
            .is_some_and(|text| text.starts_with(wanted));
        ensure!(begins, "{:#}", policy["status"]);
        Ok(())
    })
    .await
}
