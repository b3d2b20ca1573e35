//! The API server in memory beside a real one, kube-apiserver with etcd: the same client sends both the same requests, in
//! turns, so that what else the machine does is the same for both.

mod fan;
mod kinds;
mod load;
mod server;
mod table;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use reeve_benches_measuring::Machine;
use reeve_testkit::reeve_binary;

use kinds::KINDS;
use load::{Load, STEPS, Size};
use server::Server;
use table::{Figure, heading, row, rows};

/// Measures `reeve apiserver` beside a kube-apiserver.
#[derive(Parser)]
struct Args {
    /// The program with the API server in memory. Absent: Reeve.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Objects of each kind.
    #[arg(long, default_value_t = 5000)]
    objects: usize,
    /// Requests under way at once, where objects are created, read and updated one by one.
    #[arg(long, default_value_t = 16)]
    writers: usize,
    /// How many objects are read one by one.
    #[arg(long, default_value_t = 5000)]
    gets: usize,
    /// How many are updated, each of them once: as many as there are, at most.
    #[arg(long, default_value_t = 2000)]
    updates: usize,
    /// How many times all are listed, one list after the other.
    #[arg(long, default_value_t = 20)]
    lists: usize,
    /// Watches of the same objects at once.
    #[arg(long, default_value_t = 50)]
    watches: usize,
    /// Updates that all of those get.
    #[arg(long, default_value_t = 500)]
    changes: usize,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let size = Size {
        objects: args.objects,
        writers: args.writers.max(1),
        gets: args.gets,
        updates: args.updates.min(args.objects),
        lists: args.lists,
        watches: args.watches,
        changes: args.changes,
    };
    let binary = args.binary.map_or_else(reeve_binary, Ok)?;
    println!("program: {}", binary.display());
    let machine = Machine::now()?;
    let servers = [Server::real().await?, Server::in_memory(&binary).await?];
    heading();
    both(&servers, "memory after the start, MiB", Server::mebibytes)?;
    for kind in &KINDS {
        let [real, reeve] = &servers;
        let (mut real, mut reeve) = (Load::new(real, kind), Load::new(reeve, kind));
        for step in STEPS {
            let figures = real.run(step, size).await?;
            rows(&figures, &reeve.run(step, size).await?);
        }
    }
    for order in fan::UPDATE_ORDERS {
        let [real, reeve] = &servers;
        let figures = fan::measure(real, order, size).await?;
        rows(&figures, &fan::measure(reeve, order, size).await?);
    }
    println!("\n# all of it");
    both(&servers, "CPU, s", |server| Ok(server.cpu()?.as_secs_f64()))?;
    both(&servers, "memory at the end, MiB", Server::mebibytes)?;
    both(&servers, "peak memory, MiB", Server::peak_mebibytes)?;
    println!();
    let [real, reeve] = &servers;
    machine.print(real.cpu()? + reeve.cpu()?)
}

/// Prints the same figure of both.
fn both(
    [real, reeve]: &[Server; 2],
    what: &str,
    figure: impl Fn(&Server) -> Result<f64>,
) -> Result<()> {
    let (real, reeve) = (figure(real)?, figure(reeve)?);
    row(&Figure::new(what, real), &Figure::new(what, reeve));
    Ok(())
}
