//! Suites: files that name templates, constraints, objects and what is expected.

use std::path::{Path, PathBuf};

use reeve_gatekeeper::Json;
use reeve_gatekeeper::external_data::ExternalData;

use crate::messages;
use crate::read::{self, Dialect};

const GROUP: &str = "test.gatekeeper.sh";
const KIND: &str = "Suite";

/// A suite.
#[derive(Debug)]
pub struct Suite {
    /// The path as it was given.
    pub shown_path: String,
    /// The folder of the file, to which its paths are relative.
    pub folder: PathBuf,
    pub skip: bool,
    pub tests: Vec<Test>,
    /// What providers of external data answer.
    pub external_data: ExternalData,
}

/// A template and a constraint with cases.
#[derive(Debug)]
pub struct Test {
    pub name: String,
    pub template: String,
    pub constraint: String,
    pub expansion: String,
    pub cases: Vec<Case>,
    /// What providers of external data answer in this test; those of the suite answer in all.
    pub external_data: ExternalData,
    /// Whether the constraint must violate its schema.
    pub invalid: bool,
    pub skip: bool,
}

/// An object with what its review must find.
#[derive(Debug)]
pub struct Case {
    pub name: String,
    pub object: String,
    pub inventory: Vec<String>,
    pub assertions: Vec<Assertion>,
    pub skip: bool,
}

/// What a review must find.
#[derive(Debug)]
pub struct Assertion {
    pub violations: Violations,
    /// A regular expression: only violations whose message it matches count.
    pub message: Option<String>,
}

/// How many violations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violations {
    Number(i64),
    /// `yes`, `no`, or anything else, which is an error of the case.
    Word(String),
}

/// The suites at a path: a file, a folder, or with `/...` a folder and those in it.
pub fn find(path: &str) -> Result<Vec<Suite>, String> {
    let (root, is_recursive) = match path.strip_suffix("/...") {
        Some(root) => (root, true),
        None => (path, false),
    };
    let root = if root.is_empty() { "/" } else { root };
    let root = Path::new(root);
    let metadata = std::fs::metadata(root).map_err(|error| messages::cannot_list(root, &error))?;
    let mut files = Vec::new();
    if metadata.is_dir() {
        let mut pending = vec![root.to_owned()];
        while let Some(folder) = pending.pop() {
            for entry in read::entries(&folder)? {
                if entry.is_dir() {
                    pending.extend(is_recursive.then_some(entry));
                } else if read::is_yaml(&entry) {
                    files.push(entry);
                }
            }
        }
    } else if is_recursive {
        return Err(messages::not_a_folder(root));
    } else if read::is_yaml(root) {
        files.push(root.to_owned());
    } else {
        return Err(messages::unsupported_extension(root));
    }
    files.sort();
    let mut suites = Vec::new();
    for file in files {
        suites.extend(read_suite(&file)?);
    }
    Ok(suites)
}

/// The suite of a file, if it has one.
fn read_suite(path: &Path) -> Result<Option<Suite>, String> {
    let text = read::text(path)?;
    let document = read::document_of(&text, Dialect::Suite)
        .map_err(|error| messages::invalid_yaml_file(path, &error))?;
    if read::group(&document) != GROUP || read::kind(&document) != KIND {
        return Ok(None);
    }
    let folder = path.parent().unwrap_or_else(|| Path::new("")).to_owned();
    let tests = list(&document, "tests")?.iter().map(test_of);
    Ok(Some(Suite {
        shown_path: path.display().to_string(),
        folder,
        skip: flag(&document, "skip")?,
        tests: tests.collect::<Result<_, String>>()?,
        external_data: external_data(&document)?,
    }))
}

fn test_of(test: &Json) -> Result<Test, String> {
    let cases = list(test, "cases")?.iter().map(case_of);
    Ok(Test {
        name: text(test, "name")?,
        template: text(test, "template")?,
        constraint: text(test, "constraint")?,
        expansion: text(test, "expansion")?,
        cases: cases.collect::<Result<_, String>>()?,
        external_data: external_data(test)?,
        invalid: flag(test, "invalid")?,
        skip: flag(test, "skip")?,
    })
}

fn case_of(case: &Json) -> Result<Case, String> {
    let inventory = list(case, "inventory")?.iter().map(|path| match path {
        Json::String(path) => Ok(path.clone()),
        other => Err(messages::wrong_type("inventory", "string", other)),
    });
    let assertions = list(case, "assertions")?.iter().map(assertion_of);
    Ok(Case {
        name: text(case, "name")?,
        object: text(case, "object")?,
        inventory: inventory.collect::<Result<_, String>>()?,
        assertions: assertions.collect::<Result<_, String>>()?,
        skip: flag(case, "skip")?,
    })
}

fn assertion_of(assertion: &Json) -> Result<Assertion, String> {
    let violations = match &assertion["violations"] {
        Json::Null => Violations::Word("yes".to_owned()),
        Json::String(word) => Violations::Word(word.clone()),
        Json::Number(number) if number.as_i64().is_some() => {
            Violations::Number(number.as_i64().unwrap_or_default())
        }
        other => return Err(messages::wrong_type("violations", "int or string", other)),
    };
    let message = match &assertion["message"] {
        Json::Null => None,
        Json::String(message) => Some(message.clone()),
        other => return Err(messages::wrong_type("message", "string", other)),
    };
    Ok(Assertion {
        violations,
        message,
    })
}

fn external_data(of: &Json) -> Result<ExternalData, String> {
    const FIELD: &str = "externalData";
    ExternalData::parse(FIELD, &of[FIELD])
}

fn list<'a>(of: &'a Json, name: &str) -> Result<&'a [Json], String> {
    match &of[name] {
        Json::Null => Ok(&[]),
        Json::Array(list) => Ok(list),
        other => Err(messages::wrong_type(name, "list", other)),
    }
}

fn text(of: &Json, name: &str) -> Result<String, String> {
    match &of[name] {
        Json::Null => Ok(String::new()),
        Json::String(text) => Ok(text.clone()),
        other => Err(messages::wrong_type(name, "string", other)),
    }
}

fn flag(of: &Json, name: &str) -> Result<bool, String> {
    match &of[name] {
        Json::Null => Ok(false),
        Json::Bool(flag) => Ok(*flag),
        other => Err(messages::wrong_type(name, "bool", other)),
    }
}
