mod hardening;

use serde_json::{Value, json};

use super::*;
use crate::facts::{FORCE_ANNOTATION, Siblings};
use crate::testing::{annotated, cluster, configured, hosted, inputs};
use crate::values::overlay::Tree;

fn objects(inputs: &Inputs) -> Vec<Value> {
    render(inputs).unwrap().objects
}

fn find(objects: &[Value], kind: &str, name: &str) -> Option<Value> {
    let found = objects
        .iter()
        .find(|object| object["kind"] == kind && object["metadata"]["name"] == name);
    found.cloned()
}

fn deployment(inputs: &Inputs) -> Value {
    let objects = objects(inputs);
    let found = objects.iter().find(|object| object["kind"] == "Deployment");
    found.cloned().unwrap()
}

fn container(inputs: &Inputs) -> Value {
    deployment(inputs)["spec"]["template"]["spec"]["containers"][0].clone()
}

fn args(inputs: &Inputs) -> Vec<String> {
    serde_json::from_value(container(inputs)["args"].clone()).unwrap()
}

/// All objects but the CRDs, whose content the crate `api` tests.
fn whole(inputs: &Inputs) -> Vec<Value> {
    let mut objects = objects(inputs);
    for object in &mut objects {
        if object["kind"] == "CustomResourceDefinition" {
            object["spec"] = json!("…");
        }
    }
    objects
}

macro_rules! golden {
    ($($name:ident: $inputs:expr;)*) => {
        $(
            #[test]
            fn $name() {
                insta::assert_yaml_snapshot!(stringify!($name), whole(&$inputs));
            }
        )*
    };
}

fn openshift(addon: Addon) -> Inputs {
    let mut inputs = inputs(addon);
    inputs.cluster = cluster(&json!({
        "labels": { "vendor": "OpenShift", "openshiftVersion-major": "4" },
        "version": "v1.28.5+abc",
    }));
    inputs
}

fn on_hub(sync: bool) -> Inputs {
    let sync = if sync { "true" } else { "false" };
    annotated(
        Addon::Framework,
        &[
            (
                "addon.open-cluster-management.io/on-multicluster-hub",
                "True",
            ),
            (
                "policy.open-cluster-management.io/sync-policies-on-multicluster-hub",
                sync,
            ),
        ],
    )
}

fn every_knob(addon: Addon) -> Inputs {
    let mut inputs = configured(
        addon,
        json!({
            "agentInstallNamespace": "agents",
            "customizedVariables": [
                { "name": "logLevel", "value": "2" },
                { "name": "logEncoder", "value": "json" },
                { "name": "evaluationConcurrency", "value": "1" },
                { "name": "clientQPS", "value": "15" },
                { "name": "clientBurst", "value": "30" },
                { "name": "prometheusEnabled", "value": "true" },
                { "name": "tlsMinVersion", "value": "VersionTLS12" },
                { "name": "tlsCipherSuites", "value": "TLS_AES_128_GCM_SHA256" },
                { "name": "orphanClusterNamespace", "value": "true" },
                { "name": "managedKubeConfigSecret", "value": "external" },
            ],
            "nodePlacement": {
                "nodeSelector": { "kubernetes.io/os": "linux" },
                "tolerations": [{ "key": "a", "operator": "Exists", "effect": "NoExecute" }],
            },
            "proxyConfig": { "httpProxy": "http://p", "httpsProxy": "https://p", "noProxy": "a,b" },
            "registries": [{ "source": "quay.io/open-cluster-management", "mirror": "m.example" }],
            "resourceRequirements": [
                { "containerID": "*:*:*", "resources": { "limits": { "memory": "1Gi" } } },
            ],
        }),
    );
    inputs.addon.is_deleting = true;
    inputs
}

golden! {
    framework: inputs(Addon::Framework);
    framework_hosted: hosted(Addon::Framework);
    framework_openshift: openshift(Addon::Framework);
    framework_on_hub: on_hub(false);
    framework_on_hub_and_synced: on_hub(true);
    framework_every_knob: every_knob(Addon::Framework);
    config_policy: inputs(Addon::ConfigPolicy);
    config_policy_hosted: hosted(Addon::ConfigPolicy);
    config_policy_openshift: openshift(Addon::ConfigPolicy);
    config_policy_every_knob: every_knob(Addon::ConfigPolicy);
    standalone: inputs(Addon::Standalone);
}

