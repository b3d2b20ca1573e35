//! Proves that the process kubelet runs Pods as a real one does, as far as its users rely on it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use reeve_testkit::{Kubelet, KubeletOptions, Mark, Object, Plane, PlaneOptions, SOON, eventually};
use serde_json::{Value, json};

const NAMESPACE: &str = "pods";

struct World {
    plane: Plane,
    kubelet: Kubelet,
    /// Where the audit log was before anything ran.
    beginning: Mark,
}

/// All stories share a plane and a kubelet, and run side by side.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pods_run_as_processes() -> Result<()> {
    let plane = Plane::start(PlaneOptions {
        name: "pods",
        audit: true,
        ..PlaneOptions::default()
    })
    .await?;
    plane.install_crds().await?;
    let kubelet = Kubelet::start(
        &plane,
        KubeletOptions {
            programs: [("sh".to_owned(), "/bin/sh".into())].into(),
            unpullable: ["absent".to_owned()].into(),
            ..KubeletOptions::default()
        },
    )
    .await?;
    plane.apply(&shared_objects()).await?;
    let beginning = plane.audit()?.mark()?;
    let world = World {
        plane,
        kubelet,
        beginning,
    };
    let outcome = tokio::try_join!(
        check("a component", component_is_deployed(&world)),
        check("a secret", changed_secret_reaches_pod(&world)),
        check(
            "a failure",
            failed_pod_is_restarted_until_it_succeeds(&world)
        ),
        check("an environment", container_matches_manifest(&world)),
        check(
            "a probe",
            container_with_failed_liveness_is_restarted(&world)
        ),
        check("an image", pod_waits_for_unpullable_image(&world)),
        check("a deletion", deleted_pod_ends_after_grace_period(&world)),
    );
    if let Err(error) = outcome {
        let dump = world.plane.dump(&[NAMESPACE]).await;
        bail!("{error:#}\n{dump}\n{}", world.kubelet.dump());
    }
    no_process_outlives_kubelet(world).await
}

async fn check(case: &str, outcome: impl Future<Output = Result<()>>) -> Result<()> {
    outcome
        .await
        .with_context(|| format!("the story of {case}"))
}

fn shared_objects() -> String {
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": "controller" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "kind": "ServiceAccount", "name": "controller", "namespace": NAMESPACE }],
    });
    format!(
        "{{apiVersion: v1, kind: Namespace, metadata: {{name: {NAMESPACE}}}}}\n---\n\
         {{apiVersion: v1, kind: ServiceAccount, metadata: {{name: controller, namespace: {NAMESPACE}}}}}\n---\n\
         {binding}"
    )
}

/// A Pod of one container that runs a script.
fn script(name: &str, script: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": NAMESPACE, "labels": { "app": "scripts" } },
        "spec": { "restartPolicy": "Never", "containers": [
            { "name": "main", "image": "registry.example/tools:1", "command": ["sh", "-c", script] }
        ] },
    })
}

async fn pod(world: &World, name: &str) -> Result<Object> {
    let pod = world.plane.get("v1", "Pod", Some(NAMESPACE), name).await?;
    pod.with_context(|| format!("the Pod {name} is absent"))
}

async fn status(world: &World, name: &str, pointer: &str, want: &Value) -> Result<Value> {
    eventually(format!("{pointer} of {name} is {want}"), SOON, || async {
        let status = pod(world, name).await?.data["status"].clone();
        let found = status.pointer(pointer);
        ensure!(found == Some(want), "it is {found:?} in {status}");
        Ok(status)
    })
    .await
}

async fn logged(world: &World, name: &str, text: &str) -> Result<()> {
    eventually(format!("{name} has logged {text}"), SOON, || async {
        let log = world.kubelet.logs(NAMESPACE, name);
        ensure!(log.contains(text), "the log is {log:?}");
        Ok(())
    })
    .await
}

