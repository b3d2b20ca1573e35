//! From findings to the one sentence and one reason that a condition holds.

use std::collections::{BTreeMap, BTreeSet};

use crate::messages::{self, Reason};
use crate::status::finding::{Finding, ObjectEvent, TemplateFindings};

/// The verdict on one object template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateVerdict {
    /// Whether all its objects comply.
    pub compliant: bool,
    /// The condition's reason.
    pub reason: String,
    /// The condition's message.
    pub message: String,
}

impl TemplateVerdict {
    /// A violation with this reason and message.
    pub fn violation(reason: &str, message: String) -> Self {
        Self {
            compliant: false,
            reason: reason.to_owned(),
            message,
        }
    }
}

/// One event at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryEntry<'a> {
    /// The object's namespace, empty for cluster-scoped ones.
    pub namespace: &'a str,
    /// The object's names, joined: `a, b`. Empty for "any object".
    pub names: String,
    /// What happened.
    pub event: &'a ObjectEvent,
}

/// Sums up one event per location. If there is a violation, compliant entries are left out.
///
/// `resource` is the plural name of the kind, `pods`.
pub fn summarize(resource: &str, entries: &[SummaryEntry<'_>]) -> TemplateVerdict {
    let compliant = entries.iter().all(|entry| entry.event.compliant);
    let mut groups: BTreeMap<&Reason, Vec<&SummaryEntry<'_>>> = BTreeMap::new();
    for entry in entries
        .iter()
        .filter(|entry| entry.event.compliant == compliant)
    {
        groups.entry(&entry.event.reason).or_default().push(entry);
    }
    let (mut reasons, mut texts) = (Vec::new(), Vec::new());
    // The order of the variants of `Reason` is the order of the groups.
    for (reason, entries) in groups {
        reasons.push(messages::condition_reason(reason));
        texts.push(match messages::phrase(reason) {
            Some(phrase) => describe(resource, phrase, &entries),
            None => quote(&entries),
        });
    }
    TemplateVerdict {
        compliant,
        reason: reasons.join("; "),
        message: join(texts),
    }
}

/// Joins texts with `; `, leaving out empty ones and separators that are there already.
fn join(texts: Vec<String>) -> String {
    let mut joined = String::new();
    for text in texts {
        if !joined.is_empty() && !joined.ends_with("; ") {
            joined.push_str("; ");
        }
        joined.push_str(&text);
    }
    joined
}

/// `pods [a, b] not found in namespaces: x, y`: objects with the same namespaces share a sentence.
fn describe(resource: &str, phrase: &str, entries: &[&SummaryEntry<'_>]) -> String {
    let mut namespaces: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for entry in entries {
        let known = namespaces.entry(&entry.names).or_default();
        if !entry.namespace.is_empty() {
            known.insert(entry.namespace);
        }
    }
    let mut sentences: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (names, namespaces) in namespaces {
        let location = messages::in_namespaces(&namespaces.into_iter().collect::<Vec<_>>());
        sentences
            .entry(format!("{phrase}{location}"))
            .or_default()
            .push(names);
    }
    let sentence = |(end, names): (String, Vec<&str>)| {
        let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        messages::about_objects(resource, &names, &end)
    };
    let mut text = join(sentences.into_iter().map(sentence).collect());
    if text.contains(messages::NO_VALUE) {
        text.push_str(messages::NO_VALUE_NOTE);
    }
    text
}

/// The events' own texts, by name and namespace.
fn quote(entries: &[&SummaryEntry<'_>]) -> String {
    let mut sorted = entries.to_vec();
    sorted.sort_by_key(|entry| (entry.names.clone(), entry.namespace));
    join(
        sorted
            .into_iter()
            .map(|entry| entry.event.message.clone())
            .collect(),
    )
}

/// The verdicts on one template, in the order things happened: what was found, then what was done about it.
///
/// A location with fewer events than others takes part in the later verdicts only, so that what complied from the start
/// is not reported with the violations of others.
pub fn verdicts(outcome: &TemplateFindings) -> Vec<TemplateVerdict> {
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

fn verdict(outcome: &TemplateFindings, most: usize, round: usize) -> TemplateVerdict {
    let entry = |finding: &'_ Finding| {
        let missing = most.saturating_sub(finding.events.len());
        let at = round.checked_sub(missing)?;
        Some((at, finding.names.join(", ")))
    };
    let entries: Vec<SummaryEntry<'_>> = outcome
        .findings
        .iter()
        .filter_map(|finding| {
            let (at, names) = entry(finding)?;
            let event = finding.events.get(at)?;
            Some(SummaryEntry {
                namespace: &finding.location.namespace,
                names,
                event,
            })
        })
        .collect();
    let mut verdict = summarize(&outcome.resource, &entries);
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
    use rstest::rstest;

    use super::*;
    use crate::status::finding::Location;

    const EXISTS: &str = "K8s `must have` object already exists";
    const LACKS: &str = "K8s does not have a `must have` object";

    fn good(reason: Reason) -> ObjectEvent {
        ObjectEvent::compliant(reason)
    }

    fn bad(reason: Reason) -> ObjectEvent {
        ObjectEvent::violation(reason)
    }

    #[rstest]
    #[case::one(
        vec![("toy-story", "buzz", good(Reason::FoundAsExpected))],
        EXISTS,
        "configmaps [buzz] found as specified in namespace toy-story"
    )]
    #[case::cluster_scoped(
        vec![("", "movies", good(Reason::FoundAsExpected))],
        EXISTS,
        "configmaps [movies] found as specified"
    )]
    #[case::any_in_several_namespaces(
        vec![("n3", "", bad(Reason::Missing)), ("n1", "", bad(Reason::Missing)), ("n2", "", bad(Reason::Missing))],
        LACKS,
        "configmaps not found in namespaces: n1, n2, n3"
    )]
    #[case::two_good_reasons(
        vec![("toy-story", "buzz", good(Reason::Created)), ("toy-story4", "buzz", good(Reason::FoundAsExpected))],
        "K8s `must have` object already exists; K8s creation success",
        "configmaps [buzz] found as specified in namespace toy-story4; configmaps [buzz] was created successfully in namespace toy-story"
    )]
    #[case::two_violations_of_the_same_reason(
        vec![("default", "p", bad(Reason::Mismatched)), ("dangler", "p", bad(Reason::Missing))],
        "K8s does not have a `must have` object; K8s does not have a `must have` object",
        "configmaps [p] not found in namespace dangler; configmaps [p] found but not as specified in namespace default"
    )]
    #[case::violations_only(
        vec![("a", "x", good(Reason::FoundAsExpected)), ("b", "x", bad(Reason::Missing))],
        LACKS,
        "configmaps [x] not found in namespace b"
    )]
    #[case::names_with_the_same_namespaces_share_a_sentence(
        vec![("a", "x", bad(Reason::Missing)), ("b", "x", bad(Reason::Missing)), ("a", "w", bad(Reason::Missing)), ("b", "w", bad(Reason::Missing))],
        LACKS,
        "configmaps [w, x] not found in namespaces: a, b"
    )]
    #[case::names_with_other_namespaces_do_not(
        vec![("b", "x", bad(Reason::Missing)), ("a", "w", bad(Reason::Missing))],
        LACKS,
        "configmaps [w] not found in namespace a; configmaps [x] not found in namespace b"
    )]
    #[case::templated_namespace_without_a_value(
        vec![("<no value>", "x", bad(Reason::Missing))],
        LACKS,
        "configmaps [x] not found in namespace <no value> (<no value> is what a template prints for a value that does not exist)"
    )]
    #[case::unexpected(
        vec![("a", "x, y", bad(Reason::Unexpected))],
        "K8s has a `must not have` object",
        "configmaps [x, y] found in namespace a"
    )]
    #[case::own_words(
        vec![("b", "x", ObjectEvent::error("api error", "second")), ("a", "x", ObjectEvent::error("api error", "first"))],
        "api error",
        "first; second"
    )]
    #[case::own_words_come_last(
        vec![("a", "w", ObjectEvent::error("a error", "boom")), ("a", "x", bad(Reason::Missing))],
        "K8s does not have a `must have` object; a error",
        "configmaps [x] not found in namespace a; boom"
    )]
    fn sentences(
        #[case] entries: Vec<(&str, &str, ObjectEvent)>,
        #[case] reason: &str,
        #[case] message: &str,
    ) {
        let entries: Vec<SummaryEntry<'_>> = entries
            .iter()
            .map(|(namespace, names, event)| SummaryEntry {
                namespace,
                names: (*names).to_owned(),
                event,
            })
            .collect();
        let verdict = summarize("configmaps", &entries);
        assert_eq!(
            (verdict.reason.as_str(), verdict.message.as_str()),
            (reason, message)
        );
    }

    fn finding(namespace: &str, events: Vec<ObjectEvent>) -> Finding {
        let location = Location {
            namespace: namespace.to_owned(),
            name: "x".to_owned(),
        };
        Finding {
            location,
            names: vec!["x".to_owned()],
            events,
            related: Vec::new(),
        }
    }

    #[test]
    fn compliant_object_joins_the_last_verdict() {
        let outcome = TemplateFindings {
            resource: "configmaps".to_owned(),
            findings: vec![
                finding("a", vec![ObjectEvent::compliant(Reason::FoundAsExpected)]),
                finding(
                    "b",
                    vec![
                        ObjectEvent::violation(Reason::Missing),
                        ObjectEvent::compliant(Reason::Created),
                    ],
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
