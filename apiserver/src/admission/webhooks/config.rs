//! Configurations of webhooks, as they are kept.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;

use crate::store::Store;

pub(super) const MUTATING: &str = "admissionregistration.k8s.io/mutatingwebhookconfigurations";
pub(super) const VALIDATING: &str = "admissionregistration.k8s.io/validatingwebhookconfigurations";

/// The API versions of reviews that can be sent, by the names that configurations have for them.
const VERSIONS: [(&str, &str); 2] = [
    ("v1", "admission.k8s.io/v1"),
    ("v1beta1", "admission.k8s.io/v1beta1"),
];
/// The default timeout of a webhook in seconds.
const DEFAULT_TIMEOUT: u64 = 10;
/// The maximum timeout in seconds.
const MAX_TIMEOUT: u64 = 30;

/// A webhook: one entry of a configuration.
pub(super) struct Hook {
    pub(super) name: String,
    /// The timeout in seconds.
    pub(super) seconds: u64,
    /// The first API version of reviews in its list that is known.
    pub(super) review_version: Option<&'static str>,
    /// The whole entry.
    pub(super) entry: Value,
}

impl Hook {
    fn read(entry: Value) -> Self {
        let seconds = entry["timeoutSeconds"].as_u64().unwrap_or(DEFAULT_TIMEOUT);
        let versions = entry["admissionReviewVersions"].as_array();
        let review_version = versions.into_iter().flatten().find_map(|version| {
            let mut known = VERSIONS.iter();
            let found = known.find(|(name, _)| version == name);
            found.map(|(_, version)| *version)
        });
        Self {
            name: entry["name"].as_str().unwrap_or_default().to_owned(),
            seconds: seconds.clamp(1, MAX_TIMEOUT),
            review_version,
            entry,
        }
    }

    fn text(&self, field: &str) -> &str {
        self.entry[field].as_str().unwrap_or_default()
    }

    /// Whether a write goes on of which it cannot be asked.
    pub(super) fn ignores_failure(&self) -> bool {
        self.text("failurePolicy") == "Ignore"
    }

    /// Whether it is asked again when others have changed the object after it.
    pub(super) fn is_reinvoked(&self) -> bool {
        self.text("reinvocationPolicy") == "IfNeeded"
    }

    /// Whether it may be asked about what is not kept.
    pub(super) fn has_no_side_effects(&self) -> bool {
        matches!(self.text("sideEffects"), "None" | "NoneOnDryRun")
    }

    /// The timeout of a call.
    pub(super) fn timeout(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    /// The elements of one of its lists.
    pub(super) fn list(&self, field: &str) -> impl Iterator<Item = &Value> {
        self.entry[field].as_array().into_iter().flatten()
    }
}

/// The webhooks of one table, by the names of their configurations, read again only when one has changed.
#[derive(Default)]
pub(super) struct Hooks(Mutex<Option<(u64, Arc<[Hook]>)>>);

impl Hooks {
    pub(super) fn of(&self, store: &Store, table: &str) -> Arc<[Hook]> {
        let revision = store.newest(table);
        let mut known = self.0.lock();
        if let Some((at, hooks)) = known.as_ref()
            && *at == revision
        {
            return Arc::clone(hooks);
        }
        let hooks: Arc<[Hook]> = read(store, table).into();
        *known = Some((revision, Arc::clone(&hooks)));
        hooks
    }
}

fn read(store: &Store, table: &str) -> Vec<Hook> {
    let all = store.all(table);
    let entries = all.iter().flat_map(|(_, stored)| {
        let mut configuration = stored.value();
        match configuration["webhooks"].take() {
            Value::Array(entries) => entries,
            _ => Vec::new(),
        }
    });
    entries.map(Hook::read).collect()
}
