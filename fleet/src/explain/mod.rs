//! Explains step by step how a policy got its states, what a placement does with each cluster, and what becomes of a
//! template: on a fleet in this process, or on a hub that is reached by a client. Every step is an entry of a report.

mod expressions;
mod messages;
mod observe;
mod placement;
mod policy;
mod template;

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use kube::Client;
use reeve_report::{Entry, Rule, State};

use crate::start::Fleet;

pub use observe::ExplainError;

/// The servers that an explanation reads.
#[derive(Clone)]
pub struct Servers {
    /// The hub.
    pub hub: Client,
    /// The managed clusters that can be read, by name. What happens on the others is known by what they report.
    pub clusters: BTreeMap<String, Client>,
}

impl Fleet {
    /// The servers of this fleet.
    pub fn servers(&self) -> Servers {
        let clusters = self.clusters.iter();
        Servers {
            hub: self.hub.client(),
            clusters: clusters
                .map(|member| (member.name.clone(), member.client()))
                .collect(),
        }
    }
}

/// How a policy, named `name` or `namespace/name`, got its state on each cluster.
pub fn policy<'a>(
    servers: &'a Servers,
    name: &'a str,
) -> BoxFuture<'a, Result<Vec<Entry>, ExplainError>> {
    Box::pin(async move {
        let observed = observe::hub(&servers.hub).await?;
        let root = observed.root(name)?;
        let of_policy = observe::policy(servers, &observed, root).await?;
        Ok(policy::steps(&observed, root, &of_policy))
    })
}

/// What a placement, named `name` or `namespace/name`, does with each cluster.
pub fn placement<'a>(
    servers: &'a Servers,
    name: &'a str,
) -> BoxFuture<'a, Result<Vec<Entry>, ExplainError>> {
    Box::pin(async move {
        let observed = observe::hub(&servers.hub).await?;
        let placement = observed.placement(name)?;
        Ok(placement::steps(&observed, placement))
    })
}

/// What becomes of a template, named `policy/template` or `namespace/policy/template`, or of all templates of a policy.
pub fn template<'a>(
    servers: &'a Servers,
    name: &'a str,
) -> BoxFuture<'a, Result<Vec<Entry>, ExplainError>> {
    Box::pin(async move {
        let observed = observe::hub(&servers.hub).await?;
        let (root, template) = observed.template(name)?;
        let of_policy = observe::policy(servers, &observed, root).await?;
        Ok(template::steps(&observed, root, template, &of_policy))
    })
}

/// Something that is as it has to be.
fn fact(name: &str, message: impl Into<String>) -> Rule {
    finding(name, State::Compliant, message)
}

/// Something that is in a state.
fn finding(name: &str, state: State, message: impl Into<String>) -> Rule {
    Rule {
        name: name.to_owned(),
        state,
        message: message.into(),
        ..Rule::default()
    }
}
