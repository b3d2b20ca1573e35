//! Secrets with service account tokens: the controller fills them in, and deletes them with their account.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::key_of;
use crate::auth::{TOKEN_SECRET, secret_account};
use crate::meta;
use crate::queue::WorkItem;
use crate::state::State;
use crate::store::{Key, Write, WriteError};

const SECRETS: &str = "/secrets";
const ACCOUNTS: &str = "/serviceaccounts";

/// Whether an object is a Secret with a token.
fn is_token(secret: &Value) -> bool {
    secret.get("type").is_some_and(|of| of == TOKEN_SECRET)
}

/// Enqueues a created or changed Secret with a token.
pub(super) fn enqueue_token_secret(state: &State, secret: &Value) {
    if is_token(secret) {
        state.enqueue(WorkItem::TokenSecret(key_of(secret)));
    }
}

/// Enqueues every Secret with a token, in one namespace or in all.
pub(super) fn enqueue_token_secrets(state: &State, namespace: Option<&str>) {
    for (key, stored) in state.store.all(SECRETS) {
        let is_wanted = namespace.is_none_or(|namespace| *key.namespace == *namespace);
        if is_wanted && stored.mentions(TOKEN_SECRET) {
            enqueue_token_secret(state, &stored.value());
        }
    }
}

/// Fills in a Secret with a token, or deletes it if its account is not there.
pub(super) fn fill_token_secret(state: &State, key: &Key) {
    let Some(stored) = state.store.get(SECRETS, key) else {
        return;
    };
    let mut secret = stored.value();
    if !is_token(&secret) {
        return;
    }
    let Some(account) = account_of(state, &secret) else {
        super::garbage_collector::delete(state, SECRETS, key);
        return;
    };
    if !fill_token(state, &mut secret, &account) {
        return;
    }
    match state
        .store
        .write(SECRETS, key, Write::Replace(stored.revision, secret))
    {
        // Who is refused by the disk is refused again.
        Ok(_) | Err(WriteError::NotFound | WriteError::NotPersisted) => {}
        Err(WriteError::Conflict) => state.enqueue(WorkItem::TokenSecret(key.clone())),
    }
}

/// The account that a Secret names, unless it is another one of the same name.
fn account_of(state: &State, secret: &Value) -> Option<Value> {
    let (name, uid) = secret_account(secret);
    let key = Key::new(meta::text(secret, "namespace"), name);
    let account = state.store.get(ACCOUNTS, &key)?.value();
    (uid.is_empty() || uid == meta::text(&account, "uid")).then_some(account)
}

/// Puts in what is missing. Answers whether anything was.
fn fill_token(state: &State, secret: &mut Value, account: &Value) -> bool {
    let authority = STANDARD.encode(&state.options.authority);
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
        let token = state.tokens.of_secret(secret, account);
        secret["data"]["token"] = STANDARD.encode(token).into();
    }
    let annotations = &mut secret["metadata"]["annotations"];
    annotations["kubernetes.io/service-account.name"] = meta::text(account, "name").into();
    annotations["kubernetes.io/service-account.uid"] = meta::text(account, "uid").into();
    true
}

/// Takes a Secret that has gone out of the list of its account.
pub(super) fn release_token(state: &State, secret: &Value) {
    if !is_token(secret) {
        return;
    }
    let Some(mut account) = account_of(state, secret) else {
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
    // A concurrent change of the account may name a Secret that does not exist, as any user may.
    let _ = state.store.write(
        ACCOUNTS,
        &key,
        Write::Replace(revision.unwrap_or_default(), account),
    );
}
