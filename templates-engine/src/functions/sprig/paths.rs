//! Parts of file names. Those whose names begin with `os` do the same: the controllers run on
//! Linux.

use crate::function::Parameter::Str;
use crate::function::{Arguments, Env, Function};
use crate::functions::define::{Answer, Group, answer, charge_bytes, charge_items, part, takes};
use reeve_go_compat::paths;
use reeve_go_compat::value::Value;

const PATHS: Group = Group("Paths");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    PATHS.function(
        "base",
        takes(&[Str]),
        base,
        "path",
        "The last element of the path.",
    ),
    PATHS.function(
        "dir",
        takes(&[Str]),
        dir,
        "path",
        "All but the last element of the path, cleaned.",
    ),
    PATHS.function(
        "clean",
        takes(&[Str]),
        clean,
        "path",
        "The shortest path that means the same.",
    ),
    PATHS.function(
        "ext",
        takes(&[Str]),
        ext,
        "path",
        "The extension of the last element, with its dot.",
    ),
    PATHS.function(
        "isAbs",
        takes(&[Str]),
        is_abs,
        "path",
        "Whether the path is absolute.",
    ),
    PATHS.function("osBase", takes(&[Str]), base, "path", "The same as `base`."),
    PATHS.function("osDir", takes(&[Str]), dir, "path", "The same as `dir`."),
    PATHS.function(
        "osClean",
        takes(&[Str]),
        clean,
        "path",
        "The same as `clean`.",
    ),
    PATHS.function("osExt", takes(&[Str]), ext, "path", "The same as `ext`."),
    PATHS.function(
        "osIsAbs",
        takes(&[Str]),
        is_abs,
        "path",
        "The same as `isAbs`.",
    ),
];

fn base(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let path = arguments.str(0)?;
    if path.is_empty() {
        return answer(".");
    }
    let end = path.iter().rposition(|byte| *byte != b'/');
    let Some(end) = end else {
        return answer("/");
    };
    let trimmed = path.get(..=end).unwrap_or_default();
    let name = trimmed.rsplit(|byte| *byte == b'/').next();
    part(env, name.unwrap_or_default())
}

fn dir(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let path = arguments.str(0)?;
    let length = path
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |slash| slash + 1);
    clean_path(env, path.get(..length).unwrap_or_default())
}

fn clean(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    clean_path(env, arguments.str(0)?)
}

fn clean_path(env: &mut Env<'_>, path: &[u8]) -> Answer {
    charge_bytes(env, path.len())?;
    // A list of a path's elements takes more room than the path.
    charge_items(env, path.len() / 2)?;
    answer(paths::clean(path))
}

fn ext(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let path = arguments.str(0)?;
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let dot = name.iter().rposition(|byte| *byte == b'.');
    part(env, dot.and_then(|dot| name.get(dot..)).unwrap_or_default())
}

fn is_abs(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(Value::Bool(arguments.str(0)?.first() == Some(&b'/')))
}
