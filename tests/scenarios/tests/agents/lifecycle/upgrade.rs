//! From the Go components to ours: what they leave is taken over as it is.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition,
};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, PostParams};
use reeve_scenarios::record::Recorder;
use reeve_testkit::ocm::is_current;
use reeve_testkit::{Object, Plane, SOON, eventually, parse};
use serde_json::{Value, json};

use crate::lifecycle::fleet::{ADDON, ADDONS, AGENTS, Fleet, NAMESPACE, available, shipped};
use crate::lifecycle::inventory::uids;

pub(crate) const POLICY: &str = "policy.open-cluster-management.io/v1";
pub(crate) const WORK: (&str, &str) = ("work.open-cluster-management.io/v1", "ManifestWork");
const LATER: Duration = Duration::from_mins(3);
/// How long the lease of the Go controller is valid, in seconds.
const LEASE_SECONDS: u64 = 137;

/// The programs of the agents. Until the upgrade none of ours may run.
pub(crate) const AGENT_PROGRAMS: [&str; 2] = [
    "governance-policy-framework-addon",
    "config-policy-controller",
];

pub(crate) async fn in_place() -> Result<()> {
    let fleet = Fleet::start(&["c1"]).await?;
    let played = run_lifecycle(&fleet).await;
    if played.is_err() {
        eprintln!("{}", fleet.dump().await);
    }
    played
}

async fn run_lifecycle(fleet: &Fleet) -> Result<()> {
    let (hub, cluster) = (&fleet.hub, &fleet.clusters[0]);
    cluster.kubelet.set_unpullable(AGENT_PROGRAMS);
    installed_by_go(fleet).await?;
    governed_by_go(hub, &cluster.plane).await?;
    let before = [uids(hub).await?, uids(&cluster.plane).await?];
    let mut recorders = Vec::new();
    for plane in [hub, &cluster.plane] {
        let kinds = [(POLICY, "Policy", "")];
        recorders.push(Recorder::start(plane, &kinds).await?);
    }
    let kinds = [(POLICY, "ConfigurationPolicy", "")];
    recorders.push(Recorder::start(&cluster.plane, &kinds).await?);

    let [_, dependencies, deployments] = shipped()?;
    cluster.kubelet.set_unpullable([]);
    hub.apply(&dependencies).await?;
    hub.apply(&deployments).await?;
    for name in [
        "governance-policy-addon-controller",
        "governance-policy-propagator",
    ] {
        available(hub, NAMESPACE, name).await?;
    }
    for addon in ADDONS {
        taken_over(hub, addon).await?;
        available(&cluster.plane, AGENTS, addon).await?;
        fleet.observed("c1", addon, "Available").await?;
    }
    evaluated(&cluster.plane).await?;

    let after = [uids(hub).await?, uids(&cluster.plane).await?];
    for (place, (before, after)) in ["hub", "c1"].iter().zip(before.iter().zip(&after)) {
        for (name, uid) in before {
            let now = after.get(name);
            ensure!(now == Some(uid), "{place}: {name} was {uid} and is {now:?}");
        }
    }
    for recorder in &mut recorders {
        for version in recorder.versions().await? {
            let object = version.object.context("a policy was deleted")?;
            let compliant = &object.data["status"]["compliant"];
            ensure!(
                compliant == "Compliant",
                "{}: {}",
                version.name,
                object.data["status"]
            );
        }
    }
    // With the key of before: what is missing is made again of the value that was encrypted then.
    decrypted(&cluster.plane).await
}

