//! `replicas` of a kustomization.

use reeve_go_compat::value::{Map, Value};

use super::specs::{Spec, of_kind};
use crate::error::Error;
use crate::merge::Resource;
use crate::messages;
use crate::values::{NodeKind, maps_field, text_field};

/// The kinds with replicas that kustomize knows.
const KINDS: [&str; 4] = [
    "Deployment",
    "StatefulSet",
    "ReplicaSet",
    "ReplicationController",
];

/// Sets the number of replicas of objects that have, or had, a name.
pub(super) fn set_replicas(resources: &[Resource], kustomization: &Map) -> Result<(), Error> {
    for replicas in maps_field(kustomization, "replicas") {
        let name = text_field(&replicas, "name").unwrap_or_default();
        let count = match replicas.get_str("count") {
            None | Some(Value::Nil) => Value::Int(0),
            Some(count) => count,
        };
        let mut is_found = false;
        for kind in KINDS {
            let spec: Spec<'_> = of_kind(kind, "spec/replicas");
            let had_name = |one: &&Resource| {
                let mut ids = one.previous.iter().cloned().chain([one.id()]);
                ids.any(|id| id.name == name && id.kind == kind)
            };
            for resource in resources.iter().filter(had_name) {
                is_found = true;
                spec.change(&resource.object, &|value| match NodeKind::of(value) {
                    NodeKind::Scalar => Ok(count.clone()),
                    _ => Err(NodeKind::Scalar.instead_of(value)),
                })?;
            }
        }
        if !is_found {
            return Err(Error::new(messages::no_replicas(&name)));
        }
    }
    Ok(())
}
