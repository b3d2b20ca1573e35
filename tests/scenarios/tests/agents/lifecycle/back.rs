//! From ours back to the Go components, as far as that can be shown without them: what ours leave has the shape of what the Go
//! components leave, and what the Go controller sends then replaces what ours has sent.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use kube::api::{Api, PostParams};
use reeve_testkit::ocm::is_current;
use reeve_testkit::{Object, Plane, SOON, eventually, parse};
use serde_json::{Value, json};

use crate::lifecycle::fleet::{ADDON, ADDONS, AGENTS, Fleet, NAMESPACE};
use crate::lifecycle::inventory::{everything, uids};
use crate::lifecycle::shape::{self, Shape};
use crate::lifecycle::upgrade::{AGENT_PROGRAMS, POLICY, WORK, addon_of_go, works_of_go};

const LATER: Duration = Duration::from_mins(3);
const HUB: [&str; 2] = [
    "governance-policy-addon-controller",
    "governance-policy-propagator",
];
/// The leases of the components on the hub.
const LEASES: [&str; 2] = [
    "governance-policy-addon-controller-lock",
    "policy-propagator.open-cluster-management.io",
];

/// The kinds of objects that components make, or whose status they write.
const COMPARED: [&str; 4] = ["Policy", "ConfigurationPolicy", "Secret", "ConfigMap"];

pub(crate) async fn handed_back() -> Result<()> {
    let fleet = Fleet::start(&["c1"]).await?;
    let played = run_lifecycle(&fleet).await;
    if played.is_err() {
        eprintln!("{}", fleet.dump().await);
    }
    played
}

async fn run_lifecycle(fleet: &Fleet) -> Result<()> {
    let (hub, cluster) = (&fleet.hub, &fleet.clusters[0]);
    fleet.install().await?;
    fleet.enable().await?;
    governed(hub).await?;
    let planes = [("the hub", hub), ("c1", &cluster.plane)];
    for (name, plane) in planes {
        fields_belong_to_updates(plane).await.context(name)?;
    }
    has_the_shape_of_go(hub, &cluster.plane).await?;

    ended(hub).await?;
    let works = works_of_go(hub).await?;
    let before = uids(&cluster.plane).await?;
    cluster.kubelet.set_unpullable(AGENT_PROGRAMS);
    for work in &works {
        replace_spec(hub, work).await?;
    }
    for work in &works {
        applied(hub, &work.name_any()).await?;
    }
    for work in &works {
        manifests_are_those_of_go(&cluster.plane, work).await?;
    }
    let after = uids(&cluster.plane).await?;
    for (name, uid) in &before {
        let now = after.get(name);
        ensure!(now == Some(uid), "{name} was {uid} and is {now:?}");
    }
    let new: Vec<&String> = after
        .keys()
        .filter(|name| !before.contains_key(*name))
        .collect();
    ensure!(new.is_empty(), "new: {new:?}");
    Ok(())
}

/// The policy of what the Go components leave, as its author has written it. All else about it is made by ours.
async fn governed(hub: &Plane) -> Result<()> {
    for mut object in parse(include_str!("golang/hub.yaml"))? {
        if object.namespace().as_deref() == Some("c1") {
            continue;
        }
        let kind = object.types.as_ref().map(|types| types.kind.clone());
        if kind.as_deref() == Some("Policy") {
            object
                .data
                .as_object_mut()
                .map(|data| data.remove("status"));
        }
        hub.apply_object(&object).await?;
    }
    eventually("the policy is Compliant", LATER, || async {
        let policy = hub.get(POLICY, "Policy", Some("policies"), "upgrade");
        let status = policy.await?.context("it is not there")?.data["status"].clone();
        ensure!(status["compliant"] == "Compliant", "{status}");
        Ok(())
    })
    .await
}

/// An owner by server-side apply would make the updates of the Go components conflict, or keep fields that they drop.
async fn fields_belong_to_updates(plane: &Plane) -> Result<()> {
    let programs: Vec<&str> = AGENT_PROGRAMS.into_iter().chain(HUB).collect();
    let mut updated = 0;
    for (name, object) in everything(plane).await? {
        for owner in object.metadata.managed_fields.iter().flatten() {
            let manager = owner.manager.as_deref().unwrap_or_default();
            if programs.iter().any(|program| manager.starts_with(program)) {
                let operation = owner.operation.as_deref().unwrap_or_default();
                ensure!(
                    operation == "Update",
                    "{name}: {manager} owns fields by {operation}"
                );
                updated += 1;
            }
        }
    }
    ensure!(updated > 0, "no component owns a field");
    Ok(())
}

/// Compares what components of ours have made, or reported, with what the Go components leave for the same policy.
async fn has_the_shape_of_go(hub: &Plane, cluster: &Plane) -> Result<()> {
    let mut pairs = made_by_components(hub, include_str!("golang/hub.yaml")).await?;
    pairs.extend(made_by_components(cluster, include_str!("golang/cluster.yaml")).await?);
    for addon in ADDONS {
        let live = hub.get(ADDON.0, ADDON.1, Some("c1"), addon).await?;
        let live = live.context("no add-on")?;
        let expected: Object = serde_json::from_value(addon_of_go(addon))?;
        // Others report there, too.
        let [live, expected] = [live, expected].map(|mut addon| {
            let registrations = addon.data["status"]["registrations"].take();
            addon.data = json!({ "registrations": registrations });
            addon
        });
        pairs.push(Pair { live, expected });
    }
    for expected in works_of_go(hub).await? {
        let name = expected.name_any();
        let live = hub.get(WORK.0, WORK.1, Some("c1"), &name).await?;
        let live = live.context("no work")?;
        // What is in it is compared on the cluster.
        let [live, expected] = [live, expected].map(|mut work| {
            let options = work.data["spec"]["deleteOption"].take();
            work.data = json!({ "deleteOption": options });
            work
        });
        pairs.push(Pair { live, expected });
    }
    let differences: Vec<String> = pairs.iter().filter_map(Pair::difference).collect();
    ensure!(differences.is_empty(), "{}", differences.join("\n"));
    Ok(())
}

