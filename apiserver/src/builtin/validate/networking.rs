//! Ingresses and `NetworkPolicies`.

use serde_json::Value;

use super::common::port_name;
use super::field::{
    Errors, FieldValue, immutable, optional_name, port as port_number, required_name,
    required_one_of,
};
use super::{common, probes};
use crate::names;
use crate::status_error::{Cause, FieldError};

const PATH_TYPES: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];
const CLASS: &str = "kubernetes.io/ingress.class";

/// An Ingress.
pub(super) fn ingress(object: &FieldValue<'_>, old: Option<&FieldValue<'_>>, errors: &mut Errors) {
    let spec = object.get("spec");
    let (rules, default) = (spec.get("rules"), spec.get("defaultBackend"));
    if rules.is_empty() && !default.is_set() {
        let why = "either `defaultBackend` or `rules` must be specified";
        errors.push(spec.with(rules.value).invalid(why));
    }
    if default.is_set() {
        backend(&default, errors);
    }
    for rule in rules.items() {
        host(&rule.get("host"), errors);
        let http = rule.get("http");
        if http.is_set() {
            paths(&http.get("paths"), errors);
        }
    }
    for tls in spec.get("tls").items() {
        for name in tls.get("hosts").items() {
            let rule = if name.text().contains('*') {
                wildcard
            } else {
                names::subdomain
            };
            super::field::named(&name, rule, errors);
        }
        optional_name(&tls.get("secretName"), names::subdomain, errors);
    }
    let class = spec.get("ingressClassName");
    if class.is_set() {
        super::field::named(&class, names::subdomain, errors);
    }
    let annotation = object.get("metadata").get("annotations").key(CLASS);
    if annotation.is_set() && class.is_set() && old.is_none() && annotation.text() != class.text() {
        let why = "must match `ingressClassName` when both are specified";
        let at = FieldValue {
            value: annotation.value,
            path: format!("annotations.{CLASS}"),
        };
        errors.push(at.invalid(why));
    }
}

/// Validates a domain of which the first part is a star.
fn wildcard(text: &str) -> Vec<String> {
    let rest = text.strip_prefix("*.").unwrap_or_default();
    if names::subdomain(rest).is_empty() {
        return Vec::new();
    }
    vec![
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of \
         lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', \
         regex used for validation is \
         '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
            .to_owned(),
    ]
}

fn host(host: &FieldValue<'_>, errors: &mut Errors) {
    if host.is_empty() {
        return;
    }
    if host.text().parse::<std::net::IpAddr>().is_ok() {
        errors.push(host.invalid("must be a DNS name, not an IP address"));
    } else if host.text().contains('*') {
        super::field::named(host, wildcard, errors);
    } else {
        super::field::named(host, names::subdomain, errors);
    }
}

fn paths(paths: &FieldValue<'_>, errors: &mut Errors) {
    if paths.is_empty() {
        errors.push(paths.required(""));
    }
    for one in paths.items() {
        let (path, kind) = (one.get("path"), one.get("pathType"));
        match kind.text() {
            "" => errors.push(kind.required("pathType must be specified")),
            "Exact" | "Prefix" => strict_path(&path, errors),
            "ImplementationSpecific" => {
                if !path.is_empty() && !path.text().starts_with('/') {
                    errors.push(path.invalid("must be an absolute path"));
                }
            }
            _ => errors.push(kind.unsupported(&PATH_TYPES)),
        }
        backend(&one.get("backend"), errors);
    }
}

fn strict_path(path: &FieldValue<'_>, errors: &mut Errors) {
    let text = path.text();
    if !text.starts_with('/') {
        errors.push(path.invalid_text("must be an absolute path"));
    }
    if text.is_empty() {
        return;
    }
    for part in ["//", "/./", "/../", "%2f", "%2F"] {
        if text.contains(part) {
            errors.push(path.invalid(&format!("must not contain '{part}'")));
        }
    }
    for end in ["/..", "/."] {
        if text.ends_with(end) {
            errors.push(path.invalid(&format!("cannot end with '{end}'")));
        }
    }
}

fn backend(backend: &FieldValue<'_>, errors: &mut Errors) {
    let (service, resource) = (backend.get("service"), backend.get("resource"));
    match (service.is_set(), resource.is_set()) {
        (true, true) => {
            errors.push(nothing(
                backend,
                "cannot set both resource and service backends",
            ));
        }
        (false, true) => reference(&resource, errors),
        (false, false) => {
            errors.push(nothing(backend, "resource or service backend is required"));
        }
        (true, false) => service_backend(backend, &service, errors),
    }
}

fn nothing(at: &FieldValue<'_>, why: &str) -> FieldError {
    FieldError::of_value(Cause::Invalid, &at.path, &"".into(), why)
}

fn service_backend(backend: &FieldValue<'_>, service: &FieldValue<'_>, errors: &mut Errors) {
    required_name(&service.get("name"), names::label, errors);
    let port = service.get("port");
    let (name, number) = (port.get("name"), port.get("number"));
    match (!name.is_empty(), number.number().unwrap_or_default() != 0) {
        (true, true) => {
            errors.push(nothing(backend, "cannot set both port name & port number"));
        }
        (true, false) => super::field::named(&name, port_name, errors),
        (false, true) => port_number(&number, errors),
        (false, false) => errors.push(backend.required("port name or number is required")),
    }
}

