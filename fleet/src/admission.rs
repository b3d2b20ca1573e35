//! Lets the hub's API server ask registration about clusters and bindings, as webhooks do on a real hub.

use jiff::Timestamp;
use reeve_apiserver::failure::{About, Failure};
use reeve_apiserver::{Action, Admission, Attributes};
use serde_json::Value;

use crate::registration::admission::{Denied, Right, Writer, admit_binding, admit_cluster};

const GROUP: &str = "cluster.open-cluster-management.io";

/// What registration says to writes on the hub.
pub(crate) struct Registration;

struct Asks<'a>(&'a Attributes<'a>);

impl Writer for Asks<'_> {
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

impl Admission for Registration {
    fn admit(
        &self,
        of: &Attributes<'_>,
        new: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), Failure> {
        if of.kind.group != GROUP || of.action == Action::Delete || of.subresource.is_some() {
            return Ok(());
        }
        let writer = Asks(of);
        let said = match of.kind.resource.as_str() {
            "managedclusters" => admit_cluster(old, new, Timestamp::now(), &writer),
            "managedclustersetbindings" => admit_binding(old, new, &writer),
            _ => Ok(()),
        };
        said.map_err(|denied| refusal(of, &denied))
    }
}

fn refusal(of: &Attributes<'_>, denied: &Denied) -> Failure {
    match denied.code {
        403 => Failure::forbidden(
            &About::new(GROUP, &of.kind.resource),
            of.name,
            &denied.message,
        ),
        _ => Failure::bad_request(denied.message.clone()),
    }
}
