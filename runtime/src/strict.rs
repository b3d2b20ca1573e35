//! Creating and updating with `fieldValidation=Strict`, which the client library cannot ask for.
//!
//! A misspelt field in a policy must be an error that names the field, in the dry run that decides compliance as in
//! the real write.

use kube::Client;
use kube::api::{DynamicObject, PostParams};
use kube::core::Request;

use crate::decode::AnyDepth;
use crate::path::segment;

/// Whether a write is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// The write is stored.
    Real,
    /// The API server answers as if it had stored the write.
    DryRun,
}

impl Write {
    fn params(self) -> PostParams {
        PostParams {
            dry_run: self == Self::DryRun,
            field_manager: None,
        }
    }
}

/// Creates `object` at `collection`, the path that `kube::Api::resource_url` returns for its kind and namespace.
pub async fn create(
    client: &Client,
    collection: &str,
    object: &DynamicObject,
    write: Write,
) -> Result<DynamicObject, kube::Error> {
    create_with(client, (collection, object), write.params()).await
}

/// Creates `object` at `collection` with this field manager.
pub async fn create_as(
    client: &Client,
    collection: &str,
    object: &DynamicObject,
    manager: Option<&str>,
) -> Result<DynamicObject, kube::Error> {
    let params = PostParams {
        field_manager: manager.map(str::to_owned),
        ..Write::Real.params()
    };
    create_with(client, (collection, object), params).await
}

async fn create_with(
    client: &Client,
    (collection, object): (&str, &DynamicObject),
    params: PostParams,
) -> Result<DynamicObject, kube::Error> {
    let body = serde_json::to_vec(object).map_err(kube::Error::SerdeError)?;
    let request = Request::new(collection)
        .create(&params, body)
        .map_err(kube::Error::BuildRequest)?;
    let answer: AnyDepth<DynamicObject> = client.request(strictly(request)?).await?;
    Ok(answer.0)
}

/// Replaces the object named `name` at `collection`. `object` has the resource version that was read, so a write in
/// between is a conflict.
pub async fn replace(
    client: &Client,
    collection: &str,
    name: &str,
    object: &DynamicObject,
    write: Write,
) -> Result<DynamicObject, kube::Error> {
    let body = serde_json::to_vec(object).map_err(kube::Error::SerdeError)?;
    let request = Request::new(collection)
        .replace(&segment(name), &write.params(), body)
        .map_err(kube::Error::BuildRequest)?;
    let answer: AnyDepth<DynamicObject> = client.request(strictly(request)?).await?;
    Ok(answer.0)
}

fn strictly(request: http::Request<Vec<u8>>) -> Result<http::Request<Vec<u8>>, kube::Error> {
    let (mut parts, body) = request.into_parts();
    let text = parts.uri.to_string();
    let end = if text.ends_with(['?', '&']) {
        ""
    } else if parts.uri.query().is_some() {
        "&"
    } else {
        "?"
    };
    parts.uri = format!("{text}{end}fieldValidation=Strict")
        .parse()
        .map_err(|error: http::uri::InvalidUri| kube::Error::HttpError(error.into()))?;
    Ok(http::Request::from_parts(parts, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(write: Write) -> String {
        let request = Request::new("/api/v1/namespaces/n/configmaps");
        let request = request.create(&write.params(), Vec::new()).unwrap();
        strictly(request).unwrap().uri().to_string()
    }

    #[test]
    fn query_has_strict_validation() {
        assert!(
            uri(Write::Real).ends_with("/configmaps?fieldValidation=Strict"),
            "{}",
            uri(Write::Real)
        );
        assert!(
            uri(Write::DryRun).contains("dryRun=All&fieldValidation=Strict"),
            "{}",
            uri(Write::DryRun)
        );
    }
}
