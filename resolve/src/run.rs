//! Runs the command.

use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use futures::future::BoxFuture;
use reeve_manifests::documents;
use reeve_template_reads::{ReadCache, run_blocking};
use serde_json::Value;

use crate::args::{Args, Command, usage};
use crate::document::{self, Others};
use crate::error::Error;
use crate::hub::{self, ManagedCluster};
use crate::lint::Findings;
use crate::managed::Managed;
use crate::outcome::{Caller, Outcome};
use crate::source::{Source, client};
use crate::{messages, saved, yaml};

const UNRESOLVED: u8 = 2;

/// Runs the command.
pub fn run(args: Args, caller: Caller) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        if let Some(Command::Lint { file, sarif }) = &args.command {
            return lint(file.as_deref(), sarif.as_deref(), caller);
        }
        if let Some(wrong) = wrong_usage(&args, caller) {
            return Outcome::usage(wrong, &usage(caller), caller);
        }
        let input = match input(args.file.as_deref()) {
            Ok(input) => input,
            Err(why) => return Outcome::input(&messages::unreadable_input(&why), &usage(caller)),
        };
        let mut outcome = Outcome::default();
        if args.lints() {
            let findings = Findings::of(&input);
            let text = findings.text();
            if !text.is_empty() {
                outcome.aside(&text);
            }
            if let Some(path) = &args.sarif
                && let Err(why) = findings.write_sarif(path, args.file.as_deref())
            {
                return Outcome::input(&why, &usage(caller));
            }
        }
        match resolve(&args, caller, &input).await {
            Ok((stdout, note)) => {
                outcome.stdout = stdout;
                if let Some(note) = note {
                    outcome.aside(note);
                }
            }
            Err(error) => {
                outcome.aside(&format!("error processing templates: {error}"));
                outcome.code = UNRESOLVED;
            }
        }
        outcome
    })
}

fn lint(file: Option<&Path>, sarif: Option<&Path>, caller: Caller) -> Outcome {
    let input = match input(file) {
        Ok(input) => input,
        Err(why) => return Outcome::input(&messages::unreadable_input(&why), &usage(caller)),
    };
    let findings = Findings::of(&input);
    let written = sarif.map(|path| findings.write_sarif(path, file));
    if let Some(Err(why)) = written {
        return Outcome::input(&why, &usage(caller));
    }
    Outcome {
        stdout: findings.text(),
        code: findings.code(),
        ..Outcome::default()
    }
}

fn wrong_usage(args: &Args, caller: Caller) -> Option<&'static str> {
    if args.has_hub() && args.clusters.is_empty() {
        Some(messages::CLUSTER_NEEDED)
    } else if caller == Caller::Upstream && args.clusters.len() > 1 {
        Some(messages::ONE_CLUSTER)
    } else if args.sarif.is_some() && !args.lints() {
        Some(messages::SARIF_WITHOUT_LINT)
    } else {
        None
    }
}

/// The text of a file, or of standard input.
fn input(file: Option<&Path>) -> Result<String, String> {
    if let Some(path) = file.filter(|path| *path != Path::new(reeve_manifests::STDIN)) {
        return std::fs::read_to_string(path).map_err(|error| messages::unreadable(path, &error));
    }
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(messages::NOT_A_PIPE.to_owned());
    }
    let mut text = String::new();
    let read = stdin.lock().read_to_string(&mut text);
    read.map_err(|error| messages::unreadable(Path::new(reeve_manifests::STDIN), &error))?;
    if text.is_empty() {
        return Err(messages::EMPTY.to_owned());
    }
    Ok(text)
}

/// The result, and a note about it.
async fn resolve(
    args: &Args,
    caller: Caller,
    input: &str,
) -> Result<(String, Option<&'static str>), Error> {
    let objects = parse(input, caller)?;
    let managed = managed_source(args, caller).await?;
    let hub = hub_source(args).await?;
    let clusters = clusters(args, hub.as_ref()).await?;
    let job = Job {
        objects,
        others: others(args, caller),
        hub_namespace: args.hub_namespace.clone(),
        object_namespace: args.object_namespace.clone(),
        object_name: args.object_name.clone(),
        managed: managed.clone(),
        hub: hub.clone(),
        clusters,
    };
    let printed = run_blocking(move || job.run()).await;
    // What was read helps to find out why a template failed.
    save(args.save_resources.as_ref(), Some(&managed))?;
    save(args.save_hub_resources.as_ref(), hub.as_ref())?;
    let misses = managed.used().missed_cluster && !args.offline;
    Ok((printed?, misses.then_some(messages::NO_CLUSTER)))
}

fn others(args: &Args, caller: Caller) -> Others {
    match (args.skip_policy_validation, caller) {
        (true, _) => Others::Resolved,
        (false, Caller::Upstream) => Others::Refused,
        (false, Caller::Reeve) => Others::Kept,
    }
}

