//! Moves operands out of negations, as the compiler of Open Policy Agent does: they are evaluated before the negation, so that an
//! undefined one makes the body fail. Also replaces multiplication by a function that limits its result.

use std::collections::BTreeSet;

use regorus::unstable::{
    ArithOp, AssignOp, BinOp, BoolOp, Expr, Literal, LiteralStmt, Module, Query, Span,
};

use super::scan::tokens;
use super::syntax::{self, children};

/// A part of the source and what replaces it.
#[derive(Debug)]
struct Edit {
    start: usize,
    end: usize,
    text: String,
}

struct Rewriter<'a> {
    source: &'a str,
    /// Variables that name rules or imports: they are references.
    globals: BTreeSet<String>,
    names: usize,
}

/// The source with operands moved. `module` is the source, parsed.
pub fn rewrite(source: &str, module: &Module) -> String {
    let mut globals = BTreeSet::new();
    for rule in &module.policy {
        globals.extend(syntax::path(syntax::parts(rule.as_ref()).head).map(|path| path.root));
    }
    for import in &module.imports {
        if let Some(alias) = super::facts::alias(import) {
            globals.insert(alias);
        }
    }
    let mut rewriter = Rewriter {
        source,
        globals,
        names: 0,
    };
    let mut edits = Vec::new();
    for rule in &module.policy {
        let parts = syntax::parts(rule.as_ref());
        for value in parts
            .values
            .into_iter()
            .chain(parts.arguments.into_iter().flatten())
        {
            edits.extend(rewriter.plain(value));
        }
        for body in parts.bodies {
            let query = body.query.as_ref();
            let is_braced = rewriter
                .text(query.span.start, query.span.end)
                .starts_with('{');
            edits.extend(rewriter.query(query, is_braced));
        }
    }
    let end = u32::try_from(source.len()).unwrap_or(u32::MAX);
    rewriter.render(0, end, edits)
}

fn at(position: u32) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

