//! The methods of semantic versions that templates may call.

use std::cmp::Ordering;

use reeve_go_compat::semver::{Version, VersionError, VersionValue, are_identifiers};
use reeve_go_compat::value::{Element, List, Native, Value};

use super::{Answer, Call, Method, NOTHING, TEXT, receiver, takes};
use crate::function::{Arguments, Failure, Parameter, Signature};

const OTHER: Signature = takes(&[Parameter::Named("*semver.Version")]);
const FOR_DATABASES: Signature = Signature {
    returns_any: true,
    ..NOTHING
};

/// The method of a version, or of a pointer to one.
pub(super) fn of_version(version: &VersionValue, name: &str) -> Option<Method> {
    shared_method(name)
        .or_else(|| version.is_pointer().then(|| pointer_method(name)).flatten())
        .map(Method::with_one_result)
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

fn of(native: &dyn Native) -> Result<&Version, Failure> {
    receiver::<VersionValue>(native).map(VersionValue::version)
}

fn compared(receiver: &dyn Native, arguments: &Arguments<'_>) -> Result<Ordering, Failure> {
    if arguments.any(0).is_nil() {
        return Err(Failure::text(
            "runtime error: invalid memory address or nil pointer dereference",
        ));
    }
    let other = arguments.native::<VersionValue>(0)?.version();
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
