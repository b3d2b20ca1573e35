//! What the tests on recorded cases share.

use std::path::PathBuf;
use std::rc::Rc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use reeve_go_compat::value::Value;
use reeve_templates_engine::ambient::Fixed;
use reeve_templates_engine::budget::{Budget, Meter};
use reeve_templates_engine::encryption::DecryptedTokens;
use reeve_templates_engine::function::Env;
use reeve_templates_engine::language::{Delimiters, FunctionTable, execute, parse};
use reeve_templates_engine::lookup::{Cluster, Snapshot};

/// A fixture's text; `REEVE_FIXTURES` names a directory with other ones.
pub fn fixture(name: &str) -> String {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/fixtures");
    let directory = std::env::var_os("REEVE_FIXTURES").map_or(own, PathBuf::from);
    let path = directory.join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Renders a template by itself, as Go's `text/template` would: the output or the error's text.
pub fn render(text: &str, delimiters: Delimiters<'_>, data: Value) -> Result<Vec<u8>, String> {
    let functions = FunctionTable::new();
    let template =
        parse("tmpl", text, delimiters, &functions).map_err(|error| error.to_string())?;
    let mut meter = Meter::new(Budget::default());
    let mut ambient = Fixed::new(Timestamp::UNIX_EPOCH, TimeZone::UTC, 1);
    let mut cluster = Cluster::new(Rc::new(Snapshot::new().complete()));
    let env = Env {
        meter: &mut meter,
        ambient: &mut ambient,
        cluster: &mut cluster,
    };
    let rendered = execute(
        &template,
        &functions,
        data,
        &DecryptedTokens::default(),
        env,
    )
    .map_err(|error| error.to_string())?;
    Ok(rendered.bytes)
}
