//! Templates against Go's `text/template` with Sprig and go-yaml: the same templates and objects,
//! on the same machine, in turns.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use reeve_go_compat::value::Value;
use reeve_templates_engine::ambient::Fixed;
use reeve_templates_engine::budget::{Budget, Meter};
use reeve_templates_engine::encryption::DecryptedTokens;
use reeve_templates_engine::function::Env;
use reeve_templates_engine::language::{Delimiters, FunctionTable, execute, parse};
use reeve_templates_engine::lookup::{Cluster, Found, Object, Read, Resource, Snapshot};
use serde_json::{Value as Json, json};

/// How long each program renders in each turn.
const RUN_TIME: Duration = Duration::from_secs(2);
/// Machines are noisy: the median of so many turns counts.
const RUNS: usize = 5;

const TEMPLATES: [(&str, &str); 4] = [
    (
        "configmap",
        "render 30 lines with 5 lookups from a snapshot",
    ),
    ("range", "render a range over 500 objects with toYaml"),
    ("parse", "parse the 30 lines"),
    (
        "both",
        "parse and render the 30 lines, as a policy's evaluation does",
    ),
];

fn main() -> Result<()> {
    let room = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let folder = room.join("cases");
    let work = tempfile::tempdir()?;
    let program = work.path().join("templates");
    build_go(&room.join("golang"), &program)?;
    let objects = objects();
    let file = work.path().join("objects.json");
    std::fs::write(&file, serde_json::to_vec(&objects)?)?;
    println!(
        "each: the median of {RUNS} turns of {} s",
        RUN_TIME.as_secs()
    );
    for (what, title) in TEMPLATES {
        let mut ours = Vec::new();
        let mut go = Vec::new();
        let mut counts = (0, 0.0);
        for _ in 0..RUNS {
            let (renders, allocations, size) = measure(&folder, &objects, what)?;
            let (go_renders, go_allocations, go_size) = measure_go(&program, &folder, &file, what)?;
            ensure!(
                size == go_size,
                "{what}: our output has {size} bytes, Go's {go_size}"
            );
            ours.push(renders);
            go.push(go_renders);
            counts = (allocations, go_allocations);
        }
        let (ours, go) = (median(ours), median(go));
        println!("{title}");
        println!("  ours {ours:.1}/s   Go {go:.1}/s   ratio {:.2}", ours / go);
        println!("  allocations each: ours {}   Go {:.0}", counts.0, counts.1);
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn build_go(source: &Path, program: &Path) -> Result<()> {
    let built = Command::new("go")
        .args(["build", "-o"])
        .arg(program)
        .arg(".")
        .current_dir(source)
        .status()
        .context("Go is needed to compare with Go: install Go 1.26 or later")?;
    ensure!(built.success(), "the Go program cannot be built");
    Ok(())
}

/// Five `ConfigMap`s that one template reads by name, then 500 that the other lists.
fn objects() -> Vec<Json> {
    let object = |name: &str, data: Json| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": name, "namespace": "bench", "uid": "5f7c2f0a-6f0e-4b57-a7a1-0123456789ab",
                "labels": {"app": name, "team": "platform", "env": "production"},
            },
            "data": data,
        })
    };
    let mut objects = vec![
        object(
            "cluster",
            json!({"name": "c1", "region": "EU-West", "environment": "production", "namespace": "apps"}),
        ),
        object(
            "network",
            json!({"host": "api.example.com", "port": "6443", "zones": "a, b,c", "proxy": ""}),
        ),
        object("storage", json!({"class": "fast", "size": "10"})),
        object(
            "owner",
            json!({"team": "platform team", "mail": "team@example.com"}),
        ),
        object("limits", json!({"base": "3", "extra": "2", "cpu": "500m"})),
    ];
    for number in 0..500 {
        let name = format!("object-{number:04}");
        objects.push(object(
            &name,
            json!({"number": number.to_string(), "text": "a: line\nand another\n", "flag": "true"}),
        ));
    }
    objects
}

fn snapshot(objects: &[Json]) -> Snapshot {
    let mut snapshot = Snapshot::new();
    let resource = Resource {
        plural: "configmaps".into(),
        namespaced: true,
        watchable: true,
    };
    snapshot.insert_resource("v1", "ConfigMap", Ok(resource));
    let read = |name: &str| Read {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        namespace: "bench".to_owned(),
        name: name.to_owned(),
        selector: String::new(),
    };
    let prepared: Vec<Object> = objects.iter().map(Object::new).collect();
    for (object, prepared) in objects.iter().zip(&prepared) {
        let name = object.pointer("/metadata/name").and_then(Json::as_str);
        snapshot.insert(
            read(name.unwrap_or_default()),
            Ok(Found::Object(prepared.clone())),
        );
    }
    snapshot.insert(read(""), Ok(Found::List(prepared)));
    snapshot
}

/// Renders a second, allocations a render, bytes of output.
fn measure(folder: &Path, objects: &[Json], what: &str) -> Result<(f64, u64, usize)> {
    let name = match what {
        "parse" | "both" => "configmap",
        other => other,
    };
    let text = std::fs::read_to_string(folder.join(format!("{name}.yaml")))?;
    let snapshot = Rc::new(snapshot(objects));
    let functions = FunctionTable::new();
    let new_template = || {
        parse("tmpl", text.as_str(), Delimiters::default(), &functions)
            .map_err(|error| anyhow!("{error}"))
    };
    let parsed = new_template()?;
    let once = || -> Result<usize> {
        let fresh;
        let template = match what {
            "parse" => {
                black_box(new_template()?);
                return Ok(0);
            }
            "both" => {
                fresh = new_template()?;
                &fresh
            }
            _ => &parsed,
        };
        let mut meter = Meter::new(Budget::default());
        let mut ambient = Fixed::new(Timestamp::UNIX_EPOCH, TimeZone::UTC, 1);
        let mut cluster = Cluster::new(snapshot.clone());
        let env = Env {
            meter: &mut meter,
            ambient: &mut ambient,
            cluster: &mut cluster,
        };
        let rendered = execute(
            template,
            &functions,
            Value::Missing,
            &DecryptedTokens::default(),
            env,
        )
        .map_err(|error| anyhow!("{error}"))?;
        Ok(black_box(rendered).bytes.len())
    };
    let size = once()?;
    let mut failed = Ok(0);
    let counted = allocation_counter::measure(|| failed = once());
    failed?;
    let started = Instant::now();
    let mut renders = 0_u32;
    while started.elapsed() < RUN_TIME {
        once()?;
        renders += 1;
    }
    let rate = f64::from(renders) / started.elapsed().as_secs_f64();
    Ok((rate, counted.count_total, size))
}

fn measure_go(
    program: &Path,
    folder: &Path,
    objects: &Path,
    what: &str,
) -> Result<(f64, f64, usize)> {
    let output = Command::new(program)
        .arg(folder)
        .arg(objects)
        .arg(what)
        .arg(RUN_TIME.as_secs_f64().to_string())
        .output()
        .context("cannot run the Go program")?;
    ensure!(
        output.status.success(),
        "the Go program failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout)?;
    let mut words = text.split_whitespace();
    let mut word = || {
        words
            .next()
            .context("the Go program printed too few numbers")
    };
    Ok((word()?.parse()?, word()?.parse()?, word()?.parse()?))
}
