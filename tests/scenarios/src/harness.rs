//! Runs scenarios as tests on a world that they share.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use futures::future::BoxFuture;
use libtest_mimic::{Arguments, Failed, Trial};
use reeve_runtime::decode::STACK_BYTES;
use reeve_testkit::world::POLICIES;
use reeve_testkit::{Plane, PlaneOptions, World, WorldOptions};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Mutex;

use crate::failure::Failures;
use crate::guarded::Guarded;
use crate::suite::SuiteRun;
use crate::{Agents, Evaluator, Hub, HubKinds, Hubs, Pair};

/// How many scenarios of waits play at once: they wait far more than they compute.
const SIDE_BY_SIDE: usize = 24;

/// How many play at once when they must not be slowed down by each other.
const FEW: usize = 4;

/// A test on something shared: its name, and what it does.
pub struct Scenario<W> {
    name: &'static str,
    run_scenario: fn(Arc<W>) -> BoxFuture<'static, Result<()>>,
}

/// Makes a test of an async function.
pub fn scenario<W>(
    name: &'static str,
    run_scenario: fn(Arc<W>) -> BoxFuture<'static, Result<()>>,
) -> Scenario<W> {
    Scenario { name, run_scenario }
}

/// Runs scenarios on a world of a hub and clusters. A failure prints the policies and events of the
/// hub and of every cluster, and the ends of the components' logs.
pub fn run_on_world(
    suite: SuiteRun,
    options: WorldOptions,
    scenarios: Vec<Scenario<World>>,
) -> ExitCode {
    run(
        suite,
        scenarios,
        World::start(options),
        None,
        |world: Arc<World>, _| Box::pin(async move { everything(&world).await }),
    )
}

/// Like [`run_on_world`], for scenarios that stop and start components: they take turns.
pub fn run_in_turns(
    suite: SuiteRun,
    options: WorldOptions,
    scenarios: Vec<Scenario<Mutex<World>>>,
) -> ExitCode {
    let start = async { Ok(Mutex::new(World::start(options).await?)) };
    run(
        suite,
        scenarios,
        start,
        None,
        |world: Arc<Mutex<World>>, _| {
            Box::pin(async move { everything(&*world.lock().await).await })
        },
    )
}

async fn everything(world: &World) -> String {
    let names: Vec<&str> = world.clusters.iter().map(|cluster| cluster.name).collect();
    let hub = world
        .hub
        .dump(&[names.as_slice(), &[POLICIES]].concat())
        .await;
    let mut text = format!("--- the hub:\n{hub}");
    for cluster in &world.clusters {
        let dump = cluster.plane.dump(&[cluster.name]).await;
        let _ = write!(text, "--- cluster {}:\n{dump}", cluster.name);
    }
    text.push_str(&world.logs());
    text
}

/// Runs scenarios on one control plane with the CRDs and nothing else.
pub fn run_on_plane(suite: SuiteRun, scenarios: Vec<Scenario<Plane>>) -> ExitCode {
    let start = async {
        let plane = Plane::start(PlaneOptions {
            name: "plane",
            ..PlaneOptions::default()
        })
        .await?;
        plane.install_crds().await?;
        Ok(plane)
    };
    run(suite, scenarios, start, None, |_, _| {
        Box::pin(async { String::new() })
    })
}

/// Runs scenarios on one control plane with the CRDs, those of the tests, and the
/// `config-policy-controller`. A failure prints what the scenario's own policies and their events are,
/// and what the controller has logged of them.
pub fn run_on_evaluator(suite: SuiteRun, scenarios: Vec<Scenario<Evaluator>>) -> ExitCode {
    run(
        suite,
        scenarios,
        Evaluator::start(),
        Some(SIDE_BY_SIDE),
        |world, scenario| Box::pin(async move { world.dump(scenario).await }),
    )
}

/// Runs scenarios on two control planes with the CRDs; they start their own controllers.
pub fn run_on_pair(suite: SuiteRun, scenarios: Vec<Scenario<Pair>>) -> ExitCode {
    run(
        suite,
        scenarios,
        Pair::start(),
        Some(SIDE_BY_SIDE),
        |world, scenario| Box::pin(async move { world.dump(scenario).await }),
    )
}

/// Runs scenarios on a hub with the CRDs and the propagator. A failure prints the scenario's own
/// policies, bindings, sets and events, and what the propagator has logged of them.
pub fn run_on_hubs(suite: SuiteRun, scenarios: Vec<Scenario<Hubs>>) -> ExitCode {
    run(
        suite,
        scenarios,
        Hubs::start(),
        Some(SIDE_BY_SIDE),
        |world, scenario| Box::pin(async move { world.dump(scenario).await }),
    )
}

/// Runs scenarios on a hub and a managed cluster with add-ons. A failure prints the scenario's own policies,
/// their objects and events, and what the add-ons have logged of them.
pub fn run_on_agents(suite: SuiteRun, scenarios: Vec<Scenario<Agents>>) -> ExitCode {
    run(
        suite,
        scenarios,
        Agents::start(),
        Some(SIDE_BY_SIDE),
        |world, scenario| Box::pin(async move { world.dump(scenario).await }),
    )
}

/// Like [`run_on_hubs`], on one hub that knows the kinds of automations: few at a time, as some are about what
/// happens within a blink.
pub fn run_on_job_hub(suite: SuiteRun, scenarios: Vec<Scenario<Hub>>) -> ExitCode {
    run(
        suite,
        scenarios,
        Hub::start("jobs", HubKinds::Jobs),
        Some(FEW),
        |world, scenario| Box::pin(async move { world.dump(scenario).await }),
    )
}

