//! Parsed modules, and the walk over their expressions.

use std::num::{NonZeroU32, NonZeroUsize};

use regorus::unstable::{
    Expr, Literal, LiteralStmt, Module, Parser, Query, Rule, RuleAssign, RuleBody, RuleHead, Span,
};
use regorus::{PolicyLengthConfig, Source};

use super::{CompileError, Limits, fault};
use crate::template::RegoVersion;

/// Limits of the parser: ours are checked before.
pub fn length_config(limits: &Limits) -> PolicyLengthConfig {
    let mut config = PolicyLengthConfig::default();
    // Rewriting makes sources longer.
    let bytes = limits.source_bytes.saturating_mul(4).max(1 << 20);
    config.max_col = NonZeroU32::MAX;
    config.max_file_bytes = NonZeroUsize::new(bytes).unwrap_or(config.max_file_bytes);
    config.max_lines = NonZeroUsize::MAX;
    config
}

/// Parses a module. `name` begins its error texts.
pub fn parse(
    name: &str,
    source: &str,
    version: RegoVersion,
    limits: &Limits,
) -> Result<Module, CompileError> {
    let config = length_config(limits);
    let fail = |error: &dyn std::fmt::Display| CompileError {
        message: fault::parse_error(name, &error.to_string()),
    };
    let source = Source::from_contents_with_limits(
        name.to_owned(),
        source.to_owned(),
        config.max_file_bytes,
        config.max_lines,
    )
    .map_err(|error| fail(&error))?;
    let mut parser = Parser::new(&source).map_err(|error| fail(&error))?;
    parser.set_max_col(config.max_col);
    if version == RegoVersion::V1 {
        parser.enable_rego_v1().map_err(|error| fail(&error))?;
    }
    parser.parse().map_err(|error| fail(&error))
}

/// The file and line of a part of a source.
pub fn place(span: &Span) -> String {
    format!("{}:{}", span.source.file(), span.line)
}

/// The expressions directly inside of an expression; those of a comprehension's query are not among them.
pub fn children(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Array { items, .. } | Expr::Set { items, .. } => {
            items.iter().map(AsRef::as_ref).collect()
        }
        Expr::Object { fields, .. } => fields
            .iter()
            .flat_map(|(_, key, value)| [key.as_ref(), value.as_ref()])
            .collect(),
        Expr::ArrayCompr { term, .. } | Expr::SetCompr { term, .. } => vec![term.as_ref()],
        Expr::ObjectCompr { key, value, .. } => vec![key.as_ref(), value.as_ref()],
        Expr::Call { fcn, params, .. } => {
            let mut all = vec![fcn.as_ref()];
            all.extend(params.iter().map(AsRef::as_ref));
            all
        }
        Expr::UnaryExpr { expr, .. } => vec![expr.as_ref()],
        Expr::RefDot { refr, .. } => vec![refr.as_ref()],
        Expr::RefBrack { refr, index, .. } => vec![refr.as_ref(), index.as_ref()],
        Expr::BinExpr { lhs, rhs, .. }
        | Expr::BoolExpr { lhs, rhs, .. }
        | Expr::ArithExpr { lhs, rhs, .. }
        | Expr::AssignExpr { lhs, rhs, .. } => vec![lhs.as_ref(), rhs.as_ref()],
        Expr::Membership {
            key,
            value,
            collection,
            ..
        } => {
            let key = key.iter().map(AsRef::as_ref);
            key.chain([value.as_ref(), collection.as_ref()]).collect()
        }
        _ => Vec::new(),
    }
}

/// The query of a comprehension.
pub fn query(expr: &Expr) -> Option<&Query> {
    match expr {
        Expr::ArrayCompr { query, .. }
        | Expr::SetCompr { query, .. }
        | Expr::ObjectCompr { query, .. } => Some(query.as_ref()),
        _ => None,
    }
}

