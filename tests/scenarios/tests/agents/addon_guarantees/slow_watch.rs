//! The add-on's watch of template objects is behind its own writes.

use anyhow::{Result, ensure};
use reeve_scenarios::{CONFIGURATION, configuration, holds};
use reeve_testkit::{Proxy, SOON, eventually};
use serde_json::json;

use crate::addon_guarantees::steps::{NAMESPACE, clusters, put, reported, start};

const POLICY: &str = "ns.behind";
const TEMPLATE: &str = "behind";
const UPDATE_REJECTED: &str =
    "NonCompliant; template-error; Failed to update policy template behind: ";

/// An invalid change of an object whose creation the add-on's watch has not delivered is never reported as a failed creation.
pub(crate) async fn invalid_change() -> Result<()> {
    let (hub, managed) = clusters().await?;
    let proxy = Proxy::to(&managed, "addon-behind-the-watch", "system:masters").await?;
    let _addon = start(hub.kubeconfig(), proxy.kubeconfig()).await?;

    proxy.hold_events("/configurationpolicies");
    let mut template = configuration(TEMPLATE, "inform");
    put(&hub, POLICY, "inform", std::slice::from_ref(&template)).await?;
    eventually("the object is created", SOON, || async {
        let (api_version, kind) = CONFIGURATION;
        let object = managed
            .get(api_version, kind, Some(NAMESPACE), TEMPLATE)
            .await?;
        ensure!(object.is_some(), "it is absent");
        Ok(())
    })
    .await?;
    template["spec"]["unknownField"] = json!("x");
    put(&hub, POLICY, "inform", &[template]).await?;
    holds("nothing is reported before the object is known", || async {
        let messages = reported(&managed, POLICY).await?.messages(TEMPLATE);
        ensure!(messages.is_empty(), "{messages:?}");
        Ok(())
    })
    .await?;

    proxy.open();
    eventually("the change is reported", SOON, || async {
        let messages = reported(&managed, POLICY).await?.messages(TEMPLATE);
        let [message] = messages.as_slice() else {
            anyhow::bail!("the messages are {messages:?}");
        };
        ensure!(message.starts_with(UPDATE_REJECTED), "{message}");
        Ok(())
    })
    .await
}
