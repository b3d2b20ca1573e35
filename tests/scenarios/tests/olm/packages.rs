//! The packages of all scenarios.

use crate::catalog::{Bundle, Package};

/// Packages with one channel of one version.
const PLAIN: &[&str] = &["defaults"];

pub(crate) fn all() -> Vec<Package> {
    let mut all: Vec<Package> = PLAIN.iter().map(|name| Package::plain(name)).collect();
    all.push(Package::new("never").channel("stable", &[Bundle::new("0.0.1").never_ready()]));
    all
}
