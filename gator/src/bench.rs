//! `gator bench`: measures how long reviews take.

use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use reeve_gatekeeper::Json;
use reeve_gatekeeper::client::Client;
use reeve_gatekeeper::enforcement::EnforcementPoint;
use reeve_gatekeeper::matching::Source;
use reeve_gatekeeper::review::Review;
use serde::Serialize;

use crate::{Outcome, engines, messages, read, test};

pub const EXAMPLES: &str = "Examples:
  reeve gator bench -f policies/ -f objects/                     1000 reviews of each object
  reeve gator bench -f policies/ -f objects/ -n 200 -e all -o json

Exit codes: 0 measured, 1 could not run.";

/// What is measured.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// A file or folder with templates, constraints and objects.
    #[arg(short = 'f', long, required = true, value_name = "PATH")]
    filename: Vec<PathBuf>,
    /// The engine that evaluates templates with sources for both.
    #[arg(short, long, value_enum, default_value_t)]
    engine: Engine,
    /// How many times all objects are reviewed.
    #[arg(short = 'n', long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    iterations: u32,
    /// How many times they are reviewed before the measurement.
    #[arg(long, default_value_t = 10)]
    warmup: u32,
    /// The form of the results.
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Engine {
    Rego,
    #[default]
    Cel,
    /// One after the other.
    All,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    #[default]
    Table,
    Json,
    Yaml,
}

/// What one engine took.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Measured {
    engine: &'static str,
    templates: usize,
    constraints: usize,
    objects: usize,
    iterations: u32,
    reviews: usize,
    violations: usize,
    setup_seconds: f64,
    reviews_per_second: f64,
    latency_micros: Latency,
}

#[derive(Debug, Serialize)]
struct Latency {
    min: f64,
    mean: f64,
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
}

pub fn run(args: &Args, input: Option<&mut dyn Read>) -> Outcome {
    let objects = match read::sources(&args.filename, input) {
        Ok(objects) => objects,
        Err(error) => return Outcome::failed(messages::reading(&error)),
    };
    let engines: &[(&str, bool)] = match args.engine {
        Engine::Rego => &[("rego", false)],
        Engine::Cel => &[("cel", true)],
        Engine::All => &[("rego", false), ("cel", true)],
    };
    let mut measured = Vec::new();
    for (name, has_cel) in engines {
        match measure(args, &objects, name, *has_cel) {
            Ok(one) => measured.push(one),
            Err(error) => return Outcome::failed(format!("{error}\n")),
        }
    }
    let output = match args.output {
        Form::Table => measured
            .iter()
            .map(Measured::table)
            .collect::<Vec<_>>()
            .join("\n"),
        Form::Json => format!("{}\n", test::to_json(&measured)),
        Form::Yaml => {
            let json: Vec<Json> = measured
                .iter()
                .filter_map(|one| serde_json::to_value(one).ok())
                .collect();
            test::yaml_of(&Json::Array(json))
        }
    };
    Outcome::of(output, false)
}

fn measure(
    args: &Args,
    objects: &[Json],
    engine: &'static str,
    has_cel: bool,
) -> Result<Measured, String> {
    let begun = Instant::now();
    // The engine is what is measured, not the way to another process.
    let client = test::fill(Client::new(engines(has_cel)), objects)?;
    let setup = begun.elapsed();
    let is_reviewed = |one: &&Json| {
        !(read::is_template(one) || read::is_constraint(one) || read::is_expansion(one))
    };
    let reviewed: Vec<(&Json, Option<Json>)> = objects
        .iter()
        .filter(is_reviewed)
        .map(|object| (object, test::namespace_of(object, objects)))
        .collect();
    if reviewed.is_empty() {
        return Err(messages::NO_INPUT.trim().to_owned());
    }
    for _ in 0..args.warmup {
        for (object, namespace) in &reviewed {
            review(&client, object, namespace.clone())?;
        }
    }
    let mut times = Vec::with_capacity(reviewed.len());
    let mut violations = 0;
    for _ in 0..args.iterations {
        for (object, namespace) in &reviewed {
            let (time, found) = review(&client, object, namespace.clone())?;
            times.push(time);
            violations += found;
        }
    }
    Ok(Measured {
        engine,
        templates: client.templates().count(),
        constraints: client.constraints().count(),
        objects: reviewed.len(),
        iterations: args.iterations,
        reviews: times.len(),
        violations,
        setup_seconds: setup.as_secs_f64(),
        reviews_per_second: per_second(&times),
        latency_micros: Latency::of(times),
    })
}

fn review(
    client: &Client,
    object: &Json,
    namespace: Option<Json>,
) -> Result<(Duration, usize), String> {
    let begun = Instant::now();
    let review = Review::of_object(object.clone());
    let review = review.map_err(|error| messages::reviewing(object, &error))?;
    let review = review
        .with_namespace(namespace)
        .with_source(Source::Original);
    let found = client.review(&review, EnforcementPoint::Gator).len();
    Ok((begun.elapsed(), found))
}

#[expect(clippy::cast_precision_loss, reason = "it is shown")]
fn per_second(times: &[Duration]) -> f64 {
    let total: Duration = times.iter().sum();
    times.len() as f64 / total.as_secs_f64().max(f64::MIN_POSITIVE)
}

impl Latency {
    #[expect(clippy::cast_precision_loss, reason = "it is shown")]
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        let micros = |time: &Duration| time.as_secs_f64() * 1e6;
        let at = |percent: usize| {
            let index = (times.len().saturating_sub(1) * percent) / 100;
            times.get(index).map(micros).unwrap_or_default()
        };
        let total: Duration = times.iter().sum();
        Self {
            min: at(0),
            mean: micros(&total) / (times.len().max(1) as f64),
            p50: at(50),
            p95: at(95),
            p99: at(99),
            max: at(100),
        }
    }
}

impl Measured {
    fn table(&self) -> String {
        let latency = &self.latency_micros;
        format!(
            "engine       {}\ntemplates    {}\nconstraints  {}\nobjects      {}\nreviews      {}\nviolations   {}\nsetup        {:.1} ms\nthroughput   {:.0} reviews/s\nlatency      min {:.1} µs, mean {:.1} µs, p50 {:.1} µs, p95 {:.1} µs, p99 {:.1} µs, max {:.1} µs\n",
            self.engine,
            self.templates,
            self.constraints,
            self.objects,
            self.reviews,
            self.violations,
            self.setup_seconds * 1e3,
            self.reviews_per_second,
            latency.min,
            latency.mean,
            latency.p50,
            latency.p95,
            latency.p99,
            latency.max,
        )
    }
}
