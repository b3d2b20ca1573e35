//! One evaluation of one policy: observe, decide and act, object by object.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use kube::Client;
use reeve_api::RemediationAction;
use reeve_api::configuration_policy::{
    ConfigurationPolicy, ConfigurationPolicyStatus, ObjectProperties, RelatedObject,
};
use reeve_runtime::discovery::{DiscoveryError, ServedKind};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::strict::Write;

use crate::act::Objects;
use crate::decide::{self, RecreateFailure, Refused, Search, Seen, Settled, Step, Target};
use crate::memory::{Memories, PolicyVersion, Subject};
use crate::messages;
use crate::metrics::{Fault, PolicyMetrics};
use crate::namespaces::Terminating;
use crate::observe::{Reads, SelectionError, places, selector};
use crate::report::{Event, Finding, Place};
use crate::spec::{Problem, Wanted, mode, parent};
use crate::status::{add_related, sort_related};

/// How often a decision is made anew because somebody else wrote in between.
const CONFLICTS: u32 = 3;
/// How soon a kind that does not exist is looked for again.
const MISSING_KIND: Duration = Duration::from_secs(10);

/// What evaluations share.
pub struct Evaluator {
    /// The cluster.
    pub client: Client,
    /// What earlier evaluations found.
    pub memories: Memories,
    /// What is counted.
    pub metrics: PolicyMetrics,
    /// Whether namespaces that are being deleted are selected.
    pub terminating: Terminating,
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
    /// The namespaces that were chosen, where the policy has a selector.
    pub selection: Option<Result<Vec<String>, SelectionError>>,
    /// Whether the cluster was asked to change something, or what a change would come to.
    pub wrote: bool,
}

/// What one object template came to.
#[derive(Debug)]
pub struct TemplateOutcome {
    /// The plural name of the kind, where it is known.
    pub resource: String,
    /// What was found, place by place.
    pub findings: Vec<Finding>,
}

/// One evaluation under way.
struct Run<'a> {
    evaluator: &'a Evaluator,
    reads: &'a Reads<'a>,
    policy: &'a ConfigurationPolicy,
    version: PolicyVersion,
    before: &'a [RelatedObject],
    mode: RemediationAction,
    selection: Option<Result<Vec<String>, SelectionError>>,
    outcome: Evaluation,
    known: HashMap<Subject, decide::Memory>,
}

impl Evaluator {
    /// Evaluates the templates of a policy. `status` is its latest status.
    pub async fn run(
        &self,
        policy: &ConfigurationPolicy,
        status: &ConfigurationPolicyStatus,
        templates: &[Result<Wanted, Problem>],
        reads: &Reads<'_>,
    ) -> Evaluation {
        let version = PolicyVersion {
            key: ObjectKey::of(policy),
            uid: policy.metadata.uid.clone().unwrap_or_default(),
            generation: policy.metadata.generation,
        };
        let selection = match selector(policy.spec.namespace_selector.as_ref()) {
            Some(selector) => Some(reads.selected(selector, self.terminating).await),
            None => None,
        };
        let mut run = Run {
            evaluator: self,
            reads,
            policy,
            version,
            before: status.related_objects.as_deref().unwrap_or_default(),
            mode: mode(policy),
            selection,
            outcome: Evaluation::default(),
            known: HashMap::new(),
        };
        for template in templates {
            let outcome = match template {
                Ok(wanted) => run.template(wanted).await,
                Err(problem) => run.problem("", problem),
            };
            run.outcome.templates.push(outcome);
        }
        self.memories.replace(&run.version, run.known);
        sort_related(&mut run.outcome.related);
        run.outcome.selection = run.selection;
        run.outcome
    }
}

