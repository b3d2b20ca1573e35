//! The files of the corpus.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value as Json;

use super::answers::Answer;

pub struct Corpus {
    pub cases: BTreeMap<String, Case>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Case {
    #[serde(rename = "description")]
    _description: String,
    pub templates: Vec<Json>,
    pub constraints: Vec<Json>,
    #[serde(default)]
    pub inventory: Vec<Json>,
    pub reviews: Vec<Input>,
    #[serde(default)]
    pub point: String,
    #[serde(default, rename = "crd")]
    _crd: bool,
    #[serde(default, rename = "untripled")]
    _untripled: bool,
    /// The answers to it.
    #[serde(skip)]
    pub answer: Option<Answer>,
}

/// An object to review with what the caller knows of it.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub enum Input {
    /// The name of an object of `objects.yaml`.
    Shared(String),
    Given(Given),
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Given {
    #[serde(default)]
    pub object: Json,
    #[serde(default)]
    pub namespace: Option<Json>,
    #[serde(default)]
    pub source: Option<String>,
    #[serde(default)]
    pub admission_review: Option<Json>,
}

impl Corpus {
    pub fn read() -> Self {
        let folder = tests().join("corpus");
        let objects: BTreeMap<String, Json> = yaml(&folder.join("objects.yaml"));
        let mut cases = BTreeMap::new();
        for entry in fs::read_dir(&folder).expect("the corpus is there") {
            let path = entry.expect("the corpus can be listed").path();
            let name = path.file_stem().expect("a file has a name");
            let name = name.to_string_lossy().into_owned();
            if path.extension().is_none_or(|one| one != "yaml") || name == "objects" {
                continue;
            }
            let mut case: Case = yaml(&path);
            case.resolve(&objects);
            case.answer = Some(json(&path.with_extension("json")));
            cases.insert(name, case);
        }
        Self { cases }
    }
}

impl Case {
    /// Puts the shared objects in the place of their names.
    fn resolve(&mut self, objects: &BTreeMap<String, Json>) {
        let shared = |name: &str| objects.get(name).expect("a shared object").clone();
        for input in &mut self.reviews {
            if let Input::Shared(name) = input {
                let object = shared(name);
                *input = Input::Given(Given {
                    object,
                    ..Given::default()
                });
            }
        }
        for entry in &mut self.inventory {
            if let Some(name) = entry.as_str() {
                *entry = shared(name);
            }
        }
    }

    pub fn answer(&self) -> &Answer {
        self.answer.as_ref().expect("each case has its answers")
    }
}

pub fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

pub fn json<T: for<'a> Deserialize<'a>>(path: &Path) -> T {
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn yaml<T: for<'a> Deserialize<'a>>(path: &Path) -> T {
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let tree = reeve_go_compat::yaml::decode_sigs_json(&text)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_value(tree).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
