//! Runs the command.

use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use reeve_api::Compliance;
use reeve_config_policy_controller::Report;
use reeve_config_policy_controller::dryrun::DiffLength;
use serde_json::{Map, Value};

use crate::args::{Args, Caller, Command};
use crate::compare::compare;
use crate::error::Error;
use crate::json::{from_yaml, to_yaml};
use crate::outcome::Outcome;
use crate::paint::Paint;
use crate::policies::{Policies, Target};
use crate::world::World;
use crate::{generate, logs, messages, policies, print, resources, world};

const NOT_COMPLIANT: u8 = 2;
const FAILED: u8 = 1;

/// Runs the command.
pub async fn run(args: &Args, caller: Caller) -> Outcome {
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
}

/// Evaluates all policies of a text against the objects of another, and returns their compliance messages.
pub async fn dry_run(policies: &str, objects: &str) -> Result<Vec<String>, String> {
    let policies = policies::read(policies, Caller::Reeve)?;
    let objects = resources::read(Some(objects), &[])?;
    let world = World::in_memory(None, &objects, &policies.crds);
    let world = world.map_err(|error| error.to_string())?;
    let mut messages = Vec::new();
    for target in &policies.targets {
        let report = world.evaluate(&target.policy, DiffLength::Full).await;
        messages.extend(report.failures);
        messages.extend(report.messages);
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
    let mut results = Results::default();
    for (index, target) in policies.targets.iter().enumerate() {
        if index > 0 {
            outcome.lines(&[""]);
        }
        if policies.targets.len() > 1 {
            outcome.lines(&[messages::title(&target.name)]);
        }
        let length = if args.full_diffs {
            DiffLength::Full
        } else {
            DiffLength::Truncated
        };
        let report = world.evaluate(&target.policy, length).await;
        match results.add(args, target, report, desired.as_ref()) {
            Ok(lines) => outcome.lines(&lines),
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

/// Reads the policy file.
fn read_policies(args: &Args, caller: Caller) -> Result<Policies, Error> {
    let path = args.policy.as_deref().unwrap_or(Path::new(""));
    let input = if path == Path::new(reeve_manifests::STDIN) && caller == Caller::Reeve {
        stdin().map_err(|error| Error::Policy(error.to_string()))?
    } else {
        let read = |file: &Path| {
            let text = std::fs::read_to_string(file);
            text.map_err(|error| Error::Policy(messages::unreadable(file, &error)))
        };
        match caller {
            Caller::Upstream => read(path)?,
            Caller::Reeve => {
                let files = resources::files(path).map_err(Error::Policy)?;
                let texts: Vec<String> = files
                    .iter()
                    .map(|file| read(file))
                    .collect::<Result<_, _>>()?;
                texts.join("\n---\n")
            }
        }
    };
    policies::read(&input, caller).map_err(Error::Policy)
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

/// What became of all policies.
#[derive(Default)]
struct Results {
    statuses: Vec<Value>,
    messages: Vec<String>,
    /// The policies that are not Compliant, and their state.
    bad: Vec<(String, String)>,
    /// The status of a policy is not the expected one.
    differs: bool,
}

impl Results {
    /// Keeps a report, and returns the lines that are printed of it.
    fn add(
        &mut self,
        args: &Args,
        target: &Target,
        report: Report,
        desired: Option<&Map<String, Value>>,
    ) -> Result<Vec<String>, Error> {
        let failures: Vec<&String> = report.failures.iter().chain(&report.unevaluated).collect();
        if let Some(text) = aggregate(&failures) {
            return Err(Error::Evaluate(text));
        }
        let paint = if args.no_colors {
            Paint::Plain
        } else {
            Paint::Ansi
        };
        let status = serde_json::to_value(&report.status);
        let status = status.map_err(|error| Error::SaveStatus(error.to_string()))?;
        let mut lines = Vec::new();
        if let Some(desired) = desired {
            let comparison = compare(desired, &status, paint);
            self.differs |= !comparison.matches;
            lines.push(messages::STATUS_TITLE.to_owned());
            lines.extend(comparison.lines);
            lines.push(String::new());
        }
        if args.print_diffs {
            lines.extend(print::diffs(&report.status, paint));
        }
        if args.messages_path.is_none() {
            lines.extend(print::compliance(&report.messages));
        }
        if report.compliance() != Some(Compliance::Compliant) {
            let state = report.status.compliant.clone().unwrap_or_default();
            self.bad.push((target.name.clone(), state));
        }
        self.statuses.push(status);
        self.messages.extend(report.messages);
        Ok(lines)
    }

    fn save(&self, args: &Args) -> Result<(), Error> {
        if let Some(path) = &args.status_path {
            let texts = self
                .statuses
                .iter()
                .map(to_yaml)
                .collect::<Result<Vec<_>, _>>();
            let text = texts.map_err(Error::SaveStatus)?.join("---\n");
            let written = std::fs::write(path, text);
            written.map_err(|error| Error::SaveStatus(messages::unreadable(path, &error)))?;
        }
        if let Some(path) = &args.messages_path {
            let mut text = self.messages.join("\n");
            if !text.is_empty() {
                text.push('\n');
            }
            let written = std::fs::write(path, text);
            written.map_err(|error| Error::SaveMessages(messages::unreadable(path, &error)))?;
        }
        Ok(())
    }

    fn judge(&self, args: &Args, targets: &[Target], outcome: &mut Outcome) {
        match (targets.len(), self.bad.as_slice()) {
            (_, []) => {}
            (1, [(_, state)]) => outcome.fail(NOT_COMPLIANT, &messages::verdict(state)),
            (count, bad) => {
                let names: Vec<String> = bad.iter().map(|(name, _)| name.clone()).collect();
                outcome.fail(NOT_COMPLIANT, &messages::verdicts(&names, count));
            }
        }
        if self.differs && args.fail_on_status {
            outcome.fail(NOT_COMPLIANT, messages::STATUS_DIFFERS);
        }
    }
}

/// Several errors as one, in the form of Kubernetes' libraries. Equal ones are one.
fn aggregate(errors: &[&String]) -> Option<String> {
    let mut all: Vec<&str> = Vec::new();
    for error in errors {
        if !all.contains(&error.as_str()) {
            all.push(error);
        }
    }
    match all.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}
