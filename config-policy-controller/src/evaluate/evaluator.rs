//! Evaluates the object templates of a policy: reads, decides and writes, object by object.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use reeve_api::RemediationAction;
use reeve_api::configuration_policy::{
    ConfigurationPolicy, ObjectProperties, ObjectTemplate, RelatedObject,
};
use reeve_runtime::discovery::ServedKind;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::strict::Write;
use serde_json::Value;

use crate::evaluate::cluster::{
    Cluster, ReadError, ReadMode, ReadResult, RecreateError, WriteError,
};
use crate::evaluate::decide::{self, Decision, Search, Step, Target};
use crate::evaluate::desired::{
    Deps, DesiredObject, DesiredObjects, ParsedTemplate, determine_desired_objects,
};
use crate::evaluate::diff::{DiffLength, Sensitivity};
use crate::evaluate::memo::{ComparisonCache, ComparisonKey, ComparisonMemo, PolicyVersion};
use crate::evaluate::prune;
use crate::evaluate::spec::{EvaluationError, Retry, Templating, mode};
use crate::messages;
use crate::metrics::{Fault, PolicyMetrics};
use crate::status::finding::{
    Finding, Location, TemplateFindings, add_related, identity, sort_related,
};
use reeve_runtime::secrets::Secrets;

/// How often a decision is repeated after a write conflict.
const CONFLICTS: u32 = 3;
/// How soon a missing kind is looked up again, even if the watch of kinds reports no change: the errors that users
/// make are counted while they last.
const MISSING_KIND: Duration = Duration::from_secs(10);

/// What evaluations share.
pub struct Evaluator {
    /// What earlier evaluations found.
    pub comparisons: ComparisonCache,
    /// What is counted.
    pub metrics: PolicyMetrics,
}

/// The object templates of a policy, ready to be evaluated.
pub struct EvaluationInput<'a> {
    pub policy: &'a ConfigurationPolicy,
    /// Its object templates; those of `object-templates-raw` are resolved by now.
    pub templates: &'a [ObjectTemplate],
    /// Whether templates in them are resolved.
    pub templating: Templating,
    /// Whether what they are made of was sensitive.
    pub sensitivity: Sensitivity,
    /// The secret values that they are made of.
    pub secrets: &'a Secrets,
    /// The related objects of the policy's latest status.
    pub before: &'a [RelatedObject],
    /// How much of a difference is recorded.
    pub length: DiffLength,
}

/// The outcome of evaluating object templates.
#[derive(Debug, Default)]
pub struct Evaluation {
    /// One entry per object template.
    pub templates: Vec<TemplateFindings>,
    /// The objects that decided it, sorted.
    pub related: Vec<RelatedObject>,
    /// Why the evaluation is retried.
    pub failures: Vec<String>,
    /// What object templates say that could not be evaluated although nothing is retried: their kind is not served, or
    /// the selector of the policy makes no sense.
    pub unevaluated: Vec<String>,
    /// When the evaluation is repeated although nothing failed.
    pub again: Option<Duration>,
    /// An object template could not be turned into objects, or objects could not be read, so it is not known which
    /// objects are the policy's.
    pub incomplete: bool,
    /// Whether a write or a dry run was sent.
    pub wrote: bool,
    /// The live objects after the evaluation, by kind (`apiVersion kind`) and location.
    pub objects: HashMap<(String, Location), Arc<Value>>,
}

/// One evaluation under way.
struct Run<'a, C> {
    evaluator: &'a Evaluator,
    deps: &'a Deps<'a, C>,
    work: &'a EvaluationInput<'a>,
    version: PolicyVersion,
    mode: RemediationAction,
    /// The properties of objects in the latest status.
    before: HashMap<[&'a str; 4], &'a ObjectProperties>,
    outcome: Evaluation,
    known: HashMap<ComparisonKey, ComparisonMemo>,
}

