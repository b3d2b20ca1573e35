//! Requests in, answers out: the server as a `tower` service.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use http::header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT, WARNING};
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt as _, Limited};

use crate::aggregation;
use crate::audit::{Asking, Record};
use crate::auth::{AUDIENCE, AccessRequest};
use crate::discovery;
use crate::encode;
use crate::failure::Failure;
use crate::fault_injection::Fault;
use crate::identity::Identity;
use crate::kinds::Kind;
use crate::operations::{Call, Lines, Reply};
use crate::request::Transport;
use crate::request::accept::{self, Form, RowObject};
use crate::request::path::{Route, Target, route};
use crate::request::query::Query;
use crate::server::Server;
use crate::stack::Large;
use crate::state::State;

/// The largest body that is read.
const LARGEST: usize = 3 << 20;

/// A server as somebody sees it: every request is this somebody's, unless it has a bearer token.
#[derive(Clone)]
pub struct Service {
    server: Server,
    /// Nobody, if this somebody has shown a credential that is not accepted here.
    user: Option<Identity>,
    transport: Transport,
}

impl Server {
    /// The server as somebody sees it, for a client in this process.
    pub fn service(&self, user: Identity) -> Service {
        Service {
            transport: Transport::InProcess,
            ..self.service_of(Some(user))
        }
    }

    /// The same for a client elsewhere; without a user for one whose credential is not accepted.
    pub(crate) fn service_of(&self, user: Option<Identity>) -> Service {
        Service {
            server: self.clone(),
            user,
            transport: Transport::Remote,
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
        let Self {
            server,
            user,
            transport,
        } = self.clone();
        Box::pin(Large::new(async move {
            Ok(answered(server.state, (user, transport), request).await)
        }))
    }
}

async fn answered<B>(
    state: Arc<State>,
    (user, transport): (Option<Identity>, Transport),
    request: Request<B>,
) -> Response<Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    let (parts, body) = request.into_parts();
    let form = accept::form(&parts.headers).unwrap_or_default();
    let body = if let Ok(body) = Limited::new(body, LARGEST).collect().await {
        body.to_bytes()
    } else {
        let failure = Failure {
            code: 413,
            reason: "RequestEntityTooLarge".into(),
            message: format!("Request entity too large: limit is {LARGEST}"),
            details: None,
        };
        return refused(form, &failure, &[]);
    };
    let user = match identified(&state, &parts.headers, user) {
        Ok(user) => user,
        Err(failure) => return refused(form, &failure, &[]),
    };
    let question = Question {
        state,
        user,
        transport,
        method: parts.method,
        path: parts.uri.path().to_owned(),
        uri: parts.uri.to_string(),
        query: Query::parse(parts.uri.query().unwrap_or_default()),
        headers: parts.headers,
        body,
    };
    let record = question.record();
    let mut warnings = Vec::new();
    let response = match question.answer(&mut warnings).await {
        Ok(response) => response,
        Err(failure) => refused(form, &failure, &warnings),
    };
    match record {
        Some(record) => recorded(record, response),
        None => response,
    }
}

/// The record ends with the answer, which a watch sends for long.
fn recorded(mut record: Record, response: Response<Body>) -> Response<Body> {
    record.answered(response.status().as_u16());
    if response.extensions().get::<Streamed>().is_none() {
        return response;
    }
    record.started();
    response.map(|body| {
        let lines = body.into_data_stream();
        Body::from_stream(lines.inspect(move |_| {
            // Lives as long as the stream.
            let _ = &record;
        }))
    })
}

