//! Sprig's functions against Sprig itself: every recorded case gives the same output or the same
//! error text, and every function has the same parameters.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::tally::Tally;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use reeve_go_compat::semver::{Constraints, Version};
use reeve_go_compat::value::Value;
use reeve_templates_engine::ambient::Fixed;
use reeve_templates_engine::budget::{Budget, Meter};
use reeve_templates_engine::encryption::DecryptedTokens;
use reeve_templates_engine::function::{Env, Parameter};
use reeve_templates_engine::functions;
use reeve_templates_engine::language::{Delimiters, FunctionTable, execute, parse};
use reeve_templates_engine::lookup::{Cluster, Snapshot};
use serde::Deserialize;

#[derive(Deserialize)]
struct Recorded {
    r#in: Vec<String>,
    variadic: bool,
    out: Vec<String>,
}

/// Functions of the engine's own under Sprig's names, with parameters of their own.
const OWN: [&str; 1] = ["indent"];

#[test]
fn every_function_of_sprig_is_there() {
    let recorded: BTreeMap<String, Recorded> =
        serde_json::from_str(&crate::cases::fixture("sprig_signatures.json")).expect("a fixture");
    let usable: Vec<&str> = recorded
        .keys()
        .map(String::as_str)
        .filter(|name| !["env", "expandenv"].contains(name))
        .collect();
    assert_eq!(functions::sprig_names(), usable);
    assert_eq!(usable.len(), 209);
}

#[test]
fn every_function_has_sprigs_parameters() {
    let recorded: BTreeMap<String, Recorded> =
        serde_json::from_str(&crate::cases::fixture("sprig_signatures.json")).expect("a fixture");
    let mut wrong = Vec::new();
    for (name, recorded) in &recorded {
        if OWN.contains(&name.as_str()) || ["env", "expandenv"].contains(&name.as_str()) {
            continue;
        }
        let Some(function) = functions::find(name) else {
            wrong.push(format!("{name}: missing"));
            continue;
        };
        let signature = function.signature;
        let mut parameters: Vec<String> = signature
            .fixed
            .iter()
            .map(|parameter| parameter.name().to_owned())
            .collect();
        parameters.extend(
            signature
                .variadic
                .map(|more| format!("[]{}", Parameter::name(more))),
        );
        let returns_any = recorded
            .out
            .first()
            .is_some_and(|out| out == "interface {}");
        if parameters != recorded.r#in
            || signature.variadic.is_some() != recorded.variadic
            || signature.returns_any != returns_any
        {
            wrong.push(format!(
                "{name}: {parameters:?} returns_any {}",
                signature.returns_any
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A recorded template: its text, and what Go made of it.
#[derive(Deserialize)]
pub struct Case {
    #[serde(default)]
    z: String,
    pub t: String,
    o: Option<String>,
    b: Option<String>,
    e: Option<String>,
}

impl Case {
    fn expected(&self) -> Result<Vec<u8>, String> {
        if let Some(error) = &self.e {
            return Err(error.clone());
        }
        Ok(match &self.b {
            Some(encoded) => STANDARD.decode(encoded).expect("base64"),
            None => self.o.clone().unwrap_or_default().into_bytes(),
        })
    }
}

fn shown(result: &Result<Vec<u8>, String>) -> String {
    match result {
        Ok(bytes) => format!("ok    {:?}", String::from_utf8_lossy(bytes)),
        Err(text) => format!("error {text}"),
    }
}

/// Renders every case of a fixture and reports those that differ.
pub fn compare(fixture: &str, mut render: impl FnMut(&Case) -> Result<Vec<u8>, String>) {
    let text = crate::cases::fixture(fixture);
    let mut tally = Tally::default();
    for line in text.lines() {
        let case: Case = serde_json::from_str(line).expect("a case");
        let (expected, found) = (case.expected(), render(&case));
        tally.count(found == expected, || {
            format!(
                "{} {}\n  want {}\n  got  {}",
                case.z,
                case.t,
                shown(&expected),
                shown(&found)
            )
        });
    }
    tally.finish(fixture);
}

#[test]
fn every_recorded_template_gives_what_sprig_gives() {
    compare("sprig.jsonl", |case| {
        crate::cases::render(&case.t, Delimiters::default(), Value::Nil)
    });
}

/// Renders with this local zone.
fn render_in(zone: &str, text: &str) -> Result<Vec<u8>, String> {
    let functions = FunctionTable::new();
    let template = parse("tmpl", text, Delimiters::default(), &functions)
        .map_err(|error| error.to_string())?;
    let zone = TimeZone::get(zone).expect("a zone");
    let env = Env {
        meter: &mut Meter::new(Budget::default()),
        ambient: &mut Fixed::new(Timestamp::UNIX_EPOCH, zone, 1),
        cluster: &mut Cluster::new(Rc::new(Snapshot::new().complete())),
    };
    execute(
        &template,
        &functions,
        Value::Nil,
        &DecryptedTokens::default(),
        env,
    )
    .map(|rendered| rendered.bytes)
    .map_err(|error| error.to_string())
}

#[test]
fn dates_follow_the_local_zone() {
    compare("sprig_zones.jsonl", |case| render_in(&case.z, &case.t));
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SemverCase {
    Version {
        v: String,
        #[serde(default)]
        s: String,
        #[serde(default)]
        e: String,
    },
    Constraint {
        c: String,
        #[serde(default)]
        m: String,
        #[serde(default)]
        e: String,
    },
    Order {
        l: String,
        o: String,
    },
}

#[test]
fn versions_and_constraints_are_read_and_compared_as_by_masterminds() {
    let text = crate::cases::fixture("semver.jsonl");
    let cases: Vec<SemverCase> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a case"))
        .collect();
    let versions: Vec<Version> = cases
        .iter()
        .filter_map(|case| match case {
            SemverCase::Order { l, .. } => Some(Version::parse(l.as_bytes()).expect("a version")),
            _ => None,
        })
        .collect();
    let mut pairs = 0;
    for case in &cases {
        match case {
            SemverCase::Version { v, s, e } => {
                let found = Version::parse(v.as_bytes()).map(|version| {
                    format!("{version} {} {}", version.prerelease, version.metadata)
                });
                match found {
                    Ok(found) => assert_eq!(&found, s, "{v:?}"),
                    Err(error) => assert_eq!(&error.to_string(), e, "{v:?}"),
                }
            }
            SemverCase::Constraint { c, m, e } => match Constraints::parse(c.as_bytes()) {
                Ok(constraints) => {
                    let found: String = versions
                        .iter()
                        .map(|version| if constraints.check(version) { '1' } else { '0' })
                        .collect();
                    assert_eq!(&found, m, "{c:?}");
                    pairs += versions.len();
                }
                Err(error) => assert_eq!(&error.to_string(), e, "{c:?}"),
            },
            SemverCase::Order { l, o } => {
                let left = Version::parse(l.as_bytes()).expect("a version");
                let found: String = versions
                    .iter()
                    .map(|right| match left.compare(right) {
                        std::cmp::Ordering::Less => '<',
                        std::cmp::Ordering::Equal => '=',
                        std::cmp::Ordering::Greater => '>',
                    })
                    .collect();
                assert_eq!(&found, o, "{l:?}");
            }
        }
    }
    println!(
        "{} cases, {pairs} pairs of constraint and version",
        cases.len()
    );
}
