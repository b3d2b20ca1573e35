//! A hub that cannot be reached.

use std::fs;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{CONFIGURATION, POLICY, configuration};
use reeve_testkit::{SOON, eventually};
use serde_json::json;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use crate::addon_process::Planes;
use crate::addon_process::flags::copies;

/// Passes connections on to the hub from now on.
async fn open(port: u16, server: String) -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let server = server.clone();
            tokio::spawn(async move {
                if let Ok(mut far) = TcpStream::connect(&server).await {
                    // It ends when either side does.
                    let _ = copy_bidirectional(&mut near, &mut far).await;
                }
            });
        }
    });
    Ok(())
}

pub(crate) async fn at_start(planes: Arc<Planes>) -> Result<()> {
    let namespace = "outage";
    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    let port = reeve_testkit::free_port()?;
    let server = planes.hub.server();
    let text = fs::read_to_string(planes.hub.kubeconfig())?;
    let away = text.replace(server, &format!("https://127.0.0.1:{port}"));
    ensure!(away != text, "{text}");
    fs::write(&kubeconfig, away)?;
    let setup = planes.setup(namespace).await?.hub(&kubeconfig);
    // There from before.
    let name = "during-outage";
    let policy = json!({
        "apiVersion": POLICY.0, "kind": POLICY.1,
        "metadata": { "name": name, "namespace": namespace },
        "spec": {
            "disabled": false,
            "policy-templates": [{ "objectDefinition": configuration(name, "inform") }]
        }
    });
    planes.managed.apply(&policy.to_string()).await?;

    let mut addon = setup.spawn(&[])?;
    let find = || {
        let (api, kind) = CONFIGURATION;
        planes.managed.get(api, kind, Some(namespace), name)
    };
    eventually("the template is made", SOON, || async {
        find().await?.map(|_| ()).context("absent")
    })
    .await
    .with_context(|| addon.log())?;
    ensure!(addon.probe("healthz").await? == (200, "ok".to_owned()));
    let (code, body) = addon.probe("readyz").await?;
    ensure!(code == 500, "{body}");
    ensure!(addon.component().status()?.is_none(), "{}", addon.log());

    open(port, server.trim_start_matches("https://").to_owned()).await?;
    let addon = addon.ready().await?;
    // Only now it is known that the hub does not ask for it.
    let gone = planes
        .managed
        .gone(POLICY.0, POLICY.1, Some(namespace), name, SOON);
    gone.await.with_context(|| addon.log())?;
    copies(&planes, namespace, "after-outage").await
}
