//! Secret values go through hub templates in every way there is, and come out nowhere but in replicas, encrypted.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::ResourceExt as _;
use reeve_scenarios::{Root, Site, Via, annotation, errors, policy_spec, wants, within};
use reeve_testkit::{Object, Plane, http_get};
use serde_json::{Value, json};

use crate::hub_guarantees::{IV, KEYS, Propagator, V1, hub, plane};

/// Keys of the Secret `source` and their values; of the last one the middle is looked for, as quotes escape the rest.
const VALUES: [(&str, &str); 4] = [
    ("password", "hunter2-of-the-source"),
    ("name", "hunter3-of-a-name"),
    ("certificate", "hunter4-first-line\nhunter5-second-line\n"),
    ("quote", "say \"hunter6-within-quotes\" and \\hunter7\\"),
];
/// What must be found nowhere.
const PLAINTEXTS: [&str; 6] = [
    "hunter2-of-the-source",
    "hunter3-of-a-name",
    "hunter4-first-line",
    "hunter5-second-line",
    "hunter6-within-quotes",
    "\\hunter7",
];
/// A key that is none, of 15 bytes.
const BAD_KEY: &[u8] = b"hunter8-bad-key";
/// A key of 32 bytes.
const KEY: &[u8] = b"hunter9-reeve-tests-key-01234567";
const FLAGS: [&str; 3] = [
    "--log-level=9",
    "-v=9",
    "--template-function-denylist=sha512sum",
];

fn encoded(value: &[u8]) -> String {
    STANDARD.encode(value)
}

/// The mistakes of a run: what each template does, and in whose name.
type Mistakes = Vec<(&'static str, String, Option<&'static str>)>;

/// Values that templates fail on.
pub(crate) async fn nowhere() -> Result<()> {
    let mistakes = mistakes().into_iter();
    looked_for(
        mistakes
            .map(|(name, action)| (name, action, None))
            .collect(),
    )
    .await
}

/// Values that templates take for the names of objects.
pub(crate) async fn nowhere_as_names() -> Result<()> {
    let names = names()
        .into_iter()
        .map(|(name, action)| (name, action, None));
    let others = forbidden().map(|(name, action)| (name, action, Some("reader")));
    looked_for(names.chain(others).collect()).await
}

async fn looked_for(mistakes: Mistakes) -> Result<()> {
    let plane = plane("secretive").await?;
    let files = tempfile::tempdir()?;
    let folder = files.path().to_str().context("a folder's name")?;
    let mut propagator = Propagator::start(&plane, &FLAGS, &[("TMPDIR", folder)]).await?;
    let outcome = play(&plane, &mut propagator, &mistakes).await;
    // Tokens of service accounts are in no file.
    let left: Vec<_> = std::fs::read_dir(files.path())?.collect();
    ensure!(left.is_empty(), "there are files: {left:?}");
    propagator.component.stop().await?;
    let log = propagator.component.log();
    outcome?;
    let mut leaks = BTreeSet::new();
    look(
        "the log of the end",
        &log,
        &plaintexts(&plane).await?,
        &mut leaks,
    );
    none(&leaks)
}

async fn play(plane: &Plane, propagator: &mut Propagator, mistakes: &Mistakes) -> Result<()> {
    let site = Site::open(plane, "secretive", &["m1", "m2", "m3"]).await?;
    sources(&site).await?;
    for (name, action) in uses() {
        let root = apply(&site, name, &action, None, &["m1", "m2", "m3"]).await?;
        for cluster in ["m1", "m3"] {
            root.until(cluster, "it is encrypted", encrypted).await?;
        }
        // Its key is none.
        root.until("m2", "an error", failed).await?;
    }
    for (name, action, account) in mistakes {
        let root = apply(&site, name, action, *account, &["m1", "m2"]).await?;
        root.until("m1", "an error", failed).await?;
    }
    events_are_reported(&site, mistakes).await?;
    emitted(plane, propagator, mistakes).await?;
    // And once more with other values, after a start.
    propagator.component.restart()?;
    propagator.ready().await?;
    let forget = json!({ "metadata": { "annotations": { crate::hub_guarantees::ROTATED: null } } });
    let m3 = site.cluster("m3");
    site.patch("v1", "Secret", Some(&m3), KEYS, forget).await?;
    within("the key is rotated", || async {
        let secret = site.get("v1", "Secret", Some(&m3), KEYS).await?;
        let secret = secret.context("no key")?;
        ensure!(
            annotation(&secret, crate::hub_guarantees::ROTATED).is_some(),
            "not yet"
        );
        Ok(())
    })
    .await?;
    emitted(plane, propagator, mistakes).await
}

