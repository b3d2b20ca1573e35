//! Checks custom resources against the schema of their definition, with the texts of the API server.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use reeve_go_compat::regexp::Regexp;
use reeve_go_compat::strfmt;
use serde_json::{Map, Value};

use super::MAX_DEPTH;
use super::model::{Additional, Checks, ListType, Node, TypeId, Types, ValueType};
use super::resources;
use super::rules;
use super::scalars::{type_name, whole};
use crate::cel;
use crate::status_error::{Cause, FieldError};

/// Validates `value`. With `old`, the value that it replaces, what has not changed is not held
/// against it.
pub fn validate(types: &Types, id: TypeId, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
    validate_after(types, id, value, old, &[])
}

/// As [`validate`], when others have found the errors `before`, such as those of the metadata: there are errors that
/// keep the rules from being checked.
pub fn validate_after(
    types: &Types,
    id: TypeId,
    value: &Value,
    old: Option<&Value>,
    before: &[FieldError],
) -> Vec<FieldError> {
    let mut validator = Validator {
        types,
        path: String::new(),
        errors: Vec::new(),
        late: Vec::new(),
    };
    validator.value(id, value, old, 0);
    let mut errors = validator.errors;
    errors.append(&mut validator.late);
    if types.has_rules {
        if before.iter().chain(&errors).any(blocks) {
            let detail = "some validation rules were not checked because the object was invalid; \
                correct the existing errors to complete validation";
            errors.push(FieldError::of_value(
                Cause::Invalid,
                "<nil>",
                &Value::Null,
                detail,
            ));
        } else {
            cel::with_budget(|| check_rules(types, id, value, old, &mut errors));
        }
    }
    errors
}

/// Errors that keep the rules from being checked.
fn blocks(error: &FieldError) -> bool {
    matches!(
        error.cause,
        Cause::NotSupported
            | Cause::Required
            | Cause::TooLong
            | Cause::TooMany
            | Cause::TypeInvalid
    )
}

struct Validator<'a> {
    types: &'a Types,
    path: String,
    errors: Vec<FieldError>,
    /// Errors of embedded resources and of lists: they come after all others.
    late: Vec<FieldError>,
}

