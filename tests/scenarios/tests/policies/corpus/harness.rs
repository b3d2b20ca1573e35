//! What every object of the corpus goes through.

use std::fmt::Write as _;
use std::slice;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use kube::api::DynamicObject;
use reeve_scenarios::{
    Evaluator, ObservedStatus, Subject, namespace, same, spec, steadily, within,
};
use serde_json::{Value, json};

use crate::corpus::leaves::{
    alone, another, at, leaves, reported, reversed, steps, without_the_servers_own,
};

/// An object as a user would write it, and what is known of it.
pub(crate) struct Item {
    /// The user's text: the interesting fields only.
    pub text: &'static str,
    /// The definition that has to be there first, if the kind is a custom one.
    pub definition: &'static str,
    /// Leaves (JSON pointers into the object as the server returns it) to be changed, and what enforcing
    /// the change comes to.
    pub changes: &'static [(&'static str, Outcome)],
    /// What enforcing comes to, after these changes, when the object must be the user's text and no more.
    pub only: Outcome,
    /// Leaves that the API server sets back whatever is written: a live value that differs only there is compliant.
    pub set_back: &'static [&'static str],
}

/// An object that is what its text reports, and can be changed freely.
pub(crate) const PLAIN: Item = Item {
    text: "",
    definition: "",
    changes: &[],
    only: Outcome::Kept,
    set_back: &[],
};

/// What enforcing comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// One update, and compliant from then on.
    Updated,
    /// Compliant without an update: the server reports that nothing would change.
    Kept,
    /// Immutable or invalid for the server (422).
    Immutable,
    /// Refused by the server with another error, whose text contains this.
    Refused(&'static str),
}

/// An item on its way.
struct Actor<'a> {
    world: &'a Evaluator,
    item: &'a Item,
    /// What its policies are named after.
    key: &'a str,
    identity: DynamicObject,
}

pub(crate) async fn run(world: Arc<Evaluator>, scenario: &str, item: &Item) -> Result<()> {
    let identity = reeve_testkit::parse(item.text)?.pop().context("no text")?;
    if let Some(name) = &identity.metadata.namespace {
        namespace(&world, name).await?;
    }
    if let (false, Some(types)) = (item.definition.is_empty(), &identity.types) {
        world.apply(item.definition).await?;
        within(format!("{} is served", types.kind), || async {
            world.list(&types.api_version, &types.kind, None).await
        })
        .await?;
    }
    let actor = Actor {
        world: &world,
        item,
        key: scenario.split('_').next().unwrap_or(scenario),
        identity,
    };
    let outcome = actor.everything().await;
    match (outcome, actor.live().await) {
        (Err(error), Ok(live)) => Err(error.context(format!("the object is {live:#}"))),
        (outcome, _) => outcome,
    }
}