/// The objects of `clusteradm`, the add-ons as the Go controller has brought them about, and their agents' credentials.
async fn installed_by_go(fleet: &Fleet) -> Result<()> {
    let hub = &fleet.hub;
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
    hub.apply(&namespace.to_string()).await?;
    let [crds, dependencies, _] = shipped()?;
    hub.apply(&crds).await?;
    hub.apply(&dependencies).await?;
    for kind in ["Policy", "PlacementBinding"] {
        eventually(format!("{kind} is served"), SOON, || hub.kind(POLICY, kind)).await?;
    }
    // A lease that the Go controller has not released. Its times are those of another clock, so our controller leads
    // only when the lease has not changed for its whole duration.
    let long_ago = Timestamp::now() - SignedDuration::from_mins(5);
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": "governance-policy-addon-controller-lock", "namespace": NAMESPACE },
        "spec": {
            "holderIdentity": "old-pod_1b671a64", "leaseDurationSeconds": LEASE_SECONDS, "leaseTransitions": 3,
            "acquireTime": format!("{long_ago:.6}"), "renewTime": format!("{long_ago:.6}"),
        },
    });
    hub.apply(&lease.to_string()).await?;
    for addon in ADDONS {
        hub.apply(&addon_of_go(addon).to_string()).await?;
    }
    for work in works_of_go(hub).await? {
        hub.apply_object(&work).await?;
    }
    for addon in ADDONS {
        issued(hub, &fleet.clusters[0].plane, addon).await?;
        let found = || {
            fleet.clusters[0]
                .plane
                .get("apps/v1", "Deployment", Some(AGENTS), addon)
        };
        eventually(format!("Deployment {addon} is there"), SOON, || async {
            found().await?.map(drop).context("it is not")
        })
        .await?;
    }
    Ok(())
}

/// The works of the Go controller for the add-ons of a hub.
pub(crate) async fn works_of_go(hub: &Plane) -> Result<Vec<Object>> {
    let mut works = parse(include_str!("golang/works.yaml"))?;
    for work in &mut works {
        let addon = work.labels()["open-cluster-management.io/addon-name"].clone();
        let owner = hub.get(ADDON.0, ADDON.1, Some("c1"), &addon).await?;
        let owner = owner.and_then(|owner| owner.uid()).context("no add-on")?;
        for reference in work.metadata.owner_references.iter_mut().flatten() {
            reference.uid.clone_from(&owner);
        }
        fill_in_crds(work)?;
    }
    Ok(works)
}

pub(crate) fn addon_of_go(name: &str) -> Value {
    let time = "2026-11-20T01:00:00Z";
    let condition = |kind: &str, reason: &str, message: &str| json!({ "type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": time });
    let group = format!("system:open-cluster-management:cluster:c1:addon:{name}");
    json!({
        "apiVersion": ADDON.0, "kind": ADDON.1,
        "metadata": {
            "name": name, "namespace": "c1",
            "finalizers": ["addon.open-cluster-management.io/addon-pre-delete"],
        },
        "spec": { "installNamespace": AGENTS },
        "status": {
            "namespace": AGENTS,
            "supportedConfigs": [{ "group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs" }],
            "registrations": [{
                "signerName": "kubernetes.io/kube-apiserver-client",
                "subject": {
                    "user": format!("{group}:agent:{name}"),
                    "groups": [group, format!("system:open-cluster-management:addon:{name}")],
                },
            }],
            "conditions": [
                condition("RegistrationApplied", "SetPermissionApplied", "Registration of the addon agent is configured"),
                condition("ManifestApplied", "AddonManifestApplied", "manifests of addon are applied successfully"),
            ],
        },
    })
}

/// The CRDs in the works are this repository's.
fn fill_in_crds(work: &mut Object) -> Result<()> {
    let manifests = work.data["spec"]["workload"]["manifests"].as_array_mut();
    for manifest in manifests.into_iter().flatten() {
        if manifest["kind"] != "CustomResourceDefinition" {
            continue;
        }
        let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
        let plural = name.split('.').next().unwrap_or_default();
        let file = format!("deploy/crds/policy.open-cluster-management.io_{plural}.yaml");
        let text = std::fs::read_to_string(reeve_testkit::workspace().join(file))?;
        let crd = parse(&text)?.pop().context("an empty file")?;
        manifest["spec"] = crd.data["spec"].clone();
    }
    Ok(())
}

