//! Decisions about one object, and the words they lead to.
// The `json!` of a case stands in the call, where it is read.
#![allow(clippy::needless_pass_by_value)]

mod failures;
mod unnamed;

use std::sync::Arc;

use kube::core::GroupVersionKind;
use reeve_api::RemediationAction::{self, Enforce, Inform};
use reeve_api::configuration_policy::ObjectProperties;
use reeve_runtime::writes::Deletion;
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    Decision, PendingUpdate, RelatedEntry, Step, Target, after_create, after_delete, after_dry_run,
    after_recreate, after_update, first,
};
use crate::evaluate::cluster::{ReadError, ReadResult, RecreateError, WriteError};
use crate::evaluate::compare::ComplianceType::{self, MustHave, MustNotHave, MustOnlyHave};
use crate::evaluate::desired::{DesiredObject, Recreate};
use crate::evaluate::diff::{RecordDiff, Sensitivity};
use crate::evaluate::memo::ComparisonMemo;
use crate::messages::{self, Reason};
use crate::status::finding::{Location, TemplateFindings};
use crate::status::summary::verdicts;

const EXISTS: &str = "K8s `must have` object already exists";
const LACKS: &str = "K8s does not have a `must have` object";

fn desired(compliance: ComplianceType, definition: Value) -> DesiredObject {
    let text = |key: &str| definition[key].as_str().unwrap_or_default().to_owned();
    let (group, version) =
        reeve_api::names::split_api_version(definition["apiVersion"].as_str().unwrap());
    DesiredObject {
        index: 0,
        kind: GroupVersionKind::gvk(group, version, &text("kind")),
        location: Location::new(
            "default",
            definition["metadata"]["name"].as_str().unwrap_or_default(),
        ),
        sensitivity: Sensitivity::Plain,
        secrets: reeve_runtime::secrets::Secrets::default(),
        compliance,
        metadata_compliance: None,
        recreate: Recreate::Never,
        record_diff: RecordDiff::InStatus,
        digest: [0; 32],
        definition: definition.as_object().unwrap().clone(),
    }
}

fn role(verbs: &[&str]) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}],
    })
}

fn live(mut object: Value) -> Value {
    object["metadata"]["namespace"] = json!("default");
    object["metadata"]["uid"] = json!("u1");
    object["metadata"]["resourceVersion"] = json!("7");
    object
}

fn target(desired: &DesiredObject, mode: RemediationAction) -> Target<'_> {
    Target::named(desired, "roles", mode)
}

/// What the API server would do, without one.
#[derive(Clone, Default)]
struct Server {
    dry_run: Option<WriteError>,
    update: Option<WriteError>,
    create: Option<WriteError>,
    delete: Option<WriteError>,
    recreate: Option<RecreateError>,
    /// A dry run answers with the object as it is.
    keeps: bool,
}

fn play(target: &Target<'_>, live: &ReadResult, server: &Server) -> Decision {
    let stored = |object: &Value, version: &str| {
        let mut object = object.clone();
        object["metadata"]["resourceVersion"] = json!(version);
        object["metadata"]["uid"] = json!("u1");
        object
    };
    let mut step = first(target, live);
    for _ in 0..5 {
        step = match step {
            Step::Done(decision) => return *decision,
            Step::Create(object) => {
                let created = stored(&object, "8");
                after_create(target, server.create.as_ref().map_or(Ok(&created), Err))
            }
            Step::Delete { uid } if uid != "u1" => panic!("{uid} is none that was seen"),
            Step::Delete { .. } => after_delete(
                target,
                server.delete.as_ref().map_or(Ok(Deletion::Complete), Err),
            ),
            Step::DryRun(update) => {
                let PendingUpdate {
                    live, candidate, ..
                } = update.as_ref().clone();
                let answer = if server.keeps {
                    (*live).clone()
                } else {
                    candidate
                };
                after_dry_run(
                    target,
                    *update,
                    server.dry_run.as_ref().map_or(Ok(&answer), Err),
                )
            }
            Step::Update(update) => {
                let answer = if server.keeps {
                    update.live.as_ref().clone()
                } else {
                    stored(&update.to_write(), "8")
                };
                // The API server judges an update as it judges a dry run.
                let refused = match &server.dry_run {
                    Some(refused) if !update.is_verified => Some(refused),
                    _ => server.update.as_ref(),
                };
                after_update(target, *update, refused.map_or(Ok(&answer), Err))
            }
            Step::Recreate(update) => {
                let mut answer = stored(&target.to_create(), "9");
                answer["metadata"]["uid"] = json!("u2");
                after_recreate(
                    target,
                    *update,
                    server.recreate.as_ref().map_or(Ok(&answer), Err),
                )
            }
        };
    }
    panic!("no end in sight");
}