impl Validator<'_> {
    fn value(&mut self, id: TypeId, value: &Value, old: Option<&Value>, depth: usize) {
        let node = self.types.node(id);
        if depth > MAX_DEPTH || old == Some(value) {
            return;
        }
        if self.wrong_type(node, value) {
            self.enumeration(node, value);
            return;
        }
        if value.is_null() {
            return;
        }
        if let Some(checks) = &node.checks {
            self.junctions(checks, value, depth);
        }
        match value {
            Value::String(text) => self.string(node, text, value),
            Value::Number(number) => self.number(node, number, value),
            Value::Array(list) => self.list(node, list, old, depth),
            Value::Object(object) => self.object(node, object, old, depth),
            _ => {}
        }
        self.enumeration(node, value);
    }

    fn in_body(&self, rest: &str) -> String {
        format!("{} in body {rest}", self.path)
    }

    fn invalid(&mut self, value: &Value, rest: &str) {
        let detail = self.in_body(rest);
        let error = FieldError::of_value(Cause::Invalid, self.path.as_str(), value, &detail);
        self.errors.push(error);
    }

    /// An error that belongs to no field.
    fn of_all(&mut self, detail: &str) {
        let empty = Value::String(String::new());
        let error = FieldError::of_value(Cause::Invalid, "<nil>", &empty, detail);
        self.errors.push(error);
    }

    fn wrong_type(&mut self, node: &Node, value: &Value) -> bool {
        let is_whole = matches!(value, Value::Number(number) if whole(number).is_some());
        let (right, wanted) = match node.value_type {
            _ if value.is_null() && node.nullable => (true, ""),
            _ if node.int_or_string => (is_whole || value.is_string(), "integer,string"),
            ValueType::Any => (true, ""),
            ValueType::Object => (value.is_object(), "object"),
            ValueType::Array => (value.is_array(), "array"),
            ValueType::String => (value.is_string(), "string"),
            ValueType::Integer => (is_whole, "integer"),
            ValueType::Number => (value.is_number(), "number"),
            ValueType::Boolean => (value.is_boolean(), "boolean"),
        };
        if right {
            return false;
        }
        let fraction = value.is_number() && wanted == "integer";
        let (wanted, what) = match node.format.as_str() {
            format @ ("int32" | "int64") if fraction => (format, "float64"),
            _ => (wanted, type_name(value)),
        };
        self.type_error(wanted, what);
        if fraction {
            self.checked_number(node);
        }
        !fraction
    }

    fn type_error(&mut self, wanted: &str, what: &str) {
        let detail = self.in_body(&format!("must be of type {wanted}: \"{what}\""));
        let shown = Value::String(what.to_owned());
        let path = self.path.as_str();
        let error = FieldError::of_value(Cause::TypeInvalid, path, &shown, &detail);
        self.errors.push(error);
    }

    fn checked_number(&mut self, node: &Node) {
        let format = if node.format.is_empty() {
            "(default format)".to_owned()
        } else {
            format!("with format {}", node.format)
        };
        let detail = format!(
            "Checked value must be of type integer {format} in {}",
            self.path
        );
        self.of_all(&detail);
    }

    fn enumeration(&mut self, node: &Node, value: &Value) {
        if node.enumeration.is_empty() || node.enumeration.contains(value) {
            return;
        }
        let allowed: Vec<String> = node
            .enumeration
            .iter()
            .map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned))
            .collect();
        let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
        let error = FieldError::not_supported(self.path.as_str(), value, &allowed);
        self.errors.push(error);
    }

    fn string(&mut self, node: &Node, text: &str, value: &Value) {
        if let Some(checks) = &node.checks {
            let length = text.chars().count() as u64;
            if let Some(most) = checks.max_length.filter(|most| length > *most) {
                let detail = format!("may not be more than {most} bytes");
                let error = FieldError::new(Cause::TooLong, self.path.as_str(), &detail);
                self.errors.push(error);
            } else if let Some(least) = checks.min_length.filter(|least| length < *least) {
                self.invalid(value, &format!("should be at least {least} chars long"));
            } else if let Some(pattern) = &checks.pattern {
                let compile = || Regexp::compile_anew(pattern.as_bytes()).ok().map(Arc::new);
                let regexp = checks.regexp.get_or_init(compile).as_ref();
                if !regexp.is_some_and(|regexp| regexp.is_match(text.as_bytes())) {
                    self.invalid(value, &format!("should match '{pattern}'"));
                }
            }
        }
        if !node.format.is_empty() && !strfmt::is_valid(&node.format, text) {
            self.type_error(&node.format, text);
        }
    }

    fn number(&mut self, node: &Node, number: &serde_json::Number, value: &Value) {
        let as_whole = whole(number);
        if let (ValueType::Integer, "int32", Some(whole)) =
            (node.value_type, node.format.as_str(), as_whole)
            && i32::try_from(whole).is_err()
        {
            self.checked_number(node);
            return;
        }
        let Some(checks) = &node.checks else {
            return;
        };
        let shown = as_whole.map_or_else(|| value.clone(), Value::from);
        let float = number.as_f64().unwrap_or_default();
        let limit = |given: &Option<Value>| given.as_ref().and_then(Value::as_f64);
        if let Some(factor) = limit(&checks.multiple_of) {
            self.multiple(factor, as_whole, float, &shown);
        }
        if let (Some(most), Some(text)) = (limit(&checks.maximum), &checks.maximum) {
            if checks.exclusive_maximum && float >= most {
                self.invalid(&shown, &format!("should be less than {text}"));
            } else if float > most {
                self.invalid(&shown, &format!("should be less than or equal to {text}"));
            }
        }
        if let (Some(least), Some(text)) = (limit(&checks.minimum), &checks.minimum) {
            if checks.exclusive_minimum && float <= least {
                self.invalid(&shown, &format!("should be greater than {text}"));
            } else if float < least {
                self.invalid(
                    &shown,
                    &format!("should be greater than or equal to {text}"),
                );
            }
        }
    }

    /// The API server takes the factor without its fraction when the value has none.
    fn multiple(&mut self, factor: f64, as_whole: Option<i64>, float: f64, shown: &Value) {
        let text = format!("should be a multiple of {factor}");
        if as_whole.is_some() {
            let factor = factor.trunc();
            if factor <= 0.0 {
                let path = self.path.as_str();
                let zero = Value::from(0);
                let detail = format!("factor MultipleOf declared for {path} must be positive: 0");
                let error = FieldError::of_value(Cause::Invalid, path, &zero, &detail);
                self.errors.push(error);
            } else if (float % factor).abs() > 0.0 {
                self.invalid(shown, &text);
            }
        } else if (float / factor).fract().abs() > 0.0 {
            self.invalid(shown, &text);
        }
    }

    fn list(&mut self, node: &Node, list: &[Value], old: Option<&Value>, depth: usize) {
        if let Some(checks) = &node.checks {
            let length = list.len() as u64;
            if let Some(least) = checks.min_items.filter(|least| length < *least) {
                let shown = Value::from(length);
                self.invalid(&shown, &format!("should have at least {least} items"));
            } else if let Some(most) = checks.max_items.filter(|most| length > *most) {
                self.too_many(length, most);
            } else if checks.unique_items && repeated(list, &[]).next().is_some() {
                let shown = Value::Array(list.to_vec());
                self.invalid(&shown, "shouldn't contain duplicates");
            }
        }
        if let Some(items) = &node.items {
            let keys: &[String] = match &node.list_type {
                ListType::Map(keys) => keys,
                _ => &[],
            };
            let before = Correlated::of(old, keys);
            let length = self.path.len();
            for (index, item) in list.iter().enumerate() {
                self.path.push_str(&index_of(index));
                self.value(items.id, item, before.of_item(item, keys), depth + 1);
                self.path.truncate(length);
            }
        }
        self.duplicates(node, list, old);
    }

    fn too_many(&mut self, length: u64, most: u64) {
        let noun = if most == 1 { "item" } else { "items" };
        let error = FieldError::of_value(
            Cause::TooMany,
            self.path.as_str(),
            &Value::from(length),
            &format!("must have at most {most} {noun}"),
        );
        self.errors.push(error);
    }

    fn duplicates(&mut self, node: &Node, list: &[Value], old: Option<&Value>) {
        let keys: &[String] = match &node.list_type {
            ListType::Map(keys) => keys,
            ListType::Set => &[],
            _ => return,
        };
        // A list that had duplicates before may go on having them.
        if let Some(Value::Array(before)) = old
            && repeated(before, keys).next().is_some()
        {
            return;
        }
        for (index, shown) in repeated(list, keys) {
            let field = format!("{}{}", self.path, index_of(index));
            let error = FieldError::of_value(Cause::Duplicate, field, &shown, "");
            self.late.push(error);
        }
    }

    fn object(
        &mut self,
        node: &Node,
        object: &Map<String, Value>,
        old: Option<&Value>,
        depth: usize,
    ) {
        if let Some(checks) = &node.checks {
            let length = object.len() as u64;
            if let Some(least) = checks.min_properties.filter(|least| length < *least) {
                let shown = Value::from(length);
                self.invalid(&shown, &format!("should have at least {least} properties"));
            } else if let Some(most) = checks.max_properties.filter(|most| length > *most) {
                self.too_many(length, most);
            }
        }
        for name in &node.required {
            if !object.contains_key(name) {
                let field = self.child(name);
                let error = FieldError::new(Cause::Required, field, "");
                self.errors.push(error);
            }
        }
        if node.embedded && depth > 0 {
            resources::check(&self.path, object, &mut self.late);
        }
        let length = self.path.len();
        for (name, value) in object {
            let id = match (node.properties.get(name), &node.additional) {
                (Some(_), _) if node.embedded && name == "metadata" => node.own_metadata,
                (Some(edge), _) | (None, Additional::Of(edge)) => Some(edge.id),
                _ => None,
            };
            if let Some(id) = id {
                self.path = self.child(name);
                let before = old.and_then(|old| old.get(name));
                self.value(id, value, before, depth + 1);
                self.path.truncate(length);
            }
        }
    }

    fn child(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    /// The errors against one of several schemas. What an update leaves as it was may be invalid, but not here.
    fn attempt(&mut self, id: TypeId, value: &Value, depth: usize) -> Vec<FieldError> {
        let before = std::mem::take(&mut self.errors);
        let late = self.late.len();
        self.value(id, value, None, depth + 1);
        self.late.truncate(late);
        std::mem::replace(&mut self.errors, before)
    }

    fn junctions(&mut self, checks: &Checks, value: &Value, depth: usize) {
        if !checks.any_of.is_empty() || !checks.one_of.is_empty() {
            for (all, one) in [(&checks.any_of, false), (&checks.one_of, true)] {
                self.alternatives(all, one, value, depth);
            }
        }
        let mut failed = 0;
        for id in &checks.all_of {
            let errors = self.attempt(*id, value, depth);
            failed += usize::from(!errors.is_empty());
            self.errors.extend(errors);
        }
        if failed > 0 {
            let none = if failed == checks.all_of.len() {
                ". None validated"
            } else {
                ""
            };
            let path = &self.path;
            self.of_all(&format!(
                "\"{path}\" must validate all the schemas (allOf){none}"
            ));
        }
        if let Some(not) = checks.not
            && self.attempt(not, value, depth).is_empty()
        {
            let path = &self.path;
            self.of_all(&format!("\"{path}\" must not validate the schema (not)"));
        }
    }

    fn alternatives(&mut self, all: &[TypeId], one: bool, value: &Value, depth: usize) {
        if all.is_empty() {
            return;
        }
        let mut good = 0;
        let mut best: Option<Vec<FieldError>> = None;
        for id in all {
            let errors = self.attempt(*id, value, depth);
            if errors.is_empty() {
                good += 1;
            } else if best.as_ref().is_none_or(|best| errors.len() < best.len()) {
                best = Some(errors);
            }
        }
        let path = self.path.clone();
        match (one, good) {
            (false, 0) => self.of_all(&format!("\"{path}\" must validate at least one schema (anyOf)")),
            (true, 0) => self.of_all(&format!(
                "\"{path}\" must validate one and only one schema (oneOf). Found none valid"
            )),
            (true, many) if many > 1 => self.of_all(&format!(
                "\"{path}\" must validate one and only one schema (oneOf). Found {many} valid alternatives"
            )),
            _ => {}
        }
        if good == 0 {
            self.errors.extend(best.into_iter().flatten());
        }
    }
}

