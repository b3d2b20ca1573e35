//! Bringing add-ons about: the works with their objects, what keeps an add-on until its agent has cleaned up, and what
//! is said of all that.

mod act;
pub mod assign;
pub mod build;
pub mod conditions;
pub mod decide;
pub mod finalizers;
pub mod identity;
mod installer;
mod observe;
pub mod reapply;
pub mod shapes;
pub mod work;

pub use installer::Installer;

/// The name in logs and metrics.
pub const CONTROLLER: &str = "addon-deploy";

#[cfg(test)]
mod tests;
