//! The cells of a row.

mod event;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::kinds::Kind;
use crate::meta;

const NONE: &str = "<none>";
const UNKNOWN: &str = "<unknown>";

/// The age of an object in the format of `kubectl`: `5m`, `3d4h`.
fn age(since: &str) -> String {
    let Ok(since) = since.parse::<Timestamp>() else {
        return UNKNOWN.to_owned();
    };
    duration(Timestamp::now().as_second() - since.as_second())
}

fn duration(seconds: i64) -> String {
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let with = |large: i64, unit: &str, small: i64, rest: &str| {
        if small == 0 {
            format!("{large}{unit}")
        } else {
            format!("{large}{unit}{small}{rest}")
        }
    };
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => with(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => with(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if hours < 192 => with(days, "d", hours % 24, "h"),
        () if days < 730 => format!("{days}d"),
        () if days < 2920 => with(days / 365, "y", days % 365, "d"),
        () => format!("{}y", days / 365),
    }
}

/// The cells of a custom resource.
pub(super) fn of_custom(columns: &[Value], object: &Value) -> Vec<Value> {
    let mut cells = vec![json!(meta::text(object, "name"))];
    if columns.is_empty() {
        cells.push(age(meta::text(object, "creationTimestamp")).into());
    }
    for column in columns {
        let text = |key: &str| column.get(key).and_then(Value::as_str).unwrap_or_default();
        cells.push(custom_cell(text("type"), text("jsonPath"), object));
    }
    cells
}

fn custom_cell(of_type: &str, path: &str, object: &Value) -> Value {
    let found = at_path(object, path);
    let Some(first) = found.first() else {
        return Value::Null;
    };
    match of_type {
        "integer" => match first {
            Value::Number(number) => number.as_i64().map_or(Value::Null, Value::from),
            _ => Value::Null,
        },
        "number" => first.as_f64().map_or(Value::Null, |_| (*first).clone()),
        "boolean" => first.as_bool().map_or(Value::Null, Value::from),
        "date" => match first {
            Value::String(text) => age(text).into(),
            _ => Value::Null,
        },
        _ => {
            let texts: Vec<String> = found.iter().map(|value| plain(value)).collect();
            texts.join(" ").into()
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The values at a simple path (`.status.conditions[?(@.type=="Ready")].status`).
fn at_path<'a>(object: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut found = vec![object];
    let mut rest = path.trim();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (field, next) = after.split_at(end);
            let field = field.replace('\\', "");
            if !field.is_empty() {
                found = found
                    .into_iter()
                    .filter_map(|value| value.get(&field))
                    .collect();
            }
            rest = next;
        } else if let Some(after) = rest.strip_prefix('[') {
            let Some((inside, next)) = split_bracket(after) else {
                return Vec::new();
            };
            found = found
                .into_iter()
                .flat_map(|value| in_bracket(value, inside))
                .collect();
            rest = next;
        } else {
            return Vec::new();
        }
    }
    found
}

fn split_bracket(text: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    for (place, letter) in text.char_indices() {
        match (quote, letter) {
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            (None, ']') => return Some((text.get(..place)?, text.get(place + 1..)?)),
            _ => {}
        }
    }
    None
}

fn in_bracket<'a>(value: &'a Value, inside: &str) -> Vec<&'a Value> {
    let inside = inside.trim();
    if inside == "*" {
        return match value {
            Value::Array(items) => items.iter().collect(),
            Value::Object(fields) => fields.values().collect(),
            _ => Vec::new(),
        };
    }
    if let Some(condition) = inside
        .strip_prefix("?(")
        .and_then(|text| text.strip_suffix(')'))
    {
        let Some((path, want)) = condition.split_once("==") else {
            return Vec::new();
        };
        let path = path.trim().trim_start_matches('@');
        let want = want.trim().trim_matches(['"', '\'']);
        let items = value.as_array().into_iter().flatten();
        return items
            .filter(|item| {
                at_path(item, path)
                    .first()
                    .is_some_and(|found| plain(found) == want)
            })
            .collect();
    }
    if let Ok(place) = inside.parse::<i64>() {
        let items = value.as_array();
        let length = items.map_or(0, Vec::len);
        let place = if place < 0 {
            length.checked_sub(usize::try_from(place.unsigned_abs()).unwrap_or(usize::MAX))
        } else {
            usize::try_from(place).ok()
        };
        return place
            .and_then(|place| items?.get(place))
            .into_iter()
            .collect();
    }
    value
        .get(inside.trim_matches(['"', '\'']))
        .into_iter()
        .collect()
}