impl Evaluator {
    /// Evaluates the object templates of a policy.
    pub async fn run<C: Cluster>(
        &self,
        work: &EvaluationInput<'_>,
        deps: &Deps<'_, C>,
    ) -> Evaluation {
        let policy = work.policy;
        let version = PolicyVersion {
            key: ObjectKey::of(policy),
            uid: policy.metadata.uid.clone().unwrap_or_default(),
            generation: policy.metadata.generation,
        };
        let mut run = Run {
            evaluator: self,
            deps,
            work,
            version,
            mode: mode(policy),
            before: by_object(work.before),
            outcome: Evaluation::default(),
            known: HashMap::new(),
        };
        for template in work.templates.iter().enumerate() {
            let how = (work.templating, work.sensitivity, work.secrets);
            let outcome = match ParsedTemplate::read(deps.policy, template, how) {
                Ok(parsed) => run.template(&parsed).await,
                Err(failed_template) => run.failed_template(String::new(), failed_template),
            };
            run.outcome.templates.push(outcome);
        }
        self.comparisons.replace(&run.version, run.known);
        sort_related(&mut run.outcome.related);
        run.outcome
    }
}

impl<C: Cluster> Run<'_, C> {
    async fn template(&mut self, parsed: &ParsedTemplate<'_>) -> TemplateFindings {
        match determine_desired_objects(self.deps, parsed).await {
            Err((resource, failed_template)) => self.failed_template(resource, failed_template),
            Ok(DesiredObjects::Nothing {
                resource,
                event,
                related,
            }) => {
                add_related(&mut self.outcome.related, related);
                let findings = vec![Finding::without_object(event)];
                TemplateFindings { resource, findings }
            }
            Ok(DesiredObjects::Objects { kind, desired }) => {
                let findings = self.evaluate_objects(&kind, desired).await;
                for finding in &findings {
                    add_related(&mut self.outcome.related, finding.related.clone());
                }
                let resource = kind.resource.plural;
                TemplateFindings { resource, findings }
            }
        }
    }

    async fn evaluate_objects(
        &mut self,
        kind: &ServedKind,
        desired: Vec<(DesiredObject, Option<Arc<Value>>)>,
    ) -> Vec<Finding> {
        let cluster = self.deps.cluster;
        // Concurrently: each first read waits for a watch to be established.
        let read = join_all(desired.iter().map(|(desired, live)| async {
            let location = &desired.location;
            match live {
                _ if location.name.is_empty() => {
                    Read::Several(cluster.list(kind, &location.namespace, "").await)
                }
                Some(live) => Read::One(Ok(Some(Arc::clone(live)))),
                None => Read::One(cluster.get(kind, location).await),
            }
        }))
        .await;
        let mut findings = Vec::new();
        for ((desired, _), read) in desired.iter().zip(read) {
            findings.push(match read {
                Read::One(live) => {
                    let target = Target::named(desired, &kind.resource.plural, self.mode);
                    self.object(target, kind, live).await
                }
                Read::Several(listed) => self.unnamed_object(desired, kind, listed).await,
            });
        }
        findings
    }

    /// Evaluates a template without a name against all listed objects.
    async fn unnamed_object(
        &mut self,
        desired: &DesiredObject,
        kind: &ServedKind,
        listed: Result<Vec<Arc<Value>>, ReadError>,
    ) -> Finding {
        let resource = &kind.resource.plural;
        match listed {
            Ok(listed) => match decide::search(desired, resource, &listed) {
                Search::Decided(finding) => finding,
                Search::One { target, live } => self.object(target, kind, Ok(Some(live))).await,
            },
            Err(error) => {
                let target = Target::named(desired, resource, RemediationAction::Inform);
                self.object(target, kind, Err(error)).await
            }
        }
    }

    /// Evaluates one object, and writes it in enforce mode.
    async fn object(&mut self, target: Target<'_>, kind: &ServedKind, live: ReadResult) -> Finding {
        let comparison = ComparisonKey {
            object: (
                format!("{}/{}", kind.resource.api_version, kind.resource.plural),
                ObjectKey::new(&target.location.namespace, &target.location.name),
            ),
            template: target.desired.digest,
        };
        self.outcome.incomplete |= live.is_err();
        let memo = self.evaluator.comparisons.get(&self.version, &comparison);
        let before = properties_of(&self.before, &target);
        let made = self
            .unrecorded_creation(before, (kind, &target.location), &live)
            .await;
        let target = Target {
            before: made.as_ref().or(before),
            memo,
            length: self.work.length,
            ..target
        };
        let started = Instant::now();
        let (decision, latest) = self.enforce(&target, kind, live).await;
        self.keep_live_object(&target, kind, latest);
        if decision.memo.is_some() && decision.memo != target.memo {
            let object = format!("{}.{}", target.resource, target.location.name);
            let metrics = &self.evaluator.metrics;
            metrics.compared(
                &self.version.key,
                &target.location.namespace,
                object,
                started.elapsed(),
            );
        }
        if decision.awaits_namespace {
            let cluster = self.deps.cluster;
            cluster.watch_namespace(&target.location.namespace).await;
        }
        if let Some(diff) = &decision.log {
            let object = &comparison.object.1;
            let text = messages::logged_diff(diff, &self.version.key, object, target.resource);
            tracing::info!("{text}");
        }
        self.outcome.failures.extend(decision.failure.clone());
        let finding = target.finding(&decision);
        if let Some(memory) = decision.memo {
            self.known.insert(comparison, memory);
        }
        finding
    }

    /// The properties of an object that this policy created, if the process was killed before it
    /// had written it. The object has the field manager.
    async fn unrecorded_creation(
        &self,
        before: Option<&ObjectProperties>,
        (kind, location): (&ServedKind, &Location),
        live: &ReadResult,
    ) -> Option<ObjectProperties> {
        let field_manager = prune::field_manager(self.work.policy)?;
        let object = live.as_ref().ok()?.as_ref();
        let object = object.filter(|_| self.mode == RemediationAction::Enforce)?;
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str)?;
        if before.and_then(|before| before.uid.as_deref()) == Some(uid) {
            return None;
        }
        let cluster = self.deps.cluster;
        let now = cluster.get_uncached(kind, location).await.ok()??;
        let same = now.pointer("/metadata/uid").and_then(Value::as_str) == Some(uid);
        (same && prune::is_created_by(&now, &field_manager)).then(|| ObjectProperties {
            created_by_policy: Some(true),
            uid: Some(uid.to_owned()),
            ..ObjectProperties::default()
        })
    }

    /// Keeps the object for the policy's own words, which people read: nothing that may be secret, and nothing that
    /// would be out of date by the next time they are put together.
    fn keep_live_object(
        &mut self,
        target: &Target<'_>,
        kind: &ServedKind,
        latest: Option<Arc<Value>>,
    ) {
        let kind = format!("{} {}", kind.resource.api_version, kind.resource.kind);
        let secret = kind == "v1 Secret" || target.desired.sensitivity == Sensitivity::Sensitive;
        let watched = self.deps.cluster.read_mode() == ReadMode::Watched;
        if let Some(latest) = latest.filter(|_| watched && !secret) {
            self.outcome
                .objects
                .insert((kind, target.location.clone()), latest);
        }
    }

    /// Carries out steps until the decision. Returns it with the live object.
    async fn enforce(
        &mut self,
        target: &Target<'_>,
        kind: &ServedKind,
        live: ReadResult,
    ) -> (Decision, Option<Arc<Value>>) {
        let (cluster, location) = (self.deps.cluster, &target.location);
        let field_manager = prune::field_manager(self.work.policy);
        let field_manager = field_manager.as_deref();
        // The definition may hold secrets, and the API server quotes what it refuses.
        let clean = |refused: WriteError| refused.redacted(&target.desired.secrets);
        let mut step = decide::first(target, &live);
        let mut latest = live.ok().flatten();
        let mut conflicts = 0;
        loop {
            self.outcome.wrote |= !matches!(step, Step::Done(_));
            let is_creation = matches!(step, Step::Create(_));
            let (next, written) = match step {
                Step::Done(decision) => return (*decision, latest),
                Step::Create(object) => {
                    let created = cluster
                        .create(kind, location, &object, field_manager)
                        .await
                        .map_err(clean);
                    let next = decide::after_create(target, created.as_ref());
                    (next, created)
                }
                Step::Delete { uid } => {
                    let deleted = cluster.delete(kind, location, &uid).await.map_err(clean);
                    let next = decide::after_delete(target, deleted.as_ref().copied());
                    (next, deleted.map(|_| Value::Null))
                }
                Step::DryRun(update) => {
                    let answer = cluster
                        .replace(kind, location, &update.candidate, Write::DryRun)
                        .await
                        .map_err(clean);
                    let next = decide::after_dry_run(target, *update, answer.as_ref());
                    // The result of a dry run is not the live object.
                    (next, answer.map(|_| Value::Null))
                }
                Step::Update(update) => {
                    let object = update.to_write();
                    let answer = cluster
                        .replace(kind, location, &object, Write::Real)
                        .await
                        .map_err(clean);
                    let next = decide::after_update(target, *update, answer.as_ref());
                    (next, answer)
                }
                Step::Recreate(update) => {
                    let object = target.to_create();
                    let created = cluster
                        .recreate(kind, (location, update.uid()), &object, field_manager)
                        .await
                        .map_err(|failure| failure.redacted(&target.desired.secrets));
                    let next = decide::after_recreate(target, *update, created.as_ref());
                    (next, created.map_err(RecreateError::into_write_error))
                }
            };
            step = match written {
                // The object was replaced or changed by another client: decide again from the live object.
                Err(WriteError::Conflict(_)) if conflicts < CONFLICTS => {
                    conflicts += 1;
                    let live = cluster.get_uncached(kind, location).await;
                    let live = live.map(|found| found.map(Arc::new));
                    let next = decide::first(target, &live);
                    latest = live.ok().flatten();
                    next
                }
                // The API server checks the fields first. The object may exist, and the watch has not delivered it yet.
                Err(WriteError::BadRequest(_) | WriteError::Invalid(_)) if is_creation => {
                    match cluster.get_uncached(kind, location).await {
                        Ok(Some(found)) => {
                            let found = Arc::new(found);
                            latest = Some(Arc::clone(&found));
                            decide::first(target, &Ok(Some(found)))
                        }
                        Ok(None) | Err(_) => next,
                    }
                }
                Ok(Value::Null) | Err(_) => next,
                Ok(written) => {
                    latest = Some(Arc::new(written));
                    next
                }
            };
        }
    }

    fn failed_template(
        &mut self,
        resource: String,
        failed_template: EvaluationError,
    ) -> TemplateFindings {
        let EvaluationError { mut event, retry } = failed_template;
        // Errors quote the policy, which may hold what its hub templates read.
        event.message = self.work.secrets.redact(&event.message);
        let reason = messages::condition_reason(&event.reason);
        if reason == messages::NAMESPACE_SELECTOR_ERROR {
            self.outcome.unevaluated.push(event.message.clone());
        }
        match retry {
            Retry::No => {}
            Retry::Soon => self.outcome.failures.push(event.message.clone()),
            Retry::WhenKindAppears => {
                let metrics = &self.evaluator.metrics;
                metrics.failed(self.work.policy, Fault::NoSuchKind);
                self.outcome.unevaluated.push(event.message.clone());
                self.outcome.again = Some(MISSING_KIND);
            }
        }
        // A template that chooses no namespace at all is clear about which objects are the policy's: none.
        self.outcome.incomplete |= reason != messages::MISSING_NAMESPACE;
        let findings = vec![Finding::without_object(event)];
        TemplateFindings { resource, findings }
    }
}

/// The read objects of one desired object.
enum Read {
    One(ReadResult),
    Several(Result<Vec<Arc<Value>>, ReadError>),
}

/// The object's properties in the policy's status, whatever version of its kind the status names.
fn properties_of<'b>(
    before: &HashMap<[&'b str; 4], &'b ObjectProperties>,
    target: &Target<'_>,
) -> Option<&'b ObjectProperties> {
    let (kind, location) = (&target.desired.kind, &target.location);
    let object: [&str; 4] = [&kind.group, &kind.kind, &location.namespace, &location.name];
    before.get(&object).copied()
}

fn by_object(before: &[RelatedObject]) -> HashMap<[&str; 4], &ObjectProperties> {
    let mut all = HashMap::new();
    for entry in before {
        if let (Some(object), Some(properties)) = (&entry.object, &entry.properties) {
            all.entry(identity(object)).or_insert(properties);
        }
    }
    all
}

#[cfg(test)]
mod tests;
