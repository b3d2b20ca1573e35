//! Admission of a write: plugins, policies and webhooks may change or refuse it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::ObjectRequest;
use crate::admission::{AdmissionOutcome, Attributes, Operation, Policies, WebhookRequest};
use crate::status_error::StatusError;

/// A write for admission: of an object or of a subresource.
pub(crate) struct AdmissionRequest<'a> {
    pub(crate) operation: Operation,
    /// The object's name, as it was asked for.
    pub(crate) name: &'a str,
    /// The new object, as it is sent; null for a deletion.
    pub(crate) new: &'a Value,
    /// The old object, as it is sent; null for a new object.
    pub(crate) old: &'a Value,
    pub(crate) dry_run: bool,
}

impl<'a> AdmissionRequest<'a> {
    /// The request for webhooks.
    fn for_webhooks(&self, of: &'a Attributes<'a>, options: &'a Value) -> WebhookRequest<'a> {
        WebhookRequest {
            of,
            old: self.old,
            options,
            dry_run: self.dry_run,
        }
    }
}

impl ObjectRequest {
    /// Runs the admission plugins of this process.
    pub(super) fn admit(
        &self,
        operation: Operation,
        name: &str,
        new: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), StatusError> {
        if self.state.options.admission.is_empty() {
            return Ok(());
        }
        let allowed = self.allowed();
        let of = self.attributes(operation, name, &allowed);
        for admission in &self.state.options.admission {
            admission.admit(&of, new, old)?;
        }
        Ok(())
    }

    /// Whether a mutating webhook may be configured for the kind.
    pub(crate) fn has_mutating_admission(&self) -> bool {
        let state = &self.state;
        state.webhooks.may_mutate(&state.store, &self.kind)
    }

    /// Whether a policy or a validating webhook may be configured for the kind.
    pub(crate) fn has_validating_admission(&self) -> bool {
        let state = &self.state;
        Policies::are_bound(&state.store) || state.webhooks.may_validate(&state.store, &self.kind)
    }

    /// Calls the mutating webhooks. Returns nothing if they do not change the object.
    pub(crate) async fn mutate(
        &mut self,
        request: &AdmissionRequest<'_>,
    ) -> Result<Option<Value>, StatusError> {
        let state = Arc::clone(&self.state);
        let options = self.options(request);
        let mutated = {
            let allowed = self.allowed();
            let of = self.attributes(request.operation, request.name, &allowed);
            let webhook_request = request.for_webhooks(&of, &options);
            state
                .webhooks
                .mutate(&state.store, &state.kinds, &webhook_request, request.new)
                .await
        };
        self.apply_outcome(mutated.outcome)?;
        self.check_is_served()?;
        Ok(mutated.object)
    }

    /// Collects the warnings, and returns the refusal.
    fn apply_outcome(&mut self, outcome: AdmissionOutcome) -> Result<(), StatusError> {
        self.warnings.extend(outcome.warnings);
        let Some(refusal) = outcome.refusal else {
            return Ok(());
        };
        self.refused_with.lock().clone_from(&self.warnings);
        Err(refusal)
    }

    /// Lets the policies of the cluster judge a write, and then its webhooks.
    pub(crate) async fn validate_admission(
        &mut self,
        request: &AdmissionRequest<'_>,
    ) -> Result<(), StatusError> {
        let state = Arc::clone(&self.state);
        if !self.is_exempt_from_policies() && Policies::are_bound(&state.store) {
            let outcome = {
                let allowed = self.allowed();
                let of = self.attributes(request.operation, request.name, &allowed);
                let states = (request.new, request.old);
                state.policies.validate_admission(
                    &state.store,
                    &state.kinds(),
                    &of,
                    states,
                    request.dry_run,
                )
            };
            self.apply_outcome(outcome)?;
        }
        if !state.webhooks.may_validate(&state.store, &self.kind) {
            return Ok(());
        }
        let options = self.options(request);
        let outcome = {
            let allowed = self.allowed();
            let of = self.attributes(request.operation, request.name, &allowed);
            let webhook_request = request.for_webhooks(&of, &options);
            state
                .webhooks
                .validate(&state.store, &state.kinds, &webhook_request, request.new)
                .await
        };
        self.apply_outcome(outcome)?;
        self.check_is_served()
    }

    /// Policies do not apply to reviews: a refused review of one's own rights could break a cluster.
    fn is_exempt_from_policies(&self) -> bool {
        matches!(
            self.kind.group.as_str(),
            "authentication.k8s.io" | "authorization.k8s.io"
        )
    }

    /// Refuses a write of a kind whose CRD was deleted while webhooks were called.
    fn check_is_served(&self) -> Result<(), StatusError> {
        let (kinds, kind) = (self.state.kinds(), &self.kind);
        match kinds.find(&kind.group, &kind.version, &kind.resource) {
            Some(_) => Ok(()),
            None => Err(StatusError::no_such_path()),
        }
    }

    /// The options of a write as webhooks receive them.
    fn options(&self, request: &AdmissionRequest<'_>) -> Value {
        let mut options = Map::new();
        let kind = match request.operation {
            Operation::Create => "CreateOptions",
            Operation::Update => "UpdateOptions",
            Operation::Delete => {
                options.extend(self.deletion.clone());
                "DeleteOptions"
            }
        };
        options.insert("kind".to_owned(), kind.into());
        options.insert("apiVersion".to_owned(), "meta.k8s.io/v1".into());
        for field in ["fieldManager", "fieldValidation"] {
            if let Some(text) = self.query.text(field) {
                options.insert(field.to_owned(), text.into());
            }
        }
        if request.dry_run {
            options.insert("dryRun".to_owned(), json!(["All"]));
        }
        Value::Object(options)
    }

    fn allowed(&self) -> impl Fn(&str, &str, &str, &str) -> bool + Sync {
        |verb, group, resource, name| {
            self.state
                .authorizer()
                .allows(&self.user, verb, group, resource, name)
        }
    }

    fn attributes<'a>(
        &'a self,
        operation: Operation,
        name: &'a str,
        allowed: &'a (dyn Fn(&str, &str, &str, &str) -> bool + Sync),
    ) -> Attributes<'a> {
        Attributes {
            operation,
            kind: &self.kind,
            subresource: self.subresource.as_deref(),
            namespace: self.namespace(),
            name,
            user: &self.user,
            allowed,
        }
    }
}
