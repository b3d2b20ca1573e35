//! One container of a Pod.

use std::collections::BTreeSet;

use reeve_go_compat::labels;

use super::common::local_path;
use super::field::{
    Errors, FieldValue, no_duplicates, one_of, port as port_number, required_name, required_one_of,
};
use super::{common, probes, security};
use crate::names;
use crate::status_error::{Cause, FieldError};

const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
const RESOURCE_FIELDS: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const SOURCES: [&str; 5] = [
    "fieldRef",
    "resourceFieldRef",
    "configMapKeyRef",
    "secretKeyRef",
    "fileKeyRef",
];

/// A container; `first` of those that run before the others. `volumes` are the names of the Pod's.
pub(super) fn container(one: &FieldValue<'_>, volumes: &[&str], first: bool, errors: &mut Errors) {
    basics(one, volumes, errors);
    let restarts = one.get("restartPolicy");
    let stays = first && restarts.text() == "Always";
    if restarts.is_set() {
        one_of(&restarts, &["Always", "Never", "OnFailure"], errors);
    }
    if first && !stays {
        for field in [
            "lifecycle",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
        ] {
            let at = one.get(field);
            if at.is_set() {
                let why = "may not be set for init containers without restartPolicy=Always";
                errors.push(at.forbidden(why));
            }
        }
        return;
    }
    probes::lifecycle(&one.get("lifecycle"), errors);
    for (field, must_succeed_once) in [
        ("livenessProbe", true),
        ("readinessProbe", false),
        ("startupProbe", true),
    ] {
        probes::probe(&one.get(field), must_succeed_once, errors);
    }
    let grace_period = one.get("readinessProbe.terminationGracePeriodSeconds");
    if grace_period.is_set() {
        errors.push(grace_period.invalid("must not be set for readinessProbes"));
    }
}

/// What containers of all sorts have.
pub(super) fn basics(one: &FieldValue<'_>, volumes: &[&str], errors: &mut Errors) {
    required_name(&one.get("name"), names::label, errors);
    let image = one.get("image");
    if image.is_empty() {
        errors.push(image.required(""));
    } else if image.text().trim() != image.text() {
        errors.push(image.invalid("must not have leading or trailing whitespace"));
    }
    let ends = ["File", "FallbackToLogsOnError"];
    required_one_of(&one.get("terminationMessagePolicy"), &ends, errors);
    let pulls = ["Always", "IfNotPresent", "Never"];
    required_one_of(&one.get("imagePullPolicy"), &pulls, errors);
    ports(&one.get("ports"), errors);
    for variable in one.get("env").items() {
        self::variable(&variable, errors);
    }
    for source in one.get("envFrom").items() {
        variables_from(&one.get("envFrom"), &source, errors);
    }
    mounts(one, volumes, errors);
    resources(&one.get("resources"), errors);
    security::container(&one.get("securityContext"), errors);
}

fn ports(all: &FieldValue<'_>, errors: &mut Errors) {
    for port in all.items() {
        super::field::optional_name(&port.get("name"), common::port_name, errors);
        let number = port.get("containerPort");
        if number.number().unwrap_or_default() == 0 {
            errors.push(number.required(""));
        } else {
            port_number(&number, errors);
        }
        let on_host = port.get("hostPort");
        if on_host.number().unwrap_or_default() != 0 {
            port_number(&on_host, errors);
        }
        required_one_of(&port.get("protocol"), &["SCTP", "TCP", "UDP"], errors);
    }
    no_duplicates(all.items(), "name", errors);
}

