//! The functions that read and write JSON and YAML against Sprig's, and against `yaml.v3` used as
//! upstream uses it.

use reeve_go_compat::value::Value;
use reeve_templates_engine::language::Delimiters;

#[test]
fn every_recorded_template_gives_what_go_gives() {
    crate::sprig::compare("json_functions.jsonl", |case| {
        crate::cases::render(&case.t, Delimiters::default(), Value::Missing)
    });
}
