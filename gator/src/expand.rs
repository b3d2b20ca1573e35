//! `gator expand`: prints what expansion templates make of objects.

use std::io::Read;
use std::path::PathBuf;

use reeve_gatekeeper::Json;

use crate::{Outcome, messages, read, test};

pub const EXAMPLES: &str = "Examples:
  reeve gator expand -n expansion.yaml -n deployment.yaml
  reeve gator expand -n manifests/ -f json -o expanded.json

Exit codes: 0 expanded, 1 could not run.";

/// What is expanded.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// A file or folder with expansion templates and objects; those of standard input are added.
    #[arg(short = 'n', long, value_name = "PATH")]
    filename: Vec<PathBuf>,
    /// The form of the objects.
    #[arg(short, long, default_value = "", value_name = "yaml|json")]
    format: String,
    /// Write to this file, which is overwritten.
    #[arg(short, long, value_name = "FILE")]
    outputfile: Option<PathBuf>,
}

pub fn run(args: &Args, input: Option<&mut dyn Read>) -> Outcome {
    let objects = match read::sources(&args.filename, input) {
        Ok(objects) if objects.is_empty() => return Outcome::failed(messages::NO_INPUT.to_owned()),
        Ok(objects) => objects,
        Err(error) => return Outcome::failed(messages::reading(&error)),
    };
    let show: fn(&Json) -> String = match args.format.as_str() {
        "" | "yaml" => test::yaml_of,
        "json" => test::pretty,
        other => return Outcome::failed(messages::unknown_format("format", other)),
    };
    let made = match expand_all(&objects) {
        Ok(made) => made,
        Err(error) => return Outcome::failed(messages::error_expanding(&error)),
    };
    let shown: Vec<String> = made.iter().map(show).collect();
    let shown = shown.join("---\n");
    match &args.outputfile {
        None => Outcome::of(format!("{shown}\n"), false),
        Some(path) => match std::fs::write(path, shown) {
            Ok(()) => Outcome::of(messages::writing_to(path), false),
            Err(error) => Outcome::failed(messages::cannot_write(path, &error)),
        },
    }
}

/// What is made of the objects, in the order in which Gatekeeper prints it: by descending name.
fn expand_all(objects: &[Json]) -> Result<Vec<Json>, String> {
    let expansion = test::expansion_of(objects)?;
    let mut made = Vec::new();
    for object in objects.iter().filter(|one| !read::is_expansion(one)) {
        let resultants = expansion.expand(object);
        let resultants =
            resultants.map_err(|error| messages::expanding(read::name(object), &error))?;
        made.extend(resultants.into_iter().map(|resultant| resultant.object));
    }
    let key = |object: &Json| {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        std::cmp::Reverse(format!(
            "{}{version}{}",
            read::name(object),
            read::kind(object)
        ))
    };
    made.sort_by_cached_key(key);
    Ok(made)
}
