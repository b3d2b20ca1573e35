//! Calls registration's admission functions for writes on the hub's API server, as webhooks do on a real hub.

use jiff::Timestamp;
use reeve_apiserver::status_error::{GroupResource, StatusError};
use reeve_apiserver::{AdmissionPlugin, Attributes, Operation};
use serde_json::Value;

use crate::registration::admission::{Denied, Right, Writer, admit_binding, admit_cluster};

const GROUP: &str = "cluster.open-cluster-management.io";

/// Registration's admission of clusters and bindings on the hub.
pub(crate) struct Registration;

struct RequestUser<'a>(&'a Attributes<'a>);

impl Writer for RequestUser<'_> {
    fn name(&self) -> &str {
        &self.0.user.user
    }

    fn may(&self, right: Right, set: &str) -> bool {
        let part = match right {
            Right::Bind => "managedclustersets/bind",
            Right::Join => "managedclustersets/join",
        };
        (self.0.allowed)("create", GROUP, part, set)
    }
}

impl AdmissionPlugin for Registration {
    fn admit(
        &self,
        of: &Attributes<'_>,
        new: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), StatusError> {
        if of.kind.group != GROUP || of.operation == Operation::Delete || of.subresource.is_some() {
            return Ok(());
        }
        let writer = RequestUser(of);
        let admitted = match of.kind.resource.as_str() {
            "managedclusters" => admit_cluster(old, new, Timestamp::now(), &writer),
            "managedclustersetbindings" => admit_binding(old, new, &writer),
            _ => Ok(()),
        };
        admitted.map_err(|denied| refusal(of, &denied))
    }
}

fn refusal(of: &Attributes<'_>, denied: &Denied) -> StatusError {
    match denied.code {
        403 => StatusError::forbidden(
            &GroupResource::new(GROUP, &of.kind.resource),
            of.name,
            &denied.message,
        ),
        _ => StatusError::bad_request(denied.message.clone()),
    }
}