fn variable(variable: &FieldValue<'_>, errors: &mut Errors) {
    let name = variable.get("name");
    if name.is_empty() {
        errors.push(name.required(""));
    } else if !name
        .text()
        .bytes()
        .all(|byte| (0x20..0x7f).contains(&byte) && byte != b'=')
    {
        errors.push(name.invalid(
            "a valid environment variable name must consist only of printable ASCII characters other than '='",
        ));
    }
    let from = variable.get("valueFrom");
    if !from.is_set() {
        return;
    }
    let given = SOURCES
        .iter()
        .filter(|source| from.get(source).is_set())
        .count();
    field_reference(&from.get("fieldRef"), &FIELDS, errors);
    resource_reference(&from.get("resourceFieldRef"), errors);
    for source in ["configMapKeyRef", "secretKeyRef"] {
        let reference = from.get(source);
        if reference.is_set() {
            super::field::named(&reference.get("name"), names::subdomain, errors);
            required_name(&reference.get("key"), names::config_key, errors);
        }
    }
    let whole = |why: &str| FieldError::of_value(Cause::Invalid, &from.path, &"".into(), why);
    if given == 0 {
        errors.push(whole(
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        ));
    } else if !variable.get("value").is_empty() {
        errors.push(whole("may not be specified when `value` is not empty"));
    } else if given > 1 {
        errors.push(whole(
            "may not have more than one field specified at a time",
        ));
    }
}

/// A field of a Pod.
pub(super) fn field_reference(at: &FieldValue<'_>, allowed: &[&str], errors: &mut Errors) {
    if !at.is_set() {
        return;
    }
    let path = at.get("fieldPath");
    if at.get("apiVersion").is_empty() {
        errors.push(at.get("apiVersion").required(""));
        return;
    }
    if path.is_empty() {
        errors.push(path.required(""));
        return;
    }
    let text = path.text();
    if let Some((field, key)) = text
        .strip_suffix("']")
        .and_then(|text| text.split_once("['"))
    {
        let rule = match field {
            "metadata.labels" => labels::key_errors(key),
            "metadata.annotations" => labels::key_errors(&key.to_lowercase()),
            _ => {
                let why = "does not support subscript".to_owned();
                errors.push(path.invalid(&why));
                return;
            }
        };
        for why in rule {
            errors.push(FieldError::of_value(
                Cause::Invalid,
                &at.path,
                &key.into(),
                &why,
            ));
        }
        return;
    }
    let known = FIELDS.contains(&text)
        || ["metadata.labels", "metadata.annotations"].contains(&text)
        || text == "spec.schedulerName";
    if !known {
        let why = format!("error converting fieldPath: field label not supported: {text}");
        errors.push(path.invalid(&why));
    } else if !allowed.contains(&text) {
        errors.push(path.unsupported(allowed));
    }
}

/// A resource of a container.
pub(super) fn resource_reference(at: &FieldValue<'_>, errors: &mut Errors) {
    if !at.is_set() {
        return;
    }
    let resource = at.get("resource");
    let text = resource.text();
    if text.is_empty() {
        errors.push(resource.required(""));
    } else if !RESOURCE_FIELDS.contains(&text)
        && !text.starts_with("limits.hugepages-")
        && !text.starts_with("requests.hugepages-")
    {
        errors.push(resource.unsupported(&RESOURCE_FIELDS));
    }
}

fn variables_from(all: &FieldValue<'_>, source: &FieldValue<'_>, errors: &mut Errors) {
    let references = ["configMapRef", "secretRef"].map(|one| source.get(one));
    let given = references.iter().filter(|one| one.is_set()).count();
    for reference in references.iter().filter(|one| one.is_set()) {
        if reference.get("name").is_empty() {
            errors.push(reference.get("name").required(""));
        }
    }
    let whole = |why: &str| FieldError::of_value(Cause::Invalid, &all.path, &"".into(), why);
    match given {
        0 => errors.push(whole("must specify one of: `configMapRef` or `secretRef`")),
        1 => {}
        _ => errors.push(whole(
            "may not have more than one field specified at a time",
        )),
    }
}

