//! The server as a `tower` service.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use http::header::{CONTENT_TYPE, EXPECT, RETRY_AFTER, USER_AGENT, WARNING};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Version};
use http_body_util::BodyExt as _;

use crate::aggregation;
use crate::audit::{AuditEvent, AuditedRequest};
use crate::auth::{AccessRequest, authenticate};
use crate::discovery;
use crate::encode;
use crate::fault_injection::Fault;
use crate::identity::Identity;
use crate::json;
use crate::kinds::Kind;
use crate::meta::NoRandomness;
use crate::operations::{Lines, ObjectRequest, Reply};
use crate::request::Transport;
use crate::request::accept::{self, Form, RowObject};
use crate::request::content::{Content, RequestBody, discard};
use crate::request::path::{Route, Target, route};
use crate::request::query::Query;
use crate::server::Server;
use crate::stack::LargeStack;
use crate::state::State;
use crate::status_error::StatusError;

/// A server for the client of one user: every request is this user's, unless it has a bearer token.
#[derive(Clone)]
pub struct Service {
    server: Server,
    client: Client,
}

/// The client of a service.
#[derive(Clone)]
struct Client {
    /// None if the client has shown a credential that is not accepted.
    user: Option<Identity>,
    transport: Transport,
}

impl Server {
    /// The service of a client in this process.
    pub fn service(&self, user: Identity) -> Service {
        Service {
            server: self.clone(),
            client: Client {
                user: Some(user),
                transport: Transport::InProcess,
            },
        }
    }

    /// The same for a client elsewhere; without a user for one whose credential is not accepted.
    pub(crate) fn service_of(&self, user: Option<Identity>) -> Service {
        Service {
            server: self.clone(),
            client: Client {
                user,
                transport: Transport::Remote,
            },
        }
    }
}

impl<B> tower::Service<Request<B>> for Service
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Self { server, client } = self.clone();
        let request = request.map(|body| body.map_err(Into::into).boxed_unsync());
        serve_on_large_stack(server.state, client, request)
    }
}

/// Of one type of body, and boxed: this is compiled here once, and not for each crate that sends requests.
fn serve_on_large_stack(
    state: Arc<State>,
    client: Client,
    request: Request<RequestBody>,
) -> BoxFuture<'static, Result<Response<Body>, Infallible>> {
    Box::pin(LargeStack::new(async move {
        Ok(serve(state, client, request).await)
    }))
}

async fn serve(state: Arc<State>, client: Client, request: Request<RequestBody>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let discards = client.transport == Transport::Remote
        && parts.version != Version::HTTP_2
        && !parts.headers.contains_key(EXPECT);
    let mut body = Some(body);
    let response = respond_to(state, client, parts, &mut body).await;
    // A client of HTTP/1 reads the response when it has sent the request.
    if let Some(body) = body.filter(|_| discards) {
        discard(body).await;
    }
    response
}

/// Takes the body only when it is to be read.
async fn respond_to(
    state: Arc<State>,
    client: Client,
    parts: http::request::Parts,
    body: &mut Option<RequestBody>,
) -> Response<Body> {
    let form = accept::form(&parts.headers).unwrap_or_default();
    let user = match authenticate(
        state.authorizer(),
        &state.tokens,
        &state.store,
        &parts.headers,
        client.user,
    ) {
        Ok(user) => user,
        Err(failure) => return refused(form, &failure, &[]),
    };
    let request = HttpRequest {
        state,
        user,
        transport: client.transport,
        method: parts.method,
        path: parts.uri.path().to_owned(),
        uri: parts.uri.to_string(),
        query: Query::parse(parts.uri.query().unwrap_or_default()),
        headers: parts.headers,
    };
    let record = match request.record() {
        Ok(record) => record,
        Err(error) => return refused(form, &error.into(), &[]),
    };
    let mut exchange = Exchange {
        body,
        record,
        warnings: Vec::new(),
    };
    let response = match request.answer(&mut exchange).await {
        Ok(response) => response,
        Err(failure) => refused(form, &failure, &exchange.warnings),
    };
    match exchange.record {
        Some(record) => recorded(record, response),
        None => response,
    }
}

