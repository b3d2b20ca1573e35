//! From findings to the verdicts that are published one after the other. Pure.

use crate::messages;
use crate::report::{Finding, TemplateOutcome};
use crate::status_text::{Entry, TemplateVerdict, sum_up};

/// The verdicts on one template, in the order things happened: what was found, then what was done about it.
///
/// A place with fewer events than others takes part in the later verdicts only, so that what was in order all along
/// is not reported with the violations of others.
#[must_use]
pub fn verdicts(outcome: &TemplateOutcome) -> Vec<TemplateVerdict> {
    let most = outcome
        .findings
        .iter()
        .map(|finding| finding.events.len())
        .max()
        .unwrap_or(0);
    (0..most)
        .map(|round| verdict(outcome, most, round))
        .collect()
}

fn verdict(outcome: &TemplateOutcome, most: usize, round: usize) -> TemplateVerdict {
    let entry = |finding: &'_ Finding| {
        let missing = most.saturating_sub(finding.events.len());
        let at = round.checked_sub(missing)?;
        Some((at, finding.names.join(", ")))
    };
    let entries: Vec<Entry<'_>> = outcome
        .findings
        .iter()
        .filter_map(|finding| {
            let (at, names) = entry(finding)?;
            let event = finding.events.get(at)?;
            Some(Entry {
                namespace: &finding.place.namespace,
                names,
                event,
            })
        })
        .collect();
    let mut verdict = sum_up(&outcome.resource, &entries);
    let unverified = |finding: &Finding| {
        let entries = finding.related.iter();
        let mut properties = entries.filter_map(|entry| entry.properties.as_ref());
        properties.any(|properties| properties.unverified.is_some())
    };
    if outcome.findings.iter().any(unverified) {
        verdict.message.push_str(messages::UNVERIFIED_NOTE);
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Event, Place, Reason};

    fn finding(namespace: &str, events: Vec<Event>) -> Finding {
        let place = Place {
            namespace: namespace.to_owned(),
            name: "x".to_owned(),
        };
        Finding {
            place,
            names: vec!["x".to_owned()],
            events,
            related: Vec::new(),
        }
    }

    #[test]
    fn what_was_in_order_all_along_joins_the_last_verdict() {
        let outcome = TemplateOutcome {
            resource: "configmaps".to_owned(),
            findings: vec![
                finding("a", vec![Event::good(Reason::FoundAsExpected)]),
                finding(
                    "b",
                    vec![Event::bad(Reason::Missing), Event::good(Reason::Created)],
                ),
            ],
        };
        let messages: Vec<String> = verdicts(&outcome)
            .into_iter()
            .map(|verdict| verdict.message)
            .collect();
        assert_eq!(
            messages,
            [
                "configmaps [x] not found in namespace b",
                "configmaps [x] found as specified in namespace a; configmaps [x] was created successfully in namespace b",
            ]
        );
    }
}
