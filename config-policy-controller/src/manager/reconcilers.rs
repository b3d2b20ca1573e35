//! Starts the reconcilers of both kinds of policies.

use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::Queue;
use reeve_runtime::supervisor::Supervisor;
use reeve_templates_engine::resolver::IncompleteDelimiters;

use super::operator_policies::{self, OperatorPolicies, PACE};
use super::shared_watches::SharedWatches;
use super::watches::{PacedQueue, ReconcilerDeps, start_configuration_policies};
use crate::metrics::PolicyKind;

/// Starts the watches of policies and the workers of both reconcilers; those of operator policies if there is a queue for
/// them.
pub fn start_reconcilers(
    deps: ReconcilerDeps,
    queue: &Queue<ObjectKey>,
    operator_policies: Option<OperatorPolicies>,
    tasks: &mut Supervisor,
) -> Result<(), IncompleteDelimiters> {
    let paced = PacedQueue::new(queue, deps.backoff);
    let operators = operator_policies
        .map(|policies| (PacedQueue::new(&policies.queue, PACE), policies.settings));
    let (configuration, operator) = (
        paced.clone(),
        operators.as_ref().map(|(paced, _)| paced.clone()),
    );
    let mut shared = SharedWatches::new(
        &deps.target.watches,
        (&deps.hosting.watches, &deps.namespaces),
        move |(kind, policy)| match kind {
            PolicyKind::Configuration => configuration.enqueue(policy),
            PolicyKind::Operator => {
                if let Some(operator) = &operator {
                    operator.enqueue(policy);
                }
            }
        },
    );
    if let Some((operators, settings)) = operators {
        operator_policies::start(&deps, settings, (operators, &mut shared), tasks)?;
    }
    start_configuration_policies(deps, &paced, &mut shared, tasks)?;
    shared.start(tasks);
    Ok(())
}