/// Runs scenarios on a cluster with Gatekeeper and the addon. A failure prints the scenario's own policies, templates of
/// constraints and events, and what the addon has logged of them.
pub fn run_on_guarded(suite: SuiteRun, scenarios: Vec<Scenario<Guarded>>) -> ExitCode {
    run(
        suite,
        scenarios,
        Guarded::start(),
        Some(SIDE_BY_SIDE),
        |world, scenario| Box::pin(async move { world.dump(scenario).await }),
    )
}

/// Runs scenarios on whatever `start` makes.
pub fn run_on<W: Send + Sync + 'static>(
    suite: SuiteRun,
    start: impl Future<Output = Result<W>>,
    scenarios: Vec<Scenario<W>>,
) -> ExitCode {
    run(suite, scenarios, start, None, |_, _| {
        Box::pin(async { String::new() })
    })
}

/// Runs scenarios on whatever `start` makes, as many at once as wait for each other. A failure prints what `dump` publishes.
pub fn run_beside<W: Send + Sync + 'static>(
    suite: SuiteRun,
    start: impl Future<Output = Result<W>>,
    dump: Dump<W>,
    scenarios: Vec<Scenario<W>>,
) -> ExitCode {
    // All: those that wait for their turn take no time of the others.
    let count = scenarios.len();
    run(suite, scenarios, start, Some(count), dump)
}

/// Describes the objects and logs of a failed scenario, given by its name.
pub type Dump<W> = fn(Arc<W>, &'static str) -> BoxFuture<'static, String>;

fn run<W: Send + Sync + 'static>(
    suite: SuiteRun,
    scenarios: Vec<Scenario<W>>,
    start: impl Future<Output = Result<W>>,
    side_by_side: Option<usize>,
    dump: Dump<W>,
) -> ExitCode {
    let mut arguments = suite.arguments;
    arguments.test_threads = arguments.test_threads.or(side_by_side);
    let list = |scenario: &Scenario<W>| Trial::test(scenario.name, || Ok(()));
    let names_none = !scenarios
        .iter()
        .any(|scenario| is_chosen(&arguments, scenario.name));
    if arguments.list || names_none {
        return libtest_mimic::run(&arguments, scenarios.iter().map(list).collect()).exit_code();
    }
    let failures = match Failures::of_suite(suite.name) {
        Ok(failures) => Arc::new(failures),
        Err(error) => return failed(&error),
    };
    // Objects may be as deep here as in the components.
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .build();
    let runtime = match runtime {
        Ok(runtime) => Arc::new(runtime),
        Err(error) => return failed(&error.into()),
    };
    let world = match runtime.block_on(start) {
        Ok(world) => Arc::new(world),
        Err(error) => {
            failures.keep();
            eprintln!("the logs are in {}", failures.folder().display());
            return failed(&error);
        }
    };
    let trials = scenarios.into_iter().map(|scenario| {
        let (runtime, world) = (Arc::clone(&runtime), Arc::clone(&world));
        let failures = Arc::clone(&failures);
        let is_left_out = reeve_testkit::planes_are_embedded() && is_only_real(scenario.name);
        Trial::test(scenario.name, move || {
            run_scenario(&runtime, world, &scenario, dump, failures)
        })
        .with_ignored_flag(is_left_out)
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    failures.print_slowest();
    conclusion.exit_code()
}

/// Whether the filter of the command line leaves a scenario. A world takes long to start: it is not started for none.
fn is_chosen(arguments: &Arguments, scenario: &str) -> bool {
    match &arguments.filter {
        Some(filter) if arguments.exact => scenario == filter,
        Some(filter) => scenario.contains(filter.as_str()),
        None => true,
    }
}

/// Scenarios that need more of a cluster than an API server: not played on embedded planes.
const ONLY_REAL: [(&str, &str); 2] = [
    (
        "case45b_a_kind_that_cannot_be_watched",
        "reads the ComponentStatus of etcd",
    ),
    (
        "undecodable_object_is_named_and_quoted_nowhere",
        "needs raw extensions, which a kube-apiserver passes on as they came",
    ),
];

fn is_only_real(scenario: &str) -> bool {
    ONLY_REAL.iter().any(|(name, _)| *name == scenario)
}

fn run_scenario<W: Send + Sync + 'static>(
    runtime: &Runtime,
    world: Arc<W>,
    scenario: &Scenario<W>,
    dump: Dump<W>,
    failures: Arc<Failures>,
) -> Result<(), Failed> {
    let name = scenario.name;
    let running = failures.start(name);
    // Not on this thread: its stack is that of any test.
    let outcome = runtime.spawn((scenario.run_scenario)(Arc::clone(&world)));
    let outcome = runtime.block_on(outcome);
    failures.end(name);
    let error = match outcome {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => format!("{error:#}"),
        Err(error) => error.to_string(),
    };
    let report = runtime.spawn(async move {
        let text = format!("{error}\n{}", dump(world, name).await);
        let folder = failures.write(&running, &text).await;
        format!("{text}{folder}")
    });
    let report = runtime.block_on(report);
    Err(report.unwrap_or_else(|error| error.to_string()).into())
}

fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("the world could not be started: {error:#}");
    ExitCode::FAILURE
}
