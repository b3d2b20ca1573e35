//! The suites of scenarios, each on the kind of API server that it is about.
//!
//! A real control plane proves what only it can: the semantics of writes, admission, rights, elections, kills and restarts. It
//! costs so much that its suites run one after the other. What is about Reeve's own decisions runs on the API server of
//! this workspace, several suites at once.

use anyhow::{Context as _, Result};

use super::jobs::{Job, Jobs};
use super::programs::{Built, Program};

/// The kind of API server that a suite runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Server {
    /// kube-apiserver with etcd.
    Real,
    /// The API server of this workspace.
    Embedded,
}

/// Which suites are run, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Each on its own kind of server.
    Own,
    /// Those that run on the embedded server, and all others that can.
    Embedded,
    /// Each on both kinds, before a release.
    Both,
}

/// All suites, each with its kind of server; of each kind those that take longest first.
const SUITES: [(&str, Server); 26] = [
    ("lifecycle", Server::Real),
    ("olm", Server::Real),
    ("hub_guarantees", Server::Real),
    ("guarantees", Server::Real),
    ("install", Server::Real),
    ("crashes", Server::Real),
    ("configuration", Server::Real),
    ("process", Server::Real),
    ("addon_process", Server::Real),
    ("propagator_process", Server::Real),
    ("runtime", Server::Real),
    ("crds", Server::Real),
    ("authoring", Server::Real),
    ("packaging", Server::Real),
    ("corpus", Server::Embedded),
    ("addon_guarantees", Server::Embedded),
    ("addon", Server::Embedded),
    ("automation", Server::Embedded),
    ("hub", Server::Embedded),
    ("hostile", Server::Embedded),
    ("apart", Server::Embedded),
    ("operator", Server::Embedded),
    ("gatekeeper", Server::Embedded),
    ("flows", Server::Embedded),
    ("unattended", Server::Embedded),
    ("approvals", Server::Embedded),
];

/// The suites that do not run on the embedded server: one needs no API server, and the other one that passes requests on
/// to the API server of `PackageManifests`.
const NEVER_EMBEDDED: [&str; 2] = ["packaging", "olm"];

/// The folder of the package that they are in.
const PACKAGE: &str = "scenarios";

/// Whether a program is one of the suites. A test of another package may have the same name.
pub(super) fn is_suite(program: &Program) -> bool {
    program.is_integration
        && program
            .folder
            .file_name()
            .is_some_and(|name| name == PACKAGE)
}

/// Adds the chosen suites to what is run.
pub(super) fn add(choice: Choice, built: &Built, jobs: &mut Jobs) -> Result<()> {
    for (name, own) in SUITES {
        let is_it = |program: &&Program| is_suite(program) && program.name == name;
        let program = built.programs.iter().find(is_it);
        let program = program.with_context(|| format!("the suite {name} was not built"))?;
        for server in [Server::Real, Server::Embedded] {
            let is_chosen = match choice {
                Choice::Own => server == own,
                Choice::Embedded => server == Server::Embedded && !NEVER_EMBEDDED.contains(&name),
                Choice::Both => server == Server::Real || !NEVER_EMBEDDED.contains(&name),
            };
            if is_chosen {
                let lane = match server {
                    Server::Real => &mut jobs.serial,
                    Server::Embedded => &mut jobs.parallel,
                };
                lane.push_back(job(built, program, server));
            }
        }
    }
    Ok(())
}

fn job(built: &Built, program: &Program, server: Server) -> Job {
    let mut command = built.command(program);
    match server {
        Server::Real => command.env_remove("REEVE_PLANE"),
        Server::Embedded => command.env("REEVE_PLANE", "embedded"),
    };
    Job {
        title: format!("{} ({server:?})", program.title()),
        command,
    }
}
