//! What a program asks of the API server, by the server's own audit log.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use reeve_testkit::{AuditEvent, Mark, Plane};

/// How long nothing may be asked of the API server until the work counts as done.
const QUIET: Duration = Duration::from_secs(3);

/// Waits until a program, by the beginning of its `User-Agent`, has asked nothing for a while. Returns how long that
/// while was.
pub async fn until_quiet(plane: &Plane, agent: &str) -> Result<Duration> {
    loop {
        let mark: Mark = plane.audit()?.mark()?;
        tokio::time::sleep(QUIET).await;
        if table(&plane.audit()?.since(mark)?, agent).is_empty() {
            return Ok(QUIET);
        }
    }
}

/// Prints the requests of a program since a mark.
pub fn print_requests(plane: &Plane, agent: &str, since: Mark) -> Result<()> {
    let table = table(&plane.audit()?.since(since)?, agent);
    let total: usize = table.values().map(|(count, _)| count).sum();
    println!("{total} requests");
    for ((verb, resource), (count, conflicts)) in table {
        let conflicts = match conflicts {
            0 => String::new(),
            some => format!(", {some} of them conflicts"),
        };
        println!("  {count:>6}  {verb} {resource}{conflicts}");
    }
    Ok(())
}

/// Requests of the program by verb and resource, with the conflicts among them.
fn table(events: &[AuditEvent], agent: &str) -> BTreeMap<(String, String), (usize, usize)> {
    let mut table: BTreeMap<(String, String), (usize, usize)> = BTreeMap::new();
    let theirs = events
        .iter()
        .filter(|event| event.user_agent.starts_with(agent));
    for event in theirs {
        let is_end_of_watch = event.verb == "watch" && event.stage == "ResponseComplete";
        if is_end_of_watch && event.code == 200 {
            continue;
        }
        let key = (event.verb.clone(), event.resource.clone());
        let (count, conflicts) = table.entry(key).or_default();
        *count += 1;
        *conflicts += usize::from(event.code == 409);
    }
    table
}
