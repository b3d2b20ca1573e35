//! Configuration of admission: webhooks, and policies with their bindings.

use reeve_go_compat::labels;

use super::field::{Errors, FieldValue, one_of, optional_name, required_one_of};
use super::{common, expressions};
use crate::names;
use crate::status_error::{Cause, FieldError};

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: [&str; 3] = ["*", "Cluster", "Namespaced"];
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];

/// A configuration of webhooks.
pub(super) fn webhooks(object: &FieldValue<'_>, errors: &mut Errors) {
    let all = object.get("webhooks");
    for webhook in all.items() {
        self::webhook(&webhook, errors);
    }
    super::field::no_duplicates(all.items(), "name", errors);
}

fn webhook(webhook: &FieldValue<'_>, errors: &mut Errors) {
    let name = webhook.get("name");
    let wrong = names::subdomain(name.text());
    errors.extend(wrong.iter().map(|why| name.invalid_text(why)));
    if wrong.is_empty() && name.text().split('.').count() < 3 {
        let why = "should be a domain with at least three segments separated by dots";
        errors.push(name.invalid(why));
    }
    for rule in webhook.get("rules").items() {
        self::rule(&rule, errors);
    }
    one_of(&webhook.get("failurePolicy"), &["Fail", "Ignore"], errors);
    one_of(
        &webhook.get("matchPolicy"),
        &["Equivalent", "Exact"],
        errors,
    );
    one_of(
        &webhook.get("reinvocationPolicy"),
        &["IfNeeded", "Never"],
        errors,
    );
    let effects = webhook.get("sideEffects");
    if effects.is_set() {
        one_of(&effects, &["None", "NoneOnDryRun"], errors);
    } else {
        errors.push(effects.required("must specify one of None, NoneOnDryRun"));
    }
    let timeout = webhook.get("timeoutSeconds");
    if timeout
        .number()
        .is_some_and(|seconds| !(1..=30).contains(&seconds))
    {
        errors.push(timeout.invalid("the timeout value must be between 1 and 30 seconds"));
    }
    reviews(&webhook.get("admissionReviewVersions"), errors);
    for selector in ["namespaceSelector", "objectSelector"] {
        common::selector(&webhook.get(selector), errors);
    }
    client(&webhook.get("clientConfig"), errors);
    let scope = expressions::Scope::of_webhooks();
    conditions(&webhook.get("matchConditions"), &scope, errors);
}

fn reviews(versions: &FieldValue<'_>, errors: &mut Errors) {
    if versions.is_empty() {
        errors.push(versions.required("must specify one of v1, v1beta1"));
        return;
    }
    let mut seen: Vec<&str> = Vec::new();
    for version in versions.items() {
        if seen.contains(&version.text()) {
            errors.push(version.invalid("duplicate version"));
            continue;
        }
        seen.push(version.text());
        super::field::named(&version, names::label_1035, errors);
    }
    if !seen.iter().any(|version| REVIEWS.contains(version)) {
        errors.push(versions.invalid("must include at least one of v1, v1beta1"));
    }
}

/// How a webhook is reached.
fn client(config: &FieldValue<'_>, errors: &mut Errors) {
    let (url, service) = (config.get("url"), config.get("service"));
    match (url.is_set(), service.is_set()) {
        (true, false) => address(&url, errors),
        (false, true) => self::service(&service, errors),
        _ => errors.push(config.required("exactly one of url or service is required")),
    }
}

fn address(url: &FieldValue<'_>, errors: &mut Errors) {
    const FORM: &str = "; desired format: https://host[/path]";
    let mut refuse = |part: &str, why: &str| {
        errors.push(FieldError::of_value(
            Cause::Invalid,
            &url.path,
            &part.into(),
            why,
        ));
    };
    let (text, fragment) = url.text().split_once('#').unwrap_or((url.text(), ""));
    let (text, query) = text.split_once('?').unwrap_or((text, ""));
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    if scheme != "https" {
        let why = format!("'https' is the only allowed URL scheme{FORM}");
        refuse(scheme, &why);
    }
    let authority = rest.split('/').next().unwrap_or_default();
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if host.is_empty() {
        refuse("", &format!("host must be specified{FORM}"));
    }
    for (part, what) in [
        (user, "user information is"),
        (fragment, "fragments are"),
        (query, "query parameters are"),
    ] {
        if !part.is_empty() {
            refuse(part, &format!("{what} not permitted in the URL"));
        }
    }
}

fn service(service: &FieldValue<'_>, errors: &mut Errors) {
    for field in ["name", "namespace"] {
        if service.get(field).is_empty() {
            errors.push(service.get(field).required(""));
        }
    }
    let port = service.get("port");
    let number = port.number().unwrap_or_default();
    if !(1..=65535).contains(&number) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(port.invalid(why));
    }
    let path = service.get("path");
    if !path.is_set() || path.text() == "/" || path.is_empty() {
        return;
    }
    if !path.text().starts_with('/') {
        errors.push(path.invalid("must start with a '/'"));
    }
    let steps = path.text().strip_suffix('/').unwrap_or(path.text());
    let mut letters = steps.chars();
    letters.next();
    for (place, step) in letters.as_str().split('/').enumerate() {
        if step.is_empty() {
            errors.push(path.invalid(&format!("segment[{place}] may not be empty")));
        } else {
            let wrong = names::subdomain(step);
            errors.extend(
                wrong
                    .iter()
                    .map(|why| path.invalid(&format!("segment[{place}]: {why}"))),
            );
        }
    }
}

