//! Built-in kinds and custom resources are read as a kube-apiserver of 1.36.1 reads them.

use reeve_apiserver::schema::{Types, decode, default, prune};
use serde_json::{Value, json};

fn built_in() -> Types {
    let schemas: Value = serde_json::from_str(include_str!("fixtures/schemas.json")).unwrap();
    Types::from_openapi(schemas.as_object().unwrap())
}

fn decoded(name: &str, mut value: Value) -> Result<Value, String> {
    let types = built_in();
    decode(&types, types.named(name).unwrap(), &mut value).map(|()| value)
}

fn refused(kind: &str, spec: Value) -> String {
    let name = format!("io.k8s.api.{kind}");
    decoded(&name, spec).unwrap_err()
}

#[test]
fn wrong_types_are_refused_with_go_s_words() {
    for (data, said) in [
        (
            json!({ "a": 1 }),
            "number into Go struct field ConfigMap.data of type string",
        ),
        (
            json!([]),
            "array into Go struct field ConfigMap.data of type map[string]string",
        ),
        (
            json!({ "a": {} }),
            "object into Go struct field ConfigMap.data of type string",
        ),
        (
            json!({ "a": true }),
            "bool into Go struct field ConfigMap.data of type string",
        ),
    ] {
        let error = refused("core.v1.ConfigMap", json!({ "data": data }));
        assert_eq!(error, format!("json: cannot unmarshal {said}"));
    }
    for (spec, said) in [
        (
            json!({ "replicas": "3" }),
            "string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            json!({ "replicas": 1.5 }),
            "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            json!({ "replicas": 99_999_999_999_i64 }),
            "number 99999999999 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            json!({ "selector": 1 }),
            "number into Go struct field DeploymentSpec.spec.selector of type v1.LabelSelector",
        ),
        (
            json!({ "strategy": { "type": 1 } }),
            "number into Go struct field DeploymentStrategy.spec.strategy.type of type v1.DeploymentStrategyType",
        ),
        (
            json!({ "strategy": { "rollingUpdate": { "maxSurge": true } } }),
            "bool into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32",
        ),
        (
            json!({ "template": { "spec": { "containers": {} } } }),
            "object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
        ),
        (
            json!({ "template": { "spec": { "containers": [1] } } }),
            "number into Go struct field PodSpec.spec.template.spec.containers of type v1.Container",
        ),
        (
            json!({ "template": { "spec": { "containers": [{ "name": 5 }] } } }),
            "number into Go struct field Container.spec.template.spec.containers.name of type string",
        ),
        (
            json!({ "template": { "metadata": { "labels": { "a": 1 } } } }),
            "number into Go struct field ObjectMeta.spec.template.metadata.labels of type string",
        ),
    ] {
        let error = refused("apps.v1.Deployment", json!({ "spec": spec }));
        assert_eq!(error, format!("json: cannot unmarshal {said}"));
    }
}

#[test]
fn an_error_of_a_type_that_reads_itself_wins() {
    let spec = json!({ "replicas": "3", "template": { "metadata": { "creationTimestamp": "x" } } });
    let error = refused("apps.v1.Deployment", json!({ "spec": spec }));
    let said = r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#;
    assert_eq!(error, said);
    let error = refused("core.v1.ConfigMap", json!({ "binaryData": { "x": "!!" } }));
    assert_eq!(error, "illegal base64 data at input byte 0");
}

#[test]
fn what_go_would_not_write_is_gone_and_what_it_always_writes_is_there() {
    let name = "io.k8s.api.core.v1.ConfigMap";
    let given = json!({ "metadata": { "name": "a", "labels": {}, "creationTimestamp": null },
        "data": { "a": null }, "binaryData": {}, "immutable": false, "other": 1 });
    let kept = json!({ "metadata": { "name": "a" }, "data": { "a": "" }, "immutable": false });
    assert_eq!(decoded(name, given).unwrap(), kept);
    assert_eq!(
        decoded("io.k8s.api.rbac.v1.Role", json!({ "metadata": {} })).unwrap(),
        json!({ "metadata": {}, "rules": null })
    );
    let given =
        json!({ "spec": { "containers": [null], "hostNetwork": false, "nodeSelector": {} } });
    let kept = json!({ "metadata": {}, "status": {},
        "spec": { "containers": [{ "name": "", "resources": {} }] } });
    assert_eq!(decoded("io.k8s.api.core.v1.Pod", given).unwrap(), kept);
}

