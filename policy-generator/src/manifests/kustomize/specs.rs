//! Fields of kinds of objects, as kustomize writes them down: a kind and a path.

use reeve_go_compat::value::{Map, Value};

use crate::error::Error;
use crate::merge::Id;
use crate::messages;
use crate::type_meta::TypeMeta;
use crate::values::set;

/// A field of the objects of a kind.
#[derive(Clone, Copy)]
pub(super) struct Spec<'a> {
    /// Empty: any group.
    pub(super) group: &'a str,
    /// Empty: any version.
    pub(super) version: &'a str,
    /// Empty: any kind.
    pub(super) kind: &'a str,
    /// The keys to the field, with `\/` for a slash. A list on the way has it in each element; `[]` says that one is expected.
    pub(super) path: &'a str,
    /// Whether it is made where it is not there.
    pub(super) create: bool,
}

/// A field of all objects.
pub(super) const fn of_all(path: &str) -> Spec<'_> {
    of_group("", "", path)
}

/// A field of the objects of a kind, whatever their group is.
pub(super) const fn of_kind<'a>(kind: &'a str, path: &'a str) -> Spec<'a> {
    of_group("", kind, path)
}

/// A field of the objects of a kind.
pub(super) const fn of_group<'a>(group: &'a str, kind: &'a str, path: &'a str) -> Spec<'a> {
    Spec {
        group,
        version: "",
        kind,
        path,
        create: true,
    }
}

impl<'a> Spec<'a> {
    /// The same for one version.
    pub(super) const fn of_version(self, version: &'a str) -> Self {
        Self { version, ..self }
    }

    /// The same where it is there already.
    pub(super) const fn if_there(self) -> Self {
        Self {
            create: false,
            ..self
        }
    }

    /// Gives the field of an object the value that `change` makes of the one before, which is null where there is none.
    pub(super) fn change(&self, object: &Map, change: Change<'_>) -> Result<(), Error> {
        if !self.fits(object) {
            return Ok(());
        }
        self.change_below(object, &keys(self.path), change)
            .map_err(|error| {
                let id = Id::of(object).to_string();
                error.within(messages::in_field(self.path, &id))
            })
    }

    /// Whether an object has the kind.
    pub(super) fn fits(&self, object: &Map) -> bool {
        let kind = TypeMeta::of(object);
        let fits = |wanted: &str, is: &str| wanted.is_empty() || wanted == is;
        fits(self.group, &kind.group)
            && fits(self.version, &kind.version)
            && fits(self.kind, &kind.kind)
    }

    fn change_below(&self, map: &Map, path: &[String], change: Change<'_>) -> Result<(), Error> {
        let Some((key, rest)) = path.split_first() else {
            return Ok(());
        };
        let (key, is_list) = match key.strip_suffix("[]") {
            Some(key) => (key, true),
            None => (key.as_str(), false),
        };
        match map.get_str(key) {
            Some(Value::Nil) if self.create && is_list => {
                set(map, key, Value::list([]));
            }
            None | Some(Value::Nil) if !self.create || is_list => {}
            None | Some(Value::Nil) if rest.is_empty() => set(map, key, change(&Value::Nil)?),
            None | Some(Value::Nil) => {
                let made = Map::dict();
                set(map, key, Value::Map(made.clone()));
                self.change_below(&made, rest, change)?;
            }
            Some(value) if rest.is_empty() => set(map, key, change(&value)?),
            Some(value) => self.change_within(&value, rest, change)?,
        }
        Ok(())
    }

    fn change_within(
        &self,
        value: &Value,
        path: &[String],
        change: Change<'_>,
    ) -> Result<(), Error> {
        match value {
            Value::Map(map) => self.change_below(map, path, change),
            Value::List(list) => list.iter().try_for_each(|item| {
                self.change_within(item, path, change)
                    .map_err(|error| error.within(messages::in_list(&path.join(" "))))
            }),
            Value::Nil => Ok(()),
            _ => Err(Error::new(messages::SCALAR_ON_THE_WAY)),
        }
    }
}

/// Makes a value of the one before.
pub(super) type Change<'a> = &'a dyn Fn(&Value) -> Result<Value, Error>;

/// The keys of a path.
fn keys(path: &str) -> Vec<String> {
    let mut keys = vec![String::new()];
    let mut rest = path.chars().peekable();
    while let Some(sign) = rest.next() {
        match (sign, rest.peek()) {
            ('\\', Some('/')) => {
                rest.next();
                if let Some(key) = keys.last_mut() {
                    key.push('/');
                }
            }
            ('/', _) => keys.push(String::new()),
            (sign, _) => {
                if let Some(key) = keys.last_mut() {
                    key.push(sign);
                }
            }
        }
    }
    keys.retain(|key| !key.is_empty());
    keys
}
