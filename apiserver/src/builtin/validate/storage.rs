//! Persistent volumes and storage classes.

use reeve_go_compat::labels;
use serde_json::Value;

use super::claims::{VOLUME_MODES, mode_stays, modes, positive};
use super::field::{Errors, FieldValue, immutable, one_of, optional_name, required_one_of};
use super::{scheduling, volumes};
use crate::names;
use crate::status_error::{Cause, FieldError};

const RECLAIMS: [&str; 3] = ["Delete", "Recycle", "Retain"];
const OF_SOURCES: &str = "spec.persistentvolumesource is immutable after creation";

/// What a volume has that is not where its bytes are.
const NO_SOURCES: [&str; 10] = [
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
    "volumeSource",
];

/// A volume.
pub(super) fn volume(object: &FieldValue<'_>, old: Option<&FieldValue<'_>>, errors: &mut Errors) {
    let spec = object.get("spec");
    modes(&spec.get("accessModes"), "", errors);
    let capacity = spec.get("capacity");
    if capacity.is_empty() {
        errors.push(capacity.required(""));
    }
    if !capacity.key("storage").is_set() || capacity.len() > 1 {
        let allowed = ["storage"];
        let shown = capacity.value;
        errors.push(FieldError::not_supported(&capacity.path, shown, &allowed));
    }
    for (_, amount) in capacity.entries() {
        positive(&amount, errors);
    }
    let reclaim = spec.get("persistentVolumeReclaimPolicy");
    if !reclaim.is_empty() && !RECLAIMS.contains(&reclaim.text()) {
        errors.push(reclaim.unsupported(&RECLAIMS));
    }
    source(&spec, errors);
    let affinity = spec.get("nodeAffinity");
    if affinity.is_set() {
        let required = affinity.get("required");
        if required.is_set() {
            scheduling::node_selector(&required, errors);
        } else {
            errors.push(required.required("must specify required node constraints"));
        }
    }
    optional_name(&spec.get("storageClassName"), names::subdomain, errors);
    one_of(&spec.get("volumeMode"), &VOLUME_MODES, errors);
    if let Some(old) = old {
        volume_update(&spec, &old.get("spec"), errors);
    }
}

/// Where the bytes of a volume are.
fn source(spec: &FieldValue<'_>, errors: &mut Errors) {
    let fields = spec.value.as_object();
    let mut kinds: Vec<&String> = fields
        .into_iter()
        .flat_map(|fields| fields.keys())
        .filter(|kind| !NO_SOURCES.contains(&kind.as_str()))
        .collect();
    // It is looked at first.
    kinds.sort_by_key(|kind| *kind != "hostPath");
    let mut count = 0;
    for kind in kinds {
        let at = spec.get(kind);
        count += 1;
        if count > 1 {
            errors.push(at.forbidden("may not specify more than 1 volume type"));
            continue;
        }
        match kind.as_str() {
            "hostPath" => {
                volumes::host_path(&at, errors);
                let root = at.get("path").text() == "/";
                let reclaim = spec.get("persistentVolumeReclaimPolicy");
                if root && reclaim.text() == "Recycle" {
                    let why = "may not be 'recycle' for a hostPath mount of '/'";
                    errors.push(reclaim.forbidden(why));
                }
            }
            "nfs" => volumes::nfs(&at, errors),
            "local" => {
                if at.get("path").is_empty() {
                    errors.push(at.get("path").required(""));
                }
                if !spec.get("nodeAffinity").is_set() {
                    let place = FieldValue {
                        value: at.value,
                        path: "spec.nodeAffinity".to_owned(),
                    };
                    errors.push(place.required("Local volume requires node affinity"));
                }
            }
            "csi" => {
                for field in ["driver", "volumeHandle"] {
                    if at.get(field).is_empty() {
                        errors.push(at.get(field).required(""));
                    }
                }
            }
            _ => {}
        }
    }
    if count == 0 {
        errors.push(spec.required("must specify a volume type"));
    }
}

fn volume_update(new: &FieldValue<'_>, old: &FieldValue<'_>, errors: &mut Errors) {
    let sources = |spec: &Value| {
        let mut sources = spec.clone();
        if let Some(fields) = sources.as_object_mut() {
            fields.retain(|field, _| !NO_SOURCES.contains(&field.as_str()));
        }
        sources
    };
    if sources(new.value) != sources(old.value) {
        let at = new.get("persistentvolumesource");
        errors.push(at.forbidden(OF_SOURCES));
    }
    mode_stays(new, old, errors);
    let (after, before) = (new.get("nodeAffinity"), old.get("nodeAffinity"));
    if before.is_set() {
        immutable(&after, &before, errors);
    }
}

/// A class of storage.
pub(super) fn class(object: &FieldValue<'_>, old: Option<&FieldValue<'_>>, errors: &mut Errors) {
    let provisioner = object.get("provisioner");
    if provisioner.is_empty() {
        errors.push(provisioner.required(""));
    } else {
        let lower = provisioner.text().to_lowercase();
        let shown = lower.as_str().into();
        errors.extend(
            labels::key_errors(&lower)
                .iter()
                .map(|why| provisioner.with(&shown).invalid(why)),
        );
    }
    let parameters = object.get("parameters");
    for (key, _) in parameters.entries() {
        if key.is_empty() {
            errors.push(FieldError::of_value(
                Cause::Invalid,
                &parameters.path,
                &key.into(),
                "field can not be empty.",
            ));
        }
    }
    let reclaim = object.get("reclaimPolicy");
    if !["Delete", "Retain"].contains(&reclaim.text()) {
        errors.push(reclaim.unsupported(&["Delete", "Retain"]));
    }
    let binding = object.get("volumeBindingMode");
    let bindings = ["Immediate", "WaitForFirstConsumer"];
    required_one_of(&binding, &bindings, errors);
    for topology in object.get("allowedTopologies").items() {
        for one in topology.get("matchLabelExpressions").items() {
            if one.get("values").is_empty() {
                errors.push(one.get("values").required(""));
            }
            super::field::named(&one.get("key"), labels::key_errors, errors);
        }
    }
    let Some(old) = old else {
        return;
    };
    for field in [
        "parameters",
        "provisioner",
        "reclaimPolicy",
        "volumeBindingMode",
    ] {
        immutable(&object.get(field), &old.get(field), errors);
    }
}

/// A driver of volumes.
pub(super) fn driver(object: &FieldValue<'_>, errors: &mut Errors) {
    let spec = object.get("spec");
    let policies = ["File", "None", "ReadWriteOnceWithFSType"];
    super::field::one_of(&spec.get("fsGroupPolicy"), &policies, errors);
    let modes = spec.get("volumeLifecycleModes");
    for mode in modes.items() {
        // A kube-apiserver reports no index.
        super::field::one_of(
            &modes.with(mode.value),
            &["Persistent", "Ephemeral"],
            errors,
        );
    }
}
