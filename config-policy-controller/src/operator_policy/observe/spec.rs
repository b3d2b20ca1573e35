//! Resolves the spec of a policy: templates, the defaults of the Subscription, the operator's namespace.

use kube::core::GroupVersionKind;
use reeve_api::RemediationAction;
use reeve_api::operator_policy::{OperatorPolicy, OperatorPolicyStatus};
use reeve_runtime::secrets::Secrets;
use serde_json::{Value, json};

use super::Reads;
use super::package_manifests::{Manifest, PackageManifests, PackageQuery};
use crate::evaluate::cluster::{Cluster, text};
use crate::evaluate::templates::Templates;
use crate::messages::operator as messages;
use crate::operator_policy::decide::object::{Object, Read};
use crate::operator_policy::decide::spec::{
    Desired, DesiredGroup, Draft, Presence, defaults, draft, operator_group, remediation, versions,
};
use crate::operator_policy::decide::state::Part;

/// What resolving a spec needs besides the cluster.
pub struct SpecReads<'r> {
    /// `None` if templates in the policy are plain text.
    pub templates: Option<&'r Templates>,
    pub packages: &'r PackageManifests,
    /// The namespace of operators whose policy names none; may be empty.
    pub default_namespace: &'r str,
    /// What hub templates read of Secrets.
    pub hub_secrets: &'r Secrets,
}

/// A resolved spec. It may be invalid.
#[derive(Debug, Default)]
pub struct ResolvedSpec {
    pub desired: Desired,
    pub package: Option<Read<Option<Object>>>,
    /// The catalog of the package has changed, and its API may lag behind.
    pub recheck: bool,
    /// What all templates read of Secrets.
    pub secrets: Secrets,
}

/// Why the parts of the operator cannot be looked for in this reconcile.
#[derive(Debug)]
pub enum UnresolvedSpec {
    /// The spec is reported as invalid, and the reconcile is tried again.
    Invalid { message: String, error: String },
    /// Whether the spec is valid is not known.
    Unknown(String),
}

/// Resolves the spec of a policy.
pub async fn resolve<C: Cluster>(
    reads: &Reads<'_, C>,
    with: &SpecReads<'_>,
    policy: &OperatorPolicy,
    status: &OperatorPolicyStatus,
) -> Result<ResolvedSpec, UnresolvedSpec> {
    let mut resolved = ResolvedSpec {
        secrets: with.hub_secrets.clone(),
        ..ResolvedSpec::default()
    };
    let draft = match rendered_draft(reads, with, policy, &mut resolved).await {
        Ok(draft) => draft,
        Err(message) => return Ok(invalid(resolved, &message)),
    };
    let draft = match with_defaults(reads, with, (draft, status), &mut resolved).await? {
        Ok(draft) => draft,
        Err(message) => return Ok(invalid(resolved, &message)),
    };
    let default = Some(with.default_namespace).filter(|namespace| !namespace.is_empty());
    let Some(namespace) = draft
        .namespace
        .clone()
        .or_else(|| default.map(str::to_owned))
    else {
        // In which namespace the operator is meant to be is not known, so none is looked for.
        return Ok(invalid(resolved, messages::NAMESPACE_REQUIRED));
    };
    let enforces = remediation(policy) == RemediationAction::Enforce;
    let versions = &resolved.desired.versions;
    let subscription = draft.build(&namespace, versions, (&policy.spec, enforces));
    resolved.desired.subscription = Some(subscription);
    match rendered_group(reads, with, (policy, &namespace), &mut resolved).await {
        Ok(group) => resolved.desired.operator_group = Some(group),
        Err(message) => {
            let message = resolved.secrets.redact(&message);
            resolved.desired.invalid = Some(message);
            return Ok(resolved);
        }
    }
    if Presence::of(&policy.spec) == Presence::MustHave {
        let kind = GroupVersionKind::gvk("", "v1", "Namespace");
        let found = reads.try_get(&kind, (&namespace, "")).await;
        let found = found.map_err(|error| {
            UnresolvedSpec::Unknown(messages::getting("operator namespace", &error))
        })?;
        if found.is_none() {
            let message = messages::namespace_missing(&namespace);
            resolved.desired.invalid = Some(resolved.secrets.redact(&message));
            resolved.desired.lacks_namespace = true;
        }
    }
    Ok(resolved)
}

fn invalid(resolved: ResolvedSpec, message: &str) -> ResolvedSpec {
    let message = resolved.secrets.redact(message);
    ResolvedSpec {
        desired: Desired::invalid(message),
        ..resolved
    }
}

