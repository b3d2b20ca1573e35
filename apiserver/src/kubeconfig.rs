//! Kubeconfig files of servers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::listener::Listener;
use crate::pki::{Authority, AuthorityError, Certificate};

/// A context of a kubeconfig: a cluster and the user of it.
pub struct KubeconfigContext {
    /// The context's name.
    pub name: String,
    /// `https://127.0.0.1:6443`.
    pub server: String,
    /// The authority's certificate, in PEM.
    pub authority: String,
    /// The credential of the user; none if the reader of the kubeconfig authenticates in another way.
    pub client: Option<Certificate>,
}

impl KubeconfigContext {
    /// With the certificate of an administrator.
    pub fn admin(
        name: &str,
        authority: &Authority,
        listener: &Listener,
    ) -> Result<Self, AuthorityError> {
        Ok(Self {
            name: name.to_owned(),
            server: listener.url(),
            authority: authority.pem(),
            client: Some(authority.client("admin", Some("system:masters"))?),
        })
    }

    /// Without a credential: only the address of the server.
    pub fn anonymous(name: &str, authority: &Authority, listener: &Listener) -> Self {
        Self {
            name: name.to_owned(),
            server: listener.url(),
            authority: authority.pem(),
            client: None,
        }
    }
}

/// The text of a kubeconfig with a context for each; the first is the current one.
pub fn kubeconfig(all: &[KubeconfigContext]) -> String {
    let list = |entry: fn(&KubeconfigContext) -> serde_json::Value| {
        all.iter().map(entry).collect::<Vec<_>>()
    };
    let current = all
        .first()
        .map(|access| access.name.as_str())
        .unwrap_or_default();
    let config = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": current,
        "clusters": list(|access| serde_json::json!({
            "name": access.name,
            "cluster": {
                "server": access.server, "certificate-authority-data": STANDARD.encode(&access.authority),
            },
        })),
        "users": list(|access| serde_json::json!({
            "name": access.name,
            "user": match &access.client {
                Some(client) => serde_json::json!({
                    "client-certificate-data": STANDARD.encode(&client.certificate),
                    "client-key-data": STANDARD.encode(&client.key),
                }),
                None => serde_json::json!({}),
            },
        })),
        "contexts": list(|access| serde_json::json!({
            "name": access.name, "context": { "cluster": access.name, "user": access.name },
        })),
    });
    serde_saphyr::to_string(&config).unwrap_or_else(|_| config.to_string())
}
