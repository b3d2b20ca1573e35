//! What the hub holds.

use anyhow::Result;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use reeve_testkit::Plane;
use serde_json::{Value, json};

/// Where root policies, binding and placement are.
pub(crate) const ROOTS: &str = "policies";
/// Requests of this program under way at once.
const AT_ONCE: usize = 16;
/// Clusters in one `PlacementDecision`.
const PER_DECISION: usize = 100;

/// How much there is of everything.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) clusters: usize,
    pub(crate) policies: usize,
    pub(crate) templates: bool,
}

impl Size {
    pub(crate) fn pairs(self) -> usize {
        self.clusters * self.policies
    }
}

pub(crate) fn cluster(number: usize) -> String {
    format!("cluster-{number}")
}

pub(crate) fn root(number: usize) -> String {
    format!("policy-{number}")
}

/// The replica of a root policy, by its name.
pub(crate) fn replica(number: usize) -> String {
    format!("{ROOTS}.{}", root(number))
}

fn kind(api_version: &str, kind: &str, plural: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

pub(crate) fn policies() -> ApiResource {
    kind("policy.open-cluster-management.io/v1", "Policy", "policies")
}

pub(crate) fn bindings(plane: &Plane) -> Api<DynamicObject> {
    let resource = kind(
        "policy.open-cluster-management.io/v1",
        "PlacementBinding",
        "placementbindings",
    );
    Api::namespaced_with(plane.client(), ROOTS, &resource)
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// The namespace of root policies.
pub(crate) async fn roots_namespace(plane: &Plane) -> Result<()> {
    let namespaces = Api::all_with(plane.client(), &kind("v1", "Namespace", "namespaces"));
    create(&namespaces, [namespace(ROOTS)].into_iter()).await
}

/// Everything but the binding.
pub(crate) async fn fleet(plane: &Plane, size: Size) -> Result<()> {
    let client = plane.client();
    let namespaces: Api<DynamicObject> =
        Api::all_with(client.clone(), &kind("v1", "Namespace", "namespaces"));
    let names = (0..size.clusters).map(cluster).chain([ROOTS.to_owned()]);
    create(&namespaces, names.map(|name| namespace(&name))).await?;
    let group = "cluster.open-cluster-management.io";
    let clusters = kind(&format!("{group}/v1"), "ManagedCluster", "managedclusters");
    let managed = |number| {
        let name = cluster(number);
        let labels = json!({"name": name, "cloud": "auto-detect", "vendor": "auto-detect"});
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "ManagedCluster",
            "metadata": {"name": name, "labels": labels}, "spec": {"hubAcceptsClient": true},
        })
    };
    let api = Api::all_with(client.clone(), &clusters);
    create(&api, (0..size.clusters).map(managed)).await?;
    placement(plane, size).await?;
    let config = kind("v1", "ConfigMap", "configmaps");
    let api = Api::namespaced_with(client.clone(), ROOTS, &config);
    let value = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "bench", "namespace": ROOTS}, "data": {"key": "from the hub"},
    });
    create(&api, std::iter::once(value)).await?;
    let api = Api::namespaced_with(client, ROOTS, &policies());
    create(&api, (0..size.policies).map(|number| policy(number, size))).await
}

async fn placement(plane: &Plane, size: Size) -> Result<()> {
    let version = "cluster.open-cluster-management.io/v1beta1";
    let placements = kind(version, "Placement", "placements");
    let decisions = kind(version, "PlacementDecision", "placementdecisions");
    let api = Api::namespaced_with(plane.client(), ROOTS, &placements);
    let all = json!({
        "apiVersion": version, "kind": "Placement",
        "metadata": {"name": "all", "namespace": ROOTS}, "spec": {},
    });
    create(&api, std::iter::once(all)).await?;
    let api: Api<DynamicObject> = Api::namespaced_with(plane.client(), ROOTS, &decisions);
    let numbers: Vec<usize> = (0..size.clusters).collect();
    for (at, chosen) in numbers.chunks(PER_DECISION).enumerate() {
        let name = format!("all-decision-{at}");
        let labels = json!({"cluster.open-cluster-management.io/placement": "all"});
        let decision = json!({
            "apiVersion": version, "kind": "PlacementDecision",
            "metadata": {"name": name, "namespace": ROOTS, "labels": labels},
        });
        create(&api, std::iter::once(decision)).await?;
        let chosen: Vec<Value> = chosen
            .iter()
            .map(|number| json!({"clusterName": cluster(*number), "reason": ""}))
            .collect();
        let patch = Patch::Merge(json!({"status": {"decisions": chosen}}));
        api.patch_status(&name, &PatchParams::default(), &patch)
            .await?;
    }
    Ok(())
}

/// What chooses all clusters for all policies.
pub(crate) fn binding(size: Size) -> Value {
    let subject = |number| {
        json!({
            "apiGroup": "policy.open-cluster-management.io", "kind": "Policy", "name": root(number),
        })
    };
    json!({
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "PlacementBinding",
        "metadata": {"name": "all", "namespace": ROOTS},
        "placementRef": {
            "apiGroup": "cluster.open-cluster-management.io", "kind": "Placement", "name": "all",
        },
        "subjects": (0..size.policies).map(subject).collect::<Vec<_>>(),
    })
}

pub(crate) fn policy(number: usize, size: Size) -> Value {
    let templates: Vec<_> = (0..2).map(|part| template(number, part, size)).collect();
    json!({
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "Policy",
        "metadata": {"name": root(number), "namespace": ROOTS},
        "spec": {
            "disabled": false, "remediationAction": "inform", "policy-templates": templates,
        },
    })
}

fn template(number: usize, part: usize, size: Size) -> Value {
    let mut data = json!({"one": "1", "two": "2", "three": "3"});
    if size.templates && part == 0 {
        data = json!({
            "one": "{{hub .ManagedClusterName hub}}",
            "two": "{{hub .ManagedClusterLabels.vendor hub}}",
            "three": "{{hub fromConfigMap \"\" \"bench\" \"key\" hub}}",
        });
    }
    let object = |at: usize| {
        json!({
            "complianceType": "musthave",
            "objectDefinition": {
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": format!("object-{number}-{part}-{at}"), "namespace": "default"},
                "data": data,
            },
        })
    };
    json!({"objectDefinition": {
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy",
        "metadata": {"name": format!("{}-{part}", root(number))},
        "spec": {
            "remediationAction": "inform", "severity": "low",
            "object-templates": [object(0), object(1)],
        },
    }})
}

/// Does something many times, some of them at once.
pub(crate) async fn each<T, F, Fut>(items: impl IntoIterator<Item = T>, act: F) -> Result<()>
where
    F: Fn(T) -> Fut,
    Fut: Future<Output = Result<()>>,
{
    stream::iter(items)
        .map(act)
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await
}

async fn create(api: &Api<DynamicObject>, objects: impl Iterator<Item = Value>) -> Result<()> {
    each(objects, |object| async move {
        let object: DynamicObject = serde_json::from_value(object)?;
        api.create(&PostParams::default(), &object).await?;
        Ok(())
    })
    .await
}
