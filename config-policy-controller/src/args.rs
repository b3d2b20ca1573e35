//! The flags of `config-policy-controller`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use reeve_constraint_audit::{Mode, VIOLATIONS_LIMIT};
use reeve_runtime::client::InProcessServers;
use reeve_runtime::flags::{ListenAddress, LogArgs, TlsArgs, go_bool, listen_address};

use crate::error::Error;
use crate::messages;

/// Evaluates `ConfigurationPolicy` objects on a cluster: finds what deviates, and repairs it where the policy
/// says so.
#[derive(Parser, Clone, Debug)]
#[command(
    name = "config-policy-controller",
    version,
    disable_help_subcommand = true,
    // Of a flag that is given twice the last one counts, as in Go.
    args_override_self = true
)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What the program can do.
#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// Run the controller.
    Controller(Box<ControllerArgs>),
    /// Make a running controller let go of the cluster, and wait until it has.
    TriggerUninstall(Box<UninstallArgs>),
    /// Anything else, which is an error.
    #[command(external_subcommand)]
    Unknown(Vec<String>),
}

/// The flags of `trigger-uninstall`.
#[derive(clap::Args, Clone, Debug)]
pub struct UninstallArgs {
    /// Name of the controller's Deployment.
    #[arg(long, default_value = "config-policy-controller", value_name = "NAME")]
    pub deployment_name: String,
    /// Namespace of the controller's Deployment.
    #[arg(
        long,
        default_value = "open-cluster-management-agent-addon",
        value_name = "NAME"
    )]
    pub deployment_namespace: String,
    /// Namespace of the policies.
    #[arg(long, default_value = "", value_name = "NAME")]
    pub policy_namespace: String,
    /// Another namespace of policies.
    #[arg(long, value_name = "NAME")]
    pub additional_namespace: Vec<String>,
    /// Seconds after which to give up, at least 30.
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    pub timeout_seconds: u32,
    /// The cluster's kubeconfig. Absent: KUBECONFIG, the Pod's service account, ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The flags of logging.
    #[command(flatten)]
    pub log: LogArgs,
}

impl UninstallArgs {
    /// Whether the flags make sense.
    pub fn check(&self) -> Result<(), Error> {
        let needed = [
            &self.deployment_name,
            &self.deployment_namespace,
            &self.policy_namespace,
        ];
        if needed.iter().any(|value| value.is_empty()) {
            return Err(Error::Settings(messages::UNINSTALL_FLAGS.to_owned()));
        }
        if self.timeout_seconds < 30 {
            return Err(Error::Settings(messages::UNINSTALL_TIMEOUT.to_owned()));
        }
        Ok(())
    }

    /// Where policies are looked for, each namespace once.
    pub fn namespaces(&self) -> Vec<&str> {
        let mut namespaces = vec![self.policy_namespace.as_str()];
        for also in &self.additional_namespace {
            if !also.is_empty() && !namespaces.contains(&also.as_str()) {
                namespaces.push(also);
            }
        }
        namespaces
    }
}