impl Actor<'_> {
    async fn everything(&self) -> Result<()> {
        self.created().await.context("1. created")?;
        self.as_returned().await.context("2. as returned")?;
        self.every_leaf().await.context("3. every leaf alone")?;
        self.every_leaf_changed()
            .await
            .context("4. every leaf changed")?;
        for (pointer, outcome) in self.item.changes {
            self.changed(pointer, *outcome)
                .await
                .with_context(|| format!("5. {pointer} changed"))?;
        }
        self.exactly().await.context("6. exactly the text")
    }

    async fn live(&self) -> Result<Value> {
        let types = self.identity.types.as_ref().context("no types")?;
        let metadata = &self.identity.metadata;
        let name = metadata.name.as_deref().unwrap_or_default();
        let namespace = metadata.namespace.as_deref();
        let found = self
            .world
            .get(&types.api_version, &types.kind, namespace, name)
            .await?;
        Ok(serde_json::to_value(found.context("it is absent")?)?)
    }

    /// Who wrote the object itself, and when: its status may well be busy.
    async fn writes(&self) -> Result<Value> {
        let live = self.live().await?;
        let entries = live["metadata"]["managedFields"].as_array().cloned();
        let mut entries = entries.unwrap_or_default();
        entries.retain(|entry| entry.get("subresource").is_none());
        Ok(Value::Array(entries))
    }

    /// Nothing is written, observed or evaluated again and again.
    async fn is_idle(&self, policy: &Subject<'_>) -> Result<()> {
        self.world.settled(policy.name()).await?;
        let (writes, observed) = (self.writes().await?, policy.observed().await?);
        let evaluations = self.world.settled(policy.name()).await?;
        same("the writes", self.writes().await?, writes)?;
        same(
            "the history",
            policy.observed().await?.history(),
            observed.history(),
        )?;
        ensure!(evaluations < 12.0, "it was evaluated {evaluations} times");
        Ok(())
    }

    async fn created(&self) -> Result<()> {
        let policy = self.policy("a");
        policy
            .apply(&spec("enforce", &[("musthave", self.item.text)]))
            .await?;
        policy.mentions(&["found as specified"]).await?;
        self.is_idle(&policy).await?;
        let (observed, reported) = (policy.observed().await?, policy.parent_messages().await?);
        for messages in [&observed.history(), &reported] {
            ensure!(messages.len() <= 3, "too many messages: {messages:#?}");
            let updated = messages
                .iter()
                .any(|message| message.contains("was updated"));
            ensure!(!updated, "it was updated: {messages:#?}");
        }
        same("the compliance", observed.compliance(), "Compliant")?;
        policy.remove().await
    }

    async fn as_returned(&self) -> Result<()> {
        let policy = self.policy("b");
        let returned = without_the_servers_own(&self.live().await?);
        let mut nameless = returned.clone();
        if let Some(metadata) = nameless["metadata"].as_object_mut() {
            metadata.remove("name");
        }
        // The order of a list does not matter (only maps are merged), and what is there is found by its content (8.4).
        for definition in [&returned, &reversed(&returned), &nameless] {
            for (compliance, verdict) in [
                ("musthave", "Compliant"),
                ("mustonlyhave", "Compliant"),
                ("mustnothave", "NonCompliant"),
            ] {
                policy
                    .apply(&bulk(compliance, slice::from_ref(definition)))
                    .await?;
                let observed = policy.until("a verdict", is_decided).await?;
                let what = format!("{compliance} of {definition}: {observed}: the compliance");
                same(&what, observed.compliance(), verdict)?;
            }
        }
        policy.remove().await
    }

    async fn every_leaf(&self) -> Result<()> {
        let object = without_the_servers_own(&self.live().await?);
        let definitions = leaves(&object).into_iter().filter_map(|path| {
            let leaf = at(&object, &path)?.clone();
            Some((reported(&object, &path), alone(&object, &path, leaf)))
        });
        self.judged("c", definitions.collect(), |_| "Compliant")
            .await
    }

    async fn every_leaf_changed(&self) -> Result<()> {
        let object = without_the_servers_own(&self.live().await?);
        let definitions = leaves(&object).into_iter().filter_map(|path| {
            let leaf = another(at(&object, &path)?)?;
            Some((reported(&object, &path), alone(&object, &path, leaf)))
        });
        let set_back = |path: &str| self.item.set_back.contains(&path);
        let writes = self.writes().await?;
        self.judged("d", definitions.collect(), |path| {
            if set_back(path) {
                "Compliant"
            } else {
                "NonCompliant"
            }
        })
        .await?;
        same("the writes", self.writes().await?, writes)
    }

    /// Looks at many definitions, each of which must have a verdict.
    async fn judged(
        &self,
        name: &str,
        definitions: Vec<(String, Value)>,
        verdict: impl Fn(&str) -> &'static str,
    ) -> Result<()> {
        if definitions.is_empty() {
            return Ok(());
        }
        let policy = self.policy(name);
        let (paths, definitions): (Vec<String>, Vec<Value>) = definitions.into_iter().unzip();
        policy.apply(&bulk("musthave", &definitions)).await?;
        let observed = policy
            .until("a verdict on each", |observed| {
                observed.details() == paths.len()
            })
            .await?;
        let mut wrong = String::new();
        for (index, path) in paths.iter().enumerate() {
            let (is, should) = (observed.compliance_of(index), verdict(path));
            if is != should {
                let (definition, message) = (&definitions[index], observed.message(index));
                writeln!(wrong, "{path} is {is}: {message}\n  {definition}")?;
            }
        }
        ensure!(wrong.is_empty(), "wrong verdicts:\n{wrong}");
        policy.remove().await
    }

    async fn changed(&self, pointer: &str, outcome: Outcome) -> Result<()> {
        let object = without_the_servers_own(&self.live().await?);
        let path = steps(pointer);
        let leaf = at(&object, &path)
            .and_then(another)
            .context("no such leaf")?;
        let definition = alone(&object, &path, leaf.clone());
        let policy = self.policy(&format!("e{}", pointer.len()));
        let writes = self.writes().await?;
        policy
            .apply(&bulk("musthave", slice::from_ref(&definition)))
            .await?;
        let reported = reported(&object, &path);
        // A refused dry run is reported after the mismatch, and has no result to show.
        let observed = policy
            .until("the field", |observed| names(observed, &reported))
            .await?;
        same("the compliance", observed.compliance(), "NonCompliant")?;
        if !matches!(outcome, Outcome::Refused(_)) {
            shows(&observed, &leaf)?;
        }
        same("the writes", self.writes().await?, writes)?;

        policy.remediate("enforce").await?;
        self.evaluates_to(&policy, outcome).await?;
        policy.remove().await
    }

    async fn exactly(&self) -> Result<()> {
        let policy = self.policy("f");
        policy
            .apply(&spec("enforce", &[("mustonlyhave", self.item.text)]))
            .await?;
        self.evaluates_to(&policy, self.item.only).await?;
        policy.remove().await
    }

    async fn evaluates_to(&self, policy: &Subject<'_>, outcome: Outcome) -> Result<()> {
        match outcome {
            Outcome::Updated | Outcome::Kept => {
                policy.mentions(&["found as specified"]).await?;
                self.is_idle(policy).await?;
                let observed = policy.observed().await?;
                same("the compliance", observed.compliance(), "Compliant")?;
                let history = observed.history();
                let updates = history.iter().filter(|entry| entry.contains("was updated"));
                let wanted = usize::from(outcome == Outcome::Updated);
                same(
                    &format!("the updates in {history:#?}"),
                    updates.count(),
                    wanted,
                )
            }
            Outcome::Immutable => {
                let words = "cannot be updated, likely due to immutable fields not matching, you may set \
                             spec[\"object-templates\"][].recreateOption to recreate the object";
                self.is_stable(policy, words).await
            }
            Outcome::Refused(words) => self.is_stable(policy, words).await,
        }
    }

    /// It cannot be done: that is observed once, and nothing is written.
    async fn is_stable(&self, policy: &Subject<'_>, words: &str) -> Result<()> {
        let observed = policy.mentions(&[words]).await?;
        same("the compliance", observed.compliance(), "NonCompliant")?;
        let (writes, history) = (self.writes().await?, observed.history());
        ensure!(history.len() <= 4, "the history is {history:#?}");
        let message = observed.message(0).to_owned();
        steadily("it is reported once", || async {
            let observed = policy.observed().await?;
            same("the message", observed.message(0), message.as_str())?;
            same("the history", observed.history(), history.clone())?;
            same("the writes", self.writes().await?, writes.clone())
        })
        .await
    }

    fn policy(&self, name: &str) -> Subject<'_> {
        self.world.policy(&format!("{}-{name}", self.key))
    }
}

