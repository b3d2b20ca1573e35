//! One evaluation of one policy: observe, decide and act, object by object.

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

use crate::cluster::{Cluster, Freshness, Unreadable};
use crate::decide::{self, Refused, Search, Seen, Settled, Step, Target};
use crate::described::Described;
use crate::desired::{Around, Desired, determine};
use crate::diff::{Length, Origin};
use crate::memory::{Memories, PolicyVersion, Subject};
use crate::messages;
use crate::metrics::{Fault, PolicyMetrics};
use crate::prune;
use crate::report::{Finding, Place, TemplateOutcome, identity};
use crate::spec::{Problem, Retry, Templating, Wanted, mode, parent};
use crate::status::{add_related, sort_related};
use reeve_template_reads::Secrets;

/// How often a decision is made anew because somebody else wrote in between.
const CONFLICTS: u32 = 3;
/// How soon a kind that does not exist is looked for again, whatever the watch of kinds says: the errors that users
/// make are counted while they last.
const MISSING_KIND: Duration = Duration::from_secs(10);

/// What evaluations share.
pub struct Evaluator {
    /// What earlier evaluations found.
    pub memories: Memories,
    /// What is counted.
    pub metrics: PolicyMetrics,
}

/// The object templates of a policy, ready to be evaluated.
pub struct Work<'a> {
    /// The policy.
    pub policy: &'a ConfigurationPolicy,
    /// Its object templates; those of `object-templates-raw` are resolved by now.
    pub templates: &'a [ObjectTemplate],
    /// Whether templates in them are resolved.
    pub templating: Templating,
    /// Whether what they are made of was sensitive.
    pub origin: Origin,
    /// The secret values that they are made of.
    pub secrets: &'a Secrets,
    /// The related objects of the policy's latest status.
    pub before: &'a [RelatedObject],
    /// How much of a difference is recorded.
    pub length: Length,
}

/// What an evaluation came to.
#[derive(Debug, Default)]
pub struct Evaluation {
    /// One entry per object template.
    pub templates: Vec<TemplateOutcome>,
    /// The objects that decided it, sorted.
    pub related: Vec<RelatedObject>,
    /// Why it has to be tried again.
    pub failures: Vec<String>,
    /// When it should be tried again although nothing failed.
    pub again: Option<Duration>,
    /// An object template could not be turned into objects, or objects could not be read, so it is not known which
    /// objects are the policy's.
    pub incomplete: bool,
    /// Whether the cluster was asked to change something, or what a change would come to.
    pub wrote: bool,
    /// The objects as they are now, by kind (`apiVersion kind`) and place.
    pub objects: HashMap<(String, Place), Arc<Value>>,
}

/// One evaluation under way.
struct Run<'a, C> {
    evaluator: &'a Evaluator,
    around: &'a Around<'a, C>,
    work: &'a Work<'a>,
    version: PolicyVersion,
    mode: RemediationAction,
    /// What the status says of objects.
    before: HashMap<[&'a str; 4], &'a ObjectProperties>,
    outcome: Evaluation,
    known: HashMap<Subject, decide::Memory>,
}

impl Evaluator {
    /// Evaluates the object templates of a policy.
    pub async fn run<C: Cluster>(&self, work: &Work<'_>, around: &Around<'_, C>) -> Evaluation {
        let policy = work.policy;
        let version = PolicyVersion {
            key: ObjectKey::of(policy),
            uid: policy.metadata.uid.clone().unwrap_or_default(),
            generation: policy.metadata.generation,
        };
        let mut run = Run {
            evaluator: self,
            around,
            work,
            version,
            mode: mode(policy),
            before: by_object(work.before),
            outcome: Evaluation::default(),
            known: HashMap::new(),
        };
        for template in work.templates.iter().enumerate() {
            let how = (work.templating, work.origin, work.secrets);
            let outcome = match Described::read(around.policy, template, how) {
                Ok(described) => run.template(&described).await,
                Err(problem) => run.problem(String::new(), problem),
            };
            run.outcome.templates.push(outcome);
        }
        self.memories.replace(&run.version, run.known);
        sort_related(&mut run.outcome.related);
        run.outcome
    }
}

