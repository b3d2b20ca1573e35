//! The evaluator of one client in the worker processes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reeve_gatekeeper::Json;
use reeve_gatekeeper::client::{Cause, Options};
use reeve_gatekeeper::constraint::{Constraint, ConstraintKey};
use reeve_gatekeeper::evaluator::{Compiled, Evaluated, Evaluator, Failure};
use reeve_gatekeeper::inventory::InventoryKey;
use reeve_gatekeeper::review::Review;
use reeve_gatekeeper::template::{ConstraintTemplate, TemplateError};

use crate::journal::{Content, Journal, Part};
use crate::messages;
use crate::pool::Workers;
use crate::process::{Process, WorkerFailure};
use crate::protocol::{self, ClientId, Request, Response};

/// So often a constraint is tried again whose process something else seems to have ended.
const TRIES: usize = 3;

/// The evaluator of one client.
#[derive(Debug)]
struct Remote {
    workers: Arc<Workers>,
    id: ClientId,
    options: Options,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    journal: Journal,
    /// The kinds of templates that are evaluated no more, and why.
    quarantine: BTreeMap<String, String>,
}

/// Why a process cannot be used.
#[derive(Debug)]
enum ProcessError {
    /// It could not be started.
    NotStarted(String),
    /// It has ended, while it compiled the template of a kind if there is one.
    Failed(WorkerFailure, Option<String>),
}

impl ProcessError {
    fn failed(failure: WorkerFailure) -> Self {
        Self::Failed(failure, None)
    }
}

impl Workers {
    /// An evaluator in these processes, for one client.
    pub fn evaluator(self: &Arc<Self>, options: Options) -> Arc<dyn Evaluator> {
        Arc::new(Remote {
            workers: Arc::clone(self),
            id: self.register_client(),
            options,
            state: Mutex::default(),
        })
    }
}

impl Remote {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a process work. One that has ended is not used again.
    fn with_process<T>(
        &self,
        work: impl FnOnce(&mut Process) -> Result<T, ProcessError>,
    ) -> Result<T, ProcessError> {
        let taken = self.workers.acquire(self.id);
        let mut process = taken.map_err(|error| ProcessError::NotStarted(error.to_string()))?;
        match self.update(&mut process).and_then(|()| work(&mut process)) {
            Ok(done) => {
                self.workers.release(process);
                Ok(done)
            }
            Err(error) => {
                drop(process);
                self.workers.discard();
                Err(error)
            }
        }
    }

    /// Brings a process up to date.
    fn update(&self, process: &mut Process) -> Result<(), ProcessError> {
        let client = self.id;
        let known = process.known.get(&client).copied();
        let (known, changes) = {
            let state = self.lock();
            let known = known.filter(|known| !state.journal.has_forgotten(*known));
            (known, state.journal.since(known.unwrap_or_default()))
        };
        if known.is_none() {
            let options = self.options.clone();
            let begin = Request::Begin { client, options };
            process.send(&begin).map_err(ProcessError::failed)?;
            process.known.insert(client, 0);
        }
        for (change, part, content) in changes {
            self.send_change(process, part, content.as_ref())?;
            process.known.insert(client, change);
        }
        Ok(())
    }

    /// Sends a change to a process.
    fn send_change(
        &self,
        process: &mut Process,
        part: Part,
        content: Option<&Content>,
    ) -> Result<(), ProcessError> {
        let client = self.id;
        let request = match (part, content) {
            (Part::Template(kind), Some(Content::Template(template))) => {
                if self.lock().quarantine.contains_key(&kind) {
                    return Ok(());
                }
                let loaded = self.compile(process, template);
                // It has compiled before.
                return loaded
                    .map(drop)
                    .map_err(|failure| ProcessError::Failed(failure, Some(kind)));
            }
            (Part::Constraint(_), Some(Content::Document(object))) => {
                Request::SetConstraint { client, object }
            }
            (Part::Object(_), Some(Content::Document(object))) => {
                Request::SetObject { client, object }
            }
            (Part::Template(kind), _) => Request::Unload { client, kind },
            (Part::Constraint(key), _) => Request::RemoveConstraint { client, key },
            (Part::Object(key), _) => Request::RemoveObject { client, key },
        };
        process.send(&request).map_err(ProcessError::failed)
    }

