//! Catalogs, and what they deprecate.

use std::sync::Arc;

use anyhow::Result;
use serde_json::json;

use crate::olm::catalog::Package;
use crate::olm::cluster::{CATALOG, Clusters, Operator};

const TYPE: &str = "CatalogSourcesUnhealthy";

/// Cases 22 to 26: the health of the catalog.
pub(crate) async fn health(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::new(&world, "healthy").await?;
    operator.apply(operator.spec("inform")).await?;
    let found = [CATALOG, "Compliant", "Resource found as expected"];
    for action in ["inform", "enforce"] {
        operator.patch(json!({"remediationAction": action})).await?;
        operator
            .says([TYPE, "False", "CatalogSourcesFound"], "was found")
            .await?;
        operator.relates("CatalogSource", &[found]).await?;
    }
    operator.complies().await?;

    operator
        .patch(json!({"subscription": {"source": "fakeName"}}))
        .await?;
    let message = "CatalogSource 'fakeName' was not found";
    operator
        .says([TYPE, "False", "CatalogSourcesNotFound"], message)
        .await?;
    let missing = [
        "fakeName",
        "Compliant",
        "Resource not found but should exist",
    ];
    operator.relates("CatalogSource", &[missing]).await?;

    let catalog = "brittle";
    let place = (operator.namespace.as_str(), catalog);
    let packages = [Package::plain("healthy")];
    world.here.serve_in(&world, place, &packages).await?;
    operator
        .patch(json!({"subscription": {"source": catalog, "sourceNamespace": operator.namespace}}))
        .await?;
    operator
        .says([TYPE, "False", "CatalogSourcesFound"], "was found")
        .await?;
    world.here.olm.stop_catalog(catalog).await?;
    let unhealthy = "CatalogSourcesFoundUnhealthy";
    operator
        .says([TYPE, "False", unhealthy], "is unhealthy")
        .await?;
    let reason = "Resource found as expected but is unhealthy";
    operator
        .relates("CatalogSource", &[[catalog, "Compliant", reason]])
        .await?;
    operator
        .patch(json!({"complianceConfig": {"catalogSourceUnhealthy": "NonCompliant"}}))
        .await?;
    operator
        .says([TYPE, "True", unhealthy], "is unhealthy")
        .await?;
    operator
        .relates("CatalogSource", &[[catalog, "NonCompliant", reason]])
        .await?;
    operator.violates("is unhealthy").await
}

/// Cases 76 to 79: what is deprecated.
pub(crate) async fn deprecations(world: Arc<Clusters>) -> Result<()> {
    for (package, reason, message) in [
        (
            "deprecation-operator",
            "PackageDeprecated",
            "the requested deprecation-operator Package was deprecated. deprecation-operator is old",
        ),
        (
            "dep-channel-operator",
            "ChannelDeprecated",
            "the requested stable Channel was deprecated. stable is old",
        ),
        (
            "dep-bundle-operator",
            "BundleDeprecated",
            "the requested dep-bundle-operator.v0.0.3 Bundle was deprecated. 0.0.3 is old",
        ),
    ] {
        let operator = Operator::new(&world, package).await?;
        operator.apply(operator.spec("enforce")).await?;
        operator
            .says(["NoDeprecations", "False", reason], message)
            .await?;
        operator.complies().await?;
        operator
            .patch(json!({"complianceConfig": {"deprecationsPresent": "NonCompliant"}}))
            .await?;
        operator.violates(message).await?;
        operator.reports(message).await?;
        operator
            .patch(json!({"complianceConfig": {"deprecationsPresent": "Compliant"}}))
            .await?;
        operator.complies().await?;
    }
    Ok(())
}
