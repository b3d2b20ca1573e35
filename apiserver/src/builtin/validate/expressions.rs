//! Expressions of admission policies and webhooks: whether they compile, as far as that is known
//! without types.

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue};

use super::field::{Errors, FieldValue};
use crate::cel;

/// What names functions rather than values.
const LIBRARIES: [&str; 12] = [
    "base64", "cel", "cidr", "format", "ip", "lists", "math", "optional", "quantity", "semver",
    "sets", "strings",
];
/// The names of types.
const TYPES: [&str; 13] = [
    "bool",
    "bytes",
    "double",
    "dyn",
    "google",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "type",
    "uint",
    "net",
];

/// What an expression may name.
pub(super) struct Scope {
    values: Vec<&'static str>,
    variables: Option<Vec<String>>,
}

impl Scope {
    /// Of the conditions of webhooks.
    pub(super) fn of_webhooks() -> Self {
        Self {
            values: vec!["object", "oldObject", "request", "authorizer"],
            variables: None,
        }
    }

    /// Of a policy, with parameters or without.
    pub(super) fn of_policies(with_params: bool) -> Self {
        let mut scope = Self::of_webhooks();
        scope.values.push("namespaceObject");
        if with_params {
            scope.values.push("params");
        }
        scope.variables = Some(Vec::new());
        scope
    }

    /// A variable that later expressions may name.
    pub(super) fn add(&mut self, variable: &str) {
        if let Some(variables) = &mut self.variables {
            variables.push(variable.to_owned());
        }
    }

    /// An expression that is true or false.
    pub(super) fn boolean(&self, at: &FieldValue<'_>, errors: &mut Errors) {
        self.of_type(at, Some("bool"), errors);
    }

    /// An expression that is a text.
    pub(super) fn text(&self, at: &FieldValue<'_>, errors: &mut Errors) {
        self.of_type(at, Some("string"), errors);
    }

    /// An expression of whatever type.
    pub(super) fn any(&self, at: &FieldValue<'_>, errors: &mut Errors) {
        self.of_type(at, None, errors);
    }

    fn of_type(&self, at: &FieldValue<'_>, wanted: Option<&str>, errors: &mut Errors) {
        let expression = match cel::parse(at.text()) {
            Ok(expression) => expression,
            Err(why) => {
                errors.push(at.invalid(&format!("compilation failed: {why}")));
                return;
            }
        };
        if let Some(wrong) = self.unknown(&expression, &mut Vec::new()) {
            errors.push(at.invalid(&format!("compilation failed: {wrong}")));
            return;
        }
        if let (Some(wanted), Some(found)) = (wanted, literal(&expression))
            && wanted != found
        {
            errors.push(at.invalid(&format!("must evaluate to {wanted} but got {found}")));
        }
    }

    /// The first name that nothing has. `bound` are those of the loops around.
    fn unknown(&self, expression: &IdedExpr, bound: &mut Vec<String>) -> Option<String> {
        match &expression.expr {
            Expr::Ident(name) => {
                let known = self.values.contains(&name.as_str())
                    || (name == "variables" && self.variables.is_some())
                    || TYPES.contains(&name.as_str())
                    || name.starts_with('@')
                    || bound.contains(name);
                (!known).then(|| format!("undeclared reference to '{name}' (in container '')"))
            }
            Expr::Select(select) => {
                if let (Expr::Ident(name), Some(variables)) =
                    (&select.operand.expr, &self.variables)
                    && name == "variables"
                    && !bound.contains(name)
                {
                    let known = variables.contains(&select.field);
                    return (!known).then(|| format!("undefined field '{}'", select.field));
                }
                self.unknown(&select.operand, bound)
            }
            Expr::Call(call) => {
                let of_library = |target: &IdedExpr| matches!(&target.expr, Expr::Ident(name) if LIBRARIES.contains(&name.as_str()));
                let target = call.target.as_deref().filter(|target| !of_library(target));
                target
                    .into_iter()
                    .chain(&call.args)
                    .find_map(|part| self.unknown(part, bound))
            }
            Expr::Comprehension(loops) => {
                if let Some(found) = self.unknown(&loops.iter_range, bound) {
                    return Some(found);
                }
                let before = bound.len();
                bound.push(loops.iter_var.clone());
                bound.push(loops.accu_var.clone());
                bound.extend(loops.iter_var2.clone());
                let parts = [
                    &loops.accu_init,
                    &loops.loop_cond,
                    &loops.loop_step,
                    &loops.result,
                ];
                let found = parts.into_iter().find_map(|part| self.unknown(part, bound));
                bound.truncate(before);
                found
            }
            Expr::List(list) => list
                .elements
                .iter()
                .find_map(|one| self.unknown(one, bound)),
            Expr::Map(map) => map.entries.iter().find_map(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => self
                    .unknown(&entry.key, bound)
                    .or_else(|| self.unknown(&entry.value, bound)),
                EntryExpr::StructField(field) => self.unknown(&field.value, bound),
            }),
            Expr::Struct(_) | Expr::Literal(_) | Expr::Unspecified => None,
        }
    }
}

/// The type of an expression that is a plain value.
fn literal(expression: &IdedExpr) -> Option<&'static str> {
    match &expression.expr {
        Expr::Literal(literal) => Some(match literal {
            LiteralValue::Boolean(_) => "bool",
            LiteralValue::Bytes(_) => "bytes",
            LiteralValue::Double(_) => "double",
            LiteralValue::Int(_) => "int",
            LiteralValue::Null => "null_type",
            LiteralValue::String(_) => "string",
            LiteralValue::UInt(_) => "uint",
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn messages(expression: &str) -> Vec<String> {
        let value = Value::from(expression);
        let at = FieldValue {
            value: &value,
            path: "e".to_owned(),
        };
        let mut scope = Scope::of_policies(false);
        scope.add("known");
        let mut errors = Vec::new();
        scope.boolean(&at, &mut errors);
        errors.into_iter().map(|error| error.message).collect()
    }

    #[rstest::rstest]
    #[case("object.metadata.name.startsWith('a') && !has(oldObject.spec)")]
    #[case("object.spec.containers.all(c, c.image.contains('/') || variables.known)")]
    #[case("object.items.map(i, i > 1, i + 1).exists(x, type(x) == int)")]
    #[case("object.?spec.orValue({}) == optional.none()")]
    #[case("quantity(object.a).isLessThan(quantity('1')) && math.greatest(1, 2) == 2")]
    #[case("authorizer.group('').resource('pods').check('get').allowed()")]
    fn what_names_only_what_there_is(#[case] expression: &str) {
        assert_eq!(messages(expression), Vec::<String>::new());
    }

    #[rstest::rstest]
    #[case("nope == 1", "undeclared reference to 'nope'")]
    #[case("object.items.all(i, i == j)", "undeclared reference to 'j'")]
    #[case("variables.unknown", "undefined field 'unknown'")]
    #[case("params.a == 1", "undeclared reference to 'params'")]
    #[case("object.a =", "compilation failed")]
    #[case("'a'", "must evaluate to bool but got string")]
    fn what_cannot_be_evaluated(#[case] expression: &str, #[case] why: &str) {
        let messages = messages(expression);
        assert!(
            messages.len() == 1 && messages[0].contains(why),
            "{messages:?}"
        );
    }
}
