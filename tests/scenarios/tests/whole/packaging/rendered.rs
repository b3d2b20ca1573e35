//! What kustomize and Helm make of the manifests.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use reeve_testkit::{Object, Packager, hardening, parse};
use serde_json::{Value, json};

pub(crate) const CHART: &str = "deploy/chart/reeve";

/// The images that clusteradm installs.
pub(crate) const UPSTREAM: &str = "image.registry=quay.io/open-cluster-management,image.tag=latest";

/// Every switch of the chart on.
pub(crate) const EVERYTHING: &str = "image.one=registry.example.com/reeve:1,webhooks.enabled=true,networkPolicies.enabled=true,\
    admissionPolicies.enabled=true,metrics.serviceMonitor.enabled=true,standaloneHubTemplating.enabled=true,agents.networkPolicies=false,\
    imagePullSecrets[0].name=pull,nodeSelector.disk=fast,tolerations[0].operator=Exists,\
    propagator.extraArgs[0]=--log-level=2,propagator.resources.limits.memory=1Gi";

/// Kind, namespace and name.
pub(crate) type Key = (String, String, String);

/// A folder of kustomize.
pub(crate) async fn kustomized(folder: &'static str) -> Result<Vec<Object>> {
    rendered(Packager::Kustomize, vec!["build".into(), folder.into()]).await
}

/// The chart in a namespace, with values as `--set` takes them.
pub(crate) async fn charted(namespace: &str, values: &str) -> Result<Vec<Object>> {
    let args = ["template", "reeve", CHART, "--namespace", namespace];
    let mut args: Vec<String> = args.map(str::to_owned).into();
    if !values.is_empty() {
        args.extend(["--set".to_owned(), values.to_owned()]);
    }
    rendered(Packager::Helm, args).await
}

pub(crate) async fn rendered(packager: Packager, args: Vec<String>) -> Result<Vec<Object>> {
    let text = tokio::task::spawn_blocking(move || packager.run(&args)).await;
    parse(&text.context("rendering")??)
}

pub(crate) fn by_key(objects: &[Object]) -> Result<BTreeMap<Key, Value>> {
    let mut all = BTreeMap::new();
    for object in objects {
        let kind = object.types.as_ref().context("an object without a kind")?;
        let metadata = object.metadata.clone();
        let key = (
            kind.kind.clone(),
            metadata.namespace.unwrap_or_default(),
            metadata.name.unwrap_or_default(),
        );
        let value = serde_json::to_value(object).context("an object that is no JSON")?;
        ensure!(
            all.insert(key.clone(), value).is_none(),
            "{key:?} is there twice"
        );
    }
    Ok(all)
}

fn found<'a>(objects: &'a BTreeMap<Key, Value>, kind: &str, name: &str) -> Result<&'a Value> {
    let mut all = objects.iter();
    let found = all.find(|((of, _, named), _)| of == kind && named == name);
    let (_, object) = found.with_context(|| format!("there is no {kind} {name}"))?;
    Ok(object)
}

