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
use crate::process::{Death, Process};
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
enum Fault {
    /// It could not be started.
    NotStarted(String),
    /// It has ended, while it compiled the template of a kind if there is one.
    Died(Death, Option<String>),
}

impl Fault {
    fn died(death: Death) -> Self {
        Self::Died(death, None)
    }
}

impl Workers {
    /// An evaluator in these processes, for one client.
    pub fn evaluator(self: &Arc<Self>, options: Options) -> Arc<dyn Evaluator> {
        Arc::new(Remote {
            workers: Arc::clone(self),
            id: self.begin(),
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
        work: impl FnOnce(&mut Process) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let taken = self.workers.take(self.id);
        let mut process = taken.map_err(|error| Fault::NotStarted(error.to_string()))?;
        match self.update(&mut process).and_then(|()| work(&mut process)) {
            Ok(done) => {
                self.workers.give_back(process);
                Ok(done)
            }
            Err(fault) => {
                drop(process);
                self.workers.lost();
                Err(fault)
            }
        }
    }

    /// Brings a process up to date.
    fn update(&self, process: &mut Process) -> Result<(), Fault> {
        let (client, options) = (self.id, self.options);
        let known = process.known.get(&client).copied();
        let (known, changes) = {
            let state = self.lock();
            let known = known.filter(|known| !state.journal.has_forgotten(*known));
            (known, state.journal.since(known.unwrap_or_default()))
        };
        if known.is_none() {
            let begin = Request::Begin { client, options };
            process.send(&begin).map_err(Fault::died)?;
            process.known.insert(client, 0);
        }
        for (change, part, content) in changes {
            self.tell(process, part, content.as_ref())?;
            process.known.insert(client, change);
        }
        Ok(())
    }

    /// Tells a process of a change.
    fn tell(
        &self,
        process: &mut Process,
        part: Part,
        content: Option<&Content>,
    ) -> Result<(), Fault> {
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
                    .map_err(|death| Fault::Died(death, Some(kind)));
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
        process.send(&request).map_err(Fault::died)
    }

    fn compile(
        &self,
        process: &mut Process,
        template: &ConstraintTemplate,
    ) -> Result<Result<Compiled, TemplateError>, Death> {
        process.send(&Request::Load {
            client: self.id,
            template: Box::new(template.clone()),
        })?;
        match process.receive(self.workers.limits())? {
            Response::Loaded(loaded) => Ok(loaded),
            _ => Err(Death::Broken("not the result of a template".to_owned())),
        }
    }

    /// Notes a template that a process has compiled.
    fn remember(&self, process: &mut Process, template: &ConstraintTemplate) {
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
    fn ask(
        &self,
        review: &Review,
        constraints: &[&Constraint],
        results: &mut Vec<Evaluated>,
    ) -> Result<(), Fault> {
        self.with_process(|process| {
            let request = Request::Evaluate {
                client: self.id,
                review: Box::new(review.parts()),
                constraints: constraints.iter().map(|one| one.key()).collect(),
            };
            process.send(&request).map_err(Fault::died)?;
            for _ in constraints {
                let response = process.receive(self.workers.limits());
                let Response::Evaluated(evaluated) = response.map_err(Fault::died)? else {
                    let text = "not the result of a constraint".to_owned();
                    return Err(Fault::died(Death::Broken(text)));
                };
                results.push(evaluated);
            }
            Ok(())
        })
    }

    fn give_up(&self, kind: &str, death: &Death) {
        tracing::warn!(kind, %death, "constraint template is quarantined");
        self.quarantine(kind, &messages::quarantined(kind, death));
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
        self.workers.forget(self.id);
    }
}

impl Evaluator for Remote {
    fn load(&self, template: &ConstraintTemplate) -> Result<Compiled, TemplateError> {
        let kind = &template.kind;
        loop {
            let loaded = self.with_process(|process| {
                let loaded = self.compile(process, template).map_err(Fault::died)?;
                if loaded.is_ok() {
                    self.remember(process, template);
                }
                Ok(loaded)
            });
            match loaded {
                Ok(loaded) => return loaded,
                // Another template: this one is next.
                Err(Fault::Died(death, Some(other))) if other != *kind => {
                    self.give_up(&other, &death);
                }
                Err(Fault::Died(death, Some(_))) => {
                    // The one that this one is to replace.
                    self.give_up(kind, &death);
                }
                Err(Fault::Died(death, None)) => {
                    return Err(TemplateError::ingest(messages::not_compiled(&death)));
                }
                Err(Fault::NotStarted(error)) => {
                    return Err(TemplateError::ingest(messages::unavailable(&error)));
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
            let Err(fault) = self.ask(review, &batch, &mut results) else {
                tries = 0;
                continue;
            };
            let is_alone = results.len() + 1 == done + batch.len();
            match fault {
                Fault::NotStarted(error) => {
                    let message = messages::unavailable(&error);
                    let cause = Cause::Overload;
                    results.push(Err(Failure { message, cause }));
                }
                Fault::Died(death, Some(kind)) => self.give_up(&kind, &death),
                Fault::Died(death, None) if death.is_foreign() && tries < TRIES => {
                    (at_once, tries) = (1, tries + 1);
                }
                // Before it began to wait it sent what it had.
                Fault::Died(death @ (Death::ProcessorTime(_) | Death::WallTime(_)), None) => {
                    if let Some(slow) = constraints.get(results.len()) {
                        self.give_up(&slow.kind, &death);
                    }
                }
                Fault::Died(death, None) if is_alone => {
                    if let Some(last) = constraints.get(results.len()) {
                        self.give_up(&last.kind, &death);
                    }
                }
                Fault::Died(..) => at_once = 1,
            }
        }
        results
    }
}
