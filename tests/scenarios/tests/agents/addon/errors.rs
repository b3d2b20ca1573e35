//! What is wrong with templates, and how it is reported.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::{
    Agents, CONFIGURATION, Mode, Replicated, ReportedStatus, configuration, holds, rule, within,
};
use serde_json::{Value, json};

const HUB_ERROR: &str = "policy.open-cluster-management.io/hub-templates-error";

/// A policy with these templates, and the messages about it that contain this.
async fn reports<'a>(
    world: &'a Agents,
    mode: Mode,
    name: &str,
    templates: &[Value],
    part: &str,
) -> Result<Replicated<'a>> {
    let policy = world.place(mode)?.policy(name);
    policy.apply("inform", templates).await?;
    policy.reports(part).await?;
    Ok(policy)
}

fn without_kind(name: &str) -> Result<Value> {
    let mut template = configuration(name, "inform");
    let fields = template.as_object_mut().context("no object")?;
    fields.remove("kind");
    Ok(template)
}

pub(crate) async fn duplicates(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c10-duplicate";
    let templates = [configuration(name, "inform"), rule("Rule", name)];
    let error = "template-error; All policy-template names must be unique within a policy";
    let policy = reports(&world, mode, name, &templates, error).await?;
    policy.is("NonCompliant").await?;
    ensure!(policy.find(CONFIGURATION, name).await?.is_none());
    ensure!(policy.find(super::templates::RULE, name).await?.is_none());
    Ok(())
}

pub(crate) async fn undecodable(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c10-kind";
    let error =
        "template-error; Failed to decode policy template with err: Object 'Kind' is missing in";
    let policy = reports(&world, mode, name, &[without_kind(name)?], error).await?;
    let reported = policy.is("NonCompliant").await?;
    ensure!(reported.templates() == ["template-0"], "{reported}");
    let count = || async {
        let observed = policy.observed().await?;
        anyhow::Ok(
            observed
                .iter()
                .filter(|observed| observed.contains(error))
                .count(),
        )
    };
    within("an event is emitted too", || async {
        ensure!(count().await? >= 2, "not yet");
        Ok(())
    })
    .await?;
    holds("the event is not repeated", || async {
        let count = count().await?;
        ensure!(
            (2..=3).contains(&count),
            "the event was emitted {count} times"
        );
        Ok(())
    })
    .await
}

pub(crate) async fn nested_kind(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c22-nested";
    let nested = json!({
        "apiVersion": CONFIGURATION.0, "metadata": { "name": name },
        "spec": { "kind": CONFIGURATION.1, "remediationAction": "inform", "severity": "low" }
    });
    let error = "NonCompliant; template-error;";
    let policy = reports(&world, mode, name, &[nested], error).await?;
    let reported = policy.is("NonCompliant").await?;
    ensure!(reported.newest("template-0").contains(error), "{reported}");
    Ok(())
}

pub(crate) async fn raw_is_good(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c22-raw";
    let mut raw = configuration(name, "inform");
    let spec = raw["spec"].as_object_mut().context("no spec")?;
    spec.remove("object-templates");
    raw["spec"]["object-templates-raw"] = json!("- complianceType: musthave\n");
    let policy = world.place(mode)?.policy(name);
    policy.apply("inform", &[raw]).await?;
    policy.template(name, |_| true).await?;
    policy
        .stays("not NonCompliant", |reported| {
            reported.compliance() != "NonCompliant"
        })
        .await
}

pub(crate) async fn nameless(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c10-name";
    let mut template = configuration("", "inform");
    template["metadata"] = json!({});
    let error = "template-error; Failed to parse or get name from policy template at index 0";
    let policy = reports(&world, mode, name, &[template], error).await?;
    // FWK-58: the error reaches the status.
    let reported = policy.is("NonCompliant").await?;
    ensure!(reported.newest("template-0").contains(error), "{reported}");
    Ok(())
}

