//! The memo of works between two reconciles: enough to see that no write is needed.

use reeve_runtime::object::ObjectKey;

use super::build::{Hook, Works};
use crate::digest::Digest;
use crate::work::Desired;

/// A desired work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Namespace and name of the work.
    pub key: ObjectKey,
    /// The digest of its content.
    pub digest: Digest,
}

/// A work with a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookShape {
    /// The work.
    pub work: Shape,
    /// The Jobs and Pods that must succeed.
    pub names: Vec<String>,
}

/// The works of one installation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shapes {
    /// The works with objects for the managed cluster.
    pub managed: Vec<Shape>,
    /// The works with objects for the hosting cluster.
    pub hosting: Vec<Shape>,
    /// The hook that cleans up on the managed cluster.
    pub hook: Option<HookShape>,
    /// The hook that cleans up on the hosting cluster.
    pub hosting_hook: Option<HookShape>,
}

impl Shapes {
    /// The shapes of works.
    pub fn of(works: &Works) -> Self {
        let hook = |hook: &Option<Hook>| {
            hook.as_ref().map(|hook| HookShape {
                work: Shape::of(&hook.work),
                names: hook.names.clone(),
            })
        };
        Self {
            managed: works.managed.iter().map(Shape::of).collect(),
            hosting: works.hosting.iter().map(Shape::of).collect(),
            hook: hook(&works.hook),
            hosting_hook: hook(&works.hosting_hook),
        }
    }
}

impl Shape {
    fn of(work: &Desired) -> Self {
        Self {
            key: work.key.clone(),
            digest: work.digest,
        }
    }
}

impl Works {
    /// The work of this name.
    pub fn get(&self, key: &ObjectKey) -> Option<&Desired> {
        let hooks = [&self.hook, &self.hosting_hook].into_iter().flatten();
        let mut all = self
            .managed
            .iter()
            .chain(&self.hosting)
            .chain(hooks.map(|hook| &hook.work));
        all.find(|work| work.key == *key)
    }
}