/// A selector as text: `a=b,c in (d,e)`.
pub fn selector_text(selector: &Value) -> String {
    let pairs = |labels: &Map<String, Value>| -> Vec<String> {
        labels
            .iter()
            .map(|(key, value)| format!("{key}={}", plain(value)))
            .collect()
    };
    let structured =
        selector.get("matchLabels").is_some() || selector.get("matchExpressions").is_some();
    let Some(fields) = selector.as_object().filter(|fields| !fields.is_empty()) else {
        return NONE.to_owned();
    };
    if !structured {
        return pairs(fields).join(",");
    }
    let mut all = selector
        .get("matchLabels")
        .and_then(Value::as_object)
        .map(pairs)
        .unwrap_or_default();
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    for one in expressions.into_iter().flatten() {
        let text = |key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default();
        let values: Vec<String> = one
            .get("values")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(plain)
            .collect();
        let values = values.join(",");
        all.push(match text("operator") {
            "In" => format!("{} in ({values})", text("key")),
            "NotIn" => format!("{} notin ({values})", text("key")),
            "Exists" => text("key").to_owned(),
            _ => format!("!{}", text("key")),
        });
    }
    all.join(",")
}

/// The fields that rows are made of.
struct Row<'a>(&'a Value);

impl Row<'_> {
    fn name(&self) -> Value {
        meta::text(self.0, "name").into()
    }

    fn age(&self) -> Value {
        age(meta::text(self.0, "creationTimestamp")).into()
    }

    fn text(&self, path: &str) -> String {
        let found = self.0.pointer(path).filter(|value| !value.is_null());
        found.map(plain).unwrap_or_default()
    }

    fn or(&self, path: &str, other: &str) -> Value {
        match self.text(path) {
            text if text.is_empty() => other.into(),
            text => text.into(),
        }
    }

    fn number(&self, path: &str) -> i64 {
        self.0
            .pointer(path)
            .and_then(Value::as_i64)
            .unwrap_or_default()
    }

    fn count(&self, path: &str) -> usize {
        match self.0.pointer(path) {
            Some(Value::Array(items)) => items.len(),
            Some(Value::Object(fields)) => fields.len(),
            _ => 0,
        }
    }

    fn joined(&self, list: &str, field: &str) -> String {
        let list = self.0.pointer(list).and_then(Value::as_array);
        let texts: Vec<String> = list
            .into_iter()
            .flatten()
            .map(|item| {
                if field.is_empty() {
                    plain(item)
                } else {
                    item.get(field).map(plain).unwrap_or_default()
                }
            })
            .collect();
        texts.join(",")
    }

    fn selector(&self, path: &str) -> Value {
        self.0
            .pointer(path)
            .map_or_else(|| NONE.to_owned(), selector_text)
            .into()
    }

    fn containers(&self, pod: &str) -> (Value, Value) {
        let list = format!("{pod}/containers");
        (
            self.joined(&list, "name").into(),
            self.joined(&list, "image").into(),
        )
    }
}

fn request(row: &Row<'_>) -> Vec<Value> {
    let asked = match row.number("/spec/expirationSeconds") {
        0 => NONE.to_owned(),
        seconds => duration(seconds),
    };
    let mut state = row.joined("/status/conditions", "type");
    if state.is_empty() {
        "Pending".clone_into(&mut state);
    }
    if !row.text("/status/certificate").is_empty() {
        state.push_str(",Issued");
    }
    vec![
        row.age(),
        row.or("/spec/signerName", NONE),
        row.or("/spec/username", ""),
        json!(asked),
        json!(state),
    ]
}

