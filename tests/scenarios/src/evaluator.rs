//! A managed cluster with the `ConfigurationPolicy` controller and nothing else.

use std::ops::Deref;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use reeve_testkit::{Component, Object, Objects, Plane, PlaneOptions, SOON, free_port, http_get};
use serde_json::json;

use crate::wait::within;

/// Where the policies of an [`Evaluator`] live.
pub(crate) const MANAGED: &str = "managed";

/// How long a policy must not be evaluated to count as settled: longer than the backoff.
const QUIET: Duration = Duration::from_secs(3);

/// How long no operator policy must be reconciled to count as settled.
const NO_RECONCILE: Duration = Duration::from_secs(10);

/// A control plane with the CRDs and a controller for the namespace `managed`. Its objects are reached
/// through [`Objects`], to which it derefs.
pub struct Evaluator {
    controller: Controller,
    plane: Plane,
}

impl Deref for Evaluator {
    type Target = Objects;

    fn deref(&self) -> &Objects {
        self.plane.objects()
    }
}

impl Evaluator {
    /// Starts the plane and the controller; both are ready when this returns.
    pub async fn start() -> Result<Self> {
        let plane = with_crds("managed").await?;
        install_test_crds(&plane).await?;
        namespace(&plane, MANAGED).await?;
        namespace(&plane, "open-cluster-management-policies").await?;
        let controller = Controller::start(&plane, MANAGED, &[]).await?;
        Ok(Self { controller, plane })
    }

    /// The control plane.
    pub fn plane(&self) -> &Plane {
        &self.plane
    }

    /// The controller.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// How often the policies of a name have been evaluated. A status that would not change is not
    /// written again, so its time is no proof.
    pub async fn evaluations(&self, policy: &str) -> Result<f64> {
        let label = format!("name=\"{policy}\"");
        let series = self
            .controller
            .metric("config_policy_evaluation_total", &[&label])
            .await?;
        Ok(series.iter().map(|(_, value)| value).sum())
    }

    /// Waits until a policy has not been evaluated for a while: what it has done itself makes it look
    /// once more. Returns how often it has been evaluated.
    pub async fn settled(&self, policy: &str) -> Result<f64> {
        let mut last = (self.evaluations(policy).await?, Instant::now());
        let end = Instant::now() + SOON;
        while last.1.elapsed() < QUIET {
            ensure!(
                Instant::now() < end,
                "{policy} is evaluated again and again: {} times",
                last.0
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
            let count = self.evaluations(policy).await?;
            if count.to_bits() != last.0.to_bits() {
                last = (count, Instant::now());
            }
        }
        Ok(last.0)
    }

    /// Creates namespaces, and waits until Pods can be made in them.
    pub async fn namespaces(&self, names: &[&str]) -> Result<()> {
        for name in names {
            namespace(self, name).await?;
        }
        Ok(())
    }

    /// The policies of a scenario, their events, and what the controller has logged of them.
    pub async fn dump(&self, scenario: &str) -> String {
        let key = key(scenario);
        let objects = dump(self, &key).await;
        let log = self.controller.log();
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(&key)).collect();
        let last = lines[lines.len().saturating_sub(60)..].join("\n");
        format!("{objects}--- the controller's log of {key}* ends:\n{last}\n")
    }
}

/// Two control planes with the CRDs: a managed cluster, and another one, which is a hub or managed too.
/// Scenarios start their own controllers, each for a namespace of its own.
pub struct Pair {
    /// The managed cluster.
    pub managed: Plane,
    /// The other one.
    pub other: Plane,
}

impl Pair {
    /// Starts both planes.
    pub async fn start() -> Result<Self> {
        let (managed, other) = futures::try_join!(with_crds("managed"), with_crds("other"))?;
        Ok(Self { managed, other })
    }

    /// The policies of a scenario and their events, on both.
    pub async fn dump(&self, scenario: &str) -> String {
        let key = key(scenario);
        let (managed, other) = (
            dump(&self.managed, &key).await,
            dump(&self.other, &key).await,
        );
        format!("--- managed:\n{managed}--- other:\n{other}")
    }
}

