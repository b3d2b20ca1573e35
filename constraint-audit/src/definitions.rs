//! Installs the kind of constraint templates, and the kinds of constraints. What this process has installed has its label; what a
//! Gatekeeper has installed stays as it is.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use reeve_api::names::{CONSTRAINT_TEMPLATES_CRD, MANAGED_BY_LABEL, MANAGED_BY_REEVE};
use reeve_gatekeeper::template::{self, ConstraintTemplate};
use reeve_runtime::object::{StatusReason, status_message};
use serde_json::{Value, json};

use crate::error::AuditError;
use crate::resources;

const FIELD_MANAGER: &str = "reeve-constraint-audit";
const RETRY: Duration = Duration::from_secs(5);
/// Gatekeeper's own: an owner reference of another version would be another owner.
const OWNER_VERSION: &str = "templates.gatekeeper.sh/v1beta1";

/// Creates the kind of constraint templates, unless it is there. Tries until it is.
pub(crate) async fn install(client: &Client) {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    loop {
        match create_templates(&api).await {
            Ok(()) => return,
            Err(error) => {
                tracing::warn!(%error, "the audit of constraints waits");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

async fn create_templates(api: &Api<CustomResourceDefinition>) -> Result<(), AuditError> {
    let found = api.get_metadata_opt(CONSTRAINT_TEMPLATES_CRD).await;
    if found
        .map_err(AuditError::new(format!(
            "read CRD {CONSTRAINT_TEMPLATES_CRD}"
        )))?
        .is_some()
    {
        return Ok(());
    }
    let created = api.create(&PostParams::default(), &templates_crd()).await;
    match created {
        Err(error) if StatusReason::of(&error) != StatusReason::AlreadyExists => Err(
            AuditError::new(format!("create CRD {CONSTRAINT_TEMPLATES_CRD}"))(error),
        ),
        _ => Ok(()),
    }
}

/// The CRD of constraint templates as the audit creates it: Gatekeeper's, with our label.
pub fn constraint_templates_crd() -> Value {
    let mut crd = template::definition();
    crd["metadata"]["labels"][MANAGED_BY_LABEL] = json!(MANAGED_BY_REEVE);
    crd
}

fn templates_crd() -> CustomResourceDefinition {
    // A test holds it to be one.
    serde_json::from_value(constraint_templates_crd()).unwrap_or_default()
}

/// Creates the kind of a template's constraints or updates it, and returns once it is served.
pub(crate) async fn apply_kind(
    client: &Client,
    template: &ConstraintTemplate,
    object: &Value,
) -> Result<(), KindError> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut crd = template::crd(template);
    crd["metadata"]["labels"][MANAGED_BY_LABEL] = json!(MANAGED_BY_REEVE);
    // The kind goes with its template.
    crd["metadata"]["ownerReferences"] = json!([{
        "apiVersion": OWNER_VERSION,
        "kind": "ConstraintTemplate",
        "name": template.name,
        "uid": object["metadata"]["uid"],
        "blockOwnerDeletion": true,
        "controller": true,
    }]);
    let name = crd["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    // Without what is no member of a schema: the API server would refuse it, and Gatekeeper does not pass it on.
    let mut typed: CustomResourceDefinition =
        serde_json::from_value(crd).map_err(|error| KindError::Refused(error.to_string()))?;
    typed.status = None;
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let applied = api.patch(&name, &params, &Patch::Apply(&typed)).await;
    match applied {
        Err(error) if StatusReason::of(&error) == StatusReason::Invalid => {
            return Err(KindError::Refused(status_message(&error)));
        }
        applied => applied.map_err(AuditError::new(format!("apply CRD {name}")))?,
    };
    Ok(served(client, &template.kind).await?)
}

/// Why the kind of a template's constraints is not there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KindError {
    /// It is the template's fault: it is no kind.
    #[error("{0}")]
    Refused(String),
    /// To be tried again.
    #[error(transparent)]
    Request(#[from] AuditError),
}

/// Waits a moment until the API server serves the constraints of a kind.
async fn served(client: &Client, kind: &str) -> Result<(), AuditError> {
    const TRIES: u32 = 100;
    const PAUSE: Duration = Duration::from_millis(50);
    let resource = resources::constraints(kind);
    let api: Api<kube::core::DynamicObject> = Api::all_with(client.clone(), &resource);
    let mut tries = 0;
    loop {
        let listed = api.list_metadata(&ListParams::default().limit(1)).await;
        match listed {
            Ok(_) => return Ok(()),
            Err(error) => {
                tries += 1;
                if StatusReason::of(&error) != StatusReason::NotFound || tries == TRIES {
                    return Err(AuditError::new(format!("list constraints {kind}"))(error));
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Removes the label from all kinds: a Gatekeeper has taken over. The kinds and their objects stay.
pub(crate) async fn disown(client: &Client) -> Result<(), AuditError> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let params = ListParams::default().labels(&format!("{MANAGED_BY_LABEL}={MANAGED_BY_REEVE}"));
    let owned = api.list_metadata(&params).await;
    for crd in owned.map_err(AuditError::new("list CRDs"))? {
        let name = crd.metadata.name.unwrap_or_default();
        if name != CONSTRAINT_TEMPLATES_CRD && !name.ends_with(".constraints.gatekeeper.sh") {
            continue;
        }
        let without = Patch::Merge(json!({"metadata": {"labels": {MANAGED_BY_LABEL: null}}}));
        let patched = api
            .patch_metadata(&name, &PatchParams::default(), &without)
            .await;
        patched.map_err(AuditError::new(format!("hand over CRD {name}")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definition_of_templates_has_the_label() {
        let crd = templates_crd();
        assert_eq!(crd.metadata.name.as_deref(), Some(CONSTRAINT_TEMPLATES_CRD));
        assert_eq!(
            crd.metadata.labels.unwrap_or_default()[MANAGED_BY_LABEL],
            MANAGED_BY_REEVE
        );
        assert_eq!(crd.spec.versions.len(), 3);
    }
}
