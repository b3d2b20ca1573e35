//! The answers of the probes after a change of credentials.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reeve_scenarios::Addon;
use tempfile::tempdir;

use crate::addon_process::{Planes, Setup};

/// What the page reports when credentials have changed.
const FAILED: &str = "[-]healthz failed: reason withheld";

/// Starts an add-on, changes a file and changes it back.
async fn unhealthy_for_good(setup: Setup, file: &Path) -> Result<()> {
    let addon: Addon = setup.start().await?;
    ensure!(addon.probe("healthz").await? == (200, "ok".to_owned()));
    let text = fs::read_to_string(file)?;
    fs::write(file, format!("{text}\n"))?;
    let (code, body) = addon.probe("healthz").await?;
    ensure!(code == 500, "{code}: {body}");
    ensure!(body.contains(FAILED), "{body}");
    fs::write(file, text)?;
    let (code, _) = addon.probe("healthz").await?;
    ensure!(code == 500, "the credentials in use may be others");
    let ready = addon.probe("readyz").await?;
    ensure!(ready == (200, "ok".to_owned()), "{ready:?}");
    Ok(())
}

pub(crate) async fn kubeconfig(planes: Arc<Planes>) -> Result<()> {
    let folder = tempdir()?;
    let copy = folder.path().join("kubeconfig");
    fs::copy(planes.hub.kubeconfig(), &copy)?;
    let setup = planes.setup("probes-kubeconfig").await?.hub(&copy);
    unhealthy_for_good(setup, &copy).await
}

pub(crate) async fn certificate(planes: Arc<Planes>) -> Result<()> {
    let folder = tempdir()?;
    let (certificate, copy) = (
        folder.path().join("tls.crt"),
        folder.path().join("kubeconfig"),
    );
    let text = fs::read_to_string(planes.hub.kubeconfig())?;
    let mark = "client-certificate-data: ";
    let (before, rest) = text.split_once(mark).context("no certificate")?;
    let (data, after) = rest.split_once(',').context("no end")?;
    fs::write(&certificate, STANDARD.decode(data)?)?;
    let named = format!("client-certificate: {}", certificate.display());
    fs::write(&copy, format!("{before}{named},{after}"))?;
    let setup = planes.setup("probes-certificate").await?.hub(&copy);
    unhealthy_for_good(setup, &certificate).await
}
