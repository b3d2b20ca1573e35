//! The policies of the getting-started guides.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_scenarios::Governed;
use reeve_testkit::World;
use serde_json::json;

pub(crate) async fn namespace(world: Arc<World>) -> Result<()> {
    let policy = Governed::ready_made(&world, "namespace.yaml", "policy-namespace").await?;
    let placement = "placement-policy-namespace";
    let clusters = ["c1", "c2"];
    reeve_testkit::world::decide(&world.hub, "policies", placement, &clusters).await?;
    let template = "policy-namespace-example";
    let missing = "NonCompliant; violation - namespaces [prod] not found";
    for cluster in clusters {
        policy.reports(cluster, template, missing).await?;
    }
    policy.root_is("NonCompliant").await?;
    for cluster in clusters {
        let found = world
            .cluster(cluster)?
            .plane
            .get("v1", "Namespace", None, "prod")
            .await?;
        ensure!(
            found.is_none(),
            "inform must not create the namespace on {cluster}"
        );
    }

    policy.remediate("enforce").await?;
    let status = policy.root_is("Compliant").await?;
    let want = json!({
        "compliant": "Compliant",
        "placement": [{ "placement": placement, "placementBinding": "binding-policy-namespace" }],
        "status": [
            { "clustername": "c1", "clusternamespace": "c1", "compliant": "Compliant" },
            { "clustername": "c2", "clusternamespace": "c2", "compliant": "Compliant" }
        ]
    });
    ensure!(
        status == want,
        "the root status is {status}, expected {want}"
    );
    for cluster in clusters {
        policy
            .exists(cluster, ("v1", "Namespace"), None, "prod")
            .await?;
        let created = "Compliant; notification - namespaces [prod] was created successfully";
        policy.observed(cluster, template, created).await?;
        let found = "Compliant; notification - namespaces [prod] found as specified";
        policy.reports(cluster, template, found).await?;
    }
    Ok(())
}

pub(crate) async fn pod(world: Arc<World>) -> Result<()> {
    let policy = Governed::ready_made(&world, "pod.yaml", "policy-pod").await?;
    let place = |clusters: &'static [&'static str]| {
        reeve_testkit::world::decide(&world.hub, "policies", "placement-policy-pod", clusters)
    };
    let template = "policy-pod-sample-nginx-pod";
    let missing =
        "NonCompliant; violation - pods [sample-nginx-pod] not found in namespace default";
    place(&["c1"]).await?;
    policy.reports("c1", template, missing).await?;
    let lists = |clusters: &'static [&'static str]| {
        move |status: &serde_json::Value| {
            let listed = status["status"].as_array().into_iter().flatten();
            listed
                .filter_map(|entry| entry["clustername"].as_str())
                .eq(clusters.iter().copied())
        }
    };
    policy.root("only c1 is listed", lists(&["c1"])).await?;

    // The placement changes its mind: first both, then the other one.
    place(&["c1", "c2"]).await?;
    policy.reports("c2", template, missing).await?;
    place(&["c2"]).await?;
    policy.gone_from("c1", &[template]).await?;
    policy.root("only c2 is listed", lists(&["c2"])).await?;

    policy.remediate("enforce").await?;
    policy
        .exists("c2", ("v1", "Pod"), Some("default"), "sample-nginx-pod")
        .await?;
    policy.root_is("Compliant").await?;
    let created = "Compliant; notification - pods [sample-nginx-pod] was created successfully in namespace default";
    policy.observed("c2", template, created).await?;
    let c1 = &world.cluster("c1")?.plane;
    let pod = c1
        .get("v1", "Pod", Some("default"), "sample-nginx-pod")
        .await?;
    ensure!(pod.is_none(), "the cluster that was not chosen has the Pod");
    Ok(())
}
