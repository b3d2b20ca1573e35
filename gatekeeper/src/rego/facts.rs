//! What modules define and use: rules, references, calls, and who needs whom.

use std::collections::{BTreeMap, BTreeSet};

use regorus::unstable::{
    AssignOp, Expr, Import, Literal, LiteralStmt, Module, Query, Rule, RuleHead,
};

use super::syntax::{self, Path, children, place};
use super::variables;

/// A use of something, and where.
#[derive(Clone, Debug)]
pub struct Use {
    /// The file and line.
    pub place: String,
    /// The path, with the alias of an import resolved.
    pub path: Path,
    /// As it is written.
    pub text: String,
    /// How many arguments; none when it is no call.
    pub arguments: Option<usize>,
}

/// A rule with all its definitions.
#[derive(Clone, Debug, Default)]
pub struct RuleFacts {
    /// How many arguments it takes; none unless it is a function.
    pub arguments: Option<usize>,
    /// What it uses.
    pub uses: Vec<Use>,
    /// How deep its expressions and queries are nested.
    pub depth: usize,
    /// Where it is defined, in their order.
    pub places: Vec<String>,
    /// What its definitions make.
    pub shapes: BTreeSet<Shape>,
    /// Compile errors of its own, with their places.
    pub errors: Vec<String>,
}

/// What a definition of a rule makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// One value.
    Value,
    /// True, nothing else: a value that is no set.
    Flag,
    /// A member of a set.
    Set,
    /// A member of an object.
    Object,
    /// The result of a function.
    Function,
}

fn shape(rule: &Rule) -> Shape {
    match rule {
        Rule::Default { args, .. } if !args.is_empty() => Shape::Function,
        Rule::Default { .. } => Shape::Flag,
        Rule::Spec { head, .. } => match head {
            RuleHead::Func { .. } => Shape::Function,
            RuleHead::Set { .. } => Shape::Set,
            RuleHead::Compr { refr, .. } if syntax::is_reference(refr.as_ref()) => Shape::Object,
            RuleHead::Compr { assign: None, .. } => Shape::Flag,
            RuleHead::Compr { .. } => Shape::Value,
        },
    }
}

/// The facts of a module.
#[derive(Clone, Debug)]
pub struct ModuleFacts {
    /// The name in error texts.
    pub name: String,
    /// The package, `lib.helpers`.
    pub package: String,
    /// The rules, by name within the package.
    pub rules: BTreeMap<String, RuleFacts>,
    /// The imports, by alias; with where they are.
    pub imports: BTreeMap<String, (Path, String)>,
}

/// The name that an import gives.
pub fn alias(import: &Import) -> Option<String> {
    if let Some(alias) = &import.r#as {
        return Some(alias.text().to_owned());
    }
    let path = syntax::path(import.refr.as_ref())?;
    Some(path.names.last().unwrap_or(&path.root).clone())
}

/// Collects the facts of a module.
pub fn of_module(module: &Module) -> ModuleFacts {
    let package = syntax::path(module.package.refr.as_ref());
    let package = package.map(|path| path.dotted()).unwrap_or_default();
    let mut imports = BTreeMap::new();
    for import in &module.imports {
        let path = syntax::path(import.refr.as_ref());
        if let Some((alias, path)) = alias(import).zip(path) {
            imports.insert(alias, (path, place(&import.span)));
        }
    }
    let mut facts = ModuleFacts {
        name: module.package.span.source.file().clone(),
        package,
        rules: BTreeMap::new(),
        imports,
    };
    let mut names = BTreeSet::new();
    for rule in &module.policy {
        names.extend(rule_name(rule.as_ref()));
    }
    for rule in &module.policy {
        let Some(name) = rule_name(rule.as_ref()) else {
            continue;
        };
        let mut collector = Collector {
            names: &names,
            package: &facts.package,
            imports: &facts.imports,
            locals: BTreeSet::new(),
            uses: Vec::new(),
            deepest: 0,
        };
        let arguments = collector.rule(rule.as_ref());
        let (uses, depth) = (collector.uses, collector.deepest);
        let errors = variables::errors(rule.as_ref(), &|name| {
            names.contains(name) || facts.imports.contains_key(name)
        });
        let entry = facts.rules.entry(name).or_default();
        entry.errors.extend(errors);
        entry.places.push(place(rule.span()));
        entry.shapes.insert(shape(rule.as_ref()));
        entry.uses.extend(uses);
        entry.depth = entry.depth.max(depth);
        entry.arguments = entry.arguments.or(arguments);
    }
    facts
}

fn rule_name(rule: &Rule) -> Option<String> {
    let path = syntax::path(syntax::parts(rule).head)?;
    Some(path.root)
}

