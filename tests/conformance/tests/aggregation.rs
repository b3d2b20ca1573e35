//! `APIServices` whose servers are not there look as they do on a real server. That one shows them to everybody, and ends
//! no namespace as long as they are there: they have one of their own.

use anyhow::{Context as _, Result, ensure};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use reeve_apiserver::{Identity, Options, Server};
use reeve_conformance::{Kubectl, calls, hooks, listen, scripts};
use reeve_testkit::{Plane, PlaneOptions};

#[tokio::test(flavor = "multi_thread")]
async fn apiservice_of_missing_service_is_unavailable_as_on_real_server() -> Result<()> {
    let plane = Plane::start(PlaneOptions {
        name: "aggregation",
        controller_manager: true,
        ..PlaneOptions::default()
    })
    .await?;
    let mut wrong = Vec::new();
    let signer = hooks::Authority::new()?;
    for script in scripts("aggregation/cases")? {
        let server = Server::start(Options {
            rbac: true,
            ..Options::default()
        })?;
        let embedded = Client::new(server.service(Identity::admin()), "default");
        let real = real_client(&plane).await?;
        wrong.extend(script.differences(&embedded, &real, &signer).await?);
    }
    let folder = tempfile::tempdir().context("creating a folder")?;
    let _listener = listen(folder.path()).await?;
    let kubeconfig = folder.path().join("kubeconfig");
    let embedded = Kubectl::new(folder.path(), "embedded", &kubeconfig)?;
    let real = Kubectl::new(folder.path(), "real", plane.kubeconfig())?;
    for calls in calls("aggregation/kubectl")? {
        wrong.extend(calls.differences(&embedded, &real).await?);
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// A client that does not retry when a service is unavailable.
async fn real_client(plane: &Plane) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(plane.kubeconfig())?;
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}