/// FWK-77.
pub(crate) async fn list(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "rough-edge-12-list";
    let list = json!({
        "apiVersion": "v1", "kind": "ConfigMapList",
        "metadata": { "name": "rough-edge-12-items" }, "items": []
    });
    let templates = [list, configuration(name, "inform")];
    let error = "template-error; Failed to parse or get name from policy template at index 0";
    let policy = reports(&world, mode, name, &templates, error).await?;
    policy.template(name, |_| true).await?;
    Ok(())
}

/// FWK-58.
pub(crate) async fn conflicting(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "rough-edge-09-conflict";
    let dependency = |compliance: &str| {
        json!([{
            "apiVersion": CONFIGURATION.0, "kind": CONFIGURATION.1,
            "name": "rough-edge-09-dependency", "compliance": compliance
        }])
    };
    let policy = world.place(mode)?.policy(name);
    let spec = json!({
        "disabled": false, "dependencies": dependency("Compliant"),
        "policy-templates": [{
            "objectDefinition": configuration(name, "inform"),
            "extraDependencies": dependency("NonCompliant")
        }]
    });
    policy.apply_spec(&spec).await?;
    let reported = policy.is("NonCompliant").await?;
    let error = "NonCompliant; template-error; Failed to decode policy template with err: \
                 dependency on rough-edge-09-dependency has conflicting compliance states";
    ensure!(reported.templates() == [name], "{reported}");
    ensure!(reported.newest(name) == error, "{reported}");
    policy
        .stays("reported once", |reported| {
            reported.history(name).len() == 1
        })
        .await
}

pub(crate) async fn unknown_kind(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c10-mapping";
    let unknown = |version: &str, kind: &str| {
        json!({
            "apiVersion": version, "kind": kind, "metadata": { "name": name }, "spec": {}
        })
    };
    let prefix = "template-error; Mapping not found, check if you have the CRD deployed: \
                  the resource version was not found: ";
    let error = format!("{prefix}xxxxx.example.com/v1, Kind=Yyyyy");
    let templates = [unknown("xxxxx.example.com/v1", "Yyyyy")];
    let policy = reports(&world, mode, name, &templates, &error).await?;
    let reported = policy.is("NonCompliant").await?;
    ensure!(
        reported.newest(name) == format!("NonCompliant; {error}"),
        "{reported}"
    );
    let version = CONFIGURATION.0;
    policy.apply("inform", &[unknown(version, "Yyyyy")]).await?;
    let error = format!("{prefix}no matching kind was found: {version}, Kind=Yyyyy");
    policy.reports(&error).await?;
    Ok(())
}

/// FWK-77.
pub(crate) async fn no_version(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "rough-edge-11-version";
    let odd = json!({ "kind": "Yyyyy", "metadata": { "name": "rough-edge-11-odd" } });
    let templates = [odd, configuration(name, "inform")];
    let error = "template-error; Mapping not found";
    let policy = reports(&world, mode, name, &templates, error).await?;
    policy.template(name, |_| true).await?;
    let reported = policy.is("NonCompliant").await?;
    ensure!(
        reported.newest("rough-edge-11-odd").contains(error),
        "{reported}"
    );
    Ok(())
}

pub(crate) async fn invalid_name(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case10_invalid-name";
    let error = "template-error; Failed to create policy template:";
    let templates = [configuration(name, "inform")];
    let policy = reports(&world, mode, "case-c10-invalid-name", &templates, error).await?;
    let reported = policy.is("NonCompliant").await?;
    ensure!(reported.templates() == [name], "{reported}");
    policy
        .stays("reported once or twice", |reported| {
            (1..=2).contains(&reported.history(name).len())
        })
        .await
}

