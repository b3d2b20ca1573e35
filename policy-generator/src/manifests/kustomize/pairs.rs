//! The entries of generated objects: from literals, files and files of environment variables.

use reeve_go_compat::runes::quote;
use reeve_go_compat::value::Map;

use super::loading::Folder;
use crate::error::Error;
use crate::messages;
use crate::values::{nonempty_field, texts_field};

/// An entry.
pub(super) struct Pair {
    pub(super) key: String,
    pub(super) value: Vec<u8>,
}

/// All entries of a generator, in the order of kustomize.
pub(super) fn pairs(folder: &Folder<'_>, generator: &Map) -> Result<Vec<Pair>, Error> {
    let mut pairs = Vec::new();
    let env = nonempty_field(generator, "env");
    let envs: Vec<String> = texts_field(generator, "envs").chain(env).collect();
    for name in &envs {
        let words = |error: Error| error.within(messages::in_envs(&envs.join(" ")));
        let text = folder.read(name).map_err(words)?;
        add_variables(&text, &mut pairs).map_err(words)?;
    }
    let literals: Vec<String> = texts_field(generator, "literals").collect();
    for literal in &literals {
        let words = |error: Error| error.within(messages::in_literals(&literals.join(" ")));
        pairs.push(of_literal(literal).map_err(words)?);
    }
    let files: Vec<String> = texts_field(generator, "files").collect();
    for file in &files {
        let words = |error: Error| error.within(messages::in_files(&files.join(" ")));
        pairs.push(of_file(folder, file).map_err(words)?);
    }
    Ok(pairs)
}

/// `key=value`, with a value that may be in quotes.
fn of_literal(literal: &str) -> Result<Pair, Error> {
    match literal.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok(Pair {
            key: key.to_owned(),
            value: unquoted(value).as_bytes().to_vec(),
        }),
        _ => Err(Error::new(messages::invalid_literal(literal))),
    }
}

fn unquoted(value: &str) -> &str {
    let within = |sign: char| value.strip_prefix(sign)?.strip_suffix(sign);
    within('"').or_else(|| within('\'')).unwrap_or(value)
}

/// `path` or `key=path`.
fn of_file(folder: &Folder<'_>, source: &str) -> Result<Pair, Error> {
    let (key, path) = match source.split_once('=') {
        None => (source.rsplit('/').next().unwrap_or(source), source),
        Some((_, path)) if path.contains('=') => {
            return Err(Error::new(messages::file_with_signs(&quote(source))));
        }
        Some(("", path)) => {
            let (path, source) = (quote(path), quote(source));
            return Err(Error::new(messages::file_without_key(&path, &source)));
        }
        Some((key, "")) => {
            let (key, source) = (quote(key), quote(source));
            return Err(Error::new(messages::file_without_path(&key, &source)));
        }
        Some(both) => both,
    };
    Ok(Pair {
        key: key.to_owned(),
        value: folder.read(path)?,
    })
}

/// The variables of a file. One without a value is empty.
fn add_variables(text: &[u8], pairs: &mut Vec<Pair>) -> Result<(), Error> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    for line in text.split(|sign| *sign == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Ok(text) = std::str::from_utf8(line) else {
            let bytes: Vec<String> = line.iter().map(ToString::to_string).collect();
            let shown = String::from_utf8_lossy(line);
            return Err(Error::new(messages::undecodable_line(
                &bytes.join(" "),
                &shown,
            )));
        };
        let text = text.trim_start();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        if !key.is_empty() {
            pairs.push(Pair {
                key: key.to_owned(),
                value: value.as_bytes().to_vec(),
            });
        }
    }
    Ok(())
}
