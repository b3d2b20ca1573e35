//! The work agent: applies works to its cluster, keeps them applied, reports, and takes them back.

mod apply;
mod feedback;
mod manifest;
mod record;
mod release;
mod report;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use self::apply::{Applier, Memo, Outcome};
use self::manifest::Settings;
use self::record::Record;
use super::agents::Agents;
use super::journal::Journal;
use super::mirror::{ChangeTrigger, Mirror, Step};
use super::names::WORK;
use super::write;

const FINALIZER: &str = "cluster.open-cluster-management.io/manifest-work-cleanup";
/// The delay before a failed or unfinished work is reconciled again.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// The work agent of a managed cluster.
pub(super) struct WorkAgent {
    agents: Agents,
    journal: Journal,
    works: Mirror,
    known: HashMap<String, Known>,
}

/// The agent's state of a work.
#[derive(Default)]
struct Known {
    uid: Option<String>,
    generation: Option<i64>,
    outcomes: Vec<Outcome>,
    memo: Memo,
    apply_at: Option<Instant>,
    report_at: Option<Instant>,
    release_at: Option<Instant>,
}

impl WorkAgent {
    pub(super) async fn start(
        agents: Agents,
        trigger: &ChangeTrigger,
        journal: Journal,
    ) -> Result<Self> {
        let works = Mirror::start(&agents.hub, WORK, Some(&agents.cluster), trigger).await?;
        Ok(Self {
            agents,
            journal,
            works,
            known: HashMap::new(),
        })
    }

    async fn reconcile(&mut self, work: &DynamicObject) -> Result<()> {
        let agents = &self.agents;
        let known = self.known.entry(work.name_any()).or_default();
        if known.uid != work.metadata.uid {
            *known = Known {
                uid: work.metadata.uid.clone(),
                ..Known::default()
            };
        }
        if work.metadata.deletion_timestamp.is_some() {
            return known.remove(agents, work).await;
        }
        if !work.finalizers().iter().any(|it| it == FINALIZER) {
            let mut finalizers = work.finalizers().to_vec();
            finalizers.push(FINALIZER.to_owned());
            let patch = json!({ "finalizers": finalizers });
            // The next round sees the work with it.
            write::metadata(&agents.hub, WORK, work, patch).await?;
            return Ok(());
        }
        let changed = known.generation != work.metadata.generation;
        if changed || due(known.apply_at) {
            known.apply(agents, work, &self.journal).await?;
            known.report(agents, work).await?;
        } else if due(known.report_at) {
            known.refresh(agents, work).await?;
            known.report(agents, work).await?;
        }
        Ok(())
    }
}

impl Step for WorkAgent {
    async fn step(&mut self) -> Result<()> {
        let works = self.works.all();
        self.known
            .retain(|name, _| works.iter().any(|work| work.name_any() == *name));
        let mut outcome = Ok(());
        for work in &works {
            outcome = outcome.and(self.reconcile(work).await);
        }
        outcome
    }
}

impl Known {
    async fn apply(
        &mut self,
        agents: &Agents,
        work: &DynamicObject,
        journal: &Journal,
    ) -> Result<()> {
        let mut record = Record::make(agents, &work.name_any()).await?;
        let settings = Settings::of(&work.data["spec"]);
        let mut applier = Applier {
            objects: &agents.managed,
            settings: &settings,
            owner: record.as_owner(),
            memo: &mut self.memo,
        };
        self.outcomes = applier.all(manifests(work)).await;
        let mut again = false;
        for outcome in &self.outcomes {
            again |= outcome.unfinished();
            if let Err(error) = &outcome.applied {
                let name = work.name_any();
                journal.record(format!("the work {name}: {error}"));
            }
        }
        again |= record.replace(&agents.managed, &self.outcomes).await?;
        self.generation = work.metadata.generation;
        let pause = if again {
            RETRY_INTERVAL
        } else {
            agents.options.resync
        };
        self.apply_at = Some(Instant::now() + pause);
        Ok(())
    }

    /// Reads again what is to be reported in detail; applying reads everything.
    async fn refresh(&mut self, agents: &Agents, work: &DynamicObject) -> Result<()> {
        let settings = Settings::of(&work.data["spec"]);
        report::refresh(&agents.managed, &settings, &mut self.outcomes).await
    }

    async fn report(&mut self, agents: &Agents, work: &DynamicObject) -> Result<()> {
        let settings = Settings::of(&work.data["spec"]);
        let pause = if settings.watches() {
            Duration::from_millis(100)
        } else {
            agents.options.status_interval
        };
        self.report_at = Some(Instant::now() + pause);
        let patch = report::status(work, &settings, &self.outcomes);
        write::status(&agents.hub, WORK, work, &patch).await
    }

    /// The work is being deleted.
    async fn remove(&mut self, agents: &Agents, work: &DynamicObject) -> Result<()> {
        if !work.finalizers().iter().any(|it| it == FINALIZER) || !due(self.release_at) {
            return Ok(());
        }
        self.release_at = Some(Instant::now() + RETRY_INTERVAL);
        if let Some(record) = Record::find(agents, &work.name_any()).await? {
            let settings = Settings::of(&work.data["spec"]);
            if !record.release_all(&agents.managed, &settings).await? {
                return Ok(());
            }
            record.delete(&agents.managed).await?;
        }
        let kept: Vec<_> = work
            .finalizers()
            .iter()
            .filter(|it| *it != FINALIZER)
            .collect();
        let patch = json!({ "finalizers": kept });
        write::metadata(&agents.hub, WORK, work, patch).await?;
        Ok(())
    }
}

fn due(at: Option<Instant>) -> bool {
    at.is_none_or(|at| Instant::now() >= at)
}

fn manifests(work: &DynamicObject) -> &[Value] {
    let manifests = work.data["spec"]["workload"]["manifests"].as_array();
    manifests.map_or(&[], Vec::as_slice)
}