#[test]
fn addon_71_default_arguments() {
    let args = args(&inputs(Addon::Framework));
    assert_eq!(
        args,
        [
            "--enable-lease=true",
            "--hub-cluster-configfile=/var/run/klusterlet/kubeconfig",
            "--leader-elect=false",
            "--log-encoder=console",
            "--log-level=0",
            "--v=0",
            "--evaluation-concurrency=2",
            "--client-max-qps=30",
            "--client-burst=45",
            "--cluster-namespace=c1",
        ]
    );
}

#[test]
fn addon_48_annotations_set_log_levels_and_rates() {
    let inputs = annotated(
        Addon::Framework,
        &[
            ("log-level", "8"),
            ("policy-evaluation-concurrency", "5"),
            ("client-qps", "50"),
        ],
    );
    let args = args(&inputs);
    for expected in [
        "--log-level=8",
        "--v=6",
        "--evaluation-concurrency=5",
        "--client-max-qps=50",
        "--client-burst=111",
    ] {
        assert!(
            args.iter().any(|arg| arg == expected),
            "{expected} in {args:?}"
        );
    }
}

#[test]
fn addon_58_1_node_placement_replaces_defaults() {
    let spec = |settings: Value| {
        let deployment = deployment(&configured(Addon::Framework, settings));
        deployment["spec"]["template"]["spec"].clone()
    };
    let toleration = json!([{ "key": "a", "operator": "Exists" }]);
    let placed = spec(json!({ "nodePlacement": {
        "nodeSelector": { "kubernetes.io/os": "linux" }, "tolerations": toleration,
    }}));
    assert_eq!(placed["tolerations"], toleration);
    assert_eq!(
        placed["nodeSelector"],
        json!({ "kubernetes.io/os": "linux" })
    );
    // An empty placement removes the defaults; an absent one keeps them.
    assert_eq!(
        spec(json!({ "nodePlacement": {} }))["tolerations"],
        json!([])
    );
    assert_eq!(spec(json!({}))["tolerations"].as_array().unwrap().len(), 2);
}

#[test]
fn addon_58_3_resources_are_of_last_matching_entry() {
    let resources = |addon, entries: Value| {
        let inputs = configured(addon, json!({ "resourceRequirements": entries }));
        container(&inputs).get("resources").cloned()
    };
    let memory = |amount: &str| json!({ "requests": { "memory": amount } });
    let entry = |id: &str, amount: &str| json!({ "containerID": id, "resources": memory(amount) });
    let all = entry("*:*:*", "32Mi");
    let own = entry("deployments:governance-policy-framework:*", "50Mi");
    let other = entry("deployments:config-policy-controller:*", "75Mi");
    let of = |entries| resources(Addon::Framework, entries);
    assert_eq!(of(json!([all, own, other])), Some(memory("50Mi")));
    assert_eq!(of(json!([own, all])), Some(memory("32Mi")));
    assert_eq!(of(json!([other])), None);
    let default = json!({ "requests": { "memory": "64Mi" }, "limits": { "memory": "512Mi" } });
    assert_eq!(of(json!([])), Some(default));
    let other = resources(Addon::ConfigPolicy, json!([other]));
    assert_eq!(other, Some(memory("75Mi")));
}

