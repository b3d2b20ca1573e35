//! A hub with the propagator and nothing else: scenarios play the placement controller and the addon.

use std::ops::Deref;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use reeve_testkit::{Component, Object, Objects, Plane, PlaneOptions, free_port, http_get};
use tokio::sync::{Mutex, OnceCell};

use crate::Site;
use crate::evaluator::{install_test_crds, key, rendered};

/// How long the propagator may take until it is ready.
const READY: Duration = Duration::from_mins(1);

/// A template function that the propagators of the scenarios refuse, by their flag.
pub const DENIED: &str = "sha512sum";

/// A control plane with the CRDs and the propagator. Its objects are reached through [`Objects`], to
/// which it derefs.
pub struct Hub {
    propagator: Propagator,
    plane: Plane,
}

impl Deref for Hub {
    type Target = Objects;

    fn deref(&self) -> &Objects {
        self.plane.objects()
    }
}

/// The kinds that a hub knows beside those of the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubKinds {
    /// Those of Open Cluster Management.
    Usual,
    /// The same without `PlacementRule`.
    NoRules,
    /// The usual ones, and those of automations: `AnsibleJob`, `DNS`.
    Jobs,
}

/// The hub that most scenarios share, and one that is started when a scenario asks for it.
pub struct Hubs {
    /// The shared one.
    pub hub: Hub,
    bare: OnceCell<Hub>,
}

impl Deref for Hubs {
    type Target = Hub;

    fn deref(&self) -> &Hub {
        &self.hub
    }
}

impl Hubs {
    /// Starts the shared one.
    pub async fn start() -> Result<Self> {
        Ok(Self {
            hub: Hub::start("hub", HubKinds::Usual).await?,
            bare: OnceCell::new(),
        })
    }

    /// A hub that knows no `PlacementRule`, and whose propagator may be stopped and started.
    pub async fn bare(&self) -> Result<&Hub> {
        self.bare
            .get_or_try_init(|| Hub::start("bare-hub", HubKinds::NoRules))
            .await
    }

    /// What there is of a scenario, on both.
    pub async fn dump(&self, scenario: &str) -> String {
        let bare = match self.bare.get() {
            Some(hub) => hub.dump(scenario).await,
            None => String::new(),
        };
        self.hub.dump(scenario).await + &bare
    }
}

impl Hub {
    /// Starts a plane and the propagator; both are ready when this returns.
    pub async fn start(name: &'static str, kinds: HubKinds) -> Result<Self> {
        let plane = Plane::start(PlaneOptions {
            name,
            audit: true,
            ..PlaneOptions::default()
        })
        .await?;
        match kinds {
            HubKinds::NoRules => plane.install_crds_without_rules().await?,
            HubKinds::Usual | HubKinds::Jobs => plane.install_crds().await?,
        };
        if kinds == HubKinds::Jobs {
            install_test_crds(&plane).await?;
        }
        let propagator = Propagator::start(&plane).await?;
        Ok(Self { propagator, plane })
    }

    /// The control plane.
    pub fn plane(&self) -> &Plane {
        &self.plane
    }

    /// The propagator.
    pub fn propagator(&self) -> &Propagator {
        &self.propagator
    }

    /// A namespace of this name, and the clusters `<name>-<cluster>` with their namespaces.
    pub async fn site(&self, name: &str, clusters: &[&str]) -> Result<Site<'_>> {
        Site::open(self, name, clusters).await
    }

    /// The objects of a scenario, and what the propagator has logged of them.
    pub async fn dump(&self, scenario: &str) -> String {
        let key = key(scenario);
        let mut text = String::new();
        for (api_version, kind) in [
            ("policy.open-cluster-management.io/v1", "Policy"),
            ("policy.open-cluster-management.io/v1", "PlacementBinding"),
            ("policy.open-cluster-management.io/v1beta1", "PolicySet"),
            (
                "policy.open-cluster-management.io/v1beta1",
                "PolicyAutomation",
            ),
            ("v1", "Event"),
        ] {
            match self.list(api_version, kind, None).await {
                Ok(items) => text.extend(
                    items
                        .iter()
                        .filter(|item| belongs(item, &key))
                        .map(rendered),
                ),
                Err(error) => text = format!("{text}# {error:#}\n"),
            }
        }
        let log = self.propagator.log().await;
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(&key)).collect();
        let last = lines[lines.len().saturating_sub(40)..].join("\n");
        format!("{text}--- the propagator's log of {key}* ends:\n{last}\n")
    }
}

/// Whether an object is in the namespace of a scenario or of one of its clusters.
fn belongs(object: &Object, key: &str) -> bool {
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    format!("{namespace}-").starts_with(key)
}

/// A running propagator.
pub struct Propagator {
    component: Mutex<Component>,
    turn: Mutex<()>,
    health: String,
    metrics: String,
}

impl Propagator {
    async fn start(plane: &Plane) -> Result<Self> {
        let (health, metrics) = (free_port()?, free_port()?);
        let flags = [
            format!("--health-probe-bind-address=127.0.0.1:{health}"),
            format!("--metrics-bind-address=127.0.0.1:{metrics}"),
            format!("--template-function-denylist={DENIED}"),
            "--leader-elect=false".to_owned(),
            "--enable-webhooks=false".to_owned(),
        ];
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let env = [
            plane.kubeconfig_env(),
            ("WATCH_NAMESPACE", ""),
            // The scenarios of a whole suite play at once.
            ("CONTROLLER_CONFIG_QPS", "500"),
            ("CONTROLLER_CONFIG_BURST", "1000"),
        ];
        let component = Component::spawn("governance-policy-propagator", &flags, &env)?;
        let propagator = Self {
            component: Mutex::new(component),
            turn: Mutex::new(()),
            health: format!("http://127.0.0.1:{health}/readyz"),
            metrics: format!("http://127.0.0.1:{metrics}/metrics"),
        };
        propagator.ready().await?;
        Ok(propagator)
    }

    async fn ready(&self) -> Result<()> {
        let mut component = self.component.lock().await;
        component.healthy(&self.health, READY).await
    }

    /// Ends it, as a Pod's deletion would, does something, and starts it again; it is ready when this
    /// returns. Scenarios take turns at this.
    pub async fn while_away(&self, what: impl Future<Output = Result<()>>) -> Result<()> {
        let _turn = self.turn.lock().await;
        self.component.lock().await.stop().await?;
        let outcome = what.await;
        self.component.lock().await.restart()?;
        self.ready().await?;
        outcome
    }

    /// Everything it has logged.
    pub async fn log(&self) -> String {
        self.component.lock().await.log()
    }

    /// The value of a metric without labels.
    pub async fn metric(&self, name: &str) -> Result<f64> {
        let (code, page) = http_get(&self.metrics).await?;
        ensure!(code == 200, "the metrics page answers {code}: {page}");
        let value = page.lines().find_map(|line| {
            let rest = line.strip_prefix(name)?;
            rest.strip_prefix(' ')
        });
        let Some(value) = value else {
            bail!("there is no metric {name}");
        };
        value.parse().with_context(|| format!("{name} is {value}"))
    }
}
