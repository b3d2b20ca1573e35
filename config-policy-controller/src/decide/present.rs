//! Objects that exist and should.

use std::sync::Arc;

use reeve_api::RemediationAction;
use reeve_api::configuration_policy::{FieldDifference, ObjectProperties};
use serde_json::Value;

use super::{
    Draft, Found, Listed, Memory, Recorded, RecreateFailure, Refused, Settled, Step, Target,
    fields, text,
};
use crate::compare;
use crate::diff::{self, Origin, RecordDiff};
use crate::messages;
use crate::report::{Event, Reason};
use crate::spec::Recreate;

/// The verdict on a present object, before it becomes events.
struct Verdict {
    compliant: bool,
    /// Why not, where that has words of its own.
    message: String,
    /// How far writing got.
    written: Written,
    matches_after_dry_run: bool,
    diff: Recorded,
    fields: Vec<FieldDifference>,
    lasting: Lasting,
    failure: Option<String>,
    /// Why the API server was not asked what an update would change.
    unverified: Option<String>,
}

/// How far writing got.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    /// Nothing was tried.
    NotTried,
    /// It was found necessary, and failed or was left at that.
    Tried,
    /// The object was changed although only defaults were missing: no violation came before.
    Quietly,
    /// The object was changed.
    Done,
}

/// Whether the verdict holds until the object changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lasting {
    UntilChanged,
    No,
}