/// What a request brings, and what it leaves besides its response.
struct Exchange<'a> {
    /// Absent once it has been read.
    body: &'a mut Option<RequestBody>,
    record: Option<AuditEvent>,
    warnings: Vec<String>,
}

impl Exchange<'_> {
    /// Reads the body of a request whose user may send it.
    async fn read(&mut self, request: &HttpRequest) -> Result<Content, StatusError> {
        let Some(body) = self.body.take() else {
            return Ok(Content::default());
        };
        let (bodies, transport) = (&request.state.bodies, request.transport);
        let content = bodies.read(body, &request.user, transport).await?;
        if let Some(record) = &mut self.record {
            record.set_body(&content.bytes);
        }
        Ok(content)
    }
}

/// The record ends with the answer, which a watch sends for long.
fn recorded(mut record: AuditEvent, response: Response<Body>) -> Response<Body> {
    record.set_code(response.status().as_u16());
    if response.extensions().get::<Streamed>().is_none() {
        return response;
    }
    record.write_started();
    response.map(|body| {
        let lines = body.into_data_stream();
        Body::from_stream(lines.inspect(move |_| {
            // Lives as long as the stream.
            let _ = &record;
        }))
    })
}

struct HttpRequest {
    state: Arc<State>,
    user: Identity,
    transport: Transport,
    method: Method,
    path: String,
    uri: String,
    query: Query,
    headers: HeaderMap,
}

/// Marks an answer without end.
#[derive(Clone, Copy)]
struct Streamed;

impl HttpRequest {
    fn record(&self) -> Result<Option<AuditEvent>, NoRandomness> {
        let Some(audit) = self.state.options.audit.as_ref() else {
            return Ok(None);
        };
        let target = match route(&self.path) {
            Route::Objects(target) => Some(target),
            _ => None,
        };
        let lower = self.method.as_str().to_lowercase();
        let verb = target
            .as_ref()
            .map_or(lower.as_str(), |target| self.verb(target));
        let agent = self.headers.get(USER_AGENT);
        let record = audit.begin(&AuditedRequest {
            verb,
            uri: self.uri.clone(),
            agent: agent
                .and_then(|agent| agent.to_str().ok())
                .unwrap_or_default(),
            user: &self.user,
            target: target.as_ref(),
        });
        record.map(Some)
    }

    async fn answer(self, exchange: &mut Exchange<'_>) -> Result<Response<Body>, StatusError> {
        match route(&self.path) {
            Route::Objects(target) => self.objects(target, exchange).await,
            other => {
                self.check_path()?;
                if let Route::Version(group, version) = &other
                    && self.is_remote(group, version)
                {
                    return Ok(unavailable());
                }
                self.plain(&other)
            }
        }
    }

    fn check_path(&self) -> Result<(), StatusError> {
        let asked = AccessRequest {
            verb: self.method.as_str().to_lowercase(),
            path: Some(self.path.clone()),
            ..AccessRequest::default()
        };
        self.state.authorizer().check_right(&self.user, &asked)
    }

