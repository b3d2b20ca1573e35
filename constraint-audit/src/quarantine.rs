//! Templates that are evaluated no more, because an evaluation took so much that its process was killed. The status of the template
//! remembers it, with the generation, so that a restart does not run its code again; an edit lifts it.

use std::collections::HashSet;

use reeve_gatekeeper::client::{Cause, Violation};
use reeve_runtime::queue::Action;
use serde_json::Value;

use crate::error::AuditError;
use crate::state::{Audit, Work};
use crate::template_status::{QUARANTINED, StatusError};

/// Why a template is evaluated no more, if its status says so of its present generation. Any process may have written that.
pub(crate) fn remembered(template: &Value) -> Option<String> {
    let metadata = &template["metadata"];
    let pods = template["status"]["byPod"].as_array()?;
    let is_present = |pod: &&Value| {
        pod["observedGeneration"] == metadata["generation"] && pod["templateUID"] == metadata["uid"]
    };
    let errors = pods.iter().filter(is_present);
    let mut errors = errors.flat_map(|pod| pod["errors"].as_array().into_iter().flatten());
    let error = errors.find(|error| error["code"] == QUARANTINED)?;
    error["message"].as_str().map(str::to_owned)
}

impl Audit {
    /// Has the statuses written of the templates that these violations say to be quarantined.
    pub(crate) fn report_quarantines(&self, violations: &[Violation]) {
        let quarantined = violations
            .iter()
            .filter(|one| one.cause == Cause::Quarantine);
        let kinds: HashSet<&str> = quarantined
            .map(|one| one.constraint.kind.as_str())
            .collect();
        for kind in kinds {
            self.queue.add(Work::Quarantine(kind.to_owned()));
        }
    }

    /// Writes into the status of a template that it is quarantined, if it is and the status does not say so.
    pub(crate) async fn publish_quarantine(&self, kind: &str) -> Result<Action, AuditError> {
        let (reason, name) = {
            let engine = self.engine.read();
            self.count_quarantined(&engine);
            let name = engine.template(kind).map(|template| template.name.clone());
            (engine.evaluator().quarantined(kind), name)
        };
        let object = name.and_then(|name| self.templates.lock().get(&name).cloned());
        let (Some(reason), Some(object)) = (reason, object) else {
            return Ok(Action::AwaitChange);
        };
        if remembered(&object).is_none() {
            self.write_template_status(&object, &[StatusError::quarantine(reason)])
                .await?;
        }
        Ok(Action::AwaitChange)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn template(generation: i64, code: &str) -> Value {
        json!({
            "metadata": {"uid": "u", "generation": generation},
            "status": {"byPod": [
                {"id": "another", "templateUID": "u", "observedGeneration": 2},
                {
                    "id": "one", "templateUID": "u", "observedGeneration": 2,
                    "errors": [{"code": code, "message": "why"}],
                },
            ]},
        })
    }

    #[test]
    fn quarantine_is_remembered_until_the_template_changes() {
        assert_eq!(
            remembered(&template(2, QUARANTINED)).as_deref(),
            Some("why")
        );
        assert_eq!(remembered(&template(3, QUARANTINED)), None);
        assert_eq!(remembered(&template(2, "ingest_error")), None);
        assert_eq!(remembered(&json!({})), None);
    }
}
