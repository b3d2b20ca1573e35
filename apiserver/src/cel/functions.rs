//! The functions that expressions may call.

use std::sync::Arc;

use kube_cel::KubeCelExt as _;
use kube_cel::cel::{Context, ExecutionError, Value as CelValue};

thread_local! {
    pub(crate) static FUNCTIONS: Context<'static> = functions();
}

/// The functions of Kubernetes, with `type` and the names of types, which the library does not have.
fn functions() -> Context<'static> {
    let mut context = Context::default().with_all();
    super::budget::register(&mut context);
    context.add_function("type", |value: CelValue| {
        Ok::<CelValue, ExecutionError>(type_named(type_of(&value)))
    });
    for name in [
        "bool",
        "bytes",
        "double",
        "int",
        "list",
        "map",
        "null_type",
        "string",
        "uint",
    ] {
        context.add_variable_from_value(name, type_named(name));
    }
    context
}

fn type_named(name: &str) -> CelValue {
    CelValue::String(Arc::new(format!("type:{name}")))
}

fn type_of(value: &CelValue) -> &'static str {
    match value {
        CelValue::Bool(_) => "bool",
        CelValue::Bytes(_) => "bytes",
        CelValue::Float(_) => "double",
        CelValue::Int(_) => "int",
        CelValue::List(_) => "list",
        CelValue::Map(_) => "map",
        CelValue::Null => "null_type",
        CelValue::String(_) => "string",
        CelValue::UInt(_) => "uint",
        _ => "other",
    }
}
