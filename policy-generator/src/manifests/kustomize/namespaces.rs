//! The namespace of a kustomization, as kustomize gives it to objects and to what refers to them.

use std::collections::HashSet;

use reeve_go_compat::value::{Map, Value};

use crate::error::Error;
use crate::messages;
use crate::type_meta::TypeMeta;
use crate::values::{map_field, maps_field, name_of, namespace_of, set, text_field};

/// The namespace that an object without one is taken to be in, where something refers to it.
const DEFAULT: &str = "default";

/// Puts objects into a namespace: those that have one, what is the namespace, and the references to accounts and services among them.
pub(super) fn set_namespace(objects: &[Map], namespace: &str) -> Result<(), Error> {
    let before = Referents::of(objects);
    for object in objects {
        refer(object, namespace, &before);
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

/// The accounts and services of a kustomization, by name, with the namespaces that they had.
struct Referents {
    accounts: HashSet<(String, String)>,
    services: HashSet<(String, String)>,
}

impl Referents {
    fn of(objects: &[Map]) -> Self {
        let of_kind = |kind: &'static str| {
            let objects = objects.iter();
            let of_kind = objects.filter(move |object| TypeMeta::of(object).is("", kind));
            of_kind.map(|object| {
                (
                    name_of(object).unwrap_or_default(),
                    namespace_of(object).unwrap_or_else(|| DEFAULT.to_owned()),
                )
            })
        };
        Self {
            accounts: of_kind("ServiceAccount").collect(),
            services: of_kind("Service").collect(),
        }
    }
}

/// Whether a reference means one of these. One without namespace gets it in the end, as fields that name other objects do.
fn is_among(reference: &Map, known: &HashSet<(String, String)>) -> bool {
    let text = |key| text_field(reference, key);
    text("name")
        .zip(text("namespace"))
        .is_some_and(|both| known.contains(&both))
}

/// Changes the references of an object.
fn refer(object: &Map, namespace: &str, before: &Referents) {
    let kind = TypeMeta::of(object);
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            for subject in maps_field(object, "subjects") {
                let is_default = text_field(&subject, "name").as_deref() == Some("default");
                let is_account = text_field(&subject, "kind").as_deref() == Some("ServiceAccount");
                if is_default || is_account && is_among(&subject, &before.accounts) {
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
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => {
            for webhook in maps_field(object, "webhooks") {
                let config = map_field(&webhook, "clientConfig");
                let service = config.and_then(|config| map_field(&config, "service"));
                if let Some(service) = service.filter(|one| is_among(one, &before.services)) {
                    set(&service, "namespace", namespace);
                }
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
