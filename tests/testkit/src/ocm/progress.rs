//! How far an add-on's works have come.

use std::sync::Arc;

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::Value;

use super::condition::{Condition, is_current};
use super::configuration::Reference;
use super::mirror::Mirror;
use super::names::{ADDON_LABEL, ADDON_NAMESPACE_LABEL, CONFIG_HASHES};

/// What the works say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// There are no works of the wanted configuration yet.
    Waiting,
    /// There are, and they are being applied.
    Progressing,
    /// They are applied and available.
    Completed,
}

impl State {
    /// The condition `Progressing`.
    pub(super) fn condition(self) -> Condition<'static> {
        let (status, reason, message) = match self {
            Self::Waiting => (
                "True",
                "WaitingForManifestApplied",
                "waiting for the works of the configuration",
            ),
            Self::Progressing => ("True", "Progressing", "the works are being applied"),
            Self::Completed => ("False", "Completed", "completed with no errors."),
        };
        Condition::new("Progressing", status, reason, message)
    }
}

/// The works of an add-on, also those for another cluster that hosts it, but not its hooks.
pub(super) fn works_of(addon: &DynamicObject, works: &Mirror) -> Vec<Arc<DynamicObject>> {
    let name = addon.name_any();
    let cluster = addon.namespace().unwrap_or_default();
    let deployed = format!("addon-{name}-deploy-");
    let mut works = works.all();
    works.retain(|work| {
        let of = work.labels().get(ADDON_NAMESPACE_LABEL).cloned();
        let of = of.or_else(|| work.namespace()).unwrap_or_default();
        work.labels().get(ADDON_LABEL) == Some(&name)
            && of == cluster
            && work.name_any().starts_with(&deployed)
    });
    works
}

/// What works of these configurations say.
pub(super) fn of(works: &[Arc<DynamicObject>], references: &[Reference]) -> State {
    if works.is_empty() || !works.iter().all(|work| carries(work, references)) {
        return State::Waiting;
    }
    let done = works
        .iter()
        .all(|work| is_current(work, "Applied") && is_current(work, "Available"));
    if done {
        State::Completed
    } else {
        State::Progressing
    }
}

fn carries(work: &DynamicObject, references: &[Reference]) -> bool {
    let hashes = work.annotations().get(CONFIG_HASHES);
    let hashes: Value = hashes
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    references
        .iter()
        .all(|reference| hashes[reference.key()] == reference.hash())
}
