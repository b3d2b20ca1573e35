//! Pods, and the templates of Pods.

use reeve_go_compat::labels;

use super::field::{
    Errors, FieldValue, no_duplicates, not_negative, one_of, optional_name, required_one_of, within,
};
use super::{common, containers, scheduling, security, volumes};
use crate::names;
use crate::status_error::{Cause, FieldError};

const LISTS: [&str; 2] = ["initContainers", "containers"];

/// The allowed values of a Pod's `restartPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Restarts {
    /// Always restarted, as in a Deployment.
    Always,
    /// Never or on failure: a Job's.
    AtMostOnFailure,
    /// Whatever there is.
    Any,
}

/// A Pod.
pub(super) fn pod(object: &FieldValue<'_>, errors: &mut Errors) {
    let mirrored = object
        .get("metadata")
        .get("annotations")
        .key("kubernetes.io/config.mirror");
    if mirrored.is_set() && object.get("spec.nodeName").is_empty() {
        let why = "must set spec.nodeName if mirror pod annotation is set";
        errors.push(mirrored.invalid(why));
    }
    spec(&object.get("spec"), Restarts::Any, &[], errors);
}

/// A template of Pods.
pub(super) fn template(template: &FieldValue<'_>, restarts: Restarts, errors: &mut Errors) {
    template_with(template, restarts, &[], errors);
}

/// A Pod template whose Pods have more volumes than it declares.
pub(super) fn template_with(
    template: &FieldValue<'_>,
    restarts: Restarts,
    volumes: &[&str],
    errors: &mut Errors,
) {
    template_metadata(template, errors);
    let within = template.get("spec");
    spec(&within, restarts, volumes, errors);
    let ephemeral = within.get("ephemeralContainers");
    if !ephemeral.is_empty() {
        errors.push(ephemeral.forbidden("ephemeral containers not allowed in pod template"));
    }
}

/// Labels and annotations of a template.
pub(super) fn template_metadata(template: &FieldValue<'_>, errors: &mut Errors) {
    common::labels(
        &template
            .get("labels")
            .with(template.get("metadata.labels").value),
        errors,
    );
    common::annotations(
        &template
            .get("annotations")
            .with(template.get("metadata.annotations").value),
        errors,
    );
}

fn spec(spec: &FieldValue<'_>, restarts: Restarts, more_volumes: &[&str], errors: &mut Errors) {
    let mut volumes = volumes::volumes(&spec.get("volumes"), errors);
    volumes.extend(more_volumes);
    let containers = spec.get("containers");
    if containers.is_empty() {
        errors.push(containers.required(""));
    }
    all_containers(spec, &volumes, errors);
    restart_policy(&spec.get("restartPolicy"), restarts, errors);
    dns(spec, errors);
    common::labels(&spec.get("nodeSelector"), errors);
    security::pod(spec, errors);
    scheduling::affinity(&spec.get("affinity"), errors);
    scheduling::tolerations(&spec.get("tolerations"), errors);
    scheduling::spreading(&spec.get("topologySpreadConstraints"), errors);
    host_network(spec, errors);
    gates(spec, errors);
    for (field, rule) in [
        ("serviceAccountName", names::subdomain as fn(&str) -> _),
        ("nodeName", names::subdomain),
        ("hostname", names::label),
        ("subdomain", names::label),
        ("priorityClassName", names::subdomain),
        ("runtimeClassName", names::subdomain),
    ] {
        optional_name(&spec.get(field), rule, errors);
    }
    within(
        &spec.get("activeDeadlineSeconds"),
        1,
        i64::from(i32::MAX),
        errors,
    );
    not_negative(&spec.get("terminationGracePeriodSeconds"), errors);
    one_of(
        &spec.get("preemptionPolicy"),
        &["Never", "PreemptLowerPriority"],
        errors,
    );
    if spec.get("os").is_set() {
        operating_system(spec, errors);
    }
    for alias in spec.get("hostAliases").items() {
        address(&alias.get("ip"), errors);
        for name in alias.get("hostnames").items() {
            super::field::named(&name, names::subdomain, errors);
        }
    }
}

