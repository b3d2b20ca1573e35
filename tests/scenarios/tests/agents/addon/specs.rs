//! Policies from the hub to the managed cluster.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::{Agents, Mode, configuration, holds, within};
use serde_json::json;

const RULES: &str = "admissionregistration.k8s.io/v1";

pub(crate) async fn reverted(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let policy = world.place(mode)?.policy("case-c01-reverted");
    let templates = [configuration("case-c01-reverted", "inform")];
    policy.apply("inform", &templates).await?;
    let drift = json!({ "spec": { "remediationAction": "enforce" } });
    policy.patch_copy(drift).await?;
    policy.copied().await?;
    let emptied = json!({ "spec": { "policy-templates": [] } });
    policy.patch_copy(emptied).await?;
    policy.copied().await?;
    let label = json!({ "metadata": { "annotations": { "example.com/mine": "1" } } });
    policy.patch_copy(label).await?;
    within("the annotation is gone", || async {
        let copy = policy.copy().await?;
        ensure!(copy.annotations().is_empty(), "{:?}", copy.annotations());
        Ok(())
    })
    .await
}

pub(crate) async fn recreated(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let policy = world.place(mode)?.policy("case-c01-recreated");
    let templates = [configuration("case-c01-recreated", "inform")];
    policy.apply("inform", &templates).await?;
    let first = policy.copy().await?.uid().context("no UID")?;
    policy
        .delete_object(reeve_scenarios::POLICY, policy.name())
        .await?;
    within("there is another copy", || async {
        let uid = policy.copy().await?.uid();
        ensure!(uid.as_ref() != Some(&first), "it is still the first one");
        Ok(())
    })
    .await?;
    policy.copied().await
}

pub(crate) async fn status_reverted(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let policy = world.place(mode)?.policy("case-c01-status");
    let templates = [configuration("case-c01-status", "inform")];
    policy.apply("inform", &templates).await?;
    policy.report("case-c01-status", "Compliant; fine").await?;
    let before = policy.is("Compliant").await?;
    let place = policy.place();
    let wrong = json!({ "status": { "compliant": "NonCompliant" } });
    for (plane, namespace) in [
        (place.managed, place.namespace),
        (place.hub, place.hub_namespace),
    ] {
        let (api, kind) = reeve_scenarios::POLICY;
        plane
            .patch_status(api, kind, Some(namespace), policy.name(), wrong.clone())
            .await?;
        policy
            .until("as before", |reported| *reported == before)
            .await?;
    }
    Ok(())
}

pub(crate) async fn follows(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let policy = world.place(mode)?.policy("case-c07-follows");
    let place = policy.place();
    let templates = [configuration("case-c07-follows", "inform")];
    policy.apply("inform", &templates).await?;
    let name = policy.name();
    let created = format!(
        "Policy {name} was synchronized to cluster namespace {}",
        place.namespace
    );
    policy.reports(&created).await?;
    let enforce = json!({ "spec": { "remediationAction": "enforce" } });
    policy.patch(enforce).await?;
    policy.copied().await?;
    let updated = format!(
        "Policy {name} was updated in cluster namespace {}",
        place.namespace
    );
    policy.reports(&updated).await?;
    let annotations = json!({ "metadata": { "annotations": { "example.com/a": "1" } } });
    policy.patch(annotations).await?;
    within("the annotation is copied", || async {
        let copy = policy.copy().await?;
        ensure!(
            copy.annotations().get("example.com/a").map(String::as_str) == Some("1"),
            "{:?}",
            copy.annotations()
        );
        Ok(())
    })
    .await?;
    policy.delete().await?;
    policy.gone().await
}

pub(crate) async fn verbatim(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let policy = world.place(mode)?.policy("case-c07-verbatim");
    let templates = [configuration("case-c07-verbatim", "inform")];
    policy.apply("inform", &templates).await?;
    let unknown = json!({
        "apiVersion": "xxxxx", "kind": "Yyyyy",
        "metadata": { "name": "case-c07-unknown" },
        "spec": { "big": 9_007_199_254_740_993_i64, "float": 1.5, "nothing": [], "text": "ü" }
    });
    let spec = json!({
        "disabled": true, "remediationAction": "Inform",
        "policy-templates": [{ "objectDefinition": unknown }]
    });
    policy.apply_spec(&spec).await?;
    let copy = policy.copy().await?;
    ensure!(copy.data["spec"] == spec, "{:#}", copy.data["spec"]);
    Ok(())
}

