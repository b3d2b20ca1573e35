//! Calls: arity, arguments, and the result.

use std::rc::Rc;

use smallvec::SmallVec;

use super::exec::{Done, Exec};
use super::scope::{Held, Sensitivity};
use super::table::{Callee, Denial};
use super::tree::{Index, NodeId};
use crate::function::{Arguments, Failure, Parameter, Signature};
use crate::messages;
use crate::methods::Method;
use reeve_go_compat::value::{Native, Value};

/// What is called.
pub(super) enum Target {
    Callee(Callee),
    /// A method with its receiver, and whether that came from a secret.
    Method(Rc<dyn Native>, Method, Sensitivity),
}

/// `and`, `or` and denied functions have no body of their own.
const LOGIC: Signature = Signature {
    fixed: &[Parameter::Reflect],
    variadic: Some(Parameter::Reflect),
    returns_any: false,
};
const DENIED: Signature = Signature {
    fixed: &[],
    variadic: Some(Parameter::Any),
    returns_any: true,
};

/// Functions that change a map given to them.
const MUTATORS: [&str; 6] = [
    "set",
    "unset",
    "merge",
    "mergeOverwrite",
    "mustMerge",
    "mustMergeOverwrite",
];

impl Exec<'_, '_> {
    pub(super) fn function(
        &mut self,
        dot: &Held,
        node: NodeId,
        callee: Index,
        command: NodeId,
        arguments: &[NodeId],
        last: Option<Held>,
    ) -> Done<Held> {
        self.at(node);
        let template = self.template;
        let Some((name, callee)) = template.callee(callee) else {
            return self.fail("the function is not defined");
        };
        let target = Target::Callee(*callee);
        self.call(dot, &target, command, name, arguments, last)
    }

    fn signature(&self, target: &Target) -> Signature {
        match target {
            Target::Method(_, method, _) => method.signature,
            Target::Callee(Callee::Function(function)) => function.signature,
            Target::Callee(Callee::And | Callee::Or) => LOGIC,
            Target::Callee(Callee::Custom(place)) => self
                .functions
                .custom(*place)
                .map_or(DENIED, |function| function.signature),
            Target::Callee(Callee::Denied(_)) => DENIED,
        }
    }

    /// Calls with evaluated and checked arguments. `arguments` starts with the callee's own node
    /// unless it is empty; `node` is where a failure is reported.
    pub(super) fn call(
        &mut self,
        dot: &Held,
        target: &Target,
        node: NodeId,
        name: &str,
        arguments: &[NodeId],
        last: Option<Held>,
    ) -> Done<Held> {
        self.step()?;
        let signature = self.signature(target);
        let callee_node = arguments.get(1).copied();
        let arguments = arguments.get(1..).unwrap_or_default();
        self.check_arity(&signature, name, arguments.len(), last.is_some())?;
        if let Target::Method(_, method, _) = target
            && let Some(reason) = method.results.refusal(name)
        {
            return self.fail(reason);
        }
        if let Target::Callee(logic @ (Callee::And | Callee::Or)) = target {
            return self.short_circuit(dot, matches!(logic, Callee::Or), arguments, last);
        }
        let count = arguments.len() + usize::from(last.is_some());
        // Few calls have more; those need no allocation.
        let mut values: SmallVec<[Value; 4]> = SmallVec::with_capacity(count);
        let mut sensitivity = Sensitivity::Open;
        for (place, argument) in arguments.iter().enumerate() {
            let parameter = parameter_at(&signature, place);
            let held = self.argument(dot, parameter, *argument)?;
            sensitivity = sensitivity.max(self.sensitivity_of(&held));
            values.push(held.value);
        }
        let piped = last.is_some();
        if let Some(last) = last {
            let held = self.validate(last, parameter_at(&signature, values.len()))?;
            sensitivity = sensitivity.max(self.sensitivity_of(&held));
            values.push(held.value);
        }
        if name == "call" && matches!(target, Target::Callee(Callee::Function(_))) {
            let shown = match callee_node {
                Some(node) => self.template.render(node),
                None if piped => values.first().map(callee_text).unwrap_or_default(),
                None => String::new(),
            };
            values.insert(0, Value::str(shown));
        }
        self.invoke(target, node, name, &values, signature, sensitivity)
    }