/// Checks the rules of a value and of all in it that is not as it was.
fn check_rules(
    types: &Types,
    id: TypeId,
    value: &Value,
    old: Option<&Value>,
    errors: &mut Vec<FieldError>,
) {
    let mut todo = vec![(String::new(), id, value, old)];
    while let Some((path, id, value, old)) = todo.pop() {
        if old == Some(value) || value.is_null() {
            continue;
        }
        let node = types.node(id);
        rules::check(types, id, &path, value, old, errors);
        let first = todo.len();
        match value {
            Value::Object(object) => {
                let before = |name: &str| old.filter(|_| !node.map_atomic)?.get(name);
                for (name, inner) in object {
                    let (id, path) = match (node.properties.get(name), &node.additional) {
                        (Some(_), _) if node.embedded && name == "metadata" => continue,
                        (Some(edge), _) if path.is_empty() => (edge.id, name.clone()),
                        (Some(edge), _) => (edge.id, format!("{path}.{name}")),
                        (None, Additional::Of(edge)) => (edge.id, format!("{path}[{name}]")),
                        _ => continue,
                    };
                    todo.push((path, id, inner, before(name)));
                }
            }
            Value::Array(list) => {
                let keys: &[String] = match &node.list_type {
                    ListType::Map(keys) => keys,
                    _ => &[],
                };
                let before = Correlated::of(old, keys);
                for (index, item) in list.iter().enumerate() {
                    if let Some(items) = &node.items {
                        let path = format!("{path}{}", index_of(index));
                        todo.push((path, items.id, item, before.of_item(item, keys)));
                    }
                }
            }
            _ => {}
        }
        // In the order of the object.
        if let Some(new) = todo.get_mut(first..) {
            new.reverse();
        }
    }
}

