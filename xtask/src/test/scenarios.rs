//! Runs the suites of scenarios, each on the kind of API server that it is about.
//!
//! A real control plane proves what only it can: the semantics of writes, admission, rights, elections, kills and restarts.
//! What is about Reeve's own decisions runs on the API server of this workspace.

use anyhow::{Context as _, Result};

use super::jobs::{Job, Lane};
use super::programs::{Built, Program};
use super::selection::Selection;
use super::suites::{NEVER_EMBEDDED, PACKAGE, SUITES, Server, Suite};

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

/// Whether a program has suites. A test of another package may have the same name.
pub(super) fn has_suites(program: &Program) -> bool {
    program.is_integration && program.package == PACKAGE
}

/// Adds the chosen suites to what is run.
pub(super) fn add(
    choice: Choice,
    selection: &Selection,
    built: &Built,
    real: &mut Lane,
    embedded: &mut Lane,
) -> Result<()> {
    for suite in SUITES.iter().filter(|suite| selection.has_suite(suite)) {
        let is_it = |program: &&Program| has_suites(program) && program.name == suite.program;
        let program = built.programs.iter().find(is_it);
        let program = program.with_context(|| {
            format!(
                "the program {} of the suite {} was not built",
                suite.program, suite.name
            )
        })?;
        let can_be_embedded = !NEVER_EMBEDDED.contains(&suite.name);
        for server in [Server::Real, Server::Embedded] {
            let is_chosen = match choice {
                Choice::Own => server == suite.own,
                Choice::Embedded => server == Server::Embedded && can_be_embedded,
                Choice::Both => server == Server::Real || can_be_embedded,
            };
            if is_chosen {
                let lane = match server {
                    Server::Real => &mut *real,
                    Server::Embedded => &mut *embedded,
                };
                lane.jobs.push_back(job(suite, built, program, server));
            }
        }
    }
    Ok(())
}

fn job(suite: &Suite, built: &Built, program: &Program, server: Server) -> Job {
    let mut command = built.command(program);
    command.args(["--suite", suite.name]);
    let server = match server {
        Server::Real => {
            command.env_remove("REEVE_PLANE");
            "kube-apiserver"
        }
        Server::Embedded => {
            command.env("REEVE_PLANE", "embedded");
            "in memory"
        }
    };
    Job {
        title: format!("suite {} ({server})", suite.name),
        server: Some(server),
        command,
    }
}
