//! Options of configuration policies, templates as they are, and what informs on Gatekeeper and Kyverno.

use serde_json::{Value, json};

use crate::{CONFIG_MAP, Dir, one_policy};

fn spec(templates: &[Value]) -> &Value {
    &templates[0]["objectDefinition"]["spec"]
}

#[test]
fn gen_8_options_of_manifests_win_over_policies_and_those_over_defaults() {
    let dir = Dir::with_config_map();
    let lines = "consolidateManifests: false\nseverity: medium\ncustomMessage: {compliant: ok}\nconfigurationPolicyAnnotations: {a: b}\nmanifests:\n- path: cm.yaml\n  severity: critical\n  complianceType: mustonlyhave\n  metadataComplianceType: musthave\n  recreateOption: Always\n  recordDiff: Log\n  objectSelector: {matchExpressions: [{key: k, operator: Exists}]}\n  pruneObjectBehavior: DeleteAll\n  evaluationInterval: {compliant: '', noncompliant: 5m}\n- path: cm.yaml\n";
    let document = one_policy(lines).replace(
        "namespace: ns",
        "namespace: ns\n  evaluationInterval: {compliant: 1h, noncompliant: 2h}\n  remediationAction: enforce\n  namespaceSelector: {include: [x], matchLabels: {}}",
    );
    let templates = dir.templates(&document);
    assert_eq!(
        templates[0]["objectDefinition"],
        json!({
            "apiVersion": "policy.open-cluster-management.io/v1",
            "kind": "ConfigurationPolicy",
            "metadata": {"name": "p", "annotations": {"a": "b"}},
            "spec": {
                "severity": "critical",
                "remediationAction": "enforce",
                "customMessage": {"compliant": "ok"},
                "evaluationInterval": {"noncompliant": "5m"},
                "namespaceSelector": {"include": ["x"], "matchLabels": {}},
                "pruneObjectBehavior": "DeleteAll",
                "object-templates": [{
                    "complianceType": "mustonlyhave",
                    "metadataComplianceType": "musthave",
                    "recreateOption": "Always",
                    "recordDiff": "Log",
                    "objectSelector": {"matchExpressions": [{"key": "k", "operator": "Exists", "values": []}]},
                    "objectDefinition": {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "metadata": {"name": "my-configmap"},
                        "data": {"image": "quay.io/potatos1"},
                    },
                }],
            },
        })
    );
    let second = &templates[1]["objectDefinition"]["spec"];
    assert_eq!(
        second["evaluationInterval"],
        json!({"compliant": "1h", "noncompliant": "2h"})
    );
    assert_eq!(second["severity"], "medium");
}

#[test]
fn gen_8_empty_selectors_stay_and_keys_keep_their_order() {
    let dir = Dir::with_config_map();
    let output = dir.generate(&one_policy(
        "namespaceSelector: {include: [i], exclude: [e], matchExpressions: [{operator: In, key: k, values: [v]}], matchLabels: {l: m}}\nmanifests: [{path: cm.yaml, objectSelector: {matchLabels: {}}}]",
    ));
    let start = output.find("namespaceSelector").unwrap();
    let keys: Vec<&str> = output[start..]
        .lines()
        .filter_map(|line| {
            line.trim()
                .trim_start_matches("- ")
                .split_once(':')
                .map(|(key, _)| key)
        })
        .take(7)
        .collect();
    assert_eq!(
        keys,
        [
            "namespaceSelector",
            "matchLabels",
            "l",
            "matchExpressions",
            "key",
            "operator",
            "values"
        ]
    );
    assert!(output.find("exclude").unwrap() < output.find("include").unwrap());
    assert!(
        output.contains("objectSelector:\n                        matchLabels: {}\n"),
        "{output}"
    );
}

#[test]
fn gen_8_empty_labels_and_expressions_stay_and_empty_name_lists_are_omitted() {
    let dir = Dir::with_config_map();
    let template = |lines: &str| dir.templates(&one_policy(lines)).remove(0);
    for (written, expected) in [
        ("{matchLabels: {}}", json!({"matchLabels": {}})),
        ("{matchExpressions: []}", json!({"matchExpressions": []})),
        (
            "{matchLabels: {}, matchExpressions: [], include: [], exclude: []}",
            json!({"matchLabels": {}, "matchExpressions": []}),
        ),
        (
            "{matchLabels: null, matchExpressions: []}",
            json!({"matchExpressions": []}),
        ),
        ("{include: []}", json!({})),
    ] {
        let spec = &template(&format!(
            "namespaceSelector: {written}\nmanifests: [{{path: cm.yaml}}]"
        ))["objectDefinition"]["spec"];
        assert_eq!(spec["namespaceSelector"], expected, "{written}");
    }
    let spec = &template("manifests: [{path: cm.yaml, objectSelector: {matchExpressions: []}}]")["objectDefinition"]
        ["spec"];
    assert_eq!(
        spec["object-templates"][0]["objectSelector"],
        json!({"matchExpressions": []})
    );
}

