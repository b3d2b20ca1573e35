//! Computes the status of a policy.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use reeve_api::Compliance;
use reeve_api::policy::{DetailsPerTemplate, PolicyStatus};
use reeve_runtime::watch::Cached;
use serde_json::json;

use super::history;
use super::observe::{ObservedObject, ObservedTemplate};
use crate::replica::Replica;

/// How the replica on the managed cluster compares with the hub's policy.
#[derive(Clone, Debug)]
pub enum SyncState {
    /// The managed cluster has no replica: there is no status.
    Gone,
    /// The replica differs from the hub's policy, or one of the two cannot be decoded. Its reports must not count for the hub's
    /// policy.
    OutOfSync,
    /// The replica is equivalent to the hub's policy.
    InSync {
        /// The replica.
        managed: Arc<Replica>,
        /// The hub's policy; `None` if the managed cluster is the hub.
        hub: Option<Arc<Replica>>,
    },
}

/// Compares the replica with the hub's policy. The outer option of `hub` is whether there is a hub.
#[allow(clippy::option_option)]
pub fn sync_state(
    managed: Option<Cached<Replica>>,
    hub: Option<Option<Cached<Replica>>>,
) -> SyncState {
    let managed = match managed {
        None => return SyncState::Gone,
        Some(Cached::Invalid(_)) => return SyncState::OutOfSync,
        Some(Cached::Valid(managed)) => managed,
    };
    match hub {
        None => SyncState::InSync { managed, hub: None },
        Some(Some(Cached::Valid(hub))) if hub.is_equivalent(&managed) => SyncState::InSync {
            managed,
            hub: Some(hub),
        },
        Some(_) => SyncState::OutOfSync,
    }
}

/// The status that follows `old`, given all reports, in the order of the templates. Entries of removed templates are dropped.
pub fn status(old: &PolicyStatus, templates: Vec<ObservedTemplate>) -> PolicyStatus {
    let mut stored = HashMap::new();
    for entry in old.details.iter().flatten() {
        // Of several entries of one name the first counts.
        stored.entry(entry.template_name()).or_insert(entry);
    }
    let details: Vec<_> = templates
        .into_iter()
        .map(|template| entry(stored.get(template.name.as_str()).copied(), template))
        .collect();
    PolicyStatus {
        compliant: aggregate_compliance(old, &details),
        details: (!details.is_empty()).then_some(details),
        ..old.clone()
    }
}

fn entry(
    mut stored: Option<&DetailsPerTemplate>,
    template: ObservedTemplate,
) -> DetailsPerTemplate {
    let mut reports = template.events;
    match template.object {
        ObservedObject::Absent => {}
        ObservedObject::Foreign => stored = None,
        ObservedObject::Owned(own_reports) => {
            // An event with the same report has more information than the history of the object.
            let own_reports = own_reports.into_iter();
            let new: Vec<_> = own_reports
                .filter(|report| {
                    reports
                        .iter()
                        .all(|event| event.event_name != report.event_name)
                })
                .collect();
            reports.extend(new);
        }
    }
    let merged = history::merge(reports, stored);
    DetailsPerTemplate {
        compliant: merged.compliant,
        history: (!merged.history.is_empty()).then_some(merged.history),
        template_meta: Some(json!({ "name": template.name })),
    }
}

/// The compliance of the policy. While a template has no report and none is violated, the compliance stays as it was, or is not
/// known before the first report of every template. If the templates have changed, the known ones decide.
fn aggregate_compliance(old: &PolicyStatus, details: &[DetailsPerTemplate]) -> Option<String> {
    let known = |entry: &DetailsPerTemplate| entry.compliant.as_deref().and_then(Compliance::parse);
    let compliances: Vec<Option<Compliance>> = details.iter().map(known).collect();
    let as_text = |compliance: Compliance| Some(compliance.as_str().to_owned());
    if compliances.contains(&Some(Compliance::NonCompliant)) {
        return as_text(Compliance::NonCompliant);
    }
    if compliances.contains(&Some(Compliance::Pending)) {
        return as_text(Compliance::Pending);
    }
    if compliances
        .iter()
        .all(|compliance| *compliance == Some(Compliance::Compliant))
    {
        return as_text(Compliance::Compliant);
    }
    let previous = old.details.as_deref().unwrap_or_default();
    if names(previous) == names(details) || old.compliant.is_none() {
        return old.compliant.clone();
    }
    if compliances.iter().any(Option::is_some) {
        as_text(Compliance::Compliant)
    } else {
        None
    }
}