    fn compile(
        &self,
        process: &mut Process,
        template: &ConstraintTemplate,
    ) -> Result<Result<Compiled, TemplateError>, WorkerFailure> {
        process.send(&Request::Load {
            client: self.id,
            template: Box::new(template.clone()),
        })?;
        match process.receive(self.workers.limits())? {
            Response::Loaded(loaded) => Ok(loaded),
            _ => Err(WorkerFailure::Broken(
                "not the result of a template".to_owned(),
            )),
        }
    }

    /// Notes a template that a process has compiled.
    fn record_template(&self, process: &mut Process, template: &ConstraintTemplate) {
        let mut state = self.lock();
        state.quarantine.remove(&template.kind);
        let before = state.journal.last();
        let content = Content::Template(Arc::new(template.clone()));
        let part = Part::Template(template.kind.clone());
        state.journal.put(part, Some(content));
        if let Some(known) = process.known.get_mut(&self.id)
            && *known == before
        {
            *known = state.journal.last();
        }
    }

    /// Has a process evaluate constraints. What has a result is put into `results`, also when the process ends before all have one.
    fn request_evaluation(
        &self,
        review: &Review,
        constraints: &[&Constraint],
        results: &mut Vec<Evaluated>,
    ) -> Result<(), ProcessError> {
        self.with_process(|process| {
            let request = Request::Evaluate {
                client: self.id,
                review: Box::new(review.parts()),
                constraints: constraints.iter().map(|one| one.key()).collect(),
            };
            process.send(&request).map_err(ProcessError::failed)?;
            for _ in constraints {
                let response = process.receive(self.workers.limits());
                let Response::Evaluated(evaluated) = response.map_err(ProcessError::failed)? else {
                    let text = "not the result of a constraint".to_owned();
                    return Err(ProcessError::failed(WorkerFailure::Broken(text)));
                };
                results.push(evaluated);
            }
            Ok(())
        })
    }

    fn quarantine_after(&self, kind: &str, failure: &WorkerFailure) {
        tracing::warn!(kind, %failure, "constraint template is quarantined");
        self.quarantine(kind, &messages::quarantined(kind, failure));
    }

    fn put(&self, part: Part, content: Option<Content>) -> bool {
        self.lock().journal.put(part, content)
    }

    fn put_document(&self, part: Part, document: &Json) {
        match protocol::raw(document) {
            Ok(raw) => {
                self.put(part, Some(Content::Document(raw.into())));
            }
            Err(error) => tracing::warn!(?part, %error, "cannot be sent to a worker"),
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.workers.unregister_client(self.id);
    }
}

impl Evaluator for Remote {
    fn load(&self, template: &ConstraintTemplate) -> Result<Compiled, TemplateError> {
        let kind = &template.kind;
        let mut tries = 0;
        loop {
            let loaded = self.with_process(|process| {
                let loaded = self
                    .compile(process, template)
                    .map_err(ProcessError::failed)?;
                if loaded.is_ok() {
                    self.record_template(process, template);
                }
                Ok(loaded)
            });
            match loaded {
                Ok(loaded) => return loaded,
                // Another template: this one is next.
                Err(ProcessError::Failed(failure, Some(other))) if other != *kind => {
                    self.quarantine_after(&other, &failure);
                }
                Err(ProcessError::Failed(failure, Some(_))) => {
                    // The one that this one is to replace.
                    self.quarantine_after(kind, &failure);
                }
                Err(ProcessError::Failed(failure, None)) if failure.is_external() => {
                    tries += 1;
                    if tries == TRIES {
                        let message = messages::unavailable(&failure.to_string());
                        return Err(TemplateError::unavailable(message));
                    }
                }
                Err(ProcessError::Failed(failure, None)) => {
                    self.quarantine_after(kind, &failure);
                    return Ok(Compiled {
                        is_referential: false,
                    });
                }
                Err(ProcessError::NotStarted(error)) => {
                    return Err(TemplateError::unavailable(messages::unavailable(&error)));
                }
            }
        }
    }

