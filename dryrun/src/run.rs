//! Runs the command.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use reeve_config_policy_controller::dryrun::DiffLength;
use serde_json::{Map, Value};

use crate::args::{Args, Caller, Command};
use crate::error::Error;
use crate::evaluate::{self, Style};
use crate::json::from_yaml;
use crate::outcome::Outcome;
use crate::paint::Paint;
use crate::policies::{Policies, Source};
use crate::results::Results;
use crate::world::World;
use crate::{generate, logs, messages, policies, resources, world};

const FAILED: u8 = 1;

/// Runs the command.
pub fn run(args: &Args, caller: Caller) -> BoxFuture<'_, Outcome> {
    Box::pin(async move {
        if let Some(Command::Generate) = args.command {
            return match mappings(args).await {
                Ok(stdout) => Outcome {
                    stdout,
                    ..Outcome::default()
                },
                Err(error) => Outcome::error(FAILED, &error.to_string()),
            };
        }
        if let Some(wrong) = wrong_usage(args) {
            return Outcome::error(caller.usage_code(), wrong);
        }
        let mut outcome = Outcome::default();
        if let Err(error) = evaluate(args, caller, &mut outcome).await {
            outcome.fail(FAILED, &error.to_string());
        }
        outcome
    })
}

/// Evaluates all policies of a text against the objects of another, and returns their compliance messages.
pub async fn dry_run(policies: &str, objects: &str) -> Result<Vec<String>, String> {
    let source = Source {
        file: None,
        text: policies.to_owned(),
    };
    let policies = policies::read(&[source], Caller::Reeve)?;
    let objects = resources::read(Some(objects), &[])?;
    let world = World::in_memory(None, &objects, &policies.crds);
    let world = world.map_err(|error| error.to_string())?;
    let style = Style {
        length: DiffLength::Full,
        paint: Paint::Plain,
    };
    let evaluations = evaluate::all(&world, &policies.targets, style).await;
    let mut messages = Vec::new();
    for evaluation in evaluations.map_err(|error| error.to_string())? {
        match evaluation {
            Ok(evaluation) => messages.extend(evaluation.messages),
            Err(error) => messages.push(error.to_string()),
        }
    }
    Ok(messages)
}

fn wrong_usage(args: &Args) -> Option<&'static str> {
    let stdin = Path::new(reeve_manifests::STDIN);
    let policy = args.policy.as_deref();
    if policy.is_none() {
        Some(messages::POLICY_NEEDED)
    } else if policy == Some(stdin) && args.inputs.iter().any(|path| path == stdin) {
        Some(messages::STDIN_TWICE)
    } else if args.api_server && args.is_from_cluster() {
        Some(messages::TWO_WORLDS)
    } else {
        None
    }
}

async fn mappings(args: &Args) -> Result<String, Error> {
    let client = world::client(args.kubeconfig.as_deref()).await;
    let client = client.map_err(Error::Generate)?;
    generate::mappings(&client).await.map_err(Error::Generate)
}

async fn evaluate(args: &Args, caller: Caller, outcome: &mut Outcome) -> Result<(), Error> {
    logs::start(args)?;
    let policies = read_policies(args, caller)?;
    outcome.lines(&policies.lines);
    for line in &policies.asides {
        outcome.aside(line);
    }
    let single = |flag: &str, is_set: bool| match policies.targets.len() {
        count if count > 1 && is_set => {
            Err(Error::Compare(messages::one_policy_needed(flag, count)))
        }
        _ => Ok(()),
    };
    single("desired-status", args.desired_status.is_some())?;
    let desired = desired_status(args)?;
    let world = world_of(args, &policies).await?;
    let style = Style {
        length: if args.full_diffs {
            DiffLength::Full
        } else {
            DiffLength::Truncated
        },
        paint: args.paint(),
    };
    let evaluations = evaluate::all(&world, &policies.targets, style).await?;
    let mut results = Results::default();
    for (index, (target, evaluation)) in policies.targets.iter().zip(evaluations).enumerate() {
        if index > 0 {
            outcome.lines(&[""]);
        }
        if policies.targets.len() > 1 {
            outcome.lines(&[messages::title(&target.name)]);
        }
        match evaluation {
            Ok(evaluation) => {
                outcome.lines(&results.add(args, target, evaluation, desired.as_ref()));
            }
            Err(error) if policies.targets.len() > 1 => {
                outcome.fail(FAILED, &format!("{}: {error}", target.name));
            }
            Err(error) => return Err(error),
        }
    }
    results.save(args)?;
    results.judge(args, &policies.targets, outcome);
    Ok(())
}