    fn plain(&self, route: &Route) -> Result<Response<Body>, StatusError> {
        let text = |text: &'static str| {
            Ok(respond(
                200,
                "text/plain; charset=utf-8",
                Bytes::from(text),
                &[],
            ))
        };
        match self.path.trim_end_matches('/') {
            "/healthz" | "/livez" | "/readyz" => return text("ok"),
            "/openapi/v2" => return Ok(self.openapi_v2()),
            _ => {}
        }
        match discovery::document(
            &self.state.store,
            &self.state.kinds(),
            route,
            &self.path,
            &self.headers,
        ) {
            Some((media, bytes)) => Ok(respond(200, media, bytes, &[])),
            None if self.is_of_known_group(route) => Err(StatusError::no_such_path()),
            None => Ok(no_page()),
        }
    }

    fn openapi_v2(&self) -> Response<Body> {
        let document = discovery::openapi_v2(&self.state.kinds(), &self.headers);
        if let Some((media, bytes)) = document {
            return respond(200, media, bytes, &[]);
        }
        let mut response = Response::new(Body::empty());
        *response.status_mut() = http::StatusCode::NOT_ACCEPTABLE;
        response
    }

    /// Whether a version of a group is served by another API server.
    fn is_remote(&self, group: &str, version: &str) -> bool {
        let kinds = self.state.kinds();
        let groups = kinds.groups().iter();
        let mut own = groups.filter(|one| one.name == group);
        let is_own = own.any(|group| group.versions.iter().any(|(name, _)| name == version));
        !is_own && aggregation::is_remote(&self.state.store, group, version)
    }

    fn is_of_known_group(&self, route: &Route) -> bool {
        let Route::Version(name, _) = route else {
            return false;
        };
        self.state
            .kinds()
            .groups()
            .iter()
            .any(|group| group.name == *name)
    }

    async fn objects(
        self,
        target: Target,
        exchange: &mut Exchange<'_>,
    ) -> Result<Response<Body>, StatusError> {
        let kinds = self.state.kinds();
        let kind = kinds.find(&target.group, &target.version, &target.resource);
        let Some(kind) = kind.map(Arc::clone) else {
            self.check_right(&target, self.verb(&target))?;
            if self.is_remote(&target.group, &target.version) {
                return Ok(unavailable());
            }
            let group = kinds
                .groups()
                .iter()
                .find(|group| group.name == target.group);
            let known = group.is_some_and(|group| {
                group
                    .versions
                    .iter()
                    .any(|(name, _)| *name == target.version)
            });
            let of_custom = group.is_some_and(|group| {
                let all = group.versions.iter().flat_map(|(_, kinds)| kinds);
                all.clone().count() > 0 && all.clone().all(|kind| kind.custom.is_some())
            });
            return if known && !of_custom {
                Err(StatusError::no_such_path())
            } else {
                Ok(no_page())
            };
        };
        let verb = self.verb(&target);
        self.check_right(&target, verb)?;
        let namespaces = kind.is("", "namespaces");
        let elsewhere = !kind.namespaced && target.namespace.is_some() && !namespaces;
        if elsewhere || (namespaces && target.namespace != target.name) {
            // The right would be asked for in a namespace, and used on the cluster.
            return match kind.custom {
                Some(_) => Ok(no_page()),
                None => Err(StatusError::no_such_path()),
            };
        }
        let nowhere = kind.namespaced && target.namespace.is_none() && verb == "create";
        if nowhere && kind.custom.is_some() {
            return Ok(no_page());
        }
        for fault in self.state.faults.meeting(verb, &kind) {
            match fault {
                Fault::Delay(time) => tokio::time::sleep(time).await,
                Fault::Refuse(failure) => return Err(failure),
                Fault::ExpireWatches if verb == "watch" => {
                    return Err(StatusError::expired("too old resource version: 1 (2)"));
                }
                Fault::ExpireWatches | Fault::DropWatches => {}
            }
        }
        let mut form = accept::form(&self.headers)?;
        form.row_object = match self.query.text("includeObject") {
            Some("None") => RowObject::None,
            Some("Object") => RowObject::Whole,
            _ => RowObject::Metadata,
        };
        let (agent, content_type) = (self.header(&USER_AGENT), self.header(&CONTENT_TYPE));
        let refused_with = Arc::default();
        // Refusals have these warnings, too.
        let custom = kind.custom.as_ref();
        let deprecation = custom.and_then(|custom| custom.deprecation.clone());
        exchange.warnings.extend(deprecation);
        let built_in = crate::builtin::deprecation(&kind);
        exchange.warnings.extend(built_in.map(str::to_owned));
        // Reads have no body: the server does not wait for one.
        let content = match verb {
            "get" | "list" | "watch" => Content::default(),
            _ => exchange.read(&self).await?,
        };
        let call = ObjectRequest {
            form,
            namespace: target.namespace,
            name: target.name,
            subresource: target.subresource,
            agent,
            content_type,
            warnings: Vec::new(),
            refused_with: Arc::clone(&refused_with),
            origin: crate::operations::Origin::default(),
            sent_part: None,
            deletion: serde_json::Map::new(),
            kind,
            state: self.state,
            user: self.user,
            transport: self.transport,
            query: self.query,
        };
        let performed = call.perform(verb, &content.bytes).await;
        let (call, reply) = performed.inspect_err(|_| {
            let taken = std::mem::take(&mut *refused_with.lock());
            exchange.warnings.extend(taken);
        })?;
        exchange.warnings.extend_from_slice(&call.warnings);
        Ok(replied(&call.kind, call.form, reply, &exchange.warnings))
    }

    /// The text of a header, empty without it.
    fn header(&self, name: &HeaderName) -> String {
        let text = self.headers.get(name).and_then(|value| value.to_str().ok());
        text.unwrap_or_default().to_owned()
    }

    fn check_right(&self, target: &Target, verb: &str) -> Result<(), StatusError> {
        let resource = match &target.subresource {
            Some(part) => format!("{}/{part}", target.resource),
            None => target.resource.clone(),
        };
        let asked = AccessRequest {
            verb: verb.to_owned(),
            group: target.group.clone(),
            resource,
            namespace: target.namespace.clone().unwrap_or_default(),
            name: target.name.clone().unwrap_or_else(|| self.selected_name()),
            path: None,
        };
        self.state.authorizer().check_right(&self.user, &asked)
    }

    /// The name of a list or watch of one object.
    fn selected_name(&self) -> String {
        let selector = self.query.get("fieldSelector").unwrap_or_default();
        let name = selector
            .strip_prefix("metadata.name=")
            .filter(|name| !name.contains([',', '=']));
        name.unwrap_or_default().to_owned()
    }

    fn verb(&self, target: &Target) -> &'static str {
        let named = target.name.is_some();
        match self.method.as_str() {
            "GET" | "HEAD" if self.query.on("watch") => "watch",
            "GET" | "HEAD" if named => "get",
            "GET" | "HEAD" => "list",
            "POST" => "create",
            "PUT" => "update",
            "PATCH" => "patch",
            "DELETE" if named => "delete",
            "DELETE" => "deletecollection",
            _ => "",
        }
    }
}

