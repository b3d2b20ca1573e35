//! From `kubectl apply` to Compliant on the hub: one policy at a time on idle planes.

use std::time::{Duration, Instant};

use anyhow::Result;
use reeve_scenarios::Governed;
use reeve_testkit::World;
use serde_json::json;

const POLICIES: usize = 20;
/// Between two policies, so that each meets idle planes and unused rate limits: the hub's client may
/// send five requests a second, as upstream's.
const PAUSE: Duration = Duration::from_secs(2);

pub(crate) async fn measure(world: &World) -> Result<()> {
    let mut took: Vec<Duration> = Vec::new();
    for number in 0..POLICIES {
        let name = format!("latency-{number}");
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": name, "namespace": "default" }, "data": { "k": "v" }
        });
        let template = Governed::template(&name, "musthave", &object);
        tokio::time::sleep(PAUSE).await;
        let started = Instant::now();
        let policy = Governed::apply(world, &name, "enforce", vec![template]).await?;
        policy.place(&["c1"]).await?;
        policy.root_is("Compliant").await?;
        took.push(started.elapsed());
    }
    took.sort();
    let at = |part: usize| {
        took.get((took.len() - 1) * part / 100)
            .map_or(0, Duration::as_millis)
    };
    println!(
        "policy to Compliant on the hub, enforced ConfigMap, {POLICIES} policies one by one: \
         median {} ms, p90 {} ms, slowest {} ms (polled every 50 ms; apply and placement included)",
        at(50),
        at(90),
        at(100)
    );
    Ok(())
}
