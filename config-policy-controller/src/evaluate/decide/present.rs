//! Objects that exist and should exist.

use std::sync::Arc;

use reeve_api::RemediationAction;
use reeve_api::configuration_policy::{FieldDifference, ObjectProperties};
use serde_json::Value;

use super::{Decision, FoundBy, PendingUpdate, RecordedDiff, RelatedEntry, Step, Target, fields};
use crate::evaluate::cluster::{RecreateError, WriteError, text};
use crate::evaluate::compare;
use crate::evaluate::desired::Recreate;
use crate::evaluate::diff::{self, RecordDiff, Sensitivity};
use crate::evaluate::memo::ComparisonMemo;
use crate::messages::{self, Reason};
use crate::status::finding::ObjectEvent;

/// The state of an existing object, before it becomes events and properties.
struct ObjectState {
    compliant: bool,
    /// The reason for a violation, where the reason has its own text.
    message: String,
    /// How far writing got.
    written: Written,
    matches_after_dry_run: bool,
    diff: RecordedDiff,
    fields: Vec<FieldDifference>,
    lasting: Lasting,
    failure: Option<String>,
    /// Why no dry run was sent.
    unverified: Option<String>,
}

/// How far writing got.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    /// Nothing was tried.
    NotTried,
    /// It was necessary, and failed.
    Tried,
    /// The object was changed although only defaults were missing: no violation came before.
    Quietly,
    /// The object was changed.
    Done,
}

/// Whether the state holds until the object changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lasting {
    UntilChanged,
    No,
}

impl ObjectState {
    fn compliant() -> Self {
        Self {
            compliant: true,
            message: String::new(),
            written: Written::NotTried,
            matches_after_dry_run: false,
            diff: RecordedDiff::default(),
            fields: Vec::new(),
            lasting: Lasting::UntilChanged,
            failure: None,
            unverified: None,
        }
    }

    fn violation(message: String) -> Self {
        Self {
            compliant: false,
            message,
            ..Self::compliant()
        }
    }
}

/// Compares, or takes the result from the memo.
pub(super) fn first(target: &Target<'_>, live: &Arc<Value>) -> Step {
    if let Some(memory) = recall(target, live) {
        return decided(
            target,
            live,
            ObjectState {
                compliant: memory.compliant,
                message: memory.message.clone(),
                matches_after_dry_run: memory.matches_after_dry_run,
                diff: RecordedDiff {
                    in_status: memory.diff.clone(),
                    in_log: None,
                },
                fields: memory.fields.clone(),
                ..ObjectState::compliant()
            },
        );
    }
    let comparison = compare::compare(target.desired.content(), live);
    let fields = fields::shown(target, &comparison.mismatches);
    if let Some(error) = &comparison.error {
        return decided(
            target,
            live,
            ObjectState {
                written: Written::Tried,
                // It quotes what is desired.
                ..ObjectState::violation(target.desired.secrets.redact(&error.to_string()))
            },
        );
    }
    let diff = if comparison.status_mismatch {
        difference(target, live, &comparison.candidate)
    } else {
        RecordedDiff::default()
    };
    if comparison.is_conclusive() {
        let compliant = !comparison.status_mismatch;
        return decided(
            target,
            live,
            ObjectState {
                compliant,
                diff,
                fields: if compliant { Vec::new() } else { fields },
                ..ObjectState::compliant()
            },
        );
    }
    // An update that is certainly needed is sent at once: its response says what a dry run would.
    let is_certain = comparison.update_needed && !comparison.missing;
    let is_update = target.mode == RemediationAction::Enforce
        && is_certain
        && target.desired.recreate != Recreate::Always;
    let update = Box::new(PendingUpdate {
        live: Arc::clone(live),
        candidate: comparison.candidate,
        differs: comparison.update_needed,
        status_differs: comparison.status_mismatch,
        is_verified: false,
        diff,
        fields,
    });
    if is_update {
        Step::Update(update)
    } else {
        Step::DryRun(update)
    }
}

