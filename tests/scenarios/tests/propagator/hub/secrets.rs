//! PROP-123 and PROP-133: what is encrypted for clusters. The vectors were computed by upstream's algorithm.

use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use reeve_scenarios::{Hubs, Site, Via, annotation, errors, objects, policy_spec, same, wants};
use reeve_testkit::Object;
use serde_json::{Value, json};

use crate::hub::{IV, hub};

/// A key and an initialization vector.
pub(crate) const KEY: &str = "gRea+QeTUubPgSYnTc3pdBb4bHj2e29WSZdzGKVUH7g=";
const VECTOR: &str = "7cznVUq5SXEE4RMZNkGOrQ==";

/// What [`KEY`] and [`VECTOR`] make of texts.
const CIPHERS: [(&str, &str); 7] = [
    ("123", "/tk20DYYtavvUocCu/FgSQ=="),
    ("456", "316/YUguokEwCAunllk94w=="),
    ("managed1", "1HozXUTNSEo5uNOKK0ninA=="),
    ("managed2", "oW1OaQWTqTspUDlgLFelRQ=="),
    (
        "RG8uCk9yIGRvIG5vdC4KVGhlcmUgaXMgbm8gdHJ5Lgo=",
        "5n8twYYcFOIYqFznODvRPlMsZ9iGWUoyIDWml4HTPkrG5JX2/TLF63sfvDZD9fvP",
    ),
    (
        "THVrZS4gSSBhbSB5b3VyIGZhdGhlci4=",
        "dbHPzG98PxV7RXcAx25mMGPBAUbfjJTEMyFc7kE2W7U3FW5+X31LkidHu/25ic4m",
    ),
    ("cGFzc3dvcmQK", "RX6KfjpLBTFhlAFIzm0kKA=="),
];

/// A number of a Secret, as long as no timestamp and no UID of a log is: a shorter one is in a log by chance.
const PORT: &str = "6543729018345610";

/// Fails with the line that has the plaintext. A log is longer than what a failure should quote.
fn ensure_absent(plaintext: &str, place: &str, text: &str) -> Result<()> {
    match text.lines().find(|line| line.contains(plaintext)) {
        Some(line) => bail!("{plaintext} is in the {place}: {line}"),
        None => Ok(()),
    }
}

fn cipher(plaintext: &str) -> String {
    let found = CIPHERS.iter().find(|(text, _)| *text == plaintext);
    let payload = found.map(|(_, payload)| *payload).unwrap_or_default();
    format!("$ocm_encrypted:{payload}")
}

/// The key of a cluster, with annotations; absent without a key.
pub(crate) async fn key(
    site: &Site<'_>,
    cluster: &str,
    key: Option<&str>,
    annotations: Value,
) -> Result<()> {
    let mut secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {
            "name": "policy-encryption-key", "namespace": site.cluster(cluster), "annotations": annotations
        }
    });
    if let Some(key) = key {
        secret["data"] = json!({ "key": key });
    }
    site.apply(&secret.to_string()).await?;
    Ok(())
}

/// Annotations of a key that is not rotated.
pub(crate) fn kept() -> Value {
    json!({ "policy.open-cluster-management.io/disable-rotation": "true" })
}

/// An object as it looks when a value in it is encrypted.
fn marked(mut object: Value) -> Value {
    object["metadata"]["annotations"] = json!({ IV: VECTOR });
    object
}

/// Every value in the data of an object's template.
pub(crate) fn data(object: &Value) -> Vec<String> {
    let data = object.pointer("/spec/object-templates/0/objectDefinition/data");
    let values = data.and_then(Value::as_object).into_iter().flatten();
    values
        .map(|(_, value)| value.as_str().unwrap_or_default().to_owned())
        .collect()
}

