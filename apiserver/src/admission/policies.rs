//! `ValidatingAdmissionPolicy` objects: CEL expressions that refuse writes where a binding asks for it.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use super::matching::{Subject, matched, selects};
use super::versioned::{VersionedAttributes, hold};
use super::{Attributes, in_form, is_exempt};
use crate::cel::with_budget;
use crate::kinds::{Kind, Kinds};
use crate::meta;
use crate::schema::scope::compile;
use crate::status_error::StatusError;
use crate::store::{Key, Store};

const POLICIES: &str = "admissionregistration.k8s.io/validatingadmissionpolicies";
const BINDINGS: &str = "admissionregistration.k8s.io/validatingadmissionpolicybindings";

/// The policies that are bound, read again only when one has changed.
#[derive(Default)]
pub(crate) struct Policies(Mutex<Option<(Revisions, Arc<[Bound]>)>>);

type Revisions = (u64, u64);

/// A policy with a binding.
struct Bound {
    policy: Value,
    binding: Value,
}

/// A validation that a write violates.
struct PolicyViolation {
    message: String,
    reason: String,
}

impl PolicyViolation {
    /// Of no reason of its own.
    fn plain(message: String) -> Self {
        Self {
            message,
            reason: String::new(),
        }
    }
}

/// The outcome of admission policies or webhooks.
#[derive(Default)]
pub(crate) struct AdmissionOutcome {
    /// The warnings for the client.
    pub(crate) warnings: Vec<String>,
    /// The first refusal.
    pub(crate) refusal: Option<StatusError>,
}

impl AdmissionOutcome {
    /// Adds warnings that are not there yet.
    pub(super) fn warn(&mut self, warnings: Vec<String>) {
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }
}

impl Policies {
    fn bound(&self, store: &Store) -> Arc<[Bound]> {
        let revisions = (store.newest(POLICIES), store.newest(BINDINGS));
        let mut known = self.0.lock();
        if let Some((at, bound)) = known.as_ref()
            && *at == revisions
        {
            return Arc::clone(bound);
        }
        let bound: Arc<[Bound]> = read(store).into();
        *known = Some((revisions, Arc::clone(&bound)));
        bound
    }

    /// Whether any policy is bound.
    pub(crate) fn are_bound(store: &Store) -> bool {
        store.count(BINDINGS) > 0
    }

    /// Evaluates the policies for a write. `new` is null for a deletion.
    pub(crate) fn validate_admission(
        &self,
        store: &Store,
        kinds: &Kinds,
        of: &Attributes<'_>,
        (new, old): (&Value, &Value),
        dry_run: bool,
    ) -> AdmissionOutcome {
        let mut outcome = AdmissionOutcome::default();
        if is_exempt(of.kind) {
            return outcome;
        }
        let bound = self.bound(store);
        if bound.is_empty() {
            return outcome;
        }
        let namespace = namespace(store, of.namespace);
        let subject = Subject {
            of,
            new,
            old,
            namespace: &namespace,
        };
        for bound in bound.iter() {
            let (policy, binding) = (&bound.policy["spec"], &bound.binding["spec"]);
            let Some(kind) = matched(&policy["matchConstraints"], kinds, &subject) else {
                continue;
            };
            if matched(&binding["matchResources"], kinds, &subject).is_none() {
                continue;
            }
            let shown = |object| in_form((of.kind, &kind), of.subresource, object);
            let versioned = VersionedAttributes {
                of,
                kind: &kind,
                new: &shown(new),
                old: &shown(old),
                namespace: &namespace,
                dry_run,
            };
            let params = match params(store, kinds, policy, binding, of.namespace) {
                Ok(params) => params,
                Err(None) => continue,
                Err(Some(message)) => {
                    if fails(policy) {
                        bound.report(of, &PolicyViolation::plain(message), &mut outcome);
                    }
                    continue;
                }
            };
            for params in params {
                let mut violations = Vec::new();
                with_budget(|| violations = violations_of(policy, &versioned, &params));
                for violation in violations {
                    bound.report(of, &violation, &mut outcome);
                }
            }
        }
        outcome
    }
}

impl Bound {
    fn report(
        &self,
        of: &Attributes<'_>,
        violation: &PolicyViolation,
        outcome: &mut AdmissionOutcome,
    ) {
        let (policy, binding) = (
            meta::text(&self.policy, "name"),
            meta::text(&self.binding, "name"),
        );
        let about = format!("ValidatingAdmissionPolicy '{policy}' with binding '{binding}'");
        let actions = self.binding["spec"]["validationActions"].as_array();
        for action in actions.into_iter().flatten() {
            match action.as_str() {
                Some("Deny") if outcome.refusal.is_none() => {
                    let message = format!("{about} denied request: {}", violation.message);
                    // Who deletes many has named none.
                    let name = if of.name.is_empty() {
                        "Unknown"
                    } else {
                        of.name
                    };
                    let refused = StatusError::forbidden(&of.kind.group_resource(), name, &message);
                    outcome.refusal = Some(refused.because(&violation.reason, &message));
                }
                Some("Warn") => outcome.warnings.push(format!(
                    "Validation failed for {about}: {}",
                    violation.message
                )),
                _ => {}
            }
        }
    }
}

