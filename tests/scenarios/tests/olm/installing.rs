//! Operators that must be there.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_scenarios::same;
use serde_json::json;

use crate::cluster::{CATALOG, Clusters, Operator};

/// Cases 1 and 2: everything by default.
pub(crate) async fn defaults(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::suggested(&world, "defaults");
    operator
        .apply(json!({
            "remediationAction": "enforce", "complianceType": "musthave",
            "upgradeApproval": "Automatic", "subscription": {"name": "defaults"},
        }))
        .await?;
    operator
        .reports("the Subscription required by the policy was created")
        .await?;
    operator.complies().await?;
    let subscription = operator.subscription().await?;
    let expected = json!({
        "channel": "stable", "installPlanApproval": "Automatic", "name": "defaults",
        "source": CATALOG, "sourceNamespace": "olm",
    });
    same("the spec", &subscription.data["spec"], &expected)?;
    ensure!(
        operator
            .names("ClusterServiceVersion")
            .await?
            .contains(&operator.csv("0.0.3"))
    );
    Ok(())
}
