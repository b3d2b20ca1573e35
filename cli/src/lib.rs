//! The one binary: called by a component's name it is that component, called `reeve` it has the components as
//! sub-commands.

mod apiserver;
mod doctor;
mod dryrun;
mod examples;
mod explain;
mod fleet_args;
mod gator;
mod generate;
mod hub;
mod inputs;
mod install;
mod lint;
mod messages;
mod output;
mod resolve;
mod terminal;
mod test;
mod up;
mod usage;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use reeve_dryrun::Caller;
use reeve_runtime::CancellationToken;
use reeve_runtime::decode::STACK_BYTES;
use reeve_runtime::supervisor::stop_on_signal;
use usage::{EXIT_FAILURE, EXIT_FINDINGS, EXIT_USAGE, UsageError};

/// Reeve holds the clusters of an Open Cluster Management fleet to their policies.
///
/// A platform team writes a Policy on the hub and binds it to a Placement. Reeve brings it to every
/// chosen cluster, keeps the cluster to it or reports where it deviates, and adds the answers up on
/// the hub. Its components replace those of the OCM policy framework under the same names: this
/// program is each of them when it is called by that name, or as a sub-command.
#[derive(Parser)]
#[command(name = "reeve", version, about, long_about, subcommand_required = true)]
#[command(arg_required_else_help = true)]
struct Reeve {
    #[command(subcommand)]
    component: Component,
}