/// The flags of the controller.
// Each is a flag of its own; no two say the same thing.
#[allow(clippy::struct_excessive_bools)]
#[derive(clap::Args, Clone, Debug)]
pub struct ControllerArgs {
    /// Seconds between evaluations of a policy whose objects keep changing. A single change is never delayed.
    #[arg(long, default_value_t = 5, value_name = "SECONDS")]
    pub evaluation_backoff: u32,
    /// Policies evaluated at once (default 2).
    #[arg(long, value_name = "N")]
    pub evaluation_concurrency: Option<u16>,
    /// Accepted for compatibility: values are decrypted by the evaluation that reads them.
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub decryption_concurrency: u8,
    /// Requests per second to the API server (default 30, or 15 for each concurrent evaluation if that is given).
    #[arg(long, value_name = "N")]
    pub client_max_qps: Option<f32>,
    /// Requests at once after a pause (default 45, or 22 for each concurrent evaluation and one more if that
    /// is given).
    #[arg(long, value_name = "N")]
    pub client_burst: Option<u16>,
    /// Keep the add-on's lease, by which the hub knows that the add-on is alive.
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = go_bool, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub enable_lease: bool,
    /// The managed cluster's name.
    #[arg(long, default_value = "acm-managed-cluster", value_name = "NAME")]
    pub cluster_name: String,
    /// The hub's kubeconfig, for the lease where this cluster cannot keep it.
    #[arg(
        long,
        default_value = "/var/run/klusterlet/kubeconfig",
        value_name = "FILE"
    )]
    pub hub_kubeconfig_path: String,
    /// Kubeconfig of the cluster that policies speak about, if it is not the one they live on (hosted mode).
    #[arg(long, default_value = "", value_name = "FILE")]
    pub target_kubeconfig_path: String,
    /// The hub's kubeconfig, for hub templates in policies.
    #[arg(long, default_value = "", value_name = "FILE")]
    pub standalone_hub_templates_kubeconfig_path: String,
    /// Address of the metrics server; 0 switches it off.
    #[arg(long, default_value = "localhost:8383", value_parser = listen_address, value_name = "ADDRESS")]
    pub metrics_bind_address: ListenAddress,
    /// Serve metrics over HTTPS, to callers that the API server allows to get /metrics.
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = go_bool, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub secure_metrics: bool,
    /// Address of the /healthz and /readyz probes; 0 switches them off.
    #[arg(long, default_value = ":8081", value_parser = listen_address, value_name = "ADDRESS")]
    pub health_probe_bind_address: ListenAddress,
    /// Takes the place of `WATCH_NAMESPACE`, which all components of a process share.
    #[arg(long, hide = true, value_name = "NAMESPACE")]
    pub watch_namespace: Option<String>,
    /// Work only while holding the leader lease.
    #[arg(long, default_value = "true", default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = go_bool, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub leader_elect: bool,
    /// Accepted for compatibility: it never had an effect.
    #[arg(long, default_value = "true", default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = go_bool, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub enable_metrics: bool,
    /// Also evaluate policies in the namespace open-cluster-management-policies. Never in hosted mode.
    #[arg(long, default_value = "true", default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = go_bool, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub enable_ocm_policy_namespace: bool,
    /// Evaluate `OperatorPolicy` objects.
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = go_bool, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub enable_operator_policy: bool,
    /// Namespace of operators whose policy names none.
    #[arg(long, default_value = "", value_name = "NAME")]
    pub operator_policy_default_namespace: String,
    /// Reports that the status of an `OperatorPolicy` keeps. 0 counts as 10.
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub operator_policy_status_history_length: u16,
    /// Whether namespaces that are being deleted are selected: `IfMatch` or Drop.
    #[arg(long, default_value = "IfMatch", value_name = "WORD")]
    pub default_terminating_namespace_inclusion: String,
    /// Template functions that must fail when called, besides env and expandenv.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub template_function_denylist: Vec<String>,
    /// Who evaluates Gatekeeper's constraints on the cluster that policies speak about. off and relay: a Gatekeeper, if there
    /// is one; materialised: this process; auto: a Gatekeeper while there is one, otherwise this process.
    #[arg(long, default_value = "off", value_name = "MODE")]
    pub constraint_audit: Mode,
    /// Violations that the status of a constraint lists, where this process evaluates it.
    #[arg(long, default_value_t = VIOLATIONS_LIMIT, value_name = "N")]
    pub constraint_violations_limit: usize,
    /// Evaluate the CEL of constraint templates before their Rego, as Gatekeeper does.
    #[arg(long, default_value = "true", default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = go_bool, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub enable_k8s_native_validation: bool,
    /// The cluster's kubeconfig. Absent: KUBECONFIG, the Pod's service account, ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Servers in this process that the kubeconfigs may lead to. Not a flag.
    #[arg(skip)]
    pub in_process: InProcessServers,
    /// TLS settings.
    #[command(flatten)]
    pub tls: TlsArgs,
    /// The flags of logging.
    #[command(flatten)]
    pub log: LogArgs,
}

impl ControllerArgs {
    /// Policies evaluated at once.
    pub fn workers(&self) -> u16 {
        self.evaluation_concurrency.unwrap_or(2)
    }

    /// Requests per second to the API server.
    pub fn qps(&self) -> f32 {
        let derived = self
            .evaluation_concurrency
            .map(|workers| 15.0 * f32::from(workers));
        self.client_max_qps.or(derived).unwrap_or(30.0)
    }

