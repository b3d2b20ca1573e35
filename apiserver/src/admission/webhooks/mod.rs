//! Webhooks: programs elsewhere that are asked about writes, and may change or refuse them.

mod client;
mod config;
mod in_process;
mod matching;
mod patch;
mod response;
mod review;
mod tls;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::join_all;
use reeve_go_compat::runes::quote;
use serde_json::Value;

use super::matching::Subject;
use super::policies::{AdmissionOutcome, namespace};
use super::versioned::VersionedAttributes;
use super::{Attributes, in_form, is_exempt};
use crate::decode::reread;
use crate::kinds::{Kind, KindRegistry};
use crate::meta;
use crate::status_error::StatusError;
use crate::store::Store;
use client::WebhookClients;
use config::{Hook, Hooks, MUTATING, VALIDATING};
pub use in_process::{InProcessWebhook, WebhookAnswer, WebhookHandler};
use patch::patched;
use response::{Expected, WebhookResponse};

/// All webhooks of a server.
#[derive(Default)]
pub(crate) struct Webhooks {
    mutating: Hooks,
    validating: Hooks,
    callers: WebhookClients,
    in_process: Vec<InProcessWebhook>,
}

/// A write that webhooks are asked about.
pub(crate) struct WebhookRequest<'a> {
    pub(crate) of: &'a Attributes<'a>,
    /// The object as it was; null of a new one.
    pub(crate) old: &'a Value,
    /// The options of the write, such as `CreateOptions`.
    pub(crate) options: &'a Value,
    /// Whether nothing is kept.
    pub(crate) dry_run: bool,
}

/// The outcome of mutating webhooks.
#[derive(Default)]
pub(crate) struct MutationOutcome {
    /// It, if it has been changed.
    pub(crate) object: Option<Value>,
    /// The warnings and the refusal.
    pub(crate) outcome: AdmissionOutcome,
}

/// A webhook that is to be asked, with what it is shown.
struct WebhookCall<'a> {
    hook: &'a Hook,
    kind: Arc<Kind>,
    new: Value,
    old: Value,
}

impl Webhooks {
    /// The webhooks of a server, with those of this process.
    pub(crate) fn new(in_process: Vec<InProcessWebhook>) -> Self {
        Self {
            in_process,
            ..Self::default()
        }
    }

    /// Whether a mutating webhook exists that may be called.
    pub(crate) fn may_mutate(&self, store: &Store, kind: &Kind) -> bool {
        self.may_call(&self.mutating, store, (MUTATING, kind))
    }

    /// Whether a validating webhook exists that may be called.
    pub(crate) fn may_validate(&self, store: &Store, kind: &Kind) -> bool {
        self.may_call(&self.validating, store, (VALIDATING, kind))
    }

    fn may_call(&self, hooks: &Hooks, store: &Store, (table, kind): (&str, &Kind)) -> bool {
        !is_exempt(kind)
            && store.count(table) > 0
            && (self.in_process.is_empty()
                || hooks
                    .of(store, table)
                    .iter()
                    .any(|hook| in_process::handles(&self.in_process, hook, kind)))
    }

    /// Calls the mutating webhooks, one after the other. `new` is null for a deletion.
    pub(crate) async fn mutate(
        &self,
        store: &Store,
        kinds: &KindRegistry,
        request: &WebhookRequest<'_>,
        new: &Value,
    ) -> MutationOutcome {
        let mut mutated = MutationOutcome::default();
        if let Err(failure) = self
            .mutations(store, kinds, request, new, &mut mutated)
            .await
        {
            mutated.outcome.refusal = Some(failure);
        }
        mutated
    }

