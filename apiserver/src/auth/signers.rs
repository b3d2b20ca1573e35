//! The checks of certificate signing requests against the rights of a user on their signer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reeve_go_compat::runes::quote;
use serde_json::Value;

use super::{AccessRequest, Authorizer};
use crate::identity::Identity;
use crate::kinds::Kind;
use crate::meta;
use crate::pki::csr::{CLIENT, REQUESTS, Request};
use crate::status_error::StatusError;

/// The field that only a signer may change.
const CERTIFICATE: &str = "/status/certificate";

impl Authorizer<'_> {
    /// Refuses a certificate that is never signed, and writes of the approval or the certificate by users who
    /// may not do so in the name of its signer.
    pub(crate) fn check_signer(
        &self,
        user: &Identity,
        kind: &Kind,
        part: Option<&str>,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<(), StatusError> {
        if *kind.table != *REQUESTS {
            return Ok(());
        }
        let name = meta::text(new, "name");
        let Some(old) = old else {
            return if asks_for_everything(new) {
                let why = "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed";
                Err(StatusError::forbidden(&kind.group_resource(), name, why))
            } else {
                Ok(())
            };
        };
        let verb = match part {
            Some("approval") => "approve",
            Some("status") if new.pointer(CERTIFICATE) != old.pointer(CERTIFICATE) => "sign",
            _ => return Ok(()),
        };
        let signer = old.pointer("/spec/signerName").and_then(Value::as_str);
        let signer = signer.unwrap_or_default();
        let domain = signer.split('/').next().unwrap_or_default();
        let may = [signer.to_owned(), format!("{domain}/*")]
            .into_iter()
            .any(|name| self.may(user, &of_signer(verb, name)));
        if may {
            return Ok(());
        }
        let why = format!(
            "user not permitted to {verb} requests with signerName {}",
            quote(signer)
        );
        Err(StatusError::forbidden(&kind.group_resource(), name, &why))
    }
}

fn of_signer(verb: &str, name: String) -> AccessRequest {
    AccessRequest {
        verb: verb.to_owned(),
        group: "certificates.k8s.io".to_owned(),
        resource: "signers".to_owned(),
        name,
        ..AccessRequest::default()
    }
}

/// Whether the bearer would be a master of the cluster.
fn asks_for_everything(object: &Value) -> bool {
    let text = |path: &str| {
        let text = object.pointer(path).and_then(Value::as_str);
        text.unwrap_or_default()
    };
    let pem = STANDARD.decode(text("/spec/request")).unwrap_or_default();
    let groups = Request::read(&pem).map(|request| request.organizations());
    let groups = groups.unwrap_or_default();
    text("/spec/signerName") == CLIENT && groups.iter().any(|group| group == "system:masters")
}
