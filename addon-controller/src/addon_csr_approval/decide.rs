//! Decides whether to approve a certificate request. It is approved only if it asks for exactly the identity of an
//! agent that this controller installed, and an agent of the same cluster created it.

use std::collections::BTreeSet;

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::ResourceExt;

use super::request;
use crate::addon::Installation;
use crate::messages::unapproved;
use crate::registration::decide::SIGNER;

/// The user that creates the requests of agents with a gRPC connection to the hub.
const GRPC_SERVER: &str = "system:serviceaccount:open-cluster-management-hub:grpc-server-sa";
/// Annotation of such requests: the user of the agent.
const GRPC_USER: &str = "open-cluster-management.io/csr-user";
/// The group of all authenticated users; old agents name it.
const AUTHENTICATED: &str = "system:authenticated";
const CLIENT_AUTH: &str = "client auth";
const USAGES: [&str; 3] = [CLIENT_AUTH, "digital signature", "key encipherment"];

/// Checks the content of the request. The caller has checked that cluster and add-on exist.
pub fn check(
    request: &CertificateSigningRequest,
    installation: &Installation,
) -> Result<(), String> {
    let spec = &request.spec;
    if spec.signer_name != SIGNER {
        return Err(unapproved::signer(&spec.signer_name));
    }
    let usages = spec.usages.clone().unwrap_or_default();
    let is_allowed = |usage: &String| USAGES.contains(&usage.as_str());
    if !usages.iter().any(|usage| usage == CLIENT_AUTH) || !usages.iter().all(is_allowed) {
        return Err(unapproved::usages(&usages));
    }
    let requested = request::read(&spec.request.0).map_err(|why| unapproved::unreadable(&why))?;
    identity(&requested, installation)?;
    requester(request, &installation.cluster)
}

fn identity(
    requested: &request::RequestedIdentity,
    installation: &Installation,
) -> Result<(), String> {
    let Installation { cluster, addon } = installation;
    let user = addon.user(cluster);
    if requested.common_names != [user.as_str()] {
        let found = requested.common_names.join(", ");
        return Err(unapproved::common_name(&found, &user));
    }
    let groups = addon.groups(cluster);
    let found: BTreeSet<&str> = requested.organizations.iter().map(String::as_str).collect();
    let mut expected: BTreeSet<&str> = groups.iter().map(String::as_str).collect();
    let is_exact = found == expected;
    expected.insert(AUTHENTICATED);
    if requested.organizations.len() != found.len() || !(is_exact || found == expected) {
        return Err(unapproved::organizations(&requested.organizations, &groups));
    }
    let dns = format!("{addon}.addon.open-cluster-management.io");
    let expected = format!("DNS:{dns}");
    if requested
        .alternative_names
        .iter()
        .any(|name| *name != expected)
    {
        return Err(unapproved::alternative_names(&dns));
    }
    Ok(())
}

fn requester(request: &CertificateSigningRequest, cluster: &str) -> Result<(), String> {
    let user = request.spec.username.clone().unwrap_or_default();
    let by_grpc = (user == GRPC_SERVER)
        .then(|| request.annotations().get(GRPC_USER))
        .flatten();
    let user = by_grpc.cloned().unwrap_or(user);
    let agents = format!("system:open-cluster-management:{cluster}");
    // One more part is the agent's name. More parts are the user of an add-on, on a cluster with a similar name.
    let is_agent = |rest: &str| {
        let name = rest.strip_prefix(':');
        rest.is_empty() || name.is_some_and(|name| !name.contains(':'))
    };
    if user.strip_prefix(&agents).is_some_and(is_agent) {
        Ok(())
    } else {
        Err(unapproved::requester(&user, cluster))
    }
}

#[cfg(test)]
mod tests;
