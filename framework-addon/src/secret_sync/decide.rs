//! Decides about the managed cluster's Secret.

use reeve_runtime::watch::Cached;

use super::{Data, SecretFacts};

/// The decision about the managed cluster's Secret.
#[derive(Clone, Debug, PartialEq)]
pub enum SecretAction {
    /// It equals the hub's, or is being deleted.
    Nothing,
    /// One of the two cannot be decoded: it is left as it is.
    Leave,
    /// There is none.
    Create(Data),
    /// It differs.
    Update {
        /// The resource version that was read.
        version: Option<String>,
        /// The new values.
        data: Data,
    },
    /// The hub has none.
    Delete {
        /// Its uid.
        uid: Option<String>,
    },
}

/// Decides with the cached Secrets of both clusters.
pub fn decide(
    hub: Option<&Cached<SecretFacts>>,
    managed: Option<&Cached<SecretFacts>>,
) -> SecretAction {
    match (hub, managed) {
        (Some(Cached::Invalid(_)), _) | (_, Some(Cached::Invalid(_))) => SecretAction::Leave,
        (None, None) => SecretAction::Nothing,
        (None, Some(Cached::Valid(replica))) if replica.terminating => SecretAction::Nothing,
        (None, Some(Cached::Valid(replica))) => SecretAction::Delete {
            uid: replica.uid.clone(),
        },
        (Some(Cached::Valid(hub)), None) => SecretAction::Create(hub.data.clone()),
        (Some(Cached::Valid(hub)), Some(Cached::Valid(replica))) if hub.data == replica.data => {
            SecretAction::Nothing
        }
        (Some(Cached::Valid(hub)), Some(Cached::Valid(replica))) => SecretAction::Update {
            version: replica.version.clone(),
            data: hub.data.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::ByteString;

    use super::*;

    fn facts(key: &[u8], version: &str) -> Cached<SecretFacts> {
        Cached::Valid(Arc::new(SecretFacts {
            uid: Some("u".to_owned()),
            version: Some(version.to_owned()),
            terminating: false,
            data: data(key),
        }))
    }

    fn data(key: &[u8]) -> Data {
        [("key".to_owned(), ByteString(key.to_vec()))].into()
    }

    #[test]
    fn fwk_51_secret_follows_the_hub() {
        let (hub, same, other) = (facts(b"a", "1"), facts(b"a", "7"), facts(b"b", "7"));
        assert_eq!(decide(None, None), SecretAction::Nothing);
        assert_eq!(decide(Some(&hub), None), SecretAction::Create(data(b"a")));
        assert_eq!(decide(Some(&hub), Some(&same)), SecretAction::Nothing);
        let update = SecretAction::Update {
            version: Some("7".to_owned()),
            data: data(b"a"),
        };
        assert_eq!(decide(Some(&hub), Some(&other)), update);
        let uid = Some("u".to_owned());
        assert_eq!(decide(None, Some(&same)), SecretAction::Delete { uid });
    }

    #[test]
    fn undecodable_secret_is_left_as_it_is() {
        let invalid = Cached::Invalid("odd".into());
        assert_eq!(
            decide(Some(&invalid), Some(&facts(b"a", "1"))),
            SecretAction::Leave
        );
        assert_eq!(decide(None, Some(&invalid)), SecretAction::Leave);
    }

    #[test]
    fn debug_does_not_print_the_key() {
        let printed = format!("{:?}", facts(b"secret", "1"));
        assert!(!printed.contains("115"), "{printed}");
    }
}
