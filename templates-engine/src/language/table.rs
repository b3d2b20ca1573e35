//! Which functions a template may call, by name.

use std::collections::{HashMap, HashSet};

use crate::function::{CustomFunction, Function};
use crate::functions;

/// The function that a name in a template denotes, found when the template is parsed.
#[derive(Clone, Copy, Debug)]
pub enum Callee {
    /// A function of the engine.
    Function(&'static Function),
    /// `and`, which evaluates no more arguments than it must.
    And,
    /// `or`, likewise.
    Or,
    /// A function that this call added, by its place in the table.
    Custom(usize),
    /// A function that this call denies.
    Denied(Denial),
}

/// Why a function is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// By configuration.
    NotAllowed,
    /// Always: it would read the process's environment.
    SecurityRisk,
}

/// Which functions there are, before anything is taken away or added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Family {
    /// The engine's, Sprig's and Go's.
    #[default]
    Engine,
    /// Sprig's own and Go's.
    Sprig,
}

/// The functions of one call of the engine.
#[derive(Default)]
pub struct FunctionTable {
    family: Family,
    disabled: HashSet<String>,
    denied: HashSet<String>,
    custom_places: HashMap<String, usize>,
    custom: Vec<CustomFunction>,
}

impl FunctionTable {
    /// Every function, `env` and `expandenv` denied.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sprig's functions as Sprig has them, and Go's: for the messages that authors write. Nothing
    /// here reads a cluster, and `env` does not exist.
    pub fn sprig() -> Self {
        Self {
            family: Family::Sprig,
            ..Self::default()
        }
    }

    /// Removes a function: to templates it does not exist. Go's own functions stay.
    pub fn disable(&mut self, name: impl Into<String>) {
        self.disabled.insert(name.into());
    }

    /// Lets every call of this function fail.
    pub fn deny(&mut self, name: impl Into<String>) {
        self.denied.insert(name.into());
    }

    /// Adds a function, in place of any other of this name.
    pub fn add(&mut self, name: impl Into<String>, function: CustomFunction) {
        self.custom_places.insert(name.into(), self.custom.len());
        self.custom.push(function);
    }

    /// The added function at this place.
    pub fn custom(&self, place: usize) -> Option<&CustomFunction> {
        self.custom.get(place)
    }

    fn own(&self, name: &str) -> Option<&'static Function> {
        match self.family {
            Family::Engine => functions::find(name),
            Family::Sprig => functions::find_sprig(name),
        }
    }

    /// The function that this name denotes.
    pub fn find(&self, name: &str) -> Option<Callee> {
        if functions::RISKS.contains(&name) {
            let exists = self.family == Family::Engine;
            return exists.then_some(Callee::Denied(Denial::SecurityRisk));
        }
        if self.denied.contains(name) {
            return Some(Callee::Denied(Denial::NotAllowed));
        }
        if let Some(place) = self.custom_places.get(name) {
            return Some(Callee::Custom(*place));
        }
        if !self.disabled.contains(name)
            && let Some(function) = self.own(name)
        {
            return Some(Callee::Function(function));
        }
        match name {
            "and" => Some(Callee::And),
            "or" => Some(Callee::Or),
            _ => functions::find_builtin(name).map(Callee::Function),
        }
    }
}
