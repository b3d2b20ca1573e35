//! CFG-75: templates that read the cluster.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Evaluator, same, spec, within};
use serde_json::json;

const SECRET: &str = "apiVersion: v1
kind: Secret
metadata: {name: source, namespace: case13-secrets}
data: {PASSWORD: MWYyZDFlMmU2N2Rm, USERNAME: YWRtaW4=}
";

const FROM_SECRET: &str = r#"apiVersion: v1
kind: Secret
metadata: {name: from-secret, namespace: case13-secrets}
data:
  PASSWORD: '{{ fromSecret "case13-secrets" "source" "PASSWORD" }}'
"#;

const LOOKED_UP: &str = r#"apiVersion: v1
kind: Secret
metadata: {name: from-secret, namespace: case13-secrets}
data:
  PASSWORD: '{{ (lookup "v1" "Secret" "case13-secrets" "source").data.PASSWORD }}'
"#;

const COPIED: &str = r#"apiVersion: v1
kind: Secret
metadata: {name: copied, namespace: case13-secrets}
data: '{{ copySecretData "case13-secrets" "source" }}'
"#;

pub(crate) async fn secrets(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case13-secrets"]).await?;
    world.apply(SECRET).await?;
    let read = |name: &'static str| {
        let world = &world;
        async move {
            world
                .get("v1", "Secret", Some("case13-secrets"), name)
                .await?
                .context(name)
        }
    };
    let from = world.policy("case13-from-secret");
    from.apply(&spec("enforce", &[("musthave", FROM_SECRET)]))
        .await?;
    from.is("Compliant").await?;
    same(
        "the password",
        &read("from-secret").await?.data["data"],
        &json!({ "PASSWORD": "MWYyZDFlMmU2N2Rm" }),
    )?;
    let copied = world.policy("case13-copied");
    copied
        .apply(&spec("enforce", &[("musthave", COPIED)]))
        .await?;
    copied.is("Compliant").await?;
    let all = json!({ "PASSWORD": "MWYyZDFlMmU2N2Rm", "USERNAME": "YWRtaW4=" });
    same("the whole data", &read("copied").await?.data["data"], &all)?;
    // The same asked in three ways.
    for (name, object) in [
        ("from", FROM_SECRET),
        ("lookup", LOOKED_UP),
        ("copy", COPIED),
    ] {
        let checks = world.policy(&format!("case13-checks-{name}"));
        checks
            .apply(&spec(
                "inform",
                &[("mustonlyhave", &format!("{object}type: Opaque\n"))],
            ))
            .await?;
        checks.is("Compliant").await?;
    }
    Ok(())
}

