//! The audit log: a line of JSON for each request, an `audit.k8s.io/v1` event of the level `Metadata`, as a
//! kube-apiserver writes it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::identity::Identity;
use crate::meta::NoRandomness;
use crate::request::path::Target;

/// The file of an audit log.
pub struct AuditLog {
    file: Mutex<File>,
}

/// The request of an audit event.
pub(crate) struct AuditedRequest<'a> {
    pub(crate) verb: &'a str,
    pub(crate) uri: String,
    pub(crate) agent: &'a str,
    pub(crate) user: &'a Identity,
    /// Of requests that are about objects.
    pub(crate) target: Option<&'a Target>,
}

/// A request that is being answered. It is complete when this is dropped: with the last line of a watch.
pub(crate) struct AuditEvent {
    log: Arc<AuditLog>,
    event: Value,
    code: u16,
}

impl AuditLog {
    /// Records at the end of this file, which is made if it is not there.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self {
            file: Mutex::new(file),
        })
    }

    pub(crate) fn begin(
        self: &Arc<Self>,
        asking: &AuditedRequest<'_>,
    ) -> Result<AuditEvent, NoRandomness> {
        let mut event = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata",
            "auditID": crate::meta::uid()?,
            "requestURI": asking.uri,
            "verb": asking.verb,
            "user": {
                "username": asking.user.user, "uid": asking.user.uid,
                "groups": asking.user.groups, "extra": asking.user.extra,
            },
            "userAgent": asking.agent,
            "requestReceivedTimestamp": now(),
        });
        if let Some(target) = asking.target {
            event["objectRef"] = json!({
                "resource": target.resource, "namespace": target.namespace,
                "name": target.name,
                "apiGroup": target.group, "apiVersion": target.version,
                "subresource": target.subresource,
            });
            prune(&mut event["objectRef"]);
        }
        Ok(AuditEvent {
            log: Arc::clone(self),
            event,
            code: 0,
        })
    }

    fn write(&self, event: &Value) {
        let line = format!("{event}\n");
        if let Err(error) = self.file.lock().write_all(line.as_bytes()) {
            tracing::error!(%error, "cannot record a request");
        }
    }
}

impl AuditEvent {
    /// The body has been read. Creations have the name in it, not in the path.
    pub(crate) fn set_body(&mut self, body: &[u8]) {
        let reference = self.event.get("objectRef");
        let unnamed = reference.is_some_and(|reference| reference.get("name").is_none());
        if unnamed
            && self.event["verb"] == "create"
            && let Some(name) = named(body)
        {
            self.event["objectRef"]["name"] = name.into();
        }
    }

    /// The answer's code is known.
    pub(crate) fn set_code(&mut self, code: u16) {
        self.code = code;
    }

    /// The first line of a watch is about to go out.
    pub(crate) fn write_started(&mut self) {
        self.write_stage("ResponseStarted");
    }

    fn write_stage(&mut self, stage: &str) {
        self.event["stage"] = json!(stage);
        self.event["stageTimestamp"] = json!(now());
        self.event["responseStatus"] = json!({ "code": self.code });
        self.log.write(&self.event);
    }
}

impl Drop for AuditEvent {
    fn drop(&mut self) {
        self.write_stage("ResponseComplete");
    }
}

/// The name in the body of a request.
fn named(body: &[u8]) -> Option<String> {
    let body: Value = crate::json::parse(body).ok()?;
    let name = body.pointer("/metadata/name")?.as_str()?;
    Some(name.to_owned())
}

/// Takes out what is not known.
fn prune(object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| value.as_str().is_some_and(|text| !text.is_empty()));
    }
}

fn now() -> String {
    Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S.%6fZ")
        .to_string()
}
