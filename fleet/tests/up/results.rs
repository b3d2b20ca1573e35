//! Every policy of a fleet has a state and a reason.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use reeve_fleet::results::Results;
use reeve_fleet::{
    Access, Cluster, Constraints, ExternalData, Fleet, FleetOptions, Pods, RateLimits, SetUp,
    Taint, Target, Unbound, apply,
};
use reeve_manifests::{Object, read_stdin_text};
use reeve_report::{Entry, State};

use super::run_during;

/// A fleet that no other process reaches.
async fn fleet(clusters: Vec<Cluster>) -> Result<Fleet> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options = FleetOptions {
        clusters,
        folder: PathBuf::from("there-is-no-such-folder"),
        access: Access::InProcess,
        data: None,
        pods: Pods::Kept,
        limits: RateLimits::Lifted,
        constraints: Constraints::Ignored,
        external_data: ExternalData::default(),
    };
    Ok(Fleet::start(options).await?)
}

fn objects(text: &str) -> Result<Vec<Object>> {
    let found = read_stdin_text(text);
    ensure!(found.errors.is_empty(), "{:?}", found.errors);
    Ok(found.objects)
}

/// A policy with one configuration policy.
fn policy(name: &str, template: &str) -> String {
    format!(
        r"
apiVersion: policy.open-cluster-management.io/v1
kind: Policy
metadata: {{name: {name}}}
spec:
  disabled: false
  remediationAction: inform
  policy-templates:
  - objectDefinition:
      apiVersion: policy.open-cluster-management.io/v1
      kind: ConfigurationPolicy
      metadata: {{name: {name}-template}}
      spec:
        severity: low
        object-templates:
        - complianceType: musthave
          {template}
---
"
    )
}

/// A binding of a policy to a placement, which `spec` describes.
fn placed(policy: &str, spec: &str) -> String {
    format!(
        r"
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {{name: on-{policy}}}
spec: {spec}
---
{}",
        bound(policy)
    )
}

fn bound(policy: &str) -> String {
    format!(
        r"
apiVersion: policy.open-cluster-management.io/v1
kind: PlacementBinding
metadata: {{name: {policy}}}
placementRef: {{apiGroup: cluster.open-cluster-management.io, kind: Placement, name: on-{policy}}}
subjects: [{{apiGroup: policy.open-cluster-management.io, kind: Policy, name: {policy}}}]
---
"
    )
}

const NAMESPACE: &str =
    "objectDefinition: {apiVersion: v1, kind: Namespace, metadata: {name: prod}}";

/// The entries of a policy as `place state: reason`.
fn lines(entries: &[Entry], policy: &str) -> Vec<String> {
    let own = entries
        .iter()
        .filter(|entry| entry.subject == format!("policies/{policy}"));
    own.map(|entry| format!("{} {:?}: {}", entry.place, entry.state, entry.summary()))
        .collect()
}

