//! Compares what replicas cost the API server if the propagator writes them and if a program does that is written with client-go.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use kube::Client;
use kube::api::{Api, DynamicObject, Patch};
use reeve_api::Policy;
use reeve_benches_measuring::Observed;
use reeve_runtime::writes;
use reeve_testkit::{GoProgram, Plane};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::cost::{Cost, ROUNDS};
use crate::objects::{self, ROOTS, Size, policies};

const GO_ADVICE: &str = "the comparison needs a program of client-go: install Go 1.26 or later (https://go.dev/dl) so that it can be \
    built from benches/hub/client-go";

/// Creates `count` replicas in each way in each round, then updates them.
pub(crate) async fn compare(plane: &Plane, count: usize) -> Result<()> {
    let client = plane.client();
    let mut client_go = ClientGo::start(plane.kubeconfig())?;
    // Whoever writes policies watches them.
    let _watched = Observed::start(Api::<DynamicObject>::all_with(client.clone(), &policies()));
    let [
        mut created,
        mut created_by_go,
        mut updated,
        mut updated_by_go,
    ]: [Cost; 4] = Default::default();
    let (mut last, mut changed) = (0, 0);
    for _ in 0..ROUNDS {
        let one = async || {
            last += 1;
            create(&client, &replica(last, 0)).await
        };
        created.measure(plane, count, one).await?;
        let one = async || {
            last += 1;
            client_go.write(&replica(last, 0)).await
        };
        created_by_go.measure(plane, count, one).await?;
        let one = async || {
            changed += 1;
            update(&client, &replica(changed, 1)).await
        };
        updated.measure(plane, count, one).await?;
        let one = async || {
            changed += 1;
            client_go.write(&replica(changed, 1)).await
        };
        updated_by_go.measure(plane, count, one).await?;
    }
    println!("\n# replicas are created, then updated");
    created.print("created as the propagator does")?;
    created_by_go.print("created by client-go")?;
    updated.print("updated as the propagator does, JSON patch")?;
    updated_by_go.print("updated by client-go, PUT")
}

/// A replica after so many changes.
fn replica(number: usize, change: usize) -> Value {
    let size = Size {
        clusters: 1,
        policies: 1,
        templates: false,
    };
    let mut policy = objects::policy(number, size);
    let label = |name: &str| format!("policy.open-cluster-management.io/{name}");
    policy["metadata"]["labels"] = json!({
        label("cluster-name"): "cluster-0",
        label("cluster-namespace"): "cluster-0",
        label("root-policy"): format!("{ROOTS}.policy"),
    });
    policy["metadata"]["annotations"] = json!({ "change": change.to_string() });
    policy["spec"]["remediationAction"] = if change == 0 { "inform" } else { "enforce" }.into();
    policy
}

async fn create(client: &Client, replica: &Value) -> Result<()> {
    let replica: Policy = serde_json::from_value(replica.clone())?;
    Ok(writes::create(client, ROOTS, &replica).await?)
}

async fn update(client: &Client, replica: &Value) -> Result<()> {
    let set = |path: &str| {
        let value = replica.pointer(path);
        json!({"op": "add", "path": path, "value": value})
    };
    let paths = ["/metadata/labels", "/metadata/annotations", "/spec"];
    let changes = serde_json::from_value(paths.map(set).into_iter().collect())?;
    let name = replica["metadata"]["name"].as_str().context("no name")?;
    let patch = Patch::Json::<()>(changes);
    Ok(writes::patch::<Policy>(client, (ROOTS, name), &patch).await?)
}

/// The program of client-go. It ends when this is dropped.
struct ClientGo {
    _process: Child,
    policies: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl ClientGo {
    fn start(kubeconfig: &Path) -> Result<Self> {
        let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("client-go");
        let program = GoProgram {
            module: &module,
            name: "client-go",
            package: ".",
            ldflags: "",
            advice: GO_ADVICE,
        };
        let mut process = Command::new(program.locate()?)
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("starting the program of client-go")?;
        let policies = process.stdin.take().context("no standard input")?;
        let answers = process.stdout.take().context("no standard output")?;
        Ok(Self {
            _process: process,
            policies,
            answers: BufReader::new(answers).lines(),
        })
    }

    async fn write(&mut self, policy: &Value) -> Result<()> {
        let mut line = serde_json::to_vec(policy)?;
        line.push(b'\n');
        self.policies.write_all(&line).await?;
        let answer = self.answers.next_line().await?;
        let error = answer.context("the program of client-go has ended")?;
        ensure!(error.is_empty(), "client-go: {error}");
        Ok(())
    }
}