#[test]
fn gen_26_policy_metadata_and_options_are_written() {
    let dir = Dir::with_config_map();
    let lines = "policyAnnotations: {a: b}\npolicyLabels: {l: m}\ncategories: []\ncontrols: [x, y]\ndescription: 5\ncopyPolicyMetadata: false\ndisabled: true\nhubTemplateOptions: {serviceAccountName: sa}\nmanifests: [{path: cm.yaml}]";
    let policy = dir.objects(&one_policy(lines), "Policy").remove(0);
    assert_eq!(
        policy["metadata"],
        json!({
            "name": "p",
            "namespace": "ns",
            "labels": {"l": "m"},
            "annotations": {
                "a": "b",
                "policy.open-cluster-management.io/categories": "",
                "policy.open-cluster-management.io/controls": "x,y",
                "policy.open-cluster-management.io/description": "5",
                "policy.open-cluster-management.io/standards": "NIST SP 800-53",
            },
        })
    );
    let spec = &policy["spec"];
    assert_eq!(spec["copyPolicyMetadata"], false);
    assert_eq!(spec["disabled"], true);
    assert_eq!(
        spec["hubTemplateOptions"],
        json!({"serviceAccountName": "sa"})
    );
}

#[test]
fn gen_20_policies_of_open_cluster_management_are_templates_as_they_are() {
    let policy = |kind: &str, action: &str| {
        format!(
            "apiVersion: policy.open-cluster-management.io/v1\nkind: {kind}\nmetadata: {{name: own, namespace: x}}\nspec: {{remediationAction: {action}}}\n"
        )
    };
    let dir = Dir::new(&[
        ("cert.yaml", &policy("CertificatePolicy", "enforce")),
        ("only.yaml", &policy("RandomPolicy", "InformOnly")),
        ("set.yaml", &policy("PolicySet", "enforce")),
        ("cm.yaml", CONFIG_MAP),
    ]);
    let of = |paths: &str| {
        dir.objects(&one_policy(&format!("manifests: [{paths}]")), "Policy")
            .remove(0)
    };
    let alone = of("{path: cert.yaml}");
    assert_eq!(
        alone["spec"]["policy-templates"],
        json!([{"objectDefinition": {
            "apiVersion": "policy.open-cluster-management.io/v1",
            "kind": "CertificatePolicy",
            "metadata": {"name": "own"},
            "spec": {"remediationAction": "enforce"},
        }}])
    );
    assert_eq!(alone["spec"]["remediationAction"], "enforce");
    assert_eq!(
        of("{path: only.yaml}")["spec"]["remediationAction"],
        "inform"
    );
    assert_eq!(
        of("{path: cert.yaml}, {path: cm.yaml}")["spec"]["remediationAction"],
        Value::Null
    );
    let wrapped = of("{path: set.yaml}");
    assert_eq!(
        wrapped["spec"]["policy-templates"][0]["objectDefinition"]["kind"],
        "ConfigurationPolicy"
    );
}

const CONSTRAINT: &str = "apiVersion: constraints.gatekeeper.sh/v1beta1\nkind: K\nmetadata: {name: c}\nspec: {enforcementAction: deny}\n";

