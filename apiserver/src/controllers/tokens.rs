//! Secrets with tokens of service accounts: they are filled in, and go with their account.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Note, key_of};
use crate::auth::{TOKEN_SECRET, secret_account};
use crate::meta;
use crate::server::Inner;
use crate::store::{Key, Stale, Write};

const SECRETS: &str = "/secrets";
const ACCOUNTS: &str = "/serviceaccounts";

/// Whether an object is a Secret with a token.
fn is_token(secret: &Value) -> bool {
    secret.get("type").is_some_and(|of| of == TOKEN_SECRET)
}

impl Inner {
    /// What follows from a Secret that was made or changed.
    pub(super) fn note_token(&self, secret: &Value) {
        if is_token(secret) {
            self.note(Note::Token(key_of(secret)));
        }
    }

    /// Has every Secret with a token looked at, in one namespace or in all.
    pub(super) fn note_tokens(&self, namespace: Option<&str>) {
        for (key, stored) in self.store.all(SECRETS) {
            let is_wanted = namespace.is_none_or(|namespace| *key.namespace == *namespace);
            if is_wanted && stored.mentions(TOKEN_SECRET) {
                self.note_token(&stored.value());
            }
        }
    }

    /// Fills in a Secret with a token, or deletes it if its account is not there.
    pub(super) fn attend_token(&self, key: &Key) {
        let Some(stored) = self.store.get(SECRETS, key) else {
            return;
        };
        let mut secret = stored.value();
        if !is_token(&secret) {
            return;
        }
        let Some(account) = self.account_of(&secret) else {
            self.remove(SECRETS, key);
            return;
        };
        if !self.fill_token(&mut secret, &account) {
            return;
        }
        match self
            .store
            .write(SECRETS, key, Write::Replace(stored.revision, secret))
        {
            // Who is refused by the disk is refused again.
            Ok(_) | Err(Stale::Gone | Stale::Unwritten) => {}
            Err(Stale::Changed) => self.note(Note::Token(key.clone())),
        }
    }

    /// The account that a Secret names, unless it is another one of the same name.
    fn account_of(&self, secret: &Value) -> Option<Value> {
        let (name, uid) = secret_account(secret);
        let key = Key::new(meta::text(secret, "namespace"), name);
        let account = self.store.get(ACCOUNTS, &key)?.value();
        (uid.is_empty() || uid == meta::text(&account, "uid")).then_some(account)
    }

    /// Puts in what is missing. Answers whether anything was.
    fn fill_token(&self, secret: &mut Value, account: &Value) -> bool {
        let authority = STANDARD.encode(&self.options.authority);
        let has = |secret: &Value, field: &str| {
            let text = secret.get("data").and_then(|data| data.get(field));
            text.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let needs_authority = !authority.is_empty() && has(secret, "ca.crt") != authority;
        let needs_namespace = has(secret, "namespace").is_empty();
        let needs_token = has(secret, "token").is_empty();
        if !(needs_authority || needs_namespace || needs_token) {
            return false;
        }
        if !secret["data"].is_object() {
            secret["data"] = json!({});
        }
        if needs_authority {
            secret["data"]["ca.crt"] = authority.into();
        }
        if needs_namespace {
            secret["data"]["namespace"] = STANDARD.encode(meta::text(secret, "namespace")).into();
        }
        if needs_token {
            let token = self.auth.tokens.of_secret(secret, account);
            secret["data"]["token"] = STANDARD.encode(token).into();
        }
        let annotations = &mut secret["metadata"]["annotations"];
        annotations["kubernetes.io/service-account.name"] = meta::text(account, "name").into();
        annotations["kubernetes.io/service-account.uid"] = meta::text(account, "uid").into();
        true
    }

    /// Takes a Secret that has gone out of the list of its account.
    pub(super) fn release_token(&self, secret: &Value) {
        if !is_token(secret) {
            return;
        }
        let Some(mut account) = self.account_of(secret) else {
            return;
        };
        let key = key_of(&account);
        let Some(Value::Array(secrets)) = account.get_mut("secrets") else {
            return;
        };
        let before = secrets.len();
        secrets.retain(|one| {
            one.get("name")
                .is_none_or(|name| name != meta::text(secret, "name"))
        });
        if secrets.len() == before {
            return;
        }
        if secrets.is_empty()
            && let Some(account) = account.as_object_mut()
        {
            account.remove("secrets");
        }
        let revision = meta::text(&account, "resourceVersion").parse();
        // Whoever has changed the account meanwhile may name a Secret that is not there, as anybody may.
        let _ = self.store.write(
            ACCOUNTS,
            &key,
            Write::Replace(revision.unwrap_or_default(), account),
        );
    }
}