impl Run<'_> {
    async fn template(&mut self, wanted: &Wanted) -> TemplateOutcome {
        let kind = match self.reads.kind(&wanted.kind).await {
            Ok(kind) => kind,
            Err(error) => return self.no_kind(wanted, &error),
        };
        let resource = kind.resource.plural.clone();
        let places = match places(wanted, &kind, self.selection.as_ref()) {
            Ok(places) => places,
            Err(problem) => return self.problem(&resource, &problem),
        };
        let findings = if wanted.name.is_empty() {
            self.searched(wanted, &kind, &places).await
        } else {
            self.named(wanted, &kind, &places).await
        };
        for finding in &findings {
            add_related(&mut self.outcome.related, finding.related.clone());
        }
        TemplateOutcome { resource, findings }
    }

    async fn named(&mut self, wanted: &Wanted, kind: &ServedKind, at: &[Place]) -> Vec<Finding> {
        // All at once: each first read waits for a watch to be established.
        let seen = join_all(at.iter().map(|place| self.reads.object(kind, place))).await;
        let mut findings = Vec::new();
        for (place, seen) in at.iter().zip(seen) {
            let target = Target {
                wanted,
                resource: &kind.resource.plural,
                place: place.clone(),
                mode: self.mode,
                before: None,
                remembered: None,
            };
            findings.push(self.object(target, kind, seen).await);
        }
        findings
    }

    async fn searched(&mut self, wanted: &Wanted, kind: &ServedKind, at: &[Place]) -> Vec<Finding> {
        let namespaces = at
            .iter()
            .map(|place| self.reads.objects(kind, &place.namespace));
        let listed = join_all(namespaces).await;
        let mut findings = Vec::new();
        for (place, listed) in at.iter().zip(listed) {
            let resource = &kind.resource.plural;
            let finding = match listed {
                Ok(listed) => match decide::search(wanted, resource, &place.namespace, &listed) {
                    Search::Settled(finding) => finding,
                    Search::One { target, live } => {
                        self.object(target, kind, Seen::Present(live)).await
                    }
                },
                Err(error) => {
                    let target = Target {
                        wanted,
                        resource,
                        place: place.clone(),
                        mode: RemediationAction::Inform,
                        before: None,
                        remembered: None,
                    };
                    self.object(target, kind, error.into()).await
                }
            };
            findings.push(finding);
        }
        findings
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
        let remembered = self.evaluator.memories.recall(&self.version, &subject);
        let target = Target {
            before: properties_of(self.before, &target),
            remembered,
            ..target
        };
        let started = Instant::now();
        let settled = self.settle(&target, kind, seen).await;
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
            self.reads.await_namespace(&target.place.namespace).await;
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

    /// Goes from step to step until there is an answer.
    async fn settle(&mut self, target: &Target<'_>, kind: &ServedKind, seen: Seen) -> Settled {
        let client = self.evaluator.client.clone();
        let objects = Objects::at(&client, kind, &target.place);
        let name = target.place.name.as_str();
        let mut step = decide::first(target, &seen);
        let mut conflicts = 0;
        loop {
            self.outcome.wrote |= !matches!(step, Step::Done(_));
            step = match step {
                Step::Done(settled) => return *settled,
                Step::Create(object) => match objects.create(&object).await {
                    Err(Refused::Conflict(_)) if conflicts < CONFLICTS => {
                        anew(target, &objects, &mut conflicts).await
                    }
                    created => decide::after_create(target, created.as_ref()),
                },
                Step::Delete { uid } => match objects.delete(name, &uid).await {
                    // Another object has the name by now: it is judged by what it is.
                    Err(Refused::Conflict(_)) if conflicts < CONFLICTS => {
                        anew(target, &objects, &mut conflicts).await
                    }
                    deleted => decide::after_delete(target, deleted.as_ref().copied()),
                },
                Step::DryRun(draft) => {
                    match objects.replace(name, &draft.to_write, Write::DryRun).await {
                        Err(Refused::Conflict(_)) if conflicts < CONFLICTS => {
                            anew(target, &objects, &mut conflicts).await
                        }
                        answer => decide::after_dry_run(target, *draft, answer.as_ref()),
                    }
                }
                Step::Update(draft) => {
                    match objects.replace(name, &draft.to_write, Write::Real).await {
                        Err(Refused::Conflict(_)) if conflicts < CONFLICTS => {
                            anew(target, &objects, &mut conflicts).await
                        }
                        answer => decide::after_update(target, *draft, answer.as_ref()),
                    }
                }
                Step::Recreate(draft) => {
                    let to_create = target.to_create();
                    match objects.recreate(name, draft.uid(), &to_create).await {
                        Err(RecreateFailure::Delete(Refused::Conflict(_)))
                            if conflicts < CONFLICTS =>
                        {
                            anew(target, &objects, &mut conflicts).await
                        }
                        created => decide::after_recreate(target, *draft, created.as_ref()),
                    }
                }
            };
        }
    }

    fn no_kind(&mut self, wanted: &Wanted, error: &DiscoveryError) -> TemplateOutcome {
        let message = if error.is_absent() {
            let metrics = &self.evaluator.metrics;
            metrics.failed(&self.version.key, &parent(self.policy), Fault::NoSuchKind);
            // Nothing else would tell when the kind appears.
            self.outcome.again = Some(MISSING_KIND);
            messages::no_mapping(&wanted.kind.kind, &wanted.kind.api_version())
        } else {
            let message = chain(error);
            self.outcome.failures.push(message.clone());
            message
        };
        let event = Event::problem(messages::K8S_ERROR, message);
        let findings = vec![Finding::about_nothing(event)];
        TemplateOutcome {
            resource: String::new(),
            findings,
        }
    }

    fn problem(&mut self, resource: &str, problem: &Problem) -> TemplateOutcome {
        if !problem.users_fault {
            self.outcome.failures.push(problem.event.message.clone());
        }
        TemplateOutcome {
            resource: resource.to_owned(),
            findings: vec![Finding::about_nothing(problem.event.clone())],
        }
    }
}

/// What the policy's status says about the object.
fn properties_of<'b>(
    before: &'b [RelatedObject],
    target: &Target<'_>,
) -> Option<&'b ObjectProperties> {
    let api_version = target.wanted.kind.api_version();
    let same = |entry: &&RelatedObject| {
        entry.object.as_ref().is_some_and(|object| {
            let metadata = object.metadata.as_ref();
            let name = metadata.and_then(|metadata| metadata.name.as_deref());
            let namespace = metadata.and_then(|metadata| metadata.namespace.as_deref());
            object.api_version.as_ref() == Some(&api_version)
                && object.kind.as_ref() == Some(&target.wanted.kind.kind)
                && name == Some(&target.place.name)
                && namespace.unwrap_or_default() == target.place.namespace
        })
    };
    before.iter().find(same)?.properties.as_ref()
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// Looks at the object again, past the watch, which has not seen the other write yet.
async fn anew(target: &Target<'_>, objects: &Objects<'_>, conflicts: &mut u32) -> Step {
    *conflicts += 1;
    let seen = match objects.get(&target.place.name).await {
        Ok(Some(object)) => Seen::Present(Arc::new(object)),
        Ok(None) => Seen::Absent,
        Err(error) => Seen::Unreadable(reeve_runtime::object::api_message(&error)),
    };
    decide::first(target, &seen)
}
