//! What the built-in kinds have of their own: names, defaults, checks, parts that only some may write.

mod defaults;
mod fields;
mod lifecycle;
mod pods;
mod requests;
mod validate;
mod workloads;

pub(crate) use defaults::default;
pub(crate) use fields::{field, selectable, unknown_field};
pub(crate) use lifecycle::{
    CLAIM_PROTECTION, CRD_CLEANUP, allocate, answers_deleted, creates_on_update, drops_status,
    grace, is_protected, mark_deleted, may_go, prepare_create, prepare_part, prepare_update,
    status_keeps_labels, warnings,
};
pub(crate) use requests::{check_part, date};
pub(crate) use validate::{name_rule, validate};
