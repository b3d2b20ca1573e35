//! The name and kind of a policy template, and the ownership of objects. Status sync and template sync must agree on both.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::core::GroupVersionKind;
use reeve_api::names::{GROUP, PARENT_POLICY_LABEL, split_api_version};
use serde_json::Value;

/// A template that names a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its kind. A missing or malformed `apiVersion` leaves group and version empty.
    pub kind: GroupVersionKind,
    /// Its name, or nothing if it has none.
    pub name: Option<String>,
}

/// Reads kind and name of a template; `None` if there is no kind.
pub fn identify(definition: &Value) -> Option<Identity> {
    let text = |pointer| {
        definition
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let kind = text("/kind");
    if kind.is_empty() {
        return None;
    }
    let (group, version) = split_api_version(text("/apiVersion"));
    let (group, version) = if version.contains('/') {
        ("", "")
    } else {
        (group, version)
    };
    // Something with a kind and items is a list, and a list has no name.
    let is_list = definition.get("items").is_some_and(Value::is_array);
    let name = Some(text("/metadata/name")).filter(|name| !name.is_empty() && !is_list);
    Some(Identity {
        kind: GroupVersionKind::gvk(group, version, kind),
        name: name.map(str::to_owned),
    })
}

/// The name under which a template is reported: its own, or one made of its place in the list.
pub fn reported_name(index: usize, definition: &Value) -> String {
    let name = identify(definition).and_then(|identity| identity.name);
    name.unwrap_or_else(|| placeholder(index))
}

/// The name of a template that has none.
pub fn placeholder(index: usize) -> String {
    format!("template-{index}")
}

/// The policy whose compliance an object's status has: the first owner of the kind `Policy`, else the label.
pub fn policy_of(object: &ObjectMeta) -> Option<&str> {
    let is_policy = |owner: &&OwnerReference| owner.kind == "Policy";
    let owner = owners(object).iter().find(is_policy);
    owner
        .map(|owner| owner.name.as_str())
        .or_else(|| parent_label(object))
}

/// The owner of an object that messages name: its first owner of any kind, else the label's policy. An object without one was
/// created outside of any policy. This is no proof of [ownership](belongs_to).
pub fn claimed_by(object: &ObjectMeta) -> Option<&str> {
    let owner = owners(object).first();
    owner
        .map(|owner| owner.name.as_str())
        .or_else(|| parent_label(object))
}

/// Whether an object is proven to be this policy's: the policy is one of its owners, or it has no owner and the policy's label. If
/// `uid` is empty, the name of the owner decides.
pub fn belongs_to(object: &ObjectMeta, policy: &str, uid: &str) -> bool {
    let is_policy = |owner: &OwnerReference| {
        owner.kind == "Policy"
            && split_api_version(&owner.api_version).0 == GROUP
            && owner.name == policy
            && (uid.is_empty() || owner.uid == uid)
    };
    match owners(object) {
        [] => parent_label(object) == Some(policy),
        owners => owners.iter().any(is_policy),
    }
}

/// The parent-policy label, unless it is empty.
pub fn parent_label(object: &ObjectMeta) -> Option<&str> {
    let label = object.labels.as_ref()?.get(PARENT_POLICY_LABEL)?;
    Some(label.as_str()).filter(|label| !label.is_empty())
}

/// The owner references, none if absent.
pub fn owners(object: &ObjectMeta) -> &[OwnerReference] {
    object.owner_references.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reeve_api::names::POLICY_API_VERSION;
    use rstest::rstest;
    use serde_json::json;

    fn owner(kind: &str, name: &str) -> OwnerReference {
        OwnerReference {
            kind: kind.to_owned(),
            name: name.to_owned(),
            ..OwnerReference::default()
        }
    }

    fn object(owners: &[(&str, &str)], label: Option<&str>) -> ObjectMeta {
        let label = label.map(|value| [(PARENT_POLICY_LABEL.to_owned(), value.to_owned())].into());
        let owners: Vec<_> = owners
            .iter()
            .map(|(kind, name)| owner(kind, name))
            .collect();
        ObjectMeta {
            labels: label,
            owner_references: (!owners.is_empty()).then_some(owners),
            ..ObjectMeta::default()
        }
    }

    #[rstest]
    #[case::nothing(object(&[], None), None, None)]
    #[case::owner(object(&[("Policy", "p")], None), Some("p"), Some("p"))]
    #[case::label(object(&[], Some("p")), Some("p"), Some("p"))]
    #[case::empty_label(object(&[], Some("")), None, None)]
    #[case::owner_beats_label(object(&[("Policy", "p")], Some("q")), Some("p"), Some("p"))]
    #[case::first_policy(object(&[("Policy", "p"), ("Policy", "q")], None), Some("p"), Some("p"))]
    #[case::other_kind(object(&[("Tea", "t"), ("Policy", "p")], None), Some("p"), Some("t"))]
    #[case::no_policy(object(&[("Tea", "t")], Some("q")), Some("q"), Some("t"))]
    fn ownership(
        #[case] object: ObjectMeta,
        #[case] policy: Option<&str>,
        #[case] claimed: Option<&str>,
    ) {
        assert_eq!((policy_of(&object), claimed_by(&object)), (policy, claimed));
    }

    const POLICY: &str = "policy.open-cluster-management.io/v1/Policy";

    #[rstest]
    #[case::nothing(&[], None, false)]
    #[case::label(&[], Some("p"), true)]
    #[case::label_of_another(&[], Some("q"), false)]
    #[case::owner(&[(POLICY, "p", "u")], None, true)]
    #[case::other_version(&[("policy.open-cluster-management.io/v2/Policy", "p", "u")], None, true)]
    #[case::second_owner(&[("v1/Tea", "t", "t"), (POLICY, "p", "u")], None, true)]
    #[case::other_name(&[(POLICY, "q", "u")], Some("p"), false)]
    #[case::predecessor(&[(POLICY, "p", "before")], Some("p"), false)]
    #[case::other_kind(&[("policy.open-cluster-management.io/v1/Tea", "p", "u")], Some("p"), false)]
    #[case::other_group(&[("kyverno.io/v1/Policy", "p", "u")], Some("p"), false)]
    fn owner_reference_proves_ownership_only_for_the_policy_with_its_uid(
        #[case] owners: &[(&str, &str, &str)],
        #[case] label: Option<&str>,
        #[case] expected: bool,
    ) {
        let mut object = object(&[], label);
        let references = owners.iter().map(|(kind, name, uid)| {
            let (api_version, kind) = kind.rsplit_once('/').unwrap();
            OwnerReference {
                api_version: api_version.to_owned(),
                uid: (*uid).to_owned(),
                ..owner(kind, name)
            }
        });
        object.owner_references = Some(references.collect());
        assert_eq!(belongs_to(&object, "p", "u"), expected);
    }

    #[test]
    fn without_a_uid_the_name_proves_ownership() {
        let mut object = object(&[("Policy", "p")], None);
        POLICY_API_VERSION
            .clone_into(&mut object.owner_references.as_mut().unwrap()[0].api_version);
        assert!(belongs_to(&object, "p", ""));
    }

    #[rstest]
    #[case::named(json!({"kind": "A", "metadata": {"name": "a"}}), "a")]
    #[case::kindless(json!({"metadata": {"name": "a"}}), "template-3")]
    #[case::nameless(json!({"kind": "A"}), "template-3")]
    #[case::odd_name(json!({"kind": "A", "metadata": {"name": 7}}), "template-3")]
    #[case::list(json!({"kind": "A", "metadata": {"name": "a"}, "items": []}), "template-3")]
    #[case::text(json!("kind"), "template-3")]
    fn names(#[case] definition: Value, #[case] name: &str) {
        assert_eq!(reported_name(3, &definition), name);
    }

    #[rstest]
    #[case("v1", ("", "v1"))]
    #[case("apps/v1", ("apps", "v1"))]
    #[case("a/b/c", ("", ""))]
    #[case("", ("", ""))]
    fn fwk_77_malformed_api_version_is_an_unserved_kind(
        #[case] api_version: &str,
        #[case] expected: (&str, &str),
    ) {
        let definition = json!({"apiVersion": api_version, "kind": "A"});
        let kind = identify(&definition).unwrap().kind;
        assert_eq!((kind.group.as_str(), kind.version.as_str()), expected);
    }
}