/// Which operations on which resources something is about.
fn rule(rule: &FieldValue<'_>, errors: &mut Errors) {
    let [operations, groups, versions, resources] =
        ["operations", "apiGroups", "apiVersions", "resources"].map(|field| rule.get(field));
    for (list, what) in [(&groups, "API groups"), (&versions, "API versions")] {
        if list.is_empty() {
            errors.push(list.required(""));
        }
        star_alone(list, what, errors);
    }
    for version in versions.items() {
        if version.is_empty() {
            errors.push(version.required(""));
        }
    }
    if resources.is_empty() {
        errors.push(resources.required(""));
    } else {
        self::resources(&resources, errors);
    }
    if operations.is_empty() {
        errors.push(operations.required(""));
    }
    star_alone(&operations, "operations", errors);
    for operation in operations.items() {
        one_of(&operation, &OPERATIONS, errors);
    }
    one_of(&rule.get("scope"), &SCOPES, errors);
}

fn star_alone(list: &FieldValue<'_>, what: &str, errors: &mut Errors) {
    if list.len() > 1 && list.items().any(|one| one.text() == "*") {
        let why = format!("if '*' is present, must not specify other {what}");
        errors.push(list.invalid(&why));
    }
}

fn resources(list: &FieldValue<'_>, errors: &mut Errors) {
    let mut whole: Vec<&str> = Vec::new();
    let mut parts: Vec<&str> = Vec::new();
    let has = |text: &str| list.items().any(|one| one.text() == text);
    for one in list.items() {
        let text = one.text();
        if text.is_empty() {
            errors.push(one.required(""));
            continue;
        }
        let (resource, part) = text.split_once('/').unwrap_or((text, ""));
        if text.contains('/') && whole.contains(&resource) {
            let why = format!("if '{resource}/*' is present, must not specify {text}");
            errors.push(one.invalid(&why));
        }
        if text.contains('/') && parts.contains(&part) {
            let why = format!("if '*/{part}' is present, must not specify {text}");
            errors.push(one.invalid(&why));
        }
        if part == "*" {
            whole.push(resource);
        }
        if resource == "*" && text.contains('/') {
            parts.push(part);
        }
    }
    if list.len() > 1 && has("*/*") {
        errors.push(list.invalid("if '*/*' is present, must not specify other resources"));
    }
    let plain = list.items().filter(|one| !one.text().contains('/')).count();
    if has("*") && plain > 1 {
        errors.push(
            list.invalid(
                "if '*' is present, must not specify other resources without subresources",
            ),
        );
    }
}

/// Conditions of being asked at all.
fn conditions(all: &FieldValue<'_>, scope: &expressions::Scope, errors: &mut Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for one in all.items() {
        let (name, expression) = (one.get("name"), one.get("expression"));
        if expression.text().trim().is_empty() {
            errors.push(expression.required(""));
        } else {
            scope.boolean(&expression, errors);
        }
        if name.is_empty() {
            errors.push(name.required(""));
        } else {
            super::field::named(&name, labels::key_errors, errors);
            if seen.contains(&name.text()) {
                errors.push(name.duplicate());
            }
            seen.push(name.text());
        }
    }
}

