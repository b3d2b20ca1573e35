//! The reads that a parsed template will make whatever happens.

use crate::language::Template;
use crate::lookup::{CLAIM, Needed, Read, Restrictions};
use reeve_go_compat::labels::Selector;

/// Lookups with constant arguments: first the kinds, then the objects, each once.
pub(super) fn constant_reads(template: &Template, restrictions: &Restrictions) -> Vec<Needed> {
    const NAMES: [&str; 7] = [
        "fromSecret",
        "copySecretData",
        "fromConfigMap",
        "copyConfigMapData",
        "lookup",
        "fromClusterClaim",
        "lookupClusterClaim",
    ];
    let mut resources = Vec::new();
    let mut reads = Vec::new();
    for (name, arguments) in template.constant_calls(&NAMES) {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let Some(read) = constant_read(name, &arguments, restrictions) else {
            continue;
        };
        let resource = Needed::Resource {
            api_version: read.api_version.clone(),
            kind: read.kind.clone(),
        };
        if !resources.contains(&resource) {
            resources.push(resource);
        }
        let read = Needed::Read(read);
        if !reads.contains(&read) {
            reads.push(read);
        }
    }
    resources.extend(reads);
    resources
}

fn constant_read(name: &str, arguments: &[&str], restrictions: &Restrictions) -> Option<Read> {
    let (api_version, kind, namespace, object, selectors) = match (name, arguments) {
        ("fromSecret", [namespace, object, _]) | ("copySecretData", [namespace, object]) => {
            ("v1", "Secret", *namespace, *object, &[][..])
        }
        ("fromConfigMap", [namespace, object, _]) | ("copyConfigMapData", [namespace, object]) => {
            ("v1", "ConfigMap", *namespace, *object, &[][..])
        }
        ("lookup", [api_version, kind, namespace, object, selectors @ ..]) => {
            (*api_version, *kind, *namespace, *object, selectors)
        }
        ("fromClusterClaim" | "lookupClusterClaim", [object]) => {
            (CLAIM.0, CLAIM.1, "", *object, &[][..])
        }
        _ => return None,
    };
    let incomplete = api_version.is_empty() || kind.is_empty();
    if incomplete || name != "lookup" && object.is_empty() {
        return None; // fails, and needs no read to do so
    }
    let namespace = restrictions.namespace(namespace).ok()?;
    Some(Read {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        namespace,
        name: object.to_owned(),
        selector: Selector::join(selectors),
    })
}