/// FWK-45.
pub(crate) async fn refused_update(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let policy = world.place(mode)?.policy("rough-edge-24-refused");
    let place = policy.place();
    let templates = [configuration("rough-edge-24-refused", "inform")];
    policy.apply("inform", &templates).await?;
    // Nobody may disable it; the probe reports from when on.
    let name = format!("rough-edge-24-{}", place.namespace);
    let rules = json!([{
        "apiGroups": ["policy.open-cluster-management.io"], "apiVersions": ["v1"],
        "resources": ["policies"], "operations": ["UPDATE"]
    }]);
    let ours = format!(
        "object.metadata.name == '{}' && object.metadata.namespace == '{}' || object.metadata.name == '{name}'",
        policy.name(),
        place.namespace
    );
    let refusal = json!({
        "apiVersion": RULES, "kind": "ValidatingAdmissionPolicy", "metadata": { "name": name },
        "spec": {
            "matchConstraints": { "resourceRules": rules },
            "matchConditions": [{ "name": "ours", "expression": ours }],
            "validations": [{ "expression": "object.spec.disabled == false" }]
        }
    });
    let binding = json!({
        "apiVersion": RULES, "kind": "ValidatingAdmissionPolicyBinding", "metadata": { "name": name },
        "spec": { "policyName": name, "validationActions": ["Deny"] }
    });
    let (api, kind) = reeve_scenarios::POLICY;
    let probe = |disabled: bool| {
        let probe = json!({
            "apiVersion": api, "kind": kind, "metadata": { "name": name, "namespace": "default" },
            "spec": { "disabled": disabled, "policy-templates": [] }
        });
        probe.to_string()
    };
    let refusal = format!("{refusal}\n---\n{binding}");
    place.managed.apply(&refusal).await?;
    within("changes are refused", || async {
        place.managed.apply(&probe(false)).await?;
        let outcome = place.managed.apply(&probe(true)).await;
        ensure!(outcome.is_err(), "not yet");
        Ok(())
    })
    .await?;
    let updates = || async {
        let observed = policy.observed().await?;
        let update = format!("Policy {} was updated in cluster namespace", policy.name());
        let is_update = |observed: &&String| observed.starts_with(&update);
        anyhow::Ok(observed.iter().filter(is_update).count())
    };
    let before = updates().await?;
    policy
        .patch(json!({ "spec": { "disabled": true } }))
        .await?;
    holds("no success is announced", || async {
        ensure!(updates().await? == before, "it is");
        let copy = policy.copy().await?;
        ensure!(copy.data["spec"]["disabled"] == false, "it was written");
        Ok(())
    })
    .await?;
    place.managed.delete(&refusal).await?;
    policy.copied().await?;
    within("then success is announced", || async {
        ensure!(updates().await? > before, "not yet");
        Ok(())
    })
    .await
}

/// FWK-46.
pub(crate) async fn labels(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let policy = world.place(mode)?.policy("rough-edge-25-labels");
    let place = policy.place();
    let object = json!({
        "apiVersion": reeve_scenarios::POLICY.0, "kind": "Policy",
        "metadata": {
            "name": policy.name(), "namespace": place.hub_namespace,
            "finalizers": ["example.com/hub"],
            "labels": {
                "policy.open-cluster-management.io/cluster-namespace": place.hub_namespace,
                "example.com/first": "1",
            }
        },
        "spec": { "disabled": false, "policy-templates": [] }
    });
    place.hub.apply(&object.to_string()).await?;
    policy.copied().await?;
    let copy = policy.copy().await?;
    ensure!(copy.finalizers().is_empty(), "{:?}", copy.finalizers());
    ensure!(copy.owner_references().is_empty());
    let label = |object: &reeve_testkit::Object, name: &str| object.labels().get(name).cloned();
    let namespaced = "policy.open-cluster-management.io/cluster-namespace";
    ensure!(label(&copy, namespaced).as_deref() == Some(place.namespace));
    ensure!(label(&copy, "example.com/first").as_deref() == Some("1"));
    let mine = json!({ "metadata": { "labels": { "mine": "1" } } });
    policy.patch_copy(mine).await?;
    let later = json!({ "metadata": { "labels": { "example.com/first": "2", "later": "1" } } });
    policy.patch(later).await?;
    within("labels follow", || async {
        let copy = policy.copy().await?;
        let labels = copy.labels();
        for (name, want) in [
            ("example.com/first", "2"),
            ("later", "1"),
            ("mine", "1"),
            (namespaced, place.namespace),
        ] {
            let found = labels.get(name).map(String::as_str);
            ensure!(found == Some(want), "{name} is {found:?}");
        }
        Ok(())
    })
    .await?;
    policy
        .patch(json!({ "metadata": { "finalizers": null } }))
        .await?;
    policy.delete().await?;
    policy.gone().await
}

/// FWK-45.
pub(crate) async fn others_write(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "rough-edge-30-busy";
    let policy = world.place(mode)?.policy(name);
    let templates = [configuration(name, "inform")];
    policy.apply("inform", &templates).await?;
    // Others write all the time while statuses and specifications are written.
    for number in 0..20 {
        let label = json!({ "metadata": {
            "labels": { "mine": number.to_string() },
            "finalizers": ["example.com/mine"],
        } });
        let message = format!("NonCompliant; violation {number}");
        let action = ["inform", "enforce"][number % 2];
        let action = json!({ "spec": { "remediationAction": action } });
        let (label, reported, patched) = tokio::join!(
            policy.patch_copy(label),
            policy.report(name, &message),
            policy.patch(action)
        );
        label?;
        reported?;
        patched?;
    }
    policy.report(name, "Compliant; done").await?;
    policy
        .until("Compliant with the newest history", |reported| {
            reported.compliance() == "Compliant" && reported.history(name).len() == 10
        })
        .await?;
    policy.copied().await?;
    let copy = policy.copy().await?;
    ensure!(copy.labels().get("mine").map(String::as_str) == Some("19"));
    ensure!(copy.finalizers() == ["example.com/mine"], "{copy:#?}");
    policy
        .patch_copy(json!({ "metadata": { "finalizers": null } }))
        .await
}
