//! Dispatch of a request to its operation, by subresource and verb.

use super::{ObjectRequest, Reply};
use crate::status_error::StatusError;

impl ObjectRequest {
    pub(crate) async fn perform(
        mut self,
        verb: &str,
        body: &[u8],
    ) -> Result<(Self, Reply), StatusError> {
        if verb == "create" && self.is_review() {
            let review = self.review(body).await?;
            return Ok((self, Reply::Object(201, review)));
        }
        let part = self.subresource.clone();
        match &part {
            None => {
                let nowhere = self.kind.namespaced && self.namespace.is_none();
                if verb == "create" && (self.name.is_some() || nowhere) {
                    return Err(StatusError::method_not_allowed());
                }
                let known = self.kind.verbs.iter().any(|one| one == verb);
                if !known {
                    return Err(StatusError::method_not_allowed());
                }
            }
            Some(part) => {
                let known = self.kind.subresource(part);
                let known = known.ok_or_else(|| match &self.kind.custom {
                    Some(_) => StatusError::not_found(
                        &self.kind.group_resource(),
                        self.name.as_deref().unwrap_or_default(),
                    ),
                    None => StatusError::no_such_path(),
                })?;
                if !known.verbs.iter().any(|one| one == verb) {
                    return Err(StatusError::method_not_allowed());
                }
            }
        }
        match (part.as_deref(), verb) {
            (Some("scale"), "get") => self.get_scale(),
            (Some("scale"), "update") => self.update_scale(body).await,
            (Some("scale"), "patch") => self.patch_scale(body).await,
            (Some("token"), "create") => self.request_token(body).await,
            (Some("binding"), "create") => self.bind(body).await,
            (Some("proxy" | "log" | "exec" | "attach" | "portforward"), _) => Err(
                StatusError::bad_request("there is no node: Pods of this server do not run"),
            ),
            (_, "get") => self.get(),
            (_, "list") => self.list(),
            (_, "watch") => self.watch(),
            (None, "create") => self.create(body).await,
            (_, "update") => self.update(body).await,
            (_, "patch") => self.patch(body).await,
            (None, "delete") => self.delete(body).await,
            (None, "deletecollection") => self.delete_collection(body).await,
            _ => Err(StatusError::method_not_allowed()),
        }
    }
}