/// The step after a dry-run update.
pub fn after_dry_run(
    target: &Target<'_>,
    update: PendingUpdate,
    answer: Result<&Value, &WriteError>,
) -> Step {
    let live = Arc::clone(&update.live);
    match answer {
        Ok(result) => after_accepted(target, update, result),
        Err(WriteError::Invalid(_)) => after_invalid(target, update),
        Err(WriteError::Forbidden(text)) if target.mode == RemediationAction::Inform => {
            unverified(target, update, text)
        }
        Err(refused) => {
            let message = update_text(target, refused)
                .unwrap_or_else(|| messages::dry_run_error(&target.location.name, refused.text()));
            let bad_request = matches!(refused, WriteError::BadRequest(_));
            decided(
                target,
                &live,
                ObjectState {
                    written: if update.differs {
                        Written::Tried
                    } else {
                        Written::NotTried
                    },
                    diff: update.diff,
                    fields: update.fields,
                    lasting: if bad_request {
                        Lasting::UntilChanged
                    } else {
                        Lasting::No
                    },
                    failure: (!bad_request).then(|| message.clone()),
                    ..ObjectState::violation(message)
                },
            )
        }
    }
}

/// The controller may not request updates in inform mode, so the comparison alone decides. What may be equal counts as
/// equal.
fn unverified(target: &Target<'_>, update: PendingUpdate, text: &str) -> Step {
    let live = Arc::clone(&update.live);
    let compliant = !(update.differs || update.status_differs);
    let diff = if compliant {
        RecordedDiff::default()
    } else {
        difference(target, &live, &update.candidate)
    };
    decided(
        target,
        &live,
        ObjectState {
            compliant,
            diff,
            fields: if compliant { Vec::new() } else { update.fields },
            lasting: Lasting::No,
            unverified: Some(messages::unverified(text)),
            ..ObjectState::compliant()
        },
    )
}

fn after_accepted(target: &Target<'_>, update: PendingUpdate, result: &Value) -> Step {
    let live = Arc::clone(&update.live);
    let (before, after) = (
        compare::without_noise(&live),
        compare::without_noise(result),
    );
    // A kind without a status subresource: the API server would store the desired status, so it is not the live one.
    let stores_status = target.desired.content().definition.contains_key("status")
        && before.get("status") != after.get("status");
    let is_stored_already = before == after;
    let diff = if is_stored_already {
        update.diff.clone()
    } else {
        difference(target, &live, result)
    };
    let fields = if update.fields.is_empty() && !is_stored_already {
        // The comparison took a missing field for a default, which it is not.
        fields::between(target, &live, result)
    } else {
        update.fields.clone()
    };
    let update = PendingUpdate {
        status_differs: update.status_differs || stores_status,
        is_verified: true,
        fields,
        ..update
    };
    if is_stored_already || stores_status && compare::with_status_of(&after, &before) == before {
        return decided(
            target,
            &live,
            ObjectState {
                compliant: !update.status_differs,
                matches_after_dry_run: is_stored_already,
                fields: if update.status_differs {
                    update.fields
                } else {
                    Vec::new()
                },
                diff,
                ..ObjectState::compliant()
            },
        );
    }
    match (target.mode, target.desired.recreate) {
        (RemediationAction::Inform, _) => decided(
            target,
            &live,
            ObjectState {
                diff,
                fields: update.fields,
                ..ObjectState::violation(String::new())
            },
        ),
        (RemediationAction::Enforce, Recreate::Always) => {
            Step::Recreate(Box::new(PendingUpdate { diff, ..update }))
        }
        (RemediationAction::Enforce, _) => Step::Update(Box::new(PendingUpdate { diff, ..update })),
    }
}

