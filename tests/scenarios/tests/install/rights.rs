//! What the controller may do is all that it needs.

use std::sync::Arc;

use anyhow::{Result, ensure};

use crate::site::{CONFIG_POLICY, Cluster, FRAMEWORK, Site, USER};

/// After everything else: this waits for all others.
pub(crate) async fn suffice(site: Arc<Site>) -> Result<()> {
    let all = Cluster::ALL.map(|cluster| [(FRAMEWORK, cluster), (CONFIG_POLICY, cluster)]);
    let _turn = site.turns.wait(&all.concat()).await?;
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