#[test]
fn addon_50_values_annotation_cannot_set_image() {
    let values = json!({
        "onMulticlusterHub": true,
        "global": { "imageOverrides": { "governance_policy_framework_addon": "ineffective" } },
    })
    .to_string();
    let key = "addon.open-cluster-management.io/values";
    let mut inputs = annotated(Addon::Framework, &[(key, &values), ("log-level", "8")]);
    assert_eq!(container(&inputs)["image"], "ineffective");
    inputs.environment = std::sync::Arc::new(crate::facts::Environment {
        framework_image: "forced".to_owned(),
        ..Default::default()
    });
    assert_eq!(container(&inputs)["image"], "forced");
    let args = args(&inputs);
    for expected in ["--on-multicluster-hub=true", "--log-level=8"] {
        assert!(
            args.iter().any(|arg| arg == expected),
            "{expected} in {args:?}"
        );
    }
    let broken = annotated(Addon::Framework, &[(key, "[1]")]);
    let error = render(&broken).unwrap_err().to_string();
    assert!(error.contains(key), "{error}");
    let type_error = annotated(Addon::Framework, &[(key, r#"{"replicas": "many"}"#)]);
    let error = render(&type_error).unwrap_err().to_string();
    assert_eq!(error, "the value replicas is \"many\", not a whole number");
}

#[test]
fn addon_60_customized_variables_of_configuration_policy_controller() {
    let inputs = configured(
        Addon::ConfigPolicy,
        json!({ "customizedVariables": [{ "name": "operatorPolicyDisabled", "value": "true" }] }),
    );
    assert!(
        !args(&inputs)
            .iter()
            .any(|arg| arg.contains("operator-policy"))
    );
    let args = args(&openshift(Addon::ConfigPolicy));
    assert!(args.contains(&"--operator-policy-default-namespace=openshift-operators".to_owned()));
}

#[test]
fn addon_52_hub_is_recognized_and_keeps_its_policies() {
    let mut inputs = inputs(Addon::Framework);
    inputs.cluster = cluster(&json!({ "claims": { "id.k8s.io": "1234" } }));
    inputs.hub_id = Some("1234".to_owned());
    let objects = objects(&inputs);
    assert!(find(&objects, "Namespace", "c1").is_none());
    assert!(find(&objects, "Pod", "governance-policy-framework-uninstall").is_none());
    let crd = "policies.policy.open-cluster-management.io";
    let crd = find(&objects, "CustomResourceDefinition", crd).unwrap();
    let orphan = "addon.open-cluster-management.io/deletion-orphan";
    assert_eq!(crd["metadata"]["annotations"][orphan], "");
    inputs.hub_id = Some("5678".to_owned());
    assert!(find(&super::render(&inputs).unwrap().objects, "Namespace", "c1").is_some());
    // Two clusters without an identity are not the same.
    inputs.cluster = cluster(&json!({}));
    inputs.hub_id = None;
    assert!(find(&super::render(&inputs).unwrap().objects, "Namespace", "c1").is_some());
}

#[test]
fn addon_67_3_namespace_of_policies_stays_while_other_addon_exists() {
    let orphan = "addon.open-cluster-management.io/deletion-orphan";
    let mut inputs = inputs(Addon::Framework);
    let name = "open-cluster-management-policies";
    let namespace = |inputs: &Inputs| find(&objects(inputs), "Namespace", name).unwrap();
    assert!(namespace(&inputs)["metadata"].get("annotations").is_none());
    inputs.siblings = Siblings {
        config_policy: Some("agents".to_owned()),
        standalone: None,
    };
    assert_eq!(namespace(&inputs)["metadata"]["annotations"][orphan], "");
}

#[test]
fn addon_42_configuration_changes_only_the_fields_it_sets() {
    let mut inputs = annotated(Addon::ConfigPolicy, &[("operator-policy-disabled", "true")]);
    inputs.config = configured(Addon::ConfigPolicy, json!({})).config;
    assert!(
        !args(&inputs)
            .iter()
            .any(|arg| arg.contains("operator-policy"))
    );
}

#[test]
fn addon_42_configuration_can_disable() {
    let mut inputs = openshift(Addon::Framework);
    inputs
        .addon
        .annotations
        .insert("log-level".to_owned(), "8".to_owned());
    inputs.config = configured(
        Addon::Framework,
        json!({ "customizedVariables": [
            { "name": "prometheusEnabled", "value": "false" },
            { "name": "logLevel", "value": "0" },
        ]}),
    )
    .config;
    let args = args(&inputs);
    assert!(!args.iter().any(|arg| arg.contains("metrics")), "{args:?}");
    assert!(args.contains(&"--log-level=0".to_owned()), "{args:?}");
    assert!(args.contains(&"--v=-1".to_owned()), "{args:?}");
}

#[test]
fn addon_48_2_rates_above_a_byte() {
    let of = |concurrency: &str| {
        let pairs = [("policy-evaluation-concurrency", concurrency)];
        args(&annotated(Addon::Framework, &pairs))
    };
    for (concurrency, burst) in [("1", 23), ("5", 111), ("12", 265), ("255", 5611)] {
        let expected = format!("--client-burst={burst}");
        assert!(of(concurrency).contains(&expected), "{concurrency}");
    }
    // The agent would exit on a value above the maximum of its flag.
    assert!(of("256").contains(&"--evaluation-concurrency=2".to_owned()));
}

#[test]
fn addon_49_invalid_annotation_has_no_effect_and_is_reported() {
    let inputs = annotated(
        Addon::ConfigPolicy,
        &[
            ("log-level", "loud"),
            ("client-qps", "-1"),
            ("operator-policy-disabled", "perhaps"),
            ("prometheus-metrics-enabled", "on"),
        ],
    );
    let rendered = render(&inputs).unwrap();
    insta::assert_yaml_snapshot!(rendered.ignored_settings);
    let args = args(&inputs);
    assert!(args.contains(&"--log-level=0".to_owned()) && args.contains(&"--v=0".to_owned()));
}

#[test]
fn addon_60_6_invalid_tls_settings_are_not_passed() {
    let of = |name: &str, value: &str| {
        let variables = json!([{ "name": name, "value": value }]);
        let inputs = configured(
            Addon::Framework,
            json!({ "customizedVariables": variables }),
        );
        let rendered = render(&inputs).unwrap();
        let tls = args(&inputs)
            .into_iter()
            .find(|arg| arg.starts_with("--tls"));
        (tls, rendered.ignored_settings.len())
    };
    let version = "--tls-min-version=VersionTLS13".to_owned();
    assert_eq!(of("tlsMinVersion", "VersionTLS13"), (Some(version), 0));
    assert_eq!(of("tlsMinVersion", "not-a-real-version"), (None, 1));
    let two = "TLS_AES_128_GCM_SHA256,TLS_RSA_WITH_AES_128_CBC_SHA";
    let suites = format!("--tls-cipher-suites={two}");
    assert_eq!(of("tlsCipherSuites", two), (Some(suites), 0));
    assert_eq!(of("tlsCipherSuites", "TLS_NONE"), (None, 1));
    assert_eq!(of("noSuchVariable", "x"), (None, 1));
}

#[test]
fn addon_74_probes_depend_on_version() {
    let of = |version: &str| {
        let mut inputs = inputs(Addon::Framework);
        inputs.cluster = cluster(&json!({ "version": version }));
        let container = container(&inputs);
        let delay = container["livenessProbe"]
            .get("initialDelaySeconds")
            .is_some();
        let pod = &deployment(&inputs)["spec"]["template"]["spec"]["securityContext"];
        (
            container.get("startupProbe").is_some(),
            delay,
            pod.get("seccompProfile").is_some(),
        )
    };
    assert_eq!(of("v1.28.5-eks-abc"), (true, false, true));
    assert_eq!(of("v1.24.1"), (true, false, false));
    assert_eq!(of("v1.19.2"), (false, true, false));
    assert_eq!(of(""), (true, false, true));
}

#[test]
fn addon_67_4_hosted_agent_has_no_objects_on_managed_cluster() {
    let location = "addon.open-cluster-management.io/hosted-manifest-location";
    for addon in [Addon::Framework, Addon::ConfigPolicy] {
        for object in objects(&hosted(addon)) {
            assert_eq!(
                object["metadata"]["labels"][location], "hosting",
                "{object}"
            );
        }
    }
}

#[test]
fn addon_37_empty_hosting_annotation_is_ignored() {
    let key = crate::facts::HOSTING_ANNOTATION;
    let inputs = annotated(Addon::Framework, &[(key, "")]);
    assert_eq!(inputs.addon.hosting("c1"), None);
    let itself = annotated(Addon::Framework, &[(key, "c1")]);
    assert_eq!(
        itself.addon.hosting("c1"),
        None,
        "nor is the cluster itself"
    );
    assert_eq!(inputs.namespace(), "open-cluster-management-agent-addon");
}

#[test]
fn addon_61_proxy_variables_exist_only_where_set() {
    let names = |inputs: &Inputs| -> Vec<String> {
        let env = container(inputs)["env"].as_array().cloned().unwrap();
        env.iter()
            .map(|variable| variable["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let plain = ["POD_NAME", "OPERATOR_NAME", "DEPLOYMENT_NAME"];
    assert_eq!(names(&inputs(Addon::Framework)), plain);
    let proxied = configured(
        Addon::Framework,
        json!({ "proxyConfig": { "noProxy": "a" } }),
    );
    assert_eq!(names(&proxied), [&plain[..], &["NO_PROXY"]].concat());
}

#[test]
fn addon_83_standalone_templating_must_share_the_namespace() {
    let mut inputs = inputs(Addon::Standalone);
    let namespace = "open-cluster-management-agent-addon";
    assert!(find(&objects(&inputs), "Namespace", namespace).is_some());
    inputs.siblings.config_policy = Some("elsewhere".to_owned());
    let error = render(&inputs).unwrap_err().to_string();
    assert!(
        error.contains("elsewhere") && error.contains(namespace),
        "{error}"
    );
    inputs.siblings.config_policy = Some(namespace.to_owned());
    assert!(render(&inputs).is_ok());
    let mut agent = super::tests::inputs(Addon::ConfigPolicy);
    let mounts = |inputs: &Inputs| args(inputs).iter().any(|arg| arg.contains("standalone"));
    assert!(!mounts(&agent));
    agent.siblings.standalone = Some("elsewhere".to_owned());
    assert!(
        !mounts(&agent),
        "a Secret of another namespace cannot be mounted"
    );
    agent.siblings.standalone = Some(namespace.to_owned());
    assert!(mounts(&agent));
}

#[test]
fn addon_80_name_override_is_in_selector() {
    let key = "addon.open-cluster-management.io/values";
    let values = r#"{"fullnameOverride": "other"}"#;
    let deployment = deployment(&annotated(Addon::ConfigPolicy, &[(key, values)]));
    let labels = &deployment["spec"]["template"]["metadata"]["labels"];
    assert_eq!(deployment["metadata"]["name"], "other");
    for (key, value) in deployment["spec"]["selector"]["matchLabels"]
        .as_object()
        .unwrap()
    {
        assert_eq!(&labels[key], value, "{key}");
    }
}

#[test]
fn addon_63_dependencies_come_first() {
    for inputs in [inputs(Addon::Framework), openshift(Addon::ConfigPolicy)] {
        let ranks: Vec<u8> = objects(&inputs).iter().map(rank).collect();
        assert!(ranks.is_sorted(), "{ranks:?}");
    }
}

#[test]
fn paused_addon_is_not_rendered() {
    for addon in Addon::ALL {
        let inputs = annotated(
            addon,
            &[("policy-addon-pause", "true"), (FORCE_ANNOTATION, "")],
        );
        assert_eq!(
            render(&inputs).unwrap_err().to_string(),
            "the Policy Addon controller is paused due to the policy-addon-pause annotation"
        );
    }
    assert!(
        render(&annotated(
            Addon::Framework,
            &[("policy-addon-pause", "True")]
        ))
        .is_ok()
    );
}

#[test]
fn every_object_has_a_unique_identity() {
    let cases = [
        every_knob(Addon::Framework),
        openshift(Addon::ConfigPolicy),
        hosted(Addon::Framework),
    ];
    for inputs in cases {
        let mut seen = std::collections::BTreeSet::new();
        for object in objects(&inputs) {
            let metadata: Tree = serde_json::from_value(object["metadata"].clone()).unwrap();
            assert!(
                metadata["name"].is_string() && object["apiVersion"].is_string(),
                "{object}"
            );
            assert!(
                seen.insert(crate::identity::Identity::of(&object)),
                "{object}"
            );
        }
    }
}
