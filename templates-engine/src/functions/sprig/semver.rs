//! Semantic versions.

use crate::function::Parameter::Str;
use crate::function::{Arguments, Env, Failure, Function};
use crate::functions::define::{Answer, Group, charge_items, takes};
use reeve_go_compat::semver::{Constraints, Version, VersionValue};
use reeve_go_compat::value::Value;

const SEMVER: Group = Group("Semantic versions");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    SEMVER.function("semver", takes(&[Str]), semver, "version", "Reads a version. The result has the methods `.Major`, `.Minor`, `.Patch`, `.Prerelease`, `.Metadata`, `.Original`, `.Compare`, `.Equal`, `.LessThan`, `.GreaterThan`, `.IncMajor`, `.IncMinor` and `.IncPatch`."),
    SEMVER.function("semverCompare", takes(&[Str, Str]), compare, "constraint version", "Whether the version satisfies a constraint such as `>=1.2 <2`, `~1.2`, `^1.2` or `1.x || 3.x`. Pre-releases satisfy only constraints that name one, such as `>=1.2-0`."),
];

fn semver(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    charge_items(env, 1)?;
    let version =
        Version::parse(arguments.str(0)?).map_err(|error| Failure::text(error.to_string()))?;
    Ok(VersionValue::pointer(version))
}

fn compare(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    charge_items(env, 1)?;
    let constraints =
        Constraints::parse(arguments.str(0)?).map_err(|error| Failure::text(error.to_string()))?;
    let version =
        Version::parse(arguments.str(1)?).map_err(|error| Failure::text(error.to_string()))?;
    Ok(Value::Bool(constraints.check(&version)))
}