fn after_invalid(target: &Target<'_>, update: PendingUpdate) -> Step {
    let live = Arc::clone(&update.live);
    let diff = difference(target, &live, &update.candidate);
    match (target.mode, target.desired.recreate) {
        (RemediationAction::Inform, _) => decided(
            target,
            &live,
            ObjectState {
                diff,
                fields: update.fields,
                ..ObjectState::violation(String::new())
            },
        ),
        (RemediationAction::Enforce, Recreate::Never) => decided(
            target,
            &live,
            ObjectState {
                diff,
                fields: update.fields,
                ..ObjectState::violation(messages::immutable(&target.in_words()))
            },
        ),
        (RemediationAction::Enforce, _) => {
            Step::Recreate(Box::new(PendingUpdate { diff, ..update }))
        }
    }
}

/// The decision after an update.
pub fn after_update(
    target: &Target<'_>,
    update: PendingUpdate,
    answer: Result<&Value, &WriteError>,
) -> Step {
    if !update.is_verified {
        return after_first_update(target, update, answer);
    }
    match answer {
        Ok(updated) => after_write(target, update, updated),
        Err(refused) => {
            let message = update_text(target, refused)
                .unwrap_or_else(|| messages::cannot_update(&target.in_words(), refused.text()));
            after_failure(target, update, message)
        }
    }
}

/// The decision after an update without a dry run before it. What the API server answers is judged as if it were to a dry run.
fn after_first_update(
    target: &Target<'_>,
    update: PendingUpdate,
    answer: Result<&Value, &WriteError>,
) -> Step {
    match answer {
        Err(refused @ WriteError::Conflict(_)) => {
            let message = messages::cannot_update(&target.in_words(), refused.text());
            after_failure(target, update, message)
        }
        Err(refused) => after_dry_run(target, update, Err(refused)),
        Ok(updated) => {
            // A dry run has the version of the live object.
            let mut result = updated.clone();
            if let Some(version) = update.live.pointer("/metadata/resourceVersion") {
                result["metadata"]["resourceVersion"] = version.clone();
            }
            match after_accepted(target, update, &result) {
                Step::Update(verified) => after_write(target, *verified, updated),
                unchanged => unchanged,
            }
        }
    }
}

/// The decision after deleting and creating the object.
pub fn after_recreate(
    target: &Target<'_>,
    update: PendingUpdate,
    answer: Result<&Value, &RecreateError>,
) -> Step {
    let object = target.in_words();
    match answer {
        Ok(created) => after_write(target, update, created),
        Err(RecreateError::Delete(refused)) => {
            let message = messages::cannot_delete_to_recreate(&object, refused.text());
            after_failure(target, update, message)
        }
        Err(RecreateError::Create(refused)) => {
            let message = update_text(target, refused)
                .unwrap_or_else(|| messages::cannot_recreate(&object, refused.text()));
            after_failure(target, update, message)
        }
        Err(RecreateError::StillThere) => {
            after_failure(target, update, messages::recreate_timed_out(&object))
        }
    }
}

fn after_write(target: &Target<'_>, update: PendingUpdate, written: &Value) -> Step {
    decided(
        target,
        &Arc::new(written.clone()),
        ObjectState {
            compliant: !update.status_differs,
            written: if update.differs {
                Written::Done
            } else {
                Written::Quietly
            },
            fields: if update.status_differs {
                update.fields
            } else {
                Vec::new()
            },
            diff: update.diff,
            lasting: if update.status_differs {
                Lasting::No
            } else {
                Lasting::UntilChanged
            },
            ..ObjectState::compliant()
        },
    )
}

fn after_failure(target: &Target<'_>, update: PendingUpdate, message: String) -> Step {
    decided(
        target,
        &update.live,
        ObjectState {
            written: if update.differs {
                Written::Tried
            } else {
                Written::NotTried
            },
            diff: update.diff,
            fields: update.fields,
            lasting: Lasting::No,
            failure: Some(message.clone()),
            ..ObjectState::violation(message)
        },
    )
}

