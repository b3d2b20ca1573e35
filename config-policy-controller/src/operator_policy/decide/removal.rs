//! Removes all objects of a kind that has several: versions and definitions. Pure.

use super::object::{Object, is_deleting, name};
use super::state::{COMPLIANT, NON_COMPLIANT, Part, State, Step, Write, found, listed};
use crate::messages::operator as messages;

/// The step that deletes the objects. Those that are being deleted already are waited for.
pub fn delete_all(part: Part, objects: &[Object]) -> Step {
    let names: Vec<&str> = objects.iter().map(|object| name(object)).collect();
    let (deleting, rest): (Vec<_>, Vec<_>) = objects.iter().partition(|object| is_deleting(object));
    let writes: Vec<Write> = rest
        .iter()
        .map(|object| Write::Delete((**object).clone()))
        .collect();
    let waits = |object: &Object| listed(part, object, NON_COMPLIANT, messages::STILL_DELETING);
    let unwanted = |object: &Object| {
        found(
            part,
            object,
            NON_COMPLIANT,
            messages::FOUND_BUT_SHOULD_NOT_EXIST,
        )
    };
    let deleted = |object: &Object| listed(part, object, COMPLIANT, messages::DELETION_SUCCESS);
    if deleting.is_empty() {
        let unwanted: Vec<_> = objects.iter().map(unwanted).collect();
        let gone: Vec<_> = objects.iter().map(deleted).collect();
        return Step::change(
            State::new(part.present(&names), unwanted),
            writes,
            State::new(part.deleted(&names), gone),
        );
    }
    let state = |of_rest: &dyn Fn(&Object) -> _| {
        let of = |object: &Object| {
            if is_deleting(object) {
                waits(object)
            } else {
                of_rest(object)
            }
        };
        let related: Vec<_> = objects.iter().map(of).collect();
        let names: Vec<&str> = deleting.iter().map(|object| name(object)).collect();
        State::new(part.deleting(&names), related)
    };
    if writes.is_empty() {
        return Step::settled(state(&unwanted));
    }
    Step::change(state(&unwanted), writes, state(&deleted)).silent()
}

/// The state of objects that are not wanted, and that the policy keeps.
pub fn kept(part: Part, objects: &[Object]) -> State {
    let leftover = |object: &Object| found(part, object, None, messages::leftover(part.kind()));
    State::new(
        part.kept(),
        objects.iter().map(leftover).collect::<Vec<_>>(),
    )
}