/// Approves what the agent has asked for, as the Go controller has done, and waits for its credentials.
async fn issued(hub: &Plane, cluster: &Plane, addon: &str) -> Result<()> {
    let requests: Api<CertificateSigningRequest> = Api::all(hub.client());
    eventually(
        format!("{addon} has asked for a certificate"),
        SOON,
        || async {
            let labelled = format!("open-cluster-management.io/addon-name={addon}");
            let listed = requests
                .list(&ListParams::default().labels(&labelled))
                .await?;
            let mut request = listed.items.into_iter().next().context("it has not")?;
            let name = request.name_any();
            let status = request.status.get_or_insert_default();
            status.conditions = Some(vec![CertificateSigningRequestCondition {
                type_: "Approved".to_owned(),
                status: "True".to_owned(),
                reason: Some("AutoApprovedByHubCSRApprovingController".to_owned()),
                ..CertificateSigningRequestCondition::default()
            }]);
            let parameters = PostParams::default();
            requests
                .replace_subresource("approval", &name, &parameters, &request)
                .await?;
            anyhow::Ok(())
        },
    )
    .await?;
    let secret = format!("{addon}-hub-kubeconfig");
    eventually(format!("{secret} is there"), SOON, || async {
        let found = cluster.get("v1", "Secret", Some(AGENTS), &secret).await?;
        found.map(drop).context("it is not")
    })
    .await
}

/// A policy with an encrypted value, everywhere where the Go components have brought it, and what they say of it.
async fn governed_by_go(hub: &Plane, cluster: &Plane) -> Result<()> {
    let rotated = Timestamp::now() - SignedDuration::from_hours(24);
    let text = include_str!("golang/hub.yaml").replace("ROTATED", &format!("{rotated:.0}"));
    hub.apply(&text).await?;
    for kind in ["Policy", "ConfigurationPolicy"] {
        eventually(format!("{kind} is served"), SOON, || {
            cluster.kind(POLICY, kind)
        })
        .await?;
    }
    eventually("the namespace of the cluster is there", SOON, || async {
        cluster
            .get("v1", "Namespace", None, "c1")
            .await?
            .map(drop)
            .context("it is not")
    })
    .await?;
    let mut uids = std::collections::BTreeMap::new();
    for mut object in parse(include_str!("golang/cluster.yaml"))? {
        for owner in object.metadata.owner_references.iter_mut().flatten() {
            let uid: &String = uids.get("Policy").context("the policy comes first")?;
            owner.uid.clone_from(uid);
        }
        if let Some(uid) = object
            .data
            .pointer_mut("/status/relatedObjects/0/properties/uid")
        {
            *uid = json!(uids["ConfigMap"]);
        }
        let applied = cluster.apply_object(&object).await?;
        let kind = object.types.map(|types| types.kind).unwrap_or_default();
        uids.insert(kind, applied.uid().unwrap_or_default());
    }
    Ok(())
}

/// The work is ours now, and nothing in it has failed.
async fn taken_over(hub: &Plane, addon: &str) -> Result<()> {
    let name = format!("addon-{addon}-deploy-0");
    let limit = Duration::from_secs(LEASE_SECONDS) + LATER;
    eventually(format!("{name} is taken over"), limit, || async {
        let work = hub.get(WORK.0, WORK.1, Some("c1"), &name).await?;
        let work = work.context("it is not there")?;
        let owners = work.owner_references();
        ensure!(
            owners.len() == 1 && owners[0].api_version == ADDON.0,
            "its owners are {owners:?}"
        );
        let conditions = &work.data["status"]["conditions"];
        ensure!(is_current(&work, "Applied"), "{conditions}");
        Ok(())
    })
    .await
}

/// Our controller has looked at the policy.
async fn evaluated(cluster: &Plane) -> Result<()> {
    eventually("the policy is evaluated", SOON, || async {
        let kind = "ConfigurationPolicy";
        let found = cluster
            .get(POLICY, kind, Some("c1"), "upgrade-config")
            .await?;
        let status = found.context("it is not there")?.data["status"].clone();
        ensure!(
            status["lastEvaluated"] != "2026-11-20T01:07:17Z",
            "{status}"
        );
        Ok(())
    })
    .await
}

async fn decrypted(cluster: &Plane) -> Result<()> {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "upgraded", "namespace": "default" },
    });
    cluster.delete(&object.to_string()).await?;
    eventually("the ConfigMap is made again", SOON, || async {
        let found = cluster
            .get("v1", "ConfigMap", Some("default"), "upgraded")
            .await?;
        let token = found.context("it is not there")?.data["data"]["token"].clone();
        // `echo -n the-token-of-the-fleet | base64`
        ensure!(token == "dGhlLXRva2VuLW9mLXRoZS1mbGVldA==", "{token}");
        Ok(())
    })
    .await
}