/// `reason | message` of each verdict that would be published.
fn texts(target: &Target<'_>, decision: &Decision) -> Vec<String> {
    let outcome = TemplateFindings {
        resource: target.resource.to_owned(),
        findings: vec![target.finding(decision)],
    };
    verdicts(&outcome)
        .into_iter()
        .map(|verdict| {
            let state = if verdict.compliant { "C" } else { "NC" };
            format!("{state} | {} | {}", verdict.reason, verdict.message)
        })
        .collect()
}

#[allow(clippy::unnecessary_wraps)] // cases take the result of a read
fn present(object: Value) -> ReadResult {
    Ok(Some(Arc::new(live(object))))
}

#[rstest]
#[case::musthave_missing(MustHave, Inform, Ok(None), vec![format!("NC | {LACKS} | roles [r] not found in namespace default")])]
#[case::musthave_created(MustHave, Enforce, Ok(None), vec![
    format!("NC | {LACKS} | roles [r] not found in namespace default"),
    "C | K8s creation success | roles [r] was created successfully in namespace default".to_owned(),
])]
#[case::musthave_there(MustHave, Inform, present(role(&["get"])), vec![format!("C | {EXISTS} | roles [r] found as specified in namespace default")])]
#[case::musthave_more(MustHave, Enforce, present(role(&["get", "list"])), vec![format!("C | {EXISTS} | roles [r] found as specified in namespace default")])]
#[case::musthave_other(MustHave, Inform, present(role(&["list"])), vec![format!("NC | {LACKS} | roles [r] found but not as specified in namespace default")])]
#[case::musthave_updated(MustHave, Enforce, present(role(&["list"])), vec![
    format!("NC | {LACKS} | roles [r] found but not as specified in namespace default"),
    "C | K8s update success | roles [r] was updated successfully in namespace default".to_owned(),
])]
#[case::mustonlyhave_missing(MustOnlyHave, Inform, Ok(None), vec![format!("NC | {LACKS} | roles [r] not found in namespace default")])]
#[case::mustonlyhave_more(MustOnlyHave, Inform, present(role(&["get", "list"])), vec![format!("NC | {LACKS} | roles [r] found but not as specified in namespace default")])]
#[case::mustonlyhave_updated(MustOnlyHave, Enforce, present(role(&["get", "list"])), vec![
    format!("NC | {LACKS} | roles [r] found but not as specified in namespace default"),
    "C | K8s update success | roles [r] was updated successfully in namespace default".to_owned(),
])]
#[case::mustonlyhave_there(MustOnlyHave, Enforce, present(role(&["get"])), vec![format!("C | {EXISTS} | roles [r] found as specified in namespace default")])]
#[case::mustnothave_missing(MustNotHave, Inform, Ok(None), vec!["C | K8s `must not have` object already missing | roles [r] missing as expected in namespace default".to_owned()])]
#[case::mustnothave_missing_enforced(MustNotHave, Enforce, Ok(None), vec!["C | K8s `must not have` object already missing | roles [r] missing as expected in namespace default".to_owned()])]
#[case::mustnothave_there(MustNotHave, Inform, present(role(&["list"])), vec!["NC | K8s has a `must not have` object | roles [r] found in namespace default".to_owned()])]
#[case::mustnothave_deleted(MustNotHave, Enforce, present(role(&["list"])), vec!["C | K8s deletion success | roles [r] was deleted successfully in namespace default".to_owned()])]
fn roles(
    #[case] compliance: ComplianceType,
    #[case] mode: RemediationAction,
    #[case] live: ReadResult,
    #[case] expected: Vec<String>,
) {
    let desired = desired(compliance, role(&["get"]));
    let target = target(&desired, mode);
    let decision = play(&target, &live, &Server::default());
    assert_eq!(texts(&target, &decision), expected);
    assert_eq!(decision.failure, None);
}

