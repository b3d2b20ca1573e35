//! The flags.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgAction, CommandFactory as _, Parser, Subcommand};
use reeve_runtime::flags::{go_bool, wrong_flag};

use crate::messages;
use crate::outcome::{Caller, Outcome};

/// What is resolved with what.
#[derive(clap::Args, Clone, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    // Of a flag that is given twice the last one counts, as in Go.
    args_override_self = true,
    after_help = "Examples:
  reeve resolve policy.yaml                       managed-cluster templates, with the cluster of the kubeconfig
  reeve resolve policy.yaml --local-resources objects.yaml --offline
                                                  with objects of a file, and no cluster
  reeve resolve policy.yaml --hub-kubeconfig hub.kubeconfig --cluster east --cluster west
                                                  hub templates, too, for each of two clusters
  reeve resolve policy.yaml --save-resources used.yaml
  reeve resolve policy.yaml --local-resources used.yaml --offline
                                                  the same result again, without the cluster

Exit codes: 0, 2 a template failed, 1 usage and input (64 for wrong usage of reeve). docs/resolve.md describes the order in which templates are
resolved."
)]
pub struct Args {
    /// What to do instead of resolving.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// The policy. Absent or -: standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Resolve hub templates, with the hub of this kubeconfig.
    #[arg(long, value_name = "FILE")]
    pub(crate) hub_kubeconfig: Option<PathBuf>,
    /// The managed cluster for which hub templates are resolved. With reeve, several may be given.
    #[arg(
        long = "cluster-name",
        visible_alias = "cluster",
        value_delimiter = ',',
        value_name = "NAME"
    )]
    pub(crate) clusters: Vec<String>,
    /// The namespace that hub templates may read. Absent: that of the Policy.
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "NAME"
    )]
    pub(crate) hub_namespace: String,
    /// `.ObjectNamespace` of managed-cluster templates.
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "NAME"
    )]
    pub(crate) object_namespace: String,
    /// `.ObjectName` of managed-cluster templates.
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "NAME"
    )]
    pub(crate) object_name: String,
    /// A file with objects that managed-cluster templates read before those of the cluster.
    #[arg(long, value_name = "FILE")]
    pub(crate) local_resources: Option<PathBuf>,
    /// A file with objects that hub templates read before those of the hub.
    #[arg(long, value_name = "FILE")]
    pub(crate) local_hub_resources: Option<PathBuf>,
    /// Write the objects that managed-cluster templates have read to this file, which only you can read.
    #[arg(long, value_name = "FILE")]
    pub(crate) save_resources: Option<PathBuf>,
    /// Write the objects that hub templates have read to this file, which only you can read.
    #[arg(long, value_name = "FILE")]
    pub(crate) save_hub_resources: Option<PathBuf>,
    /// Read no cluster: what is not in the local files does not exist.
    #[arg(long, value_parser = go_bool, num_args = 0..=1, require_equals = true, action = ArgAction::Set)]
    #[arg(
        default_value = "false",
        default_missing_value = "true",
        value_name = "BOOL"
    )]
    pub(crate) offline: bool,
    /// The kubeconfig of the managed cluster. Absent: KUBECONFIG, the Pod's service account, ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Resolve documents of other kinds, too, each as one text.
    #[arg(long, value_parser = go_bool, num_args = 0..=1, require_equals = true, action = ArgAction::Set)]
    #[arg(
        default_value = "false",
        default_missing_value = "true",
        value_name = "BOOL"
    )]
    pub(crate) skip_policy_validation: bool,
    /// Lint the input first. Findings are printed to standard error. Also: `TEMPLATE_RESOLVER_LINT=true`.
    #[arg(long, value_parser = go_bool, num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", value_name = "BOOL")]
    pub(crate) lint: Option<bool>,
    /// Write the findings of --lint to this file, as SARIF.
    #[arg(long, value_name = "FILE")]
    pub(crate) sarif: Option<PathBuf>,
}

/// What the program can do besides resolving.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Command {
    /// Lint templates. Exit codes: 0 no findings, 2 errors, 3 warnings only.
    Lint {
        /// The file. Absent or -: standard input.
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Write the findings to this file, too, as SARIF.
        #[arg(long, value_name = "FILE")]
        sarif: Option<PathBuf>,
    },
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
        let given = args.clone();
        Program::try_parse_from(args)
            .map(|program| program.args)
            .map_err(|error| match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Outcome {
                    stdout: error.render().to_string(),
                    ..Outcome::default()
                },
                _ => Outcome::usage(
                    &wrong(&error, &given),
                    &usage(Caller::Upstream),
                    Caller::Upstream,
                ),
            })
    }

    pub(crate) fn lints(&self) -> bool {
        let variable =
            || std::env::var("TEMPLATE_RESOLVER_LINT").is_ok_and(|value| value == "true");
        self.lint.unwrap_or_else(variable)
    }

    /// Whether hub templates are resolved.
    pub(crate) fn has_hub(&self) -> bool {
        self.hub_kubeconfig.is_some() || self.local_hub_resources.is_some()
    }
}

/// What is wrong with the arguments of the program with upstream's name.
fn wrong(error: &clap::Error, args: &[OsString]) -> String {
    match files(args) {
        Some(count) if count > 1 => messages::too_many_arguments(count),
        _ => wrong_flag(error),
    }
}

/// How many files are named, if nothing else is wrong with the arguments.
fn files(args: &[OsString]) -> Option<usize> {
    let many = |arg: clap::Arg| arg.num_args(1..).action(ArgAction::Append);
    let command = Program::command()
        .mut_arg("file", many)
        .mut_subcommand("lint", |lint| lint.mut_arg("file", many));
    let matches = command.try_get_matches_from(args).ok()?;
    let matches = matches.subcommand().map_or(&matches, |(_, inner)| inner);
    matches.get_raw("file").map(Iterator::count)
}

/// The usage text, with the name by which the program was called.
pub(crate) fn usage(caller: Caller) -> String {
    let mut command = match caller {
        Caller::Upstream => Program::command(),
        Caller::Reeve => Program::command().bin_name("reeve resolve"),
    };
    command.render_usage().to_string()
}
