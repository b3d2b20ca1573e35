//! The rules of the built-in kinds: defaults, validation, warnings, and preparation of writes. Nothing here reads the store.

pub(crate) mod apiservices;
mod certificates;
mod defaults;
mod edit;
mod field_selectors;
mod jobs;
mod lifecycle;
mod pods;
mod services;
mod validate;
mod warnings;

pub(crate) use certificates::{check_part, date};
pub(crate) use defaults::default;
pub(crate) use edit::{items_mut, set_default};
pub(crate) use field_selectors::{field, selectable, unknown_field};
pub(crate) use jobs::label as label_job;
pub(crate) use lifecycle::{
    CLAIM_PROTECTION, CRD_CLEANUP, VOLUME_PROTECTION, answers_deleted, begins_with_status,
    creates_on_update, drops_status, grace, mark_deleted, may_go, prepare_create, prepare_part,
    prepare_update, protection, readable, settle, status_keeps_labels,
};
pub(crate) use services::has_node_ports;
pub(crate) use validate::validate;
pub(crate) use warnings::{deprecation, name_owners_once, warnings};