// The process has one value of this type: its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Subcommand)]
enum Component {
    /// On the hub: replicates policies to the namespaces of the chosen clusters, adds up answers.
    #[command(name = PROPAGATOR, visible_alias = "propagator", after_help = examples::PROPAGATOR)]
    Propagator(reeve_propagator::Args),
    /// On a cluster: takes policies from the hub, applies their templates, reports back.
    #[command(name = FRAMEWORK_ADDON, visible_alias = "framework-addon", after_help = examples::FRAMEWORK_ADDON)]
    FrameworkAddon(reeve_framework_addon::Args),
    /// On a cluster: evaluates configuration policies and enforces them.
    #[command(name = CONFIG_POLICY_CONTROLLER, after_help = examples::CONFIG_POLICY_CONTROLLER)]
    ConfigPolicyController(reeve_config_policy_controller::Args),
    /// On the hub: installs the two agents on clusters, through OCM add-ons.
    #[command(name = ADDON_CONTROLLER, visible_alias = "addon-controller", after_help = examples::ADDON_CONTROLLER)]
    AddonController(reeve_addon_controller::Args),
    /// A Kubernetes API server in memory, for tests and trials: no etcd, no nodes.
    #[command(name = "apiserver")]
    Apiserver(apiserver::Args),
    /// A hub and managed clusters in this process, with every controller: to try, to teach, to test.
    #[command(name = "up")]
    Up(up::Args),
    /// Generates policies, placements and bindings from manifests and a short document.
    #[command(name = "generate", disable_help_flag = true, after_help = examples::GENERATE)]
    Generate(generate::Args),
    /// The same by upstream's name.
    #[command(skip)]
    GenerateProgram(generate::Args),
    /// Evaluates a ConfigurationPolicy once, against files or a cluster, and changes nothing.
    #[command(name = "dryrun")]
    Dryrun(reeve_dryrun::Args),
    /// The same by upstream's name.
    #[command(skip)]
    DryrunProgram(reeve_dryrun::Args),
    /// Resolves the templates of a policy, of the hub and of a cluster, and prints the result.
    #[command(name = "resolve")]
    Resolve(reeve_resolve::Args),
    /// The same by upstream's name.
    #[command(skip)]
    ResolveProgram(reeve_resolve::Args),
    /// Finds mistakes in policies, and in what belongs to them, before anything evaluates them.
    #[command(name = "lint")]
    Lint(reeve_lint::Args),
    /// Runs test suites of policies, or evaluates policies without one.
    #[command(name = "test")]
    Test(test::Args),
    /// Tests constraint templates and constraints of Gatekeeper without a cluster.
    #[command(name = reeve_gator::PROGRAM)]
    Gator(reeve_gator::Args),
    /// Explains step by step why a policy, a placement or a template is as it is.
    #[command(name = "explain", subcommand)]
    Explain(explain::Args),
    /// Examines a hub: what is missing for policies, and what to do about it.
    #[command(name = "doctor")]
    Doctor(doctor::Args),
    /// Installs the components of a hub, or upgrades them, and waits until they are available.
    #[command(name = "install")]
    Install(install::InstallArgs),
    /// Takes the components of a hub off again.
    #[command(name = "uninstall")]
    Uninstall(install::UninstallArgs),
    /// Evaluates constraints for another process of this program, which starts and ends it.
    #[command(name = reeve_constraint_worker::COMMAND, hide = true)]
    ConstraintWorker {
        /// How many bytes of memory an evaluation may take.
        #[arg(long)]
        memory: u64,
    },
    /// Prints the version, and the commit that it was built from.
    #[command(name = "version", after_help = examples::VERSION)]
    Version,
    /// Prints the completions of a shell.
    #[command(
        name = "completion",
        after_help = "Example:
  reeve completion bash > /etc/bash_completion.d/reeve"
    )]
    Completion {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// The commands that are no component.
const OWN_COMMANDS: [&str; 14] = [
    "apiserver",
    "up",
    "generate",
    "dryrun",
    "resolve",
    "lint",
    "test",
    "gator",
    "explain",
    "doctor",
    "install",
    "uninstall",
    "version",
    "completion",
];

const PROPAGATOR: &str = "governance-policy-propagator";
const FRAMEWORK_ADDON: &str = "governance-policy-framework-addon";
const CONFIG_POLICY_CONTROLLER: &str = "config-policy-controller";
const ADDON_CONTROLLER: &str = "governance-policy-addon-controller";
const GENERATOR: &str = reeve_policy_generator::PROGRAM;

/// Runs the command of the arguments. The first argument is the name of the program.
pub fn main(args: Vec<OsString>) -> ExitCode {
    let called = args
        .first()
        .map(Path::new)
        .and_then(Path::file_name)
        .and_then(|n| n.to_str());
    let component = match called {
        Some(PROPAGATOR) => Component::Propagator(reeve_propagator::Args::parse_from(args)),
        Some(FRAMEWORK_ADDON) => {
            Component::FrameworkAddon(reeve_framework_addon::Args::parse_from(args))
        }
        Some(CONFIG_POLICY_CONTROLLER) => Component::ConfigPolicyController(
            reeve_config_policy_controller::Args::parse_from(args),
        ),
        Some(ADDON_CONTROLLER) => {
            let args = reeve_addon_controller::with_hyphens(args);
            Component::AddonController(reeve_addon_controller::Args::parse_from(args))
        }
        Some(GENERATOR) => Component::GenerateProgram(generate::Args::of_program(args)),
        Some(reeve_dryrun::PROGRAM) => match dryrun::of_program(args) {
            Ok(args) => Component::DryrunProgram(args),
            Err(code) => return code,
        },
        Some(reeve_resolve::PROGRAM) => match resolve::of_program(args) {
            Ok(args) => Component::ResolveProgram(args),
            Err(code) => return code,
        },
        Some(reeve_gator::PROGRAM) => match gator::of_program(args) {
            Ok(args) => Component::Gator(args),
            Err(code) => return code,
        },
        _ => match parse(args) {
            Ok(component) => component,
            Err(code) => return code,
        },
    };
    match run(component) {
        Ok(code) => output::checked(code),
        Err(error) => {
            // Scripts know this text of upstream without a word before it.
            let is_bare = matches!(
                error.downcast_ref(),
                Some(reeve_config_policy_controller::Error::Subcommand)
            );
            let prefix = if is_bare { "" } else { "error: " };
            // Logging may not have started yet.
            // Standard error may be closed.
            let _ = writeln!(std::io::stderr(), "{prefix}{error:#}");
            match error.downcast_ref::<UsageError>() {
                Some(_) => ExitCode::from(EXIT_USAGE),
                None => ExitCode::from(EXIT_FAILURE),
            }
        }
    }
}

/// Reads the arguments of `reeve`; without any it shows its help. The components keep the exit code that flags of Go
/// have.
fn parse(args: Vec<OsString>) -> Result<Component, ExitCode> {
    let component = args.get(1).and_then(|arg| arg.to_str());
    let is_component = Reeve::command().get_subcommands().any(|inner| {
        let mut names = std::iter::once(inner.get_name()).chain(inner.get_all_aliases());
        component.is_some_and(|name| names.any(|one| one == name))
            && !OWN_COMMANDS.contains(&inner.get_name())
    });
    Reeve::try_parse_from(args)
        .map(|reeve| reeve.component)
        .map_err(|error| {
            // The reader may be gone.
            if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
                output::block(format_args!("{}", error.render()));
                return ExitCode::SUCCESS;
            }
            let _ = error.print();
            match error.exit_code() {
                0 => ExitCode::SUCCESS,
                _ if is_component => ExitCode::from(EXIT_FINDINGS),
                _ => ExitCode::from(EXIT_USAGE),
            }
        })
}

