//! Reading and checking a document.

use crate::{Dir, one_policy};

const MANIFESTS: &str = "manifests:\n- path: cm.yaml";

#[test]
fn gen_5_unknown_keys_are_named_with_suggestions() {
    let dir = Dir::with_config_map();
    let invalid = |text: &str| {
        let error = dir.refuse(text);
        let prefix = "the PolicyGenerator configuration file is invalid: ";
        error
            .strip_prefix(prefix)
            .unwrap_or_else(|| panic!("{error}"))
            .to_owned()
    };
    for (text, error) in [
        (
            "policie: []",
            "line 1: field policie found but not defined in type PolicyGenerator - did you mean 'policies'?",
        ),
        (
            "policies:\n- manifests:\n  - paths: x",
            "line 3: field paths found but not defined in type manifests - did you mean 'path'?",
        ),
        (
            "policyDefaults:\n  orderPolicy: true",
            "line 2: field orderPolicy found but not defined in type policyDefaults",
        ),
        (
            "policyDefaults:\n  placement:\n    placementRulePath: x",
            "line 3: field placementRulePath found but not defined in type placement - did you mean 'placementPath'?",
        ),
        (
            "policyDefaults:\n  placement:\n    clusterSelectors: {}",
            "line 3: field clusterSelectors found but not defined in type placement",
        ),
        (
            "policyDefaults:\n  configPolicyAnnotations: {}",
            "line 2: field configPolicyAnnotations found but not defined in type policyDefaults - did you mean 'configurationPolicyAnnotations'?",
        ),
        (
            "policyDefaults:\n  evaluationInterval:\n    complaint: 5s",
            "line 3: field complaint found but not defined in type evaluationInterval - did you mean 'compliant'?",
        ),
        (
            "policies:\n- extraDependencies:\n  - nam: x",
            "line 3: field nam found but not defined in type dependencies - did you mean 'name'?",
        ),
        (
            "policyDefaults:\n  objectSelector:\n    matchLabel: {}",
            "line 3: field matchLabel found but not defined - did you mean 'matchLabels'?",
        ),
        (
            "metadata:\n  labels: {}",
            "line 2: field labels found but not defined in type metadata",
        ),
        (
            "policies: {}",
            "line 1: cannot unmarshal !!map into []types.PolicyConfig",
        ),
        (
            "policies:\n- categories: foo",
            "line 2: cannot unmarshal !!str `foo` into []string",
        ),
        (
            "policies:\n- placement:\n    labelSelector: []",
            "line 3: cannot unmarshal !!seq into map[string]interface {}",
        ),
    ] {
        assert_eq!(
            invalid(text),
            format!("yaml: unmarshal errors:\n  {error}"),
            "{text}"
        );
    }
    let several = invalid("policie: []\npolicyDefaults:\n  disabled: yEs\nkind: a\nkind: b\n");
    assert_eq!(
        several,
        "yaml: unmarshal errors:\n  line 5: mapping key \"kind\" already defined at line 4"
    );
}

#[test]
fn gen_12_defaults_are_checked_before_policies() {
    let dir = Dir::with_config_map();
    let dns = "See https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names";
    for (text, error) in [
        (
            "policies: []".to_owned(),
            "policyDefaults.namespace is empty but it must be set".to_owned(),
        ),
        (
            "policyDefaults:\n  namespace: ns\n  placement: {labelSelector: {a: b}, placementPath: x}".to_owned(),
            "policyDefaults must specify only one of placement selector, placement path, or placement name".to_owned(),
        ),
        (
            "policyDefaults:\n  namespace: ns\n  placement: {placementName: A}".to_owned(),
            format!("policyDefaults placement.placementName `A` is not DNS compliant. {dns}"),
        ),
        (
            "policyDefaults:\n  namespace: ns\n  placement: {name: a_b}".to_owned(),
            format!("policyDefaults placement.name `a_b` is not DNS compliant. {dns}"),
        ),
        (
            "policyDefaults:\n  namespace: ns\n  placement: {placementPath: none.yaml}".to_owned(),
            "policyDefaults placement.placementPath could not read the path none.yaml".to_owned(),
        ),
        (
            "policyDefaults:\n  namespace: ns\n  placement: {labelSelector: {a: 5}}".to_owned(),
            "policyDefaults placement has invalid selectors: the input is not a valid label selector or key-value label matching map".to_owned(),
        ),
        (
            "policyDefaults:\n  namespace: ns\n  placement: {labelSelector: {a: b, matchExpressions: []}}".to_owned(),
            "policyDefaults placement has invalid selectors: the input is not a valid label selector or key-value label matching map".to_owned(),
        ),
        (
            "placementBindingDefaults: {name: B}\npolicyDefaults:\n  namespace: ns".to_owned(),
            format!("PlacementBindingDefaults.Name `B` is not DNS compliant. {dns}"),
        ),
        (
            "policyDefaults:\n  namespace: ns".to_owned(),
            "policies is empty but it must be set".to_owned(),
        ),
    ] {
        assert_eq!(dir.refuse(&text), error, "{text}");
    }
    for (lines, error) in [
        (
            "orderPolicies: true\n  dependencies: [{name: x}]",
            "policyDefaults must specify only one of dependencies or orderPolicies",
        ),
        (
            "dependencies: [{name: x}, {kind: y}]",
            "dependency name must be set in policyDefaults dependency 1",
        ),
        (
            "orderManifests: true\n  consolidateManifests: true",
            "policyDefaults may not specify both consolidateManifests and orderManifests",
        ),
        (
            "orderManifests: true\n  extraDependencies: [{name: x}]",
            "policyDefaults may not specify both extraDependencies and orderManifests",
        ),
        (
            "extraDependencies: [{}]",
            "extraDependency name must be set in policyDefaults extraDependency 0",
        ),
    ] {
        let text = format!("policyDefaults:\n  namespace: ns\n  {lines}\npolicies:\n- name: p\n");
        assert_eq!(dir.refuse(&text), error, "{text}");
    }
}

