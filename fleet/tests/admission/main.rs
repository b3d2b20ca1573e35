//! The same writes on a cluster with the real Gatekeeper, and on an API server in memory that constraints decide about: both answer the
//! same.

mod cases;
mod clusters;
mod fixtures;

use anyhow::{Result, ensure};

use cases::{Case, PHASES};
use clusters::{Clusters, Reply};

#[tokio::test(flavor = "multi_thread")]
async fn gk_140_writes_are_answered_as_with_gatekeeper() -> Result<()> {
    if reeve_testkit::planes_are_embedded() {
        eprintln!("left out: the comparison needs a kube-apiserver");
        return Ok(());
    }
    let clusters = Clusters::start().await?;
    let mut differences = Vec::new();
    let mut compared = 0;
    for phase in PHASES {
        let phase = phase();
        clusters.prepare(&phase.prepared).await?;
        for case in &phase.cases {
            let (theirs, ours) = clusters.send(&case.request).await?;
            compared += 1;
            if theirs != ours {
                differences.push(difference(case, &theirs, &ours));
            }
            if case
                .is_refused
                .is_some_and(|expected| theirs.is_refused() != expected)
            {
                let name = case.name;
                differences.push(format!(
                    "{name} proves nothing: Gatekeeper answers {theirs:?}"
                ));
            }
        }
    }
    ensure!(
        differences.is_empty(),
        "{} of {compared} answers differ:\n{}",
        differences.len(),
        differences.join("\n")
    );
    Ok(())
}

fn difference(case: &Case, theirs: &Reply, ours: &Reply) -> String {
    format!(
        "{}\n  Gatekeeper: {theirs:?}\n  Reeve:      {ours:?}",
        case.name
    )
}
