//! Signs approved certificate signing requests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::meta;
use crate::pki::Authority;
use crate::pki::csr::{CLIENT, KUBELET, REQUESTS, Request, texts};
use crate::queue::WorkItem;
use crate::state::State;
use crate::store::{Key, Write, WriteError};

/// Signs what was approved, if it is for one of the signers whose certificates this server takes.
pub(super) fn sign_approved(state: &State, name: &str) {
    let Some(authority) = &state.options.signer else {
        return;
    };
    let key = Key::new("", name);
    let Some(stored) = state.store.get(REQUESTS, &key) else {
        return;
    };
    let mut object = stored.value();
    if !waits(&object) {
        return;
    }
    match signed(authority, &object) {
        Ok(pem) => object["status"]["certificate"] = STANDARD.encode(pem).into(),
        Err(why) => fail(&mut object, &why),
    }
    match state
        .store
        .write(REQUESTS, &key, Write::Replace(stored.revision, object))
    {
        // Who is refused by the disk is refused again.
        Ok(_) | Err(WriteError::NotPersisted) => {}
        Err(_) => state.enqueue(WorkItem::CertificateSigningRequest(name.to_owned())),
    }
}

/// Whether a request is approved, and nothing has come of it yet.
fn waits(object: &Value) -> bool {
    let is = |wanted: &str| {
        let conditions = object.pointer("/status/conditions");
        let conditions = conditions.and_then(Value::as_array).into_iter().flatten();
        conditions
            .filter_map(|one| one.get("type"))
            .any(|one| one == wanted)
    };
    let signer = object.pointer("/spec/signerName").and_then(Value::as_str);
    [Some(CLIENT), Some(KUBELET)].contains(&signer)
        && is("Approved")
        && !is("Denied")
        && !is("Failed")
        && object.pointer("/status/certificate").is_none()
        && !meta::is_deleted(object)
}

fn signed(authority: &Authority, object: &Value) -> Result<String, String> {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str);
    let pem = STANDARD.decode(text("/spec/request").unwrap_or_default());
    let request = Request::read(&pem.unwrap_or_default())?;
    if !request.is_signed() {
        return Err("the request is not signed with its key".to_owned());
    }
    let usages = texts(object, "/spec/usages");
    let signer = text("/spec/signerName").unwrap_or_default();
    if let Some(why) = request.refusal(signer, &usages) {
        return Err(why);
    }
    let seconds = object
        .pointer("/spec/expirationSeconds")
        .and_then(Value::as_u64);
    authority
        .sign(&request, &usages, seconds)
        .map_err(|error| error.to_string())
}

fn fail(object: &mut Value, why: &str) {
    let now = meta::now();
    let failed = json!({
        "type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": why,
        "lastUpdateTime": now, "lastTransitionTime": now,
    });
    if let Some(Value::Array(conditions)) = object.pointer_mut("/status/conditions") {
        conditions.push(failed);
    }
}