#[test]
fn gen_20_severity_of_the_manifest_wins_and_annotations_must_be_text() {
    let annotated = |annotations: &str| {
        CONSTRAINT.replace("name: c", &format!("name: c, annotations: {annotations}"))
    };
    let dir = Dir::new(&[
        ("c.yaml", CONSTRAINT),
        ("d.yaml", &CONSTRAINT.replace("name: c", "name: d")),
        ("number.yaml", &annotated("{a: 5, b: x}")),
        ("text.yaml", &annotated("x")),
    ]);
    let lines = "informGatekeeperPolicies: false\nconsolidateManifests: false\nmanifests:\n- {path: c.yaml, severity: high}\n- path: d.yaml\n";
    let templates = dir.templates(&one_policy(lines));
    let severities: Vec<&Value> = templates
        .iter()
        .map(|template| {
            &template["objectDefinition"]["metadata"]["annotations"]["policy.open-cluster-management.io/severity"]
        })
        .collect();
    assert_eq!(severities, ["high", "low"]);
    for (path, error) in [
        (
            "number.yaml",
            "metadata.annotations must be a mapping of texts, but a is not text: write it in quotes in manifest path: number.yaml",
        ),
        (
            "text.yaml",
            "metadata.annotations must be a mapping of texts, or the severity cannot be added to them in manifest path: text.yaml",
        ),
    ] {
        let lines = format!("informGatekeeperPolicies: false\nmanifests:\n- path: {path}");
        assert_eq!(dir.refuse(&one_policy(&lines)), error);
    }
}

#[test]
fn gen_22_repeated_template_names_are_warned_of() {
    let dir = Dir::with_config_map();
    let lines = |names: [&str; 3]| {
        let entries = names.map(|name| format!("- {{path: cm.yaml, name: {name}}}\n"));
        one_policy(&format!(
            "consolidateManifests: false\nmanifests:\n{}",
            entries.concat()
        ))
    };
    assert_eq!(
        dir.warnings(&lines(["a", "a", "a2"])),
        [
            "policy p: more than one template is a ConfigurationPolicy of the name a2, but a managed cluster has only one; give the manifests names that differ"
        ]
    );
    assert!(dir.warnings(&lines(["a", "a", "a3"])).is_empty());
}

#[test]
fn gen_20_constraints_are_templates_when_nothing_informs_on_them() {
    let template = "apiVersion: templates.gatekeeper.sh/v1\nkind: ConstraintTemplate\nmetadata: {name: t, namespace: x, annotations: {a: b}}\n";
    let dir = Dir::new(&[
        ("c.yaml", CONSTRAINT),
        ("t.yaml", template),
        (
            "bad.yaml",
            &CONSTRAINT.replace("spec: {enforcementAction: deny}", "spec: x"),
        ),
    ]);
    let lines = "informGatekeeperPolicies: false\nseverity: high\ngatekeeperEnforcementAction: warn\nmanifests:\n- path: t.yaml\n- path: c.yaml\n  gatekeeperEnforcementAction: dryrun\n- path: c.yaml";
    let policy = dir.objects(&one_policy(lines), "Policy").remove(0);
    let templates = policy["spec"]["policy-templates"].as_array().unwrap();
    let annotation = json!("high");
    assert_eq!(
        templates[0]["objectDefinition"]["metadata"],
        json!({"name": "t", "namespace": "x", "annotations": {"a": "b", "policy.open-cluster-management.io/severity": "high"}})
    );
    let constraint = &templates[1]["objectDefinition"];
    assert_eq!(
        constraint["metadata"]["annotations"]["policy.open-cluster-management.io/severity"],
        annotation
    );
    assert_eq!(constraint["spec"], json!({"enforcementAction": "dryrun"}));
    assert_eq!(
        templates[2]["objectDefinition"]["spec"],
        json!({"enforcementAction": "warn"})
    );
    assert_eq!(policy["spec"]["remediationAction"], Value::Null);
    assert_eq!(
        dir.refuse(&one_policy(
            "gatekeeperEnforcementAction: warn\nmanifests: [{path: bad.yaml}]"
        )),
        "err in setting constraint.spec.enforcementAction has an error value cannot be set because .spec is not a map[string]interface{} in manifest index: 0"
    );
}

