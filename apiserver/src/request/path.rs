//! Routes of request paths.

use percent_encoding::percent_decode_str;

/// The route of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// `/api`.
    CoreVersions,
    /// `/apis`.
    Groups,
    /// `/apis/apps`.
    Group(String),
    /// `/api/v1` or `/apis/apps/v1`: the group and the version.
    Version(String, String),
    /// Objects of a resource.
    Objects(Target),
    /// Anything else.
    Other,
}

/// Objects, or one of them, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The API group; empty of the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The resource.
    pub resource: String,
    /// The namespace, if the path has one.
    pub namespace: Option<String>,
    /// The object's name, if the path has one.
    pub name: Option<String>,
    /// The part of the object that has a path of its own.
    pub subresource: Option<String>,
}

/// Reads a path.
pub fn route(path: &str) -> Route {
    let parts: Vec<String> = path
        .split('/')
        .filter(|part| !part.is_empty())
        .map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned())
        .collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["api"] => Route::CoreVersions,
        ["apis"] => Route::Groups,
        ["api", version] => Route::Version(String::new(), (*version).to_owned()),
        ["apis", group] => Route::Group((*group).to_owned()),
        ["apis", group, version] => Route::Version((*group).to_owned(), (*version).to_owned()),
        ["api", version, rest @ ..] => objects("", version, rest),
        ["apis", group, version, rest @ ..] => objects(group, version, rest),
        _ => Route::Other,
    }
}

fn objects(group: &str, version: &str, rest: &[&str]) -> Route {
    let of_core = group.is_empty();
    let owned = |text: &&str| (*text).to_owned();
    let (namespace, rest) = match rest {
        // These are the namespace's own.
        ["namespaces", _, "status" | "finalize"] if of_core => (None, rest),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(owned(namespace)), rest),
        rest => (None, rest),
    };
    let [resource, rest @ ..] = rest else {
        return Route::Other;
    };
    let subresource = match rest {
        [] | [_] => None,
        [_, one] => Some(owned(one)),
        [_, one, ..] if matches!(*one, "proxy") => Some(owned(one)),
        _ => return Route::Other,
    };
    let name = rest.first().map(owned);
    // A namespace is in itself, for those who decide about rights.
    let namespace = match (of_core && *resource == "namespaces", &name) {
        (true, Some(name)) => Some(name.clone()),
        _ => namespace,
    };
    Route::Objects(Target {
        group: group.to_owned(),
        version: version.to_owned(),
        resource: owned(resource),
        namespace,
        name,
        subresource,
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/api/v1/pods", "v1|pods|-|-|-")]
    #[case("/api/v1/namespaces", "v1|namespaces|-|-|-")]
    #[case("/api/v1/namespaces/x", "v1|namespaces|x|x|-")]
    #[case("/api/v1/namespaces/x/status", "v1|namespaces|x|x|status")]
    #[case("/api/v1/namespaces/x/pods/", "v1|pods|x|-|-")]
    #[case("/api/v1/namespaces/x/pods/p/log", "v1|pods|x|p|log")]
    #[case(
        "/apis/apps/v1/namespaces/x/deployments/a%3Ab",
        "v1|deployments|x|a:b|-"
    )]
    fn paths_lead_to_objects(#[case] path: &str, #[case] want: &str) {
        let Route::Objects(target) = route(path) else {
            panic!("{path} leads to no object");
        };
        let or = |part: Option<String>| part.unwrap_or_else(|| "-".to_owned());
        let got = [
            target.version,
            target.resource,
            or(target.namespace),
            or(target.name),
            or(target.subresource),
        ];
        assert_eq!(got.join("|"), want);
    }

    #[test]
    fn other_paths_are_not_object_paths() {
        assert_eq!(route("/api"), Route::CoreVersions);
        assert_eq!(route("/apis/apps"), Route::Group("apps".to_owned()));
        assert_eq!(
            route("/api/v1"),
            Route::Version(String::new(), "v1".to_owned())
        );
        assert_eq!(route("/healthz"), Route::Other);
        assert_eq!(route("/api/v1/namespaces/x/pods/p/log/more"), Route::Other);
    }
}
