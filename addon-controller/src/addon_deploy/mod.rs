//! The reconciler of installed add-ons: writes the works with their objects, the finalizers that keep an add-on until
//! its agent has cleaned up, and the conditions of both.

mod act;
mod assign;
mod build;
mod decide;
mod finalizers;
mod installer;
mod observe;
mod reapply;
mod shapes;

pub use installer::Installer;

/// The name in logs and metrics.
pub const CONTROLLER: &str = "addon-deploy";

#[cfg(test)]
mod tests;
