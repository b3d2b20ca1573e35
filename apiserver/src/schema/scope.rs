//! Expressions about several named values, as admission policies have them.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use kube_cel::cel::objects::{Key, Map as CelMap};
use kube_cel::cel::parser::Expression;
use kube_cel::cel::{ExecutionError, Value as CelValue};
use parking_lot::Mutex;
use serde_json::Value;

use super::model::{TypeId, Types};
use super::rules::to_cel;
use crate::cel::{self, FUNCTIONS};

/// The capacity of the cache of compiled expressions. All policies of a cluster fit; a full cache is cleared.
const COMPILED: usize = 1000;

type Compiled = Arc<Result<Expression, String>>;

static KNOWN: LazyLock<Mutex<HashMap<String, Compiled>>> = LazyLock::new(Mutex::default);

/// An expression, or why it is none.
pub(crate) fn compile(text: &str) -> Compiled {
    let mut known = KNOWN.lock();
    if let Some(compiled) = known.get(text) {
        return Arc::clone(compiled);
    }
    let compiled = Arc::new(cel::compile(text));
    if known.len() >= COMPILED {
        known.clear();
    }
    known.insert(text.to_owned(), Arc::clone(&compiled));
    compiled
}

/// The values that expressions may name.
pub(crate) struct Scope {
    named: Vec<(String, CelValue)>,
    variables: HashMap<Key, CelValue>,
}

impl Scope {
    /// Without any.
    pub(crate) fn new() -> Self {
        Self {
            named: Vec::new(),
            variables: HashMap::new(),
        }
    }

    /// Names a value.
    pub(crate) fn add(&mut self, name: &str, value: &Value) {
        self.add_typed(name, None, value);
    }

    /// Names a value of a schema.
    pub(crate) fn add_typed(
        &mut self,
        name: &str,
        schema: Option<&(Arc<Types>, TypeId)>,
        value: &Value,
    ) {
        let untyped = Types::default();
        let value = match schema {
            Some((types, id)) => to_cel(types, Some(*id), value, 0),
            None => to_cel(&untyped, None, value, 0),
        };
        self.named.push((name.to_owned(), value));
    }

    /// Names expressions, each of which may use those before. One that fails is not there: only who uses it fails.
    pub(crate) fn add_variables(&mut self, all: impl Iterator<Item = (String, String)>) {
        for (name, expression) in all {
            if let Ok(value) = self.value(&compile(&expression)) {
                self.variables.insert(Key::String(Arc::new(name)), value);
            }
        }
    }

    /// Whether an expression is true.
    pub(crate) fn holds(&self, program: &Compiled) -> Result<bool, String> {
        match self.value(program)? {
            CelValue::Bool(holds) => Ok(holds),
            _ => Err("unexpected type of the result".to_owned()),
        }
    }

    /// The text that an expression makes; `None` if it makes none that can be shown on a line.
    pub(crate) fn text(&self, expression: &str) -> Option<String> {
        if expression.is_empty() {
            return None;
        }
        match self.value(&compile(expression)) {
            Ok(CelValue::String(text)) => {
                let text = text.trim();
                (!text.is_empty() && !text.contains('\n')).then(|| text.to_owned())
            }
            _ => None,
        }
    }

    fn value(&self, program: &Compiled) -> Result<CelValue, String> {
        let program = program.as_ref().as_ref().map_err(Clone::clone)?;
        FUNCTIONS.with(|functions| {
            let mut scope = functions.new_inner_scope();
            for (name, value) in &self.named {
                scope.add_variable_from_value(name.clone(), value.clone());
            }
            let variables = CelMap {
                map: Arc::new(self.variables.clone()),
            };
            scope.add_variable_from_value("variables", CelValue::Map(variables));
            cel::evaluate(program, &scope).map_err(|error| match error {
                ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
                ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
                error => error.to_string(),
            })
        })
    }
}