#[test]
fn gen_25_constraints_are_informed_on() {
    let dir = Dir::new(&[("c.yaml", CONSTRAINT)]);
    let templates = dir.templates(&one_policy(
        "remediationAction: enforce\nseverity: high\nmanifests: [{path: c.yaml}]",
    ));
    let [own, audit, admission] = templates.as_slice() else {
        panic!("{templates:?}");
    };
    assert_eq!(own["objectDefinition"]["metadata"]["name"], "p");
    let inform = |name: &str, compliance: &str, object: Value| {
        json!({"objectDefinition": {
            "apiVersion": "policy.open-cluster-management.io/v1",
            "kind": "ConfigurationPolicy",
            "metadata": {"name": name},
            "spec": {
                "remediationAction": "inform",
                "severity": "high",
                "namespaceSelector": {"exclude": ["kube-*"], "include": ["*"]},
                "object-templates": [{"complianceType": compliance, "objectDefinition": object}],
            },
        }})
    };
    let constraint = json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1",
        "kind": "K",
        "metadata": {"name": "c"},
        "status": {"totalViolations": 0},
    });
    assert_eq!(
        audit,
        &inform("inform-gatekeeper-audit-c", "musthave", constraint)
    );
    let event = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "annotations": {
            "constraint_action": "deny",
            "constraint_kind": "K",
            "constraint_name": "c",
            "event_type": "violation",
        },
    });
    assert_eq!(
        admission,
        &inform("inform-gatekeeper-admission-c", "mustnothave", event)
    );
}

#[test]
fn gen_25_kyverno_policies_are_informed_on() {
    for (api_version, kind, expanded) in [
        ("kyverno.io/v1", "ClusterPolicy", true),
        ("kyverno.io/v1", "Policy", true),
        ("policies.kyverno.io/v1", "ImageValidatingPolicy", true),
        ("policies.kyverno.io/v1", "NamespacedMutatingPolicy", true),
        ("policies.kyverno.io/v1beta1", "MutatingPolicy", false),
        ("kyverno.io/v1", "ClusterCleanupPolicy", false),
    ] {
        let text = format!("apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: k}}\n");
        let dir = Dir::new(&[("k.yaml", &text)]);
        let templates = dir.templates(&one_policy("manifests: [{path: k.yaml}]"));
        assert_eq!(templates.len() == 2, expanded, "{api_version} {kind}");
        if expanded {
            let reports = &templates[1]["objectDefinition"];
            assert_eq!(reports["metadata"]["name"], "inform-kyverno-k");
            let kinds: Vec<&Value> = reports["spec"]["object-templates"]
                .as_array()
                .unwrap()
                .iter()
                .map(|entry| &entry["objectDefinition"]["kind"])
                .collect();
            assert_eq!(kinds, ["ClusterPolicyReport", "PolicyReport"]);
            assert_eq!(
                reports["spec"]["object-templates"][0]["objectDefinition"]["results"],
                json!([{"policy": "k", "result": "fail"}])
            );
        }
        let off = dir.templates(&one_policy(
            "informKyvernoPolicies: false\nmanifests: [{path: k.yaml}]",
        ));
        assert_eq!(off.len(), 1);
    }
}

#[test]
fn gen_20_raw_object_templates_stay_text() {
    let dir = Dir::new(&[(
        "raw.yaml",
        "object-templates-raw: |-\n  {{ range }}\n  - a\n",
    )]);
    let templates = dir.templates(&one_policy("manifests: [{path: raw.yaml}]"));
    assert_eq!(
        spec(&templates),
        &json!({"object-templates-raw": "{{ range }}\n- a", "remediationAction": "inform", "severity": "low"})
    );
}

#[test]
fn gen_32_vectors_of_the_emitter() {
    let dir = Dir::new(&[(
        "v.yaml",
        "apiVersion: v1\nkind: V\nmetadata: {name: v}\nv:\n  a: \"enemies=toads  \\n\"\n  b: \"a\\nb\"\n  c: \"a\\nb\\n\"\n  d: \"a\\nb\\n\\n\"\n  e: \"  a\\nb\\n\"\n  f: '{{ x }}'\n  g: '?*'\n  h: '*'\n  i: '<<'\n  j: '='\n  k: '12:30:45'\n  l: 1.2.3\n  'n': 5x\n",
    )]);
    let output = dir.generate(&one_policy("manifests: [{path: v.yaml}]"));
    let start = output.find("                        v:\n").unwrap();
    let lines: Vec<&str> = output[start..]
        .lines()
        .skip(1)
        .take(23)
        .map(|line| &line[28.min(line.len())..])
        .collect();
    assert_eq!(
        lines[..20],
        [
            "a: \"enemies=toads  \\n\"",
            "b: |-",
            "    a",
            "    b",
            "c: |",
            "    a",
            "    b",
            "d: |+",
            "    a",
            "    b",
            "",
            "e: |4",
            "      a",
            "    b",
            "f: '{{ x }}'",
            "g: ?*",
            "h: '*'",
            "i: <<",
            "j: =",
            "k: \"12:30:45\"",
        ]
    );
}
