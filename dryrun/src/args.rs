//! The flags.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgAction, Parser, Subcommand};
use reeve_runtime::flags::{go_bool, wrong_flag};

use crate::messages;
use crate::outcome::Outcome;
use crate::paint::Paint;

/// How the program was called, which decides what upstream's fixed texts and exit codes hold for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// By upstream's name: the first policy of the file counts, exit codes are upstream's.
    Upstream,
    /// As a command of Reeve: all policies count, wrong usage has an exit code of its own.
    Reeve,
}

impl Caller {
    /// The exit code for arguments that make no sense.
    pub(crate) fn usage_code(self) -> u8 {
        match self {
            Self::Upstream => 1,
            Self::Reeve => 64,
        }
    }
}

/// What is evaluated against what.
// Each boolean is a separate flag.
#[allow(clippy::struct_excessive_bools)]
#[derive(clap::Args, Clone, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    // Of a flag that is given twice the last one counts, as in Go.
    args_override_self = true,
    after_help = "Examples:
  reeve dryrun -p policy.yaml pod.yaml            a policy against the objects of a file
  reeve dryrun -p policy.yaml objects/            against those of a folder, without the folders in it
  kubectl get pods -A -o yaml | reeve dryrun -p policy.yaml -
  reeve dryrun -p policy.yaml --from-cluster      against the cluster of the kubeconfig, which is not changed
  reeve generate generator.yaml | reeve dryrun -p - objects/
                                                  every ConfigurationPolicy of what a generator writes

Exit codes: 0 Compliant, 2 not Compliant, 1 could not be evaluated, 64 usage (1 as the program dryrun).

A policy informs, whatever its remediationAction, and hub templates are not resolved: see reeve resolve. docs/dryrun.md
describes what is different on a cluster."
)]
pub struct Args {
    /// What to do instead of evaluating a policy.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Objects of the cluster: files, folders (without the folders in them), or - for standard input, which is also read
    /// when it is a pipe.
    #[arg(value_name = "PATH")]
    pub(crate) inputs: Vec<PathBuf>,
    /// The file with the ConfigurationPolicy, or with the Policy that has it; with reeve, also several of them, a folder, or
    /// - for standard input.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// A YAML file with a part of the status that is expected.
    #[arg(short = 'c', long, value_name = "FILE")]
    pub(crate) desired_status: Option<PathBuf>,
    /// Exit with 2 if the status is not the expected one.
    #[arg(long, value_parser = go_bool, num_args = 0..=1, require_equals = true, action = ArgAction::Set)]
    #[arg(
        default_value = "false",
        default_missing_value = "true",
        value_name = "BOOL"
    )]
    pub(crate) fail_on_status: bool,
    /// Print what differs between the objects and the policy.
    #[arg(long, value_parser = go_bool, num_args = 0..=1, require_equals = true, action = ArgAction::Set)]
    #[arg(
        default_value = "true",
        default_missing_value = "true",
        value_name = "BOOL"
    )]
    pub(crate) print_diffs: bool,
    /// Print differences whole, however long they are.
    #[arg(long, value_parser = go_bool, num_args = 0..=1, require_equals = true, action = ArgAction::Set)]
    #[arg(
        default_value = "false",
        default_missing_value = "true",
        value_name = "BOOL"
    )]
    pub(crate) full_diffs: bool,
    /// Print without colours.
    #[arg(long, value_parser = go_bool, num_args = 0..=1, require_equals = true, action = ArgAction::Set)]
    #[arg(
        default_value = "false",
        default_missing_value = "true",
        value_name = "BOOL"
    )]
    pub(crate) no_colors: bool,
    /// Write the compliance messages to this file, one a line, instead of printing them.
    #[arg(long, value_name = "FILE")]
    pub(crate) messages_path: Option<PathBuf>,
    /// Write the whole resulting status to this file, as YAML.
    #[arg(long, value_name = "FILE")]
    pub(crate) status_path: Option<PathBuf>,
    /// A file with the kinds of the cluster, in place of those of Kubernetes: see dryrun generate. Kinds whose CRD is among the
    /// objects need no entry.
    #[arg(long, env = "DRYRUN_MAPPINGS_FILE", value_name = "FILE")]
    pub(crate) mappings_file: Option<PathBuf>,
    /// Evaluate against the cluster of the kubeconfig: live reads, and dry runs of updates, for which the user needs the
    /// permission to update. Objects that are given as files are ignored.
    #[arg(long, value_parser = go_bool, num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", value_name = "BOOL")]
    pub(crate) from_cluster: Option<bool>,
    /// Put the objects into an API server in this process, which checks them and sets defaults as a cluster does.
    #[arg(long, value_parser = go_bool, num_args = 0..=1, require_equals = true, action = ArgAction::Set)]
    #[arg(
        default_value = "false",
        default_missing_value = "true",
        value_name = "BOOL"
    )]
    pub(crate) api_server: bool,
    /// The cluster of --from-cluster and generate. Absent: KUBECONFIG, the Pod's service account, ~/.kube/config.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Print the logs of the controller.
    #[arg(long, value_parser = go_bool, num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", value_name = "BOOL")]
    pub(crate) log: Option<bool>,
    /// Append the logs of the controller to this file, instead of printing them.
    #[arg(long, value_name = "FILE")]
    pub(crate) log_path: Option<PathBuf>,
}

/// What the program can do besides evaluating.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Command {
    /// Print the kinds of the cluster of the kubeconfig, for --mappings-file.
    Generate,
}

/// The flags of the program with upstream's name.
#[derive(Parser)]
#[command(name = crate::PROGRAM, about = messages::ABOUT, disable_help_subcommand = true)]
struct Program {
    #[command(flatten)]
    args: Args,
}

impl Args {
    /// The arguments of the program with upstream's name, of which the first is that name. Wrong ones, and the request for
    /// help, are an outcome.
    pub fn of_program(args: Vec<OsString>) -> Result<Self, Outcome> {
        Program::try_parse_from(args)
            .map(|program| program.args)
            .map_err(|error| match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Outcome {
                    stdout: error.render().to_string(),
                    ..Outcome::default()
                },
                _ => Outcome::error(1, &wrong_flag(&error)),
            })
    }

    /// Whether the output has colours.
    pub(crate) fn paint(&self) -> Paint {
        if self.no_colors {
            Paint::Plain
        } else {
            Paint::Ansi
        }
    }

    /// Whether a live cluster is evaluated: the flag, else the variable.
    pub(crate) fn is_from_cluster(&self) -> bool {
        let variable = || std::env::var("DRYRUN_FROM_CLUSTER").is_ok_and(|value| value == "true");
        self.from_cluster.unwrap_or_else(variable)
    }
}