/// An address of IPv4 or IPv6.
pub(super) fn address(at: &FieldValue<'_>, errors: &mut Errors) {
    if at.text().parse::<std::net::IpAddr>().is_err() {
        errors
            .push(at.invalid_text("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
    }
}

fn all_containers(spec: &FieldValue<'_>, volumes: &[&str], errors: &mut Errors) {
    let on_host = spec.get("hostNetwork").is_true();
    for list in LISTS {
        for one in spec.get(list).items() {
            containers::container(&one, volumes, list == "initContainers", errors);
            if on_host {
                for port in one.get("ports").items() {
                    on_the_host(&port, errors);
                }
            }
        }
    }
    let every = || {
        LISTS
            .into_iter()
            .rev()
            .flat_map(|list| spec.get(list).items())
    };
    no_duplicates(every(), "name", errors);
    host_ports(&spec.get("containers"), errors);
    ephemeral(spec, volumes, errors);
}

/// Containers of a Pod's debuggers.
fn ephemeral(spec: &FieldValue<'_>, volumes: &[&str], errors: &mut Errors) {
    let all = spec.get("ephemeralContainers");
    if all.is_empty() {
        return;
    }
    let others: Vec<&str> = LISTS
        .into_iter()
        .flat_map(|list| spec.get(list).items())
        .map(|one| one.get("name").text())
        .collect();
    no_duplicates(all.items(), "name", errors);
    for one in all.items() {
        containers::basics(&one, volumes, errors);
        let name = one.get("name");
        if others.contains(&name.text()) {
            errors.push(name.duplicate());
        }
        let target = one.get("targetContainerName");
        if !target.is_empty() && !others.contains(&target.text()) {
            errors.push(target.not_found());
        }
        for field in [
            "lifecycle",
            "livenessProbe",
            "ports",
            "readinessProbe",
            "resources",
            "startupProbe",
        ] {
            let at = one.get(field);
            if !at.is_empty() {
                errors.push(at.forbidden("cannot be set for an Ephemeral Container"));
            }
        }
    }
}

fn on_the_host(port: &FieldValue<'_>, errors: &mut Errors) {
    if port.get("hostPort").number() != port.get("containerPort").number() {
        let why = "must match `containerPort` when `hostNetwork` is true";
        errors.push(port.get("hostPort").invalid(why));
    }
}

/// A port of the node is for one container.
fn host_ports(containers: &FieldValue<'_>, errors: &mut Errors) {
    let mut taken: Vec<String> = Vec::new();
    let ports = containers
        .items()
        .flat_map(|container| container.get("ports").items());
    for port in ports {
        let number = port.get("hostPort");
        if number.number().unwrap_or_default() == 0 {
            continue;
        }
        let which = format!(
            "{}/{}/{}",
            port.get("protocol").text(),
            port.get("hostIP").text(),
            number.value
        );
        if taken.contains(&which) {
            errors.push(FieldError::of_value(
                Cause::Duplicate,
                &number.path,
                &which.as_str().into(),
                "",
            ));
        }
        taken.push(which);
    }
}

fn restart_policy(at: &FieldValue<'_>, restarts: Restarts, errors: &mut Errors) {
    let policy = at.text();
    match restarts {
        Restarts::Always if policy != "Always" => errors.push(at.unsupported(&["Always"])),
        Restarts::AtMostOnFailure if policy == "Always" || policy.is_empty() => {
            errors.push(at.required("valid values: \"OnFailure\", \"Never\""));
        }
        _ if !["Always", "OnFailure", "Never"].contains(&policy) => {
            errors.push(at.unsupported(&["Always", "OnFailure", "Never"]));
            if restarts == Restarts::AtMostOnFailure {
                errors.push(at.unsupported(&["OnFailure", "Never"]));
            }
        }
        _ => {}
    }
}

fn dns(spec: &FieldValue<'_>, errors: &mut Errors) {
    let policy = spec.get("dnsPolicy");
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    required_one_of(&policy, &policies, errors);
    let config = spec.get("dnsConfig");
    let servers = config.get("nameservers");
    if policy.text() == "None" {
        if !config.is_set() {
            errors.push(config.required("must provide `dnsConfig` when `dnsPolicy` is None"));
            return;
        }
        if servers.is_empty() {
            let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            errors.push(servers.required(why));
            return;
        }
    }
    if servers.len() > 3 {
        errors.push(servers.invalid("must not have more than 3 nameservers"));
    }
    for server in servers.items() {
        address(&server, errors);
    }
    for search in config.get("searches").items() {
        super::field::named(&search, names::search_domain, errors);
    }
    for option in config.get("options").items() {
        if option.get("name").is_empty() {
            errors.push(option.required("must not be empty"));
        }
    }
}

fn host_network(spec: &FieldValue<'_>, errors: &mut Errors) {
    let users = spec.get("hostUsers");
    if users.value.as_bool() == Some(false) {
        for field in ["hostNetwork", "hostPID", "hostIPC"] {
            let at = spec.get(field);
            if at.is_true() {
                errors.push(at.forbidden("when `hostUsers` is false"));
            }
        }
    }
}

/// What a Pod of Windows has none of.
fn operating_system(spec: &FieldValue<'_>, errors: &mut Errors) {
    let name = spec.get("os.name");
    match name.text() {
        "" => errors.push(name.required("")),
        "linux" => {}
        "windows" => {
            let context = spec.get("securityContext");
            let own = ["hostPID", "hostIPC", "hostUsers", "shareProcessNamespace"];
            let of_context = [
                "runAsUser",
                "runAsGroup",
                "fsGroup",
                "fsGroupChangePolicy",
                "seLinuxOptions",
                "seccompProfile",
                "supplementalGroups",
                "sysctls",
            ];
            let all = own
                .iter()
                .map(|field| spec.get(field))
                .chain(of_context.iter().map(|field| context.get(field)));
            for at in all.filter(FieldValue::is_set) {
                errors.push(at.forbidden("cannot be set for a windows pod"));
            }
        }
        _ => errors.push(
            spec.get("os")
                .with(name.value)
                .unsupported(&["linux", "windows"]),
        ),
    }
}

fn gates(spec: &FieldValue<'_>, errors: &mut Errors) {
    for gate in spec.get("readinessGates").items() {
        super::field::named(&gate.get("conditionType"), labels::key_errors, errors);
    }
    let gates = spec.get("schedulingGates");
    for gate in gates.items() {
        let name = gate.with(gate.get("name").value);
        super::field::named(&name, labels::key_errors, errors);
    }
    let names = gates.items().map(|gate| gate.with(gate.get("name").value));
    no_duplicates(names, "", errors);
}
