//! Clients that others have written work with the embedded server as they do with a real one.

mod controller;
mod tours;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use libtest_mimic::{Arguments, Failed, Trial};
use reeve_apiserver::{Access, Authority, Listener, Options, Server, kubeconfig};
use reeve_conformance::{Call, Calls, Kubectl, calls};
use reeve_testkit::{Plane, PlaneOptions};
use tempfile::TempDir;
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
    let calls = calls()?;
    if arguments.list {
        let names = calls.into_iter().map(|calls| calls.name);
        let names = names.map(|name| format!("kubectl::{name}"));
        let names = names.chain(controller::NAMES.map(str::to_owned));
        let names = names.chain(tours::names());
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
            embedded(folder.path())
        )
    })?;
    let both = Arc::new(Both {
        embedded: kubectl(&folder, "embedded", &folder.path().join("kubeconfig"))?,
        real: kubectl(&folder, "real", plane.kubeconfig())?,
    });
    let mut trials: Vec<Trial> = calls
        .into_iter()
        .map(|calls| {
            let (runtime, both) = (Arc::clone(&runtime), Arc::clone(&both));
            Trial::test(format!("kubectl::{}", calls.name), move || {
                runtime.block_on(same(&both, &calls))
            })
        })
        .collect();
    trials.extend(controller::trials(&runtime, &both.embedded.kubeconfig));
    trials.extend(tours::trials(&runtime, &both));
    trials.push(Trial::test("the_table_in_the_docs_is_whole", told));
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop((plane, listener));
    Ok(conclusion.exit_code())
}

struct Both {
    embedded: Kubectl,
    real: Kubectl,
}

/// Every reason why a tour differs is told to users.
fn told() -> Result<(), Failed> {
    let path = reeve_testkit::workspace().join("docs/apiserver.md");
    let page =
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    match tours::reasons().find(|reason| !page.contains(reason)) {
        Some(missing) => Err(format!("docs/apiserver.md does not say: {missing}").into()),
        None => Ok(()),
    }
}

/// Listens, and writes a kubeconfig.
async fn embedded(folder: &Path) -> Result<Listener> {
    let authority = Authority::new()?;
    let server = Server::start(Options {
        rbac: true,
        authority: authority.pem(),
        ..Options::default()
    });
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = server.listen(&authority, address).await?;
    let access = Access::admin("embedded", &authority, &listener)?;
    std::fs::write(folder.join("kubeconfig"), kubeconfig(&[access]))
        .context("writing the kubeconfig")?;
    Ok(listener)
}

fn kubectl(folder: &TempDir, name: &str, kubeconfig: &Path) -> Result<Kubectl> {
    let home = folder.path().join(name);
    std::fs::create_dir(&home).context("creating a home")?;
    Ok(Kubectl {
        program: reeve_testkit::kubectl()?,
        kubeconfig: kubeconfig.to_owned(),
        home,
    })
}

/// Every call is made of both servers at once, and the next one when both are done.
async fn same(both: &Both, calls: &Calls) -> Result<(), Failed> {
    let namespace = format!("k-{}", calls.name);
    let first = Call {
        run: "create namespace $NS".to_owned(),
        stdin: String::new(),
        unordered: false,
        differs: None,
    };
    let mut wrong = Vec::new();
    for call in std::iter::once(&first).chain(&calls.calls) {
        let (embedded, real) = tokio::try_join!(
            both.embedded.run(&namespace, call),
            both.real.run(&namespace, call)
        )
        .map_err(|error| format!("{error:#}"))?;
        match (embedded.difference(&real), &call.differs) {
            (Some(difference), None) => wrong.push(format!("== {}\n{difference}", call.run)),
            (None, Some(_)) => wrong.push(format!(
                "== {}\nno longer differs: take the note away",
                call.run
            )),
            _ => {}
        }
        if std::env::var_os("REEVE_SHOW").is_some() {
            eprintln!(
                "$ kubectl {}\n{}{}[{:?}]",
                call.run, real.stdout, real.stderr, real.code
            );
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let (count, all) = (wrong.len(), calls.calls.len());
    Err(format!("{count} of {all} calls differ\n{}", wrong.join("\n")).into())
}
