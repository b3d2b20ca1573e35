//! What is remembered of works between two looks: enough to see that nothing has to be done.

use reeve_runtime::object::ObjectKey;

use super::build::{Hook, Works};
use crate::digest::Digest;
use crate::work::Desired;

/// A work that is to be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Namespace and name of the work.
    pub key: ObjectKey,
    /// Of everything in it.
    pub digest: Digest,
}

/// A work that cleans up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookShape {
    /// The work.
    pub work: Shape,
    /// What must succeed in it.
    pub names: Vec<String>,
}

/// The works of one installation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shapes {
    /// With objects for the managed cluster.
    pub managed: Vec<Shape>,
    /// With objects for the hosting cluster.
    pub hosting: Vec<Shape>,
    /// What cleans up on the managed cluster.
    pub hook: Option<HookShape>,
    /// What cleans up on the hosting cluster.
    pub hosting_hook: Option<HookShape>,
}

impl Shapes {
    /// Of works.
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
