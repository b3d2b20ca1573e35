//! Allocation of cluster addresses and node ports for services.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use serde_json::{Value, json};

use crate::builtin::{self, has_node_ports, items_mut, set_default};
use crate::kinds::Kind;
use crate::status_error::{Cause, FieldError};
use crate::store::{Key, Store};

/// The addresses of services.
const ADDRESSES: &str = "10.0.0.";
const RANGE: &str = "10.0.0.0/24";
/// The ports that nodes have for services.
const NODE_PORTS: RangeInclusive<i64> = 30000..=32767;
/// The addresses and ports of other services.
struct Taken {
    addresses: BTreeSet<String>,
    ports: BTreeSet<i64>,
}

impl Taken {
    fn by_others(store: &Store, own: &Key) -> Self {
        let mut taken = Self {
            addresses: BTreeSet::new(),
            ports: BTreeSet::new(),
        };
        for (key, stored) in store.all("/services") {
            if key == *own {
                continue;
            }
            let value = stored.value();
            let spec = &value["spec"];
            if let Some(address) = spec.get("clusterIP").and_then(Value::as_str) {
                taken.addresses.insert(address.to_owned());
            }
            let ports = spec["ports"].as_array().into_iter().flatten();
            let numbers = ports.filter_map(|port| port.get("nodePort")?.as_i64());
            taken.ports.extend(numbers);
        }
        taken
    }
}

/// Completes an object with what the cluster allocates: addresses and ports of services, labels of jobs.
pub(super) fn allocate(
    kind: &Kind,
    object: &mut Value,
    store: &Store,
    own: &Key,
    dry_run: bool,
) -> Vec<FieldError> {
    if kind.is("", "services") {
        return allocate_service(object, store, own, dry_run);
    }
    if kind.is("batch", "jobs") {
        builtin::label_job(object);
    }
    Vec::new()
}

/// Allocates an address and node ports for a service.
fn allocate_service(
    object: &mut Value,
    store: &Store,
    own: &Key,
    dry_run: bool,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &mut object["spec"];
    if spec["type"] == "ExternalName" {
        return errors;
    }
    families(spec, &mut errors);
    let mut taken = Taken::by_others(store, own);
    address(spec, &taken, &mut errors);
    let wants_ports =
        spec["type"] != "LoadBalancer" || spec["allocateLoadBalancerNodePorts"] != false;
    if has_node_ports(spec) {
        let range = if dry_run {
            // Whether it is one of the nodes' is not asked.
            1..=65535
        } else {
            NODE_PORTS
        };
        check_ports(spec, &mut taken, &range, &mut errors);
        if wants_ports {
            give_ports(spec, &mut taken);
        }
    }
    errors
}

fn families(spec: &Value, errors: &mut Vec<FieldError>) {
    let families = spec["ipFamilies"].as_array();
    let other = families.and_then(|all| all.iter().position(|family| family == "IPv6"));
    let headless = spec["clusterIP"] == "None" && spec.get("selector").is_none();
    if headless {
        return;
    }
    if let Some(place) = other {
        errors.push(FieldError::of_value(
            Cause::Invalid,
            format!("spec.ipFamilies[{place}]"),
            &"IPv6".into(),
            "not configured on this cluster",
        ));
    }
    if spec["ipFamilyPolicy"] == "RequireDualStack" {
        errors.push(FieldError::of_value(
            Cause::Invalid,
            "spec.ipFamilyPolicy",
            &spec["ipFamilyPolicy"],
            "this cluster is not configured for dual-stack services",
        ));
    }
}

fn address(spec: &mut Value, taken: &Taken, errors: &mut Vec<FieldError>) {
    let given = spec["clusterIP"].as_str().unwrap_or_default().to_owned();
    if given.is_empty() {
        let free = (1..=254)
            .rev()
            .map(|last| format!("{ADDRESSES}{last}"))
            .find(|address| !taken.addresses.contains(address));
        spec["clusterIP"] = free.unwrap_or_default().into();
    } else if given != "None" {
        let why = if !is_in_range(&given) {
            format!(
                "the provided IP ({given}) is not in the valid range. The range of valid IPs is {RANGE}"
            )
        } else if taken.addresses.contains(&given) {
            "provided IP is already allocated".to_owned()
        } else {
            String::new()
        };
        if !why.is_empty() {
            errors.push(FieldError::of_value(
                Cause::Invalid,
                "spec.clusterIPs",
                &json!([given]),
                &format!("failed to allocate IP {given}: {why}"),
            ));
        }
    }
    let address = spec["clusterIP"].clone();
    set_default(spec, "clusterIPs", json!([address]));
    // Without an address and without Pods of its own it may have any.
    let any = spec["clusterIP"] == "None" && spec.get("selector").is_none();
    let (families, policy) = if any {
        (json!(["IPv4", "IPv6"]), "RequireDualStack")
    } else {
        (json!(["IPv4"]), "SingleStack")
    };
    set_default(spec, "ipFamilies", families);
    set_default(spec, "ipFamilyPolicy", policy);
}

fn is_in_range(address: &str) -> bool {
    let read = address.parse::<Ipv4Addr>();
    read.is_ok_and(|read| read.octets().starts_with(&[10, 0, 0]))
}

fn check_ports(
    spec: &mut Value,
    taken: &mut Taken,
    range: &RangeInclusive<i64>,
    errors: &mut Vec<FieldError>,
) {
    for (place, port) in items_mut(spec, "ports").enumerate() {
        let number = port.get("nodePort").and_then(Value::as_i64).unwrap_or(0);
        if number == 0 {
            continue;
        }
        let why = if !range.contains(&number) {
            format!(
                "provided port is not in the valid range. The range of valid ports is {}-{}",
                range.start(),
                range.end()
            )
        } else if taken.ports.insert(number) {
            continue;
        } else {
            "provided port is already allocated".to_owned()
        };
        errors.push(FieldError::of_value(
            Cause::Invalid,
            format!("spec.ports[{place}].nodePort"),
            &number.into(),
            &why,
        ));
    }
}

fn give_ports(spec: &mut Value, taken: &mut Taken) {
    for port in items_mut(spec, "ports") {
        if port.get("nodePort").and_then(Value::as_i64).unwrap_or(0) != 0 {
            continue;
        }
        let free = NODE_PORTS
            .rev()
            .find(|number| !taken.ports.contains(number));
        if let Some(free) = free {
            taken.ports.insert(free);
            port["nodePort"] = free.into();
        }
    }
}