fn run(component: Component) -> Result<ExitCode> {
    if let Component::ConstraintWorker { memory } = component {
        return Ok(reeve_constraint_worker::run(memory));
    }
    reeve_constraint_worker::enable();
    // Several crates in the tree bring a TLS provider; the process must choose one. An error only means that it was
    // chosen before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = runtime()?;
    // On a thread of the runtime: the user's shell sets the stack size of the main thread.
    let work = runtime.spawn(async {
        let stop = stop_on_signal()?;
        start(component, stop).await
    });
    let outcome = match runtime.block_on(work) {
        Ok(ended) => ended,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => Err(error.into()),
        },
    };
    match outcome {
        Ok(_) => runtime.shutdown_timeout(COMPUTING),
        // A process that lost its leadership exits at once, whatever it is computing.
        Err(_) => runtime.shutdown_background(),
    }
    outcome
}

/// How long a process that has ended its work waits for threads that compute: a template may do so for a minute.
const COMPUTING: Duration = Duration::from_secs(1);

/// A runtime whose threads have stacks for objects of ten thousand levels, which an API server stores: code that
/// walks, copies and drops them recurses, and a stack overflow ends the process.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()
}

async fn start(component: Component, stop: CancellationToken) -> Result<ExitCode> {
    match component {
        Component::Propagator(args) => reeve_propagator::run(args, stop).await?,
        Component::FrameworkAddon(args) => reeve_framework_addon::run(args, stop).await?,
        Component::ConfigPolicyController(args) => {
            reeve_config_policy_controller::run(args, stop).await?;
        }
        Component::AddonController(args) => {
            reeve_addon_controller::run(args, stop).await?;
        }
        Component::Apiserver(args) => apiserver::run(args, stop).await?,
        Component::Up(args) => return up::run(args, stop).await,
        Component::Generate(args) => {
            return generate::run(&args, reeve_policy_generator::Caller::Reeve);
        }
        Component::GenerateProgram(args) => {
            return generate::run(&args, reeve_policy_generator::Caller::Upstream);
        }
        Component::Dryrun(args) => return Ok(dryrun::run(args, Caller::Reeve, stop).await),
        Component::DryrunProgram(args) => {
            return Ok(dryrun::run(args, Caller::Upstream, stop).await);
        }
        Component::Resolve(args) => {
            let caller = reeve_resolve::Caller::Reeve;
            return Ok(resolve::run(args, caller, stop).await);
        }
        Component::ResolveProgram(args) => {
            let caller = reeve_resolve::Caller::Upstream;
            return Ok(resolve::run(args, caller, stop).await);
        }
        Component::Lint(args) => return Ok(lint::run(&args)),
        Component::Test(args) => return test::run(args, stop).await,
        Component::Gator(args) => return Ok(gator::run(args, stop).await),
        Component::Explain(args) => return explain::run(args, stop).await,
        Component::Doctor(args) => return doctor::run(args, stop).await,
        Component::Install(args) => return install::run(args, stop).await,
        Component::Uninstall(args) => return install::run_uninstall(args, stop).await,
        // It needs no runtime.
        Component::ConstraintWorker { memory } => return Ok(reeve_constraint_worker::run(memory)),
        Component::Version => output::line(format_args!(
            "reeve {} ({})",
            env!("CARGO_PKG_VERSION"),
            env!("REEVE_COMMIT")
        )),
        Component::Completion { shell } => completion(shell),
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what a shell completes.
fn completion(shell: clap_complete::Shell) {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Reeve::command(), "reeve", &mut script);
    let script = String::from_utf8_lossy(&script);
    output::block(format_args!("{script}"));
}

/// The definition of `reeve`, for what is generated from it.
pub fn command() -> clap::Command {
    Reeve::command()
}

/// The reference page of all commands and flags, in Markdown.
pub fn reference() -> String {
    let mut page = String::from(
        "# Commands and flags\n\nGenerated by `cargo xtask gen` from the program itself.\n",
    );
    section(&mut page, "reeve", &Reeve::command());
    page
}

/// A command, then its sub-commands. The title of a component is its program name.
fn section(page: &mut String, title: &str, command: &clap::Command) {
    let help = command.clone().render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    // Writing to a string cannot fail.
    let _ = write!(
        page,
        "\n## {title}\n\n```text\n{}\n```\n",
        help.join("\n").trim_end()
    );
    for inner in command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set())
    {
        let name = inner.get_name();
        if title == "reeve" {
            section(page, name, inner);
        } else {
            section(page, &format!("{title} {name}"), inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_well_formed() {
        Reeve::command().debug_assert();
    }

    #[test]
    fn every_component_is_a_sub_command_with_its_own_name() {
        let reeve = Reeve::command();
        let names: Vec<&str> = reeve
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        assert_eq!(
            names,
            [
                PROPAGATOR,
                FRAMEWORK_ADDON,
                CONFIG_POLICY_CONTROLLER,
                ADDON_CONTROLLER,
                "apiserver",
                "up",
                "generate",
                "dryrun",
                "resolve",
                "lint",
                "test",
                "gator",
                "explain",
                "doctor",
                "install",
                "uninstall",
                reeve_constraint_worker::COMMAND,
                "version",
                "completion"
            ]
        );
        let parsed = Reeve::try_parse_from(["reeve", "propagator", "--leader-elect=false"]);
        assert!(parsed.is_ok());
    }

    #[test]
    fn reference_page_has_every_flag() {
        let page = reference();
        for flag in [
            "--replicated-policy-max-concurrency",
            "--cluster-namespace-on-hub",
            "--evaluation-backoff",
            "--terminate-on-files",
        ] {
            assert!(page.contains(flag), "{flag}");
        }
    }

    /// The examples of a command and of those in it.
    fn examples(command: &clap::Command, all: &mut Vec<(String, Vec<String>)>) {
        let help = command.clone().render_long_help().to_string();
        let lines = help.split_once("\nExample").map_or("", |(_, after)| after);
        // What an example is for is indented further.
        let lines = lines
            .lines()
            .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
            .filter_map(|line| line.split("   ").find(|part| !part.trim().is_empty()));
        let found: Vec<String> = lines
            .filter_map(|line| line.find("reeve ").and_then(|start| line.get(start..)))
            .map(str::to_owned)
            .collect();
        let name = command.get_name();
        let is_group = matches!(name, "reeve" | "explain" | "gator");
        if is_group {
            let inner = command.get_subcommands();
            let shown = inner.filter(|inner| !inner.is_hide_set());
            shown.for_each(|inner| examples(inner, all));
        } else {
            all.push((name.to_owned(), found));
        }
    }

    #[test]
    fn every_command_has_examples_and_they_are_understood() {
        let mut all = Vec::new();
        examples(&Reeve::command(), &mut all);
        for (name, lines) in all {
            assert!(!lines.is_empty(), "{name} has no example");
            for line in lines {
                for part in line.split(" | ").filter(|part| part.starts_with("reeve ")) {
                    let part = part
                        .split(" > ")
                        .next()
                        .unwrap_or_default()
                        .replace('\'', "");
                    let parsed = Reeve::try_parse_from(part.split_whitespace());
                    assert!(parsed.is_ok(), "{name}: {part}: {:?}", parsed.err());
                }
            }
        }
    }

    #[test]
    fn help_explains_the_product() {
        let help = Reeve::command().render_long_help().to_string();
        assert!(help.contains("holds the clusters"), "{help}");
    }
}
