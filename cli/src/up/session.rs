//! A fleet from the first object to the verdict.

use std::collections::HashMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use reeve_fleet::results::Results;
use reeve_fleet::{Fleet, Initial, SetUp, Target};
use reeve_manifests::Object;
use reeve_report::{Entry, Reason, Report, Source, State, made_namespaces, print, table};
use reeve_runtime::CancellationToken;

use super::changes::Deletions;
use super::screen::Screen;
use super::verdict::{GRACE, Question, Verdict, Wait, waiting};
use super::{Args, changes, messages};
use crate::fleet_args::Planned;
use crate::inputs::{self, Objects};
use crate::usage::{EXIT_FINDINGS, EXIT_TIME};
use crate::{output, terminal};

/// The interval between two reads of the fleet.
const POLL: Duration = Duration::from_millis(100);
/// A read may take this part of the time at most: of a large fleet it takes long.
const SHARE: u32 = 4;
/// States that have not changed for so long while controllers only retry are taken for final.
const UNCHANGED: Duration = Duration::from_secs(1);
/// Many policies whose evaluation fails keep the controllers at work with their retries, on a busy machine at each moment that is
/// looked at: then states count that have not changed for so long.
const UNCHANGED_IN_SPITE_OF_WORK: Duration = Duration::from_secs(10);
/// The interval between two looks at the files of `--watch`.
const WATCH: Duration = Duration::from_millis(500);

/// What leaves policies unplaced that nothing binds.
const BIND_UNBOUND: &str = "--bind-unbound=false";

/// What a fleet shows.
pub(super) struct Session<'a> {
    args: &'a Args,
    fleet: &'a Fleet,
    screen: Screen,
    results: Results,
    started: Instant,
    read: Objects,
    /// What could not be applied, with `--keep-going`.
    refused: Vec<Entry>,
    notes: Vec<String>,
}

