//! The status of a constraint template.

use serde_json::{Value, json};

use crate::error::AuditError;
use crate::resources;
use crate::state::Audit;

/// The code of a template that is evaluated no more.
pub(crate) const QUARANTINED: &str = "quarantined";

/// An error in the status of a template.
pub(crate) struct StatusError {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl StatusError {
    /// The template is evaluated no more.
    pub(crate) fn quarantine(reason: String) -> Self {
        Self {
            code: QUARANTINED,
            message: reason,
        }
    }
}

impl Audit {
    /// Writes the status of a template. Constraints of a quarantined one can still be created.
    pub(crate) async fn write_template_status(
        &self,
        object: &Value,
        errors: &[StatusError],
    ) -> Result<(), AuditError> {
        let mut pod = json!({
            "id": self.options.id,
            "templateUID": object["metadata"]["uid"],
            "observedGeneration": object["metadata"]["generation"],
            "operations": self.options.operations(),
        });
        if !errors.is_empty() {
            let errors = errors.iter();
            pod["errors"] = errors
                .map(|error| json!({"code": error.code, "message": error.message}))
                .collect();
        }
        let is_created = errors.iter().all(|one| one.code == QUARANTINED);
        let status = json!({"created": is_created, "byPod": [pod]});
        if object["status"] == status {
            return Ok(());
        }
        self.merge_status(&resources::templates(), object, &status)
            .await
    }
}
