//! The user of a request.

use std::collections::BTreeMap;

/// The user of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The name, such as `system:serviceaccount:default:default`.
    pub user: String,
    /// The groups that the user is a member of.
    pub groups: Vec<String>,
    /// The uid; may be empty.
    pub uid: String,
    /// Extra information about the user.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// The extra field with the credential by which a user was authenticated.
const CREDENTIAL: &str = "authentication.kubernetes.io/credential-id";

impl Identity {
    /// The same by a credential: `JTI=` and a token's id, or `X509SHA256=` and a certificate's digest.
    pub(crate) fn by(mut self, credential: String) -> Self {
        self.extra.insert(CREDENTIAL.to_owned(), vec![credential]);
        self
    }

    /// An administrator, who may do everything.
    pub fn admin() -> Self {
        Self::new("admin", &["system:masters"])
    }

    /// The anonymous user.
    pub fn anonymous() -> Self {
        Self {
            user: "system:anonymous".to_owned(),
            groups: vec!["system:unauthenticated".to_owned()],
            ..Self::default()
        }
    }

    /// A user with groups, besides `system:authenticated`.
    pub fn new(user: &str, groups: &[&str]) -> Self {
        let mut groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
        groups.push("system:authenticated".to_owned());
        Self {
            user: user.to_owned(),
            groups,
            ..Self::default()
        }
    }

    /// A service account.
    pub fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        let of_namespace = format!("system:serviceaccounts:{namespace}");
        let mut identity = Self::new(
            &format!("system:serviceaccount:{namespace}:{name}"),
            &["system:serviceaccounts", &of_namespace],
        );
        uid.clone_into(&mut identity.uid);
        identity
    }
}
