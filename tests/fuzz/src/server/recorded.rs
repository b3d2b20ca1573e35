//! What damage to requests starts from: the conversations of `tests/conformance` and the fixtures of `apiserver`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Context, Result};
use serde_json::Value as Json;

use super::protobuf;

/// Where everything is.
pub(super) const NAMESPACE: &str = "c-fuzz";

/// All that is recorded, by what reads it; empty where it cannot be read.
pub(crate) static RECORDED: LazyLock<Recorded> =
    LazyLock::new(|| Recorded::load().unwrap_or_default());

/// Recorded requests and parts of requests.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) requests: Vec<Vec<u8>>,
    pub(crate) patches: Vec<Vec<u8>>,
    pub(crate) selectors: Vec<Vec<u8>>,
    pub(crate) tokens: Vec<Vec<u8>>,
    pub(crate) definitions: Vec<Vec<u8>>,
    pub(crate) rules: Vec<Vec<u8>>,
    pub(crate) protobuf: Vec<Vec<u8>>,
    /// Objects to take values from.
    pub(crate) values: Vec<Json>,
}

const SELECTORS: &[&str] = &[
    "a=b,c!=d",
    "a==b",
    "a in (b,c),d notin (e),f,!g",
    "a>1,b<2",
    "example.com/a=b",
    "metadata.name=a,metadata.namespace!=b",
    "spec.nodeName=x",
    "status.phase=Running",
    "involvedObject.uid=1,reason=x",
];
const TOKENS: &[&str] = &[
    r#"{"v":"meta.k8s.io/v1","rv":1,"ns":"c-fuzz","start":"a"}"#,
    r#"{"v":"meta.k8s.io/v1","rv":9999999,"start":"a\u0000"}"#,
    "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MX0",
];
const RULES: &[&str] = &[
    "self.list.all(x, x > 0 && self.list.exists(y, y == x))",
    "self.list.map(x, x * 2).filter(x, x > 1).size() < 9",
    "self.map.all(k, self.map[k].startsWith('a')) || has(self.text)",
    "self.text.matches('^a[b-d]*$') && self.text.split(',').join('-') != ''",
    "self.count == oldSelf.count || self.text.size() > oldSelf.text.size()",
    "duration('1h') > self.span && timestamp(self.at) < timestamp('2030-01-01T00:00:00Z')",
    "quantity('1Gi').compareTo(quantity(self.text)) > 0",
    "url(self.text).getHost() == 'x' && ip('1.2.3.4').family() == 4",
    "self.list.sum() / (self.count - 1) % 3 == 1 ? true : self.flag",
    "self.objects.exists_one(o, o.name == 'a' && o.?value.orValue(3) > 2)",
    "self.list.isSorted() && self.list.indexOf(1) >= 0 && self.list.max() < 100",
    "string(self.count) + self.text == \"x\" || int('9') > 8 || double('1.5') > 1.0",
    "self.text.replace('a', 'b').lowerAscii().substring(1, 2).charAt(0) == 'b'",
    "size(self.objects[0].name) in [1, 2, 3] && type(self.count) == int",
    "cel.bind(x, self.count, x + x > 3)",
];

impl Recorded {
    fn load() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut recorded = Self {
            selectors: bytes(SELECTORS),
            tokens: bytes(TOKENS),
            rules: bytes(RULES),
            protobuf: protobuf::bodies(),
            ..Self::default()
        };
        let folder = root.join("tests/conformance/cases");
        let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        let mut paths: Vec<_> = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<std::io::Result<_>>()?;
        paths.sort();
        for path in paths {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let steps: Vec<Json> = serde_saphyr::from_str(&text)?;
            for step in &steps {
                recorded.take(step);
            }
        }
        let fixtures = root.join("apiserver/tests/fixtures");
        for (file, key) in [("definitions.jsonl", "crd"), ("strategic.jsonl", "patch")] {
            let text = fs::read_to_string(fixtures.join(file)).context(file)?;
            for line in text.lines() {
                let line: Json = serde_json::from_str(line).context(file)?;
                let part = line.get(key).map(|part| part.to_string().into_bytes());
                match key {
                    "crd" => recorded.definitions.extend(part),
                    _ => recorded.patches.extend(part),
                }
            }
        }
        Ok(recorded)
    }

    /// A step of a conversation.
    fn take(&mut self, step: &Json) {
        let text = |key: &str| step.get(key).and_then(Json::as_str);
        let Some(request) = text("request") else {
            return;
        };
        let mut head = request.to_owned();
        for (header, key) in [
            ("content-type", "type"),
            ("accept", "accept"),
            ("impersonate-user", "user"),
        ] {
            if let Some(value) = text(key) {
                let _ = write!(head, "\n{header}: {value}");
            }
        }
        let body = match step.get("body") {
            None => String::new(),
            Some(Json::String(text)) => text.clone(),
            Some(value) => {
                self.values.push(value.clone());
                value.to_string()
            }
        };
        let filled = |text: &str| text.replace("$NS", NAMESPACE).into_bytes();
        if request.starts_with("PATCH ") {
            self.patches.push(filled(&body));
        }
        if request.ends_with("/customresourcedefinitions") && body.starts_with('{') {
            self.definitions.push(filled(&body));
        }
        self.requests.push(filled(&format!("{head}\n\n{body}")));
    }
}

fn bytes(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