pub(crate) async fn unsupported(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c10-unsupported";
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "teas.example.com" }, "spec": {}
    });
    let error = "template-error; policy-template kind is not supported: \
                 apiextensions.k8s.io/v1, Kind=CustomResourceDefinition";
    let policy = reports(&world, mode, name, &[definition], error).await?;
    // FWK-60: the error reaches the status, of kinds that are no policies too.
    let map = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name } });
    policy.apply("inform", &[map]).await?;
    let reported = policy
        .until("a Pod is no policy", |reported| {
            reported
                .newest(name)
                .contains("kind is not supported: /v1, Kind=Pod")
        })
        .await?;
    ensure!(reported.compliance() == "NonCompliant", "{reported}");
    Ok(())
}

pub(crate) async fn taken(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c10-taken";
    let place = world.place(mode)?;
    let templates = [configuration(name, "inform")];
    let first = place.policy("case-c10-taken-first");
    first.apply("inform", &templates).await?;
    let before = first.template(name, |_| true).await?;
    let (api, kind) = CONFIGURATION;
    let history = json!({ "status": { "history": [{
        "lastTimestamp": "2026-05-07T21:09:35.123456Z", "message": "Compliant; of the first"
    }] } });
    place
        .managed
        .patch_status(api, kind, Some(place.namespace), name, history)
        .await?;
    first.is("Compliant").await?;

    let second = place.policy("case-c10-taken-second");
    second.apply("inform", &templates).await?;
    let error = format!(
        "Template name must be unique. Policy template with kind: {kind} name: {name} already exists in policy {}",
        first.name()
    );
    second.reports(&error).await?;
    let ours = |reported: &ReportedStatus| {
        reported.compliance() == "NonCompliant"
            && reported
                .messages(name)
                .iter()
                .all(|message| message.contains("Template name must be unique"))
    };
    second.until("only its own history", ours).await?;
    // Nor is a history kept that does not belong there.
    let (policy_api, policy_kind) = reeve_scenarios::POLICY;
    let foreign = json!({ "status": { "details": [{
        "templateMeta": { "name": name }, "compliant": "Compliant",
        "history": [{
            "eventName": "foreign.2296a049fe5e2a08", "lastTimestamp": "2026-05-07T21:09:35Z",
            "message": "Compliant; of somebody else"
        }]
    }] } });
    place
        .managed
        .patch_status(
            policy_api,
            policy_kind,
            Some(place.namespace),
            second.name(),
            foreign,
        )
        .await?;
    second.until("only its own history", ours).await?;
    let now = first.template(name, |_| true).await?;
    ensure!(now.uid() == before.uid());
    let reported = first.reported().await?;
    ensure!(
        reported.messages(name) == ["Compliant; of the first"],
        "{reported}"
    );
    Ok(())
}

pub(crate) async fn without_owner(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c10-foreign";
    let place = world.place(mode)?;
    let mut theirs = configuration(name, "inform");
    theirs["metadata"]["namespace"] = json!(place.namespace);
    place.managed.apply(&theirs.to_string()).await?;
    let error = "already exists outside of a Policy";
    let policy = place.policy(name);
    policy
        .apply("enforce", &[configuration(name, "inform")])
        .await?;
    policy.reports(error).await?;
    policy.is("NonCompliant").await?;
    let object = policy.template(name, |_| true).await?;
    ensure!(object.owner_references().is_empty() && object.labels().is_empty());
    Ok(())
}

pub(crate) async fn middle(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let names = [
        "case-c10-middle-1",
        "case-c10-middle-2",
        "case-c10-middle-3",
    ];
    let unknown = json!({
        "apiVersion": "xxxxx.example.com/v1", "kind": "Yyyyy",
        "metadata": { "name": names[1] }, "spec": {}
    });
    let templates = [
        configuration(names[0], "inform"),
        unknown,
        configuration(names[2], "inform"),
    ];
    let error = "template-error; Mapping not found";
    let policy = reports(&world, mode, "case-c10-middle", &templates, error).await?;
    policy.template(names[0], |_| true).await?;
    policy.template(names[2], |_| true).await?;
    Ok(())
}

