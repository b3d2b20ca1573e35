//! Clients that others have written work with the embedded server as they do with a real one.

mod client_tests;
mod controller;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use libtest_mimic::{Arguments, Failed, Trial};
use reeve_conformance::{Calls, Kubectl, calls, listen};
use reeve_testkit::{Plane, PlaneOptions};
use tokio::runtime::Runtime;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode> {
    let arguments = Arguments::from_args();
    let calls = calls("kubectl")?;
    if arguments.list {
        let names = calls.into_iter().map(|calls| calls.name);
        let names = names.map(|name| format!("kubectl::{name}"));
        let names = names.chain(controller::NAMES.map(str::to_owned));
        let names = names.chain(client_tests::names());
        let trials = names.map(|name| Trial::test(name, || Ok(())));
        return Ok(libtest_mimic::run(&arguments, trials.collect()).exit_code());
    }
    let runtime = Arc::new(Runtime::new()?);
    let folder = tempfile::tempdir().context("creating a folder")?;
    let (plane, listener) = runtime.block_on(async {
        tokio::try_join!(
            Plane::start(PlaneOptions {
                name: "clients",
                controller_manager: true,
                ..PlaneOptions::default()
            }),
            listen(folder.path())
        )
    })?;
    let both = Arc::new(Both {
        embedded: Kubectl::new(folder.path(), "embedded", &folder.path().join("kubeconfig"))?,
        real: Kubectl::new(folder.path(), "real", plane.kubeconfig())?,
    });
    let mut trials: Vec<Trial> = calls
        .into_iter()
        .map(|calls| {
            let (runtime, both) = (Arc::clone(&runtime), Arc::clone(&both));
            Trial::test(format!("kubectl::{}", calls.name), move || {
                runtime.block_on(compare_servers(&both, &calls))
            })
        })
        .collect();
    trials.extend(controller::trials(&runtime, &both.embedded.kubeconfig));
    trials.extend(client_tests::trials(&runtime, &both));
    trials.push(Trial::test(
        "the_table_in_the_docs_is_whole",
        reasons_are_documented,
    ));
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop((plane, listener));
    Ok(conclusion.exit_code())
}

struct Both {
    embedded: Kubectl,
    real: Kubectl,
}

/// The documentation has every reason why a client test differs.
fn reasons_are_documented() -> Result<(), Failed> {
    let path = reeve_testkit::workspace().join("docs/apiserver.md");
    let page =
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    match client_tests::reasons().find(|reason| !page.contains(reason)) {
        Some(missing) => Err(format!("docs/apiserver.md lacks: {missing}").into()),
        None => Ok(()),
    }
}

async fn compare_servers(both: &Both, calls: &Calls) -> Result<(), Failed> {
    let wrong = calls.differences(&both.embedded, &both.real).await;
    let wrong = wrong.map_err(|error| format!("{error:#}"))?;
    if wrong.is_empty() {
        return Ok(());
    }
    let (count, all) = (wrong.len(), calls.calls.len());
    Err(format!("{count} of {all} calls differ\n{}", wrong.join("\n")).into())
}