/// The message of refusals that is the same for every request.
fn update_text(target: &Target<'_>, refused: &WriteError) -> Option<String> {
    match refused {
        WriteError::NotFound(_) => Some(messages::gone(&target.desired.kind.kind)),
        other if other.text().contains(messages::STRICT_DECODING) => Some(
            messages::validation_error(&target.location.name, other.text()),
        ),
        _ => None,
    }
}

fn recall<'t>(target: &'t Target<'_>, live: &Value) -> Option<&'t ComparisonMemo> {
    target.memo.as_ref().filter(|memory| {
        memory.uid == text(live, "/metadata/uid")
            && memory.resource_version == text(live, "/metadata/resourceVersion")
    })
}

fn difference(target: &Target<'_>, live: &Value, updated: &Value) -> RecordedDiff {
    let show = || {
        let (before, after) = (
            compare::without_noise(live),
            compare::without_noise(updated),
        );
        Some(diff::between(&before, &after, target.length)).filter(|diff| !diff.is_empty())
    };
    let is_secret = target.desired.kind.group.is_empty() && target.desired.kind.kind == "Secret";
    match target.desired.record_diff {
        RecordDiff::None => RecordedDiff::default(),
        RecordDiff::InStatus => RecordedDiff {
            in_status: show(),
            in_log: None,
        },
        RecordDiff::Censored => RecordedDiff {
            in_status: Some(messages::DIFF_REDACTED.to_owned()),
            in_log: None,
        },
        // More people read a log than a Secret.
        RecordDiff::Log if is_secret || target.desired.sensitivity == Sensitivity::Sensitive => {
            RecordedDiff {
                in_status: None,
                in_log: Some(messages::DIFF_REDACTED.to_owned()),
            }
        }
        RecordDiff::Log => RecordedDiff {
            in_status: None,
            in_log: show(),
        },
    }
}

/// Turns the state into events and properties.
fn decided(target: &Target<'_>, object: &Value, state: ObjectState) -> Step {
    let uid = text(object, "/metadata/uid").to_owned();
    let mut events = Vec::new();
    let names_a_field = state.message.contains(messages::VALIDATION_ERROR);
    if matches!(state.written, Written::Tried | Written::Done) && !names_a_field {
        events.push(ObjectEvent::violation(Reason::Mismatched));
    }
    let changed = matches!(state.written, Written::Done | Written::Quietly);
    events.push(match (state.compliant, state.message.as_str()) {
        (false, "") => ObjectEvent::violation(Reason::Mismatched),
        (false, message) => ObjectEvent::error(messages::UPDATE_ERROR, message),
        (true, _) if changed => ObjectEvent::compliant(Reason::Updated),
        (true, _) => ObjectEvent::compliant(Reason::FoundAsExpected),
    });
    let properties = ObjectProperties {
        created_by_policy: Some(created_by_policy(target, &uid, changed)),
        uid: Some(uid.clone()),
        diff: state.diff.in_status.clone(),
        fields: Some(state.fields.clone()).filter(|fields| !fields.is_empty()),
        found_by_content: (target.found == FoundBy::Content).then_some(true),
        matches_after_dry_run: state.matches_after_dry_run.then_some(true),
        unverified: state.unverified,
    };
    let memo = (state.lasting == Lasting::UntilChanged).then(|| ComparisonMemo {
        uid,
        resource_version: text(object, "/metadata/resourceVersion").to_owned(),
        compliant: state.compliant,
        message: state.message.clone(),
        diff: state.diff.in_status,
        fields: state.fields,
        matches_after_dry_run: state.matches_after_dry_run,
    });
    Step::done(Decision {
        memo,
        failure: state.failure,
        log: state.diff.in_log,
        ..Decision::new(events, RelatedEntry::Listed(Some(properties)))
    })
}

/// Whether the policy created this very object. A recreated object has a new UID and keeps `createdByPolicy`.
fn created_by_policy(target: &Target<'_>, uid: &str, changed: bool) -> bool {
    target.before.is_some_and(|before| {
        before.created_by_policy == Some(true) && (changed || before.uid.as_deref() == Some(uid))
    })
}