pub(crate) async fn retried(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c10-again";
    let policy = world.place(mode)?.policy(name);
    policy
        .apply("inform", &[configuration(name, "inform")])
        .await?;
    policy.template(name, |_| true).await?;
    let place = policy.place();
    let (api, kind) = CONFIGURATION;
    let compliant = json!({ "status": { "compliant": "Compliant" } });
    place
        .managed
        .patch_status(api, kind, Some(place.namespace), name, compliant)
        .await?;
    policy.report(name, "Compliant; fine").await?;
    policy.is("Compliant").await?;
    let mut bad = configuration(name, "inform");
    bad["spec"]["severity"] = json!("unheard-of");
    policy.apply("inform", &[bad]).await?;
    policy.reports("Failed to update policy template").await?;
    policy.is("NonCompliant").await?;
    let answer = |object: &reeve_testkit::Object| object.data["status"]["compliant"].clone();
    holds("the answer stays during the error", || async {
        let object = policy.find(CONFIGURATION, name).await?;
        ensure!(object.is_some_and(|object| answer(&object) == "Compliant"));
        Ok(())
    })
    .await?;
    policy
        .apply("inform", &[configuration(name, "inform")])
        .await?;
    policy
        .template(name, |object| answer(object).is_null())
        .await?;
    Ok(())
}

fn with_hub_error(name: &str) -> Value {
    let mut template = configuration(name, "inform");
    template["metadata"]["annotations"] = json!({ HUB_ERROR: "must be aligned with the sky" });
    template
}

pub(crate) async fn hub_error(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c10-hub-error";
    let templates = [with_hub_error(name)];
    let error = "template-error; must be aligned with the sky";
    let policy = reports(&world, mode, name, &templates, error).await?;
    policy.is("NonCompliant").await?;
    ensure!(policy.find(CONFIGURATION, name).await?.is_none());
    let doubled = |observed: &String| observed.contains("NonCompliant; NonCompliant; ");
    ensure!(!policy.observed().await?.iter().any(doubled));
    Ok(())
}

pub(crate) async fn hub_error_prunes_nothing(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c10-hub-prune";
    let policy = world.place(mode)?.policy(name);
    let mut template = configuration(name, "inform");
    template["spec"]["pruneObjectBehavior"] = json!("DeleteAll");
    policy.apply("inform", &[template]).await?;
    policy.template(name, |_| true).await?;
    let place = policy.place();
    let (api, kind) = CONFIGURATION;
    let finalizers = |finalizers: Value| {
        let patch = json!({ "metadata": { "finalizers": finalizers } });
        place
            .managed
            .patch(api, kind, Some(place.namespace), name, patch)
    };
    finalizers(json!(["example.com/prune"])).await?;
    let mut broken = with_hub_error(name);
    broken["spec"]["pruneObjectBehavior"] = json!("DeleteAll");
    policy.apply("inform", &[broken]).await?;
    policy
        .template(name, |object| {
            object.data["spec"]["pruneObjectBehavior"] == "None"
                && object.metadata.deletion_timestamp.is_some()
        })
        .await?;
    finalizers(Value::Null).await?;
    policy.no_object(CONFIGURATION, name).await
}

pub(crate) async fn refused_specs(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let mut severity = configuration("case-c10-severity", "inform");
    severity["spec"]["severity"] = json!("unheard-of");
    let mut both = configuration("case-c10-both", "inform");
    both["spec"]["object-templates-raw"] = json!("- complianceType: musthave");
    let mut unknown = configuration("case-c10-unknown", "inform");
    unknown["spec"]["unknownField"] = json!("x");
    for (template, part) in [
        (severity, "Failed to create policy"),
        (
            both,
            "spec may only contain one of object-templates and object-templates-raw",
        ),
        (
            unknown,
            "strict decoding error: unknown field \"spec.unknownField\"",
        ),
    ] {
        let name = template["metadata"]["name"].as_str().unwrap_or_default();
        let name = name.to_owned();
        let policy = reports(&world, mode, &name, &[template], part).await?;
        let reported = policy.is("NonCompliant").await?;
        ensure!(reported.newest(&name).contains(part), "{reported}");
        let prefix = "NonCompliant; template-error; Failed to create policy template: ";
        ensure!(reported.newest(&name).starts_with(prefix), "{reported}");
    }
    Ok(())
}