async fn with_crds(name: &'static str) -> Result<Plane> {
    let plane = Plane::start(PlaneOptions {
        name,
        ..PlaneOptions::default()
    })
    .await?;
    plane.install_crds().await?;
    Ok(plane)
}

/// What the names of a scenario's policies begin with: `case20-` for `case20_…`, `rough-edge-7-` for
/// `cfg_7_…`.
pub(crate) fn key(scenario: &str) -> String {
    let mut key = String::new();
    for part in scenario.split('_') {
        key.push_str(part);
        key.push('-');
        if part.contains(|letter: char| letter.is_ascii_digit()) {
            break;
        }
    }
    key
}

/// The policies whose names begin with a key, and the events about such.
async fn dump(objects: &Objects, key: &str) -> String {
    let mut text = String::new();
    for (api_version, kind, name) in [
        (
            "policy.open-cluster-management.io/v1",
            "ConfigurationPolicy",
            "/metadata/name",
        ),
        ("v1", "Event", "/involvedObject/name"),
    ] {
        match objects.list(api_version, kind, None).await {
            Ok(items) => text.extend(
                items
                    .iter()
                    .filter(|item| value_starts_with(item, name, key))
                    .map(rendered),
            ),
            Err(error) => text = format!("{text}# {error:#}\n"),
        }
    }
    text
}

fn value_starts_with(object: &Object, path: &str, key: &str) -> bool {
    let value = serde_json::to_value(object).unwrap_or_default();
    let name = value.pointer(path).and_then(|name| name.as_str());
    name.is_some_and(|name| name.starts_with(key))
}

pub(crate) fn rendered(object: &Object) -> String {
    match reeve_testkit::render(object) {
        Ok(text) => format!("---\n{}\n", text.trim_end()),
        Err(error) => format!("# {error:#}\n"),
    }
}

/// A running `config-policy-controller`.
pub struct Controller {
    component: Component,
    probes: String,
    metrics: String,
}

impl Controller {
    /// Starts one for a plane's namespace (empty: all) with more arguments, and waits until it is ready.
    pub async fn start(plane: &Plane, namespace: &str, args: &[&str]) -> Result<Self> {
        Self::start_as(plane.kubeconfig().to_path_buf(), namespace, args).await
    }

    /// Like [`Controller::start`], with the identity of a kubeconfig.
    pub async fn start_as(kubeconfig: PathBuf, namespace: &str, args: &[&str]) -> Result<Self> {
        let probes = format!("127.0.0.1:{}", free_port()?);
        let metrics = format!("127.0.0.1:{}", free_port()?);
        let of_probes = format!("--health-probe-bind-address={probes}");
        let of_metrics = format!("--metrics-bind-address={metrics}");
        let common = [
            "controller",
            "--leader-elect=false",
            "--evaluation-backoff=2",
            "--log-level=1",
            // The scenarios of a whole suite play at once: what a cluster does in an hour.
            "--client-max-qps=300",
            "--client-burst=600",
            &of_probes,
            &of_metrics,
        ];
        let kubeconfig = kubeconfig
            .to_str()
            .context("a kubeconfig's path is not UTF-8")?;
        let env = [
            ("KUBECONFIG", kubeconfig),
            ("WATCH_NAMESPACE", namespace),
            ("OSDK_FORCE_RUN_MODE", "local"),
        ];
        let args = [&common, args].concat();
        let component = Component::spawn("config-policy-controller", &args, &env)?;
        let mut controller = Self {
            component,
            probes,
            metrics,
        };
        controller.ready().await?;
        Ok(controller)
    }

    async fn ready(&mut self) -> Result<()> {
        let url = format!("http://{}/readyz", self.probes);
        self.component.healthy(&url, SOON).await
    }

    /// Kills it and starts it again.
    pub async fn restart(&mut self) -> Result<()> {
        self.component.kill().await;
        self.component.restart()?;
        self.ready().await
    }

    /// Ends it, as a Pod's deletion would.
    pub async fn stop(&mut self) -> Result<()> {
        self.component.stop().await?;
        Ok(())
    }

