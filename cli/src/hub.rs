//! A hub that runs elsewhere, reached by a kubeconfig.

use std::path::PathBuf;

use anyhow::Result;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use reeve_manifests::os_words;

/// Which hub.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct HubArgs {
    /// The kubeconfig of the hub. Absent: $KUBECONFIG, or ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the hub in the kubeconfig. Absent: the current one.
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

impl HubArgs {
    /// A client of the hub. Nothing is sent yet.
    pub(crate) async fn client(&self) -> Result<Client> {
        self.client_of(self.context.as_deref()).await
    }

    /// A client of a context.
    pub(crate) async fn client_of(&self, context: Option<&str>) -> Result<Client> {
        let (path, advice) = match &self.kubeconfig {
            Some(path) => (path.clone(), ""),
            None => (default_path(), " (--kubeconfig names another)"),
        };
        let path = path.display();
        let unusable = |why: String| {
            // Further lines are the text of the file.
            let why = why.lines().next().unwrap_or_default().to_owned();
            anyhow::anyhow!("cannot use the kubeconfig {path}{advice}: {why}")
        };
        let kubeconfig = match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        };
        let kubeconfig = kubeconfig.map_err(|error| {
            unusable(match error {
                KubeconfigError::ReadConfig(source, _) => os_words(&source),
                other => other.to_string(),
            })
        })?;
        let options = KubeConfigOptions {
            context: context.map(str::to_owned),
            ..KubeConfigOptions::default()
        };
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let config = config.map_err(|error| unusable(error.to_string()))?;
        Client::try_from(config).map_err(|error| unusable(error.to_string()))
    }
}

/// The file that is read if none is named.
fn default_path() -> PathBuf {
    let named = std::env::var_os("KUBECONFIG").filter(|paths| !paths.is_empty());
    named.map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".kube/config"),
        PathBuf::from,
    )
}
