//! The placement controller on a real API server, and on the in-memory one.
//!
//! A scenario gets only a client and a unique name, so that the same list runs on any server that has the CRDs and
//! the controllers.

mod basics;
mod debug;
mod groups;
mod harness;
mod hub;
mod lifecycle;
mod predicates;
mod prioritizers;
mod sets;
mod taints;

use std::process::ExitCode;

use reeve_fleet::placement::controller::{self, Deps};

use harness::{Scenario, scenarios};

fn list() -> Vec<Scenario> {
    scenarios![
        "plc_65_deleted_decisions_are_recreated", "i01", basics::deleted_decisions;
        "plc_20_terminating_cluster_is_not_chosen", "i02", basics::terminating_cluster;
        "plc_73_1_nothing_bound", "i03", basics::nothing_bound;
        "plc_64_a_hundred_and_one_clusters", "i04", basics::many;
        "plc_20_fewer_sets", "i05", basics::fewer_sets;
        "plc_20_fewer_clusters", "i06", basics::fewer;
        "plc_20_more_clusters", "i07", basics::more;
        "plc_44_invalid_toleration_is_corrected", "i08", basics::mistake;
        "plc_20_clusters_are_created_later", "i09", basics::clusters_come;
        "plc_12_a_set_by_labels", "i10", sets::by_labels;
        "plc_61_groups_follow", "i11", groups::follow;
        "plc_12_the_set_of_all", "i12", sets::global;
        "plc_20_a_second_set", "i13", sets::second;
        "plc_20_a_second_set_by_labels", "i14", sets::second_by_labels;
        "plc_14_3_set_is_deleted_and_created", "i15", sets::deleted;
        "plc_14_3_set_by_labels_is_deleted_and_created", "i16", sets::deleted_by_labels;
        "plc_14_3_binding_is_deleted_and_created", "i17", sets::unbound;
        "plc_33_labels", "i18", predicates::labels;
        "plc_33_claims", "i19", predicates::claims;
        "plc_39_expressions", "i20", predicates::expressions;
        "plc_49_defaults", "i21", prioritizers::defaults;
        "plc_49_exactly_resources", "i22", prioritizers::resources;
        "plc_49_steady", "i23", prioritizers::steady;
        "plc_49_balance", "i24", prioritizers::balance;
        "plc_49_better_cluster_is_chosen", "i25", prioritizers::better;
        "plc_49_scores", "i26", prioritizers::scores;
        "plc_49_scores_are_created_later", "i27", prioritizers::scores_come;
        "plc_45_tolerations", "i28", taints::tolerations;
        "plc_45_effects", "i29", taints::effects;
        "plc_47_seconds", "i30", taints::seconds;
        "plc_79_an_explanation", "i31", debug::explains;
        "plc_81_an_explanation_denied", "i32", debug::denied;
        "plc_79_to_p195_explanation_of_posted_placement", "i33", debug::posted;
        "plc_82_to_p191_p196_p200_refusals", "p177", debug::refusals;
        "plc_73_from_binding_to_deletion", "e1", lifecycle::lifecycle;
        "plc_10_a_plain_placement", "e3", lifecycle::plain;
        "events_report_writes", "events", lifecycle::events;
        "plc_75_3_withdrawal_has_reason", "re01", lifecycle::withdrawal;
        "plc_56_an_expiring_score_is_dropped_in_time", "re07", prioritizers::expiring;
        "plc_16_scores_read_by_expressions_only", "re08", predicates::scores_by_cel;
        "plc_67_a_foreign_decision_is_adopted", "re20", basics::adopted;
        "disabled_placement_is_not_scheduled", "off", basics::disabled;
        "an_idle_controller_writes_nothing", "idle", basics::idle;
    ]
}

fn main() -> ExitCode {
    harness::main("placement", &list(), |client, stop| {
        let deps = Deps::of(client);
        let debugger = deps.debugger();
        tokio::spawn(controller::run(deps, stop));
        Some(debugger)
    })
}
