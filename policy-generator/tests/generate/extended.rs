//! What `--extended` does beyond upstream's generator, and the hints without it.

use reeve_policy_generator::Caller;
use serde_json::{Value, json};

use crate::{CONFIG_MAP, Dir, one_policy};

/// The objects that the additional templates of the only policy look for, by the names of the templates.
fn informed(policies: &[Value]) -> Vec<(String, Vec<Value>)> {
    let templates = policies[0]["spec"]["policy-templates"].as_array().unwrap();
    let definitions = templates.iter().map(|one| &one["objectDefinition"]);
    let of_template = |definition: &Value| {
        let name = definition["metadata"]["name"].as_str().unwrap().to_owned();
        let objects = definition["spec"]["object-templates"].as_array().unwrap();
        let objects = objects.iter().map(|one| one["objectDefinition"].clone());
        (name, objects.collect())
    };
    let mut informed: Vec<_> = definitions.map(of_template).collect();
    informed.retain(|(name, _)| name.starts_with("inform-"));
    informed
}

fn constraint(version: &str) -> Dir {
    let text = format!(
        "apiVersion: constraints.gatekeeper.sh/{version}\nkind: K\nmetadata: {{name: c}}\n"
    );
    Dir::new(&[("m.yaml", &text)])
}

const ONE: &str = "manifests: [{path: m.yaml}]";

#[test]
fn gen_35_admission_template_looks_into_the_metadata_of_events() {
    let dir = constraint("v1beta1");
    let (policies, stderr) = dir.extended(&one_policy(ONE), "Policy");
    assert_eq!(stderr, "");
    let (name, objects) = informed(&policies).remove(1);
    assert_eq!(name, "inform-gatekeeper-admission-c");
    assert_eq!(
        objects,
        [json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"annotations": {
                "constraint_action": "deny",
                "constraint_kind": "K",
                "constraint_name": "c",
                "event_type": "violation",
            }},
        })]
    );
    dir.generate(&one_policy(ONE));
    assert_eq!(
        dir.run(&["generator.yaml"]).stderr,
        "hint: generator.yaml: policy p: the template inform-gatekeeper-admission-c on K c matches no Event, because it looks for annotations outside of metadata, as upstream's does; --extended writes one that matches\n"
    );
    // Hints are not errors: the output is upstream's.
    let strict = dir.run(&["--strict", "generator.yaml"]);
    assert_eq!((strict.code, strict.stdout.is_empty()), (0, false));
}

#[test]
fn gen_35_every_version_of_a_constraint_is_informed_on() {
    let dir = constraint("v1");
    let templates = dir.templates(&one_policy(ONE));
    assert_eq!(templates.len(), 1);
    assert_eq!(
        dir.run(&["generator.yaml"]).stderr,
        "hint: generator.yaml: policy p: no template informs on K c, because upstream's generator does not know constraints.gatekeeper.sh/v1; --extended takes every version\n"
    );
    let (policies, _) = dir.extended(&one_policy(ONE), "Policy");
    let informed = informed(&policies);
    assert_eq!(
        informed[0].1[0]["apiVersion"],
        "constraints.gatekeeper.sh/v1"
    );
    assert_eq!(informed.len(), 2);
    let off = one_policy(&format!("informGatekeeperPolicies: false\n{ONE}"));
    let (policies, stderr) = dir.extended(&off, "Policy");
    assert_eq!(stderr, "");
    assert_eq!(
        policies[0]["spec"]["policy-templates"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn gen_33_program_of_upstreams_name_prints_no_hints() {
    let dir = constraint("v1");
    dir.generate(&one_policy(ONE));
    let hinted = dir.run(&["generator.yaml"]);
    let silent = dir.run_as(Caller::Upstream, &["generator.yaml"]);
    assert!(!hinted.stderr.is_empty());
    assert_eq!((silent.stderr.as_str(), silent.code), ("", 0));
    assert_eq!(silent.stdout, hinted.stdout);
}

#[test]
fn gen_35_every_version_of_kyverno_is_informed_on() {
    for (api_version, kind, informs) in [
        ("kyverno.io/v2beta1", "ClusterPolicy", true),
        ("policies.kyverno.io/v1alpha1", "ValidatingPolicy", true),
        ("policies.kyverno.io/v1beta1", "DeletingPolicy", false),
        ("kyverno.io/v2", "CleanupPolicy", false),
    ] {
        let text = format!("apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: k}}\n");
        let dir = Dir::new(&[("m.yaml", &text)]);
        dir.generate(&one_policy(ONE));
        let hinted = dir.run(&["generator.yaml"]).stderr.contains(api_version);
        let (policies, stderr) = dir.extended(&one_policy(ONE), "Policy");
        let informed = informed(&policies);
        assert_eq!((hinted, informed.len() == 1), (informs, informs), "{kind}");
        assert_eq!(stderr, "");
    }
}

#[test]
fn gen_35_reports_of_namespaced_kyverno_policies_are_found_by_both_names() {
    let policy = |namespace: &str| {
        let text =
            format!("apiVersion: kyverno.io/v1\nkind: Policy\nmetadata: {{name: k{namespace}}}\n");
        Dir::new(&[("m.yaml", &text)])
    };
    let dir = policy(", namespace: team");
    let (policies, stderr) = dir.extended(&one_policy(ONE), "Policy");
    assert_eq!(stderr, "");
    let (_, reports) = informed(&policies).remove(0);
    let found: Vec<String> = reports
        .iter()
        .map(|report| format!("{} {}", report["kind"], report["results"][0]["policy"]))
        .collect();
    assert_eq!(
        found,
        [
            "\"ClusterPolicyReport\" \"k\"",
            "\"PolicyReport\" \"k\"",
            "\"PolicyReport\" \"team/k\""
        ]
    );
    dir.generate(&one_policy(ONE));
    assert_eq!(
        dir.run(&["generator.yaml"]).stderr,
        "hint: generator.yaml: policy p: Kyverno's reports call the Policy k by its namespace and name, so the template inform-kyverno-k finds no results of it; --extended writes one that looks for both names\n"
    );
    let (_, stderr) = policy("").extended(&one_policy(ONE), "Policy");
    assert_eq!(
        stderr,
        "hint: generator.yaml: policy p: Kyverno's reports call the Policy k by its namespace and name, so the template inform-kyverno-k finds no results of it; set metadata.namespace in its manifest and use --extended\n"
    );
}

#[test]
fn gen_34_variable_is_as_good_as_the_flag() {
    let dir = Dir::new(&[("m.yaml", CONFIG_MAP)]);
    dir.write(
        "generator.yaml",
        &one_policy(&format!("placement: {{clusterSets: [a]}}\n{ONE}")),
    );
    let run = |environment| {
        reeve_policy_generator::run(&["generator.yaml".to_owned()], dir.path(), environment)
    };
    let variable = |name: &str| (name == "POLICY_GEN_EXTENDED").then(|| "true".to_owned());
    let by_variable = run(reeve_policy_generator::Environment::from_variables(
        Caller::Reeve,
        variable,
    ));
    assert_eq!(by_variable.code, 0, "{by_variable:?}");
    assert_eq!(by_variable, dir.run(&["--extended", "generator.yaml"]));
    assert_eq!(dir.run(&["generator.yaml"]).code, 1);
}
