//! A real API server takes the CRDs, and accepts and refuses objects as the behaviour reference reports.

mod operators;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_scenarios::{SuiteRun, run_on_plane, scenario};
use reeve_testkit::Plane;
use serde_json::{Value, json};

const V1: &str = "policy.open-cluster-management.io/v1";
const V1BETA1: &str = "policy.open-cluster-management.io/v1beta1";

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    run_on_plane(
        suite,
        vec![
            scenario("policies", |plane| Box::pin(policies(plane))),
            scenario("prop_45_namespaces_of_dependencies", |plane| {
                Box::pin(dependencies(plane))
            }),
            scenario("placement_bindings", |plane| Box::pin(bindings(plane))),
            scenario("policy_sets_and_automations", |plane| {
                Box::pin(sets_and_automations(plane))
            }),
            scenario("configuration_policies", |plane| {
                Box::pin(configuration_policies(plane))
            }),
            scenario("defaults", |plane| Box::pin(defaults(plane))),
            scenario("operator_policies", |plane| {
                Box::pin(operators::accepted_and_refused(plane))
            }),
            scenario("parts_of_operator_policies", |plane| {
                Box::pin(operators::parts(plane))
            }),
            scenario("defaults_of_operator_policies", |plane| {
                Box::pin(operators::defaults(plane))
            }),
            scenario("statuses_of_operator_policies", |plane| {
                Box::pin(operators::statuses(plane))
            }),
        ],
    )
}

/// One object: its name in the report, itself, and a part of the refusal if it must be refused.
type Case<'a> = (&'a str, Value, Option<&'a str>);

async fn try_all(plane: &Plane, api_version: &str, kind: &str, cases: Vec<Case<'_>>) -> Result<()> {
    for (name, mut object, refusal) in cases {
        object["apiVersion"] = json!(api_version);
        object["kind"] = json!(kind);
        object["metadata"] = json!({ "name": name, "namespace": "default" });
        let applied = plane.apply(&object.to_string()).await;
        match (applied, refusal) {
            (Ok(_), None) => {}
            (Err(error), None) => anyhow::bail!("{kind} {name} was refused: {error:#}"),
            (Ok(_), Some(refusal)) => anyhow::bail!("{kind} {name} was accepted, not {refusal:?}"),
            (Err(error), Some(refusal)) => {
                let error = format!("{error:#}");
                ensure!(
                    error.contains(refusal),
                    "{kind} {name}: {refusal:?} is not in {error}"
                );
            }
        }
    }
    Ok(())
}

fn with(mut base: Value, pointer: &str, value: Value) -> Value {
    if let Some(place) = base.pointer_mut(pointer) {
        *place = value;
    }
    base
}

async fn policies(plane: Arc<Plane>) -> Result<()> {
    let spec = |spec: Value| json!({ "spec": spec });
    let base = || json!({ "disabled": false, "policy-templates": [] });
    let dependency = |kind: &str, namespace: Option<&str>| {
        let mut item =
            json!({ "apiVersion": V1, "kind": kind, "name": "n", "compliance": "Compliant" });
        if let Some(namespace) = namespace {
            item["namespace"] = json!(namespace);
        }
        let mut base = base();
        base["dependencies"] = json!([item]);
        spec(base)
    };
    let remediation = |action: &str| {
        spec(json!({ "disabled": false, "policy-templates": [], "remediationAction": action }))
    };
    let template =
        |template: Value| spec(json!({ "disabled": false, "policy-templates": [template] }));
    let cases: Vec<Case<'_>> = vec![
        ("empty", spec(base()), None),
        ("no-spec", json!({}), Some("spec: Required value")),
        (
            "no-disabled",
            spec(json!({ "policy-templates": [] })),
            Some("spec.disabled: Required value"),
        ),
        (
            "no-templates",
            spec(json!({ "disabled": true })),
            Some("spec.policy-templates: Required value"),
        ),
        ("inform", remediation("Inform"), None),
        ("enforce", remediation("enforce"), None),
        (
            "shout",
            remediation("ENFORCE"),
            Some("Unsupported value: \"ENFORCE\""),
        ),
        (
            "empty-template",
            template(json!({ "objectDefinition": {} })),
            None,
        ),
        (
            "no-definition",
            template(json!({})),
            Some("objectDefinition: Required value"),
        ),
        (
            "unknown-kept",
            template(json!({ "objectDefinition": { "any": { "thing": [1, null] } } })),
            None,
        ),
        ("dependency", dependency("Policy", Some("ns")), None),
        (
            "dependency-cfg",
            dependency("ConfigurationPolicy", None),
            None,
        ),
        (
            "dependency-cfg-empty",
            dependency("ConfigurationPolicy", Some("")),
            None,
        ),
        (
            "dependency-cfg-ns",
            dependency("ConfigurationPolicy", Some("ns")),
            Some("dependencies"),
        ),
        (
            "dependency-cert-ns",
            dependency("CertificatePolicy", Some("ns")),
            Some("dependencies"),
        ),
    ];
    try_all(&plane, V1, "Policy", cases).await
}

