//! PROP-109: the token of a service account is renewed before it ends, and no longer when the account is gone.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::core::{ApiResource, GroupVersionKind};
use parking_lot::Mutex;
use reeve_propagator::hub_templates::accounts::{Account, AccountError, Accounts, TokenSchedule};
use reeve_runtime::client::{self, ClientOptions, InProcessServers};
use reeve_runtime::discovery::ServedKind;
use reeve_runtime::object::ObjectKey;
use reeve_scenarios::{namespace, same, within};
use reeve_testkit::{AuditEvent, Plane, PlaneOptions};

const NAMESPACE: &str = "accounts";
const ACCOUNT: &str =
    "{apiVersion: v1, kind: ServiceAccount, metadata: {name: reader, namespace: accounts}}";
const RIGHTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: accounts}
rules: [{apiGroups: [''], resources: [configmaps], verbs: [list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: accounts}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: accounts}]
";

fn map(name: &str, value: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: accounts}}, data: {{key: {value}}}}}"
    )
}

fn config_maps() -> ServedKind {
    ServedKind {
        resource: ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap")),
        namespaced: true,
        watchable: true,
    }
}

/// Reads `ConfigMap`s in the name of the account, and goes on watching these.
async fn read(account: &Account, replica: &ObjectKey, names: &[&str]) -> Result<Vec<String>> {
    let batch = account.watches.begin(replica);
    let mut values = Vec::new();
    for name in names {
        let found = batch.get(&config_maps(), NAMESPACE, name).await?;
        let found = found.with_context(|| format!("there is no {name}"))?;
        values.push(found["data"]["key"].as_str().unwrap_or_default().to_owned());
    }
    batch.end();
    Ok(values)
}

/// The replicas that were woken.
type Enqueued = Arc<Mutex<Vec<ObjectKey>>>;

/// Accounts whose tokens are renewed every few seconds.
async fn accounts(plane: &Plane) -> Result<(Accounts, Enqueued)> {
    let options = ClientOptions {
        kubeconfig: Some(plane.kubeconfig().to_path_buf()),
        qps: 100.0,
        burst: 100,
        user_agent: "reeve-scenarios",
        in_process: InProcessServers::default(),
    };
    let enqueued: Enqueued = Arc::default();
    let wake = {
        let enqueued = Arc::clone(&enqueued);
        move |replica: &ObjectKey| enqueued.lock().push(replica.clone())
    };
    // The API server gives no token for less than ten minutes: this one is renewed after 2 to 4 s.
    let schedule = TokenSchedule {
        lifetime_seconds: 600,
        renew_before_expiry: Duration::from_secs(596),
        renewal_jitter: Duration::from_secs(2),
        retry_interval: Duration::ZERO,
    };
    let client = client::connect(&options).await?;
    Ok((Accounts::new(client, options, schedule, wake), enqueued))
}

pub(crate) async fn renewed() -> Result<()> {
    let plane = Plane::start(PlaneOptions {
        name: "accounts",
        audit: true,
        ..PlaneOptions::default()
    })
    .await?;
    let start = plane.audit()?.mark()?;
    namespace(&plane, NAMESPACE).await?;
    plane.apply(ACCOUNT).await?;
    plane.apply(RIGHTS).await?;
    plane.apply(&map("first", "one")).await?;
    let (accounts, enqueued) = accounts(&plane).await?;
    let (key, other) = (
        ObjectKey::new(NAMESPACE, "reader"),
        ObjectKey::new("m2", "b.policy"),
    );
    let replica = ObjectKey::new("m1", "a.policy");
    let account = accounts.acquire(&key, &replica).await?;
    same(
        "what is read",
        read(&account, &replica, &["first"]).await?,
        vec!["one".to_owned()],
    )?;
    same("the watches", accounts.targets(), 1)?;
    let tokens = || async {
        let events = plane.audit()?.since(start)?;
        let creates = events.iter().filter(|event| {
            event.namespace == NAMESPACE && event.resource == "serviceaccounts/token"
        });
        anyhow::Ok(creates.filter(|event| event.code == 201).count())
    };
    within("the token is renewed, twice", || async {
        let count = tokens().await?;
        ensure!(count >= 3, "{count} tokens");
        Ok(())
    })
    .await?;
    // The watch goes on, and new ones begin with the new token.
    plane.apply(&map("first", "changed")).await?;
    plane.apply(&map("second", "two")).await?;
    within("the change is noticed", || async {
        ensure!(enqueued.lock().contains(&replica), "nobody was woken");
        let values = read(&account, &replica, &["first", "second"]).await?;
        same(
            "what is read",
            values,
            vec!["changed".to_owned(), "two".to_owned()],
        )
    })
    .await?;
    let again = accounts.acquire(&key, &other).await?;
    ensure!(Arc::ptr_eq(&account, &again), "the account is another one");
    credentials(&plane.audit()?.since(start)?)?;

    enqueued.lock().clear();
    plane.delete(ACCOUNT).await?;
    drop((account, again));
    within(
        "both replicas are woken, and nothing is watched any more",
        || async {
            let enqueued = enqueued.lock().clone();
            ensure!(
                enqueued.contains(&replica) && enqueued.contains(&other),
                "woken: {enqueued:?}"
            );
            same("the watches", accounts.targets(), 0)
        },
    )
    .await?;
    match accounts.acquire(&key, &replica).await {
        Err(AccountError::Missing(missing)) => same("what is missing", &missing, &key)?,
        Err(error) => return Err(error.into()),
        Ok(_) => anyhow::bail!("there is an account"),
    }
    // It comes back as another one: its first token is of no use for this.
    plane.apply(ACCOUNT).await?;
    let account = accounts.acquire(&key, &replica).await?;
    same(
        "what is read",
        read(&account, &replica, &["second"]).await?,
        vec!["two".to_owned()],
    )?;
    accounts.release(&replica);
    accounts.release(&other);
    same("the watches", accounts.targets(), 0)
}

/// The account's requests were made with more than one token.
fn credentials(events: &[AuditEvent]) -> Result<()> {
    let user = format!("system:serviceaccount:{NAMESPACE}:reader");
    let ours = events.iter().filter(|event| event.user == user);
    let mut tokens: Vec<_> = ours.filter_map(|event| event.credential.clone()).collect();
    tokens.sort();
    tokens.dedup();
    ensure!(
        tokens.len() > 1,
        "the account's requests were made with {tokens:?}"
    );
    Ok(())
}
