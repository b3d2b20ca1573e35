//! Runs suites, each on a fleet of its own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use reeve_fleet::{Constraints, ExternalData, Initial, Unbound};
use reeve_manifests::{Input, Object, Position};
use reeve_report::{Entry, Reason, Skip, Source, State};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::inputs::read_policies;
use crate::read::{Loaded, clusters};
use crate::spec::Clusters;
use crate::world::{Setup, World, with_fleet};
use crate::{duration, expect, known, messages, step};

/// How often what is expected is compared while a step waits for it.
const POLL: Duration = Duration::from_millis(100);

/// What leaves policies unplaced that nothing binds.
const BIND_UNBOUND: &str = "bindUnbound: false";

/// How suites run.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// How many run at the same time.
    pub parallel: usize,
    /// How long the controllers may take to become idle after a step.
    pub timeout: Duration,
    /// Whether kinds without a definition are served, too.
    pub assumes_kinds: bool,
}

/// What became of suites.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The steps.
    pub entries: Vec<Entry>,
    /// What was done without being asked for.
    pub notes: Vec<String>,
    /// Files of policy folders that were not read.
    pub skipped: Vec<Skip>,
}

/// Runs suites. The entries are in the order of the suites.
pub fn run_all(suites: Vec<Loaded>, options: RunOptions) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let known: BTreeSet<PathBuf> = suites.iter().filter_map(file).collect();
        let slots = Arc::new(Semaphore::new(options.parallel.max(1)));
        let mut running = JoinSet::new();
        for (place, loaded) in suites.into_iter().enumerate() {
            let slots = Arc::clone(&slots);
            running.spawn(async move {
                // The semaphore is never closed.
                let _permit = slots.acquire().await;
                (place, Box::pin(run(&loaded, options)).await)
            });
        }
        let mut outcomes = Vec::new();
        while let Some(ended) = running.join_next().await {
            match ended {
                Ok(outcome) => outcomes.push(outcome),
                Err(error) => {
                    if let Ok(panic) = error.try_into_panic() {
                        std::panic::resume_unwind(panic);
                    }
                }
            }
        }
        outcomes.sort_by_key(|(place, _)| *place);
        let mut all = Outcome::default();
        for (_, outcome) in outcomes {
            all.entries.extend(outcome.entries);
            all.notes.extend(outcome.notes);
            all.skipped.extend(outcome.skipped);
        }
        // A folder of policies may hold the suites that run here, and several suites may use the same folder.
        let runs = |skip: &Skip| {
            Path::new(&skip.path)
                .canonicalize()
                .is_ok_and(|path| known.contains(&path))
        };
        all.skipped.retain(|skip| !runs(skip));
        all.skipped.sort();
        all.skipped.dedup();
        all
    })
}

/// The file of a suite.
fn file(loaded: &Loaded) -> Option<PathBuf> {
    Path::new(&loaded.source.path).canonicalize().ok()
}

async fn run(loaded: &Loaded, options: RunOptions) -> Outcome {
    let started = Instant::now();
    let suite = &loaded.suite;
    let name = suite.metadata.name.as_str();
    let (setup, skipped, mut errors) = setup(loaded, options.assumes_kinds);
    if suite.steps.iter().all(|step| step.expect.is_empty()) {
        errors.push(messages::TESTS_NOTHING.to_owned());
    }
    let mut outcome = Outcome {
        skipped,
        ..Outcome::default()
    };
    if !errors.is_empty() {
        outcome.entries = not_run(loaded, 0, errors);
        return outcome;
    }
    let ran = with_fleet(setup, options.timeout, async |world: &mut World<'_>| {
        let errors: Vec<String> = world.errors.iter().map(ToString::to_string).collect();
        if !errors.is_empty() {
            return (not_run(loaded, 0, errors), world.notes(BIND_UNBOUND));
        }
        let entries = steps(world, loaded).await;
        (entries, world.notes(BIND_UNBOUND))
    });
    match ran.await {
        Ok((entries, notes)) => {
            outcome.entries = entries;
            outcome.notes = notes
                .into_iter()
                .map(|note| format!("{name}: {note}"))
                .collect();
        }
        Err(error) => outcome.entries = not_run(loaded, 0, vec![error]),
    }
    // The start of the fleet counts to the first step.
    let rest: f64 = outcome
        .entries
        .iter()
        .skip(1)
        .filter_map(|entry| entry.seconds)
        .sum();
    if let Some(first) = outcome.entries.first_mut() {
        first.seconds = Some((started.elapsed().as_secs_f64() - rest).max(0.0));
    }
    outcome
}