/// Who asks: whoever the token stands for, or whose name may be borrowed.
fn identified(
    state: &State,
    headers: &HeaderMap,
    user: Option<Identity>,
) -> Result<Identity, Failure> {
    let bearer = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|text| text.strip_prefix("Bearer "));
    let user = match bearer {
        None => user.ok_or_else(Failure::unauthorized)?,
        Some(token) => match state.tokens.verify(&state.store, token.trim()) {
            // A token that was made for somebody else opens nothing here.
            Some(claims) if claims.audiences.iter().any(|one| one == AUDIENCE) => claims.identity,
            _ => return Err(Failure::unauthorized()),
        },
    };
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(borrowed) = text("impersonate-user") else {
        let others = headers
            .keys()
            .any(|name| name.as_str().starts_with("impersonate-"));
        if others {
            return Err(Failure::bad_request(
                "requested impersonation without a readable Impersonate-User",
            ));
        }
        return Ok(user);
    };
    let strange = headers.keys().any(|name| {
        let name = name.as_str();
        name == "impersonate-uid" || name.starts_with("impersonate-extra-")
    });
    if strange {
        return Err(Failure::bad_request(
            "this server takes neither Impersonate-Uid nor Impersonate-Extra",
        ));
    }
    state
        .authorizer()
        .check_right(&user, &impersonation("users", borrowed))?;
    let groups = headers.get_all("impersonate-group").iter();
    let groups: Vec<&str> = groups.filter_map(|value| value.to_str().ok()).collect();
    for group in &groups {
        state
            .authorizer()
            .check_right(&user, &impersonation("groups", group))?;
    }
    if groups.len() != headers.get_all("impersonate-group").iter().count() {
        return Err(Failure::bad_request("an Impersonate-Group is not readable"));
    }
    Ok(Identity::new(borrowed, &groups))
}

fn impersonation(resource: &str, name: &str) -> AccessRequest {
    AccessRequest {
        verb: "impersonate".to_owned(),
        resource: resource.to_owned(),
        name: name.to_owned(),
        ..AccessRequest::default()
    }
}

struct Question {
    state: Arc<State>,
    user: Identity,
    transport: Transport,
    method: Method,
    path: String,
    uri: String,
    query: Query,
    headers: HeaderMap,
    body: Bytes,
}

/// Marks an answer without end.
#[derive(Clone, Copy)]
struct Streamed;

impl Question {
    fn record(&self) -> Option<Record> {
        let audit = self.state.options.audit.as_ref()?;
        let target = match route(&self.path) {
            Route::Objects(target) => Some(target),
            _ => None,
        };
        let lower = self.method.as_str().to_lowercase();
        let verb = target
            .as_ref()
            .map_or(lower.as_str(), |target| self.verb(target));
        let agent = self.headers.get(USER_AGENT);
        Some(
            audit.begin(&Asking {
                verb,
                uri: self.uri.clone(),
                agent: agent
                    .and_then(|agent| agent.to_str().ok())
                    .unwrap_or_default(),
                user: &self.user,
                target: target.as_ref(),
                body: &self.body,
            }),
        )
    }

