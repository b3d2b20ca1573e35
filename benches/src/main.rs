//! The figures in `docs/benchmarks.md`, by one command: how fast a policy becomes Compliant, and what it costs
//! the API servers.

mod latency;
mod requests;

use anyhow::Result;
use reeve_testkit::{World, WorldOptions, reeve_binary};

#[tokio::main]
async fn main() -> Result<()> {
    println!("program: {}", reeve_binary()?.display());
    let options = WorldOptions {
        clusters: vec!["c1"],
        audit: true,
        operators: false,
    };
    let world = World::start(options).await?;
    latency::measure(&world).await?;
    requests::measure(&world).await
}
