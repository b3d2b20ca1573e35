//! The webhooks' HTTPS server.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use axum::Router;
use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use reeve_api::{Policy, PolicySet};
use reeve_runtime::flags::TlsArgs;
use reeve_runtime::manager::ManagerError;
use reeve_runtime::serving;
use reeve_runtime::supervisor::Supervisor;

use super::{Admit, review};

// The paths are in manifests that clusters already have.
const POLICY: &str = "/validate-policy-open-cluster-management-io-v1-policy";
const POLICY_SET: &str = "/validate-policy-open-cluster-management-io-v1beta1-policyset";

/// The longest body of a review. It holds the old and the new object, each of which the API server limits to 3 MiB.
const MAX_REVIEW_BYTES: usize = 7 << 20;

/// The server of the webhooks, on every interface.
#[derive(Clone, Copy, Debug)]
pub struct Webhooks<'a> {
    /// TCP port.
    pub port: u16,
    /// Folder of `tls.crt` and `tls.key`.
    pub certificate: &'a Path,
    /// TLS settings.
    pub tls: &'a TlsArgs,
}

impl Webhooks<'_> {
    /// Starts the server. The port is taken and the certificate read when this returns.
    pub fn start(self, tasks: &mut Supervisor) -> Result<(), ManagerError> {
        let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, self.port));
        let server = serving::https("webhooks", address, router(), self.tls, self.certificate)?;
        tasks.spawn("the webhook server", server.run(tasks.stop()));
        Ok(())
    }
}

/// The two webhooks by their paths.
pub fn router() -> Router {
    Router::new()
        .route(POLICY, post(handle_review::<Policy>))
        .route(POLICY_SET, post(handle_review::<PolicySet>))
        .layer(DefaultBodyLimit::max(MAX_REVIEW_BYTES))
}

// The handler of a route is async, whether it waits or not.
#[allow(clippy::unused_async)]
async fn handle_review<K: Admit>(body: Bytes) -> Response {
    match review::answer::<K>(&body) {
        Ok(answer) => ([(header::CONTENT_TYPE, "application/json")], answer).into_response(),
        Err(error) => {
            tracing::warn!(error, "cannot answer an admission review");
            (StatusCode::BAD_REQUEST, error).into_response()
        }
    }
}
