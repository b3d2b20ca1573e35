//! Compares what is expected with what is there.

use reeve_report::{Entry, Reason, Rule, State};
use regex::Regex;
use serde_json::Value;

use crate::messages;
use crate::spec::{Compliance, Decision, Event, Expect, Expected, Present, Reference};
use crate::subset::mismatches;
use crate::world::World;

/// So many reasons of the engine go with an unexpected state.
const REASONS: usize = 3;

/// The namespace of policies and placements that are named without one.
const POLICIES: &str = "policies";

/// Every expectation with its result.
pub(crate) async fn check(world: &mut World<'_>, expect: &Expect) -> Result<Vec<Rule>, String> {
    let mut rules = Vec::new();
    if !expect.compliance.is_empty() {
        let entries = world.entries().await?;
        for one in &expect.compliance {
            rules.extend(compliance(one, &entries));
        }
    }
    for one in &expect.objects {
        rules.push(present(world, one).await);
    }
    for one in &expect.absent {
        rules.push(absent(world, one).await);
    }
    for one in &expect.events {
        rules.push(event(world, one).await?);
    }
    for one in &expect.decisions {
        rules.push(decision(world, one).await?);
    }
    Ok(rules)
}

fn rule(name: String, reasons: Vec<Reason>) -> Rule {
    let state = if reasons.is_empty() {
        State::Compliant
    } else {
        State::Violation
    };
    Rule {
        message: reasons
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; "),
        name,
        state,
        reasons,
        ..Rule::default()
    }
}

fn difference(field: &str, expected: impl Into<String>, found: impl Into<String>) -> Reason {
    Reason {
        field: field.to_owned(),
        wanted: Some(expected.into()),
        found: Some(found.into()),
        ..Reason::default()
    }
}

impl Expected {
    fn word(self) -> &'static str {
        match self {
            Self::Compliant => "Compliant",
            Self::NonCompliant => "NonCompliant",
            Self::Violation => "Violation",
            Self::Error => "Error",
            Self::Pending => "Pending",
            Self::Unplaced => "Unplaced",
            Self::Disabled => "Disabled",
            Self::Unknown => "Unknown",
        }
    }

    fn is(self, state: State) -> bool {
        match self {
            Self::Compliant => state == State::Compliant,
            Self::NonCompliant => matches!(state, State::Violation | State::Error),
            Self::Violation => state == State::Violation,
            Self::Error => state == State::Error,
            Self::Pending => state == State::Pending,
            Self::Unplaced => state == State::Unplaced,
            Self::Disabled => state == State::Skipped,
            Self::Unknown => state == State::Unknown,
        }
    }
}

/// One rule for each policy and cluster.
fn compliance(one: &Compliance, entries: &[Entry]) -> Vec<Rule> {
    let is_named = |entry: &&Entry| match &one.policy {
        None => true,
        Some(name) if name.contains('/') => entry.subject == *name,
        Some(name) => entry
            .subject
            .rsplit_once('/')
            .is_some_and(|(_, own)| own == name),
    };
    let chosen: Vec<&Entry> = entries.iter().filter(is_named).collect();
    let policy = one.policy.as_deref().unwrap_or("any policy");
    let Some(clusters) = &one.clusters else {
        if chosen.is_empty() {
            let missing = Reason::text(messages::NOT_FOUND);
            return vec![rule(format!("policy {policy}"), vec![missing])];
        }
        return chosen
            .iter()
            .map(|entry| on_cluster(one, entry, &entry.place))
            .collect();
    };
    let rules = clusters.iter().map(|cluster| {
        if let Some(entry) = chosen.iter().find(|entry| entry.place == *cluster) {
            return on_cluster(one, entry, cluster);
        }
        let found = chosen.iter().find(|entry| entry.place.is_empty());
        let why = found.map_or(messages::NOT_ON_CLUSTER.to_owned(), |entry| entry.summary());
        rule(
            format!("policy {policy} on {cluster}"),
            vec![difference("", one.is.word(), why)],
        )
    });
    rules.collect()
}

fn on_cluster(one: &Compliance, entry: &Entry, cluster: &str) -> Rule {
    let name = match cluster {
        "" => format!("policy {}", entry.subject),
        cluster => format!("policy {} on {cluster}", entry.subject),
    };
    let mut reasons = Vec::new();
    if !one.is.is(entry.state) {
        reasons.push(difference("", one.is.word(), entry.state.word()));
        reasons.extend(entry.why().into_iter().take(REASONS).cloned());
    } else if one.message.is_some() || one.matches.is_some() {
        // A difference shows the first text: that of a template which makes the state of the policy.
        let (decisive, others): (Vec<_>, Vec<_>) = entry
            .rules
            .iter()
            .partition(|rule| rule.state == entry.state);
        let of_rules = decisive.into_iter().chain(others);
        let of_rules = of_rules.map(|rule| rule.message.clone());
        let of_entry = entry.why().into_iter().map(ToString::to_string);
        let texts: Vec<String> = of_rules.chain(of_entry).collect();
        reasons.extend(text_reason(
            one.message.as_deref(),
            one.matches.as_deref(),
            &texts,
        ));
    }
    rule(name, reasons)
}