/// The entries after all of these objects have been applied to the hub.
async fn entries(fleet: &Fleet, text: &str) -> Result<Vec<Entry>> {
    let applied = apply(&Target::hub(fleet.hub.client()), &objects(text)?).await;
    ensure!(applied.errors.is_empty(), "{:?}", applied.errors);
    fleet.settled().await;
    Ok(Results::default().read(fleet).await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn violations_name_objects_fields_and_kinds() -> Result<()> {
    let fleet = fleet(vec!["east".into()]).await?;
    let story = async {
        let made = "{apiVersion: v1, kind: ConfigMap, metadata: {name: made, namespace: default}, data: {hub: b}}";
        let cluster = Target::cluster("east", fleet.clusters[0].client());
        apply(&cluster, &objects(made)?).await;
        let wanted = "recordDiff: InStatus\n          objectDefinition: {apiVersion: v1, kind: ConfigMap, metadata: {name: made, namespace: default}, data: {hub: a}}";
        let unknown =
            "objectDefinition: {apiVersion: example.com/v1, kind: Gear, metadata: {name: g}}";
        let broken = "objectDefinition: {apiVersion: v1, kind: Namespace, metadata: {name: '{{ fail \"no\" }}'}}";
        let text = [
            policy("ns", NAMESPACE) + &placed("ns", "{}"),
            policy("cm", wanted) + &placed("cm", "{}"),
            policy("gear", unknown) + &placed("gear", "{}"),
            policy("broken", broken) + &placed("broken", "{}"),
        ];
        let entries = entries(&fleet, &text.concat()).await?;
        let expect = |policy: &str, line: &str| {
            let found = lines(&entries, policy);
            ensure!(found == [line], "{found:#?}");
            Ok(())
        };
        expect("ns", "east Violation: Namespace prod: not found")?;
        expect(
            "cm",
            r#"east Violation: ConfigMap default/made: data.hub wanted "a" found "b""#,
        )?;
        expect(
            "gear",
            "east Error: kind Gear is not installed (--crds, --assume-kinds)",
        )?;
        let found = lines(&entries, "broken");
        ensure!(
            found.len() == 1 && found[0].starts_with("east Error: ") && found[0].contains("no"),
            "{found:?}"
        );
        Ok(())
    };
    run_during(&fleet, story).await
}

#[tokio::test(flavor = "multi_thread")]
async fn unplaced_policies_have_the_reason_of_their_placement() -> Result<()> {
    let fleet = fleet(vec!["east".into()]).await?;
    let story = async {
        let chooses = |selector: &str| {
            format!("{{predicates: [{{requiredClusterSelector: {{labelSelector: {selector}}}}}]}}")
        };
        let text = [
            policy("unbound", NAMESPACE),
            policy("nowhere", NAMESPACE) + &bound("nowhere"),
            policy("dev", NAMESPACE)
                + &placed(
                    "dev",
                    &chooses("{matchExpressions: [{key: env, operator: In, values: [dev, test]}]}"),
                ),
            policy("idle", NAMESPACE).replace("disabled: false", "disabled: true"),
        ];
        let entries = entries(&fleet, &text.concat()).await?;
        let expect = |policy: &str, line: &str| {
            let found = lines(&entries, policy);
            ensure!(found == [line], "{found:#?}");
            Ok(())
        };
        expect("unbound", " Unplaced: no PlacementBinding names it")?;
        expect("nowhere", " Unplaced: Placement on-nowhere: not found")?;
        expect(
            "dev",
            " Unplaced: Placement on-dev: no cluster with env in (dev, test)",
        )?;
        expect("idle", " Skipped: disabled")
    };
    run_during(&fleet, story).await
}

#[tokio::test(flavor = "multi_thread")]
async fn unbound_policies_are_bound_to_every_cluster_even_a_tainted_one() -> Result<()> {
    let tainted = Cluster {
        taints: vec![Taint {
            key: "a".to_owned(),
            value: String::new(),
            effect: "NoSelect".to_owned(),
        }],
        ..Cluster::from("west")
    };
    let fleet = fleet(vec!["east".into(), tainted]).await?;
    let story = async {
        let elsewhere = policy("other", NAMESPACE).replace(
            "metadata: {name: other}",
            "metadata: {name: other, namespace: team}",
        );
        let text = policy("one", NAMESPACE) + &policy("two", NAMESPACE) + &elsewhere;
        let apply = async |text: &str| -> Result<SetUp> {
            let mut done = SetUp::default();
            let objects = objects(text)?;
            fleet
                .apply_to_hub(&objects, Unbound::Bound, &mut done)
                .await?;
            Ok(done)
        };
        let done = apply(&text).await?;
        let made = ("the hub".to_owned(), "team".to_owned());
        ensure!(done.namespaces == [made], "{done:?}");
        ensure!(
            done.bound == ["policies/one", "policies/two", "team/other"],
            "{done:?}"
        );
        ensure!(apply(&text).await?.bound.is_empty());
        fleet.settled().await;
        let entries = Results::default().read(&fleet).await?;
        for policy in ["policies/one", "policies/two", "team/other"] {
            for cluster in ["east", "west"] {
                let entry = entries
                    .iter()
                    .find(|entry| entry.subject == policy && entry.place == cluster);
                let entry = entry.with_context(|| format!("{policy} on {cluster}: {entries:?}"))?;
                ensure!(entry.state == State::Violation, "{entry:?}");
            }
        }
        // A policy that comes later joins those that are bound.
        let done = apply(&policy("late", NAMESPACE)).await?;
        ensure!(
            done.errors.is_empty() && done.bound == ["policies/late"],
            "{done:?}"
        );
        fleet.settled().await;
        let entries = Results::default().read(&fleet).await?;
        for policy in ["one", "late"] {
            ensure!(lines(&entries, policy).len() == 2, "{entries:?}");
        }
        Ok(())
    };
    run_during(&fleet, story).await
}
