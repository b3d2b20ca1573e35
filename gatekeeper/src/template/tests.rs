use serde_json::json;

use super::*;

fn template(version: &str) -> Json {
    json!({
        "apiVersion": format!("templates.gatekeeper.sh/{version}"),
        "kind": "ConstraintTemplate",
        "metadata": {"name": "probe", "labels": {"a": "b"}},
        "spec": {
            "crd": {"spec": {"names": {"kind": "Probe"}}},
            "targets": [{"target": TARGET, "rego": "package a"}],
        },
    })
}

fn with_schema(version: &str, schema: &Json) -> Result<ConstraintTemplate, TemplateError> {
    let mut template = template(version);
    template["spec"]["crd"]["spec"]["validation"] = json!({"openAPIV3Schema": schema});
    ConstraintTemplate::parse(&template)
}

#[test]
fn gk_101_name_is_the_kind_in_lower_case() {
    let mut other = template("v1");
    other["metadata"]["name"] = json!("other");
    assert_eq!(
        ConstraintTemplate::parse(&other).unwrap_err().message,
        "invalid ConstraintTemplate: the ConstraintTemplate's name \"other\" is not equal to the lowercase of CRD's Kind: \"probe\""
    );
}

#[test]
fn gk_105_only_v1_demands_types() {
    let untyped = json!({"properties": {"a": {"type": "string"}}});
    assert_eq!(
        with_schema("v1", &untyped).unwrap_err().message,
        "invalid ConstraintTemplate: spec.validation.openAPIV3Schema.properties[spec].properties[parameters].type: Required value: must not be empty for specified object fields"
    );
    for version in ["v1beta1", "v1alpha1"] {
        let parameters = with_schema(version, &untyped).unwrap().parameters;
        assert_eq!(
            parameters,
            Some(json!({
                "properties": {"a": {"type": "string"}},
                "x-kubernetes-preserve-unknown-fields": true,
            }))
        );
    }
}

#[test]
fn gk_105_items_of_a_text_are_an_empty_schema() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "array", "items": "string"}}});
    let error = with_schema("v1", &schema).unwrap_err().message;
    assert!(
        error.contains("properties[a].items.type: Required value"),
        "{error}"
    );
    let legacy = with_schema("v1beta1", &schema).unwrap().parameters.unwrap();
    let items = &legacy["properties"]["a"]["items"];
    assert_eq!(
        items,
        &json!({"x-kubernetes-preserve-unknown-fields": true})
    );
}

#[test]
fn gk_106_crd_has_both_versions_and_the_labels() {
    let crd = crd(&ConstraintTemplate::parse(&template("v1")).unwrap());
    assert_eq!(crd["metadata"]["name"], "probe.constraints.gatekeeper.sh");
    assert_eq!(
        crd["metadata"]["labels"],
        json!({"a": "b", "gatekeeper.sh/constraint": "yes"})
    );
    assert_eq!(crd["spec"]["versions"][0]["name"], "v1beta1");
    assert_eq!(crd["spec"]["versions"][1]["storage"], false);
    let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    assert!(spec["properties"].get("parameters").is_none());
}

#[test]
fn needed_objects_are_read_from_the_annotation() {
    let mut object = template("v1");
    object["metadata"]["annotations"] = json!({
        SYNC_ANNOTATION: "\"[[{\"groups\": [\"\"], \"versions\": [\"v1\"], \"kinds\": [\"Service\"]}]]\"",
    });
    let template = ConstraintTemplate::parse(&object).unwrap();
    assert_eq!(template.requires_sync[0][0].kinds, ["Service"]);
    object["metadata"]["annotations"] = json!({SYNC_ANNOTATION: "{"});
    assert!(ConstraintTemplate::parse(&object).is_err());
}

#[test]
fn operations_filter_requests_by_name() {
    let mut object = template("v1");
    object["spec"]["targets"][0]["operations"] = json!(["CREATE"]);
    let template = ConstraintTemplate::parse(&object).unwrap();
    assert!(template.is_for_operation("CREATE"));
    assert!(!template.is_for_operation("DELETE"));
}

#[test]
fn wrong_documents_are_refused_without_a_panic() {
    for document in [
        json!(null),
        json!([]),
        json!({"apiVersion": 1, "kind": 2}),
        json!({"apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "spec": 1}),
        json!({"apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "spec": {"targets": {}, "crd": []}}),
    ] {
        assert!(ConstraintTemplate::parse(&document).is_err());
    }
}

#[test]
fn gk_164_list_without_items_may_have_anything_in_a_legacy_schema() {
    let preserving = json!({"x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"a": {"type": "array"}}});
    let schema = crate::schema::preserving(&schema);
    assert_eq!(schema["properties"]["a"]["items"], preserving);
    let typed = json!({"type": "array", "items": {"type": "string"}});
    assert_eq!(crate::schema::preserving(&typed), typed);
}
