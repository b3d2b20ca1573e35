//! The commands of `reeve`, called as users call them.

mod authoring_clusters;
mod cases;
mod constraint_workers;
mod data_dir;
mod deep_policy;
mod docs;
mod doctor;
mod dryrun;
mod explain;
mod field;
mod formats;
mod hostile_templates;
mod lint;
mod persistence;
mod resolve;
mod test;
mod up;
mod watch;