    /// Adds the end of its log to what went wrong.
    pub fn with_log<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.with_context(|| {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            let last = lines[lines.len().saturating_sub(60)..].join("\n");
            format!("--- the controller's log ends:\n{last}\n---")
        })
    }

    /// Everything it has logged.
    pub fn log(&self) -> String {
        self.component.log()
    }

    /// Where it serves its metrics.
    pub fn metrics_url(&self) -> String {
        format!("http://{}/metrics", self.metrics)
    }

    /// The code and body of a page beside the probes, such as `healthz`.
    pub async fn probe(&self, page: &str) -> Result<(u16, String)> {
        http_get(&format!("http://{}/{page}", self.probes)).await
    }

    /// The page of its metrics.
    pub async fn metrics(&self) -> Result<String> {
        metrics_page(&self.metrics_url()).await
    }

    /// The lines of a metric whose labels contain each of `labels` (`name="x"`), with their values.
    pub async fn metric(&self, name: &str, labels: &[&str]) -> Result<Vec<(String, f64)>> {
        series(&self.metrics_url(), name, labels).await
    }

    /// Waits until no operator policy was reconciled for ten seconds, after at least one was.
    pub async fn reconciles_no_operator_policy(&self) -> Result<()> {
        let reconciles = || async {
            let label = "controller=\"operator-policy-controller\"";
            let series = self
                .metric("controller_runtime_reconcile_total", &[label])
                .await?;
            anyhow::Ok(series.iter().map(|(_, value)| value).sum::<f64>())
        };
        within("no operator policy is reconciled", || async {
            let before = reconciles().await?;
            ensure!(before > 0.0, "none was reconciled yet");
            tokio::time::sleep(NO_RECONCILE).await;
            let after = reconciles().await?;
            ensure!(
                after.to_bits() == before.to_bits(),
                "{before} reconciles, then {after}"
            );
            Ok(())
        })
        .await
    }
}

async fn metrics_page(url: &str) -> Result<String> {
    let (code, page) = http_get(url).await?;
    ensure!(code == 200, "the metrics page answers {code}: {page}");
    Ok(page)
}

/// The lines of a metric on a page whose labels contain each of `labels`, with their values.
pub(crate) async fn series(url: &str, name: &str, labels: &[&str]) -> Result<Vec<(String, f64)>> {
    let page = metrics_page(url).await?;
    let series = page.lines().filter(|line| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(['{', ' ']))
            && labels.iter().all(|label| line.contains(label))
    });
    let values = series.map(|line| {
        let (series, value) = line.rsplit_once(' ').context("a series without a value")?;
        let value = value
            .parse()
            .with_context(|| format!("the value in {line}"))?;
        Ok((series.to_owned(), value))
    });
    values.collect()
}

/// Creates a namespace, and waits until Pods can be made in it.
pub async fn namespace(objects: &Objects, name: &str) -> Result<()> {
    let text = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    objects.apply(&text.to_string()).await?;
    within(
        format!("{name} has its default service account"),
        || async {
            match objects
                .get("v1", "ServiceAccount", Some(name), "default")
                .await?
            {
                Some(_) => Ok(()),
                None => bail!("not yet"),
            }
        },
    )
    .await
}

/// Applies the CRDs of the kinds that the cases are reported with, which the product does not know.
pub async fn install_test_crds(plane: &Plane) -> Result<()> {
    let folder = reeve_testkit::workspace().join("tests/scenarios/crds");
    let entries =
        std::fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut files = vec![reeve_testkit::fleet_crd("ansiblejobs")];
    for entry in entries {
        files.push(entry?.path());
    }
    for path in files {
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("reading {}", path.display()))?;
        serve(plane, &text).await?;
    }
    Ok(())
}

/// Applies CRDs, and waits until their kinds are served.
pub async fn serve(plane: &Plane, crds: &str) -> Result<()> {
    for crd in plane.apply(crds).await? {
        let spec = &crd.data["spec"];
        let text = |path: &str| {
            spec.pointer(path)
                .and_then(|value| value.as_str())
                .unwrap_or_default()
        };
        let api_version = format!("{}/{}", text("/group"), text("/versions/0/name"));
        let kind = text("/names/kind");
        within(format!("{kind} is served"), || async {
            plane.list(&api_version, kind, None).await?;
            Ok(())
        })
        .await?;
    }
    Ok(())
}