async fn managed_source(args: &Args, caller: Caller) -> Result<Source, Error> {
    let local = args.local_resources.as_deref();
    if args.offline {
        return Source::new(None, local);
    }
    let connected = client(args.kubeconfig.as_deref()).await;
    match (connected, caller) {
        (Ok(client), _) => Source::new(Some(client), local),
        (Err(_), Caller::Reeve) if args.kubeconfig.is_none() => Source::new(None, local),
        (Err(error), _) => Err(error),
    }
}

async fn hub_source(args: &Args) -> Result<Option<Source>, Error> {
    if !args.has_hub() {
        return Ok(None);
    }
    let client = match &args.hub_kubeconfig {
        Some(path) if !args.offline => Some(client(Some(path)).await?),
        _ => None,
    };
    let source = Source::new(client, args.local_hub_resources.as_deref())?;
    Ok(Some(source))
}

async fn clusters(args: &Args, hub: Option<&Source>) -> Result<Vec<ManagedCluster>, Error> {
    let mut clusters = Vec::new();
    if let Some(hub) = hub {
        for name in &args.clusters {
            clusters.push(ManagedCluster::read(hub, name).await?);
        }
    }
    Ok(clusters)
}

/// The documents: their texts and values.
fn parse(input: &str, caller: Caller) -> Result<Vec<Parsed>, Error> {
    if caller == Caller::Upstream {
        let object = yaml::read(input).map_err(Error::Parse)?;
        return Ok(vec![Parsed {
            object,
            text: input.to_owned(),
            number: 1,
            line: 1,
        }]);
    }
    let mut all = Vec::new();
    for document in documents(input)
        .iter()
        .filter(|document| !document.is_empty())
    {
        let object = yaml::read(document.text).map_err(|why| {
            Error::Parse(messages::in_document(document.number, document.line, &why))
        })?;
        all.push(Parsed {
            object,
            text: document.text.to_owned(),
            number: document.number,
            line: document.line,
        });
    }
    match all.as_slice() {
        [] => Err(Error::Input(messages::UNSUPPORTED)),
        _ => Ok(all),
    }
}

fn save(path: Option<&PathBuf>, source: Option<&Source>) -> Result<(), Error> {
    if let (Some(path), Some(source)) = (path, source) {
        let text = source.used().text().map_err(Error::Output)?;
        saved::write(path, &text).map_err(Error::File)?;
    }
    Ok(())
}

/// A document of the input.
struct Parsed {
    object: Value,
    text: String,
    number: usize,
    line: usize,
}

/// Everything that is resolved, on a thread of its own.
struct Job {
    objects: Vec<Parsed>,
    others: Others,
    hub_namespace: String,
    object_namespace: String,
    object_name: String,
    managed: Source,
    hub: Option<Source>,
    clusters: Vec<ManagedCluster>,
}

impl Job {
    fn run(self) -> Result<String, Error> {
        let managed = Managed {
            reads: Rc::new(ReadCache::new(self.managed.clone())),
            namespace: self.object_namespace.clone(),
            name: self.object_name.clone(),
        };
        let Some(hub) = &self.hub else {
            return self.documents(None, &managed);
        };
        let hub = Rc::new(ReadCache::new(hub.clone()));
        let mut texts = Vec::new();
        for cluster in &self.clusters {
            let text = self.documents(Some((cluster, &hub)), &managed);
            let text = text.map_err(|error| match self.clusters.len() {
                1 => error,
                _ => Error::ForCluster {
                    error: error.to_string(),
                    cluster: cluster.name().to_owned(),
                },
            })?;
            texts.push(match self.clusters.len() {
                1 => text,
                _ => format!("{}\n{text}", messages::cluster(cluster.name())),
            });
        }
        Ok(texts.join("---\n"))
    }

    fn documents(
        &self,
        hub: Option<(&ManagedCluster, &Rc<ReadCache<Source>>)>,
        managed: &Managed,
    ) -> Result<String, Error> {
        let others = match self.objects.len() {
            1 if self.others == Others::Kept => Others::Refused,
            _ => self.others,
        };
        let mut texts = Vec::new();
        for parsed in &self.objects {
            let text = self.document(parsed, others, hub, managed);
            texts.push(text.map_err(|error| match self.objects.len() {
                1 => error,
                _ => Error::InDocument {
                    error: error.to_string(),
                    number: parsed.number,
                    line: parsed.line,
                },
            })?);
        }
        Ok(texts.join("---\n"))
    }

    fn document(
        &self,
        parsed: &Parsed,
        others: Others,
        hub: Option<(&ManagedCluster, &Rc<ReadCache<Source>>)>,
        managed: &Managed,
    ) -> Result<String, Error> {
        let object = match hub {
            Some((cluster, reads)) if parsed.object.to_string().contains(hub::START) => {
                hub::resolve(&parsed.object, cluster, &self.hub_namespace, reads)?
            }
            Some(_) if self.objects.len() == 1 => {
                // The arguments have to make sense even if there is nothing to resolve.
                hub::namespace(&parsed.object, &self.hub_namespace)?;
                parsed.object.clone()
            }
            _ => parsed.object.clone(),
        };
        let resolved = document::resolve(object, &parsed.text, others, managed)?;
        yaml::write(&resolved).map_err(Error::Output)
    }
}