/// The reason why no text is as expected.
fn text_reason(message: Option<&str>, pattern: Option<&str>, texts: &[String]) -> Option<Reason> {
    let pattern_matches = |text: &str| match pattern {
        None => true,
        Some(pattern) => Regex::new(pattern).is_ok_and(|regex| regex.is_match(text)),
    };
    let message_is_in = |text: &str| message.is_none_or(|part| text.contains(part));
    if texts
        .iter()
        .any(|text| message_is_in(text) && pattern_matches(text))
    {
        return None;
    }
    let expected = match (message, pattern) {
        (Some(message), _) => format!("{message:?}"),
        (None, pattern) => format!("/{}/", pattern.unwrap_or_default()),
    };
    let found = texts.iter().find(|text| !text.is_empty());
    let found = found.map_or("no message".to_owned(), |text| format!("{text:?}"));
    Some(difference("message", expected, found))
}

fn field<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The name of an object in texts.
fn describe(kind: &str, namespace: Option<&str>, name: &str, cluster: Option<&str>) -> String {
    let place = cluster.unwrap_or("hub");
    match namespace {
        Some(namespace) => format!("{kind} {namespace}/{name} on {place}"),
        None => format!("{kind} {name} on {place}"),
    }
}

async fn present(world: &World<'_>, one: &Present) -> Rule {
    let object = Value::Object(one.object.clone());
    let cluster = one.cluster.as_deref();
    let (kind, name) = (field(&object, "/kind"), field(&object, "/metadata/name"));
    let namespace = match field(&object, "/metadata/namespace") {
        "" => None,
        namespace => Some(namespace),
    };
    let title = describe(kind, namespace, name, cluster);
    if kind.is_empty() || name.is_empty() {
        let missing = Reason::text("objects: an object needs apiVersion, kind and metadata.name");
        return rule("object".to_owned(), vec![missing]);
    }
    let found = read(
        world,
        cluster,
        (field(&object, "/apiVersion"), kind),
        namespace,
        name,
    );
    let reasons = match found.await {
        Err(error) => vec![Reason::text(error)],
        Ok(None) => vec![Reason::text(messages::NOT_FOUND)],
        Ok(Some(found)) => mismatches(&object, &found)
            .into_iter()
            .map(|mismatch| {
                let found = mismatch.found.unwrap_or_else(|| "nothing".to_owned());
                difference(&mismatch.path, mismatch.expected, found)
            })
            .collect(),
    };
    rule(title, reasons)
}

async fn read(
    world: &World<'_>,
    cluster: Option<&str>,
    (api_version, kind): (&str, &str),
    namespace: Option<&str>,
    name: &str,
) -> Result<Option<Value>, String> {
    let api = world.api(cluster, api_version, kind, namespace).await?;
    let path = format!("{}/{name}", api.resource_url());
    world.get(cluster, &path).await
}

async fn absent(world: &World<'_>, one: &Reference) -> Rule {
    let (cluster, namespace) = (one.cluster.as_deref(), one.namespace.as_deref());
    let title = describe(&one.kind, namespace, &one.name, cluster);
    let kind = (one.api_version.as_str(), one.kind.as_str());
    let reasons = match read(world, cluster, kind, namespace, &one.name).await {
        Err(error) => vec![Reason::text(error)],
        Ok(None) => Vec::new(),
        Ok(Some(_)) => vec![difference("", "no such object", "one")],
    };
    rule(format!("no {title}"), reasons)
}

async fn event(world: &World<'_>, one: &Event) -> Result<Rule, String> {
    let cluster = one.cluster.as_deref();
    let list = world.get(cluster, "/api/v1/events").await?;
    let list = list.unwrap_or_default();
    let is =
        |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|one| one == found);
    let events = list["items"].as_array().into_iter().flatten();
    let about = events.filter(|event| {
        is(&one.kind, field(event, "/involvedObject/kind"))
            && is(&one.name, field(event, "/involvedObject/name"))
            && is(&one.reason, field(event, "/reason"))
    });
    let texts: Vec<String> = about
        .map(|event| field(event, "/message").to_owned())
        .collect();
    let kind = one.kind.as_deref().unwrap_or("any object");
    let name = one.name.as_deref().unwrap_or_default();
    let title = format!("event of {kind} {name} on {}", cluster.unwrap_or("hub"));
    let reasons = if texts.is_empty() {
        vec![Reason::text(messages::NOT_FOUND)]
    } else {
        let reason = text_reason(one.message.as_deref(), one.matches.as_deref(), &texts);
        reason.into_iter().collect()
    };
    Ok(rule(title, reasons))
}

async fn decision(world: &World<'_>, one: &Decision) -> Result<Rule, String> {
    let (namespace, name) = one
        .placement
        .split_once('/')
        .unwrap_or((POLICIES, &one.placement));
    let path = format!(
        "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/{namespace}/placementdecisions?labelSelector=cluster.open-cluster-management.io%2Fplacement%3D{name}"
    );
    let list = world.get(None, &path).await?.unwrap_or_default();
    let decisions = list["items"].as_array().into_iter().flatten();
    let chosen =
        decisions.flat_map(|one| one["status"]["decisions"].as_array().into_iter().flatten());
    let mut chosen: Vec<String> = chosen
        .map(|one| field(one, "/clusterName").to_owned())
        .collect();
    let mut expected = one.clusters.clone();
    chosen.sort();
    expected.sort();
    let reasons = if chosen == expected {
        Vec::new()
    } else {
        let text = |names: &[String]| match names {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        vec![difference("clusters", text(&expected), text(&chosen))]
    };
    Ok(rule(
        format!("decisions of placement {namespace}/{name}"),
        reasons,
    ))
}