impl Verdict {
    fn compliant() -> Self {
        Self {
            compliant: true,
            message: String::new(),
            written: Written::NotTried,
            matches_after_dry_run: false,
            diff: Recorded::default(),
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

/// Compares, or recalls what comparing came to.
pub(super) fn first(target: &Target<'_>, live: &Arc<Value>) -> Step {
    if let Some(memory) = recall(target, live) {
        return settle(
            target,
            live,
            Verdict {
                compliant: memory.compliant,
                message: memory.message.clone(),
                matches_after_dry_run: memory.matches_after_dry_run,
                diff: Recorded {
                    in_status: memory.diff.clone(),
                    in_log: None,
                },
                fields: memory.fields.clone(),
                ..Verdict::compliant()
            },
        );
    }
    let comparison = compare::compare(target.wanted.desired(), live);
    let fields = fields::shown(target, &comparison.mismatches);
    if let Some(error) = &comparison.error {
        return settle(
            target,
            live,
            Verdict {
                written: Written::Tried,
                // It quotes what is wanted.
                ..Verdict::violation(target.wanted.secrets.redact(&error.to_string()))
            },
        );
    }
    let diff = if comparison.status_mismatch {
        difference(target, live, &comparison.candidate)
    } else {
        Recorded::default()
    };
    if comparison.is_settled() {
        let compliant = !comparison.status_mismatch;
        return settle(
            target,
            live,
            Verdict {
                compliant,
                diff,
                fields: if compliant { Vec::new() } else { fields },
                ..Verdict::compliant()
            },
        );
    }
    Step::DryRun(Box::new(Draft {
        live: Arc::clone(live),
        to_write: comparison.to_write(live),
        differs: comparison.update_needed,
        status_differs: comparison.status_mismatch,
        diff,
        fields,
    }))
}

/// The step after the API server said what an update would make of the object.
#[must_use]
pub fn after_dry_run(target: &Target<'_>, draft: Draft, answer: Result<&Value, &Refused>) -> Step {
    let live = Arc::clone(&draft.live);
    match answer {
        Ok(result) => after_accepted(target, draft, result),
        Err(Refused::Invalid(_)) => after_invalid(target, draft),
        Err(Refused::Forbidden(text)) if target.mode == RemediationAction::Inform => {
            unverified(target, draft, text)
        }
        Err(refused) => {
            let message = update_text(target, refused)
                .unwrap_or_else(|| messages::dry_run_error(&target.place.name, refused.text()));
            let bad_request = matches!(refused, Refused::BadRequest(_));
            settle(
                target,
                &live,
                Verdict {
                    written: if draft.differs {
                        Written::Tried
                    } else {
                        Written::NotTried
                    },
                    diff: draft.diff,
                    fields: draft.fields,
                    lasting: if bad_request {
                        Lasting::UntilChanged
                    } else {
                        Lasting::No
                    },
                    failure: (!bad_request).then(|| message.clone()),
                    ..Verdict::violation(message)
                },
            )
        }
    }
}

/// Only looking is asked for, and only looking is allowed: the comparison has to do. What may come to the same is
/// taken for the same, as nobody can tell.
fn unverified(target: &Target<'_>, draft: Draft, text: &str) -> Step {
    let live = Arc::clone(&draft.live);
    let compliant = !(draft.differs || draft.status_differs);
    let diff = if compliant {
        Recorded::default()
    } else {
        difference(target, &live, &draft.to_write)
    };
    settle(
        target,
        &live,
        Verdict {
            compliant,
            diff,
            fields: if compliant { Vec::new() } else { draft.fields },
            lasting: Lasting::No,
            unverified: Some(messages::unverified(text)),
            ..Verdict::compliant()
        },
    )
}

fn after_accepted(target: &Target<'_>, draft: Draft, result: &Value) -> Step {
    let live = Arc::clone(&draft.live);
    if compare::without_noise(result) == compare::without_noise(&live) {
        return settle(
            target,
            &live,
            Verdict {
                compliant: !draft.status_differs,
                matches_after_dry_run: true,
                fields: if draft.status_differs {
                    draft.fields
                } else {
                    Vec::new()
                },
                diff: draft.diff,
                ..Verdict::compliant()
            },
        );
    }
    let diff = difference(target, &live, result);
    let fields = if draft.fields.is_empty() {
        // The comparison took what is missing for a default, and it is none.
        fields::between(target, &live, result)
    } else {
        draft.fields.clone()
    };
    let draft = Draft { fields, ..draft };
    match (target.mode, target.wanted.recreate) {
        (RemediationAction::Inform, _) => settle(
            target,
            &live,
            Verdict {
                diff,
                fields: draft.fields,
                ..Verdict::violation(String::new())
            },
        ),
        (RemediationAction::Enforce, Recreate::Always) => {
            Step::Recreate(Box::new(Draft { diff, ..draft }))
        }
        (RemediationAction::Enforce, _) => Step::Update(Box::new(Draft { diff, ..draft })),
    }
}

fn after_invalid(target: &Target<'_>, draft: Draft) -> Step {
    let live = Arc::clone(&draft.live);
    let diff = difference(target, &live, &draft.to_write);
    match (target.mode, target.wanted.recreate) {
        (RemediationAction::Inform, _) => settle(
            target,
            &live,
            Verdict {
                diff,
                fields: draft.fields,
                ..Verdict::violation(String::new())
            },
        ),
        (RemediationAction::Enforce, Recreate::Never) => settle(
            target,
            &live,
            Verdict {
                diff,
                fields: draft.fields,
                ..Verdict::violation(messages::immutable(&target.in_words()))
            },
        ),
        (RemediationAction::Enforce, _) => Step::Recreate(Box::new(Draft { diff, ..draft })),
    }
}

/// The answer after an update.
#[must_use]
pub fn after_update(target: &Target<'_>, draft: Draft, answer: Result<&Value, &Refused>) -> Step {
    match answer {
        Ok(updated) => after_write(target, draft, updated),
        Err(refused) => {
            let message = update_text(target, refused)
                .unwrap_or_else(|| messages::cannot_update(&target.in_words(), refused.text()));
            after_failure(target, draft, message)
        }
    }
}

/// The answer after deleting and creating the object.
#[must_use]
pub fn after_recreate(
    target: &Target<'_>,
    draft: Draft,
    answer: Result<&Value, &RecreateFailure>,
) -> Step {
    let object = target.in_words();
    match answer {
        Ok(created) => after_write(target, draft, created),
        Err(RecreateFailure::Delete(refused)) => {
            let message = messages::cannot_delete_to_recreate(&object, refused.text());
            after_failure(target, draft, message)
        }
        Err(RecreateFailure::Create(refused)) => {
            let message = update_text(target, refused)
                .unwrap_or_else(|| messages::cannot_recreate(&object, refused.text()));
            after_failure(target, draft, message)
        }
        Err(RecreateFailure::StillThere) => {
            after_failure(target, draft, messages::recreate_timed_out(&object))
        }
    }
}

fn after_write(target: &Target<'_>, draft: Draft, written: &Value) -> Step {
    settle(
        target,
        &Arc::new(written.clone()),
        Verdict {
            compliant: !draft.status_differs,
            written: if draft.differs {
                Written::Done
            } else {
                Written::Quietly
            },
            fields: if draft.status_differs {
                draft.fields
            } else {
                Vec::new()
            },
            diff: draft.diff,
            lasting: if draft.status_differs {
                Lasting::No
            } else {
                Lasting::UntilChanged
            },
            ..Verdict::compliant()
        },
    )
}

fn after_failure(target: &Target<'_>, draft: Draft, message: String) -> Step {
    settle(
        target,
        &draft.live,
        Verdict {
            written: if draft.differs {
                Written::Tried
            } else {
                Written::NotTried
            },
            diff: draft.diff,
            fields: draft.fields,
            lasting: Lasting::No,
            failure: Some(message.clone()),
            ..Verdict::violation(message)
        },
    )
}

/// The words for refusals that mean the same whatever was asked.
fn update_text(target: &Target<'_>, refused: &Refused) -> Option<String> {
    match refused {
        Refused::NotFound(_) => Some(messages::gone(&target.wanted.kind.kind)),
        other if other.text().contains(messages::STRICT_DECODING) => {
            Some(messages::validation_error(&target.place.name, other.text()))
        }
        _ => None,
    }
}

fn recall<'t>(target: &'t Target<'_>, live: &Value) -> Option<&'t Memory> {
    target.remembered.as_ref().filter(|memory| {
        memory.uid == text(live, "/metadata/uid")
            && memory.resource_version == text(live, "/metadata/resourceVersion")
    })
}

fn difference(target: &Target<'_>, live: &Value, updated: &Value) -> Recorded {
    let show = || {
        let (before, after) = (
            compare::without_noise(live),
            compare::without_noise(updated),
        );
        Some(diff::between(&before, &after, target.length)).filter(|diff| !diff.is_empty())
    };
    let is_secret = target.wanted.kind.group.is_empty() && target.wanted.kind.kind == "Secret";
    match target.wanted.record_diff {
        RecordDiff::None => Recorded::default(),
        RecordDiff::InStatus => Recorded {
            in_status: show(),
            in_log: None,
        },
        RecordDiff::Censored => Recorded {
            in_status: Some(messages::DIFF_REDACTED.to_owned()),
            in_log: None,
        },
        // A log has more readers than a Secret.
        RecordDiff::Log if is_secret || target.wanted.origin == Origin::Sensitive => Recorded {
            in_status: None,
            in_log: Some(messages::DIFF_REDACTED.to_owned()),
        },
        RecordDiff::Log => Recorded {
            in_status: None,
            in_log: show(),
        },
    }
}

/// Turns the verdict into events and properties.
fn settle(target: &Target<'_>, object: &Value, verdict: Verdict) -> Step {
    let uid = text(object, "/metadata/uid").to_owned();
    let mut events = Vec::new();
    let names_a_field = verdict.message.contains(messages::VALIDATION_ERROR);
    if matches!(verdict.written, Written::Tried | Written::Done) && !names_a_field {
        events.push(Event::bad(Reason::Mismatched));
    }
    let changed = matches!(verdict.written, Written::Done | Written::Quietly);
    events.push(match (verdict.compliant, verdict.message.as_str()) {
        (false, "") => Event::bad(Reason::Mismatched),
        (false, message) => Event::problem(messages::UPDATE_ERROR, message),
        (true, _) if changed => Event::good(Reason::Updated),
        (true, _) => Event::good(Reason::FoundAsExpected),
    });
    let properties = ObjectProperties {
        created_by_policy: Some(created_by_policy(target, &uid, changed)),
        uid: Some(uid.clone()),
        diff: verdict.diff.in_status.clone(),
        fields: Some(verdict.fields.clone()).filter(|fields| !fields.is_empty()),
        found_by_content: (target.found == Found::ByContent).then_some(true),
        matches_after_dry_run: verdict.matches_after_dry_run.then_some(true),
        unverified: verdict.unverified,
    };
    let remember = (verdict.lasting == Lasting::UntilChanged).then(|| Memory {
        uid,
        resource_version: text(object, "/metadata/resourceVersion").to_owned(),
        compliant: verdict.compliant,
        message: verdict.message.clone(),
        diff: verdict.diff.in_status,
        fields: verdict.fields,
        matches_after_dry_run: verdict.matches_after_dry_run,
    });
    Step::done(Settled {
        remember,
        failure: verdict.failure,
        log: verdict.diff.in_log,
        ..Settled::new(events, Listed::With(Some(properties)))
    })
}

/// Whether the policy created this very object. A recreated object has a new UID and the origin of the old one.
fn created_by_policy(target: &Target<'_>, uid: &str, changed: bool) -> bool {
    target.before.is_some_and(|before| {
        before.created_by_policy == Some(true) && (changed || before.uid.as_deref() == Some(uid))
    })
}
