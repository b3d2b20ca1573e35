//! Services: their defaults, and the fields that a change of their type resets.

use serde_json::{Value, json};

use super::edit::{items_mut, remove, set_default};

/// The default timeout of session affinity in seconds: three hours.
const STICKS: i64 = 10800;

/// Fills in what is not given.
pub(super) fn default(object: &mut Value) {
    let spec = &mut object["spec"];
    set_default(spec, "sessionAffinity", "None");
    set_default(spec, "type", "ClusterIP");
    match spec["sessionAffinity"].as_str() {
        Some("None") => remove(spec, "sessionAffinityConfig"),
        Some("ClientIP") => {
            set_default(spec, "sessionAffinityConfig", json!({}));
            set_default(&mut spec["sessionAffinityConfig"], "clientIP", json!({}));
            let client = &mut spec["sessionAffinityConfig"]["clientIP"];
            set_default(client, "timeoutSeconds", STICKS);
        }
        _ => {}
    }
    let of_type = spec["type"].as_str().unwrap_or_default().to_owned();
    for port in items_mut(spec, "ports") {
        set_default(port, "protocol", "TCP");
        let number = port.get("port").cloned().unwrap_or_default();
        // The type always writes it: nothing is zero there.
        if port.get("targetPort").is_none_or(|target| *target == 0) {
            port["targetPort"] = number;
        }
    }
    if of_type != "ExternalName" {
        set_default(spec, "internalTrafficPolicy", "Cluster");
    }
    if of_type == "NodePort" || of_type == "LoadBalancer" {
        set_default(spec, "externalTrafficPolicy", "Cluster");
    }
    if of_type == "LoadBalancer" {
        set_default(spec, "allocateLoadBalancerNodePorts", true);
    }
    set_default(object, "status", json!({ "loadBalancer": {} }));
}

/// The first of all addresses is the one address.
pub(super) fn begin(spec: &mut Value) {
    let one = spec.get("clusterIP").cloned().unwrap_or_default();
    if one.as_str().is_some_and(|one| !one.is_empty()) && is_empty(spec, "clusterIPs") {
        spec["clusterIPs"] = json!([one]);
    }
}

/// Prepares an update: keeps allocated fields, and removes those that the new type does not have.
pub(super) fn change(new: &mut Value, old: &Value) {
    let (new, old) = (&mut new["spec"], &old["spec"]);
    if new["type"] == "ExternalName" {
        if old["type"] != "ExternalName" {
            lose_address(new, old);
        }
        return;
    }
    if is_empty(new, "clusterIP") && is_empty(new, "clusterIPs") {
        for field in ["clusterIP", "clusterIPs"] {
            if let Some(value) = old.get(field) {
                set_default(new, field, value.clone());
            }
        }
    }
    if new["clusterIP"] != old["clusterIP"] && new["clusterIPs"] == old["clusterIPs"] {
        remove(new, "clusterIPs");
    }
    begin(new);
    for field in ["ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"] {
        if let Some(value) = old.get(field) {
            set_default(new, field, value.clone());
        }
    }
    change_ports(new, old);
}

fn lose_address(new: &mut Value, old: &Value) {
    for field in [
        "clusterIP",
        "clusterIPs",
        "ipFamilies",
        "ipFamilyPolicy",
        "internalTrafficPolicy",
    ] {
        if new.get(field) == old.get(field) || field == "internalTrafficPolicy" {
            remove(new, field);
        }
    }
    if is_empty(new, "clusterIP") {
        remove(new, "clusterIP");
        remove(new, "clusterIPs");
    }
}

pub(crate) fn has_node_ports(spec: &Value) -> bool {
    matches!(spec["type"].as_str(), Some("NodePort" | "LoadBalancer"))
}

fn change_ports(new: &mut Value, old: &Value) {
    if has_node_ports(new) {
        let before: Vec<Value> = old["ports"].as_array().cloned().unwrap_or_default();
        let number = |port: &Value| port.get("nodePort").and_then(Value::as_i64).unwrap_or(0);
        for port in items_mut(new, "ports") {
            let same = before.iter().find(|one| {
                one.get("port") == port.get("port") && one.get("protocol") == port.get("protocol")
            });
            if let (0, Some(same)) = (number(port), same)
                && number(same) != 0
            {
                port["nodePort"] = number(same).into();
            }
        }
        return;
    }
    if !has_node_ports(old) {
        return;
    }
    // What was given to the service because of its type goes with it.
    for port in items_mut(new, "ports") {
        let was_given = old["ports"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|one| one.get("nodePort") == port.get("nodePort"));
        if was_given {
            remove(port, "nodePort");
        }
    }
    for field in ["externalTrafficPolicy", "allocateLoadBalancerNodePorts"] {
        if new.get(field) == old.get(field) {
            remove(new, field);
        }
    }
}

fn is_empty(spec: &Value, field: &str) -> bool {
    match spec.get(field) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(_) => false,
    }
}
