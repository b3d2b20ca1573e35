//! Tours: programs of client-go and of the Python client go the same way through both servers, and print what they see.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use libtest_mimic::{Failed, Trial};
use reeve_conformance::CommandOutput;
use tokio::process::Command;
use tokio::runtime::Runtime;

use crate::Both;

/// No tour takes longer.
const DEADLINE: Duration = Duration::from_mins(3);

/// A way through a server.
struct ClientTest {
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

const fn client_test(client: Client, name: &'static str) -> ClientTest {
    ClientTest {
        client,
        name,
        trial: name,
        env: &[],
        differs: &[],
    }
}

const SHOWN: &str = "patch to a value of a wrong type";

const CLIENT_TESTS: &[ClientTest] = &[
    ClientTest {
        env: &[("KUBE_FEATURE_WatchListClient", "true")],
        ..client_test(Client::Go, "informers")
    },
    ClientTest {
        trial: "informers_that_list_first",
        env: &[
            ("KUBE_FEATURE_WatchListClient", "false"),
            ("NAMESPACE", "go-informers-that-list"),
        ],
        ..client_test(Client::Go, "informers")
    },
    ClientTest {
        differs: &[(
            "metadata only",
            "lists of metadata for a client that prefers Protobuf",
        )],
        ..client_test(Client::Go, "lists")
    },
    client_test(Client::Go, "watches"),
    ClientTest {
        differs: &[("merge patch of a wrong type", SHOWN)],
        ..client_test(Client::Go, "writes")
    },
    client_test(Client::Go, "apply"),
    client_test(Client::Go, "deletes"),
    client_test(Client::Go, "refusals"),
    client_test(Client::Go, "election"),
    client_test(Client::Go, "events"),
    client_test(Client::Go, "discovery"),
    client_test(Client::Go, "custom"),
    client_test(Client::Go, "tokens"),
    client_test(Client::Go, "protobuf"),
    client_test(Client::Go, "protobuf-definitions"),
    ClientTest {
        differs: &[("patch of a wrong type", SHOWN)],
        ..client_test(Client::Python, "typed")
    },
    client_test(Client::Python, "watches"),
    client_test(Client::Python, "manifests"),
    client_test(Client::Python, "custom"),
    client_test(Client::Python, "workloads"),
    client_test(Client::Python, "rights"),
];

impl ClientTest {
    fn trial_name(&self) -> String {
        let client = match self.client {
            Client::Go => "client_go",
            Client::Python => "python",
        };
        format!("{client}::{}", self.trial)
    }
}

pub(crate) fn names() -> Vec<String> {
    CLIENT_TESTS.iter().map(ClientTest::trial_name).collect()
}

/// Every reason why something else is seen.
pub(crate) fn reasons() -> impl Iterator<Item = &'static str> {
    let differences = CLIENT_TESTS
        .iter()
        .flat_map(|client_test| client_test.differs);
    differences.map(|(_, reason)| *reason)
}

pub(crate) fn trials(runtime: &Arc<Runtime>, both: &Arc<Both>) -> Vec<Trial> {
    let trial = |client_test: &'static ClientTest| {
        let (runtime, both) = (Arc::clone(runtime), Arc::clone(both));
        Trial::test(client_test.trial_name(), move || {
            let program = program(client_test.client).map_err(|error| format!("{error:#}"))?;
            runtime.block_on(compare_servers(client_test, &program, &both))
        })
    };
    CLIENT_TESTS.iter().map(trial).collect()
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

async fn compare_servers(
    client_test: &ClientTest,
    program: &(PathBuf, Option<PathBuf>),
    both: &Both,
) -> Result<(), Failed> {
    let ((embedded, log), (real, _)) = tokio::try_join!(
        run_program(client_test, program, &both.embedded.kubeconfig),
        run_program(client_test, program, &both.real.kubeconfig)
    )
    .map_err(|error| format!("{error:#}"))?;
    if std::env::var_os("REEVE_SHOW").is_some() {
        eprintln!("{}\n{}", embedded.stdout, real.stdout);
    }
    if real.code != Some(0) {
        return Err(format!("a real server is left with {real:?}").into());
    }
    let mut wrong = Vec::new();
    for (step, _) in client_test.differs {
        if lines_of_step(&embedded.stdout, step) == lines_of_step(&real.stdout, step) {
            wrong.push(format!("{step} no longer differs: take the note away"));
        }
    }
    wrong.extend(
        client_test
            .comparable(&embedded)
            .difference(&client_test.comparable(&real)),
    );
    if wrong.is_empty() {
        Ok(())
    } else {
        // What a client retries it only logs.
        wrong.push(format!("the client's log at the embedded server:\n{log}"));
        Err(wrong.join("\n").into())
    }
}

impl ClientTest {
    /// The output without the steps that may differ.
    fn comparable(&self, output: &CommandOutput) -> CommandOutput {
        let differs = |line: &&str| !self.differs.iter().any(|(step, _)| is_step(line, step));
        let lines: Vec<&str> = output.stdout.lines().filter(differs).collect();
        CommandOutput {
            stdout: lines.join("\n"),
            ..output.clone()
        }
    }
}

fn lines_of_step<'a>(output: &'a str, step: &str) -> Vec<&'a str> {
    output.lines().filter(|line| is_step(line, step)).collect()
}

fn is_step(line: &str, step: &str) -> bool {
    line.strip_prefix(step)
        .is_some_and(|rest| rest.starts_with(": "))
}

/// The output, without the log of a program that has ended well, and its log.
async fn run_program(
    client_test: &ClientTest,
    (program, script): &(PathBuf, Option<PathBuf>),
    kubeconfig: &Path,
) -> Result<(CommandOutput, String)> {
    let child = Command::new(program)
        .args(script)
        .arg(client_test.name)
        .envs(client_test.env.iter().copied())
        .env("KUBECONFIG", kubeconfig)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let Ok(output) = tokio::time::timeout(DEADLINE, child).await else {
        bail!(
            "{} is not done after {DEADLINE:?}",
            client_test.trial_name()
        );
    };
    let output = output.with_context(|| format!("starting {}", program.display()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let log = text(&output.stderr);
    let output = CommandOutput {
        code: output.status.code(),
        stdout: text(&output.stdout),
        stderr: if output.status.success() {
            String::new()
        } else {
            log.clone()
        },
    };
    Ok((output, log))
}
