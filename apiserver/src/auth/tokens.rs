//! Bearer tokens of service accounts.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac as _};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::identity::Identity;
use crate::meta::{self, NoRandomness};
use crate::store::{Key, Store};

/// The default audience of service account tokens.
pub(crate) const AUDIENCE: &str = "https://kubernetes.default.svc";

/// The issuer of tokens in Secrets.
const OF_SECRETS: &str = "kubernetes/serviceaccount";

/// The type of Secrets with tokens.
pub(crate) const TOKEN_SECRET: &str = "kubernetes.io/service-account-token";

/// The name and the uid of the account that a Secret with a token is of; the uid is empty before it is filled in.
pub(crate) fn secret_account(secret: &Value) -> (&str, &str) {
    let annotations = secret.pointer("/metadata/annotations");
    let of = |key: &str| {
        let text = annotations.and_then(|annotations| annotations.get(key));
        text.and_then(Value::as_str).unwrap_or_default()
    };
    (
        of("kubernetes.io/service-account.name"),
        of("kubernetes.io/service-account.uid"),
    )
}

/// The tokens of a server.
pub(crate) struct Tokens {
    /// The signing key. It never leaves this type.
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
    ) -> Result<String, NoRandomness> {
        let now = Timestamp::now().as_second();
        Ok(self.signed(&json!({
            "aud": audiences, "exp": now + seconds, "iat": now, "nbf": now, "iss": AUDIENCE,
            "jti": meta::uid()?, "sub": identity.user,
            "kubernetes.io": { "namespace": namespace, "serviceaccount": { "name": name, "uid": identity.uid } },
        })))
    }

    /// The token of a Secret: it ends with the Secret or with the account, not at a time.
    pub(crate) fn of_secret(&self, secret: &Value, account: &Value) -> String {
        let (namespace, name) = (
            meta::text(account, "namespace"),
            meta::text(account, "name"),
        );
        self.signed(&json!({
            "iss": OF_SECRETS, "sub": format!("system:serviceaccount:{namespace}:{name}"),
            "kubernetes.io/serviceaccount/namespace": namespace,
            "kubernetes.io/serviceaccount/secret.name": meta::text(secret, "name"),
            "kubernetes.io/serviceaccount/service-account.name": name,
            "kubernetes.io/serviceaccount/service-account.uid": meta::text(account, "uid"),
        }))
    }

    fn signed(&self, body: &Value) -> String {
        let head = URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","typ":"JWT"}"#);
        let text = format!("{head}.{}", URL_SAFE_NO_PAD.encode(body.to_string()));
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(self.signature(&text)))
    }
}

impl Tokens {
    /// The claims of a token, if it is valid.
    pub(crate) fn verify(&self, store: &Store, token: &str) -> Option<Claims> {
        let (text, signature) = token.rsplit_once('.')?;
        // Digests are compared, so that the time of the comparison reveals nothing.
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        if Sha256::digest(self.signature(text)) != Sha256::digest(signature) {
            return None;
        }
        let (_, body) = text.split_once('.')?;
        let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body).ok()?).ok()?;
        if claims.get("iss").is_some_and(|issuer| issuer == OF_SECRETS) {
            return read_secret_token(store, token, &claims);
        }
        if claims.get("exp")?.as_i64()? <= Timestamp::now().as_second() {
            return None;
        }
        let of = |path: &str| claims.pointer(path).and_then(Value::as_str);
        let namespace = of("/kubernetes.io/namespace")?;
        let name = of("/kubernetes.io/serviceaccount/name")?;
        let uid = of("/kubernetes.io/serviceaccount/uid")?;
        // The token of an account that was deleted or recreated is void.
        let account = store.get("/serviceaccounts", &Key::new(namespace, name))?;
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

/// The claims of a token in a Secret, as long as the Secret has it and its account is the same.
fn read_secret_token(store: &Store, token: &str, claims: &Value) -> Option<Claims> {
    let of = |field: &str| {
        let claim = claims.get(format!("kubernetes.io/serviceaccount/{field}"));
        claim.and_then(Value::as_str)
    };
    let namespace = of("namespace")?;
    let secret = Key::new(namespace, of("secret.name")?);
    let secret = store.get("/secrets", &secret)?.value();
    let kept = secret.pointer("/data/token").and_then(Value::as_str)?;
    if meta::is_deleted(&secret) || STANDARD.decode(kept).ok()? != token.as_bytes() {
        return None;
    }
    let (name, uid) = (of("service-account.name")?, of("service-account.uid")?);
    let account = Key::new(namespace, name);
    let account = store.get("/serviceaccounts", &account)?.value();
    if meta::is_deleted(&account) || meta::text(&account, "uid") != uid {
        return None;
    }
    Some(Claims {
        identity: Identity::service_account(namespace, name, uid),
        audiences: vec![AUDIENCE.to_owned()],
    })
}
