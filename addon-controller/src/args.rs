//! The flags of `governance-policy-addon-controller`, and the variables that it reads.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;
use reeve_runtime::flags::{ListenAddress, LogArgs, TlsArgs, listen_address};

use crate::facts::Environment;
use crate::messages;

/// Installs the policy add-ons on managed clusters: gives their agents an identity and rights on the hub, brings
/// them to the clusters, and has them clean up before they go.
#[derive(Parser, Clone, Debug)]
#[command(
    name = "governance-policy-addon-controller",
    version,
    args_override_self = true
)]
pub struct Args {
    /// Accepted and ignored, such as `controller`.
    #[arg(value_name = "ARGUMENTS", hide = true)]
    pub ignored: Vec<String>,
    /// The hub's kubeconfig. Absent: KUBECONFIG, the Pod's service account, ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Namespace of the leader's lease. Absent: the Pod's own.
    #[arg(long, default_value = "", value_name = "NAMESPACE")]
    pub namespace: String,
    /// Stop when one of these files changes; may be given several times.
    #[arg(long, value_name = "FILE")]
    pub terminate_on_files: Vec<PathBuf>,
    /// Address of the /healthz and /readyz probes; 0 switches them off.
    #[arg(long, default_value = "0", value_parser = listen_address, value_name = "ADDRESS")]
    pub health_probe_bind_address: ListenAddress,
    /// Address of the metrics server; 0 switches it off.
    #[arg(long, default_value = "0", value_parser = listen_address, value_name = "ADDRESS")]
    pub metrics_bind_address: ListenAddress,
    /// Serve metrics over HTTPS, to callers that the API server allows to get /metrics.
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = reeve_runtime::flags::go_bool, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub secure_metrics: bool,
    /// How many add-ons are worked on at once.
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub concurrency: u16,
    /// Requests to the API server a second.
    #[arg(long, default_value_t = 100.0, value_name = "N")]
    pub client_max_qps: f32,
    /// Requests to the API server at once after a pause.
    #[arg(long, default_value_t = 200, value_name = "N")]
    pub client_burst: u32,
    /// Accepted and ignored: there is nothing left to configure by it.
    #[arg(long, default_value = "", value_name = "FILE", hide = true)]
    pub config: String,
    /// Accepted and ignored: see --health-probe-bind-address and --metrics-bind-address.
    #[arg(long, default_value = "", value_name = "ADDRESS", hide = true)]
    pub listen: String,
    /// TLS settings.
    #[command(flatten)]
    pub tls: TlsArgs,
    /// The flags of logging.
    #[command(flatten)]
    pub log: LogArgs,
}

/// Arguments as clap reads them: in the names of flags, `_` and `-` mean the same.
pub fn with_hyphens(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let hyphenated = |arg: OsString| {
        let Some(text) = arg.to_str() else { return arg };
        if !text.starts_with("--") {
            return arg;
        }
        let (name, value) = text.split_at(text.find('=').unwrap_or(text.len()));
        OsString::from(name.replace('_', "-") + value)
    };
    args.into_iter().map(hyphenated).collect()
}

/// Reads the variables.
pub fn environment(variable: impl Fn(&str) -> Option<String>) -> Environment {
    let text = |name: &str| variable(name).unwrap_or_default();
    let switch = text("NETWORK_POLICIES_ENABLED");
    let network_policies = if switch.is_empty() {
        Some(true)
    } else {
        reeve_go_compat::strconv::parse_bool(&switch)
    };
    if network_policies.is_none() {
        tracing::error!("{}", messages::network_policies(&switch));
    }
    Environment {
        framework_image: text("GOVERNANCE_POLICY_FRAMEWORK_ADDON_IMAGE"),
        config_policy_image: text("CONFIG_POLICY_CONTROLLER_IMAGE"),
        network_policies: network_policies.unwrap_or(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Args, clap::Error> {
        let all = [&["p"], args].concat();
        Args::try_parse_from(with_hyphens(all.into_iter().map(OsString::from)))
    }

    #[test]
    fn what_manifests_pass_is_accepted() {
        let args = parse(&["controller", "--namespace=open-cluster-management"]).unwrap();
        assert_eq!(args.ignored, ["controller"]);
        assert!(parse(&[]).unwrap().namespace.is_empty());
        let all = parse(&[
            "controller",
            "--kubeconfig=/a_b/c",
            "--config=x",
            "--listen=0.0.0.0:8443",
            "--terminate-on-files=/a",
            "--terminate_on_files=/b_c",
            "--log_level=error",
            "--log-encoder=json",
            "--log_dir=/tmp",
            "--v=-2",
            "--vmodule=a=2",
        ])
        .unwrap();
        assert_eq!(
            all.terminate_on_files,
            [PathBuf::from("/a"), PathBuf::from("/b_c")]
        );
        assert_eq!(all.kubeconfig, Some(PathBuf::from("/a_b/c")));
        assert!(parse(&["--no-such-flag"]).is_err());
    }

    #[test]
    fn variables() {
        let read = |switch: Option<&str>| {
            let switch = switch.map(str::to_owned);
            environment(|name| match name {
                "NETWORK_POLICIES_ENABLED" => switch.clone(),
                "CONFIG_POLICY_CONTROLLER_IMAGE" => Some("image".to_owned()),
                _ => None,
            })
        };
        assert!(read(None).network_policies && read(Some("maybe")).network_policies);
        assert!(!read(Some("F")).network_policies);
        assert_eq!(read(None).config_policy_image, "image");
        assert_eq!(read(None).framework_image, "");
    }
}