    /// Requests at once after a pause.
    pub fn burst(&self) -> u32 {
        let derived = self
            .evaluation_concurrency
            .map(|workers| 22 * u32::from(workers) + 1);
        self.client_burst.map(u32::from).or(derived).unwrap_or(45)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn controller(args: &[&str]) -> Result<ControllerArgs, clap::Error> {
        let args = [&["config-policy-controller", "controller"], args].concat();
        match Args::try_parse_from(args)?.command {
            Some(Command::Controller(args)) => Ok(*args),
            other => panic!("not the controller: {other:?}"),
        }
    }

    #[test]
    fn flags_parse_as_in_go() {
        let args = controller(&[
            "--leader-elect=false",
            "--target-kubeconfig-path=",
            "--log-level=1",
            "--evaluation-backoff=2",
            "--enable-operator-policy=true",
            "--enable-lease",
            "--template-function-denylist=a,b",
            "-v",
            "3",
        ])
        .unwrap();
        assert!(!args.leader_elect && args.enable_operator_policy && args.enable_lease);
        assert_eq!(args.evaluation_backoff, 2);
        assert_eq!(args.template_function_denylist, ["a", "b"]);
        assert!(controller(&["--no-such-flag"]).is_err());
        let args = controller(&[
            "--evaluation-backoff=2",
            "--evaluation-backoff=3",
            "--template-function-denylist=a",
            "--template-function-denylist=b",
        ]);
        let args = args.unwrap();
        assert_eq!(args.evaluation_backoff, 3);
        assert_eq!(args.template_function_denylist, ["a", "b"]);
    }

    #[test]
    fn defaults() {
        let args = controller(&[]).unwrap();
        assert!(args.leader_elect && args.enable_metrics && args.enable_ocm_policy_namespace);
        assert!(!(args.enable_lease || args.secure_metrics || args.enable_operator_policy));
        assert_eq!(
            (args.evaluation_backoff, args.workers(), args.burst()),
            (5, 2, 45)
        );
        assert!((args.qps() - 30.0).abs() < f32::EPSILON);
        assert_eq!(args.default_terminating_namespace_inclusion, "IfMatch");
        assert_eq!(args.constraint_audit, Mode::Off);
        assert!(args.constraint_violations_limit == 20 && args.enable_k8s_native_validation);
    }

    #[test]
    fn gk_126_modes_of_constraint_audit() {
        let mode = |mode: &str| {
            let flag = format!("--constraint-audit={mode}");
            controller(&[&flag]).map(|args| args.constraint_audit)
        };
        for (text, expected) in [
            ("off", Mode::Off),
            ("relay", Mode::Off),
            ("auto", Mode::Auto),
            ("materialised", Mode::Materialised),
        ] {
            assert_eq!(mode(text).unwrap(), expected);
        }
        let wrong = mode("virtual").unwrap_err().to_string();
        assert!(
            wrong.contains("use off, relay, auto or materialised"),
            "{wrong}"
        );
    }

    #[test]
    fn rate_limits_grow_with_evaluation_concurrency() {
        let args = controller(&["--evaluation-concurrency=4"]).unwrap();
        assert!((args.qps() - 60.0).abs() < f32::EPSILON);
        assert_eq!(args.burst(), 89);
        let args = controller(&["--evaluation-concurrency=4", "--client-max-qps=7"]).unwrap();
        assert!((args.qps() - 7.0).abs() < f32::EPSILON);
    }

    #[test]
    fn unknown_subcommands_are_kept_for_the_error() {
        let command = |args: &[&str]| Args::try_parse_from(args).unwrap().command;
        assert!(command(&["p"]).is_none());
        assert!(matches!(
            command(&["p", "serve", "--x"]),
            Some(Command::Unknown(_))
        ));
        let uninstall = command(&["p", "trigger-uninstall", "--policy-namespace", "n"]);
        let Some(Command::TriggerUninstall(uninstall)) = uninstall else {
            panic!("{uninstall:?}");
        };
        assert_eq!(
            uninstall.deployment_namespace,
            "open-cluster-management-agent-addon"
        );
        assert!(uninstall.check().is_ok() && uninstall.timeout_seconds == 300);
    }

    #[test]
    fn trigger_uninstall_flags_are_checked() {
        let wrong = |args: &[&str]| {
            let args = [&["p", "trigger-uninstall"], args].concat();
            match Args::try_parse_from(args).unwrap().command {
                Some(Command::TriggerUninstall(args)) => args.check().unwrap_err().to_string(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(wrong(&[]), messages::UNINSTALL_FLAGS);
        assert_eq!(
            wrong(&["--policy-namespace=n", "--deployment-name="]),
            messages::UNINSTALL_FLAGS
        );
        assert_eq!(
            wrong(&["--policy-namespace=n", "--timeout-seconds=29"]),
            messages::UNINSTALL_TIMEOUT
        );
    }
}