    fn unload(&self, kind: &str) {
        let mut state = self.lock();
        state.quarantine.remove(kind);
        for key in state.journal.constraints(kind) {
            state.journal.put(Part::Constraint(key), None);
        }
        state.journal.put(Part::Template(kind.to_owned()), None);
    }

    fn quarantine(&self, kind: &str, reason: &str) {
        let mut state = self.lock();
        state.quarantine.insert(kind.to_owned(), reason.to_owned());
    }

    fn quarantined(&self, kind: &str) -> Option<String> {
        self.lock().quarantine.get(kind).cloned()
    }

    fn set_constraint(&self, constraint: &Constraint) {
        self.put_document(Part::Constraint(constraint.key()), &constraint.object);
    }

    fn remove_constraint(&self, key: &ConstraintKey) {
        self.put(Part::Constraint(key.clone()), None);
    }

    fn set_object(&self, object: &Json) -> bool {
        let Some(key) = InventoryKey::of(object) else {
            return false;
        };
        self.put_document(Part::Object(key), object);
        true
    }

    fn remove_object(&self, key: &InventoryKey) -> bool {
        self.put(Part::Object(key.clone()), None)
    }

    fn evaluate(&self, review: &Review, constraints: &[&Constraint]) -> Vec<Evaluated> {
        let mut results: Vec<Evaluated> = Vec::with_capacity(constraints.len());
        // After the end of a process each is evaluated alone, so that it is known which one ended it.
        let (mut at_once, mut tries) = (constraints.len(), 0);
        while let Some(constraint) = constraints.get(results.len()) {
            if let Some(message) = self.quarantined(&constraint.kind) {
                let cause = Cause::Quarantine;
                results.push(Err(Failure { message, cause }));
                continue;
            }
            let rest = constraints.get(results.len()..).unwrap_or_default();
            let is_evaluated = |one: &&&Constraint| self.quarantined(&one.kind).is_none();
            let batch: Vec<&Constraint> = rest
                .iter()
                .take(at_once)
                .take_while(is_evaluated)
                .copied()
                .collect();
            let done = results.len();
            let Err(error) = self.request_evaluation(review, &batch, &mut results) else {
                tries = 0;
                continue;
            };
            let is_alone = results.len() + 1 == done + batch.len();
            match error {
                ProcessError::NotStarted(error) => {
                    let message = messages::unavailable(&error);
                    let cause = Cause::Overload;
                    results.push(Err(Failure { message, cause }));
                }
                ProcessError::Failed(failure, Some(kind)) => self.quarantine_after(&kind, &failure),
                ProcessError::Failed(failure, None) if failure.is_external() => {
                    (at_once, tries) = (1, tries + 1);
                    if tries == TRIES {
                        tries = 0;
                        let message = messages::unavailable(&failure.to_string());
                        let cause = Cause::Overload;
                        results.push(Err(Failure { message, cause }));
                    }
                }
                // Before it began to wait it sent what it had.
                ProcessError::Failed(failure @ WorkerFailure::ProcessorTime(_), None) => {
                    if let Some(slow) = constraints.get(results.len()) {
                        self.quarantine_after(&slow.kind, &failure);
                    }
                }
                ProcessError::Failed(failure, None) if is_alone => {
                    if let Some(last) = constraints.get(results.len()) {
                        self.quarantine_after(&last.kind, &failure);
                    }
                }
                ProcessError::Failed(..) => at_once = 1,
            }
        }
        results
    }
}
