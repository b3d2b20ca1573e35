//! Keys of many clusters change, again and again, while what they encrypt changes too.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use futures::future::try_join_all;
use kube::ResourceExt as _;
use reeve_scenarios::{Choice, Root, Site, Via, annotation, objects, policy_spec, same, wants};
use reeve_templates_engine::encryption::{Encryption, TOKEN_PREFIX, decode_base64};
use reeve_testkit::{Object, Plane, eventually};
use serde_json::{Value, json};

use crate::hub_guarantees::{IV, KEYS, Propagator, ROTATED, V1, hub, plane};
use reeve_scenarios::record::{Recorder, Version};

const CLUSTERS: usize = 100;
/// The clusters of these numbers and above come and go meanwhile.
const SETTLED: usize = 85;
const AT_ONCE: usize = 16;
/// How long a wave of rotations may take: a busy machine writes two keys and their replicas a second.
const WAVE: Duration = Duration::from_mins(5);

/// The names of the clusters, shortened.
fn names() -> Vec<String> {
    (0..CLUSTERS).map(|number| format!("m{number}")).collect()
}

pub(crate) async fn under_load() -> Result<()> {
    let plane = plane("rotation").await?;
    let mut propagator = Propagator::start(&plane, &[], &[]).await?;
    let outcome = play(&plane, &mut propagator).await;
    let outcome = propagator.with_log(outcome);
    propagator.component.stop().await?;
    outcome
}

async fn play(plane: &Plane, propagator: &mut Propagator) -> Result<()> {
    let site = Site::open(plane, "rotation", &[]).await?;
    let names = names();
    for some in names.chunks(AT_ONCE) {
        try_join_all(some.iter().map(|name| site.register(name))).await?;
    }
    let watched = [
        (V1, "Policy", ""),
        ("v1", "Secret", "metadata.name=policy-encryption-key"),
    ];
    let mut recorder = Recorder::start(plane, &watched).await?;
    let source = Source { site: &site };
    source.write(0).await?;
    let root = site.root("policy");
    root.apply(spec()).await?;
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let choice = site
        .placed(Via::Placement, "choice", "policy", &all)
        .await?;
    let first = settled(&site, &root, 0, &BTreeMap::new()).await?;
    ensure!(
        first.len() == CLUSTERS,
        "{} clusters have a key",
        first.len()
    );

    let last = storm(&site, &source, &choice, &all, propagator).await?;

    let end = settled(&site, &root, last, &first).await?;
    same("the clusters", end.len(), CLUSTERS)?;
    let rotations = judge(&recorder.versions().await?)?;
    // A wave that comes before the one before is done may be one with it, for some.
    let few: Vec<_> = rotations.iter().filter(|(_, count)| **count < 4).collect();
    ensure!(few.is_empty(), "few keys: {few:?}");
    Ok(())
}

/// Waves of rotations, two of them at once; edits, clusters that come and go, and two kills meanwhile. Returns the
/// number of the last edit.
async fn storm(
    site: &Site<'_>,
    source: &Source<'_>,
    choice: &Choice<'_>,
    all: &[&str],
    propagator: &mut Propagator,
) -> Result<usize> {
    let settled: Vec<&str> = all.iter().copied().take(SETTLED).collect();
    let mut edit = 0;
    for wave in 0..4_usize {
        expire(site, all).await?;
        edit += 1;
        source.write(edit).await?;
        choice.decides(&settled).await?;
        if wave % 2 == 1 {
            propagator.component.restart()?;
        }
        // Right after the first; the half of the clusters may still be at it.
        expire(site, all).await?;
        choice.decides(all).await?;
        edit += 1;
        source.write(edit).await?;
        propagator.ready().await?;
        rotated(site, wave * 2 + 1).await?;
    }
    Ok(edit)
}

/// What the policy reads.
struct Source<'a> {
    site: &'a Site<'a>,
}

/// The values of an edit: as the Secret's data is, and as the `ConfigMap`'s.
fn values(edit: usize) -> [String; 2] {
    let encoded = k8s_openapi::ByteString(format!("secret number {edit}").into_bytes());
    let encoded = serde_json::to_value(encoded).unwrap_or_default();
    let encoded = encoded.as_str().unwrap_or_default().to_owned();
    [encoded, format!("guarded number {edit}")]
}

impl Source<'_> {
    async fn write(&self, edit: usize) -> Result<()> {
        let [secret, map] = values(edit);
        self.site
            .secret("source", json!({ "password": secret }))
            .await?;
        self.site
            .config_map("source", json!({ "value": map }))
            .await
    }
}

