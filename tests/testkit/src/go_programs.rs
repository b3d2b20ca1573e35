//! Every program that tests start and that is built from Go.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::ocm::work_agent;
use crate::{Packager, assets, clients, gatekeeper, olm};

/// A program, and what builds it.
type Build = (&'static str, fn() -> Result<PathBuf>);

/// In the order in which they share most: what one compiles, those after it find in Go's cache.
const PROGRAMS: [Build; 7] = [
    ("control plane", assets::control_plane),
    ("Gatekeeper", gatekeeper::gatekeeper),
    ("Operator Lifecycle Manager", olm::olm),
    ("client of client-go", clients::client_go),
    ("Helm", || Packager::Helm.locate()),
    ("kustomize", || Packager::Kustomize.locate()),
    ("work agent of Open Cluster Management", work_agent),
];

/// Builds each program that is not that of its sources, and calls `built` with its name and how long that took.
///
/// # Errors
/// When one cannot be built: those after it are not.
pub fn build_go_programs(mut built: impl FnMut(&str, Duration)) -> Result<()> {
    for (name, build) in PROGRAMS {
        let started = Instant::now();
        build().with_context(|| format!("building the {name}"))?;
        built(name, started.elapsed());
    }
    Ok(())
}
