//! Schemas of parameters: their own shape, defaults, and checks of values, with the API server's texts.

use reeve_go_compat::printing::shortest_float;
use reeve_go_compat::regexp::Regexp;
use reeve_go_compat::strfmt;
use serde_json::{Map, json};

use crate::Json;
use crate::messages;

/// Schemas and values deeper than this are refused.
const MAX_DEPTH: usize = 200;

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Schemas directly below a schema, with their paths.
fn children<'a>(schema: &'a Json, path: &str) -> Vec<(&'a Json, String, bool)> {
    let mut all = Vec::new();
    for (name, child) in schema["properties"].as_object().into_iter().flatten() {
        all.push((child, format!("{path}.properties[{name}]"), false));
    }
    if let Some(items) = schema.get("items") {
        all.push((items, format!("{path}.items"), true));
    }
    if let Some(more) = schema.get("additionalProperties")
        && !more.is_boolean()
    {
        all.push((more, format!("{path}.additionalProperties"), false));
    }
    all
}

/// What is wrong with a schema of parameters. Where unknown fields are preserved, no type and no `items` is demanded.
pub fn shape_errors(schema: &Json, path: &str, is_legacy: bool) -> Vec<String> {
    let mut errors = Vec::new();
    let place = Place {
        type_text: messages::TYPE_OF_FIELD,
        is_legacy,
    };
    shape(schema, path, &place, 0, &mut errors);
    errors
}

struct Place {
    type_text: &'static str,
    is_legacy: bool,
}

fn shape(schema: &Json, path: &str, place: &Place, depth: usize, errors: &mut Vec<String>) {
    if depth > MAX_DEPTH {
        errors.push(messages::wrong_field(path, "nested less deeply"));
        return;
    }
    if !schema.is_object() {
        errors.push(messages::wrong_field(path, "an object: a schema"));
        return;
    }
    if !schema["$ref"].is_null() {
        errors.push(messages::reference_forbidden(path));
        return;
    }
    own_shape(schema, path, place, errors);
    for (child, path, is_item) in children(schema, path) {
        let place = Place {
            type_text: if is_item {
                messages::TYPE_OF_ITEMS
            } else {
                messages::TYPE_OF_FIELD
            },
            is_legacy: place.is_legacy,
        };
        shape(child, &path, &place, depth + 1, errors);
    }
}

fn own_shape(schema: &Json, path: &str, place: &Place, errors: &mut Vec<String>) {
    let name = schema["type"].as_str().unwrap_or_default();
    let is_typed = !name.is_empty();
    if !schema["type"].is_null()
        && (!schema["type"].is_string() || is_typed && !TYPES.contains(&name))
    {
        let shown = schema["type"]
            .as_str()
            .map_or_else(|| schema["type"].to_string(), str::to_owned);
        errors.push(messages::unsupported_type(path, &shown));
        return;
    }
    if !is_typed && !flag(schema, PRESERVE) && !flag(schema, INT_OR_STRING) && !place.is_legacy {
        errors.push(format!("{path}.type: {}", place.type_text));
    }
    if flag(schema, PRESERVE) && flag(schema, INT_OR_STRING) {
        errors.push(messages::preserved_int_or_string(path));
    }
    if name == "array" && schema.get("items").is_none() && !place.is_legacy {
        errors.push(messages::items_required(path));
    }
    if !schema["properties"].is_null() && !schema["properties"].is_object() {
        let path = format!("{path}.properties");
        errors.push(messages::wrong_field(&path, "an object"));
    }
    let has_properties = schema["properties"]
        .as_object()
        .is_some_and(|all| !all.is_empty());
    if has_properties && schema.get("additionalProperties").is_some() {
        errors.push(messages::exclusive_properties(path));
    }
    if flag(schema, "uniqueItems") {
        errors.push(messages::unique_items_forbidden(path));
    }
    if let Some(pattern) = schema["pattern"].as_str()
        && let Err(error) = Regexp::compile(pattern.as_bytes())
    {
        errors.push(messages::bad_pattern(path, pattern, &error.to_string()));
    }
    if let Some(default) = schema.get("default") {
        let found = validate(schema, default).into_iter();
        errors.extend(found.map(|error| {
            let text = error.strip_prefix("[].: ").unwrap_or(&error).to_owned();
            format!("{path}.default: {text}")
        }));
    }
    for junction in ["allOf", "anyOf", "oneOf"] {
        let all = schema[junction].as_array().into_iter().flatten();
        for (index, one) in all.enumerate() {
            junction_shape(one, &format!("{path}.{junction}[{index}]"), errors);
        }
    }
    if schema["not"].is_object() {
        junction_shape(&schema["not"], &format!("{path}.not"), errors);
    }
}

