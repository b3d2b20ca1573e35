//! Built-in kinds and custom resources are read as a kube-apiserver of 1.36.1 reads them.

use super::{Types, decode, default, prune};
use serde_json::{Value, json};

fn built_in() -> Types {
    let schemas: Value =
        serde_json::from_str(include_str!("../../tests/fixtures/schemas.json")).unwrap();
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
fn wrong_types_have_the_messages_of_go() {
    for (data, expected) in [
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
        assert_eq!(error, format!("json: cannot unmarshal {expected}"));
    }
    for (spec, expected) in [
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
        assert_eq!(error, format!("json: cannot unmarshal {expected}"));
    }
}

#[test]
fn error_of_custom_unmarshaler_comes_first() {
    let spec = json!({ "replicas": "3", "template": { "metadata": { "creationTimestamp": "x" } } });
    let error = refused("apps.v1.Deployment", json!({ "spec": spec }));
    let expected = r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#;
    assert_eq!(error, expected);
    let error = refused("core.v1.ConfigMap", json!({ "binaryData": { "x": "!!" } }));
    assert_eq!(error, "illegal base64 data at input byte 0");
}

#[test]
fn decoded_object_has_the_fields_that_go_serializes() {
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
fn unknown_fields_are_pruned_and_reported() {
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

fn custom(spec: &Value) -> Value {
    json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": spec } } })
}

#[test]
fn unknown_fields_of_custom_resources_are_reported_in_order() {
    let schema = custom(&json!({
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
fn defaults_replace_missing_fields_and_non_nullable_nulls() {
    let (types, root) = Types::from_crd(&custom(&json!({
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
    let (types, root) = Types::from_crd(&custom(&json!({
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

/// What is wrong, in the order of the texts: the server's own order is that of a hash.
fn wrong(spec: &Value, value: &Value) -> Vec<String> {
    let (types, root) = Types::from_crd(&custom(spec)).unwrap();
    let errors = super::validate(&types, root, &json!({ "spec": value }), None);
    let mut texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.sort();
    texts
}

#[test]
fn invalid_values_have_the_messages_of_kubernetes() {
    let schema = json!({
        "all1": { "type": "object", "allOf": [{ "required": ["a"] }, { "required": ["b"] }] },
        "any1": { "type": "object", "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] },
        "arr": { "type": "array", "maxItems": 3, "items": { "type": "object" } },
        "e": { "type": "string", "enum": ["a", "b"] },
        "ex": { "type": "integer", "maximum": 10, "exclusiveMaximum": true },
        "f": { "type": "integer", "multipleOf": 2 },
        "i": { "type": "integer", "maximum": 10, "multipleOf": 2 },
        "i32": { "type": "integer", "format": "int32" },
        "ios": { "x-kubernetes-int-or-string": true },
        "lm": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": { "type": "object", "required": ["k"], "properties": { "k": { "type": "string" } } } },
        "map": { "type": "object", "maxProperties": 1, "additionalProperties": { "type": "string" } },
        "n": { "type": "number", "multipleOf": 0.5 },
        "not": { "type": "string", "not": { "enum": ["bad"] } },
        "one1": { "type": "object", "oneOf": [{ "required": ["a"] }, { "required": ["b"] }] },
        "set": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" },
        "long": { "type": "string", "maxLength": 5, "pattern": "^[a-z]+$" },
        "short": { "type": "string", "minLength": 2, "pattern": "^[a-z]+$" },
        "pat": { "type": "string", "pattern": "^[a-z]+$" },
        "time": { "type": "string", "format": "date-time" },
        "emb": { "type": "object", "x-kubernetes-embedded-resource": true },
    });
    let value = json!({ "all1": {}, "any1": {}, "arr": [{}, {}, {}, {}], "e": 3, "ex": 10, "f": 2.5, "i": 11,
        "i32": 99_999_999_999_i64, "ios": 1.5, "lm": [{ "k": "a" }, { "k": "a" }, { "k": "a" }, {}],
        "map": { "a": "", "b": "" }, "n": 1, "not": "bad", "one1": { "a": "", "b": "" }, "set": ["a", "a"],
        "long": "A123456", "short": "", "pat": "A", "time": "x", "emb": { "apiVersion": "a/b/c" } });
    let mut expected = vec![
        r"spec.all1.a: Required value",
        r"spec.all1.b: Required value",
        r#"<nil>: Invalid value: "": "spec.all1" must validate all the schemas (allOf). None validated"#,
        r#"<nil>: Invalid value: "": "spec.any1" must validate at least one schema (anyOf)"#,
        r"spec.any1.a: Required value",
        r"spec.arr: Too many: 4: must have at most 3 items",
        r#"spec.e: Invalid value: "integer": spec.e in body must be of type string: "integer""#,
        r#"spec.e: Unsupported value: 3: supported values: "a", "b""#,
        r"spec.ex: Invalid value: 10: spec.ex in body should be less than 10",
        r#"spec.f: Invalid value: "number": spec.f in body must be of type integer: "number""#,
        r#"<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.f"#,
        r"spec.f: Invalid value: 2.5: spec.f in body should be a multiple of 2",
        r"spec.i: Invalid value: 11: spec.i in body should be a multiple of 2",
        r"spec.i: Invalid value: 11: spec.i in body should be less than or equal to 10",
        r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.i32"#,
        r#"spec.ios: Invalid value: "number": spec.ios in body must be of type integer,string: "number""#,
        r#"spec.lm[1]: Duplicate value: {"k":"a"}"#,
        r"spec.lm[3].k: Required value",
        r"spec.map: Too many: 2: must have at most 1 item",
        r"spec.n: Invalid value: 0: factor MultipleOf declared for spec.n must be positive: 0",
        r#"<nil>: Invalid value: "": "spec.not" must not validate the schema (not)"#,
        r#"<nil>: Invalid value: "": "spec.one1" must validate one and only one schema (oneOf). Found 2 valid alternatives"#,
        r#"spec.set[1]: Duplicate value: "a""#,
        r"spec.long: Too long: may not be more than 5 bytes",
        r#"spec.short: Invalid value: "": spec.short in body should be at least 2 chars long"#,
        r#"spec.pat: Invalid value: "A": spec.pat in body should match '^[a-z]+$'"#,
        r#"spec.time: Invalid value: "x": spec.time in body must be of type date-time: "x""#,
        r#"spec.emb.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c"#,
        r"spec.emb.kind: Required value",
    ];
    expected.sort_unstable();
    assert_eq!(wrong(&schema, &value), expected);
}

#[test]
fn unchanged_invalid_values_are_ratcheted() {
    let schema = custom(&json!({
        "a": { "type": "string", "enum": ["x"] }, "b": { "type": "string" },
        "lm": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": { "type": "object", "properties": { "k": { "type": "string" }, "v": { "type": "string", "maxLength": 1 } } } },
    }));
    let (types, root) = Types::from_crd(&schema).unwrap();
    let old = json!({ "spec": { "a": "bad", "lm": [{ "k": "1", "v": "long" }] } });
    let new = json!({ "spec": { "a": "bad", "b": "new", "lm": [{ "k": "0" }, { "k": "1", "v": "long" }] } });
    assert_eq!(super::validate(&types, root, &new, Some(&old)), []);
    let new = json!({ "spec": { "a": "worse", "lm": [{ "k": "1", "v": "longer" }] } });
    assert_eq!(super::validate(&types, root, &new, Some(&old)).len(), 2);
}

fn rule_errors(value: &Value, old: Option<&Value>) -> Vec<String> {
    let schema: Value =
        serde_json::from_str(include_str!("../../tests/fixtures/rule.json")).unwrap();
    let (types, root) = Types::from_crd(&schema).unwrap();
    let whole = |spec: &Value| json!({ "metadata": { "name": "x" }, "spec": spec });
    let old = old.map(whole);
    let errors = super::validate(&types, root, &whole(value), old.as_ref());
    let mut texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.sort();
    texts
}

#[test]
fn violated_rules_have_the_messages_of_kubernetes() {
    let value = json!({ "c": 4, "b": "abcdef", "l": [{ "n": "a", "v": 200 }], "at": [1, 20], "m": { "k k": "bad" },
        "t": "2019-01-01T00:00:00Z", "d": "2h", "q": "2Gi", "ios": 3, "emb": { "apiVersion": "v1", "kind": "Podx" },
        "s": ["b"], "n": 1 });
    let mut expected = vec![
        "spec.c: Invalid value: c is big",
        r#"spec.d: Invalid value: "2h": failed rule: self < duration('1h')"#,
        r#"spec.q: Invalid value: "2Gi": failed rule: isQuantity(self) && quantity(self).isLessThan(quantity('1Gi'))"#,
        "spec.ios: Invalid value: 3: ios",
        "spec.emb: Invalid value: pods only",
        r#"spec.emb: Invalid value: "object": no such key: metadata evaluating rule: self.metadata.name.size() < 5"#,
        "spec.s: Invalid value: failed rule: self.all(x, x.startsWith('a'))",
        "spec.s: Invalid value: failed rule: 'a1' in self",
        "spec.l[0].v: Invalid value: 200: failed rule: self < 100",
        "spec.at[1]: Invalid value: 20: failed rule: self < 10",
        r#"spec.m[k k]: Invalid value: "bad": failed rule: self != 'bad'"#,
        "spec.n: Invalid value: 1: failed rule: self > 1.5",
        "spec.b: Required value: too long",
        r#"spec.t: Invalid value: "2019-01-01T00:00:00Z": failed rule: self > timestamp('2020-01-01T00:00:00Z')"#,
    ];
    expected.sort_unstable();
    assert_eq!(rule_errors(&value, None), expected);
    let mut expected = vec![
        "spec.n: Invalid value: 0.5: failed rule: self > 1.5",
        r#"spec.n: Invalid value: "number": division by zero evaluating rule: 1 / int(self) == 1"#,
    ];
    expected.sort_unstable();
    assert_eq!(rule_errors(&json!({ "n": 0.5 }), None), expected);
}

#[test]
fn transition_rules_see_old_self() {
    let old = json!({ "a": "1", "b": "abc", "l": [{ "n": "a", "v": 2 }], "at": [1] });
    let new = json!({ "a": "2", "b": "abd", "l": [{ "n": "b", "v": 1 }, { "n": "a", "v": 1 }], "at": [0] });
    assert_eq!(
        rule_errors(&new, Some(&old)),
        [
            r#"spec.b: Invalid value: "abd": b stays as it is"#,
            "spec.l[1].v: Invalid value: 1: grows",
            "spec: Invalid value: a is immutable",
        ]
    );
    assert_eq!(
        rule_errors(&json!({}), Some(&old)),
        ["spec: Invalid value: b stays"]
    );
    assert_eq!(rule_errors(&old, Some(&old)), [""; 0]);
    assert_eq!(rule_errors(&new, None), [""; 0]);
}

#[test]
fn rules_run_only_for_structurally_valid_objects() {
    assert_eq!(
        rule_errors(&json!({ "c": "x" }), None),
        [
            "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
            r#"spec.c: Invalid value: "string": spec.c in body must be of type integer: "string""#,
        ]
    );
}

/// Recorded by `tests/record/definitions.sh`.
#[test]
fn invalid_crds_are_refused_like_kubernetes() {
    let mut wrong = Vec::new();
    for line in include_str!("../../tests/fixtures/definitions.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let mut errors: Vec<String> = super::check_crd(&case["crd"])
            .iter()
            .map(|error| format!("{} {error}", error.cause.reason()))
            .collect();
        errors.sort();
        if json!(errors) != case["errors"] {
            wrong.push(format!(
                "got      {errors:#?}\nexpected {:#}",
                case["errors"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// One object a kind, as a kube-apiserver has written them.
#[test]
fn protobuf_of_kubernetes_is_decoded() {
    let types = built_in();
    for line in include_str!("../../tests/fixtures/written.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let id = types.named(case["type"].as_str().unwrap()).unwrap();
        let mut object = case["object"].clone();
        assert_eq!(prune(&types, id, &mut object), [""; 0]);
        decode(&types, id, &mut object).unwrap();
        assert_eq!(object, case["object"]);
    }
}

/// Any JSON, with names that the schemas know.
fn any_json() -> impl proptest::strategy::Strategy<Value = Value> {
    use proptest::prelude::*;
    let names = proptest::sample::select(vec![
        "metadata",
        "spec",
        "labels",
        "name",
        "a",
        "l",
        "n",
        "v",
        "s",
        "m",
        "emb",
        "ios",
        "t",
        "d",
        "q",
        "b",
        "c",
        "containers",
        "ports",
        "data",
        "$patch",
        "$retainKeys",
        "$setElementOrder/ports",
        "kind",
        "managedFields",
        "fieldsV1",
        "f:spec",
        "k:{",
        "limits",
        "resources",
        "finalizers",
        "ownerReferences",
        "creationTimestamp",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
        proptest::sample::select(vec![
            "delete",
            "replace",
            "1Gi",
            "-1m",
            "2020-01-01T00:00:00Z",
            "3h",
            "YQ=="
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map(names.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest::proptest! {
    #[test]
    fn arbitrary_input_does_not_panic(one in any_json(), other in any_json()) {
        use crate::{apply, patch};
        let schema: Value = serde_json::from_str(include_str!("../../tests/fixtures/rule.json")).unwrap();
        let (custom, root) = Types::from_crd(&schema).unwrap();
        let built_in = built_in();
        let writer = apply::FieldManager { name: "m".into(), api_version: "v1".into(), subresource: String::new(), now: "2020-01-01T00:00:00Z".into() };
        let kinds = [
            (&custom, root),
            (&built_in, built_in.named("io.k8s.api.core.v1.Pod").unwrap()),
            (&built_in, built_in.named("io.k8s.api.core.v1.Service").unwrap()),
        ];
        for (types, id) in kinds {
            let mut read = one.clone();
            prune(types, id, &mut read);
            let _ = decode(types, id, &mut read);
            default(types, id, &mut read);
            super::validate(types, id, &one, Some(&other));
            let _ = patch::json_patch(&one, &other);
            let _ = patch::merge_patch(&one, &other);
            let _ = patch::strategic(types, id, &one, &other);
            apply::track(types, Some(id), Some(&other), &mut read, &writer);
            let _ = apply::apply(&apply::ApplyRequest {
                types, id: Some(id), live: &one, desired: &other, manager: &writer,
                conflicts: apply::Conflicts::Refuse, reset: &[&["status"]],
            });
        }
        super::check_crd(&one);
        let _ = Types::from_crd(&one);
    }
}