fn replied(kind: &Kind, form: Form, reply: Reply, warnings: &[String]) -> Response<Body> {
    let (code, encoded) = match reply {
        Reply::Object(code, object) => {
            let object = encode::object(kind, form, &object);
            let json = object.map(|object| Bytes::from(json::write(&object)));
            (code, json)
        }
        Reply::List(listed) => (200, encode::list(kind, form, &listed)),
        Reply::Lines(lines) => return streamed(lines, warnings),
    };
    match encoded {
        Ok(json) => {
            let (media, bytes) = encode::encoded(form, json);
            respond(code, media, bytes, warnings)
        }
        Err(failure) => refused(form, &failure, warnings),
    }
}

fn streamed(lines: Lines, warnings: &[String]) -> Response<Body> {
    let body = Body::from_stream(LargeStack::new(lines.map(Ok::<_, Infallible>)));
    let mut response = Response::new(body);
    response.extensions_mut().insert(Streamed);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    warn(headers, warnings);
    response
}

fn refused(form: Form, failure: &StatusError, warnings: &[String]) -> Response<Body> {
    let (media, bytes) = encode::encoded(form, Bytes::from(failure.status().to_string()));
    let mut response = respond(failure.code, media, bytes, warnings);
    if failure.code == 429 {
        let seconds = HeaderValue::from_static("1");
        response.headers_mut().insert(RETRY_AFTER, seconds);
    }
    response
}

fn no_page() -> Response<Body> {
    respond(
        404,
        "text/plain; charset=utf-8",
        Bytes::from("404 page not found\n"),
        &[],
    )
}

/// The version of the group is another server's, and this server forwards nothing.
fn unavailable() -> Response<Body> {
    respond(
        503,
        "text/plain; charset=utf-8",
        Bytes::from("service unavailable\n"),
        &[],
    )
}

fn respond(code: u16, media: &'static str, bytes: Bytes, warnings: &[String]) -> Response<Body> {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() =
        http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    warn(headers, warnings);
    response
}

/// Adds warnings. One of several lines gets lost, as in a kube-apiserver.
fn warn(headers: &mut HeaderMap, warnings: &[String]) {
    let printable = |warning: &&String| !warning.chars().any(char::is_control);
    for warning in warnings.iter().filter(printable) {
        let text = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{text}\"")) {
            headers.append(WARNING, value);
        }
    }
}
