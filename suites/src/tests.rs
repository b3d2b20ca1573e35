//! Tests of suites.

use std::time::Duration;

use reeve_report::{Entry, Output, Report, State, Style, Subject, print};
use serde_json::json;

use crate::subset::mismatches;
use crate::{RunOptions, duration, find, run_all, schema};

#[test]
fn durations_have_a_number_and_a_unit() {
    assert_eq!(duration::parse("500ms"), Ok(Duration::from_millis(500)));
    assert_eq!(duration::parse("2m"), Ok(Duration::from_mins(2)));
    for wrong in ["", "5", "s", "-1s", "1h", "99999999999999999999s"] {
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