impl Rewriter<'_> {
    fn text(&self, start: u32, end: u32) -> &str {
        self.source.get(at(start)..at(end)).unwrap_or_default()
    }

    fn render(&self, start: u32, end: u32, mut edits: Vec<Edit>) -> String {
        edits.sort_by_key(|edit| edit.start);
        let mut out = String::new();
        let mut from = at(start);
        for edit in edits {
            out.push_str(self.source.get(from..edit.start).unwrap_or_default());
            out.push_str(&edit.text);
            from = edit.end.max(from);
        }
        out.push_str(self.source.get(from..at(end)).unwrap_or_default());
        out
    }

    fn query(&mut self, query: &Query, is_braced: bool) -> Vec<Edit> {
        let mut edits = Vec::new();
        for statement in &query.stmts {
            let (mut own, moved) = self.statement(statement);
            if moved.is_empty() {
                edits.append(&mut own);
                continue;
            }
            let span = &statement.span;
            let with = statement.with_mods.first().zip(statement.with_mods.last());
            let with = with.map_or(String::new(), |(first, last)| {
                format!(" {}", self.text(first.span.start, last.span.end))
            });
            let mut text = String::new();
            if !is_braced {
                text.push_str("{ ");
            }
            for one in moved {
                text.push_str(&one);
                text.push_str(&with);
                text.push_str("; ");
            }
            text.push_str(&self.render(span.start, span.end, own));
            if !is_braced {
                text.push_str(" }");
            }
            edits.push(Edit {
                start: at(span.start),
                end: at(span.end),
                text,
            });
        }
        edits
    }

    /// The edits of a statement, and the assignments that go before it.
    fn statement(&mut self, statement: &LiteralStmt) -> (Vec<Edit>, Vec<String>) {
        let mut moved = Vec::new();
        let mut edits = Vec::new();
        for one in &statement.with_mods {
            edits.extend(self.plain(one.r#as.as_ref()));
        }
        match &statement.literal {
            Literal::NotExpr { expr, .. } => {
                edits.extend(self.negated(expr.as_ref(), &mut moved));
            }
            Literal::Every { domain, query, .. } => {
                edits.extend(self.plain(domain.as_ref()));
                edits.extend(self.query(query.as_ref(), true));
            }
            _ => {
                for expr in syntax::of_statement(statement) {
                    let is_with = statement
                        .with_mods
                        .iter()
                        .any(|one| std::ptr::eq(one.r#as.as_ref(), expr));
                    if !is_with {
                        edits.extend(self.plain(expr));
                    }
                }
            }
        }
        (edits, moved)
    }

    /// The edits inside of an expression that is not negated.
    fn plain(&mut self, expr: &Expr) -> Vec<Edit> {
        let mut edits: Vec<Edit> = children(expr)
            .into_iter()
            .flat_map(|child| self.plain(child))
            .collect();
        if let Some(query) = syntax::query(expr) {
            edits.extend(self.query(query, true));
        }
        self.sign(expr, &mut edits);
        self.arithmetic(expr, &mut edits);
        edits
    }

    fn negated(&mut self, expr: &Expr, moved: &mut Vec<String>) -> Vec<Edit> {
        match expr {
            Expr::BoolExpr {
                op: BoolOp::Eq,
                lhs,
                rhs,
                ..
            }
            | Expr::AssignExpr {
                op: AssignOp::Eq,
                lhs,
                rhs,
                ..
            } => [lhs, rhs]
                .into_iter()
                .flat_map(|side| self.side(side.as_ref(), moved))
                .collect(),
            other => self.inside(other, moved),
        }
    }

    /// One side of a negated equality: references stay, calls do not.
    fn side(&mut self, expr: &Expr, moved: &mut Vec<String>) -> Vec<Edit> {
        if syntax::is_reference(expr) || matches!(expr, Expr::Var { .. }) {
            self.inside(expr, moved)
        } else {
            self.operand(expr, moved)
        }
    }

    /// The edits inside of an expression, all of whose operands are moved.
    fn inside(&mut self, expr: &Expr, moved: &mut Vec<String>) -> Vec<Edit> {
        let mut edits = Vec::new();
        match expr {
            _ if syntax::is_reference(expr) => {
                for index in syntax::indices(expr) {
                    edits.extend(self.operand(index, moved));
                }
            }
            Expr::Call { params, .. } => {
                for param in params {
                    edits.extend(self.operand(param.as_ref(), moved));
                }
            }
            _ if syntax::query(expr).is_some() => return self.plain(expr),
            _ => {
                for child in children(expr) {
                    edits.extend(self.operand(child, moved));
                }
            }
        }
        self.sign(expr, &mut edits);
        self.arithmetic(expr, &mut edits);
        edits
    }

    fn operand(&mut self, expr: &Expr, moved: &mut Vec<String>) -> Vec<Edit> {
        let edits = self.inside(expr, moved);
        let is_moved = match expr {
            Expr::Var { span, .. } => self.globals.contains(span.text()),
            Expr::Call { .. }
            | Expr::BoolExpr { .. }
            | Expr::ArithExpr { .. }
            | Expr::BinExpr { .. }
            | Expr::Membership { .. }
            | Expr::UnaryExpr { .. } => true,
            other => syntax::is_reference(other),
        };
        if !is_moved {
            return edits;
        }
        let span = expr.span();
        let text = self.render(span.start, span.end, edits);
        let name = format!("__operand{}", self.names);
        self.names += 1;
        moved.push(format!("{name} := {text}"));
        vec![Edit {
            start: at(span.start),
            end: at(span.end),
            text: name,
        }]
    }

    /// Replaces the sign of anything but a number.
    fn sign(&self, expr: &Expr, edits: &mut Vec<Edit>) {
        let Expr::UnaryExpr { span, expr, .. } = expr else {
            return;
        };
        if matches!(expr.as_ref(), Expr::Number { .. }) {
            return;
        }
        edits.push(Edit {
            start: at(span.start),
            end: at(span.start) + 1,
            text: "0,".to_owned(),
        });
        let inner = std::mem::take(edits);
        let text = self.render(span.start, span.end, inner);
        edits.push(Edit {
            start: at(span.start),
            end: at(span.end),
            text: format!("__minus({text})"),
        });
    }

    /// Replaces an operator by the function that does the same for operands of any type.
    fn arithmetic(&self, expr: &Expr, edits: &mut Vec<Edit>) {
        let (span, lhs, rhs, symbol, function) = match expr {
            Expr::ArithExpr {
                span, op, lhs, rhs, ..
            } => {
                let (symbol, function) = match op {
                    ArithOp::Add => ("+", "plus"),
                    ArithOp::Sub => ("-", "minus"),
                    ArithOp::Mul => ("*", "mul"),
                    ArithOp::Div => ("/", "div"),
                    ArithOp::Mod => ("%", "rem"),
                };
                (span, lhs, rhs, symbol, function)
            }
            Expr::BinExpr {
                span, op, lhs, rhs, ..
            } => {
                let (symbol, function) = match op {
                    BinOp::Intersection => ("&", "and"),
                    BinOp::Union => ("|", "or"),
                };
                (span, lhs, rhs, symbol, function)
            }
            _ => return,
        };
        let Some(operator) = self.operator(lhs.span(), rhs.span(), symbol) else {
            return;
        };
        edits.push(Edit {
            start: operator,
            end: operator + 1,
            text: ",".to_owned(),
        });
        let inner = std::mem::take(edits);
        let text = self.render(span.start, span.end, inner);
        edits.push(Edit {
            start: at(span.start),
            end: at(span.end),
            text: format!("__{function}({text})"),
        });
    }

    /// Where the operator between two operands is.
    fn operator(&self, left: &Span, right: &Span, symbol: &str) -> Option<usize> {
        let between = self.text(left.end, right.start);
        // A text's own place is without its quotes, so that one may be left over here.
        let quote = between.len() - between.trim_start_matches(['"', '`']).len();
        let found = tokens(between.get(quote..)?)
            .into_iter()
            .find(|token| token.is(symbol))?;
        Some(at(left.end) + quote + found.start)
    }
}