/// Inside of junctions a structural schema has neither types nor defaults.
fn junction_shape(schema: &Json, path: &str, errors: &mut Vec<String>) {
    for member in ["type", "default", "title", "description", "nullable"] {
        if !schema[member].is_null() {
            errors.push(messages::not_structural(&format!("{path}.{member}")));
        }
    }
}

fn flag(schema: &Json, name: &str) -> bool {
    schema[name].as_bool().unwrap_or_default()
}

/// Makes an empty schema of each `items` that is neither an object nor a list, such as `items: string`: Go's decoder of schemas ignores
/// such a value.
pub fn drop_scalar_items(schema: &mut Json) {
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    if let Some(items) = members.get_mut("items")
        && !items.is_object()
        && !items.is_array()
    {
        *items = json!({});
    }
    for (name, member) in members {
        match (name.as_str(), member) {
            ("properties" | "patternProperties", Json::Object(all)) => {
                all.values_mut().for_each(drop_scalar_items);
            }
            ("allOf" | "anyOf" | "oneOf", Json::Array(all)) => {
                all.iter_mut().for_each(drop_scalar_items);
            }
            ("items" | "additionalProperties" | "not", member) => drop_scalar_items(member),
            _ => {}
        }
    }
}

/// The schema with unknown fields preserved at every object.
pub fn preserving(schema: &Json) -> Json {
    let mut copy = schema.clone();
    preserve(&mut copy);
    copy
}

fn preserve(schema: &mut Json) {
    let is_object = matches!(schema["type"].as_str(), None | Some("" | "object"));
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    if is_object {
        members.insert(PRESERVE.to_owned(), json!(true));
    }
    if let Some(properties) = members.get_mut("properties").and_then(Json::as_object_mut) {
        properties.values_mut().for_each(preserve);
    }
    // A legacy schema need not say what a list has; a structural one must.
    if members.get("type").is_some_and(|one| one == "array") {
        members
            .entry("items")
            .or_insert_with(|| json!({PRESERVE: true}));
    }
    for name in ["items", "additionalProperties"] {
        if let Some(child) = members.get_mut(name) {
            preserve(child);
        }
    }
}

/// Fills in defaults where a member is absent.
pub fn apply_defaults(schema: &Json, value: &mut Json) {
    match value {
        Json::Object(object) => {
            for (name, child) in schema["properties"].as_object().into_iter().flatten() {
                match (object.get_mut(name), child.get("default")) {
                    (None, Some(default)) => {
                        object.insert(name.clone(), default.clone());
                    }
                    (Some(member @ Json::Null), Some(default)) if !flag(child, "nullable") => {
                        *member = default.clone();
                    }
                    _ => {}
                }
                if let Some(member) = object.get_mut(name) {
                    apply_defaults(child, member);
                }
            }
            let more = &schema["additionalProperties"];
            if more.is_object() {
                let known = schema["properties"].as_object();
                let others = object
                    .iter_mut()
                    .filter(|(name, _)| known.is_none_or(|known| !known.contains_key(*name)));
                others.for_each(|(_, member)| apply_defaults(more, member));
            }
        }
        Json::Array(list) => {
            let items = &schema["items"];
            for item in list {
                apply_defaults(items, item);
            }
        }
        _ => {}
    }
}

/// What is wrong with a value, in the API server's words.
pub fn validate(schema: &Json, value: &Json) -> Vec<String> {
    let mut errors = Vec::new();
    check(schema, value, &Path::root(), &mut errors);
    errors
}

/// Members that the schema does not know.
pub fn unknown_fields(schema: &Json, value: &Json) -> Vec<String> {
    let mut paths = Vec::new();
    unknown(schema, value, "", &mut paths);
    paths
}

fn unknown(schema: &Json, value: &Json, path: &str, paths: &mut Vec<String>) {
    match value {
        Json::Object(object) => {
            let known = schema["properties"].as_object();
            let more = &schema["additionalProperties"];
            for (name, member) in object {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                match known.and_then(|known| known.get(name)) {
                    Some(child) => unknown(child, member, &path, paths),
                    None if more.is_object() => unknown(more, member, &path, paths),
                    None if more == &json!(true) || flag(schema, PRESERVE) => {}
                    None => paths.push(path),
                }
            }
        }
        Json::Array(list) => {
            for (index, item) in list.iter().enumerate() {
                unknown(&schema["items"], item, &format!("{path}[{index}]"), paths);
            }
        }
        _ => {}
    }
}

struct Path(String);

impl Path {
    fn root() -> Self {
        Self(String::new())
    }

    fn member(&self, name: &str) -> Self {
        if self.0.is_empty() {
            Self(name.to_owned())
        } else {
            Self(format!("{}.{name}", self.0))
        }
    }