fn mounts(container: &FieldValue<'_>, volumes: &[&str], errors: &mut Errors) {
    let mounts = container.get("volumeMounts");
    let privileged = container.get("securityContext.privileged").is_true();
    let mut places = BTreeSet::new();
    for mount in mounts.items() {
        let (name, path) = (mount.get("name"), mount.get("mountPath"));
        if name.is_empty() {
            errors.push(name.required(""));
        }
        if !volumes.contains(&name.text()) {
            let shown = name.text().into();
            errors.push(FieldError::of_value(
                Cause::NotFound,
                &name.path,
                &shown,
                "",
            ));
        }
        if path.is_empty() {
            errors.push(path.required(""));
        }
        if !places.insert(path.text()) {
            errors.push(path.invalid_text("must be unique"));
        }
        let (sub, expression) = (mount.get("subPath"), mount.get("subPathExpr"));
        for (field, part) in [("subPath", &sub), ("subPathExpr", &expression)] {
            // A kube-apiserver reports no index.
            let part = mounts.get(field).with(part.value);
            local_path(&part, errors);
        }
        if !sub.is_empty() && !expression.is_empty() {
            errors.push(expression.invalid("subPathExpr and subPath are mutually exclusive"));
        }
        let how = mounts
            .get("mountPropagation")
            .with(mount.get("mountPropagation").value);
        let known = ["Bidirectional", "HostToContainer", "None"];
        one_of(&how, &known, errors);
        if how.text() == "Bidirectional" && !privileged {
            let why = "Bidirectional mount propagation is available only to privileged containers";
            errors.push(how.forbidden(why));
        }
    }
}

/// What a container asks for and may have.
pub(super) fn resources(resources: &FieldValue<'_>, errors: &mut Errors) {
    let (limits, requests) = (resources.get("limits"), resources.get("requests"));
    for (name, amount) in limits.entries() {
        resource(name, &amount, errors);
    }
    for (name, amount) in requests.entries() {
        resource(name, &amount, errors);
        let limit = limits.key(name);
        match (common::amount(&limit), common::amount(&amount)) {
            (Some(limit), Some(asked)) if own(name) && limit != asked => {
                let why = format!(
                    "must be equal to {name} limit of {}",
                    limits.key(name).text()
                );
                errors.push(requests.with(amount.value).invalid(&why));
            }
            (Some(most), Some(asked)) if asked > most => {
                let why = format!(
                    "must be less than or equal to {name} limit of {}",
                    limit.text()
                );
                errors.push(requests.with(amount.value).invalid(&why));
            }
            (None, _) if own(name) => {
                errors.push(limits.required("Limit must be set for non overcommitable resources"));
            }
            _ => {}
        }
    }
    let some = |of: fn(&str) -> bool| {
        let mut names = limits.entries().chain(requests.entries());
        names.any(|(name, _)| of(name))
    };
    if some(|name| name.starts_with("hugepages-"))
        && !some(|name| ["cpu", "memory"].contains(&name))
    {
        errors.push(resources.forbidden("HugePages require cpu or memory"));
    }
}

/// Whether a resource is one of those that are named after their makers: nothing of it is lent.
fn own(name: &str) -> bool {
    name.starts_with("hugepages-")
        || (name.contains('/')
            && !name.contains("kubernetes.io/")
            && !name.starts_with("requests."))
}

/// A resource, and how much of it.
pub(super) fn resource(name: &str, amount: &FieldValue<'_>, errors: &mut Errors) {
    let known = ["cpu", "memory", "ephemeral-storage"].contains(&name);
    for why in labels::key_errors(name) {
        errors.push(FieldError::of_value(
            Cause::Invalid,
            &amount.path,
            &name.into(),
            &why,
        ));
    }
    if !known && !name.contains('/') && !name.starts_with("hugepages-") {
        for why in [
            "must be a standard resource type or fully qualified",
            "must be a standard resource for containers",
        ] {
            errors.push(FieldError::of_value(
                Cause::Invalid,
                &amount.path,
                &name.into(),
                why,
            ));
        }
    }
    if name.contains('/') && !labels::key_errors(name).is_empty() {
        errors.push(FieldError::of_value(
            Cause::Invalid,
            &amount.path,
            &name.into(),
            "doesn't follow extended resource name standard",
        ));
        return;
    }
    common::amount_not_negative(amount, errors);
    if own(name) && !common::is_whole(amount) {
        errors.push(amount.invalid("must be an integer"));
    }
}