/// Secrets, keys, and an account that may read the Secret and nothing else.
async fn sources(site: &Site<'_>) -> Result<()> {
    let data: serde_json::Map<String, Value> = VALUES
        .iter()
        .map(|(key, value)| ((*key).to_owned(), json!(encoded(value.as_bytes()))))
        .collect();
    site.secret("source", Value::Object(data)).await?;
    for (cluster, key) in [("m1", KEY), ("m2", BAD_KEY)] {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "name": KEYS, "namespace": site.cluster(cluster),
                "annotations": { "policy.open-cluster-management.io/disable-rotation": "true" }
            },
            "data": { "key": encoded(key) }
        });
        site.apply(&secret.to_string()).await?;
    }
    site.apply(
        "
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: secretive}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: secretive}
rules: [{apiGroups: [''], resources: [secrets], resourceNames: [source], verbs: [list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: secretive}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: secretive}]
",
    )
    .await?;
    Ok(())
}

/// An action that reads a key of the Secret, decoded. `fromSecret` gives what is encrypted already.
fn plain(key: &str) -> String {
    format!(r#"((lookup "v1" "Secret" "" "source").data.{key} | base64dec)"#)
}

type Case = (&'static str, String);

/// What is there to be done with secrets.
fn uses() -> Vec<Case> {
    vec![
        ("from", r#"fromSecret "" "source" "password""#.to_owned()),
        ("decoded", format!("{} | protect", plain("certificate"))),
        (
            "looked-up",
            r#"(lookup "v1" "Secret" "" "source").data.name | base64dec | protect"#.to_owned(),
        ),
        ("quoted", format!("{} | quote | protect", plain("quote"))),
        ("copied", r#"copySecretData "" "source""#.to_owned()),
    ]
}

/// Errors quote what they are given.
fn mistakes() -> Vec<Case> {
    let mut cases = vec![
        ("fails", format!("fail {}", plain("password"))),
        (
            "date",
            format!(r#"mustToDate "2006" {}"#, plain("password")),
        ),
        (
            "encoded-date",
            r#"mustToDate "2006" (fromSecret "" "source" "password")"#.to_owned(),
        ),
        ("json", format!("mustFromJson {}", plain("quote"))),
        ("fails-in-lines", format!("fail {}", plain("certificate"))),
        ("fails-in-quotes", format!("fail {}", plain("quote"))),
        ("fails-quoted", format!("fail ({} | quote)", plain("quote"))),
        (
            "date-in-lines",
            format!(r#"mustToDate "2006" {}"#, plain("certificate")),
        ),
        (
            "looked-up-fails",
            r#"fail ((lookup "v1" "Secret" "" "source").data.name | base64dec)"#.to_owned(),
        ),
        (
            "printed",
            format!(
                r#"fail (printf "it is %q, %s and %v" {0} {0} {0})"#,
                plain("quote")
            ),
        ),
        (
            "protected",
            format!("fail ({} | protect)", plain("password")),
        ),
        (
            "map",
            r#"fail (printf "%v" (lookup "v1" "Secret" "" "source"))"#.to_owned(),
        ),
        (
            "map-in-json",
            r#"fail ((lookup "v1" "Secret" "" "source").data | toJson)"#.to_owned(),
        ),
        ("index", format!("index (list 1 2) {}", plain("password"))),
        ("field", format!("({}).field", plain("password"))),
        // Functions that nobody may use.
        ("denied", format!("{} | env", plain("password"))),
        (
            "denied-by-flag",
            format!("{} | sha512sum", plain("password")),
        ),
    ];
    // After the Secret was read, something else goes wrong.
    cases.push((
        "later",
        format!(
            r#"$x := {} hub}}}}{{{{hub (printf "%s" $x).missing"#,
            plain("password")
        ),
    ));
    cases
}

/// Values are names of other objects: they are in requests, whose errors quote them.
fn names() -> Vec<Case> {
    vec![
        (
            "object",
            format!(r#"fromConfigMap "" {} "key""#, plain("name")),
        ),
        (
            "kind",
            format!(r#"(lookup "v1" {} "" "x").data"#, plain("name")),
        ),
        (
            "group",
            format!(r#"(lookup {} "Kind" "" "x").data"#, plain("name")),
        ),
        (
            "namespace",
            format!(r#"fromConfigMap {} "x" "key""#, plain("name")),
        ),
        (
            "cluster-scoped",
            format!(r#"lookup "v1" "Namespace" "" {}"#, plain("name")),
        ),
        (
            "selector",
            format!(
                r#"(lookup "v1" "ConfigMap" "" "" (printf "=%s=!" {})).items"#,
                plain("name")
            ),
        ),
    ]
}

/// The account may read the Secret, and not what its value names.
fn forbidden() -> [Case; 3] {
    let name = plain("name").replace(r#""Secret" """#, r#""Secret" "secretive""#);
    [
        (
            "no-right",
            format!(r#"fromConfigMap "secretive" {name} "key""#),
        ),
        ("no-right-there", format!(r#"fromSecret {name} "x" "key""#)),
        (
            "no-right-to-list",
            format!(r#"(lookup "v1" "ConfigMap" "secretive" "" (printf "a=%s" {name})).items"#),
        ),
    ]
}

async fn apply<'a>(
    site: &'a Site<'a>,
    name: &str,
    action: &str,
    account: Option<&str>,
    clusters: &[&str],
) -> Result<Root<'a>> {
    let data = if name == "copied" {
        json!(hub(action))
    } else {
        json!({ "value": hub(action) })
    };
    let mut spec = policy_spec(&[wants(name, data)]);
    if let Some(account) = account {
        spec["hubTemplateOptions"] = json!({ "serviceAccountName": account });
    }
    let root = site.root(name);
    root.apply(spec).await?;
    site.placed(Via::Placement, name, name, clusters).await?;
    Ok(root)
}

fn encrypted(replica: &Object) -> Result<()> {
    let text = replica.data["spec"].to_string();
    ensure!(text.contains("$ocm_encrypted:"), "nothing is encrypted");
    Ok(())
}

fn failed(replica: &Object) -> Result<()> {
    let errors = errors(replica);
    ensure!(
        errors.iter().all(Option::is_some),
        "the errors are {errors:?}"
    );
    Ok(())
}

/// Waits until every mistake was reported in an event.
async fn events_are_reported(site: &Site<'_>, mistakes: &Mistakes) -> Result<()> {
    for (name, _, _) in mistakes {
        within(format!("the mistake {name} is reported"), || async {
            let events = site.events("Policy", name).await?;
            let reported = |message: &str| message.starts_with("Failed to resolve templates");
            ensure!(
                events.iter().any(|(_, _, message)| reported(message)),
                "{events:?}"
            );
            Ok(())
        })
        .await?;
    }
    Ok(())
}

/// Everything that must be found nowhere: the plaintexts and keys as they are and in Base64.
///
/// # Errors
/// When one of the plaintexts is in no Secret: then nothing could be found.
async fn plaintexts(plane: &Plane) -> Result<Vec<String>> {
    let mut found: Vec<String> = PLAINTEXTS.map(str::to_owned).to_vec();
    let source = plane
        .get("v1", "Secret", Some("secretive"), "source")
        .await?;
    let source = source.context("no Secret")?;
    let mut decoded = String::new();
    for (key, value) in VALUES {
        let data = source.data["data"][key].as_str().unwrap_or_default();
        ensure!(data == encoded(value.as_bytes()), "{key} is {data}");
        decoded.push_str(value);
        // An end is another one when it stands within more.
        let whole = data.trim_end_matches('=');
        found.push(whole[..whole.len() - 2].to_owned());
    }
    for plaintext in PLAINTEXTS {
        ensure!(decoded.contains(plaintext), "{plaintext} is in no Secret");
    }
    let secrets = plane.list("v1", "Secret", None).await?;
    let keys = secrets.iter().filter(|secret| secret.name_any() == KEYS);
    let mut count = 0;
    for secret in keys {
        for (_, value) in secret.data["data"].as_object().into_iter().flatten() {
            let value = value.as_str().unwrap_or_default();
            if value.is_empty() {
                continue;
            }
            count += 1;
            found.push(value.trim_end_matches('=').to_owned());
            let bytes = STANDARD.decode(value)?;
            // As bytes are printed by mistake.
            let list = |separator: &str| {
                let some: Vec<String> = bytes.iter().take(6).map(u8::to_string).collect();
                some.join(separator)
            };
            found.extend([list(", "), list(" ")]);
            if let Ok(text) = String::from_utf8(bytes) {
                found.push(text);
            }
        }
    }
    ensure!(count >= 3, "only {count} keys");
    // Tokens of service accounts begin so.
    found.push("eyJhbGciOi".to_owned());
    Ok(found)
}

/// Looks through all that the process has emitted.
async fn emitted(plane: &Plane, propagator: &Propagator, mistakes: &Mistakes) -> Result<()> {
    let plaintexts = plaintexts(plane).await?;
    let (mut count, mut leaks) = (0, BTreeSet::new());
    for policy in plane.list(V1, "Policy", None).await? {
        let what = format!(
            "{}/{}",
            policy.namespace().unwrap_or_default(),
            policy.name_any()
        );
        let annotations = json!(policy.annotations()).to_string();
        look(
            &format!("an annotation of {what}"),
            &annotations,
            &plaintexts,
            &mut leaks,
        );
        look(
            &format!("the status of {what}"),
            &policy.data["status"].to_string(),
            &plaintexts,
            &mut leaks,
        );
        for error in errors(&policy).into_iter().flatten() {
            count += 1;
            look(
                &format!("an error of {what}"),
                &error,
                &plaintexts,
                &mut leaks,
            );
        }
        // Nor does a replica hold a value but encrypted.
        if annotation(&policy, IV).is_some() {
            let spec = policy.data["spec"].to_string();
            look(
                &format!("the spec of {what}"),
                &spec,
                &plaintexts,
                &mut leaks,
            );
        }
    }
    ensure!(count > mistakes.len(), "only {count} errors");
    for event in plane.list("v1", "Event", None).await? {
        let text = serde_json::to_string(&event)?;
        look("an event", &text, &plaintexts, &mut leaks);
    }
    let (code, metrics) = http_get(&propagator.metrics).await?;
    ensure!(code == 200, "the metrics page answers {code}");
    look("the metrics", &metrics, &plaintexts, &mut leaks);
    let log = propagator.component.log();
    look("the log", &log, &plaintexts, &mut leaks);
    for (name, _, _) in mistakes {
        ensure!(
            log.contains(&format!("secretive/{name}")),
            "the log does not speak of {name}"
        );
    }
    none(&leaks)
}

/// Where a text holds a plaintext: its beginning and what is around it.
fn look(what: &str, text: &str, plaintexts: &[String], leaks: &mut BTreeSet<String>) {
    for line in text.lines() {
        for plaintext in plaintexts {
            let Some(at) = line.find(plaintext) else {
                continue;
            };
            let part = |from: usize, to: usize| {
                let (from, to) = (line.floor_char_boundary(from), line.floor_char_boundary(to));
                line.get(from..to).unwrap_or_default()
            };
            // Without the times of the log lines.
            let start = part(28, 110);
            let around = part(at.saturating_sub(60), at + 40);
            leaks.insert(format!(
                "{what} holds {plaintext:?}: {start} [...] {around}"
            ));
        }
    }
}

fn none(leaks: &BTreeSet<String>) -> Result<()> {
    let some: Vec<&str> = leaks.iter().take(20).map(String::as_str).collect();
    ensure!(
        some.is_empty(),
        "{} leaks, such as\n{}",
        leaks.len(),
        some.join("\n")
    );
    Ok(())
}
