//! Those who look at a write before it is done, and may change or refuse it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Call;
use crate::admission::{Action, Attributes, Occasion, Outcome, Policies, Webhooks};
use crate::failure::Failure;

/// What is about to be done to an object, or to the part of it that the path names.
pub(crate) struct Deed<'a> {
    pub(crate) action: Action,
    /// The object's name, as it was asked for.
    pub(crate) name: &'a str,
    /// What is to be, as it is sent; null of a deletion.
    pub(crate) new: &'a Value,
    /// What was, as it is sent; null of a new object.
    pub(crate) old: &'a Value,
    pub(crate) dry_run: bool,
}

impl<'a> Deed<'a> {
    /// What webhooks are asked about.
    fn occasion(&self, of: &'a Attributes<'a>, options: &'a Value) -> Occasion<'a> {
        Occasion {
            of,
            old: self.old,
            options,
            dry_run: self.dry_run,
        }
    }
}

impl Call {
    /// Lets those look at a write in this process who may change or refuse it.
    pub(super) fn admit(
        &self,
        action: Action,
        name: &str,
        new: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), Failure> {
        if self.state.options.admission.is_empty() {
            return Ok(());
        }
        let allowed = self.allowed();
        let of = self.attributes(action, name, &allowed);
        for admission in &self.state.options.admission {
            admission.admit(&of, new, old)?;
        }
        Ok(())
    }

    /// Whether somebody may want to change what is written.
    pub(crate) fn may_be_mutated(&self) -> bool {
        Webhooks::may_mutate(&self.state.store, &self.kind)
    }

    /// Whether somebody may want to refuse what is written.
    pub(crate) fn may_be_judged(&self) -> bool {
        Policies::are_bound(&self.state.store)
            || Webhooks::may_validate(&self.state.store, &self.kind)
    }

    /// What webhooks make of what is to be written; nothing if they leave it as it is.
    pub(crate) async fn mutated(&mut self, deed: &Deed<'_>) -> Result<Option<Value>, Failure> {
        let state = Arc::clone(&self.state);
        let options = self.options(deed);
        let mutated = {
            let allowed = self.allowed();
            let of = self.attributes(deed.action, deed.name, &allowed);
            let occasion = deed.occasion(&of, &options);
            state
                .webhooks
                .mutate(&state.store, &state.kinds, &occasion, deed.new)
                .await
        };
        self.heed(mutated.outcome)?;
        self.check_is_served()?;
        Ok(mutated.object)
    }

    /// Keeps what is said, and refuses what is refused.
    fn heed(&mut self, outcome: Outcome) -> Result<(), Failure> {
        self.warnings.extend(outcome.warnings);
        let Some(refusal) = outcome.refusal else {
            return Ok(());
        };
        self.refused_with.lock().clone_from(&self.warnings);
        Err(refusal)
    }

    /// Lets the policies of the cluster judge a write, and then its webhooks.
    pub(crate) async fn judge(&mut self, deed: &Deed<'_>) -> Result<(), Failure> {
        let state = Arc::clone(&self.state);
        if !self.is_exempt_from_policies() && Policies::are_bound(&state.store) {
            let outcome = {
                let allowed = self.allowed();
                let of = self.attributes(deed.action, deed.name, &allowed);
                let states = (deed.new, deed.old);
                state
                    .policies
                    .judge(&state.store, &state.kinds(), &of, states, deed.dry_run)
            };
            self.heed(outcome)?;
        }
        if !Webhooks::may_validate(&state.store, &self.kind) {
            return Ok(());
        }
        let options = self.options(deed);
        let outcome = {
            let allowed = self.allowed();
            let of = self.attributes(deed.action, deed.name, &allowed);
            let occasion = deed.occasion(&of, &options);
            state
                .webhooks
                .validate(&state.store, &state.kinds, &occasion, deed.new)
                .await
        };
        self.heed(outcome)?;
        self.check_is_served()
    }

    /// Who may not even ask who he is could break a cluster.
    fn is_exempt_from_policies(&self) -> bool {
        matches!(
            self.kind.group.as_str(),
            "authentication.k8s.io" | "authorization.k8s.io"
        )
    }

    /// Refuses what nobody would find any more: the definition has gone while others were asked.
    fn check_is_served(&self) -> Result<(), Failure> {
        let (kinds, kind) = (self.state.kinds(), &self.kind);
        match kinds.find(&kind.group, &kind.version, &kind.resource) {
            Some(_) => Ok(()),
            None => Err(Failure::no_such_path()),
        }
    }

    /// How something is written, as webhooks are told.
    fn options(&self, deed: &Deed<'_>) -> Value {
        let mut options = Map::new();
        let kind = match deed.action {
            Action::Create => "CreateOptions",
            Action::Update => "UpdateOptions",
            Action::Delete => {
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
        if deed.dry_run {
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
        action: Action,
        name: &'a str,
        allowed: &'a (dyn Fn(&str, &str, &str, &str) -> bool + Sync),
    ) -> Attributes<'a> {
        Attributes {
            action,
            kind: &self.kind,
            subresource: self.subresource.as_deref(),
            namespace: self.namespace(),
            name,
            user: &self.user,
            allowed,
        }
    }
}