fn spec() -> Value {
    let read = hub(r#"fromSecret "" "source" "password""#);
    let guarded = hub(r#"fromConfigMap "" "source" "value" | protect"#);
    policy_spec(&[
        wants("read", json!({ "value": read })),
        wants("guarded", json!({ "value": guarded })),
    ])
}

/// Has all keys rotated: nobody knows any more when they were.
async fn expire(site: &Site<'_>, clusters: &[&str]) -> Result<()> {
    for some in clusters.chunks(AT_ONCE) {
        let expired = some.iter().map(|cluster| expire_one(site, cluster));
        try_join_all(expired).await?;
    }
    Ok(())
}

async fn expire_one(site: &Site<'_>, cluster: &str) -> Result<()> {
    let forget = json!({ "metadata": { "annotations": { ROTATED: null } } });
    let namespace = site.cluster(cluster);
    site.patch("v1", "Secret", Some(&namespace), KEYS, forget)
        .await?;
    Ok(())
}

/// Waits until no key is to be rotated.
async fn rotated(site: &Site<'_>, wave: usize) -> Result<()> {
    let what = format!("all keys of wave {wave} are rotated");
    eventually(what, WAVE, || async {
        let keys = keys(site).await?;
        let old = keys
            .iter()
            .filter(|(_, secret)| annotation(secret, ROTATED).is_none())
            .count();
        ensure!(old == 0, "{old} are old");
        Ok(())
    })
    .await
}

/// The key Secrets by cluster.
async fn keys(site: &Site<'_>) -> Result<BTreeMap<String, Object>> {
    let all = site.list("v1", "Secret", None).await?;
    let keys = all.into_iter().filter(|secret| secret.name_any() == KEYS);
    Ok(keys
        .map(|secret| {
            (
                site.shortened(&secret.namespace().unwrap_or_default()),
                secret,
            )
        })
        .collect())
}

/// Waits until every replica has the values of an edit, encrypted with the key that its cluster has, which is another
/// one than `before`. Returns the keys.
async fn settled(
    site: &Site<'_>,
    root: &Root<'_>,
    edit: usize,
    before: &BTreeMap<String, Vec<u8>>,
) -> Result<BTreeMap<String, Vec<u8>>> {
    let what = "every replica is encrypted with the key of now";
    eventually(what, WAVE, || async {
        let secrets = keys(site).await?;
        let replicas = site.list(V1, "Policy", None).await?;
        let mut current = BTreeMap::new();
        for replica in replicas {
            if replica.name_any() != root.replica_name() {
                continue;
            }
            let cluster = site.shortened(&replica.namespace().unwrap_or_default());
            let secret = secrets.get(&cluster).context("no key")?;
            let key = datum(secret, "key")?;
            ensure!(
                before.get(&cluster) != Some(&key),
                "{cluster} has its first key"
            );
            let values = values(edit).map(Some).to_vec();
            let found = decrypted(&replica, std::slice::from_ref(&key));
            ensure!(found == values, "{cluster} has {found:?}");
            current.insert(cluster, key);
        }
        same("the replicas", current.len(), CLUSTERS)?;
        Ok(current)
    })
    .await
}

fn datum(secret: &Object, name: &str) -> Result<Vec<u8>> {
    let value = secret.data["data"][name].as_str().unwrap_or_default();
    decode_base64(value).map_err(|error| anyhow::anyhow!(error))
}

/// The encrypted values of a replica, by whichever key gives text; `None` where none does.
fn decrypted(replica: &Object, keys: &[Vec<u8>]) -> Vec<Option<String>> {
    let decrypt = |object: &Value| -> Option<String> {
        let vector = object["metadata"]["annotations"][IV].as_str()?;
        let vector = decode_base64(vector).ok()?;
        let value = object.pointer("/spec/object-templates/0/objectDefinition/data/value");
        let token = value?.as_str()?.strip_prefix(TOKEN_PREFIX)?;
        keys.iter().filter(|key| !key.is_empty()).find_map(|key| {
            let encryption = Encryption::new(key, None, &vector).ok()?;
            let text = encryption.decrypt(token).ok()?;
            // The wrong key may give something by chance.
            let known = ["secret number ", "guarded number "];
            let plain = decode_base64(&text)
                .ok()
                .and_then(|t| String::from_utf8(t).ok());
            let is_known = |text: &str| known.iter().any(|start| text.starts_with(start));
            let good = is_known(&text) || plain.as_deref().is_some_and(is_known);
            good.then(|| text.to_string())
        })
    };
    objects(replica).iter().map(decrypt).collect()
}

/// At every moment what a replica holds can be decrypted with the keys that its cluster has. Returns how many keys each
/// cluster has had.
fn judge(versions: &[Version]) -> Result<BTreeMap<String, usize>> {
    let mut secrets: BTreeMap<&str, &Object> = BTreeMap::new();
    let mut replicas: BTreeMap<&str, &Object> = BTreeMap::new();
    let mut rotations: BTreeMap<String, BTreeSet<Vec<u8>>> = BTreeMap::new();
    let mut looked = 0_usize;
    for version in versions {
        let cluster = version.namespace.as_str();
        let (map, is_ours) = match version.kind {
            "Secret" => (&mut secrets, true),
            _ => (&mut replicas, version.name == "rotation.policy"),
        };
        if !is_ours {
            continue;
        }
        match &version.object {
            Some(object) => drop(map.insert(cluster, object)),
            None => drop(map.remove(cluster)),
        }
        let (Some(secret), Some(replica)) = (secrets.get(cluster), replicas.get(cluster)) else {
            ensure!(
                !replicas.contains_key(cluster),
                "{cluster} has a replica and no key at revision {}",
                version.revision
            );
            continue;
        };
        let (key, previous) = (datum(secret, "key")?, datum(secret, "previousKey")?);
        rotations
            .entry(cluster.to_owned())
            .or_default()
            .insert(key.clone());
        let found = decrypted(replica, &[key, previous]);
        looked += 1;
        if found.len() != 2 || found.contains(&None) {
            bail!(
                "at revision {} ({} changed) {cluster}'s replica of revision {:?} cannot be decrypted with its Secret of revision {:?}: {found:?}",
                version.revision,
                version.kind,
                replica.resource_version(),
                secret.resource_version(),
            );
        }
    }
    ensure!(looked > CLUSTERS * 10, "only {looked} moments");
    Ok(rotations
        .into_iter()
        .map(|(cluster, keys)| (cluster, keys.len()))
        .collect())
}
