//! The namespace of a kustomization, as kustomize gives it to objects and to what refers to them.

use std::collections::HashSet;

use reeve_go_compat::value::{Map, Value};

use crate::error::Error;
use crate::messages;
use crate::type_meta::TypeMeta;
use crate::values::{map_field, maps_field, name_of, namespace_of, set, text_field};

/// Puts objects into a namespace: those that have one, what is the namespace, and references to `default` accounts and to services that
/// need not be of the kustomization. The fields that name its own objects are changed in the end.
pub(super) fn set_namespace(objects: &[Map], namespace: &str) -> Result<(), Error> {
    for object in objects {
        refer(object, namespace);
        let kind = TypeMeta::of(object);
        let Some(metadata) = map_field(object, "metadata") else {
            continue;
        };
        if kind.is("", "Namespace") && kind.is_cluster_scoped() {
            set(&metadata, "name", namespace);
        } else if !kind.is_cluster_scoped() {
            set(&metadata, "namespace", namespace);
        }
    }
    let mut known = HashSet::new();
    for object in objects {
        let kind = TypeMeta::of(object);
        let name = name_of(object).unwrap_or_default();
        let space = namespace_of(object);
        if !known.insert((kind.group, kind.kind.clone(), space, name.clone())) {
            return Err(Error::new(messages::namespace_conflict(&kind.kind, &name)));
        }
    }
    Ok(())
}

/// Changes the references of an object.
fn refer(object: &Map, namespace: &str) {
    let kind = TypeMeta::of(object);
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            for subject in maps_field(object, "subjects") {
                if text_field(&subject, "name").as_deref() == Some("default") {
                    set(&subject, "namespace", namespace);
                }
            }
        }
        ("apiregistration.k8s.io", "APIService") => {
            let spec = child(object, "spec");
            set(&child(&spec, "service"), "namespace", namespace);
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            let path = ["spec", "conversion", "webhook", "clientConfig", "service"];
            let service = path
                .iter()
                .try_fold(object.clone(), |map, key| map_field(&map, key));
            if let Some(service) = service.filter(|one| text_field(one, "namespace").is_some()) {
                set(&service, "namespace", namespace);
            }
        }
        _ => {}
    }
}

/// The map of a field, which is made where it is not there.
fn child(map: &Map, key: &str) -> Map {
    map_field(map, key).unwrap_or_else(|| {
        let made = Map::dict();
        set(map, key, Value::Map(made.clone()));
        made
    })
}
