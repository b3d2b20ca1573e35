//! One evaluation of all pods by all constraints, a pod at a time.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow};
use reeve_benches_measuring::Used;
use reeve_gatekeeper::client::{Client, Options};
use reeve_gatekeeper::enforcement::EnforcementPoint;
use reeve_gatekeeper::matching::Source;
use reeve_gatekeeper::review::Review;
use reeve_gatekeeper::template::ConstraintTemplate;
use serde_json::Value;

/// Prints `<violations> violations, <seconds> s, peak <MiB> MiB`.
pub(crate) fn run(setup: &Path, pods: &Path) -> Result<()> {
    let client = client(setup)?;
    let started = Instant::now();
    let mut violations = 0;
    for line in BufReader::new(File::open(pods)?).lines() {
        let pod: Value = serde_json::from_str(&line?)?;
        let review = Review::of_object(pod).map_err(|error| anyhow!(error.to_string()))?;
        let review = review.with_source(Source::Original);
        violations += client.review(&review, EnforcementPoint::Audit).len();
    }
    let seconds = started.elapsed().as_secs_f64();
    let used = Used::by(std::process::id())?;
    println!(
        "{violations} violations, {seconds:.2} s, CPU {:.2} s, peak {} MiB",
        used.cpu.as_secs_f64(),
        used.peak_kib / 1024
    );
    Ok(())
}

/// A client with the templates and constraints of a file.
fn client(setup: &Path) -> Result<Client> {
    let mut client = reeve_constraint_worker::client(Options::default());
    for object in objects(setup)? {
        let name = object["metadata"]["name"].clone();
        if object["kind"] == "ConstraintTemplate" {
            let template = ConstraintTemplate::parse(&object);
            let added = template.and_then(|template| client.add_template(template));
            added.with_context(|| format!("template {name}"))?;
        } else {
            let added = client.add_constraint(&object);
            added.with_context(|| format!("constraint {name}"))?;
        }
    }
    Ok(client)
}

/// The objects of a file.
pub(crate) fn objects(path: &Path) -> Result<Vec<Value>> {
    let lines = BufReader::new(File::open(path)?).lines();
    lines
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect()
}