fn lives(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

fn controller(name: &str, replicas: u32) -> Value {
    let probe = |path: &str| json!({ "httpGet": { "path": path, "port": 8081 } });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": {
                    "serviceAccountName": "controller",
                    "securityContext": { "runAsNonRoot": true },
                    "containers": [{
                        "name": "main", "image": "quay.io/example/config-policy-controller:latest",
                        "args": [
                            "controller", "--leader-elect=false", "--health-probe-bind-address=:8081",
                            "--metrics-bind-address=0.0.0.0:8383", "--hub-kubeconfig-path="
                        ],
                        "env": [
                            { "name": "WATCH_NAMESPACE", "value": NAMESPACE },
                            { "name": "OPERATOR_NAME", "value": name },
                            { "name": "POD_NAME", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }
                        ],
                        "securityContext": {
                            "readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false,
                            "capabilities": { "drop": ["ALL"] }
                        },
                        "startupProbe": probe("/readyz"), "readinessProbe": probe("/readyz"),
                        "livenessProbe": probe("/healthz"),
                    }],
                },
            },
        },
    })
}

async fn available(world: &World, name: &str, replicas: u32) -> Result<()> {
    let want = json!(replicas);
    eventually(format!("{name} is available"), SOON, || async {
        let found = world
            .plane
            .get("apps/v1", "Deployment", Some(NAMESPACE), name)
            .await?;
        let status = found.context("absent")?.data["status"].clone();
        ensure!(
            status["availableReplicas"] == want,
            "its status is {status}"
        );
        Ok(())
    })
    .await
}

/// Two replicas with the same ports; their token is their account's; a killed one comes again; they end with their
/// Deployment.
async fn component_is_deployed(world: &World) -> Result<()> {
    world
        .plane
        .apply(&controller("controller", 2).to_string())
        .await?;
    available(world, "controller", 2).await?;

    let pods = world.kubelet.pods(NAMESPACE, "controller-");
    let [first, second] = pods.as_slice() else {
        bail!("there are the Pods {pods:?}");
    };
    let (code, metrics) = world
        .kubelet
        .http_get(NAMESPACE, first, 8383, "/metrics")
        .await?;
    ensure!(
        code == 200 && metrics.contains("# TYPE"),
        "{code}: {metrics}"
    );

    let account = format!("system:serviceaccount:{NAMESPACE}:controller");
    eventually("the controller is known by its account", SOON, || async {
        let events = world.plane.audit()?.since(world.beginning)?;
        let own = events.iter().filter(|event| event.user == account);
        let watched = own.filter(|event| event.verb == "watch" && event.code == 200);
        ensure!(watched.count() > 0, "nothing was watched by {account}");
        Ok(())
    })
    .await?;

    let pid = world.kubelet.pid(NAMESPACE, first)?;
    world.kubelet.kill(NAMESPACE, first)?;
    let status = status(world, first, "/containerStatuses/0/restartCount", &json!(1)).await?;
    ensure!(
        status.pointer("/containerStatuses/0/lastState/terminated/exitCode") == Some(&json!(137)),
        "{status}"
    );
    let again = eventually("it runs again", SOON, || async {
        let again = world.kubelet.pid(NAMESPACE, first)?;
        ensure!(again != pid, "{pid} is still the process");
        Ok(again)
    })
    .await?;
    ensure!(lives(again) && !lives(pid));
    available(world, "controller", 2).await?;

    let processes = [again, world.kubelet.pid(NAMESPACE, second)?];
    world
        .plane
        .delete(&controller("controller", 2).to_string())
        .await?;
    for name in [first, second] {
        world
            .plane
            .gone("v1", "Pod", Some(NAMESPACE), name, SOON)
            .await?;
    }
    ensure!(
        processes.iter().all(|pid| !lives(*pid)),
        "{processes:?} still run"
    );
    Ok(())
}

