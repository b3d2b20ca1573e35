//! About which writes a webhook is asked, and in which form.

use std::sync::Arc;

use super::config::Hook;
use crate::admission::matching::{
    Subject, Versions, kind_for as kind_for_rules, of_namespace, of_object, of_rule,
};
use crate::admission::versioned::{VersionedAttributes, hold};
use crate::cel::with_budget;
use crate::kinds::{Kind, Kinds};

/// The kind, in the version that the webhook has named, as which a write is shown to it; none if it is not about it.
pub(super) fn kind_for(hook: &Hook, kinds: &Kinds, subject: &Subject<'_>) -> Option<Arc<Kind>> {
    let selected = of_namespace(&hook.entry["namespaceSelector"], subject)
        && of_object(&hook.entry["objectSelector"], subject);
    if !selected {
        return None;
    }
    let versions = Versions::of(&hook.entry["matchPolicy"]);
    kind_for_rules(versions, kinds, subject.of, |kind| {
        hook.list("rules")
            .any(|rule| of_rule(rule, subject.of, kind))
    })
}

/// Whether the `matchConditions` of a webhook hold. The error names the one that cannot be evaluated.
pub(super) fn holds(hook: &Hook, seen: &VersionedAttributes<'_>) -> Result<bool, String> {
    if hook.list("matchConditions").next().is_none() {
        return Ok(true);
    }
    let mut outcome = Ok(true);
    with_budget(|| outcome = hold(hook.list("matchConditions"), &seen.scope()));
    outcome
}
