//! Templates without a name.

use super::super::{Search, search};
use super::*;

#[rstest]
#[case::none_of_the_kind(MustHave, vec![], "NC | K8s does not have a `must have` object | pods not found in namespace default", vec!["-"])]
#[case::none_fits(MustHave, vec![("a", "y")], "NC | K8s does not have a `must have` object | pods found but not as specified in namespace default", vec!["-"])]
#[case::two_fit(MustHave, vec![("b", "x"), ("a", "x")], "C | K8s `must have` object already exists | pods [a, b] found as specified in namespace default", vec!["a", "b"])]
#[case::two_should_not(MustNotHave, vec![("b", "x"), ("a", "x"), ("c", "y")], "NC | K8s has a `must not have` object | pods [a, b] found in namespace default", vec!["a", "b"])]
#[case::none_should(MustNotHave, vec![("a", "y")], "C | K8s `must not have` object already missing | pods missing as expected in namespace default", vec!["-"])]
fn searches(
    #[case] compliance: ComplianceType,
    #[case] listed: Vec<(&str, &str)>,
    #[case] expected: &str,
    #[case] names: Vec<&str>,
) {
    let pod = |name: &str, node: &str| {
        Arc::new(
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"nodeName": node}}),
        )
    };
    let desired = desired(
        compliance,
        json!({"apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": "x"}}),
    );
    let listed: Vec<_> = listed
        .into_iter()
        .map(|(name, node)| pod(name, node))
        .collect();
    let Search::Decided(finding) = search(&desired, "pods", &listed) else {
        panic!("one was found");
    };
    let related: Vec<String> = finding
        .related
        .iter()
        .map(|entry| {
            entry
                .object
                .clone()
                .unwrap()
                .metadata
                .unwrap()
                .name
                .unwrap()
        })
        .collect();
    assert_eq!(related, names);
    let outcome = TemplateFindings {
        resource: "pods".to_owned(),
        findings: vec![finding],
    };
    let verdict = &verdicts(&outcome)[0];
    let state = if verdict.compliant { "C" } else { "NC" };
    assert_eq!(
        format!("{state} | {} | {}", verdict.reason, verdict.message),
        expected
    );
}

#[test]
fn single_match_is_compared_and_never_written() {
    let pod = Arc::new(live(
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"nodeName": "x"}}),
    ));
    let mut definition = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": "x"}});
    let wanted_pod = desired(MustNotHave, definition.take());
    let Search::One { target, live } = search(&wanted_pod, "pods", &[pod]) else {
        panic!("it was not found");
    };
    assert_eq!(target.mode, Inform);
    let decision = play(&target, &Ok(Some(live)), &Server::default());
    assert_eq!(
        texts(&target, &decision),
        ["NC | K8s has a `must not have` object | pods [a] found in namespace default"]
    );
}