impl<'a> Session<'a> {
    pub(super) fn new(args: &'a Args, fleet: &'a Fleet, screen: Screen, read: Objects) -> Self {
        Self {
            args,
            fleet,
            screen,
            results: Results::default().with_sources(sources(&read.hub)),
            started: Instant::now(),
            read,
            refused: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Applies what the arguments name.
    pub(super) async fn set_up(&mut self, planned: &Planned) -> Result<()> {
        for error in self.read.errors.clone() {
            self.say(&format!("! {error}"));
        }
        if let Some(skipped) = table::skipped(&self.read.skipped) {
            self.say(&format!("! {skipped}"));
        }
        for note in &planned.notes {
            self.note(note.clone());
        }
        let initial = Initial {
            crds: self.read.crds.clone(),
            of_clusters: planned.objects.clone(),
            of_hub: self.read.hub.clone(),
            unbound: self.args.input.unbound(),
        };
        let done = self.fleet.set_up(&initial).await;
        let done = done.context("binding policies")?;
        self.done(&done)?;
        if done.applied > 0 {
            self.say(&messages::applied(done.applied));
        }
        if done.bound.is_empty() {
            return Ok(());
        }
        self.note(reeve_report::bound(done.bound.len(), BIND_UNBOUND));
        Ok(())
    }

    /// Says which namespaces were made, and fails at what was refused unless the user wants to go on.
    fn done(&mut self, done: &SetUp) -> Result<()> {
        for note in made_namespaces(&done.namespaces) {
            self.note(note);
        }
        if !self.args.keep_going {
            return inputs::fail(&texts(&done.errors));
        }
        for error in &done.errors {
            self.note(error.to_string());
            self.refused.push(Entry {
                subject: "input".to_owned(),
                state: State::Error,
                reasons: vec![Reason::text(error.to_string())],
                ..Entry::default()
            });
        }
        Ok(())
    }

    fn note(&mut self, note: String) {
        self.say(&format!("! {note}"));
        self.notes.push(note);
    }

    /// Prints a line where people read it.
    fn say(&mut self, text: &str) {
        if self.args.is_text() {
            self.screen.note(text);
        } else {
            output::aside(format_args!("{text}"));
        }
    }

    async fn report(&mut self) -> Result<Report> {
        let entries = self.results.read(self.fleet).await;
        let mut entries = entries.context("reading the states of policies")?;
        entries.extend(self.refused.iter().cloned());
        let mut report = Report {
            entries,
            seconds: self.started.elapsed().as_secs_f64(),
            ..Report::default()
        };
        report.sort();
        Ok(report)
    }

    /// Shows the states until the end.
    pub(super) async fn run(&mut self, stop: &CancellationToken) -> Result<ExitCode> {
        if self.args.once {
            return self.once(stop).await;
        }
        let input = &self.args.input;
        let watched = changes::watched(&input.policies, &input.kustomize);
        let mut stamps = changes::stamps(&watched);
        let mut looked = Instant::now();
        let mut failed = String::new();
        loop {
            // The fleet goes on without its table.
            if let Err(error) = self.refresh().await {
                let error = format!("{error:#}");
                if error != failed {
                    self.note(error.clone());
                    failed = error;
                }
            } else {
                failed.clear();
            }
            if output::is_closed() {
                return Ok(ExitCode::SUCCESS);
            }
            if self.args.watch && looked.elapsed() >= WATCH {
                let now = changes::stamps(&watched);
                if now != stamps {
                    stamps = now;
                    self.reload().await?;
                }
                looked = Instant::now();
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(ExitCode::SUCCESS),
                () = tokio::time::sleep(POLL) => {}
            }
        }
    }

    /// Reads the fleet and shows it; of a large fleet, then rests.
    async fn refresh(&mut self) -> Result<Vec<Entry>> {
        let began = Instant::now();
        let report = self.report().await?;
        self.screen.show(&report);
        tokio::time::sleep(began.elapsed() * SHARE).await;
        Ok(report.entries)
    }

    /// Waits for the verdict. A status counts only when the fleet has settled: before that it may be of an earlier
    /// spec, even of an earlier process, or lack a cluster that was just chosen.
    async fn answer(&mut self, question: Question) -> Result<(Verdict, Report)> {
        let mut unchanged: Option<(Instant, Vec<Entry>)> = None;
        loop {
            self.settled().await?;
            let report = self.report().await?;
            // Without an input another program may create a policy.
            if report.entries.is_empty() && !self.read.hub.is_empty() {
                anyhow::bail!("{}", crate::messages::NO_POLICY);
            }
            self.screen.show(&report);
            let since = match &unchanged {
                Some((since, entries)) if *entries == report.entries => *since,
                _ => Instant::now(),
            };
            let is_failing = self.fleet.is_failing();
            let is_final = !is_failing || since.elapsed() >= GRACE;
            if let Some(verdict) = question.verdict(&report, is_failing, is_final) {
                return Ok((verdict, report));
            }
            unchanged = Some((since, report.entries));
            tokio::time::sleep(POLL).await;
        }
    }

    /// Shows the states until the controllers are idle, or until they only retry what fails and no state has changed
    /// for a while: the retries of some controllers are far apart.
    async fn settled(&mut self) -> Result<()> {
        let fleet = self.fleet;
        let settled = fleet.settled();
        tokio::pin!(settled);
        let mut last: (Instant, Vec<Entry>) = (Instant::now(), Vec::new());
        loop {
            tokio::select! {
                () = &mut settled => return Ok(()),
                () = tokio::time::sleep(POLL) => {}
            }
            let entries = self.refresh().await?;
            if entries != last.1 || !are_known(&entries) {
                last = (Instant::now(), entries);
            } else if last.0.elapsed() >= UNCHANGED && fleet.is_only_retrying()
                || last.0.elapsed() >= UNCHANGED_IN_SPITE_OF_WORK && fleet.is_failing()
            {
                return Ok(());
            }
        }
    }

    async fn once(&mut self, stop: &CancellationToken) -> Result<ExitCode> {
        let question = Question {
            wait: self.args.wait,
            fail_on: self.args.fail_on,
        };
        // A time beyond the clock's range is no limit.
        let limit = Duration::from_secs(self.args.timeout);
        let limit = tokio::time::timeout(limit, self.answer(question));
        let answered = tokio::select! {
            () = stop.cancelled() => return Ok(ExitCode::SUCCESS),
            answered = limit => answered,
        };
        let (code, mut report) = match answered {
            Ok(answered) => {
                let (verdict, report) = answered?;
                match verdict {
                    Verdict::Reached => (ExitCode::SUCCESS, report),
                    Verdict::Failed => (ExitCode::from(EXIT_FINDINGS), report),
                }
            }
            Err(_) => (ExitCode::from(EXIT_TIME), self.report().await?),
        };
        if code == ExitCode::from(EXIT_TIME) {
            let open = waiting(&report, self.args.wait.unwrap_or(Wait::Compliant));
            output::aside(format_args!(
                "{}",
                messages::time_is_up(self.args.timeout, &open)
            ));
        }
        if !self.args.is_text() {
            report.notes.clone_from(&self.notes);
            report.skipped.clone_from(&self.read.skipped);
        }
        self.screen.clear();
        let text = print(&report, self.args.output, terminal::style());
        output::block(format_args!("{text}"));
        Ok(code)
    }

    /// Deletes what the input no longer has, if all of it could be read: a file that is half written keeps what it held.
    async fn delete_gone(&self, read: &Objects) -> Deletions {
        let gone = changes::gone(&self.read.hub, &read.hub);
        if !read.errors.is_empty() {
            return Deletions {
                left: gone,
                ..Deletions::default()
            };
        }
        changes::delete(&Target::hub(self.fleet.hub.client()), gone).await
    }

    /// Applies the changed input. What is wrong with it is said, and the fleet goes on.
    async fn reload(&mut self) -> Result<()> {
        let read = self.args.input.read();
        for error in &read.errors {
            self.say(&format!("! {error}"));
        }
        if !read.errors.is_empty() && !self.args.keep_going {
            return Ok(());
        }
        let deletions = self.delete_gone(&read).await;
        for error in &deletions.errors {
            self.say(&format!("! {error}"));
        }
        let mut done = SetUp::default();
        let unbound = self.args.input.unbound();
        let applied = self.fleet.apply_to_hub(&read.hub, unbound, &mut done);
        applied.await.context("binding policies")?;
        self.refused.clear();
        for error in &done.errors {
            self.say(&format!("! {error}"));
        }
        self.say(&messages::changed(done.applied, deletions.deleted));
        if !done.bound.is_empty() {
            self.note(reeve_report::bound(done.bound.len(), BIND_UNBOUND));
        }
        self.read = read;
        self.read.hub.extend(deletions.left);
        let results = std::mem::take(&mut self.results);
        self.results = results.with_sources(sources(&self.read.hub));
        Ok(())
    }
}

/// Whether every policy has a state, and one that is not good: a good one may be outdated while a controller fails.
fn are_known(entries: &[Entry]) -> bool {
    let mut states = entries.iter().map(|entry| entry.state);
    states.clone().any(|state| state == State::Error)
        && states.all(|state| !matches!(state, State::Unknown | State::Pending))
}

fn texts(errors: &[reeve_fleet::ApplyError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

/// Where policies are written.
pub(crate) fn sources(objects: &[Object]) -> HashMap<String, Source> {
    let policies = objects
        .iter()
        .filter(|object| object.is("policy.open-cluster-management.io", "Policy"));
    policies
        .map(|object| {
            let namespace = object.namespace.as_deref().unwrap_or("policies");
            let source = Source {
                path: object.position.path.display().to_string(),
                line: object.position.line,
            };
            (format!("{namespace}/{}", object.name), source)
        })
        .collect()
}