    fn item(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    fn error(&self, rest: &str) -> String {
        format!("[].{}: {rest}", self.0)
    }

    fn invalid(&self, value: &Json, rest: &str) -> String {
        let (path, value) = (&self.0, messages::printed(value));
        self.error(&format!("Invalid value: {value}: {path} in body {rest}"))
    }
}

fn check(schema: &Json, value: &Json, path: &Path, errors: &mut Vec<String>) {
    let wanted = wrong_type(schema, value);
    let whole_format = schema["format"]
        .as_str()
        .filter(|format| matches!(*format, "int32" | "int64"));
    if let Some(wanted) = wanted {
        let (wanted, name) = match whole_format {
            Some(format) if wanted == "integer" && value.is_number() => (format, "float64"),
            _ => (wanted, type_name(value)),
        };
        let name = json!(name);
        errors.push(path.invalid(&name, &format!("must be of type {wanted}: {name}")));
    }
    let is_uncheckable = value.is_number() && wanted == Some("integer");
    if !value.is_null() {
        junctions(schema, value, path, errors);
    }
    if is_uncheckable {
        errors.push(messages::unchecked_number(&path.0, "integer", whole_format));
    }
    match value {
        Json::String(text) => check_text(schema, text, path, errors),
        Json::Number(number) => check_number(schema, number, path, errors),
        Json::Array(list) => check_list(schema, list, path, errors),
        Json::Object(object) => check_object(schema, object, path, errors),
        _ => {}
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.iter().any(|one| is_same(one, value))
    {
        errors.push(path.error(&messages::unsupported_value(value, allowed)));
    }
}

/// Whether a value is an entry of an enumeration. The validation of Kubernetes converts a number to the type of the entry, so
/// `1.5` is the whole number 1.
#[expect(
    clippy::float_cmp,
    reason = "the validation of Kubernetes compares exactly"
)]
fn is_same(entry: &Json, value: &Json) -> bool {
    match (entry.as_f64(), value.as_f64()) {
        (Some(entry_value), Some(value)) if entry.is_f64() => entry_value == value,
        (Some(entry_value), Some(value)) => entry_value == value.trunc(),
        _ => entry == value,
    }
}

fn type_name(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

fn is_whole(number: &serde_json::Number) -> bool {
    // Kubernetes compares floats, and the largest integers of 64 bits round up to 2^63, which is none.
    let float = number.as_f64().unwrap_or_default();
    if number.is_i64() {
        return float < 9_223_372_036_854_775_808.0;
    }
    float.fract() == 0.0 && float.abs() < 1e18
}

fn wrong_type<'a>(schema: &'a Json, value: &Json) -> Option<&'a str> {
    if value.is_null() && flag(schema, "nullable") {
        return None;
    }
    let is_whole = matches!(value, Json::Number(number) if is_whole(number));
    if flag(schema, INT_OR_STRING) {
        return (!is_whole && !value.is_string()).then_some("integer,string");
    }
    let wanted = schema["type"].as_str().unwrap_or_default();
    let is_right = match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => is_whole,
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        _ => true,
    };
    (!is_right).then_some(wanted)
}

fn check_text(schema: &Json, text: &str, path: &Path, errors: &mut Vec<String>) {
    let length = text.chars().count() as u64;
    let shown = json!(text);
    if let Some(most) = schema["maxLength"].as_u64().filter(|most| length > *most) {
        errors.push(path.error(&messages::too_long(most)));
    } else if let Some(least) = schema["minLength"].as_u64().filter(|least| length < *least) {
        errors.push(path.invalid(&shown, &format!("should be at least {least} chars long")));
    } else if let Some(pattern) = schema["pattern"].as_str()
        && !Regexp::compile(pattern.as_bytes()).is_ok_and(|regexp| regexp.is_match(text.as_bytes()))
    {
        errors.push(path.invalid(&shown, &format!("should match '{pattern}'")));
    }
    if let Some(format) = schema["format"].as_str()
        && !strfmt::is_valid(format, text)
    {
        errors.push(path.invalid(&shown, &format!("must be of type {format}: {shown}")));
    }
}

