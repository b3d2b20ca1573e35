//! A hub and a managed cluster with add-ons side by side, each for a pair of namespaces of its own, and
//! nothing that evaluates: scenarios play the evaluators.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::future::{try_join, try_join_all};
use reeve_testkit::{
    Component, Object, Objects, Plane, PlaneOptions, free_port, http_get, workspace,
};
use serde_json::json;

use crate::evaluator::{key, rendered, series};
use crate::wait::{steadily_for, within};

/// The component's name.
pub const ADDON: &str = "governance-policy-framework-addon";

/// How long something must not happen before a scenario believes that it does not. Whatever the add-on
/// would do wrongly, it does at once, or as a try after an error; those come within seconds at first.
const STEADY: Duration = Duration::from_secs(3);

/// How long an add-on may take until it is ready.
const READY: Duration = Duration::from_mins(1);

/// How an add-on is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The policies have one namespace's name on both clusters.
    Default,
    /// They have different ones, and there is no Gatekeeper.
    Hosted,
    /// As by default, without Gatekeeper.
    NoGatekeeper,
    /// The managed cluster is the hub: there is nothing to copy from or to.
    OnHub,
}

/// Add-ons of each mode: the hub's rate limit is one for each of them, and whole suites play at once.
const FLEET: [(Mode, usize); 4] = [
    (Mode::Default, 4),
    (Mode::Hosted, 4),
    (Mode::NoGatekeeper, 1),
    (Mode::OnHub, 1),
];

/// Two clusters with add-ons.
pub struct Agents {
    /// Every running one.
    pub addons: Vec<Addon>,
    /// The hub.
    pub hub: Plane,
    /// The managed cluster.
    pub managed: Plane,
    next: AtomicUsize,
}

/// A running add-on.
pub struct Addon {
    component: Component,
    mode: Mode,
    health: String,
    metrics: String,
    namespace: String,
    hub_namespace: String,
}

impl Agents {
    /// Starts the planes and the add-ons; all are ready when this returns.
    pub async fn start() -> Result<Self> {
        let (hub, managed) = try_join(plane("hub"), plane("managed")).await?;
        for file in ["clusterrules.yaml", "rules.yaml"] {
            install(&managed, file).await?;
        }
        let places = FLEET
            .into_iter()
            .flat_map(|(mode, count)| (1..=count).map(move |number| (mode, number)));
        let (on_hub, on_managed) = (&hub, &managed);
        let addons = places.map(|(mode, number)| async move {
            let addon = Addon::spawn(mode, number, on_hub, on_managed).await?;
            addon.ready().await
        });
        let addons = try_join_all(addons).await?;
        Ok(Self {
            addons,
            hub,
            managed,
            next: AtomicUsize::new(0),
        })
    }

    /// A place of this mode; those of one mode take turns.
    pub fn place(&self, mode: Mode) -> Result<Place<'_>> {
        let all: Vec<&Addon> = self
            .addons
            .iter()
            .filter(|addon| addon.mode == mode)
            .collect();
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let addon = all.get(turn % all.len().max(1));
        Ok(self.at(addon.with_context(|| format!("no add-on is {mode:?}"))?))
    }

    /// The place of an add-on.
    pub fn at<'a>(&'a self, addon: &'a Addon) -> Place<'a> {
        let hub = match addon.mode {
            Mode::OnHub => &self.managed,
            Mode::Default | Mode::Hosted | Mode::NoGatekeeper => &self.hub,
        };
        Place {
            hub,
            managed: &self.managed,
            addon,
            namespace: &addon.namespace,
            hub_namespace: &addon.hub_namespace,
        }
    }

    /// The objects of a scenario on both clusters, and what the add-ons have logged of them.
    pub async fn dump(&self, scenario: &str) -> String {
        let key = key(scenario);
        let hub = dump(&self.hub, &key).await;
        let managed = dump(&self.managed, &key).await;
        let mut text = format!("--- hub:\n{hub}--- managed:\n{managed}");
        for addon in &self.addons {
            let log = addon.log();
            let lines: Vec<&str> = log.lines().filter(|line| line.contains(&key)).collect();
            let last = lines[lines.len().saturating_sub(40)..].join("\n");
            if !last.is_empty() {
                let place = &addon.namespace;
                text = format!("{text}--- the log of {place} of {key}* ends:\n{last}\n");
            }
        }
        text
    }
}

async fn plane(name: &'static str) -> Result<Plane> {
    let plane = Plane::start(PlaneOptions {
        name,
        audit: true,
        ..PlaneOptions::default()
    })
    .await?;
    plane.install_crds().await?;
    Ok(plane)
}

/// Applies a CRD of `tests/scenarios/tests/agents/addon/crds`, and waits until its kind is served.
pub async fn install(objects: &Objects, file: &str) -> Result<()> {
    let path = workspace()
        .join("tests/scenarios/tests/agents/addon/crds")
        .join(file);
    let text = std::fs::read_to_string(&path);
    let text = text.with_context(|| format!("reading {}", path.display()))?;
    for crd in objects.apply(&text).await? {
        let text = |path: &str| crd.data.pointer(path).and_then(|value| value.as_str());
        let group = text("/spec/group").unwrap_or_default();
        let versions = crd.data["spec"]["versions"].as_array();
        let mut served = versions.into_iter().flatten();
        let version = served.find(|version| version["served"] == true);
        let version = version.and_then(|version| version["name"].as_str());
        let version = version.unwrap_or_default();
        let kind = text("/spec/names/kind").unwrap_or_default();
        let api_version = format!("{group}/{version}");
        within(format!("{kind} is served"), || {
            objects.list(&api_version, kind, None)
        })
        .await?;
    }
    Ok(())
}

