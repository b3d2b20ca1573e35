//! Versions as values of templates.

use std::any::Any;
use std::cmp::Ordering;
use std::rc::Rc;

use super::{Version, VersionError, are_identifiers};
use crate::function::{Arguments, Failure, Parameter, Signature};
use crate::value::{Element, Kind, List, Method, Native, Results, Value};

/// A Go `*semver.Version`, or the `semver.Version` that `IncMajor` and its like answer.
#[derive(Clone, Debug)]
pub struct VersionValue {
    version: Version,
    pointer: bool,
}

impl VersionValue {
    /// A `*semver.Version`.
    pub fn pointer(version: Version) -> Value {
        Value::Native(Rc::new(Self {
            version,
            pointer: true,
        }))
    }

    /// The zero value of the same type.
    pub fn blank(&self) -> Value {
        Value::Native(Rc::new(Self {
            version: Version {
                major: 0,
                minor: 0,
                patch: 0,
                prerelease: String::new(),
                metadata: String::new(),
                original: String::new(),
            },
            pointer: self.pointer,
        }))
    }

    fn plain(version: Version) -> Value {
        Value::Native(Rc::new(Self {
            version,
            pointer: false,
        }))
    }
}

type Answer = Result<Value, Failure>;
type Call = fn(&dyn Native, &Arguments<'_>) -> Answer;

const NOTHING: Signature = Signature {
    fixed: &[],
    variadic: None,
    returns_any: false,
};
const OTHER: Signature = Signature {
    fixed: &[Parameter::Named("*semver.Version")],
    ..NOTHING
};
const TEXT: Signature = Signature {
    fixed: &[Parameter::Str],
    ..NOTHING
};
const FOR_DATABASES: Signature = Signature {
    returns_any: true,
    ..NOTHING
};

impl Native for VersionValue {
    fn type_name(&self) -> &'static str {
        if self.pointer {
            "*semver.Version"
        } else {
            "semver.Version"
        }
    }

    fn kind(&self) -> Kind {
        if self.pointer {
            Kind::Ptr
        } else {
            Kind::Struct
        }
    }

    fn is_compared_by_address(&self) -> bool {
        self.pointer
    }

    fn text(&self) -> Option<String> {
        Some(self.version.to_string())
    }

    fn json(&self) -> String {
        // Nothing in a version needs an escape.
        format!("\"{}\"", self.version)
    }

    fn method(&self, name: &str) -> Option<Method> {
        let (signature, call) =
            shared_method(name).or_else(|| self.pointer.then(|| pointer_method(name)).flatten())?;
        Some(Method {
            signature,
            call,
            results: Results::One,
        })
    }

    fn equals(&self, other: &dyn Native) -> bool {
        other
            .as_any()
            .downcast_ref::<Self>()
            .is_some_and(|other| self.pointer == other.pointer && self.version == other.version)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn shared_method(name: &str) -> Option<(Signature, Call)> {
    Some(match name {
        "Major" => (NOTHING, |receiver, _| {
            Ok(Value::Uint64(of(receiver)?.major))
        }),
        "Minor" => (NOTHING, |receiver, _| {
            Ok(Value::Uint64(of(receiver)?.minor))
        }),
        "Patch" => (NOTHING, |receiver, _| {
            Ok(Value::Uint64(of(receiver)?.patch))
        }),
        "Prerelease" => (NOTHING, |receiver, _| {
            Ok(Value::str(&of(receiver)?.prerelease))
        }),
        "Metadata" => (NOTHING, |receiver, _| {
            Ok(Value::str(&of(receiver)?.metadata))
        }),
        "String" => (NOTHING, |receiver, _| {
            Ok(Value::from(of(receiver)?.to_string()))
        }),
        "Value" => (FOR_DATABASES, |receiver, _| {
            Ok(Value::from(of(receiver)?.to_string()))
        }),
        "MarshalText" => (NOTHING, |receiver, _| Ok(bytes(&of(receiver)?.to_string()))),
        "MarshalJSON" => (NOTHING, |receiver, _| Ok(bytes(&receiver.json()))),
        "IncMajor" => (NOTHING, |receiver, _| increased(of(receiver)?, Part::Major)),
        "IncMinor" => (NOTHING, |receiver, _| increased(of(receiver)?, Part::Minor)),
        "IncPatch" => (NOTHING, |receiver, _| increased(of(receiver)?, Part::Patch)),
        "SetPrerelease" => (TEXT, set_prerelease),
        "SetMetadata" => (TEXT, set_metadata),
        _ => return None,
    })
}

fn pointer_method(name: &str) -> Option<(Signature, Call)> {
    Some(match name {
        "Original" => (NOTHING, |receiver, _| {
            Ok(Value::str(&of(receiver)?.original))
        }),
        "Compare" => (OTHER, |receiver, arguments| {
            Ok(Value::Int(match compared(receiver, arguments)? {
                Ordering::Less => -1,
                Ordering::Equal => 0,
                Ordering::Greater => 1,
            }))
        }),
        "Equal" => (OTHER, |receiver, arguments| {
            if arguments.any(0).is_nil() {
                return Ok(Value::Bool(false));
            }
            Ok(Value::Bool(compared(receiver, arguments)?.is_eq()))
        }),
        "LessThan" => (OTHER, |receiver, arguments| {
            Ok(Value::Bool(compared(receiver, arguments)?.is_lt()))
        }),
        "LessThanEqual" => (OTHER, |receiver, arguments| {
            Ok(Value::Bool(compared(receiver, arguments)?.is_le()))
        }),
        "GreaterThan" => (OTHER, |receiver, arguments| {
            Ok(Value::Bool(compared(receiver, arguments)?.is_gt()))
        }),
        "GreaterThanEqual" => (OTHER, |receiver, arguments| {
            Ok(Value::Bool(compared(receiver, arguments)?.is_ge()))
        }),
        _ => return None,
    })
}

fn of(receiver: &dyn Native) -> Result<&Version, Failure> {
    receiver
        .as_any()
        .downcast_ref::<VersionValue>()
        .map(|value| &value.version)
        .ok_or_else(|| Failure::text("the receiver is not a version"))
}

fn compared(receiver: &dyn Native, arguments: &Arguments<'_>) -> Result<Ordering, Failure> {
    if arguments.any(0).is_nil() {
        return Err(Failure::text(
            "runtime error: invalid memory address or nil pointer dereference",
        ));
    }
    let other = &arguments.native::<VersionValue>(0)?.version;
    Ok(of(receiver)?.compare(other))
}

fn bytes(text: &str) -> Value {
    Value::List(List::new(
        Element::Named("uint8"),
        text.bytes().map(Value::Uint8),
    ))
}

/// The original text of a changed version keeps the `v` of the one it came from.
fn rewritten(mut version: Version) -> Value {
    let prefix = if version.original.starts_with('v') {
        "v"
    } else {
        ""
    };
    version.original = format!("{prefix}{version}");
    VersionValue::plain(version)
}

#[derive(Clone, Copy)]
enum Part {
    Major,
    Minor,
    Patch,
}

fn increased(version: &Version, part: Part) -> Answer {
    let mut next = version.clone();
    next.prerelease.clear();
    next.metadata.clear();
    let overflow =
        |name: &str| Failure::text(format!("{name} version increment would overflow uint64"));
    match part {
        Part::Major => {
            next.major = next.major.checked_add(1).ok_or_else(|| overflow("major"))?;
            (next.minor, next.patch) = (0, 0);
        }
        Part::Minor => {
            next.minor = next.minor.checked_add(1).ok_or_else(|| overflow("minor"))?;
            next.patch = 0;
        }
        // A pre-release comes before the release of the same numbers.
        Part::Patch if version.is_prerelease() => {}
        Part::Patch => {
            next.patch = next.patch.checked_add(1).ok_or_else(|| overflow("patch"))?;
        }
    }
    Ok(rewritten(next))
}

fn set_prerelease(receiver: &dyn Native, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.text(0)?;
    let mut next = of(receiver)?.clone();
    if !text.is_empty() && !are_identifiers(&text) {
        return Err(Failure::text("invalid prerelease string"));
    }
    next.prerelease = text.into_owned();
    next.check_prerelease()
        .map_err(|error: VersionError| Failure::text(error.to_string()))?;
    Ok(rewritten(next))
}

fn set_metadata(receiver: &dyn Native, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.text(0)?;
    if !text.is_empty() && !are_identifiers(&text) {
        return Err(Failure::text("invalid metadata string"));
    }
    let mut next = of(receiver)?.clone();
    next.metadata = text.into_owned();
    Ok(rewritten(next))
}