fn check_number(schema: &Json, number: &serde_json::Number, path: &Path, errors: &mut Vec<String>) {
    let value = number.as_f64().unwrap_or_default();
    let kind = schema["type"].as_str().unwrap_or_default();
    let format = schema["format"].as_str().unwrap_or_default();
    let is_out_of_range = match (kind, format) {
        ("integer", "int32") => {
            is_whole(number) && !(f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&value)
        }
        ("number", "float") => value.abs() > f64::from(f32::MAX),
        _ => false,
    };
    if is_out_of_range {
        errors.push(messages::unchecked_number(&path.0, kind, Some(format)));
        return;
    }
    let shown = Json::Number(number.clone());
    let is_exclusive = |name: &str| flag(schema, name);
    let show = |limit: &Json| shortest_float(limit.as_f64().unwrap_or_default());
    if let Some(factor) = schema["multipleOf"].as_f64().filter(|factor| *factor > 0.0)
        && (value / factor).fract() != 0.0
    {
        let limit = show(&schema["multipleOf"]);
        errors.push(path.invalid(&shown, &format!("should be a multiple of {limit}")));
    }
    if let Some(least) = schema["minimum"].as_f64() {
        let limit = show(&schema["minimum"]);
        if is_exclusive("exclusiveMinimum") && value <= least {
            errors.push(path.invalid(&shown, &format!("should be greater than {limit}")));
        } else if value < least {
            let text = format!("should be greater than or equal to {limit}");
            errors.push(path.invalid(&shown, &text));
        }
    }
    if let Some(most) = schema["maximum"].as_f64() {
        let limit = show(&schema["maximum"]);
        if is_exclusive("exclusiveMaximum") && value >= most {
            errors.push(path.invalid(&shown, &format!("should be less than {limit}")));
        } else if value > most {
            errors.push(path.invalid(&shown, &format!("should be less than or equal to {limit}")));
        }
    }
}

fn check_list(schema: &Json, list: &[Json], path: &Path, errors: &mut Vec<String>) {
    let length = list.len() as u64;
    if let Some(items) = schema.get("items") {
        for (index, item) in list.iter().enumerate() {
            check(items, item, &path.item(index), errors);
        }
    }
    if let Some(least) = schema["minItems"].as_u64().filter(|least| length < *least) {
        let text = format!("should have at least {least} items");
        errors.push(path.invalid(&json!(length), &text));
    }
    if let Some(most) = schema["maxItems"].as_u64().filter(|most| length > *most) {
        errors.push(path.error(&messages::too_many(length, most)));
    }
    if flag(schema, "uniqueItems") {
        let repeated =
            |(index, one): (usize, &Json)| list.iter().take(index).any(|other| other == one);
        if list.iter().enumerate().any(repeated) {
            errors.push(path.invalid(&json!(list), "shouldn't contain duplicates"));
        }
    }
}

fn check_object(schema: &Json, object: &Map<String, Json>, path: &Path, errors: &mut Vec<String>) {
    let length = object.len() as u64;
    let limit = |name: &str| schema[name].as_u64();
    if let Some(least) = limit("minProperties").filter(|least| length < *least) {
        let text = format!("should have at least {least} properties");
        errors.push(path.invalid(&json!(length), &text));
    }
    if let Some(most) = limit("maxProperties").filter(|most| length > *most) {
        errors.push(path.error(&messages::too_many(length, most)));
    }
    let known = schema["properties"].as_object();
    let more = &schema["additionalProperties"];
    for (name, member) in object {
        match known.and_then(|known| known.get(name)) {
            Some(child) => check(child, member, &path.member(name), errors),
            None if more.is_object() => check(more, member, &path.member(name), errors),
            None => {}
        }
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap_or_default();
        if !object.contains_key(name) {
            errors.push(path.member(name).error("Required value"));
        }
    }
}

fn junctions(schema: &Json, value: &Json, path: &Path, errors: &mut Vec<String>) {
    let errors_of = |one: &Json| {
        let mut errors = Vec::new();
        check(one, value, path, &mut errors);
        errors
    };
    let results = |name: &str| -> Vec<Vec<String>> {
        let schemas = schema[name].as_array();
        schemas.into_iter().flatten().map(errors_of).collect()
    };
    let any = results("anyOf");
    if !any.is_empty() && !any.iter().any(Vec::is_empty) {
        errors.push(messages::no_schema_of_any(&path.0));
        errors.extend(any.into_iter().next().unwrap_or_default());
    }
    let one = results("oneOf");
    let valid = one.iter().filter(|errors| errors.is_empty()).count();
    if !one.is_empty() && valid != 1 {
        errors.push(messages::not_one_schema(&path.0, valid));
        if valid == 0 {
            errors.extend(one.into_iter().next().unwrap_or_default());
        }
    }
    let all = results("allOf");
    let valid = all.iter().filter(|errors| errors.is_empty()).count();
    if valid < all.len() {
        errors.extend(all.into_iter().flatten());
        errors.push(messages::not_all_schemas(&path.0, valid));
    }
    if schema["not"].is_object() && errors_of(&schema["not"]).is_empty() {
        errors.push(messages::forbidden_schema(&path.0));
    }
}