/// The expressions of a statement, without those of the query of `every`.
pub fn of_statement(statement: &LiteralStmt) -> Vec<&Expr> {
    let mut all: Vec<&Expr> = match &statement.literal {
        Literal::SomeVars { .. } => Vec::new(),
        Literal::SomeIn {
            key,
            value,
            collection,
            ..
        } => {
            let key = key.iter().map(AsRef::as_ref);
            key.chain([value.as_ref(), collection.as_ref()]).collect()
        }
        Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => vec![expr.as_ref()],
        Literal::Every { domain, .. } => vec![domain.as_ref()],
    };
    for one in &statement.with_mods {
        all.extend([one.refr.as_ref(), one.r#as.as_ref()]);
    }
    all
}

/// A rule's parts, whatever its shape.
pub struct Parts<'a> {
    /// The reference of the head.
    pub head: &'a Expr,
    /// The arguments; none unless it is a function.
    pub arguments: Option<Vec<&'a Expr>>,
    /// Key and values of the head and of `else`.
    pub values: Vec<&'a Expr>,
    /// The bodies.
    pub bodies: &'a [RuleBody],
}

/// The parts of a rule.
pub fn parts(rule: &Rule) -> Parts<'_> {
    fn value(assign: Option<&RuleAssign>) -> Option<&Expr> {
        assign.map(|assign| assign.value.as_ref())
    }
    match rule {
        Rule::Default {
            refr, args, value, ..
        } => Parts {
            head: refr.as_ref(),
            arguments: (!args.is_empty()).then(|| args.iter().map(AsRef::as_ref).collect()),
            values: vec![value.as_ref()],
            bodies: &[],
        },
        Rule::Spec { head, bodies, .. } => {
            let (refr, arguments, own) = match head {
                RuleHead::Compr { refr, assign, .. } => (refr, None, value(assign.as_ref())),
                RuleHead::Set { refr, key, .. } => (refr, None, key.as_ref().map(AsRef::as_ref)),
                RuleHead::Func {
                    refr, args, assign, ..
                } => {
                    let args = args.iter().map(AsRef::as_ref).collect();
                    (refr, Some(args), value(assign.as_ref()))
                }
            };
            let others = bodies.iter().filter_map(|body| value(body.assign.as_ref()));
            Parts {
                head: refr.as_ref(),
                arguments,
                values: own.into_iter().chain(others).collect(),
                bodies,
            }
        }
    }
}

/// What a reference begins with, and its path as far as it is made of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The first variable.
    pub root: String,
    /// The names behind it.
    pub names: Vec<String>,
    /// Whether something else than a name follows.
    pub is_open: bool,
}

impl Path {
    /// The path with dots.
    pub fn dotted(&self) -> String {
        let mut all = vec![self.root.as_str()];
        all.extend(self.names.iter().map(String::as_str));
        all.join(".")
    }
}

/// The path of a reference; none when it does not begin with a variable.
pub fn path(expr: &Expr) -> Option<Path> {
    match expr {
        Expr::Var { span, .. } => Some(Path {
            root: span.text().to_owned(),
            names: Vec::new(),
            is_open: false,
        }),
        Expr::RefDot { refr, field, .. } => {
            let mut path = path(refr.as_ref())?;
            if !path.is_open {
                path.names.push(field.0.text().to_owned());
            }
            Some(path)
        }
        Expr::RefBrack { refr, index, .. } => {
            let mut path = path(refr.as_ref())?;
            match index.as_ref() {
                Expr::String { span, .. } | Expr::RawString { span, .. } if !path.is_open => {
                    path.names.push(span.text().to_owned());
                }
                _ => path.is_open = true,
            }
            Some(path)
        }
        _ => None,
    }
}

/// The indices in brackets along a reference.
pub fn indices(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::RefDot { refr, .. } => indices(refr.as_ref()),
        Expr::RefBrack { refr, index, .. } => {
            let mut all = indices(refr.as_ref());
            all.push(index.as_ref());
            all
        }
        Expr::Var { .. } => Vec::new(),
        other => vec![other],
    }
}

/// Whether an expression is a reference: a variable with names or brackets behind it.
pub fn is_reference(expr: &Expr) -> bool {
    matches!(expr, Expr::RefDot { .. } | Expr::RefBrack { .. })
}
