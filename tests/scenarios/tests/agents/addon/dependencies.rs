//! Templates that wait for others.

use std::sync::Arc;

use anyhow::{Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::{
    Agents, CONFIGURATION, Mode, Place, Replicated, configuration, holds, install, rule, within,
};
use serde_json::{Value, json};

use crate::addon::templates::RULE;

fn on(name: &str, compliance: &str) -> Value {
    json!({
        "apiVersion": CONFIGURATION.0, "kind": CONFIGURATION.1,
        "name": name, "compliance": compliance
    })
}

/// A spec of templates with their own dependencies, and dependencies of all.
fn spec(dependencies: &[Value], templates: &[(Value, &[Value])]) -> Value {
    let templates: Vec<Value> = templates
        .iter()
        .map(
            |(template, extra)| json!({ "objectDefinition": template, "extraDependencies": extra }),
        )
        .collect();
    json!({
        "disabled": false, "remediationAction": "inform",
        "dependencies": dependencies, "policy-templates": templates
    })
}

/// A `ConfigurationPolicy` to depend on, which nobody but a scenario writes.
async fn dependency(place: Place<'_>, name: &str, compliance: &str) -> Result<()> {
    let mut object = configuration(name, "inform");
    object["metadata"]["namespace"] = json!(place.namespace);
    place.managed.apply(&object.to_string()).await?;
    answer(place, name, compliance).await
}

async fn answer(place: Place<'_>, name: &str, compliance: &str) -> Result<()> {
    let (api, kind) = CONFIGURATION;
    let status = json!({ "status": { "compliant": compliance } });
    place
        .managed
        .patch_status(api, kind, Some(place.namespace), name, status)
        .await?;
    Ok(())
}

async fn pending(policy: &Replicated<'_>, template: &str, text: &str) -> Result<()> {
    let reported = policy.is("Pending").await?;
    ensure!(
        reported.newest(template) == format!("Pending; {text}"),
        "{reported}"
    );
    Ok(())
}

pub(crate) async fn waits(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let (name, wanted) = ("case-c12-waits", "case-c12-wanted");
    let policy = world.place(mode)?.policy(name);
    let place = policy.place();
    let spec = spec(
        &[on(wanted, "Compliant")],
        &[(configuration(name, "inform"), &[])],
    );
    policy.apply_spec(&spec).await?;
    let text = format!(
        "Dependencies were not satisfied: 1 is still pending (ConfigurationPolicy {wanted})"
    );
    let absent = format!("{text}; ConfigurationPolicy {wanted} is not on the cluster");
    pending(&policy, name, &absent).await?;
    ensure!(policy.find(CONFIGURATION, name).await?.is_none());
    dependency(place, wanted, "NonCompliant").await?;
    policy
        .stays("Pending", |reported| reported.compliance() == "Pending")
        .await?;
    answer(place, wanted, "Compliant").await?;
    policy.template(name, |_| true).await?;
    policy.report(name, "Compliant; fine").await?;
    policy.is("Compliant").await?;
    // And back.
    answer(place, wanted, "NonCompliant").await?;
    policy.no_object(CONFIGURATION, name).await?;
    pending(&policy, name, &text).await
}

/// A policy that brings the dependency comes later: it waits itself, so that no object changes.
pub(crate) async fn policy_of_the_dependency_comes_later(
    world: Arc<Agents>,
    mode: Mode,
) -> Result<()> {
    let (name, wanted) = ("case-c12-first", "case-c12-second");
    let policy = world.place(mode)?.policy(name);
    let first = spec(
        &[on(wanted, "Compliant")],
        &[(configuration(name, "inform"), &[])],
    );
    policy.apply_spec(&first).await?;
    let text = format!(
        "Dependencies were not satisfied: 1 is still pending (ConfigurationPolicy {wanted})"
    );
    let absent = format!("{text}; ConfigurationPolicy {wanted} is not on the cluster");
    pending(&policy, name, &absent).await?;
    let later = policy.place().policy(wanted);
    let second = spec(
        &[on(name, "Compliant")],
        &[(configuration(wanted, "inform"), &[])],
    );
    later.apply_spec(&second).await?;
    let a_loop = format!(
        "Pending; {text}; the dependencies are a loop: ConfigurationPolicy {name} -> \
         ConfigurationPolicy {wanted} -> ConfigurationPolicy {name}"
    );
    policy
        .until("the loop is named", |reported| {
            reported.newest(name) == a_loop
        })
        .await?;
    Ok(())
}

pub(crate) async fn ignored(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let (name, wanted) = ("case-c12-ignored", "case-c12-ignored-wanted");
    let policy = world.place(mode)?.policy(name);
    let mut spec = spec(
        &[on(wanted, "Compliant")],
        &[(configuration(name, "inform"), &[])],
    );
    spec["policy-templates"][0]["ignorePending"] = json!(true);
    policy.apply_spec(&spec).await?;
    let reported = policy.is("Compliant").await?;
    let text = format!(
        "Compliant; Dependencies were not satisfied: 1 is still pending \
         (ConfigurationPolicy {wanted}) but ignorePending is true; ConfigurationPolicy {wanted} is not on the cluster"
    );
    ensure!(reported.newest(name) == text, "{reported}");
    dependency(policy.place(), wanted, "Compliant").await?;
    policy.template(name, |_| true).await?;
    Ok(())
}

pub(crate) async fn unknown_group(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c12-group";
    let policy = world.place(mode)?.policy(name);
    let unknown = json!({
        "apiVersion": "xxxxx.example.com/v1", "kind": "Yyyyy", "name": "nobody",
        "namespace": "nowhere", "compliance": "Compliant"
    });
    let spec = spec(&[unknown], &[(configuration(name, "inform"), &[])]);
    policy.apply_spec(&spec).await?;
    let text = "Dependencies were not satisfied: 1 is still pending (Yyyyy nobody)";
    pending(&policy, name, text).await
}

pub(crate) async fn both_levels(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c12-levels";
    let policy = world.place(mode)?.policy(name);
    let place = policy.place();
    let wanted = ["case-c12-levels-z", "case-c12-levels-a"];
    dependency(place, wanted[0], "Compliant").await?;
    dependency(place, wanted[1], "NonCompliant").await?;
    let extra = [on(wanted[1], "Compliant")];
    let template = configuration(name, "inform");
    let spec = spec(&[on(wanted[0], "Compliant")], &[(template, &extra)]);
    policy.apply_spec(&spec).await?;
    let one = |name: &str| {
        format!("Dependencies were not satisfied: 1 is still pending (ConfigurationPolicy {name})")
    };
    pending(&policy, name, &one(wanted[1])).await?;
    answer(place, wanted[0], "NonCompliant").await?;
    let two = format!(
        "Pending; Dependencies were not satisfied: 2 are still pending \
         (ConfigurationPolicy {}, ConfigurationPolicy {})",
        wanted[1], wanted[0]
    );
    policy
        .until("both are named", |reported| reported.newest(name) == two)
        .await?;
    answer(place, wanted[0], "Compliant").await?;
    answer(place, wanted[1], "Compliant").await?;
    policy.template(name, |_| true).await?;
    Ok(())
}

pub(crate) async fn of_each(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let names = ["case-c12-each-a", "case-c12-each-b"];
    let policy = world.place(mode)?.policy("case-c12-each");
    let place = policy.place();
    dependency(place, "case-c12-each-yes", "Compliant").await?;
    dependency(place, "case-c12-each-no", "NonCompliant").await?;
    let [yes, no] = ["yes", "no"].map(|name| [on(&format!("case-c12-each-{name}"), "Compliant")]);
    let [a, b] = names.map(|name| configuration(name, "inform"));
    policy
        .apply_spec(&spec(&[], &[(a, &no), (b, &yes)]))
        .await?;
    policy.template(names[1], |_| true).await?;
    policy.report(names[1], "NonCompliant; violation").await?;
    let reported = policy.is("NonCompliant").await?;
    ensure!(reported.compliance_of(names[0]) == "Pending", "{reported}");
    policy.report(names[1], "Compliant; fine").await?;
    policy.is("Pending").await?;
    Ok(())
}

pub(crate) async fn late_report(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c12-late";
    let policy = world.place(mode)?.policy(name);
    let absent = [on("case-c12-late-absent", "Compliant")];
    let spec = spec(&absent, &[(configuration(name, "inform"), &[])]);
    policy.apply_spec(&spec).await?;
    policy.is("Pending").await?;
    policy.report(name, "Compliant; late").await?;
    policy
        .until("Pending again", |reported| {
            reported.compliance() == "Pending"
                && reported
                    .messages(name)
                    .iter()
                    .any(|observed| observed == "Compliant; late")
        })
        .await?;
    policy
        .stays("Pending", |reported| reported.compliance() == "Pending")
        .await
}

pub(crate) async fn sibling(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let names = ["case-c12-sibling-a", "case-c12-sibling-b"];
    let policy = world.place(mode)?.policy("case-c12-sibling");
    let unknown = json!({
        "apiVersion": "xxxxx.example.com/v1", "kind": "Yyyyy", "name": "nobody",
        "compliance": "Compliant"
    });
    let extra = [on(names[0], "Compliant"), unknown];
    let [a, b] = names.map(|name| configuration(name, "inform"));
    let mut spec = spec(&[], &[(a, &[]), (b, &extra)]);
    spec["policy-templates"][1]["ignorePending"] = json!(true);
    policy.apply_spec(&spec).await?;
    policy.template(names[0], |_| true).await?;
    policy.report(names[0], "Compliant; fine").await?;
    policy.is("Compliant").await?;
    policy.report(names[0], "NonCompliant; violation").await?;
    let reported = policy.is("NonCompliant").await?;
    ensure!(
        reported.compliance_of(names[1]) == "Compliant",
        "{reported}"
    );
    ensure!(policy.find(CONFIGURATION, names[1]).await?.is_none());
    Ok(())
}

pub(crate) async fn before_hub_error(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c10-pending-first";
    let policy = world.place(mode)?.policy(name);
    let mut template = configuration(name, "inform");
    template["metadata"]["annotations"] =
        json!({ "policy.open-cluster-management.io/hub-templates-error": "no such function" });
    let absent = [on("case-c10-pending-absent", "Compliant")];
    policy
        .apply_spec(&spec(&absent, &[(template, &[])]))
        .await?;
    policy.is("Pending").await?;
    let observed = policy.observed().await?;
    ensure!(
        !observed
            .iter()
            .any(|observed| observed.contains("no such function")),
        "{observed:#?}"
    );
    Ok(())
}

/// A namespace in a dependency on a policy is ignored; of another kind it counts.
pub(crate) async fn namespaces(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-u8-namespaces";
    let policy = world.place(mode)?.policy(name);
    let place = policy.place();
    let wanted = format!("case-u8-{}", place.namespace);
    let elsewhere = json!({
        "apiVersion": RULE.0, "kind": RULE.1, "name": wanted, "namespace": "default",
        "compliance": "Compliant"
    });
    let spec = spec(&[elsewhere], &[(configuration(name, "inform"), &[])]);
    policy.apply_spec(&spec).await?;
    policy.is("Pending").await?;
    for namespace in [place.namespace, "default"] {
        ensure!(policy.find(CONFIGURATION, name).await?.is_none());
        let mut object = rule("Rule", &wanted);
        object["metadata"]["namespace"] = json!(namespace);
        object["status"] = json!({ "compliant": "Compliant" });
        place.managed.apply(&object.to_string()).await?;
    }
    policy.template(name, |_| true).await?;
    Ok(())
}

/// FWK-95: what waits is deleted with what it has created, as its own spec reports.
pub(crate) async fn prunes(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let (name, wanted) = ("rough-edge-08-prunes", "rough-edge-08-wanted");
    let policy = world.place(mode)?.policy(name);
    let place = policy.place();
    dependency(place, wanted, "Compliant").await?;
    let mut template = configuration(name, "inform");
    template["spec"]["pruneObjectBehavior"] = json!("DeleteAll");
    let spec = spec(&[on(wanted, "Compliant")], &[(template, &[])]);
    policy.apply_spec(&spec).await?;
    policy.template(name, |_| true).await?;
    let finalizers = |finalizers: Value| {
        let patch = json!({ "metadata": { "finalizers": finalizers } });
        let (api, kind) = CONFIGURATION;
        place
            .managed
            .patch(api, kind, Some(place.namespace), name, patch)
    };
    finalizers(json!(["example.com/prune"])).await?;
    answer(place, wanted, "NonCompliant").await?;
    policy
        .template(name, |object| {
            object.metadata.deletion_timestamp.is_some()
                && object.data["spec"]["pruneObjectBehavior"] == "DeleteAll"
        })
        .await?;
    finalizers(Value::Null).await?;
    policy.is("Pending").await?;
    Ok(())
}

/// FWK-98: that something waits is reported, however often that fails at first.
pub(crate) async fn reported_in_the_end(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let (name, wanted) = ("rough-edge-23-told", "rough-edge-23-wanted");
    let policy = world.place(mode)?.policy(name);
    let place = policy.place();
    dependency(place, wanted, "Compliant").await?;
    let template = configuration(name, "inform");
    let spec = spec(&[on(wanted, "Compliant")], &[(template, &[])]);
    policy.apply_spec(&spec).await?;
    policy.template(name, |_| true).await?;
    let name = format!("rough-edge-23-{}", place.namespace);
    let refusal = refusal(&name, policy.name(), place.namespace);
    place.managed.apply(&refusal).await?;
    within("reports are refused", || async {
        let outcome = policy
            .report("rough-edge-23-nobody", "Pending; probe")
            .await;
        ensure!(outcome.is_err(), "not yet");
        Ok(())
    })
    .await?;
    answer(place, wanted, "NonCompliant").await?;
    policy
        .stays("not Pending", |reported| reported.compliance() != "Pending")
        .await?;
    place.managed.delete(&refusal).await?;
    policy.is("Pending").await?;
    policy.no_object(CONFIGURATION, policy.name()).await
}

/// Denies reports about a policy that say that something waits.
fn refusal(name: &str, policy: &str, namespace: &str) -> String {
    let api = "admissionregistration.k8s.io/v1";
    let ours = format!(
        "object.involvedObject.name == '{policy}' && object.metadata.namespace == '{namespace}'"
    );
    let rules = json!([{
        "apiGroups": [""], "apiVersions": ["v1"], "resources": ["events"],
        "operations": ["CREATE"]
    }]);
    let denied = json!({
        "apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": { "name": name },
        "spec": {
            "matchConstraints": { "resourceRules": rules },
            "matchConditions": [{ "name": "ours", "expression": ours }],
            "validations": [{ "expression": "!object.message.startsWith('Pending; ')" }]
        }
    });
    let binding = json!({
        "apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": { "name": name },
        "spec": { "policyName": name, "validationActions": ["Deny"] }
    });
    format!("{denied}\n---\n{binding}")
}

/// An unknown kind hinders no other dependency, and is not forgotten.
pub(crate) async fn kind_arrives(world: Arc<Agents>) -> Result<()> {
    let name = "rough-edge-32-arrives";
    let place = world.place(Mode::Default)?;
    let policy = place.policy(name);
    let wanted = "rough-edge-32-wanted";
    dependency(place, wanted, "NonCompliant").await?;
    let late = json!({
        "apiVersion": "late.example.com/v1", "kind": "LateRule", "name": name,
        "namespace": place.namespace, "compliance": "Compliant"
    });
    let spec = spec(
        &[late, on(wanted, "Compliant")],
        &[(configuration(name, "inform"), &[])],
    );
    policy.apply_spec(&spec).await?;
    let text = |what: &str| format!("Pending; Dependencies were not satisfied: {what}");
    let two = text(&format!(
        "2 are still pending (ConfigurationPolicy {wanted}, LateRule {name})"
    ));
    let one = text(&format!("1 is still pending (LateRule {name})"));
    policy
        .until("both are waited for", |reported| {
            reported.newest(name) == two
        })
        .await?;
    answer(place, wanted, "Compliant").await?;
    policy
        .until("one is waited for", |reported| reported.newest(name) == one)
        .await?;
    // A template of the kind waits for it too.
    let of_kind = place.policy("rough-edge-33-arrives");
    let template = json!({
        "apiVersion": "late.example.com/v1", "kind": "LateRule",
        "metadata": { "name": name }, "spec": {}
    });
    of_kind.apply("", &[template]).await?;
    of_kind.reports("Mapping not found").await?;
    install(place.managed, "laterules.yaml").await?;
    of_kind
        .reports("policy-template kind is not supported")
        .await?;
    // Now it is a kind of templates.
    let (api, kind) = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let label = json!({ "metadata": { "labels": {
        "policy.open-cluster-management.io/policy-type": "template"
    } } });
    place
        .managed
        .patch(api, kind, None, "laterules.late.example.com", label)
        .await?;
    let late = ("late.example.com/v1", "LateRule");
    of_kind.object(late, name, |_| true).await?;
    place
        .managed
        .patch_status(
            late.0,
            late.1,
            Some(place.namespace),
            name,
            json!({ "status": { "compliant": "Compliant" } }),
        )
        .await?;
    policy.template(name, |_| true).await?;
    Ok(())
}

/// FWK-26: a policy at rest costs nothing.
pub(crate) async fn at_rest(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let names = ["rough-edge-31-a", "rough-edge-31-b", "rough-edge-31-c"];
    let policy = world.place(mode)?.policy("rough-edge-31-rest");
    let templates = names.map(|name| configuration(name, "inform"));
    policy.apply("inform", &templates).await?;
    for name in names {
        policy.template(name, |_| true).await?;
        policy.report(name, "Compliant; fine").await?;
    }
    policy.is("Compliant").await?;
    let place = policy.place();
    let mark = place.managed.audit()?.mark()?;
    let drift = json!({ "metadata": { "annotations": { "example.com/touched": "1" } } });
    let (api, kind) = CONFIGURATION;
    place
        .managed
        .patch(api, kind, Some(place.namespace), names[0], drift)
        .await?;
    holds("nobody reads what is watched", || async {
        let events = place.managed.audit()?.since(mark)?;
        let reads = events.iter().filter(|event| {
            event.user_agent.starts_with(reeve_scenarios::ADDON)
                && event.namespace == place.namespace
                && names.contains(&event.name.as_str())
        });
        let reads: Vec<_> = reads.collect();
        ensure!(reads.is_empty(), "{reads:#?}");
        Ok(())
    })
    .await?;
    within("it is still there", || async {
        let object = policy.template(names[0], |_| true).await?;
        ensure!(object.annotations().contains_key("example.com/touched"));
        Ok(())
    })
    .await
}

/// A group that cannot be asked about for a while reports nothing when it can be asked again.
pub(crate) async fn undiscoverable_group(world: Arc<Agents>) -> Result<()> {
    let name = "rough-edge-34-group";
    let policy = world.place(Mode::Default)?.policy(name);
    let managed = policy.place().managed;
    // Its own server does not answer.
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": { "name": "v1.silent.example.com" },
        "spec": {
            "group": "silent.example.com", "version": "v1", "insecureSkipTLSVerify": true,
            "groupPriorityMinimum": 1000, "versionPriority": 10,
            "service": { "name": "nobody", "namespace": "default" }
        }
    })
    .to_string();
    managed.apply(&service).await?;
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "silents.silent.example.com" },
        "spec": {
            "group": "silent.example.com", "scope": "Cluster",
            "names": { "plural": "silents", "singular": "silent", "kind": "Silent", "listKind": "SilentList" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true
            } } }]
        }
    });
    managed.apply(&crd.to_string()).await?;
    let silent = ("silent.example.com/v1", "Silent");
    let wanted = json!({
        "apiVersion": silent.0, "kind": silent.1, "name": name, "compliance": "Compliant"
    });
    let spec = spec(&[wanted], &[(configuration(name, "inform"), &[])]);
    policy.apply_spec(&spec).await?;
    let text = format!("Dependencies were not satisfied: 1 is still pending (Silent {name})");
    pending(&policy, name, &text).await?;
    // The definition serves it from now on, and does not change for that.
    managed.delete(&service).await?;
    let object = json!({
        "apiVersion": silent.0, "kind": silent.1, "metadata": { "name": name },
        "status": { "compliant": "Compliant" }
    })
    .to_string();
    within("the group is served", || managed.apply(&object)).await?;
    policy.template(name, |_| true).await?;
    Ok(())
}

/// An answer from a clock that is ahead does not make the add-on repeat itself until its own has caught up.
pub(crate) async fn report_with_future_time(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c12-future";
    let policy = world.place(mode)?.policy(name);
    let absent = [on("case-c12-future-absent", "Compliant")];
    let spec = spec(&absent, &[(configuration(name, "inform"), &[])]);
    policy.apply_spec(&spec).await?;
    policy.is("Pending").await?;
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(30);
    let event = reeve_runtime::events::event_name(name, later);
    let late = "Compliant; late";
    policy.event(&event, name, late, (later, 1)).await?;
    policy
        .until("Pending again", |reported| {
            let messages = reported.messages(name);
            reported.compliance() == "Pending" && messages.iter().any(|observed| observed == late)
        })
        .await?;
    let pending = |observed: &&String| observed.starts_with("Pending; ");
    policy
        .stays("Pending", |reported| reported.compliance() == "Pending")
        .await?;
    let observed = policy.observed().await?;
    ensure!(
        observed.iter().filter(pending).count() == 2,
        "{observed:#?}"
    );
    Ok(())
}