#[test]
fn unreadable_object_is_neither_absent_nor_written() {
    for compliance in [MustHave, MustNotHave, MustOnlyHave] {
        let desired = desired(compliance, role(&["get"]));
        let target = target(&desired, Enforce);
        let step = first(
            &target,
            &Err(ReadError::Failed("the server is busy".to_owned())),
        );
        let Step::Done(decision) = step else {
            panic!("{step:?}")
        };
        assert_eq!(
            texts(&target, &decision),
            [
                "NC | api error | Error retrieving an object for object-template at index [0]: the server is busy"
            ]
        );
        assert!(decision.failure.is_some());
        assert_eq!(decision.listed, RelatedEntry::Omitted);
    }
}

#[test]
fn created_by_policy_is_kept_after_failed_read() {
    let desired = desired(MustHave, role(&["get"]));
    let created = ObjectProperties {
        created_by_policy: Some(true),
        uid: Some("u1".to_owned()),
        ..ObjectProperties::default()
    };
    let target = Target {
        before: Some(&created),
        ..target(&desired, Enforce)
    };
    let decision = play(
        &target,
        &Err(ReadError::Failed("busy".to_owned())),
        &Server::default(),
    );
    assert_eq!(decision.listed, RelatedEntry::Listed(Some(created.clone())));
}

#[test]
fn unwatchable_kind_reports_evaluation_interval() {
    let desired = desired(MustHave, role(&["get"]));
    let target = target(&desired, Enforce);
    let live = Err(ReadError::Unwatchable(
        "v1, Kind=X cannot be watched: watch not supported on this resource".to_owned(),
    ));
    let decision = play(&target, &live, &Server::default());
    assert_eq!(
        texts(&target, &decision),
        [
            "NC | unwatchable resource | Error with object-template at index [0], it may require evaluationInterval to be set: v1, Kind=X cannot be watched: watch not supported on this resource"
        ]
    );
    assert_eq!(
        (decision.failure, decision.listed),
        (None, RelatedEntry::Omitted)
    );
}

fn properties(decision: &Decision) -> ObjectProperties {
    match &decision.listed {
        RelatedEntry::Listed(Some(properties)) => properties.clone(),
        other => panic!("no properties: {other:?}"),
    }
}

#[test]
fn object_is_compliant_when_dry_run_changes_nothing() {
    let desired = desired(MustHave, role(&["get"]));
    for mode in [Inform, Enforce] {
        let target = target(&desired, mode);
        let server = Server {
            keeps: true,
            ..Server::default()
        };
        let decision = play(&target, &present(role(&["list"])), &server);
        assert_eq!(
            texts(&target, &decision),
            [format!(
                "C | {EXISTS} | roles [r] found as specified in namespace default"
            )]
        );
        assert_eq!(properties(&decision).matches_after_dry_run, Some(true));
        assert_eq!(properties(&decision).diff, None);
    }
}

#[test]
fn diff_is_recorded_and_kept_after_update() {
    let desired = desired(MustOnlyHave, role(&["get"]));
    let target = target(&desired, Enforce);
    let decision = play(&target, &present(role(&["list"])), &Server::default());
    let diff = properties(&decision).diff.unwrap();
    assert!(
        diff.starts_with("--- default/r : existing\n+++ default/r : updated\n@@ "),
        "{diff}"
    );
    assert!(
        diff.contains("\n   verbs:\n-  - list\n+  - get\n"),
        "{diff}"
    );
    let memory = decision.memo.unwrap();
    assert_eq!(
        (memory.compliant, memory.resource_version.as_str()),
        (true, "8")
    );
    assert_eq!(memory.diff, Some(diff));
}