    async fn answer(self, warnings: &mut Vec<String>) -> Result<Response<Body>, Failure> {
        match route(&self.path) {
            Route::Objects(target) => self.objects(target, warnings).await,
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

    fn check_path(&self) -> Result<(), Failure> {
        let asked = AccessRequest {
            verb: self.method.as_str().to_lowercase(),
            path: Some(self.path.clone()),
            ..AccessRequest::default()
        };
        self.state.authorizer().check_right(&self.user, &asked)
    }

    fn plain(&self, route: &Route) -> Result<Response<Body>, Failure> {
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
            None if self.is_of_known_group(route) => Err(Failure::no_such_path()),
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

    /// Whether a version of a group would have to be asked of another server.
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
        warnings: &mut Vec<String>,
    ) -> Result<Response<Body>, Failure> {
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
                Err(Failure::no_such_path())
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
                None => Err(Failure::no_such_path()),
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
                    return Err(Failure::expired("too old resource version: 1 (2)"));
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
        let header = |name: http::HeaderName| {
            let text = self.headers.get(name).and_then(|value| value.to_str().ok());
            text.unwrap_or_default().to_owned()
        };
        let refused_with = Arc::default();
        // Those who are refused are told that, too.
        let custom = kind.custom.as_ref();
        warnings.extend(custom.and_then(|custom| custom.deprecation.clone()));
        let built_in = crate::builtin::deprecation(&kind);
        warnings.extend(built_in.map(str::to_owned));
        let call = Call {
            form,
            namespace: target.namespace,
            name: target.name,
            subresource: target.subresource,
            agent: header(USER_AGENT),
            content_type: header(CONTENT_TYPE),
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
        let performed = call.perform(verb, &self.body).await;
        let (call, reply) = performed.inspect_err(|_| {
            let said = std::mem::take(&mut *refused_with.lock());
            warnings.extend(said);
        })?;
        warnings.extend_from_slice(&call.warnings);
        Ok(replied(&call.kind, call.form, reply, warnings))
    }

    fn check_right(&self, target: &Target, verb: &str) -> Result<(), Failure> {
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

impl Call {
    async fn perform(mut self, verb: &str, body: &[u8]) -> Result<(Self, Reply), Failure> {
        if verb == "create" && self.is_review() {
            let review = self.review(body).await?;
            return Ok((self, Reply::Object(201, review)));
        }
        let part = self.subresource.clone();
        match &part {
            None => {
                let nowhere = self.kind.namespaced && self.namespace.is_none();
                if verb == "create" && (self.name.is_some() || nowhere) {
                    return Err(Failure::method_not_allowed());
                }
                let known = self.kind.verbs.iter().any(|one| one == verb);
                if !known {
                    return Err(Failure::method_not_allowed());
                }
            }
            Some(part) => {
                let known = self.kind.subresource(part);
                let known = known.ok_or_else(|| match &self.kind.custom {
                    Some(_) => Failure::not_found(
                        &self.kind.about(),
                        self.name.as_deref().unwrap_or_default(),
                    ),
                    None => Failure::no_such_path(),
                })?;
                if !known.verbs.iter().any(|one| one == verb) {
                    return Err(Failure::method_not_allowed());
                }
            }
        }
        match (part.as_deref(), verb) {
            (Some("scale"), "get") => self.get_scale(),
            (Some("scale"), "update") => self.update_scale(body).await,
            (Some("scale"), "patch") => self.patch_scale(body).await,
            (Some("token"), "create") => self.request_token(body).await,
            (Some("binding"), "create") => self.bind(body).await,
            (Some("proxy" | "log" | "exec" | "attach" | "portforward"), _) => Err(
                Failure::bad_request("there is no node: Pods of this server do not run"),
            ),
            (_, "get") => self.get(),
            (_, "list") => self.list(),
            (_, "watch") => self.watch(),
            (None, "create") => self.create(body).await,
            (_, "update") => self.update(body).await,
            (_, "patch") => self.patch(body).await,
            (None, "delete") => self.delete(body).await,
            (None, "deletecollection") => self.delete_collection(body).await,
            _ => Err(Failure::method_not_allowed()),
        }
    }
}

fn replied(kind: &Kind, form: Form, reply: Reply, warnings: &[String]) -> Response<Body> {
    match reply {
        Reply::Object(code, object) => {
            let object = encode::object(kind, form, &object);
            let (media, bytes) = encode::encoded(form, Bytes::from(object.to_string()));
            respond(code, media, bytes, warnings)
        }
        Reply::List(listed) => {
            let (media, bytes) = encode::encoded(form, encode::list(kind, form, &listed));
            respond(200, media, bytes, warnings)
        }
        Reply::Lines(lines) => streamed(lines, warnings),
    }
}

fn streamed(lines: Lines, warnings: &[String]) -> Response<Body> {
    let body = Body::from_stream(Large::new(lines.map(Ok::<_, Infallible>)));
    let mut response = Response::new(body);
    response.extensions_mut().insert(Streamed);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    warn(headers, warnings);
    response
}

fn refused(form: Form, failure: &Failure, warnings: &[String]) -> Response<Body> {
    let (media, bytes) = encode::encoded(form, Bytes::from(failure.status().to_string()));
    respond(failure.code, media, bytes, warnings)
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

fn warn(headers: &mut HeaderMap, warnings: &[String]) {
    for warning in warnings {
        let text = warning
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace(['\n', '\r'], " ");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{text}\"")) {
            headers.append(WARNING, value);
        }
    }
}
