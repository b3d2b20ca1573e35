//! Services, and the endpoints behind them.

use reeve_go_compat::labels;

use super::field::{
    Errors, FieldValue, immutable, no_duplicates, one_of, optional_name, port as port_number,
    required_one_of,
};
use super::{common, probes};
use crate::names;
use crate::status_error::{Cause, FieldError};

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
/// A day.
const STICKS_AT_MOST: i64 = 86400;

/// A Service.
pub(super) fn service(object: &FieldValue<'_>, old: Option<&FieldValue<'_>>, errors: &mut Errors) {
    let spec = object.get("spec");
    let kind = spec.get("type");
    let headless = spec.get("clusterIP").text() == "None";
    let external = kind.text() == "ExternalName";
    required_one_of(&kind, &TYPES, errors);
    let all = spec.get("ports");
    if all.is_empty() && !headless && !external {
        errors.push(all.required(""));
    }
    match kind.text() {
        "LoadBalancer" | "NodePort" if headless => {
            let address = spec.get("clusterIPs").items().next();
            let why = format!("may not be set to 'None' for {} services", kind.text());
            errors.extend(address.map(|address| address.invalid(&why)));
        }
        "ExternalName" => external_name(&spec, errors),
        _ => {}
    }
    ports(&all, errors);
    common::labels(&spec.get("selector"), errors);
    affinity(&spec, errors);
    policies(&spec, errors);
    for address in spec.get("externalIPs").items() {
        reachable(&address, errors);
    }
    addresses(&spec, errors);
    load_balancer(&spec, errors);
    if let Some(old) = old {
        address_stays(&spec, &old.get("spec"), errors);
    }
}

