//! Reads what a decision needs: templates, the package manifest, and the objects of OLM. The only place that reads the
//! target cluster.

mod compare;
pub mod kept;
mod objects;
pub mod package_manifests;
mod spec;

use std::sync::Arc;

use kube::core::GroupVersionKind;
use reeve_runtime::discovery::ServedKind;
use reeve_runtime::object::error_chain;

use super::decide::object::{Object, Read};
use super::decide::state::Part;
use crate::evaluate::cluster::{Cluster, ReadError};
use crate::messages::operator as messages;
use crate::status::finding::Location;

pub use objects::{ObservedPolicy, observe};
pub use spec::{ResolvedSpec, SpecReads, UnresolvedSpec, resolve};

/// Reads of one reconcile, with the errors in the words of the log.
pub struct Reads<'c, C> {
    /// Reads whole objects, for templates.
    pub templates: &'c C,
    /// Reads the [kept part](kept) of objects, and sends dry runs.
    pub objects: &'c C,
}

impl<C: Cluster> Reads<'_, C> {
    /// The resource that serves a kind.
    async fn kind(&self, kind: &GroupVersionKind) -> Read<ServedKind> {
        let served = self.objects.kind(kind).await;
        served.map_err(|error| error_chain(&error))
    }

    /// One object of a part, watched for the policy.
    async fn get(&self, part: Part, what: &str, location: (&str, &str)) -> Read<Option<Object>> {
        let found = self.try_get(&part.gvk(), location).await;
        found.map_err(|error| messages::getting(what, &error))
    }

    async fn try_get(
        &self,
        kind: &GroupVersionKind,
        (name, namespace): (&str, &str),
    ) -> Read<Option<Object>> {
        let kind = self.kind(kind).await?;
        let found = self
            .objects
            .get(&kind, &Location::new(namespace, name))
            .await;
        found.map_err(|error| text_of(&error))
    }

    /// The objects of a part in a namespace that match a label selector, watched for the policy.
    async fn list(
        &self,
        part: Part,
        what: &str,
        namespace: &str,
        selector: &str,
    ) -> Read<Vec<Object>> {
        let listed = async {
            let kind = self.kind(&part.gvk()).await?;
            let listed = self.objects.list(&kind, namespace, selector).await;
            listed.map_err(|error| text_of(&error))
        };
        let listed: Read<Vec<Arc<_>>> = listed.await;
        listed.map_err(|error| messages::listing(what, &error))
    }
}

fn text_of(error: &ReadError) -> String {
    error.text().to_owned()
}
