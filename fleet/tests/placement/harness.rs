//! Runs scenarios, each with a client and a unique name, on one control plane and on the in-memory API server.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::future::BoxFuture;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, PostParams};
use libtest_mimic::{Arguments, Failed, Trial};
use reeve_apiserver::{Identity, Options, Server};
use reeve_fleet::placement::crds::crds;
use reeve_fleet::placement::debug::Debugger;
use reeve_runtime::CancellationToken;
use reeve_testkit::{Plane, PlaneOptions, eventually};
use tokio::runtime::Builder;

use crate::hub::Hub;

/// A scenario: its name, the short name of its objects, and its function.
pub struct Scenario(
    pub &'static str,
    pub &'static str,
    pub fn(Hub) -> BoxFuture<'static, Result<()>>,
);

macro_rules! scenarios {
    ($($name:literal, $short:literal, $scenario:path;)*) => {
        vec![$(crate::harness::Scenario($name, $short, |hub| Box::pin($scenario(hub)))),*]
    };
}
pub(crate) use scenarios;

/// Runs scenarios on a control plane of this name, and on the in-memory API server; `start` starts the controllers,
/// and returns the debugger of their placements.
pub fn main(
    name: &'static str,
    scenarios: &[Scenario],
    start: impl Fn(Client, CancellationToken) -> Option<Debugger>,
) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(12));
    if arguments.list {
        let trials = [ON_PLANE, IN_MEMORY].into_iter().flat_map(|place| {
            scenarios
                .iter()
                .map(move |one| Trial::test(format!("{place}{}", one.0), || Ok(())))
        });
        return libtest_mimic::run(&arguments, trials.collect()).exit_code();
    }
    let runtime = match Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => Arc::new(runtime),
        Err(error) => return failed(&error.into()),
    };
    let plane = match runtime.block_on(plane(name)) {
        Ok(plane) => plane,
        Err(error) => return failed(&error),
    };
    let in_memory = match runtime.block_on(in_memory()) {
        Ok(client) => client,
        Err(error) => return failed(&error),
    };
    let stop = CancellationToken::new();
    let mut trials = Vec::new();
    for (place, client) in [(ON_PLANE, plane.client()), (IN_MEMORY, in_memory)] {
        let debugger = {
            let _inside = runtime.enter();
            start(client.clone(), stop.clone())
        };
        for Scenario(name, short, scenario) in scenarios {
            let runtime = Arc::clone(&runtime);
            let hub = Hub::new(client.clone(), short, debugger.clone());
            let scenario = *scenario;
            trials.push(Trial::test(format!("{place}{name}"), move || {
                let result = runtime.block_on(run_scenario(hub, scenario));
                result.map_err(|error| Failed::from(format!("{error:#}")))
            }));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    stop.cancel();
    drop(plane);
    conclusion.exit_code()
}

/// The prefixes of scenarios' names, by server.
const ON_PLANE: &str = "";
const IN_MEMORY: &str = "in_memory::";

async fn run_scenario(hub: Hub, scenario: fn(Hub) -> BoxFuture<'static, Result<()>>) -> Result<()> {
    hub.prepare().await?;
    match scenario(hub.clone()).await {
        Ok(()) => Ok(()),
        Err(error) => Err(error.context(hub.dump().await)),
    }
}

/// A client of an in-process API server. It restricts no user's access, except where a scenario asks for it.
async fn in_memory() -> Result<Client> {
    let server = Server::start(Options {
        rbac: true,
        ..Options::default()
    })?;
    let client = Client::new(server.service(Identity::admin()), "default");
    install(&client).await?;
    Ok(client)
}

fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("the world could not be started: {error:#}");
    ExitCode::FAILURE
}

async fn plane(name: &'static str) -> Result<Plane> {
    let plane = Plane::start(PlaneOptions {
        name,
        ..PlaneOptions::default()
    })
    .await?;
    install(&plane.client()).await?;
    Ok(plane)
}

/// Installs the CRDs and waits until they are served.
async fn install(client: &Client) -> Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for crd in crds()? {
        let crd: CustomResourceDefinition = serde_json::from_value(crd)?;
        let name = crd.metadata.name.clone().unwrap_or_default();
        let created = api.create(&PostParams::default(), &crd).await;
        created.with_context(|| format!("creating {name}"))?;
        eventually(
            format!("{name} is served"),
            Duration::from_mins(1),
            || async {
                let crd = api.get(&name).await?;
                let conditions = crd.status.and_then(|status| status.conditions);
                let mut conditions = conditions.into_iter().flatten();
                ensure!(
                    conditions.any(|one| one.type_ == "Established" && one.status == "True"),
                    "not established"
                );
                Ok(())
            },
        )
        .await?;
    }
    Ok(())
}
