//! Computes the registration settings of an agent in the add-on's status.

use reeve_api::addon::{
    ADDON_GROUP, ConfigResource, DEPLOYMENT_CONFIGS, ManagedClusterAddOnStatus, Registration,
    Subject,
};
use serde_json::{Map, Value, json};

use crate::addon::Installation;

/// The signer of the agents' certificates.
pub const SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// The identity of an agent that registers with a token instead of a certificate, from the status that it wrote. It
/// must be the service account that OCM creates for that agent: a writer of the add-on's status cannot grant access
/// to another identity.
pub fn token_subject<'a>(
    installation: &Installation,
    status: &'a ManagedClusterAddOnStatus,
) -> Option<&'a Subject> {
    if status.kube_client_driver.as_deref() != Some("token") {
        return None;
    }
    let registered = status
        .registrations
        .iter()
        .find(|registration| registration.signer_name == SIGNER);
    let subject = registered.map(|registration| &registration.subject);
    let Installation { cluster, addon } = installation;
    let account = format!("system:serviceaccount:{cluster}:{addon}-agent");
    subject.filter(|subject| subject.user == account && subject.groups.is_empty())
}

/// The fields of the status to change.
pub fn fields(
    installation: &Installation,
    status: &ManagedClusterAddOnStatus,
    namespace: &str,
) -> Map<String, Value> {
    let mut fields = Map::new();
    let supported = vec![ConfigResource {
        group: ADDON_GROUP.to_owned(),
        resource: DEPLOYMENT_CONFIGS.to_owned(),
    }];
    if status.supported_configs != supported {
        fields.insert("supportedConfigs".to_owned(), json!(supported));
    }
    let (addon, cluster) = (installation.addon, &installation.cluster);
    let by_certificate = || Subject {
        user: addon.user(cluster),
        groups: addon.groups(cluster).into(),
    };
    let registrations = vec![Registration {
        signer_name: SIGNER.to_owned(),
        subject: token_subject(installation, status)
            .cloned()
            .unwrap_or_else(by_certificate),
    }];
    if status.registrations != registrations {
        fields.insert("registrations".to_owned(), json!(registrations));
    }
    if status.namespace.as_deref() != Some(namespace) {
        fields.insert("namespace".to_owned(), json!(namespace));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addon::Addon;

    fn status_of(fields: &Map<String, Value>) -> ManagedClusterAddOnStatus {
        serde_json::from_value(Value::Object(fields.clone())).unwrap()
    }

    #[test]
    fn published_fields_are_not_written_again() {
        let installation = Installation::new("c1", Addon::Framework);
        let first = fields(
            &installation,
            &ManagedClusterAddOnStatus::default(),
            "agents",
        );
        let mut status = status_of(&first);
        assert_eq!(
            status.registrations[0].subject.user,
            "system:open-cluster-management:cluster:c1:addon:governance-policy-framework:agent:governance-policy-framework"
        );
        assert_eq!(
            status.registrations[0].subject.groups,
            [
                "system:open-cluster-management:cluster:c1:addon:governance-policy-framework",
                "system:open-cluster-management:addon:governance-policy-framework"
            ]
        );
        assert!(fields(&installation, &status, "agents").is_empty());
        status.kube_client_driver = Some("csr".to_owned());
        assert!(fields(&installation, &status, "agents").is_empty());
        let moved = fields(&installation, &status, "elsewhere");
        assert_eq!(moved.keys().collect::<Vec<_>>(), ["namespace"]);
    }

    #[test]
    fn addon_97_identity_of_token_is_kept() {
        let installation = Installation::new("c1", Addon::Framework);
        let subject = Subject {
            user: "system:serviceaccount:c1:governance-policy-framework-agent".to_owned(),
            groups: Vec::new(),
        };
        let mut status = status_of(&fields(
            &installation,
            &ManagedClusterAddOnStatus::default(),
            "a",
        ));
        status.kube_client_driver = Some("token".to_owned());
        assert_eq!(
            token_subject(&installation, &status),
            None,
            "the agent has no registration"
        );
        status.registrations[0].subject = subject.clone();
        assert_eq!(token_subject(&installation, &status), Some(&subject));
        assert!(fields(&installation, &status, "a").is_empty());
        status.registrations[0].subject.user = "system:anonymous".to_owned();
        assert_eq!(
            token_subject(&installation, &status),
            None,
            "that is somebody else"
        );
        status.registrations[0].subject = subject;
        status.kube_client_driver = Some("csr".to_owned());
        assert!(fields(&installation, &status, "a").contains_key("registrations"));
    }
}