/// Reads the policy file, or the files of a folder that are YAML or JSON by their names.
fn read_policies(args: &Args, caller: Caller) -> Result<Policies, Error> {
    let path = args.policy.as_deref().unwrap_or(Path::new(""));
    let only = |text: String| vec![Source { file: None, text }];
    let is_stdin = path == Path::new(reeve_manifests::STDIN);
    let (sources, others) = match caller {
        Caller::Reeve if is_stdin => {
            let text = stdin().map_err(|error| Error::Policy(error.to_string()))?;
            (only(text), Vec::new())
        }
        Caller::Reeve if path.is_dir() => {
            let files = resources::files(path).map_err(Error::Policy)?;
            let (files, others): (Vec<_>, Vec<_>) =
                files.into_iter().partition(|file| is_manifest(file));
            let read = |file: PathBuf| {
                let text = read_policy(&file)?;
                let file = Some(file);
                Ok(Source { file, text })
            };
            let sources: Result<_, Error> = files.into_iter().map(read).collect();
            (sources?, others)
        }
        _ => (only(read_policy(path)?), Vec::new()),
    };
    let mut policies = policies::read(&sources, caller).map_err(Error::Policy)?;
    let others: Vec<String> = others
        .iter()
        .map(|file| messages::no_manifest(file))
        .collect();
    policies.skip(&others);
    Ok(policies)
}

fn read_policy(file: &Path) -> Result<String, Error> {
    let text = std::fs::read_to_string(file);
    text.map_err(|error| Error::Policy(messages::unreadable(file, &error)))
}

fn is_manifest(file: &Path) -> bool {
    let extension = file.extension().and_then(OsStr::to_str);
    extension.is_some_and(|one| ["yaml", "yml", "json"].contains(&one))
}

async fn world_of(args: &Args, policies: &Policies) -> Result<World, Error> {
    if args.is_from_cluster() {
        return World::of_kubeconfig(args.kubeconfig.as_deref()).await;
    }
    let file = match &args.mappings_file {
        Some(path) => {
            let text = std::fs::read_to_string(path);
            Some(text.map_err(|error| Error::Setup(messages::unreadable(path, &error)))?)
        }
        None => None,
    };
    let stdin_path = Path::new(reeve_manifests::STDIN);
    let is_named = args.inputs.iter().any(|path| path == stdin_path);
    let is_free = args.policy.as_deref() != Some(stdin_path);
    let stdin = if is_named || is_free && is_piped() {
        Some(stdin().map_err(|error| Error::Read(error.to_string()))?)
    } else {
        None
    };
    let objects = resources::read(stdin.as_deref(), &args.inputs).map_err(Error::Read)?;
    if args.api_server {
        World::in_server(&objects, &policies.crds).await
    } else {
        World::in_memory(file.as_deref(), &objects, &policies.crds)
    }
}

/// Whether standard input is neither a terminal nor another device, such as `/dev/null`.
fn is_piped() -> bool {
    let stdin = std::fs::metadata("/dev/stdin");
    stdin.is_ok_and(|metadata| !metadata.file_type().is_char_device())
}

fn stdin() -> std::io::Result<String> {
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text)?;
    Ok(text)
}

fn desired_status(args: &Args) -> Result<Option<Map<String, Value>>, Error> {
    let Some(path) = &args.desired_status else {
        return Ok(None);
    };
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| Error::Compare(messages::unreadable(path, &error)))?;
    match from_yaml(&text).map_err(Error::Compare)? {
        Value::Object(fields) => Ok(Some(fields)),
        Value::Null => Ok(Some(Map::new())),
        _ => {
            let place = path.display().to_string();
            Err(Error::Compare(messages::wrong_value(
                &place,
                "expected an object",
            )))
        }
    }
}