/// That every template of a replica is encrypted all through, with the vector of the replica.
pub(crate) fn encrypted(replica: &Object) -> Result<()> {
    let Some(vector) = annotation(replica, IV) else {
        anyhow::bail!("it has no vector");
    };
    for object in objects(replica) {
        let own = object["metadata"]["annotations"][IV].as_str();
        same("the vector of a template", own, Some(vector))?;
        let values = data(&object);
        ensure!(
            !values.is_empty()
                && values
                    .iter()
                    .all(|value| value.starts_with("$ocm_encrypted:")),
            "the data is {values:?}"
        );
    }
    Ok(())
}

/// Writes an initialization vector on a replica, as an operator may.
async fn give_vector(root: &reeve_scenarios::Root<'_>, cluster: &str, vector: &str) -> Result<()> {
    root.patch_replica(
        cluster,
        json!({ "metadata": { "annotations": { IV: vector } } }),
    )
    .await?;
    Ok(())
}

pub(crate) async fn from_secrets(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e30", &["m1", "m2"]).await?;
    let yoda = CIPHERS[4].0;
    let vader = CIPHERS[5].0;
    site.secret("quote", json!({ "text": yoda })).await?;
    let read = hub(r#"fromSecret "" "quote" "text""#);
    let templates = |value: &str| {
        [
            wants("first", json!({ "text": value })),
            wants("second", json!({ "text": value, "again": value })),
        ]
    };
    let root = site.root("policy");
    root.apply(policy_spec(&templates(&read))).await?;
    let choice = site.placed(Via::Placement, "choice", "policy", &[]).await?;
    for (cluster, text, other) in [("m1", yoda, vader), ("m2", vader, yoda)] {
        key(&site, cluster, Some(KEY), kept()).await?;
        choice.decides(&[cluster]).await?;
        root.until(cluster, "it is encrypted", encrypted).await?;
        give_vector(&root, cluster, VECTOR).await?;
        let want = templates(&cipher(text)).map(marked);
        root.renders(cluster, &want).await?;
        site.secret("quote", json!({ "text": other })).await?;
        let want = templates(&cipher(other)).map(marked);
        let replica = root.renders(cluster, &want).await?;
        same("its vector", annotation(&replica, IV), Some(VECTOR))?;
    }
    // What is no vector is replaced by one.
    give_vector(&root, "m2", "bm90IGEgdmVjdG9y").await?;
    root.until("m2", "another vector", |replica| {
        let vector = annotation(replica, IV).unwrap_or_default();
        ensure!(
            vector.len() == VECTOR.len() && vector != VECTOR,
            "it is {vector}"
        );
        encrypted(replica)
    })
    .await?;
    root.delete().await?;
    root.replicas_are(&[]).await
}

pub(crate) async fn copied_and_protected(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e31", &["m1"]).await?;
    let (quote, password) = (CIPHERS[4].0, CIPHERS[6].0);
    site.secret("source", json!({ "quote": quote, "password": password }))
        .await?;
    site.config_map("numbers", json!({ "one": "123", "two": "456" }))
        .await?;
    key(&site, "m1", Some(KEY), kept()).await?;
    let copy = wants("copy", json!(hub(r#"copySecretData "" "source""#)));
    let number = |key: &str| hub(&format!(r#"fromConfigMap "" "numbers" "{key}" | protect"#));
    let guarded = json!({
        "one": number("one"), "two": number("two"),
        "first": hub(r#""managed1" | protect"#), "second": hub(r#"printf "managed%d" 2 | protect"#)
    });
    let root = site.root("policy");
    root.apply(policy_spec(&[copy, wants("guarded", guarded)]))
        .await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    root.until("m1", "it is encrypted", encrypted).await?;
    give_vector(&root, "m1", VECTOR).await?;
    let copied = |quote: &str| json!({ "quote": cipher(quote), "password": cipher(password) });
    let guarded = json!({
        "one": cipher("123"), "two": cipher("456"), "first": cipher("managed1"), "second": cipher("managed2")
    });
    let guarded = marked(wants("guarded", guarded));
    let want = [marked(wants("copy", copied(quote))), guarded.clone()];
    root.renders("m1", &want).await?;
    let other = CIPHERS[5].0;
    site.secret("source", json!({ "quote": other, "password": password }))
        .await?;
    let want = [marked(wants("copy", copied(other))), guarded];
    root.renders("m1", &want).await?;
    Ok(())
}

/// Values of a Secret are encrypted by whichever function they are read, and can be decrypted.
pub(crate) async fn all_read_functions(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-33", &["m1"]).await?;
    let plaintext = CIPHERS[6].0;
    site.secret("source", json!({ "password": plaintext }))
        .await?;
    key(&site, "m1", Some(KEY), kept()).await?;
    let ways = [
        r#"(fromSecret "" "source" "password")"#,
        r#"$x := fromSecret "" "source" "password" hub}}{{hub $x"#,
        r#"if true hub}}{{hub fromSecret "" "source" "password" hub}}{{hub end"#,
        r#"print (fromSecret "" "source" "password")"#,
        r#"fromConfigMap "" "plain" "key" | protect | print"#,
        r#""password" | fromSecret "" "source""#,
    ];
    site.config_map("plain", json!({ "key": plaintext }))
        .await?;
    let templates = ways.map(|proxy| wants("way", json!({ "password": hub(proxy) })));
    // One that needs no encryption stands among them.
    let open = wants("open", json!({ "key": hub(".ManagedClusterName") }));
    let spec = policy_spec(&[&templates[..], &[open]].concat());
    let root = site.root("policy");
    root.apply(spec).await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    root.until("m1", "it has a vector", |replica| {
        ensure!(annotation(replica, IV).is_some(), "it has none");
        Ok(())
    })
    .await?;
    give_vector(&root, "m1", VECTOR).await?;
    let token = wants("way", json!({ "password": cipher(plaintext) }));
    let mut want: Vec<Value> = ways.iter().map(|_| marked(token.clone())).collect();
    want.push(wants("open", json!({ "key": site.cluster("m1") })));
    let replica = root.renders("m1", &want).await?;
    let text = serde_json::to_string(&replica)?;
    ensure!(!text.contains(plaintext), "the plaintext is in {text}");
    Ok(())
}

/// A tenant does not choose the vector: one on a root policy reaches no replica, and a replica whose vector has come from its root
/// gets another.
pub(crate) async fn vector_of_the_root(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-u29", &["m1"]).await?;
    key(&site, "m1", Some(KEY), kept()).await?;
    let object = |value: &str| wants("guarded", json!({ "one": value }));
    let template = object(&hub(r#""123" | protect"#));
    let root = site.root("policy");
    root.apply_with(json!({}), json!({ IV: VECTOR }), policy_spec(&[template]))
        .await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    let has_own_vector = |replica: &Object| {
        let vector = annotation(replica, IV).unwrap_or_default();
        ensure!(
            vector.len() == VECTOR.len() && vector != VECTOR,
            "its vector is {vector:?}"
        );
        let text = serde_json::to_string(replica)?;
        ensure!(!text.contains(VECTOR), "the root's vector is in {text}");
        ensure!(!text.contains(&cipher("123")), "it encrypts {text}");
        encrypted(replica)
    };
    root.until("m1", "a vector of its own", has_own_vector)
        .await?;
    // As a propagator of upstream leaves it.
    give_vector(&root, "m1", VECTOR).await?;
    root.until("m1", "another vector", has_own_vector).await?;
    let first = root.replica("m1").await?;
    root.annotate("note", "well").await?;
    root.until("m1", "the note", |replica| {
        same("the note", annotation(replica, "note"), Some("well"))
    })
    .await?;
    let second = root.replica("m1").await?;
    same(
        "its vector",
        annotation(&second, IV),
        annotation(&first, IV),
    )?;
    same("its objects", objects(&second), objects(&first))
}

/// Shorter keys are keys.
pub(crate) async fn shorter_keys(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e31-keys", &["m1", "m2"]).await?;
    let vector = "SUlJSUlJSUlJSUlJSUlJSQ==";
    let object = |value: &str| wants("guarded", json!({ "one": value }));
    let template = object(&hub(r#""Raleigh" | protect"#));
    let root = site.root("policy");
    root.apply(policy_spec(&[template])).await?;
    let keys = [
        ("m1", "QUFBQUFBQUFBQUFBQUFBQQ==", "bZ+pO2pSiVnOpWJiHktJfQ=="),
        (
            "m2",
            "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB",
            "w3bUWEUDIpryEUa3LjuQrA==",
        ),
    ];
    for (cluster, short, _) in keys {
        key(&site, cluster, Some(short), kept()).await?;
    }
    site.placed(Via::Placement, "choice", "policy", &["m1", "m2"])
        .await?;
    for (cluster, _, payload) in keys {
        root.until(cluster, "it is encrypted", encrypted).await?;
        give_vector(&root, cluster, vector).await?;
        let mut want = object(&format!("$ocm_encrypted:{payload}"));
        want["metadata"]["annotations"] = json!({ IV: vector });
        root.renders(cluster, &[want]).await?;
    }
    Ok(())
}

/// Values that a lookup reads from a Secret are encrypted too.
pub(crate) async fn looked_up(world: Arc<Hubs>) -> Result<()> {
    let read = r#"(lookup "v1" "Secret" "" "source").data.password"#;
    // What is protected beside it makes no difference.
    let beside = |protected: &str| format!("{protected} hub}}}} and {{{{hub {read}");
    let ways = [
        read.to_owned(),
        format!("{read} | base64dec"),
        beside(r#"fromSecret "" "source" "password""#),
        beside(r#""other" | protect"#),
    ];
    kept_secret(&world, "rough-edge-33-lookup", &ways).await
}

/// A value derived from a Secret does not leave the hub either, whatever the rest of its field is.
pub(crate) async fn derived(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-33-derived", &["m1"]).await?;
    let read = r#"(lookup "v1" "Secret" "" "source").data.password"#;
    site.secret(
        "source",
        json!({ "password": "aHVudGVyMg==", "port": "NjU0MzcyOTAxODM0NTYxMA==" }),
    )
    .await?;
    key(&site, "m1", Some(KEY), kept()).await?;
    let token = hub(r#""other" | protect"#);
    let start = hub(&format!("{read} | b64dec | trunc 5"));
    let encrypted = [
        format!("{token} and {start}"),
        format!("{token}{}", hub(&format!("{read} | b64dec | upper"))),
        // It only looks as if it were encrypted.
        format!("$ocm_encrypted:{}", hub(read)),
        format!("{token} $ocm_encrypted:{}", hub(read)),
    ];
    let mut templates: Vec<Value> = encrypted
        .iter()
        .map(|text| wants("way", json!({ "password": text })))
        .collect();
    let port = r#"(lookup "v1" "Secret" "" "source").data.port | b64dec"#;
    let mut annotated = wants("way", json!({}));
    annotated["metadata"]["annotations"] = json!({ "note": start });
    let raw = json!({
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy", "metadata": { "name": "way" },
        "spec": { "remediationAction": "inform", "object-templates-raw": format!("- {token}\n- {start}\n") },
    });
    templates.extend([
        annotated,
        wants("way", json!({ hub(&format!("{read} | b64dec")): "value" })),
        wants("way", json!({ "port": hub(&format!("{port} | toInt")) })),
        raw,
    ]);
    // Conditions on a Secret, and its own field names, are no secrets.
    let condition = hub(&format!(r#"eq {read} "no""#));
    templates.push(wants("way", json!({ "is": condition })));
    templates.push(wants("open", json!({ "key": hub(".ManagedClusterName") })));
    let root = site.root("policy");
    root.apply(policy_spec(&templates)).await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    let want = vec![site.cluster("m1")];
    let replica = root
        .until("m1", "it is rendered", |replica| {
            let values = objects(replica).last().map(data).unwrap_or_default();
            same("the last one", values, want.clone())
        })
        .await?;
    let withheld: Vec<Option<String>> = errors(&replica);
    let of = |place: usize| withheld.get(place).cloned().flatten().unwrap_or_default();
    for place in 0..encrypted.len() {
        same("an encrypted one", of(place), String::new())?;
    }
    for (place, field, expression) in [
        (4, "/metadata/annotations/note", "trunc 5"),
        (
            5,
            "/spec/object-templates/0/objectDefinition/data;",
            "b64dec",
        ),
        (
            6,
            "/spec/object-templates/0/objectDefinition/data/port",
            "toInt",
        ),
        (7, "/spec/object-templates-raw", "trunc 5"),
    ] {
        let error = of(place);
        ensure!(
            error.contains(field) && error.contains(expression),
            "{place}: {error:?}"
        );
        ensure!(
            error.contains("was computed from a Secret"),
            "{place}: {error}"
        );
    }
    let text = serde_json::to_string(&replica)?;
    let events = serde_json::to_string(&site.events("Policy", "policy").await?)?;
    let log = world.hub.propagator().log().await;
    for (place, text) in [("replica", text), ("events", events), ("log", log)] {
        for plaintext in ["aHVudGVyMg==", "hunte", "HUNTER2", PORT] {
            ensure_absent(plaintext, place, &text)?;
        }
    }
    Ok(())
}

/// Errors have no value of a Secret.
pub(crate) async fn in_errors(world: Arc<Hubs>) -> Result<()> {
    let read = r#"(lookup "v1" "Secret" "" "source").data.password"#;
    let ways = [
        format!("{read} | fail"),
        format!("{read} | base64dec | fail"),
        r#"fromSecret "" "source" "password" | fail"#.to_owned(),
        format!("{read} | atoi"),
        // What the error quotes is none of the values as they are.
        format!(r#"fail (printf "bad %s" ({read} | b64dec | trunc 5))"#),
        format!("{read} | b64dec | upper | fail"),
        format!("range {read} | b64dec | upper hub}}}}x{{{{hub end"),
        format!("$x := {read} | b64dec | upper hub}}}}{{{{hub $x.field"),
    ];
    kept_secret(&world, "rough-edge-33-errors", &ways).await
}

/// Templates that read a Secret in these ways reveal nothing of it.
async fn kept_secret(world: &Hubs, name: &str, ways: &[String]) -> Result<()> {
    let site = world.site(name, &["m1"]).await?;
    let (encoded, decoded) = ("aHVudGVyMg==", "hunter2");
    site.secret("source", json!({ "password": encoded }))
        .await?;
    key(&site, "m1", Some(KEY), kept()).await?;
    let ways = ways.iter();
    let mut templates: Vec<Value> = ways
        .map(|proxy| wants("way", json!({ "password": hub(proxy) })))
        .collect();
    templates.push(wants("open", json!({ "key": hub(".ManagedClusterName") })));
    let root = site.root("policy");
    root.apply(policy_spec(&templates)).await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    let want = vec![site.cluster("m1")];
    let replica = root
        .until("m1", "it is rendered", |replica| {
            let values = objects(replica).last().map(data).unwrap_or_default();
            same("the last one", values, want.clone())
        })
        .await?;
    // What is reported is reported soon.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let replica = serde_json::to_string(&replica)?;
    let events = serde_json::to_string(&site.events("Policy", "policy").await?)?;
    let log = world.hub.propagator().log().await;
    for (place, text) in [("replica", replica), ("events", events), ("log", log)] {
        for plaintext in [encoded, decoded, "hunte", "HUNTE"] {
            ensure_absent(plaintext, place, &text)?;
        }
    }
    Ok(())
}
