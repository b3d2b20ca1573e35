//! Who may have certificates signed, and of whom.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{AccessRequest, Authorizer};
use crate::failure::Failure;
use crate::identity::Identity;
use crate::kinds::Kind;
use crate::meta;
use crate::pki::csr::{CLIENT, REQUESTS, Request};

/// What only a signer changes.
const CERTIFICATE: &str = "/status/certificate";

impl Authorizer<'_> {
    /// Refuses a request for a certificate that nobody gives, and writes of its approval or its certificate by those who
    /// may not do so in the name of its signer.
    pub(crate) fn check_signer(
        &self,
        user: &Identity,
        kind: &Kind,
        part: Option<&str>,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<(), Failure> {
        if *kind.table != *REQUESTS {
            return Ok(());
        }
        let name = meta::text(new, "name");
        let Some(old) = old else {
            return if asks_for_everything(new) {
                let why = "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed";
                Err(Failure::forbidden(&kind.about(), name, why))
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
        let why = format!("user not permitted to {verb} requests with signerName {signer:?}");
        Err(Failure::forbidden(&kind.about(), name, &why))
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