fn read(store: &Store) -> Vec<Bound> {
    let list = |table: &str| {
        let all = store.all(table).into_iter();
        all.map(|(_, stored)| stored.value())
    };
    let policies: HashMap<String, Value> = list(POLICIES)
        .map(|policy| (meta::text(&policy, "name").to_owned(), policy))
        .collect();
    list(BINDINGS)
        .filter_map(|binding| {
            let policy = policies.get(binding["spec"]["policyName"].as_str()?)?;
            Some(Bound {
                policy: policy.clone(),
                binding,
            })
        })
        .collect()
}

pub(super) fn namespace(store: &Store, name: &str) -> Value {
    let found = store.get("/namespaces", &Key::new("", name));
    let mut namespace = found.map(|stored| stored.value()).unwrap_or_default();
    if namespace.is_object() {
        meta::put_type(&mut namespace, "v1", "Namespace");
    }
    namespace
}

/// Whether what cannot be judged is refused.
fn fails(policy: &Value) -> bool {
    policy["failurePolicy"] != "Ignore"
}

/// The parameters that a binding names; null where a policy has none. `Err(None)`: there are none, and that is allowed.
fn params(
    store: &Store,
    kinds: &Kinds,
    policy: &Value,
    binding: &Value,
    namespace: &str,
) -> Result<Vec<Value>, Option<String>> {
    let (of_kind, reference) = (&policy["paramKind"], &binding["paramRef"]);
    if of_kind.is_null() || reference.is_null() {
        return Ok(vec![Value::Null]);
    }
    let text = |field: &str| of_kind[field].as_str().unwrap_or_default();
    let Some(kind) = kinds.of_object(text("apiVersion"), text("kind")) else {
        return Err(Some(
            "failed to configure binding: failed to find resource referenced by paramKind"
                .to_owned(),
        ));
    };
    let place = match (kind.namespaced, reference["namespace"].as_str()) {
        (false, _) => "",
        (true, Some(named)) => named,
        (true, None) => namespace,
    };
    let found = found_params(store, kind, place, reference);
    if found.is_empty() {
        return match reference["parameterNotFoundAction"].as_str() {
            Some("Allow") => Err(None),
            _ => Err(Some(
                "failed to configure binding: no params found for policy binding with `Deny` \
                 parameterNotFoundAction"
                    .to_owned(),
            )),
        };
    }
    Ok(found)
}

fn found_params(store: &Store, kind: &Kind, place: &str, reference: &Value) -> Vec<Value> {
    let shown = |stored: &crate::store::Stored| {
        let mut object = stored.value();
        meta::put_type(&mut object, &kind.api_version(), &kind.kind);
        object
    };
    if let Some(name) = reference["name"].as_str() {
        let found = store.get(&kind.table, &Key::new(place, name));
        return found.iter().map(|stored| shown(stored)).collect();
    }
    let inside = kind.namespaced.then_some(place);
    let all = store.all_in(&kind.table, inside);
    all.iter()
        .map(|(_, stored)| shown(stored))
        .filter(|object| selects(&reference["selector"], object))
        .collect()
}

/// The validations of a policy that a write violates.
fn violations_of(
    policy: &Value,
    versioned: &VersionedAttributes<'_>,
    params: &Value,
) -> Vec<PolicyViolation> {
    let list = |field: &str| policy[field].as_array().into_iter().flatten();
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let failure = |message: String| {
        let violation = PolicyViolation::plain(message);
        fails(policy).then_some(violation).into_iter().collect()
    };
    let mut scope = versioned.scope();
    scope.add("params", params);
    match hold(list("matchConditions"), &scope) {
        Ok(true) => {}
        Ok(false) => return Vec::new(),
        Err(error) => return failure(error),
    }
    let variables = list("variables").map(|one| (text(one, "name"), text(one, "expression")));
    scope.add_variables(variables);
    let mut violations_of = Vec::new();
    for validation in list("validations") {
        let expression = text(validation, "expression");
        match scope.holds(&compile(&expression)) {
            Ok(true) => {}
            Ok(false) => {
                let made = scope.text(&text(validation, "messageExpression"));
                let given = text(validation, "message").trim().to_owned();
                let message = made.unwrap_or(given);
                let message = if message.is_empty() {
                    format!("failed expression: {}", expression.trim())
                } else {
                    message
                };
                violations_of.push(PolicyViolation {
                    message,
                    reason: text(validation, "reason"),
                });
            }
            Err(error) => {
                let message = format!("expression '{expression}' resulted in error: {error}");
                violations_of.extend::<Vec<_>>(failure(message));
            }
        }
    }
    violations_of
}