/// The cells of a built-in kind.
pub(super) fn of_builtin(kind: &Kind, object: &Value) -> Vec<Value> {
    let row = Row(object);
    let cells = match (kind.group.as_str(), kind.resource.as_str()) {
        ("", "configmaps") => vec![
            json!(row.count("/data") + row.count("/binaryData")),
            row.age(),
        ],
        ("", "secrets") => vec![row.or("/type", ""), json!(row.count("/data")), row.age()],
        ("", "namespaces") => vec![row.or("/status/phase", ""), row.age()],
        ("", "services") => service(&row),
        ("", "pods") => pod(&row),
        ("", "nodes") => vec![
            json!("Unknown"),
            json!(NONE),
            row.age(),
            row.or("/status/nodeInfo/kubeletVersion", ""),
            json!(NONE),
            json!(NONE),
            row.or("/status/nodeInfo/osImage", UNKNOWN),
            row.or("/status/nodeInfo/kernelVersion", UNKNOWN),
            row.or("/status/nodeInfo/containerRuntimeVersion", UNKNOWN),
        ],
        ("" | "events.k8s.io", "events") => event::cells(&row),
        ("apps", _) => workload(kind, &row),
        ("apiregistration.k8s.io", "apiservices") => apiservice(&row),
        ("certificates.k8s.io", "certificatesigningrequests") => request(&row),
        ("rbac.authorization.k8s.io", "roles" | "clusterroles")
        | ("", "limitranges")
        | ("apiextensions.k8s.io", _) => vec![meta::text(object, "creationTimestamp").into()],
        ("rbac.authorization.k8s.io", _) => vec![
            json!(format!(
                "{}/{}",
                row.text("/roleRef/kind"),
                row.text("/roleRef/name")
            )),
            row.age(),
            subjects(&row, "User"),
            subjects(&row, "Group"),
            subjects(&row, "ServiceAccount"),
        ],
        ("networking.k8s.io", "networkpolicies") => {
            vec![row.selector("/spec/podSelector"), row.age()]
        }
        ("scheduling.k8s.io", "priorityclasses") => vec![
            json!(row.number("/value")),
            json!(row.text("/globalDefault") == "true"),
            row.age(),
            row.or("/preemptionPolicy", "PreemptLowerPriority"),
        ],
        ("coordination.k8s.io", "leases") => vec![row.or("/spec/holderIdentity", ""), row.age()],
        ("policy", "poddisruptionbudgets") => vec![
            row.or("/spec/minAvailable", "N/A"),
            row.or("/spec/maxUnavailable", "N/A"),
            json!(row.number("/status/disruptionsAllowed")),
            row.age(),
        ],
        _ => others(kind, &row),
    };
    let mut all = vec![row.name()];
    if kind.resource == "events" {
        all.clear();
    }
    all.extend(cells);
    all
}

fn apiservice(row: &Row<'_>) -> Vec<Value> {
    let name = row.text("/spec/service/name");
    let service = if name.is_empty() {
        "Local".to_owned()
    } else {
        format!("{}/{name}", row.text("/spec/service/namespace"))
    };
    let conditions = row.0.pointer("/status/conditions");
    let mut conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    let available = conditions.find(|one| one.get("type").is_some_and(|of| of == "Available"));
    let available = match available.map(|condition| Row(condition).text("/status")) {
        None => "Unknown".to_owned(),
        Some(status) if status == "True" => status,
        Some(status) => {
            let reason = available.map(|condition| Row(condition).text("/reason"));
            format!("{status} ({})", reason.unwrap_or_default())
        }
    };
    vec![service.into(), available.into(), row.age()]
}

/// The cells of what makes Pods.
fn workload(kind: &Kind, row: &Row<'_>) -> Vec<Value> {
    let (containers, images) = row.containers("/spec/template/spec");
    match kind.resource.as_str() {
        "deployments" => vec![
            json!(format!(
                "{}/{}",
                row.number("/status/readyReplicas"),
                row.number("/spec/replicas")
            )),
            json!(row.number("/status/updatedReplicas")),
            json!(row.number("/status/availableReplicas")),
            row.age(),
            containers,
            images,
            row.selector("/spec/selector"),
        ],
        "replicasets" => vec![
            json!(row.number("/spec/replicas")),
            json!(row.number("/status/replicas")),
            json!(row.number("/status/readyReplicas")),
            row.age(),
            containers,
            images,
            row.selector("/spec/selector"),
        ],
        "statefulsets" => vec![
            json!(format!(
                "{}/{}",
                row.number("/status/readyReplicas"),
                row.number("/spec/replicas")
            )),
            row.age(),
            containers,
            images,
        ],
        "daemonsets" => vec![
            json!(row.number("/status/desiredNumberScheduled")),
            json!(row.number("/status/currentNumberScheduled")),
            json!(row.number("/status/numberReady")),
            json!(row.number("/status/updatedNumberScheduled")),
            json!(row.number("/status/numberAvailable")),
            row.selector("/spec/template/spec/nodeSelector"),
            row.age(),
            containers,
            images,
            row.selector("/spec/selector"),
        ],
        _ => others(kind, row),
    }
}