/// Reads the files of a suite.
fn setup(loaded: &Loaded, assumes_kinds: bool) -> (Setup, Vec<Skip>, Vec<String>) {
    let (suite, folder) = (&loaded.suite, &loaded.folder);
    let position = position(&loaded.source);
    let mut errors = Vec::new();
    let path = |path: &String| Input::Path(step::join(folder, path));
    let crds = reeve_manifests::read(&suite.crds.iter().map(path).collect::<Vec<_>>());
    let rendered = suite.kustomize.iter();
    let rendered = rendered.map(|path| Input::Kustomization(step::join(folder, path)));
    let inputs: Vec<Input> = suite.policies.iter().map(path).chain(rendered).collect();
    let hub = read_policies(&inputs);
    for error in crds.errors.iter().chain(&hub.errors) {
        errors.push(error.to_string());
    }
    let mut of_clusters = Vec::new();
    if let Clusters::Named(named) = &suite.clusters {
        for one in named {
            let (objects, unread) = step::objects(folder, &one.files, &one.objects, &position);
            errors.extend(unread);
            of_clusters.push((one.name.clone(), objects));
        }
    }
    let skipped = hub.skipped.iter().map(|one| Skip {
        path: one.path.display().to_string(),
        reason: one.reason.clone(),
    });
    let of_steps = suite.steps.iter().flat_map(|step| &step.apply);
    let of_steps: Vec<Object> = of_steps
        // What cannot be read is an error of its step.
        .flat_map(|apply| step::objects(folder, &apply.files, &apply.objects, &position).0)
        .collect();
    let of_all = of_clusters.iter().flat_map(|(_, objects)| objects);
    let named = hub.objects.iter().chain(of_all).chain(&of_steps);
    let constraints = Constraints::needed_by(named.clone().map(|one| &one.value));
    let mut definitions = known::definitions(named.clone(), &crds.objects, constraints);
    definitions.extend(crds.objects);
    let mut notes = Vec::new();
    if assumes_kinds {
        let assumed = reeve_fleet::assumed_kinds(named.map(|one| &one.value), &definitions);
        notes.extend(messages::assumed_kinds(&assumed));
        definitions.extend(reeve_fleet::definitions_of(&assumed));
    }
    let initial = Initial {
        crds: definitions,
        of_clusters,
        of_hub: hub.objects,
        unbound: Unbound::from_flag(suite.bind_unbound),
    };
    let setup = Setup {
        // The reader has checked them.
        clusters: clusters(&suite.clusters).unwrap_or_default(),
        constraints,
        external_data: ExternalData::new(suite.external_data.clone()),
        notes,
        initial,
    };
    (setup, skipped.collect(), errors)
}

fn position(source: &Source) -> Position {
    Position {
        path: source.path.clone().into(),
        line: source.line,
        document: 1,
        item: None,
    }
}

async fn steps(world: &mut World<'_>, loaded: &Loaded) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (index, (step, source)) in loaded.suite.steps.iter().zip(&loaded.steps).enumerate() {
        let started = Instant::now();
        let errors = step::run(world, step, &loaded.folder, &position(source)).await;
        if !errors.is_empty() {
            entries.extend(not_run(loaded, index, errors));
            break;
        }
        let rules = match expected(world, step).await {
            Ok(rules) => rules,
            Err(error) => {
                entries.extend(not_run(loaded, index, vec![error]));
                break;
            }
        };
        if rules.is_empty() && !step.acts() {
            let (position, reason) = (source.clone(), Reason::text(messages::EMPTY_STEP));
            entries.push(Entry {
                subject: loaded.suite.metadata.name.clone(),
                place: step.name.clone(),
                state: State::Error,
                reasons: vec![reason],
                source: Some(position),
                ..Entry::default()
            });
            continue;
        }
        let worst = rules.iter().map(|rule| rule.state).min();
        entries.push(Entry {
            subject: loaded.suite.metadata.name.clone(),
            place: step.name.clone(),
            state: worst.unwrap_or(State::Compliant),
            rules,
            source: Some(source.clone()),
            seconds: Some(started.elapsed().as_secs_f64()),
            ..Entry::default()
        });
    }
    entries
}

/// Waits until the controllers are idle, and then as long as the step says for what it expects.
async fn expected(
    world: &mut World<'_>,
    step: &crate::spec::Step,
) -> Result<Vec<reeve_report::Rule>, String> {
    world.settled().await?;
    let wait = step.wait.as_deref().map(duration::parse).transpose()?;
    let until = Instant::now() + wait.unwrap_or_default();
    loop {
        let rules = expect::check(world, &step.expect).await?;
        let is_met = rules.iter().all(|rule| rule.state == State::Compliant);
        if is_met || Instant::now() >= until {
            return Ok(rules);
        }
        tokio::time::sleep(POLL).await;
    }
}

/// The step that could not be carried out, and those after it.
fn not_run(loaded: &Loaded, index: usize, errors: Vec<String>) -> Vec<Entry> {
    let steps = loaded.suite.steps.iter().zip(&loaded.steps).skip(index);
    let mut errors = Some(errors);
    let entry = |(step, source): (&crate::spec::Step, &Source)| {
        let (state, reasons) = match errors.take() {
            Some(errors) => (State::Error, errors.into_iter().map(Reason::text).collect()),
            None => (State::Skipped, vec![Reason::text(messages::NOT_RUN)]),
        };
        Entry {
            subject: loaded.suite.metadata.name.clone(),
            place: step.name.clone(),
            state,
            reasons,
            source: Some(source.clone()),
            ..Entry::default()
        }
    };
    steps.map(entry).collect()
}