/// An address that is one of another machine.
fn reachable(address: &FieldValue<'_>, errors: &mut Errors) {
    let Ok(read) = address.text().parse::<std::net::IpAddr>() else {
        super::pods::address(address, errors);
        return;
    };
    if read.is_unspecified() {
        let why = format!("may not be unspecified ({})", address.text());
        errors.push(address.invalid(&why));
    }
    if read.is_loopback() {
        errors.push(address.invalid("may not be in the loopback range (127.0.0.0/8, ::1/128)"));
    }
    let link_local = match read {
        std::net::IpAddr::V4(read) => read.is_link_local(),
        std::net::IpAddr::V6(read) => read.is_unicast_link_local(),
    };
    if link_local {
        errors.push(
            address.invalid("may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        );
    }
    if read.is_multicast() {
        errors.push(
            address
                .invalid("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
        );
    }
}

fn external_name(spec: &FieldValue<'_>, errors: &mut Errors) {
    for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        let at = spec.get(field);
        let shown = !at.is_empty() && field != "clusterIP";
        if shown {
            errors.push(at.forbidden("may not be set for ExternalName services"));
        }
    }
    let name = spec.get("externalName");
    let text = name.text().strip_suffix('.').unwrap_or(name.text());
    if text.is_empty() {
        errors.push(name.required(""));
    } else {
        errors.extend(
            names::subdomain(text)
                .iter()
                .map(|why| name.invalid_text(why)),
        );
    }
}

fn ports(all: &FieldValue<'_>, errors: &mut Errors) {
    let many = all.len() > 1;
    let mut taken: Vec<(i64, &str)> = Vec::new();
    for one in all.items() {
        let name = one.get("name");
        if many && name.is_empty() {
            errors.push(name.required(""));
        }
        optional_name(&name, names::label, errors);
        let number = one.get("port");
        port_number(&number, errors);
        let protocol = one.get("protocol");
        required_one_of(&protocol, &PROTOCOLS, errors);
        if one.get("targetPort").is_set() {
            probes::port(&one.get("targetPort"), errors);
        }
        optional_name(&one.get("appProtocol"), labels::key_errors, errors);
        let pair = (number.number().unwrap_or_default(), protocol.text());
        if taken.contains(&pair) {
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{:?},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                pair.1, pair.0
            );
            errors.push(FieldError {
                cause: Cause::Duplicate,
                field: one.path.clone(),
                message: format!("Duplicate value: {shown}"),
            });
        }
        taken.push(pair);
    }
    no_duplicates(all.items(), "name", errors);
}

fn affinity(spec: &FieldValue<'_>, errors: &mut Errors) {
    let affinity = spec.get("sessionAffinity");
    required_one_of(&affinity, &["ClientIP", "None"], errors);
    let config = spec.get("sessionAffinityConfig");
    if affinity.text() == "ClientIP" {
        let seconds = config.get("clientIP.timeoutSeconds");
        if seconds
            .number()
            .is_some_and(|seconds| !(1..=STICKS_AT_MOST).contains(&seconds))
        {
            let why = format!("must be greater than 0 and less than {STICKS_AT_MOST}");
            errors.push(seconds.invalid(&why));
        }
    } else if config.is_set() {
        let why = "must not be set when session affinity is None";
        errors.push(config.forbidden(why));
    }
}

fn policies(spec: &FieldValue<'_>, errors: &mut Errors) {
    let kind = spec.get("type").text();
    let (inside, outside) = (
        spec.get("internalTrafficPolicy"),
        spec.get("externalTrafficPolicy"),
    );
    one_of(&inside, &["Cluster", "Local"], errors);
    let from_outside = matches!(kind, "NodePort" | "LoadBalancer")
        || (kind == "ClusterIP" && !spec.get("externalIPs").is_empty());
    if !from_outside {
        if outside.is_set() {
            errors.push(outside.invalid("may only be set for externally-accessible services"));
        }
    } else if outside.is_set() {
        one_of(&outside, &["Cluster", "Local"], errors);
    }
    let check = spec.get("healthCheckNodePort");
    if check.number().unwrap_or_default() != 0
        && !(kind == "LoadBalancer" && outside.text() == "Local")
    {
        errors.push(check.invalid(
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
        ));
    }
    let known = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    one_of(&spec.get("trafficDistribution"), &known, errors);
}

fn addresses(spec: &FieldValue<'_>, errors: &mut Errors) {
    if spec.get("type").text() == "ExternalName" {
        return;
    }
    let families = spec.get("ipFamilies");
    for family in families.items() {
        one_of(&family, &["IPv4", "IPv6"], errors);
    }
    no_duplicates(families.items(), "", errors);
    let policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
    one_of(&spec.get("ipFamilyPolicy"), &policies, errors);
    let (one, all) = (spec.get("clusterIP"), spec.get("clusterIPs"));
    for address in all.items().filter(|address| address.text() != "None") {
        super::pods::address(&address, errors);
    }
    if let Some(first) = all.items().next()
        && !one.is_empty()
        && first.text() != one.text()
    {
        errors.push(all.invalid("first value must match `clusterIP`"));
    }
    for (place, (address, family)) in all.items().zip(families.items()).enumerate() {
        let of_6 = address.text().contains(':');
        let fits = address.text() == "None" || (family.text() == "IPv6") == of_6;
        if !fits && ["IPv4", "IPv6"].contains(&family.text()) {
            let why = format!(
                "expected an {} value as indicated by `ipFamilies[{place}]`",
                family.text()
            );
            errors.push(address.invalid(&why));
        }
    }
    let of_6: Vec<bool> = all.items().map(|one| one.text().contains(':')).collect();
    if let [first, second] = of_6.as_slice()
        && first == second
    {
        let why = "may specify no more than one IP for each IP family";
        errors.push(all.invalid(why));
    }
}

fn load_balancer(spec: &FieldValue<'_>, errors: &mut Errors) {
    let balanced = spec.get("type").text() == "LoadBalancer";
    let ranges = spec
        .get("LoadBalancerSourceRanges")
        .with(spec.get("loadBalancerSourceRanges").value);
    if balanced {
        for range in ranges.items() {
            super::networking::block(&range, errors);
        }
    }
    let class = spec.get("loadBalancerClass");
    let allocates = spec.get("allocateLoadBalancerNodePorts");
    if balanced {
        optional_name(&class, labels::key_errors, errors);
        if !allocates.is_set() {
            errors.push(allocates.required(""));
        }
        return;
    }
    for at in [&ranges, &class, &allocates] {
        if at.is_set() {
            errors.push(at.forbidden("may only be used when `type` is 'LoadBalancer'"));
        }
    }
    if spec.get("type").text() != "NodePort" {
        for one in spec.get("ports").items() {
            let number = one.get("nodePort");
            if number.number().unwrap_or_default() != 0 {
                errors.push(number.forbidden("may not be used when `type` is 'ClusterIP'"));
            }
        }
    }
}

/// A service keeps the address that it has.
fn address_stays(new: &FieldValue<'_>, old: &FieldValue<'_>, errors: &mut Errors) {
    if [new, old]
        .iter()
        .any(|spec| spec.get("type").text() == "ExternalName")
    {
        return;
    }
    let (before, after) = (old.get("clusterIPs"), new.get("clusterIPs"));
    let first = |all: &FieldValue<'_>| all.items().next().map(|one| one.value.clone());
    let Some(had) = first(&before).filter(|had| had != "") else {
        return;
    };
    if first(&after).as_ref() != Some(&had) {
        let at = FieldValue {
            value: after.value,
            path: format!("{}[0]", after.path),
        };
        errors.push(at.invalid("may not change once set"));
    }
}

/// An `EndpointSlice`.
pub(super) fn slice(object: &FieldValue<'_>, old: Option<&FieldValue<'_>>, errors: &mut Errors) {
    let kind = object.get("addressType");
    let known = ["FQDN", "IPv4", "IPv6"];
    required_one_of(&kind, &known, errors);
    for endpoint in object.get("endpoints").items() {
        let addresses = endpoint.get("addresses");
        if addresses.is_empty() {
            errors.push(addresses.required("must contain at least 1 address"));
        }
        // Addresses of before are not held against a new type, which is refused anyway.
        let same = old.is_none_or(|old| old.get("addressType").value == kind.value);
        for address in addresses.items().filter(|_| same) {
            of_type(kind.text(), &address, errors);
        }
        optional_name(&endpoint.get("hostname"), names::label, errors);
        optional_name(&endpoint.get("nodeName"), names::subdomain, errors);
    }
    let ports = object.get("ports");
    let mut seen: Vec<&str> = Vec::new();
    for port in ports.items() {
        let name = port.get("name");
        if seen.contains(&name.text()) {
            errors.push(name.duplicate());
        }
        seen.push(name.text());
        optional_name(&name, names::label, errors);
        required_one_of(&port.get("protocol"), &PROTOCOLS, errors);
        optional_name(&port.get("appProtocol"), labels::key_errors, errors);
    }
    if let Some(old) = old {
        immutable(&kind, &old.get("addressType"), errors);
    }
}

fn of_type(kind: &str, address: &FieldValue<'_>, errors: &mut Errors) {
    let text = address.text();
    let read = text.parse::<std::net::IpAddr>();
    match (kind, read) {
        ("IPv4" | "IPv6", Ok(read)) => {
            if read.is_ipv4() != (kind == "IPv4") {
                let article = FieldValue {
                    value: address.value,
                    path: address
                        .path
                        .rsplit_once('[')
                        .map_or_else(String::new, |(path, _)| path.to_owned()),
                };
                errors.push(article.invalid(&format!("must be an {kind} address")));
            }
            reachable(address, errors);
        }
        ("IPv4" | "IPv6", Err(_)) => super::pods::address(address, errors),
        ("FQDN", _) => super::field::named(address, names::subdomain, errors),
        _ => {}
    }
}

/// `Endpoints`.
pub(super) fn endpoints(object: &FieldValue<'_>, errors: &mut Errors) {
    for subset in object.get("subsets").items() {
        let lists = ["addresses", "notReadyAddresses"].map(|field| subset.get(field));
        if lists.iter().all(FieldValue::is_empty) {
            errors.push(subset.required("must specify `addresses` or `notReadyAddresses`"));
        }
        for address in lists.iter().flat_map(FieldValue::items) {
            let ip = address.get("ip");
            if ip.text().parse::<std::net::IpAddr>().is_err() {
                errors.push(ip.invalid_text("must be a valid IP address"));
            }
            reachable(&ip, errors);
            optional_name(&address.get("hostname"), names::label, errors);
            optional_name(&address.get("nodeName"), names::subdomain, errors);
        }
        let ports = subset.get("ports");
        for port in ports.items() {
            let name = port.get("name");
            if name.is_empty() && ports.len() > 1 {
                errors.push(name.required(""));
            }
            optional_name(&name, names::label, errors);
            port_number(&port.get("port"), errors);
            required_one_of(&port.get("protocol"), &PROTOCOLS, errors);
            optional_name(&port.get("appProtocol"), labels::key_errors, errors);
        }
    }
}