#[test]
fn unknown_fields_are_dropped_and_told() {
    let types = built_in();
    let id = types.named("io.k8s.api.core.v1.Pod").unwrap();
    let mut pod = json!({ "a.b": 3, "metadata": { "name": "a", "uuid": 3 },
        "spec": { "NodeName": "x", "containers": [{ "name": "x", "b": 1, "ports": [{ "zip": 1 }] }] } });
    let unknown = prune(&types, id, &mut pod);
    assert_eq!(
        unknown,
        [
            "a.b",
            "metadata.uuid",
            "spec.NodeName",
            "spec.containers[0].b",
            "spec.containers[0].ports[0].zip"
        ]
    );
    assert_eq!(
        pod["spec"],
        json!({ "containers": [{ "name": "x", "ports": [{}] }] })
    );
}

fn custom(spec: Value) -> Value {
    json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": spec } } })
}

#[test]
fn unknown_fields_of_custom_resources_are_told_in_the_server_s_order() {
    let schema = custom(json!({
        "s": { "type": "string" },
        "lm": { "type": "array", "items": { "type": "object", "properties": { "k": { "type": "string" } } } },
        "mapo": { "type": "object", "additionalProperties": { "type": "object" } },
        "po": { "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": { "k": { "type": "object" } } },
        "emb": { "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
    }));
    let (types, root) = Types::from_crd(&schema).unwrap();
    let mut thing = json!({ "aa": 1, "zz": 1, "metadata": { "name": "a", "x": 1 }, "spec": {
        "s": { "a": 1 }, "lm": [{ "k": "a", "zz": 1 }], "mapo": { "q": { "b": 1 }, "Q.r": { "c": 1 } },
        "po": { "z": 1, "k": { "y": 1 } }, "emb": { "q": 1, "metadata": { "x": 1 } }, "unk": null,
    } });
    let unknown = prune(&types, root, &mut thing);
    assert_eq!(
        unknown,
        [
            "metadata.x",
            "aa",
            "spec.lm[0].zz",
            "spec.mapo.Q.r.c",
            "spec.mapo.q.b",
            "spec.po.k.y",
            "spec.s.a",
            "spec.unk",
            "zz",
            "spec.emb.metadata.x"
        ]
    );
    assert_eq!(thing["spec"]["po"], json!({ "z": 1, "k": {} }));
}

#[test]
fn defaults_take_the_place_of_what_is_missing_and_of_wrong_nulls() {
    let (types, root) = Types::from_crd(&custom(json!({
        "must": { "type": "string" },
        "d": { "type": "string", "default": "dd" },
        "nuld": { "type": "string", "nullable": true, "default": "x" },
        "dobj": { "type": "object", "default": {}, "properties": { "a": { "type": "string", "default": "aa" } } },
        "any": { "x-kubernetes-preserve-unknown-fields": true },
        "arr": { "type": "array", "items": { "type": "object", "properties": { "a": { "type": "string", "default": "z" } } } },
        "map": { "type": "object", "additionalProperties": { "type": "string" } },
    }))).unwrap();
    let mut thing = json!({ "spec": { "must": null, "d": null, "nuld": null, "any": null,
        "arr": [{ "a": null }, null, {}], "map": { "a": null, "b": "x" } } });
    default(&types, root, &mut thing);
    assert_eq!(
        thing["spec"],
        json!({ "d": "dd", "nuld": null, "dobj": { "a": "aa" }, "arr": [{ "a": "z" }, null, { "a": "z" }],
            "map": { "b": "x" } })
    );
}

#[test]
fn metadata_of_custom_resources_is_typed() {
    let (types, root) = Types::from_crd(&custom(json!({
        "emb": { "type": "object", "x-kubernetes-embedded-resource": true },
    })))
    .unwrap();
    let mut wrong = json!({ "metadata": { "labels": { "a": 1 } } });
    assert_eq!(
        decode(&types, root, &mut wrong).unwrap_err(),
        "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
    );
    let mut wrong = json!({ "spec": { "emb": { "metadata": { "labels": { "a": 1 } } } } });
    assert_eq!(
        decode(&types, root, &mut wrong).unwrap_err(),
        r#"spec.emb.metadata: Invalid value: {"labels":{"a":1}}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"#
    );
}
