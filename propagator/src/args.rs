//! The flags of `governance-policy-propagator`.

use std::path::PathBuf;

use clap::Parser;
use reeve_runtime::client::InProcessServers;
use reeve_runtime::flags::{ListenAddress, LogArgs, TlsArgs, go_bool, listen_address};

/// Binds policies to the clusters that placements choose, keeps one replica of each policy in each
/// cluster's namespace on the hub, and adds up what the replicas report.
// Each is a flag of its own.
#[allow(clippy::struct_excessive_bools)]
#[derive(Parser, Clone, Debug)]
#[command(
    name = "governance-policy-propagator",
    version,
    args_override_self = true
)]
pub struct Args {
    /// Address of the metrics server; 0 switches it off.
    #[arg(long, default_value = ":8383", value_parser = listen_address, value_name = "ADDRESS")]
    pub metrics_bind_address: ListenAddress,
    /// Serve metrics over HTTPS, to callers that the API server allows to get /metrics.
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = go_bool, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub secure_metrics: bool,
    /// Address of the /healthz and /readyz probes; 0 switches them off.
    #[arg(long, default_value = ":8081", value_parser = listen_address, value_name = "ADDRESS")]
    pub health_probe_bind_address: ListenAddress,
    /// Work only while holding the leader lease.
    #[arg(long, default_value = "true", default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = go_bool, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub leader_elect: bool,
    /// Namespace of the leader lease. controller-runtime has it too, but upstream sets it nowhere:
    /// for processes that do not run in a Pod.
    #[arg(long, hide = true, value_name = "NAMESPACE")]
    pub leader_election_namespace: Option<String>,
    /// Shards of the work that the propagators of a hub share, by cluster namespace and by root policy. With 1 the leader does
    /// all of it. The same number for all of them, up to 64.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64), value_name = "N")]
    pub shards: u16,
    /// Takes the place of `WATCH_NAMESPACE`, which all components of a process share.
    #[arg(long, hide = true, value_name = "NAMESPACE")]
    pub watch_namespace: Option<String>,
    /// Serve the validating webhooks on port 9443, with tls.crt and tls.key of
    /// /tmp/k8s-webhook-server/serving-certs.
    #[arg(long, default_value = "true", default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = go_bool, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub enable_webhooks: bool,
    /// Port of the webhooks. Hidden like the next one: a manifest needs neither, and processes that
    /// share a machine need both.
    #[arg(long, hide = true, default_value_t = 9443, value_name = "PORT")]
    pub webhook_port: u16,
    /// Folder of the webhooks' tls.crt and tls.key.
    #[arg(
        long,
        hide = true,
        default_value = "/tmp/k8s-webhook-server/serving-certs",
        value_name = "FOLDER"
    )]
    pub webhook_cert_dir: PathBuf,
    /// Days between rotations of the encryption keys.
    #[arg(long, default_value_t = 30, value_name = "DAYS")]
    pub encryption_key_rotation: u32,
    /// Workers that rotate encryption keys.
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub key_rotation_max_concurrency: u16,
    /// Accepted for compatibility: metrics need no workers here.
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub policy_metrics_max_concurrency: u16,
    /// Workers that write the status of root policies.
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub policy_status_max_concurrency: u16,
    /// Accepted for compatibility: a changed root policy costs no request of its own here.
    #[arg(long, default_value_t = 2, value_name = "N")]
    pub root_policy_max_concurrency: u16,
    /// Workers that write replicated policies.
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub replicated_policy_max_concurrency: u16,
    /// Do not use `PlacementRule`s. Absent: they are used if their kind is installed.
    #[arg(long, default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = go_bool, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub disable_placementrule: Option<bool>,
    /// Template functions that must fail when called, besides env and expandenv.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub template_function_denylist: Vec<String>,
    /// The hub's kubeconfig. Absent: KUBECONFIG, the Pod's service account, ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Servers of this process that kubeconfigs may point to. Not a flag.
    #[arg(skip)]
    pub in_process: InProcessServers,
    /// TLS settings.
    #[command(flatten)]
    pub tls: TlsArgs,
    /// The flags of logging.
    #[command(flatten)]
    pub log: LogArgs,
}

/// The client's rate limit for requests to the API server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Requests per second on average.
    pub qps: f32,
    /// Requests at once after a pause.
    pub burst: u32,
}

impl Rates {
    /// `CONTROLLER_CONFIG_QPS` and `CONTROLLER_CONFIG_BURST`, or 200 and 400.
    pub fn from_environment() -> Self {
        let number = |name: &str| std::env::var(name).ok().map(|text| text.trim().to_owned());
        let qps = number("CONTROLLER_CONFIG_QPS").and_then(|text| text.parse().ok());
        let burst = number("CONTROLLER_CONFIG_BURST").and_then(|text| text.parse().ok());
        Self {
            qps: qps.unwrap_or(200.0),
            burst: burst.unwrap_or(400),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_parse_as_in_go() {
        let parse = |args: &[&str]| Args::try_parse_from([&["p"], args].concat());
        assert!(parse(&[]).unwrap().leader_elect);
        assert!(parse(&["--leader-elect"]).unwrap().leader_elect);
        assert!(!parse(&["--leader-elect=false"]).unwrap().leader_elect);
        let denied = parse(&[
            "--template-function-denylist=a,b",
            "--template-function-denylist",
            "c",
        ]);
        assert_eq!(denied.unwrap().template_function_denylist, ["a", "b", "c"]);
        assert!(parse(&["--no-such-flag"]).is_err());
        assert!(parse(&["--metrics-bind-address=0", "-v", "3", "--log-level=2"]).is_ok());
    }
}