/// A `ValidatingAdmissionPolicy`.
pub(super) fn policy(object: &FieldValue<'_>, errors: &mut Errors) {
    let spec = object.get("spec");
    one_of(&spec.get("failurePolicy"), &["Fail", "Ignore"], errors);
    let params = spec.get("paramKind");
    if params.is_set() {
        param_kind(&params, errors);
    }
    let constraints = spec.get("matchConstraints");
    if constraints.is_set() {
        matched(&constraints, errors);
        let rules = constraints.get("resourceRules");
        if rules.is_empty() {
            errors.push(rules.required(""));
        }
    } else {
        errors.push(constraints.required(""));
    }
    let mut scope = expressions::Scope::of_policies(params.is_set());
    conditions(&spec.get("matchConditions"), &scope, errors);
    for variable in spec.get("variables").items() {
        self::variable(&variable, &mut scope, errors);
    }
    let (validations, annotations) = (spec.get("validations"), spec.get("auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        let why = "validations or auditAnnotations must contain at least one item";
        errors.push(validations.required(why));
        errors.push(annotations.required(why));
    }
    for validation in validations.items() {
        self::validation(&validation, &scope, errors);
    }
    let name = object.get("metadata.name").text();
    for annotation in annotations.items() {
        audit(name, &annotation, &scope, errors);
    }
}

fn param_kind(params: &FieldValue<'_>, errors: &mut Errors) {
    let (version, kind) = (params.get("apiVersion"), params.get("kind"));
    if version.is_empty() {
        errors.push(version.required(""));
    } else if version.text().matches('/').count() > 1 {
        let why = format!("unexpected GroupVersion string: {}", version.text());
        errors.push(version.invalid(&why));
    }
    if kind.is_empty() {
        errors.push(kind.required(""));
    } else {
        let lower = kind.text().to_lowercase();
        errors.extend(names::label_1035(&lower).iter().map(|why| {
            kind.invalid(&format!(
                "may have mixed case, but should otherwise match: {why}"
            ))
        }));
    }
}

/// What a policy or binding is about.
fn matched(at: &FieldValue<'_>, errors: &mut Errors) {
    one_of(&at.get("matchPolicy"), &["Equivalent", "Exact"], errors);
    for selector in ["namespaceSelector", "objectSelector"] {
        common::selector(&at.get(selector), errors);
    }
    for rules in ["resourceRules", "excludeResourceRules"] {
        for rule in at.get(rules).items() {
            self::rule(&rule, errors);
        }
    }
}

fn variable(variable: &FieldValue<'_>, scope: &mut expressions::Scope, errors: &mut Errors) {
    let (name, expression) = (variable.get("name"), variable.get("expression"));
    if name.is_empty() {
        errors.push(name.required("name is not specified"));
    } else if !is_identifier(name.text()) {
        errors.push(name.invalid("name is not a valid CEL identifier"));
    }
    if expression.text().trim().is_empty() {
        errors.push(expression.required("expression is not specified"));
    } else {
        scope.any(&expression, errors);
    }
    scope.add(name.text());
}

fn is_identifier(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn validation(one: &FieldValue<'_>, scope: &expressions::Scope, errors: &mut Errors) {
    let (expression, message) = (one.get("expression"), one.get("message"));
    let text = message.text();
    if expression.text().trim().is_empty() {
        errors.push(expression.required("expression is not specified"));
    } else {
        scope.boolean(&expression, errors);
    }
    if !text.is_empty() && text.trim().is_empty() {
        errors.push(message.invalid("must be non-empty if specified"));
    } else if text.trim().contains(['\n', '\r']) {
        errors.push(message.invalid("must not contain line breaks"));
    }
    let spoken = one.get("messageExpression");
    if !spoken.text().trim().is_empty() {
        scope.text(&spoken, errors);
    }
    one_of(
        &one.get("reason"),
        &["Forbidden", "Invalid", "RequestEntityTooLarge"],
        errors,
    );
}

fn audit(policy: &str, one: &FieldValue<'_>, scope: &expressions::Scope, errors: &mut Errors) {
    let (key, value) = (one.get("key"), one.get("valueExpression"));
    if key.is_empty() {
        errors.push(key.required("key is not specified"));
    } else {
        let whole = format!("{policy}/{}", key.text());
        errors.extend(labels::key_errors(&whole).iter().map(|why| {
            FieldError::of_value(Cause::Invalid, &key.path, &whole.as_str().into(), why)
        }));
    }
    if value.text().trim().is_empty() {
        errors.push(value.required("valueExpression is not specified"));
    } else {
        scope.any(&value, errors);
    }
}

/// A `ValidatingAdmissionPolicyBinding`.
pub(super) fn binding(object: &FieldValue<'_>, errors: &mut Errors) {
    let spec = object.get("spec");
    super::field::required_name(&spec.get("policyName"), names::subdomain, errors);
    let params = spec.get("paramRef");
    if params.is_set() {
        param_ref(&params, errors);
    }
    let resources = spec.get("matchResources");
    if resources.is_set() {
        matched(&resources, errors);
    }
    let actions = spec.get("validationActions");
    if actions.is_empty() {
        errors.push(actions.required("at least one validation action is required"));
    }
    for action in actions.items() {
        one_of(&action, &["Audit", "Deny", "Warn"], errors);
    }
    let has = |action: &str| actions.items().any(|one| one.text() == action);
    if has("Deny") && has("Warn") {
        errors.push(actions.invalid(
            "must not contain both Deny and Warn (repeating the same validation failure information in the API \
             response and headers serves no purpose)",
        ));
    }
    super::field::no_duplicates(actions.items(), "", errors);
}

fn param_ref(params: &FieldValue<'_>, errors: &mut Errors) {
    let (name, selector) = (params.get("name"), params.get("selector"));
    match (!name.is_empty(), selector.is_set()) {
        (true, true) => {
            for at in [&name, &selector] {
                errors.push(at.forbidden("name and selector are mutually exclusive"));
            }
        }
        (false, false) => {
            errors.push(params.required("one of name or selector must be specified"));
        }
        _ => optional_name(&name, names::path_segment, errors),
    }
    let otherwise = params.get("parameterNotFoundAction");
    required_one_of(&otherwise, &["Deny", "Allow"], errors);
}
