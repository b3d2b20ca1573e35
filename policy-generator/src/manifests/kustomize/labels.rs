//! `labels`, `commonLabels` and `commonAnnotations` of a kustomization: metadata, and what of an object repeats them.

use reeve_go_compat::value::{Key, Map, Value};

use super::specs::{Spec, of_all, of_group, of_kind};
use crate::error::Error;
use crate::values::{NodeKind, is_set, map_field, maps_field, text_field, text_of};

const METADATA: Spec<'_> = of_all("metadata/labels");

/// The templates of Pods.
const TEMPLATES: [Spec<'_>; 8] = [
    of_kind("ReplicationController", "spec/template/metadata/labels").of_version("v1"),
    of_kind("Deployment", "spec/template/metadata/labels"),
    of_kind("ReplicaSet", "spec/template/metadata/labels"),
    of_kind("DaemonSet", "spec/template/metadata/labels"),
    of_group("apps", "StatefulSet", "spec/template/metadata/labels"),
    of_group("batch", "Job", "spec/template/metadata/labels"),
    of_group("batch", "CronJob", "spec/jobTemplate/metadata/labels"),
    of_group(
        "batch",
        "CronJob",
        "spec/jobTemplate/spec/template/metadata/labels",
    ),
];

/// The templates of volumes.
const VOLUME_CLAIMS: Spec<'_> = of_group(
    "apps",
    "StatefulSet",
    "spec/volumeClaimTemplates[]/metadata/labels",
);

/// The selectors of Pods.
const SELECTORS: [Spec<'_>; 12] = [
    of_kind("Service", "spec/selector").of_version("v1"),
    of_kind("ReplicationController", "spec/selector").of_version("v1"),
    of_kind("Deployment", "spec/selector/matchLabels"),
    of_kind("ReplicaSet", "spec/selector/matchLabels"),
    of_kind("DaemonSet", "spec/selector/matchLabels"),
    of_group("apps", "StatefulSet", "spec/selector/matchLabels"),
    of_group("batch", "Job", "spec/selector/matchLabels").if_there(),
    of_group(
        "batch",
        "CronJob",
        "spec/jobTemplate/spec/selector/matchLabels",
    )
    .if_there(),
    of_group("policy", "PodDisruptionBudget", "spec/selector/matchLabels").if_there(),
    of_group(
        "networking.k8s.io",
        "NetworkPolicy",
        "spec/podSelector/matchLabels",
    )
    .if_there(),
    of_group(
        "networking.k8s.io",
        "NetworkPolicy",
        "spec/ingress/from/podSelector/matchLabels",
    )
    .if_there(),
    of_group(
        "networking.k8s.io",
        "NetworkPolicy",
        "spec/egress/to/podSelector/matchLabels",
    )
    .if_there(),
];

/// Where the Pods of these kinds say which others they like or dislike beside them.
const AFFINE: [&str; 2] = ["Deployment", "StatefulSet"];

const AFFINITIES: [&str; 5] = [
    "spec/template/spec/affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
    "spec/template/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
    "spec/template/spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
    "spec/template/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
    "spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels",
];

const ANNOTATIONS: [Spec<'_>; 9] = [
    of_all("metadata/annotations"),
    of_kind(
        "ReplicationController",
        "spec/template/metadata/annotations",
    )
    .of_version("v1"),
    of_kind("Deployment", "spec/template/metadata/annotations"),
    of_kind("ReplicaSet", "spec/template/metadata/annotations"),
    of_kind("DaemonSet", "spec/template/metadata/annotations"),
    of_kind("StatefulSet", "spec/template/metadata/annotations"),
    of_group("batch", "Job", "spec/template/metadata/annotations"),
    of_group("batch", "CronJob", "spec/jobTemplate/metadata/annotations"),
    of_group(
        "batch",
        "CronJob",
        "spec/jobTemplate/spec/template/metadata/annotations",
    ),
];

/// Gives an object the labels of `labels` and `commonLabels`.
pub(super) fn set_labels(object: &Map, kustomization: &Map) -> Result<(), Error> {
    for labels in maps_field(kustomization, "labels") {
        let Some(pairs) = map_field(&labels, "pairs").filter(|pairs| !pairs.is_empty()) else {
            continue;
        };
        for field in maps_field(&labels, "fields") {
            let text = |key| text_field(&field, key).unwrap_or_default();
            let spec = Spec {
                group: &text("group"),
                version: &text("version"),
                kind: &text("kind"),
                path: &text("path"),
                create: is_set(&field, "create"),
            };
            set_pairs(object, &spec, &pairs)?;
        }
        if is_set(&labels, "includeSelectors") {
            set_common(object, &pairs)?;
        } else {
            set_pairs(object, &METADATA, &pairs)?;
            if is_set(&labels, "includeTemplates") {
                set_all(object, &TEMPLATES, &pairs)?;
            }
            if is_set(&labels, "includeVolumeClaimTemplates") {
                set_pairs(object, &VOLUME_CLAIMS, &pairs)?;
            }
        }
    }
    match map_field(kustomization, "commonLabels") {
        Some(pairs) => set_common(object, &pairs),
        None => Ok(()),
    }
}

/// Gives an object the annotations of `commonAnnotations`.
pub(super) fn set_annotations(object: &Map, kustomization: &Map) -> Result<(), Error> {
    match map_field(kustomization, "commonAnnotations") {
        Some(pairs) => set_all(object, &ANNOTATIONS, &pairs),
        None => Ok(()),
    }
}

/// Labels that selectors have, too.
fn set_common(object: &Map, pairs: &Map) -> Result<(), Error> {
    set_pairs(object, &METADATA, pairs)?;
    for kind in AFFINE {
        for path in AFFINITIES {
            set_pairs(object, &of_group("apps", kind, path).if_there(), pairs)?;
        }
    }
    set_all(object, &SELECTORS, pairs)?;
    set_pairs(object, &VOLUME_CLAIMS, pairs)?;
    set_all(object, &TEMPLATES, pairs)
}

fn set_all(object: &Map, specs: &[Spec<'_>], pairs: &Map) -> Result<(), Error> {
    specs
        .iter()
        .try_for_each(|spec| set_pairs(object, spec, pairs))
}

/// Adds pairs to a field.
fn set_pairs(object: &Map, spec: &Spec<'_>, pairs: &Map) -> Result<(), Error> {
    if pairs.is_empty() {
        return Ok(());
    }
    spec.change(object, &|value| {
        let map = match value {
            Value::Nil => Map::dict(),
            Value::Map(map) => map.clone(),
            other => return Err(NodeKind::Mapping.instead_of(other)),
        };
        for (key, value) in pairs.entries() {
            map.insert(Key::Str(text_of(&key.to_value()).into()), value);
        }
        Ok(Value::Map(map))
    })
}