    async fn mutations(
        &self,
        store: &Store,
        kinds: &KindRegistry,
        request: &WebhookRequest<'_>,
        new: &Value,
        mutated: &mut MutationOutcome,
    ) -> Result<(), StatusError> {
        let hooks = self.mutating.of(store, MUTATING);
        let namespace = namespace(store, request.of.namespace);
        let (mut invoked, mut again) = (BTreeSet::new(), BTreeSet::new());
        for round in 0..2 {
            for (place, hook) in hooks.iter().enumerate() {
                if round > 0 && !again.remove(&place) {
                    continue;
                }
                if !in_process::handles(&self.in_process, hook, request.of.kind) {
                    continue;
                }
                let object = mutated.object.as_ref().unwrap_or(new);
                let Some(call) = called(kinds, hook, request, object, &namespace)? else {
                    continue;
                };
                if let Some(object) = self.mutation(store, request, &call, mutated).await? {
                    mutated.object = Some(object);
                    again.extend(invoked.iter().copied());
                }
                if hook.is_reinvoked() {
                    invoked.insert(place);
                }
            }
            if again.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Calls one webhook and returns the object if it changed it.
    async fn mutation(
        &self,
        store: &Store,
        request: &WebhookRequest<'_>,
        call: &WebhookCall<'_>,
        mutated: &mut MutationOutcome,
    ) -> Result<Option<Value>, StatusError> {
        let name = &call.hook.name;
        let answer = match self.call(store, request, call, true).await {
            Ok(answer) => answer,
            Err(why) => return uncalled(call.hook, &why).map(|()| None),
        };
        mutated.outcome.warn(answer.warnings);
        if let Some(refusal) = answer.refusal {
            return Err(refusal);
        }
        let Some(patch) = answer.patch else {
            return Ok(None);
        };
        if call.new.is_null() {
            return Err(StatusError::internal_because(&format!(
                "admission webhook {} attempted to modify the object, which is not supported for this operation",
                quote(name)
            )));
        }
        let patch = match patch::read(&patch) {
            Ok(patch) => patch,
            Err(why) => return uncalled(call.hook, &why).map(|()| None),
        };
        if patch.is_empty() {
            return Ok(None);
        }
        if answer.patch_type != "JSONPatch" {
            let why = format!("unsupported patch type {}", quote(&answer.patch_type));
            return uncalled(call.hook, &why).map(|()| None);
        }
        let patched = patched(&call.new, &patch)?;
        if patched == call.new {
            return Ok(None);
        }
        let of = request.of;
        let object = reread(&call.kind, of.subresource, patched)?;
        let kept = in_form((&call.kind, of.kind), of.subresource, &object);
        Ok(Some(kept.into_owned()))
    }

    /// Calls the validating webhooks, all at once. `new` is null for a deletion.
    pub(crate) async fn validate(
        &self,
        store: &Store,
        kinds: &KindRegistry,
        request: &WebhookRequest<'_>,
        new: &Value,
    ) -> AdmissionOutcome {
        let mut outcome = AdmissionOutcome::default();
        let hooks = self.validating.of(store, VALIDATING);
        let namespace = namespace(store, request.of.namespace);
        let mut calls = Vec::new();
        let handled = |hook: &&Hook| in_process::handles(&self.in_process, hook, request.of.kind);
        for hook in hooks.iter().filter(handled) {
            match called(kinds, hook, request, new, &namespace) {
                Ok(call) => calls.extend(call),
                Err(failure) => {
                    outcome.refusal = Some(failure);
                    return outcome;
                }
            }
        }
        let asked = calls
            .iter()
            .map(|call| self.call(store, request, call, false));
        for (call, answer) in calls.iter().zip(join_all(asked).await) {
            let refusal = match answer {
                Ok(answer) => {
                    outcome.warn(answer.warnings);
                    answer.refusal
                }
                Err(why) => uncalled(call.hook, &why).err(),
            };
            outcome.refusal = outcome.refusal.or(refusal);
        }
        outcome
    }

    /// Calls a webhook. The error is the reason of a failed call or of an invalid response.
    async fn call(
        &self,
        store: &Store,
        request: &WebhookRequest<'_>,
        call: &WebhookCall<'_>,
        may_patch: bool,
    ) -> Result<WebhookResponse, String> {
        let hook = call.hook;
        let Some(api_version) = hook.review_version else {
            return Err("webhook does not accept known AdmissionReview versions".to_owned());
        };
        let uid = meta::uid().map_err(|error| error.to_string())?;
        let states = (&call.new, &call.old);
        let review = review::call(request, &call.kind, (api_version, &uid), states);
        if let Some(own) = in_process::of(&self.in_process, hook) {
            return own.call(hook, review).await;
        }
        let answer = self.callers.ask(store, hook, &review).await;
        let answer = answer.map_err(|why| format!("failed to call webhook: {why}"))?;
        let expected = Expected {
            hook: &hook.name,
            api_version,
            uid: &uid,
            may_patch,
        };
        response::read(&expected, &answer)
    }
}

/// A webhook with what it is shown; nothing if it is not to be asked.
fn called<'a>(
    kinds: &KindRegistry,
    hook: &'a Hook,
    request: &WebhookRequest<'_>,
    new: &Value,
    namespace: &Value,
) -> Result<Option<WebhookCall<'a>>, StatusError> {
    let of = request.of;
    let subject = Subject {
        of,
        new,
        old: request.old,
        namespace,
    };
    let Some(kind) = matching::kind_for(hook, &kinds.current(), &subject) else {
        return Ok(None);
    };
    let shown = |object| in_form((of.kind, &kind), of.subresource, object).into_owned();
    let (new, old) = (shown(new), shown(request.old));
    let seen = VersionedAttributes {
        of,
        kind: &kind,
        new: &new,
        old: &old,
        namespace,
        dry_run: request.dry_run,
    };
    match matching::holds(hook, &seen) {
        Ok(true) => {}
        Ok(false) => return Ok(None),
        Err(_) if hook.ignores_failure() => return Ok(None),
        Err(why) => {
            return Err(StatusError::forbidden(
                &of.kind.group_resource(),
                of.name,
                &why,
            ));
        }
    }
    if request.dry_run && !hook.has_no_side_effects() {
        return Err(StatusError::bad_request(format!(
            "admission webhook {} does not support dry run",
            quote(&hook.name)
        )));
    }
    Ok(Some(WebhookCall {
        hook,
        kind,
        new,
        old,
    }))
}

/// Applies the failure policy to a failed call.
fn uncalled(hook: &Hook, why: &str) -> Result<(), StatusError> {
    let why = format!("failed calling webhook {}: {why}", quote(&hook.name));
    if hook.ignores_failure() {
        tracing::warn!("{why}; it is ignored");
        return Ok(());
    }
    Err(StatusError::internal_because(&why))
}
