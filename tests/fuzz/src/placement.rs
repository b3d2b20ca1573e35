//! Placements, and the expressions in them, over a few clusters.

use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use reeve_api::ocm::{AddOnPlacementScore, ManagedCluster};
use reeve_fleet::placement::schedule::cel::{Expressions, LIMITS, Subject};
use reeve_fleet::placement::schedule::{Inputs, Placed, Scores, schedule};
use reeve_runtime::object::ObjectKey;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

/// What a placement may be about.
struct World {
    clusters: Vec<Arc<ManagedCluster>>,
    scores: Arc<Scores>,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let clusters = (0..6).filter_map(|number| read(&cluster(number)).map(Arc::new));
    let score = json!({
        "metadata": { "name": "cost", "namespace": "c1" },
        "status": { "scores": [{ "name": "cpu", "value": 40 }, { "name": "memory", "value": -7 }] },
    });
    let score = read::<AddOnPlacementScore>(&score);
    let scores = score.map(|score| (ObjectKey::new("c1", "cost"), Arc::new(score)));
    World {
        clusters: clusters.collect(),
        scores: Arc::new(scores.into_iter().collect()),
    }
});

fn read<T: DeserializeOwned>(value: &Json) -> Option<T> {
    serde_json::from_value(value.clone()).ok()
}

fn cluster(number: u32) -> Json {
    let cloud = if number.is_multiple_of(2) {
        "Amazon"
    } else {
        "Google"
    };
    json!({
        "metadata": {
            "name": format!("c{number}"),
            "labels": { "cloud": cloud, "region": format!("r{}", number % 3) },
        },
        "spec": { "taints": if number == 4 {
            json!([{ "key": "gpu", "value": "true", "effect": "NoSelectIfNew", "timeAdded": "2026-01-01T00:00:00Z" }])
        } else {
            json!([])
        } },
        "status": {
            "version": { "kubernetes": "v1.36.1" },
            "allocatable": { "cpu": format!("{}500m", number + 1), "memory": format!("{}Gi", 8 * (number + 1)) },
            "capacity": { "cpu": "16", "memory": "64Gi" },
            "clusterClaims": [{ "name": "id.k8s.io", "value": format!("c{number}") }],
        },
    })
}

/// Expressions to damage.
pub(crate) static EXPRESSIONS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let all = [
        "managedCluster.metadata.labels['cloud'] == 'Amazon'",
        "managedCluster.status.clusterClaims.exists(c, c.name == 'id.k8s.io' && c.value.startsWith('c1'))",
        "managedCluster.scores('cost').filter(s, s.name == 'cpu').all(s, s.value > 30)",
        "semver(managedCluster.status.version.kubernetes, true).isLessThan(semver('1.40.0'))",
        "quantity(managedCluster.status.allocatable.cpu).isGreaterThan(quantity('2'))",
        "managedCluster.metadata.name.matches('^c[0-3]+$') || has(managedCluster.spec.taints)",
        "[1, 2, 3].map(x, x * 2).exists_one(y, y == 4) && {'a': 1}.all(k, k.size() > 0)",
        "managedCluster.spec.taints.map(t, t.key + t.effect).size() > 0 ? true : 1 / 0 == 2",
        "'{\"a\": [1, 2]}'.parseJSON().a[0] == 1",
        "duration('1h') < duration('61m') && timestamp('2026-01-01T00:00:00Z').getFullYear() == 2026",
    ];
    all.map(|one| one.as_bytes().to_vec()).to_vec()
});

/// Specs of placements to damage.
pub(crate) static PLACEMENTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let all = [
        json!({
            "numberOfClusters": 3, "clusterSets": ["global"],
            "predicates": [{ "requiredClusterSelector": {
                "labelSelector": { "matchExpressions": [{ "key": "cloud", "operator": "In", "values": ["Amazon"] }] },
                "claimSelector": { "matchExpressions": [{ "key": "id.k8s.io", "operator": "Exists" }] },
                "celSelector": { "celExpressions": ["managedCluster.metadata.name != 'c2'"] },
            } }],
        }),
        json!({
            "numberOfClusters": 2,
            "prioritizerPolicy": { "mode": "Exact", "configurations": [
                { "scoreCoordinate": { "builtIn": "ResourceAllocatableMemory" }, "weight": 3 },
                { "scoreCoordinate": { "type": "AddOn", "addOn": { "resourceName": "cost", "scoreName": "cpu" } }, "weight": -2 },
                { "scoreCoordinate": { "builtIn": "Steady" }, "weight": 1 },
            ] },
        }),
        json!({
            "tolerations": [{ "key": "gpu", "operator": "Equal", "value": "true", "tolerationSeconds": 300 }],
            "decisionStrategy": { "groupStrategy": {
                "clustersPerDecisionGroup": "30%",
                "decisionGroups": [{ "groupName": "canary", "groupClusterSelector": {
                    "labelSelector": { "matchLabels": { "region": "r1" } } } }],
            } },
            "spreadPolicy": { "spreadConstraints": [{ "topologyKey": "region", "topologyKeyType": "Label", "maxSkew": 1 }] },
        }),
    ];
    all.map(|one| one.to_string().into_bytes()).to_vec()
});

/// An expression about each cluster.
pub(crate) fn expression(input: &[u8]) {
    let text = String::from_utf8_lossy(input).into_owned();
    let Ok(compiled) = Expressions::compile(&[text], &WORLD.scores) else {
        return;
    };
    for cluster in &WORLD.clusters {
        let _ = compiled.hold(&Subject::of(cluster), LIMITS);
    }
}

/// A whole placement.
pub(crate) fn placement(input: &[u8]) {
    let Ok(spec) = serde_json::from_slice::<Json>(input) else {
        return;
    };
    let object = json!({
        "metadata": { "name": "chosen", "namespace": "policies", "uid": "u1" },
        "spec": spec,
    });
    let Some(placement) = read(&object) else {
        return;
    };
    let inputs = Inputs {
        placement: Arc::new(placement),
        clusters: WORLD.clusters.clone(),
        placed: Placed::default(),
        scores: Arc::clone(&WORLD.scores),
        now: Timestamp::UNIX_EPOCH,
    };
    let _ = schedule(&inputs, &mut |_| {});
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corpus_is_valid_before_damage() {
        assert_eq!(WORLD.clusters.len(), 6);
        assert_eq!(WORLD.scores.len(), 1);
        for text in EXPRESSIONS.iter() {
            let text = String::from_utf8(text.clone()).unwrap();
            let compiled = Expressions::compile(std::slice::from_ref(&text), &WORLD.scores);
            assert!(compiled.is_ok(), "{text}: {:?}", compiled.err());
        }
        let placements = PLACEMENTS.iter().map(|text| {
            let spec: Json = serde_json::from_slice(text).unwrap();
            json!({ "metadata": {}, "spec": spec })
        });
        for placement in placements {
            assert!(
                read::<reeve_api::ocm::Placement>(&placement).is_some(),
                "{placement}"
            );
        }
    }
}
