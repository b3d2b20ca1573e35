//! Tests of suites.

use std::time::Duration;

use reeve_manifests::Input;
use reeve_report::{Entry, Output, Report, State, Style, Subject, print};
use serde_json::json;

use crate::subset::mismatches;
use crate::{RunOptions, duration, find, policies_of_stdin, read_policies, run_all, schema};

#[test]
fn durations_are_those_of_go() {
    assert_eq!(duration::parse("500ms"), Ok(Duration::from_millis(500)));
    assert_eq!(duration::parse("1h2m"), Ok(Duration::from_mins(62)));
    assert_eq!(duration::parse("1.5s"), Ok(Duration::from_millis(1500)));
    for wrong in ["", "5", "s", "-1s", "1 h", "1d", "99999999999999999999s"] {
        assert!(duration::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn subset_ignores_what_is_not_expected_and_names_what_differs() {
    let found = json!({ "metadata": { "labels": { "a.b/c": "x" } }, "items": [{ "n": 1, "m": 2 }, { "n": 3 }] });
    let same = json!({ "metadata": {}, "items": [{ "n": 3 }, { "n": 1 }], "gone": null });
    assert_eq!(mismatches(&same, &found), []);
    let other =
        json!({ "metadata": { "labels": { "a.b/c": "y" } }, "items": [{ "n": 2 }], "new": 1 });
    let all = mismatches(&other, &found);
    let paths: Vec<&str> = all.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(paths, ["items[0]", r#"metadata.labels["a.b/c"]"#, "new"]);
}

#[test]
fn schemas_name_every_key() {
    let all = schema();
    let text = all[0].1.to_string();
    for key in ["bindUnbound", "decisions", "kustomize", "taints", "matches"] {
        assert!(text.contains(&format!("\"{key}\"")), "{key}");
    }
}

/// The errors of a suite's file.
fn errors(text: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.yaml");
    std::fs::write(&path, text).unwrap();
    let found = find(&[path]);
    let name = format!("{}/", folder.path().display());
    let errors = found.errors.iter();
    errors
        .map(|error| error.to_string().replace(&name, ""))
        .collect()
}

const HEAD: &str = "apiVersion: reeve/v1alpha1\nkind: Suite\nmetadata: {name: s}\n";

#[test]
fn errors_of_suites_have_line_and_key() {
    let cases = [
        "steps:\n- name: a\n  expects: {}\n",
        "steps:\n- name: a\n  wait: 5\n",
        "steps:\n- name: a\n  wait: 5 minutes\n",
        "steps:\n- name: a\n- name: b\n  expect: {compliance: [{is: Compliant, matches: '('}]}\n",
        "clusters: [{name: a}, {name: a}]\nsteps: [{name: a}]\n",
        "steps: []\n",
    ];
    let all: Vec<String> = cases
        .iter()
        .flat_map(|case| errors(&format!("{HEAD}{case}")))
        .collect();
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn cluster_names_are_checked_when_the_suite_is_read() {
    let long = "a".repeat(64);
    for name in ["A_b", "-a", "a.b", "hub", "''", &long] {
        let found = errors(&format!(
            "{HEAD}clusters: [{{name: {name}}}]\nsteps: [{{name: a}}]\n"
        ));
        let shown = name.trim_matches('\'');
        let expected = format!("clusters: \"{shown}\" is no name for one: use at most 63 small");
        assert!(
            found.len() == 1 && found[0].contains(&expected),
            "{found:?}"
        );
    }
}

/// Runs the suite of a text in a folder with these files.
async fn run(suite: &str, files: &[(&str, &str)]) -> Vec<Entry> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let path = folder.path().join("s.yaml");
    std::fs::write(&path, format!("{HEAD}{suite}")).unwrap();
    let before = entries_of(folder.path());
    let found = find(&[path]);
    assert!(found.errors.is_empty(), "{:?}", found.errors);
    let options = RunOptions {
        parallel: 2,
        timeout: Duration::from_mins(1),
        assumes_kinds: false,
    };
    let outcome = run_all(found.suites, options).await;
    assert_eq!(entries_of(folder.path()), before, "a file was written");
    outcome.entries
}

fn entries_of(folder: &std::path::Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

const POLICY: &str = r"
apiVersion: policy.open-cluster-management.io/v1
kind: Policy
metadata: {name: ns}
spec:
  disabled: false
  remediationAction: inform
  policy-templates:
  - objectDefinition:
      apiVersion: policy.open-cluster-management.io/v1
      kind: ConfigurationPolicy
      metadata: {name: ns}
      spec:
        severity: low
        object-templates:
        - complianceType: musthave
          objectDefinition: {apiVersion: v1, kind: Namespace, metadata: {name: prod}}
";

#[tokio::test(flavor = "multi_thread")]
async fn steps_act_and_their_expectations_are_met() {
    let suite = r"
clusters:
- name: good
  objects: [{apiVersion: v1, kind: Namespace, metadata: {name: prod}}]
- {name: bad, labels: {env: dev}}
policies: [p.yaml]
steps:
- name: informs
  expect:
    compliance:
    - {policy: ns, clusters: [good], is: Compliant}
    - {policy: policies/ns, clusters: [bad], is: Violation, message: not found, matches: 'namespaces \[prod\]'}
    absent: [{cluster: bad, apiVersion: v1, kind: Namespace, name: prod}]
    decisions: [{placement: reeve-all-clusters, clusters: [good, bad]}]
- name: enforces
  patch:
  - {apiVersion: policy.open-cluster-management.io/v1, kind: Policy, name: ns, patch: {spec: {remediationAction: enforce}}}
  expect:
    compliance: [{is: Compliant}]
    objects: [{cluster: bad, object: {apiVersion: v1, kind: Namespace, metadata: {name: prod}, status: {phase: Active}}}]
    events: [{cluster: bad, kind: Policy, message: 'namespaces [prod] found as specified'}]
- name: follows its placement
  apply:
  - objects:
    - apiVersion: cluster.open-cluster-management.io/v1beta1
      kind: Placement
      metadata: {name: reeve-all-clusters, namespace: policies}
      spec:
        clusterSets: [global]
        predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {env: test}}}}]
  label: [{cluster: bad, labels: {env: test}}]
  expect:
    decisions: [{placement: reeve-all-clusters, clusters: [bad]}]
- name: is deleted
  delete: [{apiVersion: policy.open-cluster-management.io/v1, kind: Policy, name: ns}]
  expect:
    absent: [{apiVersion: policy.open-cluster-management.io/v1, kind: Policy, name: ns}]
";
    let entries = run(suite, &[("p.yaml", POLICY)]).await;
    let failed: Vec<&Entry> = entries
        .iter()
        .filter(|entry| entry.state != State::Compliant)
        .collect();
    assert!(failed.is_empty() && entries.len() == 4, "{failed:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unmet_expectations_say_what_was_found_and_broken_steps_end_the_suite() {
    let suite = r"
policies: [p.yaml]
steps:
- name: complies
  expect:
    compliance:
    - {policy: ns, clusters: [cluster1], is: Compliant}
    - {policy: other, is: Compliant}
    objects: [{cluster: cluster1, object: {apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {a: b}}}}]
- name: changes what is not there
  patch: [{cluster: cluster1, apiVersion: v1, kind: Namespace, name: prod, patch: {}}]
- name: comes later
";
    let mut report = Report {
        subject: Subject::Suites,
        entries: run(suite, &[("p.yaml", POLICY)]).await,
        ..Report::default()
    };
    for entry in &mut report.entries {
        entry.source = None;
    }
    insta::assert_snapshot!(print(&report, Output::Table, Style::default()));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_cannot_be_read_are_errors_of_the_first_step() {
    let entries = run("policies: [nope.yaml]\nsteps: [{name: a}]\n", &[]).await;
    assert_eq!(entries[0].state, State::Error);
    assert!(entries[0].summary().contains("nope.yaml"), "{entries:?}");
}

#[test]
fn folder_with_suites_gives_the_hub_its_policies_only() {
    let folder = tempfile::tempdir().unwrap();
    let object =
        |name: &str| format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}");
    let suite = format!(
        "{HEAD}policies: [../p.yaml]\ncrds: [crds]\nclusters: [{{name: a, files: [objects.yaml]}}]\n\
        steps: [{{name: s, apply: [{{cluster: a, files: [step.yaml]}}, {{files: [../hub.yaml]}}]}}]\n"
    );
    for (name, text) in [
        ("p.yaml", POLICY),
        ("hub.yaml", &object("hub")),
        ("tests/s.yaml", &suite),
        ("tests/objects.yaml", &object("of-a")),
        ("tests/step.yaml", &object("of-step")),
        ("tests/crds/c.yaml", &object("crd")),
        (
            "fleet.yaml",
            "{apiVersion: reeve/v1alpha1, kind: Fleet, clusters: 2}",
        ),
    ] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let found = read_policies(&[Input::Path(folder.path().to_owned())]);
    let names: Vec<&str> = found.objects.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["hub", "ns"]);
    let of = |path: &std::path::Path| {
        path.strip_prefix(folder.path())
            .unwrap()
            .display()
            .to_string()
    };
    let skipped = found.skipped.iter();
    let skipped: Vec<String> = skipped
        .map(|one| format!("{}: {}", of(&one.path), one.reason))
        .collect();
    insta::assert_snapshot!(skipped.join("\n"), @"
    fleet.yaml: a fleet: use --clusters
    tests/crds/c.yaml: for a suite's clusters: --crds or --objects takes it
    tests/objects.yaml: for a suite's clusters: --crds or --objects takes it
    tests/s.yaml: a suite: use reeve test
    tests/step.yaml: for a suite's clusters: --crds or --objects takes it
    ");
    // Standard input has nothing for a hub either.
    let nothing = policies_of_stdin(GENERATOR);
    assert!(
        nothing.errors[0].to_string().contains("name its file"),
        "{:?}",
        nothing.errors
    );
    // A folder that only suites use is read when it is named itself.
    let crds = folder.path().join("tests/crds");
    assert_eq!(read_policies(&[Input::Path(crds)]).objects.len(), 1);
    let only = folder.path().join("tests/s.yaml");
    let nothing = read_policies(&[Input::Path(only)]);
    assert!(
        nothing.errors[0]
            .to_string()
            .contains("no objects: skipped"),
        "{:?}",
        nothing.errors
    );
}

const GENERATOR: &str = r"
apiVersion: policy.open-cluster-management.io/v1
kind: PolicyGenerator
metadata: {name: g}
policyDefaults: {namespace: policies}
policies:
- name: maps
  manifests: [{path: input}]
";

/// A folder with these files.
fn folder_of(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn policies_of_a_generator_are_generated_and_its_inputs_are_not_applied() {
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: made, namespace: default}}";
    let role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, rules: []}";
    let kustomization = "generators: [gen.yaml]\nresources: [role.yaml]\n";
    let files = [
        ("gen.yaml", GENERATOR),
        ("input/map.yaml", map),
        ("role.yaml", role),
        ("kustomization.yaml", kustomization),
    ];
    let folder = folder_of(&files);
    let path = folder.path().to_owned();
    let kinds = |found: &reeve_manifests::Found| {
        let mut kinds: Vec<String> = found.objects.iter().map(|one| one.kind.clone()).collect();
        kinds.sort();
        kinds
    };
    let wanted = ["ClusterRole", "Placement", "PlacementBinding", "Policy"];
    let found = read_policies(&[Input::Path(path.clone())]);
    assert!(found.errors.is_empty(), "{:?}", found.errors);
    assert_eq!(kinds(&found), wanted);
    let reasons: Vec<&str> = found
        .skipped
        .iter()
        .map(|one| one.reason.as_str())
        .collect();
    assert_eq!(reasons, ["use -k", "part of the policies of a generator"]);
    // The same by the kustomization, without an installed kustomize.
    let found = read_policies(&[Input::Kustomization(path.clone())]);
    assert!(found.errors.is_empty(), "{:?}", found.errors);
    assert_eq!(kinds(&found), wanted);
    // What only kustomize can do, and what the generator refuses, is an error that names the file.
    for (file, text, why) in [
        (
            "kustomization.yaml",
            "namePrefix: a-\ngenerators: [gen.yaml]\n",
            "namePrefix beside generators",
        ),
        ("kustomization.yaml", kustomization, ""),
        (
            "gen.yaml",
            "apiVersion: policy.open-cluster-management.io/v1\nkind: PolicyGenerator\nmetadata: {name: g}\n",
            "gen.yaml",
        ),
    ] {
        std::fs::write(path.join(file), text).unwrap();
        let found = read_policies(&[Input::Kustomization(path.clone())]);
        let errors: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors.is_empty(), why.is_empty(), "{errors:?}");
        assert!(errors.iter().all(|error| error.contains(why)), "{errors:?}");
    }
}