/// Versions and Subscription without defaults. The error is the message of the condition.
async fn rendered_draft<C: Cluster>(
    reads: &Reads<'_, C>,
    with: &SpecReads<'_>,
    policy: &OperatorPolicy,
    resolved: &mut ResolvedSpec,
) -> Result<Draft, String> {
    let written = policy.spec.versions.as_deref().unwrap_or_default();
    let rendered = render(reads, with, &json!(written), resolved).await;
    let rendered = rendered.map_err(|error| messages::versions_unresolved(&error))?;
    resolved.desired.versions = versions(&rendered, written)?;
    let subscription = Value::Object(policy.spec.subscription.clone());
    let rendered = render(reads, with, &subscription, resolved).await;
    draft(&rendered.map_err(|error| messages::subscription_unresolved(&error))?)
}

async fn rendered_group<C: Cluster>(
    reads: &Reads<'_, C>,
    with: &SpecReads<'_>,
    (policy, namespace): (&OperatorPolicy, &str),
    resolved: &mut ResolvedSpec,
) -> Result<DesiredGroup, String> {
    let Some(group) = &policy.spec.operator_group else {
        return operator_group(None, namespace);
    };
    let rendered = render(reads, with, &Value::Object(group.clone()), resolved).await;
    let rendered = rendered.map_err(|error| messages::group_unresolved(&error))?;
    operator_group(Some(&rendered), namespace)
}

/// Resolves the templates in a value.
async fn render<C: Cluster>(
    reads: &Reads<'_, C>,
    with: &SpecReads<'_>,
    value: &Value,
    resolved: &mut ResolvedSpec,
) -> Result<Value, String> {
    let Some(templates) = with.templates else {
        return Ok(value.clone());
    };
    let rendered = templates.resolve_plain(reads.templates, value).await;
    let rendered = rendered.map_err(|error| error.to_string())?;
    resolved.secrets = resolved.secrets.union(&rendered.secrets);
    Ok(rendered.value)
}

/// Fills in the defaults. The inner error is the message of the condition.
async fn with_defaults<C: Cluster>(
    reads: &Reads<'_, C>,
    with: &SpecReads<'_>,
    (mut draft, status): (Draft, &OperatorPolicyStatus),
    resolved: &mut ResolvedSpec,
) -> Result<Result<Draft, String>, UnresolvedSpec> {
    let manifest = package(reads, with.packages, &draft).await;
    resolved.recheck = manifest.is_fresh_after_change;
    let package = resolved.package.insert(manifest.manifest);
    if !draft.needs_defaults() {
        return Ok(Ok(draft));
    }
    match package {
        Ok(Some(package)) => {
            let filled = defaults::from_package(&mut draft, package, status);
            return Ok(filled.map(|()| draft));
        }
        Ok(None) => {}
        // The answer is needed, so the policy is reported as invalid.
        Err(error) => {
            return Err(UnresolvedSpec::Invalid {
                message: error.clone(),
                error: messages::package_unreadable(error),
            });
        }
    }
    let namespace = draft.namespace.clone();
    if let Some(namespace) = namespace.or_else(|| defaults::related_namespace(status)) {
        let location = (draft.name.as_str(), namespace.as_str());
        let existing = reads
            .get(Part::Subscription, "the Subscription", location)
            .await;
        if let Some(existing) = existing.map_err(UnresolvedSpec::Unknown)? {
            defaults::from_existing(&mut draft, &existing, &namespace);
            return Ok(Ok(draft));
        }
    }
    Err(UnresolvedSpec::Invalid {
        message: messages::NO_PACKAGE_MANIFEST.to_owned(),
        error: messages::NO_PACKAGE_MANIFEST.to_owned(),
    })
}

/// The manifest of the package. A cluster without the API has none.
async fn package<C: Cluster>(
    reads: &Reads<'_, C>,
    packages: &PackageManifests,
    draft: &Draft,
) -> Manifest {
    let answer = |manifest| Manifest {
        manifest,
        is_fresh_after_change: false,
    };
    let kind = GroupVersionKind::gvk("packages.operators.coreos.com", "v1", "PackageManifest");
    let kind = match reads.objects.kind(&kind).await {
        Ok(kind) => kind,
        Err(error) if error.is_absent() => return answer(Ok(None)),
        Err(error) => return answer(Err(reeve_runtime::object::error_chain(&error))),
    };
    let query = PackageQuery {
        name: draft.name.clone(),
        source: draft.field("source").to_owned(),
        source_namespace: draft.field("sourceNamespace").to_owned(),
    };
    let version = match packages.catalog(&query) {
        Some(catalog) => {
            let location = (catalog.name.as_str(), catalog.namespace.as_str());
            let catalog = reads
                .get(Part::CatalogSource, "CatalogSource", location)
                .await;
            let version = |catalog: &Object| text(catalog, "/metadata/resourceVersion").to_owned();
            catalog.ok().flatten().as_ref().map(version)
        }
        None => None,
    };
    packages.get(&kind, &query, version.as_deref()).await
}
