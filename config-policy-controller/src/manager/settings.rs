//! The settings of the process: its flags and environment variables, checked.

use std::path::{Path, PathBuf};

use reeve_runtime::client;
use reeve_runtime::manager::Manager;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::probes;

use crate::args::ControllerArgs;
use crate::error::Error;
use crate::evaluate::selectors::namespaces::TerminatingInclusion;
use crate::messages;
use crate::uninstall::UninstallWatch;

/// Where policies may be kept that came from no hub.
const OCM_POLICY_NAMESPACE: &str = "open-cluster-management-policies";

/// The checked settings from flags and environment.
pub struct Settings {
    /// The watched namespaces; one empty name is all of them.
    pub namespaces: Vec<String>,
    /// Whether namespaces that are being deleted are selected, where the policy leaves it open.
    pub terminating: TerminatingInclusion,
    /// The own Deployment, in a cluster.
    pub pod: Option<ObjectKey>,
    /// The kubeconfig of the target cluster, in hosted mode.
    pub target: Option<PathBuf>,
    /// The kubeconfig of the hub whose objects hub templates may read.
    pub standalone_hub: Option<PathBuf>,
    /// The kubeconfig of the hub, where a lease is kept.
    pub lease_hub: Option<PathBuf>,
}

impl Settings {
    /// Checks the flags and reads the environment.
    pub fn from_args(args: &ControllerArgs) -> Result<Self, Error> {
        let wrong = |text: &str| Err(Error::Settings(text.to_owned()));
        if args.workers() < 1 {
            return wrong(messages::NO_WORKERS);
        }
        let word = &args.default_terminating_namespace_inclusion;
        let Some(terminating) = TerminatingInclusion::parse(word) else {
            return Err(Error::Settings(messages::unknown_terminating_inclusion(
                word,
            )));
        };
        let given = args.watch_namespace.clone();
        let Some(namespace) = given.or_else(|| std::env::var("WATCH_NAMESPACE").ok()) else {
            return wrong(messages::WATCH_NAMESPACE_MISSING);
        };
        if namespace.contains(',') {
            return wrong(messages::SEVERAL_NAMESPACES);
        }
        let pod = match client::own_namespace() {
            Some(namespace) => Some(ObjectKey::new(namespace, deployment_name()?)),
            None => None,
        };
        let file = |path: &str| (!path.is_empty()).then(|| PathBuf::from(path));
        let target = file(&args.target_kubeconfig_path);
        let mut namespaces = vec![namespace.clone()];
        // A hosting cluster keeps the policies of many clusters; that namespace is its own.
        let also = args.enable_ocm_policy_namespace && !namespace.is_empty() && target.is_none();
        if also && namespace != OCM_POLICY_NAMESPACE {
            namespaces.push(OCM_POLICY_NAMESPACE.to_owned());
        }
        Ok(Self {
            namespaces,
            terminating,
            pod,
            target,
            standalone_hub: file(&args.standalone_hub_templates_kubeconfig_path),
            lease_hub: file(&args.hub_kubeconfig_path).filter(|_| args.enable_lease),
        })
    }

    /// `/healthz` fails once the files of a connection have changed: the process is started again to use the new ones.
    pub fn add_health_checks(
        &self,
        manager: &mut Manager,
        uninstall_watch: &UninstallWatch,
    ) -> Result<(), Error> {
        let tracked = |path: &Path| {
            let unchanged = probes::unchanged_files(probes::kubeconfig_files(path));
            unchanged.map_err(|source| Error::Files {
                path: path.display().to_string(),
                source,
            })
        };
        if let Some(path) = &self.target {
            match tracked(path) {
                Ok(unchanged) => manager.add_healthz_check("target kubeconfig", unchanged),
                // During an uninstallation the credentials of the target cluster may be gone.
                Err(_) if uninstall_watch.is_uninstalling() => {}
                Err(error) => return Err(error),
            }
        }
        // Upstream checks these two files for its leases only.
        if let Some(path) = &self.lease_hub {
            if let Some(path) = &self.standalone_hub {
                manager.add_healthz_check("standalone hub kubeconfig", tracked(path)?);
            }
            if let Ok(unchanged) = tracked(path) {
                manager.add_healthz_check("hub kubeconfig", unchanged);
            }
        }
        Ok(())
    }
}

/// The name of the own Deployment.
pub fn deployment_name() -> Result<String, Error> {
    let name = std::env::var("OPERATOR_NAME").unwrap_or_default();
    if name.is_empty() {
        return Err(Error::Settings(messages::OPERATOR_NAME_MISSING.to_owned()));
    }
    Ok(name)
}
