//! The catalogs: made-up operators, in the documents of `opm`. Each scenario has packages of its own, because the kinds of
//! an operator belong to one installation on the whole cluster.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The image that runs, and the one that nobody can pull.
pub(crate) const RUNS: &str = "sleep";
pub(crate) const NEVER: &str = "never";

/// A version of an operator.
#[derive(Clone)]
pub(crate) struct Bundle {
    version: String,
    replaces: Option<String>,
    /// Whether one installation may serve all namespaces.
    all_namespaces: bool,
    image: &'static str,
    /// The packages that it needs.
    requires: Vec<String>,
}

impl Bundle {
    pub(crate) fn new(version: &str) -> Self {
        Self {
            version: version.to_owned(),
            replaces: None,
            all_namespaces: true,
            image: RUNS,
            requires: Vec::new(),
        }
    }

    /// It upgrades another version.
    pub(crate) fn replaces(mut self, version: &str) -> Self {
        self.replaces = Some(version.to_owned());
        self
    }

    /// It serves its own namespace only.
    pub(crate) fn own_namespace(mut self) -> Self {
        self.all_namespaces = false;
        self
    }

    /// Its Deployment never gets ready.
    pub(crate) fn never_ready(mut self) -> Self {
        self.image = NEVER;
        self
    }

    /// It needs another package.
    pub(crate) fn requires(mut self, package: &str) -> Self {
        self.requires.push(package.to_owned());
        self
    }

    fn document(&self, package: &str) -> Value {
        let object = |value: &Value| {
            let data = STANDARD.encode(value.to_string());
            json!({"type": "olm.bundle.object", "value": {"data": data}})
        };
        let of_package = json!({"packageName": package, "version": self.version});
        let provided = json!({"group": group(package), "version": "v1", "kind": "Thing"});
        let mut properties = vec![
            json!({"type": "olm.package", "value": of_package}),
            json!({"type": "olm.gvk", "value": provided}),
            object(&self.csv(package)),
            object(&crd(package)),
        ];
        properties.extend(self.requires.iter().map(|name| {
            let required = json!({"packageName": name, "versionRange": ">=0.0.1"});
            json!({"type": "olm.package.required", "value": required})
        }));
        json!({
            "schema": "olm.bundle", "package": package, "name": name(package, &self.version),
            "properties": properties,
        })
    }

    fn csv(&self, package: &str) -> Value {
        let labels = json!({"operator": package});
        let deployment = json!({
            "replicas": 1, "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "containers": [{
                        "name": "manager", "image": format!("registry.example.com/{}:v1", self.image),
                        "args": ["infinity"],
                    }],
                },
            },
        });
        let mode = |type_: &str, supported: bool| json!({"type": type_, "supported": supported});
        json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": {
                "name": name(package, &self.version),
                "annotations": {"operatorframework.io/suggested-namespace": namespace(package)},
            },
            "spec": {
                "displayName": package, "version": self.version,
                "replaces": self.replaces.as_ref().map(|replaced| name(package, replaced)),
                "installModes": [
                    mode("OwnNamespace", true), mode("SingleNamespace", true),
                    mode("MultiNamespace", false), mode("AllNamespaces", self.all_namespaces),
                ],
                "customresourcedefinitions": {"owned": [{
                    "name": format!("things.{}", group(package)), "version": "v1", "kind": "Thing",
                }]},
                "install": {
                    "strategy": "deployment",
                    "spec": {"deployments": [{"name": package, "spec": deployment}]},
                },
            },
        })
    }
}

/// A package: its channels with their versions, oldest first. The first channel is the default.
pub(crate) struct Package {
    name: String,
    channels: Vec<(String, Vec<Bundle>)>,
    deprecations: Vec<Value>,
}

impl Package {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            channels: Vec::new(),
            deprecations: Vec::new(),
        }
    }

    /// A package with one channel `stable` of one version `0.0.3`.
    pub(crate) fn plain(name: &str) -> Self {
        Self::new(name).channel("stable", &[Bundle::new("0.0.3")])
    }

    pub(crate) fn channel(mut self, channel: &str, bundles: &[Bundle]) -> Self {
        self.channels.push((channel.to_owned(), bundles.to_vec()));
        self
    }

    /// Deprecates the package (an empty reference), a channel, or a bundle.
    pub(crate) fn deprecated(mut self, schema: &str, name: &str, message: &str) -> Self {
        let reference = match schema {
            "olm.package" => json!({"schema": schema}),
            _ => json!({"schema": schema, "name": name}),
        };
        let entry = json!({"reference": reference, "message": message});
        self.deprecations.push(entry);
        self
    }

    /// The documents of the package.
    pub(crate) fn documents(&self) -> Vec<Value> {
        let default = self.channels.first().map(|(channel, _)| channel);
        let mut documents = vec![json!({
            "schema": "olm.package", "name": self.name, "defaultChannel": default,
        })];
        let mut bundles: Vec<(String, Value)> = Vec::new();
        for (channel, of_channel) in &self.channels {
            let mut entries = Vec::new();
            for bundle in of_channel {
                let id = name(&self.name, &bundle.version);
                let replaced = bundle.replaces.as_ref();
                let mut entry = json!({"name": id});
                if let Some(replaced) = replaced {
                    entry["replaces"] = json!(name(&self.name, replaced));
                }
                entries.push(entry);
                if bundles.iter().all(|(known, _)| *known != id) {
                    bundles.push((id, bundle.document(&self.name)));
                }
            }
            documents.push(json!({
                "schema": "olm.channel", "package": self.name, "name": channel, "entries": entries,
            }));
        }
        documents.extend(bundles.into_iter().map(|(_, document)| document));
        if !self.deprecations.is_empty() {
            documents.push(json!({
                "schema": "olm.deprecations", "package": self.name, "entries": self.deprecations,
            }));
        }
        documents
    }
}

/// The name of a version.
pub(crate) fn name(package: &str, version: &str) -> String {
    format!("{package}.v{version}")
}

/// The namespace that a package suggests.
pub(crate) fn namespace(package: &str) -> String {
    format!("{package}-system")
}

fn group(package: &str) -> String {
    format!("{package}.example.com")
}

fn crd(package: &str) -> Value {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{}", group(package))},
        "spec": {
            "group": group(package), "scope": "Namespaced",
            "names": {"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": any},
            }],
        },
    })
}
