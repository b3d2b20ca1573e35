//! Audits Gatekeeper's constraints on a cluster without Gatekeeper: installs the kinds, evaluates the constraints of the cluster's
//! constraint templates by `reeve-gatekeeper`, and writes the statuses that Gatekeeper's audit would write. What reads those statuses
//! works as with a Gatekeeper: the relay of the framework add-on, `kubectl get constraints`, dashboards.
//!
//! [`templates`] and [`constraints`] load the engine from what they [`follow`]. [`kinds`] decides which kinds are audited; each of them
//! has one stream ([`objects`]): every listed or changed object is reviewed by all constraints and dropped, and only its violations are
//! kept ([`results`]). What is made of an object by [`configuration`] is reviewed with it. [`publish`] writes the status of a constraint when its violations have changed. Nothing is listed again in
//! intervals: only a change of a constraint, of its template, of a Namespace that it selects by, or of the inventory of a referential
//! one lists kinds again. [`admission`] answers requests with the same engine, behind a [`webhook`] of the process. [`once`] audits for a dry run. [`live`] hands the cluster over to a real Gatekeeper.

mod admission;
mod audit;
mod configuration;
mod configured;
mod constraints;
mod definitions;
mod error;
mod follow;
mod inventory;
mod kinds;
mod live;
mod messages;
mod metrics;
mod namespaces;
mod objects;
mod once;
mod pace;
mod publish;
mod quarantine;
mod redaction;
mod resources;
mod results;
mod state;
mod template_status;
mod templates;
pub mod webhook;

use std::str::FromStr;

use futures::future::BoxFuture;
use kube::Client;
use reeve_runtime::CancellationToken;
use reeve_runtime::metrics::ControllerMetrics;
use reeve_runtime::supervisor::TaskError;

pub use admission::{ACCOUNT, Admission};
pub use definitions::constraint_templates_crd;
pub use metrics::{AuditGauges, METRICS};
pub use once::{Objects, OneAudit};
pub use reeve_gatekeeper::admission::Answer;
pub use reeve_gatekeeper::audit::VIOLATIONS_LIMIT;
pub use reeve_gatekeeper::client::{ConstraintKey, Engines};
pub use reeve_gatekeeper::external_data::ExternalData;

/// Who evaluates the constraints of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Nobody but a Gatekeeper, if the cluster has one.
    #[default]
    Off,
    /// A Gatekeeper while the cluster has one, otherwise the audit of this process.
    Auto,
    /// The audit of this process.
    Materialised,
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            // Both leave the constraints to a Gatekeeper.
            "off" | "relay" => Ok(Self::Off),
            "auto" => Ok(Self::Auto),
            "materialised" | "materialized" => Ok(Self::Materialised),
            _ => Err(messages::unknown_mode(text)),
        }
    }
}

/// How constraints are audited.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who evaluates.
    pub mode: Mode,
    /// The name of this process in `status.byPod`: its Pod's name.
    pub id: String,
    /// How many violations a status lists.
    pub violations_limit: usize,
    /// Which engines evaluate templates.
    pub engines: Engines,
    /// What providers of external data answer.
    pub external_data: ExternalData,
    /// What answers the admission requests of the cluster with the constraints, with [`Mode::Materialised`]; without it they refuse
    /// nothing.
    pub admission: Option<Admission>,
    /// What the audit counts.
    pub gauges: AuditGauges,
}

impl Options {
    /// What this process does with constraints, for `status.byPod`.
    pub(crate) fn operations(&self) -> &'static [&'static str] {
        if self.admission.is_some() {
            &["audit", "status", "webhook"]
        } else {
            &["audit", "status"]
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            id: "reeve".to_owned(),
            violations_limit: VIOLATIONS_LIMIT,
            engines: Engines::default(),
            external_data: ExternalData::default(),
            admission: None,
            gauges: AuditGauges::default(),
        }
    }
}

/// Audits the constraints of a cluster until `stop`, if the mode lets it.
pub fn run(
    client: Client,
    options: Options,
    metrics: ControllerMetrics,
    stop: CancellationToken,
) -> BoxFuture<'static, Result<(), TaskError>> {
    Box::pin(async move {
        match options.mode {
            Mode::Off => {
                stop.cancelled().await;
                Ok(())
            }
            Mode::Auto => live::run(client, options, metrics, stop).await,
            Mode::Materialised => audit::run(client, options, &metrics, stop).await,
        }
    })
}