/// Exactly these 19 are rendered.
pub(crate) async fn base_equals_clusteradm() -> Result<()> {
    let objects = by_key(&kustomized("deploy/hub").await?)?;
    let ns = "open-cluster-management";
    let crd = "CustomResourceDefinition";
    let want = [
        ("ClusterManagementAddOn", "", "config-policy-controller"),
        ("ClusterManagementAddOn", "", "governance-policy-framework"),
        ("ClusterRole", "", "governance-policy-propagator"),
        ("ClusterRole", "", "policy-addon-ctrl-manager-role"),
        (
            "ClusterRoleBinding",
            "",
            "governance-policy-propagator-global",
        ),
        (
            "ClusterRoleBinding",
            "",
            "policy-addon-ctrl-manager-rolebinding",
        ),
        (
            crd,
            "",
            "placementbindings.policy.open-cluster-management.io",
        ),
        (crd, "", "placementrules.apps.open-cluster-management.io"),
        (crd, "", "policies.policy.open-cluster-management.io"),
        (
            crd,
            "",
            "policyautomations.policy.open-cluster-management.io",
        ),
        (crd, "", "policysets.policy.open-cluster-management.io"),
        ("Deployment", ns, "governance-policy-addon-controller"),
        ("Deployment", ns, "governance-policy-propagator"),
        (
            "Role",
            ns,
            "governance-policy-propagator-leader-election-role",
        ),
        ("Role", ns, "policy-addon-ctrl-leader-election-role"),
        (
            "RoleBinding",
            ns,
            "governance-policy-propagator-leader-election-rolebinding",
        ),
        (
            "RoleBinding",
            ns,
            "policy-addon-ctrl-leader-election-rolebinding",
        ),
        ("ServiceAccount", ns, "governance-policy-propagator"),
        ("ServiceAccount", ns, "policy-addon-ctrl-controller-manager"),
    ];
    let want: Vec<Key> = want
        .map(|(kind, namespace, name)| (kind.to_owned(), namespace.to_owned(), name.to_owned()))
        .into();
    let have: Vec<Key> = objects.keys().cloned().collect();
    ensure!(have == want, "the base has {have:#?}");
    // The label of objects 1 to 5, and of no other.
    for ((kind, _, name), object) in &objects {
        let labelled = object["metadata"]["labels"]["app"] == "governance-policy-addon-controller";
        let wanted = name.starts_with("policy-addon-ctrl") || name.ends_with("addon-controller");
        ensure!(labelled == wanted, "{kind} {name}: {}", object["metadata"]);
    }
    for addon in ["config-policy-controller", "governance-policy-framework"] {
        let addon = found(&objects, "ClusterManagementAddOn", addon)?;
        let annotations = json!({ "addon.open-cluster-management.io/lifecycle": "addon-manager" });
        ensure!(addon["metadata"]["annotations"] == annotations, "{addon}");
        let configs = json!([
            { "group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs" }
        ]);
        ensure!(addon["spec"]["supportedConfigs"] == configs, "{addon}");
        ensure!(addon["spec"].get("installStrategy").is_none(), "{addon}");
    }
    Ok(())
}