pub(crate) async fn refused_update(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c10-update";
    let policy = world.place(mode)?.policy(name);
    policy
        .apply("inform", &[configuration(name, "inform")])
        .await?;
    policy.template(name, |_| true).await?;
    let mut unknown = configuration(name, "inform");
    unknown["spec"]["unknownField"] = json!("x");
    policy.apply("inform", &[unknown]).await?;
    let reported = policy.is("NonCompliant").await?;
    let newest = reported.newest(name);
    let want = format!("NonCompliant; template-error; Failed to update policy template {name}: ");
    ensure!(newest.starts_with(&want), "{reported}");
    ensure!(
        newest.contains("strict decoding error: unknown field \"spec.unknownField\""),
        "{reported}"
    );
    Ok(())
}

pub(crate) async fn empty(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let policy = world.place(mode)?.policy("case-c10-empty");
    policy.apply("inform", &[]).await?;
    // Nothing to do is done.
    policy.is("Compliant").await?;
    holds("there is no error", || async {
        let observed = policy.observed().await?;
        ensure!(
            !observed.iter().any(|observed| observed.contains("error")),
            "{observed:#?}"
        );
        Ok(())
    })
    .await
}

/// FWK-102.
pub(crate) async fn reordered(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let names = ["rough-edge-18-bad", "rough-edge-18-good"];
    let mut bad = configuration(names[0], "inform");
    bad["spec"]["severity"] = json!("unheard-of");
    let good = configuration(names[1], "inform");
    let error = "Failed to create policy template";
    let templates = [bad.clone(), good.clone()];
    let policy = reports(&world, mode, "rough-edge-18-order", &templates, error).await?;
    policy.report(names[1], "Compliant; fine").await?;
    policy
        .until("both have answered", |reported| {
            reported.compliance_of(names[0]) == "NonCompliant"
                && reported.compliance_of(names[1]) == "Compliant"
        })
        .await?;
    policy.apply("inform", &[good, bad]).await?;
    policy
        .until("in the new order", |reported| {
            reported.templates() == [names[1], names[0]]
        })
        .await?;
    policy
        .stays("each has its own history", |reported| {
            reported.messages(names[1]) == ["Compliant; fine"]
                && reported.history(names[0]).len() == 1
        })
        .await
}

/// FWK-34.
pub(crate) async fn long_texts(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "rough-edge-20-long";
    let mut template = without_kind(name)?;
    let long = "100%s ü ".repeat(300);
    template["spec"]["long"] = json!(long);
    let part = "template-error; Failed to decode policy template";
    let policy = reports(&world, mode, name, &[template], part).await?;
    let reported = policy.is("NonCompliant").await?;
    let newest = reported.newest("template-0");
    ensure!(newest.contains(long.trim_end()), "{reported}");
    within("the event has as much as fits", || async {
        let observed = policy.observed().await?;
        let short = observed.iter().find(|observed| observed.starts_with(part));
        let short = short.with_context(|| format!("{observed:#?}"))?;
        ensure!(short.len() <= 1024 && short.contains("100%s ü "), "{short}");
        Ok(())
    })
    .await
}

/// FWK-34: different texts are different events.
pub(crate) async fn not_folded(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let names = ["rough-edge-20-a", "rough-edge-20-b", "rough-edge-20-c"];
    let policy = world.place(mode)?.policy("rough-edge-20-folded");
    let templates = names.map(|name| configuration(name, "inform"));
    policy.apply("inform", &templates).await?;
    for name in names {
        policy
            .reports(&format!("Policy template {name} created successfully"))
            .await?;
    }
    Ok(())
}
