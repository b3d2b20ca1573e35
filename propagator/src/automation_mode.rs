//! The mode of a `PolicyAutomation`: when its job runs.

use kube::ResourceExt;
use reeve_api::PolicyAutomation;

/// Makes an automation run once, in any mode.
pub const RERUN_ANNOTATION: &str = "policy.open-cluster-management.io/rerun";

/// When the job of an automation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutomationMode {
    /// Now: the user has annotated the automation.
    Manual,
    /// At the first violation; then never again.
    Once,
    /// At every new violation.
    EveryEvent,
    /// Jobs are never run.
    Disabled,
}

impl AutomationMode {
    /// The mode of an automation. The annotation for one run wins over the spec.
    pub fn of(automation: &PolicyAutomation) -> Self {
        let annotations = automation.metadata.annotations.as_ref();
        let rerun = annotations.and_then(|annotations| annotations.get(RERUN_ANNOTATION));
        if rerun.is_some_and(|value| value == "true") {
            return Self::Manual;
        }
        match automation.spec.mode.as_str() {
            "once" => Self::Once,
            "everyEvent" => Self::EveryEvent,
            _ => Self::Disabled,
        }
    }

    /// The mode as the names and annotations of jobs have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Once => "once",
            Self::EveryEvent => "everyEvent",
            Self::Disabled => "disabled",
        }
    }
}

/// Whether a change of an automation can make a job necessary. A change of its status cannot.
pub fn is_relevant_change(old: Option<&PolicyAutomation>, new: &PolicyAutomation) -> bool {
    let Some(old) = old else { return true };
    AutomationMode::of(new) == AutomationMode::Manual
        || old.spec != new.spec
        || old.owner_references() != new.owner_references()
}
