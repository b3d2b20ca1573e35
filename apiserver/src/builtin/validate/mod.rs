//! What is wrong with an object of a built-in kind, by groups of kinds.

mod admission;
mod apps;
mod batch;
mod claims;
mod classes;
mod common;
mod containers;
mod core;
mod cron;
mod expressions;
mod field;
mod limits;
mod networking;
mod pod_updates;
mod pods;
mod probes;
mod rbac;
mod scaling;
mod scheduling;
mod security;
mod services;
mod shape;
mod storage;
mod volumes;

use serde_json::Value;

use self::field::{Errors, FieldValue};
use crate::kinds::Kind;
use crate::status_error::FieldError;

/// Validates an object, and with the change from `old`, by the part that is written.
pub(crate) fn validate(
    kind: &Kind,
    part: Option<&str>,
    object: &Value,
    old: Option<&Value>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if part == Some("status") {
        return errors;
    }
    let old = old.map(FieldValue::whole);
    of_kind(
        kind,
        part,
        &FieldValue::whole(object),
        old.as_ref(),
        &mut errors,
    );
    errors
}

fn of_kind(
    kind: &Kind,
    part: Option<&str>,
    object: &FieldValue<'_>,
    old: Option<&FieldValue<'_>>,
    errors: &mut Errors,
) {
    let resource = kind.resource.as_str();
    match (kind.group.as_str(), resource) {
        ("", "pods") => {
            pods::pod(object, errors);
            pod_update(part, object, old, errors);
        }
        ("", "configmaps" | "secrets") => core::settings(resource, object, old, errors),
        ("", "namespaces") => core::namespace(object, errors),
        ("", "services") => services::service(object, old, errors),
        ("", "endpoints") => services::endpoints(object, errors),
        ("", "persistentvolumeclaims") => claims::claim(object, old, errors),
        ("", "persistentvolumes") => storage::volume(object, old, errors),
        ("", "resourcequotas") => limits::quota(object, old, errors),
        ("", "limitranges") => limits::limits(object, errors),
        ("" | "events.k8s.io", "events") => core::event(object, old.is_none(), errors),
        ("coordination.k8s.io", "leases") => core::lease(object, errors),
        ("apps", "deployments" | "replicasets" | "daemonsets" | "statefulsets") => {
            apps::workload(resource, object, old, errors);
        }
        ("batch", "jobs") => batch::job(object, old, errors),
        ("batch", "cronjobs") => batch::cron_job(object, old, errors),
        ("autoscaling", "horizontalpodautoscalers") => scaling::autoscaler(object, errors),
        ("policy", "poddisruptionbudgets") => limits::budget(object, errors),
        ("networking.k8s.io", "ingresses") => networking::ingress(object, old, errors),
        ("networking.k8s.io", "ingressclasses") => networking::class(object, old, errors),
        ("networking.k8s.io", "networkpolicies") => networking::policy(object, errors),
        ("discovery.k8s.io", "endpointslices") => services::slice(object, old, errors),
        ("storage.k8s.io", "storageclasses") => storage::class(object, old, errors),
        ("storage.k8s.io", "csidrivers") => storage::driver(object, errors),
        ("scheduling.k8s.io", "priorityclasses") => classes::priority(object, old, errors),
        ("node.k8s.io", "runtimeclasses") => classes::runtime(object, old, errors),
        ("rbac.authorization.k8s.io", "roles" | "clusterroles") => {
            rbac::role(kind.namespaced, object, errors);
        }
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => {
            rbac::binding(kind.namespaced, object, old, errors);
        }
        (
            "admissionregistration.k8s.io",
            "validatingwebhookconfigurations" | "mutatingwebhookconfigurations",
        ) => admission::webhooks(object, errors),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies") => {
            admission::policy(object, errors);
        }
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings") => {
            admission::binding(object, errors);
        }
        ("certificates.k8s.io", "certificatesigningrequests") if old.is_none() => {
            super::certificates::check(object.value, errors);
        }
        ("apiextensions.k8s.io", "customresourcedefinitions") => {
            errors.extend(crate::schema::check_crd(object.value));
        }
        _ => {}
    }
}

fn pod_update(
    part: Option<&str>,
    object: &FieldValue<'_>,
    old: Option<&FieldValue<'_>>,
    errors: &mut Errors,
) {
    match (part, old) {
        (Some("ephemeralcontainers"), Some(old)) => pod_updates::ephemeral(object, old, errors),
        (None, Some(old)) => pod_updates::pod(object, old, errors),
        _ => {}
    }
}