#[test]
fn an_unchanged_object_is_not_compared_again() {
    let desired = desired(MustHave, role(&["get"]));
    let memory = ComparisonMemo {
        fields: Vec::new(),
        uid: "u1".to_owned(),
        resource_version: "7".to_owned(),
        compliant: false,
        message: "as before".to_owned(),
        diff: Some("the diff".to_owned()),
        matches_after_dry_run: false,
    };
    let target = Target {
        memo: Some(memory),
        ..target(&desired, Enforce)
    };
    // It would be compliant if it were compared.
    let decision = play(&target, &present(role(&["get"])), &Server::default());
    assert_eq!(
        texts(&target, &decision),
        ["NC | K8s update template error | as before"]
    );
    assert_eq!(properties(&decision).diff.as_deref(), Some("the diff"));
    let mut changed = live(role(&["get"]));
    changed["metadata"]["resourceVersion"] = json!("8");
    let decision = play(&target, &Ok(Some(Arc::new(changed))), &Server::default());
    assert!(decision.events.last().unwrap().compliant);
}

#[rstest]
#[case::emit_event(Inform, Recreate::Never, vec![format!("NC | {LACKS} | roles [r] found but not as specified in namespace default")])]
#[case::enforce(Enforce, Recreate::Never, vec![
    "NC | K8s update template error | roles [r] in namespace default cannot be updated, likely due to immutable fields not matching, you may set spec[\"object-templates\"][].recreateOption to recreate the object".to_owned(),
])]
#[case::recreate(Enforce, Recreate::IfRequired, vec![
    format!("NC | {LACKS} | roles [r] found but not as specified in namespace default"),
    "C | K8s update success | roles [r] was updated successfully in namespace default".to_owned(),
])]
#[case::informed_recreate(Inform, Recreate::Always, vec![format!("NC | {LACKS} | roles [r] found but not as specified in namespace default")])]
fn updates_that_are_not_valid(
    #[case] mode: RemediationAction,
    #[case] recreate: Recreate,
    #[case] expected: Vec<String>,
) {
    let mut desired = desired(MustHave, role(&["get"]));
    desired.recreate = recreate;
    let target = target(&desired, mode);
    let server = Server {
        dry_run: Some(WriteError::Invalid("immutable".to_owned())),
        ..Server::default()
    };
    let decision = play(&target, &present(role(&["list"])), &server);
    assert_eq!(texts(&target, &decision), expected);
    assert!(properties(&decision).diff.is_some());
    assert!(decision.memo.is_some());
}

#[test]
fn recreated_object_keeps_created_by_policy() {
    let mut desired = desired(MustHave, role(&["get"]));
    desired.recreate = Recreate::Always;
    let mut before = ObjectProperties {
        uid: Some("u1".to_owned()),
        ..ObjectProperties::default()
    };
    for created in [true, false] {
        before.created_by_policy = Some(created);
        let target = Target {
            before: Some(&before),
            ..target(&desired, Enforce)
        };
        let decision = play(&target, &present(role(&["list"])), &Server::default());
        let properties = properties(&decision);
        assert_eq!(
            (properties.created_by_policy, properties.uid.as_deref()),
            (Some(created), Some("u2"))
        );
    }
}

#[test]
fn cfg_32_2_object_recreated_by_others_is_not_created_by_policy() {
    let desired = desired(MustHave, role(&["get"]));
    let before = ObjectProperties {
        created_by_policy: Some(true),
        uid: Some("u0".to_owned()),
        ..ObjectProperties::default()
    };
    let target = Target {
        before: Some(&before),
        ..target(&desired, Enforce)
    };
    let decision = play(&target, &present(role(&["get"])), &Server::default());
    let properties = properties(&decision);
    assert_eq!(
        (properties.created_by_policy, properties.uid.as_deref()),
        (Some(false), Some("u1"))
    );
}

#[test]
fn invalid_labels_make_two_events() {
    let mut object = role(&["get"]);
    object["metadata"]["labels"] = json!({"a": 1});
    let desired = desired(MustHave, object);
    for mode in [Inform, Enforce] {
        let target = target(&desired, mode);
        let decision = play(&target, &present(role(&["get"])), &Server::default());
        assert_eq!(
            texts(&target, &decision),
            [
                format!("NC | {LACKS} | roles [r] found but not as specified in namespace default"),
                "NC | K8s update template error | invalid label, error: contains non-string value in the map under key \"a\": 1 is of the type int64, expected string".to_owned(),
            ]
        );
    }
}

