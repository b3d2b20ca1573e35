//! Compares ways to write the status of a root policy by what they cost the API server.

use anyhow::{Context as _, Result};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams, ValidationDirective};
use reeve_api::Policy;
use reeve_benches_measuring::Observed;
use reeve_runtime::writes;
use reeve_testkit::Plane;
use serde_json::{Value, json};

use crate::cost::{Cost, ROUNDS};
use crate::objects::{ROOTS, cluster, policies};

const POLICY: &str = "written";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Update,
    MergePatch,
    JsonPatchOfAll,
    JsonPatchForMetadata,
    JsonPatchUnvalidated,
    JsonPatchOfAllTested,
    JsonPatchOfOne,
    Apply,
}

impl Method {
    const ALL: [Self; 8] = [
        Self::Update,
        Self::MergePatch,
        Self::JsonPatchOfAll,
        Self::JsonPatchForMetadata,
        Self::JsonPatchUnvalidated,
        Self::JsonPatchOfAllTested,
        Self::JsonPatchOfOne,
        Self::Apply,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Update => "update",
            Self::MergePatch => "merge patch",
            Self::JsonPatchOfAll => "JSON patch of the list",
            Self::JsonPatchForMetadata => "JSON patch of the list, answered with metadata",
            Self::JsonPatchUnvalidated => "JSON patch of the list, unknown fields ignored",
            Self::JsonPatchOfAllTested => "JSON patch of the list, UID tested",
            Self::JsonPatchOfOne => "JSON patch of one entry, UID tested",
            Self::Apply => "server-side apply",
        }
    }
}

/// Measures statuses of these numbers of clusters, with `writes` writes of each method in each round.
pub(crate) async fn compare(plane: &Plane, writes: usize) -> Result<()> {
    let api: Api<DynamicObject> = Api::namespaced_with(plane.client(), ROOTS, &policies());
    for clusters in [300, 10_000] {
        let mut policy = create(&api).await?;
        let bytes = serde_json::to_vec(&status(clusters, 0))?.len();
        println!("\n# a status of {clusters} clusters, {} KiB", bytes / 1024);
        // The propagator watches what it writes.
        let _watched = Observed::start(api.clone());
        let mut costs = Method::ALL.map(|_| Cost::default());
        let mut change = 0;
        for _ in 0..ROUNDS {
            for (method, cost) in Method::ALL.into_iter().zip(&mut costs) {
                let one = async || {
                    change += 1;
                    write(&api, &mut policy, method, (clusters, change)).await
                };
                cost.measure(plane, writes, one).await?;
            }
        }
        for (method, cost) in Method::ALL.into_iter().zip(costs) {
            cost.print(method.name())?;
        }
        api.delete(POLICY, &kube::api::DeleteParams::default())
            .await?;
    }
    Ok(())
}

async fn create(api: &Api<DynamicObject>) -> Result<DynamicObject> {
    let policy = json!({
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "Policy",
        "metadata": {"name": POLICY, "namespace": ROOTS},
        "spec": {"disabled": false, "policy-templates": []},
    });
    let policy: DynamicObject = serde_json::from_value(policy)?;
    Ok(api.create(&PostParams::default(), &policy).await?)
}

/// The status after so many changes, each of one cluster.
fn status(clusters: usize, changes: usize) -> Value {
    let entries = (0..clusters).map(|number| {
        let name = cluster(number);
        json!({"clustername": name, "clusternamespace": name, "compliant": compliance(clusters, changes, number)})
    });
    json!({
        "compliant": "NonCompliant",
        "placement": [{"placement": "all", "placementBinding": "all"}],
        "status": entries.collect::<Vec<_>>(),
    })
}

/// One cluster after the other changes, and in the next pass changes back.
fn compliance(clusters: usize, changes: usize, number: usize) -> &'static str {
    let (passes, in_this_pass) = (changes / clusters, changes % clusters);
    let flips = passes + usize::from(number < in_this_pass);
    if flips.is_multiple_of(2) {
        "Compliant"
    } else {
        "NonCompliant"
    }
}

async fn write(
    api: &Api<DynamicObject>,
    policy: &mut DynamicObject,
    method: Method,
    (clusters, changes): (usize, usize),
) -> Result<()> {
    let wanted = status(clusters, changes);
    let uid = policy.metadata.uid.as_deref().context("no UID")?;
    let test = json!({"op": "test", "path": "/metadata/uid", "value": uid});
    let all = json!({"op": "add", "path": "/status", "value": wanted});
    let mut params = PatchParams::default();
    let patch = match method {
        Method::Update => {
            // With the resource version of the last answer, which a watch would have delivered.
            policy.data["status"] = wanted;
            *policy = api
                .replace_status(POLICY, &PostParams::default(), policy)
                .await?;
            return Ok(());
        }
        Method::MergePatch => Patch::Merge(json!({"status": wanted})),
        Method::Apply => {
            let applied = json!({
                "apiVersion": "policy.open-cluster-management.io/v1", "kind": "Policy",
                "metadata": {"name": POLICY}, "status": wanted,
            });
            params = PatchParams::apply("reeve-bench").force();
            Patch::Apply(applied)
        }
        Method::JsonPatchOfAll => json_patch(json!([all]))?,
        Method::JsonPatchForMetadata => {
            let (client, key) = (api.clone().into_client(), (ROOTS, POLICY));
            writes::json_patch_status::<Policy>(&client, key, &json!([all])).await?;
            return Ok(());
        }
        Method::JsonPatchUnvalidated => {
            params.field_validation = Some(ValidationDirective::Ignore);
            json_patch(json!([all]))?
        }
        Method::JsonPatchOfAllTested => json_patch(json!([test, all]))?,
        Method::JsonPatchOfOne => {
            let number = (changes - 1) % clusters;
            let value = compliance(clusters, changes, number);
            let path = format!("/status/status/{number}/compliant");
            json_patch(json!([test, {"op": "replace", "path": path, "value": value}]))?
        }
    };
    *policy = api.patch_status(POLICY, &params, &patch).await?;
    Ok(())
}

fn json_patch(changes: Value) -> Result<Patch<Value>> {
    Ok(Patch::Json(serde_json::from_value(changes)?))
}
