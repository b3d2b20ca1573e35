//! Tours: programs of client-go and of the Python client go the same way through both servers, and print what they see.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use libtest_mimic::{Failed, Trial};
use reeve_conformance::Said;
use tokio::process::Command;
use tokio::runtime::Runtime;

use crate::Both;

/// No tour takes longer.
const DEADLINE: Duration = Duration::from_mins(3);

/// A way through a server.
struct Tour {
    client: Client,
    /// The program's argument, and the end of its namespace.
    name: &'static str,
    /// The trial's name after the client's, where it is not the tour's.
    trial: &'static str,
    env: &'static [(&'static str, &'static str)],
    /// At which steps something else is seen of the embedded server, and why: entries of the table in the docs.
    differs: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Client {
    Go,
    Python,
}

const fn tour(client: Client, name: &'static str) -> Tour {
    Tour {
        client,
        name,
        trial: name,
        env: &[],
        differs: &[],
    }
}

const SHOWN: &str = "patch to a value of a wrong type";

const TOURS: &[Tour] = &[
    Tour {
        env: &[("KUBE_FEATURE_WatchListClient", "true")],
        ..tour(Client::Go, "informers")
    },
    Tour {
        trial: "informers_that_list_first",
        env: &[
            ("KUBE_FEATURE_WatchListClient", "false"),
            ("NAMESPACE", "go-informers-that-list"),
        ],
        ..tour(Client::Go, "informers")
    },
    Tour {
        differs: &[(
            "metadata only",
            "lists of metadata for a client that prefers Protobuf",
        )],
        ..tour(Client::Go, "lists")
    },
    tour(Client::Go, "watches"),
    Tour {
        differs: &[("merge patch of a wrong type", SHOWN)],
        ..tour(Client::Go, "writes")
    },
    tour(Client::Go, "apply"),
    tour(Client::Go, "deletes"),
    tour(Client::Go, "refusals"),
    tour(Client::Go, "election"),
    tour(Client::Go, "events"),
    tour(Client::Go, "discovery"),
    tour(Client::Go, "custom"),
    tour(Client::Go, "tokens"),
    tour(Client::Go, "protobuf"),
    tour(Client::Go, "protobuf-definitions"),
    Tour {
        differs: &[("patch of a wrong type", SHOWN)],
        ..tour(Client::Python, "typed")
    },
    tour(Client::Python, "watches"),
    tour(Client::Python, "manifests"),
    tour(Client::Python, "custom"),
    tour(Client::Python, "workloads"),
    tour(Client::Python, "rights"),
];

impl Tour {
    fn trial_name(&self) -> String {
        let client = match self.client {
            Client::Go => "client_go",
            Client::Python => "python",
        };
        format!("{client}::{}", self.trial)
    }
}

pub(crate) fn names() -> Vec<String> {
    TOURS.iter().map(Tour::trial_name).collect()
}

/// Every reason why something else is seen.
pub(crate) fn reasons() -> impl Iterator<Item = &'static str> {
    let differences = TOURS.iter().flat_map(|tour| tour.differs);
    differences.map(|(_, reason)| *reason)
}

pub(crate) fn trials(runtime: &Arc<Runtime>, both: &Arc<Both>) -> Vec<Trial> {
    let trial = |tour: &'static Tour| {
        let (runtime, both) = (Arc::clone(runtime), Arc::clone(both));
        Trial::test(tour.trial_name(), move || {
            let program = program(tour.client).map_err(|error| format!("{error:#}"))?;
            runtime.block_on(same(tour, &program, &both))
        })
    };
    TOURS.iter().map(trial).collect()
}

/// A program and what its arguments begin with.
fn program(client: Client) -> Result<(PathBuf, Option<PathBuf>)> {
    match client {
        Client::Go => Ok((reeve_testkit::client_go()?, None)),
        Client::Python => {
            let script = reeve_testkit::workspace().join("tests/conformance/python/tour.py");
            Ok((reeve_testkit::python_client()?, Some(script)))
        }
    }
}

async fn same(
    tour: &Tour,
    program: &(PathBuf, Option<PathBuf>),
    both: &Both,
) -> Result<(), Failed> {
    let (embedded, real) = tokio::try_join!(
        taken(tour, program, &both.embedded.kubeconfig),
        taken(tour, program, &both.real.kubeconfig)
    )
    .map_err(|error| format!("{error:#}"))?;
    if std::env::var_os("REEVE_SHOW").is_some() {
        eprintln!("{}\n{}", embedded.stdout, real.stdout);
    }
    if real.code != Some(0) {
        return Err(format!("a real server is left with {real:?}").into());
    }
    let mut wrong = Vec::new();
    for (step, _) in tour.differs {
        if of_step(&embedded.stdout, step) == of_step(&real.stdout, step) {
            wrong.push(format!("{step} no longer differs: take the note away"));
        }
    }
    wrong.extend(tour.alike(&embedded).difference(&tour.alike(&real)));
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n").into())
    }
}

impl Tour {
    /// What was said, without the steps that may differ.
    fn alike(&self, said: &Said) -> Said {
        let differs = |line: &&str| !self.differs.iter().any(|(step, _)| defines(line, step));
        let lines: Vec<&str> = said.stdout.lines().filter(differs).collect();
        Said {
            stdout: lines.join("\n"),
            ..said.clone()
        }
    }
}

fn of_step<'a>(said: &'a str, step: &str) -> Vec<&'a str> {
    said.lines().filter(|line| defines(line, step)).collect()
}

fn defines(line: &str, step: &str) -> bool {
    line.strip_prefix(step)
        .is_some_and(|rest| rest.starts_with(": "))
}

async fn taken(
    tour: &Tour,
    (program, script): &(PathBuf, Option<PathBuf>),
    kubeconfig: &Path,
) -> Result<Said> {
    let child = Command::new(program)
        .args(script)
        .arg(tour.name)
        .envs(tour.env.iter().copied())
        .env("KUBECONFIG", kubeconfig)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let Ok(output) = tokio::time::timeout(DEADLINE, child).await else {
        bail!("{} is not done after {DEADLINE:?}", tour.trial_name());
    };
    let output = output.with_context(|| format!("starting {}", program.display()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Said {
        code: output.status.code(),
        stdout: text(&output.stdout),
        // Logs, unless it has ended badly.
        stderr: if output.status.success() {
            String::new()
        } else {
            text(&output.stderr)
        },
    })
}
