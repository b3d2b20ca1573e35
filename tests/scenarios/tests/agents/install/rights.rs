//! What the controller may do is all that it needs.

use std::sync::Arc;

use anyhow::{Result, ensure};
use serde_json::json;

use crate::install::addon::AddOn;
use crate::install::site::{CONFIG_POLICY, Cluster, FRAMEWORK, STANDALONE, Site, USER};

/// Whatever other scenarios have asked for by then counts too.
pub(crate) async fn suffice(site: Arc<Site>) -> Result<()> {
    let on = Cluster::Two;
    let _lock = site
        .locks
        .wait(&[(FRAMEWORK, on), (CONFIG_POLICY, on)])
        .await?;
    let [framework, config_policy, standalone] =
        [FRAMEWORK, CONFIG_POLICY, STANDALONE].map(|name| AddOn::new(&site, name, on));
    let all = [&config_policy, &framework, &standalone];
    for addon in all {
        addon.configure("nothing", json!({})).await?;
        addon.enable(json!({}), &["nothing"]).await?;
    }
    for addon in [&config_policy, &framework] {
        addon.runs().await?;
    }
    standalone
        .reports("Available", "True", "ManagedClusterAddOnLeaseUpdated")
        .await?;
    for addon in [&standalone, &framework, &config_policy] {
        addon.disable().await?;
    }
    let asked = site.hub.audit()?.since(site.beginning)?;
    let asked: Vec<_> = asked.iter().filter(|event| event.user == USER).collect();
    ensure!(!asked.is_empty(), "it has asked for nothing");
    let denied: Vec<_> = asked
        .iter()
        .filter(|event| matches!(event.code, 401 | 403))
        .collect();
    ensure!(denied.is_empty(), "{denied:#?}");
    Ok(())
}
