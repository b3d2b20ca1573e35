//! Reeve's audit of constraints beside the real Gatekeeper's: two clusters get the same objects, and have the same statuses then.

mod cluster;
mod statuses;
mod workload;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use reeve_scenarios::guarded::Guarded;
use reeve_scenarios::{same, steadily_for};
use reeve_testkit::{CertificateAuthority, eventually};

use cluster::{Answers, Audited};
use statuses::{Statuses, differences};
use workload::Workload;

/// A Gatekeeper that audits hundreds of constraints each second beside other tests needs a while.
const SETTLED: Duration = Duration::from_mins(6);
/// A few audits of Gatekeeper.
const STEADY: Duration = Duration::from_secs(10);

/// Two clusters with the same objects, which differ in who audits.
struct Pair {
    gatekeeper: Audited,
    reeve: Audited,
}

impl Pair {
    async fn start() -> Result<Self> {
        // Constraints print parts of the ConfigMaps with the authority's certificate.
        let authority = CertificateAuthority::generate()?;
        let (gatekeeper, reeve) = futures::try_join!(
            Audited::by_gatekeeper(authority.clone()),
            Audited::by_reeve(authority)
        )?;
        Ok(Self { gatekeeper, reeve })
    }

    /// Creates objects on both, which must answer the same.
    async fn create(&self, objects: &[serde_json::Value]) -> Result<Answers> {
        let (theirs, ours) =
            futures::try_join!(self.gatekeeper.create(objects), self.reeve.create(objects))?;
        same("the API servers' answers", &ours, &theirs)?;
        Ok(ours)
    }

    /// Waits until both have audited everything as it is now, and have the same statuses.
    async fn agree(&self, what: &str) -> Result<Statuses> {
        let mark = self.gatekeeper.time().await?;
        let statuses = eventually(what, SETTLED, || async {
            let theirs = self.gatekeeper.statuses().await?;
            theirs.are_newer_than(&mark)?;
            let ours = self.reeve.statuses().await?;
            let found = differences(&ours, &theirs);
            ensure!(
                found.is_empty(),
                "{} differences:\n{}",
                found.len(),
                found.join("\n")
            );
            Ok(ours)
        })
        .await?;
        steadily_for(STEADY, what, || async {
            let (theirs, ours) =
                futures::try_join!(self.gatekeeper.statuses(), self.reeve.statuses())?;
            let found = differences(&ours, &theirs);
            ensure!(found.is_empty(), "{}", found.join("\n"));
            Ok(())
        })
        .await?;
        Ok(statuses)
    }
}

pub(crate) async fn same_statuses(_: Arc<Guarded>) -> Result<()> {
    let workload = Workload::read()?;
    let pair = Pair::start().await?;
    pair.create(&workload.objects).await?;
    pair.create(&workload.templates).await?;
    futures::try_join!(
        pair.gatekeeper.templates_are_handled(),
        pair.reeve.templates_are_handled()
    )?;
    pair.create(&workload.constraints).await?;
    let statuses = pair.agree("both audits leave the same statuses").await?;
    let (templates, constraints) = statuses.counts();
    ensure!(
        templates >= 100 && constraints >= 200,
        "only {templates} templates and {constraints} constraints are compared"
    );
    same("the crowd", statuses.total("BesideLong crowd"), Some(33))?;

    pair.create(&workload.configuration).await?;
    let configured = pair.agree("both audits heed the configuration").await?;
    // The namespace is left out; a ReplicaSet and a CronJob make privileged Pods.
    same("the crowd", configured.total("BesideLong crowd"), Some(0))?;
    let made = configured.total("Privileged generated-only");
    same("what is made of objects", made, Some(2))?;
    Ok(())
}