/// What a cluster has by itself has no namespace; everything else may have one.
async fn dependencies(plane: Arc<Plane>) -> Result<()> {
    let mut cases: Vec<(String, Value, Option<&str>)> = Vec::new();
    for (kind, api_version, local) in [
        ("ConfigurationPolicy", V1, true),
        ("CertificatePolicy", V1, true),
        ("Policy", V1, false),
        ("PolicySet", V1BETA1, false),
        ("OtherType", "example.com/v1", false),
    ] {
        for (extra, field) in [(false, "dependencies"), (true, "extraDependencies")] {
            for namespace in ["default", ""] {
                let item = json!({
                    "apiVersion": api_version, "kind": kind, "name": "n",
                    "namespace": namespace, "compliance": "Compliant"
                });
                let mut template = json!({ "objectDefinition": {} });
                let mut spec = json!({ "disabled": false });
                let holder = if extra { &mut template } else { &mut spec };
                holder[field] = json!([item]);
                spec["policy-templates"] = json!([template]);
                let name = format!("{kind}-{field}-in-{namespace}x").to_lowercase();
                let refusal = (local && !namespace.is_empty()).then_some(field);
                cases.push((name, json!({ "spec": spec }), refusal));
            }
        }
    }
    let cases = cases.iter();
    let cases = cases.map(|(name, object, refusal)| (name.as_str(), object.clone(), *refusal));
    try_all(&plane, V1, "Policy", cases.collect()).await
}

async fn bindings(plane: Arc<Plane>) -> Result<()> {
    let base = || {
        json!({
            "placementRef": { "apiGroup": "cluster.open-cluster-management.io", "kind": "Placement", "name": "p" },
            "subjects": [{ "apiGroup": "policy.open-cluster-management.io", "kind": "Policy", "name": "p" }]
        })
    };
    let group = |group: &str| with(base(), "/placementRef/apiGroup", json!(group));
    let mut overriding = base();
    overriding["bindingOverrides"] = json!({ "remediationAction": "enforce" });
    overriding["subFilter"] = json!("restricted");
    let mut informing = base();
    informing["bindingOverrides"] = json!({ "remediationAction": "inform" });
    let mut filtered = base();
    filtered["subFilter"] = json!("other");
    let cases: Vec<Case<'_>> = vec![
        ("plain", base(), None),
        (
            "mismatch",
            group("apps.open-cluster-management.io"),
            Some("placementRef"),
        ),
        ("foreign", group("example.com"), Some("Unsupported value")),
        (
            "rule",
            with(
                group("apps.open-cluster-management.io"),
                "/placementRef/kind",
                json!("PlacementRule"),
            ),
            None,
        ),
        (
            "no-subjects",
            with(base(), "/subjects", json!([])),
            Some("subjects"),
        ),
        (
            "wrong-subject",
            with(base(), "/subjects/0/kind", json!("Pod")),
            Some("Unsupported value: \"Pod\""),
        ),
        (
            "wrong-group",
            with(base(), "/subjects/0/apiGroup", json!("x")),
            Some("Unsupported value: \"x\""),
        ),
        (
            "nameless",
            with(base(), "/subjects/0/name", json!("")),
            Some("subjects[0].name"),
        ),
        ("overriding", overriding, None),
        (
            "informing",
            informing,
            Some("Unsupported value: \"inform\""),
        ),
        ("filtered", filtered, Some("Unsupported value: \"other\"")),
    ];
    try_all(&plane, V1, "PlacementBinding", cases).await
}

async fn sets_and_automations(plane: Arc<Plane>) -> Result<()> {
    let set = |spec: Value| json!({ "spec": spec });
    let cases: Vec<Case<'_>> = vec![
        ("empty", set(json!({ "policies": [] })), None),
        (
            "full",
            set(json!({
                "description": "d", "policies": ["a"],
                "exclusions": [{ "policyName": "a", "clusterNames": ["c"], "reason": "r" }]
            })),
            None,
        ),
        (
            "no-policies",
            set(json!({})),
            Some("spec.policies: Required value"),
        ),
        (
            "nameless",
            set(json!({ "policies": [""] })),
            Some("spec.policies[0]"),
        ),
        (
            "no-clusters",
            set(json!({
                "policies": ["a"], "exclusions": [{ "policyName": "a", "clusterNames": [] }]
            })),
            Some("clusterNames"),
        ),
    ];
    try_all(&plane, V1BETA1, "PolicySet", cases).await?;
    let automation = || {
        json!({ "spec": {
        "automationDef": { "name": "job", "secret": "s", "extra_vars": { "any": [1] } },
        "mode": "once", "policyRef": "p"
    } })
    };
    let cases: Vec<Case<'_>> = vec![
        ("plain", automation(), None),
        (
            "scan",
            with(automation(), "/spec/mode", json!("scan")),
            Some("Unsupported value: \"scan\""),
        ),
        (
            "no-policy",
            with(automation(), "/spec/policyRef", json!("")),
            Some("spec.policyRef"),
        ),
        (
            "no-job",
            with(automation(), "/spec/automationDef/name", json!("")),
            Some("automationDef.name"),
        ),
    ];
    try_all(&plane, V1BETA1, "PolicyAutomation", cases).await
}

