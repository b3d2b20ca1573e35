//! CFG-176: a field that the live object does not have, against null, zero and empty values. The API server decides.

use std::fmt;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Evaluator, serve, spec, within};
use serde_json::{Value, json};

const NAMESPACE: &str = "absences";

/// A kind that stores every field, and one that does so with a status subresource.
const CRDS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.absences.example.com}
spec:
  group: absences.example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: reportedthings.absences.example.com}
spec:
  group: absences.example.com
  scope: Namespaced
  names: {kind: ReportedThing, plural: reportedthings, singular: reportedthing, listKind: ReportedThingList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

/// A live object, and what a policy desires of it.
struct Cell {
    compliance_type: &'static str,
    kind: &'static str,
    live: Value,
    desired: Value,
    expected: &'static str,
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            compliance_type,
            kind,
            live,
            desired,
            ..
        } = self;
        write!(
            formatter,
            "{compliance_type} {kind} {desired}, where there is {live}"
        )
    }
}

impl Cell {
    fn object(&self, index: usize, content: &Value) -> Value {
        let api_version = match self.kind {
            "NetworkPolicy" => "networking.k8s.io/v1",
            "Pod" | "ConfigMap" | "Service" => "v1",
            _ => "absences.example.com/v1",
        };
        let mut object = json!({
            "apiVersion": api_version, "kind": self.kind,
            "metadata": {"name": format!("t{index}"), "namespace": NAMESPACE},
        });
        for (key, value) in content.as_object().into_iter().flatten() {
            object[key] = value.clone();
        }
        object
    }
}

/// The values of CFG-176, and whether mustonlyhave takes an absent field for it.
fn values() -> [(Value, bool); 6] {
    [
        (Value::Null, false),
        (json!(0), false),
        (json!(false), false),
        (json!([]), true),
        (json!(""), false),
        (json!({}), false),
    ]
}

/// Kinds that store what they are sent.
fn custom_resources() -> Vec<Cell> {
    let live = json!({"spec": {"b": 1, "items": [{"name": "n"}]}, "status": {"b": 1}});
    let mut cells = Vec::new();
    for (value, is_exact) in values() {
        for compliance_type in ["musthave", "mustonlyhave"] {
            let with = |place: &str| {
                let mut desired = live.clone();
                if let Some((at, field)) = place.rsplit_once('/')
                    && let Some(parent) = desired.pointer_mut(at)
                {
                    parent[field] = value.clone();
                }
                desired
            };
            for place in ["/a", "/spec/a", "/spec/items/0/a", "/status/a"] {
                let is_equal = is_exact && compliance_type == "mustonlyhave" && place != "/a";
                cells.push(Cell {
                    compliance_type,
                    kind: "Thing",
                    live: live.clone(),
                    desired: with(place),
                    expected: if is_equal {
                        "Compliant"
                    } else {
                        "NonCompliant"
                    },
                });
            }
            // The status of this kind cannot be updated with the rest: what may be a default counts as one.
            let may_be_default = value != json!("") && value != json!({});
            cells.push(Cell {
                compliance_type,
                kind: "ReportedThing",
                live: live.clone(),
                desired: with("/status/a"),
                expected: if may_be_default {
                    "Compliant"
                } else {
                    "NonCompliant"
                },
            });
        }
    }
    cells
}

/// Kinds of Kubernetes, which drop values that are the default.
fn core_kinds() -> Vec<Cell> {
    let network = json!({"spec": {"podSelector": {}, "policyTypes": ["Ingress"]}});
    let service = json!({"spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}});
    let pod = json!({"spec": {"containers": [{"name": "c", "image": "example.com/c:1"}]}});
    let cell = |kind, live: &Value, desired| Cell {
        compliance_type: "musthave",
        kind,
        live: live.clone(),
        desired,
        expected: "Compliant",
    };
    vec![
        cell("NetworkPolicy", &network, json!({"spec": {"ingress": []}})),
        cell("Service", &service, json!({"spec": {"externalIPs": []}})),
        cell(
            "Service",
            &service,
            json!({"spec": {"ports": [{"port": 80, "nodePort": 0}]}}),
        ),
        cell("Pod", &pod, json!({"spec": {"hostIPC": false}})),
        cell("Pod", &pod, json!({"spec": {"nodeSelector": {}}})),
        cell("Pod", &pod, json!({"spec": {"hostname": ""}})),
        cell(
            "Pod",
            &pod,
            json!({"spec": {"containers": [{"name": "c", "args": []}]}}),
        ),
        cell("ConfigMap", &json!({}), json!({"data": {}})),
        cell("ConfigMap", &json!({}), json!({"immutable": null})),
        Cell {
            expected: "NonCompliant",
            ..cell(
                "ConfigMap",
                &json!({"data": {"b": "1"}}),
                json!({"data": {"a": ""}}),
            )
        },
    ]
}

pub(crate) async fn decided_by_the_api_server(world: Arc<Evaluator>) -> Result<()> {
    serve(world.plane(), CRDS).await?;
    world.namespaces(&[NAMESPACE]).await?;
    // The Pods need it, and no controller makes it.
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": NAMESPACE}
    });
    world.apply(&account.to_string()).await?;
    let cells: Vec<Cell> = custom_resources().into_iter().chain(core_kinds()).collect();
    for (index, cell) in cells.iter().enumerate() {
        world
            .apply(&cell.object(index, &cell.live).to_string())
            .await?;
        if cell.kind == "ReportedThing" {
            let (api, name) = ("absences.example.com/v1", format!("t{index}"));
            let status = json!({"status": cell.live["status"]});
            world
                .patch_status(api, cell.kind, Some(NAMESPACE), &name, status)
                .await?;
        }
    }
    let templates: Vec<(&str, String)> = cells
        .iter()
        .enumerate()
        .map(|(index, cell)| {
            let object = cell.object(index, &cell.desired).to_string();
            (cell.compliance_type, object)
        })
        .collect();
    let templates: Vec<(&str, &str)> = templates
        .iter()
        .map(|(compliance_type, object)| (*compliance_type, object.as_str()))
        .collect();
    let policy = world.policy("absences");
    policy.apply(&spec("inform", &templates)).await?;
    within("each cell has its verdict", || async {
        let observed = policy.observed().await?;
        let wrong: Vec<String> = cells
            .iter()
            .enumerate()
            .filter(|(index, cell)| observed.compliance_of(*index) != cell.expected)
            .map(|(index, cell)| {
                let found = observed.compliance_of(index);
                format!("{cell}: {found}: {}", observed.message(index))
            })
            .collect();
        ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(())
    })
    .await?;
    // What is enforced is stored, and complies then.
    let stored = cells.iter().enumerate().filter(|(_, cell)| {
        cell.kind == "Thing"
            && cell.expected == "NonCompliant"
            && cell.desired["status"] == cell.live["status"]
    });
    let stored: Vec<(usize, &Cell)> = stored.collect();
    policy.remediate("enforce").await?;
    within("what is enforced complies", || async {
        let observed = policy.observed().await?;
        for (index, cell) in &stored {
            let found = observed.compliance_of(*index);
            ensure!(found == "Compliant", "{cell}: {}", observed.message(*index));
        }
        Ok(())
    })
    .await?;
    for (index, cell) in &stored {
        let name = format!("t{index}");
        let live = world.get("absences.example.com/v1", cell.kind, Some(NAMESPACE), &name);
        let live = live.await?.context("it is gone")?;
        ensure!(
            live.data["spec"] == cell.desired["spec"],
            "{cell}: {}",
            live.data
        );
    }
    Ok(())
}