/// An object of ours, and the same one as the Go components leave it.
struct Pair {
    live: Object,
    expected: Object,
}

impl Pair {
    fn difference(&self) -> Option<String> {
        let (live, expected) = (shape::of(&self.live), shape::of(&self.expected));
        let differences = |of: &Shape, other: &Shape| -> BTreeSet<String> {
            let paths = of.difference(other).filter(|path| !shape::is_known(path));
            paths.cloned().collect()
        };
        let (more, less) = (differences(&live, &expected), differences(&expected, &live));
        let kind = self.live.types.as_ref().map(|types| &types.kind[..]);
        (!more.is_empty() || !less.is_empty()).then(|| {
            format!(
                "{} {}: ours has {more:#?}, and lacks {less:#?}",
                kind.unwrap_or_default(),
                self.live.name_any()
            )
        })
    }
}

async fn made_by_components(plane: &Plane, text: &str) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    for expected in parse(text)? {
        let types = expected.types.clone().context("an object without a kind")?;
        let (namespace, name) = (expected.namespace(), expected.name_any());
        if name == "source" || !COMPARED.contains(&&types.kind[..]) {
            continue;
        }
        let (version, kind) = (&types.api_version, &types.kind);
        let live = plane.get(version, kind, namespace.as_deref(), &name);
        let live = live.await?.with_context(|| name.clone())?;
        pairs.push(Pair { live, expected });
    }
    Ok(pairs)
}

/// The components of the hub end, and leave leases as client-go does, so that others lead at once.
async fn ended(hub: &Plane) -> Result<()> {
    for name in HUB {
        let patch = json!({ "spec": { "replicas": 0 } });
        hub.patch("apps/v1", "Deployment", Some(NAMESPACE), name, patch)
            .await?;
    }
    for name in LEASES {
        eventually(format!("{name} is released"), SOON, || async {
            let api = "coordination.k8s.io/v1";
            let lease = hub.get(api, "Lease", Some(NAMESPACE), name).await?;
            let spec = lease.context("it is not there")?.data["spec"].clone();
            // With its former duration a lease without a holder would be waited for.
            let is_released = spec.get("holderIdentity").is_none()
                && spec["leaseDurationSeconds"] == 1
                && ["acquireTime", "leaseTransitions", "renewTime"]
                    .iter()
                    .all(|field| spec.get(field).is_some());
            ensure!(is_released, "{spec}");
            Ok(())
        })
        .await?;
    }
    Ok(())
}

/// Sends the spec of a work as the Go controller does: nothing of the former spec stays.
async fn replace_spec(hub: &Plane, work: &Object) -> Result<()> {
    let (resource, _) = hub.kind(WORK.0, WORK.1).await?;
    let works: Api<Object> = Api::namespaced_with(hub.client(), "c1", &resource);
    let name = work.name_any();
    eventually(format!("{name} is replaced"), SOON, || async {
        let mut live = works.get(&name).await?;
        live.data["spec"] = work.data["spec"].clone();
        // The work agent writes the status meanwhile.
        works.replace(&name, &PostParams::default(), &live).await?;
        anyhow::Ok(())
    })
    .await
}

async fn applied(hub: &Plane, name: &str) -> Result<()> {
    eventually(format!("{name} is applied"), LATER, || async {
        let work = hub.get(WORK.0, WORK.1, Some("c1"), name).await?;
        let work = work.context("it is not there")?;
        let conditions = &work.data["status"]["conditions"];
        ensure!(is_current(&work, "Applied"), "{conditions}");
        Ok(())
    })
    .await
}

/// The agents' Deployments are wholly those of Go: with an argument or a probe of ours its programs would not run.
async fn manifests_are_those_of_go(cluster: &Plane, work: &Object) -> Result<()> {
    let manifests = work.data["spec"]["workload"]["manifests"].as_array();
    let deployments = manifests.into_iter().flatten();
    for manifest in deployments.filter(|manifest| manifest["kind"] == "Deployment") {
        let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
        let found = cluster
            .get("apps/v1", "Deployment", Some(AGENTS), name)
            .await?;
        let found = found.context("no Deployment")?;
        let of = |object: &Value| object["spec"]["template"]["spec"].clone();
        let (found, expected) = (of(&found.data), of(manifest));
        for field in ["args", "command", "image", "securityContext", "resources"] {
            let (found, expected) = (
                &found["containers"][0][field],
                &expected["containers"][0][field],
            );
            ensure!(
                found == expected,
                "{name}: {field} is {found}, not {expected}"
            );
        }
        let (found, expected) = (&found["securityContext"], &expected["securityContext"]);
        ensure!(
            found == expected,
            "{name}: securityContext is {found}, not {expected}"
        );
    }
    Ok(())
}