async fn configuration_policies(plane: Arc<Plane>) -> Result<()> {
    let template =
        |compliance: &str| json!({ "complianceType": compliance, "objectDefinition": {} });
    let base = || json!({ "spec": { "remediationAction": "inform", "object-templates": [template("musthave")] } });
    let set = |field: &str, value: Value| {
        let mut base = base();
        base["spec"][field] = value;
        base
    };
    let interval = |text: &str| set("evaluationInterval", json!({ "compliant": text }));
    let raw = |also: bool| {
        let mut base = if also {
            base()
        } else {
            json!({ "spec": { "remediationAction": "inform" } })
        };
        base["spec"]["object-templates-raw"] = json!("- {}");
        base
    };
    let cases: Vec<Case<'_>> = vec![
        ("plain", base(), None),
        ("raw", raw(false), None),
        (
            "both",
            raw(true),
            Some("must validate one and only one schema (oneOf)"),
        ),
        (
            "neither",
            json!({ "spec": { "remediationAction": "inform" } }),
            Some("oneOf"),
        ),
        ("severity", set("severity", json!("Critical")), None),
        (
            "severe",
            set("severity", json!("severe")),
            Some("Unsupported value: \"severe\""),
        ),
        (
            "prune",
            set("pruneObjectBehavior", json!("DeleteIfCreated")),
            None,
        ),
        (
            "prune-all",
            set("pruneObjectBehavior", json!("All")),
            Some("Unsupported value: \"All\""),
        ),
        ("interval", interval("1h30m"), None),
        ("never", interval("never"), None),
        ("watch", interval("watch"), None),
        (
            "bad-interval",
            interval("soon"),
            Some("evaluationInterval.compliant"),
        ),
        (
            "only",
            set("object-templates", json!([template("MustOnlyHave")])),
            None,
        ),
        (
            "maybe",
            set("object-templates", json!([template("mayhave")])),
            Some("Unsupported value: \"mayhave\""),
        ),
        (
            "false",
            set("object-templates", json!(false)),
            Some("object-templates"),
        ),
        (
            "selector",
            set("namespaceSelector", json!({ "include": [""] })),
            Some("namespaceSelector.include[0]"),
        ),
        (
            "odd-operator",
            set(
                "namespaceSelector",
                json!({
                    "matchExpressions": [{ "key": "k", "operator": "Seriously" }]
                }),
            ),
            None,
        ),
        (
            "diff",
            set(
                "object-templates",
                json!([{
                    "complianceType": "musthave", "objectDefinition": { "x": null }, "recordDiff": "Censored"
                }]),
            ),
            Some("Unsupported value: \"Censored\""),
        ),
    ];
    try_all(&plane, V1, "ConfigurationPolicy", cases).await
}

async fn defaults(plane: Arc<Plane>) -> Result<()> {
    let policy = json!({
        "apiVersion": V1, "kind": "ConfigurationPolicy",
        "metadata": { "name": "defaults", "namespace": "default" },
        "spec": {
            "namespaceSelector": { "include": ["a*"] },
            "object-templates": [
                { "complianceType": "musthave", "objectDefinition": { "kept": null, "n": 9_007_199_254_740_993_i64 } }
            ]
        }
    });
    let stored = plane.apply(&policy.to_string()).await?;
    let want = json!({
        "namespaceSelector": { "include": ["a*"], "terminatingInclusion": "Default" },
        "object-templates": [{
            "complianceType": "musthave", "recreateOption": "None",
            "objectDefinition": { "kept": null, "n": 9_007_199_254_740_993_i64 }
        }],
        "pruneObjectBehavior": "None",
        "remediationAction": "inform"
    });
    let spec = stored
        .first()
        .map(|object| object.data["spec"].clone())
        .unwrap_or_default();
    ensure!(spec == want, "the stored spec is {spec}");
    let automation = json!({
        "apiVersion": V1BETA1, "kind": "PolicyAutomation",
        "metadata": { "name": "defaults", "namespace": "default" },
        "spec": { "automationDef": { "name": "j", "secret": "s" }, "mode": "disabled", "policyRef": "p" }
    });
    let stored = plane.apply(&automation.to_string()).await?;
    let hook = stored
        .first()
        .map(|object| object.data["spec"]["eventHook"].clone());
    ensure!(
        hook == Some(json!("noncompliant")),
        "the event hook is {hook:?}"
    );
    Ok(())
}