fn index_of(index: usize) -> String {
    format!("[{index}]")
}

/// The identity of items: the values of their keys, or the items themselves.
fn identity(item: &Value, keys: &[String]) -> Value {
    if keys.is_empty() {
        return item.clone();
    }
    let values = keys
        .iter()
        .filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
    Value::Object(values.collect())
}

/// The items that are there already, where they are there the second time, as they are shown.
fn repeated<'a>(
    list: &'a [Value],
    keys: &'a [String],
) -> impl Iterator<Item = (usize, Value)> + 'a {
    let mut seen: HashMap<String, u32> = HashMap::new();
    list.iter().enumerate().filter_map(move |(index, item)| {
        let identity = identity(item, keys);
        let times = seen.entry(identity.to_string()).or_default();
        *times += 1;
        (*times == 2).then_some((index, identity))
    })
}

/// The items of an old list by their identity; items of other lists are not matched.
struct Correlated<'a>(HashMap<String, &'a Value>);

impl<'a> Correlated<'a> {
    fn of(old: Option<&'a Value>, keys: &[String]) -> Self {
        let mut found = HashMap::new();
        let mut double = HashSet::new();
        if let (Some(Value::Array(items)), false) = (old, keys.is_empty()) {
            for item in items {
                let key = identity(item, keys).to_string();
                if found.insert(key.clone(), item).is_some() {
                    double.insert(key);
                }
            }
        }
        found.retain(|key, _| !double.contains(key));
        Self(found)
    }

    fn of_item(&self, item: &Value, keys: &[String]) -> Option<&'a Value> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&identity(item, keys).to_string()).copied()
    }
}
