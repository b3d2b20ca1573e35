//! Bearer tokens of service accounts.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac as _};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::Identity;
use crate::meta;
use crate::server::Inner;
use crate::store::Key;

/// Who service accounts' tokens are for, if nobody else is named.
pub(crate) const AUDIENCE: &str = "https://kubernetes.default.svc";

/// The tokens of a server.
pub(crate) struct Tokens {
    /// Known only here, so that nobody else can sign.
    secret: String,
}

/// A service account's token, read.
pub(crate) struct Claims {
    pub(crate) identity: Identity,
    pub(crate) audiences: Vec<String>,
}

impl Tokens {
    pub(crate) fn new(secret: String) -> Self {
        Self { secret }
    }

    /// Something that nobody can guess.
    pub(crate) fn secret() -> String {
        format!("{}{}", meta::uid(), meta::uid())
    }

    fn signature(&self, text: &str) -> Vec<u8> {
        // A key of any length is one.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(self.secret.as_bytes()) else {
            return Vec::new();
        };
        mac.update(text.as_bytes());
        mac.finalize().into_bytes().to_vec()
    }

    /// A service account's token.
    pub(crate) fn sign(
        &self,
        identity: &Identity,
        namespace: &str,
        name: &str,
        audiences: &[String],
        seconds: i64,
    ) -> String {
        let now = Timestamp::now().as_second();
        let head = URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","typ":"JWT"}"#);
        let body = json!({
            "aud": audiences, "exp": now + seconds, "iat": now, "nbf": now, "iss": AUDIENCE,
            "jti": meta::uid(), "sub": identity.user,
            "kubernetes.io": { "namespace": namespace, "serviceaccount": { "name": name, "uid": identity.uid } },
        });
        let text = format!("{head}.{}", URL_SAFE_NO_PAD.encode(body.to_string()));
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(self.signature(&text)))
    }
}

impl Inner {
    /// Who a token stands for.
    pub(crate) fn read_token(&self, token: &str) -> Option<Claims> {
        let (text, signature) = token.rsplit_once('.')?;
        // Compared as digests, so that time tells nothing.
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        if Sha256::digest(self.auth.tokens.signature(text)) != Sha256::digest(signature) {
            return None;
        }
        let (_, body) = text.split_once('.')?;
        let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body).ok()?).ok()?;
        if claims.get("exp")?.as_i64()? <= Timestamp::now().as_second() {
            return None;
        }
        let of = |path: &str| claims.pointer(path).and_then(Value::as_str);
        let namespace = of("/kubernetes.io/namespace")?;
        let name = of("/kubernetes.io/serviceaccount/name")?;
        let uid = of("/kubernetes.io/serviceaccount/uid")?;
        // The token of an account that is gone, or was made anew, is void.
        let account = self
            .store
            .get("/serviceaccounts", &Key::new(namespace, name))?;
        if meta::text(&account.value(), "uid") != uid {
            return None;
        }
        let audiences = claims.get("aud")?.as_array()?;
        let identity = Identity::service_account(namespace, name, uid);
        Some(Claims {
            identity: match of("/jti") {
                Some(id) => identity.by(format!("JTI={id}")),
                None => identity,
            },
            audiences: audiences
                .iter()
                .filter_map(|one| one.as_str().map(str::to_owned))
                .collect(),
        })
    }
}
