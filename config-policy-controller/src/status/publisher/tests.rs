//! The status updates of evaluations.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use reeve_api::configuration_policy::{
    ConfigurationPolicySpec, CustomMessage, EvaluationInterval, TemplateStatus,
};

use serde_json::json;

use super::*;
use crate::status::custom_message::LiveObjects;
use crate::status::summary::TemplateVerdict;
use crate::status::update::{RecordContext, record, record_policy_verdict};

const NOON: &str = "2026-01-01T12:00:00.1234567Z";

fn now() -> Timestamp {
    NOON.parse().unwrap()
}

fn policy() -> ConfigurationPolicy {
    let mut policy = ConfigurationPolicy::new("p", ConfigurationPolicySpec::default());
    policy.metadata.namespace = Some("managed".to_owned());
    policy.metadata.uid = Some("child".to_owned());
    policy.metadata.generation = Some(1);
    policy.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "policy.open-cluster-management.io/v1".to_owned(),
        kind: "Policy".to_owned(),
        name: "parent".to_owned(),
        uid: "owner".to_owned(),
        ..OwnerReference::default()
    }]);
    policy
}

fn verdict(compliant: bool, message: &str) -> TemplateVerdict {
    TemplateVerdict {
        compliant,
        reason: "a reason".to_owned(),
        message: message.to_owned(),
    }
}

fn evaluated<'t>(policy: &'t ConfigurationPolicy, objects: &'t LiveObjects) -> EvaluatedPolicy<'t> {
    EvaluatedPolicy { policy, objects }
}

/// One evaluation with these verdicts.
fn update_of(
    policy: &ConfigurationPolicy,
    before: &ConfigurationPolicyStatus,
    verdicts: &[TemplateVerdict],
) -> StatusUpdate {
    let context = RecordContext {
        intervals: policy.spec.evaluation_interval.as_ref(),
        now: now(),
    };
    let mut after = before.clone();
    let mut changed = ConditionChange::Unchanged;
    for (index, verdict) in verdicts.iter().enumerate() {
        if record(&mut after, index, verdict, context) {
            changed = ConditionChange::Changed;
        }
    }
    status_update(
        evaluated(policy, &LiveObjects::new()),
        before,
        after,
        changed,
        now(),
    )
}

#[test]
fn first_verdict_emits_events_and_adds_history() {
    let verdicts = [
        verdict(false, "pods [a] not found in namespace default"),
        verdict(true, "namespaces [default] found as specified"),
    ];
    let update = update_of(&policy(), &ConfigurationPolicyStatus::default(), &verdicts);
    let message = "NonCompliant; violation - pods [a] not found in namespace default; notification - namespaces [default] found as specified";
    assert!(update.events && update.write);
    assert_eq!(update.message, message);
    let status = serde_json::to_value(&update.status).unwrap();
    assert_eq!(
        status,
        json!({
            "compliant": "NonCompliant",
            "compliancyDetails": [
                {"Compliant": "NonCompliant", "Validity": {}, "conditions": [{
                    "type": "violation", "status": "True", "reason": "a reason",
                    "message": "pods [a] not found in namespace default",
                    "lastTransitionTime": "2026-01-01T12:00:00Z",
                }]},
                {"Compliant": "Compliant", "Validity": {}, "conditions": [{
                    "type": "notification", "status": "True", "reason": "a reason",
                    "message": "namespaces [default] found as specified",
                    "lastTransitionTime": "2026-01-01T12:00:00Z",
                }]},
            ],
            "history": [{"lastTimestamp": "2026-01-01T12:00:00.123456Z", "message": message}],
            "lastEvaluated": "2026-01-01T12:00:00Z",
            "lastEvaluatedGeneration": 1,
        })
    );
}

#[test]
fn repeated_verdict_publishes_nothing() {
    let verdicts = [verdict(false, "still missing")];
    let first = update_of(&policy(), &ConfigurationPolicyStatus::default(), &verdicts);
    let again = update_of(&policy(), &first.status, &verdicts);
    assert!(!again.events && !again.write);
    assert_eq!(again.status.history, first.status.history);
}

#[test]
fn interval_writes_last_evaluated_without_events() {
    let mut policy = policy();
    policy.spec.evaluation_interval = Some(EvaluationInterval {
        compliant: Some("10s".to_owned()),
        noncompliant: None,
    });
    let verdicts = [verdict(true, "fine")];
    let first = update_of(&policy, &ConfigurationPolicyStatus::default(), &verdicts);
    let again = update_of(&policy, &first.status, &verdicts);
    assert!(again.write && !again.events);
    assert_eq!(again.status.history, first.status.history);
}

#[test]
fn new_generation_emits_events() {
    let verdicts = [verdict(true, "fine")];
    let first = update_of(&policy(), &ConfigurationPolicyStatus::default(), &verdicts);
    let mut edited = policy();
    edited.metadata.generation = Some(2);
    let again = update_of(&edited, &first.status, &verdicts);
    assert!(again.events && again.write);
    assert_eq!(again.status.history.unwrap().len(), 2);
}