fn pod(fields: Value) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}});
    pod.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    pod
}

#[test]
fn defaults_are_written_without_a_violation() {
    let desired = desired(MustHave, pod(json!({"spec": {"hostIPC": false}})));
    let target = target(&desired, Enforce);
    let decision = play(
        &target,
        &present(pod(json!({"spec": {}}))),
        &Server::default(),
    );
    let reasons: Vec<_> = decision.events.iter().map(|event| &event.reason).collect();
    assert_eq!(reasons, [&Reason::Updated]);
}

#[test]
fn status_mismatch_is_a_violation_and_not_written() {
    let desired = desired(MustHave, pod(json!({"status": {"phase": "Failed"}})));
    for mode in [Inform, Enforce] {
        let target = target(&desired, mode);
        let live = present(pod(json!({"status": {"phase": "Running"}})));
        let decision = play(
            &target,
            &live,
            &Server {
                dry_run: Some(WriteError::Other("never asked".to_owned())),
                ..Server::default()
            },
        );
        let reasons: Vec<_> = decision.events.iter().map(|event| &event.reason).collect();
        assert_eq!(reasons, [&Reason::Mismatched]);
        let diff = properties(&decision).diff.unwrap();
        assert!(
            diff.contains("-  phase: Running\n+  phase: Failed\n"),
            "{diff}"
        );
    }
}

#[test]
fn status_mismatch_remains_after_update() {
    let desired = desired(
        MustHave,
        pod(json!({"spec": {"nodeName": "n"}, "status": {"phase": "Failed"}})),
    );
    let target = target(&desired, Enforce);
    let live = present(pod(json!({"spec": {}, "status": {"phase": "Running"}})));
    let decision = play(&target, &live, &Server::default());
    let reasons: Vec<_> = decision.events.iter().map(|event| &event.reason).collect();
    assert_eq!(reasons, [&Reason::Mismatched, &Reason::Mismatched]);
    assert_eq!(decision.memo, None);
}

#[test]
fn created_object_with_status_is_noncompliant_until_compared() {
    let desired = desired(MustHave, pod(json!({"status": {"phase": "Running"}})));
    let target = Target {
        resource: "pods",
        ..target(&desired, Enforce)
    };
    assert_eq!(target.to_create().get("status"), None);
    let decision = play(&target, &Ok(None), &Server::default());
    assert_eq!(
        texts(&target, &decision).last().unwrap(),
        "NC | K8s creation success, status unchecked | pods [p] in namespace default was created successfully, the status of the object will be verified in the next evaluation"
    );
}

#[rstest]
#[case(RecordDiff::Censored, Some(messages::DIFF_REDACTED), None)]
#[case(RecordDiff::None, None, None)]
#[case(RecordDiff::Log, None, Some(messages::DIFF_REDACTED))]
fn secrets_do_not_show(
    #[case] record_diff: RecordDiff,
    #[case] in_status: Option<&str>,
    #[case] in_log: Option<&str>,
) {
    let secret = |value: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": value}});
    let mut desired = desired(MustHave, secret("bmV3"));
    desired.record_diff = record_diff;
    let target = target(&desired, Inform);
    let decision = play(&target, &present(secret("b2xk")), &Server::default());
    assert_eq!(properties(&decision).diff.as_deref(), in_status);
    assert_eq!(decision.log.as_deref(), in_log);
}

#[test]
fn created_object_has_its_location_and_no_status() {
    let mut desired = desired(MustHave, pod(json!({"status": {}})));
    desired.location.name = String::new();
    let target = Target {
        location: Location {
            namespace: "chosen".to_owned(),
            name: "given".to_owned(),
        },
        ..target(&desired, Enforce)
    };
    assert_eq!(
        target.to_create(),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "given", "namespace": "chosen"}})
    );
}
