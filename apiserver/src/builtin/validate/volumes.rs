//! Volumes of Pods.

use super::common::{local_path, no_backsteps};
use super::containers::{field_reference, resource_reference};
use super::field::{Errors, FieldValue, no_duplicates, one_of, required_name};
use super::{claims, common};
use crate::names;

const DOWNWARD: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];
const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";
const HOST_PATHS: [&str; 8] = [
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
];

/// All volumes of a Pod. Answers their names.
pub(super) fn volumes<'v>(all: &FieldValue<'v>, errors: &mut Errors) -> Vec<&'v str> {
    for volume in all.items() {
        source(&volume, errors);
        required_name(&volume.get("name"), names::label, errors);
    }
    no_duplicates(all.items(), "name", errors);
    all.items().map(|one| one.get("name").text()).collect()
}

fn source(volume: &FieldValue<'_>, errors: &mut Errors) {
    let fields = volume.value.as_object();
    let kinds = fields
        .into_iter()
        .flat_map(|fields| fields.keys())
        .filter(|kind| *kind != "name");
    for (place, kind) in kinds.enumerate() {
        let at = volume.get(kind);
        if place > 0 {
            errors.push(at.forbidden("may not specify more than 1 volume type"));
            continue;
        }
        of_kind(kind, &at, errors);
    }
}

fn of_kind(kind: &str, at: &FieldValue<'_>, errors: &mut Errors) {
    match kind {
        "emptyDir" => {
            let limit = at.get("sizeLimit");
            if common::amount(&limit).is_some_and(|amount| amount < 0) {
                let why = "SizeLimit field must be a valid resource quantity";
                errors.push(limit.forbidden(why));
            }
        }
        "hostPath" => host_path(at, errors),
        "secret" => files(at, "secretName", errors),
        "configMap" => files(at, "name", errors),
        "persistentVolumeClaim" if at.get("claimName").is_empty() => {
            errors.push(at.get("claimName").required(""));
        }
        "nfs" => nfs(at, errors),
        "csi" => {
            let driver = at.get("driver");
            if driver.is_empty() {
                errors.push(driver.required(""));
            } else {
                super::field::named(&driver, names::subdomain, errors);
            }
        }
        "downwardAPI" => {
            mode(&at.get("defaultMode"), errors);
            for item in at.get("items").items() {
                downward(&item, errors);
            }
        }
        "projected" => projected(at, errors),
        "ephemeral" => {
            let template = at.get("volumeClaimTemplate");
            if template.is_set() {
                claims::claim_spec(&template.get("spec"), errors);
            } else {
                errors.push(template.required(""));
            }
        }
        _ => {}
    }
}

/// A path on a node.
pub(super) fn host_path(at: &FieldValue<'_>, errors: &mut Errors) {
    let path = at.get("path");
    if path.is_empty() {
        errors.push(path.required(""));
    } else {
        no_backsteps(&path, errors);
    }
    one_of(&at.get("type"), &HOST_PATHS, errors);
}

/// A folder of a server.
pub(super) fn nfs(at: &FieldValue<'_>, errors: &mut Errors) {
    let (server, path) = (at.get("server"), at.get("path"));
    if server.is_empty() {
        errors.push(server.required(""));
    }
    if path.is_empty() {
        errors.push(path.required(""));
    }
    if !path.text().starts_with('/') {
        errors.push(path.invalid_text("must be an absolute path"));
    }
}

fn mode(at: &FieldValue<'_>, errors: &mut Errors) {
    if at.number().is_some_and(|mode| !(0..=0o777).contains(&mode)) {
        errors.push(at.invalid(MODE));
    }
}

fn files(at: &FieldValue<'_>, name: &str, errors: &mut Errors) {
    if at.get(name).is_empty() {
        errors.push(at.get(name).required(""));
    }
    mode(&at.get("defaultMode"), errors);
    items(at, errors);
}

fn items(at: &FieldValue<'_>, errors: &mut Errors) {
    for item in at.get("items").items() {
        let (key, path) = (item.get("key"), item.get("path"));
        if key.is_empty() {
            errors.push(key.required(""));
        }
        required_path(&path, errors);
        mode(&item.get("mode"), errors);
    }
}

fn required_path(path: &FieldValue<'_>, errors: &mut Errors) {
    if path.is_empty() {
        errors.push(path.required(""));
    }
    local_path(path, errors);
    if path.text().starts_with("..") && path.text().split('/').all(|part| part != "..") {
        errors.push(path.invalid("must not start with '..'"));
    }
}

fn downward(item: &FieldValue<'_>, errors: &mut Errors) {
    required_path(&item.get("path"), errors);
    let (field, resource) = (item.get("fieldRef"), item.get("resourceFieldRef"));
    if field.is_set() {
        field_reference(&field, &DOWNWARD, errors);
        if resource.is_set() {
            errors.push(
                item.invalid("fieldRef and resourceFieldRef can not be specified simultaneously"),
            );
        }
    } else if resource.is_set() {
        resource_reference(&resource, errors);
    } else {
        errors.push(item.required("one of fieldRef and resourceFieldRef is required"));
    }
    mode(&item.get("mode"), errors);
}

fn projected(at: &FieldValue<'_>, errors: &mut Errors) {
    mode(&at.get("defaultMode"), errors);
    for source in at.get("sources").items() {
        let kinds = [
            "secret",
            "configMap",
            "downwardAPI",
            "serviceAccountToken",
            "clusterTrustBundle",
            "podCertificate",
        ];
        let mut given = 0;
        for kind in kinds {
            let one = source.get(kind);
            if !one.is_set() {
                continue;
            }
            given += 1;
            if given > 1 {
                errors.push(one.forbidden("may not specify more than 1 volume type"));
            }
            match kind {
                "secret" | "configMap" => {
                    if one.get("name").is_empty() {
                        errors.push(one.get("name").required(""));
                    }
                    items(&one, errors);
                }
                // A kube-apiserver reports no index.
                "downwardAPI" => one.get("items").items().for_each(|item| {
                    let item = one.with(item.value);
                    downward(&item, errors);
                }),
                "serviceAccountToken" => token(at, &one, errors),
                _ => {}
            }
        }
    }
}

fn token(whole: &FieldValue<'_>, one: &FieldValue<'_>, errors: &mut Errors) {
    let seconds = one.get("expirationSeconds");
    match seconds.number() {
        Some(number) if number < 600 => {
            errors.push(seconds.invalid("may not specify a duration less than 10 minutes"));
        }
        Some(number) if number > 1 << 32 => {
            errors.push(seconds.invalid("may not specify a duration larger than 2^32 seconds"));
        }
        _ => {}
    }
    let path = one.get("path");
    if path.is_empty() {
        errors.push(whole.get("path").required(""));
    } else {
        local_path(&path, errors);
    }
}
