//! Examines a hub before policies are put on it, or when they do not work: Open Cluster Management and its version, the
//! kinds of policies, the components with their images and rights, and the add-ons of each managed cluster. Nothing is
//! written, and every finding says what to do.

mod addons;
mod components;
mod kinds;
mod messages;
mod observe;
mod ocm;
mod rights;

#[cfg(test)]
mod tests;

use futures::future::BoxFuture;
use kube::Client;
use reeve_report::{Entry, Rule, State};

pub use observe::Unreachable;

/// All checks of a hub, each with what was found. The error is that no check is possible.
pub fn examine(hub: &Client) -> BoxFuture<'_, Result<Vec<Entry>, Unreachable>> {
    Box::pin(async move {
        let hub = observe::Hub::connect(hub).await?;
        let deployments = hub.deployments().await;
        let mut entries = ocm::checks(&hub).await;
        entries.extend(kinds::checks(&hub).await);
        entries.extend(components::checks(&hub, &deployments).await);
        entries.extend(rights::checks(&hub, &deployments).await);
        entries.extend(addons::checks(&hub).await);
        Ok(grouped(entries))
    })
}

/// The checks of a subject one after the other, where the first of them is.
fn grouped(entries: Vec<Entry>) -> Vec<Entry> {
    let mut subjects: Vec<String> = Vec::new();
    for entry in &entries {
        if !subjects.contains(&entry.subject) {
            subjects.push(entry.subject.clone());
        }
    }
    let mut entries = entries;
    entries.sort_by_key(|entry| subjects.iter().position(|one| *one == entry.subject));
    entries
}

/// What was found about a thing.
fn rule(name: &str, state: State, message: impl Into<String>) -> Rule {
    Rule {
        name: name.to_owned(),
        state,
        message: message.into(),
        ..Rule::default()
    }
}

/// Something is as it has to be.
fn good(name: &str, message: impl Into<String>) -> Rule {
    rule(name, State::Compliant, message)
}

/// Something is missing or wrong.
fn bad(name: &str, message: impl Into<String>) -> Rule {
    rule(name, State::Violation, message)
}