#[test]
fn history_keeps_the_newest_ten() {
    let mut status = ConfigurationPolicyStatus::default();
    for round in 0..12 {
        status = update_of(
            &policy(),
            &status,
            &[verdict(false, &format!("round {round}"))],
        )
        .status;
    }
    let history = status.history.unwrap();
    assert_eq!(history.len(), 10);
    assert_eq!(
        history[0].message.as_deref(),
        Some("NonCompliant; violation - round 11")
    );
}

#[test]
fn message_notes_when_policy_is_not_evaluated_again() {
    let mut policy = policy();
    policy.spec.evaluation_interval = Some(EvaluationInterval {
        compliant: Some("never".to_owned()),
        noncompliant: None,
    });
    let update = update_of(
        &policy,
        &ConfigurationPolicyStatus::default(),
        &[verdict(true, "fine")],
    );
    assert_eq!(
        update.message,
        "Compliant; notification - fine. This policy will not be evaluated again due to spec.evaluationInterval.compliant being set to \"never\"."
    );
}

#[test]
fn custom_messages_replace_the_default() {
    let mut policy = policy();
    let mut message = |text: &str| {
        policy.spec.custom_message = Some(CustomMessage {
            compliant: None,
            noncompliant: Some(text.to_owned()),
        });
        let verdicts = [verdict(false, "bad")];
        update_of(&policy, &ConfigurationPolicyStatus::default(), &verdicts).message
    };
    assert_eq!(message("call us"), "NonCompliant; call us");
    assert_eq!(message("NonCompliant; call us"), "NonCompliant; call us");
    assert_eq!(message(""), "NonCompliant; violation - bad");
    assert_eq!(
        message(
            "{{ .DefaultMessage }} of {{ .Policy.metadata.name | upper }}{{ .Policy.spec.nothing }}"
        ),
        "NonCompliant; violation - bad of P<no value>"
    );
    assert_eq!(
        message("{{ .Policy.status.compliant"),
        "NonCompliant; violation - bad (failure processing the custom message: failed to parse custom template: template: custom-msg:1: unclosed action)"
    );
    assert_eq!(
        message("{{ index .Policy 1 }}"),
        "NonCompliant; violation - bad (failure processing the custom message: failed to execute: template: custom-msg:1:3: executing \"custom-msg\" at <index .Policy 1>: error calling index: value has type int; should be string)"
    );
}

#[test]
fn long_messages_are_truncated_between_characters() {
    for filler in ["x", "é", "日本", "😀"] {
        let verdicts = [verdict(false, &filler.repeat(5000))];
        let message =
            update_of(&policy(), &ConfigurationPolicyStatus::default(), &verdicts).message;
        assert!(message.ends_with("...[truncated]"));
        assert!((4090..=4096).contains(&message.len()), "{}", message.len());
    }
    let verdicts = [verdict(false, &"x".repeat(5000))];
    assert_eq!(
        update_of(&policy(), &ConfigurationPolicyStatus::default(), &verdicts)
            .message
            .len(),
        4096
    );
}

#[test]
fn policy_verdict_replaces_template_verdicts() {
    let verdicts = [verdict(true, "one"), verdict(true, "two")];
    let before = update_of(&policy(), &ConfigurationPolicyStatus::default(), &verdicts).status;
    let mut after = before.clone();
    let context = RecordContext {
        intervals: None,
        now: now(),
    };
    assert!(record_policy_verdict(
        &mut after,
        &verdict(false, "invalid"),
        context
    ));
    let (policy, none) = (policy(), LiveObjects::new());
    let update = status_update(
        evaluated(&policy, &none),
        &before,
        after,
        ConditionChange::Changed,
        now(),
    );
    assert_eq!(update.message, "NonCompliant; violation - invalid");
}

#[test]
fn compliance_event_has_the_form_that_status_sync_reads() {
    let update = update_of(
        &policy(),
        &ConfigurationPolicyStatus::default(),
        &[verdict(false, "bad")],
    );
    let event = parent_event(&policy(), &update).unwrap();
    assert_eq!(event.policy.uid.as_deref(), Some("owner"));
    assert_eq!(event.policy.name.as_deref(), Some("parent"));
    assert_eq!(event.policy.namespace.as_deref(), Some("managed"));
    assert_eq!(event.template_namespace.as_deref(), Some("managed"));
    assert_eq!(event.template_name, "p");
    assert_eq!(event.compliance, Compliance::NonCompliant);
    assert_eq!(event.message, "NonCompliant; violation - bad");
    let related = event.related.unwrap();
    assert_eq!(
        (related.kind.as_deref(), related.uid.as_deref()),
        (Some("ConfigurationPolicy"), Some("child"))
    );
    let mut alone = policy();
    alone.metadata.owner_references = None;
    assert!(parent_event(&alone, &update).is_none());
}

#[test]
fn cfg_146_detail_without_condition_hides_no_other() {
    let status = ConfigurationPolicyStatus {
        compliancy_details: Some(vec![TemplateStatus::default()]),
        ..ConfigurationPolicyStatus::default()
    };
    let mut after = status.clone();
    let context = RecordContext {
        intervals: None,
        now: now(),
    };
    record(&mut after, 1, &verdict(false, "bad"), context);
    let policy = policy();
    let update = status_update(
        evaluated(&policy, &LiveObjects::new()),
        &status,
        after,
        ConditionChange::Changed,
        now(),
    );
    assert_eq!(update.message, "NonCompliant; violation - bad");
}
