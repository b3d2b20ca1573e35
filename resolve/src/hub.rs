//! Hub templates: what they may read, and what `.` is.

use std::collections::BTreeMap;
use std::rc::Rc;

use kube::core::GroupVersionKind;
use reeve_go_compat::json;
use reeve_go_compat::value::Value as Data;
use reeve_runtime::object::error_chain;
use reeve_template_reads::{Lookups as _, ReadCache};
use reeve_templates_engine::lookup::{ClusterScopedRule, Restrictions};
use reeve_templates_engine::resolver::{Config, Context, Input, Options, Resolver};
use serde_json::Value;

use crate::error::Error;
use crate::kinds::at;
use crate::messages;
use crate::source::Source;

/// What starts a hub template.
pub(crate) const START: &str = "{{hub";
const STOP: &str = "hub}}";
const GROUP: &str = "cluster.open-cluster-management.io";

/// The managed cluster for which hub templates are resolved.
pub(crate) struct ManagedCluster {
    name: String,
    labels: BTreeMap<String, String>,
}

impl ManagedCluster {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Reads the cluster's labels from the hub.
    pub(crate) async fn read(hub: &Source, name: &str) -> Result<Self, Error> {
        let failed = |why: String| Error::ManagedCluster {
            cluster: name.to_owned(),
            why,
        };
        let kind = GroupVersionKind::gvk(GROUP, "v1", "ManagedCluster");
        let served = hub.kind(&kind).await;
        let served = served.map_err(|error| failed(error_chain(&error)))?;
        let found = hub.get(&served, "", name).await.map_err(&failed)?;
        let missing = || failed(format!("managedclusters.{GROUP} {name:?} not found"));
        let found = found.ok_or_else(missing)?;
        Ok(Self {
            name: name.to_owned(),
            labels: strings(&found, "/metadata/labels"),
        })
    }
}

/// The namespace that hub templates of an object may read; none if they use a service account of their own.
pub(crate) fn namespace(object: &Value, argument: &str) -> Result<Option<String>, Error> {
    if !at(object, "/spec/hubTemplateOptions/serviceAccountName").is_empty() {
        return Ok(None);
    }
    let own = match at(object, "/kind") {
        "Policy" => at(object, "/metadata/namespace"),
        _ if argument.is_empty() => return Err(Error::Input(messages::HUB_NAMESPACE)),
        _ => "",
    };
    match (own, argument) {
        ("", "") => Err(Error::Input(messages::POLICY_NAMESPACE)),
        ("", only) | (only, "") => Ok(Some(only.to_owned())),
        (own, argument) if own == argument => Ok(Some(own.to_owned())),
        _ => Err(Error::Input(messages::OTHER_NAMESPACE)),
    }
}

/// Resolves the hub templates of a whole object.
pub(crate) fn resolve(
    object: &Value,
    cluster: &ManagedCluster,
    argument: &str,
    reads: &Rc<ReadCache<Source>>,
) -> Result<Value, Error> {
    let restrictions = match namespace(object, argument)? {
        None => Restrictions::default(),
        Some(namespace) => Restrictions {
            namespace,
            cluster_scoped: vec![ClusterScopedRule {
                group: GROUP.to_owned(),
                kind: "ManagedCluster".to_owned(),
                name: cluster.name.clone(),
            }],
        },
    };
    let config = Config {
        additional_indentation: 8,
        start_delimiter: START.to_owned(),
        stop_delimiter: STOP.to_owned(),
        ..Config::default()
    };
    let resolver = Resolver::new(config).map_err(|error| Error::Template(error.to_string()))?;
    let options = Options {
        context: context(object, cluster),
        restrictions,
        ..Options::default()
    };
    let failed = |why: &dyn std::fmt::Display| Error::Template(why.to_string());
    // An object that was read from YAML can be written as JSON.
    let text = serde_json::to_vec(object).unwrap_or_default();
    let prepared = resolver
        .prepare(Input::Json(&text), options)
        .map_err(|error| failed(&error))?;
    let made = reads.resolve(&prepared).map_err(|error| failed(&error))?;
    json::tree(&made.json).map_err(|error| Error::AfterHub(error.to_string()))
}

fn context(object: &Value, cluster: &ManagedCluster) -> Context {
    let metadata = Data::dict([
        (
            "annotations",
            Data::string_map(&strings(object, "/metadata/annotations")),
        ),
        (
            "labels",
            Data::string_map(&strings(object, "/metadata/labels")),
        ),
        ("name", Data::str(at(object, "/metadata/name"))),
        ("namespace", Data::str(at(object, "/metadata/namespace"))),
    ]);
    Context::new(
        "utils.hubTemplateCtx",
        [
            ("ManagedClusterName", Data::str(&cluster.name)),
            ("ManagedClusterLabels", Data::string_map(&cluster.labels)),
            ("PolicyMetadata", metadata),
        ],
    )
}

fn strings(object: &Value, pointer: &str) -> BTreeMap<String, String> {
    let fields = object.pointer(pointer).and_then(Value::as_object);
    let fields = fields.into_iter().flatten();
    let texts = fields.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
    texts.collect()
}