/// A reference to an object of a kind.
fn reference(at: &FieldValue<'_>, errors: &mut Errors) {
    optional_name(&at.get("apiGroup"), names::subdomain, errors);
    for field in ["kind", "name"] {
        required_name(&at.get(field), names::path_segment, errors);
    }
}

/// An `IngressClass`.
pub(super) fn class(object: &FieldValue<'_>, old: Option<&FieldValue<'_>>, errors: &mut Errors) {
    let spec = object.get("spec");
    let controller = spec.get("controller");
    if controller.is_empty() {
        if old.is_none() {
            errors.push(controller.required(""));
        }
    } else {
        super::field::named(&controller, super::batch::domain_path, errors);
    }
    let parameters = spec.get("parameters");
    if parameters.is_set() {
        reference(&parameters, errors);
        let scope = parameters.get("scope");
        required_one_of(&scope, &["Cluster", "Namespace"], errors);
        if scope.text() == "Namespace" && !parameters.get("namespace").is_set() {
            let why = "`parameters.scope` is set to 'Namespace'";
            errors.push(parameters.get("namespace").required(why));
        }
    }
    if let Some(old) = old {
        immutable(&controller, &old.get("spec.controller"), errors);
    }
}

/// A `NetworkPolicy`.
pub(super) fn policy(object: &FieldValue<'_>, errors: &mut Errors) {
    let spec = object.get("spec");
    common::selector(&spec.get("podSelector"), errors);
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.get(direction).items() {
            for port in rule.get("ports").items() {
                policy_port(&port, errors);
            }
            for peer in rule.get(peers).items() {
                self::peer(&peer, errors);
            }
        }
    }
    let types = spec.get("policyTypes");
    if types.len() > 2 {
        errors.push(types.invalid("may not specify more than two policyTypes"));
        return;
    }
    for kind in types.items() {
        if !["Ingress", "Egress"].contains(&kind.text()) {
            errors.push(kind.unsupported(&["Ingress", "Egress"]));
        }
    }
}

fn policy_port(one: &FieldValue<'_>, errors: &mut Errors) {
    let protocol = one.get("protocol");
    if !protocol.is_empty() && !["TCP", "UDP", "SCTP"].contains(&protocol.text()) {
        errors.push(protocol.unsupported(&["TCP", "UDP", "SCTP"]));
    }
    let (port, end) = (one.get("port"), one.get("endPort"));
    if !port.is_set() {
        if end.is_set() {
            errors.push(end.invalid("may not be specified when `port` is not specified"));
        }
        return;
    }
    probes::port(&port, errors);
    let Some(last) = end.number() else {
        return;
    };
    match port.value {
        Value::String(_) => {
            errors.push(end.invalid("may not be specified when `port` is non-numeric"));
        }
        _ if port.number().is_some_and(|first| last < first) => {
            errors.push(
                end.with(port.value)
                    .invalid("must be greater than or equal to `port`"),
            );
        }
        _ => port_number(&end, errors),
    }
}

fn peer(peer: &FieldValue<'_>, errors: &mut Errors) {
    let mut count = 0;
    for field in ["podSelector", "namespaceSelector"] {
        let selector = peer.get(field);
        if selector.is_set() {
            count += 1;
            common::selector(&selector, errors);
        }
    }
    let block = peer.get("ipBlock");
    if block.is_set() {
        count += 1;
        ip_block(&block, errors);
    }
    if count == 0 {
        errors.push(peer.required("must specify a peer"));
    } else if count > 1 && block.is_set() {
        errors.push(peer.forbidden("may not specify both ipBlock and another peer"));
    }
}

fn ip_block(at: &FieldValue<'_>, errors: &mut Errors) {
    let whole = at.get("cidr");
    if whole.is_empty() {
        errors.push(whole.required(""));
        return;
    }
    block(&whole, errors);
    if read_block(whole.text()).is_some_and(|(bits, _, length)| bits & !mask(length) != 0) {
        let why = "must not have bits set beyond the prefix length";
        errors.push(whole.invalid(why));
    }
    let Some(outer) = read_block(whole.text()) else {
        return;
    };
    for except in at.get("except").items() {
        block(&except, errors);
        if let Some(inner) = read_block(except.text())
            && !is_within(inner, outer)
        {
            errors.push(except.invalid("must be a strict subset of `cidr`"));
        }
    }
}

/// A range of addresses.
pub(super) fn block(at: &FieldValue<'_>, errors: &mut Errors) {
    if read_block(at.text()).is_none() {
        errors.push(
            at.invalid_text("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        );
    }
}

/// The beginning, whether that is of IPv4, and how long the prefix is.
type Block = (u128, bool, u32);

fn read_block(text: &str) -> Option<Block> {
    let (address, length) = text.split_once('/')?;
    let length: u32 = length.parse().ok()?;
    let (bits, is_4, width) = match address.parse::<std::net::IpAddr>().ok()? {
        std::net::IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, true, 32),
        std::net::IpAddr::V6(address) => (address.to_bits(), false, 128),
    };
    (length <= width).then_some((bits, is_4, length))
}

fn mask(length: u32) -> u128 {
    u128::MAX.checked_shl(128 - length).unwrap_or_default()
}

fn is_within((inner, inner_4, longer): Block, (outer, outer_4, shorter): Block) -> bool {
    let mask = mask(shorter);
    inner_4 == outer_4 && longer > shorter && inner & mask == outer & mask
}
