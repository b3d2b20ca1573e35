//! Several workers.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_scenarios::{Controller, apply_json, namespace, within};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};

use crate::operator::cluster::{Cluster, Operator};

const WEBHOOK: &str = "stalls-subscriptions";
const WEBHOOK_API: &str = "admissionregistration.k8s.io/v1";

/// A webhook that accepts connections and answers none of them.
struct Stall {
    listener: TcpListener,
}

impl Stall {
    /// Delays the creation of Subscriptions in a namespace until [`end`](Self::end).
    async fn begin(world: &Cluster, namespace: &str) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("https://{}/", listener.local_addr()?);
        apply_json(
            world,
            json!({
                "apiVersion": WEBHOOK_API, "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": WEBHOOK},
                "webhooks": [{
                    "name": "stalls.subscriptions.example.com", "admissionReviewVersions": ["v1"],
                    // A dry run writes nothing, and is not asked about.
                    "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 30,
                    "clientConfig": {"url": url},
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                    "rules": [{
                        "apiGroups": ["operators.coreos.com"], "apiVersions": ["*"],
                        "operations": ["CREATE"], "resources": ["subscriptions"],
                    }],
                }],
            }),
        )
        .await?;
        Ok(Self { listener })
    }

    /// Waits until the API server asks.
    async fn asked(&self) -> Result<TcpStream> {
        let (connection, _) = self.listener.accept().await?;
        Ok(connection)
    }

    /// Lets the writes through: the ones that wait fail at once, and are repeated.
    async fn end(self, world: &Cluster, waiting: TcpStream) -> Result<()> {
        let webhook = json!({
            "apiVersion": WEBHOOK_API, "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": WEBHOOK},
        });
        world.delete(&webhook.to_string()).await?;
        drop((waiting, self.listener));
        Ok(())
    }
}

/// An API call of one policy that takes long delays no other policy.
pub(crate) async fn side_by_side(world: Arc<Cluster>) -> Result<()> {
    let policies = "side-by-side";
    namespace(&world, policies).await?;
    let args = [
        "--enable-operator-policy=true",
        "--evaluation-concurrency=2",
    ];
    let controller = Controller::start(world.plane(), policies, &args).await?;
    controller.with_log(one_stalls(&world, policies).await)
}

async fn one_stalls(world: &Cluster, policies: &str) -> Result<()> {
    let mut stalled = Operator::new(world, "stalled").await?;
    let mut free = Operator::new(world, "free").await?;
    for operator in [&mut stalled, &mut free] {
        policies.clone_into(&mut operator.policies);
    }
    let stall = Stall::begin(world, &stalled.namespace).await?;
    stalled.apply(stalled.enforced()).await?;
    let waiting = within("the API server asks the webhook", || stall.asked()).await?;

    free.apply(free.enforced()).await?;
    free.condition("SubscriptionCompliant", "True", "SubscriptionMatches")
        .await?;
    ensure!(
        stalled.get("Subscription", "stalled").await?.is_none(),
        "the webhook did not delay the Subscription"
    );
    stall.end(world, waiting).await?;
    stalled
        .condition("SubscriptionCompliant", "True", "SubscriptionMatches")
        .await?;
    Ok(())
}
