//! Authentication of requests by bearer token, and impersonation.

use http::HeaderMap;
use http::header::AUTHORIZATION;

use super::{AUDIENCE, AccessRequest, Authorizer, Tokens};
use crate::identity::Identity;
use crate::status_error::StatusError;
use crate::store::Store;

/// Authenticates a request: the user of the token, or the user whom that one may impersonate.
pub(crate) fn authenticate(
    authorizer: Authorizer<'_>,
    tokens: &Tokens,
    store: &Store,
    headers: &HeaderMap,
    user: Option<Identity>,
) -> Result<Identity, StatusError> {
    let bearer = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|text| text.strip_prefix("Bearer "));
    let user = match bearer {
        None => user.ok_or_else(StatusError::unauthorized)?,
        Some(token) => match tokens.verify(store, token.trim()) {
            // A token for another audience is not accepted.
            Some(claims) if claims.audiences.iter().any(|one| one == AUDIENCE) => claims.identity,
            _ => return Err(StatusError::unauthorized()),
        },
    };
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(impersonated) = text("impersonate-user") else {
        let others = headers
            .keys()
            .any(|name| name.as_str().starts_with("impersonate-"));
        if others {
            return Err(StatusError::bad_request(
                "requested impersonation without a readable Impersonate-User",
            ));
        }
        return Ok(user);
    };
    let unsupported = headers.keys().any(|name| {
        let name = name.as_str();
        name == "impersonate-uid" || name.starts_with("impersonate-extra-")
    });
    if unsupported {
        return Err(StatusError::bad_request(
            "this server takes neither Impersonate-Uid nor Impersonate-Extra",
        ));
    }
    authorizer.check_right(&user, &impersonation("users", impersonated))?;
    let groups = headers.get_all("impersonate-group").iter();
    let groups: Vec<&str> = groups.filter_map(|value| value.to_str().ok()).collect();
    for group in &groups {
        authorizer.check_right(&user, &impersonation("groups", group))?;
    }
    if groups.len() != headers.get_all("impersonate-group").iter().count() {
        return Err(StatusError::bad_request(
            "an Impersonate-Group is not readable",
        ));
    }
    Ok(Identity::new(impersonated, &groups))
}

fn impersonation(resource: &str, name: &str) -> AccessRequest {
    AccessRequest {
        verb: "impersonate".to_owned(),
        resource: resource.to_owned(),
        name: name.to_owned(),
        ..AccessRequest::default()
    }
}
