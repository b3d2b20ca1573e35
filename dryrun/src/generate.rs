//! `dryrun generate`: the kinds of a cluster as mappings.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource;
use kube::Client;
use reeve_runtime::object::status_message;

use crate::json::to_yaml;
use crate::mappings::{Mapping, Scope, VERBS};

/// The mappings of all kinds that a cluster serves, as YAML.
pub(crate) async fn mappings(client: &Client) -> Result<String, String> {
    let failed = |error: kube::Error| status_message(&error);
    let mut all = Vec::new();
    let core = client.list_core_api_versions().await.map_err(failed)?;
    for version in core.versions {
        let page = client.list_core_api_resources(&version).await;
        all.extend(of_page("", &version, page.map_err(failed)?.resources));
    }
    let groups = client.list_api_groups().await.map_err(failed)?;
    for group in groups.groups {
        for version in group.versions {
            let page = client
                .list_api_group_resources(&version.group_version)
                .await;
            let resources = page.map_err(failed)?.resources;
            all.extend(of_page(&group.name, &version.version, resources));
        }
    }
    all.sort_by_key(|mapping| format!("{}/{} {}", mapping.group, mapping.version, mapping.plural));
    let json = serde_json::to_value(&all).map_err(|error| error.to_string())?;
    to_yaml(&json)
}

fn of_page(group: &str, version: &str, resources: Vec<APIResource>) -> Vec<Mapping> {
    let resources = resources.into_iter();
    let whole = resources.filter(|resource| !resource.name.contains('/'));
    whole
        .map(|resource| {
            let mut verbs = resource.verbs;
            verbs.sort();
            if verbs == VERBS {
                verbs.clear();
            }
            Mapping {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: resource.kind,
                singular: resource.singular_name,
                plural: resource.name,
                scope: if resource.namespaced {
                    Scope::Namespace
                } else {
                    Scope::Root
                },
                verbs,
            }
        })
        .collect()
}
