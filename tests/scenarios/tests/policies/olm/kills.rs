//! A controller that is killed again and again.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::{Controller, Random, namespace, same};
use serde_json::json;

use crate::olm::approvals::approved;
use crate::olm::cluster::{Clusters, KILLED, Operator};

/// Random points of the installations and upgrades of these together.
const KILLS: usize = 20;
const PACKAGES: [&str; 4] = ["killed-a", "killed-b", "killed-c", "killed-d"];

/// Killed at random points of installations and upgrades: everything ends as it would have, each install plan is
/// approved once, and no report is doubled.
pub(crate) async fn at_random(world: Arc<Clusters>) -> Result<()> {
    namespace(&world, KILLED).await?;
    let plane = &world.world.cluster(crate::olm::cluster::MANAGED)?.plane;
    let target = format!(
        "--target-kubeconfig-path={}",
        world.other.kubeconfig().display()
    );
    let args = ["--enable-operator-policy=true", &target];
    let mut controller = Controller::start(plane, KILLED, &args).await?;
    let seed = std::process::id().into();
    let mut random = Random::of(seed);
    for package in PACKAGES {
        let outcome = one(&world, package, &mut controller, &mut random).await;
        let outcome = outcome.map_err(|error| error.context(format!("the seed is {seed}")));
        outcome?;
    }
    controller.stop().await
}

async fn one(
    world: &Clusters,
    package: &str,
    controller: &mut Controller,
    random: &mut Random,
) -> Result<()> {
    let operator = Operator::suggested(world, package)
        .hosted(world)
        .governed_in(KILLED);
    namespace(operator.cluster, &operator.namespace).await?;
    let (first, second) = (operator.csv("1.0.0"), operator.csv("1.1.0"));
    let mut spec = operator.spec("enforce");
    spec["versions"] = json!([first]);
    spec["subscription"]["startingCSV"] = json!(first);
    operator.apply(spec).await?;
    let kills = KILLS / PACKAGES.len();
    for kill in 0..kills {
        if kill == kills / 2 {
            let waiting = format!("but approval for [{second}] is required");
            let type_ = "InstallPlanCompliant";
            operator
                .says([type_, "True", "InstallPlanRequiresApproval"], &waiting)
                .await?;
            operator.patch(json!({"versions": [first, second]})).await?;
        }
        // An installation takes some seconds, in which the controller writes a few times.
        let delay = Duration::from_millis(random.below(1500) as u64);
        tokio::time::sleep(delay).await;
        controller.restart().await?;
    }
    let message = format!("ClusterServiceVersion ({second}) - install strategy completed");
    operator
        .says(
            ["ClusterServiceVersionCompliant", "True", "InstallSucceeded"],
            &message,
        )
        .await?;
    operator.complies().await?;

    same(
        "the approvals",
        approved(&operator).await?,
        vec![first.clone(), second.clone()],
    )?;
    let plans = operator.list("InstallPlan").await?;
    for plan in &plans {
        // The first is its creation, the second its approval.
        ensure!(
            plan.metadata.generation <= Some(2),
            "{} was written again: {plan:#?}",
            plan.name_any()
        );
    }
    let events = operator.events().await?;
    // A change of the related objects alone is reported with the message of before
    // (`op_4_changed_related_object_is_reported_with_the_message_of_before`): an upgrade's install plan takes the place
    // of the one of before while OLM still plans it, and where OLM made two plans for a version, the one that installs
    // takes the place of the other.
    let planned = "no InstallPlans requiring approval were found";
    let versions = [&first, &second];
    let has_two_plans_of_a_version = plans.len() > versions.len();
    for pair in events.windows(2) {
        let is_same = pair[0] == pair[1];
        let is_doubled = is_same && !has_two_plans_of_a_version && !pair[0].contains(planned);
        ensure!(!is_doubled, "a report is doubled: {events:#?}; {plans:#?}");
    }
    Ok(())
}
