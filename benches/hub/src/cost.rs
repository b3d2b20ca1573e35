//! What writes of one method cost the API server, and how long each takes.

use std::time::{Duration, Instant};

use anyhow::Result;
use reeve_benches_measuring::{print_latencies, servers_cpu};
use reeve_testkit::Plane;

/// Rounds of all methods that are compared: the machine is not the same all the time.
pub(crate) const ROUNDS: usize = 3;

/// What writes of one method cost.
#[derive(Default)]
pub(crate) struct Cost {
    /// CPU time of the API server and etcd.
    servers: Duration,
    /// From each request to its response.
    latencies: Vec<Duration>,
}

impl Cost {
    /// Adds some writes, one after the other.
    pub(crate) async fn measure(
        &mut self,
        plane: &Plane,
        count: usize,
        mut write: impl AsyncFnMut() -> Result<()>,
    ) -> Result<()> {
        let before = servers_cpu(plane)?;
        for _ in 0..count {
            let started = Instant::now();
            write().await?;
            self.latencies.push(started.elapsed());
        }
        self.servers += servers_cpu(plane)?.saturating_sub(before);
        Ok(())
    }

    pub(crate) fn print(self, method: &str) -> Result<()> {
        let count = f64::from(u32::try_from(self.latencies.len())?);
        let each = self.servers.as_secs_f64() * 1000.0 / count;
        let what = format!("{method}: API server and etcd CPU {each:.2} ms a write;");
        print_latencies(&what, self.latencies);
        Ok(())
    }
}