#[test]
fn gen_12_policies_are_checked_in_order() {
    let dir = Dir::with_config_map();
    let dns = "See https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names";
    let long = "a".repeat(61);
    for (policies, error) in [
        (
            "- manifests: []".to_owned(),
            "each policy must have a name set, but did not find a name at policy array index 0"
                .to_owned(),
        ),
        (
            "- name: A".to_owned(),
            format!("policy name `A` is not DNS compliant. {dns}"),
        ),
        (
            format!(
                "- name: p\n  {}\n- name: p",
                MANIFESTS.replace('\n', "\n  ")
            ),
            "each policy must have a unique name set, but found a duplicate name: p".to_owned(),
        ),
        (
            format!("- name: {long}"),
            format!("the policy namespace and name cannot be more than 63 characters: ns.{long}"),
        ),
    ] {
        let text = format!("policyDefaults:\n  namespace: ns\npolicies:\n{policies}\n");
        assert_eq!(dir.refuse(&text), error, "{text}");
    }
    for (lines, error) in [
        (
            "evaluationInterval: {compliant: 1d}".to_owned(),
            "the policy p has an invalid policy.evaluationInterval.compliant value: time: unknown unit \"d\" in duration \"1d\"",
        ),
        (
            "evaluationInterval: {noncompliant: x}".to_owned(),
            "the policy p has an invalid policy.evaluationInterval.noncompliant value: time: invalid duration \"x\"",
        ),
        (
            "description: none".to_owned(),
            "each policy must have at least one manifest, but found none in policy p",
        ),
        (
            format!("dependencies: [{{}}]\n{MANIFESTS}"),
            "dependency name must be set in policy p dependency 0",
        ),
        (
            format!("consolidateManifests: true\norderManifests: true\n{MANIFESTS}"),
            "policy p may not set orderManifests when consolidateManifests is true",
        ),
        (
            format!("orderManifests: true\nextraDependencies: [{{name: x}}]\n{MANIFESTS}"),
            "extraDependencies may not be set in policy p when orderManifests is true",
        ),
        (
            format!("extraDependencies: [{{}}]\n{MANIFESTS}"),
            "extraDependency name must be set in policy p extraDependency 0",
        ),
        (
            "manifests:\n- name: x".to_owned(),
            "each policy manifest entry must have path set, but did not find a path in policy p",
        ),
        (
            "manifests:\n- path: none".to_owned(),
            "could not read the manifest path none in policy p",
        ),
        (
            "manifests:\n- path: .".to_owned(),
            "the manifest path . may not refer to the same directory as the kustomization.yaml file",
        ),
        (
            "manifests:\n- path: ..".to_owned(),
            "the manifest path .. is not in the same directory tree as the kustomization.yaml file",
        ),
        (
            format!("{MANIFESTS}\n  openapi: {{path: none}}"),
            "could not resolve symlinks to the openapi path none",
        ),
        (
            format!(
                "consolidateManifests: false\n{MANIFESTS}\n  evaluationInterval: {{compliant: '5'}}"
            ),
            "the policy p has an invalid policy.evaluationInterval.manifest[0].compliant value: time: missing unit in duration \"5\"",
        ),
        (
            format!("orderManifests: true\n{MANIFESTS}\n  extraDependencies: [{{name: x}}]"),
            "extraDependencies may not be set in policy p manifest[0] because orderManifests is set",
        ),
        (
            format!("consolidateManifests: false\n{MANIFESTS}\n  extraDependencies: [{{kind: x}}]"),
            "extraDependency name must be set in policy p manifest[0] extraDependency 0",
        ),
        (
            format!("{MANIFESTS}\nplacement: {{placementPath: none, placementName: x}}"),
            "policy p must specify only one of placement selector, placement path, or placement name",
        ),
    ] {
        assert_eq!(dir.refuse(&one_policy(&lines)), error, "{lines}");
    }
}

