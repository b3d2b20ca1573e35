//! Approves the agents' certificate requests. kube-controller-manager signs them.

mod decide;
mod request;

use std::collections::HashMap;
use std::sync::Arc;

use crate::caches::Caches;
use crate::csr::{claimed_installation, is_pending};
use crate::messages::{self, unapproved};
use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Api, PostParams};
use kube::{Resource, ResourceExt};
use parking_lot::Mutex;
use reeve_runtime::events::{EventRecorder, InformationalEvent};
use reeve_runtime::object::{ObjectKey, StatusReason};
use reeve_runtime::queue::Action;

/// The name in logs and metrics.
pub const CONTROLLER: &str = "addon-csr-approval";

/// Approves agents' requests, and emits an event for each request that it does not approve.
pub struct Approval {
    caches: Caches,
    events: EventRecorder,
    /// The last published reason for each request.
    reported_reasons: Mutex<HashMap<String, String>>,
}

impl Approval {
    /// No request is approved yet.
    pub fn new(caches: Caches, events: EventRecorder) -> Arc<Self> {
        Arc::new(Self {
            caches,
            events,
            reported_reasons: Mutex::default(),
        })
    }

    /// Reconciles one request.
    pub async fn reconcile(self: Arc<Self>, name: String) -> Result<Action, kube::Error> {
        let key = ObjectKey::new("", &*name);
        let request = self.caches.requests.get_valid(&key);
        let pending = request.filter(|request| is_pending(request));
        let Some(request) = pending else {
            self.reported_reasons.lock().remove(&name);
            return Ok(Action::AwaitChange);
        };
        let Some(installation) = claimed_installation(&request) else {
            return Ok(Action::AwaitChange);
        };
        let (cluster, addon) = (&installation.cluster, installation.addon);
        let verdict = if !self.caches.knows_cluster(cluster) {
            Err(unapproved::no_cluster(cluster))
        } else if !self.caches.has_addon(&installation) {
            Err(unapproved::no_addon(addon.name(), cluster))
        } else {
            decide::check(&request, &installation)
        };
        match verdict {
            Ok(()) => self.approve(&request).await,
            Err(why) => {
                self.leave(&request, why);
                Ok(Action::AwaitChange)
            }
        }
    }

    async fn approve(&self, request: &CertificateSigningRequest) -> Result<Action, kube::Error> {
        let api: Api<CertificateSigningRequest> = Api::all(self.caches.client.clone());
        let mut approved = request.clone();
        let (reason, message) = messages::APPROVED;
        let condition = CertificateSigningRequestCondition {
            type_: "Approved".to_owned(),
            status: "True".to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            last_update_time: Some(Time(Timestamp::now())),
            last_transition_time: None,
        };
        let status = approved.status.get_or_insert_default();
        status.conditions.get_or_insert_default().push(condition);
        let name = request.name_any();
        let parameters = PostParams::default();
        let written = api
            .replace_subresource("approval", &name, &parameters, &approved)
            .await;
        match written {
            Ok(_) => {
                tracing::info!(request = name, "approved");
                Ok(Action::AwaitChange)
            }
            Err(error) => match StatusReason::of(&error) {
                StatusReason::NotFound => Ok(Action::AwaitChange),
                StatusReason::Conflict => Ok(Action::Requeue),
                _ => Err(error),
            },
        }
    }

    /// Emits an event with the reason, once. The request may be approved later, when its cluster or add-on appears.
    fn leave(&self, request: &CertificateSigningRequest, why: String) {
        let name = request.name_any();
        let is_known = self.reported_reasons.lock().get(&name) == Some(&why);
        if is_known {
            return;
        }
        tracing::warn!(request = name, why, "left unapproved");
        let event = InformationalEvent {
            reason: unapproved::REASON,
            action: unapproved::REASON,
            note: &why,
            warning: true,
        };
        self.events.emit_event(&request.object_ref(&()), &event);
        self.reported_reasons.lock().insert(name, why);
    }
}