impl<C: Cluster> Run<'_, C> {
    async fn template(&mut self, described: &Described<'_>) -> TemplateOutcome {
        match determine(self.around, described).await {
            Err((resource, problem)) => self.problem(resource, problem),
            Ok(Desired::Nothing {
                resource,
                event,
                related,
            }) => {
                add_related(&mut self.outcome.related, related);
                let findings = vec![Finding::about_nothing(event)];
                TemplateOutcome { resource, findings }
            }
            Ok(Desired::Objects { kind, wanted }) => {
                let findings = self.judge(&kind, wanted).await;
                for finding in &findings {
                    add_related(&mut self.outcome.related, finding.related.clone());
                }
                let resource = kind.resource.plural;
                TemplateOutcome { resource, findings }
            }
        }
    }

    async fn judge(
        &mut self,
        kind: &ServedKind,
        wanted: Vec<(Wanted, Option<Arc<Value>>)>,
    ) -> Vec<Finding> {
        let cluster = self.around.cluster;
        // All at once: each first read waits for a watch to be established.
        let read = join_all(wanted.iter().map(|(wanted, live)| async {
            let place = &wanted.place;
            match live {
                _ if place.name.is_empty() => {
                    Read::Several(cluster.list(kind, &place.namespace, "").await)
                }
                Some(live) => Read::One(Seen::Present(Arc::clone(live))),
                None => Read::One(match cluster.get(kind, place).await {
                    Ok(Some(object)) => Seen::Present(object),
                    Ok(None) => Seen::Absent,
                    Err(error) => error.into(),
                }),
            }
        }))
        .await;
        let mut findings = Vec::new();
        for ((wanted, _), read) in wanted.iter().zip(read) {
            findings.push(match read {
                Read::One(seen) => {
                    let target = Target::named(wanted, &kind.resource.plural, self.mode);
                    self.object(target, kind, seen).await
                }
                Read::Several(listed) => self.searched(wanted, kind, listed).await,
            });
        }
        findings
    }

    /// Judges a template without a name by all objects there are.
    async fn searched(
        &mut self,
        wanted: &Wanted,
        kind: &ServedKind,
        listed: Result<Vec<Arc<Value>>, Unreadable>,
    ) -> Finding {
        let resource = &kind.resource.plural;
        match listed {
            Ok(listed) => match decide::search(wanted, resource, &listed) {
                Search::Settled(finding) => finding,
                Search::One { target, live } => {
                    self.object(target, kind, Seen::Present(live)).await
                }
            },
            Err(error) => {
                let target = Target::named(wanted, resource, RemediationAction::Inform);
                self.object(target, kind, error.into()).await
            }
        }
    }

    /// Judges one object, and changes it where the policy says so.
    async fn object(&mut self, target: Target<'_>, kind: &ServedKind, seen: Seen) -> Finding {
        let subject = Subject {
            object: (
                format!("{}/{}", kind.resource.api_version, kind.resource.plural),
                ObjectKey::new(&target.place.namespace, &target.place.name),
            ),
            template: target.wanted.digest,
        };
        self.outcome.incomplete |= matches!(seen, Seen::Unwatchable(_) | Seen::Unreadable(_));
        let remembered = self.evaluator.memories.recall(&self.version, &subject);
        let before = properties_of(&self.before, &target);
        let made = self
            .made_unrecorded(before, (kind, &target.place), &seen)
            .await;
        let target = Target {
            before: made.as_ref().or(before),
            remembered,
            length: self.work.length,
            ..target
        };
        let started = Instant::now();
        let (settled, latest) = self.settle(&target, kind, seen).await;
        self.keep(&target, kind, latest);
        if settled.remember.is_some() && settled.remember != target.remembered {
            let object = format!("{}.{}", target.resource, target.place.name);
            let metrics = &self.evaluator.metrics;
            metrics.compared(
                &self.version.key,
                &target.place.namespace,
                object,
                started.elapsed(),
            );
        }
        if settled.awaits_namespace {
            let cluster = self.around.cluster;
            cluster.await_namespace(&target.place.namespace).await;
        }
        if let Some(diff) = &settled.log {
            let object = &subject.object.1;
            let line = messages::logged_diff(diff, &self.version.key, object, target.resource);
            tracing::info!("{line}");
        }
        self.outcome.failures.extend(settled.failure.clone());
        let finding = target.finding(&settled);
        if let Some(memory) = settled.remember {
            self.known.insert(subject, memory);
        }
        finding
    }

    /// What the status would say of an object that this policy created, if the process had not been killed before it
    /// could say so. The object itself remembers.
    async fn made_unrecorded(
        &self,
        before: Option<&ObjectProperties>,
        (kind, place): (&ServedKind, &Place),
        seen: &Seen,
    ) -> Option<ObjectProperties> {
        let maker = prune::maker(self.work.policy)?;
        let object = seen
            .object()
            .filter(|_| self.mode == RemediationAction::Enforce)?;
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str)?;
        if before.and_then(|before| before.uid.as_deref()) == Some(uid) {
            return None;
        }
        let cluster = self.around.cluster;
        let now = cluster.get_now(kind, place).await.ok()??;
        let same = now.pointer("/metadata/uid").and_then(Value::as_str) == Some(uid);
        (same && prune::was_made_by(&now, &maker)).then(|| ObjectProperties {
            created_by_policy: Some(true),
            uid: Some(uid.to_owned()),
            ..ObjectProperties::default()
        })
    }

    /// Keeps the object for the policy's own words, which people read: nothing that may be secret, and nothing that
    /// would be out of date by the next time they are put together.
    fn keep(&mut self, target: &Target<'_>, kind: &ServedKind, latest: Option<Arc<Value>>) {
        let kind = format!("{} {}", kind.resource.api_version, kind.resource.kind);
        let secret = kind == "v1 Secret" || target.wanted.origin == Origin::Sensitive;
        let watched = self.around.cluster.freshness() == Freshness::Watched;
        if let Some(latest) = latest.filter(|_| watched && !secret) {
            self.outcome
                .objects
                .insert((kind, target.place.clone()), latest);
        }
    }

    /// Goes from step to step until there is an answer. With it comes the object as it is now.
    async fn settle(
        &mut self,
        target: &Target<'_>,
        kind: &ServedKind,
        seen: Seen,
    ) -> (Settled, Option<Arc<Value>>) {
        let (cluster, place) = (self.around.cluster, &target.place);
        let maker = prune::maker(self.work.policy);
        let maker = maker.as_deref();
        // What is wanted may be secret, and the API server quotes what it refuses.
        let clean = |refused: Refused| refused.without(&target.wanted.secrets);
        let mut latest = seen.object();
        let mut step = decide::first(target, &seen);
        let mut conflicts = 0;
        loop {
            self.outcome.wrote |= !matches!(step, Step::Done(_));
            let (next, written) = match step {
                Step::Done(settled) => return (*settled, latest),
                Step::Create(object) => {
                    let created = cluster
                        .create(kind, place, &object, maker)
                        .await
                        .map_err(clean);
                    let next = decide::after_create(target, created.as_ref());
                    (next, created)
                }
                Step::Delete { uid } => {
                    let deleted = cluster.delete(kind, place, &uid).await.map_err(clean);
                    let next = decide::after_delete(target, deleted.as_ref().copied());
                    (next, deleted.map(|()| Value::Null))
                }
                Step::DryRun(draft) => {
                    let answer = cluster
                        .replace(kind, place, &draft.to_write, Write::DryRun)
                        .await
                        .map_err(clean);
                    let next = decide::after_dry_run(target, *draft, answer.as_ref());
                    // What would be is not what is.
                    (next, answer.map(|_| Value::Null))
                }
                Step::Update(draft) => {
                    let answer = cluster
                        .replace(kind, place, &draft.to_write, Write::Real)
                        .await
                        .map_err(clean);
                    let next = decide::after_update(target, *draft, answer.as_ref());
                    (next, answer)
                }
                Step::Recreate(draft) => {
                    let object = target.to_create();
                    let created = cluster
                        .recreate(kind, (place, draft.uid()), &object, maker)
                        .await
                        .map_err(|failure| failure.without(&target.wanted.secrets));
                    let next = decide::after_recreate(target, *draft, created.as_ref());
                    (next, created.map_err(decide::RecreateFailure::into_refused))
                }
            };
            step = match written {
                // Another object has the name by now, or another version of it is there: it is judged by what it is.
                Err(Refused::Conflict(_)) if conflicts < CONFLICTS => {
                    conflicts += 1;
                    let seen = anew(cluster, kind, place).await;
                    latest = seen.object();
                    decide::first(target, &seen)
                }
                Ok(Value::Null) | Err(_) => next,
                Ok(written) => {
                    latest = Some(Arc::new(written));
                    next
                }
            };
        }
    }

    fn problem(&mut self, resource: String, problem: Problem) -> TemplateOutcome {
        let Problem { mut event, retry } = problem;
        // Errors quote the policy, which may hold what its hub templates read.
        event.message = self.work.secrets.redact(&event.message);
        match retry {
            Retry::No => {}
            Retry::Soon => self.outcome.failures.push(event.message.clone()),
            Retry::WhenKindAppears => {
                let metrics = &self.evaluator.metrics;
                let parent = parent(self.work.policy);
                metrics.failed(&self.version.key, &parent, Fault::NoSuchKind);
                self.outcome.again = Some(MISSING_KIND);
            }
        }
        // A template that chooses no namespace at all is clear about which objects are the policy's: none.
        let reason = messages::condition_reason(&event.reason);
        self.outcome.incomplete |= reason != messages::MISSING_NAMESPACE;
        let findings = vec![Finding::about_nothing(event)];
        TemplateOutcome { resource, findings }
    }
}

/// What was read to judge one description.
enum Read {
    One(Seen),
    Several(Result<Vec<Arc<Value>>, Unreadable>),
}

/// What the policy's status says about the object, in whatever version it named it.
fn properties_of<'b>(
    before: &HashMap<[&'b str; 4], &'b ObjectProperties>,
    target: &Target<'_>,
) -> Option<&'b ObjectProperties> {
    let (kind, place) = (&target.wanted.kind, &target.place);
    let object: [&str; 4] = [&kind.group, &kind.kind, &place.namespace, &place.name];
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

/// Looks at the object again, past the watch, which has not seen the other write yet.
async fn anew<C: Cluster>(cluster: &C, kind: &ServedKind, place: &Place) -> Seen {
    match cluster.get_now(kind, place).await {
        Ok(Some(object)) => Seen::Present(Arc::new(object)),
        Ok(None) => Seen::Absent,
        Err(error) => error.into(),
    }
}

#[cfg(test)]
mod tests;