#[test]
fn gen_13_manifest_cannot_differ_from_its_policy_when_consolidated() {
    let dir = Dir::with_config_map();
    for (line, field) in [
        (
            "evaluationInterval: {compliant: watch}",
            "evaluationInterval",
        ),
        ("customMessage: {compliant: x}", "customMessage"),
        ("namespaceSelector: {include: [x]}", "namespaceSelector"),
        ("pruneObjectBehavior: None", "pruneObjectBehavior"),
        ("remediationAction: enforce", "remediationAction"),
        ("severity: high", "severity"),
        ("extraDependencies: [{name: x}]", "extraDependencies"),
        ("ignorePending: true", "ignorePending"),
    ] {
        let error = dir.refuse(&one_policy(&format!("{MANIFESTS}\n  {line}")));
        assert_eq!(
            error,
            format!(
                "the policy p has the {field} value set on manifest[0] but consolidateManifests is true"
            )
        );
    }
}

#[test]
fn gen_12_each_half_of_the_interval_is_checked_by_itself() {
    // Upstream refuses this example of its own reference.
    let templates = Dir::with_config_map().templates(&one_policy(&format!(
        "evaluationInterval: {{compliant: 30m, noncompliant: watch}}\n{MANIFESTS}"
    )));
    let interval = &templates[0]["objectDefinition"]["spec"]["evaluationInterval"];
    assert_eq!(
        interval,
        &serde_json::json!({"compliant": "30m", "noncompliant": "watch"})
    );
}

#[test]
fn gen_12_policy_sets_are_checked_last() {
    let dir = Dir::with_config_map();
    let dns = "See https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names";
    for (lines, error) in [
        (
            "policySetDefaults: {placement: {placementPath: none}}",
            "policySetDefaults placement.placementPath could not read the path none".to_owned(),
        ),
        (
            "policySets: [{description: x}]",
            "each policySet must have a name set, but did not find a name at policySet array index 0".to_owned(),
        ),
        ("policySets: [{name: A}]", format!("policy set name `A` is not DNS compliant. {dns}")),
        (
            "policySets: [{name: s}, {name: s}]",
            "each policySet must have a unique name set, but found a duplicate name: s".to_owned(),
        ),
        (
            "policySets: [{name: s, placement: {placementName: x, labelSelector: {a: b}}}]",
            "policySet s must specify only one of placement selector, placement path, or placement name".to_owned(),
        ),
    ] {
        let text = format!("{}{lines}\n", one_policy(MANIFESTS));
        assert_eq!(dir.refuse(&text), error, "{lines}");
    }
}

#[test]
fn gen_6_words_for_booleans_are_ignored_with_a_warning() {
    let dir = Dir::with_config_map();
    dir.write(
        "g.yaml",
        &format!("{}  disabled: yes\n", one_policy(MANIFESTS)),
    );
    let outcome = dir.run(&["g.yaml"]);
    assert_eq!(
        outcome.stderr,
        "warning: g.yaml: policies[0].disabled: yes is ignored, because it is text to YAML; write true or false\n"
    );
    assert!(
        String::from_utf8(outcome.stdout)
            .unwrap()
            .contains("disabled: false")
    );
}

#[test]
fn gen_33_unread_parts_warn_and_are_errors_with_strict() {
    // GEN-6, GEN-7
    let dir = Dir::with_config_map();
    let document = format!(
        "{}  disabled: yes\n- null\n---\nsecond: document\n",
        one_policy(MANIFESTS)
    );
    dir.write("g.yaml", &document);
    let notices = |level: &str| {
        [
            "only the first document of the file is read; move the others to files of their own",
            "policies[1]: the entry is null and left out; remove it",
            "policies[0].disabled: yes is ignored, because it is text to YAML; write true or false",
        ]
        .map(|text| format!("{level}: g.yaml: {text}\n"))
        .concat()
    };
    let outcome = dir.run(&["g.yaml"]);
    assert_eq!(outcome.code, 0);
    assert_eq!(outcome.stderr, notices("warning"));
    assert_eq!(
        String::from_utf8(outcome.stdout).unwrap(),
        dir.generate(&one_policy(MANIFESTS))
    );
    let strict = dir.run(&["--strict", "g.yaml"]);
    assert_eq!((strict.code, strict.stdout.len()), (2, 0));
    assert_eq!(strict.stderr, notices("error"));
}

#[test]
fn gen_33_empty_documents_and_syntax_errors_after_the_first_document() {
    let dir = Dir::with_config_map();
    for (rest, warns) in [
        ("---\n", false),
        ("---\n# nothing\n---\n", false),
        ("---\na: b: c\n", true),
    ] {
        dir.write("g.yaml", &format!("{}{rest}", one_policy(MANIFESTS)));
        let outcome = dir.run(&["g.yaml"]);
        assert_eq!(
            (outcome.code, outcome.stderr.is_empty()),
            (0, !warns),
            "{rest}"
        );
    }
}