fn names(details: &[DetailsPerTemplate]) -> BTreeSet<&str> {
    details
        .iter()
        .map(DetailsPerTemplate::template_name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compliance_events::Report;
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    use reeve_runtime::events::event_name;
    use rstest::rstest;

    fn report(second: i64, message: &str) -> Report {
        let at = Timestamp::from_second(1_700_000_000 + second).unwrap();
        Report {
            event_name: event_name("ns.p", at),
            at,
            message: message.to_owned(),
        }
    }

    fn template(name: &str, messages: &[&str], object: ObservedObject) -> ObservedTemplate {
        let events = (0..)
            .zip(messages)
            .map(|(second, message)| report(second, message));
        ObservedTemplate {
            name: name.to_owned(),
            events: events.collect(),
            object,
        }
    }

    fn absent(name: &str, messages: &[&str]) -> ObservedTemplate {
        template(name, messages, ObservedObject::Absent)
    }

    #[rstest]
    #[case::none(&[], Some("Compliant"))]
    #[case::unreported(&[""], None)]
    #[case::partly(&["Compliant", ""], None)]
    #[case::all(&["Compliant", "Compliant; x"], Some("Compliant"))]
    #[case::wrong(&["", "NonCompliant"], Some("NonCompliant"))]
    #[case::wrong_before_pending(&["Pending", "NonCompliant"], Some("NonCompliant"))]
    #[case::pending(&["Pending", "Compliant"], Some("Pending"))]
    fn compliance_of_a_new_policy_is_the_worst_of_its_templates(
        #[case] messages: &[&str],
        #[case] expected: Option<&str>,
    ) {
        let templates = messages.iter().enumerate().map(|(index, message)| {
            let messages: &[&str] = if message.is_empty() { &[] } else { &[message] };
            absent(&format!("t{index}"), messages)
        });
        let status = status(&PolicyStatus::default(), templates.collect());
        assert_eq!(status.compliant.as_deref(), expected);
    }

    #[test]
    fn expired_events_do_not_change_the_status() {
        let old = status(
            &PolicyStatus::default(),
            vec![absent("a", &["NonCompliant"])],
        );
        let same = status(&old, vec![absent("a", &[])]);
        assert_eq!(same, old, "expired events change nothing");
    }

    #[test]
    fn fwk_64_violation_of_a_removed_template_does_not_count() {
        let templates = vec![absent("bad", &["NonCompliant"]), absent("new", &[])];
        let old = status(&PolicyStatus::default(), templates);
        assert_eq!(old.compliant.as_deref(), Some("NonCompliant"));
        let unknown = status(&old, vec![absent("new", &[])]);
        assert_eq!(unknown.compliant, None);
        let templates = vec![absent("new", &[]), absent("good", &["Compliant"])];
        assert_eq!(
            status(&old, templates).compliant.as_deref(),
            Some("Compliant")
        );
    }

    #[test]
    fn history_is_dropped_when_the_object_is_foreign() {
        let old = status(&PolicyStatus::default(), vec![absent("a", &["Compliant"])]);
        let foreign = status(&old, vec![template("a", &[], ObservedObject::Foreign)]);
        assert_eq!(foreign.details.unwrap()[0].history, None);
    }

    #[test]
    fn history_of_the_object_counts_once() {
        let owned =
            ObservedObject::Owned(vec![report(0, "Compliant"), report(5, "NonCompliant; x")]);
        let status = status(
            &PolicyStatus::default(),
            vec![template("a", &["Compliant"], owned)],
        );
        let history = status.details.unwrap()[0].history.clone().unwrap();
        assert_eq!(history.len(), 2);
        assert_eq!(status.compliant.as_deref(), Some("NonCompliant"));
    }

    #[test]
    fn replica_is_in_sync_only_if_equivalent_to_the_hub() {
        let policy = |disabled: bool| {
            let spec = json!({"disabled": disabled, "policy-templates": []});
            Cached::Valid(Arc::new(Replica::new(ObjectMeta::default(), spec)))
        };
        let invalid = || Cached::<Replica>::Invalid("odd".into());
        assert!(matches!(sync_state(None, None), SyncState::Gone));
        assert!(matches!(
            sync_state(None, Some(Some(policy(true)))),
            SyncState::Gone
        ));
        let alone = sync_state(Some(policy(true)), None);
        assert!(matches!(alone, SyncState::InSync { hub: None, .. }));
        let equal = sync_state(Some(policy(true)), Some(Some(policy(true))));
        assert!(matches!(equal, SyncState::InSync { hub: Some(_), .. }));
        for (managed, hub) in [
            (policy(true), Some(policy(false))),
            (policy(true), None),
            (policy(true), Some(invalid())),
            (invalid(), Some(policy(true))),
        ] {
            assert!(matches!(
                sync_state(Some(managed), Some(hub)),
                SyncState::OutOfSync
            ));
        }
    }
}
