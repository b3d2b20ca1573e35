//! The embedded server and a real one answer the same.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use kube::Client;
use libtest_mimic::{Arguments, Failed, Trial};
use reeve_apiserver::{Authority, Identity, Options, Server};
use reeve_conformance::{Script, hooks, scripts};
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
    let scripts = scripts("cases")?;
    if arguments.list {
        let trials = scripts
            .into_iter()
            .map(|script| Trial::test(script.name, || Ok(())));
        return Ok(libtest_mimic::run(&arguments, trials.collect()).exit_code());
    }
    let runtime = Arc::new(Runtime::new()?);
    let plane = runtime.block_on(Plane::start(PlaneOptions {
        name: "conformance",
        controller_manager: true,
        ..PlaneOptions::default()
    }))?;
    let embedded = {
        let _inside = runtime.enter();
        let server = Server::start(Options {
            rbac: true,
            signer: Some(Arc::new(Authority::new()?)),
            ..Options::default()
        })?;
        Client::new(server.service(Identity::admin()), "default")
    };
    let real = plane.client();
    let signer = Arc::new(hooks::Authority::new()?);
    let table = Trial::test("the_table_in_the_docs_is_whole", {
        let reasons = reasons(&scripts);
        move || reasons_are_documented(&reasons)
    });
    let trials = scripts.into_iter().map(|script| {
        let (runtime, signer) = (Arc::clone(&runtime), Arc::clone(&signer));
        let (embedded, real) = (embedded.clone(), real.clone());
        Trial::test(script.name.clone(), move || {
            runtime.block_on(compare_servers(&embedded, &real, &signer, &script))
        })
    });
    let conclusion = libtest_mimic::run(&arguments, trials.chain([table]).collect());
    drop(plane);
    Ok(conclusion.exit_code())
}

/// Why answers differ, where they do.
fn reasons(scripts: &[Script]) -> Vec<String> {
    let steps = scripts.iter().flat_map(|script| &script.steps);
    steps.filter_map(|step| step.differs.clone()).collect()
}

/// The documentation has every reason.
fn reasons_are_documented(reasons: &[String]) -> Result<(), Failed> {
    let path = reeve_testkit::workspace().join("docs/apiserver.md");
    let page =
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    match reasons
        .iter()
        .find(|reason| !page.contains(reason.as_str()))
    {
        Some(missing) => Err(format!("docs/apiserver.md lacks: {missing}").into()),
        None => Ok(()),
    }
}

async fn compare_servers(
    embedded: &Client,
    real: &Client,
    signer: &hooks::Authority,
    script: &Script,
) -> Result<(), Failed> {
    let wrong = script.differences(embedded, real, signer).await;
    let wrong = wrong.map_err(|error| format!("{error:#}"))?;
    if wrong.is_empty() {
        return Ok(());
    }
    let (count, all) = (wrong.len(), script.steps.len());
    Err(format!("{count} of {all} answers differ\n{}", wrong.join("\n")).into())
}
