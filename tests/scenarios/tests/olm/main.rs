//! `OperatorPolicy` on clusters with the real Operator Lifecycle Manager (OLM): its controllers, its API server of
//! `PackageManifests`, and catalogs. Operators are Deployments whose Pods sleep.
//!
//! Each scenario has packages and namespaces of its own, so that they play side by side.

mod catalog;
mod cluster;
mod installing;
mod packages;

use std::process::ExitCode;

use cluster::Clusters;
use reeve_scenarios::{run_beside, scenario};

/// Scenarios by name.
macro_rules! scenarios {
    ($($name:ident: $play:path,)*) => {
        vec![$(scenario(stringify!($name), |world| Box::pin($play(world)))),*]
    };
}

fn main() -> ExitCode {
    run_beside(
        Clusters::start(),
        |world, scenario| Box::pin(async move { world.dump(scenario).await }),
        scenarios![
            op_20_defaults_install_an_operator: installing::defaults,
        ],
    )
}