const NAMES: [(&str, &str); 4] = [
    ("claim", r#"{{ fromClusterClaim "case13.example.com" }}"#),
    ("map", r#"{{ fromConfigMap "case13-names" "names" "pod" }}"#),
    (
        "lookup-claim",
        r#"{{ (lookup "cluster.open-cluster-management.io/v1alpha1" "ClusterClaim" "" "case13.example.com").spec.value }}"#,
    ),
    (
        "lookup-map",
        r#"{{ (lookup "v1" "ConfigMap" "case13-names" "names").data.pod }}"#,
    ),
];

/// A Pod whose name is a scalar of several lines.
fn named(name: &str) -> String {
    format!(
        "apiVersion: v1
kind: Pod
metadata:
  name: |

    {name}

  namespace: case13-names
spec:
  containers: [{{name: nginx, image: nginx}}]
"
    )
}

pub(crate) async fn names(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case13-names"]).await?;
    world
        .apply(
            "apiVersion: cluster.open-cluster-management.io/v1alpha1
kind: ClusterClaim
metadata: {name: case13.example.com}
spec: {value: c13-pod}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: names, namespace: case13-names}
data: {pod: c13-pod}
",
        )
        .await?;
    let makes = world.policy("case13-makes");
    makes
        .apply(&spec("enforce", &[("musthave", &named(NAMES[0].1))]))
        .await?;
    makes.is("Compliant").await?;
    ensure!(
        world
            .get("v1", "Pod", Some("case13-names"), "c13-pod")
            .await?
            .is_some(),
        "no such Pod"
    );
    for (name, template) in NAMES {
        let checks = world.policy(&format!("case13-name-{name}"));
        checks
            .apply(&spec("inform", &[("musthave", &named(template))]))
            .await?;
        let observed = checks
            .reports("pods [c13-pod] found as specified in namespace case13-names")
            .await?;
        same("the compliance", observed.compliance(), "Compliant")?;
    }
    Ok(())
}

fn map(name: &str, value: &str) -> String {
    format!(
        "apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}, namespace: case13}}
data: {{value: '{value}'}}
"
    )
}

pub(crate) async fn bad_templates(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case13"]).await?;
    let unterminated = world.policy("case13-unterminated");
    let text = map("unterminated", r#"{{ fromConfigMap "default" "x" "y" "#);
    unterminated
        .apply(&spec("enforce", &[("musthave", &text)]))
        .await?;
    let observed = unterminated.is("NonCompliant").await?;
    same(
        "the reason",
        observed.reason(0),
        "Error processing template",
    )?;

    let wrong = world.policy("case13-wrong-arguments");
    let text = map("wrong", r#"{{ fromConfigMap "default" }}"#);
    let good = map("beside", "good");
    wrong
        .apply(&spec(
            "enforce",
            &[("musthave", &text), ("musthave", &good)],
        ))
        .await?;
    let observed = wrong
        .until("both are evaluated", |observed| {
            observed.details() == 2 && observed.compliance_of(1) == "Compliant"
        })
        .await?;
    same("the bad one", observed.compliance_of(0), "NonCompliant")?;
    same(
        "the reason",
        observed.reason(0),
        "Error processing template",
    )?;
    ensure!(
        observed
            .message(0)
            .contains("wrong number of args for fromConfigMap"),
        "{observed}"
    );
    Ok(())
}

pub(crate) async fn follows(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case13"]).await?;
    world.apply(&map("source", "first")).await?;
    let policy = world.policy("case13-follows");
    let from = r#"apiVersion: v1
kind: ConfigMap
metadata: {name: follower, namespace: case13}
data:
  value: |
    {{ fromConfigMap "case13" "source" "value" }}
"#;
    let copy = r#"apiVersion: v1
kind: ConfigMap
metadata: {name: copy, namespace: case13}
data: '{{ copyConfigMapData "case13" "source" }}'
"#;
    policy
        .apply(&spec("enforce", &[("musthave", from), ("musthave", copy)]))
        .await?;
    policy.is("Compliant").await?;
    for value in ["first", "second"] {
        world.apply(&map("source", value)).await?;
        for (name, want) in [
            ("follower", format!("{value}\n")),
            ("copy", value.to_owned()),
        ] {
            within(format!("{name} has {value}"), || async {
                let live = world
                    .get("v1", "ConfigMap", Some("case13"), name)
                    .await?
                    .context(name)?;
                ensure!(
                    live.data["data"]["value"] == want,
                    "it has {}",
                    live.data["data"]
                );
                Ok(())
            })
            .await?;
        }
    }
    policy.is("Compliant").await?;
    Ok(())
}

pub(crate) async fn error_keeps_objects(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case13"]).await?;
    let prunes = |value: &str| {
        spec("enforce", &[("musthave", &map("kept", value))]) + "pruneObjectBehavior: DeleteAll\n"
    };
    let policy = world.policy("case13-kept");
    policy.apply(&prunes("fine")).await?;
    policy.is("Compliant").await?;
    policy
        .apply(&prunes(r#"{{ fromConfigMap "case13" "absent" "value" }}"#))
        .await?;
    policy.is("NonCompliant").await?;
    reeve_scenarios::steadily("the object is there", || async {
        same(
            "the compliance",
            policy.observed().await?.compliance(),
            "NonCompliant",
        )?;
        world
            .get("v1", "ConfigMap", Some("case13"), "kept")
            .await?
            .context("it is gone")?;
        Ok(())
    })
    .await
}

pub(crate) async fn denied(world: Arc<Evaluator>) -> Result<()> {
    let policy = world.policy("case13-denied");
    let pod = r#"apiVersion: v1
kind: Pod
metadata:
  name: 'c13-pods-{{ env "HOME" }}'
  namespace: default
"#;
    policy.apply(&spec("enforce", &[("musthave", pod)])).await?;
    let observed = policy.is("NonCompliant").await?;
    same(
        "the message",
        observed.message(0),
        r#"failed to resolve the template {"apiVersion":"v1","kind":"Pod","metadata":{"name":"c13-pods-{{ env \"HOME\" }}","namespace":"default"}}: template: tmpl:4:20: executing "tmpl" at <env "HOME">: error calling env: use of denylisted template function: function 'env' is considered a security risk"#,
    )
}

/// A name without a namespace, whether the policy is watched or polled.
pub(crate) async fn any_namespace(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["tmpl-12-a", "tmpl-12-z"]).await?;
    let map = |namespace: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "tmpl-12", "namespace": namespace },
            "data": { "from": namespace },
        })
        .to_string()
    };
    world.apply(&map("tmpl-12-z")).await?;
    let copy = |name: &str| {
        format!(
            r#"apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}, namespace: tmpl-12-z}}
data: {{from: '{{{{ (lookup "v1" "ConfigMap" "" "tmpl-12").data.from }}}}'}}
"#
        )
    };
    let copies = ["tmpl-12-watched", "tmpl-12-polled"];
    for name in copies {
        let interval = match name {
            "tmpl-12-polled" => "evaluationInterval: {compliant: 1s, noncompliant: 1s}\n",
            _ => "",
        };
        let spec = spec("enforce", &[("musthave", &copy(name))]) + interval;
        world.policy(name).apply(&spec).await?;
    }
    let is = async |from: &str| {
        for name in copies {
            within(format!("{name} is from {from}"), || async {
                let found = world
                    .get("v1", "ConfigMap", Some("tmpl-12-z"), name)
                    .await?;
                let found = found.context("no copy")?;
                same("the copy", &found.data["data"], &json!({ "from": from }))
            })
            .await?;
        }
        anyhow::Ok(())
    };
    is("tmpl-12-z").await?;
    world.apply(&map("tmpl-12-a")).await?;
    is("tmpl-12-a").await?;
    world.delete(&map("tmpl-12-a")).await?;
    is("tmpl-12-z").await
}
