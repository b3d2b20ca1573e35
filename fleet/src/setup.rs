//! What a fleet gets before anything is evaluated, and what was done for it without being asked for.

use futures::future::BoxFuture;
use reeve_manifests::Object;

use crate::apply::{ApplyError, Target, apply};
use crate::bind::bind_unbound;
use crate::start::Fleet;

/// What becomes of policies that no binding names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unbound {
    /// They are bound to all clusters.
    #[default]
    Bound,
    /// They stay unplaced.
    Kept,
}

impl Unbound {
    /// From an argument or field `bindUnbound`.
    pub fn from_flag(binds: bool) -> Self {
        if binds { Self::Bound } else { Self::Kept }
    }
}

/// The first objects of a fleet.
#[derive(Clone, Debug, Default)]
pub struct Initial {
    /// CRDs for the hub and all clusters.
    pub crds: Vec<Object>,
    /// The objects of clusters, by their names.
    pub of_clusters: Vec<(String, Vec<Object>)>,
    /// The objects of the hub.
    pub of_hub: Vec<Object>,
    /// What becomes of policies that no binding names.
    pub unbound: Unbound,
}

/// What became of objects, and what was done without being asked for.
#[derive(Debug, Default)]
pub struct SetUp {
    /// How many objects the hub has got, without CRDs.
    pub applied: usize,
    /// The namespaces that were made, each with the name of its server.
    pub namespaces: Vec<(String, String)>,
    /// The policies that were bound to all clusters.
    pub bound: Vec<String>,
    /// What was not applied, and why.
    pub errors: Vec<ApplyError>,
}

impl SetUp {
    /// Applies objects to a server and returns how many it took.
    async fn apply(&mut self, target: &Target, objects: &[Object]) -> usize {
        let applied = apply(target, objects).await;
        let made = applied.namespaces.into_iter();
        self.namespaces
            .extend(made.map(|namespace| (target.name.clone(), namespace)));
        self.errors.extend(applied.errors);
        applied.count
    }
}

impl Fleet {
    /// Applies the first objects: CRDs, then those of clusters, then those of the hub. All are tried.
    pub fn set_up<'a>(&'a self, initial: &'a Initial) -> BoxFuture<'a, Result<SetUp, kube::Error>> {
        Box::pin(async move {
            let mut done = SetUp::default();
            let hub = Target::hub(self.hub.client());
            done.apply(&hub, &initial.crds).await;
            for member in &self.clusters {
                let target = Target::cluster(&member.name, member.client());
                done.apply(&target, &initial.crds).await;
                let own = initial.of_clusters.iter();
                for (_, objects) in own.filter(|(name, _)| *name == member.name) {
                    done.apply(&target, objects).await;
                }
            }
            self.apply_to_hub(&initial.of_hub, initial.unbound, &mut done)
                .await?;
            Ok(done)
        })
    }

    /// Applies objects to the hub, and then binds policies that no binding names.
    pub fn apply_to_hub<'a>(
        &'a self,
        objects: &'a [Object],
        unbound: Unbound,
        done: &'a mut SetUp,
    ) -> BoxFuture<'a, Result<(), kube::Error>> {
        Box::pin(async move {
            let hub = Target::hub(self.hub.client());
            done.applied += done.apply(&hub, objects).await;
            if unbound == Unbound::Bound {
                let bound = bind_unbound(&hub.client).await?;
                done.bound.extend(bound.policies);
                done.errors.extend(bound.errors);
            }
            Ok(())
        })
    }
}
