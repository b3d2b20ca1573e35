//! Puts the components of Reeve onto a hub and takes them off again: the manifests of `deploy/hub` with one image for all, applied on
//! the server, in place of those of Open Cluster Management where these are there.
//!
//! What was applied carries the label [`MANAGED_BY`], and only what carries it is ever deleted.

mod apply;
mod error;
mod hub;
mod manifests;
mod messages;
mod uninstall;
mod wait;

pub use apply::{Applied, Outcome, Write, apply};
pub use error::InstallError;
pub use manifests::{InstallOptions, MANAGED_BY, MANAGER, NAMESPACE, objects};
pub use uninstall::{Removed, UninstallOptions, uninstall};
pub use wait::wait;