/// Kinds whose columns this server knows, but not what stands in them: an age where there is one.
fn others(kind: &Kind, row: &Row<'_>) -> Vec<Value> {
    let columns = super::columns(kind);
    let columns = columns.as_array().into_iter().flatten().skip(1);
    columns
        .map(|column| match column.get("name").and_then(Value::as_str) {
            Some("Age") => row.age(),
            Some("Created At") => meta::text(row.0, "creationTimestamp").into(),
            _ => NONE.into(),
        })
        .collect()
}

fn subjects(row: &Row<'_>, kind: &str) -> Value {
    let list = row.0.get("subjects").and_then(Value::as_array);
    let names: Vec<String> = list
        .into_iter()
        .flatten()
        .filter(|subject| subject.get("kind").and_then(Value::as_str) == Some(kind))
        .map(|subject| {
            let text = |key: &str| subject.get(key).map(plain).unwrap_or_default();
            if kind == "ServiceAccount" {
                format!("{}/{}", text("namespace"), text("name"))
            } else {
                text("name")
            }
        })
        .collect();
    names.join(", ").into()
}

fn service(row: &Row<'_>) -> Vec<Value> {
    let ports = row.0.pointer("/spec/ports").and_then(Value::as_array);
    let ports: Vec<String> = ports
        .into_iter()
        .flatten()
        .map(|port| {
            let text = |key: &str| port.get(key).map(plain).unwrap_or_default();
            match text("nodePort") {
                none if none.is_empty() => format!("{}/{}", text("port"), text("protocol")),
                node => format!("{}:{node}/{}", text("port"), text("protocol")),
            }
        })
        .collect();
    let external = match (
        row.text("/spec/type").as_str(),
        row.joined("/spec/externalIPs", ""),
    ) {
        ("ExternalName", _) => row.text("/spec/externalName"),
        ("LoadBalancer", ips) if ips.is_empty() => "<pending>".to_owned(),
        (_, ips) if ips.is_empty() => NONE.to_owned(),
        (_, ips) => ips,
    };
    let ports = if ports.is_empty() {
        NONE.to_owned()
    } else {
        ports.join(",")
    };
    vec![
        row.or("/spec/type", ""),
        row.or("/spec/clusterIP", NONE),
        external.into(),
        ports.into(),
        row.age(),
        row.selector("/spec/selector"),
    ]
}

fn pod(row: &Row<'_>) -> Vec<Value> {
    let statuses = row
        .0
        .pointer("/status/containerStatuses")
        .and_then(Value::as_array);
    let statuses: Vec<&Value> = statuses.into_iter().flatten().collect();
    let ready = statuses
        .iter()
        .filter(|one| one.get("ready") == Some(&Value::Bool(true)))
        .count();
    let restarts: i64 = statuses
        .iter()
        .filter_map(|one| one.get("restartCount").and_then(Value::as_i64))
        .sum();
    let status = match (meta::is_deleted(row.0), row.text("/status/reason")) {
        (true, _) => "Terminating".to_owned(),
        (false, reason) if !reason.is_empty() => reason,
        _ => row.text("/status/phase"),
    };
    vec![
        format!("{ready}/{}", row.count("/spec/containers")).into(),
        status.into(),
        restarts.to_string().into(),
        row.age(),
        row.or("/status/podIP", NONE),
        row.or("/spec/nodeName", NONE),
        row.or("/status/nominatedNodeName", NONE),
        NONE.into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        let got: Vec<String> = [5, 119, 150, 660, 12_000, 90_000, 200_000, 90_000_000]
            .map(duration)
            .into();
        assert_eq!(
            got,
            [
                "5s", "119s", "2m30s", "11m", "3h20m", "25h", "2d7h", "2y311d"
            ]
        );
    }

    #[test]
    fn json_paths_select_values() {
        let object =
            json!({ "a": { "b.c": 1 }, "l": [{ "t": "x", "v": 1 }, { "t": "y", "v": 2 }] });
        assert_eq!(at_path(&object, ".l[?(@.t==\"y\")].v"), [&json!(2)]);
        assert_eq!(at_path(&object, ".l[*].v"), [&json!(1), &json!(2)]);
        assert_eq!(at_path(&object, ".l[-1].t"), [&json!("y")]);
        assert_eq!(at_path(&object, ".a['b.c']"), [&json!(1)]);
        assert!(at_path(&object, ".nope[0]").is_empty());
    }
}