async fn dump(objects: &Objects, key: &str) -> String {
    let policy_api = "policy.open-cluster-management.io/v1";
    let mut text = String::new();
    for (api_version, kind, name) in [
        (policy_api, "Policy", "/metadata/name"),
        (policy_api, "ConfigurationPolicy", "/metadata/name"),
        ("v1", "Event", "/involvedObject/name"),
    ] {
        let value_starts_with = |object: &Object| {
            let value = serde_json::to_value(object).unwrap_or_default();
            let name = value.pointer(name).and_then(|name| name.as_str());
            name.is_some_and(|name| name.starts_with(key))
        };
        match objects.list(api_version, kind, None).await {
            Ok(items) => text.extend(
                items
                    .iter()
                    .filter(|item| value_starts_with(item))
                    .map(rendered),
            ),
            Err(error) => text = format!("{text}# {error:#}\n"),
        }
    }
    text
}

impl Addon {
    async fn spawn(mode: Mode, number: usize, hub: &Plane, managed: &Plane) -> Result<Self> {
        let (namespace, hub_namespace) = match mode {
            Mode::Default => (format!("managed-{number}"), format!("managed-{number}")),
            Mode::Hosted => (
                format!("other-namespace-{number}"),
                format!("other-namespace-on-hub-{number}"),
            ),
            Mode::NoGatekeeper => ("no-gatekeeper".to_owned(), "no-gatekeeper".to_owned()),
            Mode::OnHub => ("local-cluster".to_owned(), "local-cluster".to_owned()),
        };
        make_namespace(managed, &namespace).await?;
        let mut flags = vec![
            format!("--cluster-namespace={namespace}"),
            format!(
                "--managed-cluster-configfile={}",
                managed.kubeconfig().display()
            ),
        ];
        let of_hub = format!("--hub-cluster-configfile={}", hub.kubeconfig().display());
        let no_gatekeeper = || "--disable-gatekeeper-sync=true".to_owned();
        match mode {
            Mode::Default => flags.push(of_hub),
            Mode::Hosted => flags.extend([
                of_hub,
                format!("--cluster-namespace-on-hub={hub_namespace}"),
                no_gatekeeper(),
            ]),
            Mode::NoGatekeeper => flags.extend([of_hub, no_gatekeeper()]),
            Mode::OnHub => flags.push("--on-multicluster-hub".to_owned()),
        }
        if mode != Mode::OnHub {
            make_namespace(hub, &hub_namespace).await?;
        }
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut addon = Self::start(&flags, &[])?;
        addon.mode = mode;
        addon.namespace = namespace;
        addon.hub_namespace = hub_namespace;
        Ok(addon)
    }

    /// Starts one with these flags and this environment, and pages of its own; it need not be ready when this returns.
    pub fn start(flags: &[&str], env: &[(&str, &str)]) -> Result<Self> {
        let (health, metrics) = (free_port()?, free_port()?);
        let of_health = format!("--health-probe-bind-address=127.0.0.1:{health}");
        let of_metrics = format!("--metrics-bind-address=127.0.0.1:{metrics}");
        let common = [
            "--leader-elect=false",
            // The scenarios of a whole suite play at once: what a cluster does in an hour.
            "--client-max-qps=300",
            "--client-burst=600",
            &of_health,
            &of_metrics,
        ];
        let env = [env, &[("OSDK_FORCE_RUN_MODE", "local")]].concat();
        Ok(Self {
            component: Component::spawn(ADDON, &[&common, flags].concat(), &env)?,
            mode: Mode::Default,
            health: format!("http://127.0.0.1:{health}"),
            metrics: format!("http://127.0.0.1:{metrics}/metrics"),
            namespace: String::new(),
            hub_namespace: String::new(),
        })
    }

    /// Waits until it is ready.
    pub async fn ready(mut self) -> Result<Self> {
        let url = format!("{}/readyz", self.health);
        self.component.healthy(&url, READY).await?;
        Ok(self)
    }

    /// The process.
    pub fn component(&mut self) -> &mut Component {
        &mut self.component
    }

    /// Everything it has logged.
    pub fn log(&self) -> String {
        self.component.log()
    }

    /// The code and body of a page beside the probes, such as `healthz`.
    pub async fn probe(&self, page: &str) -> Result<(u16, String)> {
        http_get(&format!("{}/{page}", self.health)).await
    }

    /// The lines of a metric whose labels contain each of `labels` (`name="x"`), with their values.
    pub async fn metric(&self, name: &str, labels: &[&str]) -> Result<Vec<(String, f64)>> {
        series(&self.metrics, name, labels).await
    }

    /// The whole metrics page.
    pub async fn metrics(&self) -> Result<String> {
        let (code, page) = http_get(&self.metrics).await?;
        ensure!(code == 200, "the metrics page answers {code}: {page}");
        Ok(page)
    }
}

/// Creates a namespace.
pub async fn make_namespace(objects: &Objects, name: &str) -> Result<()> {
    let text = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    objects.apply(&text.to_string()).await?;
    Ok(())
}

/// Where an add-on works.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The cluster that policies come from.
    pub hub: &'a Plane,
    /// The cluster that they are for.
    pub managed: &'a Plane,
    /// Who works there.
    pub addon: &'a Addon,
    /// Where the policies are on the managed cluster.
    pub namespace: &'a str,
    /// Where they are on the hub.
    pub hub_namespace: &'a str,
}

impl Place<'_> {
    /// Whether the policies are copied from one cluster to another.
    pub fn copies(&self) -> bool {
        self.addon.mode != Mode::OnHub
    }
}

/// Asks again and again for a while; every answer must be `Ok`.
pub async fn holds<F, Fut>(what: &str, check: F) -> Result<()>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<()>>,
{
    steadily_for(STEADY, what, check).await
}