struct Collector<'a> {
    names: &'a BTreeSet<String>,
    package: &'a str,
    imports: &'a BTreeMap<String, (Path, String)>,
    /// Variables that the rule declares: they hide rules and imports.
    locals: BTreeSet<String>,
    uses: Vec<Use>,
    deepest: usize,
}

impl Collector<'_> {
    fn rule(&mut self, rule: &Rule) -> Option<usize> {
        let parts = syntax::parts(rule);
        for argument in parts.arguments.iter().flatten() {
            self.declare_all(argument);
        }
        for body in parts.bodies {
            self.declare_in(body.query.as_ref());
        }
        for value in parts.values.iter().copied() {
            self.declare_in_comprehensions(value);
        }
        for index in syntax::indices(parts.head) {
            self.expr(index, 1);
        }
        for value in parts.values {
            self.expr(value, 1);
        }
        for body in parts.bodies {
            self.query(body.query.as_ref(), 1);
        }
        parts.arguments.map(|arguments| arguments.len())
    }

    /// Declares every variable of a pattern that names no rule, and of an argument every one.
    fn declare_all(&mut self, expr: &Expr) {
        if let Expr::Var { span, .. } = expr {
            self.locals.insert(span.text().to_owned());
        }
        for child in children(expr) {
            self.declare_all(child);
        }
    }

    fn declare_in(&mut self, query: &Query) {
        for statement in &query.stmts {
            self.declare(statement);
            for expr in syntax::of_statement(statement) {
                self.declare_in_comprehensions(expr);
            }
        }
    }

    fn declare(&mut self, statement: &LiteralStmt) {
        match &statement.literal {
            Literal::SomeVars { vars, .. } => {
                let vars = vars.iter().map(|span| span.text().to_owned());
                self.locals.extend(vars);
            }
            Literal::SomeIn { key, value, .. } => {
                for pattern in key.iter().chain([value]) {
                    self.declare_all(pattern.as_ref());
                }
            }
            Literal::Every {
                key, value, query, ..
            } => {
                let vars = key.iter().chain([value]);
                let vars: Vec<String> = vars.map(|span| span.text().to_owned()).collect();
                self.locals.extend(vars);
                self.declare_in(query.as_ref());
            }
            Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => {
                if let Expr::AssignExpr {
                    op: AssignOp::ColEq,
                    lhs,
                    ..
                } = expr.as_ref()
                {
                    self.declare_all(lhs.as_ref());
                }
            }
        }
    }

    fn declare_in_comprehensions(&mut self, expr: &Expr) {
        if let Some(query) = syntax::query(expr) {
            self.declare_in(query);
        }
        for child in children(expr) {
            self.declare_in_comprehensions(child);
        }
    }

    fn query(&mut self, query: &Query, depth: usize) {
        for (index, statement) in query.stmts.iter().enumerate() {
            // The interpreter evaluates what follows a loop inside of it.
            let depth = depth + index;
            for expr in syntax::of_statement(statement) {
                self.expr(expr, depth + 1);
            }
            if let Literal::Every { query, .. } = &statement.literal {
                self.query(query.as_ref(), depth + 1);
            }
        }
    }

    fn expr(&mut self, expr: &Expr, depth: usize) {
        self.deepest = self.deepest.max(depth);
        if let Some(query) = syntax::query(expr) {
            self.query(query, depth + 1);
        }
        match expr {
            Expr::Call { fcn, params, .. } => {
                self.used(fcn.as_ref(), Some(params.len()));
                for param in params {
                    self.expr(param.as_ref(), depth + 1);
                }
            }
            Expr::Var { .. } => self.used(expr, None),
            _ if syntax::is_reference(expr) => {
                self.used(expr, None);
                for index in syntax::indices(expr) {
                    self.expr(index, depth + 1);
                }
            }
            _ => {
                for child in children(expr) {
                    self.expr(child, depth + 1);
                }
            }
        }
    }

    fn used(&mut self, expr: &Expr, arguments: Option<usize>) {
        let Some(mut path) = syntax::path(expr) else {
            return;
        };
        let span = expr.span();
        if self.locals.contains(&path.root) {
            return;
        }
        if let Some((import, _)) = self.imports.get(&path.root) {
            let names = std::mem::take(&mut path.names);
            path.root.clone_from(&import.root);
            path.names = import.names.iter().cloned().chain(names).collect();
        } else if self.names.contains(&path.root) {
            let mut names: Vec<String> = self.package.split('.').map(str::to_owned).collect();
            names.push(std::mem::take(&mut path.root));
            names.append(&mut path.names);
            path = Path {
                root: OWN.to_owned(),
                names,
                is_open: path.is_open,
            };
        } else if arguments.is_none() && path.root != "data" {
            return;
        }
        self.uses.push(Use {
            place: place(span),
            path,
            text: span.text().to_owned(),
            arguments,
        });
    }
}

/// The root of a path to a rule that is named without its package.
pub const OWN: &str = "(own)";