/// The Pod waits for its Secret, and then sees every change of it as a whole.
async fn changed_secret_reaches_pod(world: &World) -> Result<()> {
    let mut reader = script(
        "reader",
        "while :; do cat /var/run/example/a /var/run/example/b; echo; sleep 0.1; done",
    );
    reader["spec"]["volumes"] = json!([{ "name": "v", "secret": { "secretName": "read" } }]);
    reader["spec"]["containers"][0]["volumeMounts"] =
        json!([{ "name": "v", "mountPath": "/var/run/example" }]);
    world.plane.apply(&reader.to_string()).await?;
    let waiting = "/containerStatuses/0/state/waiting";
    let reported = status(
        world,
        "reader",
        &format!("{waiting}/message"),
        &json!(format!("secret {NAMESPACE}/read not found")),
    )
    .await?;
    ensure!(reported["phase"] == "Pending", "{reported}");
    for version in ["1", "2"] {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "read", "namespace": NAMESPACE },
            "stringData": { "a": format!("a{version}"), "b": format!("b{version}") },
        });
        world.plane.apply(&secret.to_string()).await?;
        logged(world, "reader", &format!("a{version}b{version}")).await?;
    }
    Ok(())
}

async fn failed_pod_is_restarted_until_it_succeeds(world: &World) -> Result<()> {
    let mut hook = script(
        "hook",
        "test -e /run/scratch/tried && exit 0; touch /run/scratch/tried; exit 3",
    );
    hook["spec"]["restartPolicy"] = json!("OnFailure");
    hook["spec"]["volumes"] = json!([{ "name": "v", "emptyDir": {} }]);
    hook["spec"]["containers"][0]["volumeMounts"] =
        json!([{ "name": "v", "mountPath": "/run/scratch" }]);
    let mut version = script("version", "");
    version["spec"]["containers"][0]["command"] = json!(["/usr/local/bin/reeve", "--version"]);
    world
        .plane
        .apply(&format!(
            "{hook}\n---\n{version}\n---\n{}",
            script("broken", "exit 5")
        ))
        .await?;

    let reported = status(world, "hook", "/phase", &json!("Succeeded")).await?;
    let container = &reported["containerStatuses"][0];
    ensure!(container["restartCount"] == 1, "{reported}");
    ensure!(
        container["lastState"]["terminated"]["exitCode"] == 3,
        "{reported}"
    );
    ensure!(
        container["state"]["terminated"]["reason"] == "Completed",
        "{reported}"
    );

    status(world, "version", "/phase", &json!("Succeeded")).await?;
    logged(world, "version", "reeve ").await?;
    let reported = status(world, "broken", "/phase", &json!("Failed")).await?;
    ensure!(
        reported["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 5,
        "{reported}"
    );
    Ok(())
}

async fn container_matches_manifest(world: &World) -> Result<()> {
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "map", "namespace": NAMESPACE },
        "data": { "key": "mapped" },
    });
    let field = |path: &str| json!({ "fieldRef": { "fieldPath": path } });
    let mut pod = script(
        "environment",
        "echo \"$NAME $LABEL $ACCOUNT $KEY $(ONE) $$(ONE) $0\"; id -u; hostname; \
         cat /var/run/secrets/kubernetes.io/serviceaccount/namespace; echo; \
         touch /not-here /var/run/secrets/not-here && echo written; \
         tr '\\0' ' ' < /proc/self/environ | grep -c CARGO; grep NoNewPrivs /proc/self/status; exit 0",
    );
    pod["spec"]["serviceAccountName"] = json!("controller");
    let container = &mut pod["spec"]["containers"][0];
    container["args"] = json!(["$(TWO)"]);
    container["securityContext"] = json!({ "runAsNonRoot": true, "readOnlyRootFilesystem": true });
    container["env"] = json!([
        { "name": "NAME", "valueFrom": field("metadata.name") },
        { "name": "LABEL", "valueFrom": field("metadata.labels['app']") },
        { "name": "ACCOUNT", "valueFrom": field("spec.serviceAccountName") },
        { "name": "KEY", "valueFrom": { "configMapKeyRef": { "name": "map", "key": "key" } } },
        { "name": "NONE", "valueFrom": { "secretKeyRef": { "name": "no", "key": "no", "optional": true } } },
        { "name": "ONE", "value": "1" },
        { "name": "TWO", "value": "$(ONE)2" },
    ]);
    world.plane.apply(&format!("{map}\n---\n{pod}")).await?;
    status(world, "environment", "/phase", &json!("Succeeded")).await?;
    let log = world.kubelet.logs(NAMESPACE, "environment");
    let user = if tests_run_as_root() { "65532" } else { "0" };
    let reported = format!(
        "environment scripts controller mapped 1 $(ONE) 12\n{user}\nenvironment\n{NAMESPACE}\n"
    );
    // The shell sees `$(ONE)` only where it was escaped, and then finds no such command.
    let reported = reported.replace("$(ONE)", "");
    ensure!(
        log.contains(&reported),
        "{log:?} does not contain {reported:?}"
    );
    ensure!(!log.contains("written"), "{log}");
    ensure!(log.contains("\n0\nNoNewPrivs:\t1\n"), "{log}");
    Ok(())
}