    fn check_arity(
        &self,
        signature: &Signature,
        name: &str,
        given: usize,
        piped: bool,
    ) -> Done<()> {
        let total = given + usize::from(piped);
        let want = signature.fixed.len();
        if signature.variadic.is_some() {
            if total < want {
                return self.fail(format!(
                    "wrong number of args for {name}: want at least {want} got {given}"
                ));
            }
        } else if total != want {
            return self.fail(format!(
                "wrong number of args for {name}: want {want} got {total}"
            ));
        }
        Ok(())
    }

    fn short_circuit(
        &mut self,
        dot: &Held,
        stops_at: bool,
        arguments: &[NodeId],
        last: Option<Held>,
    ) -> Done<Held> {
        let mut value = Held::missing();
        let mut sensitivity = Sensitivity::Open;
        for argument in arguments {
            value = self
                .argument(dot, Some(Parameter::Reflect), *argument)?
                .unboxed();
            sensitivity = sensitivity.max(self.sensitivity_of(&value));
            value.sensitivity = sensitivity;
            if value.value.truth() == stops_at {
                return Ok(value);
            }
        }
        if let Some(last) = last {
            value = last;
            value.sensitivity = value.sensitivity.max(sensitivity);
        }
        Ok(value)
    }

    fn invoke(
        &mut self,
        target: &Target,
        node: NodeId,
        name: &str,
        values: &[Value],
        signature: Signature,
        mut sensitivity: Sensitivity,
    ) -> Done<Held> {
        let arguments = Arguments::new(values);
        if let Target::Method(_, _, of_receiver) = target {
            sensitivity = sensitivity.max(*of_receiver);
        }
        self.env.cluster.begin_call();
        let result = match target {
            Target::Method(native, method, _) => (method.call)(native.as_ref(), &arguments),
            Target::Callee(Callee::Function(function)) => {
                (function.body)(&mut self.env, &arguments)
            }
            Target::Callee(Callee::Custom(place)) => match self.functions.custom(*place) {
                Some(function) => (function.body)(&mut self.env, &arguments),
                None => Err(Failure::text("the function is not defined")),
            },
            Target::Callee(Callee::Denied(denial)) => Err(Failure::text(match denial {
                Denial::SecurityRisk => messages::denied_as_risk(name),
                Denial::NotAllowed => messages::denied(name),
            })),
            Target::Callee(Callee::And | Callee::Or) => Ok(Value::Missing),
        };
        let value = match result {
            Ok(value) => value,
            Err(why) => return self.call_failed(node, name, why),
        };
        if self.env.cluster.read_secret_in_call() {
            sensitivity = Sensitivity::Derived;
        }
        self.worked_on = self.worked_on.max(sensitivity);
        if sensitivity != Sensitivity::Open && MUTATORS.contains(&name) {
            self.tainted_maps = true;
            for value in values {
                if let Value::Map(map) = value {
                    map.mark_sensitive();
                }
            }
        }
        Ok(Held {
            value,
            boxed: signature.returns_any,
            // An encrypted value reveals nothing.
            sensitivity: if name == "protect" {
                Sensitivity::Open
            } else {
                sensitivity
            },
        })
    }
}

fn parameter_at(signature: &Signature, place: usize) -> Option<Parameter> {
    signature.fixed.get(place).copied().or(signature.variadic)
}

fn callee_text(value: &Value) -> String {
    match value {
        Value::Str(text) => text.lossy().into_owned(),
        Value::Missing => "<invalid Value>".to_owned(),
        other => format!("<{} Value>", other.type_name()),
    }
}