/// The spec of a policy that looks at definitions and publishes the differences.
fn bulk(compliance: &str, definitions: &[Value]) -> String {
    let template = |definition: &Value| json!({ "complianceType": compliance, "recordDiff": "InStatus", "objectDefinition": definition });
    let templates: Vec<Value> = definitions.iter().map(template).collect();
    format!(
        "remediationAction: inform\nobject-templates: {}",
        Value::Array(templates)
    )
}

fn is_decided(observed: &ObservedStatus) -> bool {
    !observed.compliance().is_empty()
}

/// Whether the field is among those that are observed to differ.
fn names(observed: &ObservedStatus, path: &str) -> bool {
    let related = observed.related();
    let fields = related
        .first()
        .and_then(|entry| entry.properties["fields"].as_array());
    fields.is_some_and(|fields| {
        fields.iter().any(|field| {
            let named = field["path"].as_str().unwrap_or_default();
            named == path || (path.ends_with('[') && named.starts_with(path))
        })
    })
}

/// The difference has the new value. Of a text, its end will do: how the rest is quoted is no matter here.
fn shows(observed: &ObservedStatus, leaf: &Value) -> Result<()> {
    let end = match leaf {
        Value::String(text) => {
            let mut parts = text.rsplit(|letter: char| !letter.is_ascii_alphanumeric());
            parts.next().unwrap_or_default().to_owned()
        }
        other => other.to_string(),
    };
    let related = observed.related();
    let diff = related.first().context("no related object")?.diff();
    let shown = diff
        .lines()
        .any(|line| line.starts_with('+') && line.contains(&end));
    ensure!(shown, "the difference does not show {end:?}: {observed}");
    Ok(())
}