fn tests_run_as_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

async fn container_with_failed_liveness_is_restarted(world: &World) -> Result<()> {
    let mut deployment = controller("lifeless", 1);
    let container = &mut deployment["spec"]["template"]["spec"]["containers"][0];
    container["livenessProbe"] =
        json!({ "httpGet": { "path": "/no-such-page", "port": 8081 }, "failureThreshold": 2 });
    world.plane.apply(&deployment.to_string()).await?;
    let name = eventually("the Pod is there", SOON, || async {
        let pods = world.kubelet.pods(NAMESPACE, "lifeless-");
        pods.into_iter().next().context("no Pod was started")
    })
    .await?;
    // It was asked to end, and did.
    let code = "/containerStatuses/0/lastState/terminated/exitCode";
    status(world, &name, code, &json!(0)).await?;
    world.plane.delete(&deployment.to_string()).await
}

async fn pod_waits_for_unpullable_image(world: &World) -> Result<()> {
    let mut pod = script("unpulled", "echo pulled");
    pod["spec"]["containers"][0]["image"] = json!("registry.example/absent:1");
    world.plane.apply(&pod.to_string()).await?;
    let reason = "/containerStatuses/0/state/waiting/reason";
    let reported = status(world, "unpulled", reason, &json!("ImagePullBackOff")).await?;
    ensure!(reported["phase"] == "Pending", "{reported}");
    world.kubelet.set_unpullable([]);
    status(world, "unpulled", "/phase", &json!("Succeeded")).await?;
    logged(world, "unpulled", "pulled").await
}

async fn deleted_pod_ends_after_grace_period(world: &World) -> Result<()> {
    let polite = script(
        "polite",
        "trap 'echo finishing; exit 0' TERM; echo up; while :; do sleep 0.05; done",
    );
    let mut stubborn = script(
        "stubborn",
        "trap '' TERM; echo up; while :; do sleep 0.05; done",
    );
    stubborn["spec"]["terminationGracePeriodSeconds"] = json!(1);
    for pod in [polite, stubborn] {
        world.plane.apply(&pod.to_string()).await?;
        let name = pod["metadata"]["name"].as_str().context("no name")?;
        logged(world, name, "up").await?;
        let pid = world.kubelet.pid(NAMESPACE, name)?;
        world.plane.delete(&pod.to_string()).await?;
        world
            .plane
            .gone("v1", "Pod", Some(NAMESPACE), name, SOON)
            .await?;
        eventually("its process is gone", SOON, || async {
            ensure!(!lives(pid), "{pid} lives");
            Ok(())
        })
        .await?;
    }
    let log = world.kubelet.logs(NAMESPACE, "polite");
    ensure!(log.contains("finishing"), "{log}");
    Ok(())
}

async fn no_process_outlives_kubelet(world: World) -> Result<()> {
    world
        .plane
        .apply(&script("survivor", "echo up; exec sleep 600").to_string())
        .await?;
    logged(&world, "survivor", "up").await?;
    let pid = world.kubelet.pid(NAMESPACE, "survivor")?;
    ensure!(lives(pid));
    drop(world.kubelet);
    ensure!(!lives(pid), "{pid} lives");
    Ok(())
}
