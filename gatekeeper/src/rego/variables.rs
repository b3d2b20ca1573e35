//! Variables of a rule that nothing gives a value, and declared ones that nobody uses.

use std::collections::{BTreeMap, BTreeSet};

use regorus::unstable::{AssignOp, Expr, Literal, LiteralStmt, Query, Rule};

use super::syntax::{self, children, place};
use crate::messages;

/// The errors of a rule's variables. `is_global` says which names are rules and imports.
///
/// A variable that occurs only where values are read is unsafe. Whether a value reaches it in time is the engine's to find.
pub fn errors(rule: &Rule, is_global: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut variables = Variables {
        is_global,
        bound: BTreeSet::new(),
        read: BTreeMap::new(),
        declared: BTreeMap::new(),
    };
    let parts = syntax::parts(rule);
    for argument in parts.arguments.into_iter().flatten() {
        variables.pattern(argument);
    }
    for index in syntax::indices(parts.head) {
        variables.reads(index);
    }
    for value in parts.values {
        variables.reads(value);
    }
    for body in parts.bodies {
        variables.query(body.query.as_ref());
    }
    let mut errors = Vec::new();
    for (name, place) in &variables.declared {
        if !variables.bound.contains(name) && !variables.read.contains_key(name) {
            errors.push(format!("{place}: {}", messages::unused(name)));
        }
    }
    for (name, place) in &variables.read {
        if !variables.bound.contains(name) {
            errors.push(format!("{place}: {}", messages::unsafe_variable(name)));
        }
    }
    errors
}

struct Variables<'a> {
    is_global: &'a dyn Fn(&str) -> bool,
    bound: BTreeSet<String>,
    /// Where variables are read first.
    read: BTreeMap<String, String>,
    /// Where variables are declared with `some` only.
    declared: BTreeMap<String, String>,
}

impl Variables<'_> {
    fn query(&mut self, query: &Query) {
        for statement in &query.stmts {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &LiteralStmt) {
        match &statement.literal {
            Literal::SomeVars { vars, .. } => {
                for span in vars {
                    let name = span.text().to_owned();
                    self.declared.entry(name).or_insert_with(|| place(span));
                }
            }
            Literal::SomeIn {
                key,
                value,
                collection,
                ..
            } => {
                for one in key.iter().chain([value]) {
                    self.pattern(one.as_ref());
                }
                self.reads(collection.as_ref());
            }
            Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => self.reads(expr.as_ref()),
            Literal::Every {
                key,
                value,
                domain,
                query,
                ..
            } => {
                let names = key.iter().chain([value]);
                let names: Vec<String> = names.map(|span| span.text().to_owned()).collect();
                self.bound.extend(names);
                self.reads(domain.as_ref());
                self.query(query.as_ref());
            }
        }
        for one in &statement.with_mods {
            self.reads(one.r#as.as_ref());
        }
    }

    /// Variables that get a value here: all of an array or object, but those in calls and references.
    fn pattern(&mut self, expr: &Expr) {
        match expr {
            Expr::Var { span, .. } => {
                self.bound.insert(span.text().to_owned());
            }
            Expr::Array { .. } | Expr::Object { .. } | Expr::Set { .. } => {
                for child in children(expr) {
                    self.pattern(child);
                }
            }
            other => self.reads(other),
        }
    }

    fn reads(&mut self, expr: &Expr) {
        if let Some(query) = syntax::query(expr) {
            self.query(query);
        }
        match expr {
            Expr::Var { span, .. } => {
                let name = span.text();
                let is_known = matches!(name, "input" | "data" | "_") || (self.is_global)(name);
                if !is_known {
                    let entry = self.read.entry(name.to_owned());
                    entry.or_insert_with(|| place(span));
                }
            }
            Expr::AssignExpr {
                op: AssignOp::ColEq,
                lhs,
                rhs,
                ..
            } => {
                self.pattern(lhs.as_ref());
                self.reads(rhs.as_ref());
            }
            Expr::AssignExpr { lhs, rhs, .. } => {
                self.pattern(lhs.as_ref());
                self.pattern(rhs.as_ref());
            }
            Expr::Call { params, .. } => {
                // The last argument may take the result, and arguments may bind, as those of `walk`.
                for (index, param) in params.iter().enumerate() {
                    if index + 1 == params.len() && index > 0 {
                        self.pattern_or_read(param.as_ref());
                    } else {
                        self.reads(param.as_ref());
                    }
                }
            }
            _ if syntax::is_reference(expr) => {
                let mut inner = expr;
                while let Expr::RefDot { refr, .. } | Expr::RefBrack { refr, .. } = inner {
                    inner = refr.as_ref();
                }
                if matches!(inner, Expr::Var { .. }) {
                    self.reads(inner);
                }
                for index in syntax::indices(expr) {
                    self.pattern(index);
                }
            }
            other => {
                for child in children(other) {
                    self.reads(child);
                }
            }
        }
    }

    /// The argument that may take a result is no proof that it does: it is read as well.
    fn pattern_or_read(&mut self, expr: &Expr) {
        if matches!(expr, Expr::Array { .. } | Expr::Object { .. }) {
            self.pattern(expr);
        } else {
            self.reads(expr);
        }
    }
}