/// The Deployments of clusteradm, and what hardens them: see [`all_containers_are_hardened`].
pub(crate) async fn deployments_are_hardened_ones_of_clusteradm() -> Result<()> {
    let objects = by_key(&kustomized("deploy/hub").await?)?;
    let probe =
        |path: &str| json!({ "httpGet": { "path": path, "port": 8081 }, "timeoutSeconds": 5 });
    let mut startup = probe("/healthz");
    startup["failureThreshold"] = json!(30);
    let container_security = json!({
        "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] }, "privileged": false,
        "readOnlyRootFilesystem": true,
    });
    let pod_security =
        json!({ "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } });
    let image = |name: &str| format!("quay.io/open-cluster-management/{name}:latest");
    let pod_name = json!({ "name": "POD_NAME", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } });

    let name = "governance-policy-addon-controller";
    let deployment = found(&objects, "Deployment", name)?;
    let labels = json!({ "app": name, "control-plane": "controller-manager" });
    let want = json!({
        "replicas": 1,
        "selector": { "matchLabels": labels },
        "template": {
            "metadata": {
                "annotations": { "kubectl.kubernetes.io/default-container": "manager" }, "labels": labels,
            },
            "spec": {
                "containers": [{
                    "name": "manager", "image": image(name), "imagePullPolicy": "IfNotPresent",
                    "command": [name], "args": ["controller", "--health-probe-bind-address=:8081"],
                    "env": [
                        pod_name,
                        { "name": "CONFIG_POLICY_CONTROLLER_IMAGE", "value": image("config-policy-controller") },
                        {
                            "name": "GOVERNANCE_POLICY_FRAMEWORK_ADDON_IMAGE",
                            "value": image("governance-policy-framework-addon"),
                        },
                    ],
                    "resources": {
                        "limits": { "cpu": "500m", "memory": "128Mi" }, "requests": { "cpu": "10m", "memory": "64Mi" },
                    },
                    "livenessProbe": probe("/healthz"), "readinessProbe": probe("/readyz"),
                    "startupProbe": startup, "securityContext": container_security,
                }],
                "securityContext": pod_security,
                "serviceAccountName": "policy-addon-ctrl-controller-manager",
                "terminationGracePeriodSeconds": 10,
            },
        },
    });
    ensure!(deployment["spec"] == want, "{:#}", deployment["spec"]);

    let name = "governance-policy-propagator";
    let deployment = found(&objects, "Deployment", name)?;
    let want = json!({
        "replicas": 1,
        "selector": { "matchLabels": { "name": name } },
        "template": {
            "metadata": {
                "annotations": { "kubectl.kubernetes.io/default-container": name }, "labels": { "name": name },
            },
            "spec": {
                "containers": [{
                    "name": name, "image": image(name), "imagePullPolicy": "Always", "command": [name],
                    "args": [
                        "--health-probe-bind-address=:8081", "--metrics-bind-address=:8383", "--leader-elect",
                        "--enable-webhooks=false",
                    ],
                    "env": [
                        { "name": "WATCH_NAMESPACE", "value": "" }, pod_name,
                        { "name": "OPERATOR_NAME", "value": name },
                    ],
                    "ports": [{ "containerPort": 8383, "name": "http", "protocol": "TCP" }],
                    "resources": {
                        "limits": { "cpu": "2", "memory": "1Gi" }, "requests": { "cpu": "50m", "memory": "64Mi" },
                    },
                    "livenessProbe": probe("/healthz"), "readinessProbe": probe("/readyz"),
                    "startupProbe": startup, "securityContext": container_security,
                }],
                "securityContext": pod_security,
                "serviceAccountName": name,
            },
        },
    });
    ensure!(deployment["spec"] == want, "{:#}", deployment["spec"]);
    Ok(())
}

/// Whatever is switched on, no container is without a limit, a probe, or a restriction.
pub(crate) async fn all_containers_are_hardened() -> Result<()> {
    let rendered = [
        ("deploy/hub", kustomized("deploy/hub").await?),
        (
            "deploy/overlays/one-image",
            kustomized("deploy/overlays/one-image").await?,
        ),
        ("the chart", charted("a", UPSTREAM).await?),
        ("the chart with everything", charted("a", EVERYTHING).await?),
    ];
    for (by, objects) in rendered {
        let objects: Vec<Value> = by_key(&objects)?.into_values().collect();
        let report = hardening::check(&objects);
        ensure!(report.containers == 2, "{by}: {report:?}");
        ensure!(
            report.faults.is_empty(),
            "{by}:\n{}",
            report.faults.join("\n")
        );
    }
    Ok(())
}

/// Object for object, but for what Helm itself wants on them.
pub(crate) async fn chart_renders_same_objects_as_base() -> Result<()> {
    let base = by_key(&kustomized("deploy/hub").await?)?;
    let mut chart = by_key(&charted("open-cluster-management", UPSTREAM).await?)?;
    for (key, object) in &mut chart {
        let metadata = object["metadata"].as_object_mut();
        let metadata = metadata.with_context(|| format!("{key:?} has no metadata"))?;
        for part in ["labels", "annotations"] {
            let Some(entries) = metadata.get_mut(part).and_then(Value::as_object_mut) else {
                continue;
            };
            entries.retain(|name, _| {
                !name.starts_with("helm.sh/") && !name.starts_with("app.kubernetes.io/")
            });
            if entries.is_empty() {
                metadata.remove(part);
            }
        }
    }
    ensure!(
        base.keys().eq(chart.keys()),
        "the chart has {:#?}",
        chart.keys()
    );
    for (key, object) in &base {
        let other = &chart[key];
        ensure!(object == other, "{key:?}: {object:#} and {other:#}");
    }
    Ok(())
}

pub(crate) async fn chart_rejects_unknown_values() -> Result<()> {
    let lint = ["lint", "--strict", CHART, "--set", EVERYTHING].map(str::to_owned);
    tokio::task::spawn_blocking(move || Packager::Helm.run(&lint))
        .await
        .context("linting")??;
    for (values, about) in [
        ("proagator.replicas=2", "proagator"),
        ("propagator.replicas=two", "/propagator/replicas"),
        (
            "propagator.leaderElect=false,propagator.replicas=2",
            "/propagator/replicas",
        ),
        ("", "no image of governance-policy-"),
        (
            "image.registry=registry.example.com",
            "no image of governance-policy-",
        ),
        ("image.tag=v1", "no image of governance-policy-"),
        ("image.registry=registry.example.com/", "/image/registry"),
        ("propagator.imagePullPolicy=Sometimes", "imagePullPolicy"),
        ("metrics.serviceMonitor.interval=often", "interval"),
    ] {
        let refused = charted("a", values).await.err();
        let refused = refused
            .map(|error| format!("{error:#}"))
            .unwrap_or_default();
        ensure!(
            refused.contains(about),
            "{values} was answered by {refused:?}"
        );
    }
    let one = charted(
        "a",
        "image.one=r.example/reeve:1,propagator.leaderElect=false",
    )
    .await?;
    let one = by_key(&one)?;
    let propagator = found(&one, "Deployment", "governance-policy-propagator")?;
    let args = &propagator["spec"]["template"]["spec"]["containers"][0]["args"];
    ensure!(args[2] == "--leader-elect=false", "{args}");
    Ok(())
}

/// Every text in the Deployments that is an image.
pub(crate) fn images(objects: &BTreeMap<Key, Value>) -> Result<Vec<String>> {
    let mut images = Vec::new();
    for name in [
        "governance-policy-addon-controller",
        "governance-policy-propagator",
    ] {
        let deployment = found(objects, "Deployment", name)?;
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let variables = container["env"].as_array().into_iter().flatten();
        let variables = variables
            .filter(|variable| {
                let name = variable["name"].as_str();
                name.is_some_and(|name| name.ends_with("_IMAGE"))
            })
            .map(|variable| &variable["value"]);
        let all = std::iter::once(&container["image"]).chain(variables);
        images.extend(all.map(|image| image.as_str().unwrap_or_default().to_owned()));
    }
    Ok(images)
}

pub(crate) async fn image_is_set_on_all_components() -> Result<()> {
    let overlay = images(&by_key(&kustomized("deploy/overlays/one-image").await?)?)?;
    ensure!(
        overlay == ["registry.example.com/reeve:0.1.0"; 4],
        "the overlay has {overlay:?}"
    );
    let image = "registry.example.com/reeve:7";
    let chart = charted("a", &format!("image.one={image}")).await?;
    let chart = images(&by_key(&chart)?)?;
    ensure!(chart == [image; 4], "the chart has {chart:?}");
    let own = "image.registry=r.example/p,image.tag=v3,agents.frameworkAddon.image=other:1";
    let chart = images(&by_key(&charted("a", own).await?)?)?;
    let want = [
        "r.example/p/governance-policy-addon-controller:v3",
        "r.example/p/config-policy-controller:v3",
        "other:1",
        "r.example/p/governance-policy-propagator:v3",
    ];
    ensure!(chart == want, "the chart has {chart:?}");
    Ok(())
}

pub(crate) async fn namespace_is_set_on_all_objects() -> Result<()> {
    let overlay = kustomized("tests/scenarios/packages/elsewhere").await?;
    let chart = charted("elsewhere", EVERYTHING).await?;
    for (by, objects) in [("kustomize", overlay), ("Helm", chart)] {
        for (key, object) in by_key(&objects)? {
            let text = object.to_string();
            let left = text.contains("\"open-cluster-management\"")
                || text.contains("open-cluster-management/")
                || text.contains(".open-cluster-management.svc");
            // Names of groups, images and annotations have it too.
            let left = left && !matches!(key.0.as_str(), "Deployment" | "ClusterManagementAddOn");
            let crd = key.0 == "CustomResourceDefinition";
            ensure!(
                crd || !left,
                "{by} leaves {key:?} in part where it was: {text}"
            );
            ensure!(
                matches!(key.1.as_str(), "" | "elsewhere"),
                "{by} leaves {key:?} where it was"
            );
        }
    }
    Ok(())
}

/// Upstream's controller may sign for anybody.
pub(crate) async fn only_client_signer_is_allowed() -> Result<()> {
    let objects = by_key(&kustomized("deploy/hub").await?)?;
    let role = found(&objects, "ClusterRole", "policy-addon-ctrl-manager-role")?;
    let rules = role["rules"].as_array().context("no rules")?;
    let signing: Vec<&Value> = rules
        .iter()
        .filter(|rule| rule["resources"] == json!(["signers"]))
        .collect();
    let want = json!({
        "apiGroups": ["certificates.k8s.io"], "resources": ["signers"],
        "resourceNames": ["kubernetes.io/kube-apiserver-client"], "verbs": ["approve"],
    });
    ensure!(signing == [&want], "{signing:?}");
    Ok(())
}
